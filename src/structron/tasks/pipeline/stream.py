"""A text of any length, block by block: blocks end with a paragraph, or where there is none for long, with a sentence.

The documents of all blocks, one after the other, are the document of the text: their texts joined are the text, and
offsets count from its beginning.
"""

from collections.abc import Callable, Iterable, Iterator

from structron.doc import Doc
from structron.io.limits import longest_sentence, too_long
from structron.text.pieces import is_space
from structron.threads import in_order

BLOCK, LONG = 50_000, 500_000
"""Characters after which a block ends with the next paragraph, and after which it ends with a sentence."""


def blocks(
    lines: Iterable[str], analyse: Callable[[str], Doc], each_line: bool = False, jobs: int = 1
) -> Iterator[Doc]:
    """The analyses of a text's blocks. each_line: every line is a paragraph; jobs: threads that analyse them."""
    waiting: Doc | None = None

    def analysed(block: Block) -> Doc:
        text, done, inside = block
        return _placed(analyse(text) if isinstance(text, str) else text, done, inside)

    for doc in in_order(analysed, _blocks(lines, analyse, each_line), jobs):
        if waiting is None:
            waiting = doc
            continue
        if waiting.sentences or doc.spaces_before == doc.text:
            _give_spaces(doc, waiting)
        if doc.text:
            yield waiting
            waiting = doc
    if waiting is not None:
        yield waiting


def _give_spaces(doc: Doc, before: Doc) -> None:
    """Let the white space that a block begins with end the block before, as in the whole text."""
    spaces, doc.spaces_before = doc.spaces_before, ""
    before.text, doc.text = before.text + spaces, doc.text[len(spaces) :]
    if before.sentences:
        before.sentences[-1].tokens[-1].spaces_after += spaces
    else:
        before.spaces_before += spaces


Block = tuple[str | Doc, int, bool]
"""A block's text, or its analysis where that had to be known to find its end; how many characters are before it; and
whether it begins inside a paragraph."""


def _blocks(lines: Iterable[str], analyse: Callable[[str], Doc], each_line: bool) -> Iterator[Block]:
    waiting: list[str] = []
    size = done = 0
    inside = False  # whether the text that waits begins inside a paragraph
    enough, limit = LONG, longest_sentence()
    for line in lines:
        begins = not waiting or waiting[-1].endswith("\n")
        blank = each_line or (begins and all(map(is_space, line)))
        waiting.append(line)
        size += len(line)
        if size >= BLOCK and blank and line.endswith("\n"):
            yield "".join(waiting), done, inside
            done, waiting, size, inside, enough = done + size, [], 0, False, LONG
        while size >= enough:
            text = "".join(waiting)
            doc, rest = _cut(analyse, text[:limit])
            if doc is None and size > limit:
                raise too_long(f"character {done}", limit)
            if doc is None:
                enough = 2 * size
                break
            rest += text[limit:]
            yield doc, done, inside
            done, waiting, size, inside, enough = done + size - len(rest), [rest], len(rest), True, LONG
    if waiting or not done:
        yield "".join(waiting), done, inside


def _placed(doc: Doc, done: int, inside: bool) -> Doc:
    """A block's document, as a part of the whole."""
    move(doc, done)
    if inside and doc.sentences:
        doc.sentences[0].new_paragraph = False
    return doc


def _cut(analyse: Callable[[str], Doc], text: str) -> tuple[Doc | None, str]:
    """The analysis of a text but for its last sentence, which may go on, and the text of that."""
    doc = analyse(text)
    if len(doc.sentences) < 2:
        return None, text
    last = doc.sentences.pop()
    doc.text = text[: last.start]
    return doc, text[last.start :]


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
