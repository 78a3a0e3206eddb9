"""`SequenceLabeler`: the chain labeller as a scikit-learn estimator, fed as sklearn-crfsuite's `CRF` is.

It stands on the same `ChainLabeler` as the tagger and the chunker, with the user's attributes in place of templates,
and adds what scikit-learn expects: X and y apart, parameters it can read and set, pickles, its own exceptions.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from numbers import Integral
from operator import eq
from pathlib import Path
from typing import Any, Self

import numpy as np

from structron.errors import StructronError
from structron.features.attributes import AttributeExtractor, short
from structron.fields import choice, free, options, options_of, real, switch, whole
from structron.model.heaviest import Heaviest
from structron.options import Passes, Weighted
from structron.sklearn.learned import SequenceTagger, TrainingLog, size_of, state_features, transition_features
from structron.tasks.attributes import AttributeLabeler
from structron.tasks.chain.explain import Decision
from structron.tasks.registry import load as load_model
from structron.text.numbers import shortened

try:
    from joblib import effective_n_jobs
    from scipy.sparse import issparse
    from sklearn.base import BaseEstimator
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError("structron.sklearn needs scikit-learn: pip install 'structron[sklearn]'") from error

DEFAULT_SEED = 1
SMALL_DATA = 100_000
"""Tokens up to which the order of sentences matters most: several runs are then worth their time."""
CARRIED_OVER = ("model_", "learner_", "scheme_")
"""What a labeller that goes on learning takes over from the one before."""


class Labellings(list):
    """One list of labels per sequence; as an array one-dimensional, whatever the lengths.

    numpy makes no matrix of ragged lists, and `cross_val_predict` joins what the folds predict as arrays.

    Examples:
        >>> import numpy as np
        >>> from structron.sklearn import Labellings
        >>> np.asarray(Labellings([["DET", "NOUN"], ["VERB"]])).shape
        (2,)
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.fromiter(self, object, len(self))


@options(init=True)
class SequenceLabeler(BaseEstimator, Passes, Weighted):
    """Labels the tokens of sequences with the averaged structured perceptron and exact search (Collins 2002).

    X is a list of sequences; a token is a dict, a list or set of strings, or a string, as in python-crfsuite. y is a
    list of lists of labels, all strings or all integers; in training, None is an unknown label.

    Attributes:
        classes_: The labels, sorted.
        n_iter_: The number of passes.
        history_: The figures of each pass; `training_log_` has them in the form of sklearn-crfsuite.
        attributes_: The attributes that were learned; see also `state_features_` and `transition_features_`.
        tagger_: An object for single sequences, as in python-crfsuite.
        labeler_: The underlying labeller; its `model_` has the weights.

    Examples:
        >>> from structron.sklearn import SequenceLabeler
        >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
        >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]]
        >>> SequenceLabeler().fit(X, y).predict([["the", "cat", "barks"]])
        [['DET', 'NOUN', 'VERB']]
    """

    passes: int | None = whole(  # type: ignore[assignment]
        "Passes over the training data; by default 20, or 30 for fewer than 100,000 tokens.",
        default=None,
        none="default",
    )
    runs: int | None = whole(  # type: ignore[assignment]
        "Mean of N runs over the data in different orders; by default 1, or 2 for fewer than 100,000 tokens.",
        default=None,
        none="default",
    )
    cutoff: int = whole("Leave out attributes seen fewer than N times.", default=0, least=0)
    random_state: Any = free("Seed for shuffling; None is a fixed seed too, so results are reproducible.", default=None)
    n_jobs: int | None = free("Threads for training (several runs) and prediction.", default=None)
    margin: float | None = real(
        "Update until the correct labels win by more than this.", default=None, least=0, metavar="C", none="none"
    )
    order: int = whole("Markov order of the labels: 1 or 2.", default=1, most=2)
    average: str = choice(
        "Averaged weights, those after the last update, or a vote of all.", ("mean", "none", "voted"), default="mean"
    )
    constrain: bool = switch("Keep chunk labels (IOB1, IOB2, IOBES, BILOU) in a legal order.", default=True)
    forbid: Iterable[tuple[Any, Any]] = free("Pairs (label, next label) to rule out in addition.", default=())
    calibrate_saved: bool = switch(
        "Calibrate marginals when saving or pickling, while the training data are still there.", default=False
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = tags.input_tags.dict = True
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        return tags

    # -- training ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train on labelled sequences.

        Args:
            X: The sequences.
            y: Their labels.
            X_dev: Development sequences: the pass with the highest accuracy on them is kept, and marginals are
                calibrated on them.
            y_dev: Their labels.

        Returns:
            The estimator itself.
        """
        if (X_dev is None) != (y_dev is None):
            raise StructronError("dev data: X_dev or y_dev is missing; expected both or neither")
        data = self._pairs(X, y, "training data")
        dev = None if X_dev is None else self._pairs(X_dev, y_dev, "dev data")
        labeler = self._make_labeler(_kind(data), data)
        labeler.fit(data, dev=dev)
        if dev and labeler.average != "voted":
            labeler.calibrate(dev)
        return self._keep(labeler)

    def partial_fit(self, X: Any, y: Any, classes: Sequence | None = None) -> Self:
        """Continue training with these sequences, for `passes` passes. They may bring new attributes and new labels.

        Args:
            X: The sequences.
            y: Their labels.
            classes: Labels to include although they may not occur yet; neither needed nor final.

        Returns:
            The estimator itself.
        """
        data = self._pairs(X, y, "training data")
        before = vars(self.labeler_) if hasattr(self, "labeler_") else {}
        known = [*(self.classes_ if before else []), *([] if classes is None else classes)]
        labeler = self._make_labeler(_kind(data, known), data, known)
        vars(labeler).update({name: value for name, value in before.items() if name in CARRIED_OVER})
        labeler.partial_fit(data)
        return self._keep(labeler)

    def _make_labeler(
        self, kind: type, data: list[tuple[Sequence, Sequence]], known: Sequence = ()
    ) -> AttributeLabeler:
        """A labeller with the present parameters, which it checks."""
        given = self._settings(few=sum(len(tokens) for tokens, _ in data) < SMALL_DATA)
        given["constrain"] = bool(given["constrain"]) and kind is str
        labeler = AttributeLabeler(**given, seed=self._seed(), jobs=self._jobs())
        labeler.extractor_ = AttributeExtractor(known)  # type: ignore[assignment]
        return labeler

    def _settings(self, few: bool) -> dict[str, Any]:
        """The options of the labeller beneath. few: whether there are few tokens to learn from."""
        shared = options_of(AttributeLabeler).keys() & options_of(SequenceLabeler).keys()
        given = {name: getattr(self, name) for name in shared}
        return given | {name: value for name, value in usual(few).items() if given[name] is None}

    def _jobs(self) -> int:
        return effective_n_jobs(self.n_jobs)

    def _seed(self) -> int:
        if self.random_state is None:
            return DEFAULT_SEED
        if isinstance(self.random_state, Integral) and int(self.random_state) >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _keep(self, labeler: AttributeLabeler) -> Self:
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
            raise StructronError(f"{what}: {len(sequences)} sequences in X, {len(labels)} in y; expected equal numbers")
        for s, (tokens, row) in enumerate(zip(sequences, labels, strict=True)):
            if len(tokens) != len(row):
                found = f"{len(tokens)} tokens, {len(row)} labels"
                raise StructronError(f"{what}: sequence {s + 1}: {found}; expected one label per token")
        rows = (row.tolist() if isinstance(row, np.ndarray) else row for row in labels)
        return list(zip(sequences, rows, strict=True))

    # -- using ---------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> list:
        """The labels, sorted."""
        return sorted(self._fitted().model_.labels)

    @property
    def history_(self) -> list[dict[str, Any]]:
        """The figures of each pass."""
        return self._fitted().history_

    @property
    def n_iter_(self) -> int:
        """The number of passes."""
        return len(self.history_)

    @property
    def training_log_(self) -> TrainingLog:
        """The passes, as python-crfsuite's log parser gives them."""
        return TrainingLog(self._fitted())

    @property
    def attributes_(self) -> list[str]:
        """The attributes that have weights."""
        return self._fitted().model_.names.all()

    @property
    def num_attributes_(self) -> int:
        """The number of attributes that were learned."""
        return len(self._fitted().model_.keys)

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """(attribute, label): weight, without those that are zero."""
        return state_features(self._fitted().model_)

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """(label, next label): weight; labels that must not follow each other are left out."""
        return transition_features(self._fitted().model_)

    @property
    def size_(self) -> int:
        """Bytes of the model's arrays."""
        return size_of(self._fitted().model_)

    @property
    def tagger_(self) -> SequenceTagger:
        """The model with the methods of pycrfsuite.Tagger."""
        self._fitted()
        return SequenceTagger(self)

    def _fitted(self) -> AttributeLabeler:
        check_is_fitted(self, "labeler_")
        return self.labeler_

    def predict(self, X: Any) -> Labellings:
        """The best labels of every sequence."""
        return Labellings(self._fitted().predict(_sequences(X, "X", "tokens"), jobs=self._jobs()))

    def predict_single(self, x: Sequence) -> list:
        """The best labels of one sequence."""
        return self.predict([x])[0]

    def predict_with_margins(self, X: Any) -> tuple[Labellings, list[list[float]]]:
        """The best labels, and the margin of each: how far the best labelling is ahead of the best one with another
        label there.

        Args:
            X: The sequences.
        """
        labels, margins = self._fitted().predict_with_margins(_sequences(X, "X", "tokens"), jobs=self._jobs())
        return Labellings(labels), margins

    def predict_marginals(self, X: Any) -> list[list[dict[Any, float]]]:
        """For each token of each sequence the probability of every label.

        They are max-marginals, scaled by a temperature that was fitted on held-out sequences: those of `calibrate`,
        the dev data, or a fifth of the training data, without which a second model is trained (when marginals are
        first requested; it takes about as long as `fit`).

        Args:
            X: The sequences.
        """
        labeler, sequences = self._fitted(), _sequences(X, "X", "tokens")
        if labeler.temperature_ is None:
            labeler.calibrate_held_out(jobs=self._jobs())
        labels, tables = labeler.marginals(sequences, jobs=self._jobs())
        return [[dict(zip(labels, shortened(row), strict=True)) for row in table.tolist()] for table in tables]

    def predict_marginals_single(self, x: Sequence) -> list[dict[Any, float]]:
        """For each token of one sequence the probability of every label.

        Args:
            x: The sequence.
        """
        return self.predict_marginals([x])[0]

    def calibrate(self, X: Any, y: Any) -> Self:
        """Calibrate marginals on labelled sequences that are not training data.

        Args:
            X: The sequences.
            y: Their labels.

        Returns:
            The estimator itself.
        """
        self._fitted().calibrate(self._pairs(X, y, "data"), jobs=self._jobs())
        return self

    def nbest(self, X: Any, n: int) -> list[list[tuple[list, float]]]:
        """For each sequence the n best labellings with their scores, best first.

        Args:
            X: The sequences.
            n: How many.
        """
        return self._fitted().nbest(_sequences(X, "X", "tokens"), n, jobs=self._jobs())

    def explain(self, x: Sequence, *, top: int = 8) -> list[Decision]:
        """For each token of one sequence its label, the runner-up, and the attributes that made the difference.

        Args:
            x: The sequence.
            top: How many attributes for each token.
        """
        return self._fitted().explain(_sequences([x], "X", "tokens")[0], top=top)

    def inspect(self, label: Any = None, *, top: int = 20) -> Heaviest:
        """The attributes with the largest weights.

        Args:
            label: Only those of this label; by default of every label.
            top: How many of each.
        """
        return self._fitted().inspect(label, top=top)

    def score(self, X: Any, y: Any) -> float:
        """The fraction of tokens with the correct label. Labels that training never saw count as wrong.

        Args:
            X: The sequences.
            y: Their labels.
        """
        self._fitted()
        data = self._pairs(X, y, "data")
        gold = [label for _, row in data for label in row]
        if None in gold:
            raise StructronError("data: an open label (None); expected known labels, for scoring")
        if not gold:
            raise StructronError("data: no tokens; expected at least one sequence with tokens")
        guess = chain.from_iterable(self.predict([tokens for tokens, _ in data]))
        return sum(map(eq, gold, guess)) / len(gold)

    # -- files ---------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write a model file, atomically. Unlike a pickle it contains no code, so it is safe to load.

        Args:
            path: The file to write.
        """
        labeler = self._fitted()
        self._let_go()
        labeler.dress_ = {"class": type(self).__name__, "params": _plain(self.get_params())}
        labeler.save(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file written by `save`.

        Args:
            path: The model file.
        """
        labeler = load_model(path, task=AttributeLabeler.task)
        dress = labeler.dress_ or {}
        if dress.get("class") != cls.__name__:
            raise StructronError(
                f"{path}: a model of {dress.get('class')}; expected one written by {cls.__name__}.save"
            )
        try:
            loaded = cls(**dress["params"])
        except (KeyError, TypeError) as error:
            raise StructronError(f"{path}: damaged model file ({error})") from None
        loaded.labeler_ = labeler
        return loaded

    def _let_go(self) -> None:
        """Before the training data are gone, marginals may be calibrated by them."""
        labeler = self.labeler_
        if self.calibrate_saved and labeler.temperature_ is None and labeler.data_ is not None:
            labeler.calibrate_held_out(jobs=self._jobs())

    def __getstate__(self) -> Any:
        if hasattr(self, "labeler_"):
            self._let_go()
        return super().__getstate__()


def usual(few: bool) -> dict[str, int]:
    """Passes and runs where they are not given, for few tokens or many: found on dev data of several languages."""
    return {"passes": 30, "runs": 2} if few else {"passes": 20, "runs": 1}


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as a file keeps them: those that JSON can hold."""
    kept = {}
    for name, value in params.items():
        value = value.item() if isinstance(value, np.generic) else value
        if name == "forbid":
            value = [list(pair) for pair in value] or None
        if name == "forbid" and value is None:
            continue
        if value is None or isinstance(value, bool | int | float | str | list):
            kept[name] = value
    return kept


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
    first = next((label for label in chain(known, *(row for _, row in data)) if label is not None), "")
    kind = str if isinstance(first, str) else Integral
    kinds = set(map(type, chain(known, chain.from_iterable(row for _, row in data)))) - {type(None)}
    if kinds <= {str if kind is str else int}:
        return kind
    places = [("classes", known), *((f"sequence {s}", row) for s, (_, row) in enumerate(data, 1))]
    for place, labels in places:
        for label in labels:
            if label is not None and not isinstance(label, kind):
                raise StructronError(f"{place}: label {short(label)}; expected all strings or all integers")
    return kind
