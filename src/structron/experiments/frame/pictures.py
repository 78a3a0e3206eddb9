"""A picture of a paper: its figures on the left, ours on the right, a row for each method; or curves. As SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from structron.experiments.frame.verdict import Bounds
from structron.show.charts import Points, panels, ticks
from structron.show.svg import picture, safe

NAMES, PANEL, GAP, ROW, TOP, BELOW = 220, 210, 30, 22, 58, 40
"""Widths of the names and of a panel, the room between panels, the height of a row, and the room above and below."""
ROOM = 0.08
"""Of a panel's width, on both sides of its points."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method: the paper's figure, ours, and the ends of our interval; None: there is none."""

    name: str
    paper: float | None
    ours: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves in panels, one below the other: of each panel the title, its curves, and lines that are marked in it."""

    title: str
    rows: list[tuple[str, Mapping[str, Points], Mapping[str, float]]]

    def svg(self) -> str:
        return panels(self.rows)


@dataclass(frozen=True, slots=True)
class Picture:
    """Rows of points; a row of a name alone begins a group.   unit: what the axes show.   same: one scale for both
    panels; else each has its own, as levels on different data do."""

    title: str
    unit: str
    rows: list[Method] = field(default_factory=list)
    same: bool = False

    def add(self, name: str, paper: float | None = None, ours: float | None = None, ends: Bounds | None = None) -> None:
        low, high = ends or (None, None)
        self.rows.append(Method(name, paper, ours, low, high))

    def svg(self) -> str:
        theirs = [row.paper for row in self.rows if row.paper is not None]
        ours = [x for row in self.rows for x in (row.ours, row.low, row.high) if x is not None]
        scales = [_scale(theirs + ours)] * 2 if self.same else [_scale(theirs), _scale(ours)]
        height = TOP + ROW * len(self.rows)
        parts = [_text(12, 22, self.title, "start", 14, "; font-weight: 600")]
        for k, (name, scale) in enumerate(zip(("paper", "here, with 95 % interval"), scales, strict=True)):
            parts += _axis(_left(k), height, f"{name}, {self.unit}" if k == 0 else name, scale)
        for number, row in enumerate(self.rows):
            y, group = TOP + ROW * (number + 0.5), row.paper is None and row.ours is None
            parts.append(_text(12, y + 4, row.name, "start", 12, "; font-weight: 600" if group else ""))
            if row.low is not None and row.high is not None:
                a, b = (_at(1, scales[1], x) for x in (row.low, row.high))
                parts.append(f'<path class="arc" style="stroke: var(--accent)" d="M{a:.1f} {y:.1f}H{b:.1f}"/>')
            for k, x in enumerate((row.paper, row.ours)):
                if x is not None:
                    colour = "var(--accent)" if k else "var(--soft)"
                    place = _at(k, scales[k], x)
                    parts.append(f'<circle cx="{place:.1f}" cy="{y:.1f}" r="4.5" style="fill: {colour}"/>')
        return picture(parts, NAMES + 2 * PANEL + GAP + 20, height + BELOW)


def _left(panel: int) -> float:
    return NAMES + panel * (PANEL + GAP)


def _scale(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low or 1.0) * ROOM
    return low - room, high + room


def _at(panel: int, scale: tuple[float, float], x: float) -> float:
    return _left(panel) + PANEL * (x - scale[0]) / (scale[1] - scale[0])


def _text(x: float, y: float, text: str, anchor: str = "middle", size: int = 11, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" style="text-anchor: {anchor}; font-size: {size}px{more}">{safe(text)}</text>'


def _axis(left: float, bottom: float, title: str, scale: tuple[float, float]) -> list[str]:
    """A panel's name, round numbers, and a line at 0 if that is within."""
    low, high = scale
    parts = [_text(left + PANEL / 2, TOP - 12, title, size=12)]
    parts.append(f'<path class="arc" d="M{left:.1f} {bottom:.1f}h{PANEL}"/>')
    for x in ticks(low, high):
        place = left + PANEL * (x - low) / (high - low)
        parts.append(f'<path class="arc" style="opacity: .3" d="M{place:.1f} {TOP:.1f}V{bottom:.1f}"/>')
        parts.append(_text(place, bottom + 16, f"{x:g}"))
    if low < 0 < high:
        place = left + PANEL * -low / (high - low)
        parts.append(f'<path class="arc" d="M{place:.1f} {TOP:.1f}V{bottom:.1f}"/>')
    return parts
