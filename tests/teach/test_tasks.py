"""What a person may say of a sentence, and what of it reaches models and documents."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from projects import doc_for, gold, project

from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.eval.agreement import cohen_kappa
from structron.teach.project import Item
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
        ([0, 0], "word 2 .*second root .the first is word 1"),
        ([2, 1], "word 1 .*is in a cycle: 1 → 2 → 1"),
        ([1], "word 1 .*is its own head"),
        ([99], "head 99 out of range"),
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


@pytest.mark.parametrize(
    ("known", "found", "wanted"),
    [
        (["B-A", None, None], ["O", "I-A", "I-A"], ["B-A", "I-A", "I-A"]),
        (["B-A", None, None], ["O", "I-B", "I-B"], ["B-A", "B-B", "I-B"]),
        ([None, "I-A", None], ["O", "O", "O"], [None, "I-A", "O"]),
        ([None, "I-A", None], ["B-A", "I-A", "I-A"], ["B-A", "I-A", "I-A"]),
        ([None, None, "O"], ["I-A", "I-A", "B-A"], ["B-A", "I-A", "O"]),
    ],
)
def test_predictions_beside_known_labels(known, found, wanted):
    assert TASKS["entities"].joined({"labels": known}, {"labels": found})["labels"] == wanted


@pytest.mark.parametrize(
    ("known", "found", "wanted"),
    [
        ([2, None, None], [3, 3, 0], [2, 3, 0]),
        ([2, None, None], [0, 1, 1], [2, None, 1]),
        ([0, None, None], [2, 0, 2], [0, None, 2]),
        ([None, 3, 2], [2, 0, 2], [None, 3, 2]),
    ],
    ids=["fits", "a cycle is opened", "a second root is opened", "known heads stay, wrong as they are"],
)
def test_predictions_beside_known_heads(known, found, wanted):
    none = [None] * 3
    joined = TASKS["parser"].joined({"heads": known, "relations": none}, {"heads": found, "relations": ["x"] * 3})
    assert joined["heads"] == wanted


def test_spans_are_scored_where_labels_are_known():
    class Says:
        """Labels of its own, for any sentence."""

        def predict_with_margins(self, given):
            return [[list(labels)] for labels in found], [[[1.0] * len(labels)] for labels in found]

    def item(labels):
        tokens = [{"words": [{"form": "w"}]} for _ in labels]
        return Item(1, 1, {"tokens": tokens}, {"labels": labels}, 1, True)

    known = [["B-A", "O", None, None, "B-A"], [None, "I-A", "O", "B-B", "O"]]
    found = [["B-A", "O", "B-A", "I-A", "B-A"], ["B-A", "I-A", "O", "B-A", "O"]]
    # known: A at 1 and 5, B at 4; found: A at 1, 5 and 4; others begin or end where labels are open
    assert TASKS["entities"].score(Says(), [item(labels) for labels in known]) == pytest.approx(200 * 2 / (3 + 3))


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
