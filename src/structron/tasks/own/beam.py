"""A search problem of the user's own: examples as numbers, and everything that the built-in tasks have.

examples ──as_input──▶ int64[tokens, columns] ──check──▶ walked uncompiled ──beam engine──▶ weights
                                                                                │
file ◀──save── names of actions, atoms and templates; weights; never code ◀─────┘
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from structron.errors import StructronError, quoted
from structron.estimator import Estimator
from structron.estimator.files import DAMAGE
from structron.eval.scores import Scores
from structron.io.tensors import Tensors, check, whole
from structron.learn.beam import BeamTraining, Beginning, Known
from structron.model.beam import BeamModel
from structron.model.explain import Explainer, Step
from structron.model.heaviest import Heaviest, heaviest_of
from structron.runtime.progress import Progress
from structron.search.beam.agreeing import OPEN
from structron.search.beam.engine import NO_ANCHORS, make_inputs
from structron.search.beam.examples import Input, as_input, number_of, pairs_in
from structron.search.beam.frontier import Inputs
from structron.search.beam.problem import SearchProblem, misfit, shape_of
from structron.tasks.options import ALL, BeamLearnerOptions
from structron.text.numbers import ShortFloat, shortened

TRAINING = "training data"
WALKED = 5
"""Examples that are walked through uncompiled before training."""

Actions = Sequence[str | int | None]
Example = tuple[Input, Actions]
Names = list[list[str]]
Score = Callable[[Names, Names], float]


@dataclass(frozen=True, repr=False)
class ActionScores(Scores):
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
        """Compare examples one by one."""
        pairs = list(zip(gold, guess, strict=True))
        actions = sum(max(len(a), len(b)) for a, b in pairs)
        correct = sum(sum(p == q for p, q in zip(a, b, strict=False)) for a, b in pairs)
        exact = sum(a == b for a, b in pairs)
        return cls(len(pairs), actions, correct, 100 * correct / max(actions, 1), 100 * exact / max(len(pairs), 1))

    def report(self) -> str:
        """A line for people."""
        text = f"{self.examples} examples, {self.exact:.2f}% without an error"
        return f"{text}; {self.actions} actions, accuracy {self.accuracy:.2f}%"


class Judged(NamedTuple):
    """Dev data, and the user's function that scores what is found for them."""

    examples: Iterable[Example]
    score: Score | None


class ProblemEstimator(Estimator):
    """An estimator for a `SearchProblem`, which is the first argument.

    An example is a pair (x, actions): x are integers, rows of integers, or an array (one dimension: one column);
    actions are names or numbers, or None where they are open. `history_` has the figures of every pass.
    """

    metric: ClassVar[str] = "accuracy"
    learns_open: ClassVar[bool] = True
    """Whether actions of training data may be open."""
    all_known: ClassVar[str] = "known actions"

    problem: SearchProblem

    # -- training ------------------------------------------------------------------------------------------------

    def fit(
        self,
        sentences: Iterable[Example],
        *,
        dev: Iterable[Example] | None = None,
        score: Score | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Train on examples.

        Args:
            sentences: Pairs of an input and its actions, None where one is open.
            dev: Examples that are not trained on; the pass with the best score on them is kept.
            score: A function score(gold, guessed) of the action names of all dev examples, which returns a number of at
                least 0, higher being better; by default the accuracy of actions.
            checkpoint: A folder in which the state of training is saved after every pass.
            resume: Continue from the checkpoint.
            progress: Receives the figures of each pass and messages; by default they are shown if `verbose` is set.

        Returns:
            The learner itself.
        """
        judged = None if dev is None else Judged(dev, score)
        return super().fit(sentences, dev=judged, checkpoint=checkpoint, resume=resume, progress=progress)

    def partial_fit(
        self,
        sentences: Iterable[Example],
        *,
        dev: Iterable[Example] | None = None,
        score: Score | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Continue training with more examples of the same problem.

        Args:
            sentences: As for `fit`.
            dev: As for `fit`.
            score: As for `fit`.
            checkpoint: As for `fit`.
            resume: As for `fit`.
            progress: As for `fit`.

        Returns:
            The learner itself.
        """
        judged = None if dev is None else Judged(dev, score)
        return super().partial_fit(sentences, dev=judged, checkpoint=checkpoint, resume=resume, progress=progress)

    def _check(self) -> None:
        if not isinstance(self.problem, SearchProblem):
            raise StructronError(f"problem: {quoted(self.problem)}; expected a SearchProblem")
        self.options.search(learning=True)

    def _learner(self, sentences: Iterable[Example], start: BeamModel | None) -> BeamTraining:
        xs, gold = self._read_examples(sentences, TRAINING)
        if not xs:
            raise StructronError(f"{TRAINING}: no examples; expected pairs of an input and its actions")
        if start is None:
            self.columns_: int = xs[0].shape[1]
            self.extra_: Any = None
        inputs = self._inputs(xs, TRAINING, gold)
        self._walk(xs, gold)
        self._note_open(gold)
        return self._make_learner(inputs, gold, None if start is None else Beginning(start))

    @property
    def _watched(self) -> SearchProblem:
        """The problem as it is searched: with `debug` under guard."""
        if not self.options.debug:
            return self.problem
        found: Any = vars(self).get("guarded_")
        if found is None or found.guard is None or found.guard.problem is not self.problem:
            found = self.guarded_ = self.problem.guarded()
        return found

    def _under_guard(self, model: BeamModel) -> BeamModel:
        """A model whose problem is searched as `debug` has it."""
        if (model.problem.guard is not None) == bool(self.options.debug):
            return model
        return BeamModel(self._watched, model.keys, model.rows, model.anchored_keys)

    @property
    def _walked(self) -> int | None:
        """How many examples are walked through before training; None: all."""
        return None if self.options.check == ALL else WALKED

    def _walk(self, xs: Sequence[np.ndarray], gold: Sequence[list[int]]) -> None:
        """Look at a few examples uncompiled, or at all."""
        for number, (x, actions) in enumerate(zip(xs[: self._walked], gold, strict=False)):
            self.problem.check_walk(x, () if OPEN in actions else actions, number)

    def _note_open(self, gold: Sequence[list[int]]) -> None:
        """Say how many actions are known, where some are not."""
        total, missing = sum(map(len, gold)), sum(actions.count(OPEN) for actions in gold)
        if missing and self.options.swvp is not None:
            raise StructronError("swvp: cannot be combined with open actions in the training data; expected swvp none")
        if missing:
            self.notes_.append(f"{total - missing:,} of {total:,} actions are known")

    def _make_learner(self, inputs: Inputs, gold: Sequence[list[int]], start: Beginning | None) -> BeamTraining:
        is_open = np.array([OPEN in actions for actions in gold])
        known = Known(inputs, is_open, merge=not self.problem.moves.any(), numbers=np.arange(len(gold)))
        search, average = self.options.resolved, self.options.average
        return BeamTraining(self._watched, inputs, search, average, start=start, known=known if is_open.any() else None)

    def _judge(self, dev: Any) -> Callable[[Any], float]:
        examples, score = dev
        xs, gold = self._read_examples(examples, "dev data")
        inputs = self._inputs(xs, "dev data")

        def judge(model: BeamModel) -> float:
            guess = self._names(self._search(model, inputs, self.options.jobs)[0])
            return rated(score, self._correct(gold, guess), guess)

        return judge

    # -- examples as arrays --------------------------------------------------------------------------------------

    def _read_examples(self, examples: Iterable[Example], what: str) -> tuple[list[np.ndarray], list[list[int]]]:
        xs, gold = [], []
        for number, (x, actions) in enumerate(pairs_in(examples, what)):
            where = f"{what}: example {number}"
            xs.append(as_input(x, where))
            gold.append([OPEN if action is None else self._number(action, where) for action in actions])
            if OPEN in gold[-1] and not (self.learns_open and what == TRAINING):
                step, why = gold[-1].index(OPEN) + 1, self.all_known if what == TRAINING else "known actions"
                raise StructronError(f"{where}, step {step}: an open action; expected {why}")
        return xs, gold

    def _number(self, action: Any, where: str = "") -> Any:
        """The number of an action given by name or number."""
        return number_of(action, self.problem.actions, self.problem.index, where)

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

    def _encode(self, sentences: Iterable[Input], what: str = "input") -> tuple[list[bool], Inputs]:
        """Which inputs are not empty, and these as arrays."""
        arrays = [as_input(x, f"input {number}") for number, x in enumerate(sentences)]
        return [len(x) > 0 for x in arrays], self._inputs([x for x in arrays if len(x)], "input")

    def _search(self, model: BeamModel, inputs: Inputs, jobs: int) -> tuple[list[list[int]], list[float]]:
        search = self.options.resolved
        return self._under_guard(model).decode(inputs, search.beam, search.merge, jobs=jobs)

    def _search_nbest(self, model: BeamModel, inputs: Inputs, n: int, jobs: int) -> list[list[tuple[list[int], float]]]:
        search = self.options.resolved
        return self._under_guard(model).candidates(inputs, n, search.beam, search.merge, jobs=jobs)

    def _decode(self, model: BeamModel, ready: Any, jobs: int) -> Names:
        full, inputs = ready
        found = iter(self._names(self._search(model, inputs, jobs)[0]))
        return [next(found) if has else [] for has in full]

    def _nbest(self, model: BeamModel, ready: Any, n: int, jobs: int) -> list[list[tuple[Any, float]]]:
        full, inputs = ready
        found = iter(self._search_nbest(model, inputs, n, jobs))
        best: list[list[tuple[list[int], float]]] = [next(found) if has else [([], 0.0)] for has in full]
        return [[(self._names([actions])[0], score) for actions, score in own] for own in best]

    def predict_with_scores(self, xs: Iterable[Input], *, jobs: int | None = None) -> tuple[Names, list[float]]:
        """The best actions for every input, and their scores.

        Args:
            xs: Inputs, as for `predict`.
            jobs: Number of threads; by default that of the learner.
        """
        model = self._check_fitted()
        full, inputs = self._encode(xs)
        actions, scores = self._search(model, inputs, self._jobs(jobs))
        pairs = iter(zip(self._names(actions), scores, strict=True))
        found = [next(pairs) if has else ([], 0.0) for has in full]
        return [names for names, _ in found], shortened(score for _, score in found)

    def evaluate(
        self, sentences: Iterable[Example], *, jobs: int | None = None, guess: list | None = None
    ) -> ActionScores:
        """The accuracy of actions, and the fraction of examples without an error, in per cent.

        Args:
            sentences: Examples, as for `fit`.
            jobs: Number of threads; by default that of the learner.
            guess: Score these actions instead of the model's.
        """
        return ActionScores.of(*self._compare(sentences, jobs, guess))

    def score(self, sentences: Iterable[Example], *, jobs: int | None = None, score: Score | None = None) -> float:
        """The accuracy of actions in per cent, or the value of a function of yours.

        Args:
            sentences: Examples, as for `fit`.
            jobs: Number of threads; by default that of the learner.
            score: A function score(gold, guessed), as for `fit`.
        """
        return ShortFloat(rated(score, *self._compare(sentences, jobs)))

    def _compare(self, examples: Iterable[Example], jobs: int | None, guess: Any = None) -> tuple[Names, Names]:
        self._check_fitted()
        xs, gold = self._read_examples(examples, "data")
        guess = self.predict(xs, jobs=jobs) if guess is None else guess
        return self._correct(gold, guess), guess

    def _correct(self, gold: Sequence[list[int]], guess: Names) -> Names:
        """What guesses are compared with."""
        return self._names(gold)

    def _gold(self, sentences: Iterable[Example], what: str = "data") -> Names:
        return self._names(self._read_examples(sentences, what)[1])

    def _scores(self, gold: list, guess: list, sentences: Any = None) -> ActionScores:
        return ActionScores.of(gold, guess)

    def inspect(
        self, label: str | int | None = None, *, top: int = 20, spell: Mapping[str, Sequence[str]] | None = None
    ) -> Heaviest:
        """The features with the largest weights.

        If actions share weights (parts), a feature counts with the sum that the action's score gets from it.

        Args:
            label: Only those of this action; by default of every action.
            top: How many of each.
            spell: Names of the values of atoms; by default those of the problem.
        """
        model, actions = self._check_fitted(), self.problem.actions
        chosen = range(len(actions)) if label is None else [self._number(label)]
        return heaviest_of(model, {actions[k]: self.problem.parts[k] for k in chosen}, top, self._namer(spell))

    def explain(self, sentence: Input, *, top: int = 8, spell: Mapping[str, Sequence[str]] | None = None) -> list[Step]:
        """For each action of the best derivation the runner-up in that state, and the features that made the
        difference.

        Args:
            sentence: An input.
            top: How many features for each action.
            spell: Names of the values of atoms; by default those of the problem.
        """
        model = self._check_fitted()
        full, inputs = self._encode([sentence])
        if not full[0]:
            return []
        (actions,), _ = self._search(model, inputs, 1)
        return Explainer(model, inputs, self._namer(spell), lambda walk, row: "").steps(actions, top)

    def _scene(self, sentence: Input, gold: Any) -> Any:
        """One input in the beam engine; gold: its correct actions."""
        from structron.learn.trace import Scene

        full, inputs = self._encode([sentence])
        if not full[0]:
            raise StructronError("trace: an empty input; expected at least one row")
        problem, search = self.problem, self.options.resolved
        names = problem.actions
        own = (self.task, [" ".join(map(str, row)) for row in inputs.x.tolist()], search)
        (prediction,) = self._names(self._search(self.model_, inputs, 1)[0])

        def shows(actions: list[int]) -> dict[str, Any]:
            return {"labels": [names[action] for action in actions]}

        if gold is None:
            return Scene(*own, shows, look=(self.model_, inputs, NO_ANCHORS), prediction=prediction)
        xs, numbers = self._read_examples([(sentence, gold)], "trace")
        given = self._inputs(xs, "trace", numbers)
        learner = BeamTraining(problem, given, search, "none", start=Beginning(self.model_))
        columns = [_column_name(problem, column) for column in range(problem.columns)]
        correct = self._names(numbers)[0]
        return Scene(*own, shows, learner, None, problem.composition.describe, columns, correct, prediction)

    def _namer(self, spell: Mapping[str, Sequence[str]] | None) -> Callable[[int], str]:
        model, composition = self.model_, self.problem.composition
        names = self.problem.spell if spell is None else spell
        return lambda place: composition.describe(int(model.keys[place]), names)

    # -- files ---------------------------------------------------------------------------------------------------

    def _signature(self) -> str:
        parts = super()._signature().split(" | ")
        return " | ".join([parts[0], f"{self.task} {self.problem.name}", *parts[2:]])

    def _summary(self) -> dict[str, Any]:
        search, actions = self.options.resolved, f"actions {len(self.problem.actions)}"
        return {"update": search.rule, "search": search, "features": len(self.model_.keys), "size": actions}

    def save(self, path: str | Path, *, extra: Any = None) -> None:
        """Write the model file, atomically. It contains no code, so the problem has to be passed again to `load`.

        Args:
            path: The file to write.
            extra: Anything that JSON can represent, for instance the strings of alphabets that the problem is built
                from.
        """
        if extra is not None:
            self.extra_ = extra
        try:
            super().save(path)
        except TypeError as error:
            raise StructronError(f"{path}: extra: {error}; expected values that JSON can represent") from None

    def _state(self, model: BeamModel) -> tuple[dict[str, Any], Tensors]:
        known = {"problem": shape_of(self.problem), "columns": self.columns_, "extra": self.extra_}
        return known | {"module": module_of(self.problem)}, model.tensors()

    def _load_state(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        self.columns_, self.extra_ = whole(learned["columns"], "columns", 1, 1 << 20), learned["extra"]
        check(tensors, BeamModel.declared(self.problem), {"anchored": 0})
        self.model_ = BeamModel.from_tensors(self.problem, tensors)

    def _code(self) -> dict[str, Any]:
        return {"problem": self.problem}

    @classmethod
    def _ask_for(cls, path: Any, header: dict[str, Any], code: dict[str, Any]) -> None:
        """The problem, or a function that makes it from what was saved as `extra`; it must fit the weights."""
        given, learned = code.get("problem"), header.get("learned")
        if given is None:
            raise StructronError(f"{path}: {_whose(learned)}; pass it again: structron.load(path, problem=…)")
        code["problem"] = cls._made(path, given, learned)
        try:
            difference = misfit(learned["problem"], shape_of(code["problem"]))  # type: ignore[index]
        except DAMAGE as error:
            raise StructronError(f"{path}: damaged model file ({error})") from None
        if difference:
            raise StructronError(f"{path}: {difference}; expected the problem that the model was trained with")

    @staticmethod
    def _made(path: Any, given: Any, learned: Any) -> SearchProblem:
        """The problem that was given, or that a function makes of what was saved as `extra`."""
        if isinstance(given, SearchProblem):
            return given
        if not callable(given):
            raise StructronError(
                f"{path}: problem: {quoted(given)}; expected a SearchProblem, or a function that returns one"
            )
        if not isinstance(learned, dict) or "extra" not in learned:
            raise StructronError(f"{path}: damaged model file (no problem in it)")
        name = getattr(given, "__name__", "problem")
        try:
            made = given(learned["extra"])
        except StructronError:
            raise
        except Exception as error:
            raise StructronError(
                f"{path}: {name} failed: {type(error).__name__}: {error}; its argument was the value saved as extra"
            ) from error
        if not isinstance(made, SearchProblem):
            missing = " (is a return missing?)" if made is None else ""
            raise StructronError(f"{path}: {name} returned {quoted(made)}{missing}; expected a SearchProblem")
        return made

    @classmethod
    def _make(cls, header: dict[str, Any], code: dict[str, Any]) -> Self:
        return cls(**(header["options"] | code))

    @classmethod
    def load(  # type: ignore[override]
        cls,
        path: str | Path,
        problem: SearchProblem | Callable[[Any], SearchProblem],
        *,
        beam: int | None = None,
        jobs: int | None = None,
    ) -> Self:
        """Read a model file for its problem.

        Args:
            path: The model file.
            problem: The problem, or a function that builds it from what was saved as `extra`.
            beam: Another beam than that in the file.
            jobs: Another number of threads than that in the file.
        """
        return cls._load(path, f"one written by {cls.__name__}.save", problem=problem, beam=beam, jobs=jobs)


class BeamLearner(ProblemEstimator):
    """Learns a search problem with beam search and violation-fixing updates (Huang, Fayong & Guo 2012).

    `update` is the name of a rule, or a `Rule` of your own. A function given as `jj` receives the correct and the
    predicted actions; see `exchangeable` of the problem.

    Examples:
        >>> from structron import BeamLearner, SearchProblem
        >>> def start(x, table, states, s):
        ...     states[s, 1] = 0
        >>> def legal(x, table, states, s, out):
        ...     out[0], out[1] = 0, 1
        ...     return 2 if states[s, 1] < x.shape[0] else 0
        >>> def advance(x, table, states, s, action, t):
        ...     states[t, 1] = states[s, 1] + 1
        >>> def atoms(x, table, states, s, out):
        ...     out[0] = x[states[s, 1], 0] if states[s, 1] < x.shape[0] else -1
        >>> functions = {"start": start, "legal": legal, "advance": advance, "atoms": atoms}
        >>> options = {"atom_names": {"number": 10}, "templates": ["number"], "max_steps": lambda n: n}
        >>> problem = SearchProblem(name="parity", actions=["even", "odd"], width=2, **functions, **options)
        >>> examples = [([1, 2, 3], ["odd", "even", "odd"]), ([4, 5], ["even", "odd"])]
        >>> learner = BeamLearner(problem, passes=3).fit(examples)
        >>> learner.predict([[5, 4, 1]])
        [['odd', 'even', 'odd']]
    """

    options_class = BeamLearnerOptions


def _column_name(problem: SearchProblem, column: int) -> str:
    """What a column of weights is of: the actions whose score has it."""
    return "|".join(problem.actions[action] for action in np.flatnonzero((problem.parts == column).any(axis=1)))


def module_of(problem: SearchProblem) -> str:
    """The module that a problem's functions stand in; of a program that was started, the name of its file."""
    function = problem.plain("start")
    if function.__module__ != "__main__":
        return str(function.__module__)
    return Path(function.__code__.co_filename).stem


def _whose(learned: Any) -> str:
    """Whose model a file is, which may be damaged."""
    known = learned if isinstance(learned, dict) else {}
    problem, module = known.get("problem"), known.get("module")
    name = problem.get("name") if isinstance(problem, dict) else None
    named = f"the problem {name!r}" if isinstance(name, str) else "a search problem of your own"
    where = f" of the module {module}" if isinstance(module, str) else ""
    return f"a model for {named}{where}, which is Python code and not in the file"


def rated(score: Score | None, gold: Names, guess: Names) -> float:
    """What a user's function says, or the accuracy. Training keeps the highest score from 0 up."""
    found = ActionScores.of(gold, guess).accuracy if score is None else score(gold, guess)
    fits = isinstance(found, int | float | np.number) and not isinstance(found, bool)
    value = float(found) if fits else math.nan
    if not 0 <= value < math.inf:
        missing = " (is a return missing?)" if found is None else ""
        expected = "expected a number of at least 0, higher being better"
        raise StructronError(f"score: it returned {quoted(found)}{missing}; {expected}")
    return value
