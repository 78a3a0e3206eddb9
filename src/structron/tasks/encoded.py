"""What tasks share that always search with the beam engine: whole chunks, and tags and chunks together."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from structron.model.encoded import EncodedModel
from structron.tasks.tokens import TokenLabeler, nbest_under_beam


class EncodedLabeler(TokenLabeler):
    """A labeller whose model is an encoder and the engine's own."""

    @abstractmethod
    def _size(self, model: EncodedModel) -> str:
        """How many labels there are, for the signature."""

    def _search_tokens(
        self, model: EncodedModel, prepared: Any, jobs: int, forced: Any, margins: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        search = self.options.search()
        out, _ = model.decode(prepared, search.beam, search.merge, jobs)
        return out, np.empty(0, np.float32)

    def _nbest(self, model: EncodedModel, ready: Any, n: int, jobs: int) -> list[list[tuple[Any, float]]]:
        return nbest_under_beam(model, self.options.search(), ready, n, jobs, self._spell(model, ready))

    def explain(self, sentence: Sequence, *, top: int = 8) -> list[Any]:
        """For each step of the search the runner-up, and the features that decided.

        Args:
            sentence: A sentence, as for `predict`.
            top: How many features for each step.
        """
        search = self.options.search()
        return self._check_fitted().explain(self._prepare([sentence]), search.beam, search.merge, top)

    def _summary(self) -> dict[str, Any]:
        model, search = self.model_, self.options.search()
        found = {"update": search.rule, "search": search, "cutoff": self.options.cutoff, "features": model.size}
        return found | {"size": self._size(model)}
