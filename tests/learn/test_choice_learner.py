"""Learning over choices: with all labels to choose from it is the dense learner of order 1; growth, checkpoints."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
import structron
from estimators import CASES, bytes_of
from helpers import PreparedExamples, assert_same_weights, learn_passes, learned, make_learner, random_examples
from structron.learn.choices import ChoiceLearner
from structron.model.choices import ChoiceModel
from structron.tasks.chain.constraints import make_dictionary
from structron.weights import cells

LABELS = ["A", "B", "C"]
SEEN = CASES["tagger, seen"]


class Everything:
    """A lexicon that gives every word all labels."""

    def __init__(self, labels: int):
        self.labels, self.given = labels, []

    def choices(self, prepared: Any, tokens: slice) -> tuple[np.ndarray, np.ndarray]:
        count = tokens.stop - tokens.start
        return np.arange(count + 1) * self.labels, np.tile(np.arange(self.labels, dtype=np.int32), count)


def make_choices(examples: list[brute.Example], labels: list[str], **more: Any) -> ChoiceLearner:
    prepared = PreparedExamples(examples)
    gold = np.array([labels.index(label) for x in examples for label in x.y], np.int64)
    dictionary, everything = make_dictionary(prepared, gold, len(labels), 0), Everything(len(labels))
    return ChoiceLearner(prepared, gold, labels, everything, dictionary, **{"paired": True} | more)  # type: ignore[arg-type]


def weights_of(model: ChoiceModel) -> brute.Vector:
    """The weights of a model under the keys of `brute`."""
    contexts, names = [brute.START, *model.labels], model.names.all()
    found: brute.Vector = {}
    for row, y, weight in zip(model.row.tolist(), model.column.tolist(), model.weight.tolist(), strict=True):
        label = model.labels[y]
        key = ("label", contexts[row], label) if row < model.fixed else (names[row - model.fixed], label)
        found[key] = weight
    return found


@given(
    st.integers(0, 2**32 - 1), st.integers(2, 3), st.sampled_from([0, 1, 3]), st.sampled_from(["mean", "none"]),
    st.sampled_from([0, 1]),
)  # fmt: skip
@settings(max_examples=60)
def test_with_all_labels_it_is_the_dense_learner(seed, count, cutoff, average, shortest):
    rng, labels = np.random.default_rng(seed), LABELS[:count]
    examples = random_examples(rng, labels, shortest=shortest)
    passes = [rng.permutation(len(examples)).tolist() for _ in range(3)]
    dense = make_learner(examples, labels, 1, cutoff=cutoff, average=average)
    sparse = make_choices(examples, labels, cutoff=cutoff, average=average)
    assert learn_passes(dense, passes) == learn_passes(sparse, passes)
    model = sparse.finish(sparse.snapshot())
    assert_same_weights(weights_of(model), learned(dense), 1e-6)
    assert sparse.counts() == {name: dense.counts()[name] for name in sparse.counts()}


def test_stores_that_grow_learn_the_same(monkeypatch):
    examples = random_examples(np.random.default_rng(5), LABELS, sentences=40, vocabulary=90)
    passes = [range(40), range(40)]
    roomy = make_choices(examples, LABELS)
    learn_passes(roomy, passes)
    monkeypatch.setattr(cells, "FIRST", 1)
    tight = make_choices(examples, LABELS)
    assert len(tight.store.cells.key) == 64
    learn_passes(tight, passes)
    assert len(tight.store.cells.key) > 64
    for name in ("keys", "row", "column", "weight"):
        found, expected = (getattr(learner.snapshot(), name) for learner in (tight, roomy))
        assert found.tobytes() == expected.tobytes()


def test_the_truth_can_always_be_found():
    """The lexicon keeps the 16 commonest labels of a word; training has others all the same."""
    sentences = [[("word", f"L{k:02}"), ("end", "E")] for k in range(40) for _ in range(40 - k)]
    model = structron.Tagger(among="seen", templates=["w[0]"], passes=1, runs=1).fit(sentences)
    learner = model.learner_
    first, choice = learner.lattice.first, learner.lattice.choice
    assert all(learner.gold[i] in choice[first[i] : first[i + 1]] for i in range(len(learner.gold)))
    assert np.diff(first).max() == 17


def test_bpm_and_runs_can_be_resumed(tmp_path):
    whole = SEEN.make(bpm=2, runs=2).fit(SEEN.train)
    SEEN.make(bpm=2, runs=2, passes=1).fit(SEEN.train, checkpoint=tmp_path / "c")
    again = SEEN.make(bpm=2, runs=2).fit(SEEN.train, checkpoint=tmp_path / "c", resume=True)
    assert bytes_of(again, tmp_path / "a") == bytes_of(whole, tmp_path / "b")
    plain = SEEN.make(runs=2).fit(SEEN.train)
    assert bytes_of(plain, tmp_path / "a") != bytes_of(whole, tmp_path / "b")
    assert whole.score(SEEN.train) > 90


@pytest.mark.parametrize("given", [{"rare": 2}, {"given": ["suffix"]}])
def test_a_checkpoint_of_other_choices_is_refused(given, tmp_path):
    train = [[(word, word[-1:], tag) for word, tag in sentence] for sentence in SEEN.train]
    columns = {"columns": ["w", "suffix", "tag"], "rare": 50}
    SEEN.make(**columns, passes=1).fit(train, checkpoint=tmp_path / "c")
    with pytest.raises(structron.StructronError, match="other data"):
        SEEN.make(**columns | given).fit(train, checkpoint=tmp_path / "c", resume=True)
