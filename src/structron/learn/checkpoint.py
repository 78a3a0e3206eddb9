"""The folder of a run that can be gone on with: how far it is, and a fingerprint of its data and options."""

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.io import modelfile
from structron.io.tensors import Tensors
from structron.runtime.progress import Progress

STATE_FILE = "state.structron"


def digest(how: object, data: Iterable[np.ndarray | bytes]) -> str:
    """Tells data and options apart: one line for a text and any number of arrays, to the last bit."""
    found = hashlib.sha256(f"{how}".encode())
    for piece in data:
        if isinstance(piece, bytes):
            found.update(piece)
        else:
            found.update(f"{piece.shape}".encode())
            found.update(np.ascontiguousarray(piece).data if piece.size else b"")
    return found.hexdigest()


def make_folder(folder: Path, resume: bool) -> None:
    """Make the folder of a checkpoint; refuse one that holds another, unless that is to be resumed."""
    if (folder / STATE_FILE).exists() and not resume:
        raise StructronError(f"{folder}: already has a checkpoint; continue with --resume, or name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StructronError(f"{folder}: cannot create the checkpoint folder: {error.strerror}") from None


@contextlib.contextmanager
def tolerated(progress: Progress, lost: str) -> Iterator[None]:
    """A disk that is full costs the checkpoint, not the training. lost: what there is not, then."""
    try:
        yield
    except (StructronError, OSError) as error:
        progress.warn("checkpoint", f"{lost}: {error}; training continues")


class Checkpoint:
    """A folder, and in it the state of the run that has this fingerprint."""

    def __init__(self, folder: Path, resume: bool, fingerprint: str):
        make_folder(folder, resume)
        self.folder, self.fingerprint = folder, fingerprint

    def read(self) -> tuple[dict[str, Any], Tensors] | None:
        """What an earlier run has written, if there was one."""
        if not (self.folder / STATE_FILE).exists():
            return None
        header, state = modelfile.load(self.folder / STATE_FILE)
        if header.get("task") != "checkpoint" or header.get("fingerprint") != self.fingerprint:
            raise StructronError(
                f"{self.folder}: the checkpoint belongs to other data or options; name another folder to start afresh"
            )
        return header, state

    def write(self, header: dict[str, Any], state: Tensors) -> None:
        """Keep how far the run is."""
        own = {"task": "checkpoint", "fingerprint": self.fingerprint}
        modelfile.save(self.folder / STATE_FILE, own | header, state)
