"""Where real corpora are: a folder per corpus, a file per split, wherever the user keeps them."""

import os
from pathlib import Path

from structron.errors import StructronError

ENVIRONMENT = "STRUCTRON_DATA"
ENDINGS = (".conllu", ".conll", ".conllu.gz", ".conll.gz")


def corpora_dir(path: str | None = None) -> Path | None:
    """The folder of corpora: the one named here, else the one named by STRUCTRON_DATA, else none."""
    chosen = path or os.environ.get(ENVIRONMENT)
    if not chosen:
        return None
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        origin = "" if path else f" (from {ENVIRONMENT})"
        raise StructronError(f"{folder}{origin}: no such folder; expected one that holds a folder per corpus")
    return folder


def find(data: Path, corpus: str, split: str) -> Path:
    """The file of a split, say `train`, of a corpus, whatever its format and compression."""
    folder = data / corpus
    if not folder.is_dir():
        raise StructronError(f"no corpus {corpus!r}: looked for the folder {folder}")
    for ending in ENDINGS:
        file = folder / (split + ending)
        if file.is_file():
            return file
    names = ", ".join(split + ending for ending in ENDINGS)
    raise StructronError(f"corpus {corpus!r} has no split {split!r}: looked in {folder} for {names}")
