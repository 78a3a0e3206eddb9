"""Chunking by whole chunks as a search problem: a state is a labelled segmentation of a prefix (Daumé & Marcu 2005).

    x       int64[tokens, 1]    nothing: what the tokens say is numbered beforehand (features/segments.py)
    table   int64[:]            LABELS, LONGEST, NAMES, LENGTHS; then how many actions take at most 0, 1, … tokens; at
                                NAMES the label of each action; at LENGTHS how many tokens it takes
    states  int64[rows, WIDTH]  TAIL; POSITION: tokens done; LAST: the label before, from 1, 0: none; LENGTH: that of
                                the actions being scored, which the engine writes; NODE: one for all states with the
                                same future

An action adds a segment: a label and a length. Words outside of chunks are segments of label OUTSIDE and length 1.
Labels have lengths up to the longest of the training data, and 1 at least, so that every state has a legal action.
Actions are numbered by length first: where k tokens are left, the legal ones are those that take at most k.

Atoms are len, y[-1] and at, the position, by which states differ though no template looks at it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from structron.search.beam.problem import SearchProblem
from structron.text import schemes

OUTSIDE = "O"
POSITION, LAST, LENGTH, NODE, WIDTH = range(1, 6)
LABELS, LONGEST, NAMES, LENGTHS, COUNTS = range(5)
TEMPLATES = ("len", "y[-1]", "y[-1]|len")


def start(x, table, states, s):
    """Nothing is segmented yet."""
    states[s, POSITION] = 0
    states[s, LAST] = 0
    states[s, LENGTH] = 0
    states[s, NODE] = 0


def legal(x, table, states, s, out):
    """All segments that the rest of the sentence has room for."""
    count = table[COUNTS + min(x.shape[0] - states[s, POSITION], table[LONGEST])]
    for action in range(count):
        out[action] = action
    return count


def advance(x, table, states, s, action, t):
    """Add a segment."""
    position, label = states[s, POSITION] + table[table[LENGTHS] + action], table[table[NAMES] + action]
    states[t, POSITION] = position
    states[t, LAST] = label + 1
    states[t, LENGTH] = 0
    states[t, NODE] = position * (table[LABELS] + 1) + label + 1


def atoms(x, table, states, s, out):
    """The length being looked at, the label before, and the position."""
    out[0] = states[s, LENGTH] if states[s, LENGTH] > 0 else -1
    out[1] = states[s, LAST]
    out[2] = states[s, POSITION]


@dataclass(frozen=True)
class Segments:
    """The segments that can be: labels, the first of them OUTSIDE, and the greatest length of each."""

    labels: list[str]
    longest: list[int]

    @cached_property
    def actions(self) -> list[tuple[int, int]]:
        """(label, length) of every action."""
        lengths = range(1, max(self.longest) + 1)
        return [(y, length) for length in lengths for y, most in enumerate(self.longest) if length <= most]

    @cached_property
    def number(self) -> dict[tuple[int, int], int]:
        return {action: k for k, action in enumerate(self.actions)}

    @cached_property
    def bio(self) -> list[str]:
        """The labels of tokens: O, and for each label of chunks the one of its first token and that of the others."""
        pairs = (schemes.encode([(kind, 0, 2)], 2, "iob2") for kind in self.labels[1:])
        return [OUTSIDE, *(label for pair in pairs for label in pair)]

    @classmethod
    def of(
        cls,
        sentences: Iterable[Sequence[tuple[str, int]]],
        longest: int | None = None,
        known: "Segments | None" = None,
    ) -> "Segments":
        """What segmented sentences show, and those known before; `longest`: no new segment is to be longer."""
        found: dict[str, int] = {}
        for sentence in sentences:
            for label, length in sentence:
                found[label] = max(found.get(label, 1), length)
        before = dict(zip(known.labels, known.longest, strict=True)) if known else {OUTSIDE: 1}
        labels = [*before, *sorted(found.keys() - before.keys())]
        lengths = [min(found.get(label, 1), longest or found.get(label, 1)) for label in labels]
        return cls(labels, [max(n, before.get(label, 1)) for label, n in zip(labels, lengths, strict=True)])

    def encode(self, sentence: Sequence[tuple[str, int]]) -> list[int]:
        """The actions that make a segmentation; a segment that is too long is made of several."""
        found = []
        for label, length in sentence:
            y = self.labels.index(label)
            most = self.longest[y]
            pieces = [most] * (length // most) + ([length % most] if length % most else [])
            found += [self.number[y, piece] for piece in pieces]
        return found

    def lengths(self, actions: np.ndarray) -> np.ndarray:
        """How many tokens each action takes."""
        return np.array([length for _, length in self.actions], np.int64)[actions]

    def token_labels(self, actions: np.ndarray) -> np.ndarray:
        """Numbers of BIO labels for the tokens of segments that follow each other."""
        label = np.array([y for y, _ in self.actions], np.int64)[actions]
        length = self.lengths(actions)
        out = np.repeat(2 * label, length)  # O is 0; B and I of label y are 2y - 1 and 2y
        out[np.cumsum(length) - length] -= label > 0
        return out


def segments_of(labels: Sequence[str]) -> list[tuple[str, int]]:
    """(label, length) of the segments that chunk labels of any scheme mark; words outside are segments of one word."""
    found, place = [], 0
    for kind, begin, end in schemes.spans(labels):
        found += [(OUTSIDE, 1)] * (begin - place)
        found.append((kind, end - begin))
        place = end
    return found + [(OUTSIDE, 1)] * (len(labels) - place)


def looks_at(atom: str) -> tuple[str, ...]:
    """All templates look at the same small thing: one group."""
    return ("segment",)


def make_problem(segments: Segments, segment_features: tuple[int, int], name: str = "segments") -> SearchProblem:
    """The problem of segmenting. segment_features: places and lengths that are told apart (features/segments.py)."""
    labels, longest, actions = len(segments.labels), max(segments.longest), segments.actions
    counts = [sum(length <= most for _, length in actions) for most in range(longest + 1)]
    names = COUNTS + len(counts)
    head = [labels, longest, names, names + len(actions)]
    return SearchProblem(
        actions=[f"{segments.labels[y]}:{length}" for y, length in actions],
        width=WIDTH,
        start=start,
        legal=legal,
        advance=advance,
        atoms=atoms,
        atom_names={"len": longest + 1, "y[-1]": labels + 1, "at": 0},
        templates=TEMPLATES,
        parts=[[y] for y, _ in actions],
        always=["at"],
        table=[*head, *counts, *(y for y, _ in actions), *(length for _, length in actions)],
        max_steps=int,
        where=POSITION,
        looks_at=looks_at,
        views=[length for _, length in actions],
        view=LENGTH,
        lattice=NODE,
        segment_features=segment_features,
        name=name,
    )
