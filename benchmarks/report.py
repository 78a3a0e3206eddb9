"""What the parts of the driver share: how much is run, what was found, corpora, and sides that saw the same data."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.measure import Failed, Row, Run

CHUNKS, TAGS, ENTITIES = "conll2000", "ud-english-ewt", "conll2002-dutch"
OURS, NUMBA = "structron", "import numba"


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is run. The required ratios hold for the full settings."""

    repeat: int
    passes: int = 10
    nltk_passes: int = 5
    start_repeat: int = 5
    jobs_passes: int = 3
    jobs_tokens: int = 300_000
    parser_passes: int | None = None  # None: as many as the parser makes by itself
    paired_passes: int = 5
    udpipe_sentences: int | None = None  # None: all
    history_passes: int = 5
    crf_iterations: int = 100
    entity_passes: int = 12
    recogniser_passes: int | None = None
    non_local_passes: int = 10
    treebanks: tuple[str, ...] = ("ud-hungarian-szeged",)
    earlier: Path | None = None  # the tree of a release that does the same work in the same run
    kept: Path | None = None  # where models of peers that take long to train are kept from run to run

    @classmethod
    def quick(cls) -> "Settings":
        few = {"jobs_passes": 1, "jobs_tokens": 50_000, "parser_passes": 2, "paired_passes": 1}
        few |= {"crf_iterations": 10, "entity_passes": 3, "recogniser_passes": 2, "non_local_passes": 2}
        return cls(1, passes=2, nltk_passes=1, start_repeat=1, udpipe_sentences=50, history_passes=2, **few)


@dataclass(slots=True)
class Report:
    """What a run found: rows for the table, all single measurements, what was left out."""

    rows: list[Row] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def add(
        self,
        key: str,
        title: str,
        unit: str,
        values: dict[str, list[float]],
        ratio_is: str,
        required: float | None = None,
    ) -> None:
        """A row from the values of two sides, the peer's first."""
        (peer, theirs), (_, ours) = values.items()
        self.rows.append(Row(key, title, unit, peer, theirs, ours, ratio_is, required))

    def skip(self, text: str) -> None:
        self.skipped.append(text)
        say(f"skipped: {text}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def corpus(data: Path, name: str, ending: str, splits: Sequence[str] = ("train", "test")) -> dict[str, Path] | None:
    """The files of a corpus, plain or gzip; None unless all are there."""
    found = {}
    for split in splits:
        files = [data / name / f"{split}.{ending}{packed}" for packed in (".gz", "")]
        found[split] = next((file for file in files if file.is_file()), None)
    return found if all(found.values()) else None


def installed(module: str) -> bool:
    """Whether a peer can be imported, found out without doing so."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def same_tokens(what: str, theirs: int, ours: int) -> None:
    """A ratio means nothing unless both sides saw the same data."""
    if theirs != ours:
        raise Failed(f"{what}: the peer saw {theirs} tokens, ours {ours}")


def each(found: dict[str, list], value: Callable[[Any], float]) -> dict[str, list[float]]:
    """A value of every repetition on each side."""
    return {side: [value(one) for one in runs] for side, runs in found.items()}


def costs(found: dict[str, list[Run]]) -> dict[str, list[dict[str, float]]]:
    return {side: [done.cost() for done in runs] for side, runs in found.items()}


def split(found: dict[str, list[tuple[dict, Run]]]) -> tuple[dict[str, list[dict]], dict[str, list[Run]]]:
    """What the processes said, and what they cost."""
    logs = {side: [log for log, _ in pairs] for side, pairs in found.items()}
    return logs, {side: [done for _, done in pairs] for side, pairs in found.items()}
