"""Collins (2002), section 4: perceptron against maximum entropy, averaged or not, with and without a count cut-off.

Figure 4 (development data) and the final test figures, each beside the paper's; learning curves; and Theorem 1's bound
on the number of mistakes, checked on data that can be separated.

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

import numpy as np

from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.evaluate import accuracy_scores, chunk_scores
from structron.experiments.common import Curve, Rows, Table, load_rows, make_folder, need, plot_curves, say, write_json
from structron.experiments.maxent import MaxEnt, decode, history_rows
from structron.features.extract import PreparedTemplates, TemplateExtractor
from structron.features.templates import load_templates
from structron.learn.chain import ChainLearner
from structron.learn.loop import Options, train
from structron.tasks.chain.chunker import Chunker
from structron.tasks.chain.labeler import ChainLabeler
from structron.tasks.chain.tagger import Tagger

RESULTS = Path("results/collins2002")
CUTOFFS = (0, 5)
PRIORS = {"ME": math.inf, "ME with prior": 1.0}
"""scikit-learn's C. The paper's ME has no prior, which leaves the number of iterations to guard against overfitting."""

PAPER_DEV: dict[str, dict[str, tuple[float, int]]] = {
    "np": {
        "Perc, avg, cc=0": (93.53, 13),
        "Perc, noavg, cc=0": (93.04, 35),
        "Perc, avg, cc=5": (93.33, 9),
        "Perc, noavg, cc=5": (91.88, 39),
        "ME, cc=0": (92.34, 900),
        "ME, cc=5": (92.65, 200),
    },
    "pos": {
        "Perc, avg, cc=0": (2.93, 10),
        "Perc, noavg, cc=0": (3.68, 20),
        "Perc, avg, cc=5": (3.03, 6),
        "Perc, noavg, cc=5": (4.04, 17),
        "ME, cc=0": (3.4, 100),
        "ME, cc=5": (3.28, 200),
    },
}
"""Figure 4: the best figure and the number of iterations that gave it."""
PAPER_TEST = {"np": {"Perc": 93.63, "ME": 93.29}, "pos": {"Perc": 2.89, "ME": 3.28}}
PAPER_SAVED = {"np": 5.1, "pos": 11.9}
"""The errors of ME that the perceptron avoids on test data, in per cent (section 4.3)."""
HANDICAP = 1000
"""Of right labels while a separator is sought: large beside the changes that single updates make."""

DEV_NOTES = {
    "np": "Dev is the last tenth of train here, section 21 in the paper: only the order of the methods carries over.",
    "pos": "EWT is web text, and less of it, not the Wall Street Journal: error rates do not carry over.",
}
METHOD_NOTES = (
    "Numits: passes (Perc), iterations (ME: L-BFGS here, GIS in the paper). cc counts a feature whatever the tag.",
    "ME with prior, not in the paper: Gaussian, scikit-learn's C = 1; the paper's ME has none (C infinite).",
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done: the passes, when ME is looked at, the training sentences for tagging."""

    passes: int
    milestones: tuple[int, ...]
    sentences: int | None


FULL = Scale(40, (25, 50, 100, 200), None)
QUICK = Scale(5, (10, 20), 3000)


@dataclass(frozen=True, slots=True)
class Task:
    """A corpus, the features of the paper and the figure that it reports."""

    key: str
    title: str
    figure: str
    labeler: type[ChainLabeler]
    templates: str
    columns: tuple[str, ...]
    train: Rows
    dev: Rows
    test: Rows
    whole: Rows | None
    """Training data for the test figures where dev was cut off from it."""

    def prepare(self, rows: Rows) -> PreparedTemplates:
        label = self.columns[-1]
        return TemplateExtractor(self.columns, label, load_templates(self.templates)).prepare(rows, labelled=True)

    def score(self, rows: Rows, guess: list[list[str]]) -> float:
        """The task's own score, for which more is better."""
        words, gold = ([[row[k] for row in sentence] for sentence in rows] for k in (0, -1))
        if self.labeler.metric == "f1":
            return chunk_scores(gold, guess).f1
        return accuracy_scores(words, gold, guess).accuracy

    def shown(self, score: float) -> float:
        """The paper's figure: F-measure or, for tagging, the error rate."""
        return round(score if self.labeler.metric == "f1" else 100 - score, 2)


@dataclass(slots=True)
class Outcome:
    """A method's best setting on dev data; `test` applies it to test data."""

    method: str
    score: float
    iterations: int
    curve: dict[int, float]
    test: Callable[[], float]


def run(data: Path, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write `results.json` and the learning curves to `out`; return what the JSON file holds."""
    need("sklearn", "sklearn")
    need("matplotlib", "plot")
    scale = QUICK if quick else FULL
    tasks = [np_chunking(data), pos_tagging(data, scale)]
    folder = make_folder(out or RESULTS)
    if quick:
        say(f"quick: {scale.passes} passes, ME iterations {scale.milestones}, {scale.sentences} sentences for tagging")
    results: dict[str, Any] = {"paper": "Collins (2002)", "quick": quick, "dev": {}, "test": {}, "curves": {}}
    results["sentences"] = {t.key: {"train": len(t.train), "dev": len(t.dev), "test": len(t.test)} for t in tasks}
    for task in tasks:
        outcomes = list(methods(task, scale))
        results["dev"][task.key] = dev_table(task, outcomes)
        results["test"][task.key] = test_table(task, outcomes)
        results["curves"][task.key] = curves(task, outcomes, folder / f"{task.key}-curves.png")
    results["bound"] = bound_table(check_bound())
    write_json(folder / "results.json", results)
    say(f"results.json and learning curves are in {folder}")
    return results


# -- the tasks -----------------------------------------------------------------------------------------------------


def np_chunking(data: Path) -> Task:
    """Base noun phrases on the paper's own data. It has no dev part: the last tenth of train is held out."""
    rows, test = (load_rows(data, "ramshaw-marcus-np", split) for split in ("train", "test"))
    cut = len(rows) - len(rows) // 10
    columns = ("word", "pos", "chunk")
    parts = (rows[:cut], rows[cut:], test, rows)
    return Task("np", "NP chunking", "F-measure", Chunker, "collins-np", columns, *parts)


def pos_tagging(data: Path, scale: Scale) -> Task:
    """Penn tags on the English Web Treebank, in place of the Wall Street Journal."""
    columns = ("form", "xpos")
    train, dev, test = (load_rows(data, "ud-english-ewt", split, columns) for split in ("train", "dev", "test"))
    parts = (train[: scale.sentences], dev, test, None)
    return Task("pos", "POS tagging", "error rate/%", Tagger, "collins-pos", columns, *parts)


# -- the methods ---------------------------------------------------------------------------------------------------


def methods(task: Task, scale: Scale) -> Iterator[Outcome]:
    """Every method with every cut-off, in the order of Figure 4."""
    for cutoff in CUTOFFS:
        for name, average in (("avg", "mean"), ("noavg", "none")):
            yield timed(task, perceptron, f"Perc, {name}, cc={cutoff}", average, cutoff, scale.passes)
    dev = task.prepare(task.dev)
    for cutoff in CUTOFFS:
        data = MaxEnt(task.prepare(task.train), cutoff)
        for name, prior in PRIORS.items():
            yield timed(task, maximum_entropy, f"{name}, cc={cutoff}", data, dev, prior, cutoff, scale.milestones)


def timed(task: Task, method: Callable[..., Outcome], name: str, *args: Any) -> Outcome:
    begin = time.perf_counter()
    outcome = method(task, name, *args)
    seconds = time.perf_counter() - begin
    figure = f"{task.shown(outcome.score):.2f} after {outcome.iterations}"
    say(f"{task.title}: {name}: dev {task.figure} {figure} ({seconds:.0f} s)")
    return outcome


def perceptron(task: Task, name: str, average: str, cutoff: int, passes: int) -> Outcome:
    def learn(rows: Rows, passes: int, dev: Rows | None = None) -> ChainLabeler:
        columns, label = task.columns, task.columns[-1]
        options: dict[str, Any] = {"order": 2, "passes": passes, "runs": 1, "average": average, "cutoff": cutoff}
        options |= {"templates": task.templates, "columns": columns, "label": label}
        return task.labeler(shuffle=False, constrain=False, **options).fit(rows, dev=dev)

    tuned = learn(task.train, passes, task.dev)
    curve = {record["pass"]: record["dev"] for record in tuned.history_}

    def test() -> float:
        final = learn(task.whole, tuned.best_pass_) if task.whole else tuned
        return final.score(task.test)

    return Outcome(name, curve[tuned.best_pass_], tuned.best_pass_, curve, test)


def maximum_entropy(
    task: Task,
    name: str,
    data: MaxEnt,
    dev: PreparedTemplates,
    prior: float,
    cutoff: int,
    milestones: Sequence[int],
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


# -- tables and curves ---------------------------------------------------------------------------------------------


def dev_table(task: Task, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Figure 4."""
    figures: dict[str, Any] = {}
    title = f"{task.title}, development data: {task.figure} (Figure 4)"
    table = Table(title, ("Method", "paper", "ours", "paper's Numits", "our Numits"))
    for outcome in outcomes:
        paper, numits = PAPER_DEV[task.key].get(outcome.method, (None, None))
        ours = task.shown(outcome.score)
        table.rows.append((outcome.method, paper, ours, numits, outcome.iterations))
        figures[outcome.method] = {
            "paper": paper,
            "ours": ours,
            "paper_numits": numits,
            "numits": outcome.iterations,
        }
    table.notes = [DEV_NOTES[task.key], *METHOD_NOTES]
    table.show()
    return figures


def test_table(task: Task, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The best setting of each method on dev data, applied to test data (section 4.3)."""
    figures: dict[str, Any] = {}
    scores: dict[str, float] = {}
    table = Table(f"{task.title}, test data: {task.figure}", ("Method", "best on dev", "paper", "ours"))
    for name in ("Perc", *PRIORS):
        best = max((o for o in outcomes if o.method.split(",")[0] == name), key=lambda outcome: outcome.score)
        scores[name] = best.test()
        ours, paper = task.shown(scores[name]), PAPER_TEST[task.key].get(name)
        setting = f"{best.method.removeprefix(f'{name}, ')}, {best.iterations}"
        table.rows.append((name, setting, paper, ours))
        figures[name] = {"setting": best.method, "numits": best.iterations, "paper": paper, "ours": ours}
    missed = 100 - scores["ME"]
    saved = round(100 * (scores["Perc"] - scores["ME"]) / missed, 1) if missed else None
    table.rows.append(("ME's errors avoided by Perc", None, f"{PAPER_SAVED[task.key]} %", f"{saved} %"))
    figures["errors_avoided"] = {"paper": PAPER_SAVED[task.key], "ours": saved}
    if task.whole:
        table.notes.append(
            "The paper's test set, section 20, and its training data: the held-out tenth is learned from too."
        )
    table.show()
    return figures


def curves(task: Task, outcomes: Sequence[Outcome], path: Path) -> dict[str, list[list[float]]]:
    """Dev figures after so many iterations, those of passes also as PNG; the paper's where the data are of its kind."""
    found = {o.method: [[number, task.shown(score)] for number, score in o.curve.items()] for o in outcomes}
    drawn = [
        Curve(name, [figure for _, figure in found[name]], PAPER_DEV["np"][name][0] if task.key == "np" else None)
        for name in (f"Perc, {average}, cc={cutoff}" for average in ("avg", "noavg") for cutoff in CUTOFFS)
    ]
    title = f"{task.title}: the perceptron with and without averaging"
    plot_curves(path, title, "passes over the training data", f"dev {task.figure}", drawn, task.key == "pos")
    return found


# -- Theorem 1 -----------------------------------------------------------------------------------------------------


def check_bound(sentences: int = 100, longest: int = 8, seed: int = 2002) -> dict[str, float]:
    """Theorem 1 on short sentences of toy English, each once: mistakes k ≤ R² / δ² for a separator that was found."""
    corpus = [s for s in toy_english(20 * sentences, seed) if len(s.words) <= longest]
    unique = list({tuple(s.words): s for s in corpus}.values())[:sentences]
    rows = [list(zip(s.words, s.pos, strict=True)) for s in unique]
    labels = [s.pos for s in unique]
    options: dict[str, Any] = {"order": 2, "runs": 1, "cutoff": 0, "average": "none", "templates": "collins-pos"}
    tagger = Tagger(passes=1000, shuffle=False, **options).fit(rows)
    mistakes, passes = sum(record["updates"] for record in tagger.history_), len(tagger.history_)
    widen_margin(tagger)
    radius, margin = max_difference(tagger, rows), separation(tagger, rows, labels)
    if tagger.stopped_ != "converged" or margin <= 0:
        raise StructronError("Theorem 1: found no separator of the toy corpus; expected data that can be separated")
    bound = (radius / margin) ** 2
    return {"mistakes": mistakes, "passes": passes, "R": radius, "delta": margin, "bound": bound}


def widen_margin(tagger: ChainLabeler) -> None:
    """Go on learning with a handicap for every right label, so that in the end y beats each z by that much at least.

    A larger δ, and with it a sharper bound, than the weights of a perceptron that stops at its last mistake.
    """
    learner = tagger.learner_
    assert isinstance(learner, ChainLearner)
    labels = len(learner.labels)
    learner.masks = np.zeros((labels + 1, learner.rows.stride), np.float32)
    learner.masks[1:, :labels][np.eye(labels, dtype=bool)] = -HANDICAP
    learner.chains = learner.chains._replace(mask_of=(learner.gold + 1).astype(np.int32))
    result = train(learner, Options(passes=10_000, shuffle=False))
    tagger.model_, tagger.stopped_ = result.model, result.stopped


def separation(labeler: ChainLabeler, rows: Rows | list, labels: list[list[str]]) -> float:
    """δ of equation 3 for U = w / ‖w‖; 0 if w does not separate.

    The best wrong labelling differs from the right one somewhere: its margin is the least of the tokens'.
    """
    guess, margins = labeler.predict_with_margins(rows)
    if guess != labels:
        return 0.0
    return min(map(min, margins)) / float(
        np.linalg.norm(labeler.model_.w[:, : len(labeler.model_.labels)].astype(float))
    )


def max_difference(labeler: ChainLabeler, rows: Rows | list) -> float:
    """R: no ‖Φ(x, y) - Φ(x, z)‖ is larger.

    Counts are not negative, so ‖Φ(y) - Φ(z)‖² ≤ ‖Φ(y)‖² + ‖Φ(z)‖², and no ‖Φ(z)‖ is larger than that of n equal labels
    with n equal transitions.
    """
    prepared = labeler.extractor_.prepare(rows, labelled=True)
    gold, starts = prepared.label_ids.astype(np.int64), prepared.starts
    history = np.stack(history_rows(gold, starts, len(prepared.label_types)), 1)
    largest = 0
    for s in range(len(rows)):
        ptr, hashes, _ = prepared.hashes(s, s + 1)
        tokens = slice(int(starts[s]), int(starts[s + 1]))
        n, y = int(starts[s + 1] - starts[s]), gold[tokens]
        features = np.stack([hashes, np.repeat(y, np.diff(ptr)).astype(np.uint64)])
        transitions = np.stack([history[tokens].ravel(), np.repeat(y, 2)])
        own = squares(features) + squares(transitions)
        largest = max(largest, own + squares(hashes[None]) + 2 * n * n)
    return math.sqrt(largest)


def squares(columns: np.ndarray) -> int:
    """The sum of the squared counts of equal columns."""
    return int((np.unique(columns, axis=1, return_counts=True)[1] ** 2).sum())


def bound_table(found: dict[str, float]) -> dict[str, float]:
    table = Table("Theorem 1 on separable toy English: mistakes k ≤ R²/δ²", ("", "value"))
    table.rows += [(f"mistakes k, in {found['passes']} passes", found["mistakes"]), ("R, an upper bound", found["R"])]
    table.rows += [("δ, of the separator found", f"{found['delta']:.4f}"), ("R²/δ²", f"{found['bound']:.0f}")]
    table.rows.append(("k ≤ R²/δ²", "holds" if found["mistakes"] <= found["bound"] else "VIOLATED"))
    table.show()
    return found
