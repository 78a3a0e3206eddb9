"""Scores against conlleval's rules and of trees: by hand, against stored output, and by properties."""

import json
import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structron.errors import StructronError
from structron.eval.scores import TypeScore, accuracy_scores, attachment_scores, chunk_scores
from structron.text import schemes

ORACLES = Path(os.environ.get("STRUCTRON_ORACLES", Path(__file__).parents[3] / "shared" / "oracles"))

# Gold and guess (sentences parted by /), then what conlleval says: the numbers of tokens, gold chunks, found
# and correct ones, accuracy, precision, recall and FB1; then precision, recall, FB1 and found chunks by type.
CONLLEVAL = [
    (
        "B-VP B-VP B-PP I-PP O / O I-PP B-PP I-VP O B-PP I-NP",
        "B-PP B-VP B-PP I-PP O / O I-PP B-PP I-VP O O I-NP",
        "12 8 7 6 83.33 85.71 75.00 80.00",
        "NP 100.00 100.00 100.00 1; PP 75.00 75.00 75.00 4; VP 100.00 66.67 80.00 2",
    ),
    (
        "I-VP I-VP O B-VP B-PP I-NP O / I-NP O I-VP O",
        "I-VP I-VP O B-VP B-PP I-NP O / I-NP B-NP I-VP O",
        "11 6 7 6 90.91 85.71 100.00 92.31",
        "NP 66.67 100.00 80.00 3; PP 100.00 100.00 100.00 1; VP 100.00 100.00 100.00 3",
    ),
    (
        "I-VP B-VP O B-PP B-PP / B-VP B-NP",
        "I-VP O O B-PP B-PP / B-VP B-NP",
        "7 6 5 5 85.71 100.00 83.33 90.91",
        "NP 100.00 100.00 100.00 1; PP 100.00 100.00 100.00 2; VP 100.00 66.67 80.00 2",
    ),
    (
        "I-VP O O O / E-NP E-VP O",
        "I-VP O O O / E-NP O O",
        "7 3 2 2 85.71 100.00 66.67 80.00",
        "NP 100.00 100.00 100.00 1; VP 100.00 50.00 66.67 1",
    ),
    (
        "B-NP I-NP B-VP S-VP B-VP B-VP B-NP / S-NP B-VP E-NP E-VP S-VP O E-NP",
        "B-NP I-NP B-VP S-VP B-VP B-VP B-NP / E-VP B-VP E-NP E-VP S-VP O E-NP",
        "14 12 12 11 92.86 91.67 91.67 91.67",
        "NP 100.00 80.00 88.89 4; VP 87.50 100.00 93.33 8",
    ),
    (
        "S-VP O I-NP B-VP B-VP O / I-NP E-NP",
        "S-VP O I-NP B-VP B-VP O / I-NP I-VP",
        "8 5 6 4 87.50 66.67 80.00 72.73",
        "NP 50.00 50.00 50.00 2; VP 75.00 100.00 85.71 4",
    ),
    (
        "S-NP S-VP B-NP S-VP O O E-VP / I-NP O O S-VP",
        "S-NP S-VP B-NP S-VP O O E-VP / I-NP B-NP I-VP S-VP",
        "11 7 9 7 81.82 77.78 100.00 87.50",
        "NP 75.00 100.00 85.71 4; VP 80.00 100.00 88.89 5",
    ),
]

label = st.sampled_from(["O", "O", *(f"{letter}-{kind}" for letter in "BIES" for kind in "XY"), "B", "I"])
pairs = st.lists(st.lists(st.tuples(label, label), max_size=8), max_size=4).map(lambda rows: unzipped(rows))
"""Gold labels and guesses."""


def unzipped(rows) -> tuple[list[list], list[list]]:
    return [[a for a, _ in row] for row in rows], [[b for _, b in row] for row in rows]


def sentences(text: str) -> list[list[str]]:
    return [part.split() for part in text.split("/")]


def conlleval_lines(scores) -> tuple[str, str]:
    counts = f"{scores.tokens} {scores.gold} {scores.found} {scores.correct}"
    overall = f"{scores.accuracy:.2f} {scores.precision:.2f} {scores.recall:.2f} {scores.f1:.2f}"
    types = [
        f"{name} {score.precision:.2f} {score.recall:.2f} {score.f1:.2f} {score.found}"
        for name, score in scores.per_type.items()
    ]
    return f"{counts} {overall}", "; ".join(types)


@pytest.mark.parametrize(
    ("gold", "guess", "counts"),
    [
        ("B-NP I-NP O", "B-NP I-NP O", (1, 1, 1)),
        ("B-NP I-NP O", "B-NP O O", (1, 1, 0)),
        ("B-NP I-NP", "B-NP B-NP", (1, 2, 0)),
        ("O I-NP I-NP", "O B-NP I-NP", (1, 1, 1)),
        ("B-NP I-VP", "B-NP B-VP", (2, 2, 2)),
        ("B-NP I-NP", "B-NP I-VP", (1, 2, 0)),
        ("B-NP I-NP", "B-VP I-VP", (1, 1, 0)),
        ("B-NP E-NP S-NP", "B-NP I-NP B-NP", (2, 2, 2)),
        ("S-NP S-NP", "B-NP E-NP", (2, 1, 0)),
        ("B-NP L-NP U-NP", "B-NP E-NP S-NP", (2, 2, 2)),
        ("B-NP / I-NP", "B-NP / B-NP", (2, 2, 2)),
        ("B-NP / I-NP", "O / I-NP", (2, 1, 1)),
        ("[-NP . [-VP", "[-NP . ]-VP", (2, 2, 2)),
        ("B I O", "B I I", (1, 1, 0)),
    ],
)
def test_chunk_counts_by_hand(gold, guess, counts):
    scores = chunk_scores(sentences(gold), sentences(guess))
    assert (scores.gold, scores.found, scores.correct) == counts


@pytest.mark.parametrize(("gold", "guess", "overall", "types"), CONLLEVAL)
def test_agrees_with_conlleval(gold, guess, overall, types):
    assert conlleval_lines(chunk_scores(sentences(gold), sentences(guess))) == (overall, types)


@pytest.mark.corpora
@pytest.mark.skipif(not (ORACLES / "conlleval.json").exists(), reason="no stored output of conlleval")
def test_agrees_with_stored_conlleval_output():
    cases = json.loads((ORACLES / "conlleval.json").read_text(encoding="utf-8"))
    assert len(cases) == 40
    for case in cases:
        overall = [f"{case[key]:.2f}" for key in ("accuracy", "precision", "recall", "f1")]
        counts = [str(case[key]) for key in ("tokens", "gold_phrases", "found", "correct")]
        types = [
            f"{name} {score['precision']:.2f} {score['recall']:.2f} {score['f1']:.2f} {score['found']}"
            for name, score in sorted(case["per_type"].items())
        ]
        scores = chunk_scores(case["gold"], case["guess"])
        assert conlleval_lines(scores) == (" ".join(counts + overall), "; ".join(types))


@given(pairs)
def test_counts_equal_the_chunks_that_both_have(both):
    """In every scheme; a perfect guess scores 100."""
    gold, guess = both
    scores = chunk_scores(gold, guess)
    expected = [set(schemes.spans(labels)) for labels in gold]
    found = [set(schemes.spans(labels)) for labels in guess]
    assert scores.gold == sum(map(len, expected))
    assert scores.found == sum(map(len, found))
    assert scores.correct == sum(len(a & b) for a, b in zip(expected, found, strict=True))
    for count in ("gold", "found", "correct"):
        assert getattr(scores, count) == sum(getattr(score, count) for score in scores.per_type.values())
    assert scores.tokens == sum(map(len, gold))
    assert scores.correct_tokens == sum(
        a == b for row, other in zip(gold, guess, strict=True) for a, b in zip(row, other, strict=True)
    )
    for scheme in ("iob1", "iobes", "bilou"):
        rewritten = chunk_scores([schemes.convert(labels, "iob2", scheme) for labels in gold], guess)
        assert rewritten.per_type == scores.per_type
    perfect = chunk_scores(gold, gold)
    assert perfect.gold == perfect.found == perfect.correct
    assert perfect.accuracy == (100 if perfect.tokens else 0)
    assert perfect.precision == perfect.recall == perfect.f1 == (100 if perfect.gold else 0)
    assert all(score.f1 == 100 for score in perfect.per_type.values())


def test_scoring_is_fast_enough_to_follow_every_training_pass():
    rng = random.Random(1)
    labels = ["O", "O", "B-NP", "I-NP", "I-NP", "B-VP", "I-VP", "B-PP"]
    gold = [[rng.choice(labels) for _ in range(25)] for _ in range(2000)]
    guess = [[a if rng.random() < 0.9 else rng.choice(labels) for a in row] for row in gold]
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        chunk_scores(gold, guess)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.5, "50k tokens should take 0.15 s, even if this machine is slow or busy"


WORDS = [["the", "dog", "barks"], ["the", "gnu"]]
TAGS = [["D", "N", "V"], ["D", "N"]]
GUESSED = [["D", "N", "N"], ["D", "N"]]


def test_accuracy_by_hand():
    scores = accuracy_scores(WORDS, TAGS, GUESSED, known={"the", "dog"})
    assert (scores.tokens, scores.correct, scores.accuracy) == (5, 4, 80.0)
    assert (scores.known_tokens, scores.known_accuracy) == (3, 100.0)
    assert (scores.unknown_tokens, scores.unknown_accuracy) == (2, 50.0)
    assert scores.sentence_accuracy == 50.0
    assert list(scores.per_label) == ["D", "N", "V"]
    assert scores.per_label["D"] == TypeScore(100.0, 100.0, 100.0, 2, 2, 2)
    assert scores.per_label["V"] == TypeScore(0.0, 0.0, 0.0, 1, 0, 0)
    assert scores.per_label["N"] == TypeScore(pytest.approx(200 / 3), 100.0, pytest.approx(80.0), 2, 3, 2)
    assert accuracy_scores(WORDS, TAGS, GUESSED, known=lambda word: word in ("the", "dog")) == scores


def test_accuracies_without_tokens_are_none():
    scores = accuracy_scores(WORDS, TAGS, GUESSED)
    assert (scores.known_tokens, scores.unknown_tokens) == (0, 0)
    assert scores.known_accuracy is None
    assert scores.unknown_accuracy is None
    assert "known" not in scores.report()
    empty = accuracy_scores([], [], [], known=set())
    assert (empty.tokens, empty.accuracy, empty.sentence_accuracy, empty.per_label) == (0, 0.0, None, {})


@given(pairs)
def test_accuracy_counts_are_consistent(both):
    gold, guess = both
    scores = accuracy_scores(gold, gold, guess, known={"O"})
    assert scores.known_tokens + scores.unknown_tokens == scores.tokens == sum(map(len, gold))
    assert scores.tokens == sum(score.gold for score in scores.per_label.values())
    assert scores.tokens == sum(score.found for score in scores.per_label.values())
    assert scores.correct == sum(score.correct for score in scores.per_label.values())
    perfect = accuracy_scores(gold, gold, gold, known={"O"})
    assert {perfect.known_accuracy, perfect.unknown_accuracy, perfect.sentence_accuracy} <= {100.0, None}


TWO = [["O", "O"]]


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda: chunk_scores(TWO, [["O"], ["O"]]), "guessed labels for 2 sentences; expected 1"),
        (lambda: chunk_scores(TWO, [["O"]]), "sentence 1: 1 guessed labels; expected 2"),
        (lambda: accuracy_scores(TWO, TWO, [["O"], ["O"]]), "guessed labels for 2 sentences; expected 1"),
        (lambda: accuracy_scores(TWO, TWO, [["O"]]), "sentence 1: 1 guessed labels; expected 2"),
        (lambda: accuracy_scores([WORDS[0], ["the"]], TAGS, GUESSED), "sentence 2: 1 words; expected 2"),
        (lambda: attachment_scores(TREES, TREES[:1]), "guessed heads for 1 sentences; expected 2, as in the gold data"),
        (
            lambda: attachment_scores(TREES, [TREES[0], [(0, "root")]]),
            "sentence 2: 1 guessed heads; expected 2, as many",
        ),
    ],
)
def test_guesses_of_other_lengths_are_refused(score, message):
    with pytest.raises(StructronError, match=message):
        score()


def test_chunk_report_and_json():
    scores = chunk_scores([["B-NP", "O", "B-VP", "B"]], [["B-NP", "B-NP", "B-VP", "O"]])
    assert scores.report().splitlines() == [
        "4 tokens, accuracy 50.00%, 3 chunks",
        "type     precision   recall       f1     gold    found  correct",
        "overall      66.67    66.67    66.67        3        3        2",
        "(none)        0.00     0.00     0.00        1        0        0",
        "NP           50.00   100.00    66.67        1        2        1",
        "VP          100.00   100.00   100.00        1        1        1",
    ]
    plain = scores.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["per_type"]["NP"]["precision"] == 50.0


def test_accuracy_report_and_json():
    scores = accuracy_scores(WORDS, TAGS, GUESSED, known={"the", "dog"})
    plain = scores.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["per_label"]["D"]["f1"] == 100.0
    assert scores.report().splitlines() == [
        "5 tokens, accuracy 80.00%",
        "3 known, accuracy 100.00%",
        "2 unknown, accuracy 50.00%",
        "sentences without an error 50.00%",
        "label    precision   recall       f1     gold    found  correct",
        "D           100.00   100.00   100.00        2        2        2",
        "N            66.67   100.00    80.00        2        3        2",
        "V             0.00     0.00     0.00        1        0        0",
    ]


# "the dog barked loudly ." and "she slept": five of the seven words have the right head, five the right relation, three
# both; a fourth has both when nsubj and nsubj:pass are the same.
TREES = [
    [(2, "det"), (3, "nsubj"), (0, "root"), (3, "advmod"), (3, "punct")],
    [(2, "nsubj"), (0, "root")],
]
GUESSED_TREES = [
    [(2, "det"), (3, "nsubj:pass"), (0, "root"), (3, "obj"), (4, "punct")],
    [(2, "nsubj"), (1, "root")],
]


def test_attachment_by_hand():
    scores = attachment_scores(TREES, GUESSED_TREES)
    assert scores.tokens == 7
    assert scores.uas == pytest.approx(100 * 5 / 7)
    assert scores.las == pytest.approx(100 * 3 / 7)
    assert scores.las_universal == pytest.approx(100 * 4 / 7)
    assert scores.label_accuracy == pytest.approx(100 * 5 / 7)
    assert (scores.root_accuracy, scores.sentence_uas) == (50.0, 0.0)
    assert list(scores.per_relation) == ["advmod", "det", "nsubj", "nsubj:pass", "obj", "punct", "root"]
    assert scores.per_relation["det"] == TypeScore(100.0, 100.0, 100.0, 1, 1, 1)
    assert scores.per_relation["root"] == TypeScore(50.0, 50.0, 50.0, 2, 2, 1)
    assert scores.per_relation["punct"] == TypeScore(0.0, 0.0, 0.0, 1, 1, 0)
    assert scores.per_relation["nsubj"] == TypeScore(100.0, 50.0, pytest.approx(200 / 3), 2, 1, 1)
    assert scores.per_relation["obj"] == TypeScore(0.0, 0.0, 0.0, 0, 1, 0)


@pytest.mark.parametrize("nothing", [None, "_"])
@pytest.mark.parametrize("guessed", [None, "_", "obj"])
def test_unlabelled_trees_have_no_scores_of_relations(nothing, guessed):
    gold = [[(head, nothing) for head, _ in sentence] for sentence in TREES]
    guess = [[(head, guessed) for head, _ in sentence] for sentence in GUESSED_TREES]
    scores = attachment_scores(gold, guess)
    assert (scores.las, scores.las_universal, scores.label_accuracy, scores.per_relation) == (None, None, None, {})
    assert scores.report().splitlines() == [
        "7 tokens, UAS 71.43%",
        "roots found 50.00%",
        "sentences with all heads right 0.00%",
    ]


def test_relations_that_are_not_there():
    """Guessed trees without them have none right; an underscore among relations is one."""
    scores = attachment_scores(TREES, [[(head, None) for head, _ in sentence] for sentence in TREES])
    assert (scores.uas, scores.las, scores.sentence_uas) == (100.0, 0.0, 100.0)
    assert scores.per_relation["_"] == TypeScore(0.0, 0.0, 0.0, 0, 7, 0)
    scores = attachment_scores([[(2, "_"), (0, "ROOT")]], [[(2, None), (0, "ROOT")]])
    assert (scores.las, scores.per_relation["_"].correct) == (100.0, 1)


def test_attachment_without_sentences():
    scores = attachment_scores([], [])
    assert (scores.tokens, scores.uas, scores.las, scores.root_accuracy, scores.sentence_uas) == (0, 0.0, *[None] * 3)
    assert scores.report() == "0 tokens, UAS 0.00%"


arc = st.tuples(st.integers(0, 3), st.sampled_from(["a", "a:x", "b", "_", None]))


@given(st.lists(st.lists(st.tuples(arc, arc), max_size=6), max_size=4))
def test_attachment_counts_are_consistent(rows):
    gold, guess = unzipped(rows)
    scores = attachment_scores(gold, guess)
    words = [((i, a or "_"), (j, b or "_")) for row in rows for (i, a), (j, b) in row]
    assert scores.tokens == len(words)
    assert scores.uas * len(words) == pytest.approx(100 * sum(a[0] == b[0] for a, b in words))
    if all(relation == "_" for (_, relation), _ in words):
        assert scores.las is None
        return
    assert scores.las * len(words) == pytest.approx(100 * sum(a == b for a, b in words))
    assert scores.las <= scores.las_universal <= scores.uas
    assert scores.las <= scores.label_accuracy
    for count, expected in (("gold", len(words)), ("found", len(words)), ("correct", sum(a == b for a, b in words))):
        assert sum(getattr(score, count) for score in scores.per_relation.values()) == expected
    perfect = attachment_scores(gold, gold)
    assert (perfect.uas, perfect.las, perfect.las_universal, perfect.sentence_uas) == (100.0,) * 4


def test_attachment_as_json_and_report():
    scores = attachment_scores(TREES, GUESSED_TREES)
    plain = scores.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["per_relation"]["nsubj"]["recall"] == 50.0
    assert scores.report().splitlines()[:7] == [
        "7 tokens, UAS 71.43%, LAS 42.86%",
        "LAS without subtypes 57.14%, relations alone 71.43%",
        "roots found 50.00%",
        "sentences with all heads right 0.00%",
        "relation    precision   recall       f1     gold    found  correct",
        "advmod           0.00     0.00     0.00        1        0        0",
        "det            100.00   100.00   100.00        1        1        1",
    ]
