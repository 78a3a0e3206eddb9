"""The training loop, once for every task: passes, shuffling, dev scores, stopping, checkpoints, Ctrl-C.

    for each pass:
        for each example in seeded order:        learner.learn(…), compiled, a batch at a time
            find violations, update
        score on dev, keep the best, write a checkpoint, stop when nothing is left to gain

The order of a pass depends on the seed and the pass number alone, so a run that was killed and resumed goes through the
same examples and ends with the same weights, bit for bit.
"""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from structron.errors import StructronError
from structron.io.tensors import Tensors
from structron.learn.checkpoint import Checkpoint, tolerated
from structron.runtime.progress import Progress
from structron.weights.mixing import Changes, Share, plain_scales, scales_by_change

WIRE = ("changed", "changed_in_all", "bytes_to_workers", "bytes_from_workers")
"""What is in a pass's record of shards that were learned on a cluster: weights that shards have changed, one by one and
all together, added up over its mixes; bytes that went over the wire."""
NOT_KEPT = ("seconds", "cpu_seconds", "tokens_per_second", *WIRE)
"""What is in a pass's record and depends on when and where it ran; model files have none of it."""
STEADY = 3
"""Passes in a row with hardly a change after which `Schedule.stop_change` ends training (Kazama & Torisawa 2007)."""


class History(list):
    """The figures of each pass of a training; a notebook draws them as curves.

    Examples:
        >>> from structron import Tagger
        >>> train = [[("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [("a", "DET"), ("cat", "NOUN")]]
        >>> tagger = Tagger(templates=["w[0]"], cutoff=0, runs=1).fit(train)
        >>> [(record["pass"], record["updates"] > 0) for record in tagger.history_[:1]]
        [(1, True)]
    """

    def _repr_html_(self) -> str:
        from structron.show.charts import history_svg

        return f'<div class="structron">{history_svg(self)}</div>'


class Learner(Protocol):
    """What the loop needs of a learner; `learn/chain.py` has one."""

    @property
    def examples(self) -> int: ...

    def warm_up(self) -> None:
        """Compile now, so that pass times exclude it."""

    def begin_pass(self) -> None: ...

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        """Learn from some examples of the sequence from place lo on; returns the place to go on from."""

    def counts(self) -> dict[str, Any]:
        """This pass's figures for the progress line and the log."""

    def state(self) -> Tensors:
        """Everything that later passes depend on."""

    def restore(self, state: Tensors) -> None:
        """Take up a state that `state` gave for the same data and options."""

    def fingerprint(self) -> str:
        """Tells whether a checkpoint was made from the same data and options."""

    def snapshot(self) -> Any:
        """The model that the weights of this moment make."""

    def last_snapshot(self) -> Any:
        """The same of a learner that will learn no more: it may give up what it would need for that."""

    def free_search_buffers(self, model: Any) -> None:
        """Free the search buffers of the best model while training continues."""

    def finish(self, model: Any) -> Any:
        """A snapshot with what it left for later: names of features."""

    def close(self) -> None:
        """Free what only learning needs; training has ended."""


class ShardUpdate(NamedTuple):
    """What a learner has made of common weights in its part of a pass (learn/shards.py)."""

    changes: Changes
    steps: int
    counts: dict[str, Any]
    more: Tensors
    """What a learner has besides a store of weights."""


class Member(Learner):
    """A learner that can be one of several: it can start anew, and its weights can be added."""

    store: Any  # its weights (weights/)
    stats: np.ndarray  # the examples learned from so far, then figures of the pass
    working: ClassVar[tuple[str, ...]] = ("store", "stats")
    """What `_begin` makes: pickles are without it, and begin anew."""

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in self.working}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def part(self, examples: np.ndarray) -> Any:
        """A learner of some of the examples, to be pickled: it cannot learn here, nor make a model anywhere."""

    def _sent(self, **changed: Any) -> Any:
        """Itself without what it works with, but for some changes."""
        other = object.__new__(type(self))
        vars(other).update(self.__getstate__() | changed)
        return other

    def _begin(self) -> None:
        """Weights before the first example: none, or those that training goes on from."""

    def fresh_copy(self) -> Self:
        """Another learner of the same data and options, at its start."""
        other = copy.copy(self)
        other._begin()
        return other

    def begin_pass(self) -> None:
        self.stats[1:] = 0

    def add(self, other: Any, share: float) -> None:
        """Add a share of the weights of another learner of the same data."""

    def copy_weights_from(self, common: Any) -> None:
        """Begin a part of a pass with the weights of another learner of the same data."""
        self.store.copy_weights_from(common.store)
        self.stats[0] = 0
        self.begin_pass()

    def shard_update(self, common: Any) -> ShardUpdate:
        """What has changed since `copy_weights_from`."""
        return ShardUpdate(self.store.changes(common.store), int(self.stats[0]), self.counts(), {})

    def mix(
        self, shard_updates: Sequence[ShardUpdate], shares: Sequence[float], by_change: bool = False, jobs: int = 1
    ) -> None:
        """Take over so much of each update; the mean runs over the steps of all.

        by_change: a weight counts only those that have changed it.
        """
        time = int(self.stats[0]) + sum(update.steps for update in shard_updates)
        changes = [update.changes for update in shard_updates]
        scales = scales_by_change(changes, jobs) if by_change else plain_scales(changes)
        given = zip(changes, shares, [update.steps for update in shard_updates], scales, strict=True)
        self.store.mix([Share(*each) for each in given], time, jobs)
        self.stats[0] = time

    def take(self, broadcast: ShardUpdate) -> None:
        """Have the weights of another learner of the same data, of which this one has an earlier state."""
        self.store.put(broadcast.changes)

    @staticmethod
    def assemble(members: Sequence[Any]) -> Any:
        """The model that the mean of the members' weights makes."""

    @staticmethod
    def assemble_last(members: Sequence[Any]) -> Any:
        """The same of members that will learn no more: they may give up what they would need for that."""
        return members[0].assemble(members)

    def snapshot(self) -> Any:
        return self.assemble([self])

    def last_snapshot(self) -> Any:
        return self.assemble_last([self])

    def free_search_buffers(self, model: Any) -> None:
        return None

    def finish(self, model: Any) -> Any:
        return model

    def close(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and in which order to train."""

    passes: int = 10
    seed: int = 1
    shuffle: bool = True
    patience: int = 0
    stop_change: float | None = None
    """Stop when the error on the training data changes by a smaller share than this, `STEADY` passes in a row."""
    checkpoint: Path | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        if self.resume and self.checkpoint is None:
            raise StructronError("--resume needs --checkpoint DIR, the folder of the run to continue")


@dataclass(slots=True)
class Result:
    """The model that was kept, and how training went."""

    model: Any
    best_pass: int
    history: History = field(default_factory=History)
    stopped: str = "passes"
    """Why training ended: passes, converged (a pass without updates), change (the error hardly changes), patience,
    interrupted."""


def timeless(found: Any) -> Any:
    """A history without what differs from run to run."""
    if isinstance(found, dict):
        return {key: timeless(value) for key, value in found.items() if key not in NOT_KEPT}
    return [timeless(value) for value in found] if isinstance(found, list) else found


def batch_end(starts: np.ndarray, sequence: np.ndarray, lo: int, tokens: int) -> int:
    """Where a batch of about so many tokens ends that begins at place lo of a sequence of examples."""
    counts = np.cumsum(np.diff(starts)[sequence[lo : lo + tokens]])
    return lo + max(1, int(np.searchsorted(counts, tokens, "right")))


def pass_order(schedule: Schedule, number: int, examples: int) -> np.ndarray:
    """The order of examples in a pass (counted from 1): a function of the seed and the number only."""
    if not schedule.shuffle:
        return np.arange(examples)
    return np.random.default_rng([schedule.seed, number]).permutation(examples)


def train(
    learner: Learner,
    schedule: Schedule,
    score: Callable[[Any], float] | None = None,
    progress: Progress | None = None,
    save: Callable[[Any, Path], None] | None = None,
    load: Callable[[Path], Any] | None = None,
    lasting: bool = True,
) -> Result:
    """Train until a stopping rule holds; with `score` (on dev data) the best pass is kept, otherwise the last.

    `save` and `load` write and read a model; they are needed for checkpoints of runs with dev data only.
    progress: None: nobody watches.   lasting: the learner is of use afterwards.
    """
    if schedule.checkpoint:
        progress = progress or Progress()  # says if it cannot be written
    result = Result(None, 0)
    passes = _Passes(schedule, learner, score is not None, save, load) if schedule.checkpoint else None
    if passes and schedule.resume:
        passes.restore(result)
    examples = learner.examples
    learner.warm_up()
    number = done = len(result.history)
    try:
        for number in range(done + 1, schedule.passes + 1):
            if result.stopped != "passes":
                break
            record = _one_pass(learner, schedule, number, examples, progress)
            if score is None:
                result.best_pass = number
            else:
                best = max((r["dev"] for r in result.history if "dev" in r), default=-1.0)
                model = learner.snapshot()
                record["dev"] = round(score(model), 4)
                if record["dev"] > best:
                    result.model, result.best_pass = model, number
                    learner.free_search_buffers(model)
            result.history.append(record)
            if record["updates"] == 0:
                result.stopped = "converged"
            elif score is not None and 0 < schedule.patience <= number - result.best_pass:
                result.stopped = "patience"
            elif schedule.stop_change is not None and _is_steady(result.history, schedule.stop_change):
                result.stopped = "change"
            if progress:
                progress.pass_done(record, schedule.passes, result.best_pass == number and score is not None)
            if passes and progress:
                with tolerated(progress, "no checkpoint of this pass"):
                    passes.keep(result)
    except KeyboardInterrupt:
        result.stopped = "interrupted"
        if result.model is None:
            result.best_pass = number
    finally:
        if progress:
            progress.close()
    model = result.model
    if model is None:
        model = learner.snapshot() if lasting else learner.last_snapshot()
    result.model = learner.finish(model)
    return result


def _one_pass(
    learner: Learner, schedule: Schedule, number: int, examples: int, progress: Progress | None
) -> dict[str, Any]:
    sequence = pass_order(schedule, number, examples)
    learner.begin_pass()
    begin, cpu = time.perf_counter(), time.process_time()
    place = 0
    if progress:
        progress.begin_pass(number, schedule.passes, len(sequence))
    while place < len(sequence):
        place = learner.learn(sequence, place)
        if progress:
            progress.advance(place)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    counts = learner.counts()
    speed = round(counts["tokens"] / max(seconds, 1e-9))
    times = {"seconds": round(seconds, 4), "cpu_seconds": round(cpu, 4), "tokens_per_second": speed}
    return {"pass": number, **counts, **times}


def _error(record: dict[str, Any]) -> float:
    """The error of a pass: per word where the learner counts wrong words, else the updates per example."""
    if "wrong_tokens" in record:
        return record["wrong_tokens"] / max(record["tokens"], 1)
    return record["updates"] / max(record["examples"], 1)


def _is_steady(history: list[dict[str, Any]], change: float) -> bool:
    """Whether the error has changed by less than this share of itself in each of the last passes."""
    errors = [_error(record) for record in history[-STEADY - 1 :]]
    return len(errors) > STEADY and all(abs(new - old) < change * old or new == old for old, new in pairwise(errors))


class _Passes:
    """A checkpoint with the learner's state after the last whole pass, and beside it the best model so far."""

    def __init__(
        self,
        schedule: Schedule,
        learner: Learner,
        scored: bool,
        save: Callable[[Any, Path], None] | None,
        load: Callable[[Path], Any] | None,
    ):
        assert schedule.checkpoint is not None
        self.folder, self.learner, self.save, self.load = schedule.checkpoint, learner, save, load
        self.saved = ""
        fingerprint = f"{schedule.seed} {schedule.shuffle} {scored} {learner.fingerprint()}"
        self.checkpoint = Checkpoint(self.folder, schedule.resume, fingerprint)

    def keep(self, result: Result) -> None:
        """Write the state, and the best model if it is another one."""
        best = ""
        if result.model is not None and self.save is not None:
            best = f"best-{result.best_pass}.structron"
            if best != self.saved:
                self.save(self.learner.finish(result.model), self.folder / best)
                self.saved = best
        header = {
            "history": result.history,
            "best": best,
            "best_pass": result.best_pass,
            "stopped": result.stopped,
        }
        self.checkpoint.write(header, self.learner.state())
        for old in self.folder.glob("best-*.structron"):
            if old.name != best:
                old.unlink(missing_ok=True)

    def restore(self, result: Result) -> None:
        """Go on from where an earlier run was."""
        found = self.checkpoint.read()
        if found is None:
            return
        header, state = found
        self.learner.restore(state)
        result.history = History(header["history"])
        result.best_pass, result.stopped = header["best_pass"], header["stopped"]
        if header["best"] and self.load is not None:
            result.model = self.load(self.folder / header["best"])
            self.saved = header["best"]
