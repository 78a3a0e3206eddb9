"""The benchmark driver on toy data: it runs, both sides see the same tokens, and the JSON has its keys. No times."""

import gzip
import json
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("pycrfsuite")
pytest.importorskip("nltk")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import __main__ as driver
from benchmarks.measure import LESS, MORE, SHARE, Failed, Row, run, table
from benchmarks.peers import features, read_columns, read_tags

from structron.data.toy_english import toy_english, write_conll, write_conllu

TRAIN, TEST = 300, 60


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Toy English in the layout of the real corpora: one file packed, the others not."""
    folder = tmp_path_factory.mktemp("corpora")
    sentences = toy_english(TRAIN + TEST, seed=3)
    for corpus, write, ending in ((driver.CHUNKS, write_conll, "conll"), (driver.TAGS, write_conllu, "conllu")):
        (folder / corpus).mkdir()
        write(folder / corpus / f"train.{ending}", sentences[:TRAIN])
        write(folder / corpus / f"test.{ending}", sentences[TRAIN:])
    plain = folder / driver.CHUNKS / "train.conll"
    with plain.open("rb") as source, gzip.open(f"{plain}.gz", "wb") as packed:
        shutil.copyfileobj(source, packed)
    plain.unlink()
    return folder


def test_driver_measures_both_sides(data, tmp_path, capsys):
    out = tmp_path / "results" / "bench.json"
    assert driver.main(["--data", str(data), "--quick", "--out", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    rows = {row["key"]: row for row in result["rows"]}
    expected = {"pass", "pass_log", "file_to_model", "file_to_model_cpu", "predict", "predict_file", "peak", "size"}
    expected |= {"f1", "tag_fit", "tag_accuracy", "tag_predict", "help", "predict_one", "default_runs"}
    assert expected <= rows.keys()
    assert all(row["theirs"] > 0 and row["ours"] > 0 and row["ratio"] > 0 for row in rows.values())
    assert {key for key, row in rows.items() if row["required"] is None} == {
        key for key, row in rows.items() if row["met"] is None
    }
    assert result["details"]["chunk_prediction"][driver.OURS]["tokens"] == sum(
        map(len, read_columns(data / driver.CHUNKS / "test.conll"))
    )
    assert {"environment", "quick", "repeat", "seconds", "skipped", "details"} <= result.keys()
    printed = capsys.readouterr().out
    assert all(row["title"] in printed for row in rows.values())


def test_absent_corpora_are_skipped_and_said(tmp_path, capsys):
    out = tmp_path / "bench.json"
    assert driver.main(["--data", str(tmp_path), "--quick", "--out", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert [row["key"] for row in result["rows"]] == ["help"]
    printed = capsys.readouterr().out
    for corpus in (driver.CHUNKS, driver.TAGS):
        assert any(text.startswith(corpus) for text in result["skipped"])
        assert f"skipped: {corpus}" in printed


def test_sides_that_saw_different_data_are_refused():
    with pytest.raises(Failed, match="the peer saw 3 tokens, ours 4"):
        driver.same_tokens("training", 3, 4)


def test_failed_process_is_told_with_its_message():
    with pytest.raises(Failed, match="no such thing"):
        run([sys.executable, "-c", "raise SystemExit('no such thing')"])


@pytest.mark.parametrize(
    ("ratio_is", "required", "ratio", "met"),
    [
        (LESS, 4, 5.0, True),
        (LESS, 6, 5.0, False),
        (MORE, 0.1, 0.2, True),
        (SHARE, 1, 0.2, True),
        (SHARE, 0.1, 0.2, False),
    ],
)
def test_ratios_and_what_is_required_of_them(ratio_is, required, ratio, met):
    row = Row("key", "title", "s", "peer", [10.0, 9.0, 10.0], [2.0, 1.0, 2.0], ratio_is, required)
    assert (row.ratio, row.met) == (pytest.approx(ratio), met)
    assert ("yes" if met else "NO") in table([row])


def test_peer_features_are_the_templates_of_the_preset():
    from structron.features.templates import load_templates

    names = [str(template) for template in load_templates("chunk19")]
    found = features([["The", "DT"], ["dog", "NN"]])
    assert [[text.split("=")[0] for text in token] for token in found] == [names, names]
    assert found[1][names.index("w[-1]|w[0]")] == "w[-1]|w[0]=The|dog"


def test_readers_agree_with_ours(data):
    from structron.io import read

    chunks, tags = data / driver.CHUNKS / "train.conll.gz", data / driver.TAGS / "test.conllu"
    assert read_columns(chunks) == [sentence.rows for sentence in read(chunks)]
    assert read_tags(tags) == [[(row[1], row[4]) for row in sentence.rows] for sentence in read(tags)]
