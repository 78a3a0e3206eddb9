"""What word clusters gain: `python -m benchmarks.clusters --data DIR --clusters FILE [--keep FILE.json]`.

Every task is trained with and without the clusters, with defaults and dev data to choose the best pass, and scored on
dev and test data; the table is Markdown. With --keep, scores are kept, and a run that was interrupted goes on.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import structron
from structron.features.clusters import Clusters
from structron.io import read
from structron.io.text import atomic_write_bytes
from structron.runtime.progress import say
from structron.runtime.threads import cores
from structron.text.sentences import Document

CONLLU = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"]
ENTITIES = "uner-english-ewt"


def documents(path: Path) -> list[Document]:
    """Words and entity labels of Universal NER, document by document."""
    found: list[Document] = []
    for sentence in read(path, "conll"):
        if not found or any(line.startswith("# newdoc") for line in sentence.lines):
            found.append(Document())
        found[-1].append([(row[1], row[2]) for row in sentence.rows])
    return found


def tagged(column: str) -> Callable[[Path], list[Any]]:
    """Sentences of words and one of their columns."""
    return lambda path: [[(row[1], row[CONLLU.index(column)]) for row in own.rows] for own in read(path, "conllu")]


def trees(path: Path) -> list[Any]:
    """Sentences with all columns."""
    return [own.rows for own in read(path, "conllu")]


def _tagger(treebank: str, column: str) -> tuple[Any, ...]:
    return treebank, "conllu", structron.Tagger, {"columns": ["form", column]}, tagged(column), "accuracy"


def rows(treebanks: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """What is measured: corpus, ending, class, options, reader, score."""
    found = {
        "entities, F1": (
            ENTITIES,
            "conll",
            structron.EntityRecognizer,
            {"columns": ["word", "entity"]},
            documents,
            "f1",
        )
    }
    for name in treebanks:
        found[f"{name}: UPOS"] = _tagger(name, "upos")
        if name == "ud-english-ewt":
            found[f"{name}: XPOS"] = _tagger(name, "xpos")
        options = {"columns": CONLLU, "pos": "xpos" if name == "ud-english-ewt" else "upos"}
        found[f"{name}: parser, gold tags, LAS"] = (name, "conllu", structron.Parser, options, trees, "las")
        found[f"{name}: graph-parser, gold tags, LAS"] = (name, "conllu", structron.GraphParser, options, trees, "las")
    return found


def measure(data: Path, row: tuple[Any, ...], clusters: Clusters | None, seed: int) -> list[float]:
    """The scores on dev and test data."""
    name, ending, kind, options, reader, score = row
    train, dev, test = (reader(data / name / f"{part}.{ending}.gz") for part in ("train", "dev", "test"))
    model = kind(**options, clusters=clusters, seed=seed, jobs=cores()).fit(train, dev=dev)
    return [getattr(model.evaluate(own), score) for own in (dev, test)]


def table(found: dict[str, list[float]], titles: Sequence[str], seeds: Sequence[int]) -> str:
    """The means of all seeds that were measured."""
    lines = ["| | dev without | dev with | test without | test with | seeds |", "| --- | --- | --- | --- | --- | --- |"]
    for title in titles:
        done = [seed for seed in seeds if all(f"{title} {way} {seed}" in found for way in ("without", "with"))]
        if done:
            cells = [
                f"{mean(found[f'{title} {way} {seed}'][part] for seed in done):.2f}"
                for part in (0, 1)
                for way in ("without", "with")
            ]
            lines.append(f"| {title} | {' | '.join(cells)} | {len(done)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is not kept yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--clusters", type=Path, required=True)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--treebank", action="append")
    parser.add_argument("--only", default="", help="rows whose titles hold this text")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    clusters = Clusters.from_file(given.clusters)
    found = json.loads(given.keep.read_text()) if given.keep and given.keep.exists() else {}
    wanted = rows(given.treebank or ["ud-english-ewt"])
    seeds = range(1, given.seeds + 1)
    for title, row in wanted.items():
        for seed in seeds if given.only in title else ():
            for way, own in (("without", None), ("with", clusters)):
                key = f"{title} {way} {seed}"
                if key not in found:
                    found[key] = measure(given.data, row, own, seed)
                    say(f"{key}: {found[key][0]:.2f} {found[key][1]:.2f}")
                    if given.keep:
                        atomic_write_bytes(given.keep, json.dumps(found, indent=1).encode())
    print(table(found, [title for title in wanted if given.only in title], seeds))


if __name__ == "__main__":
    main()
