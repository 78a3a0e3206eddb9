"""Collins (2002): Figure 4 and the test figures beside the paper's, learning curves, and the bound of Theorem 1."""

from collections.abc import Sequence
from typing import Any

from structron.experiments.collins2002 import paper
from structron.experiments.collins2002.methods import AVERAGES, CUTOFFS, PRIORS, Outcome, Task
from structron.experiments.frame import Line, Report, Table, draw_lines

DEV_NOTES = {
    "np": "Dev is the last tenth of train here, section 21 in the paper: only the order of the methods carries over.",
    "pos": "EWT is web text, and less of it, not the Wall Street Journal: error rates do not carry over.",
}
METHOD_NOTES = (
    "Numits: passes (Perc), iterations (ME: L-BFGS here, GIS in the paper). cc counts a feature whatever the tag.",
    "ME with prior, not in the paper: Gaussian, scikit-learn's C = 1; the paper's ME has none (C infinite).",
)
WHOLE_NOTE = "The paper's test set, section 20, and its training data: the held-out tenth is learned from too."


def dev_table(task: Task, outcomes: Sequence[Outcome], report: Report) -> dict[str, Any]:
    """Figure 4."""
    title = f"{task.title}, development data: {task.figure} (Figure 4)"
    table = Table(title, ("Method", "paper", "ours", "paper's Numits", "our Numits"))
    table.notes = [DEV_NOTES[task.key], *METHOD_NOTES]
    figures: dict[str, Any] = {}
    for outcome in outcomes:
        known, numits = paper.DEV[task.key].get(outcome.method, (None, None))
        ours, own = task.shown(outcome.score), outcome.iterations
        table.add(outcome.method, known, ours, numits, own)
        figures[outcome.method] = {"paper": known, "ours": ours, "paper_numits": numits, "numits": own}
    report.show(table)
    return figures


def test_table(task: Task, outcomes: Sequence[Outcome], report: Report) -> dict[str, Any]:
    """The best setting of each method on dev data, applied to test data (section 4.3)."""
    figures: dict[str, Any] = {}
    scores: dict[str, float] = {}
    table = Table(f"{task.title}, test data: {task.figure}", ("Method", "best on dev", "paper", "ours"))
    for name in ("Perc", *PRIORS):
        best = max((o for o in outcomes if o.method.split(",")[0] == name), key=lambda outcome: outcome.score)
        scores[name] = best.test()
        ours, known = task.shown(scores[name]), paper.TEST[task.key].get(name)
        table.add(name, f"{best.method.removeprefix(f'{name}, ')}, {best.iterations}", known, ours)
        figures[name] = {"setting": best.method, "numits": best.iterations, "paper": known, "ours": ours}
    missed = 100 - scores["ME"]
    saved = round(100 * (scores["Perc"] - scores["ME"]) / missed, 1) if missed else None
    table.add("ME's errors avoided by Perc", None, f"{paper.SAVED[task.key]} %", f"{saved} %")
    figures["errors_avoided"] = {"paper": paper.SAVED[task.key], "ours": saved}
    table.notes += [WHOLE_NOTE] if task.whole else []
    report.show(table)
    return figures


def curves(task: Task, outcomes: Sequence[Outcome], report: Report) -> dict[str, list[list[float]]]:
    """Dev figures after so many iterations, those of passes also as PNG; the paper's where the data are of its kind."""
    found = {o.method: [[number, task.shown(score)] for number, score in o.curve.items()] for o in outcomes}
    lines, best = [], min if task.key == "pos" else max
    for name in (f"Perc, {average}, cc={cutoff}" for average in AVERAGES for cutoff in CUTOFFS):
        values = [figure for _, figure in found[name]]
        known = paper.DEV["np"][name][0] if task.key == "np" else None
        lines.append(Line(name, range(1, len(values) + 1), values, best, known))
    title = f"{task.title}: the perceptron with and without averaging"
    axes = ("passes over the training data", f"dev {task.figure}")
    report.figure(f"{task.key}-curves.png", draw_lines, title, *axes, lines)
    return found


def bound_table(found: dict[str, float]) -> Table:
    table = Table("Theorem 1 on separable toy English: mistakes k ≤ R²/δ²", ("", "value"))
    table.add(f"mistakes k, in {found['passes']} passes", found["mistakes"])
    table.add("R, an upper bound", found["R"])
    table.add("δ, of the separator found", f"{found['delta']:.4f}")
    table.add("R²/δ²", f"{found['bound']:.0f}")
    table.add("k ≤ R²/δ²", "holds" if found["mistakes"] <= found["bound"] else "VIOLATED")
    return table
