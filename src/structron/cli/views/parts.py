"""The parts of a pipeline in the terminal, and the history of a training as a picture."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from structron.cli.places import check_picture_place, check_places
from structron.errors import StructronError
from structron.io import check_writable, open_output
from structron.show.charts import history_panels, history_svg
from structron.tasks.registry import path_of
from structron.text.numbers import to_json


def print_parts(pipeline: Any, top: int, as_json: bool) -> None:
    """The parts of a pipeline, each with what it reads and writes and its heaviest features."""
    parts = {}
    for name in pipeline.names_:
        estimator, own = pipeline.part(name), pipeline.parts_[name]
        listed = {} if "inspect" in estimator.lacks else asdict(estimator.inspect(top=top))
        about = {"task": estimator.task, "reads": list(own.reads), "writes": list(own.writes)}
        parts[name] = about | {"signature": estimator.signature_} | listed
    if as_json:
        print(to_json({"task": "pipeline", "signature": pipeline.signature_, "parts": parts}))
        return
    lines = [pipeline.signature_]
    for name, found in parts.items():
        way = f"{', '.join(found['reads']) or 'text'} → {', '.join(found['writes']) or 'tokens'}"
        lines += ["", f"{name}: {found['task']}, {way}", f"  {found['signature']}"]
        weights = [w for own in found.get("labels", {}).values() for w in own]
        for w in sorted((w for w in weights if w["feature"]), key=lambda w: -abs(w["weight"]))[:top]:
            lines.append(f"{w['weight']:12.4f}  {w['feature']} → {w['label']}")
    print("\n".join([*lines, "", "for a single part: --part NAME"]))


def draw_history(estimator: Any, model: Path, plot: Path) -> None:
    """Write the curves of a training."""
    check_places({"MODEL": path_of(str(model))}, {"--plot": plot})
    if plot.suffix.lower() != ".svg":
        raise StructronError(f"--plot: {plot}; expected a file that ends in .svg")
    if not history_panels(estimator.history_):
        raise StructronError(f"{model}: no training history (compact models do not store it)")
    check_picture_place("--plot", plot)
    check_writable(plot)
    with open_output(plot) as out:
        out.write(history_svg(estimator.history_))
