"""What kernels hand to each other as typed pointers: the functions of a problem, and the searches over it."""

from numba import types

from structron.kernels.reference import FunctionPointer, reference
from structron.search.beam.frontier import Anchored, Given, Guide, Memory
from structron.search.beam.states import Features
from structron.weights.sparse import Sparse

_X, _TABLE, _INT = types.int64[:, ::1], types.int64[::1], types.int64
POINTERS = {
    "start": types.void(_X, _TABLE, _X, _INT),
    "legal": types.int64(_X, _TABLE, _X, _INT, _TABLE),
    "advance": types.void(_X, _TABLE, _X, _INT, _INT, _INT),
    "atoms": types.void(_X, _TABLE, _X, _INT, _TABLE),
}
"""The functions of a problem; see problem.py."""
FUNCTIONS = {name: FunctionPointer(signature) for name, signature in POINTERS.items()}
"""The same as types of arguments."""
GUIDE = types.NamedTuple((types.int64, types.int64, types.int64, types.float64), Guide)
SCORE = types.void(
    *(reference(own) for own in (Features, Anchored, Sparse)),
    *(types.int64[:, ::1], *(types.int64,) * 3, reference(Memory)),
)
"""score(features, anchored, sparse, values, row, token, length, memory): see scores.py."""
SEARCH = types.UniTuple(types.int64, 2)(
    FunctionPointer(SCORE),
    *FUNCTIONS.values(),
    reference(Given),
    types.int64,
    GUIDE,
)
"""search(score_view, start, legal, advance, atoms, given, e, guide) -> how it ended, and the steps."""
