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
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import borrowing, compiled, inlined, pasted
from structron.search.chain.scores import FORBIDDEN, edges_into, load_all
from structron.search.chain.viterbi import LOWEST, alpha_row, keep_all, search

TOO_MUCH = -np.float64(FORBIDDEN) / 2
"""A loss that only a forbidden label or transition can have."""
FIRST_ROOM = 256
"""Choices and waiting labellings that there is room for at first."""
ENTERED, WAITING = 0, 1
"""Places in `Queue.size`."""
FOUND, OWN = 0, 1
"""Places in the `state` of a search: labellings found, and choices of theirs."""


class Trellis(NamedTuple):
    """What the searches of a document's sentences left, row by row."""

    alpha: np.ndarray  # float32[rows, stride] at order 1, float32[rows * L, stride] at order 2, as in `Work`
    keep: np.ndarray  # int64[rows, P]: order 2, the labels whose alpha is right
    kept: np.ndarray  # int64[rows]
    first: np.ndarray  # int64[rows]: the row of the first token of the same sentence
    z: np.ndarray  # int64[rows]: the best labels


class Scene(NamedTuple):
    """What decides, beside chains and weights, how much another choice costs; with some scratch memory."""

    alpha: np.ndarray  # alpha, keep and kept as in `Trellis`, t1 as in `Work`
    keep: np.ndarray
    kept: np.ndarray
    t1: np.ndarray
    order: int
    origin: int  # the token in row 0
    column: np.ndarray  # float32[P]: the transitions into a label
    ways: np.ndarray  # float64[L]: see `ways_into`


class Choices(NamedTuple):
    """Choices that lead away from a labelling."""

    loss: np.ndarray  # float64[room]
    place: np.ndarray  # int64[room]: the row whose label is chosen
    label: np.ndarray  # int64[room]
    second: np.ndarray  # int64[room]: order 2 at the end of a sentence, the label before it, chosen too; else -1


class Queue(NamedTuple):
    """Labellings that wait to be written out, each a parent with one more choice."""

    loss: np.ndarray  # float64[room]
    parent: np.ndarray  # int64[room]: the number of a labelling that is written
    choice: np.ndarray  # int64[room]: m, one of the best labelling's choices; or -1 - k, one of the parent's own
    heap: np.ndarray  # int64[room]: the numbers of those that wait, the one of least loss on top
    size: np.ndarray  # int64[2]: how many have been entered, how many wait


class Differences(NamedTuple):
    """Labellings by where they differ from the best one: rows and labels, from the last row to the first."""

    ptr: np.ndarray  # int64[n + 2]: those of labelling k are at[ptr[k]:ptr[k+1]]
    at: np.ndarray  # int64[room]
    label: np.ndarray  # int64[room]


def make_trellis(rows: int, labels: int, stride: int, order: int) -> Trellis:
    """Room for a document of so many tokens."""
    rows = max(rows, 1)
    return Trellis(
        np.zeros((rows * labels if order == 2 else rows, stride), np.float32),
        np.zeros((rows if order == 2 else 1, labels + 1), np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
    )


@compiled
def make_scene(alpha, keep, kept, t1, order, origin, labels):
    """A scene with scratch memory of its own."""
    column, ways = np.empty(labels + 1, np.float32), np.empty(labels, np.float64)
    return Scene(alpha, keep, kept, t1, order, origin, column, ways)


# -- choices ---------------------------------------------------------------------------------------------------------


@compiled
def make_choices(room):
    """Room for choices."""
    return Choices(np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))


@pasted
def put_choice(choices, count, loss, place, label, second, before, bound):
    """Enter a choice that is not forbidden, nor loses more than `bound` with what was lost before; returns how many
    there are now."""
    if loss < TOO_MUCH and before + loss <= bound:
        choices.loss[count], choices.place[count] = loss, place
        choices.label[count], choices.second[count] = label, second
        count += 1
    return count


@compiled
def more_choices(old, used):
    """The same choices with twice the room."""
    new = make_choices(2 * old.loss.shape[0])
    new.loss[:used], new.place[:used] = old.loss[:used], old.place[:used]
    new.label[:used], new.second[:used] = old.label[:used], old.second[:used]
    return new


@pasted
def ways_into(chains, weights, scene, i, z):
    """ways[q] = the best prefix over label q into the state at row i: (z[i]), or (z[i-1], z[i]) at order 2."""
    alpha, column, ways, labels = scene.alpha, scene.column, scene.ways, scene.ways.shape[0]
    if scene.order == 1 and chains.pair_ptr.shape[0] == 0:
        y = z[i]
        for q in range(labels):
            ways[q] = alpha[i - 1, q] + scene.t1[q + 1, y]
    elif scene.order == 1:
        edges_into(chains, weights, scene.origin + i, z[i], scene.t1, column)
        for q in range(labels):
            ways[q] = alpha[i - 1, q] + column[q + 1]
    else:
        contexts, p = labels + 1, z[i - 1]
        for q in range(labels):
            ways[q] = LOWEST
        for k in range(scene.kept[i - 2]):
            q = scene.keep[i - 2, k]
            ways[q] = alpha[alpha_row(i - 1, labels, q), p] + weights.w[contexts + (q + 1) * contexts + p + 1, z[i]]


@pasted
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
        row = last if scene.order == 1 else alpha_row(last, labels, 0)
        best = np.float64(alpha[row, z[last]])
        for y in range(labels):
            if y != z[last]:
                count = put_choice(choices, count, best - alpha[row, y], last, y, -1, 0.0, bound)
    return count


@pasted
def choices_into(chains, weights, scene, i, z, choices, count, before, bound):
    """The other labels before the state at row i."""
    ways_into(chains, weights, scene, i, z)
    ways, place = scene.ways, i - scene.order
    best = z[place]
    for q in range(ways.shape[0]):
        if q != best:
            count = put_choice(choices, count, ways[best] - ways[q], place, q, -1, before, bound)
    return count


@pasted
def best_label(ways):
    """The first label with the best way."""
    best = 0
    for q in range(1, ways.shape[0]):
        if ways[q] > ways[best]:
            best = q
    return best


@pasted
def follow(chains, weights, scene, base, place, label, second, z):
    """Make a choice in z and go the best way back from there; returns the row of the first state that it changed."""
    order = scene.order
    z[place] = label
    i = place if order == 1 or second >= 0 else place + 1
    if second >= 0:
        z[place - 1] = second
    first, same = i, 0
    while i >= base + order and same < order:
        ways_into(chains, weights, scene, i, z)
        best = best_label(scene.ways)
        same = same + 1 if z[i - order] == best else 0
        z[i - order] = best
        i -= 1
    return first


@pasted
def nearest(choices, count, known):
    """Put the choice of least loss, the first of equals, at place 0; known: whether the nearest so far is there."""
    for k in range(1, count):
        if not known or choices.loss[k] < choices.loss[0]:
            choices.loss[0], choices.place[0] = choices.loss[k], choices.place[k]
            choices.label[0], choices.second[0] = choices.label[k], choices.second[k]
            known = True
    return known


@borrowing
def take_second(chains, weights, scene, n, z, choices):
    """Replace the best labels z of a sentence by the second best; returns their loss. choices: room for a row's."""
    known = nearest(choices, end_choices(scene, 0, n, z, choices, 1, np.inf), False)
    for i in range(n - 1, scene.order - 1, -1):
        known = nearest(choices, choices_into(chains, weights, scene, i, z, choices, 1, 0.0, np.inf), known)
    if not known:
        return np.inf
    follow(chains, weights, scene, 0, choices.place[0], choices.label[0], choices.second[0], z)
    return choices.loss[0]


@compiled
def second_best(chains, weights, order, start, n, labels, work):
    """Replace work.z, the best labels of a sentence just searched, by the second best; returns their loss.

    The loss is inf when there is no other labelling. alpha must be right for what is within the loss of the best
    (see `viterbi.search`), else the labelling found may not be the second best: it is then no nearer than it should.
    """
    scene = make_scene(work.alpha, work.keep, work.kept, work.t1, order, start, labels)
    return take_second(chains, weights, scene, n, work.z, make_choices(1 + labels * labels))


# -- the queue -------------------------------------------------------------------------------------------------------


@inlined
def before(loss, a, b):
    """Whether a comes before b: less loss, or as much and a lower number."""
    return loss[a] < loss[b] or (loss[a] == loss[b] and a < b)


@compiled
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


@compiled
def pop(heap, size, loss):
    """Take the top from a heap of `size` numbers; it is left behind the others."""
    top = heap[0]
    heap[0] = heap[size - 1]
    heap[size - 1] = top
    sink(heap, size - 1, loss, 0)
    return top


@compiled
def make_queue(room):
    """Room for waiting labellings."""
    numbers = np.empty((3, room), np.int64)
    return Queue(np.empty(room), numbers[0], numbers[1], numbers[2], np.zeros(2, np.int64))


@compiled
def more_room(queue, more):
    """A copy of the queue with room for at least so many more."""
    used = queue.size[ENTERED]
    larger = make_queue(2 * (used + more))
    larger.loss[:used], larger.parent[:used] = queue.loss[:used], queue.parent[:used]
    larger.choice[:used], larger.heap[:used] = queue.choice[:used], queue.heap[:used]
    larger.size[:] = queue.size
    return larger


@pasted
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


@pasted
def enter_main(queue, main, m, reach, loss, parent, bound):
    """Let a labelling's next choice wait among those of the best one, from m on: the first not right of `reach`."""
    while m < main.loss.shape[0] and main.place[m] > reach:
        m += 1
    if m < main.loss.shape[0] and loss + main.loss[m] <= bound:
        enter(queue, loss + main.loss[m], parent, m)


# -- n best ----------------------------------------------------------------------------------------------------------


@compiled
def fill_trellis(chains, weights, order, lo, hi, labels, work, trellis):
    """Search the sentences lo … hi-1 of a document and keep all that n-best needs; returns their score.

    At order 1 alpha is right everywhere, whatever the search skips.
    """
    total = 0.0
    base = 0
    for s in range(lo, hi):
        n = chains.starts[s + 1] - chains.starts[s]
        total += search(chains, weights, order, s, labels, work, np.inf if order == 2 else 0.0)
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


@borrowing
def least_losses(chains, weights, scene, lo, hi, z, least):
    """least[i] = the least loss of a choice into the state at row i, for sentences lo … hi-1."""
    base, ways = 0, scene.ways
    for s in range(lo, hi):
        n = chains.starts[s + 1] - chains.starts[s]
        for i in range(base + scene.order, base + n):
            ways_into(chains, weights, scene, i, z)
            own, other = z[i - scene.order], np.float64(LOWEST)
            for q in range(ways.shape[0]):
                other = ways[q] if ways[q] > other and q != own else other
            least[i] = ways[own] - other
        base += n


@borrowing
def put_choices(chains, weights, scene, lo, hi, z, least, bound, choices):
    """All choices that lead away from the best labels z and lose no more than `bound`; returns how many there are."""
    count = base = 0
    for s in range(lo, hi):
        n = chains.starts[s + 1] - chains.starts[s]
        if n > 0:
            count = end_choices(scene, base, n, z, choices, count, bound)
        for i in range(base + n - 1, base + scene.order - 1, -1):
            if least[i] <= bound:
                count = choices_into(chains, weights, scene, i, z, choices, count, 0.0, bound)
        base += n
    return count


@borrowing
def select_least(loss, count, heap, most):
    """Arrange the numbers below `count` so that the `most` of least loss stand last in `heap`, the least at the end."""
    for k in range(count):
        heap[k] = k
    for k in range(count // 2 - 1, -1, -1):
        sink(heap, count, loss, k)
    for k in range(min(most, count)):
        pop(heap, count - k, loss)


@compiled
def main_choices(chains, weights, scene, lo, hi, z, most):
    """The `most` choices of least loss that lead away from the best labelling z, in the order of their loss."""
    tokens, labels = chains.starts[hi] - chains.starts[lo], scene.ways.shape[0]
    least, heap, bound, rows = np.full(tokens, np.inf), np.empty(tokens, np.int64), np.inf, tokens
    least_losses(chains, weights, scene, lo, hi, z, least)
    if most < tokens:  # so many rows have a choice that loses no more than this
        select_least(least, tokens, heap, most)
        bound, rows = least[heap[tokens - most]], 0
        for i in range(tokens):
            rows += least[i] <= bound
    found = make_choices(rows * labels + (hi - lo) * (labels if scene.order == 1 else labels * labels))
    count = put_choices(chains, weights, scene, lo, hi, z, least, bound, found)
    heap = np.empty(count, np.int64)
    select_least(found.loss, count, heap, most)
    best = make_choices(min(most, count))
    for k in range(best.loss.shape[0]):
        c = heap[count - 1 - k]
        best.loss[k], best.place[k] = found.loss[c], found.place[c]
        best.label[k], best.second[k] = found.label[c], found.second[c]
    return best


@compiled
def make_differences(n, room):
    """Room for the differences of n labellings, and of one more."""
    return Differences(np.zeros(n + 2, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))


@compiled
def room_for(differences, used, more):
    """The same differences with room for so many more."""
    if used + more <= differences.at.shape[0]:
        return differences
    at, label = np.empty(2 * (used + more), np.int64), np.empty(2 * (used + more), np.int64)
    at[:used], label[:used] = differences.at[:used], differences.label[:used]
    return Differences(differences.ptr, at, label)


@inlined
def change(z, differences, k):
    """Turn the best labelling into labelling k."""
    for d in range(differences.ptr[k], differences.ptr[k + 1]):
        z[differences.at[d]] = differences.label[d]


@pasted
def restore(z, best, differences, k):
    """Turn labelling k into the best one again."""
    for d in range(differences.ptr[k], differences.ptr[k + 1]):
        z[differences.at[d]] = best[differences.at[d]]


@pasted
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


@borrowing
def expand(chains, weights, scene, trellis, n, longest, bound, main, own, queue, z, reach, losses, differences, state):
    """Take labellings from the queue until there are n; False: there may not be room for the next one.

    A labelling has the choices of its parent, up to where it meets the best labelling again own ones, and from there on
    those of the best. longest: the length of a sentence at most.
    """
    best, order, labels = trellis.z, scene.order, scene.ways.shape[0]
    while state[FOUND] < n and queue.size[WAITING] > 0:
        count, used, e = state[FOUND], state[OWN], queue.heap[0]
        loss, parent, m = queue.loss[e], queue.parent[e], queue.choice[e]
        inherited = differences.ptr[parent + 1] - differences.ptr[parent]
        more = longest * labels
        if used + more > own.loss.shape[0] or queue.size[ENTERED] + more + 2 > queue.loss.shape[0]:
            return False
        if differences.ptr[count] + inherited + longest > differences.at.shape[0]:
            return False
        pop(queue.heap, queue.size[WAITING], queue.loss)
        queue.size[WAITING] -= 1
        for d in range(differences.ptr[parent], differences.ptr[parent + 1]):
            z[differences.at[d]] = differences.label[d]
        if m >= 0:
            place, label, second = main.place[m], main.label[m], main.second[m]
        else:
            place, label, second = own.place[-1 - m], own.label[-1 - m], own.second[-1 - m]
        base = trellis.first[place]
        i = follow(chains, weights, scene, base, place, label, second, z)
        losses[count] = loss
        while i >= base + order and not (z[i] == best[i] and (order == 1 or z[i - 1] == best[i - 1])):
            used = choices_into(chains, weights, scene, i, z, own, used, loss, bound)
            i -= 1
        reach[count] = max(i - order, base - 1)
        note_changes(differences, parent, count, place, reach[count], z, best)
        restore(z, best, differences, parent)
        restore(z, best, differences, count)
        for k in range(state[OWN], used):
            enter(queue, loss + own.loss[k], count, -1 - k)
        if m >= 0:
            enter_main(queue, main, m + 1, reach[parent], losses[parent], parent, bound)
        enter_main(queue, main, 0, reach[count], loss, count, bound)
        state[FOUND], state[OWN] = count + 1, used
    return True


@compiled
def n_best(chains, weights, order, lo, hi, labels, n, work, trellis, losses, differences):
    """The n best labellings of the document of sentences lo … hi-1, for which the caller has loaded the transitions.

    The best is trellis.z, the others differ from it as `differences` say, losses[k]: by how much they score less.
    Returns how many there are, the score of the best, and the differences, which may have been given more room.
    """
    total = fill_trellis(chains, weights, order, lo, hi, labels, work, trellis)
    losses[0] = 0.0
    differences.ptr[0] = differences.ptr[1] = 0
    if n == 1 or total <= -TOO_MUCH:
        return 1, total, differences
    scene = make_scene(trellis.alpha, trellis.keep, trellis.kept, work.t1, order, chains.starts[lo], labels)
    main = main_choices(chains, weights, scene, lo, hi, trellis.z, n - 1)
    tokens, longest = chains.starts[hi] - chains.starts[lo], 0
    for s in range(lo, hi):
        longest = max(longest, chains.starts[s + 1] - chains.starts[s])
    bound = main.loss[n - 2] if main.loss.shape[0] == n - 1 else np.inf
    z, reach, state = trellis.z[:tokens].copy(), np.empty(n, np.int64), np.zeros(2, np.int64)
    reach[0], state[FOUND] = tokens, 1
    room = FIRST_ROOM + 2 * longest * labels
    own, queue, used = make_choices(room), make_queue(room), 0
    if main.loss.shape[0] > 0:
        enter(queue, main.loss[0], 0, 0)
    while not expand(
        chains, weights, scene, trellis, n, longest, bound, main, own, queue, z, reach, losses, differences, state
    ):
        used = differences.ptr[state[FOUND]]
        differences = room_for(differences, used, used + 2 * longest)
        own, queue = more_choices(own, state[OWN]), more_room(queue, room)
    return state[FOUND], total, differences


@compiled
def n_best_of(chains, weights, order, lo, hi, labels, n, work, trellis, rows, losses):
    """`n_best` with all labellings written out: rows[k] and their loss against the best, losses[k].

    Returns how many there are and the score of the best: fewer than n if there are no more legal ones, 1 if none is.
    rows: int16[n, tokens], losses: float64[n].
    """
    load_all(weights, order, labels, work)
    differences = make_differences(n, FIRST_ROOM)
    count, total, differences = n_best(chains, weights, order, lo, hi, labels, n, work, trellis, losses, differences)
    for k in range(count):
        for i in range(chains.starts[hi] - chains.starts[lo]):
            rows[k, i] = trellis.z[i]
        change(rows[k], differences, k)
    return count, total
