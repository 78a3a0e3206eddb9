"""Round trips: what is known leaves a project in a format and comes back into another as it was."""

import json
from pathlib import Path

import pytest
from projects import LABELS, gold, project

from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.io.tokenized import TokenizedSentence, doc_of
from structron.tasks.pipeline import stream
from structron.teach import exchange
from structron.teach.project import Answer, Project

TEXT = "Ann likes pad thai. Bob ate pho in Hanoi!\n\nNobody came."


def answered(path: Path, task: str, count: int = 15, left: int = 3) -> Project:
    made = project(path, task, count)
    for k, toy in enumerate(toy_english(count, seed=4)[: count - left], 1):
        made.answer(k, "w", Answer("ann", "answer", gold(task, toy), None, 0))
    return made


def known_of(made: Project) -> list[tuple[list[str], dict | None]]:
    items = made.items("known IS NOT NULL AND done < 2 ORDER BY id")
    return [([w["form"] for t in i.data["tokens"] for w in t["words"]], i.known) for i in items]


@pytest.mark.parametrize(
    ("task", "format"),
    [("tagger", "conll"), ("tagger", "conllu"), ("chunker", "conll"), ("chunker", "jsonl"), ("entities", "conll"),
     ("entities", "jsonl"), ("entities", "conllu"), ("entities", "brat"), ("parser", "conllu")],
)  # fmt: skip
def test_round_trip(task, format, tmp_path):
    made = answered(tmp_path / "a.teach", task, left=0 if format in ("brat", "conllu") else 3)
    target = tmp_path / ("out" if format == "brat" else f"out.{format}")
    exchange.write_file(made, str(target), None, False)
    again = Project.create(tmp_path / "b.teach", task=task, labels=[], seed=1, overlap=0, start=None)
    files = [str(target / "toy.ann")] if format == "brat" else [str(target)]
    exchange.add_files(again, files, "english")
    if format == "brat":  # tokens are found anew in the text; spans of the text are the same
        ours, theirs = (
            [(e.start, e.end, e.label) for _, doc in exchange.documents(p) for e in doc.entities] for p in (made, again)
        )
        assert ours == theirs
        assert ours
    else:
        assert known_of(again) == known_of(made)
        assert set(again.settings["labels"]) <= set(made.settings["labels"])
    made.close()
    again.close()


def test_open_labels_stay_open(tmp_path):
    made = project(tmp_path / "a.teach", "entities", 2)
    count = len(toy_english(2, seed=4)[0].words)
    known = {"labels": [None, "B-PER", *["O"] * (count - 2)]}
    made.answer(1, "w", Answer("ann", "answer", known, None, 0))
    exchange.write_file(made, str(tmp_path / "a.conll"), None, False)
    again = Project.create(tmp_path / "b.teach", task="entities", labels=[], overlap=0, start=None, seed=1)
    exchange.add_files(again, [str(tmp_path / "a.conll")], "english")
    assert known_of(again)[0][1] == known
    assert again.counts()["answered"] == 0  # it is asked; nobody has seen the open label
    exchange.write_file(again, str(tmp_path / "b.conll"), None, False)
    assert (tmp_path / "b.conll").read_text() == (tmp_path / "a.conll").read_text()
    again.answer(1, "w", Answer("ann", "skip", None, None, 0))
    assert again.item(1).known == known
    assert exchange.export(again, "conll") == ""
    made.close()
    again.close()


@pytest.fixture
def fresh(tmp_path):
    made = Project.create(tmp_path / "p.teach", task="entities", labels=[], overlap=0, start=None, seed=1)
    yield made
    made.close()


@pytest.mark.parametrize(
    "line",
    [
        {"text": TEXT, "spans": [{"start": 10, "end": 18, "label": "DISH"}]},
        {"text": TEXT, "label": [[10, 18, "DISH"]]},
        {"text": TEXT, "labels": [[10, 18, "DISH"]]},
        {"text": TEXT, "entities": [{"start_offset": 10, "end_offset": 18, "label": "DISH"}]},
    ],
)
def test_what_prodigy_and_doccano_write(line, fresh, tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps(line) + "\n")
    exchange.add_files(fresh, [str(tmp_path / "x.jsonl")], "english")
    (_, doc), *_ = exchange.documents(fresh)
    assert [(e.text, e.label) for e in doc.entities] == [("pad thai", "DISH")]
    assert fresh.settings["labels"] == ["DISH"]


@pytest.mark.parametrize(
    ("name", "content", "wrong"),
    [
        (
            "x.jsonl",
            '{"text": "Ann came.", "spans": [{"start": 1, "end": 3, "label": "PER"}]}',
            "x.jsonl:1: PER from 1 to 3",
        ),
        ("x.jsonl", '{"spans": []}', "x.jsonl:1: not a text with spans"),
        ("x.jsonl", "[", "x.jsonl:1: not a text"),
        ("x.jsonl", '{"text": " "}', "x.jsonl:1: no text"),
        ("x.jsonl", '{"text": "Ann.", "spans": [[40, 43, "PER"]]}', "x.jsonl:1: PER from 40 to 43"),
        ("x.jsonl", '{"text": "Ann.", "spans": [[0, Infinity, "PER"]]}', "x.jsonl:1: not a text with spans"),
        ("x.jsonl", '{"text": "Ann.", "spans": [[0, 3, "a b"]]}', "without spaces"),
        ("x.jsonl", '{"text": "Ann.", "spans": [[0, 3, ""]]}', "x.jsonl: label 'B-'"),
        ("x.jsonl", '{"text": "Ann.", "spans": [[0, 3, "?"]]}', "x.jsonl: label: '\\?'"),
        ("x.jsonl", '{"text": "Ann \\ud800."}', "x.jsonl:1: an incomplete surrogate pair"),
        ("x.jsonl", "[" * 100_000, "x.jsonl:1: not a text"),
        ("x.jsonl", '{"text": "Ann.", "tokens": [{"start": 2, "end": 9}]}', "x.jsonl:1: a token from 2 to 9"),
        ("x.jsonl", '{"text": "a b", "tokens": [{"start": 2, "end": 3}, {"start": 0, "end": 1}]}', "from 0 to 1"),
        ("x.jsonl", '{"text": "a b", "tokens": [{"start": 0, "end": 2}]}', "from 0 to 2"),
        ("x.conll", "Ann\tPER\n", "x.conll: label 'PER'"),
        ("x.conll", "Ann\tB\n", "x.conll: label 'B-'"),
        ("x.conllu", "1\tAnn\n", "x.conllu:1"),
        ("empty.txt", "", "no sentences"),
    ],
)
def test_bad_files_name_the_place_and_add_nothing(name, content, wrong, fresh, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(StructronError, match=wrong):
        exchange.add_files(fresh, [str(tmp_path / name)], "english")
    assert fresh.counts()["sentences"] == 0


@pytest.mark.parametrize("label", ["A|B", "a\\b", "A=B", "B-X", "é,[#"])
@pytest.mark.parametrize("format", ["conll", "conllu", "jsonl"])
def test_odd_labels_come_back(label, format, fresh, tmp_path):
    fresh.add("a", doc_of([TokenizedSentence(["Ann", "Bo", "."])]), [{"labels": [f"B-{label}", f"I-{label}", "O"]}])
    exchange.write_file(fresh, str(tmp_path / f"out.{format}"), None, False)
    again = Project.create(tmp_path / "b.teach", task="entities", labels=[], overlap=0, start=None, seed=1)
    exchange.add_files(again, [str(tmp_path / f"out.{format}")], "english")
    assert known_of(again) == known_of(fresh)
    assert again.labels() == [label]
    again.close()


def test_a_file_is_added_whole_or_not_at_all(fresh, tmp_path):
    good = json.dumps({"text": "Ann ate pho.", "spans": [{"start": 8, "end": 11, "label": "DISH"}]})
    (tmp_path / "a.jsonl").write_text(good + "\n")
    (tmp_path / "b.jsonl").write_text(good + "\n[\n")
    with pytest.raises(StructronError, match=r"b\.jsonl:2"):
        exchange.add_files(fresh, [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], "english")
    assert fresh.counts()["sentences"] == 1
    assert fresh.labels() == ["DISH"]


def test_a_long_text_is_added_in_parts(fresh, tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_CHARACTERS", 400)
    text = "\n\n".join(f"Ann ate dish {k}. Bob came from Hanoi!" for k in range(40)) + "\n"
    (tmp_path / "a.txt").write_text(text)
    sentences, known, whole = exchange.add_files(fresh, [str(tmp_path / "a.txt")], "english")
    assert sentences >= 40
    assert known == whole == 0
    found = list(exchange.documents(fresh))
    assert [name for name, _ in found] == [f"a.txt:{k}" for k in range(1, len(found) + 1)]
    assert len(found) > 3
    assert "".join(doc.text for _, doc in found) == text
    assert {doc.text[own.start : own.end] == own.form for _, doc in found for own in doc.words} == {True}
    exchange.write_file(fresh, str(tmp_path / "out"), None, True)
    files = sorted(path.name for path in (tmp_path / "out").glob("*.txt"))
    assert files == sorted(f"a-{k}.txt" for k in range(1, len(found) + 1))


def test_texts_that_wait_hold_up_nobody(fresh, tmp_path):
    other = Project(fresh.path)

    def texts():
        yield "a", doc_of([TokenizedSentence(["Ann"])]), None
        other.set("note", 1)  # while they come, another process may save
        assert other.counts()["sentences"] == 0
        yield "b", doc_of([TokenizedSentence(["came"])]), [{"labels": ["O"]}]

    assert fresh.add_all(texts()) == (2, 1, 1)
    assert [(i.text, i.done) for i in other.items("TRUE ORDER BY id")] == [(1, 0), (2, 1)]
    fresh.add("c", doc_of([TokenizedSentence(["x"])] * 9))
    assert [i.id for i in other.items("aside = 1")] == [10]
    other.close()


def test_labels_of_another_process_stay(fresh):
    other = Project(fresh.path)
    other.add_labels(["LATER"])
    fresh.add_labels(["DISH"])
    assert fresh.labels() == other.labels() == ["LATER", "DISH"]
    other.close()


def test_nothing_of_others_is_overwritten(tmp_path):
    made = answered(tmp_path / "a.teach", "entities", 4, 0)
    with pytest.raises(StructronError, match="a project"):
        exchange.write_file(made, str(made.path), "conll", False)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "toy.txt").write_text("mine")
    with pytest.raises(StructronError, match="a different text"):
        exchange.write_file(made, str(tmp_path / "out"), None, False)
    assert (tmp_path / "out" / "toy.txt").read_text() == "mine"
    made.close()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["U-PER", "O", "B-PER", "L-PER"], ["B-PER", "O", "B-PER", "I-PER"]),
        (["I-PER", "I-PER", "I-LOC"], ["B-PER", "I-PER", "B-LOC"]),
        (["S-PER", "B-LOC", "E-LOC", None], ["B-PER", "B-LOC", "I-LOC", None]),
    ],
)
def test_labels_of_other_schemes(given, wanted):
    assert exchange._iob2(given) == wanted


def test_labels_for_all_tests_are_there():
    assert {
        kind for toy in toy_english(30, seed=4) for label in toy.entities if label != "O" for kind in [label[2:]]
    } <= {*LABELS, "MISC"}
