"""Weights of features as HTML: a table for each label, positive weights on green and negative ones on red ground."""

from collections.abc import Mapping, Sequence

from structron.show.svg import safe

HUES = (0, 120)
"""Of weights below and above zero."""


def weights_to_html(groups: Mapping[str, Sequence[tuple[float, str]]]) -> str:
    """Tables beside each other. groups: weights with the names of their features, by title."""
    most = max((abs(weight) for rows in groups.values() for weight, _ in rows), default=1.0) or 1.0
    tables = "".join(_table(title, rows, most) for title, rows in groups.items())
    return f'<div style="display: flex; flex-wrap: wrap; gap: 1em; align-items: flex-start">{tables}</div>'


def _table(title: str, rows: Sequence[tuple[float, str]], most: float) -> str:
    lines = "".join(_row(weight, name, most) for weight, name in rows)
    head = '<tr><th style="text-align: right">weight</th><th style="text-align: left">feature</th></tr>'
    return (
        f'<table style="border-collapse: collapse"><caption style="font-weight: bold">{safe(title)}</caption>'
        f"{head}{lines}</table>"
    )


def _row(weight: float, name: str, most: float) -> str:
    ground = f"hsla({HUES[weight > 0]}, 80%, 50%, {0.4 * abs(weight) / most:.2f})"
    return (
        f'<tr style="background: {ground}"><td style="text-align: right">{weight:+.4f}</td>'
        f'<td style="text-align: left"><code>{safe(name)}</code></td></tr>'
    )
