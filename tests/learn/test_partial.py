"""Labels that are open: the steps of the perceptron compared with enumeration of all labellings that agree."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
import structron
from helpers import assert_same_weights, weights_of
from structron import Document, StructronError
from structron.learn.loop import Schedule, pass_order
from structron.learn.partial import Knowledge
from structron.text import schemes

PLAIN = {"runs": 1, "cutoff": 0, "average": "none"}
COLUMNS = ["word", "pos", "label"]
TEMPLATES = ["w[0]", "w[-1]|pos[0]"]
PAIRED = [*TEMPLATES, "pos[0]&y"]
KINDS = {
    "order 1": {"order": 1, "templates": TEMPLATES},
    "order 2": {"order": 2, "templates": TEMPLATES},
    "pairs": {"order": 1, "templates": PAIRED},
    "pairs, order 2": {"order": 2, "templates": PAIRED},
}


def random_rows(seed: int, sentences: int = 7, share: float = 0.4, labels: str = "XYZ", longest: int = 4):
    """Small sentences with labels at random, a share of which is open; in every sentence one is known."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(sentences):
        size = int(rng.integers(1, longest + 1))
        known = int(rng.integers(size))
        drawn = [str(rng.choice([*labels])) if i == known or rng.random() > share else None for i in range(size)]
        found.append([(str(rng.choice([*"abcd"])), str(rng.choice([*"NV"])), label) for label in drawn])
    return found


def agrees(x: brute.Example, y) -> bool:
    return all(label in (None, own) for label, own in zip(x.y, y, strict=True))


def learned_by_enumeration(examples, labels, order, passes, margin=None):
    """The weights after all passes, and the updates; ties go as in the search."""
    w: brute.Vector = {}
    updates = 0
    for sequence in passes:
        for s in sequence:
            x = examples[s]
            z = brute.best(x, w, labels, order)
            if agrees(x, z):
                others = [u for u in brute.labellings(labels, len(x)) if not agrees(x, u)]
                if margin is None or not others:
                    continue
                y, z = z, max(others, key=lambda u: brute.dot(w, brute.phi(x, u, order)))
                if brute.dot(w, brute.phi(x, y, order)) - brute.dot(w, brute.phi(x, z, order)) > margin:
                    continue
            else:
                y = brute.best(x, w, labels, order, agrees)
            updates += 1
            change = brute.phi(x, y, order)
            change.subtract(brute.phi(x, z, order))
            for key, amount in change.items():
                w[key] = w.get(key, 0.0) + amount
    return brute.clean(w), updates


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_weights_are_those_of_enumeration(kind):
    rows = random_rows(3)
    examples = [brute.make_example(kind["templates"], COLUMNS, sentence) for sentence in rows]
    orders = [pass_order(Schedule(), k + 1, len(rows)).tolist() for k in range(3)]
    expected, updates = learned_by_enumeration(examples, ["X", "Y", "Z"], kind["order"], orders)
    tagger = structron.Tagger(**PLAIN, passes=3, **kind).fit(rows)
    assert_same_weights(weights_of(tagger.model_), expected)
    assert sum(record["updates"] for record in tagger.history_) == updates


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([1, 2]))
def test_any_data(seed, order):
    rows = random_rows(seed, sentences=4, share=0.6)
    labels = sorted({row[-1] for sentence in rows for row in sentence} - {None})
    if len(labels) < 2:
        return
    examples = [brute.make_example(TEMPLATES, COLUMNS, sentence) for sentence in rows]
    expected, _ = learned_by_enumeration(examples, labels, order, [range(len(rows))])
    tagger = structron.Tagger(**PLAIN, passes=1, shuffle=False, order=order, templates=TEMPLATES).fit(rows)
    assert_same_weights(weights_of(tagger.model_), expected)


@pytest.mark.parametrize("order", [1, 2])
def test_with_a_margin_the_rival_is_the_best_that_does_not_agree(order):
    """The score by which the nearest rival is behind decides, whatever open tokens have."""
    rows = random_rows(11, sentences=5)
    tagger = structron.Tagger(**PLAIN, passes=2, order=order, templates=TEMPLATES, margin=3.5).fit(rows)
    learner = tagger.learner_
    for s, x in enumerate(brute.make_example(TEMPLATES, COLUMNS, sentence) for sentence in rows):
        w = weights_of(learner.finish(learner.snapshot()))
        score = {u: brute.dot(w, brute.phi(x, u, order)) for u in brute.labellings(["X", "Y", "Z"], len(x))}
        best, rival = (max(score[u] for u in score if agrees(x, u) is right) for right in (True, False))
        before = learner.stats.copy()
        learner.partial.step(s, s + 1, 3.5)
        after = weights_of(learner.finish(learner.snapshot()))
        updated = int(learner.stats[1] - before[1])
        assert updated == (best - rival <= 3.5)
        if updated:
            numbers = {label: k for k, label in enumerate(tagger.model_.labels)}
            start = int(learner.chains.starts[s])
            y, z = (
                tuple(tagger.model_.labels[k] for k in row[:n].tolist())
                for row, n in ((learner.gold[start:], len(x)), (learner.found, len(x)))
            )
            assert agrees(x, y)
            assert not agrees(x, z)
            assert score[z] == rival
            assert score[y] == best
            assert len(numbers) == 3
            change = brute.phi(x, y, order)
            change.subtract(brute.phi(x, z, order))
            expected = {key: w.get(key, 0.0) + change.get(key, 0.0) for key in w.keys() | change.keys()}
            assert_same_weights(after, brute.clean(expected), 1e-6)


def test_updates_keep_to_the_bound():
    """R²/δ², where the labels of one word are never known, and u tells all agreeing labellings from all others."""
    rng = np.random.default_rng(5)
    own = {"a": "X", "b": "Y", "c": None}
    rows = [[(w, "N", own[w]) for w in rng.choice([*"abc"], rng.integers(1, 5)).tolist()] for _ in range(30)]
    rows = [sentence for sentence in rows if any(label for *_, label in sentence)]
    tagger = structron.Tagger(**PLAIN, passes=50, order=1, templates=["w[0]"]).fit(rows)
    u = {("w[0]=a", "X"): 1.0, ("w[0]=a", "Y"): -1.0, ("w[0]=b", "Y"): 1.0, ("w[0]=b", "X"): -1.0}
    radius, least = 0.0, np.inf
    for x in (brute.make_example(["w[0]"], COLUMNS, sentence) for sentence in rows):
        for y, z in product(brute.labellings("XY", len(x)), repeat=2):
            if agrees(x, y) and not agrees(x, z):
                change = brute.phi(x, y, 1)
                change.subtract(brute.phi(x, z, 1))
                radius, least = max(radius, brute.norm(change)), min(least, brute.dot(u, change) / brute.norm(u))
    assert least > 0
    assert sum(record["updates"] for record in tagger.history_) <= (radius / least) ** 2
    assert tagger.history_[-1]["updates"] == 0


# -- data --------------------------------------------------------------------------------------------------------------


def test_with_all_labels_known_nothing_changes():
    rows = random_rows(1, share=0.0)
    first = structron.Tagger(**PLAIN, passes=2, order=2).fit(rows)
    second = structron.Tagger(**PLAIN, passes=2, order=2, open_label="?").fit(rows)
    assert np.array_equal(first.model_.w, second.model_.w)
    assert second.learner_.knowledge is None
    assert second.notes_ == []


def test_none_and_the_mark_are_the_same():
    rows = random_rows(2)
    marked = [[(*row[:-1], row[-1] or "?") for row in sentence] for sentence in rows]
    first = structron.Tagger(**PLAIN, passes=2).fit(rows)
    second = structron.Tagger(**PLAIN, passes=2, open_label="?").fit(marked)
    assert np.array_equal(first.model_.w, second.model_.w)
    assert first.model_.labels == ["X", "Y", "Z"]


def test_sentences_of_which_nothing_is_known_are_left_out():
    rows = random_rows(4)
    more = [*rows[:3], [("e", "N", None), ("f", "N", None)], *rows[3:]]
    options = PLAIN | {"average": "mean", "passes": 2, "shuffle": False}
    first, second = structron.Tagger(**options).fit(rows), structron.Tagger(**options).fit(more)
    assert np.array_equal(first.model_.w, second.model_.w)
    assert second.notes_[0].endswith("; skipped sentences without a known label: 1")
    with pytest.raises(StructronError, match="no sentences; expected at least one with a known label"):
        structron.Tagger().fit([more[3]])


def test_runs_shards_and_going_on():
    """Runs complete labels for themselves, and every way of learning is deterministic."""
    rows = random_rows(6, sentences=12)
    kinds = [{"runs": 3}, {"runs": 3, "jobs": 2}, {"shards": 2}, {"shards": 2, "jobs": 2}, {"average": "voted"}]
    weights = [structron.Tagger(**PLAIN | {"passes": 2} | kind).fit(rows).model_.w for kind in kinds]
    assert np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[2], weights[3])
    tagger = structron.Tagger(**PLAIN, passes=1).fit(rows[:6]).partial_fit(rows[6:])
    assert tagger.score([[(*row[:2], row[2] or "X") for row in sentence] for sentence in rows]) > 0


def test_open_labels_are_not_scored():
    rows = random_rows(6)
    tagger = structron.Tagger(**PLAIN, passes=1, open_label="?").fit(rows)
    closed = [[("a", "N", "X"), ("b", "N", "?")]]
    with pytest.raises(StructronError, match="data: sentence 1, token 2: an open label; expected known labels"):
        tagger.score(closed)
    with pytest.raises(StructronError, match="dev data: sentence 1, token 2: an open label"):
        tagger.fit(rows, dev=closed)


# -- chunk labels ------------------------------------------------------------------------------------------------------


CHUNKS = ["B-P I-P O", "O B-P", "B-P O O B-P I-P", "I-P O", "O I-P"]


@pytest.mark.parametrize("kind", [structron.Chunker, structron.EntityRecognizer])
@pytest.mark.parametrize(
    ("labels", "place"),
    [("O I-P ?", "token 2: 'I-P' after 'O'"), ("I-P ? O", "token 1: 'I-P' after the start of the sentence")],
)
def test_what_contradicts_itself_names_the_place(kind, labels, place):
    rows = [[(f"w{i}", y) for i, y in enumerate(text.split())] for text in ["? ?", "B-P I-P O", labels]]
    expected = f"training data: sentence 3, {place}; expected labels that iob2 allows"
    with pytest.raises(StructronError) as error:
        kind(open_label="?", passes=1).fit(rows)
    assert str(error.value) == expected


def test_labels_that_chunks_need_are_there_though_nothing_shows_them():
    rows = [[("a", "O"), ("b", None), ("c", "I-P")], [("a", "O"), ("b", None)], [("a", "O"), ("c", None), ("a", "O")]]
    chunker = structron.Chunker(**PLAIN, passes=3).fit(rows)
    assert chunker.model_.labels == ["I-P", "O", "B-P"]
    assert chunker.predict([["a", "b", "c"]]) == [["O", "B-P", "I-P"]]


@pytest.mark.parametrize(("source", "target"), [*product(["iob2", "iobes", "bilou"], ["iob2", "iobes", "bilou"])])
def test_labels_of_another_scheme_are_those_of_all_labellings_that_agree(source, target):
    chunks = [[], [("P", 0, 1)], [("P", 0, 2)], [("P", 0, 1), ("P", 1, 2)], [("P", 0, 3)], [("P", 1, 3)]]
    chunks += [[("P", 2, 3)], [("P", 0, 2), ("P", 2, 3)], [("P", 0, 1), ("P", 1, 3)], [("Q", 0, 2), ("P", 2, 3)]]
    chunks += [[("P", 0, 1), ("P", 1, 2), ("P", 2, 3)], [("P", 0, 1), ("P", 2, 3)], [("P", 1, 2)]]
    written = [(schemes.encode(own, 3, source), schemes.encode(own, 3, target)) for own in chunks]
    for labels, inner in written:
        for known in product([False, True], repeat=3):
            seen = [label if own else None for label, own in zip(labels, known, strict=True)]
            possible = [
                other
                for all_labels, other in written
                if all(a in (None, b) for a, b in zip(seen, all_labels, strict=True))
            ]
            found = schemes.agreeing(seen, source, target)
            for i in range(3):
                assert inner[i] in found[i] or found[i] == ()
                if known[i]:
                    assert {own[i] for own in possible} <= {*found[i]}
                    alone = seen[max(i - 1, 0) : i] == [None] or seen[i + 1 : i + 2] == [None]
                    assert len(found[i]) == 1 or alone


@pytest.mark.parametrize("local_update", ["sentences", "aggressive", "conservative", "none"])
@pytest.mark.parametrize("inner", ["iob2", "iobes"])
def test_entities_learn_names_that_are_open_in_places(local_update, inner):
    """In documents, in any inner scheme; what is known at the end is what the data say."""
    names = {"Ann": "B-PER", "Lee": "I-PER", "Bo": "B-PER", "sees": "O", "and": "O"}
    texts = ["Ann Lee sees Bo", "Bo sees Ann Lee", "Ann sees Bo and Ann Lee"]
    full = [[(word, names[word]) for word in text.split()] for text in texts]
    rng = np.random.default_rng(8)
    part = [[(w, y if rng.random() < 0.6 else None) for w, y in sentence] for sentence in full * 3]
    docs = [Document(part[:3]), *part[3:]]
    options = {"passes": 6, "runs": 1, "cutoff": 0, "local_update": local_update, "inner": inner}
    recognizer = structron.EntityRecognizer(**options).fit(docs)
    assert recognizer.written_ == "iob2"
    if local_update != "none":
        assert recognizer.predict([[w for w, _ in sentence] for sentence in full]) == [
            [y for _, y in sentence] for sentence in full
        ]


def test_knowledge_by_hand():
    known = Knowledge.of(np.array([1, -1, -1, 0]), 3, {2: (0, 2)})
    assert known.masks[known.mask_of].tolist() == [
        [False, True, False],
        [True, True, True],
        [True, False, True],
        [True, False, False],
    ]
    assert known.open_units(np.array([0, 1, 3, 4])).tolist() == [False, True, False]
    allowed = np.ones((4, 3), bool)
    assert known.contradiction(allowed, np.array([0, 4])) is None
    allowed[1:, 0] = False  # label 0 only at the beginning of a sentence
    assert known.contradiction(allowed, np.array([0, 4])) == (0, 3)
    assert known.contradiction(allowed, np.array([0, 3, 4])) is None
