"""`structron precompile`: compile the kernels of tasks into the cache, after an install or before a batch job.

A tiny model of each task is trained and used on generated sentences, and the bundled model on a text; the name of each
is printed when it is done. Several processes may do this at a time, in any order: none compiles what another one is
compiling (kernels/shipped.py).
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from structron.cli.show import kernels
from structron.data.toy_english import ToySentence, toy_english, write_conll, write_conllu
from structron.doc import read_docs
from structron.errors import unknown
from structron.io import read
from structron.progress import say
from structron.tasks.capabilities import able
from structron.tasks.registry import TASKS, TRAINABLE, load
from structron.threads import cores

SENTENCES = 20
TEXT = "english"
PARTS = (TEXT, *TRAINABLE)
"""The bundled model, and the tasks."""
OTHERS: dict[str, list[dict[str, Any]]] = {
    "tagger": [{"order": 1, "beam": 4, "update": "max-violation"}],
    "graph-parser": [{"order": 1}],
}
"""What tasks are often trained with beside their defaults."""
ROWS = {"chunker": ("word", "pos", "chunk"), "segments": ("word", "pos", "chunk"), "joint": ("word", "pos", "chunk")}
ROWS["entities"] = ("word", "pos", "entity")
"""The columns of tasks that learn from CoNLL columns; the others learn from CoNLL-U."""


def run(parts: Sequence[str] = (), jobs: int | None = None) -> None:
    """Compile what each part needs and print its name when it is done; another core begins with the last one."""
    for part in parts:
        if part not in PARTS:
            raise unknown("task", part, TRAINABLE)
    names, begin = parts or PARTS, time.perf_counter()
    for name in names:
        kernels.expect("train", name)
    alone = (jobs or cores()) < 2 or len(names) < 2
    with (
        nullcontext() if alone else meanwhile(names),
        tempfile.TemporaryDirectory(prefix="structron-kernels-") as folder,
    ):
        for name in names:
            if name == TEXT:
                load(TEXT).predict([" ".join(toy_english(1)[0].words)])
            else:
                train(name, Path(folder))
                use_model(Path(folder) / f"{name}.structron")
            print(name, flush=True)
    say(f"compiled, {time.perf_counter() - begin:.1f} s: no command has to wait for the compiler now")


@contextmanager
def meanwhile(parts: Sequence[str]) -> Iterator[None]:
    """Another process compiles, the last part first; whoever comes to a kernel that is being compiled waits for it."""
    command = [sys.executable, "-m", "structron.cli.precompile", *reversed(parts)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def train(task: str, folder: Path) -> None:
    """Train a tiny model with the task's own defaults, but for one pass, and save it."""
    kind, corpus = TASKS[task], toy_english(2 * SENTENCES)
    settings: dict[str, Any] = {"passes": 1} if able(kind, "passes") else {}
    settings |= {"runs": 2} if able(kind, "runs") else {}
    data, dev = (_data(task, corpus[k * SENTENCES : (k + 1) * SENTENCES], folder) for k in (0, 1))
    if task in ROWS:
        settings["columns"] = list(ROWS[task])
    elif not kind.texts:
        names = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"]
        label = {"tagger": {"label": "upos"}, "lemmatizer": {"label": "lemma"}}.get(task, {})
        settings |= {"columns": names, **label}
    for others in (*OTHERS.get(task, ()), {}):
        kind(**settings, **others).fit(data, dev=dev).save(folder / f"{task}.structron")


def _data(task: str, corpus: Sequence[ToySentence], folder: Path) -> list[Any]:
    """Sentences as a task learns from them."""
    if task in ROWS:
        write_conll(folder / "toy.conll", corpus, ROWS[task])
        return [sentence.rows for sentence in read(folder / "toy.conll")]
    write_conllu(folder / "toy.conllu", corpus, lemmas=True)
    if TASKS[task].texts:
        return list(read_docs(folder / "toy.conllu"))
    return [sentence.rows for sentence in read(folder / "toy.conllu")]


def use_model(path: Path) -> None:
    """Load a model and let it predict in every way that its task knows."""
    estimator = load(path)
    data = _data(estimator.task, toy_english(SENTENCES, seed=1), path.parent)
    items = [doc.text for doc in data] if estimator.texts else data
    estimator.predict(items)
    if estimator.texts:
        return
    kind = type(estimator)
    if able(kind, "nbest"):
        estimator.nbest(items[:2], 2)
    if able(kind, "confidence"):
        estimator.predict_with_margins(items[:2])
    if able(kind, "explain"):
        estimator.explain(items[0])


if __name__ == "__main__":
    run(sys.argv[1:], jobs=1)
