"""What a linear model gives to every action of a state, each part computed once and remembered.

A score is the sum of the rows of the features that fire. Templates over the same parts of a state form a group
(features/compose.py), and states that agree on a group's atoms share its sum: it is remembered under their hash until
the weights change. So what depends on the position alone is computed once per position, however wide the beam.
"""

import numpy as np

from structron.features.compose import combine, feature_key
from structron.kernels import SEED, inlined, mix
from structron.sparse import add_row, find, home

CLOCK = 0
"""Place in `clock`: the number of times that the weights have changed; older memories do not count."""
ANCHOR = np.uint64(0x5851F42D4C957F2D)


@inlined
def remembered(memory, key):
    """The place of a sum in memory, and whether it is there; otherwise the place is cleared for it."""
    place = np.int64((key ^ (key >> np.uint64(29))) & np.uint64(memory.key.shape[0] - 1))
    if memory.key[place] == key and memory.stamp[place] == memory.clock[CLOCK]:
        return place, True
    memory.key[place] = key
    memory.stamp[place] = memory.clock[CLOCK]
    for c in range(memory.sums.shape[1]):
        memory.sums[place, c] = 0
    return place, False


@inlined
def sum_group(features, sparse, g, values, row, memory, place):
    """Add up the rows of a group's features. All homes in the table are loaded first: the misses overlap."""
    first, last = features.group[g], features.group[g + 1]
    for t in range(first, last):
        key = feature_key(features, t, values, row)
        k = home(sparse.table, key)
        memory.keys[t - first] = key
        memory.homes[t - first] = k
        memory.found[t - first] = sparse.table[k, 0]
    for j in range(last - first):
        key = memory.keys[j]
        if memory.found[j] != 0 and key != 0:
            k = find(sparse.table, key, memory.homes[j])
            if k >= 0:
                add_row(sparse, sparse.table[k, 1], memory.sums, place)


@inlined
def sum_anchored(anchored, sparse, token, memory, place):
    """Add up the rows of the features that were numbered for a token."""
    for j in range(anchored.ptr[token], anchored.ptr[token + 1]):
        head = anchored.table[anchored.numbers[j], 1]
        if head != 0:
            add_row(sparse, head, memory.sums, place)


@inlined
def score_state(features, anchored, sparse, values, row, token, memory):
    """memory.total[column] = the state's score for every column; token: the one it looks at, -1 for none."""
    total = memory.total
    columns = memory.sums.shape[1]
    for c in range(columns):
        total[c] = 0
    if token >= 0:
        place, known = remembered(memory, mix(ANCHOR, np.uint64(token)))
        if not known:
            sum_anchored(anchored, sparse, token, memory, place)
        for c in range(columns):
            total[c] += memory.sums[place, c]
    for g in range(features.group.shape[0] - 1):
        begin, end = features.group_ptr[g], features.group_ptr[g + 1]
        place, known = remembered(
            memory, combine(values, row, features.group_atom, begin, end, mix(SEED, np.uint64(g + 1)))
        )
        if not known:
            sum_group(features, sparse, g, values, row, memory, place)
        for c in range(columns):
            total[c] += memory.sums[place, c]
