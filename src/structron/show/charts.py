"""Figures drawn as SVG and HTML: curves over steps or passes, tables of confusions, a beam with its update rules.

Plain text, no scripts, nothing to load; in light and in dark (svg.STYLE). What is drawn comes as plain values, as
JSON holds them, so that a page and a file show the same.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from structron.show.svg import STYLE, picture, safe

WIDTH, HEIGHT, LEFT, TOP, BELOW = 640, 180, 56, 30, 34
"""Of a panel: all of it, and the room around the curves."""
COLOURS = ("var(--accent)", "#b8480a", "#2e7d32", "#7b3fa0")
HALO = "; stroke: var(--paper); stroke-width: 4px; paint-order: stroke"
CELL = 26
MOST_LABELS_DRAWN = 24
"""Labels that a picture of confusions has."""

Points = Sequence[tuple[float, float]]


def _text(x: float, y: float, text: object, anchor: str = "middle", size: int = 11, more: str = "") -> str:
    style = f"text-anchor: {anchor}; font-size: {size}px{more}"
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{style}">{safe(str(text))}</text>'


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers between two."""
    span = (high - low) or 1.0
    step = 10 ** math.floor(math.log10(span / count))
    step *= next(k for k in (1, 2, 5, 10) if span / (k * step) <= count)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def panel(
    title: str, curves: Mapping[str, Points], top: float = 0.0, marks: Mapping[str, float] | None = None
) -> list[str]:
    """Curves over whole numbers with their names, beginning at the height `top`; marks: names of places on the axis."""
    points = [p for curve in curves.values() for p in curve]
    xs, ys = [p[0] for p in points] or [0.0], [p[1] for p in points] or [0.0]
    x0, x1, y0, y1 = min(xs), max(max(xs), min(xs) + 1), min(ys), max(ys)
    y0, y1 = (y0 - 0.5, y1 + 0.5) if y1 - y0 < 1e-9 else (y0, y1)
    height = HEIGHT - TOP - BELOW

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = (x - x0) / (x1 - x0), (y - y0) / (y1 - y0)
        return LEFT + across * (WIDTH - LEFT - 16), top + TOP + (1 - up) * height

    parts = [_text(LEFT, top + 16, title, "start", 13, "; font-weight: 600")]
    floor = top + TOP + height
    for y in ticks(y0, y1):
        _, place = at(x0, y)
        parts.append(f'<path class="arc" style="opacity: .3" d="M{LEFT} {place:.1f}H{WIDTH - 16}"/>')
        parts.append(_text(LEFT - 6, place + 4, f"{y:g}", "end"))
    for x in ticks(x0, x1, 10):
        if x == int(x):
            parts.append(_text(at(x, y0)[0], floor + 15, f"{x:g}"))
    for k, (name, curve) in enumerate(curves.items()):
        colour, places = COLOURS[k % len(COLOURS)], [at(x, y) for x, y in curve]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        parts.append(f'<path d="{path}" style="fill: none; stroke: {colour}; stroke-width: 2px"/>' if places else "")
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" style="fill: {colour}"/>' for x, y in places]
        parts.append(_text(WIDTH - 16 - 130 * (len(curves) - 1 - k), top + 16, name, "end", 12, f"; fill: {colour}"))
    for k, (name, x) in enumerate((marks or {}).items()):
        place, y = at(x, y0)[0], floor + 32 + 15 * k
        parts.append(f'<path class="arc" style="stroke-dasharray: 3 3" d="M{place:.1f} {top + TOP:.1f}V{y - 4:.1f}"/>')
        right = place > WIDTH * 0.7
        parts.append(_text(place + (-5 if right else 5), y, name, "end" if right else "start", 12, HALO))
    return parts


def panels(drawn: Sequence[tuple[str, Mapping[str, Points], Mapping[str, float]]]) -> str:
    """Panels one below the other, as a picture."""
    parts, y = [], 8.0
    for title, curves, marks in drawn:
        parts += panel(title, curves, y, marks)
        y += HEIGHT + 15 * len(marks)
    return picture(parts, WIDTH, y)


# -- training ------------------------------------------------------------------------------------------------------


def history_panels(history: Sequence[Mapping[str, Any]], part: str = "") -> list[tuple[str, Any, Any]]:
    """What the passes of a training say, as far as the learner counts it; of a pipeline part by part."""
    found: list[tuple[str, Any, Any]] = []
    own = [record for record in history if "pass" in record]
    title = f"{part}: " if part else ""
    groups = {
        "score on dev data, per cent": {"dev": "dev score"},
        "updates": {"updates": "updates", "invalid": "invalid updates"},
        "where the correct prefix fell off, share of the steps": {"fell_at": "mean place"},
        "examples": {"fell_off": "gold fell off", "search_errors": "search errors"},
        "wrong words": {"wrong_tokens": "wrong words"},
    }
    for heading, names in groups.items():
        curves = {
            name: [(record["pass"], record[key]) for record in own if record.get(key) is not None]
            for key, name in names.items()
        }
        curves = {name: curve for name, curve in curves.items() if curve}
        if curves:
            found.append((title + heading, curves, {}))
    for record in history:
        if "passes" in record:
            found += history_panels(record["passes"], record["part"])
    return found


def history_svg(history: Sequence[Mapping[str, Any]]) -> str:
    """The history of a training as curves."""
    return panels(history_panels(history))


# -- confusions ----------------------------------------------------------------------------------------------------


def confusion_svg(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """Which labels (rows) are taken for which (columns): darker is more often, as a share of the row's mistakes."""
    side = 9 + 7 * max((len(label) for label in labels), default=1)
    parts = [_text(side + CELL * len(labels) / 2, 16, "found", size=12), _text(4, side + 4, "gold", "start", 12)]
    for k, label in enumerate(labels):
        x, y = side + CELL * (k + 0.5), side + 12 + CELL * (k + 0.5)
        turn = f' transform="rotate(-90 {x:.1f} {side + 4:.1f})"'
        parts.append(_text(x, side + 8, label, "start").replace("<text", f"<text{turn}"))
        parts.append(_text(side - 6, y + 4, label, "end"))
    for i, row in enumerate(counts):
        most = max([value for j, value in enumerate(row) if j != i], default=0)
        for j, value in enumerate(row):
            x, y = side + CELL * j, side + 12 + CELL * i
            share = value / most if most and i != j else 0.0
            fill = "hsl(140 40% var(--tint))" if i == j else f"rgb(200 60 20 / {share:.2f})"
            hint = f"<title>{safe(labels[i])} taken for {safe(labels[j])}: {value}</title>"
            box = f'x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}"'
            parts.append(f'<g><rect {box} style="fill: {fill}; stroke: var(--line); stroke-width: .3"/>{hint}')
            parts.append((_text(x + CELL / 2, y + CELL / 2 + 4, value, size=9) if value else "") + "</g>")
    size = side + CELL * len(labels) + 16
    return picture(parts, size, size + 12)


# -- a beam --------------------------------------------------------------------------------------------------------


def beam_panels(trace: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The scores of the best state and of the correct prefix over the steps, how far that is behind, and the rules."""
    steps = trace["steps"]
    curves = {"best": [(step["step"], step["best"]) for step in steps]}
    if steps[-1]["gold"] is None:
        return [("score", curves, {})]
    curves["gold"] = [(step["step"], step["gold"]) for step in steps]
    behind = {"gold − best": [(step["step"], step["gold"] - step["best"]) for step in steps]}
    marks: dict[str, float] = {}
    by_step: dict[int, list[str]] = {}
    for name, rule in trace["rules"].items():
        if rule["step"] is not None:
            by_step.setdefault(rule["step"], []).append(name if rule["violation"] else f"{name} (no violation!)")
    for step in sorted(by_step):
        marks[f"{', '.join(by_step[step])}: step {step}"] = step
    lost = trace["fell_off"]
    what = "is merged" if lost and trace["steps"][lost].get("merged_rank") else "falls off"
    fall = {f"gold {what}: step {lost}": lost} if lost else {}
    return [("score", curves, fall), ("how far gold is ahead", behind, marks)]


def beam_svg(trace: Mapping[str, Any]) -> str:
    """The curves of a beam, and on them the step that each rule chooses."""
    return panels(beam_panels(trace))


def shown(state: Mapping[str, Any]) -> str:
    """A state in a line: its labels, or its stack and the next words of the buffer."""
    if "labels" in state:
        return " ".join(state["labels"])
    ahead = " ".join(state["buffer"][:3]) + (" …" if len(state["buffer"]) > 3 else "")
    return f"{' '.join(state['stack'])} | {ahead}"


BEAM_STYLE = """<style>
.structron.beam details { margin: .2em 0; } .structron.beam summary { cursor: pointer; }
.structron.beam table { border-collapse: collapse; margin: .3em 0 .8em; font-size: 14px; }
.structron.beam td, .structron.beam th { padding: .15em .7em; text-align: left; border-bottom: 1px solid var(--line); }
.structron.beam td.number { text-align: right; font-variant-numeric: tabular-nums; }
.structron.beam tr.gold td { background: hsl(45 90% var(--tint)); } .structron.beam tr.beside td { opacity: .7; }
.structron.beam .fell { color: #b8480a; font-weight: 600; }
</style>"""


def beam_html(trace: Mapping[str, Any]) -> str:
    """A trace as one piece of HTML: curves, the choice of every rule, and the beams, a fold for each step."""
    beam = "inf" if trace["beam"] is None else trace["beam"]
    head = f"<p><strong>{safe(' '.join(trace['sentence']))}</strong> · {safe(trace['task'])}, beam {beam}</p>"
    parts = ['<div class="structron beam">', STYLE, BEAM_STYLE, head, beam_svg(trace)]
    parts += [_rule_html(name, rule) for name, rule in trace["rules"].items()]
    parts += [_step_html(step, trace) for step in trace["steps"][1:]]
    return "\n".join([*parts, "</div>"])


def _rule_html(name: str, rule: Mapping[str, Any]) -> str:
    if rule["step"] is None:
        return f"<details><summary>{safe(name)}: no update</summary></details>"
    kind = "a violation" if rule["violation"] else '<span class="fell">no violation</span>'
    more = f", {len(rule['updates'])} updates" if len(rule["updates"]) > 1 else ""
    rows = "".join(
        f'<tr><td class="number">{f["change"]:+.4g}</td><td>{safe(f["action"])}</td><td>{safe(f["name"])}</td>'
        f'<td class="number">{f["weight"]:.4g}</td></tr>'
        for f in rule["features"]
    )
    table = f"<table><tr><th>change</th><th>of</th><th>feature</th><th>weight</th></tr>{rows}</table>"
    text = f"{safe(name)}: step {rule['step']}, w·ΔΦ = {rule['difference']:.4g}, {kind}{more}"
    return f"<details><summary>{text}</summary>{table}</details>"


def _step_html(step: Mapping[str, Any], trace: Mapping[str, Any]) -> str:
    fell = trace["fell_off"] == step["step"]
    states = [(str(rank), state, "gold" if state["gold"] else "") for rank, state in enumerate(step["states"], 1)]
    if step["gold"] is not None and step["gold_rank"] is None:
        states.append(("–", step["gold_state"], "gold beside"))
    rows = "".join(
        f'<tr class="{kind}"><td class="number">{rank}</td><td class="number">{state["score"]:.4f}</td>'
        f"<td>{safe(state['action'])}</td><td>{safe(shown(state))}</td></tr>"
        for rank, state, kind in states
    )
    note = ' <span class="fell">gold falls off</span>' if fell else ""
    if step.get("merged_rank"):
        note = f' <span class="fell">gold is merged with number {step["merged_rank"]}</span>'
    table = f"<table><tr><th></th><th>score</th><th>action</th><th>state</th></tr>{rows}</table>"
    return f"<details{' open' if fell else ''}><summary>step {step['step']}{note}</summary>{table}</details>"


# -- a model -------------------------------------------------------------------------------------------------------


def model_html(signature: str, listed: Mapping[str, Sequence[tuple[str, float]]], history: Sequence[Any]) -> str:
    """A model in a notebook: its signature, its heaviest features, how training went."""
    parts = ['<div class="structron beam">', STYLE, BEAM_STYLE, f"<p><code>{safe(signature)}</code></p>"]
    for name, features in listed.items():
        rows = "".join(
            f'<tr><td class="number">{weight:.4f}</td><td>{safe(feature)}</td></tr>' for feature, weight in features
        )
        parts.append(f"<details><summary>{safe(name)}</summary><table>{rows}</table></details>")
    drawn = history_panels(history)
    return "\n".join([*parts, panels(drawn) if drawn else "", "</div>"])
