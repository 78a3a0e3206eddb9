"""Corpora as rows: whole splits, named columns, a part held out."""

from collections.abc import Sequence
from pathlib import Path

from structron.data.corpora import find
from structron.errors import StructronError
from structron.experiments.frame.tools import Rows
from structron.io import CONLLU_COLUMNS, detect_format, read

SPLITS = ("train", "dev", "test")


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


def has(data: Path, corpus: str, split: str) -> bool:
    """Whether a folder holds a split of a corpus."""
    try:
        find(data, corpus, split)
    except StructronError:
        return False
    return True
