"""A user's functions and the compiler: errors in plain words, constants that changed, calls that can be interrupted."""

import ctypes
import hashlib
import math
import os
import re
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import Any

import numpy as np
from numba.core.config import DISABLE_JIT  # type: ignore[attr-defined]
from numba.core.errors import NumbaError

from structron.errors import QUOTED, StructronError, quoted
from structron.kernels.jit import for_signature
from structron.runtime.threads import ThreadPool

OWN = "structron."
"""How the modules of functions begin that come with the package."""
GRACE = 2.0
"""Seconds that a compiled call has to end by itself when it is interrupted."""
HEARING = 0.2
"""Seconds after which a thread asks whether the main thread was interrupted."""
CONSTANTS = "globals are constants at compile time: put what depends on data in `table`"
HELPERS = "functions that are called need @numba.njit"
LOOPS = "expected whole numbers, arrays and plain loops"
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
    (r"Untyped global name '(\w+)'.*<class 'function'>", r"\1 is a plain function; " + HELPERS),
    (r"Untyped global name '(\w+)'.*<class '(?:[\w.]+\.)?(\w+)'>", r"the global \1 is a \2; " + CONSTANTS),
    (r"Untyped global name '(\w+)'", r"the global \1 is of a type that compiled code cannot use; " + CONSTANTS),
    (r"use of a (?:reflected )?(\w+).*assigned to variable '(\w+)' in globals", r"the global \2 is a \1; " + CONSTANTS),
    (r"(?:non-precise|Cannot determine Numba type).*<class 'function'>", "a plain function is called; " + HELPERS),
    (r"NameError: name '(\w+)' is not defined", r"\1 is not defined; expected an argument, a constant or a helper"),
    (r"variable '(\w+)' (?:referenced before|is not|not) (?:assignment|defined)", r"\1 is used before it has a value"),
    (r"No conversion from none to int64", "it returns nothing; expected a whole number: is a return missing?"),
    (r"No conversion from (.+?) to int64", r"it returns \1; expected a whole number"),
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


def pointer(function: Callable, signature: Any, what: str, expected: str) -> Any:
    """A function compiled for one signature, from Numba's cache if it can be."""
    if DISABLE_JIT:
        return function
    try:
        if hasattr(function, "signatures"):
            if not function.signatures:
                function.compile(signature)  # type: ignore[attr-defined]
            return function
        own = str(getattr(function, "__module__", "")).startswith(OWN)
        return for_signature(function, signature, "" if own else stamp_of(function))
    except NumbaError as error:
        raise StructronError(f"{what}: cannot be compiled: {reason_of(error, function)}; expected {expected}") from None


# -- constants ---------------------------------------------------------------------------------------------------------


def is_own(function: Callable) -> bool:
    """Whether a function is a user's, not one that comes with the package."""
    return not str(getattr(function, "__module__", "")).startswith(OWN)


def outer_names(function: Callable) -> Iterator[tuple[str, Any]]:
    """The names that a function takes from outside, with what they are now."""
    plain: Any = getattr(function, "py_func", function)
    code = plain.__code__
    for name in code.co_names:
        if name in plain.__globals__:
            yield name, plain.__globals__[name]
    for name, cell in zip(code.co_freevars, plain.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue


def constants(function: Callable, seen: frozenset[int] = frozenset()) -> dict[str, Any]:
    """The values from outside that are compiled into a function and into those that it calls, by name."""
    found: dict[str, Any] = {}
    for name, value in outer_names(function):
        if hasattr(value, "py_func") and id(value) not in seen:
            found |= constants(value, seen | {id(value)})
        elif isinstance(value, np.ndarray):
            found[name] = f"an array {value.dtype}{list(value.shape)} {hashlib.sha256(value.tobytes()).hexdigest()[:8]}"
        elif isinstance(value, bool | int | float | complex | str | tuple | np.generic):
            found[name] = value
    return found


def stamp_of(function: Callable) -> str:
    """Tells whether what a compiled function was made of is still the same: its constants, and the code of helpers."""
    codes, waiting, seen = [], [function], set()
    while waiting:
        plain: Any = getattr(waiting.pop(), "py_func", None) or function
        if id(plain) in seen:
            continue
        seen.add(id(plain))
        codes.append(repr((plain.__code__.co_code, plain.__code__.co_consts)))
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


def uncompiled(function: Callable, made: dict[int, Any] | None = None) -> Callable:
    """A function as it was written that calls its helpers as they were written, too."""
    made = {} if made is None else made
    plain: Any = getattr(function, "py_func", function)
    if id(plain) in made:
        return made[id(plain)]
    names = dict(plain.__globals__)
    copy = types.FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, plain.__closure__)
    made[id(plain)] = copy
    for name, value in outer_names(plain):
        if hasattr(value, "py_func") and name in names:
            names[name] = uncompiled(value, made)
    if plain.__closure__:
        cells = [
            types.CellType(uncompiled(value, made)) if hasattr(value, "py_func") else cell
            for cell in plain.__closure__
            for value in [_contents(cell)]
        ]
        copy = types.FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, tuple(cells))
        made[id(plain)] = copy
    return copy


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


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
    return _called(_pools[place], call, name, Future.exception)


def _called(pool: ThreadPool, call: Callable[[], Any], name: str, listen: Callable[["Future[Any]"], Any]) -> Any:
    future = pool.submit(call)
    try:
        listen(future)
    except KeyboardInterrupt:
        if wait([future], GRACE).done:
            raise
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(call))  # its code stays in memory for as long as it runs
        pool.abandon(future)
        raise StructronError(
            f"{name}: interrupted in a call that does not end; expected functions without endless loops "
            "(debug=True names the one)"
        ) from None
    return future.result()


def _until_interrupted(future: "Future[Any]") -> None:
    """Wait for a call on a thread that does not hear Ctrl-C itself."""
    while not wait([future], HEARING).done:
        if ThreadPool.interrupted.is_set():
            raise KeyboardInterrupt
