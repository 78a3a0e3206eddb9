"""Scorers for `cross_val_score`, `GridSearchCV` and their like, by the names of `sklearn_crfsuite.scorers`."""

from sklearn.metrics import make_scorer

from structron.sklearn import metrics

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
"""The share of labels that are right."""
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
"""The share of sequences whose labels are all right."""
