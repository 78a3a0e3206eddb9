"""Learning a problem of one's own: a `SearchProblem`, examples as numbers, and everything that the built-in tasks have.

examples ──as_input──▶ int64[tokens, columns] ──check──▶ walked uncompiled ──beam engine──▶ weights
                                                                                │
file ◀──save── names of actions, atoms and templates; weights; never code ◀─────┘
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron._version import __version__
from structron.errors import StructronError, unknown
from structron.estimator import Estimator
from structron.io import modelfile
from structron.learn.beam import BeamTraining, check_swvp, rule_of
from structron.learn.committee import Committee
from structron.model.beam import BeamModel
from structron.progress import Progress
from structron.search.beam.engine import NO_ANCHORS, make_inputs
from structron.search.beam.frontier import Inputs
from structron.search.beam.problem import SearchProblem, misfit, shape_of
from structron.update.alma import make_alma, named
from structron.update.swvp import Family, family_name, make_swvp
from structron.update.violation import Rule

WALKED = 5
"""Examples that are walked through uncompiled before training."""
OPTIONS = (
    *("beam", "update", "merge", "alma", "margin"),
    *("passes", "runs", "average", "seed", "shuffle", "patience", "stop_change"),
)
"""Parameters that a file holds; the others belong to the machine or the moment."""
WEIGHTED = ("swvp", "beta", "jj", "enforce")

Input = Any
Actions = Sequence[str | int]
Example = tuple[Input, Actions]
Names = list[list[str]]
Score = Callable[[Names, Names], float]


@dataclass(frozen=True)
class ActionScores:
    """How many actions are right, place by place, and how many examples from end to end; in percent.

    An example whose actions are more or fewer than the correct ones counts as many places as the longer of the two.
    """

    examples: int
    actions: int
    correct: int
    accuracy: float
    exact: float

    @classmethod
    def of(cls, gold: Names, guess: Names) -> "ActionScores":
        pairs = list(zip(gold, guess, strict=True))
        actions = sum(max(len(a), len(b)) for a, b in pairs)
        correct = sum(sum(p == q for p, q in zip(a, b, strict=False)) for a, b in pairs)
        exact = sum(a == b for a, b in pairs)
        return cls(len(pairs), actions, correct, 100 * correct / max(actions, 1), 100 * exact / max(len(pairs), 1))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def report(self) -> str:
        text = f"{self.examples} examples, {self.exact:.2f}% without an error"
        return f"{text}; {self.actions} actions, accuracy {self.accuracy:.2f}%"


class BeamLearner(Estimator):
    """Learns a search problem with beam search and violation-fixing updates (Huang, Fayong & Guo 2012).

    problem: a `SearchProblem`.   beam: states kept at each step (None: all).   update: the rule, for instance
    max-violation or early, or a `Rule` of one's own.   merge: states with equal atoms are one (dynamic programming).
    passes, average, seed, shuffle, patience: as for every learner.   runs: the model is the mean of so many.
    jobs: threads when predicting.   check: verify that every update is a violation.
    alma: α of approximate large margin updates (Daumé & Marcu 2005), for instance 0.9, best with update="laso".
    margin: learn until the correct actions win by more than this (Kazama & Torisawa 2007), None: until they win.
    stop_change: stop when the share of examples with updates hardly changes any more, for instance 1e-4.
    swvp: a-wm, b-wm, a-wmr or b-wmr: weighted violations (Dror & Reichart 2016) with their beta; jj: errors, spans,
    prefixes, whole or a function of the correct and the predicted actions that gives lists of positions; enforce their
    condition 2 (update/mixed.py; see `exchangeable` of the problem).

    An example is a pair (x, actions). x: whole numbers, rows of them, or an array (one dimension: one column); actions:
    names or numbers. `history_` has the figures of every pass.
    """

    task: ClassVar[str] = "problem"
    kept: ClassVar[tuple[str, ...]] = (*OPTIONS, *WEIGHTED)
    """The parameters that a model file remembers."""

    def __init__(
        self,
        problem: SearchProblem,
        *,
        beam: int | None = 8,
        update: str | Rule = "max-violation",
        merge: bool = True,
        passes: int = 10,
        runs: int = 1,
        average: str = "mean",
        seed: int = 1,
        shuffle: bool = True,
        patience: int = 0,
        jobs: int = 1,
        verbose: bool = False,
        check: bool | None = None,
        alma: float | None = None,
        margin: float | None = None,
        stop_change: float | None = None,
        swvp: str | None = None,
        beta: float = 1.0,
        jj: str | Family = "errors",
        enforce: bool = False,
    ):
        self.problem, self.beam, self.update, self.merge = problem, beam, update, merge
        self.passes, self.runs, self.average, self.seed, self.shuffle = passes, runs, average, seed, shuffle
        self.patience, self.jobs, self.verbose, self.check, self.alma = patience, jobs, verbose, check, alma
        self.margin, self.stop_change = margin, stop_change
        self.swvp, self.beta, self.jj, self.enforce = swvp, beta, jj, enforce

    # -- training ------------------------------------------------------------------------------------------------

    def fit(  # type: ignore[override]
        self,
        examples: Iterable[Example],
        dev: Iterable[Example] | None = None,
        score: Score | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> "BeamLearner":
        """Learn; with `dev` the best pass on it is kept.

        score(gold, guessed) gets the action names of all dev examples and returns a number from 0 up, the higher the
        better; without it the accuracy of actions counts.
        """
        self._guarded(lambda: self._train(examples, dev, score, checkpoint, resume, progress))
        return self

    def _train(
        self,
        examples: Iterable[Example],
        dev: Iterable[Example] | None,
        score: Score | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
    ) -> None:
        self._check_parameters()
        options = self._options(checkpoint, resume)
        xs, gold = self._read(examples, "training data")
        if not xs:
            raise StructronError("training data: no examples; expected pairs of an input and its actions")
        self.columns_ = xs[0].shape[1]
        inputs = self._inputs(xs, "training data", gold)
        self._walk(xs, gold)
        learner = self._make_learner(inputs, gold)
        judge = None if dev is None else self._judge(dev, score)
        self._learn(learner if self.runs == 1 else Committee(learner, self.runs), options, judge, progress)

    def _walk(self, xs: Sequence[np.ndarray], gold: Sequence[list[int]]) -> None:
        """Look at a few examples uncompiled."""
        for number, (x, actions) in enumerate(zip(xs[:WALKED], gold, strict=False)):
            self.problem.check(x, actions, number)

    def _make_learner(self, inputs: Inputs, gold: Sequence[list[int]]) -> BeamTraining:
        how = (self.beam, self.update, self.merge, self.average, NO_ANCHORS, self.check, 0.0)
        return BeamTraining(self.problem, inputs, *how, self.alma, self.margin, make_swvp(self))

    def _check_parameters(self) -> None:
        if not isinstance(self.problem, SearchProblem):
            raise StructronError(f"problem: {self.problem!r}; expected a SearchProblem")
        rule_of(self.update)
        make_alma(self.alma, self.margin)
        check_swvp(make_swvp(self), self.update, alma=self.alma, margin=self.margin)
        self._check_average()
        self._check_counts(passes=1, runs=1, jobs=1, **({} if self.beam is None else {"beam": 1}))

    def _judge(self, dev: Iterable[Example], score: Score | None) -> Callable[[BeamModel], float]:
        """What scores a model on dev data."""
        xs, gold = self._read(dev, "dev data")
        inputs = self._inputs(xs, "dev data")

        def judge(model: BeamModel) -> float:
            guess = self._names(self._decode(model, inputs, self.jobs)[0])
            return rated(score, self._correct(gold, guess), guess)

        return judge

    # -- examples as arrays --------------------------------------------------------------------------------------

    def _read(self, examples: Iterable[Example], what: str) -> tuple[list[np.ndarray], list[list[int]]]:
        xs, gold = [], []
        for number, example in enumerate(examples):
            where = f"{what}: example {number}"
            try:
                x, actions = example
            except (TypeError, ValueError):
                raise StructronError(f"{where}: not a pair; expected (input, actions)") from None
            xs.append(as_input(x, where))
            gold.append([self._number(action, where) for action in actions])
        return xs, gold

    def _number(self, action: Any, where: str = "") -> int:
        """The number of an action given by name or number."""
        names = self.problem.actions
        if isinstance(action, str):
            if action in self.problem.index:
                return self.problem.index[action]
        elif isinstance(action, int | np.integer) and 0 <= action < len(names):
            return int(action)
        error = unknown("action", action, names if len(names) <= 20 else [*names[:20], "…"])
        raise StructronError(f"{where}: {error}" if where else str(error))

    def _names(self, numbers: Sequence[Sequence[int]]) -> Names:
        names = self.problem.actions
        return [[names[action] for action in actions] for actions in numbers]

    def _inputs(self, xs: Sequence[np.ndarray], what: str, gold: list[list[int]] | None = None) -> Inputs:
        """Inputs one after the other; compiled code would not notice one that has no rows or other columns."""
        for number, x in enumerate(xs):
            if not len(x):
                raise StructronError(f"{what}: example {number}: an empty input; expected at least one row")
            if x.shape[1] != self.columns_:
                raise StructronError(f"{what}: example {number}: {x.shape[1]} columns; expected {self.columns_}")
        starts = np.cumsum([0, *map(len, xs)]).astype(np.int64)
        flat = np.concatenate(xs) if xs else np.zeros((0, self.columns_), np.int64)
        return make_inputs(self.problem, flat, starts, gold)

    # -- using ---------------------------------------------------------------------------------------------------

    def _decode(self, model: BeamModel, inputs: Inputs, jobs: int) -> tuple[list[list[int]], list[float]]:
        return model.decode(inputs, self.beam, self.merge, jobs=jobs)

    def predict(self, xs: Iterable[Input], jobs: int | None = None) -> Names:
        """For every input the names of the best actions; none for an empty input."""
        return self.predict_with_scores(xs, jobs)[0]

    def predict_with_scores(self, xs: Iterable[Input], jobs: int | None = None) -> tuple[Names, list[float]]:
        """The best actions of every input, and what the model scores them with."""
        model = self._check_fitted()
        arrays = [as_input(x, f"input {number}") for number, x in enumerate(xs)]
        full = [number for number, x in enumerate(arrays) if len(x)]
        inputs = self._inputs([arrays[number] for number in full], "input")
        actions, scores = self._decode(model, inputs, self.jobs if jobs is None else jobs)
        names: Names = [[] for _ in arrays]
        found = [0.0] * len(arrays)
        for number, own, value in zip(full, self._names(actions), scores, strict=True):
            names[number], found[number] = own, value
        return names, found

    def _correct(self, gold: Sequence[list[int]], guess: Names) -> Names:
        """What guesses are compared with."""
        return self._names(gold)

    def _compare(self, examples: Iterable[Example], jobs: int | None) -> tuple[Names, Names]:
        self._check_fitted()
        xs, gold = self._read(examples, "data")
        guess = self.predict(xs, jobs)
        return self._correct(gold, guess), guess

    def evaluate(self, examples: Iterable[Example], jobs: int | None = None) -> ActionScores:
        """Accuracy of actions and share of examples without an error."""
        return ActionScores.of(*self._compare(examples, jobs))

    def score(self, examples: Iterable[Example], score: Score | None = None) -> float:
        """The accuracy of actions, or what score(gold, guessed) says."""
        return rated(score, *self._compare(examples, None))

    def inspect(
        self, action: str | int, top: int = 20, spell: dict[str, Sequence[str]] | None = None
    ) -> list[tuple[str, float]]:
        """The heaviest features of an action, by name, of either sign. spell: for atoms the names of their values.

        Where actions share weights (parts), a feature counts with the sum that the action's score gets from it.
        """
        model, composition = self._check_fitted(), self.problem.composition
        own = np.isin(model.rows.column, [c for c in self.problem.parts[self._number(action)] if c >= 0])
        weight = np.bincount(model.rows.place[own], model.rows.weight[own], len(model.keys))
        best = np.lexsort((np.arange(len(weight)), -np.abs(weight)))[:top]
        return [(composition.describe(int(model.keys[k]), spell), float(weight[k])) for k in best if weight[k]]

    # -- files ---------------------------------------------------------------------------------------------------

    def _update_name(self) -> str:
        return self.update if isinstance(self.update, str) else getattr(self.update.choose, "__name__", "own")

    def _signature(self) -> str:
        beam = "inf" if self.beam is None else self.beam
        search = f"search beam-{beam}{'-dp' if self.merge else ''}"
        parts = [f"structron {__version__}", f"{self.task} {self.problem.name}"]
        parts += [f"update {named(self._update_name(), self.alma, self.margin, make_swvp(self))}", search]
        parts += [f"average {self.average}", f"runs {self.runs}", f"passes {self.best_pass_}/{self.passes}"]
        parts += [f"seed {self.seed}", f"features {len(self.model_.keys)}", f"actions {len(self.problem.actions)}"]
        return " | ".join(parts)

    def save(self, path: str | Path, extra: Any = None) -> None:
        """Write the model file, atomically: no code, so that the problem is given again to `load`.

        extra: anything that JSON can hold, for instance the texts of alphabets that the problem is made from.
        """
        self._check_fitted()
        self._save_model(self.model_, Path(path), getattr(self, "extra_", None) if extra is None else extra)

    def _save_model(self, model: BeamModel, path: Path, extra: Any = None) -> None:
        options = {name: getattr(self, name) for name in self.kept}
        if "update" in options:
            options |= {"update": self._update_name(), "jj": family_name(self.jj)}
        header = {
            "task": self.task,
            "options": options,
            "problem": shape_of(self.problem),
            "columns": self.columns_,
            "history": getattr(self, "history_", []),
            "best_pass": getattr(self, "best_pass_", 0),
            "stopped": getattr(self, "stopped_", ""),
            "signature": getattr(self, "signature_", ""),
            "extra": extra,
        }
        try:
            modelfile.save(path, header, model.tensors())
        except TypeError as error:
            raise StructronError(f"{path}: extra: {error}; expected what JSON can hold") from None

    def _load_model(self, path: Path) -> BeamModel:
        return self.load(path, self.problem).model_

    @classmethod
    def load(
        cls, path: str | Path, problem: SearchProblem | Callable[[Any], SearchProblem], **options: Any
    ) -> "BeamLearner":
        """Read a model file for its problem, or for a function that makes the problem from what was saved as `extra`.

        options: parameters that are to differ from those in the file (beam=16, jobs=2).
        """
        header, tensors = modelfile.load(path)
        if header.get("task") != cls.task:
            raise StructronError(f"{path}: a {header.get('task')} model; expected one that {cls.__name__}.save wrote")
        made = problem if isinstance(problem, SearchProblem) else problem(header.get("extra"))
        try:
            difference = misfit(header["problem"], shape_of(made))
            if not difference:
                return cls(made, **(header["options"] | options))._take(header, tensors)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise StructronError(f"{path}: damaged model file ({error})") from None
        raise StructronError(f"{path}: {difference}; expected the problem that the model was trained for")

    def _take(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> "BeamLearner":
        self.columns_, self.extra_ = int(header["columns"]), header["extra"]
        self.history_, self.best_pass_ = header["history"], header["best_pass"]
        self.stopped_, self.signature_ = header["stopped"], header["signature"]
        self.model_ = BeamModel.from_tensors(self.problem, tensors)
        return self


def as_input(x: Input, where: str) -> np.ndarray:
    """An input as int64[tokens, columns]."""
    try:
        array = np.asarray(x)
    except ValueError:
        raise StructronError(f"{where}: rows of different lengths; expected as many numbers in each") from None
    if array.size == 0:
        return np.zeros((0, array.shape[1] if array.ndim == 2 else 1), np.int64)
    if array.dtype.kind not in "iub" or array.ndim not in (1, 2):
        kind = f"{array.dtype} in {array.ndim} dimensions"
        raise StructronError(f"{where}: {kind}; expected whole numbers, or rows of them (texts: structron.Alphabet)")
    return np.ascontiguousarray(array.reshape(len(array), -1), np.int64)


def rated(score: Score | None, gold: Names, guess: Names) -> float:
    """What a user's function says, or the accuracy. Training keeps the highest score from 0 up."""
    value = ActionScores.of(gold, guess).accuracy if score is None else float(score(gold, guess))
    if not 0 <= value < math.inf:
        raise StructronError(f"score: it returned {value}; expected a number from 0 up, the higher the better")
    return value
