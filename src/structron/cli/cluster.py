"""`structron cluster`: word clusters from raw text, or from word vectors, as `train --clusters` reads them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from structron.cli.places import check_output, check_places, check_text_place
from structron.errors import StructronError
from structron.io import open_output, read
from structron.io.text import is_standard, read_lines
from structron.kernels.listed import CLUSTERS
from structron.kernels.progress import prepare
from structron.learn.clusters import cluster, count
from structron.learn.vectors import cluster_vectors, read_vectors
from structron.runtime.progress import say
from structron.runtime.threads import cores
from structron.text.words import words_in

FORM = 1
"""The column of the words in CoNLL-U."""


def run(
    files: Sequence[str],
    classes: int = 512,
    min_count: int = 2,
    most_words: int | None = None,
    passes: int = 20,
    annotated: bool = False,
    tokenized: bool = False,
    vectors: bool = False,
    encoding: str = "utf-8",
    output: Path | None = None,
    jobs: int | None = None,
) -> None:
    """Write a line for each word: the path of its class, the word and, of raw text, how often it was seen."""
    if annotated + tokenized + vectors > 1:
        raise StructronError("--annotated, --tokenized, --vectors: expected only one of them")
    check_places({"FILE": files}, {"--output": output})
    check_text_place("--output", output)
    check_output(output)
    if vectors:
        if len(files) > 1:
            raise StructronError(f"--vectors: {len(files)} files; expected one")
        words, found = read_vectors(read_lines(files[0], encoding, plain=True), files[0], most_words)
        say(f"{len(words):,} words, {found.shape[1]} dimensions")
        paths = cluster_vectors(found, classes, passes, say)
        lines = [f"{word}\t{path}" for path, word in sorted(zip(paths, words, strict=True), key=lambda own: own[0])]
    else:
        _check_files(files)
        prepare(CLUSTERS)
        text = count(lambda: _sentences(files, annotated, tokenized, encoding), min_count, most_words)
        say(f"{text.tokens:,} tokens, {len(text.words):,} words, {len(text.bigrams.right_word):,} bigrams")
        clustered = cluster(text, classes, passes, jobs or cores(), say)
        rows = sorted(zip(clustered.paths, text.words, text.counts.tolist(), strict=True), key=lambda own: own[0])
        lines = [f"{path}\t{word}\t{number}" for path, word, number in rows]
    with open_output(output) as out:
        out.write("\n".join(lines) + "\n")


def _check_files(files: Sequence[str]) -> None:
    """Open each file once, before hours of reading others; a stream cannot be read twice."""
    for path in files:
        if is_standard(path) or not Path(path).is_file():
            if not is_standard(path):
                read_lines(path).close()
            raise StructronError(f"{path}: the text is read twice, for words and for pairs; expected a file")


def _sentences(files: Sequence[str], annotated: bool, tokenized: bool, encoding: str) -> Iterator[list[str]]:
    """The words of each sentence of CoNLL-U, or of each line of text."""
    for path in files:
        if annotated:
            yield from ([row[FORM] for row in sentence.rows] for sentence in read(path, "conllu", encoding))
        else:
            yield from map(str.split if tokenized else words_in, read_lines(path, encoding, plain=True))
