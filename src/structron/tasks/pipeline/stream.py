"""A text of any length, block by block: blocks end with a paragraph, or where there is none for long, with a sentence.

The documents of all blocks, one after the other, are the document of the text: their texts joined are the text, and
offsets count from its beginning.
"""

from collections.abc import Callable, Iterable, Iterator

from structron.doc import Doc
from structron.text.pieces import is_space

BLOCK, LONG = 50_000, 500_000
"""Characters after which a block ends with the next paragraph, and after which it ends with a sentence."""


def blocks(lines: Iterable[str], analyse: Callable[[str], Doc], each_line: bool = False) -> Iterator[Doc]:
    """The analyses of a text's blocks. each_line: every line is a paragraph."""
    waiting: list[str] = []
    size = done = 0
    for line in lines:
        blank = each_line or all(map(is_space, line))
        waiting.append(line)
        size += len(line)
        if size >= BLOCK and blank and line.endswith("\n"):
            yield _block(analyse, "".join(waiting), done)
            done, waiting, size = done + size, [], 0
        while size >= LONG:
            doc, rest = _cut(analyse, "".join(waiting), done)
            if doc is None:
                break
            yield doc
            done, waiting, size = done + size - len(rest), [rest], len(rest)
    if waiting or not done:
        yield _block(analyse, "".join(waiting), done)


def _block(analyse: Callable[[str], Doc], text: str, done: int) -> Doc:
    doc = analyse(text)
    move(doc, done)
    return doc


def _cut(analyse: Callable[[str], Doc], text: str, done: int) -> tuple[Doc | None, str]:
    """The analysis of a text but for its last sentence, which may go on, and the text of that."""
    doc = analyse(text)
    if len(doc.sentences) < 2:
        return None, text
    end = doc.sentences[-1].start
    doc.sentences.pop()
    doc.text = text[:end]
    move(doc, done)
    return doc, text[end:]


def move(doc: Doc, by: int) -> None:
    """Count offsets from `by` characters earlier."""
    if not by:
        return
    for sentence in doc.sentences:
        for token in sentence.tokens:
            token.start, token.end = token.start + by, token.end + by
            for word in token.words:
                word.start, word.end = word.start + by, word.end + by
        for entity in sentence.entities:
            entity.start, entity.end = entity.start + by, entity.end + by
