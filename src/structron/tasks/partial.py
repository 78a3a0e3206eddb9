"""Training data in which labels are open: a token's label is None, or the text that the option `open_label` names.

rows ──OpenRows──▶ rows with OPEN ──tasks/tokens──▶ label_ids, -1 where open ──agreeing──▶ learn/partial: Knowledge
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.learn.partial import Knowledge
from structron.text import schemes
from structron.text.sentences import Document

OPEN = "\0"
"""What stands in a column of labels where the label is open."""


def is_open(label: Any) -> bool:
    """Whether a label of training data is open."""
    return label is None or label == OPEN


class OpenRows:
    """Sentences of rows, open labels marked by OPEN. Those of which no label is known are left out, and counted."""

    def __init__(self, places: Sequence[int], mark: str | None):
        """places: of the label columns in a row; mark: the text that stands for an open label, besides None."""
        self.places, self.open = list(places), {None, OPEN} if mark is None else {None, OPEN, mark}
        self.left_out = self.tokens = self.missing = 0
        self.numbers: list[int] = []
        """Of the sentences that are not left out, counted from 1."""

    def of(self, items: Iterable[Any]) -> Iterator[Any]:
        """Sentences and documents, one by one."""
        for item in items if self.places else ():
            parts = item if isinstance(item, Document) else [item]
            count = sum(map(self._open, parts))
            size = sum(map(_size, parts)) * len(self.places)
            self.tokens += size
            self.missing += count
            seen = self.left_out + len(self.numbers)
            if count and count == size:
                self.left_out += len(parts)
                continue
            self.numbers += range(seen + 1, seen + len(parts) + 1)
            if count == 0:
                yield item
            else:
                rows = [[self.marked(row) for row in sentence] for sentence in parts]
                yield Document(rows) if isinstance(item, Document) else rows[0]
        yield from () if self.places else items

    def _open(self, sentence: Any) -> int:
        """How many labels are open; what is wrong with the rows, the extractor will say."""
        try:
            found = [row[place] for row in sentence for place in self.places if not isinstance(row, str)]
            return sum(label in self.open for label in found)
        except (IndexError, KeyError, TypeError):
            return 0

    def marked(self, row: Sequence[Any]) -> list[Any]:
        """A row whose open labels are marked."""
        marked = list(row)
        for place in self.places:
            if marked[place] in self.open:
                marked[place] = OPEN
        return marked

    def note(self) -> str:
        """What to say of the data; nothing where all labels are known."""
        if not self.missing:
            return ""
        known = f"{self.tokens - self.missing:,} of {self.tokens:,} labels are known"
        return f"{known}; skipped sentences without a known label: {self.left_out:,}" if self.left_out else known


def _size(sentence: Any) -> int:
    return len(sentence) if hasattr(sentence, "__len__") else 0


def settle_open(prepared: Any) -> bool:
    """label_ids = -1 where labels are open, which are no labels any more; returns whether there are any."""
    types = prepared.label_types
    if not any(label is None or label == OPEN for label in types):
        return False
    kept = [label for label in types if label is not None and label != OPEN]
    place = {label: k for k, label in enumerate(kept)}
    numbers = np.array([place.get(label, -1) for label in types], np.int32)
    prepared.label_types, prepared.label_ids = kept, numbers[prepared.label_ids]
    return True


def check_closed(prepared: Any, mark: str | None, what: str) -> None:
    """Refuse open labels where all have to be known."""
    ids = prepared.label_ids
    if mark is not None and mark in prepared.label_types:
        ids = np.where(ids == prepared.label_types.index(mark), -1, ids)
    if not len(ids) or ids.min() >= 0:
        return
    token = int(np.argmin(ids >= 0))
    s = int(np.searchsorted(prepared.starts, token, "right")) - 1
    raise open_in(what, s + 1, token - int(prepared.starts[s]) + 1)


def open_in(what: str, sentence: int, token: int) -> StructronError:
    """An open label where all have to be known."""
    place = f"{what}: sentence {sentence}, token {token}"
    return StructronError(f"{place}: an open label; expected known labels, for scoring")


def check_agreement(
    known: Knowledge,
    allowed: np.ndarray,
    prepared: Any,
    describe: Callable[[int], str],
    why: str,
    among: np.ndarray | None = None,
) -> None:
    """Refuse what no allowed labelling agrees with. describe: the label that a token is known to have; among: the
    sentences to be looked at."""
    starts = prepared.starts
    found = known.contradiction(allowed, starts, among)
    if found is None:
        return
    s, i = found
    token = int(starts[s]) + i
    place = f"training data: sentence {prepared.sentence_numbers[s]}, token {i + 1}"
    before = describe(token - 1) if i else "the start of the sentence"
    raise StructronError(f"{place}: {describe(token)} after {before}; expected {why}")


def check_order(labels: Sequence[str | None], scheme: str, where: str) -> None:
    """Refuse labels that may not follow each other; what is open does not tell."""
    for k, label in enumerate(labels):
        before = labels[k - 1] if k else None
        if label is None or (k and before is None) or schemes.allowed(before, label, scheme):
            continue
        after = repr(before) if k else "the start of the sentence"
        raise StructronError(f"{where}, token {k + 1}: {label!r} after {after}; expected labels that {scheme} allows")
