"""What a linear model gives to every action of a state, each part computed once and remembered.

A score is the sum of the rows of the features that fire. Templates over the same parts of a state form a group
(search/beam/states.py), and states that agree on a group's atoms share its sum: it is remembered under their hash until
the weights change. So what depends on the position alone is computed once per position, however wide the beam.

Weights of real models lie in memory far away, a look-up takes 100 ns or more, and a state has a hundred of them. They
must not wait for each other: first all places in the table are read, for all states of a beam, then all rows are asked
for, then all is added up. Reading many places is a loop that does nothing else, a dozen of them on their way at a time:
on some processors that takes half the time of prefetching them.
"""

import numpy as np

from structron.features.places import AFTER, AT, BEFORE, LAST, PAIR, TRIPLE
from structron.kernels.jit import ONE, ZERO, helper, kernel
from structron.kernels.table import ABSENT, MULTIPLIER, SEED, mix
from structron.search.beam.frontier import MOST_BLOCKS
from structron.search.beam.signatures import SCORE
from structron.search.beam.states import feature_key, hash_groups
from structron.weights.sparse import add_row, after, find, home, prefetch_row

CLOCK, BATCH, ASKED, WANTED, RANGES = range(5)
"""Places in `clock`: how often the weights have changed (older memories do not count); the number of the batch of
states that are scored together; how many features they have asked for; the blocks of columns that they need, a bit
each; and as how many ranges of columns these stand in `ranges`, in row SOME."""
EVERY, SOME = ZERO, ONE
"""Rows of `ranges`: that of all columns, and those that are wanted."""
ALL, BIT = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1)
KEY, USED = range(2)
"""What stands in memory beside a sum: what it is the sum of, and the last batch that needed it."""
THERE = 1
"""Column of `hashes`, after KEY: the key of what is remembered where a sum would be."""


@helper(inline=True)
def slot_of(memory, key):
    """Where in its group's part of the memory a sum stands, if anywhere."""
    return np.int64((key ^ (key >> np.uint64(29))) & np.uint64(memory.key.shape[1] - 1))


@helper(inline=True)
def remembered(memory, g, key, there, i):
    """The place of a sum in memory, and whether it is there; otherwise the place is cleared for it. there: the key of
    what stands at that slot.

    Every group has its own part of the memory, so the sums of one state never take each other's place. Where another
    state of the batch needs what stands there, state i has a place beside it. A sum is made for the columns that are
    wanted; one that is asked for again by a batch that wants others, for all.
    """
    groups, slots, slot = memory.key.shape[0], memory.key.shape[1], slot_of(memory, key)
    place = g * slots + slot
    key ^= np.uint64(memory.clock[CLOCK] + 1) * MULTIPLIER
    again, wanted = there == key, np.uint64(memory.clock[WANTED])
    known = again and memory.have[place] & wanted == wanted
    if not known:
        if memory.key[g, slot, USED] == np.uint64(memory.clock[BATCH]):
            place = groups * slots + i * groups + g
        else:
            memory.key[g, slot, KEY] = key
        memory.have[place] = ALL if again else wanted
        which, count = ranges_of(memory, place)
        for r in range(count):
            for c in range(memory.ranges[which, r, 0], memory.ranges[which, r, 1]):
                memory.sums[place, c] = 0
    if place < groups * slots:
        memory.key[g, slot, USED] = np.uint64(memory.clock[BATCH])
    return place, known


@helper(inline=True)
def ranges_of(memory, place):
    """The ranges of columns of a sum: which row of `ranges` has them, and their number."""
    if memory.have[place] == ALL:
        return EVERY, ONE
    return SOME, memory.clock[RANGES]


@helper(inline=True)
def units_of(anchored, length):
    """How many lists of features a segment of so many tokens has."""
    return 3 + length + max(0, length - 1) + max(0, length - 2) + (1 if length <= anchored.whole else 0)


@helper(inline=True)
def place_of(anchored, token, length, j):
    """Token and kind of the j-th list of features of a segment that begins at a token; see `Anchored`."""
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
    return at, kind


@helper(inline=True)
def unit_of(anchored, token, length, j):
    """The number of that list."""
    at, kind = place_of(anchored, token, length, j)
    return at * anchored.kinds + kind


@helper(inline=True)
def read_heads(anchored, sparse, first, last, memory, which, number):
    """memory.heads = those of the numbered features first … last-1, as many as there is room for; their rows are asked
    for. Returns how many."""
    count = min(last - first, memory.heads.shape[0])
    for j in range(count):
        memory.heads[j] = anchored.table[anchored.numbers[first + j], 1]
    for j in range(count):
        if memory.heads[j] != ABSENT:
            prefetch_row(sparse, memory.heads[j], memory.ranges, which, number)
    return count


@helper(inline=True)
def add_list(anchored, sparse, token, memory, place):
    """Add the rows of a token's list of numbered features; all are asked for before the first is waited for."""
    heads, ptr = memory.heads, anchored.ptr
    which, number = ranges_of(memory, place)
    for first in range(ptr[token], ptr[token + 1], heads.shape[0]):
        count = read_heads(anchored, sparse, first, ptr[token + 1], memory, which, number)
        for j in range(count):
            if heads[j] != ABSENT:
                add_row(sparse, heads[j], memory.sums, place, memory.ranges, which, number)


@helper
def sum_lists(anchored, sparse, token, memory, first):
    """The sums of all lists of a token, kind by kind, from row `first` on; all rows are asked for together."""
    ptr, kinds, sums, heads, one = anchored.ptr, anchored.kinds, memory.near_sums, memory.heads, ONE
    a, q = token * kinds, np.int64(0)
    for row in range(first, first + kinds):
        for c in range(sums.shape[1]):
            sums[row, c] = 0
    for begin in range(ptr[a], ptr[a + kinds], heads.shape[0]):
        count = read_heads(anchored, sparse, begin, ptr[a + kinds], memory, EVERY, one)
        for j in range(count):
            while begin + j >= ptr[a + q + 1]:
                q += 1
            if heads[j] != ABSENT:
                add_row(sparse, heads[j], sums, first + q, memory.ranges, EVERY, one)


@helper(inline=True)
def lists_near(anchored, sparse, token, memory):
    """The row of the sum of a token's first list; they are made when first asked for, all together."""
    slot = token & (memory.near.shape[0] - 1)
    first, key = slot * anchored.kinds, np.uint64(token + 1) ^ (np.uint64(memory.clock[CLOCK] + 1) * MULTIPLIER)
    if memory.near[slot] != key:
        memory.near[slot] = key
        sum_lists(anchored, sparse, token, memory, first)
    return first


@helper(inline=True)
def sum_segment(anchored, sparse, token, length, memory, row, inside):
    """The sum of a segment in row `row`. inside: the row that grows with the length, what the token before and those
    inside give; what the last one and the one after it give is added for each length."""
    near, sums = memory.near_sums, memory.far_sums
    last = lists_near(anchored, sparse, token + length - 1, memory)
    at, pair, triple = last + AT + min(length - 1, anchored.positions - 1), last + PAIR, last + TRIPLE
    if length == 1:
        for c in range(sums.shape[1]):
            sums[inside, c] = near[last + BEFORE, c] + near[at, c]
    elif length == 2:
        for c in range(sums.shape[1]):
            sums[inside, c] += near[at, c] + near[pair, c]
    else:
        for c in range(sums.shape[1]):
            sums[inside, c] += near[at, c] + near[pair, c] + near[triple, c]
    for c in range(sums.shape[1]):
        sums[row, c] = sums[inside, c] + near[last + AFTER, c] + near[last + LAST, c]
    if length <= anchored.whole:
        whole = lists_near(anchored, sparse, token, memory) + AT + anchored.positions + length - 1
        for c in range(sums.shape[1]):
            sums[row, c] += near[whole, c]


@helper(inline=True)
def segment_row(anchored, sparse, token, length, memory):
    """The row of the sum of a segment. Lengths are asked for in turn, and each is made when it is, from the one before:
    a token has a row for what grows, and one for each length."""
    slot = token & (memory.far.shape[0] - 1)
    inside = slot * (memory.far_sums.shape[0] // memory.far.shape[0])
    key = np.uint64(token + 1) ^ (np.uint64(memory.clock[CLOCK] + 1) * MULTIPLIER)
    if memory.far[slot, 0] != key:
        memory.far[slot, 0], memory.far[slot, 1] = key, 0
    done = np.int64(memory.far[slot, 1])
    while done < length:
        done += 1
        sum_segment(anchored, sparse, token, done, memory, inside + done, inside)
        memory.far[slot, 1] = np.uint64(done)
    return inside + length


@helper(inline=True)
def begin_batch(memory):
    """States are going to be scored together, for all columns."""
    memory.clock[BATCH] += 1
    memory.clock[ASKED] = 0
    memory.clock[WANTED] = -1


@helper(inline=True)
def select_blocks(memory, blocks, block):
    """The states of a batch need these blocks of columns alone, of so many each."""
    ranges, count, before = memory.ranges, np.int64(0), False
    for b in range(MOST_BLOCKS):
        wanted = (blocks >> np.uint64(b)) & BIT != 0
        if wanted and not before:
            ranges[SOME, count, 0] = b * block
            count += 1
        if wanted:
            ranges[SOME, count - 1, 1] = min((b + 1) * block, memory.sums.shape[1])
        before = wanted
    memory.clock[WANTED], memory.clock[RANGES] = np.int64(blocks), count


@helper(inline=True)
def prefetch_state(features, sparse, values, row, memory, i):
    """Find the places of the sums of state i of a batch, and note what those need that are not remembered."""
    wanted, groups = memory.clock[ASKED], features.group.shape[0] - 1
    hash_groups(features, values, row, memory.products, memory.hashes)
    for g in range(groups):
        memory.hashes[g, THERE] = memory.key[g, slot_of(memory, memory.hashes[g, KEY]), KEY]
    for g in range(groups):
        place, known = remembered(memory, g, memory.hashes[g, KEY], memory.hashes[g, THERE], i)
        memory.place[i, g] = place
        if not known:
            for j in range(features.group[g], features.group[g + 1]):
                key = feature_key(features, features.member[j], values, row)
                if key != 0:
                    memory.keys[wanted] = key
                    memory.homes[wanted] = home(sparse.region, key)
                    memory.owner[wanted] = place
                    wanted += 1
    memory.clock[ASKED] = wanted


@helper(inline=True)
def add_pending(sparse, memory):
    """Add up all sums that the states of a batch have asked for."""
    table, found, count = sparse.table, memory.heads, 0
    for j in range(memory.clock[ASKED]):
        found[j] = table[memory.homes[j], 0]
    for j in range(memory.clock[ASKED]):
        k, key = memory.homes[j], memory.keys[j]
        if found[j] != key:
            k = find(table, key, after(table, k)) if found[j] != ABSENT else np.int64(-1)
        if k >= 0:
            head = table[k, 1]
            which, number = ranges_of(memory, memory.owner[j])
            prefetch_row(sparse, head, memory.ranges, which, number)
            memory.heads[count] = head
            memory.owner[count] = memory.owner[j]
            count += 1
    for j in range(count):
        which, number = ranges_of(memory, memory.owner[j])
        add_row(sparse, memory.heads[j], memory.sums, memory.owner[j], memory.ranges, which, number)


@helper(inline=True)
def add_up(anchored, sparse, token, memory, i):
    """memory.total[place of a column] = the score of state i of a batch for every column that is wanted.

    token: the one whose own features count, -1 for none.
    """
    groups = memory.place.shape[1] - 1
    memory.place[i, groups] = -1
    if token >= 0:
        key = mix(SEED, np.uint64(token))
        place, known = remembered(memory, groups, key, memory.key[groups, slot_of(memory, key), KEY], i)
        memory.place[i, groups] = place
        if not known:
            add_list(anchored, sparse, token, memory, place)
    total, sums, ranges = memory.total, memory.sums, memory.ranges
    which, number = (EVERY, ONE) if memory.clock[WANTED] == -1 else (SOME, memory.clock[RANGES])
    for r in range(number):
        first, last = ranges[which, r, 0], ranges[which, r, 1]
        for c in range(first, last):
            total[c] = 0
        for g in range(0, groups - 2, 3):  # the total is read and written once for three
            a, b, d = memory.place[i, g], memory.place[i, g + 1], memory.place[i, g + 2]
            for c in range(first, last):
                total[c] = total[c] + sums[a, c] + sums[b, c] + sums[d, c]
        for g in range(groups - groups % 3, groups + 1):
            place = memory.place[i, g]
            if place >= 0:
                for c in range(first, last):
                    total[c] += sums[place, c]


@kernel(signature=SCORE)
def score_state(features, anchored, sparse, values, row, token, length, memory):
    """The same for one state alone. length: that of the segment that begins at the token, 0: the token alone."""
    segment = length > 0 and anchored.kinds > 0 and token >= 0
    begin_batch(memory)
    prefetch_state(features, sparse, values, row, memory, ZERO)
    add_pending(sparse, memory)
    add_up(anchored, sparse, np.int64(-1) if segment else token, memory, ZERO)
    if segment:
        far = segment_row(anchored, sparse, token, length, memory)
        for c in range(memory.far_sums.shape[1]):
            memory.total[c] += memory.far_sums[far, c]


@kernel(signature=SCORE)
def score_nothing(features, anchored, sparse, values, row, token, length, memory):
    """In place of `score_state` where states are scored in batches."""
