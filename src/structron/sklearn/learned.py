"""What was learned, in the form that python-crfsuite and sklearn-crfsuite give it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from structron.errors import StructronError, unknown
from structron.model.chain import ChainModel
from structron.tasks.attributes import AttributeLabeler
from structron.text.numbers import ShortFloat, shortened


def state_features(model: ChainModel) -> dict[tuple[str, Any], float]:
    """(attribute, label): weight, without those that are zero."""
    names, labels = model.names.all(), model.labels
    weights = model.w[model.fixed : model.fixed + len(names), : len(labels)]
    rows, columns = np.nonzero(weights)
    cells = zip(rows.tolist(), columns.tolist(), shortened(weights[rows, columns].tolist()), strict=True)
    return {(names[row], labels[y]): weight for row, y, weight in cells}


def transition_features(model: ChainModel) -> dict[tuple[Any, Any], float]:
    """(label, next label): weight of all pairs that may stand side by side."""
    labels = model.labels
    weights = model.w[1 : len(labels) + 1, : len(labels)].tolist()
    return {
        (before, after): ShortFloat(weights[p][y])
        for p, before in enumerate(labels)
        for y, after in enumerate(labels)
        if model.allowed[p + 1, y]
    }


def size_of(model: ChainModel) -> int:
    """Bytes of a model's arrays, as its file holds them."""
    return sum(array.nbytes for array in model.tensors().values())


class TrainingLog:
    """The passes of training, with the names that python-crfsuite's log parser uses.

    iterations: a dict for each pass with num, time (seconds), loss (wrong tokens), updates, item_accuracy_float (while
    learning), and with dev data dev_accuracy.

    Examples:
        >>> from structron.sklearn import CRF
        >>> crf = CRF(max_iterations=5).fit([["the", "dog"], ["a", "cat"]], [["DET", "NOUN"], ["DET", "NOUN"]])
        >>> crf.training_log_.last_iteration["loss"]
        0
    """

    def __init__(self, labeler: AttributeLabeler):
        self.iterations = [_iteration(record) for record in labeler.history_]

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The last pass; None if there was none."""
        return self.iterations[-1] if self.iterations else None

    def __repr__(self) -> str:
        return "\n".join(map(_line, self.iterations))


def _line(own: dict[str, Any]) -> str:
    """A pass as sklearn-crfsuite prints an iteration."""
    line = f"Iter {own['num']:<3} time={own['time']:<5.2f} loss={own['loss']:<8} Acc={own['item_accuracy_float']:.3f}"
    return f"{line} dev={own['dev_accuracy']:.3f}" if "dev_accuracy" in own else line


def _iteration(record: dict[str, Any]) -> dict[str, Any]:
    wrong, tokens = record["wrong_tokens"], max(record["tokens"], 1)
    found = {"num": record["pass"], "time": record["seconds"], "loss": wrong, "updates": record["updates"]}
    found["item_accuracy_float"] = 1 - wrong / tokens
    return found | ({"dev_accuracy": record["dev"] / 100} if "dev" in record else {})


@dataclass(frozen=True)
class ModelInfo:
    """What `SequenceTagger.info` gives: labels and attributes with their numbers, and weights."""

    header: dict[str, Any]
    labels: dict[Any, str]
    attributes: dict[str, str]
    transitions: dict[tuple[Any, Any], float]
    state_features: dict[tuple[str, Any], float]


class Labeler(Protocol):
    """What a `SequenceTagger` needs of a `SequenceLabeler`."""

    labeler_: AttributeLabeler

    def predict_single(self, x: Sequence) -> list: ...
    def predict_marginals_single(self, x: Sequence) -> list[dict[Any, float]]: ...


class SequenceTagger:
    """A trained model with the methods of `pycrfsuite.Tagger`, for one sequence at a time.

    Examples:
        >>> from structron.sklearn import CRF
        >>> crf = CRF(max_iterations=5).fit([["the", "dog"], ["a", "cat"]], [["DET", "NOUN"], ["DET", "NOUN"]])
        >>> crf.tagger_.tag(["the", "cat"])
        ['DET', 'NOUN']
    """

    def __init__(self, labeler: Labeler):
        self._labeler = labeler
        self._sequence: Sequence | None = None
        self._marginals: list[dict[Any, float]] | None = None

    def labels(self) -> list:
        """The labels."""
        return list(self._labeler.labeler_.model_.labels)

    def set(self, xseq: Sequence) -> None:
        """Set the sequence that the other methods are about."""
        self._sequence, self._marginals = xseq, None

    def tag(self, xseq: Sequence | None = None) -> list:
        """The best labels of a sequence."""
        if xseq is not None:
            self.set(xseq)
        return self._labeler.predict_single(self._given())

    def marginal(self, y: Any, pos: int) -> float:
        """How likely a label is at a position of the sequence.

        Args:
            y: The label.
            pos: The place, counted from 0.
        """
        if self._marginals is None:
            self._marginals = self._labeler.predict_marginals_single(self._given())
        if y not in self.labels():
            raise unknown("label", y, self.labels())
        if not 0 <= pos < len(self._marginals):
            raise StructronError(f"position {pos}; expected 0 to {len(self._marginals) - 1}")
        return self._marginals[pos][y]

    def probability(self, yseq: Sequence) -> float:
        """Refused: a perceptron has no probabilities of whole sequences."""
        raise StructronError("a whole sequence has no probability here; use marginal, or nbest for scores")

    def info(self) -> ModelInfo:
        """Labels, attributes and weights."""
        model = self._labeler.labeler_.model_
        attributes, labels = model.names.all(), self.labels()
        header = {"size": str(size_of(model)), "num_labels": str(len(labels)), "num_attrs": str(len(attributes))}
        known, named = ({name: str(k) for k, name in enumerate(names)} for names in (labels, attributes))
        return ModelInfo(header, known, named, transition_features(model), state_features(model))

    def close(self) -> None:
        """Nothing to close; here for code that calls it."""

    def _given(self) -> Sequence:
        if self._sequence is None:
            raise StructronError("no sequence is set; call set or tag with one first")
        return self._sequence
