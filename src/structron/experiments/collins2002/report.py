"""Collins (2002): tables, verdicts and learning curves, from the ledger alone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from structron.experiments import frame
from structron.experiments.collins2002.settings import (
    CUTOFFS,
    FAMILIES,
    MAXENT,
    Setting,
    best_of,
    find,
    sample,
    settings_of,
)
from structron.experiments.frame import (
    Claim,
    Curve,
    Drawing,
    Ledger,
    Picture,
    Table,
    Verdict,
    ahead,
    effects_of,
    level,
    together,
    within,
)
from structron.experiments.frame.statistics import sampled
from structron.experiments.frame.verdict import MISSING, NORMAL, PAPERS, interval_of

PAPER = frame.paper_of("collins2002")
TITLES = {"np": "NP chunking", "pos": "POS tagging"}
THEOREM = "collins2002.theorem"
COMPARISONS: dict[str, tuple[list[tuple[Setting, Setting]], tuple[str, ...]]] = {
    "averaging": ([(Setting("Perc", cc, "avg"), Setting("Perc", cc, "noavg")) for cc in CUTOFFS], ("dev", "test")),
    "cutoff": ([(Setting("Perc", 0, own), Setting("Perc", 5, own)) for own in ("avg", "noavg")], ("dev", "test")),
    "entropy": ([(Setting("ME", 5), Setting("ME", 0))], ("dev", "test")),
}
"""Claims of Figure 4: pairs of settings, the first of which is ahead over these data."""


SHUFFLED = "shuffled: training sentences in random order; the corpus has one genre after another."
CLOSELY = "ME was then scored at 60 numbers from half to twice the best one."


def shown(task: str, score: float) -> float:
    """The paper's figure: F-measure or, for tagging, the error rate."""
    return round(score if task == "np" else 100 - score, 2)


# -- tables ------------------------------------------------------------------------------------------------------------


def tables(ledger: Ledger) -> Iterator[Table]:
    every = [table for task in TITLES for table in (dev_table(ledger, task), final_table(ledger, task))]
    yield from (table for table in (*every, voting_table(ledger), theorem_table(ledger)) if table.rows)


def dev_table(ledger: Ledger, task: str) -> Table:
    table = Table.of(PAPER["dev"][task])
    mixed = [replace(setting, mixed=True) for setting in settings_of("Perc")]
    for setting in (*(setting for family in FAMILIES for setting in settings_of(family)), *mixed):
        paper, numits = table.paper.get(str(setting), (None, None))
        if found := find(ledger, task, setting):
            table.add(str(setting), paper, shown(task, found["dev"]), numits, found["best"], paper=())
    if any(find(ledger, task, setting) for setting in mixed):
        table.notes.append(SHUFFLED)
    if ledger.of(MAXENT, task=task, close=True):
        table.notes.append(CLOSELY)
    return table


def final_table(ledger: Ledger, task: str) -> Table:
    known = PAPER["test"][task]
    table = Table.of(known)
    for family in FAMILIES:
        best = best_of(ledger, task, family)
        if best and "test" in best:
            how = f"{str(best['setting']).removeprefix(f'{family}, ')}, {best['best']}"
            table.add(family, how, known.get(family), shown(task, best["test"]))
    saved = errors_avoided(ledger, task)
    if saved is not None:
        table.add("ME's errors avoided by Perc", None, f"{known['saved']} %", f"{saved:.1f} %")
    return table


def errors_avoided(ledger: Ledger, task: str) -> float | None:
    """By the perceptron, of those that ME makes on test data, in per cent."""
    perceptron, entropy = (sample(best_of(ledger, task, family), "test") for family in ("Perc", "ME"))
    missed = 100 - entropy.mean
    return 100 * (perceptron.mean - entropy.mean) / missed if perceptron and entropy and missed else None


def voting_table(ledger: Ledger) -> Table:
    table = Table.of(PAPER["voting"])
    for trial in ledger.of(f"{THEOREM}:voting"):
        scores = [shown(trial["task"], trial[name]["test"]) for name in ("voted", "mean", "none")]
        name = f"{TITLES[trial['task']]}{', shuffled' * bool(trial.options.get('mixed'))}"
        table.add(name, trial["examples"], trial["updates"] + 1, *scores)
    return table


def theorem_table(ledger: Ledger) -> Table:
    table = Table.of(PAPER["theorems"])
    for number in (1, 2, 3):
        for trial in ledger.of(f"{THEOREM}:theorem{number}"):
            figures = [trial.figures.get(name) for name in ("examples", "mistakes", "R", "delta", "D", "bound")]
            table.add(f"{number}, {trial['language']}", *(None if one is None else f"{one:.4g}" for one in figures))
    return table


# -- claims ------------------------------------------------------------------------------------------------------------


def claims(ledger: Ledger) -> Iterator[Claim]:
    yield bound_claim(ledger, "theorem1")
    yield bound_claim(ledger, "theorem2")
    yield voting_claim(ledger, "voting", None)
    yield voting_claim(ledger, "voting_shuffled", True)
    yield bound_claim(ledger, "theorem3", " of all")
    for name, (pairs, parts) in COMPARISONS.items():
        for task in TITLES:
            yield compared(name, task, [[find(ledger, task, one) for one in pair] for pair in pairs], parts)
    for task in TITLES:
        yield compared("dev", task, [[best_of(ledger, task, family) for family in ("Perc", "ME")]], ("dev",))
    yield passes_claim(ledger)
    yield stability_claim(ledger)
    for task in TITLES:
        saved = errors_avoided(ledger, task)
        more = "" if saved is None else f", {saved:.1f} % of the errors avoided"
        yield compared("test", task, [[best_of(ledger, task, family) for family in ("Perc", "ME")]], ("test",), more)


def make_claim(name: str, ours: str, verdict: Verdict, task: str = "") -> Claim:
    entry = PAPER["claims"][name]
    text = entry["text"].format(task=TITLES.get(task))
    paper = entry["paper"][task] if task else entry["paper"]
    key = f"{name} {task}".strip()
    return Claim(entry["where"], text, paper, ours or "–", verdict, entry.get("kind", PAPERS), key)


def bound_claim(ledger: Ledger, name: str, unit: str = " mistakes") -> Claim:
    trials = ledger.of(f"{THEOREM}:{name}")
    ours = ", ".join(f"{trial['mistakes']:.3g} ≤ {trial['bound']:.3g}" for trial in trials)
    return make_claim(
        name, ours, together([within(trial["mistakes"], high=trial["bound"], unit=unit) for trial in trials])
    )


def voting_claim(ledger: Ledger, key: str, mixed: bool | None) -> Claim:
    parts, verdicts = [], []
    for trial in ledger.of(f"{THEOREM}:voting", mixed=mixed):
        scores = [shown(trial["task"], trial[name]["test"]) for name in ("mean", "voted")]
        parts.append(f"{TITLES[trial['task']]} {scores[0]:.2f} against {scores[1]:.2f}")
        averaged, voted, last = (sample(trial[name], "test") for name in ("mean", "voted", "none"))
        verdicts.append(level(averaged, voted, abs(last.mean - voted.mean), " points", TITLES[trial["task"]]))
    return make_claim(key, "; ".join(parts), together(verdicts))


def compared(name: str, task: str, pairs: Sequence[Sequence], parts: tuple[str, ...], more: str = "") -> Claim:
    """The first of each pair is ahead of the second, over some parts of the data together."""
    verdicts, texts, sign = [], [], 1 if task == "np" else -1
    known = effects_of(PAPER["claims"][name]["paper"][task])
    for (first, second), effect in zip(pairs, known, strict=True):
        verdicts.append(ahead(sample(first, *parts), sample(second, *parts), sign * effect))
        for part in parts:
            both = (sample(first, part), sample(second, part))
            if all(both):
                scores = " against ".join(f"{shown(task, one.mean):.2f}" for one in both)
                texts.append(scores if len(parts) == 1 else f"{part} {scores}")
    return make_claim(name, "; ".join(texts) + more, together(verdicts), task)


def curves(ledger: Ledger, average: str) -> list[list[float]]:
    """Dev scores after each pass, of both tasks with both cut-offs."""
    found = [find(ledger, task, Setting("Perc", cutoff, average)) for task in TITLES for cutoff in CUTOFFS]
    return [[score for _, score in one["curve"]] for one in found if one]


def passes_claim(ledger: Ledger) -> Claim:
    """What passes after the latest of the paper's best ones still gain in the mean, beside the standard error of a dev
    score; the interval is over these passes. (The best of many is ahead by chance.)"""
    figures = [own["figures"][f"Perc, avg, cc={cc}"] for own in PAPER["dev"].values() for cc in CUTOFFS]
    latest, verdicts, best = max(number for _, number in figures), [], []
    for task in TITLES:
        for cutoff in CUTOFFS:
            if found := find(ledger, task, Setting("Perc", cutoff, "avg")):
                curve = np.array([score for _, score in found["curve"]])
                low, high = interval_of(sample(found, "dev")) or (0.0, 0.0)
                best.append(str(1 + int(curve.argmax())))
                gains = curve[latest:] - curve[:latest].max()
                gain, ends = sampled(partial(part_mean, gains), len(gains)) if len(gains) else (0.0, None)
                error, name = (high - low) / 2 / NORMAL, f"{TITLES[task]}, cc={cutoff}"
                verdicts.append(within(gain, high=error, unit=" points", interval=ends, name=name))
    verdict = together(verdicts) if len(verdicts) == 4 else Verdict(MISSING)
    return make_claim("passes", f"best passes {', '.join(best)}" if best else "", verdict)


def part_mean(values: np.ndarray, picks: np.ndarray) -> float:
    return float(values[picks].mean())


def stability_claim(ledger: Ledger) -> Claim:
    """By the standard deviation over the second half of the passes, which the interval is over, too."""
    pairs = list(zip(*(curves(ledger, name) for name in ("noavg", "avg")), strict=True))
    verdicts, texts = [], []
    for pair in pairs:
        halves = np.array([one[len(one) // 2 :] for one in pair])
        more, ends = sampled(partial(spread_difference, halves), halves.shape[1])
        verdicts.append(within(more, low=0.0, unit=" points", interval=ends))
        texts.append(" against ".join(f"{half.std():.3f}" for half in halves))
    verdict = together(verdicts) if len(pairs) == 4 else Verdict(MISSING)
    return make_claim("stability", "; ".join(texts), verdict)


def spread_difference(pair: np.ndarray, picks: np.ndarray) -> float:
    """The standard deviation of the first row over some columns less that of the second."""
    first, second = pair[:, picks].std(axis=1)
    return float(first - second)


# -- figures -----------------------------------------------------------------------------------------------------------


def drawings(ledger: Ledger) -> Iterator[Drawing]:
    """Learning curves of the perceptron."""
    for task, title in TITLES.items():
        lines, best, figure = [], *((max, "F-measure") if task == "np" else (min, "error rate/%"))
        for setting in settings_of("Perc"):
            if found := find(ledger, task, setting):
                numbers, scores = zip(*found["curve"], strict=True)
                paper = PAPER["dev"][task]["figures"][str(setting)][0] if task == "np" else None
                lines.append(Curve(str(setting), numbers, [shown(task, score) for score in scores], best, paper))
        about = (
            f"{title}: the perceptron with and without averaging",
            "passes over the training data",
            f"dev {figure}",
        )
        if lines:
            yield Drawing(f"{task}-curves", frame.draw_lines, (*about, lines))


def picture(ledger: Ledger) -> Picture | None:
    """Figure 4."""
    drawn = Picture("Perceptron and maximum entropy, development data (Figure 4)", "F1 or accuracy/%")
    for task, title in TITLES.items():
        drawn.add(title)
        for setting in (setting for family in ("Perc", "ME") for setting in settings_of(family)):
            known = PAPER["dev"][task]["figures"][str(setting)][0]
            if found := find(ledger, task, setting):
                ends = interval_of(sample(found, "dev"))
                drawn.add(str(setting), known if task == "np" else 100 - known, found["dev"], ends)
    return drawn if len(drawn.rows) > len(TITLES) else None
