"""Compiled kernels on disk: one folder for each state of the sources, the versions and the processor.

    <place>/<fingerprint>/<module>.<function>-<arguments>        one kernel, whole or not there

What a kernel was compiled from is in the name of its folder, so nothing in it is ever out of date. Places are tried in
turn: `STRUCTRON_CACHE` alone if it is set, else `NUMBA_CACHE_DIR`, else the user's cache folder, then a private folder
among the temporary files. A wheel may bring kernels along (fingerprint.py). A file that is damaged, cannot be read or
may be somebody else's (sealed.py) is compiled again; one that cannot be written is not kept. No two processes compile
the same kernel: the second waits.

Where Numba lacks what this needs of it (private.py), `is_supported` is false, and every process compiles: Numba's own
cache unpickles whatever lies in its folder.
"""

import contextlib
import io
import os
import pickle
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from llvmlite import binding, ir
from numba.core import config, environment, event, serialize
from numba.core.compiler import CompileResult
from numba.core.environment import Environment

from structron.kernels.fingerprint import file_name, fingerprint, is_from_package, of_wheel, shipped_data
from structron.kernels.indices import trust_indices
from structron.kernels.private import optimise_once, ready_to_read
from structron.kernels.sealed import Untrusted, look, read, write
from structron.runtime.progress import tell

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows: two processes may compile the same kernel there
    fcntl = None

DAMAGE = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, TypeError, ValueError, KeyError)
"""What unpickling raises though the checksum is right: a module or a class is not there any more."""
KEPT = 6
"""Fingerprints of which kernels are kept: those used last."""
LOCKS = ".lock"
MISFIT = ".misfit"
"""What has been said of kernels that came with a wheel and do not fit."""
LONGEST_WAIT = 600.0
"""Seconds to wait for another process, which may hang."""

_told: set[str] = set()


def _say(what: str, text: str) -> None:
    """Say something about the cache, once in a process."""
    if what not in _told:
        _told.add(what)
        tell(f"structron: warning: {text}")


# -- where they are kept -----------------------------------------------------------------------------------------------


@cache
def places() -> tuple[Path, ...]:
    """Where kernels may be kept, the best place first."""
    if given := os.environ.get("STRUCTRON_CACHE"):
        return (Path(given),)
    if given := config.CACHE_DIR:  # type: ignore[attr-defined]
        return (Path(given) / "structron",)
    with contextlib.suppress(RuntimeError):
        return (user_folder(), private_folder())
    return (private_folder(),)


def user_folder() -> Path:
    """A folder for kernels among the user's cached files; RuntimeError: there is no home."""
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "structron" / "kernels"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "structron" / "kernels"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "structron" / "kernels"


def private_folder() -> Path:
    """A folder of the user's own among the temporary files."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"structron-kernels-{user}"


@cache
def _writable() -> Path | None:
    """The folder that kernels are written to; None: there is none."""
    for place in places():
        with contextlib.suppress(OSError):
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.mkdir(mode=0o700, exist_ok=True)
            folder = place / fingerprint()
            fresh = not folder.is_dir()
            folder.mkdir(mode=0o755, exist_ok=True)
            if _is_trusted(folder, writable=True) and os.access(folder, os.W_OK | os.X_OK):
                if fresh:
                    _forget_old(place)
                else:
                    with contextlib.suppress(OSError):
                        os.utime(folder)  # used now, though nothing may be written into it
                return folder
    return None


def _is_trusted(folder: Path, writable: bool = False) -> bool:
    """Whether kernels may be read from a folder. writable: and belong there."""
    try:
        return look(folder) or not writable
    except OSError:
        return False
    except Untrusted as reason:
        _say("none", f"{folder}: {reason}; compiled kernels are neither read from it nor stored in it")
        return False


def _forget_old(place: Path) -> None:
    """Delete kernels of fingerprints that have not been used for longest."""
    with contextlib.suppress(OSError):
        folders = [own for own in place.iterdir() if own.is_dir() and len(own.name) == len(fingerprint())]
        for old in sorted(folders, key=lambda own: own.stat().st_mtime)[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)


def folders() -> list[Path]:
    """Where kernels may be found, beside those of a wheel."""
    own = _writable()
    others = [place / fingerprint() for place in places()]
    return [*([own] if own else []), *(folder for folder in others if folder != own and _is_trusted(folder))]


def names() -> set[str]:
    """The kernels that are kept, or came with the wheel."""
    _say_misfit()
    found = set(of_wheel()[0])
    for folder in folders():
        with contextlib.suppress(OSError):  # another process may have removed it meanwhile
            found.update(os.listdir(folder))
    return found


# -- files -------------------------------------------------------------------------------------------------------------


def unsealed(path: Path) -> bytes | None:
    """The bytes of a sealed file; None: it is not there, damaged, or may be somebody else's."""
    try:
        return read(path)
    except OSError:
        return None
    except Untrusted as reason:
        _say(str(reason), f"{path}: {reason}; the kernel is compiled again")
        return None


def _say_misfit() -> None:
    """Say why kernels that came with the wheel are not used: once, and not again with the next command."""
    text, folder = of_wheel()[1], _writable()
    if not text or "misfit" in _told:
        return
    with contextlib.suppress(OSError):
        if folder is not None and (folder / MISFIT).read_text("utf-8") == text:
            _told.add("misfit")
            return
    _say("misfit", text)
    with contextlib.suppress(OSError):
        if folder is not None:
            (folder / MISFIT).write_text(text, "utf-8")


def _of_wheel(name: str) -> bytes | None:
    """A kernel that came with the wheel; None: there is none, or another than in the wheel's list."""
    _say_misfit()
    try:
        return shipped_data(name)
    except Untrusted as reason:
        _say(str(reason), f"{name}: {reason}; the kernel is compiled again")
        return None


def _names_only(result: Any) -> bytes:
    """The bitcode of a module that has a kernel's names and no code. Numba keeps all of the bitcode, for others that
    inline the kernel, and looks into it for the names: nobody inlines a kernel, and code takes long to read."""
    about, module = result.fndesc, ir.Module()
    for name in {about.llvm_func_name, about.llvm_cpython_wrapper_name, about.llvm_cfunc_wrapper_name}:
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), ()), name)
        ir.IRBuilder(function.append_basic_block()).ret_void()
    return binding.parse_assembly(str(module)).as_bitcode()


def _rebuilt_environment(module: str, constants: list, name: str) -> Environment:
    """What compiled code has of the module it comes from: constants. Numba imports the module, too, for code that looks
    names up while it runs. Its own functions that stand in our kernels do not, and their modules take longer to import
    (linear algebra with SciPy) than a kernel to read."""
    if (found := environment.lookup_environment(name)) is not None:
        return found
    if not module.startswith("numba."):
        return environment._rebuild_env(module, constants, name)
    found = Environment({"__name__": module})
    found.consts[:], found.env_name = constants, name
    Environment._memo[name] = found
    return found


class Reader(pickle.Unpickler):
    """Reads kernels without the modules of Numba's functions in them."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("numba.core.environment", "_rebuild_env") and hasattr(Environment, "_memo"):
            return _rebuilt_environment
        return super().find_class(module, name)


def packed(result: Any) -> bytes:
    """A compiled kernel as it is kept: without bitcode, and without the listing of its types."""
    library, *rest = result._reduce()
    if library[1:2] == ("object",) and len(library[2]) == 2:
        library = (library[0], "object", (library[2][0], _names_only(result)))
    if len(rest) > 5 and isinstance(rest[5], str):
        rest[5] = ""
    return serialize.dumps((library, *rest))


def unpacked(target_context: Any, data: bytes) -> Any:
    """The inverse of `packed`; raises what DAMAGE lists."""
    return CompileResult._rebuild(target_context, *Reader(io.BytesIO(data)).load())


def is_supported(dispatcher: Any) -> bool:
    """Whether Numba has what this module needs of it; if not, a line says so."""
    if all((hasattr(dispatcher, "_cache"), hasattr(CompileResult, "_reduce"), hasattr(CompileResult, "_rebuild"))):
        return True
    _say("numba", "compiled kernels cannot be stored with this version of Numba, so each run compiles them")
    return False


# -- the cache of one kernel -------------------------------------------------------------------------------------------


class KernelCache:
    """What a dispatcher asks before it compiles, and tells what it has compiled."""

    def __init__(self, function: Callable, stamp: str = "", allocates: bool = True):
        self.function, self.stamp, self.allocates = function, stamp, allocates
        self.locked: set[str] = set()

    @property
    def cache_path(self) -> str:
        return str(_writable() or "")

    @cached_property
    def prefix(self) -> str:
        return file_name(self.function, ()).rpartition("-")[0]

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...

    def is_cold(self, signature: Any = None) -> bool:
        """Whether nothing is kept of this kernel, or nothing for these arguments."""
        wanted = f"{self.prefix}-" if signature is None else file_name(self.function, signature, self.stamp)
        return not any(name.startswith(wanted) for name in names())

    def _data(self, name: str) -> bytes | None:
        found = (data for folder in folders() if (data := unsealed(folder / name)) is not None)
        return next(found, None) or _of_wheel(name)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The kernel for these arguments; None: it has to be compiled, and no other process does so now."""
        ready_to_read(target_context)
        name = file_name(self.function, signature, self.stamp)
        found = self._read(name, target_context)
        if found is None and lock(name):
            self.locked.add(name)
            found = self._read(name, target_context)  # another process may have compiled it meanwhile
            if found is not None:
                self.unlock()
        if found is None:
            trust_indices()
            optimise_once()
        return found

    def _read(self, name: str, target_context: Any) -> Any:
        try:
            data = self._data(name)
            return None if data is None else unpacked(target_context, data)
        except DAMAGE:
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled."""
        try:
            folder = _writable()
            if folder is None:
                _say(
                    "none",
                    "no writable folder for compiled kernels, so each run compiles them (set STRUCTRON_CACHE to "
                    "a folder)",
                )
                return
            name = file_name(self.function, signature, self.stamp)
            if not is_from_package(self.function):
                self._forget_earlier(folder, name)
            write(folder / name, packed(result))
            if folder.parent == private_folder():
                _say("place", f"no writable home folder; compiled kernels are stored in {folder.parent}")
        except (OSError, Untrusted) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            _say("unsaved", f"{self.cache_path}: compiled kernels cannot be stored ({reason})")
        except (TypeError, ValueError, AttributeError, pickle.PicklingError):  # a function that cannot be found again
            return
        finally:
            self.unlock()

    def _forget_earlier(self, folder: Path, name: str) -> None:
        """Delete what was compiled of earlier versions of a user's function."""
        for path in folder.glob(f"{self.prefix}-*"):
            if path.name != name:
                path.unlink(missing_ok=True)

    def unlock(self) -> None:
        """Let others compile this kernel: it is compiled, or cannot be."""
        while self.locked:
            unlock(self.locked.pop())


# -- locks -------------------------------------------------------------------------------------------------------------


@cache
def _lock_file(folder: Path | None, process: int) -> int | None:
    """An open file to lock bytes of; None: there can be none."""
    if folder is None:
        return None
    try:
        return os.open(folder / LOCKS, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError:
        return None


def lock(name: str) -> bool:
    """Wait until no other process compiles this kernel; False: that cannot be told."""
    file, until = _lock_file(_writable(), os.getpid()), time.monotonic() + LONGEST_WAIT
    while fcntl is not None and file is not None and time.monotonic() < until:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, zlib.crc32(name.encode()))
        except (BlockingIOError, PermissionError):  # which of the two depends on the system
            time.sleep(0.02)
        except OSError:  # a file system without locks
            return False
        else:
            return True
    return False


def unlock(name: str) -> None:
    """Let others have this kernel."""
    file = _lock_file(_writable(), os.getpid())
    if fcntl is not None and file is not None:
        with contextlib.suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_UN, 1, zlib.crc32(name.encode()))


class Unlocker(event.Listener):
    """Frees the lock of a kernel whose compilation has failed or was interrupted."""

    def on_start(self, event: Any) -> None: ...

    def on_end(self, event: Any) -> None:
        kept = getattr(event.data.get("dispatcher"), "_cache", None)
        if sys.exc_info()[0] is not None and isinstance(kept, KernelCache):
            kept.unlock()


event.register("numba:compile", Unlocker())
