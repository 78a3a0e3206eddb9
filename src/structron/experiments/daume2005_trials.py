"""Daumé & Marcu (2005): one trained model with its scores and times, and the rules that are compared."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from structron.experiments.common import Rows
from structron.experiments.runs import Run, learn, shown_beam

ALPHA = 0.9
PERCEPTRON, LASO_P, LASO_A, EARLY, STANDARD = "perceptron", "LaSO-P", "LaSO-A", "early", "standard"
UPDATES: dict[str, tuple[str, float | None]] = {
    PERCEPTRON: ("standard", None),
    LASO_P: ("laso", None),
    LASO_A: ("laso", ALPHA),
    EARLY: ("early", None),
    STANDARD: ("standard", None),
}
"""The rule and the step of every method; `perceptron` is that of exact search, `standard` the same rule with a beam."""


@dataclass(slots=True)
class Trial:
    """A method at a beam: its training, its scores on test data, and the seconds that testing took."""

    run: Run
    model: Any
    scores: Any
    test_seconds: float

    @property
    def name(self) -> str:
        return f"{self.run.method} {shown_beam(self.run.beam)}"

    @property
    def key(self) -> tuple[str, int | None]:
        return self.run.method, self.run.beam

    def as_dict(self) -> dict[str, Any]:
        return self.run.as_dict() | {"test_seconds": round(self.test_seconds, 2)}


def attempt(
    what: str, make: Callable[..., Any], method: str, beam: int | None, passes: tuple[int, int], data: tuple[Rows, ...]
) -> Trial:
    """Train with a method and a beam on data = (train, dev, test), and test the best pass. passes: perceptron, ALMA."""
    update, alma = UPDATES[method]
    model = make(update=update, alma=alma, beam=beam, passes=passes[alma is not None])
    run = learn(what, model, data[0], data[1], method)
    begin = time.perf_counter()
    guess = model.predict(data[2])
    seconds = time.perf_counter() - begin
    scores = model.evaluate(data[2], guess=guess)
    run.test = scores.f1
    return Trial(run, model, scores, seconds)


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
