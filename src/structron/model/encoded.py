"""Sentences in the beam engine: a model of tokens is the engine's own model and an encoder.

An encoder is all that a task adds (labels under a beam, whole chunks, tags and chunks together): how sentences become
the engine's inputs, what its actions say of tokens, and how its features are called.

    sentences ──encoder.inputs, encoder.hashes──▶ engine ──▶ actions ──encoder.labels_of──▶ a number for each token
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from structron.features.encode import Hashes
from structron.features.names import Names
from structron.io.tensors import Sizes, Tensor, Tensors, check, texts
from structron.model.beam import BeamModel
from structron.search.beam.frontier import Anchored, Inputs

MARGIN_TOKENS = 20_000
"""Tokens in one batch of searches for margins."""


class Encoder(ABC):
    """Between sentences and the engine. Its `problem` is the one that predictions are searched in, its `labels` are
    those of tokens."""

    kind: ClassVar[str]
    labels: Any

    @abstractmethod
    def inputs(self, prepared: Any, lo: int, hi: int, forced: np.ndarray | None = None) -> Inputs:
        """Sentences lo … hi - 1 for the engine. forced: int[tokens of all sentences], -1 = free."""

    def hashes(self, prepared: Any, lo: int, hi: int) -> Hashes:
        """The features that are numbered before the search: by default those of the tokens alone."""
        return prepared.hashes(lo, hi)

    def labels_of(self, actions: np.ndarray) -> np.ndarray:
        """The numbers of tokens' labels: by default actions are labels."""
        return actions

    def column_names(self) -> list[str]:
        """What the columns of weights are of: by default labels."""
        return self.labels

    @abstractmethod
    def describe(self, key: int) -> str:
        """The name of a feature that is made in states."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """What a model file's header says."""

    def tensors(self) -> Tensors:
        """The arrays of a model file beside those of the engine's model."""
        return {}

    @classmethod
    def declared(cls, header: dict[str, Any]) -> tuple[dict[str, Tensor], Sizes]:
        """The arrays that go with a header, and the sizes that it settles."""
        return {}, {}

    @classmethod
    @abstractmethod
    def from_file(cls, header: dict[str, Any], tensors: Tensors) -> Self:
        """The inverse of `header` and `tensors`, of arrays that were checked; ValueError: they do not fit together."""


@dataclass
class EncodedModel:
    """A model that gives every token a label."""

    encoder: Any  # Encoder
    base: BeamModel
    names: Names = field(default_factory=lambda: Names.of([]))  # of base.anchored_keys

    votes: ClassVar[None] = None

    @property
    def kind(self) -> str:
        return self.encoder.kind

    @property
    def labels(self) -> list[str]:
        """Those of tokens."""
        return self.encoder.labels

    @property
    def size(self) -> int:
        """How many features have weights."""
        return len(self.base.anchored_keys) + len(self.base.keys)

    def is_cold(self) -> bool:
        """Whether the first search has to wait for the compiler."""
        return self.base.is_cold()

    # -- searching -----------------------------------------------------------------------------------------------

    def look(self, prepared: Any, lo: int, hi: int, forced: np.ndarray | None = None) -> tuple[Inputs, Anchored]:
        """Sentences lo … hi - 1 for the engine. forced: int[tokens of all sentences], -1 = free."""
        inputs = self.encoder.inputs(prepared, lo, hi, forced)
        return inputs, self.base.anchor(self.encoder.hashes(prepared, lo, hi))

    def decode(
        self, prepared: Any, beam: int | None, merge: int, jobs: int = 1, forced: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(label per token, score per sentence), on several threads if wanted."""

        def look(lo: int, hi: int) -> tuple[Inputs, Anchored]:
            return self.look(prepared, lo, hi, forced)

        return self.base.decode_tokens(prepared.starts, look, beam, merge, jobs, self.encoder.labels_of)

    def nbest(
        self, prepared: Any, n: int, beam: int | None, merge: int, jobs: int = 1
    ) -> list[tuple[list[np.ndarray], list[float]]]:
        """(labellings, scores) of each sentence: what the last beam holds, best first."""
        inputs, anchored = self.look(prepared, 0, len(prepared.starts) - 1)
        found = self.base.candidates(inputs, n, beam, merge, anchored, jobs)
        return [([self.encoder.labels_of(np.array(a, np.int64)) for a, _ in own], [s for _, s in own]) for own in found]

    def margins(
        self,
        prepared: Any,
        out: np.ndarray,
        scores: np.ndarray,
        beam: int | None,
        merge: int,
        jobs: int = 1,
        forced: np.ndarray | None = None,
    ) -> np.ndarray:
        """float32[tokens]: by how much each label beats the best labelling that the beam finds without it.

        Each token is searched for once more, in a copy of its sentence that rules its label out.
        """
        sure = np.full(len(out), np.inf, np.float32)
        for tokens in _batches(prepared.starts):
            inputs, anchored, possible = self.encoder.without(self, prepared, tokens, out[tokens], forced)
            _, found = self.base.decode(inputs, beam, merge, anchored, jobs)
            sentence = np.searchsorted(prepared.starts, tokens, "right") - 1
            sure[tokens[possible]] = scores[sentence[possible]] - np.array(found)
        return sure

    # -- looking in ----------------------------------------------------------------------------------------------

    def name_of(self, place: int) -> str:
        """The name of a feature: numbered ones come first."""
        first = len(self.base.anchored_keys)
        if place < first:
            return self.names.take(np.array([place])).all()[0]
        return self.encoder.describe(int(self.base.keys[place - first]))

    def explain(self, prepared: Any, beam: int | None, merge: int, top: int) -> list[Any]:
        """For each action of the best derivation of the only sentence the runner-up, and the features that decided."""
        from structron.model.explain import Explainer

        if not int(prepared.starts[-1]):
            return []
        inputs, anchored = self.look(prepared, 0, 1)
        (actions,), _ = self.base.decode(inputs, beam, merge, anchored)
        words, where = [prepared.word_types[k] for k in prepared.word_ids.tolist()], self.base.problem.where
        explainer = Explainer(
            self.base, inputs, self.name_of, lambda walk, row: words[walk.states[row, where]], anchored
        )
        return explainer.steps(actions, top)

    # -- files ---------------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """What a model file's header says of its arrays."""
        return {"kind": self.kind, "name_heads": self.names.heads, "encoder": self.encoder.header()}

    def tensors(self) -> Tensors:
        """The arrays of a model file."""
        return self.base.tensors() | self.names.tensors() | self.encoder.tensors()

    @classmethod
    def read(cls, encoder_kind: type[Any], header: dict[str, Any], tensors: Tensors) -> "EncodedModel":
        """Rebuild a model; ValueError: the arrays are not those that are declared, or do not fit together."""
        own, sizes = encoder_kind.declared(header["encoder"])
        check({name: tensors[name] for name in own if name in tensors}, own, sizes)
        encoder = encoder_kind.from_file(header["encoder"], tensors)
        heads = texts(header["name_heads"], "names")
        rest = BeamModel.declared(encoder.problem) | Names.declared("anchored", heads)
        check({name: array for name, array in tensors.items() if name not in own}, rest, {})
        base = BeamModel.from_tensors(encoder.problem, tensors)
        return cls(encoder, base, Names.from_tensors(heads, tensors))


def _batches(starts: np.ndarray) -> Iterator[np.ndarray]:
    """The tokens of all sentences in lists whose sentences, each once for each of its tokens, fit into a batch."""
    lengths = np.diff(starts)
    cost = np.repeat(lengths, lengths)
    tokens = np.arange(int(starts[-1]))
    cuts = np.flatnonzero(np.diff(np.cumsum(cost) // MARGIN_TOKENS)) + 1
    yield from (part for part in np.split(tokens, cuts) if len(part))


def expanded(inputs: Inputs, anchored: Anchored, sentences: np.ndarray) -> tuple[Inputs, Anchored]:
    """Copies of some sentences of the engine's inputs, in any number and order."""
    begin, lengths = inputs.starts[sentences], np.diff(inputs.starts)[sentences]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    source = np.repeat(begin - starts[:-1], lengths) + np.arange(int(starts[-1]))
    sizes = np.diff(anchored.ptr)[source]
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    numbers = anchored.numbers[np.repeat(anchored.ptr[source] - ptr[:-1], sizes) + np.arange(int(ptr[-1]))]
    copied = inputs._replace(x=inputs.x[source], starts=starts, limit=inputs.limit[sentences])
    return copied, anchored._replace(ptr=ptr, numbers=numbers)
