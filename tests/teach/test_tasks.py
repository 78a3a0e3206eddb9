"""What a person may say of a sentence, and what of it reaches models and documents."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from projects import doc_for, gold, project

from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.eval.agreement import cohen_kappa
from structron.teach.tasks import TASKS
from structron.text.trees import MARK


@pytest.fixture(scope="module")
def item(tmp_path_factory):
    made = project(tmp_path_factory.mktemp("p") / "p.teach", count=3)
    found = made.item(1)
    made.close()
    return found


def padded(item, labels, rest="O"):
    return {"labels": [*labels, *[rest] * (sum(len(t["words"]) for t in item.data["tokens"]) - len(labels))]}


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        (["I-PER"], "after O; expected B-PER"),
        (["B-PER", "I-LOC"], "after B-PER; expected B-LOC"),
        (["B-DISH"], "no label 'B-DISH'"),
        ([7], "no label 7"),
        (["X"], "no label 'X'"),
        (["PER"], "no label 'PER'"),
        (["B-O"], "no label 'B-O'"),
        (["B-"], "no label 'B-'"),
        ([["B-PER"]], "no label"),
    ],
)
def test_labels_that_cannot_be(item, labels, wrong):
    with pytest.raises(StructronError, match=wrong):
        TASKS["entities"].check(item, padded(item, labels), ["PER", "LOC"])


@pytest.mark.parametrize("labels", [["B-PER", "I-PER"], [None, "I-PER"], [None, None], ["B-PER", "B-PER"], []])
def test_labels_that_can_be(item, labels):
    known = padded(item, labels)
    assert TASKS["entities"].check(item, known, ["PER", "LOC"]) == known


@pytest.mark.parametrize("name", ["?", "_", "O", "B", "a b", "", "\x7f", "\ud800", "x" * 41])
def test_names_that_no_label_of_spans_can_have(name):
    with pytest.raises(StructronError, match="label: "):
        TASKS["entities"].check_label(name)


def test_names_of_labels():
    assert TASKS["tagger"].check_label(" O ") == "O"
    assert TASKS["entities"].check_label("A|B") == "A|B"
    with pytest.raises(StructronError, match="another name"):
        TASKS["parser"].check_label(f"obl{MARK}nsubj")


def test_the_number_of_labels(item):
    for known in ({"labels": ["O"]}, {"labels": None}, {}, {"heads": []}):
        with pytest.raises(StructronError, match="one for each"):
            TASKS["entities"].check(item, known, ["PER"])


@pytest.mark.parametrize(
    ("heads", "wrong"),
    [
        ([0, 0], "words 1 and 2 are both the root"),
        ([2, 1], "depends on itself"),
        ([1], "head 1; expected"),
        ([99], "head 99; expected"),
        ([-1], "head -1; expected"),
        ([True], "head True; expected"),
    ],
)
def test_trees_that_cannot_be(item, heads, wrong):
    count = len(padded(item, [])["labels"])
    known = {"heads": [*heads, *[None] * (count - len(heads))], "relations": [None] * count}
    with pytest.raises(StructronError, match=wrong):
        TASKS["parser"].check(item, known, ["det"])


def test_the_relation_of_the_root_needs_no_label(item):
    count = len(padded(item, [])["labels"])
    known = {"heads": [0, 1, *[None] * (count - 2)], "relations": ["root", "det", *[None] * (count - 2)]}
    assert TASKS["parser"].check(item, known, ["det"]) == known
    known["relations"][1] = "root"
    with pytest.raises(StructronError, match="no relation 'root'"):
        TASKS["parser"].check(item, known, ["det"])


@pytest.mark.parametrize("task", TASKS)
def test_documents_say_what_was_put_into_them(task):
    corpus = toy_english(20, seed=2)
    doc, way = doc_for(corpus), TASKS[task]
    for sentence, toy in zip(doc.sentences, corpus, strict=True):
        known = gold(task, toy)
        way.write(sentence, known)
        assert way.read(sentence) == known
        assert way.corrected(known, known) == 0


def test_corrections_are_counted():
    count = TASKS["entities"].corrected
    assert count({"labels": ["O", "B-PER", "O"]}, {"labels": ["O", "B-LOC", None]}) == 1
    assert count(None, {"labels": ["O"]}) == 0
    trees = TASKS["parser"].corrected
    assert trees({"heads": [2, 0], "relations": ["det", "root"]}, {"heads": [2, 0], "relations": ["amod", "root"]}) == 1


def test_kappa_by_hand():
    """Cohen's example: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: p_o 0.7, p_e 0.5."""
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_kappa_by_the_table(pairs):
    n = len(pairs)
    table = [[sum(p == (a, b) for p in pairs) for b in range(4)] for a in range(4)]
    observed = Fraction(sum(table[k][k] for k in range(4)), n)
    expected = sum(Fraction(sum(table[k]) * sum(row[k] for row in table), n * n) for k in range(4))
    wanted = 1.0 if expected == 1 else float((observed - expected) / (1 - expected))
    assert cohen_kappa(pairs) == pytest.approx(wanted)
