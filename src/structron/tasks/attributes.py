"""The chain labeller on attributes that the user has worked out: what `structron.sklearn` stands on.

Labelled sentences are pairs of tokens and labels (features/attributes.py says what a token is); labels are texts or
whole numbers. Marginals are max-marginals, set to a scale that was measured on sentences which training had not seen:

    p(y | x, i) = exp(m(i, y) / t) / Σ exp(m(i, ·) / t)

m(i, y): the score of the best labelling with y at i. The temperature t is where unseen labels are likeliest.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.estimator import Sentences
from structron.features.attributes import AttributeExtractor, PreparedAttributes, short
from structron.io.tensors import Tensors, texts
from structron.learn.parts import lists_of
from structron.model.chain import ChainModel
from structron.tasks.chain.explain import explain
from structron.tasks.chain.labeler import ChainLabeler
from structron.tasks.options import AttributeOptions
from structron.tasks.partial import OpenRows, check_closed
from structron.text.sentences import decode_labels

TEMPERATURES = np.geomspace(1e-3, 1e4, 141)
"""Where the search for the best temperature begins."""


HELD_OUT = 5
"""One sentence in so many is held out to measure marginals."""


class Measured:
    """What an `AttributeLabeler` knows beside its model."""

    temperature_: float | None = None
    """The scale of marginals; None: not measured yet."""
    data_: PreparedAttributes | None = None
    """What it has learned from, until it is saved or pickled, or goes on learning."""
    dress_: Mapping[str, Any] | None = None
    """The class of structron.sklearn that it belongs to, and its parameters: kept in model files."""


class OpenPairs(OpenRows):
    """Pairs of tokens and labels, of which some may be None; those without a known label are left out."""

    def __init__(self) -> None:
        super().__init__([], None)

    def of(self, items: Any) -> Any:
        if isinstance(items, PreparedAttributes):
            self.numbers = list(range(1, len(items.starts)))
            return items
        found = []
        for number, (tokens, labels) in enumerate(items, 1):
            missing = sum(label is None for label in labels)
            self.tokens += len(labels)
            self.missing += missing
            if missing and missing == len(labels):
                self.left_out += 1
            else:
                self.numbers.append(number)
                found.append((tokens, labels))
        return found


class AttributeLabeler(Measured, ChainLabeler):
    """The chain labeller on a user's attributes; labelled sentences are pairs of tokens and labels."""

    options_class = AttributeOptions
    python_only: ClassVar[str] = "its tokens are attributes made in Python; expected structron.sklearn there"

    def _prepare(self, sentences: Any, labelled: bool = False, what: str = "data") -> PreparedAttributes:
        if isinstance(sentences, PreparedAttributes):
            return sentences
        return super()._prepare(sentences, labelled, what)

    def _make_learner(self, prepared: Any, start: Any) -> Any:
        learner = super()._make_learner(prepared, start)
        self.data_, self.temperature_ = prepared if start is None else None, None
        return learner

    def _learn(self, *given: Any) -> None:
        super()._learn(*given)
        if self.options.prune and self.model_.votes is None:
            self.model_ = pruned(self.model_, self.options.prune)

    def _fit_columns(self, sentences: Any) -> Any:
        return sentences

    def _open_rows(self) -> "OpenPairs":
        return OpenPairs()

    def _judge(self, dev: Any) -> Any:
        ready = self._prepare(dev, True, "dev data")
        check_closed(ready, None, "dev data")
        gold = decode_labels(ready.label_ids, ready.label_types, ready.starts)
        return lambda model: self._scores(gold, self._decode(model, ready, self.options.jobs)).accuracy

    def _chunks(self) -> bool:
        return self.options.constrain

    # -- using ---------------------------------------------------------------------------------------------------

    def explain(self, sentence: Sequence, *, top: int = 8) -> Any:
        """For each token its label, the runner-up and the `top` attributes that decided, heaviest first."""
        model, prepared = self._check_fitted(), self._prepare([sentence])
        prepared.word_types = [_title(token) for token in sentence]
        prepared.word_ids = np.arange(len(sentence), dtype=np.int32)
        return explain(model, prepared, top)

    def marginals(self, sentences: Sentences, *, jobs: int | None = None) -> tuple[list[Any], list[np.ndarray]]:
        """The labels, and for each sentence float64[tokens, labels]: how likely each is at each token."""
        model = self._check_fitted()
        if self.temperature_ is None:
            raise StructronError(
                "marginals are not calibrated; call calibrate with sentences that are not training data"
            )
        ready = self._encode(sentences)
        _, behind = model.max_marginals(ready, self._jobs(jobs))
        likely = softmax(behind, self.temperature_)
        return list(model.labels), np.split(likely, ready.starts[1:-1])

    def calibrate(self, sentences: Sentences, *, jobs: int | None = None) -> float:
        """Settle the scale of marginals on labelled sentences that were not learned from; gives the temperature."""
        self.temperature_ = self._measured(self._check_fitted(), self._prepare(sentences, True), self._jobs(jobs))
        return self.temperature_

    def calibrate_held_out(self, *, jobs: int | None = None) -> float:
        """Settle the scale by another model, which learns the same way from all but a fifth of the training data.

        The fifth is the last one: sentences of a document stand together. Of less than five sentences none is held out.
        """
        model, data = self._check_fitted(), self.data_
        if data is None:
            raise StructronError(
                "marginals: not calibrated, and the training data are no longer available; call calibrate with "
                "labelled sequences that are not training data"
            )
        count = len(data.starts) - 1
        split = count - count // HELD_OUT
        held = some(data, np.arange(split, count) if split < count else np.arange(count))
        if split < count:
            other = type(self)(**self.get_params() | {"verbose": False, "jobs": self._jobs(jobs)})
            other.extractor_ = self.extractor_
            model = other.fit(some(data, np.arange(split))).model_  # type: ignore[arg-type]
        self.temperature_ = self._measured(model, held, self._jobs(jobs))
        return self.temperature_

    @staticmethod
    def _measured(model: ChainModel, prepared: Any, jobs: int) -> float:
        index = {label: y for y, label in enumerate(model.labels)}
        gold = np.array([*(index.get(label, -1) for label in prepared.label_types), -1], np.int64)[prepared.label_ids]
        _, behind = model.max_marginals(prepared, jobs)
        known = gold >= 0
        if not known.any():
            raise StructronError(
                "calibration: no labels that the model knows; expected sentences like the training data"
            )
        return best_temperature(behind[known], gold[known])

    # -- files and pickles ---------------------------------------------------------------------------------------

    def _resolved_options(self) -> dict[str, Any]:
        return {}

    def _state(self, model: ChainModel) -> tuple[dict[str, Any], Tensors]:
        header = model.header()
        numbers = bool(model.labels) and isinstance(model.labels[0], Integral)
        header["labels"] = [str(label) for label in model.labels]
        known = {"numbers": numbers, "scheme": self.scheme_, "temperature": self.temperature_, "dress": self.dress_}
        return known | {"model": header}, model.tensors()

    def _load_state(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        self.scheme_, dress, temperature = learned["scheme"], learned["dress"], learned["temperature"]
        if not (dress is None or isinstance(dress, dict)):
            raise ValueError("dress does not fit")
        if not (temperature is None or (isinstance(temperature, float) and temperature > 0)):
            raise ValueError("temperature does not fit")
        texts(learned["model"]["labels"], "labels", 2)
        self.temperature_, self.dress_ = temperature, dress
        self.extractor_ = AttributeExtractor()  # type: ignore[assignment]
        self.model_ = self._read_model(learned["model"], tensors)
        if learned["numbers"]:
            self.model_.labels = [int(label) for label in self.model_.labels]

    def __getstate__(self) -> dict[str, Any]:
        """The model as its file would hold it; neither the training data nor what is quickly made again."""
        state = {name: value for name, value in super().__getstate__().items() if name != "data_"}
        return state | {"model_": (self.model_.header(), self.model_.tensors())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrays are copied: joblib hands large ones over as read-only maps of a file, which kernels do not take."""
        header, tensors = state["model_"]
        model = ChainModel.from_file(header, {name: np.array(tensor) for name, tensor in tensors.items()})
        vars(self).update(state | {"model_": model})


def pruned(model: ChainModel, least: float) -> ChainModel:
    """A model without small weights of attributes, and without attributes that have no others."""
    first = model.fixed
    weights = np.where(np.abs(model.w[first:]) > least, model.w[first:], np.float32(0))
    kept = np.flatnonzero(weights.any(axis=1))
    w = np.ascontiguousarray(np.concatenate([model.w[:first], weights[kept]]))
    return replace(model, w=w, keys=model.keys[kept], names=model.names.take(kept))


def some(prepared: PreparedAttributes, sentences: np.ndarray) -> PreparedAttributes:
    """Some of the sentences, in the given order."""
    part = copy.copy(prepared)
    part.starts, tokens = lists_of(prepared.starts, sentences, np.arange(int(prepared.starts[-1])))
    part.ptr, part.numbers, part.values = lists_of(prepared.ptr, tokens, prepared.numbers, prepared.values)
    part.units, part.label_ids = np.arange(len(part.starts)), prepared.label_ids[tokens]
    return part


def softmax(behind: np.ndarray, temperature: float) -> np.ndarray:
    """float64[tokens, labels]: probabilities; the best of each row of `behind` is 0."""
    likely = np.exp(np.maximum(behind.astype(np.float64) / temperature, -700))
    return likely / likely.sum(axis=1, keepdims=True)


def best_temperature(behind: np.ndarray, gold: np.ndarray) -> float:
    """The temperature at which the correct labels are likeliest; one more token has all labels alike.

    That one keeps probabilities from 1 where few tokens, all of them right, were looked at.
    """
    scores = np.maximum(behind.astype(np.float64), -1e9)
    unsure = 1 / (len(gold) + 1)
    right = (1 - unsure) * scores[np.arange(len(gold)), gold] + unsure * np.maximum(scores, -1e3).mean(axis=1)

    def loss(temperature: float) -> float:
        return float(np.mean(np.log(np.exp(np.maximum(scores / temperature, -700)).sum(axis=1)) - right / temperature))

    found = TEMPERATURES
    for _ in range(2):
        k = int(np.argmin([loss(t) for t in found]))
        best = float(found[k])
        found = np.geomspace(found[max(k - 1, 0)], found[min(k + 1, len(found) - 1)], 9)
    return best


def _title(token: Any) -> str:
    """A token as an explanation names it: its first text."""
    if isinstance(token, Mapping):
        return next((value for value in token.values() if isinstance(value, str)), short(dict(token)))
    if isinstance(token, str):
        return token
    return next((str(item) for item in token), "") if hasattr(token, "__iter__") else short(token)
