"""What weighs most in a trained `CRF`, as `eli5.show_weights` shows it."""

import re
from collections.abc import Sequence
from typing import Any

from structron.model.heaviest import Heaviest


def show_weights(
    estimator: Any, *, top: int = 20, targets: Sequence[str] | None = None, feature_re: str | None = None
) -> Heaviest:
    """The heaviest features of each label and the label pairs: a table when printed, HTML in a notebook.

    Args:
        estimator: A trained `CRF` or `SequenceLabeler`.
        top: How many features of each label, and how many pairs.
        targets: These labels only.
        feature_re: Only features in whose names this pattern is found; pairs are left out.

    Examples:
        >>> show_weights(crf, top=5, targets=["B-NP"])  # doctest: +SKIP
    """
    labeler = estimator._fitted()
    pattern = re.compile(feature_re or "")
    most = top if feature_re is None else len(labeler.model_.keys)
    found = [labeler.inspect(label, top=most) for label in (labeler.model_.labels if targets is None else targets)]
    labels = {
        label: [weight for weight in weights if pattern.search(weight.feature)][:top]
        for one in found
        for label, weights in one.labels.items()
    }
    pairs = sorted((weight for one in found for weight in one.transitions), key=lambda weight: -abs(weight.weight))
    return Heaviest(labels, pairs[:top] if feature_re is None else [])
