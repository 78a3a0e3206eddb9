"""Huang, Fayong & Guo (2012): the methods, and how much of everything is done."""

from dataclasses import dataclass

STANDARD, EARLY, MAX_VIOLATION = "standard", "early", "max-violation"
METHODS = (STANDARD, EARLY, "hybrid", "latest", MAX_VIOLATION, "laso")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done: sentences to learn from and of dev (None: all), beams, and passes.

    Passes are those of early update and of other methods; in parsing also those at other beams than the paper's. Early
    update learns from prefixes, so its passes are short and it needs more of them (38 in the paper against 12).
    """

    sentences: int | None
    dev_sentences: int | None
    tagging_beams: tuple[int, ...]
    tagging_passes: tuple[int, int]
    parsing_beams: tuple[int, ...]
    parsing_passes: dict[str, tuple[int, int, int]]
    unmerged_beams: dict[str, tuple[int, ...]]
    tagging_sentences: int | None = None
