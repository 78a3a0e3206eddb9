"""Compiling: Numba with a disk cache that notices every change, functions as typed pointers, prefetching."""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import njit, typeof, types
from numba.core import cgutils
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]
from numba.core.targetconfig import ConfigStack
from numba.extending import intrinsic

from structron.kernels.cache import LateCache, SafeCache
from structron.kernels.shipped import BorrowingCache, KernelCache, kernel_files

LEAVES = (
    "features/index.py",
    "features/lexicon.py",
    "features/names.py",
    "features/stretches.py",
    "kernels/cache.py",
    "kernels/library.py",
    "kernels/shipped.py",
    "search/beam/compiling.py",
    "search/beam/engine.py",
    "search/beam/examples.py",
    "search/beam/guard.py",
    "search/beam/nbest.py",
    "search/beam/problem.py",
    "search/chain/margins.py",
    "search/queue/queue.py",
    "search/queue/nodes.py",
    "update/choices.py",
    "update/parses.py",
    "weights/changes.py",
    "weights/mixing.py",
    "weights/packed.py",
)
"""Files whose kernels no other file calls: a change there concerns no other kernel."""


def _stamp(path: Path) -> tuple[str, int, int]:
    return path.name, path.stat().st_mtime_ns, path.stat().st_size


def _fingerprint() -> str:
    """A digest of name, time and size of every file that holds kernels for others."""
    package = Path(__file__).parent.parent
    leaves = {package / name for name in LEAVES}
    return sha256(repr([_stamp(path) for path in kernel_files() if path not in leaves]).encode()).hexdigest()


SOURCES = _fingerprint()


@cache
def _stamp_of(file: str) -> tuple[str, int, int]:
    return _stamp(Path(file))


def _without_literals(get_call_template: Callable) -> Callable:
    """Compile a kernel for int64 where another one calls it with 0: Numba would compile it for that literal as well."""

    def without(args: Any, kws: Any) -> Any:
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return get_call_template(tuple(map(types.unliteral, args)), plain)

    return without


def compiled(function: Callable, forceinline: bool = False, signature: Any = None, **options: Any) -> Any:
    """`numba.njit` with a disk cache that is fresh only while *no* kernel file has changed.

    Numba looks at the one file in which a kernel stands; ours call each other across files, and a stale kernel
    would keep an old helper inlined after an upgrade or an edit.
    """
    kernel: Any = njit(nogil=True, forceinline=forceinline, **options)(function)
    if not DISABLE_JIT:
        counts = options.get("_nrt", True)
        kind = KernelCache if counts else BorrowingCache
        if counts:
            _lend(kernel, cache(lambda: compiled(function, forceinline, _nrt=False)))
        kernel.get_call_template = _without_literals(kernel.get_call_template)
        kernel._cache = LateCache(kind, function, (SOURCES, _stamp_of(function.__code__.co_filename)))
    if signature is not None and not DISABLE_JIT:
        kernel.compile(signature)
        _settle(kernel)
    return kernel


def _lend(kernel: Any, borrowing: Callable[[], Any]) -> None:
    """Have a kernel that counts no references (`borrowing`) call one that counts none, either.

    Numba compiles what such a kernel calls without counting as well, and what others call with it, but keeps only what
    it has compiled first: a search took up to twice as long where somebody else had called its helpers before.
    """
    template, overload = kernel.get_call_template, kernel.get_overload

    def get_call_template(args: Any, kws: Any) -> Any:
        return borrowing().get_call_template(args, kws) if _counts_nothing() else template(args, kws)

    def get_overload(signature: Any) -> Any:
        return borrowing().get_overload(signature) if _counts_nothing() else overload(signature)

    kernel.get_call_template, kernel.get_overload = get_call_template, get_overload


def _counts_nothing() -> bool:
    """Whether what is being compiled now counts no references."""
    flags = ConfigStack.top_or_none()
    return flags is not None and not flags.nrt


def _settle(kernel: Any) -> None:
    """A kernel has been compiled for the one signature it will ever have: its addresses are looked up once.

    Numba asks LLVM for them whenever the kernel is given to another as a pointer, a tenth of a millisecond each time.
    """
    kernel.disable_compile()
    (found,) = kernel.overloads.values()
    found.library.get_pointer_to_function = cache(found.library.get_pointer_to_function)
    kernel.get_compile_result = lambda signature: found


def for_signature(function: Callable, signature: Any, stamp: str = "") -> Any:
    """A user's function compiled for one signature; cached, unless it was typed at a prompt or stands in a module that
    has no name to be found by again. stamp: what else it is made of, beside its file; another one: compile it again."""
    try:
        kernel: Any = njit(nogil=True)(function)
        kernel._cache = KernelCache(function)
        if stamp:
            kernel._cache.stamp((kernel._cache._cache_file._source_stamp, stamp))
        try:
            kernel.compile(signature)
        finally:
            kernel._cache.unlock()
    except (RuntimeError, ImportError):
        kernel = njit(nogil=True)(function)
        kernel.compile(signature)
    _settle(kernel)
    return kernel


def inlined(function: Callable) -> Any:
    """`compiled` for a few lines inside a hot loop: LLVM leaves them as calls, which costs more than they do."""
    return compiled(function, forceinline=True)


def borrowing(function: Callable) -> Any:
    """`compiled` for a kernel that neither makes nor returns arrays: its caller holds all of them. So no references are
    counted, and taking an array out of a tuple costs nothing, even inside a loop."""
    return compiled(function, _nrt=False)


def pasted(function: Callable) -> Any:
    """A piece of one long kernel: Numba puts its body into the caller's before it compiles that, so that it costs
    neither a call nor a compilation of its own."""
    return njit(nogil=True, inline="always")(function)


class Pointed:
    """A kernel that takes functions as typed pointers, so that it is compiled and cached once for all of them.

    The first arguments are the functions; their signatures are settled here, the other types with the first call.
    """

    def __init__(self, function: Callable, *pointers: Any):
        self.function, self.pointers = function, pointers
        self.kernel: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if DISABLE_JIT:
            return self.function(*arguments)
        self.ready(*arguments)
        return self.kernel(*arguments)

    def ready(self, *arguments: Any) -> None:
        """Compile it for arguments like these, unless that is done."""
        if self.kernel is None and not DISABLE_JIT:
            functions = [types.FunctionType(signature) for signature in self.pointers]
            rest = [typeof(argument) for argument in arguments[len(functions) :]]
            self.kernel = compiled(self.function, signature=(*functions, *rest))

    def is_cold(self) -> bool:
        """As the function `is_cold`."""
        return self.kernel is None and not DISABLE_JIT and is_cold(compiled(self.function))


def is_cold(kernel: Any) -> bool:
    """Whether a kernel is neither compiled in this process nor in the cache: its first call will take seconds."""
    if DISABLE_JIT or kernel.signatures:
        return False
    cache = getattr(kernel._cache, "made", kernel._cache)
    return not isinstance(cache, SafeCache) or cache.is_empty()


def _ask_for(context, builder, signature, arguments):
    """Code that asks for the cache line of an array's item."""
    kind = signature.args[0]
    view = context.make_array(kind)(context, builder, arguments[0])
    place = cgutils.get_item_pointer(context, builder, kind, view, list(arguments[1:]), wraparound=False)
    byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
    function = builder.module.declare_intrinsic(
        "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
    )
    builder.call(function, [builder.bitcast(place, byte), i32(0), i32(3), i32(1)])
    return context.get_dummy_value()


@intrinsic
def _prefetch(typingctx, array, i, j):
    """Compiled `prefetch`."""
    return types.void(array, i, j), _ask_for


@intrinsic
def _prefetch_at(typingctx, array, i):
    """Compiled `prefetch_at`."""
    return types.void(array, i), _ask_for


def _stay(array, *place):
    """Uncompiled: does nothing."""


prefetch: Any = _stay if DISABLE_JIT else _prefetch
"""prefetch(array, i, j): have the cache line of array[i, j] loaded, without waiting for it."""
prefetch_at: Any = _stay if DISABLE_JIT else _prefetch_at
"""prefetch_at(array, i): the same for a vector."""
