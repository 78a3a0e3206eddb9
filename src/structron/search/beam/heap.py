"""The best candidates of a step: a heap of fixed capacity with the worst on top, then sorted, best first.

A candidate is a row of `rank` (SCORE, GAIN) and one of `heap` (BACK, ACTION, PLACE, ORDER). Of equal scores the one
offered first is better, so a search gives the same result everywhere.
"""

from structron.kernels.jit import ZERO, helper
from structron.search.beam.frontier import ACTION, BACK, GAIN, ORDER, PLACE, SCORE


@helper(inline=True)
def _below(rank, heap, i, j):
    """Whether candidate i is worse than candidate j."""
    if rank[i, SCORE] != rank[j, SCORE]:
        return rank[i, SCORE] < rank[j, SCORE]
    return heap[i, ORDER] > heap[j, ORDER]


@helper(inline=True)
def _swap(rank, heap, i, j):
    for c in range(2):
        number = rank[i, c]
        rank[i, c] = rank[j, c]
        rank[j, c] = number
    for c in range(4):
        value = heap[i, c]
        heap[i, c] = heap[j, c]
        heap[j, c] = value


@helper
def _sink(f, i, size):
    """Candidate i goes down to its place."""
    rank, heap = f.rank, f.heap
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


@helper
def offer(f, size, scratch, score, gain, back, action, place, order):
    """Enter a candidate, in place of the worst if there is no room; returns how many there are now."""
    rank, heap = f.rank, f.heap
    if size == scratch:
        if score <= rank[0, SCORE]:
            return size
        k = ZERO
    else:
        k = size
        size += 1
    rank[k, SCORE], rank[k, GAIN] = score, gain
    heap[k, BACK], heap[k, ACTION], heap[k, PLACE], heap[k, ORDER] = back, action, place, order
    if k == 0:
        _sink(f, ZERO, size)
    while k > 0 and _below(rank, heap, k, (k - 1) >> 1):
        _swap(rank, heap, k, (k - 1) >> 1)
        k = (k - 1) >> 1
    return size


@helper
def sort_best_first(f, size):
    """The heap becomes a list."""
    rank, heap = f.rank, f.heap
    for end in range(size - 1, 0, -1):
        _swap(rank, heap, ZERO, end)
        _sink(f, ZERO, end)
