"""Writes the list of kernels (`structron/kernels/kernels.json`): `python -m benchmarks.kernels`.

Every task is trained, used, and asked for all that it can do, each in a process of its own with a common empty cache;
what a process asks the cache for is what it needs. Then each kernel is compiled alone once more, in one process and
with another empty cache, for the seconds of processor time.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from structron.data.toy_english import ToySentence, toy_english, write_conll, write_conllu
from structron.io import read
from structron.io.doc import read_docs
from structron.kernels import ahead, cache, listed
from structron.kernels.listed import CLUSTERS, COMMON, SHARDS
from structron.learn.clusters import cluster, count
from structron.serve.library import watch_beam
from structron.tasks.capabilities import able
from structron.tasks.registry import TASKS, TRAINABLE, load

SENTENCES = 20
EVERY = 10
"""Kernels between two looks at how fast the machine is."""
TEXT = "english"
PARTS = (TEXT, *TRAINABLE)
"""The bundled model, and the tasks."""
BEAM = {"order": 1, "beam": 4, "update": "max-violation"}
VARIANTS: dict[str, dict[str, Any]] = {
    "tagger beam": BEAM,
    "chunker beam": BEAM,
    "entities beam": BEAM,
    "graph-parser first-order": {"order": 1},
    "pipeline best": {"best": True},
    "lemmatizer letters": {"letters": True},
}
"""What tasks need other kernels for (`Estimator.kernels_of`)."""
SHARDED = ("tagger", "lemmatizer", "parser", "graph-parser")
"""Tasks with one store of weights each: learning in shards takes the same kernels whatever the task."""
ROWS = {"chunker": ("word", "pos", "chunk"), "segments": ("word", "pos", "chunk"), "joint": ("word", "pos", "chunk")}
ROWS["entities"] = ("word", "pos", "entity")
"""The columns of tasks that learn from CoNLL columns; the others learn from CoNLL-U."""


def record(need: str, folder: Path) -> list[dict[str, Any]]:
    """The kernels that this process needs for a part of the work."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    phase, _, part = need.partition(" ")
    load = cache.KernelCache.load_overload
    if need == SHARDS:  # what these tasks take without shards is loaded, and not asked for again
        for task in SHARDED:
            _train(task, {}, folder)

    def note(self: Any, signature: Any, target_context: Any) -> Any:
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        if name.startswith("structron.") and not self.stamp:
            arguments = listed.arguments_text(signature)
            about = {"returns": listed.returns_text(signature), "allocates": self.allocates}
            found[name, arguments] = {"function": name, "arguments": arguments, **about}
        return load(self, signature, target_context)

    cache.KernelCache.load_overload = note  # type: ignore[method-assign]
    PHASES[phase](part, folder)
    return list(found.values())


def seconds(kernels: list[dict[str, Any]]) -> list[float]:
    """How long each takes to compile, on a machine that compiles at the pace 1 (`ahead.calibrate`): the median of what
    it is found to be again and again, in processes that are as fresh as those of a user."""
    made = [listed.ListedKernel(**{**own, "seconds": 0.0, "needs": ()}) for own in kernels]
    paces, spent = [], []
    for k, own in enumerate(made):
        if k % EVERY == 0:
            paces.append(_apart("--pace"))
        spent.append(ahead.compile_listed(own))
    return [round(own / statistics.median(paces), 2) for own in spent]


def _apart(*arguments: str, given: str = "", **environment: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.kernels", *arguments]
    done = subprocess.run(
        command, env=os.environ | environment, input=given, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


# -- what is recorded --------------------------------------------------------------------------------------------------


def train(part: str, folder: Path) -> None:
    """Train a tiny model with the task's own defaults, but for one pass, or with those of a variant, and save it; or
    what is no task."""
    if f"train {part}" == SHARDS:
        for task in SHARDED:
            _train(task, {"shards": 2}, folder)
    elif f"train {part}" == CLUSTERS:
        words = [sentence.words for sentence in toy_english(SENTENCES)]
        cluster(count(lambda: iter(words), 1), 8, 2, 1, lambda text: None)
    elif part != TEXT:
        _train(part.split()[0], VARIANTS.get(part, {}), folder).save(_file(part, folder))


def _train(task: str, options: dict[str, Any], folder: Path) -> Any:
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
    return kind(**settings, **options).fit(data, dev=dev)


def _file(part: str, folder: Path) -> Path:
    return folder / f"{part.replace(' ', '-')}.structron"


def _data(task: str, corpus: Sequence[ToySentence], folder: Path) -> list[Any]:
    """Sentences as a task learns from them."""
    if task in ROWS:
        write_conll(folder / "toy.conll", corpus, ROWS[task])
        return [sentence.rows for sentence in read(folder / "toy.conll")]
    write_conllu(folder / "toy.conllu", corpus, lemmas=True)
    if TASKS[task].texts:
        return list(read_docs(folder / "toy.conllu"))
    return [sentence.rows for sentence in read(folder / "toy.conllu")]


def _loaded(part: str, folder: Path) -> tuple[Any, list[Any]]:
    """The model of a task, and what it can be used on."""
    if part == TEXT:
        return load(TEXT), [" ".join(sentence.words) for sentence in toy_english(SENTENCES)]
    estimator = load(_file(part, folder))
    data = _data(part.split()[0], toy_english(SENTENCES, seed=1), folder)
    return estimator, [doc.text for doc in data] if estimator.texts else data


def use(part: str, folder: Path) -> None:
    """Load a model and let it predict."""
    estimator, items = _loaded(part, folder)
    estimator.predict(items)


def use_more(part: str, folder: Path) -> None:
    """Ask a model for all else that its task knows, and for what the page shows of its parts."""
    estimator, items = _loaded(part, folder)
    if estimator.texts:
        for part in getattr(estimator.model_, "trained", {}).values():
            _watch(part)
        return
    kind = type(estimator)
    if able(kind, "nbest"):
        estimator.nbest(items[:2], 2)
    if able(kind, "confidence"):
        estimator.predict_with_margins(items[:2])
    if able(kind, "explain"):
        estimator.explain(items[0])
    _watch(estimator)


def _watch(estimator: Any) -> None:
    """Watch a search under a beam, if there is one."""
    if estimator.has_beam():
        watch_beam(estimator)


PHASES: dict[str, Callable[[str, Path], None]] = {"train": train, "use": use, "more": use_more}
"""Training with dev data, prediction, and all else."""
NEEDS = (*(f"{phase} {part}" for part in (*PARTS, *VARIANTS) for phase in PHASES), *COMMON)


# -- the list ----------------------------------------------------------------------------------------------------------


def main() -> None:
    """Write the list."""
    kernels: dict[tuple[str, str], dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as empty:
        known_before = [
            sys.executable,
            "-m",
            "structron",
            "precompile",
            "--quiet",
        ]  # on all cores: that much is quicker
        subprocess.run(
            known_before, env=os.environ | {"STRUCTRON_CACHE": f"{empty}/kernels"}, stdout=subprocess.DEVNULL
        )
        for need in NEEDS:
            for own in _apart("--record", need, empty, STRUCTRON_CACHE=f"{empty}/kernels"):
                known = kernels.setdefault((own["function"], own["arguments"]), {**own, "needs": []})
                known["needs"].append(need)
            print(need, len(kernels), flush=True)
        known = list(kernels.values())
        given = [{k: v for k, v in own.items() if k != "needs"} for own in known]
        spent = _apart("--seconds", given=json.dumps(given), STRUCTRON_CACHE=f"{empty}/again")
    rows = []
    order = sorted(range(len(known)), key=lambda k: (known[k]["function"], known[k]["arguments"]))
    for k in order:
        needs = known[k].pop("needs")
        rows.append(json.dumps({**known[k], "seconds": spent[k], "needs": needs}))
    listed.FILE.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    print(f"{len(rows)} kernels, {sum(spent):.0f} s")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--record", need, folder]:
            print(json.dumps(record(need, Path(folder))))
        case ["--pace"]:
            print(ahead.calibrate(time.process_time))
        case ["--seconds"]:
            print(json.dumps(seconds(json.load(sys.stdin))))
        case []:
            main()
