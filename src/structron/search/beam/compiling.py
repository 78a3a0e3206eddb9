"""A user's functions and the compiler: errors in plain words, constants that changed, calls that can be interrupted."""

import ctypes
import dis
import hashlib
import math
import os
import re
import threading
import types
from collections.abc import Callable, Iterator, MutableMapping
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numba import njit
from numba.core import types as numba_types
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from structron.errors import QUOTED, StructronError, quoted
from structron.kernels.jit import for_signature
from structron.kernels.private import counting
from structron.runtime.interrupts import Held, first_done, outcome
from structron.runtime.threads import ThreadPool
from structron.search.beam.checked import OPTIONS, Around, Checked

OWN = "structron."
"""How the modules of functions begin that come with the package."""
GRACE = 2.0
"""Seconds that a compiled call has to end by itself when it is interrupted."""
HEARING = 0.2
"""Seconds after which a thread asks whether the main thread was interrupted."""
CONSTANTS = "globals are constants at compile time: put values that depend on the data in `table`"
HELPERS = "helper functions need @numba.njit"
LOOPS = "expected integers, arrays and plain loops"
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')
_NOISE = (
    "Failed in",
    "During:",
    "File ",
    "<source",
    "^",
    "- ",
    "There are",
    "* ",
    "Overload",
    "def ",
    "Enable",
    "This error",
)
REASONS: tuple[tuple[str, str], ...] = (
    (
        r"Cannot modify readonly array",
        "it writes to an array that it may only read (x, table, or states in legal and atoms)",
    ),
    (r"Untyped global name '(\w+)'.*<class 'function'>", r"\1 is a plain function; " + HELPERS),
    (r"Untyped global name '(\w+)'.*<class '(?:[\w.]+\.)?(\w+)'>", r"the global \1 is a \2; " + CONSTANTS),
    (r"Untyped global name '(\w+)'", r"the global \1 is of a type that compiled code cannot use; " + CONSTANTS),
    (r"use of a (?:reflected )?(\w+).*assigned to variable '(\w+)' in globals", r"the global \2 is a \1; " + CONSTANTS),
    (r"(?:non-precise|Cannot determine Numba type).*<class 'function'>", "a plain function is called; " + HELPERS),
    (r"NameError: name '(\w+)' is not defined", r"\1 is not defined; expected an argument, a constant or a helper"),
    (r"variable '(\w+)' (?:referenced before|is not|not) (?:assignment|defined)", r"\1 is used before it has a value"),
    (r"No conversion from none to int64", "it returns nothing; expected an integer: is a return missing?"),
    (r"No conversion from (.+?) to int64", r"it returns \1; expected an integer"),
    (r"[Cc]an(?:'t|not) unify return type", "it returns values of different types, or sometimes nothing; expected one"),
    (r"Cannot unify (.+?) and (.+?) for '([\w.]+?)(?:\.\d+)?'", r"\3 is \1 here and \2 there; expected one type"),
    (r"Unknown attribute '(\w+)' of type (\S+)", r"\2 has no \1 in compiled code; " + LOOPS),
    (r"(?:too many positional arguments|missing a required argument|got some positional).*", r"\g<0>"),
    (r"with signature:?\s*(?:>>> )?(setitem|getitem)\((.+)\)", r"an index or a value of a wrong type (\2); " + LOOPS),
    (
        r"No implementation of function Function\(<built-in function (\w+)>\)",
        r"\1 of such values cannot be compiled; " + LOOPS,
    ),
    (
        r"No implementation of function Function\(<(?:function|class|built-in function) '?([\w.]+)",
        r"\1 cannot be compiled; " + LOOPS,
    ),
    (r"Use of unsupported (?:NumPy function|opcode) '?([\w.]+)", r"\1 cannot be compiled; " + LOOPS),
    (r"(?:Unsupported|unsupported|not supported|does not support)[^\n]*", r"\g<0>; " + LOOPS),
    (r"[Uu]ntyped global|recursi[^\n]*", r"\g<0>; " + LOOPS),
)


def reason_of(error: BaseException, function: Callable) -> str:
    """What the compiler found wrong, where, and what to do about it, in a line."""
    text = _COLOUR.sub("", str(error))
    flat = " ".join(text.split())
    found = next((match.expand(said) for pattern, said in REASONS if (match := re.search(pattern, flat))), "")
    if not found:
        lines = [line.strip() for line in text.splitlines()]
        found = next((line for line in lines if line and not line.startswith(_NOISE)), type(error).__name__)
        found = f"{found}; {LOOPS}"
    places = _PLACE.findall(text)
    code = getattr(function, "py_func", function).__code__
    file, line = places[-1] if places else (code.co_filename, code.co_firstlineno)
    return f"{found[: 3 * QUOTED]} ({os.path.basename(file)}, line {line})"


def pointer(function: Callable, signature: Any, what: str, expected: str, around: Around | None = None) -> Any:
    """A function compiled for one signature, with the constants of this moment; from the cache if it can be.

    around: what checks a user's function.
    """
    if DISABLE_JIT:
        return function
    own = is_own(function)
    try:
        if own and around is not None:
            return _checked(function, signature, what, around)
        found: Any = renewed(function) if own else function
        if hasattr(found, "signatures") and (found.signatures or not own):
            if not found.signatures:
                found.compile(signature)
            return found
        return for_signature(found, signature, stamp_of(function) if own else "")
    except NumbaError as error:
        raise StructronError(f"{what}: cannot be compiled: {reason_of(error, function)}; expected {expected}") from None


def _checked(function: Callable, signature: Any, what: str, around: Around) -> Any:
    """A user's function, with the checks around it."""
    if name := recursive(function):
        line = getattr(function, "py_func", function).__code__.co_firstlineno
        raise StructronError(f"{what}: {name} calls itself (line {line}); expected loops, or unchecked=True")
    stamp = stamp_of(function) + around.key
    with suppress(NumbaError):  # else it makes arrays, or is wrong
        lean = _surrounded(renewed(function, around.compiler, counts=False), around)
        return for_signature(lean, signature, stamp, function)
    own = renewed(function, around.compiler)
    try:
        return for_signature(_surrounded(own, around), signature, stamp, function)
    except NumbaError:
        arrays = (kind.copy(readonly=True) if isinstance(kind, numba_types.Array) else kind for kind in signature.args)
        given = list(arrays)
        if around.compiler.own_row >= 0:
            given[2] = signature.args[2]
        if around.what in ("legal", "atoms"):
            given[-1] = signature.args[-1]
        own.compile(signature.return_type(*given))  # what is wrong with it is easier to say of it alone
        raise


def _surrounded(own: Any, around: Around) -> Any:
    return njit(nogil=True, **counting(False))(around.make(own))


def callable_in_kernels(function: Callable, around: Around | None = None) -> Any:
    """A function of a problem as other compiled functions call it; the arguments are those of `pointer`."""
    if is_own(function):
        return renewed(function) if around is None else _surrounded(renewed(function, around.compiler), around)
    return function if hasattr(function, "signatures") else njit(nogil=True)(function)


def recursive(function: Callable) -> str:
    """The name of a function or helper that calls itself, if only by way of others; nothing: there is none."""
    calls: dict[Any, list[Any]] = {}
    waiting = [getattr(function, "py_func", function)]
    while waiting:
        own = waiting.pop()
        if own not in calls:
            calls[own] = [value.py_func for _, value in outer_names(own) if hasattr(value, "py_func")]
            waiting += calls[own]
    for own, called in calls.items():
        reached, waiting = set(called), list(called)
        while waiting:
            fresh = [other for other in calls[waiting.pop()] if other not in reached]
            reached.update(fresh)
            waiting += fresh
        if own in reached:
            return str(own.__name__)
    return ""


# -- constants ---------------------------------------------------------------------------------------------------------


def is_own(function: Callable) -> bool:
    """Whether a function is a user's, not one that comes with the package."""
    return not str(getattr(function, "__module__", "")).startswith(OWN)


@lru_cache(1024)
def names_read(code: types.CodeType) -> tuple[tuple[str, ...], ...]:
    """The global names that code reads, each with the attributes that are taken of it: (`sizes`, `N`)."""
    found: list[list[str]] = []
    follows = False
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            found.append([step.argval])
            follows = True
        elif follows and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found[-1].append(step.argval)
        elif step.opname != "EXTENDED_ARG":
            follows = False
    inner = (own for own in code.co_consts if isinstance(own, types.CodeType))
    return tuple(dict.fromkeys([*map(tuple, found), *(names for own in inner for names in names_read(own))]))


def outer_names(function: Callable) -> Iterator[tuple[str, Any]]:
    """The names that a function takes from outside, those in modules with the module's, and what they are now."""
    plain: Any = getattr(function, "py_func", function)
    code = plain.__code__
    for first, *further in names_read(code):
        if first in plain.__globals__:
            name, value = first, plain.__globals__[first]
            for attribute in further:
                if not isinstance(value, types.ModuleType) or attribute not in vars(value):
                    break
                name, value = f"{name}.{attribute}", vars(value)[attribute]
            yield name, value
    for name, cell in zip(code.co_freevars, plain.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue


def constants(function: Callable) -> dict[str, Any]:
    """The values from outside that are compiled into a function and into those that it calls, by where they are read:
    `N` in the function itself, `helper.N` in what it calls."""
    found: dict[str, Any] = {}
    waiting, seen = [("", function)], {id(function)}
    for place, own in waiting:
        for name, value in outer_names(own):
            if hasattr(value, "py_func"):
                if id(value) not in seen:
                    seen.add(id(value))
                    waiting.append((f"{place}{name}.", value))
            elif isinstance(value, np.ndarray):
                digest = hashlib.sha256(value.tobytes()).hexdigest()[:8]
                found[place + name] = f"an array {value.dtype}{list(value.shape)} {digest}"
            elif isinstance(value, bool | int | float | complex | str | tuple | np.generic):
                found[place + name] = value
    return found


def stamp_of(function: Callable) -> str:
    """Tells whether what a compiled function was made of is still the same: its constants, and the code of helpers."""
    codes, waiting, seen = [], [function], set()
    while waiting:
        own: Any = waiting.pop()
        plain = getattr(own, "py_func", own)
        if plain in seen:
            continue
        seen.add(plain)
        codes.append(repr((plain.__code__.co_code, plain.__code__.co_consts, getattr(own, "targetoptions", None))))
        waiting += [value for _, value in outer_names(plain) if hasattr(value, "py_func")]
    return hashlib.sha256(repr((sorted(codes), sorted(constants(function).items(), key=str))).encode()).hexdigest()


def changed(what: str, before: dict[str, Any], function: Callable) -> str | None:
    """What to say where a constant is another one than when the function was compiled."""
    now = constants(function)
    for name, old in before.items():
        if name in now and (type(now[name]) is not type(old) or now[name] != old):
            return (
                f"{what}: {name} was {quoted(old)} when it was compiled and is {quoted(now[name])} now; "
                f"{CONSTANTS}, or make a new SearchProblem"
            )
    return None


# -- copies of functions -----------------------------------------------------------------------------------------------

_renewed: dict[Any, WeakKeyDictionary[Any, tuple[str, Any]]] = {}
"""What was made of functions that are to be compiled, by compiler, with the stamp that they had."""


def uncompiled(function: Callable) -> Callable:
    """A function as it was written that calls its helpers as they were written, too."""
    return _copied(function, lambda value: hasattr(value, "py_func"), lambda _, copy: copy, {}, lambda plain: "")


def renewed(function: Callable, compiler: type[Checked] | None = None, counts: bool = True) -> Any:
    """A function that is compiled with the constants of this moment, as are its helpers: Numba keeps those that it saw
    when it compiled a function first.   compiler: one that adds checks.   counts: references, as functions that make
    arrays need; with checks this takes longer than the function."""

    def make(original: Any, copy: Callable) -> Any:
        compiled = isinstance(original, Dispatcher)
        if compiler is None:
            return type(original)(copy, original.locals, original.targetoptions) if compiled else copy
        options = (original.targetoptions if compiled else {"nopython": True, "nogil": True}) | OPTIONS
        options |= counting(counts)
        given = (copy, original.locals if compiled else {}, options)
        kind = type(original) if compiled else CPUDispatcher
        return kind(*given, pipeline_class=compiler if original is function else Checked)

    made = _renewed.setdefault((compiler, counts), WeakKeyDictionary())
    return _copied(function, lambda value: isinstance(value, Dispatcher) and is_own(value), make, made, stamp_of)


def _copied(
    function: Callable,
    is_helper: Callable[[Any], bool],
    make: Callable[[Any, Callable], Any],
    made: MutableMapping[Any, tuple[str, Any]],
    stamp: Callable[[Callable], str],
) -> Any:
    """What is made of a copy of a function that calls what is made of its helpers; made before if the stamp is still
    the same."""
    plain: Any = getattr(function, "py_func", function)
    now = stamp(function)
    if plain in made and made[plain][0] == now:
        return made[plain][1]
    names, cells = dict(plain.__globals__), [types.CellType() for _ in plain.__closure__ or ()]
    copy = types.FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, tuple(cells))
    copy.__qualname__, copy.__module__, copy.__kwdefaults__ = plain.__qualname__, plain.__module__, plain.__kwdefaults__
    found = make(function, copy)
    made[plain] = now, found

    def of(value: Any, *attributes: str) -> Any:
        if is_helper(value):
            return _copied(value, is_helper, make, made, stamp)
        if not isinstance(value, types.ModuleType) or not attributes or attributes[0] not in vars(value):
            return value
        inner, *further = attributes
        new = of(vars(value)[inner], *further)
        if new is vars(value)[inner]:
            return value
        module = types.ModuleType(value.__name__)
        vars(module).update(vars(value) | {inner: new})
        return module

    for name, *attributes in names_read(plain.__code__):
        if name in names:
            names[name] = of(names[name], *attributes)
    for cell, own in zip(cells, plain.__closure__ or (), strict=True):
        with suppress(ValueError):  # a name that has no value yet
            cell.cell_contents = of(own.cell_contents)
    return found


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


_pools: dict[int, ThreadPool] = {}


def interruptible(call: Callable[[], Any], name: str) -> Any:
    """Make a compiled call of a user's functions on another thread, so that Ctrl-C is heard meanwhile; interrupted, it
    may end by itself, and is left behind if it does not."""
    if threading.current_thread() is not threading.main_thread():
        pool = ThreadPool(1)
        try:
            return _called(pool, call, name, _until_interrupted)
        finally:
            pool.close()
    place = os.getpid()
    if place not in _pools:
        _pools.clear()  # that of the process that this one was forked from
        _pools[place] = ThreadPool(1, spare=math.inf)
    with Held():
        return _called(_pools[place], call, name, lambda future: first_done([future]))


def _called(pool: ThreadPool, call: Callable[[], Any], name: str, listen: Callable[["Future[Any]"], Any]) -> Any:
    future = pool.submit(call)
    try:
        listen(future)
    except KeyboardInterrupt:
        if first_done([future], GRACE):
            raise
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(call))  # its code stays in memory for as long as it runs
        pool.abandon(future)
        raise StructronError(
            f"{name}: interrupted in a call that does not end; expected functions without endless loops "
            "(debug=True names the function)"
        ) from None
    return outcome(future)


def _until_interrupted(future: "Future[Any]") -> None:
    """Wait for a call on a thread that does not hear Ctrl-C itself."""
    while not wait([future], HEARING).done:
        if ThreadPool.interrupted.is_set():
            raise KeyboardInterrupt
