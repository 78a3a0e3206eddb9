"""The model of a project: it predicts, learns from answers in a thread of its own, ranks what is not answered yet."""

import contextlib
import copy
import math
import random
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structron.errors import StructronError
from structron.eval.agreement import cohen_kappa
from structron.tasks.choosing import Doubter
from structron.tasks.registry import load
from structron.teach.project import DONE, NEW, Answer, Item, Project, check_name
from structron.teach.tasks import TASKS, Known, check_columns, says_something, task_of

EARLIER = 8
"""Earlier sentences that are learned again with a new one."""
STEP = {"passes": 2, "runs": 1}
"""How one answer is learned: in a few milliseconds."""
ANEW = 25
"""After so many answers the model is learned anew from all of them, kept, and the pool ranked …"""
ANEW_SHARE = 0.05
"""… or, where that is more, after such a share of what is known: what it takes is in proportion to the answers."""
RANKED = 2_000
"""Sentences of the pool that are ranked, a sample of a larger one …"""
TOGETHER = 50
"""… so many at a time: between them the page has its turn."""
RANKED_TREES = 100
"""The same for trees, whose second best takes longer to find."""
BY = "doubt-per-word"
"""The criterion of ranks, one of those of `structron choose`."""
RANDOM = 0.2
"""Share of the sentences that are asked at random, so that what the model is wrongly sure of is seen."""
WAIT = {"parser": 0.15}
SHORT_WAIT = 0.05
"""Seconds that the next question may wait for the model to learn from the last answer; where it takes longer, as for a
large model, the question is there at once and the model a sentence later."""
RECENT = 300
"""Words over which corrections are counted for advice."""


class Teacher:
    """One for each project; all windows share it."""

    def __init__(self, project: Project):
        self.project = project
        self.task = task_of(project)
        self.random = random.Random(project.settings.get("seed", 1))
        self.changed = threading.Condition()
        self.waiting: list[int] = []  # sentences that are answered and not learned from yet
        self.anew = False
        self.busy = False
        self.since = 0  # answers since the model was learned anew
        self.ended = False
        self.patience = WAIT.get(self.task.name, SHORT_WAIT)
        self.step_seconds = 0.0  # what the model took to learn from the last answers
        self.trouble = ""
        self.model, self.start = self._first()
        self.thread = threading.Thread(target=self._work, name="teacher", daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop learning; what is known is in the project."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()
        self.thread.join(60)
        self.project.close()

    # -- what the page asks --------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """How far the project is."""
        counts = self.project.counts()
        return {
            "name": self.project.path.name,
            "task": self.task.name,
            "labels": self.labels,
            "spans": self.task.spans,
            "trees": self.task.trees,
            **counts,
            "per_100_words": self._recent(),
            "corrections": _smoothed(self.project.corrections()),
            "scores": self.project.scores(),
            "agreement": self._agreement(),
            "advice": self._advice(counts),
            "learning": self.is_learning,
        }

    @property
    def is_learning(self) -> bool:
        """Whether there is something that the model has not learned from, or is not kept after."""
        return bool(self.waiting or self.anew or self.busy)

    @property
    def labels(self) -> list[str]:
        """The labels that may be given."""
        return self.project.labels()

    def add_label(self, name: str) -> list[str]:
        """One more label."""
        self.project.add_labels([self.task.check_label(name)])
        return self.labels

    def ask(self, window: str, who: str) -> dict[str, Any] | None:
        """The next sentence for a window, as it is predicted now; None: all are answered."""
        with self.changed:
            if self.step_seconds < self.patience:
                self.changed.wait_for(lambda: not self.waiting or self.ended, self.patience)
            at_random = self.random.random() if self.random.random() < RANDOM else None
        item = self.project.ask(window, who, at_random)
        return None if item is None else self.shown(item)

    def shown(self, item: Item, said: Known | None = None) -> dict[str, Any]:
        """A sentence with what a file says of it, and around that what is predicted; not what another person has said.
        said: what this person has taken back."""
        known = item.known if item.done == NEW else None
        empty, model = self.task.empty(item), self.model
        predicted, margins = empty if known is None else self.task.joined(known, empty), None
        if model is not None:
            with contextlib.suppress(StructronError):  # a model that cannot take a sentence does not stop the work
                if known is None:
                    ((predicted, margins),) = self.task.predict(model, [item])
                else:
                    predicted, margins = self.task.complete(model, item, known)
        tokens = item.data["tokens"]
        words = [
            {
                "form": word["form"],
                "start": word["start"],
                "space": k + 1 == len(token["words"]) and bool(token["spaces_after"]),
            }
            for token in tokens
            for k, word in enumerate(token["words"])
        ]
        return {
            "sentence": item.id,
            "words": words,
            "predicted": predicted,
            "known": known,
            "said": said,
            "margins": margins and [own if own < math.inf else None for own in margins],
            "doubt": _doubtful(margins),
        }

    def answer(self, window: str, who: str, sentence: int, given: Known | None, predicted: Known | None = None) -> int:
        """Keep what a person says of a sentence, None: nothing; learn from it. Returns the number of the answer."""
        item = self.project.item(sentence)
        who = check_name(who, "who")
        if given is None:
            return self.project.answer(sentence, window, Answer(who, "skip", None, None, 0))
        known = self.task.check(item, given, self.labels)
        predicted = self.task.guessed(item, predicted)
        corrected = self.task.corrected(predicted, known)
        number = self.project.answer(sentence, window, Answer(who, "answer", known, predicted, corrected))
        enough = max(ANEW, ANEW_SHARE * self.project.count(DONE))
        with self.changed:
            self.since += 1
            if not item.aside:
                self.waiting.append(sentence)
            self.anew = self.anew or self.since >= enough
            self.changed.notify_all()
        return number

    def undo(self, window: str, who: str) -> dict[str, Any] | None:
        """Take somebody's last answer back and ask that sentence again; None: nothing is left to undo."""
        found = self.project.undo(window, check_name(who, "who"))
        if found is None:
            return None
        item, answer = found
        with self.changed:
            if item.id in self.waiting:
                self.waiting.remove(item.id)
            elif answer.kind == "answer" and not item.aside:
                self.anew = True  # the model has learned from it
            self.changed.notify_all()
        return self.shown(item, answer.known)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _first(self) -> tuple[Any, Any]:
        """The model to begin with, and the one that everything is learned on top of."""
        start = None
        if name := self.project.settings.get("start"):
            start = load_start(name, self.task.name)
        kept = self.project.model()
        self.anew = self.project.answers() != (kept[0] if kept else 0) or (kept is None and bool(self.project.taught()))
        if kept is None:
            return start, start
        with tempfile.TemporaryDirectory(prefix="structron-teach-") as folder:
            path = Path(folder) / "model.structron"
            path.write_bytes(kept[1])
            return load(path), start

    def _work(self) -> None:
        """Learn from answers as they come, until the end."""
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting or self.anew or self.ended)
                if self.ended:
                    return
                taken, anew = list(self.waiting), self.anew or self.model is None
                self.anew, self.busy = False, True
            self.trouble, begin = "", time.monotonic()
            try:
                model = self._learn_anew() if anew else self._learn(taken)
                if model is not None:
                    self._try(model)
                    self.model = model
            except Exception as error:  # answers are saved, whatever happens here: the page says so and goes on
                self.trouble = f"The last answers are saved, but the model could not learn from them: {error}"
            with self.changed:
                self.step_seconds = time.monotonic() - begin
                self.waiting = [sentence for sentence in self.waiting if sentence not in taken]
                self.changed.notify_all()
            if anew and self.model is not None:
                self._keep()
            with self.changed:
                self.busy = False
                self.changed.notify_all()

    def _try(self, model: Any) -> None:
        """Predict once, so that what has to be compiled or loaded for it does not keep the page waiting."""
        if items := self.project.items("TRUE ORDER BY id LIMIT 1"):
            self.task.predict(model, items)

    def _learn(self, sentences: Sequence[int]) -> Any:
        """The model after a step on some sentences, and on a few earlier ones."""
        items = [item for item in self.project.items_of(sentences) if item.known is not None]
        earlier = [own for own in self.project.taught() if own not in sentences]
        drawn = self.project.items_of(self.random.sample(earlier, min(2 * EARLIER, len(earlier))))
        chosen = items + [item for item in drawn if not item.aside][:EARLIER]
        return self._trained(copy.copy(self.model), chosen, STEP)

    def _learn_anew(self) -> Any:
        """A model that has learned from all that is known."""
        self.since = 0
        items = self.project.known()
        if not items:
            return self.start
        if self.start is not None:
            return self._trained(copy.copy(self.start), items, {"runs": 1})
        return self._trained(self.task.new(), items, {})

    def _trained(self, model: Any, items: Sequence[Item], options: dict[str, Any]) -> Any:
        data = [
            self.task.example(model, item, item.known)
            for item in items
            if item.known is not None and says_something(item.known)
        ]
        if not data:
            return None
        before = model.get_params()
        model.set_params(**{name: value for name, value in options.items() if name in before})
        if hasattr(model, "model_"):
            model.partial_fit(data)
        else:
            model.fit(data)
        model.set_params(**{name: before[name] for name in options if name in before})
        return model

    def _keep(self) -> None:
        """Score the model, keep it, and rank the pool by its doubts."""
        aside = self.project.known(aside=True)
        try:
            score = self.task.score(self.model, aside) if aside else None
            with tempfile.TemporaryDirectory(prefix="structron-teach-") as folder:
                path = Path(folder) / "model.structron"
                self.model.save(path)
                self.project.save_model(path.read_bytes(), score)
            self.rank_pool()
        except Exception as error:  # as above
            self.trouble = f"The model could not be saved, but all answers are: {error}"

    def rank_pool(self) -> None:
        """Rank the sentences of the pool by their doubts, or a sample of them: those that are ranked come first."""
        most, doubter = RANKED_TREES if self.task.trees else RANKED, Doubter([self.model], BY)
        pool, ranks = sorted(self.project.ids(NEW), key=lambda own: (own * 7919) % 10007)[:most], []
        for begin in range(0, len(pool), TOGETHER):
            items = self.project.items_of(pool[begin : begin + TOGETHER])
            found = doubter([self.task.inputs(self.model, item) for item in items])
            ranks += [(min(doubt.value, 0.0), item.id) for item, doubt in zip(items, found, strict=True)]
            if self.ended:
                return
        self.project.rank(ranks)

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _recent(self) -> float | None:
        words = corrected = 0
        for own, changed in reversed(self.project.corrections()):
            words, corrected = words + own, corrected + changed
            if words >= RECENT:
                break
        return round(100.0 * corrected / words, 1) if words else None

    def _agreement(self) -> float | None:
        pairs = self.project.pairs()
        if not pairs:
            return None
        rows = [
            (a, b)
            for first, second in pairs
            for a, b in zip(zip(*first.values(), strict=True), zip(*second.values(), strict=True), strict=True)
            if None not in a and None not in b
        ]
        return None if not rows else round(cohen_kappa(rows), 3)

    def _advice(self, counts: dict[str, int]) -> str:
        if self.trouble:
            return self.trouble
        recent, scores = self._recent(), [score for _, score in self.project.scores()]
        if recent is None or counts["words"] < RECENT:
            return ""
        if len(scores) >= 4 and max(scores[-4:]) - min(scores[-4:]) < 0.5:
            return f"The score has stayed at {scores[-1]:.1f} for a while. More sentences like these will hardly help."
        if recent < 1:
            return f"You now correct only {recent:.1f} of 100 words. This may be enough."
        return ""


def load_start(name: str, task: str) -> Any:
    """The model that a project starts from: one of its task, or that part of a pipeline."""
    model = load(name)
    if model.task == "pipeline":
        if task not in model.names_:
            raise StructronError(f"{name}: no {task} in this pipeline; expected one of {', '.join(model.names_)}")
        model = model.part(task)
    check_columns(model, TASKS[task], name)
    return model


def _doubtful(margins: Sequence[float] | None) -> list[bool] | None:
    """Which words to underline: the third with the smallest margins, if these are small beside the others, or none."""
    if not margins:
        return None
    ordered = sorted(margins)
    middle, third = ordered[len(ordered) // 2], ordered[len(ordered) // 3]
    return [own <= third and (own == 0 or own < 0.5 * middle) for own in margins]


def _smoothed(corrections: Sequence[tuple[int, int]], points: int = 40) -> list[tuple[int, float]]:
    """Corrections in 100 words, for equal parts of all answers."""
    size = max(5, -(-len(corrections) // points))
    found, answered = [], 0
    for begin in range(0, len(corrections), size):
        some = corrections[begin : begin + size]
        answered += len(some)
        words = sum(own for own, _ in some)
        found.append((answered, round(100.0 * sum(changed for _, changed in some) / max(words, 1), 2)))
    return found
