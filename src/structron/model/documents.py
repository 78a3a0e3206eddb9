"""A chain model with non-local features: n-best under the local ones, the best of them under all (Kazama's eq. 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.features.documents import NonLocal, NonLocalFeatures, Opened
from structron.model.chain import ChainModel, Prepared
from structron.search.chain.candidates import for_each_document


@dataclass
class NonLocalModel(ChainModel):
    """Weights of non-local features beside those of a chain labeller."""

    features: NonLocalFeatures = field(default_factory=lambda: NonLocalFeatures([], []))
    g: np.ndarray = field(default_factory=lambda: np.empty(0))
    candidates: int = 100

    @classmethod
    def of(
        cls, base: ChainModel, sources: Sequence[NonLocal], weights: Mapping[str, float], candidates: int
    ) -> "NonLocalModel":
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
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(label per token, score per document, no margins)."""
        if margins:
            raise StructronError("margins: a model with non-local features has none; compare its n-best instead")
        opened = Opened(prepared)
        out = np.zeros(int(prepared.starts[-1]), np.int64)
        scores = np.zeros(len(opened.units) - 1, np.float32)

        def take(unit: int, rows: np.ndarray, local: np.ndarray) -> None:
            total = local + self.features.of(opened, unit, rows) @ self.g
            best, bounds = int(np.argmax(total)), opened.sentences(unit)
            out[bounds[0] : bounds[-1]] = rows[best]
            scores[unit] = total[best]

        for_each_document(self, prepared, self.candidates, jobs, take, forced)
        return out, scores, np.empty(0, np.float32)

    def nbest(self, prepared: Any, n: int, jobs: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
        """(labellings, scores) of each document, best first under all features: the first n of the candidates."""
        opened = Opened(prepared)
        found: list[Any] = [None] * (len(opened.units) - 1)

        def take(unit: int, rows: np.ndarray, local: np.ndarray) -> None:
            total = local + self.features.of(opened, unit, rows) @ self.g
            order = np.argsort(-total, kind="stable")[:n]
            found[unit] = (rows[order], total[order])

        for_each_document(self, prepared, max(n, self.candidates), jobs, take)
        return found

    def non_local_start(self) -> dict[str, tuple[float, float]]:
        return {name: (weight, 0.0) for name, weight in zip(self.features.names, self.g.tolist(), strict=True)}

    def tensors(self) -> dict[str, np.ndarray]:
        return super().tensors() | {"non_local": self.g}

    def header(self) -> dict[str, Any]:
        return super().header() | {
            "search": "non-local",
            "non_local": self.features.inventory.families,
            "non_local_functions": list(self.features.functions),
            "non_local_names": list(self.features.number),
            "candidates": self.candidates,
        }

    @classmethod
    def from_file(
        cls, header: dict[str, Any], tensors: dict[str, np.ndarray], functions: Sequence[NonLocal] = ()
    ) -> "NonLocalModel":
        """Rebuild a model; functions: those that the header names. Raises as `ChainModel.from_file`."""
        base = ChainModel.from_file(header, tensors)
        sources = [*header["non_local"], *functions]
        features = NonLocalFeatures(base.labels, sources, list(map(str, header["non_local_names"])))
        g = tensors["non_local"]
        if g.dtype != np.float64 or g.shape != (len(features),) or not np.isfinite(g).all():
            raise ValueError("weights of non-local features do not fit")
        candidates = header["candidates"]
        if not isinstance(candidates, int) or candidates < 1:
            raise ValueError("candidates cannot be used")
        given = {f.name: getattr(base, f.name) for f in fields(ChainModel)}
        return cls(**given, features=features, g=g, candidates=candidates)
