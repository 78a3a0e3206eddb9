"""What experiments find around them: corpora as rows, optional modules, and a reader to tell how far they have come."""

import time
import tomllib
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from structron.data.corpora import find
from structron.errors import StructronError
from structron.io import CONLLU_COLUMNS, detect_format, read

Rows = list[list[list[str]]]
"""Sentences of tokens of columns."""
T = TypeVar("T")
SPLITS = ("train", "dev", "test")


def need(module: str, extra: str) -> Any:
    """A module that only an extra installs."""
    try:
        return import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise StructronError(f"this needs {name}, which is not installed: pip install 'structron[{extra}]'") from None


def paper_of(name: str) -> dict[str, Any]:
    """What a paper reports, and our tables say beside it: the `paper.toml` of its folder."""
    return tomllib.loads(files("structron.experiments").joinpath(name, "paper.toml").read_text(encoding="utf-8"))


def timed(work: Callable[..., T], *given: Any) -> tuple[T, float]:
    """What a piece of work gives, and its seconds."""
    begin = time.perf_counter()
    return work(*given), time.perf_counter() - begin


def has(data: Path, corpus: str, split: str) -> bool:
    """Whether a folder holds a split of a corpus."""
    try:
        return bool(find(data, corpus, split))
    except StructronError:
        return False


def load_rows(data: Path, corpus: str, split: str, columns: Sequence[str] = (), encoding: str = "utf-8") -> Rows:
    """The sentences of a split; of a CoNLL-U file only the named columns, if any are."""
    path = find(data, corpus, split)
    rows = [sentence.rows for sentence in read(path, encoding=encoding)]
    if detect_format(path) == "conll" or not columns:
        return rows
    places = [CONLLU_COLUMNS.index(column) for column in columns]
    return [[[row[place] for place in places] for row in sentence] for sentence in rows]


def last_tenth(rows: Rows) -> tuple[Rows, Rows]:
    """(the rest, the last tenth): dev data for a corpus that has none."""
    cut = len(rows) - len(rows) // 10
    return rows[:cut], rows[cut:]
