"""A* n-best: the labellings of a sentence or document in the order of their scores (Soong & Huang 1991).

Viterbi's alpha, the best prefix that ends in each state, is an exact estimate for a search that goes backwards.
Choosing label q before a state costs

    loss = alpha and transition of the best label before the state - those of q  >= 0

and a labelling scores the best score minus the losses of its choices. So a labelling is another one, its parent, with
one more choice to the left of the parent's choices, and the best ways back from there: each is found exactly once.
To the left of where a labelling meets the best one again, its choices are those of the best one, which are kept in the
order of their loss; only the next of them waits in the queue. A labelling costs what it changes and a copy.

The sentences of a document are independent chains side by side; rows are the tokens of the document.
"""

from typing import NamedTuple

import numpy as np

from structron.kernels.jit import compiled, inlined
from structron.search.chain.scores import FORBIDDEN, edges_into, load_all
from structron.search.chain.viterbi import LOWEST, alpha_row, keep_all, search

TOO_MUCH = -np.float64(FORBIDDEN) / 2
"""A loss that only a forbidden label or transition can have."""
FIRST_ROOM = 256
"""Choices and waiting labellings that there is room for at first."""
ENTERED, WAITING = 0, 1
"""Places in `Queue.size`."""


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


@inlined
def put_choice(choices, count, loss, place, label, second):
    """Enter a choice that is not forbidden; returns how many there are now."""
    if loss < TOO_MUCH:
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


@inlined
def ways_into(chains, weights, scene, i, z):
    """ways[q] = the best prefix over label q into the state at row i: (z[i]), or (z[i-1], z[i]) at order 2."""
    alpha, column, ways, labels = scene.alpha, scene.column, scene.ways, scene.ways.shape[0]
    if scene.order == 1:
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


@compiled
def end_choices(scene, base, n, z, choices, count):
    """The other ways to end a sentence of n tokens from row base on."""
    alpha, labels, last = scene.alpha, scene.ways.shape[0], base + n - 1
    if scene.order == 2 and n > 1:
        best = np.float64(alpha[alpha_row(last, labels, z[last - 1]), z[last]])
        for k in range(scene.kept[last - 1]):
            p = scene.keep[last - 1, k]
            for y in range(labels):
                if y != z[last] or p != z[last - 1]:
                    count = put_choice(choices, count, best - alpha[alpha_row(last, labels, p), y], last, y, p)
    else:
        row = last if scene.order == 1 else alpha_row(last, labels, 0)
        for y in range(labels):
            if y != z[last]:
                count = put_choice(choices, count, np.float64(alpha[row, z[last]]) - alpha[row, y], last, y, -1)
    return count


@compiled
def choices_into(chains, weights, scene, i, z, choices, count):
    """The other labels before the state at row i."""
    ways_into(chains, weights, scene, i, z)
    ways, place = scene.ways, i - scene.order
    for q in range(ways.shape[0]):
        if q != z[place]:
            count = put_choice(choices, count, ways[z[place]] - ways[q], place, q, -1)
    return count


@compiled
def sentence_choices(chains, weights, scene, base, n, z, choices, count):
    """All choices that lead away from the best labels of the sentence of n tokens from row base on."""
    if n > 0:
        count = end_choices(scene, base, n, z, choices, count)
    for i in range(base + n - 1, base + scene.order - 1, -1):
        count = choices_into(chains, weights, scene, i, z, choices, count)
    return count


@inlined
def best_label(ways):
    """The first label with the best way."""
    best = 0
    for q in range(1, ways.shape[0]):
        if ways[q] > ways[best]:
            best = q
    return best


@compiled
def follow(chains, weights, scene, base, choices, c, z):
    """Make choice c in z and go the best way back from there; returns the row of the first state that it changed."""
    order, place, second = scene.order, choices.place[c], choices.second[c]
    z[place] = choices.label[c]
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


@compiled
def second_best(chains, weights, order, start, n, labels, work):
    """Replace work.z, the best labels of a sentence just searched, by the second best; returns their loss.

    The loss is inf when there is no other labelling. alpha must be right for what is within the loss of the best
    (see `viterbi.search`), else the labelling found may not be the second best: it is then no nearer than it should.
    """
    scene = make_scene(work.alpha, work.keep, work.kept, work.t1, order, start, labels)
    choices = make_choices(n * labels + labels * labels)
    count = sentence_choices(chains, weights, scene, 0, n, work.z, choices, 0)
    best = -1
    for k in range(count):
        if best < 0 or choices.loss[k] < choices.loss[best]:
            best = k
    if best < 0:
        return np.inf
    follow(chains, weights, scene, 0, choices, best, work.z)
    return choices.loss[best]


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


@inlined
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


@inlined
def enter_main(queue, main, m, reach, loss, parent):
    """Let a labelling's next choice wait among those of the best one, from m on: the first not right of `reach`."""
    while m < main.loss.shape[0] and main.place[m] > reach:
        m += 1
    if m < main.loss.shape[0]:
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


@compiled
def main_choices(chains, weights, scene, lo, hi, z, most):
    """The `most` choices of least loss that lead away from the best labelling z, in the order of their loss."""
    starts, labels = chains.starts, scene.ways.shape[0]
    found = make_choices((starts[hi] - starts[lo]) * labels + (hi - lo) * labels * labels)
    count = base = 0
    for s in range(lo, hi):
        n = starts[s + 1] - starts[s]
        count = sentence_choices(chains, weights, scene, base, n, z, found, count)
        base += n
    heap = np.arange(count)
    for k in range(count // 2 - 1, -1, -1):
        sink(heap, count, found.loss, k)
    best = make_choices(min(most, count))
    for k in range(best.loss.shape[0]):
        c = pop(heap, count - k, found.loss)
        put_choice(best, k, found.loss[c], found.place[c], found.label[c], found.second[c])
    return best


@inlined
def own_choices(chains, weights, scene, base, i, z, best, own, used):
    """Add the choices of z from row i leftwards, up to where it meets the best labelling again, which is `best`.

    Returns the choices, which may have been given more room, their number, and the row from which on to the left the
    choices are those of the best labelling.
    """
    order, labels = scene.order, scene.ways.shape[0]
    while i >= base + order and not (z[i] == best[i] and (order == 1 or z[i - 1] == best[i - 1])):
        if used + labels > own.loss.shape[0]:
            own = more_choices(own, used)
        used = choices_into(chains, weights, scene, i, z, own, used)
        i -= 1
    return own, used, max(i - order, base - 1)


@compiled
def n_best_of(chains, weights, order, lo, hi, labels, n, work, trellis, rows, losses):
    """The n best labellings of the document of sentences lo … hi-1: rows[k] and their loss against the best, losses[k].

    Returns how many there are and the score of the best: fewer than n if there are no more legal ones, 1 if none is.
    rows: int16[n, tokens], losses: float64[n].
    """
    load_all(weights, order, labels, work)
    total = fill_trellis(chains, weights, order, lo, hi, labels, work, trellis)
    scene = make_scene(trellis.alpha, trellis.keep, trellis.kept, work.t1, order, chains.starts[lo], labels)
    main = main_choices(chains, weights, scene, lo, hi, trellis.z, n - 1)
    tokens = chains.starts[hi] - chains.starts[lo]
    z, reach = np.empty(tokens, np.int64), np.empty(n, np.int64)
    for i in range(tokens):
        rows[0, i] = trellis.z[i]
    losses[0], reach[0], count = 0.0, tokens, 1
    own, used = make_choices(FIRST_ROOM + 2 * labels), 0
    queue = make_queue(FIRST_ROOM)
    if total > -TOO_MUCH:
        enter_main(queue, main, 0, tokens, 0.0, 0)
    while count < n and queue.size[WAITING] > 0:
        e = pop(queue.heap, queue.size[WAITING], queue.loss)
        queue.size[WAITING] -= 1
        loss, parent, m = queue.loss[e], queue.parent[e], queue.choice[e]
        for i in range(tokens):
            z[i] = rows[parent, i]
        if m >= 0:
            base = trellis.first[main.place[m]]
            i = follow(chains, weights, scene, base, main, m, z)
        else:
            base = trellis.first[own.place[-1 - m]]
            i = follow(chains, weights, scene, base, own, -1 - m, z)
        for k in range(tokens):
            rows[count, k] = z[k]
        losses[count], begin = loss, used
        own, used, reach[count] = own_choices(chains, weights, scene, base, i, z, trellis.z, own, used)
        if queue.size[ENTERED] + used - begin + 2 > queue.loss.shape[0]:
            queue = more_room(queue, used - begin + 2)
        for k in range(begin, used):
            enter(queue, loss + own.loss[k], count, -1 - k)
        if m >= 0:
            enter_main(queue, main, m + 1, reach[parent], losses[parent], parent)
        enter_main(queue, main, 0, reach[count], loss, count)
        count += 1
    return count, total
