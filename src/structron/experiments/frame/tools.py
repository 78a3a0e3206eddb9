"""What experiments find around them: corpora as rows, optional modules, and a reader to tell how far they have come."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from structron.data.corpora import find
from structron.errors import StructronError
from structron.io import CONLLU_COLUMNS, detect_format, read

Rows = list[list[list[str]]]
"""Sentences of tokens of columns."""
SPLITS = ("train", "dev", "test")


def need(module: str, extra: str) -> Any:
    """A module that only an extra installs."""
    try:
        return import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise StructronError(f"this needs {name}, which is not installed: pip install 'structron[{extra}]'") from None


def say(text: str) -> None:
    """Print on standard error: standard output is for tables."""
    print(text, file=sys.stderr, flush=True)


def has(data: Path, corpus: str, split: str) -> bool:
    """Whether a folder holds a split of a corpus."""
    try:
        return bool(find(data, corpus, split))
    except StructronError:
        return False


def load_rows(data: Path, corpus: str, split: str, columns: Sequence[str] = ()) -> Rows:
    """The sentences of a split; of a CoNLL-U file only the named columns."""
    path = find(data, corpus, split)
    if detect_format(path) == "conll":
        return [sentence.rows for sentence in read(path)]
    places = [CONLLU_COLUMNS.index(column) for column in columns]
    return [[[row[place] for place in places] for row in sentence.rows] for sentence in read(path)]


def last_tenth(rows: Rows) -> tuple[Rows, Rows]:
    """(the rest, the last tenth): dev data for a corpus that has none."""
    cut = len(rows) - len(rows) // 10
    return rows[:cut], rows[cut:]
