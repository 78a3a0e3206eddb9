"""Labels under a beam: margins against all labellings there are."""

import itertools
import math

import pytest

import brute
from structron import Chunker
from structron.tasks.chain.encoder import START

ROWS = [
    [("the", "B"), ("old", "I"), ("dog", "I"), ("barks", "O")],
    [("the", "O"), ("dog", "B"), ("saw", "O"), ("old", "B")],
    [("saw", "B"), ("the", "B"), ("saw", "I")],
]
TEST = [["old", "the", "saw", "dog"], ["new", "dog", "old"], [], ["saw"], ["the", "the", "old", "new"]]


def scorer(chunker: Chunker):
    """score(words, labelling): the sum of the model's weights, looked up by name."""
    model = chunker.model_
    cells = zip(*(array.tolist() for array in model.base.rows), strict=True)
    weights = {(model.name_of(place), model.labels[column]): weight for place, column, weight in cells}

    def score(words, labelling):
        rows = [(word, "O") for word in words]
        plain = brute.make_example(chunker.templates, ["word", "label"], rows).plain
        before, found = [START, START, *labelling], 0.0
        for i, (features, label) in enumerate(zip(plain, labelling, strict=True)):
            history = [f"y[-1]={before[i + 1]}", f"y[-2]={before[i]},y[-1]={before[i + 1]}"]
            found += sum(weights.get((name, label), 0.0) for name in [*history, *(name for name, _ in features)])
        return found

    return score


def is_legal(chunker: Chunker, labelling) -> bool:
    numbers = [chunker.model_.labels.index(label) for label in labelling]
    return all(
        chunker.model_.encoder.allowed[p, y] for p, y in zip([0, *(y + 1 for y in numbers)], numbers, strict=False)
    )


@pytest.mark.parametrize("merge", [True, False], ids=["merged", "apart"])
@pytest.mark.parametrize("forced", [False, True], ids=["free", "forced"])
@pytest.mark.parametrize("constrain", [False, True], ids=["any", "legal"])
@pytest.mark.parametrize("order", [1, 2])
def test_margins_are_those_of_all_labellings(order, constrain, forced, merge):
    """A beam with room for everything: the best labelling against the best that has another label there."""
    given = {"templates": ["w[0]", "w[-1]"], "runs": 1, "cutoff": 0, "passes": 3, "update": "early", "merge": merge}
    chunker = Chunker(beam=200, order=order, constrain=constrain, **given).fit(ROWS)
    fixed = [[None, "B", None, "I"], [None, None, "I"], [], ["O"], ["O", None, None, None]] if forced else None
    labels, margins = chunker.predict_with_margins(TEST, forced=fixed)
    score, certain = scorer(chunker), 0
    for words, own, sure, held in zip(TEST, labels, margins, fixed or [[None] * 4] * len(TEST), strict=True):
        every = {
            labelling: score(words, labelling)
            for labelling in itertools.product(chunker.model_.labels, repeat=len(words))
            if all(h in (None, y) for h, y in zip(held, labelling, strict=False))
            and (not constrain or is_legal(chunker, labelling))
        }
        best = max(every.values())
        assert every[tuple(own)] == pytest.approx(best, abs=1e-5)
        for i, (label, margin) in enumerate(zip(own, sure, strict=True)):
            others = [value for labelling, value in every.items() if labelling[i] != label]
            certain += not others
            assert margin == pytest.approx(best - max(others) if others else math.inf, abs=1e-5)
    assert (certain > 0) == forced
