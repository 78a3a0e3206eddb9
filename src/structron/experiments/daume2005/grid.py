"""Daumé & Marcu (2005), Table 3: beams that differ in training and testing."""

from collections.abc import Sequence

from structron.experiments.daume2005.tasks import LASO_A, PAPER, Found
from structron.experiments.frame import Report, Rows, Table, draw_grid, say


def cross(found: Found, beams: Sequence[int], test: Rows, report: Report) -> None:
    """Chunk F on test data of every ALMA model with every beam: grid[i][j] is trained with beams[i]."""
    whole = len(beams) == len(PAPER["grid"]["figures"])
    papers = [f"paper's {beam}" for beam in beams] if whole else []
    table = Table.of(PAPER["grid"])
    table.columns = ("trained with", *(f"b {beam}" for beam in beams), *papers)
    grid: list[list[float]] = []
    for beam in beams:
        model = found[LASO_A, beam].model
        grid.append([model.set_params(beam=other).evaluate(test).f1 for other in beams])
        say(f"joint: trained with beam {beam}: {', '.join(f'{score:.2f}' for score in grid[-1])}")
        table.add(str(beam), *grid[-1], paper=None if whole else ())
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
