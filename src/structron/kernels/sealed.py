"""Files that will be executed: who can have written them, and whether they are whole.

A kernel's file is a pickle with machine code in it. It is unpickled only if nobody but these can have written it:

| file and folder belong to | it is read if |
| --- | --- |
| this user | its seal was made with the user's key, a file in the same folder that only the user can read |
| root, or the owner of this package | nobody else can write to any folder above, and the digest is right |

In both cases neither the file nor its folder may be a symbolic link, or writable for others. A key that others can read
proves nothing: the folders above must then be closed to them as well. Owner and mode are those of the open file in the
open folder, so nothing can be exchanged between the look and the reading. Windows has neither: there the folder's own
permissions decide.

    MAGIC | SHA-256 of the data | HMAC-SHA256 of the file's name and that digest | data
"""

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MAGIC = b"structron kernel 4\n"
DIGEST = 32
"""Bytes of a digest, of a key and of a seal."""
HEAD = len(MAGIC) + 2 * DIGEST
KEY = ".key"
OTHERS_WRITE, OTHERS_READ = 0o022, 0o077
POSIX = hasattr(os, "geteuid")
_ROOT = 0
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE |= getattr(os, "O_NONBLOCK", 0)  # a pipe of that name keeps nobody waiting
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Untrusted(Exception):
    """Why a file is not read; the text goes after its name."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """An open folder."""

    path: Path
    descriptor: int | None  # None: this system opens no folders

    def at(self, name: str) -> str:
        """The name of a file, for calls that take the descriptor, too."""
        return name if self.descriptor is not None else str(self.path / name)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[_Folder]:
    """A folder, not a symbolic link to one. OSError: there is none."""
    if not POSIX:
        yield _Folder(path, None)
        return
    descriptor = os.open(path, _FOLDER)
    try:
        yield _Folder(path, descriptor)
    finally:
        os.close(descriptor)


@cache
def _administrators() -> frozenset[int]:
    """Who could change the program itself."""
    return frozenset({_ROOT, os.stat(__file__).st_uid})


@cache
def _closed_above(folder: Path) -> bool:
    """Whether nobody but this user and administrators can exchange a folder: as it is with every folder above."""
    allowed = _administrators() | {os.geteuid()}
    for above in (found := folder.resolve()).parents:
        seen = above.stat()
        if seen.st_uid not in allowed or (seen.st_mode & OTHERS_WRITE and not seen.st_mode & stat.S_ISVTX):
            return False
    return found.stat().st_uid in allowed


def _owner(folder: _Folder, found: os.stat_result) -> int:
    """Whose a file, or the folder itself, is. Untrusted: it may be anybody's work."""
    if found.st_uid != os.geteuid() and found.st_uid not in _administrators():
        raise Untrusted("belongs to another user")
    if found.st_mode & OTHERS_WRITE:
        raise Untrusted("others can write to it")
    if found.st_uid != os.geteuid() and not _closed_above(folder.path):
        raise Untrusted("others can write to a folder above it")
    return found.st_uid


def _look(folder: _Folder) -> int | None:
    return None if folder.descriptor is None else _owner(folder, os.fstat(folder.descriptor))


def look(path: Path) -> bool:
    """Whether kernels may be read from a folder. OSError, Untrusted: no; true: they may be written there, too."""
    with _opened(path) as folder:
        owner = _look(folder)
        return owner is None or owner == os.geteuid()


# -- keys --------------------------------------------------------------------------------------------------------------


def _key(folder: _Folder) -> bytes | None:
    """This user's key of a folder; None: there is no key yet. Untrusted: it proves nothing."""
    try:
        with open(os.open(folder.at(KEY), _FILE, dir_fd=folder.descriptor), "rb") as stream:
            found, key = os.fstat(stream.fileno()), stream.read(DIGEST + 1)
    except FileNotFoundError:
        return None
    except OSError:
        raise Untrusted("its key cannot be read") from None
    if not stat.S_ISREG(found.st_mode) or len(key) != DIGEST:
        raise Untrusted("its key is invalid")
    if POSIX and (found.st_uid != os.geteuid() or found.st_mode & OTHERS_WRITE):
        raise Untrusted("its key may belong to somebody else")
    if POSIX and found.st_mode & OTHERS_READ and not _closed_above(folder.path):
        raise Untrusted("others can read its key")
    return key


def _make_key(folder: _Folder) -> None:
    """Have a key in a folder, unless another process makes one at this moment."""
    with _new_file(folder, secrets.token_bytes(DIGEST), 0o600) as name:
        try:
            os.link(name, folder.at(KEY), src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            os.replace(name, folder.at(KEY), src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)


def _seal(key: bytes, name: str, digest: bytes) -> bytes:
    return hmac.digest(key, name.encode() + b"\0" + digest, "sha256")


# -- files -------------------------------------------------------------------------------------------------------------


def digest_of(data: bytes | memoryview) -> bytes:
    return hashlib.sha256(data).digest()


def read(path: Path) -> bytes:
    """The data of a sealed file. OSError: it cannot be read; Untrusted: it is damaged, or somebody else's work."""
    with _opened(path.parent) as folder:
        owners = {_look(folder)}
        with open(os.open(folder.at(path.name), _FILE, dir_fd=folder.descriptor), "rb") as stream:
            found = os.fstat(stream.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise Untrusted("is not a file")
            if POSIX:
                owners.add(_owner(folder, found))
            whole = stream.read()
        digest, seal, data = whole[len(MAGIC) : HEAD - DIGEST], whole[HEAD - DIGEST : HEAD], memoryview(whole)[HEAD:]
        if not whole.startswith(MAGIC) or digest != digest_of(data):
            raise Untrusted("damaged")
        if not POSIX or os.geteuid() in owners:
            key = _key(folder)
            if key is None or not hmac.compare_digest(seal, _seal(key, path.name, digest)):
                raise Untrusted("sealed with another key")
        return bytes(data)


@contextlib.contextmanager
def _new_file(folder: _Folder, content: bytes, mode: int) -> Iterator[str]:
    """The name of a new file with this content, for calls that take the descriptor; it goes unless it is renamed."""
    name = folder.at(f".new-{secrets.token_hex(8)}")
    try:
        with open(os.open(name, _NEW, mode, dir_fd=folder.descriptor), "wb") as stream:
            stream.write(content)
        yield name
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder.descriptor)


def write(path: Path, data: bytes) -> None:
    """Write a sealed file that appears whole. OSError, Untrusted: it cannot be."""
    with _opened(path.parent) as folder:
        _look(folder)
        key = _key(folder)
        if key is None:
            _make_key(folder)
            key = _key(folder)
        if key is None:
            raise FileNotFoundError("its key is gone")
        digest = digest_of(data)
        head = MAGIC + digest + _seal(key, path.name, digest)
        with _new_file(folder, head + data, 0o644) as name:
            os.replace(name, folder.at(path.name), src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
