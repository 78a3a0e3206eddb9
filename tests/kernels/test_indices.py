"""Kernels of this package leave out what indices below 0 need; nobody else's do."""

import os
import types

import numpy as np
import pytest
from numba import njit

from structron.kernels.indices import trust_indices

needs_jit = pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")


def item(a, i):
    return a[i]


def put(a, i, value):
    a[i] = value


def last(a):
    return a[-1]


def place(a, value):
    return np.searchsorted(a, value)


def as_ours(function):
    """The same function as if it stood in the package."""
    names = {"__name__": "structron.search.somewhere", "np": np}
    return njit(types.FunctionType(function.__code__, names, function.__name__))


@needs_jit
def test_a_users_function_counts_from_the_end():
    trust_indices()
    a = np.arange(5)
    assert njit(item)(a, -1) == 4
    njit(put)(a, -2, 30)
    assert a.tolist() == [0, 1, 2, 30, 4]


@needs_jit
def test_our_kernels_do_not():
    """What stands before a view is found there, where counting from the end would give its last item."""
    trust_indices()
    a = np.arange(10)
    assert as_ours(item)(a[5:], -1) == 4
    as_ours(put)(a[5:], -2, 30)
    assert a.tolist() == [0, 1, 2, 30, 4, 5, 6, 7, 8, 9]
    assert as_ours(item)(a[5:], np.uint64(2)) == 7


@needs_jit
def test_a_number_in_the_code_means_what_it_says():
    trust_indices()
    assert as_ours(last)(np.arange(10)[5:]) == 9


@needs_jit
def test_numbas_own_functions_keep_their_meaning():
    """np.searchsorted and others are compiled into our kernels, and some of them count from the end."""
    trust_indices()
    a = np.array([1.0, 2.0, 4.0])
    ours = as_ours(place)
    for value in (0.0, 1.0, 3.0, 9.0):
        assert ours(a, value) == np.searchsorted(a, value)
