"""Elected trees that have what trees never have: by hand, what costs the fewest votes, or the nearest voter's tree."""

from types import SimpleNamespace

import numpy as np
import pytest

from structron.features.encode import TokenTable
from structron.tasks.pipeline.election import elected

VOTES = [1.1, 0.6, 1.0]
FIRST = [(3, "nsubj"), (3, "obj"), (0, "root"), (3, "obl")]
SECOND = [(3, "obj"), (3, "nsubj"), (0, "root"), (3, "punct")]
THIRD = [(3, "nsubj"), (3, "nsubj"), (0, "root"), (3, "punct")]
MIXED = THIRD
"""nsubj 2.1 against 0.6; nsubj 1.6 against 1.1; punct 1.6 against 1.1."""
OTHER = [(2, "det"), (0, "root")]


def knowing(tags, single=("subject",), rootless=()):
    """A parser that knows relations that a head has once, and tags that roots do not have."""
    never = np.array([tag in rootless for tag in range(3)]) if rootless else np.zeros(0, bool)
    x = np.array([[0, tag] for tag in tags])
    own = SimpleNamespace(encode=lambda columns: x, sizes=lambda: {"t": 3})
    return SimpleNamespace(single_=list(single), rootless_=never, input_=own)


def table(*lengths):
    return TokenTable(np.cumsum([0, *lengths]), np.arange(len(lengths) + 1), {})


def test_two_subjects_of_one_head():
    first = knowing([0] * 6)
    found = elected(table(2, 4), [OTHER + own for own in (FIRST, SECOND, THIRD)], VOTES, first)
    assert found == [*OTHER, (3, "nsubj"), (3, "obj"), (0, "root"), (3, "punct")], "1.6 to 1.1 votes, not 2.1 to 0.6"
    with_outer = [[*own[:1], (3, "nsubj:outer"), *own[2:]] for own in (FIRST, SECOND, THIRD)]
    assert elected(table(4), with_outer, VOTES, knowing([0] * 4))[1] == (3, "nsubj:outer")


@pytest.mark.parametrize("first", [knowing([0] * 4, ()), SimpleNamespace()])
def test_a_parser_that_knows_nothing(first):
    assert elected(table(4), [FIRST, SECOND, THIRD], VOTES, first) == MIXED


def test_all_voters_have_it():
    assert elected(table(4), [THIRD, THIRD, THIRD], VOTES, knowing([0] * 4)) == THIRD


def test_another_head():
    """Words 1 and 4 are subjects of 3. Moving 1 to 2 costs 0.7 votes, but 2 hangs on it; moving 4 to 1 costs 1.5."""
    first = [(3, "nsubj"), (1, "det"), (0, "root"), (3, "nsubj")]
    second = [(3, "nsubj"), (1, "det"), (0, "root"), (1, "nmod")]
    third = [(2, "dep"), (3, "det"), (0, "root"), (3, "nsubj")]
    assert elected(table(4), [first, second, third], VOTES, knowing([0] * 4, ())) == first
    assert elected(table(4), [first, second, third], VOTES, knowing([0] * 4)) == second


def test_no_other_place():
    """There is one root, so the first word cannot be it: of the trees of the voters, the third is usual."""
    first, third = [(3, "nsubj"), (3, "nsubj"), (0, "root")], [(0, "root"), (3, "nsubj"), (1, "conj")]
    trees = [first, first, third]
    assert elected(table(3), trees, VOTES, knowing([0] * 3, ())) == first
    assert elected(table(3), trees, VOTES, knowing([0] * 3)) == third


def test_roots():
    """The second and the third make a mark the root; the first does not, though it has fewer votes."""
    first, others = [(2, "nsubj"), (0, "root"), (2, "punct")], [(3, "nsubj"), (3, "dep"), (0, "root")]
    trees = [first, others, others]
    assert elected(table(3), trees, VOTES, knowing([0, 1, 2], rootless=[2])) == first
    assert elected(table(3), trees, VOTES, knowing([0, 1, 2], rootless=[1])) == others
    assert elected(table(3), trees, VOTES, knowing([2, 2, 2], rootless=[2])) == others
