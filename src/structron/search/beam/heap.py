"""The best candidates of a step: a heap of fixed room with the worst on top, then sorted, best first.

A candidate is (score, order, state, place of the predictor, action, gain). Of equal scores the one offered first is
better, so a search gives the same result everywhere.
"""

from structron.kernels.jit import inlined


@inlined
def _below(score_of, order_of, gain_of, what, i, j):
    """Whether candidate i is worse than candidate j."""
    if score_of[i] != score_of[j]:
        return score_of[i] < score_of[j]
    return order_of[i] > order_of[j]


@inlined
def _swap(score_of, order_of, gain_of, what, i, j):
    score, order, gain = score_of[i], order_of[i], gain_of[i]
    score_of[i], order_of[i], gain_of[i] = score_of[j], order_of[j], gain_of[j]
    score_of[j], order_of[j], gain_of[j] = score, order, gain
    for c in range(3):
        value = what[i, c]
        what[i, c] = what[j, c]
        what[j, c] = value


@inlined
def _sink(score_of, order_of, gain_of, what, i, size):
    while True:
        worst, child = i, 2 * i + 1
        if child < size and _below(score_of, order_of, gain_of, what, child, worst):
            worst = child
        if child + 1 < size and _below(score_of, order_of, gain_of, what, child + 1, worst):
            worst = child + 1
        if worst == i:
            return
        _swap(score_of, order_of, gain_of, what, i, worst)
        i = worst


@inlined
def offer(score_of, order_of, gain_of, what, size, room, score, order, state, place, action, gain):
    """Enter a candidate, in place of the worst if there is no room; returns how many there are now."""
    if size == room:
        if score <= score_of[0]:
            return size
        k = 0
    else:
        k = size
        size += 1
    score_of[k], order_of[k], gain_of[k] = score, order, gain
    what[k, 0], what[k, 1], what[k, 2] = state, place, action
    if k == 0:
        _sink(score_of, order_of, gain_of, what, 0, size)
    while k > 0 and _below(score_of, order_of, gain_of, what, k, (k - 1) >> 1):
        _swap(score_of, order_of, gain_of, what, k, (k - 1) >> 1)
        k = (k - 1) >> 1
    return size


@inlined
def sort_best_first(score_of, order_of, gain_of, what, size):
    for end in range(size - 1, 0, -1):
        _swap(score_of, order_of, gain_of, what, 0, end)
        _sink(score_of, order_of, gain_of, what, 0, end)
