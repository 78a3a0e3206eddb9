"""Daumé & Marcu (2005), Table 3: beams that differ in training and testing."""

from collections.abc import Sequence

from structron.experiments.daume2005.tasks import LASO_A, Found
from structron.experiments.frame import Report, Rows, Table, draw_grid, say

PAPER = (
    (93.9, 92.8, 91.9, 91.3, 90.9),
    (90.5, 94.3, 94.4, 94.1, 94.1),
    (89.6, 94.3, 94.4, 94.2, 94.2),
    (88.7, 94.2, 94.5, 94.3, 94.3),
    (88.4, 94.2, 94.4, 94.2, 94.4),
)
"""Rows are training beams 1, 5, 10, 25, 50, columns decoding beams."""
NOTE = "The paper's caption and text disagree on which side is training; here the figures stand as in the caption."


def cross(found: Found, beams: Sequence[int], test: Rows, report: Report) -> None:
    """Chunk F on test data of every ALMA model with every beam: grid[i][j] is trained with beams[i]."""
    whole = len(beams) == len(PAPER)
    columns = ("trained with", *(f"b {beam}" for beam in beams))
    columns += tuple(f"paper's {beam}" for beam in beams) if whole else ()
    title = "Chunk F by training beam (rows) and testing beam (columns), LaSO-A (Table 3)"
    table = Table(title, columns, notes=[NOTE])
    grid: list[list[float]] = []
    for place, beam in enumerate(beams):
        model = found[LASO_A, beam].model
        grid.append([])
        for other in beams:
            model.beam = other
            grid[-1].append(model.evaluate(test).f1)
        say(f"joint: trained with beam {beam}: {', '.join(f'{score:.2f}' for score in grid[-1])}")
        table.add(str(beam), *grid[-1], paper=PAPER[place] if whole else ())
    report.content["grid"] = grid
    report.show(table)
    title = "Chunk F by beam, LaSO with ALMA (Table 3)"
    report.figure("table3.png", draw_grid, title, "testing beam", "training beam", beams, grid, "F1/% on test data")
    diagonal_target(beams, grid, report)


def diagonal_target(beams: Sequence[int], grid: Sequence[Sequence[float]], report: Report) -> None:
    wide = [place for place, beam in enumerate(beams) if beam >= 5]
    if 1 in beams and wide:
        one = beams.index(1)
        up = max(grid[one][place] for place in wide) - grid[one][one]
        down = max(grid[place][one] - grid[place][place] for place in wide)
        shown = f"trained with 1, tested wider {up:+.2f} at best; trained wider, tested with 1 {down:+.2f} at best"
        report.target("Table 3: a beam of 1 does not go with others, either way", shown, up < 0 and down < 0)
