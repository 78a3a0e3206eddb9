"""Compiling: Numba with a disk cache that notices every change, functions as typed pointers, prefetching."""

import os
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, typeof, types
from numba.core import cgutils
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]
from numba.extending import intrinsic, typeof_impl

from structron.kernels.cache import KernelCache, is_supported
from structron.kernels.private import addresses, counting
from structron.kernels.reference import FunctionPointer

ZERO, ONE = np.int64(0), np.int64(1)
"""For arguments of helpers: a literal is a type of its own to Numba, which compiles the helper once more for it."""


def _cached(dispatcher: Any, function: Callable, stamp: str = "", allocates: bool = True) -> Any:
    """Keep what a dispatcher compiles on disk, unless the function was typed at a prompt."""
    if DISABLE_JIT or not os.path.isfile(function.__code__.co_filename):
        return dispatcher
    if is_supported(dispatcher):
        dispatcher._cache = KernelCache(function, stamp, allocates)
    return dispatcher


def kernel(function: Callable | None = None, *, allocates: bool = False, signature: Any = None) -> Any:
    """A function that Python calls, or hands to a kernel as a pointer: compiled by itself and kept on disk.

    allocates: it makes arrays. Others only borrow those of their caller and count no references: taking an array out
    of its tuple then costs nothing, even inside a loop.   signature: of one that is handed to others as a pointer.
    """
    if function is None:
        return lambda function: kernel(function, allocates=allocates, signature=signature)
    found = _cached(njit(nogil=True, **counting(allocates))(function), function, allocates=allocates)
    return found if signature is None or DISABLE_JIT else Pointer(found, signature)


class Pointer:
    """A kernel with a declared signature, compiled when it is first used. Others take it as an argument of the type
    `FunctionPointer(signature)`: its code stands in one place, whoever calls it."""

    def __init__(self, dispatcher: Any, signature: Any):
        self.dispatcher, self.signature, self.py_func = dispatcher, signature, plain(dispatcher)
        self._numba_type_ = FunctionPointer(signature)

    def __call__(self, *arguments: Any) -> Any:
        return self.ready(*arguments)

    @cached_property
    def ready(self) -> Any:
        """The kernel, compiled."""
        if self.signature.args not in self.dispatcher.overloads:
            self.dispatcher.compile(self.signature)
        return self.dispatcher

    @cached_property
    def _addresses(self) -> tuple[int, int, Any]:
        return addresses(self.ready, self.signature)

    @cached_property
    def wrapper_address(self) -> int:
        """Where other C code calls it."""
        return self._addresses[0]

    @cached_property
    def address(self) -> int:
        """Where kernels call it."""
        return self._addresses[1]

    def is_cold(self) -> bool:
        """As the function `is_cold`."""
        return "ready" not in vars(self) and is_cold(self.dispatcher)


def helper(
    function: Callable | None = None, *, allocates: bool = False, inline: bool = False, fastmath: Any = False
) -> Any:
    """A function that kernels call: it becomes part of them. Python rarely calls it, and then as a kernel of its own.

    Numba compiles it anew for a literal: pass `ZERO`, not `0`.   allocates: as for `kernel`.   inline: a few
    lines inside a hot loop; LLVM would leave them as calls, which costs more than they do.
    """
    if function is None:
        return lambda function: helper(function, allocates=allocates, inline=inline, fastmath=fastmath)
    hidden = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    options = {"forceinline": inline, "fastmath": fastmath, **counting(allocates), **hidden}
    return function if DISABLE_JIT else Helper(njit(nogil=True, **options)(function), allocates)


class Helper:
    """A helper, as `helper` makes it. Kernels see the dispatcher; Python calls it as a kernel of its own."""

    def __init__(self, dispatcher: Any, allocates: bool):
        self.dispatcher, self.allocates, self.py_func = dispatcher, allocates, dispatcher.py_func

    def __call__(self, *arguments: Any) -> Any:
        return entry(self, self.allocates)(*arguments)


@typeof_impl.register(Helper)
def _as_dispatcher(found: Helper, context: Any) -> Any:
    return types.Dispatcher(found.dispatcher)


def plain(function: Any) -> Any:
    """A kernel or helper as it was written, uncompiled."""
    return getattr(function, "py_func", function)


@cache
def entry(function: Any, allocates: bool = False) -> Any:
    """A helper as a kernel: compiled once more, by itself."""
    return function if DISABLE_JIT else kernel(plain(function), allocates=allocates)


def for_signature(function: Callable, signature: Any, stamp: str = "", of: Callable | None = None) -> Any:
    """A function, or a dispatcher, compiled for one signature; cached, unless it was typed at a prompt or stands in a
    module that has no name to be found by again. stamp: what else it is made of, beside its file; another one: compile
    it again.   of: the function whose kernel it is, where that is another one."""
    dispatcher = function if hasattr(function, "py_func") else njit(nogil=True)(function)
    kernel: Any = _cached(dispatcher, plain(of or function), stamp)
    kernel.compile(signature)
    kernel.disable_compile()
    return kernel


def ir_inline(function: Callable) -> Any:
    """A piece of one long kernel: Numba puts its body into the caller's before it compiles that, so that it costs
    neither a call nor a compilation of its own."""
    return njit(nogil=True, inline="always")(function)


class WithFunctionPointers:
    """A kernel that takes functions as typed pointers, so that it is compiled and cached once for all of them.

    The first arguments are the functions; their signatures are settled here, the other types with the first call.
    """

    def __init__(self, function: Callable, *pointers: Any, allocates: bool = False):
        self.function, self.pointers, self.allocates = function, pointers, allocates
        self.kernel: Any = None

    def __call__(self, *arguments: Any) -> Any:
        count = len(self.pointers)
        return self.of(*arguments[:count]).call(*arguments[count:])

    def of(self, *functions: Any) -> "Bound":
        """The kernel with its functions: to be made once where they do not change."""
        return Bound(self, functions)

    def compile(self, *arguments: Any) -> Any:
        """The kernel, compiled for arguments like these, which follow the functions."""
        if self.kernel is None:
            signature = (*map(FunctionPointer, self.pointers), *map(typeof, arguments))
            found = kernel(self.function, allocates=self.allocates)
            found.compile(signature)
            found.disable_compile()
            self.kernel = found
        return self.kernel

    def is_cold(self) -> bool:
        """As the function `is_cold`."""
        return self.kernel is None and not DISABLE_JIT and is_cold(kernel(self.function))


class Bound:
    """A kernel with the functions that it takes as pointers. `call` is the compiled kernel itself from the second call
    on, so that nothing stands between."""

    def __init__(self, kernel: WithFunctionPointers, functions: tuple[Any, ...]):
        self.kernel, self.functions, self.is_ready = kernel, functions, bool(DISABLE_JIT)
        self.call: Callable = partial(kernel.function, *map(plain, functions)) if DISABLE_JIT else self._first

    def _first(self, *arguments: Any) -> Any:
        self.ready(*arguments)
        return self.call(*arguments)

    def ready(self, *arguments: Any) -> None:
        """Compile it for arguments like these, unless that is done."""
        if not self.is_ready:
            given = zip(self.functions, self.kernel.pointers, strict=True)
            pointers = [own if isinstance(own, Pointer) else Pointer(own, signature) for own, signature in given]
            self.call, self.is_ready = partial(self.kernel.compile(*arguments), *pointers), True


def is_cold(kernel: Any) -> bool:
    """Whether a kernel is neither compiled in this process nor in the cache: its first call will take seconds."""
    if DISABLE_JIT or kernel.signatures:
        return False
    kept = getattr(kernel, "_cache", None)
    return not isinstance(kept, KernelCache) or kept.is_cold()


def _emit_prefetch(context, builder, signature, arguments):
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
    return types.void(array, i, j), _emit_prefetch


@intrinsic
def _prefetch_at(typingctx, array, i):
    """Compiled `prefetch_at`."""
    return types.void(array, i), _emit_prefetch


def _stay(array, *place):
    """Uncompiled: does nothing."""


prefetch: Any = _stay if DISABLE_JIT else _prefetch
"""prefetch(array, i, j): have the cache line of array[i, j] loaded, without waiting for it."""
prefetch_at: Any = _stay if DISABLE_JIT else _prefetch_at
"""prefetch_at(array, i): the same for a vector."""
