"""Compiled kernels that come with the wheel, so that most users never wait for the compiler, and locks for the others.

    own entry of this machine ──missing──▶ shipped with the wheel ──missing──▶ compiled, by one process at a time

A wheel brings kernels for the baseline of its platform (`BASELINES`); they are taken where the processor has all that
they ask for, and where the sources are those that they were compiled from, to the byte. Two processes that want the
same kernel do not both compile it: the second waits and reads what the first has written.
"""

import hashlib
import json
import os
import platform
import sys
import time
import zlib
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import numba
from llvmlite import binding
from numba.core.runtime import rtsys

from structron.kernels.cache import CheckedFile, SafeCache
from structron.kernels.indices import trust_indices

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows: two processes may compile the same kernel there
    fcntl = None

PACKAGE = Path(__file__).parent.parent
SHIPPED = PACKAGE / "kernels" / "binary"
"""Folders as those of the package, in each the entries of its kernels."""
ABOUT = "about.json"
FOLDERS = ("features", "kernels", "search", "tasks/shift_reduce", "update", "weights")
"""Where kernels stand."""
BASELINES = {"x86_64": "x86-64-v3", "AMD64": "x86-64-v3", "aarch64": "generic", "arm64": "generic"}
"""What LLVM calls the processor that kernels are shipped for, by the machine's name. The third level of x86-64 is that
of 2013 (AVX2)."""
NEEDED = {"x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")}
LOCKS = ".lock"
LONGEST_WAIT = 60.0
"""Seconds to wait for another process: it may have been stopped."""


def kernel_files() -> list[Path]:
    """Every file that may hold kernels."""
    return sorted(path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py"))


def versions() -> dict[str, str]:
    """What a compiled kernel goes with, beside its sources."""
    python = f"{sys.implementation.cache_tag}"
    return {"python": python, "numba": numba.__version__, "llvmlite": llvmlite.__version__}


def contents() -> str:
    """A digest of all kernel files: not of their times, which an installation makes anew."""
    found = hashlib.sha256()
    for path in kernel_files():
        found.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0")
        found.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return found.hexdigest()


@cache
def shipped_target() -> tuple[str, str, str] | None:
    """What the shipped kernels were compiled for; None: there are none that this machine could run."""
    try:
        about = json.loads((SHIPPED / ABOUT).read_bytes())
        target = tuple(about["target"])
        fits = about["versions"] == versions() and about["contents"] == contents()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    features = binding.get_host_cpu_features()
    fits = fits and target[0] == binding.get_process_triple() and BASELINES.get(platform.machine()) == target[1]
    fits = fits and all(features.get(name) for name in NEEDED.get(target[1], ()))
    return target if fits and len(target) == 3 else None


@cache
def _lock_file(folder: str) -> int | None:
    """An open file to lock bytes of; None: there can be none."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return os.open(Path(folder) / LOCKS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return None


class WheelFile(CheckedFile):
    """Kernels that a wheel brought; `shipped_target` has looked at what they were compiled from."""

    def _is_fresh(self, stamp: Any) -> bool:
        return True


class KernelCache(SafeCache):
    """A disk cache that is quick to read, with the wheel's kernels behind it and a lock on what is being compiled.

    Before it reads anything, Numba's own imports all that a compiler could need: a quarter of a second. A compiled
    kernel needs the counting of references alone, and whoever compiles imports the rest.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        found = None
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context) or self._from_wheel(sig, target_context)
            if found is None and self._lock():
                found = self._load_overload(sig, target_context)  # another process has compiled it meanwhile
                if found is not None:
                    self.unlock()
        if found is None:
            trust_indices()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        finally:
            self.unlock()

    def is_empty(self) -> bool:
        wheel = self._wheel_file()
        return super().is_empty() and not (wheel and wheel._load_index())

    def _from_wheel(self, sig: Any, target_context: Any) -> Any:
        file = self._wheel_file()
        if file is None:
            return None
        key, _, code = self._index_key(sig, target_context.codegen())
        data = file.load((key, shipped_target(), code))
        return None if data is None else self._impl.rebuild(target_context, data)

    def _wheel_file(self) -> WheelFile | None:
        """The wheel's kernels of this function; None: there are none for this machine."""
        source = Path(self._py_func.__code__.co_filename)
        if PACKAGE not in source.parents or shipped_target() is None:
            return None
        return WheelFile(str(SHIPPED / source.parent.relative_to(PACKAGE)), self._impl.filename_base, None)

    def _place(self) -> tuple[int, int] | None:
        """The byte that stands for this kernel in the lock file of its folder."""
        file = _lock_file(self._cache_path) if fcntl is not None and self._enabled else None
        return None if file is None else (file, zlib.crc32(self._impl.filename_base.encode()))

    def _lock(self) -> bool:
        """Wait until no other process compiles this kernel; False: that cannot be told."""
        place = self._place()
        if place is None or fcntl is None:
            return False
        until = time.monotonic() + LONGEST_WAIT
        while time.monotonic() < until:
            try:
                fcntl.lockf(place[0], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place[1])
            except (BlockingIOError, PermissionError):  # which of the two depends on the system
                time.sleep(0.02)
            except OSError:  # a file system without locks
                return False
            else:
                return True
        return False

    def unlock(self) -> None:
        """Let others compile this kernel: it is compiled, or cannot be."""
        place = self._place()
        if place is None or fcntl is None:
            return
        try:
            fcntl.lockf(place[0], fcntl.LOCK_UN, 1, place[1])
        except OSError:
            return


class BorrowingCache(KernelCache):
    """That of a kernel which counts no references: beside the one that does, and told from it."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        key, *rest = super()._index_key(sig, codegen)
        return ((key, "borrowing"), *rest)
