"""Daumé & Marcu (2005): Table 3 as a heat map."""

from collections.abc import Sequence
from pathlib import Path

from structron.experiments.common import need


def draw_grid(path: Path, beams: Sequence[int], grid: Sequence[Sequence[float]]) -> None:
    """F by training and testing beam into a PNG file, the figure in every field."""
    need("matplotlib", "plot")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(grid, cmap="Blues", aspect="equal")
    lowest, highest = min(map(min, grid)), max(map(max, grid))
    for row, scores in enumerate(grid):
        for column, score in enumerate(scores):
            light = score > (lowest + highest) / 2
            axes.text(column, row, f"{score:.2f}", ha="center", va="center", color="white" if light else "black")
    axes.set(title="Chunk F by beam, LaSO with ALMA (Table 3)", xlabel="testing beam", ylabel="training beam")
    axes.set_xticks(range(len(beams)), [str(beam) for beam in beams])
    axes.set_yticks(range(len(beams)), [str(beam) for beam in beams])
    figure.colorbar(image, ax=axes, label="F1/% on test data")
    figure.savefig(path)
