"""What a model keeps of its weights beside the packed ones."""

import platform
import sys

import numpy as np

from problems import inputs_of, model_of, random_case
from structron.model.beam import BeamModel
from structron.runtime.threads import give_back


def test_a_model_that_has_searched_keeps_its_weights():
    problem, weights, [x] = random_case("parser", 7, longest=5, examples=1)
    model = model_of(problem, weights)
    before, rows, spread = model.tensors(), model.rows, model.spread
    model.decode(inputs_of(problem, [x]), 4)
    assert model._rows is None, "rows that nobody asks for are not held beside the packed ones"
    assert all(np.array_equal(array, model.tensors()[name]) for name, array in before.items())
    assert BeamModel(problem, model.keys, model.rows).spread == spread
    assert all(np.array_equal(a, b) for a, b in zip(rows, model.rows, strict=True))


def test_a_model_at_rest_searches_again_as_before():
    problem, weights, [x] = random_case("parser", 7, longest=5, examples=1)
    model, inputs = model_of(problem, weights), inputs_of(problem, [x])
    before = model.decode(inputs, 4)
    model.free_search_buffers()
    assert "_packed" not in vars(model)
    assert not model.engines
    after = model.decode(inputs, 4)
    assert str(after) == str(before)


def test_memory_goes_back_where_there_is_a_way():
    glibc = sys.platform == "linux" and platform.libc_ver()[0] == "glibc"
    assert give_back() or not glibc
