"""Kernels that make no arrays count no references, and neither do their helpers."""

import numpy as np
import pytest
from numba.core.config import DISABLE_JIT

from structron.kernels import jit
from structron.weights import changes, sparse

pytestmark = pytest.mark.skipif(bool(DISABLE_JIT), reason="nothing is compiled")


def first(store):
    return sparse.home(store.region, np.uint64(7))


def test_kernels_that_only_borrow_count_nothing(monkeypatch):
    """Whoever has called a helper before: the option is the helper's own."""
    store = sparse.make_sparse(4)
    counting, borrowing = jit.kernel(first, allocates=True), jit.kernel(first)
    for found in (counting, borrowing):
        monkeypatch.setattr(found, "_cache", type(found)(first)._cache)  # compiled here, so that it can be looked at
        assert found(store) == sparse.home(store.region, np.uint64(7))
    (code,) = borrowing.inspect_llvm().values()
    assert "call void @NRT_incref" not in code
    assert "call void @NRT_decref" not in code


def test_helpers_are_no_kernels():
    """They have no wrapper for Python, and no file; called all the same, they are compiled as a kernel."""
    assert isinstance(changes.has_capacity, jit.Helper)
    options = changes.has_capacity.dispatcher.targetoptions
    assert options["no_cpython_wrapper"]
    assert options["no_cfunc_wrapper"]
    assert bool(changes.has_capacity(sparse.make_sparse(4)))
