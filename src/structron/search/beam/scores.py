"""What a linear model gives to every action of a state, each part computed once and remembered.

A score is the sum of the rows of the features that fire. Templates over the same parts of a state form a group
(search/beam/states.py), and states that agree on a group's atoms share its sum: it is remembered under their hash until
the weights change. So what depends on the position alone is computed once per position, however wide the beam.

Weights of real models lie in memory far away, a look-up takes 100 ns or more, and a state has a hundred of them. They
must not wait for each other: first all places in the table are loaded, then all rows, then all is added up.
"""

import numpy as np

from structron.features.places import AFTER, AT, BEFORE, LAST, PAIR, TRIPLE
from structron.kernels.jit import inlined, prefetch
from structron.kernels.table import ONE, SEED, mix
from structron.search.beam.states import combine, feature_key
from structron.weights.sparse import CLASSES, DENSE, START, add_row, find, home

CLOCK = 0
"""Place in `clock`: how often the weights have changed; older memories do not count."""


@inlined
def remembered(memory, g, key):
    """The place of a sum in memory, and whether it is there; otherwise the place is cleared for it.

    Every group has its own part of the memory, so the sums of one state never take each other's place.
    """
    slots = memory.key.shape[1]
    slot = np.int64((key ^ (key >> np.uint64(29))) & np.uint64(slots - 1))
    place = g * slots + slot
    known = memory.key[g, slot] == key and memory.stamp[g, slot] == memory.clock[CLOCK]
    if not known:
        memory.key[g, slot] = key
        memory.stamp[g, slot] = memory.clock[CLOCK]
        for c in range(memory.sums.shape[1]):
            memory.sums[place, c] = 0
    return place, known


@inlined
def units_of(anchored, length):
    """How many lists of features a stretch of so many tokens has."""
    return 3 + length + max(0, length - 1) + max(0, length - 2) + (1 if length <= anchored.whole else 0)


@inlined
def unit_of(anchored, token, length, j):
    """The j-th list of features of a stretch that begins at a token; see `Anchored`."""
    last = token + length - 1
    if j < 3:
        at, kind = (token, BEFORE) if j == 0 else (last, AFTER if j == 1 else LAST)
    elif j < 3 + length:
        at, kind = token + j - 3, AT + min(j - 3, anchored.positions - 1)
    elif j < 2 + 2 * length:
        at, kind = token + j - 2 - length, PAIR
    elif length > 1 and j < 3 * length:
        at, kind = token + j - 2 * length, TRIPLE
    else:
        at, kind = token, AT + anchored.positions + length - 1
    return at * anchored.kinds + kind


@inlined
def add_list(anchored, sparse, a, sums, place):
    """Add the rows of one list of numbered features; all are asked for before the first is waited for."""
    first, last = anchored.ptr[a], anchored.ptr[a + 1]
    for j in range(first, last):
        prefetch(anchored.table, np.int64(anchored.numbers[j]), 1)
    for j in range(first, last):
        head = anchored.table[anchored.numbers[j], 1]
        if head & CLASSES == DENSE:
            prefetch(sparse.dense, np.int64(head >> START), 0)
        elif head != 0:
            prefetch(sparse.column, np.int64(head >> START), 0)
    for j in range(first, last):
        head = anchored.table[anchored.numbers[j], 1]
        if head != 0:
            add_row(sparse, head, sums, place)


@inlined
def add_stretch(anchored, sparse, token, length, memory, group, place):
    """Add all that the features of a stretch say, list by list, each remembered."""
    sums = memory.sums
    for j in range(units_of(anchored, length)):
        a = unit_of(anchored, token, length, j)
        part, known = remembered(memory, group, np.uint64(a) + ONE)  # neighbours lie side by side in memory
        if not known:
            add_list(anchored, sparse, a, sums, part)
        for c in range(sums.shape[1]):
            sums[place, c] += sums[part, c]


@inlined
def score_state(features, anchored, sparse, values, row, token, length, memory):
    """memory.total[column] = the state's score for every column.

    token: the one it looks at, -1 for none.   length: that of the stretch that begins there, 0: the token alone.
    """
    groups = features.group.shape[0] - 1
    table, wanted, count = sparse.table, 0, 0
    for g in range(groups):
        begin, end = features.group_ptr[g], features.group_ptr[g + 1]
        key = combine(values, row, features.group_atom, begin, end, features.salt)
        place, known = remembered(memory, g, key)
        memory.place[g] = place
        if not known:
            for j in range(features.group[g], features.group[g + 1]):
                key = feature_key(features, features.member[j], values, row)
                k = home(table, key)
                memory.keys[wanted] = key
                memory.homes[wanted] = k
                prefetch(table, k, 0)
                memory.owner[wanted] = place
                wanted += 1
    for j in range(wanted):
        key = memory.keys[j]
        if key != 0:
            k = find(table, key, memory.homes[j])
            if k >= 0:
                head = table[k, 1]
                if head & CLASSES == DENSE:
                    prefetch(sparse.dense, np.int64(head >> START), 0)
                else:
                    prefetch(sparse.column, np.int64(head >> START), 0)
                memory.heads[count] = head
                memory.owner[count] = memory.owner[j]
                count += 1
    for j in range(count):
        add_row(sparse, memory.heads[j], memory.sums, memory.owner[j])
    memory.place[groups] = -1
    if token >= 0:
        length = length if anchored.kinds > 0 else 0
        place, known = remembered(memory, groups, mix(mix(SEED, np.uint64(token)), np.uint64(length)))
        memory.place[groups] = place
        if not known and length > 0:
            add_stretch(anchored, sparse, token, length, memory, groups + 1, place)
        elif not known:
            add_list(anchored, sparse, token, memory.sums, place)
    total, columns = memory.total, memory.sums.shape[1]
    for c in range(columns):
        total[c] = 0
    for g in range(groups + 1):
        place = memory.place[g]
        if place >= 0:
            for c in range(columns):
                total[c] += memory.sums[place, c]
