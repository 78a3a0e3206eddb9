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

from structron.kernels.jit import compiled
from structron.search.chain.scores import FORBIDDEN, edges_into, load_limits, load_transitions, load_trigrams
from structron.search.chain.viterbi import LOWEST, alpha_row, keep_all, search

TOO_MUCH = -np.float64(FORBIDDEN) / 2
"""A loss that only a forbidden label or transition can have."""


class Trellis(NamedTuple):
    """What a document's searches left, row by row."""

    alpha: np.ndarray  # float32[rows, stride] at order 1, float32[rows * L, stride] at order 2, as in `Work`
    keep: np.ndarray  # int64[rows, P]: order 2, the labels whose alpha is right
    kept: np.ndarray  # int64[rows]
    first: np.ndarray  # int64[rows]: the row of the first token of the same sentence
    z: np.ndarray  # int64[rows]: the best labels


class Choices(NamedTuple):
    """Choices that lead away from a labelling."""

    loss: np.ndarray  # float64[room]
    place: np.ndarray  # int64[room]: the row whose label is chosen
    label: np.ndarray  # int64[room]
    second: np.ndarray  # int64[room]: order 2 at the end of a sentence, the label before it, chosen too; else -1


def make_trellis(rows: int, labels: int, stride: int, order: int, kind: type = np.float32) -> Trellis:
    rows = max(rows, 1)
    return Trellis(
        np.zeros((rows * labels if order == 2 else rows, stride), kind),
        np.zeros((rows if order == 2 else 1, labels + 1), np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
    )


@compiled
def make_choices(room):
    return Choices(np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))


@compiled
def put_choice(choices, count, loss, place, label, second):
    """Enter a choice that is not forbidden; returns how many there are now."""
    if loss < TOO_MUCH:
        choices.loss[count], choices.place[count] = loss, place
        choices.label[count], choices.second[count] = label, second
        count += 1
    return count


@compiled
def ways_into(chains, weights, order, trellis, i, token, z, labels, t1, column, ways):
    """ways[q] = the best prefix over label q into the state at row i: (z[i]), or (z[i-1], z[i]) at order 2."""
    alpha = trellis.alpha
    if order == 1:
        edges_into(chains, weights, token, z[i], t1, column)
        for q in range(labels):
            ways[q] = alpha[i - 1, q] + column[q + 1]
    else:
        contexts, p = labels + 1, z[i - 1]
        for q in range(labels):
            ways[q] = LOWEST
        for k in range(trellis.kept[i - 2]):
            q = trellis.keep[i - 2, k]
            ways[q] = alpha[alpha_row(i - 1, labels, q), p] + weights.w[contexts + (q + 1) * contexts + p + 1, z[i]]


@compiled
def end_choices(order, trellis, base, n, z, labels, choices, count):
    """The other ways to end a sentence of n tokens from row base on."""
    alpha, last = trellis.alpha, base + n - 1
    if order == 2 and n > 1:
        best = np.float64(alpha[alpha_row(last, labels, z[last - 1]), z[last]])
        for k in range(trellis.kept[last - 1]):
            p = trellis.keep[last - 1, k]
            for y in range(labels):
                if y != z[last] or p != z[last - 1]:
                    count = put_choice(choices, count, best - alpha[alpha_row(last, labels, p), y], last, y, p)
    else:
        row = last if order == 1 else alpha_row(last, labels, 0)
        for y in range(labels):
            if y != z[last]:
                count = put_choice(choices, count, np.float64(alpha[row, z[last]]) - alpha[row, y], last, y, -1)
    return count


@compiled
def choices_into(chains, weights, order, trellis, i, token, z, labels, t1, column, ways, choices, count):
    """The other labels before the state at row i."""
    ways_into(chains, weights, order, trellis, i, token, z, labels, t1, column, ways)
    place = i - order
    for q in range(labels):
        if q != z[place]:
            count = put_choice(choices, count, ways[z[place]] - ways[q], place, q, -1)
    return count


@compiled
def sentence_choices(chains, weights, order, trellis, base, start, n, z, labels, t1, column, ways, choices, count):
    """All choices that lead away from the best labels of a sentence."""
    if n > 0:
        count = end_choices(order, trellis, base, n, z, labels, choices, count)
    for i in range(base + n - 1, base + order - 1, -1):
        token = start + i - base
        count = choices_into(chains, weights, order, trellis, i, token, z, labels, t1, column, ways, choices, count)
    return count


@compiled
def follow(chains, weights, order, trellis, base, start, place, label, second, z, labels, t1, column, ways):
    """Make a choice in z and go the best way back from there; returns the row of the first state that it changed."""
    z[place] = label
    i = place if order == 1 or second >= 0 else place + 1
    if second >= 0:
        z[place - 1] = second
    first, same = i, 0
    while i >= base + order and same < order:
        ways_into(chains, weights, order, trellis, i, start + i - base, z, labels, t1, column, ways)
        best = best_label(ways, labels)
        same = same + 1 if z[i - order] == best else 0
        z[i - order] = best
        i -= 1
    return first


@compiled
def best_label(ways, labels):
    best = 0
    for q in range(1, labels):
        if ways[q] > ways[best]:
            best = q
    return best


@compiled
def second_best(chains, weights, order, start, n, labels, work):
    """Replace work.z, the best labels of a sentence just searched, by the second best; returns their loss.

    The loss is inf when there is no other labelling. alpha must be right for what is within the loss of the best
    (see `viterbi.search`), else the labelling found may not be the second best: it is then no nearer than it should.
    """
    trellis = Trellis(work.alpha, work.keep, work.kept, work.kept, work.z)
    column, ways = np.empty(labels + 1, np.float32), np.empty(labels, np.float64)
    choices = make_choices(n * labels + labels * labels)
    z = work.z
    count = sentence_choices(chains, weights, order, trellis, 0, start, n, z, labels, work.t1, column, ways, choices, 0)
    best = -1
    for k in range(count):
        if best < 0 or choices.loss[k] < choices.loss[best]:
            best = k
    if best < 0:
        return np.inf
    place, label, second = choices.place[best], choices.label[best], choices.second[best]
    follow(chains, weights, order, trellis, 0, start, place, label, second, z, labels, work.t1, column, ways)
    return choices.loss[best]


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
def sink(heap, size, loss, k):
    """Put heap[k] where it belongs below: a heap of numbers, the one with the least loss (or least number) on top."""
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
def before(loss, a, b):
    return loss[a] < loss[b] or (loss[a] == loss[b] and a < b)


@compiled
def pop(heap, size, loss):
    """Take the top from the heap of `size`; it is left behind the others."""
    top = heap[0]
    heap[0] = heap[size - 1]
    heap[size - 1] = top
    sink(heap, size - 1, loss, 0)
    return top


@compiled
def push(heap, size, loss, item):
    """Enter a number behind the `size` of the heap."""
    k = size
    while k > 0 and before(loss, item, heap[(k - 1) >> 1]):
        heap[k] = heap[(k - 1) >> 1]
        k = (k - 1) >> 1
    heap[k] = item


@compiled
def main_choices(chains, weights, order, lo, hi, labels, work, trellis, column, ways, most):
    """The `most` choices of least loss that lead away from the best labelling, in the order of their loss."""
    tokens = chains.starts[hi] - chains.starts[lo]
    found = make_choices(tokens * labels + (hi - lo) * labels * labels)
    count = base = 0
    for s in range(lo, hi):
        start = chains.starts[s]
        n = chains.starts[s + 1] - start
        count = sentence_choices(
            chains, weights, order, trellis, base, start, n, trellis.z, labels, work.t1, column, ways, found, count
        )
        base += n
    heap = np.arange(count)
    for k in range(count // 2 - 1, -1, -1):
        sink(heap, count, found.loss, k)
    best = make_choices(min(most, count))
    for k in range(best.loss.shape[0]):
        c = pop(heap, count - k, found.loss)
        put_choice(best, k, found.loss[c], found.place[c], found.label[c], found.second[c])
    return best


@compiled
def next_main(choices, m, reach):
    """The first choice from m on whose place is not right of `reach`; their number when there is none."""
    while m < choices.loss.shape[0] and choices.place[m] > reach:
        m += 1
    return m


@compiled
def grown(old, used):
    """The same choices with more room."""
    more = make_choices(2 * old.loss.shape[0])
    for k in range(used):
        put_choice(more, k, old.loss[k], old.place[k], old.label[k], old.second[k])
    return more


@compiled
def n_best(chains, weights, order, lo, hi, labels, n, work, trellis, rows, losses):
    """The n best labellings of the document of sentences lo … hi-1: rows[k] and their loss against the best, losses[k].

    Returns how many there are and the score of the best: fewer than n if there are no more legal ones, 1 if none is.
    The caller has loaded the transitions; rows: int16[n, tokens], losses: float64[n].
    """
    total = fill_trellis(chains, weights, order, lo, hi, labels, work, trellis)
    tokens, t1, main = chains.starts[hi] - chains.starts[lo], work.t1, trellis.z
    column, ways = np.empty(labels + 1, np.float32), np.empty(labels, np.float64)
    choices = main_choices(chains, weights, order, lo, hi, labels, work, trellis, column, ways, n - 1)
    ends = choices.loss.shape[0]
    z, reach = np.empty(tokens, np.int64), np.empty(n, np.int64)
    for i in range(tokens):
        rows[0, i] = main[i]
    losses[0], reach[0], count = 0.0, tokens, 1
    own, used = make_choices(256 + 2 * labels), 0
    queue, size, entered = np.empty(256, np.int64), 0, 0
    entry = make_choices(
        256
    )  # what waits: loss, parent (place), choice (label): m of the main ones, -1 - k of the own ones
    if ends > 0 and total > -TOO_MUCH:
        entered = put_choice(entry, 0, choices.loss[0], 0, 0, 0)
        push(queue, 0, entry.loss, 0)
        size = 1
    while count < n and size > 0:
        e = pop(queue, size, entry.loss)
        size -= 1
        loss, parent, m = entry.loss[e], entry.place[e], entry.label[e]
        if m >= 0:
            place, label, second = choices.place[m], choices.label[m], choices.second[m]
        else:
            place, label, second = own.place[-1 - m], own.label[-1 - m], own.second[-1 - m]
        base = trellis.first[place]
        start = chains.starts[lo] + base
        for i in range(tokens):
            z[i] = rows[parent, i]
        i = follow(chains, weights, order, trellis, base, start, place, label, second, z, labels, t1, column, ways)
        for k in range(tokens):
            rows[count, k] = z[k]
        losses[count], begin = loss, used
        while i >= base + order and not (z[i] == main[i] and (order == 1 or z[i - 1] == main[i - 1])):
            if used + labels > own.loss.shape[0]:
                own = grown(own, used)
            used = choices_into(
                chains, weights, order, trellis, i, start + i - base, z, labels, t1, column, ways, own, used
            )
            i -= 1
        reach[count] = max(i - order, base - 1)
        while entered + used - begin + 2 > entry.loss.shape[0]:
            entry = grown(entry, entered)
        while size + used - begin + 2 > queue.shape[0]:
            queue = np.concatenate((queue, queue))
        for k in range(begin, used + 2):
            after = -1 - k
            if k == used:  # the next choice of the parent among the main ones
                after = next_main(choices, m + 1, reach[parent]) if m >= 0 else ends
            elif k > used:  # the first one of this labelling
                after = next_main(choices, 0, reach[count])
            if after < ends:
                more = choices.loss[after] if after >= 0 else own.loss[k]
                whose = parent if k == used else count
                put_choice(entry, entered, losses[whose] + more, whose, after, 0)
                push(queue, size, entry.loss, entered)
                size += 1
                entered += 1
        count += 1
    return count, total


@compiled
def n_best_of(chains, weights, order, lo, hi, labels, n, work, trellis, rows, losses):
    """`n_best` of a document by itself."""
    load_limits(weights, labels, work)
    load_transitions(weights, labels, work)
    if order == 2:
        load_trigrams(weights, labels, work)
    return n_best(chains, weights, order, lo, hi, labels, n, work, trellis, rows, losses)
