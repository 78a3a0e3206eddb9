"""Labelling a sentence from left to right as a search problem: a state is a position and the last labels.

    x       int64[tokens, columns]   MASK: which labels the token may have, a row of the masks;
                                     FORCED: 1 where the user gave the label;
                                     from FIRST_X on: numbers of what templates combine with labels before, -1: nothing
    table   int64[:]                 LABELS, HISTORY, EXTRAS, MASKS; then allowed[P, L]; at MASKS the masks[rows, L]
    states  int64[rows, 2 + H]       TAIL; POSITION; from LAST on the labels before, the nearest first, from 1; 0: none

Actions are labels. A label is legal when it may follow the one before and the token may have it. Where both cannot be
had, a label that breaks one of the two is legal, but never another one than the user forced: like exact search, which
then takes the least illegal labelling. `look_ahead` sees to it that a search gets there only if there is no legal
labelling at all.

Atoms are y[-1] … y[-H] and x[0] …; what the tokens alone say is numbered per token (`Anchored`), not an atom.
"""

import re
from collections.abc import Sequence

import numpy as np

from structron.search.beam.problem import SearchProblem

POSITION, LAST = 1, 2
MASK, FORCED, FIRST_X = 0, 1, 2
LABELS, HISTORY, EXTRAS, MASKS, HEADER = range(5)


def start(x, table, states, s):
    """No token has a label yet."""
    states[s, POSITION] = 0
    for k in range(table[HISTORY]):
        states[s, LAST + k] = 0


def legal(x, table, states, s, out):
    """The labels that the next token may have; none after the last token."""
    labels, i, count = table[LABELS], states[s, POSITION], 0
    if i < x.shape[0]:
        follows = HEADER + states[s, LAST] * labels
        mask, forced = table[MASKS] + x[i, MASK] * labels, x[i, FORCED]
        for y in range(labels):
            out[count] = y
            count += table[follows + y] & table[mask + y]
        if count == 0:
            for y in range(labels):
                out[count] = y
                count += table[mask + y] | (table[follows + y] & (1 - forced))
    return count


def advance(x, table, states, s, action, t):
    """Give the next token a label."""
    for k in range(table[HISTORY] - 1, 0, -1):
        states[t, LAST + k] = states[s, LAST + k - 1]
    states[t, LAST] = action + 1
    states[t, POSITION] = states[s, POSITION] + 1


def atoms(x, table, states, s, out):
    """The labels before, and what the templates combine them with."""
    i, history = states[s, POSITION], table[HISTORY]
    for k in range(history):
        out[k] = states[s, LAST + k]
    for c in range(table[EXTRAS]):
        out[history + c] = x[i, FIRST_X + c] if i < x.shape[0] else -1


def make_problem(
    labels: Sequence[str], templates: Sequence[str], extras: Sequence[int], allowed: np.ndarray, name: str = "labels"
) -> SearchProblem:
    """The problem of labelling. extras: how many values each x[…] has.   allowed: bool[P, L], what may follow what."""
    history = max(int(k) for text in templates for k in re.findall(r"y\[-(\d+)\]", text))
    sizes = {f"y[-{k}]": len(labels) + 1 for k in range(1, history + 1)}
    sizes |= {f"x[{c}]": max(1, size) for c, size in enumerate(extras)}
    everything = np.ones((1, len(labels)), bool)
    return SearchProblem(
        actions=labels,
        width=LAST + history,
        start=start,
        legal=legal,
        advance=advance,
        atoms=atoms,
        atom_names=sizes,
        templates=templates,
        table=make_table(history, len(extras), allowed, everything),
        max_steps=int,
        where=POSITION,
        exchangeable=True,
        name=name,
    )


def make_table(history: int, extras: int, allowed: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The constants of a problem for sentences whose tokens have these masks."""
    head = [allowed.shape[1], history, extras, HEADER + allowed.size]
    return np.concatenate([head, allowed.reshape(-1), masks.reshape(-1)]).astype(np.int64)


def look_ahead(
    masks: np.ndarray, mask_of: np.ndarray, allowed: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Masks without the labels from which no legal labelling of the rest of the sentence is left: no dead ends.

    Where the rest has none at all, a mask stays as it is. All sentences are gone through at once, from their ends.
    """
    if allowed.all() or masks[mask_of].all():
        return masks, mask_of
    open_to = _from_the_end(masks[mask_of], allowed, starts, keep=True)
    first, numbers = _different_rows(open_to)
    return open_to[first], numbers


def _different_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each different row of a bool array first stands, and which of these every row is."""
    first, numbers = np.zeros(min(1, len(rows)), np.int64), np.zeros(len(rows), np.int64)
    for at in range(0, rows.shape[1], 64):
        some = np.packbits(rows[:, at : at + 64], axis=1)
        bits = np.zeros((len(rows), 8), np.uint8)
        bits[:, : some.shape[1]] = some
        _, own = np.unique(bits.view(np.uint64).reshape(-1), return_inverse=True)
        _, first, numbers = np.unique(numbers * (len(rows) + 1) + own, return_index=True, return_inverse=True)
    return first, numbers.reshape(-1)


def can_be_legal(masks: np.ndarray, mask_of: np.ndarray, allowed: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """bool[sentences]: whether there is any legal labelling."""
    found, full = np.ones(len(starts) - 1, bool), np.diff(starts) > 0
    left = _from_the_end(masks[mask_of], allowed, starts, keep=False)
    found[full] = (left[starts[:-1][full]] & allowed[0]).any(axis=1)
    return found


def _from_the_end(open_to: np.ndarray, allowed: np.ndarray, starts: np.ndarray, keep: bool) -> np.ndarray:
    """bool[tokens, labels] without the labels that nothing legal can follow. keep: never take a token's last label."""
    lengths, follows = np.diff(starts), allowed[1:].T.astype(np.float32)
    for place in range(int(lengths.max(initial=0)) - 2, -1, -1):
        tokens = starts[:-1][lengths > place + 1] + place
        left = open_to[tokens] & (open_to[tokens + 1].astype(np.float32) @ follows > 0)
        changed = left.any(axis=1) | (not keep)
        open_to[tokens[changed]] = left[changed]
    return open_to
