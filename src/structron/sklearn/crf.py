"""`CRF`: sklearn-crfsuite's class, so that its users change an import and nothing else.

The same `SequenceLabeler` beneath, with the parameters of `sklearn_crfsuite.CRF`. What is trained is the averaged
structured perceptron, whatever `algorithm` says; a warning says so, and what is done with parameters that have no
meaning for it.
"""

import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from structron.errors import StructronError, unknown
from structron.fields import default_of, options_of
from structron.sklearn.labeler import SequenceLabeler, usual
from structron.tasks.attributes import AttributeLabeler

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")
IN_PASSES = ("ap", "pa", "arow")
"""Algorithms whose iterations are passes over the training data, as ours are."""
USUAL_C2 = 0.1
"""The L2 penalty that stands for the usual number of passes."""
FEWEST, MOST = 5, 40
"""Passes that c2 may stand for."""
INSTEAD: Mapping[str, str] = {
    "all_possible_states": "attributes get weights for all labels that are confused with one another",
    "num_memories": "there is no L-BFGS",
    "epsilon": "training makes a fixed number of passes",
    "period": "training makes a fixed number of passes",
    "delta": "training makes a fixed number of passes",
    "linesearch": "there is no line search",
    "max_linesearch": "there is no line search",
    "calibration_eta": "there is no learning rate",
    "calibration_rate": "there is no learning rate",
    "calibration_samples": "there is no learning rate",
    "calibration_candidates": "there is no learning rate",
    "calibration_max_trials": "there is no learning rate",
    "pa_type": "updates are the perceptron's",
    "c": "updates are the perceptron's",
    "error_sensitive": "updates are the perceptron's",
    "variance": "updates are the perceptron's",
    "gamma": "updates are the perceptron's",
    "keep_tempfiles": "there are no temporary files",
    "trainer_cls": "the trainer is structron's own",
}
"""Parameters without a meaning for a perceptron, and what happens instead."""


class ParameterWarning(UserWarning):
    """A parameter of sklearn-crfsuite means something else here, or nothing.

    Examples:
        >>> import warnings
        >>> from structron.sklearn import CRF, ParameterWarning
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", ParameterWarning)
        ...     try:
        ...         CRF(num_memories=3).fit([["a", "b"]], [["A", "B"]])
        ...     except ParameterWarning as warning:
        ...         print("num_memories" in str(warning))
        True
    """


class CRF(SequenceLabeler):
    """A drop-in replacement for `sklearn_crfsuite.CRF`, trained as an averaged structured perceptron (Collins 2002).

    X is a list of sequences of dicts (or lists of strings), y a list of lists of labels, as in sklearn-crfsuite. Other
    parameters of sklearn-crfsuite are accepted, with a warning from `fit`.

    Args:
        algorithm: lbfgs, l2sgd, ap, pa or arow; all train the averaged perceptron.
        min_freq: Attributes seen less often are dropped.
        all_possible_transitions: Without effect: all transitions can get weights.
        c1: Weights of at most c1 are dropped from the model, as with an L1 penalty.
        c2: Sets the number of passes, so that larger penalties train less: 20 (30 for fewer than 100,000 tokens) times
            (0.1 / c2)^¼, within 5 and 40.
        max_iterations: The largest number of passes; with ap, pa and arow the exact number.
        averaging: False keeps the last weights.
        verbose: Show the passes.
        model_filename: `fit` writes the model there; an existing file is loaded when it is needed.
        runs: The mean of this many runs, as for SequenceLabeler.
        constrain: Keep chunk labels in a legal order.
        calibrate_saved: Calibrate marginals before a pickle or file is written.
        n_jobs: Number of threads.
        random_state: Seed for shuffling.

    Examples:
        >>> import warnings
        >>> from structron.sklearn import CRF
        >>> X = [[{"w": "the"}, {"w": "dog"}, {"w": "barks"}], [{"w": "a"}, {"w": "cat"}, {"w": "sleeps"}]]
        >>> y = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]]
        >>> with warnings.catch_warnings(action="ignore"):
        ...     crf = CRF(algorithm="lbfgs", c2=0.1).fit(X, y)
        >>> crf.predict([[{"w": "the"}, {"w": "cat"}, {"w": "barks"}]])
        [['DET', 'NOUN', 'VERB']]
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool | None = False,
        trainer_cls: Any = None,
        *,
        runs: int | None = None,
        constrain: bool = True,
        calibrate_saved: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls
        self.runs = runs
        self.constrain = constrain
        self.calibrate_saved = calibrate_saved
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- training ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> Self:
        """Learn from labelled sequences.

        Args:
            X: Sequences of tokens.
            y: The labels of each sequence.
            X_dev: Sequences that are not learned from; the pass that labels most of their tokens correctly is kept.
            y_dev: Their labels.
        """
        self._warn()
        super().fit(X, y, X_dev, y_dev)
        if self.model_filename is not None:
            self.save(self.model_filename)
        return self

    def _settings(self, few: bool) -> dict[str, Any]:
        if self.algorithm not in (None, *ALGORITHMS):
            raise unknown("algorithm", self.algorithm, ALGORITHMS)
        for name in ("min_freq", "c1", "c2"):
            value = getattr(self, name)
            if not (value is None or (isinstance(value, int | float) and 0 <= value < math.inf)):
                raise StructronError(f"{name}: {value!r}; expected a number of at least 0, or None")
        given = {
            "passes": self._passes(few),
            "cutoff": math.ceil(self.min_freq or 0),
            "prune": float(self.c1 or 0),
            "average": "none" if self.averaging is not None and not self.averaging else "mean",
            "verbose": bool(self.verbose),
            "runs": usual(few)["runs"] if self.runs is None else self.runs,
            "constrain": self.constrain,
        }
        known = options_of(SequenceLabeler).keys() & options_of(AttributeLabeler).keys() - given.keys()
        return {name: default_of(SequenceLabeler, name) for name in known} | given

    def _passes(self, few: bool) -> int:
        """How many passes the penalty and the iterations stand for."""
        most, passes = self.max_iterations, usual(few)["passes"]
        if most is not None and (isinstance(most, bool) or int(most) != most or most < 1):
            raise StructronError(f"max_iterations: {most!r}; expected a whole number of at least 1, or None")
        if self.algorithm in IN_PASSES and most is not None:
            return int(most)
        if self.c2 is not None:
            passes = MOST if self.c2 == 0 else round(passes * (USUAL_C2 / self.c2) ** 0.25)
            passes = min(max(passes, FEWEST), MOST)
        return passes if most is None else min(passes, int(most))

    def _warn(self) -> None:
        """Say once for all what is done instead of what was asked for."""
        said = []
        if self.algorithm not in (None, "ap"):
            said.append(
                f"algorithm {self.algorithm}: the averaged perceptron is trained (c1: weights of at most c1 are "
                "dropped; c2: larger penalties mean fewer passes; max_iterations: the largest number of passes)"
            )
        if self.all_possible_transitions is not None and not self.all_possible_transitions:
            said.append("all_possible_transitions: all pairs of labels may get weights")
        ignored: dict[str, list[str]] = {}
        for name, instead in INSTEAD.items():
            if getattr(self, name) not in (None, False):
                ignored.setdefault(instead, []).append(name)
        said += [f"{', '.join(names)}: ignored, {instead}" for instead, names in ignored.items()]
        if said:
            warnings.warn("; ".join(said), ParameterWarning, stacklevel=3)

    # -- using ---------------------------------------------------------------------------------------------------

    def _fitted(self) -> AttributeLabeler:
        """A model file that is there already needs no training."""
        if not hasattr(self, "labeler_") and self.model_filename is not None and Path(self.model_filename).exists():
            self.labeler_ = type(self).load(self.model_filename).labeler_
        return super()._fitted()
