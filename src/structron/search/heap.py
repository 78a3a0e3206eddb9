"""The best candidates of a step: a heap of fixed room with the worst on top, then sorted, best first.

A candidate is (score, order, state, place of the predictor, action, gain). Of equal scores the one offered first is
better, so a search gives the same result everywhere.
"""

from structron.kernels import inlined


@inlined
def _below(f, i, j):
    """Whether candidate i is worse than candidate j."""
    if f.heap_score[i] != f.heap_score[j]:
        return f.heap_score[i] < f.heap_score[j]
    return f.heap_order[i] > f.heap_order[j]


@inlined
def _swap(f, i, j):
    score, order, gain = f.heap_score[i], f.heap_order[i], f.heap_gain[i]
    f.heap_score[i], f.heap_order[i], f.heap_gain[i] = f.heap_score[j], f.heap_order[j], f.heap_gain[j]
    f.heap_score[j], f.heap_order[j], f.heap_gain[j] = score, order, gain
    for c in range(3):
        value = f.heap[i, c]
        f.heap[i, c] = f.heap[j, c]
        f.heap[j, c] = value


@inlined
def _sink(f, i, size):
    while True:
        worst, child = i, 2 * i + 1
        if child < size and _below(f, child, worst):
            worst = child
        if child + 1 < size and _below(f, child + 1, worst):
            worst = child + 1
        if worst == i:
            return
        _swap(f, i, worst)
        i = worst


@inlined
def offer(f, size, room, score, order, state, place, action, gain):
    """Enter a candidate, in place of the worst if there is no room; returns how many there are now."""
    if size == room:
        if score <= f.heap_score[0]:
            return size
        k = 0
    else:
        k = size
        size += 1
    f.heap_score[k], f.heap_order[k], f.heap_gain[k] = score, order, gain
    f.heap[k, 0], f.heap[k, 1], f.heap[k, 2] = state, place, action
    if k == 0:
        _sink(f, 0, size)
    while k > 0 and _below(f, k, (k - 1) >> 1):
        _swap(f, k, (k - 1) >> 1)
        k = (k - 1) >> 1
    return size


@inlined
def sort_best_first(f, size):
    for end in range(size - 1, 0, -1):
        _swap(f, 0, end)
        _sink(f, 0, end)
