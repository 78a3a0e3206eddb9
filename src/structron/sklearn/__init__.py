"""Sequence labelling with scikit-learn's interface: `SequenceLabeler`, and `CRF` for users of sklearn-crfsuite.

`metrics` and `scorers` have the functions of `sklearn_crfsuite.metrics` and `.scorers`; `show_weights` is eli5's.
"""

from structron.sklearn.labeler import Labellings, SequenceLabeler  # isort: skip  (it names the extra that is missing)
from structron.sklearn import metrics, scorers
from structron.sklearn.crf import CRF, ParameterWarning
from structron.sklearn.weights import show_weights

__all__ = ["CRF", "Labellings", "ParameterWarning", "SequenceLabeler", "metrics", "scorers", "show_weights"]
