"""A chain model with non-local features: n-best under the local ones, the best of them under all (Kazama's eq. 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from structron.features.documents import NonLocal, NonLocalFeatures, Opened
from structron.features.extract import Prepared
from structron.features.phrases import phrases_of
from structron.io.tensors import Sizes, Tensor, Tensors, texts, whole
from structron.model.chain import ChainModel
from structron.runtime.threads import BATCH_TOKENS, batches, for_each
from structron.search.chain.candidates import CHOOSE, Candidates, for_each_document

MOST_CANDIDATES = 10_000
"""Labellings that a model may choose from."""


@dataclass
class DocumentModel(ChainModel):
    """Weights of non-local features beside those of a chain labeller."""

    features: NonLocalFeatures = field(default_factory=lambda: NonLocalFeatures([], []))
    g: np.ndarray = field(default_factory=lambda: np.empty(0))
    candidates: int = 100

    kind: ClassVar[str] = "documents"

    def is_cold(self) -> bool:
        return CHOOSE.is_cold()

    @classmethod
    def of(
        cls, base: ChainModel, sources: Sequence[NonLocal], weights: Mapping[str, float], candidates: int
    ) -> "DocumentModel":
        """A chain model with the weights of non-local features by their names."""
        given = {f.name: getattr(base, f.name) for f in fields(ChainModel)}
        features = NonLocalFeatures(base.labels, sources)
        built_in = features.inventory.names
        known = set(built_in)
        own = [name for name in weights if name not in known]
        features.number = {name: len(built_in) + k for k, name in enumerate(own)}
        g = np.array([weights.get(name, 0.0) for name in features.names])
        return cls(**given, features=features, g=g, candidates=candidates)

    def decode(
        self,
        prepared: Prepared,
        jobs: int = 1,
        forced: np.ndarray | None = None,
        margins: bool = False,
        candidates: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(label per token, score per document, margin per token if asked for).

        candidates: n-best labellings to choose from; None: as many as the model was made for. A margin is that over the
        best candidate with another label there; where no candidate has one, the margin of the local model.
        """
        candidates = candidates or self.candidates
        out = np.zeros(int(prepared.starts[-1]), np.int64)
        scores = np.zeros(len(prepared.units) - 1, np.float32)
        if not margins and not self.features.functions:
            self._choose(prepared, jobs, candidates, forced, out, scores)
            return out, scores, np.empty(0, np.float32)
        opened = Opened(prepared)
        sure = super().decode(prepared, jobs, forced, True)[2] if margins else np.empty(0, np.float32)

        def take(unit: int, rows: np.ndarray, local: np.ndarray) -> None:
            total = local + self.features.of(opened, unit, rows) @ self.g
            best, bounds = int(np.argmax(total)), opened.sentences(unit)
            out[bounds[0] : bounds[-1]] = rows[best]
            scores[unit] = total[best]
            if margins:
                others = np.where(rows != rows[best], total[:, None], -np.inf).max(axis=0)
                found = np.flatnonzero(others > -np.inf)
                sure[bounds[0] + found] = total[best] - others[found]

        for_each_document(self, prepared, candidates, jobs, take, forced)
        return out, scores, sure

    def _choose(
        self,
        prepared: Prepared,
        jobs: int,
        candidates: int,
        forced: np.ndarray | None,
        out: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        """`decode` where all features are built-in ones, without a labelling written out or a document in Python."""
        units = prepared.units
        g = np.where(self.features.wanted, self.g, 0.0)
        how: Any = (self.features.inventory.scheme, phrases_of(prepared))

        def run(batch: tuple[int, int]) -> None:
            lo, hi = batch
            chains = self.chains(prepared, int(units[lo]), int(units[hi]), forced)
            own, tokens = units[lo : hi + 1] - units[lo], slice(*prepared.starts[units[[lo, hi]]].tolist())
            work = self.work(chains, loaded=self.loaded)
            search = Candidates(chains, own, len(self.labels), self.w.shape[1], self.order, work)
            features = (*how, lo, g, self.features.kinds)
            search.choose(self.weights, candidates, features, out[tokens], scores[lo:hi])

        if jobs == 1 and 0 < len(out) <= BATCH_TOKENS:
            run((0, len(scores)))
        else:
            for_each(run, batches(prepared.starts[units], jobs), jobs)

    def nbest(
        self, prepared: Any, n: int, jobs: int = 1, candidates: int | None = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """(labellings, scores) of each document, best first under all features: the first n of the candidates."""
        opened = Opened(prepared)
        found: list[Any] = [None] * (len(opened.units) - 1)

        def take(unit: int, rows: np.ndarray, local: np.ndarray) -> None:
            total = local + self.features.of(opened, unit, rows) @ self.g
            order = np.argsort(-total, kind="stable")[:n]
            found[unit] = (rows[order], total[order])

        for_each_document(self, prepared, max(n, candidates or self.candidates), jobs, take)
        return found

    def document_weights(self) -> dict[str, tuple[float, float]]:
        """Weights of document features for training that goes on, with sums of 0."""
        return {name: (weight, 0.0) for name, weight in zip(self.features.names, self.g.tolist(), strict=True)}

    def document_scores(self, prepared: Prepared, path: list[int]) -> dict[str, float]:
        """What each document feature adds to a labelling of the only sentence."""
        values = self.features.of(Opened(prepared), 0, np.array([path], np.int16))[0] * self.g
        return {name: value for name, value in zip(self.features.names, values.tolist(), strict=True) if value}

    def tensors(self) -> Tensors:
        return super().tensors() | {"non_local": self.g}

    def header(self) -> dict[str, Any]:
        return super().header() | {
            "non_local": self.features.inventory.families,
            "non_local_functions": list(self.features.functions),
            "non_local_names": list(self.features.number),
            "candidates": self.candidates,
        }

    @classmethod
    def declared(cls, header: dict[str, Any]) -> tuple[dict[str, Tensor], Sizes]:
        declared, sizes = super().declared(header)
        return declared | {"non_local": Tensor("float64", "document features")}, sizes

    @classmethod
    def from_file(
        cls, header: dict[str, Any], tensors: Tensors, functions: Sequence[NonLocal] = (), **more: Any
    ) -> "DocumentModel":
        """functions: those that the header names."""
        names = texts(header["non_local_names"], "document features")
        sources = [*texts(header["non_local"], "document features"), *functions]
        features = NonLocalFeatures(header["labels"], sources, names)
        if len(tensors["non_local"]) != len(features):
            raise ValueError("weights of document features do not fit")
        given = {"features": features, "g": tensors["non_local"]}
        given["candidates"] = whole(header["candidates"], "candidates", 1, MOST_CANDIDATES)
        return super().from_file(header, tensors, **given)  # type: ignore[return-value]
