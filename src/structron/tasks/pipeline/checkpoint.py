"""The folder of a pipeline that is being trained: a file for each part that is done, a folder for the one at work.

state.structron      what the run is of
tagger.structron     a part that is done
parser/              the passes of the part at work (learn/loop.py)
"""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from structron.io import modelfile
from structron.io.doc import Doc
from structron.learn.checkpoint import Checkpoint, digest, tolerated
from structron.runtime.progress import Progress


class KeptParts:
    """What is kept of a run; without a folder nothing is."""

    def __init__(
        self, folder: Path | None, resume: bool, how: object, docs: Iterable[Iterable[Doc]], progress: Progress
    ):
        """how, docs: the options and data that tell whether a folder belongs to the run."""
        self.folder, self.progress = folder, progress
        if folder is None:
            return
        texts = (f"{number} {doc.to_conllu()}" for number, some in enumerate(docs) for doc in some)
        fingerprint = digest(how, (text.encode("utf-8", "surrogatepass") for text in texts))
        checkpoint = Checkpoint(folder, resume, fingerprint)
        if checkpoint.read() is None:
            self.folder = None
            with tolerated(progress, "no checkpoints"):
                checkpoint.write({}, {})
                self.folder = folder

    def done(self, name: str, kind: Any) -> Any:
        """A part that an earlier run has finished, or None."""
        path = None if self.folder is None else self._file(self.folder, name)
        return kind._read(path, *modelfile.load(path)) if path is not None and path.exists() else None

    def options(self, name: str) -> dict[str, Any]:
        """What a part's `fit` is to be given."""
        return {} if self.folder is None else {"checkpoint": self.folder / name, "resume": True}

    def keep(self, name: str, estimator: Any) -> None:
        """Keep a part that is done; its passes are not needed any more."""
        if self.folder is not None:
            with tolerated(self.progress, "no checkpoint of this part"):
                estimator.save(self._file(self.folder, name))
                shutil.rmtree(self.folder / name, ignore_errors=True)

    @staticmethod
    def _file(folder: Path, name: str) -> Path:
        return folder / f"{name}.structron"
