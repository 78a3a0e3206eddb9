"""Learning trees sentence by sentence: parse with the weights as they are, then correct them (trees.py)."""

from structron.kernels.jit import WithFunctionPointers
from structron.search.graph.parse import STEPS, parse
from structron.update.alma import lowering
from structron.update.trees import NO_CAPACITY, SIGNATURE, take_tree

NO_CAPACITY_TO_PARSE = -2


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


LEARN = WithFunctionPointers(learn_some, *STEPS, SIGNATURE)
