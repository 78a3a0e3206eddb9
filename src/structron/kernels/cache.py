"""Compiled kernels on disk, whatever becomes of the disk: damaged files, full disks, folders that nobody may write to.

Numba's own cache unpickles what it finds and raises what a disk raises. Here every file carries a checksum and says
what it is of, so that a damaged one, or one that another process has put in its place, is compiled again; and a folder
for them is found even where package and home are read-only. Kernels that were compiled before a package became
read-only, as in the image of a container, are used from there.
"""

import io
import os
import pickle
import stat
import tempfile
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
    _CacheLocator,
    _SourceFileBackedLocatorMixin,
)
from numba.core.environment import Environment, _rebuild_env, lookup_environment

from structron.kernels.library import rebuilt, reduced
from structron.progress import tell

MAGIC, OLDER = b"structron kernels 2\n", b"structron kernels 1\n"
DAMAGE = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, TypeError, ValueError, KeyError)
"""What unpickling raises, though the checksum is right: another version of something has written it."""

_told: set[str] = set()


def _say(what: str, text: str) -> None:
    """Say something about the cache, once in a process."""
    if what not in _told:
        _told.add(what)
        tell(f"structron: warning: {text}")


def sealed(data: bytes) -> bytes:
    """Bytes with their checksum."""
    return MAGIC + zlib.crc32(data).to_bytes(4, "little") + data


def unsealed(path: str) -> bytes | None:
    """The bytes of a sealed file; None: it is not there, is not ours to read, or damaged."""
    try:
        with open(path, "rb") as stream:
            found = stream.read()
    except OSError:
        return None
    head, data = found[: len(MAGIC) + 4], found[len(MAGIC) + 4 :]
    if head == MAGIC + zlib.crc32(data).to_bytes(4, "little"):
        return data
    if not found.startswith((b"\x80", OLDER)):  # a pickle of Numba's own: not damaged, only older
        _say("damaged", f"{path}: damaged; the kernel is compiled again")
    return None


def environment(module: str, constants: list, name: str) -> Environment:
    """What compiled code has of the module it comes from: constants. Numba imports the module, too, for code that looks
    names up while it runs. Its own functions that stand in our kernels do not, and their modules take longer to import
    (arrays with texts, linear algebra with SciPy) than a kernel to read."""
    found = lookup_environment(name)
    if found is not None or not module.startswith("numba."):
        return found or _rebuild_env(module, constants, name)
    found = Environment({"__name__": module})
    found.consts[:], found.env_name = constants, name
    Environment._memo[name] = found
    return found


class Reader(pickle.Unpickler):
    """Reads kernels without the modules of Numba's functions in them."""

    def find_class(self, module: str, name: str) -> Any:
        if name == _rebuild_env.__name__ and module == _rebuild_env.__module__:
            return environment
        return super().find_class(module, name)


class CheckedFile(IndexDataCacheFile):
    """Numba's index and data files with checksums; data say which kernel and source they are of."""

    def _load_index(self) -> dict[Any, str]:
        data = unsealed(self._index_path)
        try:
            version, stamp, names = pickle.loads(data) if data is not None else (None, None, {})
        except DAMAGE:
            return {}
        return names if version == self._version and self._is_fresh(stamp) else {}

    def _is_fresh(self, stamp: Any) -> bool:
        """Whether what has this stamp was compiled from the sources that there are."""
        return stamp == self._source_stamp

    def _save_index(self, overloads: dict[Any, str]) -> None:
        with self._open_for_write(self._index_path) as stream:
            stream.write(sealed(self._dump((self._version, self._source_stamp, overloads))))

    def load(self, key: Any) -> Any:
        name = self._load_index().get(key)
        data = None if name is None else unsealed(self._data_path(name))
        if data is None:
            return None
        try:
            stamp, known, found = Reader(io.BytesIO(data)).load()
        except DAMAGE:
            return None
        return found if known == key and self._is_fresh(stamp) else None

    def _save_data(self, name: str, data: Any) -> None:
        with self._open_for_write(self._data_path(name)) as stream:
            stream.write(sealed(self._dump(data)))

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))


class TemporaryLocator(_SourceFileBackedLocatorMixin, _CacheLocator):
    """A folder of the user's own among the temporary files, where neither the package nor a home can be written to."""

    def __init__(self, py_func: Any, py_file: str):
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return os.path.join(private_folder(), self.get_suitable_cache_subpath(self._py_file))


def private_folder() -> str:
    """A folder that nobody else can put files into: what is in it is executed. Raises OSError where there is none."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = os.path.join(tempfile.gettempdir(), f"structron-kernels-{user}")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or (
            hasattr(os, "getuid") and (found.st_uid != user or found.st_mode & 0o077)
        ):
            raise PermissionError(f"{folder}: not a private folder") from None
    return folder


class BesideLocator(_SourceFileBackedLocatorMixin, _CacheLocator):
    """Kernels that were compiled before the package became read-only, where nothing at all can be written."""

    def __init__(self, py_func: Any, py_file: str):
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return beside(self._py_file)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return cls(py_func, py_file) if any(Path(beside(py_file)).glob("*.nbi")) else None


def beside(file: str) -> str:
    """The folder that Numba keeps kernels of a file in, if it can."""
    return os.path.join(os.path.dirname(file), "__pycache__")


class AnywhereImpl(CompileResultCacheImpl):
    """Numba's places for a cache, and two more; kernels as they are quick to read."""

    _locator_classes = [*CompileResultCacheImpl._locator_classes, TemporaryLocator, BesideLocator]  # noqa: RUF012

    def reduce(self, cres: Any) -> Any:
        return reduced(cres)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        return rebuilt(target_context, payload)


class SafeCache(FunctionCache):
    """A cache that never costs a run: what cannot be read is compiled, what cannot be written is not kept."""

    _impl_class = AnywhereImpl

    def __init__(self, function: Any):
        super().__init__(function)
        base, stamp = self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._cache_file = CheckedFile(self._cache_path, base, stamp)
        place = beside(function.__code__.co_filename)
        self._beside = None if place == self._cache_path else CheckedFile(place, base, stamp)

    def stamp(self, stamp: Any) -> None:
        """What kernels have to be compiled from to be up to date."""
        for file in filter(None, (self._cache_file, self._beside)):
            file._source_stamp = stamp

    def is_empty(self) -> bool:
        """Whether it has nothing that is up to date."""
        return not self._cache_file._load_index() and not (self._beside and self._beside._load_index())

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        key = self._index_key(sig, target_context.codegen())
        data = self._cache_file.load(key)
        if data is None and self._beside is not None:
            data = self._beside.load(key)
        return None if data is None else self._impl.rebuild(target_context, data)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
            if isinstance(self._impl.locator, TemporaryLocator):
                place = f"{private_folder()}: neither package nor home folder can be written to"
                _say("place", f"compiled kernels are kept in {place} (NUMBA_CACHE_DIR names another place)")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            _say("unsaved", f"{self._cache_path}: compiled kernels cannot be kept ({reason})")


class LateCache:
    """The cache of a kernel, made when somebody asks it: most kernels are only ever part of others."""

    def __init__(self, kind: type[SafeCache], function: Any, stamp: Any):
        self._about = kind, function, stamp

    @cached_property
    def made(self) -> Any:
        return cache_for(*self._about)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made, name)


def cache_for(kind: type[SafeCache], function: Any, stamp: Any) -> Any:
    """A cache for a kernel; where no folder at all can be written to, one that keeps nothing."""
    try:
        cache = kind(function)
    except RuntimeError:
        folder = Path(function.__code__.co_filename).parent
        _say("none", f"{folder}: no place for compiled kernels; each run compiles them (NUMBA_CACHE_DIR names a place)")
        return NullCache()
    cache.stamp(stamp)
    return cache
