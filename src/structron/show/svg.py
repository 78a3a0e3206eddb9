"""Analysed sentences drawn as HTML or SVG: words with their tags, trees as arcs, multiword tokens and entities marked.

Everything is text and inline SVG: no scripts, nothing to load. Widths are estimated, since nothing here can measure a
font, and rather too wide than too narrow.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from zlib import crc32

from structron.text.analysis import Sentence, Word

WORD, SMALL = 16, 11  # sizes of fonts, as in STYLE
MARGIN, GAP, LINE = 12, 16, 16  # around a sentence, between words, from a row of small text to the next
LEVEL, RISE, CORNER, SPREAD = 22, 22, 7, 5  # from arc to arc, from words to the lowest; between arcs that leave a word
HUES = {"PER": 210, "PERSON": 210, "LOC": 140, "GPE": 140, "ORG": 25, "MISC": 280}
"""The colours of usual labels; all others get one from their name."""

_NOT_IN_HTML = re.compile("[\\x00-\\x08\\x0b\\x0e-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\ufffe\\uffff]")

STYLE = """<style>
.structron { --ink: #1b1f24; --soft: #5c6670; --line: #8a949e; --paper: #ffffff; --accent: #0b62c4; --tint: 88%;
  color: var(--ink); background: var(--paper); font: 16px/1.4 system-ui, -apple-system, "Segoe UI", "Noto Sans",
  sans-serif; }
@media (prefers-color-scheme: dark) { .structron { --ink: #e8eaed; --soft: #a9b1ba; --line: #78828c; --paper: #16191d;
  --accent: #7db7ff; --tint: 26%; } }
.structron figure { margin: 0 0 1.6em; }
.structron figure.paragraph:not(:first-of-type) { border-top: 1px solid var(--line); padding-top: 1em; }
.structron figcaption { color: var(--soft); font-size: 14px; margin: 0 12px .2em; overflow-wrap: anywhere; }
.structron .scroll { overflow-x: auto; }
.structron svg { display: block; }
.structron text { fill: var(--ink); text-anchor: middle; font-size: 16px; unicode-bidi: plaintext; }
.structron .tag, .structron .relation, .structron .token, .structron .label { font-size: 11px; fill: var(--soft); }
.structron .tag { fill: var(--accent); }
.structron .relation { stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; paint-order: stroke; }
.structron .arc, .structron .bracket { fill: none; stroke: var(--line); stroke-width: 1.3px; }
.structron .tip { fill: var(--line); }
.structron .entity { fill: hsl(var(--hue) 70% var(--tint)); }
.structron .label { fill: var(--ink); font-weight: 600; }
</style>"""


def to_html(doc: Iterable[Sentence]) -> str:
    """The sentences, or a Doc, as one piece of HTML that needs nothing else."""
    figures = [_figure(sentence) for sentence in doc if sentence.tokens]
    return "\n".join(['<div class="structron">', STYLE, *figures, "</div>"])


def to_svg(doc: Iterable[Sentence]) -> str:
    """The sentences, or a Doc, as one SVG picture, one below the other; it needs nothing else."""
    parts, width, y = [], 0, 0
    for sentence in doc:
        if not sentence.tokens:
            continue
        drawn = _svg(sentence)
        size = re.search(r'width="(\d+)" height="(\d+)"', drawn)
        assert size is not None
        parts.append(drawn.replace("<svg ", f'<svg y="{y}" ', 1))
        width, y = max(width, int(size[1])), y + int(size[2])
    return picture(parts, width, y)


def picture(parts: Iterable[str], width: float, height: float) -> str:
    """A whole SVG file of pieces that take their looks from STYLE, in light and in dark."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    ground = '<rect width="100%" height="100%" style="fill: var(--paper)"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="structron" {size}>'
    return "\n".join([head, STYLE, ground, *parts, "</svg>"]) + "\n"


def page(doc: Iterable[Sentence], title: str = "structron") -> str:
    """The sentences, or a Doc, as a whole HTML document."""
    return (
        '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{safe(title)}</title>\n"
        "<style>body { margin: 0; } body > .structron { min-height: 100vh; padding: 1.5em; box-sizing: border-box; }"
        f"</style>\n</head>\n<body>\n{to_html(doc)}\n</body>\n</html>\n"
    )


def safe(text: str) -> str:
    """A text as HTML; characters that HTML cannot hold become U+FFFD."""
    return escape(_NOT_IN_HTML.sub("\ufffd", text))


def _figure(sentence: Sentence) -> str:
    kind = ' class="paragraph"' if sentence.begins else ""
    direction = ' dir="rtl"' if _runs_left(sentence.text) else ""
    return (
        f'<figure{kind}><figcaption dir="auto">{safe(sentence.text)}</figcaption>\n'
        f'<div class="scroll"{direction}>{_svg(sentence)}</div></figure>'
    )


# -- places --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Arc:
    """From a head to a dependent (their places among the words), and how high it goes; a root is its own head."""

    head: int
    dependent: int
    relation: str
    level: int = 0
    offset: float = 0.0  # from the middle of the head to where the arc leaves it


@dataclass(slots=True)
class _Layout:
    """Where the words of a sentence stand: their middles and widths, and how wide everything is."""

    x: list[float]
    widths: list[float]
    total: float

    def span(self, first: int, last: int) -> tuple[float, float]:
        """From where to where the words first … last - 1 reach, whichever way they run."""
        ends = [self.x[k] + side * self.widths[k] / 2 for k in (first, last - 1) for side in (-1, 1)]
        return min(ends), max(ends)


def _arcs(words: list[Word]) -> list[_Arc]:
    """The arcs of a sentence, short ones low and none at the height of another above or below it."""
    arcs = []
    for k, word in enumerate(words):
        if word.head is not None and 0 <= word.head <= len(words) and word.head != word.id:
            arcs.append(_Arc(word.head - 1 if word.head else k, k, _shown(word.deprel)))
    arcs.sort(key=lambda arc: (arc.head == arc.dependent, abs(arc.head - arc.dependent), arc.dependent))
    tops = [0] * (len(words) + 1)  # how high it is taken between word k - 1 and word k
    for arc in arcs:
        left, right = sorted((arc.head, arc.dependent))
        if left == right:
            arc.level = 1 + max(tops[left], tops[left + 1])
        else:
            arc.level = 1 + max(tops[left + 1 : right + 1])
            tops[left + 1 : right + 1] = [arc.level] * (right - left)
    return arcs


def _layout(sentence: Sentence, words: list[Word], arcs: list[_Arc]) -> _Layout:
    """Words as near to each other as they, their tags, marks and relations allow."""
    widths = [max(_width(word.form, WORD), _width(_shown(word.upos), SMALL), SMALL) for word in words]
    for first, last, label in [*_multiwords(sentence), *_entities(sentence)]:
        lacking = _width(label, SMALL) + 8 - sum(widths[first:last]) - GAP * (last - first - 1)
        for k in range(first, last):
            widths[k] += max(lacking, 0) / (last - first)
    leaving: dict[tuple[int, bool], list[_Arc]] = {}
    for arc in sorted(arcs, key=lambda arc: -arc.level):
        if arc.head != arc.dependent:
            leaving.setdefault((arc.head, arc.dependent > arc.head), []).append(arc)
    for (head, rightwards), those in leaving.items():
        step = min(SPREAD, widths[head] / 2 / len(those))
        for rank, arc in enumerate(those, 1):
            arc.offset = rank * step * (1 if rightwards else -1)
    spans: dict[int, list[tuple[int, float]]] = {}
    for arc in arcs:
        left, right = sorted((arc.head, arc.dependent))
        spans.setdefault(right, []).append((left, _width(arc.relation, SMALL) + abs(arc.offset) + 2 * CORNER))
    x: list[float] = []
    for k, width in enumerate(widths):
        nearest = x[-1] + widths[k - 1] / 2 + GAP + width / 2 if x else MARGIN + width / 2
        x.append(max([nearest, *(x[left] + span for left, span in spans.get(k, ()) if left < k)]))
    total = x[-1] + widths[-1] / 2 + MARGIN
    if _runs_left(sentence.text):
        x = [total - place for place in x]
        for arc in arcs:
            arc.offset = -arc.offset
    return _Layout(x, widths, total)


def _multiwords(sentence: Sentence) -> Iterator[tuple[int, int, str]]:
    """The multiword tokens: first word, last (exclusive), form."""
    for token in sentence.tokens:
        if token.is_multiword:
            yield token.words[0].id - 1, token.words[-1].id, token.form


def _entities(sentence: Sentence) -> Iterator[tuple[int, int, str]]:
    for entity in sentence.entities:
        yield entity.first, entity.last, entity.label


def _shown(value: str) -> str:
    return "" if value == "_" else value


@lru_cache(maxsize=1 << 12)
def _width(text: str, size: int) -> float:
    """About how wide a text is, rather too much than too little."""
    return size * sum(map(_share, text))


def _share(character: str) -> float:
    """The width of a character as a share of the size of the font."""
    if unicodedata.combining(character):
        return 0.0
    if character in "ijlrtfI.,;:'!|()[] -":
        return 0.4
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.95 if character in "mwMW@%" else 0.72 if character.isupper() else 0.6


def _runs_left(text: str) -> bool:
    """Whether most letters are written from right to left."""
    kinds = Counter(unicodedata.bidirectional(character) for character in text)
    return kinds["R"] + kinds["AL"] > kinds["L"]


# -- drawing -------------------------------------------------------------------------------------------------------


def _svg(sentence: Sentence) -> str:
    """A sentence: from top to bottom its arcs, words, tags, multiword tokens and the labels of entities."""
    words = sentence.words
    arcs = _arcs(words)
    layout = _layout(sentence, words, arcs)
    multiwords, entities = list(_multiwords(sentence)), list(_entities(sentence))
    top = MARGIN + max((arc.level for arc in arcs), default=0) * LEVEL + (RISE if arcs else 0)
    baseline = top + WORD + 3
    below = baseline + LINE * any(word.upos != "_" for word in words)
    parts = []
    bottom = below + (LINE + 6) * bool(multiwords)
    for first, last, label in entities:
        low = bottom if any(lo < last and first < hi for lo, hi, _ in multiwords) else below
        parts.append(_entity(label, *layout.span(first, last), top, low + LINE))
    for arc in arcs:
        parts.append(_arc(arc, layout.x, top))
    for word, x in zip(words, layout.x, strict=True):
        about = " · ".join(value for value in (word.lemma, word.xpos, word.feats) if value != "_")
        tag = f'<text class="tag" x="{x:.1f}" y="{baseline + LINE:.1f}">{safe(_shown(word.upos))}</text>'
        title = f"<title>{safe(about)}</title>" if about else ""
        parts.append(f'<g>{title}<text x="{x:.1f}" y="{baseline:.1f}">{safe(word.form)}</text>{tag}</g>')
    for first, last, form in multiwords:
        parts.append(_bracket(form, *layout.span(first, last), below + 7))
    height = bottom + LINE * bool(entities) + MARGIN
    size = f'width="{layout.total:.0f}" height="{height:.0f}" viewBox="0 0 {layout.total:.0f} {height:.0f}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>', *parts, "</svg>"])


def _arc(arc: _Arc, x: list[float], top: float) -> str:
    """An arc with round corners, its relation above it, its tip at the dependent."""
    start, end, floor = x[arc.head] + arc.offset, x[arc.dependent], top - 2
    height = top - RISE - LEVEL * (arc.level - 1)
    corner = CORNER if end > start else -CORNER
    if arc.head == arc.dependent:
        path = f"M{end:.1f} {height:.1f}V{floor - 5:.1f}"
    else:
        path = (
            f"M{start:.1f} {floor:.1f}V{height + CORNER:.1f}q0 {-CORNER} {corner} {-CORNER}"
            f"H{end - corner:.1f}q{corner} 0 {corner} {CORNER}V{floor - 5:.1f}"
        )
    return (
        f'<path class="arc" d="{path}"/><path class="tip" d="M{end:.1f} {floor:.1f}l-3.5 -7h7z"/>'
        f'<text class="relation" x="{(start + end) / 2:.1f}" y="{height - 5:.1f}">{safe(arc.relation)}</text>'
    )


def _bracket(form: str, left: float, right: float, y: float) -> str:
    """A multiword token: a bracket below its words, and its form."""
    return (
        f'<path class="bracket" d="M{left:.1f} {y - 3:.1f}v4H{right:.1f}v-4"/>'
        f'<text class="token" x="{(left + right) / 2:.1f}" y="{y + 13:.1f}">{safe(form)}</text>'
    )


def _entity(label: str, left: float, right: float, top: float, bottom: float) -> str:
    """A coloured ground behind the words of an entity, its label at the bottom."""
    hue = HUES.get(label.upper(), crc32(label.encode("utf-8", "replace")) % 360)
    box = f'x="{left - 4:.1f}" y="{top:.1f}" width="{right - left + 8:.1f}" height="{bottom - top + 5:.1f}"'
    return (
        f'<rect class="entity" style="--hue: {hue}" {box} rx="5"/>'
        f'<text class="label" x="{(left + right) / 2:.1f}" y="{bottom:.1f}">{safe(label)}</text>'
    )
