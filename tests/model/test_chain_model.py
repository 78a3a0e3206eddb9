"""Chain models as arrays: what comes back is the same, and arrays that do not fit are refused."""

import json

import numpy as np
import pytest

from helpers import learn_passes, make_learner, random_examples, weights_of
from structron.io.tensors import check
from structron.model.chain import ChainModel

LABELS = ["A", "B", "C"]
KINDS = {
    "plain": {"order": 1},
    "order 2": {"order": 2},
    "pairs": {"order": 1, "pairs": True},
    "votes": {"order": 2, "pairs": True, "average": "voted"},
}


HARMLESS = {"words value", "keys value", "block_keys value", "masks longer", "name_text longer"}
HARMLESS |= {"pair_name_text longer", "vote_count value"}
"""Changes that make another model: hashes of other words and features, a mask that no word has, more votes."""


def trained(order: int, pairs: bool = False, average: str = "mean") -> ChainModel:
    rng = np.random.default_rng(order)
    allowed = np.ones((4, 3), bool)
    allowed[1, 2] = False
    examples = [x for x in random_examples(rng, LABELS, 12, pairs=pairs) if ("A", "C") not in zip(x.y, x.y[1:])]
    learner = make_learner(examples, LABELS, order, pairs=pairs, average=average, allowed=allowed)
    learn_passes(learner, [range(len(examples))] * 2)
    return learner.finish(learner.snapshot())


def read(header: dict, tensors: dict) -> ChainModel:
    check(tensors, *ChainModel.declared(header))
    return ChainModel.from_file(header, tensors)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_comes_back_as_it_was(kind):
    model = trained(**KINDS[kind])
    again = read(json.loads(json.dumps(model.header())), model.tensors())
    assert weights_of(again) == weights_of(model) != {}
    assert (again.labels, again.order, again.size) == (model.labels, model.order, model.size)
    assert np.array_equal(again.allowed, model.allowed)
    assert np.array_equal(again.w, model.w)
    assert again.names.all() == model.names.all()
    assert again.pair_names.all() == model.pair_names.all()
    if model.votes is not None:
        for name in model.votes.__slots__:
            assert np.array_equal(getattr(again.votes, name), getattr(model.votes, name))


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_that_do_not_fit_are_refused(kind):
    """Each one left out, of another length, of another kind, and of the largest values there are."""
    model = trained(**KINDS[kind])
    header, tensors, harmless = model.header(), model.tensors(), []
    for name, array in tensors.items():
        changes = {"missing": [], "kind": [array.astype(np.complex64)], "flat": [array.reshape(-1, 1, 1)]}
        changes |= {"longer": [np.concatenate([array, array[:1]])] if array.size else []}
        if array.dtype.kind in "iu" and array.size:
            changes["value"] = [np.full_like(array, np.iinfo(array.dtype).max)]
        for what, changed in changes.items():
            try:
                read(header, {k: v for k, v in tensors.items() if k != name} | {name: own for own in changed})
            except ValueError:
                continue
            harmless.append(f"{name} {what}")
    assert set(harmless) <= HARMLESS, harmless


@pytest.mark.parametrize(
    "change",
    [{"labels": ["A", "B"]}, {"labels": ["A", "A", "B"]}, {"order": 1}, {"order": 3}, {"rows": 9}, {"voted": True}],
    ids=str,
)
def test_headers_that_do_not_fit_are_refused(change):
    model = trained(order=2)
    with pytest.raises(ValueError):
        read(model.header() | change, model.tensors())
