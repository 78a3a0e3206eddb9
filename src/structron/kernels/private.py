"""What of Numba's own business is touched, and what happens where a release no longer has it.

| what | for | without it |
| --- | --- | --- |
| `Dispatcher._cache`, `CompileResult._reduce`, `_rebuild` (cache.py) | kernels are kept | every process compiles |
| `Environment._memo`, `_rebuild_env` (cache.py) | kernels are read without SciPy | that takes longer |
| the option `_nrt` (`counting`) | kernels count no references | they count |
| `arrayobj.fix_integer_index` (indices.py) | no index is negative | a comparison at each look-up |
| `CPUCodeLibrary._optimize_final_module` (`optimise_once`) | a third less to compile | more to compile |
| `get_pointer_to_function` of a library (`Pointer` in jit.py) | kernels take functions | they cannot |

Tests run without each of them (tests/kernels/test_cache.py), and notice when one is gone (tests/test_private.py).
"""

from functools import cache
from typing import Any

from numba.core import codegen, event
from numba.core.cpu import CPUTargetOptions


def counting(allocates: bool) -> dict[str, Any]:
    """The option that says whether references are counted."""
    return {"_nrt": allocates} if hasattr(CPUTargetOptions, "_nrt") else {}


class _Innermost(event.Listener):
    """Knows what is being compiled: Numba compiles one function at a time, those that it calls in between."""

    def __init__(self) -> None:
        self.stack: list[Any] = []

    def on_start(self, event: Any) -> None:
        self.stack.append(event.data.get("dispatcher"))

    def on_end(self, event: Any) -> None:
        if self.stack:
            self.stack.pop()

    def is_helper(self) -> bool:
        """Whether it is a helper of ours: one that Python never calls."""
        found = self.stack[-1] if self.stack else None
        own = (getattr(getattr(found, "py_func", None), "__module__", None) or "").startswith("structron.")
        return own and bool(getattr(found, "targetoptions", {}).get("no_cpython_wrapper"))


@cache
def optimise_once() -> None:
    """Have helpers optimised where they are part of a kernel, and only there.

    Numba has LLVM optimise each function by itself, then once more in every one that it becomes part of, and so on.
    """
    library: Any = getattr(codegen, "CPUCodeLibrary", None)
    theirs = getattr(library, "_optimize_final_module", None)
    if theirs is None:
        return
    innermost = _Innermost()
    event.register("numba:compile", innermost)

    def _optimize_final_module(self: Any) -> None:
        if not innermost.is_helper():
            theirs(self)

    library._optimize_final_module = _optimize_final_module
