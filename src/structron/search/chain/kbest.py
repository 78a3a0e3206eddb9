"""A* n-best: the labellings of a sentence or document in the order of their scores (Soong & Huang 1991).

Viterbi's alpha, the best prefix that ends in each state, is an exact estimate for a search that goes backwards.
Choosing label q before a state costs

    loss = alpha and transition of the best label before the state - those of q  >= 0

and a labelling scores the best score minus the losses of its choices. So a labelling is another one, its parent, with
one more choice to the left of the parent's choices, and the best ways back from there: each is found exactly once.
To the left of where a labelling meets the best one again, its choices are those of the best one, which are kept in the
order of their loss; only the next of them waits in the queue. A labelling is kept as what it changes: its differences
from the best one, so it costs these, however long the document is.

Each choice of the best labelling alone makes a labelling, so what loses more than the (n-1)-th of them is none of the
n best, and is never entered. The sentences of a document are independent chains side by side; rows are the tokens of
the document.

All memory comes from Python (`NBestScratch`). A search that runs out of it stops, and is done again with more.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from structron.kernels.jit import WithFunctionPointers, helper, ir_inline, kernel
from structron.kernels.reference import Doubles, Floats, Floats2, Ints, Ints2, by_reference, reference
from structron.search.chain.scores import FORBIDDEN, EncodedChains, Weights, Work, edges_into, load_all
from structron.search.chain.viterbi import LOWEST, SEARCH, alpha_row, keep_all, search_for

TOO_MUCH = -np.float64(FORBIDDEN) / 2
"""A loss that only a forbidden label or transition can have."""
FIRST_CAPACITY = 256
"""Choices and waiting labellings that there is room for at first."""
EACH = 8
"""And as many times the labels for each of the n best."""
MOST_AT_FIRST = 1 << 20
"""Choices of the best labelling that there is room for at first, or less: so many as the document can have."""
NO_CAPACITY = -1
"""What a search returns that has run out of memory."""
NOTHING, FIRST = np.int64(-1), np.int64(0)
ENTERED, WAITING = 0, 1
"""Places in `ChoiceQueue.size`."""
FOUND, OWN, MAIN = range(3)
"""Places in `NBestScratch.state`: labellings found, choices of theirs, and those of the best labelling."""


@by_reference
class Trellis(NamedTuple):
    """What the searches of a document's sentences left, row by row."""

    alpha: Floats2  # float32[rows, stride] at order 1, float32[rows * L, stride] at order 2, as in `Work`
    keep: Ints2  # int64[rows, P]: order 2, the labels whose alpha is right
    kept: Ints  # int64[rows]
    first: Ints  # int64[rows]: the row of the first token of the same sentence
    z: Ints  # int64[rows]: the best labels


@by_reference
class CostContext(NamedTuple):
    """What decides, beside chains and weights, how much another choice costs; with some scratch memory."""

    order: int
    alpha: Floats2  # alpha, keep and kept as in `Trellis`, t1 as in `Work`
    keep: Ints2
    kept: Ints
    t1: Floats2
    column: Floats  # float32[P]: the transitions into a label
    ways: Doubles  # float64[L]: see `ways_into`


@by_reference
class Choices(NamedTuple):
    """Choices that lead away from a labelling."""

    loss: Doubles  # float64[capacity]
    place: Ints  # int64[capacity]: the row whose label is chosen
    label: Ints  # int64[capacity]
    second: Ints  # int64[capacity]: order 2 at the end of a sentence, the label before it, chosen too; else -1


@by_reference
class ChoiceQueue(NamedTuple):
    """Labellings that wait to be written out, each a parent with one more choice."""

    loss: Doubles  # float64[capacity]
    parent: Ints  # int64[capacity]: the number of a labelling that is written
    choice: Ints  # int64[capacity]: m, one of the best labelling's choices; or -1 - k, one of the parent's own
    heap: Ints  # int64[capacity]: the numbers of those that wait, the one of least loss on top
    size: Ints  # int64[2]: how many have been entered, how many wait


@by_reference
class Differences(NamedTuple):
    """Labellings by where they differ from the best one: rows and labels, from the last row to the first."""

    ptr: Ints  # int64[n + 2]: those of labelling k are at[ptr[k]:ptr[k+1]]
    at: Ints  # int64[capacity]
    label: Ints  # int64[capacity]


@by_reference
class NBestScratch(NamedTuple):
    """Memory of a search for the n best, and what it has found."""

    scene: CostContext
    every: Choices  # those that lead away from the best labelling …
    main: Choices  # … and the n - 1 of least loss among them
    own: Choices  # of the other labellings
    queue: ChoiceQueue
    differences: Differences
    least: Doubles  # float64[rows]: of the choices into the state at each row
    heap: Ints  # int64[rows, or room of `every`]
    losses: Doubles  # float64[n + 1]: by how much labellings score less than the best
    reach: Ints  # int64[n]: the row left of which labellings have the choices of the best one
    z: Ints  # int64[rows]: the labelling at work, else the best one
    state: Ints  # int64[3]


@by_reference
class Near(NamedTuple):
    """Memory of a search for the second best labels of a sentence."""

    scene: CostContext
    choices: Choices
    z: Ints  # int64[n]: scratch memory for labels


def make_trellis(rows: int, labels: int, stride: int, order: int) -> Trellis:
    """Scratch memory for a document of so many tokens."""
    rows = max(rows, 1)
    return Trellis(
        np.zeros((rows * labels if order == 2 else rows, stride), np.float32),
        np.zeros((rows if order == 2 else 1, labels + 1), np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
    )


def make_scene(searched: Trellis | Work, work: Work, labels: int, order: int) -> CostContext:
    """What a search has left, with transitions as `work` has them."""
    scratch = np.empty(labels + 1, np.float32), np.empty(labels)
    return CostContext(order, searched.alpha, searched.keep, searched.kept, work.t1, *scratch)


def make_choices(scratch: int) -> Choices:
    """Scratch memory for choices."""
    return Choices(np.empty(scratch), *(np.empty(scratch, np.int64) for _ in range(3)))


def make_near(work: Work, labels: int, order: int) -> Near:
    """Scratch memory for the second best labels of sentences that are searched with this memory."""
    return Near(make_scene(work, work, labels, order), make_choices(1 + labels * labels), np.empty_like(work.z))


def make_scratch(n: int, trellis: Trellis, work: Work, labels: int, order: int, times: int = 1) -> NBestScratch:
    """Scratch memory for the n best labellings of documents that fit the trellis; times: how much more than at
    first."""
    rows, scratch = len(trellis.z), times * (FIRST_CAPACITY + (2 * len(work.z) + EACH * n) * labels)
    every = times * min(2 * rows * labels, MOST_AT_FIRST)
    parent, choice, heap = (np.empty(scratch, np.int64) for _ in range(3))
    queue = ChoiceQueue(np.empty(scratch), parent, choice, heap, np.zeros(2, np.int64))
    differences = Differences(np.zeros(n + 2, np.int64), *(np.empty(scratch, np.int64) for _ in range(2)))
    return NBestScratch(
        make_scene(trellis, work, labels, order),
        make_choices(every),
        make_choices(n),
        make_choices(scratch),
        queue,
        differences,
        np.empty(rows),
        np.empty(max(rows, every), np.int64),
        np.empty(n + 1),
        np.empty(n, np.int64),
        np.empty(rows, np.int64),
        np.zeros(3, np.int64),
    )


# -- choices ---------------------------------------------------------------------------------------------------------


@helper(inline=True)
def put_choice(choices, count, loss, place, label, second, before, bound):
    """Enter a choice that is not forbidden, nor loses more than `bound` with what was lost before; returns how many
    there are now."""
    if loss < TOO_MUCH and before + loss <= bound:
        choices.loss[count], choices.place[count] = loss, place
        choices.label[count], choices.second[count] = label, second
        count += 1
    return count


@helper
def ways_into(chains, weights, scene, origin, i, z):
    """ways[q] = the best prefix over label q into the state at row i: (z[i]), or (z[i-1], z[i]) at order 2.

    origin: the token in row 0.
    """
    alpha, column, ways, labels = scene.alpha, scene.column, scene.ways, scene.ways.shape[0]
    if scene.order == 1 and chains.pair_ptr.shape[0] == 0:
        y = z[i]
        for q in range(labels):
            ways[q] = alpha[i - 1, q] + scene.t1[q + 1, y]
    elif scene.order == 1:
        edges_into(chains, weights, origin + i, z[i], scene.t1, column)
        for q in range(labels):
            ways[q] = alpha[i - 1, q] + column[q + 1]
    else:
        contexts, p = labels + 1, z[i - 1]
        for q in range(labels):
            ways[q] = LOWEST
        for k in range(scene.kept[i - 2]):
            q = scene.keep[i - 2, k]
            ways[q] = alpha[alpha_row(i - 1, labels, q), p] + weights.w[contexts + (q + 1) * contexts + p + 1, z[i]]


@helper
def end_choices(scene, base, n, z, choices, count, bound):
    """The other ways to end a sentence of n tokens from row base on."""
    alpha, labels, last = scene.alpha, scene.ways.shape[0], base + n - 1
    if scene.order == 2 and n > 1:
        best = np.float64(alpha[alpha_row(last, labels, z[last - 1]), z[last]])
        for k in range(scene.kept[last - 1]):
            p = scene.keep[last - 1, k]
            for y in range(labels):
                if y != z[last] or p != z[last - 1]:
                    loss = best - alpha[alpha_row(last, labels, p), y]
                    count = put_choice(choices, count, loss, last, y, p, 0.0, bound)
    else:
        row = last if scene.order == 1 else alpha_row(last, labels, FIRST)
        best = np.float64(alpha[row, z[last]])
        for y in range(labels):
            if y != z[last]:
                count = put_choice(choices, count, best - alpha[row, y], last, y, NOTHING, 0.0, bound)
    return count


@helper
def choices_into(chains, weights, scene, origin, i, z, choices, count, before, bound):
    """The other labels before the state at row i."""
    ways_into(chains, weights, scene, origin, i, z)
    ways, place = scene.ways, i - scene.order
    best = z[place]
    for q in range(ways.shape[0]):
        if q != best:
            count = put_choice(choices, count, ways[best] - ways[q], place, q, NOTHING, before, bound)
    return count


@ir_inline
def best_label(ways):
    """The first label with the best way."""
    best = 0
    for q in range(1, ways.shape[0]):
        if ways[q] > ways[best]:
            best = q
    return best


@helper
def follow(chains, weights, scene, origin, base, place, label, second, z):
    """Make a choice in z and go the best way back from there; returns the row of the first state that it changed."""
    order = scene.order
    z[place] = label
    i = place if order == 1 or second >= 0 else place + 1
    if second >= 0:
        z[place - 1] = second
    first, same = i, 0
    while i >= base + order and same < order:
        ways_into(chains, weights, scene, origin, i, z)
        best = best_label(scene.ways)
        same = same + 1 if z[i - order] == best else 0
        z[i - order] = best
        i -= 1
    return first


@helper
def nearest(choices, count, known):
    """Put the choice of least loss, the first of equals, at place 0; known: whether the nearest so far is there."""
    for k in range(1, count):
        if not known or choices.loss[k] < choices.loss[0]:
            choices.loss[0], choices.place[0] = choices.loss[k], choices.place[k]
            choices.label[0], choices.second[0] = choices.label[k], choices.second[k]
            known = True
    return known


SECOND = types.float64(
    reference(EncodedChains),
    reference(Weights),
    types.int64,
    types.int64,
    reference(Near),
    types.int64[::1],
)


@kernel(signature=SECOND)
def second_best(chains, weights, start, n, near, z):
    """Replace z, the best labels of a sentence just searched, by the second best; returns their loss.

    The loss is inf when there is no other labelling. alpha must be right for what is within the loss of the best
    (see `viterbi.SEARCH`), else the labelling found may not be the second best: it is then no nearer than it should.
    """
    scene, choices, one = near.scene, near.choices, np.int64(1)
    known = nearest(choices, end_choices(scene, FIRST, n, z, choices, one, np.inf), False)
    for i in range(n - 1, scene.order - 1, -1):
        count = choices_into(chains, weights, scene, start, i, z, choices, one, 0.0, np.inf)
        known = nearest(choices, count, known)
    if not known:
        return np.inf
    follow(chains, weights, scene, start, FIRST, choices.place[0], choices.label[0], choices.second[0], z)
    return choices.loss[0]


# -- the queue -------------------------------------------------------------------------------------------------------


@helper(inline=True)
def before(loss, a, b):
    """Whether a comes before b: less loss, or as much and a lower number."""
    return loss[a] < loss[b] or (loss[a] == loss[b] and a < b)


@helper
def sink(heap, size, loss, k):
    """Put heap[k] where it belongs below: a heap of numbers, the one that comes before the others on top."""
    item = heap[k]
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and before(loss, heap[child + 1], heap[child]):
            child += 1
        if not before(loss, heap[child], item):
            break
        heap[k] = heap[child]
        k = child
    heap[k] = item


@helper
def pop(heap, size, loss):
    """Take the top from a heap of `size` numbers; it is left behind the others."""
    top = heap[0]
    heap[0] = heap[size - 1]
    heap[size - 1] = top
    sink(heap, size - 1, loss, FIRST)
    return top


@helper
def enter(queue, loss, parent, choice):
    """Let a labelling wait."""
    heap, item, k = queue.heap, queue.size[ENTERED], queue.size[WAITING]
    queue.loss[item], queue.parent[item], queue.choice[item] = loss, parent, choice
    while k > 0 and before(queue.loss, item, heap[(k - 1) >> 1]):
        heap[k] = heap[(k - 1) >> 1]
        k = (k - 1) >> 1
    heap[k] = item
    queue.size[ENTERED] += 1
    queue.size[WAITING] += 1


@helper
def enter_main(queue, main, count, m, reach, loss, parent, bound):
    """Let a labelling's next choice wait among those of the best one, from m on: the first not right of `reach`."""
    while m < count and main.place[m] > reach:
        m += 1
    if m < count and loss + main.loss[m] <= bound:
        enter(queue, loss + main.loss[m], parent, m)


# -- n best ----------------------------------------------------------------------------------------------------------


@helper
def fill_trellis(search, chains, weights, order, lo, hi, labels, work, trellis):
    """Search the sentences lo … hi-1 of a document and keep all that n-best needs; returns their score.

    At order 1 alpha is right everywhere, whatever the search skips.
    """
    total = 0.0
    base = 0
    for s in range(lo, hi):
        n = chains.starts[s + 1] - chains.starts[s]
        total += search(chains, weights, s, labels, work, np.inf if order == 2 else 0.0)
        rows = n * labels if order == 2 else n
        begin = base * labels if order == 2 else base
        for r in range(rows):
            for y in range(labels):
                trellis.alpha[begin + r, y] = work.alpha[r, y]
        for i in range(n):
            trellis.first[base + i], trellis.z[base + i] = base, work.z[i]
            if order == 2:
                keep_all(base + i, labels, trellis.keep, trellis.kept)
        base += n
    return total


@ir_inline
def least_losses(chains, weights, scene, lo, hi, z, least):
    """least[i] = the least loss of a choice into the state at row i, for sentences lo … hi-1."""
    base, ways, origin = 0, scene.ways, chains.starts[lo]
    for s in range(lo, hi):
        n = chains.starts[s + 1] - chains.starts[s]
        for i in range(base, base + n):
            least[i] = np.inf
        for i in range(base + scene.order, base + n):
            ways_into(chains, weights, scene, origin, i, z)
            own, other = z[i - scene.order], np.float64(LOWEST)
            for q in range(ways.shape[0]):
                other = ways[q] if ways[q] > other and q != own else other
            least[i] = ways[own] - other
        base += n


@ir_inline
def put_choices(chains, weights, scene, lo, hi, z, least, bound, choices):
    """All choices that lead away from the best labels z and lose no more than `bound`; returns how many there are."""
    count, base, origin = FIRST, FIRST, chains.starts[lo]
    for s in range(lo, hi):
        n = chains.starts[s + 1] - chains.starts[s]
        if n > 0:
            count = end_choices(scene, base, n, z, choices, count, bound)
        for i in range(base + n - 1, base + scene.order - 1, -1):
            if least[i] <= bound:
                count = choices_into(chains, weights, scene, origin, i, z, choices, count, 0.0, bound)
        base += n
    return count


@helper
def select_least(loss, count, heap, most):
    """Arrange the numbers below `count` so that the `most` of least loss stand last in `heap`, the least at the end."""
    for k in range(count):
        heap[k] = k
    for k in range(count // 2 - 1, -1, -1):
        sink(heap, count, loss, k)
    for k in range(min(most, count)):
        pop(heap, count - k, loss)


@ir_inline
def main_choices(chains, weights, lo, hi, most, z, scratch):
    """scratch.main: the `most` choices of least loss that lead away from the best labelling z, in the order of their
    loss. Returns how many there are, or NO_ROOM."""
    scene, least, heap, every, main = scratch.scene, scratch.least, scratch.heap, scratch.every, scratch.main
    tokens, labels = chains.starts[hi] - chains.starts[lo], scene.ways.shape[0]
    bound, rows = np.inf, tokens
    least_losses(chains, weights, scene, lo, hi, z, least)
    if most < tokens:  # so many rows have a choice that loses no more than this
        select_least(least, tokens, heap, most)
        bound, rows = least[heap[tokens - most]], 0
        for i in range(tokens):
            rows += least[i] <= bound
    if rows * labels + (hi - lo) * (labels if scene.order == 1 else labels * labels) > every.loss.shape[0]:
        return NO_CAPACITY
    count = put_choices(chains, weights, scene, lo, hi, z, least, bound, every)
    select_least(every.loss, count, heap, most)
    for k in range(min(most, count)):
        c = heap[count - 1 - k]
        main.loss[k], main.place[k] = every.loss[c], every.place[c]
        main.label[k], main.second[k] = every.label[c], every.second[c]
    return min(most, count)


@helper(inline=True)
def change(z, differences, k):
    """Turn the best labelling into labelling k."""
    for d in range(differences.ptr[k], differences.ptr[k + 1]):
        z[differences.at[d]] = differences.label[d]


@helper
def restore(z, best, differences, k):
    """Turn labelling k into the best one again."""
    for d in range(differences.ptr[k], differences.ptr[k + 1]):
        z[differences.at[d]] = best[differences.at[d]]


@ir_inline
def note_changes(differences, parent, count, place, reach, z, best):
    """Labelling `count` has the parent's differences right of `place`, and those of z from there to `reach`."""
    ptr, at, label = differences.ptr, differences.at, differences.label
    used = ptr[count]
    for d in range(ptr[parent], ptr[parent + 1]):
        if at[d] <= place:
            break
        at[used], label[used] = at[d], label[d]
        used += 1
    for i in range(place, reach, -1):
        if z[i] != best[i]:
            at[used], label[used] = i, z[i]
            used += 1
    ptr[count + 1] = used


@ir_inline
def has_capacity(longest, parent, count, scratch):
    """Whether there is room for one more labelling; longest: the length of a sentence at most."""
    queue, differences, more = scratch.queue, scratch.differences, longest * scratch.scene.ways.shape[0]
    inherited = differences.ptr[parent + 1] - differences.ptr[parent]
    return (
        scratch.state[OWN] + more <= scratch.own.loss.shape[0]
        and queue.size[ENTERED] + more + 2 <= queue.loss.shape[0]
        and differences.ptr[count] + inherited + longest <= differences.at.shape[0]
    )


@ir_inline
def expand(chains, weights, origin, n, longest, bound, trellis, scratch):
    """Take labellings from the queue until there are n; False: there may not be room for the next one.

    A labelling has the choices of its parent, up to where it meets the best labelling again own ones, and from there on
    those of the best. longest: the length of a sentence at most.
    """
    scene, main, own, queue, differences = scratch.scene, scratch.main, scratch.own, scratch.queue, scratch.differences
    best, order, z, losses, reach, state = (
        trellis.z,
        scene.order,
        scratch.z,
        scratch.losses,
        scratch.reach,
        scratch.state,
    )
    while state[FOUND] < n and queue.size[WAITING] > 0:
        count, used, e = state[FOUND], state[OWN], queue.heap[0]
        loss, parent, m = queue.loss[e], queue.parent[e], queue.choice[e]
        if not has_capacity(longest, parent, count, scratch):
            return False
        pop(queue.heap, queue.size[WAITING], queue.loss)
        queue.size[WAITING] -= 1
        change(z, differences, parent)
        if m >= 0:
            place, label, second = main.place[m], main.label[m], main.second[m]
        else:
            place, label, second = own.place[-1 - m], own.label[-1 - m], own.second[-1 - m]
        base = trellis.first[place]
        i = follow(chains, weights, scene, origin, base, place, label, second, z)
        losses[count] = loss
        while i >= base + order and not (z[i] == best[i] and (order == 1 or z[i - 1] == best[i - 1])):
            used = choices_into(chains, weights, scene, origin, i, z, own, used, loss, bound)
            i -= 1
        reach[count] = max(i - order, base - 1)
        note_changes(differences, parent, count, place, reach[count], z, best)
        restore(z, best, differences, parent)
        restore(z, best, differences, count)
        for k in range(state[OWN], used):
            enter(queue, loss + own.loss[k], count, -1 - k)
        if m >= 0:
            enter_main(queue, main, state[MAIN], m + 1, reach[parent], losses[parent], parent, bound)
        enter_main(queue, main, state[MAIN], FIRST, reach[count], loss, count, bound)
        state[FOUND], state[OWN] = count + 1, used
    return True


N_BEST = types.int64(
    reference(EncodedChains),
    reference(Weights),
    *[types.int64] * 3,
    types.float64,
    reference(Trellis),
    reference(NBestScratch),
)


@kernel(signature=N_BEST)
def n_best(chains, weights, lo, hi, n, total, trellis, scratch):
    """The n best labellings of the document of sentences lo … hi-1, which the caller has searched (`fill_trellis`).

    The best is trellis.z and scores `total`; the others differ from it as scratch.differences say, scratch.losses[k]:
    by how much they score less. Returns how many there are, or NO_ROOM.
    """
    scratch.losses[0] = 0.0
    scratch.differences.ptr[0] = scratch.differences.ptr[1] = 0
    if n == 1 or total <= -TOO_MUCH:
        return np.int64(1)
    main = main_choices(chains, weights, lo, hi, n - 1, trellis.z, scratch)
    if main == NO_CAPACITY:
        return np.int64(NO_CAPACITY)
    origin, longest = chains.starts[lo], FIRST
    for s in range(lo, hi):
        longest = max(longest, chains.starts[s + 1] - chains.starts[s])
    bound = scratch.main.loss[n - 2] if main == n - 1 else np.inf
    tokens = chains.starts[hi] - origin
    for i in range(tokens):
        scratch.z[i] = trellis.z[i]
    scratch.reach[0] = tokens
    scratch.state[FOUND], scratch.state[OWN], scratch.state[MAIN] = 1, 0, main
    scratch.queue.size[ENTERED] = scratch.queue.size[WAITING] = 0
    if main > 0:
        enter(scratch.queue, scratch.main.loss[0], FIRST, FIRST)
    if not expand(chains, weights, origin, n, longest, bound, trellis, scratch):
        return np.int64(NO_CAPACITY)
    return scratch.state[FOUND]


def write_n_best(
    search,
    n_best,
    chains,
    weights,
    order,
    units,
    done,
    last,
    labels,
    n,
    work,
    trellis,
    scratch,
    rows,
    counts,
    losses,
    scores,
):
    """`n_best` of documents done … last-1 with all labellings written out. Returns the document at which the capacity
    ran out, or `last`.

    counts[u], scores[u]: how many document u has, and the score of its best. losses[u, k]: by how much labelling k is
    worse. rows: those of one document after the other, room for n of each.
    """
    differences, begin = scratch.differences, chains.starts[units[0]]
    for u in range(done, last):
        lo, hi = units[u], units[u + 1]
        first, tokens = n * (chains.starts[lo] - begin), chains.starts[hi] - chains.starts[lo]
        scores[u] = fill_trellis(search, chains, weights, order, lo, hi, labels, work, trellis)
        counts[u] = n_best(chains, weights, lo, hi, n, scores[u], trellis, scratch)
        if counts[u] == NO_CAPACITY:
            return u
        for k in range(counts[u]):
            losses[u, k] = scratch.losses[k]
            for i in range(tokens):
                rows[first + k * tokens + i] = trellis.z[i]
            for d in range(differences.ptr[k], differences.ptr[k + 1]):
                rows[first + k * tokens + differences.at[d]] = differences.label[d]
    return last


WRITE_N_BEST = WithFunctionPointers(write_n_best, SEARCH, N_BEST)


class GrowingScratch:
    """Scratch memory for the n best labellings of documents, which grows; transitions are those in `work`."""

    def __init__(self, trellis: Trellis, work: Work, labels: int, order: int):
        self.trellis, self.work, self.labels, self.order = trellis, work, labels, order
        self.n = self.times = 0
        self.scratch: Any = None

    def of(self, n: int) -> NBestScratch:
        """Capacity for n labellings."""
        if n > self.n:
            self.n, self.times = n, max(self.times, 1)
            self._make()
        return self.scratch

    def grow(self) -> None:
        """Twice the capacity."""
        self.times *= 2
        self._make()

    def _make(self) -> None:
        self.scratch = make_scratch(self.n, self.trellis, self.work, self.labels, self.order, self.times)


def n_best_of(
    chains: EncodedChains, weights: Weights, units: np.ndarray, n: int, growing: GrowingScratch
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Of each document, sentences units[u] … units[u + 1] - 1: its n best labellings, int16[found, tokens], their
    losses against the best, float64[found], and the score of the best.

    There are fewer than n if there are no more legal ones, 1 if none is.
    """
    order, labels, work, count = growing.order, growing.labels, growing.work, len(units) - 1
    load_all(weights, order, labels, work)
    ends = (chains.starts[units] - chains.starts[units[0]]).tolist()
    counts, losses, scores = np.zeros(count, np.int64), np.empty((count, n)), np.empty(count)
    rows, done = np.empty(n * ends[-1], np.int16), 0
    pointers = (search_for(chains, order, work), n_best)
    while done < count:
        scratch, given = growing.of(n), (chains, weights, order, units, done, count, labels, n, work, growing.trellis)
        done = WRITE_N_BEST(*pointers, *given, scratch, rows, counts, losses, scores)
        if done < count:
            growing.grow()
    found = []
    for u, (many, score) in enumerate(zip(counts.tolist(), scores.tolist(), strict=True)):
        own = rows[n * ends[u] : n * ends[u + 1]].reshape(n, ends[u + 1] - ends[u])
        found.append((own[:many], losses[u, :many], score))
    return found
