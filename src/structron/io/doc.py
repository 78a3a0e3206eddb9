"""An analysed text: its sentences and where they stand in it; from CoNLL-U and back, as JSON, as HTML."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

from structron.errors import StructronError, counted, quoted
from structron.io.analysis import TextBuilder, read_spaces_comment, spaces_comment, write_sentence
from structron.io.conll import BOM, is_blank
from structron.io.conllu import CONLLU_COLUMNS, read_conllu
from structron.io.text import display_name, read_lines
from structron.show.svg import to_html, to_svg
from structron.text.analysis import Entity, Sentence, Token, Word, make_sentence

__all__ = ["Doc", "Entity", "Sentence", "Token", "Word", "docs_from_conllu", "read_docs"]

_COLUMNS = (*CONLLU_COLUMNS, "start", "end")
_ENTITY = ("label", "first", "last", "start", "end", "text")
_TOKEN = ("form", "start", "end", "spaces_after", "misc", "feats")


@dataclass(slots=True, repr=False)
class Doc:
    """A text and its analysis. Iterating over it yields its sentences.

    Examples:
        >>> from structron import Doc
        >>> doc = Doc.from_spans("He sleeps.", [[(0, 2), (3, 9), (9, 10)]])
        >>> " ".join(token.form for token in doc.tokens)
        'He sleeps .'
        >>> Doc.from_conllu(doc.to_conllu()).text
        'He sleeps.'
    """

    text: str
    sentences: list[Sentence] = field(default_factory=list)
    spaces_before: str = ""

    @classmethod
    def from_spans(
        cls,
        text: str,
        sentences: Iterable[Sequence[tuple[int, int]]],
        words: Callable[[str], Sequence[str]] | None = None,
    ) -> "Doc":
        """A document from a text and the positions of its tokens.

        Args:
            text: The text.
            sentences: For each sentence the (start, end) of its tokens.
            words: Returns the forms of the words of a token, where it has several.
        """
        cuts = [tokens for tokens in sentences if tokens]
        ends = [*(tokens[0][0] for tokens in cuts[1:]), len(text)]
        made = [
            make_sentence(text, tokens, end, words and [words(text[lo:hi]) for lo, hi in tokens])
            for tokens, end in zip(cuts, ends[: len(cuts)], strict=True)
        ]
        return cls(text, made, text[: cuts[0][0][0]] if cuts else text)

    @classmethod
    def from_conllu(cls, source: str | Iterable[str], name: str = "CoNLL-U") -> "Doc":
        """A document of all sentences of a CoNLL-U text.

        Args:
            source: The text, or its lines.
            name: The name of the source in error messages.
        """
        head, rest = _split_head(StringIO(source, newline="\n") if isinstance(source, str) else source)
        builder = TextBuilder(name)
        if not rest:
            return _empty(read_spaces_comment(head) or "")
        for block in read_conllu(chain(head, rest), name):
            builder.add(block)
        return _finished(builder)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Doc":
        """The inverse of `to_json`.

        Args:
            data: The output of `to_json`.
        """
        try:
            sentences = [_sentence_from_json(sentence) for sentence in data["sentences"]]
            return cls(data["text"], sentences, data["spaces_before"])
        except (KeyError, TypeError) as error:
            raise StructronError(f"not a document ({error!r}); expected the output of Doc.to_json") from None

    def __repr__(self) -> str:
        words = sum(len(token.words) for token in self.tokens)
        return f"Doc({quoted(self.text)}, {counted(len(self), 'sentence')}, {counted(words, 'word')})"

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def tokens(self) -> list[Token]:
        """The tokens of all sentences."""
        return [token for sentence in self.sentences for token in sentence.tokens]

    @property
    def words(self) -> list[Word]:
        """The words of all sentences."""
        return [word for sentence in self.sentences for word in sentence.words]

    @property
    def entities(self) -> list[Entity]:
        """The entities of all sentences."""
        return [entity for sentence in self.sentences for entity in sentence.entities]

    def to_conllu(self, *, goes_on: bool = False) -> str:
        """The document in CoNLL-U: `from_conllu` gives all of it back. goes_on: another paragraph is written next."""
        sentences = [sentence for sentence in self.sentences if sentence.tokens]
        if not sentences:
            return spaces_comment(self.spaces_before)
        ends = [*(sentence.begins for sentence in sentences[1:]), goes_on]
        before = [self.spaces_before, *[""] * len(sentences)]
        return "".join(
            write_sentence(sentence, spaces, end, number)
            for number, (sentence, spaces, end) in enumerate(zip(sentences, before, ends, strict=False), 1)
        )

    def to_json(self) -> dict[str, Any]:
        """The document as plain values that JSON can hold."""
        sentences = [_sentence_to_json(sentence) for sentence in self.sentences]
        return {"text": self.text, "spaces_before": self.spaces_before, "sentences": sentences}

    def to_html(self) -> str:
        """The trees and entities, drawn: a piece of HTML that needs nothing else."""
        return to_html(self)

    def to_svg(self) -> str:
        """The same as one SVG picture."""
        return to_svg(self)

    def _repr_html_(self) -> str:
        return to_html(self)


def _sentence_html(sentence: Sentence) -> str:
    """What a notebook shows of a sentence: its tree and entities."""
    return to_html([sentence])


setattr(Sentence, "_repr_html_", _sentence_html)  # noqa: B010  # here, since drawing stands above what it draws


def docs_from_conllu(lines: Iterable[str], name: str = "CoNLL-U") -> Iterator[Doc]:
    """The documents of a CoNLL-U file, one by one; ``# newdoc`` begins each."""
    head, rest = _split_head(lines)
    if not rest and (spaces := read_spaces_comment(head)) is not None:
        yield _empty(spaces)
        return
    builder = TextBuilder(name)
    for block in read_conllu(chain(head, rest), name):
        if block.new_document and builder.sentences:
            yield _finished(builder)
            builder = TextBuilder(name)
        builder.add(block)
    yield _finished(builder)


def read_docs(path: str | Path, encoding: str = "utf-8") -> Iterator[Doc]:
    """The documents of a CoNLL-U file ("-": of standard input), one by one.

    A file that cannot be opened is reported by the call; what is wrong inside it, when the reading gets there.

    Args:
        path: The file, plain or compressed; "-" is standard input.
        encoding: The encoding of the file.

    Examples:
        >>> import structron, tempfile
        >>> from pathlib import Path
        >>> doc = structron.Doc.from_spans("He sleeps.", [[(0, 2), (3, 9), (9, 10)]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "one.conllu")
        ...     _ = path.write_text(doc.to_conllu())
        ...     [found.text for found in structron.read_docs(path)]
        ['He sleeps.']
    """
    lines = read_lines(path, encoding)

    def documents() -> Iterator[Doc]:
        with contextlib.closing(lines):
            yield from docs_from_conllu(lines, display_name(path))

    return documents()


def _split_head(lines: Iterable[str]) -> tuple[list[str], Iterable[str]]:
    """The comments and blank lines that a file begins with, and the lines from the first token on; () if none."""
    lines = (line or "\n" for line in lines)
    head: list[str] = []
    for line in lines:
        text = line if head else line.removeprefix(BOM)
        if text[:1] != "#" and not is_blank(text):
            return head, chain([line], lines)
        head.append(line)
    return head, ()


def _empty(spaces: str) -> Doc:
    return Doc(spaces, [], spaces)


def _finished(builder: TextBuilder) -> Doc:
    return Doc(builder.finish(), builder.sentences, builder.spaces_before)


# -- JSON ----------------------------------------------------------------------------------------------------------


def _sentence_to_json(sentence: Sentence) -> dict[str, Any]:
    return {
        "text": sentence.text,
        "start": sentence.start,
        "end": sentence.end,
        "new_document": sentence.new_document,
        "new_paragraph": sentence.new_paragraph,
        "comments": list(sentence.comments),
        "tokens": [
            {
                **{name: getattr(token, name) for name in _TOKEN},
                **({"spelled": token.spelled} if token.spelled else {}),
                "words": [{name: getattr(word, name) for name in _COLUMNS} for word in token.words],
            }
            for token in sentence.tokens
        ],
        "entities": [{name: getattr(entity, name) for name in _ENTITY} for entity in sentence.entities],
        "empty_nodes": [list(node) for node in sentence.empty_nodes],
    }


def _sentence_from_json(data: dict[str, Any]) -> Sentence:
    return Sentence(
        tokens=[
            Token(
                **{name: token[name] for name in _TOKEN},
                spelled=token.get("spelled", ""),
                words=[Word(*[word[name] for name in _COLUMNS]) for word in token["words"]],
            )
            for token in data["tokens"]
        ],
        comments=list(data["comments"]),
        new_document=data["new_document"],
        new_paragraph=data["new_paragraph"],
        entities=[Entity(*[entity[name] for name in _ENTITY]) for entity in data["entities"]],
        empty_nodes=[(after, line) for after, line in data["empty_nodes"]],
    )
