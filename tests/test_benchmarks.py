"""The benchmark driver on toy data: it runs, both sides see the same tokens, and the JSON has its keys. No times."""

import gzip
import json
import runpy
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("pycrfsuite")
pytest.importorskip("nltk")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import __main__ as driver
from benchmarks import accuracy, beam, earlier, entities, scaling, speeds
from benchmarks import measure as process
from benchmarks.measure import BEYOND, LESS, MORE, SHARE, Failed, Row, run, table
from benchmarks.peers import features, first_sentences, read_columns, read_tags

from helpers import ROOT
from structron.cli.app import main
from structron.data.toy_english import toy_english, write_conll, write_conllu
from structron.features.templates import load_templates
from structron.io import read
from structron.io.doc import Doc
from structron.tasks.pipeline.annotate import Annotator
from structron.tasks.pipeline.parts import VOTES, Part

TRAIN, TEST = 150, 50
SPLITS = ("train", "dev", "test")


@pytest.fixture(autouse=True)
def on_any_core(monkeypatch):
    """Two processes that test would otherwise share one core."""
    monkeypatch.setattr(process, "pinned", lambda wanted: nullcontext())


def run_here(command: Sequence[str | Path], pin: bool = True, **environment: str) -> process.Run:
    """What `benchmarks.measure.run` does, in this process: Python and packages need not start a hundred times."""
    program, *arguments = map(str, command)
    if Path(program).name == "structron":
        arguments = ["-m", "structron", *arguments]
    out, err, begin = StringIO(), StringIO(), time.perf_counter()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("STRUCTRON_CHECK", "0")
        if arguments[:2] == ["-m", "structron"]:
            assert main(arguments[2:]) == 0, err.getvalue()
        elif arguments[0] == "-m":
            patch.setattr(sys, "argv", arguments[1:])
            runpy.run_path(str(ROOT / f"{arguments[1].replace('.', '/')}.py"), run_name="__main__")
        else:
            return run(command, pin, **environment)
    seconds = time.perf_counter() - begin
    return process.Run(seconds, seconds, 1.0, out.getvalue(), err.getvalue())


@pytest.fixture(autouse=True)
def in_this_process(request, monkeypatch):
    """All but the tests that are marked."""
    if not request.node.get_closest_marker("processes"):
        for module in (process, scaling):
            monkeypatch.setattr(module, "run", run_here)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Toy English in the layout of the real corpora: one file packed, the others not."""
    folder = tmp_path_factory.mktemp("corpora")
    sentences = toy_english(TRAIN + TEST, seed=3)
    for corpus, write, ending in ((driver.CHUNKS, write_conll, "conll"), (driver.TAGS, write_conllu, "conllu")):
        (folder / corpus).mkdir()
        write(folder / corpus / f"train.{ending}", sentences[:TRAIN])
        write(folder / corpus / f"test.{ending}", sentences[TRAIN:])
        write(folder / corpus / f"dev.{ending}", sentences[TRAIN : TRAIN + TEST // 2])
    (folder / entities.ENTITIES).mkdir()
    for split, part in (("train", sentences[:TRAIN]), ("dev", sentences[TRAIN:]), ("test", sentences[TRAIN:])):
        write_conll(folder / entities.ENTITIES / f"{split}.conll", part, ("word", "pos", "entity"))
    plain = folder / driver.CHUNKS / "train.conll"
    with plain.open("rb") as source, gzip.open(f"{plain}.gz", "wb") as packed:
        shutil.copyfileobj(source, packed)
    plain.unlink()
    return folder


@pytest.fixture
def measure(data, tmp_path, capsys):
    """Runs parts of the driver: what it wrote, and its rows by key. Both sides were measured, and all rows printed."""

    def measure(*parts: str, more: tuple[str, ...] = ()) -> tuple[dict, dict]:
        out = tmp_path / "results" / "bench.json"
        only = [word for part in parts for word in ("--only", part)]
        assert driver.main(["--data", str(data), "--quick", *only, "--out", str(out), *more]) == 0
        result = json.loads(out.read_text(encoding="utf-8"))
        rows = {row["key"]: row for row in result["rows"]}
        assert all(row["theirs"] > 0 and row["ours"] > 0 for row in rows.values())
        printed = capsys.readouterr().out
        assert all(row["title"] in printed for row in rows.values())
        return result, rows

    return measure


def chunk_tokens(data: Path) -> int:
    return sum(map(len, read_columns(data / driver.CHUNKS / "test.conll")))


def tag_tokens(data: Path, split: str) -> int:
    return sum(map(len, read_tags(data / driver.TAGS / f"{split}.conllu")))


@pytest.mark.processes
def test_driver_measures_both_sides(data, measure):
    result, rows = measure("chunks", "start")
    expected = {"pass", "pass_log", "file_to_model", "file_to_model_cpu", "predict", "predict_file", "peak", "size"}
    assert expected | {"f1", "help", "predict_one", "default_runs"} <= rows.keys()
    assert all(row["ratio"] > 0 for row in rows.values())
    assert all((row["required"] is None) == (row["met"] is None) for row in rows.values())
    assert result["details"]["chunk_prediction"][driver.OURS]["tokens"] == chunk_tokens(data)
    assert {"environment", "quick", "repeat", "seconds", "skipped", "details"} <= result.keys()


def test_other_tasks_are_measured_on_both_sides(data, measure):
    _, rows = measure("tags", "jobs", "joint")
    expected = {"tag_fit", "tag_accuracy", "tag_predict"}
    assert expected | {"joint_training", "joint_training_cpu", "joint_predict", "joint_f1"} <= rows.keys()
    assert all(row["ratio"] > 0 for row in rows.values())


def test_beam_parts_measure_both_sides(data, measure, monkeypatch):
    """With a cache that is warm: the compiler's minutes are for the real run."""
    pytest.importorskip("ufal.udpipe")
    monkeypatch.setattr(beam, "cold", lambda _, *command: beam.structron(*command))
    result, rows = measure(*beam.BEAM_PARTS)
    assert rows.keys() == {
        *("parser_training", "parser_memory"),
        *("parse_beam8", "parse_beam8_udpipe", "parse_beam1", "parse_beam1_udpipe"),
        *("parser_pass", "parser_pass_search", "parser_start", "parser_cold_predict", "parser_cold_train"),
        *("history_search", "history_tokens", "history_accuracy", "history_training"),
    }
    assert not result["skipped"]
    asked = {key: row["theirs"] for key, row in rows.items() if row["peer"] == beam.ASKED}
    assert asked == {"parser_training": 300, "parser_memory": 500, "parse_beam8": 35_000, "parse_beam1": 150_000}
    details = result["details"]
    assert set(details["parsing"]["tokens"].values()) == {tag_tokens(data, "dev") + tag_tokens(data, "test")}
    assert details["parser_pass"]["tokens"] == tag_tokens(data, "train")
    assert details["history"]["tokens"] == tag_tokens(data, "dev")
    assert len(details["parser_training"]["passes"]) == driver.Settings.quick().parser_passes
    assert min(details["parsing"]["dev_las"].values()) > 50


def test_a_treebank_is_parsed_on_both_sides(data, measure):
    pytest.importorskip("ufal.udpipe")
    result, rows = measure("treebank", more=("--treebank", driver.TAGS))
    assert {key: row["required"] for key, row in rows.items()} == {
        f"{driver.TAGS}_beam8": 8,
        f"{driver.TAGS}_beam1": 30,
        f"{driver.TAGS}_greedy": -2,
    }
    assert not result["skipped"]
    for width in (8, 1):
        found = result["details"][f"{driver.TAGS}_beam{width}"]
        assert set(found["tokens"].values()) == {tag_tokens(data, "dev") + tag_tokens(data, "test")}
        assert found["dev_las"][str(width)] > 50


def test_graph_parts_measure_both_sides(data, measure):
    pytest.importorskip("ufal.udpipe")
    result, rows = measure("graph")
    whole = {"graph_training", "graph_memory", "graph_crossing"}
    assert rows.keys() == whole | {f"graph{order}{part}" for order in (1, 2) for part in ("", "_udpipe", "_pass")}
    asked = {key: row["theirs"] for key, row in rows.items() if row["peer"] == beam.ASKED}
    assert asked == {"graph1": 80_000, "graph2": 15_000, "graph_training": 180, "graph_memory": 700}
    assert rows["graph_crossing"]["required"] == 2
    for order in (1, 2):
        found = result["details"][f"graph_order{order}"]
        assert set(found["tokens"].values()) == {tag_tokens(data, "dev")}
        assert found["dev_las"] > 50


def test_scaling_parts_measure_both_sides(measure):
    pytest.importorskip("ray")
    result, rows = measure(*scaling.SCALING_PARTS)
    scores = {f"accuracy_{task}_{shards}" for task in ("parser", "chunker") for shards in (2, 4, 8)}
    trainings = {"cores_tagger", "cores_chunker", "shards_parser", "shards_graph-parser"}
    trainings |= {"shards_parser_apart", "shards_graph-parser_apart"}
    assert rows.keys() == {*trainings, *scores, "ray_pass", "ray_bytes"} or scaling.cores() < 2
    assert result["details"].keys() >= {"ray"} or scaling.cores() < 2


def test_an_earlier_release_does_the_same_work(measure, monkeypatch):
    """Here this one itself: of two equal sides the scores and files are equal."""
    kept = [work for work in earlier.WORKS if work.start or work.documents is not None]
    monkeypatch.setattr(earlier, "WORKS", kept)
    _, rows = measure("earlier", more=("--earlier", str(ROOT)))
    whats = ("training", "memory", "size", "prediction", "score")
    tasks = ("chunker_one_run", "entities", "entities_no_documents")
    expected = {f"earlier_{task}_{what}" for task in tasks for what in whats}
    assert rows.keys() == expected | {"earlier_chunker_one_run_start"}
    assert all(rows[f"earlier_{task}_score"]["ratio"] == 0 for task in tasks)
    assert all(rows[f"earlier_{task}_size"]["ratio"] == pytest.approx(1, abs=1e-3) for task in tasks)


def test_no_earlier_release(data, tmp_path, capsys):
    out = ["--out", str(tmp_path / "b.json")]
    assert driver.main(["--data", str(data), "--quick", "--only", "earlier", *out]) == 0
    assert "skipped: the same work by an earlier release: no --earlier DIR" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        driver.main(["--data", str(data), "--only", "earlier", "--earlier", str(tmp_path), *out])
    assert "no src/structron in it; expected the tree of a release" in capsys.readouterr().err


def test_entity_parts_measure_both_sides(data, measure):
    result, rows = measure(*entities.ENTITY_PARTS)
    entity = {"entities_training", "entities_learning", "entities_f1"}
    entity |= {f"{one}_{what}" for one in ("recogniser", "sentences") for what in ("training", "f1", "predict")}
    tutorial = {"tutorial", "tutorial_processor", "tutorial_f1"}
    assert rows.keys() == {"nbest", *entity, *tutorial, "non_local"}
    assert not result["skipped"]
    assert rows["nbest"]["theirs"] == entities.MILLISECONDS
    assert result["details"]["nbest"]["tokens"] == min(entities.TOKENS, chunk_tokens(data))


def test_parser_without_its_peer_stands_beside_itself(tmp_path, monkeypatch):
    def child(name, **options):
        assert name == "parse"
        assert "udpipe_model" not in options
        return {"tokens": {driver.OURS: 60}, "seconds": {driver.OURS: {"8": [3.0], "1": [1.0]}}, "dev_las": {}}, None

    monkeypatch.setattr(beam, "installed", lambda _: False)
    monkeypatch.setattr(beam, "child", child)
    report, files = driver.Report(), dict.fromkeys(SPLITS, tmp_path)
    bench = beam.ParserBench(files, tmp_path, driver.Settings.quick(), report)
    bench.__dict__["model"] = tmp_path
    bench.parsing()
    assert [row.key for row in report.rows] == ["parse_beam8", "parse_beam1", "parse_beam8_beam1"]
    assert (report.rows[0].ratio, report.rows[2].ratio) == (pytest.approx(20 / 35_000), pytest.approx(1 / 3))
    assert "ufal.udpipe is not installed" in report.skipped[0]


def test_unknown_part_is_refused(data, capsys):
    with pytest.raises(SystemExit):
        driver.main(["--data", str(data), "--only", "nothing"])
    assert "parser-pass" in capsys.readouterr().err


def test_first_sentences_are_copied_as_they_are(data, tmp_path):
    source = data / driver.TAGS / "test.conllu"
    found = first_sentences(source, tmp_path / "few.conllu", 2).read_text(encoding="utf-8")
    assert source.read_text(encoding="utf-8").startswith(found)
    assert read_tags(tmp_path / "few.conllu") == read_tags(source)[:2]


def test_absent_corpora_are_skipped_and_said(tmp_path, capsys):
    out = tmp_path / "bench.json"
    assert driver.main(["--data", str(tmp_path), "--quick", "--out", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert [row["key"] for row in result["rows"]] == ["help"]
    printed = capsys.readouterr().out
    for corpus in (driver.CHUNKS, driver.TAGS):
        assert any(text.startswith(corpus) for text in result["skipped"])
        assert f"skipped: {corpus}" in printed


def test_what_fails_is_told():
    with pytest.raises(Failed, match="the peer saw 3 tokens, ours 4"):
        driver.same_tokens("training", 3, 4)
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
        (BEYOND, -8, -8.0, True),
        (BEYOND, -7.9, -8.0, False),
    ],
)
def test_ratios_and_what_is_required_of_them(ratio_is, required, ratio, met):
    row = Row("key", "title", "s", "peer", [10.0, 9.0, 10.0], [2.0, 1.0, 2.0], ratio_is, required)
    assert (row.ratio, row.met) == (pytest.approx(ratio), met)
    assert ("yes" if met else "NO") in table([row])


def test_peer_features_are_the_templates_of_the_preset():
    names = [str(template) for template in load_templates("chunk19")]
    found = features([["The", "DT"], ["dog", "NN"]])
    assert [[text.split("=")[0] for text in token] for token in found] == [names, names]
    assert found[1][names.index("w[-1]|w[0]")] == "w[-1]|w[0]=The|dog"


def test_readers_agree_with_ours(data):
    chunks, tags = data / driver.CHUNKS / "train.conll.gz", data / driver.TAGS / "test.conllu"
    assert read_columns(chunks) == [sentence.rows for sentence in read(chunks)]
    assert read_tags(tags) == [[(row[1], row[4]) for row in sentence.rows] for sentence in read(tags)]


def test_the_page_of_speeds_shows_the_figures_that_are_kept(tmp_path, monkeypatch):
    """Its table is what the file of results makes; another run's rows take their place, a quick one's do not."""
    text, kept = speeds.PAGE.read_text("utf-8"), json.loads(speeds.KEPT.read_text("utf-8"))
    assert speeds.written(text, kept) == text
    assert len(kept.keys() & speeds.TITLES.keys()) > 5
    monkeypatch.setattr(speeds, "PAGE", tmp_path / "speed.md")
    monkeypatch.setattr(speeds, "KEPT", tmp_path / "speed.json")
    speeds.PAGE.write_text(f"before\n{speeds.BEGIN}old\n{speeds.END}after\n", "utf-8")
    row = {"key": "pass", "unit": "s", "peer": "Peer", "theirs": 0.51234, "ours": 0.1, "ratio": 5.1234}
    machine = {"versions": {"structron": "1"}, "load": [0, 0, 0]}
    run = {"quick": False, "repeat": 3, "environment": machine, "rows": [row]}
    (tmp_path / "run.json").write_text(json.dumps(run))
    assert speeds.main([str(tmp_path / "run.json")]) == 0
    found = speeds.PAGE.read_text("utf-8")
    assert "| a pass over CoNLL-2000 | Peer 0.512 s | 0.1 s | 5.12 |\n" in found
    assert found.startswith("before\n")
    assert found.endswith("after\n")
    assert "old" not in found
    (tmp_path / "run.json").write_text(json.dumps(run | {"quick": True}))
    assert speeds.main([str(tmp_path / "run.json")]) == 2
    assert speeds.PAGE.read_text("utf-8") == found


def test_the_tables_of_pipelines_show_the_figures_that_are_kept():
    """The page has the tables of its file; by hand: gains, ratios of times, and counts above twice gold's."""
    text, kept = accuracy.PAGE.read_text("utf-8"), json.loads(accuracy.KEPT.read_text("utf-8"))
    assert accuracy.written(text, kept) == text
    scores = {f"{part} {way}": {"las": 80.0 + (way == "best")} for part in ("dev", "test") for way in accuracy.WAYS}
    counts = {"gold": {"subjects": 3, "lemma": 0}, "default": {"subjects": 6, "lemma": 6}, "best": {"subjects": 7}}
    lemmas = {"unknown": 4, "scripts unknown": 50.0, "letters unknown": 75.0, "scripts all": 90.0, "letters all": 95.0}
    own = {
        "scores": scores,
        "counts": counts | {"best": {"subjects": 7, "no-lemma": 9}},
        "seconds": {"test": {"default": 2.0, "best": 7.0}},
        "lemmas": {"dev": lemmas, "test": lemmas},
    }
    made = accuracy.tables(dict.fromkeys(accuracy.COMPARED, own))
    assert "| Greek-GDT | 80.00 | 81.00 | 80.00 | 81.00 | +1.00 | × 3.5 |\n" in made
    assert "| mean of the first 5 | 80.00 | 81.00 | 80.00 | 81.00 | +1.00 | × 3.5 |\n" in made
    assert "| Greek-GDT | 3, 6, **7** | 0, 0, 0 | 0, 0, 0 | 0, 0, 0 | 0, 0, 0 | 0, **6**, 0 | 0, 0, **9** |\n" in made
    assert "| Greek-GDT, dev | 4 | 50.00 | 75.00 | 90.00 | 95.00 |\n" in made
    assert "mean" not in accuracy.tables({"ud-greek-gdt": own})


def test_the_default_pipeline_is_the_best_one_without_the_other_parsers():
    part = SimpleNamespace(roles_=SimpleNamespace(inputs=[]))
    best = Annotator({}, dict.fromkeys(("tagger", *VOTES, "entities"), part))
    found = accuracy.annotators(SimpleNamespace(model_=best))
    assert found["best"] is best
    assert list(found["default"].trained) == ["tagger", "parser", "entities"]


def test_lemmas_with_and_without_letters():
    """By hand: three of four words are unknown; scripts have one of them right, letters two, and both the known one."""
    doc = Doc.from_conllu(
        "".join(f"{k}\t{form}\t{form.lower()}" + "\t_" * 7 + "\n" for k, form in enumerate("ABCD", 1))
    )
    guesses = {None: [["a", "b", "x", "x"]], "speller": [["a", "b", "c", "x"]]}
    own = SimpleNamespace(speller_="speller", predict=lambda rows, jobs: guesses[own.speller_])
    nlp = SimpleNamespace(parts_={"lemmatizer": Part(("form",), ("lemma",))}, part=lambda name: own)
    found = accuracy.lemmas(nlp, [doc], {"A"})
    assert found == pytest.approx(
        {"unknown": 3, "scripts unknown": 100 / 3, "scripts all": 50, "letters unknown": 200 / 3, "letters all": 75}
    )
    assert own.speller_ == "speller"
