"""From arc-standard actions to trees, for whole corpora at once: the inverse of oracle.py, with the same arrays.

The relation of a root is -1.
"""

from collections.abc import Sequence

import numpy as np

from structron.errors import StructronError
from structron.kernels.jit import helper, kernel
from structron.tasks.shift_reduce.system import SHIFT


@helper(allocates=True)
def build(actions, first, n, labels, stack, heads, relations, lo):
    """Write the tree that 2n - 1 actions build; False when they are no legal and whole derivation."""
    size, q0 = 0, 0
    for k in range(first, first + 2 * n - 1):
        action = actions[k]
        if action < 0 or action > 2 * labels:
            return False
        if action == SHIFT:
            if q0 == n:
                return False
            stack[size] = q0
            size += 1
            q0 += 1
            continue
        if size < 2:
            return False
        s0, s1 = stack[size - 1], stack[size - 2]
        size -= 1
        if action <= labels:
            heads[lo + s1] = s0 + 1
            relations[lo + s1] = action - 1
            stack[size - 1] = s0
        else:
            heads[lo + s0] = s1 + 1
            relations[lo + s0] = action - 1 - labels
    if size != 1:
        return False
    heads[lo + stack[0]] = 0
    relations[lo + stack[0]] = -1
    return True


@kernel(allocates=True)
def build_all(starts, actions, labels, heads, relations):
    """`build` for every sentence; returns the first sentence whose actions are wrong, or -1."""
    longest = 0
    for k in range(starts.shape[0] - 1):
        longest = max(longest, starts[k + 1] - starts[k])
    stack = np.empty(longest, np.int64)
    for k in range(starts.shape[0] - 1):
        lo, n = starts[k], starts[k + 1] - starts[k]
        if n < 1 or not build(actions, 2 * lo - k, n, labels, stack, heads, relations, lo):
            return k
    return -1


def trees_of(starts: np.ndarray, actions: np.ndarray, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """The heads and relations that the actions of a corpus build."""
    words = int(starts[-1])
    if len(actions) != 2 * words - len(starts) + 1:
        raise StructronError(f"{len(actions)} actions; expected {2 * words - len(starts) + 1}: 2n - 1 for n words")
    heads, relations = np.empty(words, np.int64), np.empty(words, np.int64)
    wrong = build_all(starts, actions, labels, heads, relations)
    if wrong >= 0:
        raise StructronError(f"sentence {wrong + 1}: not a derivation; expected 2n - 1 legal actions for n words")
    return heads, relations


def follow(actions: Sequence[int], labels: int) -> tuple[list[int], int, list[tuple[int, int, int]]]:
    """Where some first actions of a sentence lead: the words on the stack, how many have left the buffer, and the arcs
    (child, head, relation) so far; words are counted from 0."""
    stack: list[int] = []
    arcs, q0 = [], 0
    for action in actions:
        if action == SHIFT:
            stack.append(q0)
            q0 += 1
        elif action <= labels:
            arcs.append((stack.pop(-2), stack[-1], action - 1))
        else:
            arcs.append((stack.pop(), stack[-1], action - 1 - labels))
    return stack, q0, arcs
