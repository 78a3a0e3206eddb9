"""Collins (2002), section 4: perceptron against maximum entropy, averaged or not, with and without a count cut-off.

Figure 4 (development data) and the final test figures, each beside the paper's; learning curves; and Theorem 1's bound
on the number of mistakes, checked on data that can be separated.
"""

from pathlib import Path
from typing import Any

from structron.experiments.collins2002.comparison import compare, load_tasks, outcomes
from structron.experiments.collins2002.theorem import check_bound
from structron.experiments.frame import need, reporting


def run(data: Path, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write them, `results.json` and learning curves to `out`; return what the JSON file holds."""
    need("sklearn", "sklearn")
    need("matplotlib", "plot")
    passes, milestones, sentences = (5, (10, 20), 3000) if quick else (40, (25, 50, 100, 200), None)
    tasks = load_tasks(data, sentences)
    less = f"{passes} passes, ME iterations {milestones}, {sentences} sentences for tagging"
    with reporting("Collins (2002)", out or Path("results/collins2002"), quick, less) as report:
        report.content |= {"dev": {}, "test": {}, "curves": {}}
        report.content["sentences"] = {
            task.key: {"train": len(task.train), "dev": len(task.dev), "test": len(task.test)} for task in tasks
        }
        for task in tasks:
            compare(task, list(outcomes(task, passes, milestones)), report)
        check_bound(report)
    return report.content
