"""`PYTHONPATH=tests python -m torture [PART …] [--trials N] [--seed S]`: a line for each part, status 1: one failed."""

import argparse
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

PARTS = ("mistakes", "faults", "inputs", "models", "kills")
"""Modules of this folder; what takes longest comes last."""


def main() -> int:
    """Run all parts, or some."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--trials", type=int, help="as many of each part, not the full number")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if strange := set(given.parts) - set(PARTS):
        parser.error(f"unknown part {min(strange)!r}; expected some of: {', '.join(PARTS)}")
    failed = 0
    for name in given.parts or PARTS:
        part, begin = import_module(f"torture.{name}"), time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"torture-{name}-") as folder:
            found = part.run(given.trials or part.FULL, given.seed, Path(folder))
        listed = [*sorted(found.counts.items()), *sorted(found.compared.items())]
        counts = ", ".join(f"{count} {outcome}" for outcome, count in listed)
        print(f"{name}: {found.trials} tried: {counts}; {time.monotonic() - begin:.0f} s", flush=True)
        for failure in found.failures:
            print(f"  {failure}")
        failed += len(found.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
