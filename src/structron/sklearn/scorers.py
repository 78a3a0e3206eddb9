"""Scorers for `cross_val_score`, `GridSearchCV` and their like, by the names of `sklearn_crfsuite.scorers`.

Examples:
    >>> from structron.sklearn import CRF, scorers
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> float(scorers.flat_accuracy(CRF().fit(X, y), X, y))
    1.0
"""

from sklearn.metrics import make_scorer

from structron.sklearn import metrics

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
"""The share of labels that are right."""
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
"""The share of sequences whose labels are all right."""
