"""Training runs on toy data that can be killed anywhere."""

from pathlib import Path

import structron
from structron.runtime.progress import Progress
from toy import chunk_rows


def fit(checkpoint: Path | None = None, resume: bool = False, progress: Progress | None = None, **options):
    options = {"passes": 5, "runs": 1, **options}
    dev = chunk_rows(20, 4) if options.pop("dev", True) else None
    labeler = structron.Chunker(**options)
    return labeler.fit(chunk_rows(120, 3), dev=dev, checkpoint=checkpoint, resume=resume, progress=progress)


class Killed(BaseException):
    """Ends a run on the spot, like a kill: nobody catches it."""


class Killer(Progress):
    """Kills the run at its `place`-th chance: between compiled calls or at the end of a pass."""

    def __init__(self, place: int, error: type[BaseException] = Killed):
        super().__init__()
        self.left, self.error = place, error

    def _chance(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise self.error

    def advance(self, done: int) -> None:
        self._chance()

    def pass_done(self, *args) -> None:
        self._chance()
