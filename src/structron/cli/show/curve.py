"""How learning went, drawn in the terminal: the errors on the training data, and the scores on dev data."""

import sys
from collections.abc import Sequence
from typing import Any

BLOCKS = " ▁▂▃▄▅▆▇█"
PLAIN = " ...::::#"
ROWS = 5
LEAST_PASSES = 3
"""Passes that make a curve."""
MAX_WIDTH = 36
"""Columns of a curve; longer trainings are drawn from every n-th pass."""


def draw(values: Sequence[float], title: str, marks: str = BLOCKS) -> list[str]:
    """Columns as high as the values, between the lowest and the highest, with these at the side."""
    low, high = min(values), max(values)
    step = max(1, -(-len(values) // MAX_WIDTH))
    shown = values[step - 1 :: step]
    wide = 2 if len(shown) <= MAX_WIDTH // 2 else 1
    full, levels = len(marks) - 1, ROWS * (len(marks) - 1)
    heights = [1 + round((value - low) / (high - low or 1) * (levels - 1)) for value in shown]
    side = {0: f"{high:.2f}", ROWS - 1: f"{low:.2f}"}
    margin = max(map(len, side.values()))
    lines = [f"{'':{margin}}  {title}"]
    for row in range(ROWS):
        below = (ROWS - 1 - row) * full
        cells = "".join(marks[min(max(height - below, 0), full)] * wide for height in heights)
        lines.append(f"{side.get(row, ''):>{margin}}  {cells}")
    first, last = "1", str(len(values))
    lines.append(f"{'':{margin}}  {first}{last:>{max(len(shown) * wide - 1, len(last) + 1)}}")
    return lines


def learning_curve(history: Sequence[dict[str, Any]], metric: str, marks: str = BLOCKS) -> str:
    """The curves of a training side by side; "": too few passes."""
    if len(history) < LEAST_PASSES:
        return ""
    curves = []
    if all("wrong_tokens" in record for record in history):
        wrong = [100 * record["wrong_tokens"] / max(record["tokens"], 1) for record in history]
        curves.append(draw(wrong, "wrong in training, %", marks))
    else:
        curves.append(draw([float(record["updates"]) for record in history], "updates", marks))
    if all("dev" in record for record in history):
        curves.append(draw([record["dev"] for record in history], f"dev {metric}", marks))
    widths = [max(map(len, curve)) for curve in curves]
    lines = (
        "     ".join(f"{line:{width}}" for line, width in zip(row, widths, strict=True))
        for row in zip(*curves, strict=True)
    )
    return "\n".join(line.rstrip() for line in lines)


def show(history: Sequence[dict[str, Any]], metric: str) -> None:
    """Draw the curves on a terminal, in marks that it can show."""
    stream = sys.stderr
    if not stream.isatty():
        return
    unicode = (stream.encoding or "").lower().replace("-", "") in ("utf8", "utf16", "utf32")
    if text := learning_curve(history, metric, BLOCKS if unicode else PLAIN):
        print(text, file=stream, flush=True)
