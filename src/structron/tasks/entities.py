"""Named entities in whole documents: labels of any chunk scheme in and out, learned in the one that learns best.

The same name in two sentences of a document is mostly the same entity, which non-local features say (Kazama & Torisawa
2007). Within the model labels follow one scheme, whatever the data are written in:

user's labels ──convert──▶ inner labels ──learn, search──▶ inner labels ──convert──▶ user's labels
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron import schemes
from structron.errors import StructronError, unknown
from structron.features.phrases import FAMILIES
from structron.sentences import spell
from structron.tasks.chain.labeler import ChainLabeler, Model, Sentences
from structron.update.nbest import SENTENCES


class EntityRecognizer(ChainLabeler):
    __doc__ = f"""A recogniser of named entities, with the defaults that find most; takes sentences or Documents.

    inner: the chunk scheme of the model's own labels (forbid names these): {", ".join(schemes.LETTERS)}.

    {ChainLabeler.__doc__}"""
    task: ClassVar[str] = "entities"
    metric: ClassVar[str] = "f1"
    documents: ClassVar[bool] = True
    default_templates: ClassVar[dict[str, str]] = {"pos": "entities", "": "entities-words"}
    _written: str | None = None  # while training: the scheme of the data, which is `scheme_` afterwards

    def __init__(
        self,
        *,
        inner: str = "iob2",
        order: int = 1,
        passes: int = 15,
        cutoff: int = 2,
        margin: float | None = 50.0,
        non_local: Sequence[Any] = FAMILIES,
        local_update: str = SENTENCES,
        test_candidates: int = 400,
        **options: Any,
    ):
        options |= {"order": order, "passes": passes, "cutoff": cutoff, "margin": margin}
        options |= {"local_update": local_update, "test_candidates": test_candidates}
        super().__init__(non_local=non_local, **options)
        self.inner = inner

    def _train(
        self,
        sentences: Sentences,
        dev: Sentences | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Any,
        start: Any = None,
    ) -> None:
        """Learn inner labels: meanwhile `scheme_`, which constrains the search, is theirs."""
        if self.inner not in schemes.LETTERS:
            raise unknown("inner scheme", self.inner, schemes.LETTERS)
        self._written = self.scheme_ if start is not None else None
        self.scheme_ = self.inner if start is not None else None
        super()._train(sentences, dev, checkpoint, resume, progress, start)
        self.scheme_ = self._written

    def _prepare(self, sentences: Sentences, labelled: bool = False, what: str = "data") -> Any:
        """The first labels that are seen tell the scheme; `prepared.written` keeps them as they are."""
        prepared = super()._prepare(sentences, labelled, what)
        if not labelled:
            return prepared
        prepared.written = spell(prepared.label_ids, prepared.label_types, prepared.batch.starts)
        inner = convert_all(prepared.written, self.inner, what)
        if self._written is None and self.scheme_ is None:
            self._written = schemes.detect(prepared.written)
        prepared.label_types = sorted({label for labels in inner for label in labels})
        number = {label: k for k, label in enumerate(prepared.label_types)}
        prepared.label_ids = np.array([number[label] for labels in inner for label in labels], np.int32)
        return prepared

    def _gold(self, prepared: Any) -> list[list[str]]:
        return prepared.written

    def _spell(self, out: np.ndarray, model: Model, prepared: Any) -> list[list[str]]:
        found = spell(out, model.labels, prepared.batch.starts)
        written = self._written or self.scheme_
        return found if written in (None, self.inner) else convert_all(found, written)

    def check_forced(self) -> None:
        """Refuse forced labels where they are not the model's own: what they stand for can depend on labels to come."""
        if self.scheme_ not in (None, self.inner):
            raise StructronError(
                f"forced labels: the model's own are {self.inner}, those of its training data {self.scheme_}; "
                f"expected a model that was trained with inner scheme {self.scheme_}"
            )

    def _numbers(self, model: Model, sentences: Any, forced: Any) -> list[list[int]] | None:
        if forced is not None:
            self.check_forced()
        return super()._numbers(model, sentences, forced)


def convert_all(sentences: Sequence[Sequence[str]], scheme: str, what: str = "labels") -> list[list[str]]:
    """The labels of sentences in a scheme; what they mean is read as conlleval does, whatever theirs is.

    Most sentences are labelled like many others, above all those without entities: each labelling is converted once.
    """
    known: dict[tuple[str, ...], list[str]] = {}
    found = []
    for s, sentence in enumerate(sentences):
        labels = tuple(sentence)
        if labels not in known:
            try:
                known[labels] = schemes.convert(labels, "iob2", scheme)
            except StructronError as error:
                raise StructronError(f"{what}: sentence {s + 1}: {error}") from None
        found.append(known[labels])
    return found
