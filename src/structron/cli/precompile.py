"""Compile kernels into the cache, after an install or beside other work: `python -m structron.cli.precompile [TASK …]`.

Every task is trained on a few sentences and used, as the command line does it. Several processes may do this at a time:
none compiles what another one is compiling (kernels/cache.py). The name of each task is printed when it is done.
"""

import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from structron.cli import annotate, evaluate, predict, train
from structron.cli.demo import DEMOS
from structron.data.toy_english import toy_english

SENTENCES = 30
SETTINGS: dict[str, list[Mapping[str, Any]]] = {
    "tagger": [{"passes": 1}, {"passes": 1, "order": 1, "beam": 4, "update": "max-violation"}],
    "graph-parser": [{"order": 1, "passes": 1}, {"order": 2, "passes": 1}],
    "pipeline": [{}],
}
"""What a task is trained with, if not with its defaults for one pass."""
TEXT = "text"
PARTS = (TEXT, *DEMOS)
"""The bundled model on a text, and the tasks."""


def _annotate(folder: Path) -> None:
    from structron.cli.showcase import PARAGRAPH

    annotate.run(text=PARAGRAPH, output=folder / "text.conllu")


def _train(task: str, folder: Path) -> None:
    demo = DEMOS[task]
    file, model = folder / f"{task}.{demo.ending}", folder / f"{task}.structron"
    demo.write(file, toy_english(SENTENCES))
    for settings in SETTINGS.get(task, [{"passes": 1}]):
        train.run(task, file, model, dev=file, quiet=True, settings=settings)
    evaluate.run(model, str(file))
    if task in ("tokenizer", "pipeline"):
        return
    predict.run(model, [str(file)], output=folder / f"{task}.out")


def run(parts: Iterable[str] = PARTS) -> None:
    """Do what each part does, with everything that it compiles."""
    with tempfile.TemporaryDirectory(prefix="structron-kernels-") as folder:
        for part in parts:
            with redirect_stdout(StringIO()):  # nothing that commands have to say is of interest here
                _annotate(Path(folder)) if part == TEXT else _train(part, Path(folder))
            print(part, flush=True)


if __name__ == "__main__":
    run(sys.argv[1:] or PARTS)
