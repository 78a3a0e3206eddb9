"""Learning trees sentence by sentence: parse with the weights as they are, then correct them (trees.py)."""

from structron.kernels.jit import Pointed
from structron.search.graph.parse import Setting, parse_at
from structron.search.trees.search import SIGNATURE
from structron.update.alma import lowering
from structron.update.trees import NO_ROOM, correct


def learn_some(
    search,
    templates,
    x,
    starts,
    sequence,
    lo,
    hi,
    w,
    u,
    shift,
    setting,
    relations,
    heads,
    relation,
    found,
    named,
    ranked,
    amount,
    delta,
    alma,
    stats,
):
    """Learn from the sentences sequence[lo:hi]; see `correct`. Returns where it stopped, and what `correct` said.

    It stops before a sentence for which there is no room, and, with an amount of 0, after one that is wrong.
    """
    wrong = 0
    for k in range(lo, hi):
        start, n = starts[sequence[k]], starts[sequence[k] + 1] - starts[sequence[k]]
        kind = (setting.order, setting.grandparents, setting.projective, setting.single_root, setting.keep)
        costly, given = Setting(*kind, lowering(alma)), (templates, x, start, n, w)
        parse_at(search, *given, shift, costly, relations, heads, relation, found, named, ranked)
        pair = (heads, relation, found, named, ranked)
        wrong = correct(*given, u, shift, setting, relations, *pair, amount, delta, alma, stats)
        if wrong == NO_ROOM:
            return k, wrong
        if wrong > 0 and amount == 0:
            return k + 1, wrong
    return hi, wrong


LEARN = Pointed(learn_some, SIGNATURE)
