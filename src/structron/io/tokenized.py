"""Texts whose tokens are known, in formats other than CoNLL-U: documents of some sentences at a time.

`tokens`: one sentence a line, tokens between spaces.   `conll`: columns, of which the first is the word.   `vertical`:
one token a line, its first column the word, between lines of structure such as `<s>` and `<g/>`.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from structron.io.conll import BOM, read_conll
from structron.io.doc import Doc, docs_from_conllu

SENTENCES = 500
"""Sentences of a document, so that memory does not depend on the length of the file."""
_STRUCTURE = re.compile(r"<(/?)([^\s<>/]+)([^<>]*)>")
ENDS = ("s", "p", "doc", "text")
"""Structures with which a sentence ends."""


@dataclass(slots=True)
class TokenizedSentence:
    """A sentence of known tokens; `glued`: those without a space before them."""

    words: list[str] = field(default_factory=list)
    glued: set[int] = field(default_factory=set)
    document: bool = False
    paragraph: bool = False


def doc_of(sentences: Iterable[TokenizedSentence]) -> Doc:
    """A document of sentences whose tokens are known, one a line."""
    cuts: list[list[tuple[int, int]]] = []
    pieces: list[str] = []
    kept, place = [given for given in sentences if given.words], 0
    for given in kept:
        cut = []
        for k, word in enumerate(given.words):
            if k and k not in given.glued:
                pieces.append(" ")
                place += 1
            cut.append((place, place + len(word)))
            pieces.append(word)
            place += len(word)
        pieces.append("\n")
        place += 1
        cuts.append(cut)
    doc = Doc.from_spans("".join(pieces), cuts)
    for sentence, given in zip(doc.sentences, kept, strict=True):
        sentence.new_document, sentence.new_paragraph = given.document, given.paragraph
    return doc


def _token_lines(lines: Iterable[str], name: str) -> Iterator[TokenizedSentence]:
    """A blank line ends a paragraph."""
    paragraph = False
    for number, line in enumerate(lines):
        words = (line.removeprefix(BOM) if number == 0 else line).split()
        if words:
            yield TokenizedSentence(words, paragraph=paragraph)
        paragraph = not words


def _columns(lines: Iterable[str], name: str) -> Iterator[TokenizedSentence]:
    for sentence in read_conll(lines, name):
        yield TokenizedSentence([row[0] for row in sentence.rows], document=bool(sentence.new_document))


def _vertical(lines: Iterable[str], name: str) -> Iterator[TokenizedSentence]:
    given, glued = TokenizedSentence(), False
    for number, line in enumerate(lines):
        text = (line.removeprefix(BOM) if number == 0 else line).rstrip("\r\n")
        structure = _STRUCTURE.fullmatch(text.strip())
        if structure and structure[2] == "g":
            glued = True
        elif not text.strip() or (structure and structure[2] in ENDS):
            if given.words:
                yield given
                given = TokenizedSentence()
            opens = structure is not None and not structure[1]
            given.document |= opens and structure is not None and structure[2] in ("doc", "text")
            given.paragraph |= opens and structure is not None and structure[2] == "p"
            glued = False
        elif not structure:
            if glued and given.words:
                given.glued.add(len(given.words))
            given.words.append(html.unescape(text.split("\t")[0]))
            glued = False
    if given.words:
        yield given


def _in_docs(
    read: Callable[[Iterable[str], str], Iterator[TokenizedSentence]],
) -> Callable[[Iterable[str], str], Iterator[Doc]]:
    def docs(lines: Iterable[str], name: str) -> Iterator[Doc]:
        found = read(lines, name)
        while some := list(islice(found, SENTENCES)):
            yield doc_of(some)

    return docs


READERS: dict[str, Callable[[Iterable[str], str], Iterator[Doc]]] = {
    "conllu": docs_from_conllu,
    "tokens": _in_docs(_token_lines),
    "conll": _in_docs(_columns),
    "vertical": _in_docs(_vertical),
}
"""By the names that `annotate --input` takes, beside `text`."""
