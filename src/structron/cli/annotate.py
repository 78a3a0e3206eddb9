"""`structron annotate`: plain text in; sentences, words, tags, lemmas, trees and entities out, block by block."""

import glob
import json
import os
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TextIO

from structron.cli.files import tallied, the_file
from structron.cli.places import check_output, check_places, check_text_place
from structron.cli.tasks import apply
from structron.errors import StructronError, unknown
from structron.io import open_output, read_lines
from structron.io.doc import Doc, docs_from_conllu
from structron.io.text import display_name
from structron.runtime.progress import Tally, say
from structron.runtime.threads import cores, in_order
from structron.show.svg import page, to_svg
from structron.tasks.pipeline.stream import blocks
from structron.tasks.registry import load, path_of

FORMATS = ("conllu", "json", "sentences", "tokens", "html", "svg")
ENDINGS = {
    "conllu": ".conllu",
    "json": ".json",
    "sentences": ".sentences.txt",
    "tokens": ".tokens.txt",
    "html": ".html",
    "svg": ".svg",
}
INPUTS = (".txt", ".text", ".md", ".conll", ".conllu")
"""Endings that the output's takes the place of; others stay."""
KEEP = ("tokens", "tags")
MANY_SENTENCES = 2000
"""Sentences that a page of HTML may have before a browser is slow."""


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
    if text is not None and (files or how.get("keep") is not None):
        raise StructronError("--text: expected no file beside it, and no --keep")
    if output_dir is not None:
        from structron.cli import bulk

        if output is not None or text is not None:
            raise StructronError(f"{'--text' if text else '--output'}: expected --output-dir alone, for many files")
        ending = ENDINGS[how.get("format", FORMATS[0])] if how.get("format", FORMATS[0]) in FORMATS else ""
        order = bulk.Order(Annotation, {"model": model, **how})
        return bulk.run(order, files, output_dir, lambda name: output_name(name, ending), ray)
    if files and len(files) == 1 and " " in files[0] and not os.path.exists(files[0]) and not glob.glob(files[0]):
        raise StructronError(f"{files[0]}: no such file; expected a file, or --text before a text")
    file = the_file(files, ray)
    check_places({"--model": path_of(model), "FILE": file if text is None else None}, {"--output": output or "-"})
    check_text_place("--output", output)
    check_output(output)
    annotation = Annotation(model, **how)
    annotation.write(file, output, annotation.jobs, text)
    return 0


def output_name(name: str, ending: str) -> str:
    """What the output of a file is called in another folder: a.txt.gz becomes a.conllu, b.7 becomes b.7.conllu."""
    name = name[: -len(".gz")] if name.lower().endswith(".gz") else name
    stem, dot = os.path.splitext(name)
    return (stem if dot.lower() in INPUTS else name) + ending


class Annotation:
    """A pipeline or tokenizer and what it is asked for; `write` applies it to a text.

    `keep`: files are CoNLL-U, whose tokens, or tags too, stay as they are.
    """

    def __init__(
        self,
        model: str = "english",
        format: str = "conllu",
        keep: str | None = None,
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
        self.format, self.keep, self.encoding = format, keep, encoding
        self.jobs = settings.get("jobs") or cores()

    def write(self, file: str, output: Path | None, jobs: int, text: str | None = None) -> None:
        """Write the analysis of a file, or of `text`; but for JSON, HTML and SVG memory does not depend on its size."""
        lines = read_lines(file, self.encoding, plain=self.keep is None) if text is None else iter([text])
        name = display_name(file) if text is None else "structron"
        with tallied(output, self.quiet) as counts, open_output(output, self.encoding) as out:
            WRITERS[self.format](_counted(self._docs(lines, name, jobs), counts), out, name)

    def _docs(self, lines: Iterator[str], name: str, jobs: int) -> Iterator[Doc]:
        if self.keep is not None:
            return in_order(self._kept, docs_from_conllu(lines, name), jobs)
        return blocks(lines, self._analysed, self._sentences, self.estimator.lines, jobs)

    def _sentences(self, text: str) -> Doc:
        tokenizer = self.estimator.part("tokenizer") if self.estimator.task == "pipeline" else self.estimator
        return tokenizer.predict([text], jobs=1, lines=self.estimator.lines)[0]

    def _analysed(self, text: str) -> Doc:
        return self.estimator.predict([text], jobs=1)[0]

    def _kept(self, doc: Doc) -> Doc:
        self.estimator.annotate([doc], known=self.keep, jobs=1)
        return doc


def _counted(docs: Iterator[Doc], counts: Tally) -> Iterator[Doc]:
    for doc in docs:
        counts.add(sentence=len(doc.sentences), word=sum(len(token.words) for token in doc.tokens))
        yield doc


def _write_conllu(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    number = 0
    for doc, following in pairwise(chain(docs, [None])):
        assert doc is not None
        for sentence in doc.sentences:
            number += 1
            if not any(comment.startswith("# sent_id") for comment in sentence.comments):
                sentence.comments.append(f"# sent_id = {number}")
        out.write(doc.to_conllu(goes_on=following is not None and any(s.begins for s in following.sentences[:1])))


def _write_json(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    """One object: sentences as they come, the text last."""
    texts, before, first = [], "", True
    out.write('{"sentences": [')
    for number, doc in enumerate(docs):
        before = doc.spaces_before if number == 0 else before
        texts.append(doc.text)
        for sentence in doc.to_json()["sentences"]:
            out.write(("\n" if first else ",\n") + json.dumps(sentence, ensure_ascii=False))
            first = False
    rest = {"text": "".join(texts), "spaces_before": before}
    out.write("\n], " + json.dumps(rest, ensure_ascii=False)[1:] + "\n")


def _write_sentences(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    for doc in docs:
        for sentence in doc.sentences:
            out.write(" ".join(sentence.text.split()) + "\n")


def _write_tokens(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    for doc in docs:
        for sentence in doc.sentences:
            out.write(" ".join(token.form for token in sentence.tokens) + "\n")


def _write_html(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    sentences = [sentence for doc in docs for sentence in doc.sentences]
    if len(sentences) > MANY_SENTENCES:
        say(f"{len(sentences)} sentences on one page: a browser may be slow with it")
    out.write(page(sentences, name))


def _write_svg(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    out.write(to_svg([sentence for doc in docs for sentence in doc.sentences]))


WRITERS = {
    "conllu": _write_conllu,
    "json": _write_json,
    "sentences": _write_sentences,
    "tokens": _write_tokens,
    "html": _write_html,
    "svg": _write_svg,
}
