"""`structron precompile`: compile the kernels of tasks into the cache, after an install or before a batch job.

A tiny model of each task is trained and used on generated sentences; its name is printed when it is done. Beside tasks
there are parts that several of them share: what `demo` has another process compile while it works.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from structron.cli.show import kernels
from structron.data.toy_english import ToySentence, toy_english, write_conll, write_conllu
from structron.doc import read_docs
from structron.errors import unknown
from structron.io import read
from structron.progress import say
from structron.tasks.capabilities import able
from structron.tasks.graph.parser import GraphParser
from structron.tasks.registry import TASKS, TRAINABLE, load
from structron.tasks.shift_reduce.parser import Parser

SENTENCES = 20
PARTS: dict[str, Callable[..., Any]] = {"beam": Parser, "graph": partial(GraphParser, order=1)}
"""Parsers that need the kernels of a part once: those of the beam engine, and of graph-based parsing but for the search
at order 2, which is compiled by itself."""
ROWS = {"chunker": ("word", "pos", "chunk"), "segments": ("word", "pos", "chunk"), "joint": ("word", "pos", "chunk")}
ROWS["entities"] = ("word", "pos", "entity")
"""The columns of tasks that learn from CoNLL columns; the others learn from CoNLL-U."""


def run(parts: Sequence[str] = ()) -> None:
    """Train and use a tiny model of each task, or the parser of each part, and print its name when it is done."""
    for part in parts:
        if part not in (*TRAINABLE, *PARTS):
            raise unknown("task", part, TRAINABLE)
    names, begin = parts or TRAINABLE, time.perf_counter()
    for name in names:
        kernels.expect("train", name)
    with tempfile.TemporaryDirectory(prefix="structron-kernels-") as folder:
        for name in names:
            if name in PARTS:
                _compile_part(name)
            else:
                train(name, Path(folder))
                use_model(Path(folder) / f"{name}.structron")
            print(name, flush=True)
    say(f"compiled, {time.perf_counter() - begin:.1f} s: no command has to wait for the compiler now")


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
    kind(**settings).fit(data, dev=dev).save(folder / f"{task}.structron")


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


def _compile_part(part: str) -> None:
    rows = [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in toy_english(SENTENCES)]
    PARTS[part](passes=1, columns=["word", "pos", "head", "deprel"]).fit(rows).predict(rows[:1])


if __name__ == "__main__":
    run(sys.argv[1:])
