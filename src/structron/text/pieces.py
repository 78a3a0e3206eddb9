"""Text cut into pieces that a token boundary never divides: runs of letters, runs of digits, single marks.

    Dr. Smith didn't   →   Dr|.| Smith| didn|'|t          a token ends with some of them, a sentence with some of those

White space stands between pieces and is kept aside, so nothing of a text is lost. Scripts without spaces (Han, kana,
Thai …) are cut at every character, and so is all text where training data divide runs of letters. Combining marks,
joiners and what belongs to an emoji stay with the character before.
"""

import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from structron.text.runs import NOTHING, mark_of

SPACE, LETTER, DIGIT, LONE, MARK, ATTACHED = range(6)
UNSEEN = -1
JOINER = "\u200d"
FLAG = 0x1F1E6
"""The first of the letters that flags are made of."""
ZERO_WIDTH = "\u200b\ufeff"
"""Invisible characters that count as white space."""
WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
URL = re.compile(
    r"(?i)^\W*(?:[a-z][a-z0-9+.-]{1,15}://|www\.)\S|^\W*[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|info)\b"
)
EMAIL = re.compile(r"^\W*[\w.+-]+@[\w-]+(?:\.[\w-]+)+\W*$")
FILE = re.compile(
    r"(?i)^\W*[\w-]+(?:\.[\w-]+)*\.(?:docx?|pdf|xlsx?|pptx?|txt|html?|jpe?g|png|gif|zip|exe|mp3|csv|xml)\W*$"
)
ADDRESS = 254
"""How far to look for an address, the longest that mail may have: what takes these expressions long is no address."""
BEFORE = re.compile(r"\W*")
BLANK_LINE = re.compile("\r\n|\n|\r")


def is_space(char: str) -> bool:
    """Whether a character stands between tokens."""
    return char.isspace() or char in ZERO_WIDTH


def _kind(char: str) -> int:
    if is_space(char):
        return SPACE
    category = unicodedata.category(char)
    if category[0] == "M" or category == "Cf" or "\U0001f3fb" <= char <= "\U0001f3ff":
        return ATTACHED
    if category[0] == "L":
        return LONE if WITHOUT_SPACES.match(char) else LETTER
    return DIGIT if category[0] == "N" else MARK


@cache
def _known_kinds() -> np.ndarray:
    """int8[code points]: the kinds of those that have been seen, UNSEEN of the others."""
    return np.full(sys.maxunicode + 1, UNSEEN, np.int8)


def _kinds(codes: np.ndarray) -> np.ndarray:
    """The kind of each character."""
    known = _known_kinds()
    own = known[codes]
    if (own == UNSEEN).any():
        for point in np.unique(codes[own == UNSEEN]).tolist():
            known[point] = _kind(chr(point))
        own = known[codes]
    return own


def cut(codes: np.ndarray, fine: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """bool[characters]: whether a piece, or a run of white space, begins there, and whether it is white space.

    fine: at every letter too.
    """
    if not len(codes):
        return np.zeros(0, bool), np.zeros(0, bool)
    own = _kinds(codes)
    base = np.maximum.accumulate(np.where(own == ATTACHED, 0, np.arange(len(own))))
    kinds = np.where((own == ATTACHED) & ((own[base] == SPACE) | (own[base] == ATTACHED)), MARK, own[base])
    flags = (codes >= FLAG) & (codes < FLAG + 26)
    begins, space = np.ones(len(codes), bool), kinds == SPACE
    alone = (kinds[1:] == LONE) | ((kinds[1:] == MARK) & (codes[1:] != codes[:-1]) & ~(flags[1:] & flags[:-1]))
    if fine:
        alone |= kinds[1:] == LETTER
    begins[1:] = (kinds[1:] != kinds[:-1]) | alone
    hangs = (own[1:] == ATTACHED) | (codes[:-1] == ord(JOINER))
    begins[1:] &= ~(hangs & ~space[1:] & ~space[:-1])
    return begins, space


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a text: where they begin and end, and which of them end a paragraph."""

    text: str
    start: list[int]
    end: list[int]
    last: list[bool]  # whether a blank line, or nothing, follows

    def __len__(self) -> int:
        return len(self.start)


def pieces_of(text: str, fine: bool = False, lines: bool = False) -> Pieces:
    """The pieces of a text. lines: every line is a paragraph, not only what stands between blank lines."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    begins, white = cut(codes, fine)
    start = np.flatnonzero(begins)
    end, between = np.append(start[1:], len(text)), white[start]
    last = [False] * int(np.count_nonzero(~between))
    before = np.cumsum(~between) - 1  # the piece that a run of white space stands behind
    breaks = np.concatenate([[0], np.cumsum((codes == ord("\n")) | (codes == ord("\r")))])
    for k in np.flatnonzero(between & (breaks[end] > breaks[start]) & (before >= 0)).tolist():
        if len(BLANK_LINE.findall(text, int(start[k]), int(end[k]))) > (0 if lines else 1):
            last[before[k]] = True
    if last:
        last[-1] = True
    return Pieces(text, start[~between].tolist(), end[~between].tolist(), last)


_FIRST = ["piece", "space", "word", "before", "after", "previous", "next", "kind"]
COLUMNS = [*_FIRST, "open", "mark", "label"]
"""What is known of a piece: the piece, the space after it, the run without spaces that it stands in, what of it comes
before and after the piece, the runs before and after, what the piece is to an address or the name of a file in the
run (inside, its end, or around it), whether a bracket or a quotation is open before it, and whether the run is an
initial, the number of an item, a bullet or a rule."""
EARLIER = ([*_FIRST, "label"], [*_FIRST, "open", "label"])
"""The columns of models of earlier versions."""
INSIDE, TOKEN, SENTENCE = "I", "T", "S"
MARKS = frozenset("/=&#_-~%+$*@")
"""With which an address may end; other marks at its end belong to the sentence."""
OPENING, CLOSING = frozenset("([{（［「『【"), frozenset(")]}）］」』】")
BRACKETS = OPENING | CLOSING
QUOTES = frozenset('"«»‹›“”„‟‚＂')
"""Of which each may open in one language what it closes in another: white space beside them says which."""
ENDING = CLOSING | frozenset(",.;:!?…")
FAR = 100
"""Pieces after which a bracket or a quotation that nobody closed counts as closed."""
LONG = 40
"""Runs that are longer are cut for the features, as addresses may be very long."""


def _kind_of(word: str) -> str:
    if "@" in word and len(word) <= ADDRESS and EMAIL.match(word):
        return "email"
    if URL.match(word[:ADDRESS]):
        return "url"
    return "file" if "." in word and len(word) <= ADDRESS and FILE.match(word) else NOTHING


def _address(word: str) -> tuple[str, int, int]:
    """The kind of address that a run is, and where in it the address begins and ends."""
    kind = _kind_of(word)
    if kind == NOTHING:
        return kind, 0, 0
    lo, hi = BEFORE.match(word).end(), len(word)  # type: ignore[union-attr]
    balance = word.count("(", lo) - word.count(")", lo)
    while hi > lo and not (word[hi - 1].isalnum() or word[hi - 1] in MARKS):
        if word[hi - 1] == ")":
            if balance >= 0:  # as in https://en.wikipedia.org/wiki/Perceptron_(disambiguation)
                break
            balance += 1
        hi -= 1
    return kind, lo, hi


def _part(kind: str, begin: int, end: int, stop: int) -> str:
    """What a piece that ends there is to an address."""
    if kind == NOTHING:
        return kind
    return kind if begin < end < stop else f"{kind}-end" if end == stop else "around"


def open_before(pieces: Pieces) -> list[str]:
    """What is open before each piece of its paragraph: a bracket, a quotation, both or nothing."""
    text, found = pieces.text, []
    bracket = quotation = 0  # for how many pieces it stays open
    for start, end, last in zip(pieces.start, pieces.end, pieces.last, strict=True):
        quoted = quotation > 0
        found.append(("(" if bracket > 0 else "") + ('"' if quoted else "") or NOTHING)
        bracket, quotation = bracket - 1, quotation - 1
        mark = text[start]
        if mark in QUOTES:
            quotation = FAR if _opens(text, start, end, quoted) else 0
        elif mark in BRACKETS:
            bracket = FAR if mark in OPENING else 0
        if last:
            bracket = quotation = 0
    return found


def _opens(text: str, start: int, end: int, quoted: bool) -> bool:
    """Whether a quotation begins with a mark: by the text beside it, or else if none is open."""
    before = not start or is_space(text[start - 1]) or text[start - 1] in OPENING
    after = end == len(text) or is_space(text[end]) or text[end] in ENDING
    return before if before != after else not quoted


def rows_of(pieces: Pieces, names: Sequence[str] = COLUMNS) -> list[list[tuple[str, ...]]]:
    """The pieces of each paragraph as rows of all columns but the label. names: of the columns, or of the first."""
    text, start, end, last = pieces.text, pieces.start, pieces.end, pieces.last
    ends = [k for k, (stop, begin) in enumerate(zip(end, [*start[1:], -1], strict=False), 1) if stop != begin]
    runs = list(pairwise([0, *ends]))  # first and last piece, exclusive, of what stands between spaces
    words = [text[start[lo] : end[hi - 1]] for lo, hi in runs]
    ended = [last[hi - 1] for _, hi in runs]
    heads, tails = [word[:LONG] for word in words], [word[-LONG:] for word in words]
    found: list[list[tuple[str, ...]]] = []
    rows: list[tuple[str, ...]] = []
    opened, marks = open_before(pieces), list(map(mark_of, words))
    width = len(names) - 1
    previous = NOTHING
    for place, (lo, hi) in enumerate(runs):
        word, head = words[place], heads[place]
        following, space = (NOTHING, "p") if ended[place] else (heads[place + 1], "s")
        if hi - lo == 1:
            rows.append((head, space, head, NOTHING, NOTHING, previous, following, NOTHING, opened[lo], marks[place]))
        else:
            kind, begin, stop = _address(word) if hi - lo > 2 else (NOTHING, 0, 0)
            origin, close = start[lo], end[hi - 1]
            for k in range(lo, hi):
                at, over = start[k], end[k]
                before, after = text[max(origin, at - LONG) : at], text[over : min(close, over + LONG)]
                around = (head, before or NOTHING, after or NOTHING, previous, following)
                part = _part(kind, begin, over - origin, stop)
                gap = "-" if k + 1 < hi else space
                rows.append((text[at:over][:LONG], gap, *around, part, opened[k], marks[place]))
        previous = NOTHING if ended[place] else tails[place]
        if ended[place]:
            found.append(rows)
            rows = []
    return found if names == COLUMNS else [[row[:width] for row in own] for own in found]
