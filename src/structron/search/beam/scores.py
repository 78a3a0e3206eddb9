"""What a linear model gives to every action of a state, each part computed once and remembered.

A score is the sum of the rows of the features that fire. Templates over the same parts of a state form a group
(search/beam/states.py), and states that agree on a group's atoms share its sum: it is remembered under their hash until
the weights change. So what depends on the position alone is computed once per position, however wide the beam.

Weights of real models lie in memory far away, a look-up takes 100 ns or more, and a state has a hundred of them. They
must not wait for each other: first all places in the table are asked for, for all states of a beam, then all rows, then
all is added up.
"""

import numpy as np

from structron.features.places import AFTER, AT, BEFORE, LAST, PAIR, TRIPLE
from structron.kernels.jit import inlined, prefetch
from structron.kernels.table import MULTIPLIER, ONE, SEED, mix
from structron.search.beam.states import combine, feature_key
from structron.weights.sparse import add_row, ask_for_row, find, home

CLOCK, BATCH, ASKED = range(3)
"""Places in `clock`: how often the weights have changed (older memories do not count); the number of the batch of
states that are scored together; how many features they have asked for."""
KEY, USED = range(2)
"""What stands in memory beside a sum: what it is the sum of, and the last batch that needed it."""


@inlined
def remembered(memory, g, key, i):
    """The place of a sum in memory, and whether it is there; otherwise the place is cleared for it.

    Every group has its own part of the memory, so the sums of one state never take each other's place. Where another
    state of the batch needs what stands there, state i has a place beside it.
    """
    groups, slots = memory.key.shape[0], memory.key.shape[1]
    slot = np.int64((key ^ (key >> np.uint64(29))) & np.uint64(slots - 1))
    place = g * slots + slot
    key ^= np.uint64(memory.clock[CLOCK] + 1) * MULTIPLIER
    known = memory.key[g, slot, KEY] == key
    if not known:
        if memory.key[g, slot, USED] == np.uint64(memory.clock[BATCH]):
            place = groups * slots + i * groups + g
        else:
            memory.key[g, slot, KEY] = key
        for c in range(memory.sums.shape[1]):
            memory.sums[place, c] = 0
    if place < groups * slots:
        memory.key[g, slot, USED] = np.uint64(memory.clock[BATCH])
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
        if head != 0:
            ask_for_row(sparse, head)
    for j in range(first, last):
        head = anchored.table[anchored.numbers[j], 1]
        if head != 0:
            add_row(sparse, head, sums, place)


@inlined
def add_stretch(anchored, sparse, token, length, memory, group, place, i):
    """Add all that the features of a stretch say, list by list, each remembered."""
    sums = memory.sums
    for j in range(units_of(anchored, length)):
        a = unit_of(anchored, token, length, j)
        part, known = remembered(memory, group, np.uint64(a) + ONE, i)  # neighbours lie side by side in memory
        if not known:
            add_list(anchored, sparse, a, sums, part)
        for c in range(sums.shape[1]):
            sums[place, c] += sums[part, c]


@inlined
def begin_batch(memory):
    """States are going to be scored together."""
    memory.clock[BATCH] += 1
    memory.clock[ASKED] = 0


@inlined
def ask(features, sparse, values, row, memory, i):
    """Find the places of the sums of state i of a batch, and ask for what those need that are not remembered."""
    wanted = memory.clock[ASKED]
    for g in range(features.group.shape[0] - 1):
        begin, end = features.group_ptr[g], features.group_ptr[g + 1]
        key = combine(values, row, features.group_atom, begin, end, features.salt)
        place, known = remembered(memory, g, key, i)
        memory.place[i, g] = place
        if not known:
            for j in range(features.group[g], features.group[g + 1]):
                key = feature_key(features, features.member[j], values, row)
                if key != 0:
                    k = home(sparse.region, key)
                    memory.keys[wanted] = key
                    memory.homes[wanted] = k
                    prefetch(sparse.table, k, 0)
                    memory.owner[wanted] = place
                    wanted += 1
    memory.clock[ASKED] = wanted


@inlined
def settle(sparse, memory):
    """Add up all sums that the states of a batch have asked for."""
    table, count = sparse.table, 0
    for j in range(memory.clock[ASKED]):
        k = find(table, memory.keys[j], memory.homes[j])
        if k >= 0:
            head = table[k, 1]
            ask_for_row(sparse, head)
            memory.heads[count] = head
            memory.owner[count] = memory.owner[j]
            count += 1
    for j in range(count):
        add_row(sparse, memory.heads[j], memory.sums, memory.owner[j])


@inlined
def add_up(anchored, sparse, token, length, memory, i):
    """memory.total[place of a column] = the score of state i of a batch for every column.

    token: the one it looks at, -1 for none.   length: that of the stretch that begins there, 0: the token alone.
    """
    groups = memory.place.shape[1] - 2
    memory.place[i, groups] = -1
    if token >= 0:
        length = length if anchored.kinds > 0 else 0
        place, known = remembered(memory, groups, mix(mix(SEED, np.uint64(token)), np.uint64(length)), i)
        memory.place[i, groups] = place
        if not known and length > 0:
            add_stretch(anchored, sparse, token, length, memory, groups + 1, place, i)
        elif not known:
            add_list(anchored, sparse, token, memory.sums, place)
    total, columns = memory.total, memory.sums.shape[1]
    for c in range(columns):
        total[c] = 0
    for g in range(groups + 1):
        place = memory.place[i, g]
        if place >= 0:
            for c in range(columns):
                total[c] += memory.sums[place, c]


@inlined
def score_state(features, anchored, sparse, values, row, token, length, memory):
    """The same for one state alone."""
    begin_batch(memory)
    ask(features, sparse, values, row, memory, 0)
    settle(sparse, memory)
    add_up(anchored, sparse, token, length, memory, 0)
