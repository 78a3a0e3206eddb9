"""Collins (2002): the two tasks, and both methods with every setting that Figure 4 compares.

As in the paper, examples come in corpus order (Figure 1), every label sequence is a candidate (GEN(x) = T^n, section 3)
and histories hold the two labels before (section 2.2), so both tasks have the label bigram and trigram beside the
features that Figure 3 and section 4.2 list. Perceptron and maximum entropy (ME) read the same features.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structron.evaluate import accuracy_scores, chunk_scores
from structron.experiments.collins2002.maxent import MaxEnt, decode
from structron.experiments.frame import SPLITS, Rows, last_tenth, load_rows, say
from structron.features.extract import PreparedTemplates, TemplateExtractor
from structron.features.templates import load_templates
from structron.tasks.chain.chunker import Chunker
from structron.tasks.chain.tagger import Tagger

CUTOFFS = (0, 5)
AVERAGES = {"avg": "mean", "noavg": "none"}
PRIORS = {"ME": math.inf, "ME with prior": 1.0}
"""scikit-learn's C. The paper's ME has no prior, which leaves the number of iterations to guard against overfitting."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done: the passes, when ME is looked at, the training sentences for tagging."""

    passes: int
    milestones: tuple[int, ...]
    sentences: int | None


@dataclass(frozen=True, slots=True)
class Task:
    """A corpus, the features of the paper and the figure that it reports."""

    key: str
    title: str
    figure: str
    labeler: type[Chunker] | type[Tagger]
    templates: str
    columns: tuple[str, ...]
    train: Rows
    dev: Rows
    test: Rows
    whole: Rows | None = None
    """Training data for the test figures where dev was cut off from it."""

    def prepare(self, rows: Rows) -> PreparedTemplates:
        label = self.columns[-1]
        return TemplateExtractor(self.columns, label, load_templates(self.templates)).prepare(rows, labelled=True)

    def score(self, rows: Rows, guess: list[list[str]]) -> float:
        """The task's own score, for which more is better."""
        words, gold = ([[row[k] for row in sentence] for sentence in rows] for k in (0, -1))
        return chunk_scores(gold, guess).f1 if self.key == "np" else accuracy_scores(words, gold, guess).accuracy

    def shown(self, score: float) -> float:
        """The paper's figure: F-measure or, for tagging, the error rate."""
        return round(score if self.key == "np" else 100 - score, 2)


def np_chunking(data: Path) -> Task:
    """Base noun phrases on the paper's own data. It has no dev part: the last tenth of train is held out."""
    rows, test = (load_rows(data, "ramshaw-marcus-np", split) for split in ("train", "test"))
    columns = ("word", "pos", "chunk")
    return Task("np", "NP chunking", "F-measure", Chunker, "collins-np", columns, *last_tenth(rows), test, rows)


def pos_tagging(data: Path, scale: Scale) -> Task:
    """Penn tags on the English Web Treebank, in place of the Wall Street Journal."""
    columns = ("form", "xpos")
    train, dev, test = (load_rows(data, "ud-english-ewt", split, columns) for split in SPLITS)
    parts = (train[: scale.sentences], dev, test)
    return Task("pos", "POS tagging", "error rate/%", Tagger, "collins-pos", columns, *parts)


@dataclass(slots=True)
class Outcome:
    """A method's best setting on dev data; `test` applies it to test data."""

    method: str
    score: float
    iterations: int
    curve: dict[int, float]
    test: Callable[[], float]


def outcomes(task: Task, scale: Scale) -> Iterator[Outcome]:
    """Every method with every cut-off, in the order of Figure 4."""
    begin = time.perf_counter()
    for outcome in _each(task, scale):
        figure = f"{task.shown(outcome.score):.2f} after {outcome.iterations}"
        say(f"{task.title}: {outcome.method}: dev {task.figure} {figure} ({time.perf_counter() - begin:.0f} s)")
        yield outcome
        begin = time.perf_counter()


def _each(task: Task, scale: Scale) -> Iterator[Outcome]:
    for cutoff in CUTOFFS:
        for name, average in AVERAGES.items():
            yield perceptron(task, f"Perc, {name}, cc={cutoff}", average, cutoff, scale.passes)
    dev = task.prepare(task.dev)
    for cutoff in CUTOFFS:
        data = MaxEnt(task.prepare(task.train), cutoff)
        for name, prior in PRIORS.items():
            yield maximum_entropy(task, f"{name}, cc={cutoff}", data, dev, prior, cutoff, scale.milestones)


def perceptron(task: Task, name: str, average: str, cutoff: int, passes: int) -> Outcome:
    def learn(rows: Rows, passes: int, dev: Rows | None = None) -> Any:
        options: dict[str, Any] = {"order": 2, "passes": passes, "runs": 1, "average": average, "cutoff": cutoff}
        options |= {"templates": task.templates, "columns": task.columns, "label": task.columns[-1]}
        return task.labeler(shuffle=False, constrain=False, **options).fit(rows, dev=dev)

    tuned = learn(task.train, passes, task.dev)
    curve = {record["pass"]: record["dev"] for record in tuned.history_}

    def test() -> float:
        final = learn(task.whole, tuned.best_pass_) if task.whole else tuned
        return final.score(task.test)

    return Outcome(name, curve[tuned.best_pass_], tuned.best_pass_, curve, test)


def maximum_entropy(
    task: Task, name: str, data: MaxEnt, dev: PreparedTemplates, prior: float, cutoff: int, milestones: Sequence[int]
) -> Outcome:
    curve: dict[int, float] = {}
    best = 0
    for iterations, model in data.train(prior, milestones):
        curve[iterations] = task.score(task.dev, decode(model, dev)[0])
        if curve[iterations] > curve.get(best, -1.0):
            best, kept = iterations, model

    def test() -> float:
        final = kept
        if task.whole:
            *_, (_, final) = MaxEnt(task.prepare(task.whole), cutoff).train(prior, [m for m in curve if m <= best])
        return task.score(task.test, decode(final, task.prepare(task.test))[0])

    return Outcome(name, curve[best], best, curve, test)
