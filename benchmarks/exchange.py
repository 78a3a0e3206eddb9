"""Word clustering: `python -m benchmarks.exchange --classes N FILE …` (CoNLL-U, or words between spaces).

Seconds, processor seconds and average mutual information of our exchange clustering, on one core and on all, beside
the package brown-clustering (Brown's algorithm in Python and Numba), where it is installed:
`pip install brown-clustering`.
"""

import argparse
import importlib
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from structron.io import read
from structron.io.text import read_lines, unpacked_name
from structron.learn.clusters import FIXED, Counted, cluster, count
from structron.runtime.progress import say
from structron.runtime.threads import cores
from structron.search.clusters.exchange import counted, information

PEER = "brown_clustering"


def sentences(files: list[Path]) -> Iterator[list[str]]:
    """The words of each sentence."""
    for path in files:
        if unpacked_name(path).endswith(".conllu"):
            yield from ([row[1] for row in sentence.rows] for sentence in read(path, "conllu"))
        else:
            yield from map(str.split, read_lines(path, plain=True))


def clocks() -> np.ndarray:
    """Seconds by the clock, and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


def ours(text: Counted, classes: int, jobs: int) -> tuple[float, float, float]:
    """Seconds, processor seconds and information; the kernels are compiled before."""
    begin = clocks()
    found = cluster(text, classes, jobs=jobs)
    return *(clocks() - begin), found.information


def theirs(files: list[Path], text: Counted, classes: int, least: int) -> tuple[float, float, float]:
    """The same of the peer, whose classes are scored with our counts."""
    peer = importlib.import_module(PEER)
    given = list(sentences(files))
    peer.BrownClustering(peer.BigramCorpus([["a", "b"], ["c", "b"]], alpha=1e-4, min_count=1), 2).train()  # compiles
    begin = clocks()
    groups = peer.BrownClustering(peer.BigramCorpus(given, alpha=1e-4, min_count=least), classes).train()
    spent = clocks() - begin
    number = {word: k for k, group in enumerate(groups) for word in group}
    many = len(groups)
    of_word = np.array([*(number[word] for word in text.words), many, many + 1], np.int64)
    return *spent, information(counted(text.bigrams, of_word, many + FIXED))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="Seconds and mutual information of word clustering.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--classes", type=int, default=512)
    parser.add_argument("--min-count", type=int, default=2)
    parser.add_argument("--no-peer", action="store_true")
    given = parser.parse_args()
    ours(count(lambda: [["a", "b"], ["c", "b"]]), 2, 1)
    begin = time.perf_counter()
    text = count(lambda: sentences(given.files), given.min_count)
    say(f"{text.tokens:,} tokens, {len(text.words):,} words, counted in {time.perf_counter() - begin:.1f} s")
    print("| | seconds | processor seconds | bits |\n| --- | --- | --- | --- |")
    for jobs in dict.fromkeys((1, cores())):
        print(
            "| exchange, {} | {:.1f} | {:.1f} | {:.4f} |".format(f"{jobs} cores", *ours(text, given.classes, jobs)),
            flush=True,
        )
    if not given.no_peer:
        try:
            found = theirs(given.files, text, given.classes, given.min_count)
        except ImportError:
            say("brown-clustering is not installed")
        else:
            print("| brown-clustering | {:.1f} | {:.1f} | {:.4f} |".format(*found))


if __name__ == "__main__":
    main()
