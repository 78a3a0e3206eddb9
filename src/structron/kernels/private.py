"""What of Numba's own business is touched, and what happens where a release no longer has it.

| what | for | without it |
| --- | --- | --- |
| `Dispatcher._cache`, `CompileResult._reduce`, `_rebuild` (cache.py) | kernels are kept | every process compiles |
| `Environment._memo`, `_rebuild_env` (cache.py) | kernels are read without SciPy | that takes longer |
| `rtsys.initialize` (`ready_to_read`) | kernels are read without the compiler | that takes longer |
| the option `_nrt` (`counting`) | kernels count no references | they count |
| `arrayobj.fix_integer_index` (indices.py) | no index is negative | a comparison at each look-up |
| `CPUCodeLibrary._optimize_final_module` (`optimise_once`) | a third less to compile | more to compile |
| `get_compile_result`, `get_pointer_to_function` (`addresses`) | kernels take functions | more to compile, each time |

tests/kernels/test_private_parts.py runs kernels without each of them: in all of Numba they have another name there.
tests/test_private.py notices when one is gone.

There is no other way for what Numba's own documents have extensions do (`numba.extending`, `numba.core.cgutils` and
`event`, LLVM's code from `llvmlite.ir`), nor for `numba.experimental.function_type.FunctionModel`, the layout of a
function that is passed to a kernel (reference.py). The checks of users' own problems (search/beam/checked.py) are a
pass of Numba's compiler, and use what its passes use.
"""

from functools import cache
from typing import Any

from numba import cfunc
from numba.core import codegen, event
from numba.core.cpu import CPUTargetOptions
from numba.core.runtime import rtsys


def counting(allocates: bool) -> dict[str, Any]:
    """The option that says whether references are counted."""
    return {"_nrt": allocates} if hasattr(CPUTargetOptions, "_nrt") else {}


def ready_to_read(target_context: Any) -> None:
    """Make ready what a compiled kernel needs while it is read: the counting of references alone. Numba's own way makes
    the whole compiler ready, which takes a quarter of a second to import."""
    (getattr(rtsys, "initialize", None) or _refresh)(target_context)


def _refresh(target_context: Any) -> None:
    target_context.refresh()


def addresses(dispatcher: Any, signature: Any) -> tuple[int, int, Any]:
    """Where other C code calls a compiled function, and where kernels do (0: as C code does), and what must be kept for
    the code to stay."""
    try:
        found = dispatcher.get_compile_result(signature)
        look_up, about = found.library.get_pointer_to_function, found.fndesc
    except AttributeError:
        made: Any = cfunc(signature, nogil=True)(dispatcher.py_func)
        return made.address, 0, made
    return look_up(about.llvm_cfunc_wrapper_name), look_up(about.llvm_func_name), found


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
