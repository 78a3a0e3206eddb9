"""Indices of our own kernels are never negative, and need no code for it.

In Python a[-1] is the last item, so Numba adds the length to every index below 0: a comparison and an addition at each
look-up, and lengths that take the place of what registers could hold. Kernels of this package count from 0 on; without
that code they are a tenth faster. Functions of users, and Numba's own, keep what Python has, and so does an index that
is written as a number.
"""

from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import types

OURS = "_ZN9structron"
"""How the names of compiled functions of this package begin."""


@cache
def trust_indices() -> None:
    """Have kernels of this package compiled that way from now on; a Numba without that place compiles as it does."""
    from numba.np import arrayobj  # with all that a compiler needs: only where something is compiled

    theirs = getattr(arrayobj, "fix_integer_index", None)
    if theirs is None:
        return

    def fix_integer_index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        if isinstance(index, ir.Constant) or not builder.function.name.startswith(OURS):
            return theirs(context, builder, kind, index, size)
        return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)

    arrayobj.fix_integer_index = fix_integer_index
