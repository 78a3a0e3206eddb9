"""A text of any length, block by block: blocks end with a paragraph, or where there is none for long, with a sentence.

What waits for the end of a paragraph is text alone, and no more than a sentence may have (io/limits.py); then the
tokenizer looks for ends of sentences in the beginning of it. Where there are none either, the text is refused.

The documents of all blocks, one after the other, are the document of the text: their texts joined are the text, and
offsets count from its beginning.
"""

from collections.abc import Callable, Iterable, Iterator

from structron.io.doc import Doc
from structron.io.limits import longest_sentence, too_long
from structron.runtime.threads import in_order
from structron.tasks.tokenizer import MOST_TOKENS
from structron.text.pieces import is_space

BLOCK_CHARACTERS, LONG = 50_000, 100_000
"""Characters after which a block ends with the next paragraph, and of blocks that end with a sentence."""


def blocks(
    lines: Iterable[str],
    analyse: Callable[[str], Doc],
    sentences: Callable[[str], Doc],
    each_line: bool = False,
    jobs: int = 1,
) -> Iterator[Doc]:
    """The analyses of a text's blocks.

    sentences: finds the sentences of a text, for paragraphs that are too long for a block; each_line: every line is a
    paragraph; jobs: threads that analyse blocks.
    """
    waiting: Doc | None = None

    def analysed(block: Block) -> Doc:
        text, done, inside = block
        return _placed(analyse(text), done, inside)

    for doc in in_order(analysed, _blocks(lines, sentences, each_line), jobs):
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


Block = tuple[str, int, bool]
"""A block's text; how many characters are before it; and whether it begins inside a paragraph."""


def _blocks(lines: Iterable[str], sentences: Callable[[str], Doc], each_line: bool) -> Iterator[Block]:
    waiting: list[str] = []
    size = done = 0
    inside = False  # whether the text that waits begins inside a paragraph
    limit = longest_sentence()
    window = max(LONG, limit // 10)
    for line in lines:
        begins = not waiting or waiting[-1].endswith("\n")
        blank = each_line or (begins and all(map(is_space, line)))
        waiting.append(line)
        size += len(line)
        if size >= BLOCK_CHARACTERS and blank and line.endswith("\n"):
            yield from _parts("".join(waiting), done, inside, sentences)
            done, waiting, size, inside = done + size, [], 0, False
        while size > max(limit, 2 * window):
            text = "".join(waiting)
            end, natural = _end(sentences, text[:window])
            if not natural:
                raise too_long(f"character {done}", window)
            yield text[:end], done, inside
            done, waiting, size, inside = done + end, [text[end:]], size - end, True
    if waiting or not done:
        yield from _parts("".join(waiting), done, inside, sentences)


def _parts(text: str, done: int, inside: bool, sentences: Callable[[str], Doc]) -> Iterator[Block]:
    """A text that ends with a paragraph, as one block, or as several that end with sentences."""
    while len(text) >= 2 * LONG:
        end, _ = _end(sentences, text[:LONG])
        if not end:
            break
        yield text[:end], done, inside
        text, done, inside = text[end:], done + end, True
    yield text, done, inside


def _end(sentences: Callable[[str], Doc], text: str) -> tuple[int, bool]:
    """Where the last sentence of a text begins, which may go on, or 0; and whether any before it ends by itself."""
    found = sentences(text).sentences
    if len(found) < 2:
        return 0, False
    return found[-1].start, any(len(sentence.tokens) < MOST_TOKENS for sentence in found[:-1])


def _placed(doc: Doc, done: int, inside: bool) -> Doc:
    """A block's document, as a part of the whole."""
    move(doc, done)
    if inside and doc.sentences:
        doc.sentences[0].new_paragraph = False
    return doc


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
