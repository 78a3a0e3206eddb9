"""Chunks in sentences with open labels: what is known of every word, and the segments that agree with it.

x   int64[tokens, 3]   KIND: the label of its segment, from 1, 0: open; EDGES: which places it may have in its
                       segment, as bits: FIRST, LATER (not the first), LAST, EARLIER (not the last); REST: 1 where
                       the words from here on can be segmented
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from structron.errors import StructronError
from structron.tasks.segments.problem import COUNTS, LENGTHS, LONGEST, NAMES, POSITION, Segments
from structron.text import schemes

KIND, EDGES, REST, WIDTH = range(4)
FIRST, LATER, LAST, EARLIER = 1, 2, 4, 8
ANYWHERE = FIRST | LATER | LAST | EARLIER
EDGES_OF = {"B": FIRST | EARLIER, "I": LATER | EARLIER, "E": LATER | LAST, "S": FIRST | LAST, "O": FIRST | LAST}
MAX_OPEN_LENGTH = 8
"""Words of a chunk where labels are open, which do not tell how long chunks are, unless longer ones are known."""


def agreeing(x, table, states, s, out):
    """The segments that agree with what is known, and after which the rest of the sentence still can."""
    position, words, count, length, kind = states[s, POSITION], x.shape[0], 0, 0, 0
    total = table[COUNTS + min(words - position, table[LONGEST])]
    fits = total > 0 and (x[position, EDGES] & FIRST) > 0
    for action in range(total):
        while fits and length < table[table[LENGTHS] + action]:
            token = position + length
            if length > 0 and ((x[token, EDGES] & LATER) == 0 or (x[token - 1, EDGES] & EARLIER) == 0):
                fits = False
            if x[token, KIND] > 0:
                fits = fits and (kind == 0 or kind == x[token, KIND])
                kind = x[token, KIND]
            length += 1
        if fits and (x[position + length - 1, EDGES] & LAST) > 0:
            end = position + length
            if (end == words or x[end, REST] > 0) and (kind == 0 or kind == table[table[NAMES] + action] + 1):
                out[count] = action
                count += 1
    return count


@dataclass(frozen=True)
class KnownWords:
    """The words of a sentence with open labels. kinds: labels of segments, None: open; edges: bits, see the module."""

    kinds: list[str | None]
    edges: list[int]

    @classmethod
    def of(cls, labels: Sequence[str | None], scheme: str) -> "KnownWords":
        """labels: in a scheme, None where they are open."""
        kinds: list[str | None] = []
        edges: list[int] = []
        for label, own in zip(labels, schemes.agreeing(labels, scheme, "iobes"), strict=True):
            letter, kind = ("", None) if label is None else schemes.split(label)
            kinds.append("O" if letter == "O" else kind)
            edges.append(ANYWHERE if label is None else 0)
            for possible in own:
                edges[-1] |= EDGES_OF[schemes.split(possible)[0]]
        return cls(kinds, edges)

    def lengths(self, longest: int | None) -> list[tuple[str, int]]:
        """How long segments are at least, as (label, length). One that is longer than `longest` is cut."""
        found: list[tuple[str, int]] = []
        length = 0
        for i, (kind, edges) in enumerate(zip(self.kinds, self.edges, strict=True)):
            if edges & FIRST or kind is None:
                length = 1
            elif length and i and self.kinds[i - 1] == kind:
                length += 1
            else:
                length = 2
            if longest is not None and length > longest:
                self.edges[i] |= FIRST
                self.edges[i - 1] |= LAST
                length = 1
            if kind is not None:
                found.append((kind, length))
        return found

    def certain(self) -> list[tuple[int, str, int]]:
        """The segments that all agree on: their first words, labels and lengths."""
        found, begin = [], -1
        for i, (kind, edges) in enumerate(zip(self.kinds, self.edges, strict=True)):
            if kind is None or (edges & LATER and edges & FIRST):
                begin = -1
            elif edges & FIRST:
                begin = i
            elif begin >= 0 and kind != self.kinds[begin]:
                begin = -1
            if begin >= 0 and not edges & EARLIER:
                found.append((begin, self.kinds[begin] or "", i + 1 - begin))
        return found

    def array(self, segments: Segments) -> np.ndarray:
        """For the search: int64[words, WIDTH]."""
        found = np.zeros((len(self.kinds), WIDTH), np.int64)
        found[:, KIND] = [0 if kind is None else segments.labels.index(kind) + 1 for kind in self.kinds]
        found[:, EDGES] = self.edges
        for i in range(len(found) - 1, -1, -1):
            found[i, REST] = _leads_on(found, i, segments)
        return found

    def first_that_does_not_fit(self, segments: Segments) -> int:
        """The first word that no segmentation agrees with, whatever follows."""
        for i in range(len(self.kinds)):
            edges = [*self.edges[:i], self.edges[i] | LAST]
            if not KnownWords(self.kinds[: i + 1], edges).array(segments)[0, REST]:
                return i
        return len(self.kinds) - 1


def _leads_on(x: np.ndarray, begin: int, segments: Segments) -> bool:
    """Whether some segment begins here from whose end the rest can be segmented."""
    kind = 0
    for end in range(begin + 1, min(len(x), begin + max(segments.longest)) + 1):
        own, edges, _ = x[end - 1].tolist()
        inside = FIRST if end == begin + 1 else LATER
        if not edges & inside or (own and kind and own != kind):
            return False
        kind = kind or own
        if kind and end - begin > segments.longest[kind - 1]:
            return False
        if edges & LAST and (end == len(x) or x[end, REST]):
            return True
        if not edges & EARLIER:
            return False
    return False


def check_words(words: KnownWords, x: np.ndarray, labels: Sequence[str | None], segments: Segments, where: str) -> None:
    """Refuse what no segmentation agrees with."""
    if len(x) and not x[0, REST]:
        i = words.first_that_does_not_fit(segments)
        raise StructronError(
            f"{where}, token {i + 1}: {labels[i]!r} fits no chunk after the labels before it; expected labels of whole "
            "chunks"
        )


def open_lengths(words: Iterable[KnownWords], longest: int | None) -> list[list[tuple[str, int]]]:
    """Segments that there must be room for: as long as is known, and for every label as long as others may be."""
    found = [own.lengths(longest) for own in words]
    kinds = {kind for own in found for kind, _ in own} - {"O"}
    return [*found, [(kind, min(MAX_OPEN_LENGTH, longest or MAX_OPEN_LENGTH)) for kind in sorted(kinds)]]
