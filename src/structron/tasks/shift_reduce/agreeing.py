"""Trees with open heads and relations under arc-standard: the transitions that lead to a tree which agrees.

    x   int64[words, …, 4]   after the parser's own columns HEAD: the head, counted from 0, OPEN or ROOT; RELATION or
                             OPEN; FIRST, LAST: of the known dependents, or the number of words and -1

A reduction is legal when no known head stands against it: neither that of the child nor those of words that are to
become its children. Such a reduction never makes an agreeing tree impossible. After a shift the same is tried to the
end (text/trees.py: fits_projective): the word below the new top has to get another child on its right, or a head there.
The root's relation is no action and is not looked at. Of open relations and roots those are taken that `system.legal`
takes, where it leaves any. All of a state's stack counts, so that states cannot be merged.
"""

import numpy as np

from structron.learn.beam import Known
from structron.search.beam.frontier import Inputs
from structron.search.beam.problem import pointer
from structron.search.beam.signatures import POINTERS
from structron.tasks.shift_reduce.system import (
    EXCLUDED,
    LABELS,
    LEFTS,
    LSET,
    NEXT,
    RIGHTS,
    ROOTLESS,
    RSET,
    SHIFT,
    TAGS,
    TAIL,
    TOP,
)
from structron.text.trees import outermost

HEAD, RELATION, FIRST, LAST = -4, -3, -2, -1
"""Columns, from the last."""
OPEN, ROOT = -1, -2


def agreeing(x, table, states, s, out):
    """The transitions that agree with what is known, and after which some tree still does."""
    count, words, width, labels, tags = 0, x.shape[0], x.shape[1], table[LABELS], table[TAGS]
    head, relation, first, last = width + HEAD, width + RELATION, width + FIRST, width + LAST
    following = states[s, NEXT]
    stack, size, row = np.empty(words + 1, np.int64), 0, s
    while row >= 0 and states[row, TOP] >= 0:
        stack[size] = states[row, TOP]
        row = states[row, TAIL]
        size += 1
    for k in range(size // 2):
        stack[k], stack[size - 1 - k] = stack[size - 1 - k], stack[k]
    sides = np.zeros(2, np.bool_)
    if size > 1:
        top, second, third = stack[size - 1], stack[size - 2], stack[size - 3] if size > 2 else -1
        sides[0] = x[second, head] in (OPEN, top) and x[second, last] < top and x[second, first] > third
        sides[1] = x[top, head] in (OPEN, second) and x[top, last] < following and x[top, first] > second
        if table[ROOTLESS] > 0 and size == 2 and following == words and sides.all():
            never0, never1 = table[table[ROOTLESS] + x[top, 1]], table[table[ROOTLESS] + x[second, 1]]
            sides[0], sides[1] = never0 <= never1, never1 <= never0
        for side in range(2):
            child, parent = (second, top) if side == 0 else (top, second)
            taken, lo, hi, before = 0, 0, 0, count
            if table[EXCLUDED] > 0:
                own = s if side == 0 else states[s, TAIL]
                taken = states[own, LSET] | states[own, RSET]
            if tags > 0:
                pair = x[parent, 1] * tags + x[child, 1]
                lists = table[LEFTS] if side == 0 else table[RIGHTS]
                lo, hi = table[lists + pair], table[lists + pair + 1]
            listed = hi - lo
            if sides[side] and x[child, relation] >= 0:
                out[count] = 1 + side * labels + x[child, relation]
                count += 1
            elif sides[side]:
                for free in range(2):
                    for k in range((labels if listed == 0 else listed) if free == 0 or count == before else 0):
                        action = 1 + side * labels + k if listed == 0 else table[lo + k]
                        if free == 1 or taken == 0 or taken & table[table[EXCLUDED] + action - 1 - side * labels] == 0:
                            out[count] = action
                            count += 1
    if following < words:
        stack[size] = following
        size += 1
        following += 1
        done = False
        while not done:
            done = True
            if size > 1:
                top, second, third = stack[size - 1], stack[size - 2], stack[size - 3] if size > 2 else -1
                if x[second, head] in (OPEN, top) and x[second, last] < top and x[second, first] > third:
                    stack[size - 2] = top
                    size -= 1
                    done = False
                elif x[top, head] in (OPEN, second) and x[top, last] < following and x[top, first] > second:
                    size -= 1
                    done = False
            if done and following < words:
                stack[size] = following
                size += 1
                following += 1
                done = False
        if size == 1 and x[stack[0], head] < 0:
            out[count] = SHIFT
            count += 1
    return count


def known_trees(inputs: Inputs, heads: np.ndarray, relations: np.ndarray, is_open: np.ndarray) -> Known:
    """What is known of a treebank. heads: as in a file, -1: open; relations: numbers, -1: open."""
    starts = inputs.starts.tolist()
    own = np.zeros((len(inputs.x), 4), np.int64)
    for s in np.flatnonzero(is_open).tolist():
        words = slice(starts[s], starts[s + 1])
        first, last = outermost(heads[words].tolist())
        own[words] = np.stack([heads[words] - 1, relations[words], np.array(first[1:]) - 1, np.array(last[1:]) - 1], 1)
        own[words, HEAD] = np.where(heads[words] < 0, OPEN, np.where(heads[words] == 0, ROOT, heads[words] - 1))
    legal = pointer(agreeing, POINTERS["legal"], "parser: agreeing", "agreeing(x, table, states, s, out) -> int")
    x = np.ascontiguousarray(np.concatenate([inputs.x, own], axis=1))
    return Known(inputs._replace(x=x), is_open, legal, merge=False)
