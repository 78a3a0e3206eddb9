"""Collins (2002), section 4: perceptron against maximum entropy, averaged or not, with and without a count cut-off.

Figure 4 (development data) and the final test figures, each beside the paper's; learning curves; and Theorem 1's bound
on the number of mistakes, checked on data that can be separated.
"""

from pathlib import Path
from typing import Any

from structron.experiments.collins2002.methods import Scale, np_chunking, outcomes, pos_tagging
from structron.experiments.collins2002.tables import bound_table, curves, dev_table, test_table
from structron.experiments.collins2002.theorem import check_bound
from structron.experiments.frame import need, reporting

RESULTS = Path("results/collins2002")
FULL = Scale(40, (25, 50, 100, 200), None)
QUICK = Scale(5, (10, 20), 3000)


def run(data: Path, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write them, `results.json` and learning curves to `out`; return what the JSON file holds."""
    need("sklearn", "sklearn")
    need("matplotlib", "plot")
    scale = QUICK if quick else FULL
    tasks = [np_chunking(data), pos_tagging(data, scale)]
    less = f"{scale.passes} passes, ME iterations {scale.milestones}, {scale.sentences} sentences for tagging"
    with reporting("Collins (2002)", out or RESULTS, quick, less) as report:
        results = report.content
        results |= {"dev": {}, "test": {}, "curves": {}}
        results["sentences"] = {t.key: {"train": len(t.train), "dev": len(t.dev), "test": len(t.test)} for t in tasks}
        for task in tasks:
            found = list(outcomes(task, scale))
            results["dev"][task.key] = dev_table(task, found, report)
            results["test"][task.key] = test_table(task, found, report)
            results["curves"][task.key] = curves(task, found, report)
        results["bound"] = check_bound()
        report.show(bound_table(results["bound"]))
    return results
