"""`structron annotate`: plain text in; sentences, words, tags, lemmas, trees and entities out, block by block."""

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structron.cli.files import tallied, the_file
from structron.cli.places import check_output, check_places, check_text_place
from structron.cli.tasks import apply
from structron.errors import StructronError, unknown
from structron.io import open_output, read_lines
from structron.io.doc import Doc
from structron.io.exports import FORMATS
from structron.io.text import Reading, display_name, unpacked_name
from structron.io.tokenized import READERS
from structron.runtime.progress import Tally
from structron.runtime.threads import cores, in_order
from structron.tasks.pipeline.stream import blocks
from structron.tasks.registry import load, path_of

INPUTS = (".txt", ".text", ".md", ".conll", ".conllu", ".vert")
"""Endings that the output's takes the place of; others stay."""
KEEP = ("tokens", "tags")
PLAIN = "text"
BY_NAME = {".conllu": "conllu", ".conll": "conll", ".vert": "vertical"}
"""Formats of the input that the end of a file's name tells."""


def run(
    files: list[str] | None = None,
    model: str = "english",
    text: str | None = None,
    output: Path | None = None,
    output_dir: Path | None = None,
    ray: str | None = None,
    **how: Any,
) -> int:
    """Write the analysis of a text, or of each of many."""
    if text is not None and (files or how.get("keep") is not None or how.get("input") is not None):
        raise StructronError("--text: cannot be combined with files, --keep or --input")
    if output_dir is not None:
        from structron.cli import bulk

        if output is not None or text is not None:
            raise StructronError(f"{'--text' if text else '--output'}: cannot be combined with --output-dir")
        wanted = how.get("format", "conllu")
        ending = FORMATS[wanted].ending if wanted in FORMATS else ""
        order = bulk.Order(Annotation, {"model": model, **how})
        return bulk.run(order, files, output_dir, lambda name: output_name(name, ending), ray)
    if files and len(files) == 1 and " " in files[0] and not os.path.exists(files[0]) and not glob.glob(files[0]):
        raise StructronError(f"{files[0]}: no such file; expected a file, or a text after --text")
    file = the_file(files, ray)
    check_places({"--model": path_of(model), "FILE": file if text is None else None}, {"--output": output or "-"})
    check_text_place("--output", output)
    check_output(output)
    annotation = Annotation(model, **how)
    annotation.write(file, output, annotation.jobs, text)
    return 0


def output_name(name: str, ending: str) -> str:
    """What the output of a file is called in another folder: a.txt.gz becomes a.conllu, b.7 becomes b.7.conllu."""
    name = unpacked_name(name)
    stem, dot = os.path.splitext(name)
    return (stem if dot.lower() in INPUTS else name) + ending


class Annotation:
    """A pipeline or tokenizer and what it is asked for; `write` applies it to a text.

    input: the format of files, whose tokens stay as they are unless it is text, by default as their names say; keep:
    they are CoNLL-U, and tags stay too, or only the tokens.
    """

    def __init__(
        self,
        model: str = "english",
        format: str = "conllu",
        keep: str | None = None,
        input: str | None = None,
        encoding: str = "utf-8",
        settings: dict[str, Any] | None = None,
        quiet: bool = False,
    ):
        settings, self.quiet = settings or {}, quiet
        if format not in FORMATS:
            raise unknown("format", format, FORMATS)
        self.estimator = estimator = load(model)
        if not estimator.texts:
            raise StructronError(f"{model}: a {estimator.task} model; expected a pipeline or a tokenizer")
        apply(estimator, settings)
        if keep is not None and (keep not in KEEP or estimator.task != "pipeline"):
            raise unknown("--keep", keep, KEEP) if keep not in KEEP else StructronError("--keep: expected a pipeline")
        if input is not None and input not in (PLAIN, *READERS):
            raise unknown("--input", input, (PLAIN, *READERS))
        if input not in (None, "conllu") and keep is not None:
            raise StructronError(f"--keep: expected CoNLL-U, not --input {input}")
        if input not in (None, PLAIN) and estimator.task != "pipeline":
            raise StructronError("--input: text that is already tokenised needs a pipeline; expected one as --model")
        self.input = input or (None if keep is None else "conllu")
        self.format, self.keep, self.encoding = format, keep or KEEP[0], encoding
        self.jobs = settings.get("jobs") or cores()

    def write(self, file: str, output: Path | None, jobs: int, text: str | None = None) -> None:
        """Write the analysis of a file, or of `text`; but for JSON, HTML and SVG memory does not depend on its size."""
        kind = PLAIN if text is not None else self.input or self._format_of(file)
        reading = Reading()
        lines = read_lines(file, self.encoding, kind == PLAIN, reading) if text is None else iter([text])
        name = display_name(file) if text is None else "structron"
        with tallied(output, self.quiet, reading) as counts, open_output(output, self.encoding) as out:
            FORMATS[self.format].write(self._docs(lines, name, jobs, kind, counts), out, name)

    def _format_of(self, file: str) -> str:
        """What the name of a file tells; a tokenizer reads only text."""
        ending = os.path.splitext(unpacked_name(file).lower())[1]
        return BY_NAME.get(ending, PLAIN) if self.estimator.task == "pipeline" else PLAIN

    def _docs(self, lines: Iterator[str], name: str, jobs: int, kind: str, counts: Tally) -> Iterator[Doc]:
        size = _characters if kind == PLAIN else _tokens
        if kind == PLAIN:
            text = counts.take(lines, len)
            docs = blocks(text, self._analysed, self._sentences, self.estimator.lines, jobs)
        else:
            docs = in_order(self._kept, counts.take(READERS[kind](lines, name), size), jobs)
        for doc in docs:
            counts.add(size(doc), sentence=len(doc.sentences), word=sum(len(token.words) for token in doc.tokens))
            yield doc

    def _sentences(self, text: str) -> Doc:
        tokenizer = self.estimator.part("tokenizer") if self.estimator.task == "pipeline" else self.estimator
        return tokenizer.predict([text], jobs=1, lines=self.estimator.lines)[0]

    def _analysed(self, text: str) -> Doc:
        return self.estimator.predict([text], jobs=1)[0]

    def _kept(self, doc: Doc) -> Doc:
        self.estimator.annotate([doc], known=self.keep, jobs=1)
        return doc


def _characters(doc: Doc) -> int:
    return len(doc.text)


def _tokens(doc: Doc) -> int:
    return len(doc.tokens)
