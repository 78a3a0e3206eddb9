"""Sentences of similar length as arrays: what likelihoods are computed over, many sentences at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Group:
    """Sentences, the shortest first, none empty, padded to the length of the last. starts: of their tokens."""

    sentences: np.ndarray
    lengths: np.ndarray
    starts: np.ndarray

    @property
    def words(self) -> int:
        return int(self.lengths[-1])

    @cached_property
    def tokens(self) -> np.ndarray:
        """int[sentences, words]: the token at each place, -1: none."""
        place = np.arange(self.words)
        return np.where(place < self.lengths[:, None], self.starts[:, None] + place, -1)

    @property
    def known(self) -> np.ndarray:
        """bool[sentences, words]: where there is a token."""
        return self.tokens >= 0

    def last(self) -> tuple[np.ndarray, np.ndarray]:
        """The index of the last token of every sentence."""
        return np.arange(len(self.lengths)), self.lengths - 1


def groups_of(starts: np.ndarray, together: int) -> Iterator[Group]:
    """All sentences that are not empty, in groups of at most so many places. starts: int[sentences + 1]."""
    lengths = np.diff(starts)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    while len(order):
        places = (1 + np.arange(len(order))) * lengths[order]
        count = max(1, int(np.searchsorted(places, together, "right")))
        own, order = order[:count], order[count:]
        yield Group(own, lengths[own], starts[own])
