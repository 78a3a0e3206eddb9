"""The best candidates of a step: a heap of fixed room with the worst on top, then sorted, best first.

A candidate is a row of `rank` (SCORE, GAIN) and one of `heap` (BACK, ACTION, PLACE, ORDER). Of equal scores the one
offered first is better, so a search gives the same result everywhere.
"""

from structron.kernels.jit import inlined
from structron.search.beam.frontier import ACTION, BACK, GAIN, ORDER, PLACE, SCORE


@inlined
def _below(rank, heap, i, j):
    """Whether candidate i is worse than candidate j."""
    if rank[i, SCORE] != rank[j, SCORE]:
        return rank[i, SCORE] < rank[j, SCORE]
    return heap[i, ORDER] > heap[j, ORDER]


@inlined
def _swap(rank, heap, i, j):
    for c in range(2):
        number = rank[i, c]
        rank[i, c] = rank[j, c]
        rank[j, c] = number
    for c in range(4):
        value = heap[i, c]
        heap[i, c] = heap[j, c]
        heap[j, c] = value


@inlined
def _sink(rank, heap, i, size):
    while True:
        worst, child = i, 2 * i + 1
        if child < size and _below(rank, heap, child, worst):
            worst = child
        if child + 1 < size and _below(rank, heap, child + 1, worst):
            worst = child + 1
        if worst == i:
            return
        _swap(rank, heap, i, worst)
        i = worst


@inlined
def offer(rank, heap, size, room, score, gain, back, action, place, order):
    """Enter a candidate, in place of the worst if there is no room; returns how many there are now."""
    if size == room:
        if score <= rank[0, SCORE]:
            return size
        k = 0
    else:
        k = size
        size += 1
    rank[k, SCORE], rank[k, GAIN] = score, gain
    heap[k, BACK], heap[k, ACTION], heap[k, PLACE], heap[k, ORDER] = back, action, place, order
    if k == 0:
        _sink(rank, heap, 0, size)
    while k > 0 and _below(rank, heap, k, (k - 1) >> 1):
        _swap(rank, heap, k, (k - 1) >> 1)
        k = (k - 1) >> 1
    return size


@inlined
def sort_best_first(rank, heap, size):
    for end in range(size - 1, 0, -1):
        _swap(rank, heap, 0, end)
        _sink(rank, heap, 0, end)
