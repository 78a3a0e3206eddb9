"""Bytes in, bytes out: opening, decoding and atomic writing of files.

Nothing here knows about columns or sentences. Reading streams (also gzip, bzip2, xz and zstd, recognised by their
magic bytes because names lie) and splits lines on ``\\n`` alone, so that joining the lines gives the decoded file back.
Writing goes to a temporary file in the target's folder that replaces the target only when it is whole: an
interrupted run or a full disk never costs the user the file that was there before.
"""

import bz2
import codecs
import contextlib
import errno
import gzip
import io
import lzma
import os
import re
import secrets
import shutil
import stat
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from structron.errors import StructronError
from structron.io.limits import Measure, longest_sentence, too_long

fcntl = import_module("fcntl") if os.name == "posix" else None

_CHUNK = 1 << 16
_INFLATED = 1 << 20
"""Bytes that are unpacked at a time."""
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
"""How packed files begin."""
_NO_TEXT = {b"PK\3\4": "a zip archive, as Word and LibreOffice write them", b"%PDF-": "a PDF file"}
"""How files begin that people take for text."""
_ENDINGS = (".gz", ".bz2", ".xz", ".zst")
_TEMPORARY = re.compile(r"\.structron-[0-9a-f]{16}\.tmp")


def check_encoding(encoding: str) -> None:
    """Refuse an unknown text encoding before any file is opened."""
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise StructronError(
            f"unknown encoding {encoding!r}; expected a name such as utf-8, iso-8859-1 or utf-16"
        ) from None


def is_standard(path: str | Path) -> bool:
    """Whether a path stands for standard input or output."""
    return str(path) == "-"


def display_name(path: str | Path) -> str:
    """What error messages call an input."""
    return "<stdin>" if is_standard(path) else str(path)


def unpacked_name(path: str | Path) -> str:
    """The name of a file without the ending that says how it is packed."""
    name = str(path)
    return next((name[: -len(ending)] for ending in _ENDINGS if name.lower().endswith(ending)), name)


class Reading:
    """How far the reading of a file is, in bytes on disk; the size of a stream is unknown, and 0."""

    def __init__(self) -> None:
        self.place = self.size = 0

    @property
    def share(self) -> float:
        """The part of the file that has been read, from 0 to 1."""
        return min(self.place / self.size, 1.0) if self.size else 0.0


def read_lines(
    path: str | Path, encoding: str = "utf-8", plain: bool = False, reading: Reading | None = None
) -> Generator[str, None, None]:
    """The lines of a file with their line ends; a sentence of too many characters is an error (limits.py).

    plain: of plain text, in which a line can be longer than a sentence; very long ones come in pieces. The file is
    opened by the call, not by the first `next`: a missing one is reported where it was named. reading: is kept up to
    date, if the file has a size.
    """
    check_encoding(encoding)
    name = display_name(path)
    if is_standard(path):
        if sys.stdin is None or sys.stdin.closed:
            raise StructronError(f"{name}: cannot be read (standard input is closed); expected sentences or a file")
        return _decoded_lines(contextlib.nullcontext(cast(io.BufferedReader, sys.stdin.buffer)), name, encoding, plain)
    try:
        stream = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise _unreadable(name, error) from None
    status = os.fstat(stream.fileno())
    if reading is not None and stat.S_ISREG(status.st_mode):
        reading.size = status.st_size
    return _decoded_lines(stream, name, encoding, plain, reading)


def _decoded_lines(
    source: contextlib.AbstractContextManager[io.BufferedReader],
    name: str,
    encoding: str,
    plain: bool,
    reading: Reading | None = None,
) -> Generator[str, None, None]:
    """Decode piece by piece; the error names the line of the first byte that is wrong."""
    decoder = codecs.getincrementaldecoder(encoding)()
    done = size = 0
    partial: list[str] = []
    measure, limit = Measure(name), longest_sentence()
    with source as stream:
        for chunk in chain(_chunks(stream, name), [None]):
            if reading is not None and reading.size:
                reading.place = stream.tell()
            before = decoder.getstate()
            try:
                text = decoder.decode(chunk or b"", final=chunk is None)
            except UnicodeError as error:
                decoder.setstate(before)
                line = done + 1 + _newlines_before(error, decoder, chunk or b"")
                raise StructronError(f"{name}:{line}: {_undecodable(error, encoding)}") from None
            end = text.rfind("\n") + 1
            if end:
                whole = "".join([*partial, text[:end]])
                partial, size = [], 0
                if not plain:
                    measure.see(whole, done + 1)
                done += whole.count("\n")
                yield from io.StringIO(whole, newline="\n")
            partial.append(text[end:])
            size += len(text) - end
            if plain and size >= _INFLATED:
                yield "".join(partial)
                partial, size = [], 0
            elif not plain and size > limit:
                raise too_long(f"{name}:{done + 1}", limit)
    if rest := "".join(partial):
        yield rest


def _newlines_before(error: UnicodeError, decoder: codecs.IncrementalDecoder, chunk: bytes) -> int:
    """How many lines of a chunk come before the byte that could not be decoded."""
    if not isinstance(error, UnicodeDecodeError):
        return 0
    held_back = len(error.object) - len(chunk)
    return decoder.decode(chunk[: max(error.start - held_back, 0)]).count("\n")


def _undecodable(error: UnicodeError, encoding: str) -> str:
    where = f" (byte 0x{error.object[error.start]:02x})" if isinstance(error, UnicodeDecodeError) else ""
    other = "iso-8859-1" if codecs.lookup(encoding).name.startswith("utf-8") else "utf-8"
    return f"not valid {encoding}{where}; give --encoding (for instance {other})"


def _chunks(stream: io.BufferedReader, name: str) -> Iterator[bytes]:
    """The content in pieces, as soon as a pipe delivers them, unpacked where it is packed."""
    kind = ""
    try:
        start = _beginning(stream)
        pieces = chain([start], iter(lambda: stream.read1(_CHUNK), b""))
        if start in _NO_TEXT:
            raise StructronError(f"{name}: {_NO_TEXT[start]}; expected plain text")
        kind = _PACKED.get(start, "")
        yield from _unpacked(pieces, *_unpacker(kind, name)) if kind else pieces
    except DamagedError as error:
        raise StructronError(f"{name}: damaged {kind} file ({error}); expected a complete one") from None
    except OSError as error:
        raise _unreadable(name, error) from None


class DamagedError(Exception):
    """A packed file is not whole."""


def _beginning(stream: io.BufferedReader) -> bytes:
    """As few bytes as tell what kind of file it is: a pipe may deliver no more of them for long."""
    start = b""
    while any(magic.startswith(start) and magic != start for magic in (*_PACKED, *_NO_TEXT)):
        following = stream.read(1)
        if not following:
            break
        start += following
    return start


class _Inflater:
    """zlib's way to unpack, as that of the other libraries."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)

    def decompress(self, piece: bytes, most: int) -> bytes:
        return self._member.decompress(self._member.unconsumed_tail + piece, most)

    @property
    def needs_input(self) -> bool:
        return not self._member.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data


def _unpacker(kind: str, name: str) -> tuple[Callable[[], Any], bytes]:
    """What makes an unpacker of one member, and the padding that may stand between two."""
    if kind != "zstd":
        return {"gzip": _Inflater, "bzip2": bz2.BZ2Decompressor, "xz": lzma.LZMADecompressor}[kind], b"\0"
    for library in ("compression.zstd", "backports.zstd"):
        with contextlib.suppress(ImportError):
            return import_module(library).ZstdDecompressor, b""
    raise StructronError(f"{name}: compressed with zstd; expected Python 3.14, or: pip install 'structron[zstd]'")


def _unpacked(pieces: Iterable[bytes], make: Callable[[], Any], padding: bytes) -> Iterator[bytes]:
    """Members one after the other; zero bytes between or after them are padding, as `gzip` has it."""
    member = make()
    for piece in pieces:
        while piece:
            if member.eof:
                piece = piece.lstrip(padding) if padding else piece
                if not piece:
                    break
                member = make()
            yield _decompressed(member, piece)
            while not (member.eof or member.needs_input):
                yield _decompressed(member, b"")
            piece = member.unused_data if member.eof else b""
    if not member.eof:
        raise DamagedError("it ends too early")


def _decompressed(member: Any, piece: bytes) -> bytes:
    try:
        return member.decompress(piece, _INFLATED)
    except Exception as error:  # each library has its own
        raise DamagedError(str(error)) from None


def _unreadable(name: str, error: OSError) -> StructronError:
    return StructronError(f"{name}: cannot be read ({_reason(error)}); expected a file")


def _unwritable(name: str, error: OSError | ValueError) -> StructronError:
    return StructronError(f"{name}: could not be written ({_reason(error)})")


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def check_writable(path: str | Path | None, content: int = 0) -> None:
    """Refuse an output path that cannot work, so that hours of training are not lost to a typo.

    A file is made beside it and taken away again: permissions alone do not tell of file systems that are read-only, or
    full (content: a number of bytes that there should be room for).
    """
    if path is None or is_standard(path):
        return
    try:
        target = os.path.realpath(path)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(target)
    except (OSError, ValueError) as error:
        raise _unwritable(str(path), error) from None
    folder = os.path.dirname(target)
    if os.path.isdir(target):
        raise StructronError(f"{path}: is a folder; expected the name of a file to write")
    if not os.path.isdir(folder):
        raise StructronError(f"{path}: no folder {Path(path).parent}; create it first")
    existing, device = os.path.exists(target), _is_device(target)
    needed = [target] * existing + [folder] * (not device)
    if not all(os.access(place, os.W_OK) for place in needed) or (existing and _is_kept(target, folder)):
        raise StructronError(f"{path}: no permission to write; expected a writable file in a writable folder")
    if not device:
        try_folder(folder, path, content)


def try_folder(folder: str | Path, path: str | Path, content: int = 0) -> None:
    """Make a file in a folder for `path`, and take it away again."""
    try:
        with _temporary(str(folder)) as (stream, _):
            stream.write(bytes(content))
            stream.flush()
            if content:
                os.fsync(stream.fileno())
    except OSError as error:
        raise _unwritable(str(path), error) from None


def _is_kept(target: str, folder: str) -> bool:
    """Whether a folder like /tmp keeps the files of others from being replaced."""
    if not hasattr(os, "geteuid") or os.geteuid() == 0 or not os.stat(folder).st_mode & stat.S_ISVTX:
        return False
    return os.geteuid() not in (os.stat(target).st_uid, os.stat(folder).st_uid)


def _is_device(target: str) -> bool:
    """Terminals, pipes and /dev/null must be written to, not replaced by a file."""
    try:
        return not stat.S_ISREG(os.stat(target).st_mode)
    except OSError:
        return False


@contextlib.contextmanager
def _temporary(folder: str) -> Iterator[tuple[BinaryIO, str]]:
    """A new file in a folder and its name, locked as long as it is open: `sweep` removes those that nobody holds. It is
    removed, unless it has another name when the block ends."""
    while True:
        name = os.path.join(folder, f".structron-{secrets.token_hex(8)}.tmp")
        try:
            with open(name, "xb") as stream:
                if _locked(stream.fileno(), wait=True) and os.fstat(stream.fileno()).st_nlink == 0:
                    continue  # somebody swept between the two
                yield stream, name
                return
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name)


def _locked(descriptor: int, wait: bool) -> bool:
    """Lock a file; False where somebody else has, or the file system knows no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _atomic(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file that takes the target's place, with its permissions, when the block ends well."""
    check_writable(path)
    target = os.path.realpath(path)
    try:
        if _is_device(target):
            with open(target, "wb") as stream:
                yield stream
            return
        with _temporary(os.path.dirname(target)) as (stream, temporary):
            if os.path.exists(target):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if os.name == "nt":
                stream.close()  # no file that is open can be renamed there
            _replace(temporary, target)
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        if not _is_own(error, target):
            raise
        raise _unwritable(str(path), error) from None


def sweep(folder: str | Path, alone: bool = False) -> None:
    """Remove what writing left behind in a folder when it was killed.

    Files that somebody is writing are locked, and stay. alone: nobody is, so that no locks are needed.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove(entry.path, alone or os.name == "nt")  # Windows removes no file that is open


def _remove(path: str, alone: bool) -> None:
    """Remove a file that nobody holds."""
    if alone:
        os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        if _locked(descriptor, wait=False):
            os.unlink(path)
    finally:
        os.close(descriptor)


def _replace(temporary: str, target: str) -> None:
    """Put a finished file under its name. A file that was mounted there, as into a container, can only be filled."""
    try:
        os.replace(temporary, target)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        shutil.copyfile(temporary, target)
        os.unlink(temporary)


def _sync_folder(folder: str) -> None:
    """Make the new name durable; some file systems cannot, and then the rename alone has to do."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def new_file(path: str | Path) -> Iterator[str]:
    """The name of an empty file to fill, which is called `path` when the block ends well. What is there is never
    replaced."""
    check_writable(path)
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    sweep(folder)
    try:
        with _temporary(folder) as (stream, name):
            yield name
            os.fsync(stream.fileno())
            if os.name == "nt":
                stream.close()
                os.rename(name, target)  # which replaces nothing there
            else:
                _link(name, target)
        _sync_folder(folder)
    except OSError as error:
        if isinstance(error, FileExistsError) and target in (error.filename, error.filename2):
            raise StructronError(f"{path}: exists already; expected the name of a new file") from None
        if _is_own(error, target):
            raise _unwritable(str(path), error) from None
        raise


def _is_own(error: OSError, target: str) -> bool:
    """Whether an error is that of the writing itself: it names no file, or one of these two; any other is the
    caller's own."""
    return error.filename in (None, target) or bool(_TEMPORARY.fullmatch(os.path.basename(str(error.filename))))


def _link(name: str, path: str | Path) -> None:
    """Give a file one more name, that of no other."""
    try:
        os.link(name, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))  # a file system without links
        os.replace(name, path)


def atomic_write_bytes(path: str | Path, content: bytes | Iterable[bytes]) -> None:
    """Write a binary file whole or not at all; the file that was there stays until then."""
    with _atomic(path) as stream:
        for piece in [content] if isinstance(content, bytes | bytearray | memoryview) else content:
            stream.write(piece)


@contextlib.contextmanager
def open_output(path: str | Path | None, encoding: str = "utf-8") -> Iterator[TextIO]:
    """A text writer that translates nothing: standard output for None or "-", else a file.

    The file appears when the block ends well. A name in ``.gz`` makes it gzip, without a time stamp so that
    equal content gives equal bytes.
    """
    check_encoding(encoding)
    name = "<stdout>" if path is None or is_standard(path) else str(path)
    opened = _standard_output(encoding) if name == "<stdout>" else _output_file(name, encoding)
    try:
        with opened as writer:
            yield writer
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise StructronError(
            f"{name}: {character!r} (U+{ord(character):04X}) cannot be written as {encoding}; "
            "give --encoding (for instance utf-8)"
        ) from None


@contextlib.contextmanager
def _output_file(path: str, encoding: str) -> Iterator[TextIO]:
    with _atomic(path) as raw, contextlib.ExitStack() as packing:
        stream = raw
        if path.lower().endswith(".gz"):
            packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0)
            stream = cast(BinaryIO, packing.enter_context(packed))
        with _detached(stream, encoding) as writer:
            yield writer


@contextlib.contextmanager
def _standard_output(encoding: str) -> Iterator[TextIO]:
    """Standard output in the asked encoding, left open at the end."""
    buffer = getattr(sys.stdout, "buffer", None)
    try:
        sys.stdout.flush()
        with contextlib.nullcontext(sys.stdout) if buffer is None else _detached(buffer, encoding) as writer:
            yield writer
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.filename is not None:
            raise
        raise _unwritable("standard output", error) from None


@contextlib.contextmanager
def _detached(stream: BinaryIO, encoding: str) -> Iterator[TextIO]:
    """A text layer that leaves its stream open: whoever opened that decides what becomes of it."""
    writer = io.TextIOWrapper(stream, encoding=encoding, newline="", write_through=True)
    try:
        yield writer
    finally:
        writer.detach()
