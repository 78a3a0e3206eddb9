"""What runs in processes of its own: `python -m benchmarks.child FUNCTION '{"options": …}'` prints one JSON object.

Whole-process figures come from outside (`measure.run`); here parts of a process are timed. Before anything of ours is
timed it has run once on a few sentences, since the first call in a process loads the compiled kernels from disk.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, islice
from multiprocessing import get_context
from statistics import median
from typing import Any

from benchmarks.measure import Failed
from benchmarks.peers import Crfsuite, Nltk, read_columns, read_tags

CHUNK_COLUMNS, TAG_COLUMNS = ["word", "pos", "chunk"], ["word", "xpos"]
TREE_COLUMNS = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"]
WARM_UP = 20


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def apart(work: Callable[[], Any], repeat: int) -> dict[str, list[float]]:
    """Seconds of a piece of work in one process, and in two at a time that share nothing: what two cores can give."""
    context, found = get_context("fork"), {"alone": [], "both": []}  # type: ignore[var-annotated]

    def side_by_side(number: int) -> None:
        processes = [context.Process(target=work) for _ in range(number)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        if any(process.exitcode for process in processes):
            raise Failed("a process that works beside another one failed")

    for _ in range(repeat):
        for number, times in enumerate(found.values(), 1):
            times.append(timed(lambda number=number: side_by_side(number))[0])
    return found


def count(sentences: list) -> int:
    return sum(map(len, sentences))


def versions() -> dict[str, Any]:
    found: dict[str, Any] = {"python": sys.version.split()[0]}
    for name in ("structron", "numpy", "numba", "python-crfsuite", "nltk", "ufal.udpipe"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def train_crfsuite(train: str, model: str, passes: int) -> dict[str, Any]:
    sentences = read_columns(train)
    return Crfsuite.train(sentences, model, passes) | {"tokens": count(sentences)}


def predict_chunks(test: str, crfsuite_model: str, model: str, repeat: int, joint: bool = False) -> dict[str, Any]:
    """Both sides in turn, from rows of (word, pos) in memory to lists of labels; joint: ours gets the words alone."""
    import structron
    from structron.eval.scores import chunk_scores

    sentences = read_columns(test)
    rows = [[row[:-1] for row in sentence] for sentence in sentences]
    gold = [[row[-1] for row in sentence] for sentence in sentences]
    words = [[row[0] for row in sentence] for sentence in rows]
    ours = structron.load(model)
    sides = {
        Crfsuite.name: (Crfsuite(crfsuite_model).predict, rows),
        "structron": (lambda given: ours.predict(given, jobs=1), words if joint else rows),
    }
    found: dict[str, Any] = {name: {"seconds": []} for name in sides}
    for predict, given in sides.values():
        predict(given[:WARM_UP])
    for _ in range(repeat):
        for name, (predict, given) in sides.items():
            seconds, labels = timed(lambda predict=predict, given=given: predict(given))
            if joint and name == "structron":
                labels = [[chunk for _, chunk in sentence] for sentence in labels]
            found[name]["seconds"].append(seconds)
            found[name] |= {"tokens": count(labels), "f1": chunk_scores(gold, labels).f1}
    return found


def label_file_crfsuite(model: str, test: str, output: str) -> dict[str, Any]:
    """From a file to a file: the peer's side of `structron predict`."""
    sentences = read_columns(test)
    labels = Crfsuite(model).predict(sentences)
    with open(output, "w", encoding="utf-8") as out:
        for rows, found in zip(sentences, labels, strict=True):
            out.writelines(f"{' '.join(row[:-1])} {label}\n" for row, label in zip(rows, found, strict=True))
            out.write("\n")
    return {"tokens": count(labels)}


def tag_nltk(train: str, test: str, passes: int, repeat: int) -> dict[str, Any]:
    tagger = Nltk()
    return _tag(read_tags(train), read_tags(test), lambda data: tagger.train(data, passes), tagger.predict, repeat)


def tag_structron(train: str, test: str, passes: int, repeat: int) -> dict[str, Any]:
    from structron import Tagger

    sentences = read_tags(train)
    tagger = Tagger(order=1, runs=1, passes=passes, columns=TAG_COLUMNS)
    Tagger(order=1, runs=1, passes=1, columns=TAG_COLUMNS).fit(sentences[:WARM_UP]).predict(sentences[:WARM_UP])
    return _tag(sentences, read_tags(test), tagger.fit, tagger.predict, repeat)


def _tag(train: list, test: list, fit: Callable, predict: Callable, repeat: int) -> dict[str, Any]:
    words = [[word for word, _ in sentence] for sentence in test]
    gold = [tag for sentence in test for _, tag in sentence]
    fit_seconds, _ = timed(lambda: fit(train))
    runs = [timed(lambda: predict(words)) for _ in range(repeat)]
    labels = list(chain.from_iterable(runs[0][1]))
    right = sum(a == b for a, b in zip(labels, gold, strict=True))
    return {
        "fit_seconds": fit_seconds,
        "fit_tokens": count(train),
        "predict_seconds": median(seconds for seconds, _ in runs),
        "tokens": len(labels),
        "accuracy": 100 * right / len(gold),
    }


def jobs(
    task: str, train: str, test: str, passes: int, tokens: int, repeat: int, order: int | None = None
) -> dict[str, Any]:
    """One thread and two in turn, on so many tokens of the corpus, test data first."""
    from structron import Chunker, Parser, Tagger
    from structron.io import read

    if task == "chunker":
        sentences = [read_columns(file) for file in (train, test)]
        model: Any = Chunker(order=order, runs=1, passes=passes, columns=CHUNK_COLUMNS)
    elif task == "tagger":
        sentences = [read_tags(file) for file in (train, test)]
        model = Tagger(order=order, runs=1, passes=passes, columns=TAG_COLUMNS)
    else:
        sentences = [[sentence.rows for sentence in read(file)] for file in (train, test)]
        model = Parser(passes=passes, columns=TREE_COLUMNS)
    model.fit(sentences[0])
    inputs = slice(0, 6) if task == "parser" else slice(0, -1)
    rows, left = [], tokens
    for sentence in chain(*reversed(sentences)):
        left -= len(sentence)
        if left < 0:
            break
        rows.append([row[inputs] for row in sentence])
    seconds: dict[int, list[float]] = {1: [], 2: []}
    busy: dict[int, list[float]] = {1: [], 2: []}
    labels: dict[int, list] = {}
    for number in seconds:
        model.predict(rows[:WARM_UP], jobs=number)
    for _ in range(repeat):
        for number in seconds:
            begin = time.process_time()
            spent, labels[number] = timed(lambda number=number: model.predict(rows, jobs=number))
            seconds[number].append(spent)
            busy[number].append(round((time.process_time() - begin) / spent, 2))
    same = labels[1] == labels[2]
    found = {"tokens": count(rows), "same": same, "one": seconds[1], "two": seconds[2], "cores_used": busy[2]}
    return found | {"apart": apart(lambda: model.predict(rows, jobs=1), repeat)}


FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    function.__name__: function
    for function in (
        versions,
        train_crfsuite,
        predict_chunks,
        label_file_crfsuite,
        tag_nltk,
        tag_structron,
        jobs,
    )
}


def answer(functions: dict[str, Callable[..., dict[str, Any]]]) -> None:
    """Do what the command line of this process names."""
    name, options = islice(sys.argv, 1, 3)
    print(json.dumps(functions[name](**json.loads(options))))


if __name__ == "__main__":
    answer(FUNCTIONS)
