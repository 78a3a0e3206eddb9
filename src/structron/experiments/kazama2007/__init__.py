"""Kazama & Torisawa (2007): margins, and features of whole documents.

Tables 2, 3, 6 and 7 beside the paper's on Dutch newspapers and English web text, and on the paper's own corpus if it is
there; the effect of the BPM start, and at the end the targets with what was measured. C is chosen on development data;
test data are looked at once, at the end. Corpora are worked through by processes of their own, and what each has found
so far is in its JSON file.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from structron.experiments.frame import need, reporting
from structron.experiments.kazama2007.corpora import Corpus, present
from structron.experiments.kazama2007.study import Scale, Study
from structron.experiments.kazama2007.tables import show_tables, targets

FULL = Scale()
QUICK = Scale(
    documents=40,
    passes=6,
    bpm=2,
    candidate_margins=(500, 2000, 8000),
    variances=(10,),
    iterations=20,
    test_candidates=(20, 100, 400),
    second_margins=(8, 500, 8000),
    second_passes=10,
    refine=False,
)


def run(data: Path, quick: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Print the tables; write them, `results.json` and a file per corpus to `out`; return what `results.json` holds."""
    need("pycrfsuite", "bench")
    scale, names = QUICK if quick else FULL, present(data)
    less = f"{scale.documents} documents of each part, {scale.passes} passes, few values of C"
    folder = out or Path("results/kazama2007")
    with reporting("Kazama & Torisawa (2007)", folder, quick, less) as report:
        every: dict[str, dict[str, Any]] = {}
        for found in studies(data, names, scale, folder):
            every[found["corpus"]] = found
            report.content["corpora"] = {name: every[name] for name in names if name in every}
            show_tables(found, report)
        targets(list(report.content["corpora"].values()), report)
    return report.content


def studies(data: Path, names: list[str], scale: Scale, folder: Path) -> Iterator[dict[str, Any]]:
    """What is found with each corpus, as it is finished: a process each, as many at a time as there are cores."""
    workers = min(scale.processes, len(names), os.cpu_count() or 1)
    if workers == 1:
        yield from (work_through(data, name, scale, folder) for name in names)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for future in as_completed([pool.submit(work_through, data, name, scale, folder) for name in names]):
            yield future.result()


def work_through(data: Path, name: str, scale: Scale, folder: Path) -> dict[str, Any]:
    """Work through one corpus."""
    return Study(Corpus.load(data, name, scale.documents), scale, folder).run()
