"""Scores of label sequences, by the names of `sklearn_crfsuite.metrics`: scikit-learn's, over the tokens of all.

Examples:
    >>> from structron.sklearn import metrics
    >>> metrics.flat_accuracy_score([["A", "B"], ["A", "A"]], [["A", "B"], ["A", "B"]])
    0.75
    >>> metrics.sequence_accuracy_score([["A", "B"], ["A", "A"]], [["A", "B"], ["A", "B"]])
    0.5
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import chain
from typing import Any

from sklearn import metrics


def flatten(y: Iterable[Iterable[Any]]) -> list[Any]:
    """The labels of all sequences, one after the other."""
    return list(chain.from_iterable(y))


def _flat(score: Callable[..., Any]) -> Callable[..., Any]:
    """scikit-learn's score of the tokens of all sequences."""

    @wraps(score)
    def flat(y_true: Iterable[Iterable[Any]], y_pred: Iterable[Iterable[Any]], *args: Any, **given: Any) -> Any:
        return score(flatten(y_true), flatten(y_pred), *args, **given)

    flat.__name__ = flat.__qualname__ = f"flat_{score.__name__}"
    flat.__module__ = __name__  # pickles go by it
    return flat


flat_accuracy_score = _flat(metrics.accuracy_score)
"""The share of labels that are right."""
flat_precision_score = _flat(metrics.precision_score)
"""Precision of labels; `labels` and `average` as in scikit-learn."""
flat_recall_score = _flat(metrics.recall_score)
"""Recall of labels; `labels` and `average` as in scikit-learn."""
flat_f1_score = _flat(metrics.f1_score)
"""F1 of labels; `labels` and `average` as in scikit-learn."""
flat_fbeta_score = _flat(metrics.fbeta_score)
"""F of labels for some `beta`."""
flat_classification_report = _flat(metrics.classification_report)
"""A table of precision, recall and F1, label by label."""


def sequence_accuracy_score(y_true: Sequence, y_pred: Sequence) -> float:
    """The share of sequences whose labels are all right."""
    right = [list(gold) == list(guess) for gold, guess in zip(y_true, y_pred, strict=True)]
    return sum(right) / max(len(right), 1)
