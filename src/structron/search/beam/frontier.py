"""The arrays of a beam search: what is given, what is remembered, and the trace it leaves.

States live in one matrix, a row each; a beam is a list of rows. Beside every row t stands how it was reached:

    link[t, BACK], link[t, ACTION]        the row and the action it came from
    link[t, PRED]                         for an action that pops: the row that the popped part was pushed on
    link[t, BEGIN], link[t, ORIGIN]       step and action of the push of the top of its stack
    link[t, GOLD]                         WHOLE: the derivation is the correct one; PART: it is since that push
    link[t, FIRST], link[t, SIZE]         its predictors: list_row[FIRST : FIRST + SIZE]
    score[t, PREFIX], score[t, INSIDE]    score of the whole derivation, and of the part since that push
"""

from typing import NamedTuple

import numpy as np

from structron.errors import StructronError
from structron.kernels.jit import ir_inline
from structron.kernels.memory import aligned_zeros
from structron.kernels.reference import (
    Doubles,
    Doubles2,
    Floats,
    Floats2,
    Ints,
    Ints2,
    Keys,
    Keys2,
    Keys3,
    Numbers,
    by_reference,
)
from structron.search.beam.states import Features
from structron.weights.sparse import Sparse, stride_of

TAIL = 0
"""The column of a state that belongs to the engine: the row on which the top of its stack was pushed, or -1."""
PUSH, STEP, POP = 1, 0, -1
NONE, PART, WHOLE = 0, 1, 3
DONE, MORE_ROWS, MORE_LISTS, MORE_BEAM, DEAD_END, ENDLESS, BAD_ACTION, BAD_GOLD, BAD_ORDER, MORE_OUT = range(10)
"""How a search ends; all but DONE need Python: room, or an error that names the function at fault."""
MAX_ROWS = 1 << 25
TOGETHER = 16
"""States of a beam that are scored together, so that they wait for memory together."""
COUNTED = 2
"""In `BeamSettings.merge`: of the k best candidates the equivalent ones are merged, and no others move up."""
INFINITE = 1 << 40
"""The beam of a search without one."""
BLOCK_COLUMNS, MOST_BLOCKS = 8, 64
"""Columns of weights that are looked at together or not at all, or a multiple of that; how many such blocks are told
apart."""
HEADS = 1 << 9
"""Rows of a token's features that are asked for together, or more."""
NEAR = 1 << 8
"""Tokens around a segment of which sums are remembered, a power of two."""
FAR = 1 << 18
"""Sums of whole segments that are remembered, as numbers."""
BACK, ACTION, PRED, BEGIN, ORIGIN, GOLD, FIRST, SIZE = range(8)
PREFIX, INSIDE = range(2)
"""Columns of `link` and of `score`; see the module."""
PLACE, ORDER = 2, 3
"""Columns of a candidate in `heap`, after BACK (its place in the beam) and ACTION: that of its predictor, and when it
was made."""
SCORE, GAIN = range(2)
"""Columns of `rank`: by what candidates are ordered, and the action's own score."""
ROWS, PLACES, NOW, COUNT, FINISHED, EXAMPLE = range(6)
"""Places in `used`: rows and list places in use; which of the two beams is the last one, and how many states it has;
how many candidates are in the heap when a search is done: the final states; the example."""


@by_reference
class Inputs(NamedTuple):
    """Examples: x[starts[e] : starts[e + 1]] is the input of example e, gold[gold_ptr[e] : …] its correct actions."""

    x: Ints2  # int64[tokens, columns]
    starts: Ints
    table: Ints  # int64: constants of the problem
    limit: Ints  # int64[examples]: no derivation has more steps
    gold: Ints  # int64
    gold_ptr: Ints  # int64[examples + 1], or empty: no gold


@by_reference
class Anchored(NamedTuple):
    """Features that were numbered per token before the search; empty for problems that have none.

    Chains have one list of features per token (kinds = 0). Where actions have views, these are lengths, and what counts
    are the features of a segment: of the tokens s … e that an action takes. Then every token t has several lists,
    t * kinds + q for the kinds q of what it can be: just at whose left edge a segment begins (BEFORE: features of the
    token before), or ends (AFTER, LAST), the later of two or three neighbours inside (PAIR, TRIPLE), the k-th token
    (AT + k, the last k for all further ones), and the first of `length` tokens that are all of it.
    """

    ptr: Ints  # int64[tokens + 1], or int64[tokens * kinds + 1]
    numbers: Numbers  # int32
    table: Keys2  # uint64[features, 2]: key and head of each
    kinds: int = 0
    positions: int = 0
    whole: int = 0


@by_reference
class BeamSettings(NamedTuple):
    """The shape of a search."""

    beam: int
    merge: int  # 1: equivalent states are one (dynamic programming); COUNTED: and keep their places in the beam
    stacked: int  # 1: some actions push or pop
    columns: int  # columns of weights
    where: int  # the column of a state with the token that anchored features are of, -1: none
    parts: Ints2  # int64[actions, parts]: the columns of weights that an action's score is the sum of, -1: none
    moves: Ints  # int64[actions]: PUSH, STEP or POP
    features: Features
    view_at: (
        int  # the column of a state that tells atoms which actions are to be scored, -1: atoms are the same for all
    )
    views: Ints  # int64[actions]: what stands there for each
    lattice: int  # the column of a state with its node in the lattice, -1: none, or the search is not exact
    spots: Keys2  # uint64[actions, parts]: where those columns stand in `Memory.total`; a part of none: after all
    blocks: Keys  # uint64[actions]: the blocks of columns that an action's score needs, a bit each; empty: all
    block: int  # columns in a block
    slack: float  # a state that is further behind the best than this leaves the beam


@by_reference
class Memory(NamedTuple):
    """Remembered sums of feature groups, and scratch memory; see scores.py."""

    key: Keys3  # uint64[groups + 1, slots, 2]: of a group's atoms and the clock, and the last batch that needed
    # it; the last group: tokens
    sums: Floats2  # float32[(groups + 1) * (slots + TOGETHER), columns]
    have: Keys  # uint64[(groups + 1) * (slots + TOGETHER)]: the blocks of columns of each that count
    total: Floats  # float32[columns + 1]: the last is 0
    place: Ints2  # int64[TOGETHER, groups + 1]: those of the sums of each state
    keys: Keys  # uint64[TOGETHER * templates]: the features that states of a batch ask for
    homes: Ints  # int64[TOGETHER * templates]
    heads: Keys  # uint64[TOGETHER * templates, or more]: what stands at their homes, then the heads of their rows
    owner: Ints  # int64[TOGETHER * templates]
    hashes: Keys2  # uint64[groups + 1, 2]: of the atoms of one state, by group; see scores.py
    products: Keys  # uint64[atoms + 1]: of one state's atoms and their salts
    clock: Ints  # int64[5]
    ranges: Keys3  # uint64[2, blocks, 2]: first column and the one after the last; 0: the one range of all
    # columns, 1: those that are wanted. Unsigned, since a column that might be negative keeps loops from being vectors
    near: Keys  # uint64[NEAR]: the token, and the clock, whose lists of features are summed
    near_sums: Floats2  # float32[NEAR * kinds, columns]
    far: Keys2  # uint64[tokens, 2]: the same for segments that begin at a token, and the longest that is summed
    far_sums: Floats2  # float32[tokens * (1 + longest), columns]


@by_reference
class Trace(NamedTuple):
    """One search, step by step: what update rules choose from."""

    best: Doubles  # float64[steps + 1]: score of the best state, B_i[0]
    gold: Doubles  # float64: score of the correct prefix
    alive: Ints  # int64: 1 while the correct prefix is in the beam
    right: Ints  # int64: 1 where the best state is the correct prefix
    top: Ints  # int64: the row of the best state
    gold_row: Ints  # int64: the row of the correct prefix
    kept: Ints2  # int64[steps + 2, width of beam]: the rows of each beam, best first; int64[0, …]: not wanted
    sizes: Ints  # int64[steps + 2]: how many there are, where they are wanted


@by_reference
class Frontier(NamedTuple):
    """All that a search writes to; one per thread."""

    states: Ints2  # int64[rows, width]
    link: Ints2  # int64[rows, 8]: see the module
    score: Doubles2  # float64[rows, 2]: PREFIX, INSIDE
    signature: Keys  # uint64[rows]
    list_row: Ints  # int64: predictors
    list_score: Doubles  # float64: the score of the push from that predictor
    beam: Ints2  # int64[2, width of beam]
    atoms: Ints2  # int64[2 * (width of beam + 1) + 1, atoms + 1]: of the states in the beams, last of each gold's,
    # and one to spare; the last column is 0
    seen: Ints  # int64[a power of two]: open addressing, signature -> place in the next beam, from 1; 0: free
    seen_at: Ints  # int64[width of beam]: where each place of the next beam stands in it
    legal: Ints2  # int64[TOGETHER, actions, or more: agreeing.py]: of the states that are scored together
    choices: Ints  # int64[TOGETHER]: how many
    rank: Doubles2  # float64[candidates, 2]: SCORE, GAIN
    heap: Ints2  # int64[candidates, 4]: BACK, ACTION, PLACE, ORDER
    used: Ints  # int64[6]: ROWS, PLACES, NOW, COUNT, FINISHED, EXAMPLE
    path: Ints2  # int64[2, steps + 2]: rows and actions of a derivation
    waiting: Ints  # int64[steps + 2]


@by_reference
class Given(NamedTuple):
    """What all searches of a kernel share."""

    inputs: Inputs
    anchored: Anchored
    sparse: Sparse
    setting: BeamSettings
    memory: Memory
    frontier: Frontier
    trace: Trace


class Guide(NamedTuple):
    """How a search follows gold."""

    learning: int | np.int64  # 1: gold is given and followed
    first: int | np.int64  # go on from gold's state at this step (its row is in the trace); 0: from the start
    stop_at_fall: int | np.int64  # 1: end with the step at which gold has left the beam
    penalty: float  # by so much states of the correct derivation are ranked lower


class Example(NamedTuple):
    """One of the inputs."""

    x: np.ndarray
    table: np.ndarray
    gold: np.ndarray  # its correct actions; none unless they are to be followed
    base: int  # its tokens: base … end - 1
    end: int
    limit: int


@ir_inline
def example_of(inputs, e, learning):
    base, end = inputs.starts[e], inputs.starts[e + 1]
    first = inputs.gold_ptr[e] if learning else 0
    last = inputs.gold_ptr[e + 1] if learning else 0
    return Example(inputs.x[base:end], inputs.table, inputs.gold[first:last], base, end, inputs.limit[e])


PER_ROW = ("states", "link", "score", "signature", "list_row", "list_score")
"""The arrays of a frontier that hold what was found, not what is being looked at."""


def make_memory(
    columns: int, templates: int, groups: int, atoms: int, slots: int = 1 << 8, kinds: int = 0, longest: int = 1
) -> Memory:
    """Memory for so many groups and that of tokens; kinds: of features around segments; longest: of the segments."""
    stride = stride_of(columns)
    places, far = (groups + 1) * (slots + TOGETHER), 1
    while kinds and far < NEAR and 2 * far * longest * stride <= FAR:
        far *= 2
    keys, homes, owner = (np.zeros(TOGETHER * max(templates, 1), kind) for kind in (np.uint64, np.int64, np.int64))
    return Memory(
        np.zeros((groups + 1, slots, 2), np.uint64),
        aligned_zeros((places, stride), np.float32),
        np.zeros(places, np.uint64),
        np.zeros(stride + 1, np.float32),
        np.zeros((TOGETHER, groups + 1), np.int64),
        keys,
        homes,
        np.zeros(max(len(keys), HEADS), np.uint64),
        owner,
        np.zeros((groups + 1, 2), np.uint64),
        np.zeros(atoms + 1, np.uint64),
        np.zeros(5, np.int64),
        np.array([[[0, stride]] * MOST_BLOCKS] * 2, np.uint64),
        np.zeros(NEAR, np.uint64),
        aligned_zeros((NEAR * kinds, stride), np.float32),
        np.zeros((far, 2), np.uint64),
        aligned_zeros((far * (1 + longest) if kinds else 0, stride), np.float32),
    )


def make_trace(steps: int, keep: int = 0) -> Trace:
    """Capacity for so many steps; keep: the width of beams whose rows are to be kept."""
    best, gold = (np.zeros(steps + 2) for _ in range(2))
    alive, right, top, gold_row, sizes = (np.zeros(steps + 2, np.int64) for _ in range(5))
    kept = np.zeros((steps + 2 if keep else 0, keep), np.int64)
    return Trace(best, gold, alive, right, top, gold_row, kept, sizes)


def make_frontier(rows: int, wide: int, candidates: int, steps: int, width: int, atoms: int, actions: int) -> Frontier:
    """Capacity for so many states in all, states in a beam, candidates of a step and steps."""
    if rows > MAX_ROWS:
        raise StructronError(f"search: more than {MAX_ROWS} states for one example; expected a narrower --beam")
    return Frontier(
        np.zeros((rows, width), np.int64),
        np.zeros((rows, 8), np.int64),
        np.zeros((rows, 2)),
        np.zeros(rows, np.uint64),
        np.zeros(4 * rows, np.int64),
        np.zeros(4 * rows),
        np.zeros((2, wide), np.int64),
        np.zeros((2 * (wide + 1) + 1, atoms + 1), np.int64),
        np.zeros(1 << int(4 * wide).bit_length(), np.int64),
        np.zeros(wide, np.int64),
        np.zeros((TOGETHER, actions), np.int64),
        np.zeros(TOGETHER, np.int64),
        np.zeros((candidates, 2)),
        np.zeros((candidates, 4), np.int64),
        np.zeros(6, np.int64),
        np.zeros((2, steps + 2), np.int64),
        np.zeros(steps + 2, np.int64),
    )
