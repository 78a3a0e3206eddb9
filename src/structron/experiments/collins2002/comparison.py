"""Collins (2002), section 4: two tasks, both methods with every setting of Figure 4, and the best of them on test data.

As in the paper, examples come in corpus order (Figure 1), every label sequence is a candidate (GEN(x) = T^n, section 3)
and histories hold the two labels before (section 2.2), so both tasks have the label bigram and trigram beside the
features that Figure 3 and section 4.2 list. Perceptron and maximum entropy (ME) read the same features.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from structron.experiments import frame
from structron.experiments.collins2002.maxent import MaxEnt
from structron.experiments.frame import Line, Report, Rows, Table, load_rows, say
from structron.tasks.chain.labeler import Chunker, Tagger

CUTOFFS = (0, 5)
AVERAGES = {"avg": "mean", "noavg": "none"}
PRIORS = {"ME": math.inf, "ME with prior": 1.0}
"""scikit-learn's C. The paper's ME has no prior, which leaves the number of iterations to guard against overfitting."""

PAPER = frame.paper_of("collins2002")


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

    def learn(self, rows: Rows, passes: int, cutoff: int, average: str = "mean", dev: Rows | None = None) -> Any:
        options: dict[str, Any] = {"order": 2, "runs": 1, "average": average, "cutoff": cutoff}
        options |= {"templates": self.templates, "columns": self.columns, "label": self.columns[-1]}
        return self.labeler(passes=passes, shuffle=False, constrain=False, **options).fit(rows, dev=dev)

    def shown(self, score: float) -> float:
        """The paper's figure: F-measure or, for tagging, the error rate."""
        return round(score if self.key == "np" else 100 - score, 2)


def load_tasks(data: Path, sentences: int | None) -> list[Task]:
    """Base noun phrases on the paper's own data, which have no dev part: the last tenth of train is held out. Penn tags
    on the English Web Treebank, of which so many sentences are learned from, in place of the Wall Street Journal."""
    rows, test = (load_rows(data, "ramshaw-marcus-np", split) for split in ("train", "test"))
    columns, tagged = ("word", "pos", "chunk"), ("form", "xpos")
    chunks = Task("np", "NP chunking", "F-measure", Chunker, "collins-np", columns, *frame.last_tenth(rows), test, rows)
    train, *others = (load_rows(data, "ud-english-ewt", split, tagged) for split in frame.SPLITS)
    tags = Task("pos", "POS tagging", "error rate/%", Tagger, "collins-pos", tagged, train[:sentences], *others)
    return [chunks, tags]


@dataclass(slots=True)
class Outcome:
    """A method's score on dev data after so many iterations; `test` applies the best of them to test data."""

    method: str
    curve: dict[int, float]
    test: Callable[[], float]

    @property
    def best(self) -> int:
        return max(self.curve, key=self.curve.__getitem__)


def outcomes(task: Task, passes: int, milestones: Sequence[int]) -> Iterator[Outcome]:
    """Every method with every cut-off, in the order of Figure 4."""
    work = [partial(perceptron, task, average, cutoff, passes) for cutoff, average in product(CUTOFFS, AVERAGES)]
    work += [partial(maximum_entropy, task, prior, cutoff, milestones) for cutoff, prior in product(CUTOFFS, PRIORS)]
    for method in work:
        outcome, seconds = frame.timed(method)
        figure = f"{task.shown(outcome.curve[outcome.best]):.2f} after {outcome.best}"
        say(f"{task.title}: {outcome.method}: dev {task.figure} {figure} ({seconds:.0f} s)")
        yield outcome


def perceptron(task: Task, average: str, cutoff: int, passes: int) -> Outcome:
    how = (cutoff, AVERAGES[average])
    tuned = task.learn(task.train, passes, *how, task.dev)

    def test() -> float:
        final = task.learn(task.whole, tuned.best_pass_, *how) if task.whole else tuned
        return final.score(task.test)

    return Outcome(f"Perc, {average}, cc={cutoff}", {record["pass"]: record["dev"] for record in tuned.history_}, test)


def maximum_entropy(task: Task, prior: str, cutoff: int, milestones: Sequence[int]) -> Outcome:
    """A labeller learns for one pass, which encodes its data, and is given the weights of ME."""
    labeler = task.learn(task.train, 1, cutoff)
    kept = None

    def test() -> float:
        final, labeler.model_ = labeler, kept
        if task.whole:
            final = task.learn(task.whole, 1, cutoff)
            more = [m for m in outcome.curve if m <= outcome.best]
            *_, (_, final.model_) = MaxEnt(final.learner_).train(PRIORS[prior], more)
        return final.score(task.test)

    outcome = Outcome(f"{prior}, cc={cutoff}", {}, test)
    for iterations, model in MaxEnt(labeler.learner_).train(PRIORS[prior], milestones):
        labeler.model_ = model
        outcome.curve[iterations] = labeler.score(task.dev)
        if outcome.best == iterations:
            kept = model
    return outcome


def compare(task: Task, found: Sequence[Outcome], report: Report) -> None:
    """Figure 4, the best setting of each method applied to test data (section 4.3), and learning curves."""
    table = Table.of(PAPER["dev"][task.key])
    for outcome in found:
        paper, numits = table.paper.get(outcome.method, (None, None))
        table.add(outcome.method, paper, task.shown(outcome.curve[outcome.best]), numits, outcome.best, paper=())
    names = ("paper", "ours", "paper_numits", "numits")
    report.content["dev"][task.key] = {row[0]: dict(zip(names, row[1:], strict=True)) for row in table.rows}
    report.show(table)
    report.content["test"][task.key] = test_figures(task, found, report)
    curves = {o.method: [[number, task.shown(score)] for number, score in o.curve.items()] for o in found}
    report.content["curves"][task.key] = curves
    lines = []
    for name in (f"Perc, {average}, cc={cutoff}" for average in AVERAGES for cutoff in CUTOFFS):
        values = [figure for _, figure in curves[name]]
        paper = table.paper[name][0] if task.key == "np" else None
        lines.append(Line(name, range(1, len(values) + 1), values, max if task.key == "np" else min, paper))
    title = f"{task.title}: the perceptron with and without averaging"
    axes = ("passes over the training data", f"dev {task.figure}")
    report.figure(f"{task.key}-curves.png", frame.draw_lines, title, *axes, lines)


def test_figures(task: Task, found: Sequence[Outcome], report: Report) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    scores: dict[str, float] = {}
    known = PAPER["test"][task.key]
    table = Table.of(known)
    for name in ("Perc", *PRIORS):
        own = [outcome for outcome in found if outcome.method.split(",")[0] == name]
        best = max(own, key=lambda outcome: max(outcome.curve.values()))
        scores[name] = best.test()
        ours, paper = task.shown(scores[name]), known.get(name)
        table.add(name, f"{best.method.removeprefix(f'{name}, ')}, {best.best}", paper, ours)
        figures[name] = {"setting": best.method, "numits": best.best, "paper": paper, "ours": ours}
    missed = 100 - scores["ME"]
    saved = round(100 * (scores["Perc"] - scores["ME"]) / missed, 1) if missed else None
    table.add("ME's errors avoided by Perc", None, f"{known['saved']} %", f"{saved} %")
    report.show(table)
    return figures | {"errors_avoided": {"paper": known["saved"], "ours": saved}}
