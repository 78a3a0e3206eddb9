"""A helper of a user's own in a module of its own, which reads where it is told to."""

import numba


@numba.njit
def at(x, row):
    return x[row, 0]
