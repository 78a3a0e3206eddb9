"""Model files that were tampered with and given a valid checksum again: none may crash, hang, fill the memory, or read
outside an array.

    python tests/mutations.py [--mutations 2000] [--tasks tagger,parser] [--seed 1] [--interpreted | --unchecked]

A mutation changes the shape, the kind or the values of an array, swaps or deletes arrays, changes a header field, or
makes what takes a reader's time and memory: texts that unpack to gigabytes, keys that are all alike, lists in lists.
The file is then loaded and, if it is not refused with one line, used. All happens in other processes, whose kernels
check every index; a process that dies, an index out of bounds, more than 5 seconds of processor time, more than 1 GB
and an error of any other kind are failures. Without compiled code (--interpreted) nothing waits for the compiler, but
negative indices go unnoticed; --unchecked is compiled code as users run it.
"""

import argparse
import copy
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from structron.errors import StructronError
from structron.features.gazetteer import Gazetteer
from structron.io import modelfile
from structron.io.tensors import MARK
from structron.tasks.registry import TASKS, load
from toy import chunk_rows, toy_docs, tree_rows

TASK_NAMES = (
    "tagger",
    "chunker",
    "segments",
    "joint",
    "entities",
    "parser",
    "graph-parser",
    "lemmatizer",
    "tokenizer",
    "pipeline",
)
HUGE = (2**31 - 1, 2**31, 2**40, 2**62, -1, -2, -(2**31), -(2**62))
KINDS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
LEXICON = [("dogs", "dog", "NOUN"), ("went", "go", "VERB", "VBD", "Tense=Past")]
PART = 500
"""Mutations that one process tries before the next one takes over: to begin takes as long as a hundred of them."""
MOST_SECONDS, MOST_BYTES = 5.0, 1 << 30
"""Of processor time and memory, for a file."""
PATIENCE = 1200
"""Seconds after which a process that has not ended with another file hangs, however busy the machine is."""


def make_model(task: str, folder: Path) -> tuple[Path, list]:
    """A small model of a task, and sentences or texts for it."""
    path = folder / f"{task}.structron"
    if TASKS[task].texts:
        quick: dict[str, Any] = {"compact": True, "lexicon": LEXICON}
        quick |= {"without": ["parser", "entities"]}  # these are tried by themselves
        docs = toy_docs(40, 0)
        TASKS[task](**quick if task == "pipeline" else {"passes": 1}).fit(docs[:10]).save(path)
        return path, [doc.text for doc in docs[10:12]]
    if task == "lemmatizer":
        words = [[(w.form, w.upos, w.lemma) for w in sentence.words] for doc in toy_docs(40, 0) for sentence in doc]
        both = [[("lay", "VERB", "lie"), ("an", "DET", "a")], [("an", "DET", "a"), ("lay", "VERB", "lay")]]
        labeler = TASKS[task](passes=1, columns=["form", "upos", "lemma"], letters=True, lexicon=LEXICON)
        labeler.fit(words[:30] + both * 5).save(path)
        return path, words[30:33]
    trees = "parser" in task
    rows = (tree_rows if trees else chunk_rows)(40, 0)
    given: dict[str, Any] = {"passes": 1, "runs": 1}
    given |= {"bits": 14, "order": 2} if task == "graph-parser" else {}
    given |= {"average": "voted"} if task == "tagger" else {}
    given |= {"beam": 3} if task == "chunker" else {}
    given |= {"clusters": {"the": "010", "a": "011", "dog": "1"}} if task in ("joint", "parser", "entities") else {}
    given |= {"gazetteers": {"X": Gazetteer.from_phrases("X", ["Ann", "the dog"])}} if task == "entities" else {}
    TASKS[task](**given).fit(rows[:30]).save(path)
    return path, rows[30:33]


# -- mutations -------------------------------------------------------------------------------------------------------


def mutate(header: dict, tensors: dict[str, np.ndarray], random: np.random.Generator) -> str:
    """Change one thing in place; returns what was done."""
    names = sorted(tensors)
    name = names[random.integers(len(names))]
    kinds = ["values", "shape", "dtype", "swap", "delete", "header", "header", "values", "greedy", "greedy"]
    kind = random.choice(kinds)
    if kind == "header":
        return mutate_header(header, random)
    if kind == "greedy":
        return make_greedy(header, tensors, random)
    if kind == "delete":
        del tensors[name]
    elif kind == "swap":
        other = names[random.integers(len(names))]
        tensors[name], tensors[other] = tensors[other], tensors[name]
        name += f" and {other}"
    elif kind == "dtype":
        with np.errstate(all="ignore"):
            tensors[name] = tensors[name].astype(KINDS[random.integers(len(KINDS))])
    elif kind == "shape":
        tensors[name] = reshaped(tensors[name], random)
    else:
        tensors[name] = revalued(tensors[name], random)
    return f"{kind} of {name}"


def reshaped(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Longer, shorter, empty, or of other dimensions."""
    choice = random.integers(6)
    if choice == 0:
        return array[: len(array) // 2]
    if choice == 1:
        return np.concatenate([array, array[:3]])
    if choice == 2:
        return array[:0]
    if choice == 3:
        return array.reshape(1, *array.shape)
    if choice == 4:
        return array.reshape(-1)
    return array[:-1]


def revalued(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Some values replaced by huge, negative, random or not finite ones."""
    out = array.copy()
    if not out.size:
        return out
    flat = out.reshape(-1)
    places = random.integers(flat.size, size=int(random.integers(1, 4)))
    with np.errstate(all="ignore"):
        if out.dtype.kind == "f":
            flat[places] = random.choice([np.nan, np.inf, -np.inf, 1e38, -1e30, 1e12])
        elif out.dtype.kind == "b":
            flat[:] = bool(random.integers(2))
        elif random.integers(3) == 0:
            flat[places] = random.permutation(flat)[: len(places)]
        else:
            flat[places] = np.array(random.choice(HUGE)).astype(out.dtype)
    return out


@cache
def bomb(size: int) -> bytes:
    """So many zeros, compressed."""
    return zlib.compress(bytes(size), 9)


def make_greedy(header: dict, tensors: dict[str, np.ndarray], random: np.random.Generator) -> str:
    """Something that would take much time or memory if it were believed."""
    texts = [name for name, array in tensors.items() if array.dtype == np.uint8 and array.ndim == 1]
    keys = [name for name, array in tensors.items() if array.dtype == np.uint64 and array.ndim == 1]
    kind = random.choice(["bomb", "lie", "equal", "alike", "deep", "long", "many", "huge"])
    if kind in ("bomb", "lie") and texts:
        name = texts[random.integers(len(texts))]
        packed = bomb(200_000_000)
        said = 200_000_000 if kind == "bomb" else int(random.integers(1, 1 << 62))
        head = MARK + said.to_bytes(8, "little") if random.integers(2) else b""
        tensors[name] = np.frombuffer(head + packed, np.uint8)
    elif kind in ("equal", "alike") and keys:
        name = keys[random.integers(len(keys))]
        count = 400_000 if random.integers(2) else max(len(tensors[name]), 1)
        own = (
            np.arange(1, count + 1, dtype=np.uint64) << np.uint64(20) if kind == "alike" else np.ones(count, np.uint64)
        )
        tensors[name] = own + tensors[name][:1].sum(dtype=np.uint64)
    elif kind == "deep":
        deep: Any = []
        for _ in range(int(random.choice([50, 300, 900]))):
            deep = [deep] if random.integers(2) else {"x": deep}
        name = str(random.choice(["training", "options", "learned"]))
        header[name] |= {str(random.choice(["history", "source", "labels", "beam", "columns"])): deep}
    elif kind in ("long", "many"):
        name = mutate_header(header, random)
        node: Any = header.get("learned")
        node = node if isinstance(node, dict) else {}
        lists = [key for key, value in node.items() if isinstance(value, list)]
        if lists:
            key = lists[random.integers(len(lists))]
            node[key] = ["x" * 5_000_000] if kind == "long" else [f"x{k}" for k in range(200_000)]
    else:
        names = [key for key, value in header["options"].items() if isinstance(value, int)]
        name = names[random.integers(len(names))] if names else "beam"
        header["options"][name] = int(random.choice([9_999, 10_000, 10_001, 10**5, 2**31, 2**53]))
    return f"{kind} {name}"


def mutate_header(header: dict, random: np.random.Generator) -> str:
    """Replace, delete or repeat something, at any depth."""
    node: Any = header
    path: list[Any] = []
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        keys = [key for key in keys if key not in ("format", "version", "task")]
        if not keys:
            return f"header {path}: nothing there"
        key = keys[random.integers(len(keys))]
        path.append(key)
        child = node[key]
        if isinstance(child, dict | list) and child and random.random() < 0.8:
            node = child
            continue
        values = [None, True, -1, 0, 1, 2, 10**6, 2**40, 1e300, "", "x", [], {}, ["O"], [1, 2], "voted", "beam"]
        values += ["\x1b[31mred\n\u202e", ["a", 1], [["O", "O"]], 0.5, 300, 10_000]
        choice = random.integers(len(values) + 2)
        if choice == len(values):
            del node[key]
        elif choice == len(values) + 1 and isinstance(node, list):
            node.append(copy.deepcopy(child))
        else:
            node[key] = values[min(choice, len(values) - 1)]
        return f"header {'.'.join(map(str, path))}"


# -- trying them -----------------------------------------------------------------------------------------------------


def raw(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """What stands in a file: packed arrays as they are."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][modelfile.KEY])
    header.pop("checksum")
    return header, {name: np.array(array) for name, array in safetensors.numpy.load(data).items()}


def craft(path: Path, header: dict, tensors: dict[str, np.ndarray]) -> None:
    """Write a model file with a valid checksum, without asking whether it makes sense."""
    header = json.loads(json.dumps({**header, "format": modelfile.FORMAT, "version": "crafted"}))
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    header["checksum"] = modelfile._digest(header, tensors)
    path.write_bytes(safetensors.numpy.save(tensors, {modelfile.KEY: json.dumps(header, sort_keys=True)}))


def attempt(path: Path, sentences: list, target: Path, seed: int) -> str:
    """Craft one file, load it and use it: refused, used, or what went wrong."""
    header, tensors = raw(path) if seed % 2 else modelfile.load(path)
    what = mutate(header, tensors, np.random.default_rng(seed)) if seed >= 0 else "nothing"
    try:
        craft(target, header, tensors)
    except Exception as error:
        return f"unwritten ({type(error).__name__})"
    try:
        estimator = load(target)
    except StructronError as error:
        return "refused" if "\n" not in str(error) else f"failed: {what}: more than one line"
    except BaseException as error:
        return f"failed: {what}: load: {type(error).__name__}: {error}"
    for use in (
        lambda: estimator.predict(sentences),
        lambda: estimator.inspect(top=3),
        lambda: estimator.nbest(sentences, 2),
    ):
        try:
            use()
        except StructronError as error:
            if "IndexError" in str(error):
                return f"failed: {what}: {error}"
            if " no " not in str(error):
                return "refused in use"
        except BaseException as error:
            return f"failed: {what}: in use: {type(error).__name__}: {error}"
    return "used"


def limited(path: Path, sentences: list, target: Path, seed: int) -> str:
    """The same, within time and memory; the largest that a process ever was is all that the system tells.

    A file that takes too long is tried again: the first time may be the compiler's, or that of a machine that stood.
    """
    before, seconds, tries = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, np.inf, 0
    while seconds > MOST_SECONDS and tries < 3:
        begin, tries = time.process_time(), tries + 1
        found = attempt(path, sentences, target, seed)
        seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if peak > before and peak * 1024 > MOST_BYTES:
        return f"failed: seed {seed}: {peak // 1024} MB ({found})"
    if seconds > MOST_SECONDS and not found.startswith("failed"):
        return f"failed: seed {seed}: {seconds:.1f} s ({found})"
    return found


def run_part(task: str, model: str, sentences: str, first: int, last: int) -> None:
    """In a child: a line for each mutation, before and after it."""
    rows = json.loads(Path(sentences).read_text())
    target = Path(model).with_suffix(f".{first}.crafted")
    attempt(Path(model), rows, target, -1)  # kernels are loaded, or compiled
    for seed in range(first, last):
        print(json.dumps({"seed": seed}), flush=True)
        found = limited(Path(model), rows, target, seed)
        if found.startswith("failed: ") and "seed" not in found:
            found = f"failed: seed {seed}: {found[8:]}"
        print(json.dumps({"seed": seed, "found": found}), flush=True)
    target.unlink(missing_ok=True)


CHECKED, UNCHECKED, INTERPRETED = "checked", "unchecked", "interpreted"
"""Kernels that check every index, kernels as users have them, and none."""


def outcomes(task: str, model: Path, rows: list, mutations: int, seed: int, how: str) -> Iterator[str]:
    """The outcome of every mutation of a model, tried in child processes."""
    sentences = model.with_suffix(".json")
    if not sentences.exists():
        sentences.write_text(json.dumps(rows))
    kernels = os.environ.get("CHECKED_KERNELS", str(model.parent / "kernels"))
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": kernels}
    environment = os.environ | {CHECKED: checked, INTERPRETED: {"NUMBA_DISABLE_JIT": "1"}}.get(how, {})
    first, end = seed, seed + mutations
    while first < end:
        last = min(first + PART, end)
        command = [sys.executable, __file__, "--child", task, str(model), str(sentences), str(first), str(last)]
        status, out, errors = _watched(command, environment)
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{") and line.endswith("}")]
        found = {line["seed"]: line["found"] for line in lines if "found" in line}
        yield from found.values()
        if status == 0:
            first = last
            continue
        at = max((line["seed"] for line in lines), default=first)
        yield f"failed: {task}: seed {at}: the process ended with {status}: {errors[-300:]}"
        first = at + 1


def _watched(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    """Status, output and errors of a process that says something now and then; else it is ended."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process, size = subprocess.Popen(command, env=environment, stdout=out, stderr=errors), -1
        while process.poll() is None:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                before, size = size, os.fstat(out.fileno()).st_size
                if size == before:
                    process.kill()
                    process.wait()
                    errors.write("it hung")
        for stream in (out, errors):
            stream.seek(0)
        return process.returncode, out.read(), errors.read()


def try_all(tasks: list[str], mutations: int, seed: int = 1, how: str = CHECKED) -> dict[str, Counter]:
    """Outcomes by task; failures are told as they happen."""
    found: dict[str, Counter] = {}
    with tempfile.TemporaryDirectory() as name:
        for task in tasks:
            model, rows = make_model(task, Path(name))
            counts: Counter = Counter()
            for outcome in outcomes(task, model, rows, mutations, seed, how):
                counts[outcome.partition(":")[0]] += 1
                if outcome.startswith("failed"):
                    print(outcome, file=sys.stderr, flush=True)
            found[task] = counts
            print(f"{task}: {dict(counts)}", flush=True)
    return found


def main() -> int:
    if "--child" in sys.argv:
        task, model, sentences, first, last = sys.argv[sys.argv.index("--child") + 1 :]
        run_part(task, model, sentences, int(first), int(last))
        return 0
    parser = argparse.ArgumentParser(description="Try crafted model files.")
    parser.add_argument("--mutations", type=int, default=2000)
    parser.add_argument("--tasks", default=",".join(TASK_NAMES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--interpreted", dest="how", action="store_const", const=INTERPRETED, default=CHECKED)
    parser.add_argument("--unchecked", dest="how", action="store_const", const=UNCHECKED)
    given = parser.parse_args()
    found = try_all(given.tasks.split(","), given.mutations, given.seed, given.how)
    return int(any(counts["failed"] for counts in found.values()))


if __name__ == "__main__":
    sys.exit(main())
