"""`SequenceLabeler`: the chain labeller as a scikit-learn estimator, fed as sklearn-crfsuite's `CRF` is.

It stands on the same `ChainLabeler` as the tagger and the chunker, with the user's attributes in place of templates,
and adds what scikit-learn expects: X and y apart, parameters it can read and set, pickles, its own exceptions.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from numbers import Integral
from operator import eq
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.features.attributes import AttributeExtractor, short
from structron.model.chain import ChainModel
from structron.options import Passes, Weighted, choice, free, options, options_of, real, switch, whole
from structron.sentences import spell
from structron.tasks.chain.labeler import ChainLabeler

try:
    from joblib import effective_n_jobs
    from scipy.sparse import issparse
    from sklearn.base import BaseEstimator
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError("structron.sklearn needs scikit-learn: pip install structron[sklearn]") from error

DEFAULT_SEED = 1
CARRIED_OVER = ("model_", "learner_", "scheme_")
"""What a labeller that goes on learning takes over from the one before."""


class Labellings(list):
    """One list of labels per sequence; as an array one-dimensional, whatever the lengths.

    numpy makes no matrix of ragged lists, and `cross_val_predict` joins what the folds predict as arrays.
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.fromiter(self, object, len(self))


@options()
class _AttributeLabeler(ChainLabeler):
    """The chain labeller on a user's attributes; labelled sentences are pairs of tokens and labels."""

    task: ClassVar[str] = "sequence-labeler"

    def _settle(self, sentences: Any) -> Any:
        return sentences

    def _judge(self, dev: Any) -> Any:
        ready = self._prepare(dev, True, "dev data")
        gold = spell(ready.label_ids, ready.label_types, ready.starts)
        return lambda model: self._scores(gold, self._decode(model, ready, self.jobs)).accuracy

    def _chunks(self) -> bool:
        return self.constrain

    def __getstate__(self) -> dict[str, Any]:
        """The model as its file would hold it; neither the training data nor what is quickly made again."""
        state = {name: value for name, value in vars(self).items() if name != "learner_"}
        return state | {"model_": (self.model_.header(), self.model_.tensors())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrays are copied: joblib hands large ones over as read-only maps of a file, which kernels do not take."""
        header, tensors = state["model_"]
        model = ChainModel.from_file(header, {name: np.array(tensor) for name, tensor in tensors.items()})
        vars(self).update(state | {"model_": model})


@options()
class SequenceLabeler(BaseEstimator, Passes, Weighted):
    """Labels the tokens of sequences with the averaged structured perceptron and exact search (Collins 2002).

    X is a list of sequences; a token is a dict, a list or set of strings, or a string, as in python-crfsuite (see
    `structron.features.attributes`). y is a list of lists of labels, all strings or all integers.

    classes_: the labels, sorted.   n_iter_: passes made.   history_: the figures of each pass.
    labeler_: the labeller beneath; its `model_` has the weights.
    """

    cutoff: int = whole("Leave out attributes seen less than N times.", default=0, least=0)
    random_state: Any = free(
        "Seed for shuffling; None is a fixed seed too, so that results can be had again.", default=None
    )
    n_jobs: int | None = free("Threads that predict.", default=None)
    margin: float | None = real(
        "Learn until the right labels win by more than this.", default=None, least=0, metavar="C", none="none"
    )
    order: int = whole("Markov order of the labels: 1 or 2.", default=1, most=2)
    average: str = choice("Averaged weights, the last ones, or a vote.", ("mean", "none", "voted"), default="mean")
    constrain: bool = switch("Keep chunk labels (IOB1, IOB2, IOBES, BILOU) in a legal order.", default=False)
    forbid: Iterable[tuple[Any, Any]] = free("Further (label, next label) pairs to rule out.", default=())

    get_params, set_params, __repr__ = BaseEstimator.get_params, BaseEstimator.set_params, BaseEstimator.__repr__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = tags.input_tags.dict = True
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        return tags

    # -- training ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> "SequenceLabeler":
        """Learn from labelled sequences; with dev data the pass that labels most of its tokens right is kept."""
        if (X_dev is None) != (y_dev is None):
            raise StructronError("dev data: X_dev or y_dev is missing; expected both or neither")
        data = self._pairs(X, y, "training data")
        dev = None if X_dev is None else self._pairs(X_dev, y_dev, "dev data")
        labeler = self._make_labeler(_kind(data))
        labeler.fit(data, dev=dev)
        return self._keep(labeler)

    def partial_fit(self, X: Any, y: Any, classes: Sequence | None = None) -> "SequenceLabeler":
        """Go on learning from these sequences, `passes` times; they may bring new attributes and new labels.

        classes: labels to reckon with though no sequence may show them yet; neither needed nor final.
        """
        data = self._pairs(X, y, "training data")
        before = vars(self.labeler_) if hasattr(self, "labeler_") else {}
        known = [*(self.classes_ if before else []), *([] if classes is None else classes)]
        labeler = self._make_labeler(_kind(data, known), known)
        vars(labeler).update({name: value for name, value in before.items() if name in CARRIED_OVER})
        labeler.partial_fit(data)
        return self._keep(labeler)

    def _make_labeler(self, kind: type, known: Sequence = ()) -> _AttributeLabeler:
        """A labeller with the present parameters, which it checks."""
        shared = options_of(_AttributeLabeler).keys() & options_of(type(self)).keys()
        given = {name: getattr(self, name) for name in shared} | {"constrain": self.constrain and kind is str}
        labeler = _AttributeLabeler(**given, seed=self._seed())
        labeler.extractor_ = AttributeExtractor(known)  # type: ignore[assignment]
        return labeler

    def _seed(self) -> int:
        if self.random_state is None:
            return DEFAULT_SEED
        if isinstance(self.random_state, Integral) and int(self.random_state) >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _keep(self, labeler: _AttributeLabeler) -> "SequenceLabeler":
        """A labeller that Ctrl-C stopped is kept as well, but a search over parameters must not go on after it."""
        self.labeler_ = labeler
        if labeler.stopped_ == "interrupted":
            raise KeyboardInterrupt
        return self

    def _pairs(self, X: Any, y: Any, what: str) -> list[tuple[Sequence, Sequence]]:
        """Tokens and labels of each sequence, after every check that needs both."""
        if y is None:
            raise StructronError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        sequences, labels = _sequences(X, f"{what}: X", "tokens"), _sequences(y, f"{what}: y", "labels")
        if len(sequences) != len(labels):
            raise StructronError(f"{what}: {len(sequences)} sequences in X, {len(labels)} in y; expected as many")
        for s, (tokens, row) in enumerate(zip(sequences, labels, strict=True)):
            if len(tokens) != len(row):
                found = f"{len(tokens)} tokens, {len(row)} labels"
                raise StructronError(f"{what}: sequence {s + 1}: {found}; expected one label per token")
        rows = (row.tolist() if isinstance(row, np.ndarray) else row for row in labels)
        return list(zip(sequences, rows, strict=True))

    # -- using ---------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> list:
        return sorted(self.labeler_.model_.labels)

    @property
    def history_(self) -> list[dict[str, Any]]:
        return self.labeler_.history_

    @property
    def n_iter_(self) -> int:
        return len(self.labeler_.history_)

    def predict(self, X: Any) -> Labellings:
        """The best labels of every sequence."""
        check_is_fitted(self, "labeler_")
        return Labellings(self.labeler_.predict(_sequences(X, "X", "tokens"), jobs=effective_n_jobs(self.n_jobs)))

    def predict_single(self, x: Sequence) -> list:
        """The best labels of one sequence."""
        return self.predict([x])[0]

    def predict_with_margins(self, X: Any) -> tuple[Labellings, list[list[float]]]:
        """Labels, and for each token by how much they beat the best labelling with another label there."""
        check_is_fitted(self, "labeler_")
        jobs = effective_n_jobs(self.n_jobs)
        labels, margins = self.labeler_.predict_with_margins(_sequences(X, "X", "tokens"), jobs=jobs)
        return Labellings(labels), margins

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens that get their label; a label that training never saw is never right."""
        check_is_fitted(self, "labeler_")
        data = self._pairs(X, y, "data")
        gold = [label for _, row in data for label in row]
        if not gold:
            raise StructronError("data: no tokens; expected at least one sequence with tokens")
        guess = chain.from_iterable(self.predict([tokens for tokens, _ in data]))
        return sum(map(eq, gold, guess)) / len(gold)


def _sequences(given: Any, name: str, parts: str) -> list[Sequence]:
    """X or y as a list of lists, or of what else has a length and can be gone through."""
    if isinstance(given, str | bytes | Mapping) or issparse(given) or not hasattr(given, "__iter__"):
        raise StructronError(f"{name}: {short(given)}; expected a list of lists of {parts}")
    sequences = given if isinstance(given, list) else list(given)
    for s, sequence in enumerate(sequences):
        if isinstance(sequence, str | bytes | Mapping) or not hasattr(sequence, "__len__"):
            raise StructronError(f"{name}, sequence {s + 1}: {short(sequence)}; expected a list of {parts}")
    return sequences


def _kind(data: list[tuple[Sequence, Sequence]], known: Sequence = ()) -> type:
    """What all labels are: str or Integral."""
    first = next(chain(known, (label for _, row in data for label in row)), "")
    kind = str if isinstance(first, str) else Integral
    places = [("classes", known), *((f"sequence {s}", row) for s, (_, row) in enumerate(data, 1))]
    for place, labels in places:
        for label in labels:
            if not isinstance(label, kind):
                raise StructronError(f"{place}: label {short(label)}; expected all strings or all integers")
    return kind
