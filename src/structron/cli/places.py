"""What a command reads and what it writes, compared before it touches anything: no output may cost the user a file.

Names are compared by what they lead to: links of both kinds, other spellings, names that differ in case where the file
system does not tell them apart, and files behind standard input and output.
"""

import json
import os
import stat
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path

from structron.errors import StructronError
from structron.io.modelfile import is_model, task_of
from structron.io.text import check_writable, display_name, is_standard, sweep

Place = str | Path
Places = Mapping[str, Place | Iterable[Place] | None]
"""Paths by the option that names them."""
MOST_LINE = 1 << 20
"""Bytes of a file that are looked at to see what it is."""


def check_places(inputs: Places, outputs: Places) -> None:
    """Refuse an output that is an input, or another output, of the same command."""
    read, written = _listed(inputs), _listed(outputs)
    written = [(flag, path) for flag, path in written if not _is_device(path, sys.stdout)]
    for (flag, path), (other, source) in ((a, b) for a in written for b in read):
        if same_file(path, source):
            raise _refusal(flag, path, f"the input {_name(other, source)}")
    for (flag, path), (other, target) in combinations(written, 2):
        if same_file(path, target, reading=False):
            raise _refusal(flag, path, f"the output {_name(other, target)}")


def check_output(path: Place | None, disk_space: int = 0) -> None:
    """Refuse an output that cannot be written, and remove what a run that was killed left beside it."""
    if path is not None and not is_standard(path):
        sweep(os.path.dirname(os.path.realpath(path)))
        check_writable(path, disk_space)


def check_model_place(flag: str, path: Place, task: str, force: bool = False) -> None:
    """Refuse to replace a file that is not a model of ours, or is one of another task unless forced; an empty file may
    be replaced."""
    _check_kind(flag, path, is_model, "a model")
    there = task_of(path)
    if there not in (None, task) and not force:
        raise StructronError(f"{flag} {path}: is a {there} model; expected another name, or --force")


def check_log_place(flag: str, path: Place | None) -> None:
    """Refuse to replace a file that is not a log of training."""
    _check_kind(flag, path, is_log, "a log")


def check_picture_place(flag: str, path: Place) -> None:
    """Refuse to replace a file that is not an SVG picture."""
    _check_kind(flag, path, lambda file: _first_line(file).lstrip().startswith((b"<svg", b"<?xml")), "a picture")


def check_page_place(flag: str, path: Place, head: str) -> None:
    """Refuse to replace a file whose first line is not this one, that of a page of ours."""
    _check_kind(
        flag, path, lambda file: _first_line(file).rstrip() == head.encode(), f"a page that begins with {head!r}"
    )


def check_text_place(flag: str, path: Place | None) -> None:
    """Refuse to replace a model with text."""
    if path is not None and not is_standard(path) and is_model(path):
        raise StructronError(f"{flag} {path}: already exists and is a model; expected another name, or remove it")


def is_log(path: Place) -> bool:
    """Whether a file begins as a log of training does: with a JSON object, or one that a killed run left unfinished."""
    line = _first_line(path)
    if line.startswith(b"{") and len(line) < MOST_LINE and not line.endswith(b"\n"):
        return True
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _check_kind(flag: str, path: Place | None, is_own: Callable[[Place], bool], kind: str) -> None:
    if path is not None and os.path.isfile(path) and os.path.getsize(path) and not is_own(path):
        raise StructronError(f"{flag} {path}: already exists and is not {kind}; expected another name, or remove it")


def _first_line(path: Place) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.readline(MOST_LINE)
    except OSError:
        return b""


def check_checkpoint(
    folder: Path | None, others: Places, state: str, parts: Sequence[str], resume: bool = False
) -> None:
    """Refuse a folder for checkpoints where the command's own files would be in the way, or somebody else's are."""
    if folder is None:
        return
    for flag, path in _listed(others):
        inside = not is_standard(path) and same_file(os.path.dirname(os.path.realpath(path)), folder)
        if inside and _own(os.path.basename(os.path.realpath(path)), state, parts):
            raise _refusal(flag, path, f"a file of --checkpoint {folder}")
    strange = [] if not folder.is_dir() or (folder / state).exists() else sorted(os.listdir(folder))
    if resume:  # a run that was killed before its first state was whole has left a model, or the folder of a part
        strange = [name for name in strange if not (is_model(folder / name) or (folder / name).is_dir())]
    if found := [name for name in strange if _own(name, state, parts)]:
        raise StructronError(
            f"--checkpoint {folder}: contains {found[0]}, which is not part of a checkpoint; expected another folder"
        )


def _own(name: str, state: str, parts: Sequence[str]) -> bool:
    """Whether a checkpoint has such a name in its folder, on any file system."""
    stem, ending = os.path.splitext(folded(name))
    if ending == ".structron":
        return stem.startswith("best-") or stem in parts or folded(name) == state
    return folded(name) in parts


def same_file(one: Place, other: Place, reading: bool = True) -> bool:
    """Whether two names lead to one file, which need not be there. reading: the other is an input."""
    first, second = _status(one, sys.stdout), _status(other, sys.stdin if reading else sys.stdout)
    if first is not None and second is not None:
        return os.path.samestat(first, second)
    if first is not None or second is not None or is_standard(one) or is_standard(other):
        return False
    (folder, name), (other_folder, other_name) = map(os.path.split, map(os.path.realpath, (one, other)))
    if folder != other_folder and (identity(folder) is None or identity(folder) != identity(other_folder)):
        return False
    return name == other_name or (folded(name) == folded(other_name) and ignores_case(folder))


def identity(path: Place) -> tuple[int, int] | None:
    """What tells a file from all others, whatever it is called; None: it is not there."""
    found = _status(path, None)
    return None if found is None else (found.st_dev, found.st_ino)


def ignores_case(folder: Place) -> bool:
    """Whether names in a folder that differ in case alone are one, as on most disks of Windows and macOS."""
    path = os.path.realpath(folder)
    try:
        return path != path.swapcase() and os.path.samefile(path, path.swapcase())
    except OSError:
        return False


def folded(name: str) -> str:
    """A name as file systems compare it that ignore case."""
    return unicodedata.normalize("NFC", name).casefold()


def _listed(places: Places) -> list[tuple[str, Place]]:
    """Every path with its option; what was not given is left out."""
    every = ((flag, [given] if isinstance(given, str | Path) else given or []) for flag, given in places.items())
    return list(chain.from_iterable(((flag, path) for path in paths) for flag, paths in every))


def _status(path: Place, stream: object) -> os.stat_result | None:
    """What is known of a file, or of one that a standard stream was redirected to; None: it is not there."""
    try:
        if not is_standard(path):
            return os.stat(path)
        found = os.fstat(stream.fileno())  # type: ignore[attr-defined]
    except (OSError, ValueError, AttributeError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _is_device(path: Place, stream: object) -> bool:
    """Terminals, pipes and /dev/null are written to, not replaced."""
    found = _status(path, stream)
    return found is not None and not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode)


def _name(flag: str, path: Place) -> str:
    name = display_name(path)
    return f"{flag} {name}" if flag.startswith("-") else name


def _refusal(flag: str, path: Place, what: str) -> StructronError:
    target = "standard output" if is_standard(path) else f"{flag} {path}"
    return StructronError(f"{target}: is also {what}; expected another name")
