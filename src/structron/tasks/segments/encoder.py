"""Whole chunks in the beam engine: an encoder (model/encoded.py)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from structron.features.encode import Hashes
from structron.features.extract import PreparedTemplates
from structron.features.segments import Shape, number_segments, segment_hashes, segment_names
from structron.io.tensors import Tensors, texts, whole
from structron.learn.beam import Known
from structron.learn.encoded import Encoded
from structron.model.encoded import EncodedModel, Encoder
from structron.options import MAX_PLACES
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import Inputs
from structron.search.beam.problem import SearchProblem, pointer
from structron.search.beam.signatures import POINTERS
from structron.tasks.segments.partial import WIDTH, KnownWords, agreeing
from structron.tasks.segments.problem import OUTSIDE, Segments, make_problem

START = "<s>"
MAX_CHUNK_LENGTH = 10_000
"""No chunk of a model file is longer."""


@dataclass
class SegmentEncoder(Encoder):
    """The labels and lengths of chunks, and which of their tokens features tell apart."""

    segments: Segments
    shape: Shape

    kind: ClassVar[str] = "segments"

    @cached_property
    def problem(self) -> SearchProblem:
        return make_problem(self.segments, (self.shape.positions, self.shape.whole))

    @property
    def labels(self) -> list[str]:
        return self.segments.bio

    def inputs(self, prepared: PreparedTemplates, lo: int, hi: int, forced: np.ndarray | None = None) -> Inputs:
        """Nothing but their lengths."""
        starts = prepared.starts[lo : hi + 1] - prepared.starts[lo]
        return make_inputs(self.problem, np.zeros((int(starts[-1]), 1), np.int64), starts)

    def hashes(self, prepared: PreparedTemplates, lo: int, hi: int) -> Hashes:
        """What tokens say of the chunks that they are part of, or next to."""
        return segment_hashes(prepared, self.shape, lo, hi)

    def labels_of(self, actions: np.ndarray) -> np.ndarray:
        """The labels of the tokens of chunks that follow each other."""
        return self.segments.token_labels(actions)

    def column_names(self) -> list[str]:
        return self.segments.labels

    def describe(self, key: int) -> str:
        """The name of a feature of a chunk's length and the label before."""
        return self.problem.composition.describe(key, {"y[-1]": [START, *self.segments.labels]})

    def header(self) -> dict[str, Any]:
        found = {"labels": self.segments.labels, "longest": self.segments.longest}
        return found | {"stretches": [self.shape.positions, self.shape.whole]}

    @classmethod
    def from_file(cls, header: dict[str, Any], tensors: Tensors) -> "SegmentEncoder":
        labels = texts(header["labels"], "labels", 1)
        longest = [whole(number, "longest", 1, MAX_CHUNK_LENGTH) for number in header["longest"]]
        if len(labels) != len(longest) or labels[0] != OUTSIDE or sum(longest) > 10 * MAX_CHUNK_LENGTH:
            raise ValueError("labels and lengths do not fit together")
        positions, most = header["stretches"]
        return cls(
            Segments(labels, longest),
            Shape(whole(positions, "positions", 1, MAX_PLACES), whole(most, "whole", 0, MAX_PLACES)),
        )


def encode_segments(
    prepared: PreparedTemplates,
    gold: list[list[int]],
    encoder: SegmentEncoder,
    cutoff: int,
    start: EncodedModel | None,
    unseen: bool = False,
    words: Mapping[int, KnownWords] = MappingProxyType({}),
) -> Encoded:
    """Training data for the engine. gold: the actions that make each sentence's chunks.   unseen: whole sequences that
    are never a chunk have features, too.   words: what is known of sentences with open labels, by their numbers."""
    starts, problem, shape = prepared.starts, encoder.problem, encoder.shape
    inputs = make_inputs(problem, np.zeros((int(starts[-1]), 1), np.int64), starts, gold)
    lengths, taken = np.zeros(int(starts[-1]), np.int64), encoder.segments.lengths(inputs.gold)
    before = np.concatenate([[0], np.cumsum(taken)])
    first = np.repeat(starts[:-1] - before[inputs.gold_ptr[:-1]], np.diff(inputs.gold_ptr))
    lengths[first + before[:-1]] = taken
    for s, own in words.items():
        for begin, _, length in own.certain():
            lengths[starts[s] + begin] = length
    keys = None if start is None else start.base.anchored_keys
    numbered = number_segments(prepared, shape, None if unseen else lengths, cutoff, keys)
    known = _known(inputs, encoder.segments, words) if words else None
    return Encoded(
        *(encoder, problem, inputs, numbered, lambda keys, lists: segment_names(prepared, shape, keys, lists), known)
    )


def _known(inputs: Inputs, segments: Segments, words: Mapping[int, KnownWords]) -> Known:
    """What is known of the sentences with open labels; of the others all is."""
    x, is_open = np.zeros((len(inputs.x), WIDTH), np.int64), np.zeros(len(inputs.starts) - 1, bool)
    for s, own in words.items():
        x[inputs.starts[s] : inputs.starts[s + 1]], is_open[s] = own.array(segments), True
    legal = pointer(agreeing, POINTERS["legal"], "segments: agreeing", "agreeing(x, table, states, s, out) -> int")
    return Known(inputs._replace(x=x), is_open, legal)
