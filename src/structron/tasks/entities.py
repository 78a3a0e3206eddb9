"""Named entities in whole documents: labels of any chunk scheme in and out, learned in the one that learns best.

The same name in two sentences of a document is mostly the same entity, which document features say (Kazama & Torisawa
2007). Within the model labels follow one scheme, whatever the data are written in:

    user's labels ──convert──▶ inner labels ──learn, search──▶ inner labels ──convert──▶ user's labels
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.estimator import Sentences
from structron.features.encode import Column
from structron.io.tensors import Tensors
from structron.tasks.chain.labeler import ChainLabeler
from structron.tasks.options import EntityOptions
from structron.tasks.partial import check_closed, check_order
from structron.text import schemes
from structron.text.sentences import decode_labels


class EntityRecognizer(ChainLabeler):
    """Finds named entities in sentences or Documents, consistently within a Document.

    The margin is 50 unless `alma` or `swvp` is given. All built-in document features are used if the search is exact
    and `swvp` is not given.

    Examples:
        >>> from structron import Document, EntityRecognizer
        >>> ann = [("Ann", "B-PER"), ("lives", "O"), ("in", "O"), ("Paris", "B-LOC")]
        >>> bob = [("Bob", "B-PER"), ("left", "O"), ("Rome", "B-LOC")]
        >>> recognizer = EntityRecognizer(columns=["word", "entity"], cutoff=0).fit([Document([ann, bob])])
        >>> recognizer.predict([["Ann", "left", "Paris"]])
        [['B-PER', 'O', 'B-LOC']]
    """

    options_class = EntityOptions
    usual_columns: ClassVar[tuple[str, ...]] = ("word", "pos", "entity")
    metric: ClassVar[str] = "f1"
    documents: ClassVar[bool] = True

    def _learner(self, sentences: Sentences, start: Any) -> Any:
        if start is None:
            self.written_: str | None = None
        return super()._learner(sentences, start)

    def _prepare(self, sentences: Sentences, labelled: bool = False, what: str = "data") -> Any:
        """The first labels that are seen tell the scheme of the data."""
        prepared = super()._prepare(sentences, labelled, what)
        if not labelled:
            return prepared
        written = decode_labels(prepared.label_ids, prepared.label_types, prepared.starts)
        if (prepared.label_ids < 0).any():
            return self._convert_partial(prepared, written, what)
        if self.written_ is None:
            self.written_ = schemes.detect(written)
        inner = convert_all(written, self.options.inner, what)
        prepared.label_types = sorted({label for labels in inner for label in labels})
        number = {label: k for k, label in enumerate(prepared.label_types)}
        prepared.label_ids = np.array([number[label] for labels in inner for label in labels], np.int32)
        return prepared

    def _convert_partial(self, prepared: Any, written: list[list[str | None]], what: str) -> Any:
        """Labels of which some are open: beside one, a label may stand for several inner ones."""
        inner = self.options.inner
        if inner == "iob1":
            raise StructronError(f"{what}: open labels do not work with inner {inner}; expected iob2, iobes or bilou")
        if self.written_ is None:
            self.written_ = schemes.detect_partial(written)
        sets: dict[int, tuple[str, ...]] = {}
        for s, labels in enumerate(written):
            if None in labels and self.written_ is not None:
                found = schemes.agreeing(labels, self.written_, inner)
            else:
                full = convert_all([[label or "O" for label in labels]], inner, what)[0]
                found = [(y,) if label is not None else () for label, y in zip(labels, full, strict=True)]
            sets |= {token: own for token, own in enumerate(found, int(prepared.starts[s])) if own}
        prepared.label_types = sorted({label for own in sets.values() for label in own})
        number = {label: k for k, label in enumerate(prepared.label_types)}
        prepared.label_ids = np.full(int(prepared.starts[-1]), -1, np.int32)
        for token, own in sets.items():
            prepared.label_ids[token] = number[own[0]] if len(own) == 1 else -1
        prepared.label_sets = {token: own for token, own in sets.items() if len(own) > 1}
        prepared.written = written
        return prepared

    def _make_learner(self, prepared: Any, start: Any) -> Any:
        if not hasattr(prepared, "label_sets"):
            return super()._make_learner(prepared, start)
        for number, labels in zip(prepared.sentence_numbers, prepared.written, strict=True):
            if None in labels and self.written_ is not None:
                check_order(labels, self.written_, f"training data: sentence {number}")
        return self._learner_among(prepared, start, prepared.label_sets)

    def _gold(self, sentences: Sentences, what: str = "data") -> list[list[str]]:
        prepared = super()._prepare(sentences, True, what)
        check_closed(prepared, self.options.open_label, what)
        written = decode_labels(prepared.label_ids, prepared.label_types, prepared.starts)
        convert_all(written, self.options.inner, what)
        return written

    def _decode_labels(self, out: np.ndarray, model: Any, prepared: Any, bounds: np.ndarray) -> list[list[str]]:
        found = super()._decode_labels(out, model, prepared, bounds)
        return found if self.written_ in (None, self.options.inner) else convert_all(found, self.written_)

    def _column(self, out: np.ndarray, model: Any, prepared: Any) -> Column:
        if self.written_ in (None, self.options.inner):
            return Column.of_labels(model.labels, out)
        return Column.of(chain.from_iterable(self._decode_labels(out, model, prepared, prepared.starts)))

    def _numbers(self, model: Any, sentences: Sequence, forced: Any) -> list[list[int]]:
        """Forced labels must be the model's own: what others stand for can depend on labels to come."""
        if self.written_ not in (None, self.options.inner):
            raise StructronError(
                f"forced labels: the model uses {self.options.inner}, its training data {self.written_}; "
                f"expected a model trained with the inner scheme {self.written_}"
            )
        return super()._numbers(model, sentences, forced)

    def _state(self, model: Any) -> tuple[dict[str, Any], Tensors]:
        learned, tensors = super()._state(model)
        return learned | {"written": self.written_}, tensors

    def _load_state(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        if learned["written"] not in (None, *schemes.LETTERS):
            raise ValueError("the scheme does not fit")
        self.written_ = learned["written"]
        super()._load_state(learned, tensors, **code)


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
