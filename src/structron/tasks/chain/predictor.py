"""What can be asked of a model that gives every token one label, however it has learned: labels, n-best lists, scores,
features and explanations (models.py has what differs by kind of model)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from structron.errors import StructronError, unknown
from structron.eval.scores import accuracy_scores, chunk_scores
from structron.model.heaviest import Heaviest
from structron.tasks.chain.models import searching
from structron.tasks.tokens import TokenLabeler
from structron.text.sentences import decode_labels

if TYPE_CHECKING:
    from structron.features.wordforms import Choices, LexiconTags


class LabelPredictor(TokenLabeler):
    """Gives every token one label."""

    metric: ClassVar[str] = "accuracy"
    _with_search = staticmethod(searching)

    def _given(self) -> list[str]:
        """Columns that are looked up with the word."""
        return list(self.options.given)

    def _looked_up(self) -> set[str]:
        given = set(self._given())
        if given and (missing := given - set(self.roles_.inputs)):
            raise unknown("column to look up", min(missing), self.roles_.inputs)
        return given

    def _lexicon_tags(self, labels: Sequence[str]) -> "LexiconTags | None":
        """The labels that the user's lexicon has for words, if there is one."""
        if self.lexicon_ is None:
            return None
        from structron.features.wordforms import LexiconTags

        return LexiconTags(self.lexicon_, self.roles_.outputs[0], labels, self._given())

    def _lexicon_choices(self, labels: Sequence[str]) -> "Choices | None":
        """Labels that count as seen with words, because the user's lexicon has them."""
        return self._lexicon_tags(labels)

    def _scores(self, gold: list, guess: list, sentences: Any = None) -> Any:
        """`ChunkScores` or `AccuracyScores`; with the sentences also for words that training has shown or not."""
        if self.metric == "f1":
            return chunk_scores(gold, guess)
        if sentences is None:
            return accuracy_scores(gold, gold, guess, lambda word: True)
        prepared = self._prepare(sentences)
        found = self._with_search(self.model_, self.options).known.dictionary.find(prepared.word_types) >= 0
        known = dict(zip(prepared.word_types, found.tolist(), strict=True))
        words = decode_labels(prepared.word_ids, prepared.word_types, prepared.starts)
        return accuracy_scores(words, gold, guess, known.__getitem__)

    def inspect(self, label: str | None = None, *, top: int = 20) -> Heaviest:
        """The features with the largest weights, and the label pairs and triples with the largest.

        Args:
            label: Only those of this label; by default of every label.
            top: How many of each.
        """
        return self._with_search(self._check_fitted(), self.options).inspect(label, top)

    def explain(self, sentence: Sequence, *, top: int = 8) -> Any:
        """For each token its label, the runner-up and the `top` features that decided, those that weighed most first.

        Under a beam: for each step of the search.

        Args:
            sentence: A sentence, as for `predict`.
            top: How many features for each token.
        """
        model = self._check_fitted()
        self._check_has("explain")
        return self._with_search(model, self.options).explain(self._prepare([sentence]), top)

    def has_beam(self) -> bool:
        return super().has_beam() and self._with_search(self._check_fitted(), self.options).has_beam

    def _scene(self, sentence: Any, gold: Any) -> Any:
        if not self._with_search(self.model_, self.options).has_beam:
            raise StructronError(
                "trace: the model was trained with exact search, which has no beam; expected one trained with --beam N"
            )
        return super()._scene(sentence, gold)

    def _summary(self) -> dict[str, Any]:
        model, rule = self.model_, self.options.resolved.rule
        how, size = str(self._with_search(model, self.options)), f"labels {len(model.labels)}"
        return {"update": rule, "search": how, "cutoff": self.options.cutoff, "features": model.size, "size": size}
