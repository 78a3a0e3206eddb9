"""From trees to arc-standard actions, for whole corpora at once; building.py goes the other way.

Everywhere `heads[i]` is the head of word i + 1 of its sentence (0: the root), a relation is a number from 0 to
relations - 1, and actions are those of `shift_reduce`. The root's relation is not an action and is not looked at.

    starts   int64[sentences + 1]   the words of sentence k are starts[k] … starts[k + 1] - 1
    actions  int64[2 * words - sentences]   those of sentence k begin at 2 * starts[k] - k
"""

import numpy as np

from structron.errors import StructronError
from structron.kernels.jit import helper, kernel
from structron.tasks.shift_reduce.system import SHIFT
from structron.text.trees import check_tree


@helper(allocates=True)
def derive(heads, relations, lo, n, labels, stack, lacking, actions, first):
    """Write the actions that build one tree and say whether it is projective with one root.

    The static oracle that keeps the stack as short as it can be: two words are tied as soon as the child has all its
    own children. Whatever heads it is given, it writes no more than 2n - 1 actions.
    """
    for i in range(n):
        lacking[i] = 0
    for i in range(n):
        if heads[lo + i] < 0 or heads[lo + i] > n:
            return False
        if heads[lo + i] > 0:
            lacking[heads[lo + i] - 1] += 1
    size, q0, k = 0, 0, first
    while True:
        if size > 1:
            s0, s1 = stack[size - 1], stack[size - 2]
            if heads[lo + s1] == s0 + 1:
                actions[k] = 1 + relations[lo + s1]
                stack[size - 2] = s0
                lacking[s0] -= 1
                size -= 1
                k += 1
                continue
            if heads[lo + s0] == s1 + 1 and lacking[s0] == 0:
                actions[k] = 1 + labels + relations[lo + s0]
                lacking[s1] -= 1
                size -= 1
                k += 1
                continue
        if q0 == n:
            break
        actions[k] = SHIFT
        stack[size] = q0
        size += 1
        q0 += 1
        k += 1
    return size == 1 and heads[lo + stack[0]] == 0


@kernel(allocates=True)
def derive_all(starts, heads, relations, labels, actions, good):
    """`derive` for every sentence; good[k] says whether sentence k is a projective tree with one root."""
    longest = 0
    for k in range(starts.shape[0] - 1):
        longest = max(longest, starts[k + 1] - starts[k])
    stack = np.empty(longest, np.int64)
    lacking = np.empty(longest, np.int64)
    for k in range(starts.shape[0] - 1):
        lo, n = starts[k], starts[k + 1] - starts[k]
        good[k] = derive(heads, relations, lo, n, labels, stack, lacking, actions, 2 * lo - k)


def oracle_all(starts: np.ndarray, heads: np.ndarray, relations: np.ndarray | None, labels: int) -> np.ndarray:
    """The actions that build the trees of a corpus; an error for what is not a projective tree with one root."""
    relations = np.zeros(len(heads), np.int64) if relations is None else relations
    wrong = np.flatnonzero((heads > 0) & ((relations < 0) | (relations >= labels)))
    if len(wrong):
        sentence = int(np.searchsorted(starts, wrong[0], side="right"))
        where = f"sentence {sentence}, word {wrong[0] - starts[sentence - 1] + 1}"
        raise StructronError(f"{where}: relation {relations[wrong[0]]}; expected 0 … {labels - 1}")
    if (np.diff(starts) < 1).any():
        raise StructronError(f"sentence {int(np.argmax(np.diff(starts) < 1)) + 1}: {_what_is_wrong([])}")
    actions = np.empty(2 * len(heads) - len(starts) + 1, np.int64)
    good = np.zeros(len(starts) - 1, np.bool_)
    derive_all(starts, heads, relations, labels, actions, good)
    if not good.all():
        k = int(np.argmin(good))
        raise StructronError(f"sentence {k + 1}: {_what_is_wrong(heads[starts[k] : starts[k + 1]].tolist())}")
    return actions


def _what_is_wrong(heads: list[int]) -> str:
    """Why there are no actions that build a tree."""
    problem = check_tree(heads)
    if problem:
        return f"word {problem[0] + 1}: {problem[1]}" if heads else problem[1]
    return "arcs cross; expected a projective tree"


def moves(labels: int) -> np.ndarray:
    """What each action does to the height of the stack: +1 (push) or -1 (pop)."""
    found = np.full(1 + 2 * labels, -1, np.int64)
    found[SHIFT] = 1
    return found


def seen_relations(
    starts: np.ndarray, heads: np.ndarray, relations: np.ndarray, tags: np.ndarray, tag_count: int, labels: int
) -> np.ndarray:
    """bool[2, tags, tags, relations]: which relations a corpus shows for children to the left and to the right, by the
    tags of head and child."""
    words = np.flatnonzero(heads > 0)
    first = np.repeat(starts[:-1], np.diff(starts))
    parents = first[words] + heads[words] - 1
    seen = np.zeros((2, tag_count, tag_count, labels), np.bool_)
    seen[(parents < words).astype(np.int64), tags[parents], tags[words], relations[words]] = True
    return seen
