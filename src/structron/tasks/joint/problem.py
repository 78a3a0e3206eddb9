"""Tagging and chunking a sentence together as a search problem: each step fixes the tag and the chunk label of a word.

    x       int64[tokens, columns]   LIST: which pairs the token may have, a row of the lists;
                                     from FIRST_X on: numbers of what templates combine with the history, -1: nothing
    table   int64[:]                 a header (below), then what it points at
    states  int64[rows, 2 + 2 H]     TAIL; POSITION; from HISTORY_AT on the tags before, the nearest first, then the
                                     chunk labels before, both from 1; 0: none

Actions are the (tag, chunk label) pairs that training shows. A pair is legal when its chunk label may follow the one
before and the token's list has it. Where a list has no such pair, any pair may follow that the chunk labels allow:
what a word was seen with gives way, the order of chunk labels never does.

Atoms are t[-1] … t[-H], c[-1] … c[-H] and x[0] …; what the tokens alone say is numbered per token (`Anchored`).
"""

import re
from collections.abc import Sequence

import numpy as np

from structron.search.beam.problem import SearchProblem

POSITION, HISTORY_AT = 1, 2
LIST, FIRST_X = 0, 1
CHUNKS, HISTORY, EXTRAS, TAG_OF, CHUNK_OF, FOLLOWS, LISTS, HEADER = range(8)
ANY = 0
"""The list of all pairs."""
BEFORE = re.compile(r"([tc])\[-(\d+)\]")


def start(x, table, states, s):
    """No token has a pair yet."""
    states[s, POSITION] = 0
    for k in range(2 * table[HISTORY]):
        states[s, HISTORY_AT + k] = 0


def legal(x, table, states, s, out):
    """The pairs that the next token may have; none after the last token."""
    i, count = states[s, POSITION], 0
    if i < x.shape[0]:
        follows = table[FOLLOWS] + states[s, HISTORY_AT + table[HISTORY]] * table[CHUNKS]
        chunk_of, lists, row = table[CHUNK_OF], table[LISTS], x[i, LIST]
        while count == 0:
            for k in range(table[lists + row], table[lists + row + 1]):
                out[count] = table[k]
                count += table[follows + table[chunk_of + table[k]]]
            if row == ANY:
                break
            row = ANY
    return count


def advance(x, table, states, s, action, t):
    """Give the next token a pair."""
    history = table[HISTORY]
    for k in range(history - 1, 0, -1):
        states[t, HISTORY_AT + k] = states[s, HISTORY_AT + k - 1]
        states[t, HISTORY_AT + history + k] = states[s, HISTORY_AT + history + k - 1]
    states[t, HISTORY_AT] = table[table[TAG_OF] + action] + 1
    states[t, HISTORY_AT + history] = table[table[CHUNK_OF] + action] + 1
    states[t, POSITION] = states[s, POSITION] + 1


def atoms(x, table, states, s, out):
    """The tags and chunk labels before, and what the templates combine them with."""
    i, both = states[s, POSITION], 2 * table[HISTORY]
    for k in range(both):
        out[k] = states[s, HISTORY_AT + k]
    for c in range(table[EXTRAS]):
        out[both + c] = x[i, FIRST_X + c] if i < x.shape[0] else -1


def looks_at(atom: str) -> tuple[str, ...]:
    """The parts of a state that an atom looks at: each label before is one, what tokens say is one altogether."""
    return ("x",) if atom.startswith("x") else (atom,)


def make_problem(
    tags: Sequence[str],
    chunks: Sequence[str],
    pairs: np.ndarray,
    templates: Sequence[str],
    extras: Sequence[int],
    allowed: np.ndarray,
) -> SearchProblem:
    """The problem of giving pairs. pairs: int[pairs, 2], tag and chunk label of each.   templates: over the atoms.

    extras: how many values each x[…] has.   allowed: bool[P, chunks], which chunk label may follow which.
    A pair's score is the sum of three columns: one of its tag, one of its chunk label, one of its own.
    """
    history = max([1, *(int(k) for text in templates for _, k in BEFORE.findall(text))])
    sizes = {f"t[-{k}]": len(tags) + 1 for k in range(1, history + 1)}
    sizes |= {f"c[-{k}]": len(chunks) + 1 for k in range(1, history + 1)}
    sizes |= {f"x[{c}]": max(1, size) for c, size in enumerate(extras)}
    single = len(tags) + len(chunks)
    parts = np.stack([pairs[:, 0], len(tags) + pairs[:, 1], single + np.arange(len(pairs))], axis=1)
    return SearchProblem(
        actions=[f"{tags[t]}/{chunks[c]}" for t, c in pairs.tolist()],
        width=HISTORY_AT + 2 * history,
        start=start,
        legal=legal,
        advance=advance,
        atoms=atoms,
        atom_names=sizes,
        templates=templates,
        parts=parts,
        always=["c[-1]"],
        table=make_table(history, len(extras), pairs, allowed, [np.arange(len(pairs))]),
        max_steps=int,
        where=POSITION,
        exchangeable=True,
        looks_at=looks_at,
        name="joint",
    )


def history_of(problem: SearchProblem) -> int:
    """How far back the problem's templates look."""
    return (problem.width - HISTORY_AT) // 2


def make_table(
    history: int, extras: int, pairs: np.ndarray, allowed: np.ndarray, lists: Sequence[np.ndarray]
) -> np.ndarray:
    """The constants of a problem for sentences whose tokens have these lists of pairs; the first is that of all."""
    count = len(pairs)
    tag_of, chunk_of = HEADER, HEADER + count
    follows = chunk_of + count
    ptr_at = follows + allowed.size
    ptr = np.cumsum([ptr_at + len(lists) + 1, *map(len, lists)])
    head = [allowed.shape[1], history, extras, tag_of, chunk_of, follows, ptr_at]
    return np.concatenate([head, pairs[:, 0], pairs[:, 1], allowed.reshape(-1), ptr, *lists]).astype(np.int64)
