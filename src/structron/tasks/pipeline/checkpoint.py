"""The folder of a pipeline that is being trained: a file for each part that is done, a folder for the one at work.

state.structron      what the run is of
tagger.structron     a part that is done
parser/              the passes of the part at work (learn/loop.py)
"""

import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from structron.doc import Doc
from structron.errors import StructronError
from structron.io import modelfile
from structron.learn.loop import STATE_FILE, make_folder, other_run
from structron.runtime.progress import Progress


class Checkpoint:
    """What is kept of a run; without a folder nothing is."""

    def __init__(
        self, folder: Path | None, resume: bool, how: object, docs: Iterable[Iterable[Doc]], progress: Progress
    ):
        """how, docs: the options and data that tell whether a folder belongs to the run."""
        self.folder, self.progress = folder, progress
        if folder is None:
            return
        make_folder(folder, resume)
        fingerprint, path = _digest(how, docs), folder / STATE_FILE
        if not path.exists():
            try:
                modelfile.save(path, {"task": "checkpoint", "fingerprint": fingerprint}, {})
            except (StructronError, OSError) as error:
                progress.warn("checkpoint", f"no checkpoints: {error}; training goes on")
                self.folder = None
            return
        header, _ = modelfile.load(path)
        if header.get("task") != "checkpoint" or header.get("fingerprint") != fingerprint:
            raise other_run(folder)

    def done(self, name: str, kind: Any) -> Any:
        """A part that an earlier run has finished, or None."""
        path = None if self.folder is None else self._file(self.folder, name)
        return kind._read(path, *modelfile.load(path)) if path is not None and path.exists() else None

    def options(self, name: str) -> dict[str, Any]:
        """What a part's `fit` is to be given."""
        return {} if self.folder is None else {"checkpoint": self.folder / name, "resume": True}

    def keep(self, name: str, estimator: Any) -> None:
        """Keep a part that is done; its passes are not needed any more."""
        if self.folder is None:
            return
        try:
            estimator.save(self._file(self.folder, name))
        except (StructronError, OSError) as error:
            self.progress.warn("checkpoint", f"no checkpoint of this part: {error}; training goes on")
            return
        shutil.rmtree(self.folder / name, ignore_errors=True)

    @staticmethod
    def _file(folder: Path, name: str) -> Path:
        return folder / f"{name}.structron"


def _digest(how: object, docs: Iterable[Iterable[Doc]]) -> str:
    found = hashlib.sha256(f"{how}".encode())
    for number, some in enumerate(docs):
        for doc in some:
            found.update(f"{number} {doc.to_conllu()}".encode("utf-8", "surrogatepass"))
    return found.hexdigest()
