"""What the checks in a user's functions cost: `python -m benchmarks.checks [--repeat 5] [--out FILE]`.

The three example problems are learned as they are, and with `SearchProblem(…, unchecked=True)`, in turn; the seconds
are those of the processor in the passes, the least of all repetitions, without compiling.
"""

import argparse
import contextlib
import io
import json
import runpy
from functools import partial
from pathlib import Path
from typing import Any

import structron
from structron.search.beam.problem import SearchProblem
from structron.tasks.own.beam import ProblemEstimator

EXAMPLES = Path(__file__).parents[1] / "examples"
SIZES = {"noisy_brackets": 800, "segment_and_tag": 1200, "route_finding": 20}
"""Examples to learn from."""


def learned(example: str, unchecked: bool) -> float:
    """Seconds that all passes of an example took."""
    seconds, fit = 0.0, ProblemEstimator.fit

    def timed(self: Any, *given: Any, **more: Any) -> Any:
        nonlocal seconds
        found = fit(self, *given, **more)
        seconds += sum(record["cpu_seconds"] for record in found.history_)
        return found

    kept, ProblemEstimator.fit = structron.SearchProblem, timed  # type: ignore[method-assign]
    structron.SearchProblem = partial(SearchProblem, unchecked=unchecked)  # type: ignore[misc,assignment]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(EXAMPLES / f"{example}.py"))["main"](size=SIZES[example])
    finally:
        structron.SearchProblem = kept  # type: ignore[misc]
        ProblemEstimator.fit = fit  # type: ignore[method-assign]
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a JSON file for the results")
    given = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for example in SIZES:
        times: dict[bool, list[float]] = {True: [], False: []}
        for number in range(-1, given.repeat):  # the first compiles
            for unchecked in (True, False):
                seconds = learned(example, unchecked)
                times[unchecked] += [seconds] if number >= 0 else []
        bare, checked = min(times[True]), min(times[False])
        found[example] = {"unchecked": round(bare, 3), "checked": round(checked, 3), "ratio": round(checked / bare, 3)}
        print(
            f"{example:16} unchecked {bare:7.3f} s, checked {checked:7.3f} s, {100 * (checked / bare - 1):+.1f} %",
            flush=True,
        )
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
