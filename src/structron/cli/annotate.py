"""`structron annotate`: plain text in; sentences, words, tags, lemmas, trees and entities out, block by block."""

import json
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TextIO

from structron.cli.files import say
from structron.cli.tasks import apply
from structron.doc import Doc, docs_from_conllu
from structron.errors import StructronError, unknown
from structron.io import check_writable, open_output, read_lines
from structron.io.text import display_name
from structron.render import page
from structron.tasks.pipeline.stream import blocks
from structron.tasks.registry import bundled, load

FORMATS = ("conllu", "json", "sentences", "tokens", "html")
KEEP = ("tokens", "tags")
MANY_SENTENCES = 2000
"""Sentences that a page of HTML may have before a browser is slow."""


def run(
    file: str = "-",
    model: str = "english",
    text: str | None = None,
    format: str = "conllu",
    output: Path | None = None,
    keep: str | None = None,
    encoding: str = "utf-8",
    settings: dict[str, Any] | None = None,
) -> None:
    """Write the analysis of a text. `keep`: the file is CoNLL-U, whose tokens, or tags too, stay as they are."""
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    if text is not None and (file != "-" or keep is not None):
        raise StructronError("--text: expected no file beside it, and no --keep")
    check_writable(output)
    if not Path(model).exists() and model not in bundled():
        raise StructronError(f"{model}: no such file or bundled model; expected one made by 'structron train pipeline'")
    estimator = load(model)
    if not estimator.texts:
        raise StructronError(f"{model}: a {estimator.task} model; expected a pipeline or a tokenizer")
    apply(estimator, settings or {})
    if keep is not None and (keep not in KEEP or estimator.task != "pipeline"):
        raise unknown("--keep", keep, KEEP) if keep not in KEEP else StructronError("--keep: expected a pipeline")
    if estimator.is_cold():
        say("compiling (first run only) …")
    docs = _kept(estimator, file, encoding, keep) if keep else _annotated(estimator, file, encoding, text)
    with open_output(output, encoding) as out:
        WRITERS[format](docs, out, display_name(file) if text is None else "structron")


def _annotated(estimator: Any, file: str, encoding: str, text: str | None) -> Iterator[Doc]:
    lines = read_lines(file, encoding) if text is None else iter([text])
    return blocks(lines, lambda given: estimator.predict([given])[0], estimator.lines)


def _kept(estimator: Any, file: str, encoding: str, keep: str) -> Iterator[Doc]:
    for doc in docs_from_conllu(read_lines(file, encoding), display_name(file)):
        estimator.annotate([doc], known=keep)
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


WRITERS = {
    "conllu": _write_conllu,
    "json": _write_json,
    "sentences": _write_sentences,
    "tokens": _write_tokens,
    "html": _write_html,
}
