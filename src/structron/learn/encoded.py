"""Learning sentences in the beam engine: the engine's own learner and an encoder (model/encoded.py)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structron.features.index import Numbered
from structron.features.names import Names
from structron.learn.beam import BeamTraining, Beginning, Known
from structron.learn.checkpoint import digest
from structron.model.encoded import EncodedModel
from structron.options import Search
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.problem import SearchProblem
from structron.update.delta import NUMBERED


@dataclass(frozen=True)
class Encoded:
    """Training data as an encoder gives them.

    problem: as it is searched while learning: what the training data do is allowed.   names: writes those of features,
    given their keys and tokens where they fire.
    """

    encoder: Any
    problem: SearchProblem
    inputs: Inputs
    numbered: Numbered
    names: Callable[[np.ndarray, np.ndarray], Names]
    known: Known | None = None


class EncodedLearner(BeamTraining):
    """The learner that `learn.loop` drives."""

    def __init__(
        self,
        data: Encoded,
        search: Search,
        average: str = "mean",
        start: EncodedModel | None = None,
        columns: np.ndarray | None = None,
    ):
        """columns: where the columns of weights of a model to start from stand now; None: they are the same."""
        self.data, self.known = data, start
        keys = data.numbered.keys
        table = np.stack([keys, np.zeros_like(keys)], axis=1)
        anchored = Anchored(data.numbered.ptr, data.numbered.numbers, table, *data.problem.kinds)
        beginning = None if start is None else Beginning(start.base, columns)
        super().__init__(data.problem, data.inputs, search, average, anchored, start=beginning, known=data.known)

    def part(self, examples: np.ndarray) -> Any:
        other = super().part(examples)
        other.data = other.known = None
        return other

    def fingerprint(self) -> str:
        return digest((super().fingerprint(), self.data.encoder.kind), ())

    @staticmethod
    def assemble(members: Sequence[BeamTraining]) -> Any:
        first: Any = members[0]
        base = BeamTraining.assemble(members)
        base.problem = first.data.encoder.problem
        return EncodedModel(first.data.encoder, base)

    def feature_name(self, feature: int) -> str:
        """The name of a feature as update/delta.py knows it: a key that is made in states, or a number + 1."""
        if feature >= NUMBERED:
            return self.data.encoder.describe(feature)
        known = None if self.known is None else self.known.names
        return self.data.numbered.names(np.array([feature - 1]), known, self.data.names).all()[0]

    def free_search_buffers(self, model: Any) -> None:
        model.base.free_search_buffers()

    def finish(self, model: Any) -> Any:
        keys = model.base.anchored_keys
        if len(model.names) < len(keys):
            numbered = self.data.numbered
            known = None if self.known is None else self.known.names
            model.names = numbered.names(numbered.numbers_of(keys), known, self.data.names)
        return model
