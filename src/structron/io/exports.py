"""Formats that analysed documents are written in, document by document, for other programs to read.

| format | what is in it | who reads it |
| --- | --- | --- |
| conllu | everything | treebank tools |
| json, jsonl | one object, or one for each sentence with spans as Prodigy has them | programs |
| tsv | a line for each word, with a header | spreadsheets, R, pandas |
| vertical | words with tags between `<doc>`, `<p>`, `<s>` and entities | CWB, NoSketch Engine |
| conll | word, tag, entity | taggers of entities |
| brat | entities with offsets into the text | brat |
| sentences, tokens | one sentence a line | shell scripts |
| html, svg | drawings | people |
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, TextIO

from structron.io.doc import Doc
from structron.runtime.progress import say
from structron.show.svg import page, to_svg
from structron.text import schemes
from structron.text.analysis import Sentence, Word

MANY_SENTENCES = 2000
"""Sentences that a page of HTML may have before a browser is slow."""
TSV = ("sentence", "id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "entity", "start", "end")
VERTICAL = ("form", "xpos", "lemma", "upos", "feats", "id", "head", "deprel")
_SPACE = re.compile(r"\s+")
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


@dataclass(frozen=True, slots=True)
class Format:
    """How documents are written, and how such a file's name ends."""

    ending: str
    write: Callable[[Iterator[Doc], TextIO, str], None]


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


def _write_jsonl(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    for doc in docs:
        for sentence in doc.sentences:
            out.write(json.dumps(_task(sentence), ensure_ascii=False) + "\n")


def _task(sentence: Sentence) -> dict[str, Any]:
    """A sentence as Prodigy and doccano have it: offsets count from its own beginning; `meta` says where that is."""
    begin, tokens = sentence.start, []
    for number, token in enumerate(sentence.tokens):
        lo, hi = token.start - begin, token.end - begin
        own = {"text": token.form, "start": lo, "end": hi, "id": number, "ws": bool(token.spaces_after)}
        columns = ("lemma", "upos", "xpos", "feats", "deprel")
        tokens.append(own | {column: "+".join(getattr(word, column) for word in token.words) for column in columns})
    places = [k for k, token in enumerate(sentence.tokens) for _ in token.words]
    spans = [
        {
            "start": entity.start - begin,
            "end": entity.end - begin,
            "token_start": places[entity.first],
            "token_end": places[entity.last - 1],
            "label": entity.label,
        }
        for entity in sentence.entities
    ]
    return {"text": sentence.text, "tokens": tokens, "spans": spans, "meta": {"start": begin}}


def _write_tsv(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    out.write("\t".join(TSV) + "\n")
    number = 0
    for doc in docs:
        for sentence in doc.sentences:
            number += 1
            for word, entity in zip(sentence.words, entity_labels(sentence), strict=True):
                row = {"sentence": number, "entity": entity}
                out.write("\t".join(_value(row[c] if c in row else getattr(word, c)) for c in TSV) + "\n")


def _write_vertical(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    """Words in lines of columns; a structure has lines of its own, and `<g/>` stands where there is no space."""
    out.write(f'<doc id="{name.translate(_MARKUP)}">\n<p>\n')
    first = True
    for doc in docs:
        for sentence in doc.sentences:
            if sentence.begins and not first:
                out.write("</p>\n<p>\n")
            first = False
            out.write("<s>\n")
            out.writelines(f"{line}\n" for line in _vertical(sentence))
            out.write("</s>\n")
    out.write("</p>\n</doc>\n")


def _vertical(sentence: Sentence) -> Iterator[str]:
    opened = {entity.first: entity.label for entity in sentence.entities}
    closed = {entity.last - 1 for entity in sentence.entities}
    place = 0
    for token in sentence.tokens:
        for k, word in enumerate(token.words):
            if place in opened:
                yield f'<ne type="{opened[place].translate(_MARKUP)}">'
            yield "\t".join(_value(getattr(word, column)).translate(_MARKUP) for column in VERTICAL)
            if place in closed:
                yield "</ne>"
            place += 1
            glued = k + 1 < len(token.words) or not token.spaces_after
            if glued and place < len(sentence.words):
                yield "<g/>"


def _write_conll(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    """Three columns: the word, its tag (XPOS, or UPOS where there is none), its entity."""
    for doc in docs:
        for sentence in doc.sentences:
            for word, entity in zip(sentence.words, entity_labels(sentence), strict=True):
                columns = (word.form, word.upos if word.xpos == "_" else word.xpos, entity)
                out.write("\t".join(map(_value, columns)) + "\n")
            out.write("\n")


def _write_brat(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    """Standoff annotation of the text's file: entities; one that goes on in another line is in pieces."""
    number = 0
    for doc in docs:
        for entity in doc.entities:
            number += 1
            pieces = [(m.start() + entity.start, m.end() + entity.start) for m in re.finditer("[^\r\n]+", entity.text)]
            places = ";".join(f"{lo} {hi}" for lo, hi in pieces)
            text = " ".join(re.findall("[^\r\n]+", entity.text))
            out.write(f"T{number}\t{_SPACE.sub('_', entity.label)} {places}\t{text}\n")


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
        say(f"{len(sentences)} sentences on one page: browsers may be slow")
    out.write(page(sentences, name))


def _write_svg(docs: Iterator[Doc], out: TextIO, name: str) -> None:
    out.write(to_svg([sentence for doc in docs for sentence in doc.sentences]))


def entity_labels(sentence: Sentence) -> list[str]:
    """The entity of each word, in IOB2."""
    chunks = [(entity.label, entity.first, entity.last) for entity in sentence.entities]
    return schemes.encode(chunks, sum(len(token.words) for token in sentence.tokens), "iob2")


def _value(value: Word | object) -> str:
    """A column, which has no tab or line end in it; a head that is not known is empty, as CoNLL-U has it."""
    return "_" if value is None else _SPACE.sub(" ", str(value))


FORMATS = {
    "conllu": Format(".conllu", _write_conllu),
    "json": Format(".json", _write_json),
    "jsonl": Format(".jsonl", _write_jsonl),
    "tsv": Format(".tsv", _write_tsv),
    "vertical": Format(".vert", _write_vertical),
    "conll": Format(".conll", _write_conll),
    "brat": Format(".ann", _write_brat),
    "sentences": Format(".sentences.txt", _write_sentences),
    "tokens": Format(".tokens.txt", _write_tokens),
    "html": Format(".html", _write_html),
    "svg": Format(".svg", _write_svg),
}
"""By the names that `annotate --format` takes."""
