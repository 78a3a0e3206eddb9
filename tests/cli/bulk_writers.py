"""A writer for workers that is not well. Workers import it, so it stands in a module of its own."""

import os
import signal
from pathlib import Path


class Writer:
    """Writes a file's name; "dies 2" kills two processes before it is written, "fails" raises an error."""

    def __init__(self, folder: str):
        self.folder = Path(folder)

    def write(self, file: str, output: Path, jobs: int) -> None:
        name = Path(file).name
        if name.startswith("dies"):
            times = self.folder / f"{name}.times"
            before = len(times.read_text()) if times.exists() else 0
            times.write_text("x" * (before + 1))
            if before < int(name.split()[1]):
                os.kill(os.getpid(), signal.SIGKILL)
        if name == "fails":
            raise KeyError("what")
        output.write_text(name)
