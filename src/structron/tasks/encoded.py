"""What tasks share that always search with the beam engine: whole chunks, and tags and chunks together."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from structron.model.encoded import EncodedModel
from structron.tasks.chain.models import BeamSearch
from structron.tasks.tokens import TokenLabeler


class EncodedLabeler(TokenLabeler):
    """A labeller whose model is an encoder and the engine's own."""

    _with_search = BeamSearch

    @abstractmethod
    def _size(self, model: EncodedModel) -> str:
        """How many labels there are, for the signature."""

    def explain(self, sentence: Sequence, *, top: int = 8) -> list[Any]:
        """For each step of the search the runner-up, and the features that decided.

        Args:
            sentence: A sentence, as for `predict`.
            top: How many features for each step.
        """
        return self._with_search(self._check_fitted(), self.options).explain(self._prepare([sentence]), top)

    def _summary(self) -> dict[str, Any]:
        model, search = self.model_, self.options.resolved
        found = {"update": search.rule, "search": search, "cutoff": self.options.cutoff, "features": model.size}
        return found | {"size": self._size(model)}
