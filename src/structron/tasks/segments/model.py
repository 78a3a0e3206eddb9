"""A segment chunker's model and its learner. The model has the face of `BeamChainModel`: it gives a label per token."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.features.extract import PreparedTemplates
from structron.features.names import Names
from structron.features.stretches import Shape, number_stretches, stretch_hashes, stretch_names
from structron.learn.beam import BeamTraining
from structron.model.beam import BeamModel
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.states import VALUE_BITS
from structron.tasks.chain.beam import START
from structron.tasks.chain.beam_learner import Search
from structron.tasks.segments.problem import Segments, make_problem

SHAPE = Shape(positions=3, whole=6)
"""What chunks best on the last tenth of the CoNLL-2000 training data."""


@dataclass
class SegmentModel:
    """Weights of features of whole chunks."""

    segments: Segments
    shape: Shape
    base: BeamModel
    names: Names  # of base.anchored_keys

    @property
    def labels(self) -> list[str]:
        """Those of tokens."""
        return self.segments.bio

    @property
    def keys(self) -> np.ndarray:
        return self.base.anchored_keys

    @property
    def block_keys(self) -> np.ndarray:
        return self.base.keys

    def decode(
        self,
        prepared: PreparedTemplates,
        jobs: int = 1,
        forced: np.ndarray | None = None,
        margins: bool = False,
        beam: int | None = 5,
        merge: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(label per token, score per sentence, nothing), on several threads if wanted."""
        if margins or forced is not None:
            what = "margins" if margins else "forced labels"
            raise StructronError(f"segments: no {what}: chunks are labelled, not tokens; expected a chunker for that")

        def look(lo: int, hi: int) -> tuple[Inputs, Anchored]:
            here = prepared.starts[lo : hi + 1] - prepared.starts[lo]
            inputs = make_inputs(self.base.problem, np.zeros((int(here[-1]), 1), np.int64), here)
            return inputs, self.base.anchor(stretch_hashes(prepared, self.shape, lo, hi))

        spell = self.segments.token_labels
        out, scores = self.base.decode_tokens(prepared.starts, look, beam, merge, jobs, spell)
        return out, scores, np.zeros(0, np.float32)

    def heaviest(self, label: int, top: int) -> list[tuple[str, float]]:
        """The features with the largest weights, of either sign, for a label."""
        problem, first = self.base.problem, len(self.keys)
        spell = {"y[-1]": [START, *self.segments.labels]}

        def describe(place: int) -> str:
            if place < first:
                return self.names.take(np.array([place])).all()[0]
            return problem.composition.describe(int(self.block_keys[place - first]), spell)

        return self.base.heaviest(self.segments.number[label, 1], top, describe)

    # -- files ---------------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        return {
            "search": "segments",
            "labels": self.segments.labels,
            "longest": self.segments.longest,
            "stretches": [self.shape.positions, self.shape.whole],
            "name_heads": self.names.heads,
        }

    def tensors(self) -> dict[str, np.ndarray]:
        return self.base.tensors() | self.names.tensors()

    @classmethod
    def from_file(cls, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> "SegmentModel":
        """Rebuild a model; raises KeyError, TypeError or ValueError when the parts do not fit together."""
        labels, longest = list(header["labels"]), list(map(int, header["longest"]))
        if len(labels) != len(longest) or len(set(labels)) < len(labels) or min(longest) < 1 or labels[0] != "O":
            raise ValueError("labels and lengths do not fit together")
        positions, whole = map(int, header["stretches"])
        if positions < 1 or whole < 0:
            raise ValueError("stretches do not fit")
        segments, shape = Segments(labels, longest), Shape(positions, whole)
        problem = make_problem(segments, (positions, whole))
        base = BeamModel.from_tensors(problem, tensors)
        names = Names.from_tensors(header["name_heads"], tensors)
        template = (base.keys >> np.uint64(VALUE_BITS)).astype(np.int64)
        if len(names) != len(base.anchored_keys) or int(template.max(initial=1)) > len(problem.composition.texts):
            raise ValueError("features do not fit")
        return cls(segments, shape, base, names)


class SegmentLearner(BeamTraining):
    """The learner that `train.train` drives."""

    def __init__(
        self,
        prepared: PreparedTemplates,
        gold: list[list[int]],
        segments: Segments,
        search: Search,
        cutoff: int = 0,
        average: str = "mean",
        shape: Shape = SHAPE,
    ):
        self.prepared, self.segments, self.shape = prepared, segments, shape
        starts = prepared.starts
        problem = make_problem(segments, (shape.positions, shape.whole))
        inputs = make_inputs(problem, np.zeros((int(starts[-1]), 1), np.int64), starts, gold)
        taken = segments.lengths(inputs.gold)
        lengths = np.zeros(int(starts[-1]), np.int64)
        lengths[np.cumsum(taken) - taken] = taken
        self.numbered = number_stretches(prepared, shape, lengths, cutoff)
        table = np.stack([self.numbered.keys, np.zeros_like(self.numbered.keys)], axis=1)
        kinds = (shape.kinds, shape.positions, shape.whole)
        anchored = Anchored(self.numbered.ptr, self.numbered.numbers, table, *kinds)
        how = (search.beam, search.update, search.merge, average)
        super().__init__(problem, inputs, *how, anchored, search.check, alma=search.alma, margin=search.margin)

    def fingerprint(self) -> str:
        """Tells whether a checkpoint was made from the same data and options."""
        given = (super().fingerprint(), self.segments.labels, self.segments.longest, self.shape)
        return hashlib.sha256(f"{given}".encode()).hexdigest()

    @staticmethod
    def assemble(members: Sequence[BeamTraining]) -> Any:
        """The model that the mean of the members' weights makes; its names are left for `finish`."""
        first = members[0]
        assert isinstance(first, SegmentLearner)
        return SegmentModel(first.segments, first.shape, BeamTraining.assemble(members), Names.of([]))

    def finish(self, model: Any) -> Any:
        """Write the names that a snapshot left for later."""
        if len(model.names) < len(model.keys):
            by_key = np.argsort(self.numbered.keys)
            numbers = by_key[np.searchsorted(self.numbered.keys, model.keys, sorter=by_key)]
            model.names = stretch_names(self.prepared, self.shape, model.keys, self.numbered.tokens[numbers])
        return model


__all__ = ["SHAPE", "SegmentLearner", "SegmentModel"]
