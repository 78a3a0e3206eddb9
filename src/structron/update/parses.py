"""Learning trees sentence by sentence: parse with the weights as they are, then correct them (trees.py)."""

from structron.kernels.jit import WithFunctionPointers, helper
from structron.search.graph.parse import STEPS, parse
from structron.update.alma import lowering
from structron.update.trees import NO_CAPACITY, SIGNATURE, take_tree

NO_CAPACITY_TO_PARSE = -2
FORCE = 1e9
"""More than any two trees differ by."""


def learn_some(prepare, score, search, choose, correct, scratch, learning, x, starts, sequence, lo, hi, amount):
    """Learn from the sentences sequence[lo:hi]; see `correct`. Returns where it stopped, and what `correct` said.

    It stops before a sentence for which there is no room, and, with an amount of 0, after one that is wrong.
    """
    wrong = 0
    for k in range(lo, hi):
        start, n = starts[sequence[k]], starts[sequence[k] + 1] - starts[sequence[k]]
        take_tree(learning.heads, learning.relation, start, n, scratch.gold)
        cost = lowering(learning.alma)
        if not parse(prepare, score, search, choose, scratch, x, start, n, 1, cost):
            return k, NO_CAPACITY_TO_PARSE
        for i in range(n):
            learning.found[start + i], learning.named[start + i] = (
                scratch.found.heads[i + 1],
                scratch.found.relation[i + 1],
            )
            learning.ranked[start + i] = scratch.ranked[i + 1]
        wrong = correct(scratch, learning, n, amount)
        if wrong == NO_CAPACITY:
            return k, wrong
        if wrong > 0 and amount == 0:
            return k + 1, wrong
    return hi, wrong


@helper
def count_against(known, tree, n):
    """How many words of a tree have another head or relation than is known (-1: open)."""
    wrong = 0
    for m in range(1, n + 1):
        head = known.heads[m] >= 0 and known.heads[m] != tree.heads[m]
        wrong += head or (known.relation[m] >= 0 and known.relation[m] != tree.relation[m])
    return wrong


@helper
def copy_tree(tree, n, into):
    for m in range(n + 1):
        into.heads[m], into.relation[m] = tree.heads[m], tree.relation[m]


def learn_partial(prepare, score, search, choose, correct, scratch, learning, x, starts, sequence, lo, hi):
    """The same for sentences of which heads or relations are open: -1.

    z is the best tree, known words with a cost while learning. If it does not agree with what is known, the target is
    the best tree that does: the same search again, in which all that does not agree costs FORCE. A sentence for which
    there is none is not learned from. The fast model learns known heads alone.
    """
    for k in range(lo, hi):
        start, n = starts[sequence[k]], starts[sequence[k] + 1] - starts[sequence[k]]
        known, found, gold = scratch.mixed, scratch.found, scratch.gold
        take_tree(learning.heads, learning.relation, start, n, gold)
        copy_tree(gold, n, known)
        if not parse(prepare, score, search, choose, scratch, x, start, n, 1, lowering(learning.alma)):
            return k, NO_CAPACITY_TO_PARSE
        for i in range(n):
            learning.found[start + i], learning.named[start + i] = found.heads[i + 1], found.relation[i + 1]
            learning.ranked[start + i] = scratch.ranked[i + 1]
        agrees = count_against(known, found, n) == 0
        if not agrees:
            if not parse(prepare, score, search, choose, scratch, x, start, n, 1, -FORCE):
                return k, NO_CAPACITY_TO_PARSE
            agrees = count_against(known, found, n) > 0  # no tree does: none is learned
        copy_tree(found, n, gold)
        for i in range(n):
            if not agrees:
                found.heads[i + 1], found.relation[i + 1] = learning.found[start + i], learning.named[start + i]
            scratch.ranked[i + 1] = learning.ranked[start + i] if known.heads[i + 1] >= 0 else gold.heads[i + 1]
        if correct(scratch, learning, n, 1.0) == NO_CAPACITY:
            return k, NO_CAPACITY
    return hi, 0


LEARN = WithFunctionPointers(learn_some, *STEPS, SIGNATURE)
LEARN_PARTIAL = WithFunctionPointers(learn_partial, *STEPS, SIGNATURE)
