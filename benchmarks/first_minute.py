"""What a newcomer waits for: a fresh clone, an empty cache of kernels, and the commands of the README.

    python -m benchmarks.first_minute                   installing, the demo, annotate, train chunker, train parser
    python -m benchmarks.first_minute --kernels         all kernels, with 1, 2, … processes
    python -m benchmarks.first_minute --tests           `make test`, cold and once more
    python -m benchmarks.first_minute --out FILE        what was measured, as JSON, too

The clone is that of the last commit; what is not committed is not measured. Every command starts with a cache of its
own. On a machine that does other things at the same time the figures mean nothing.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SENTENCE = "He flew to Paris."
TREE = "bundled model, from text to trees"
"""What the demo prints when the first tree is there."""
TOY = """
import sys
from pathlib import Path
from structron.data.toy_english import toy_english, write_conll, write_conllu
corpus = toy_english(120)
write_conll(Path(sys.argv[1]), corpus)
write_conllu(Path(sys.argv[2]), corpus)
"""


@dataclass
class Taken:
    """Seconds of a command by the clock, and of processor time, its processes' included."""

    what: str
    clock: float
    processor: float
    first: float | None = None  # until what was waited for was printed
    begun: float | None = None  # until the first line about compiling
    left: float | None = None  # what its first line said would be left of compiling
    compiled: float | None = None  # after that line, until the first one of another kind


class Clone:
    """A fresh clone with an environment of its own."""

    def __init__(self, folder: Path):
        self.folder, self.caches = folder / "clone", folder / "caches"
        self.caches.mkdir()
        subprocess.run(["git", "clone", "--quiet", "--no-local", str(ROOT), str(self.folder)], check=True)
        shared = ROOT.parent / "shared"
        if shared.is_dir():
            (folder / "shared").symlink_to(shared)
        self.python = self.folder / ".venv" / "bin" / "python"

    def run(self, what: str, *command: object, cache: str = "", until: str = "", **environment: str) -> Taken:
        """Run a command in the clone with an empty cache, or with that of an earlier command."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "STRUCTRON_", "PYTHON", "MAKE"))}
        kernels = self.caches / (cache or what.replace(" ", "-"))
        before, begin = _processor(), time.perf_counter()
        process = subprocess.Popen(
            [str(own) for own in command],
            cwd=self.folder,
            env=kept | {"STRUCTRON_CACHE": str(kernels)} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        found, lines, told = Taken(what, 0.0, 0.0), [], None
        for line in process.stdout or ():
            now = time.perf_counter() - begin
            lines.append(line)
            if until and found.first is None and until in line:
                found.first = round(now, 1)
            if match := re.search(r"compiling on .* about (\d+) s left", line):
                told = now if told is None else told
                found.begun = round(told, 1)
                found.left = float(match[1]) if found.left is None else found.left
                found.compiled = None  # not yet done
            elif told is not None and found.compiled is None:
                found.compiled = round(now - told, 1)
        status = process.wait()
        found.clock, found.processor = round(time.perf_counter() - begin, 1), round(_processor() - before, 1)
        if status:
            raise SystemExit(f"{what}: status {status}\n{''.join(lines[-40:])}")
        print(_line(found, lines[-1].strip() if lines else ""), flush=True)
        return found


def _processor() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _line(found: Taken, last: str) -> str:
    text = f"{found.what:32} {found.clock:7.1f} s by the clock {found.processor:7.1f} s of processor time"
    text += "" if found.first is None else f", first tree after {found.first} s"
    text += (
        ""
        if found.left is None
        else f", after {found.begun} s {found.left:.0f} s were said to be left, it took {found.compiled} s"
    )
    return text + (f"   [{last}]" if " passed" in last else "")


def newcomer(clone: Clone, folder: Path) -> list[Taken]:
    """Installing, and the first commands."""
    found = [clone.run("install", "make", ".venv/.core", f"PYTHON={sys.executable}")]
    found.append(clone.run("make demo", "make", "demo", until=TREE))
    structron = [clone.python, "-m", "structron"]
    found.append(clone.run("annotate", *structron, "annotate", "--text", SENTENCE))
    found.append(clone.run("annotate again", *structron, "annotate", "--text", SENTENCE, cache="annotate"))
    columns, trees = (folder / name for name in ("toy.conll", "toy.conllu"))
    subprocess.run([clone.python, "-c", TOY, columns, trees], check=True)
    for task, data in (("chunker", columns), ("parser", trees)):
        given = ["--train", data, "--dev", data, "--model", folder / f"{task}.structron", "--passes", "2"]
        command = [*structron, "train", task, *given]
        found.append(clone.run(f"train {task}", *command))
        found.append(clone.run(f"train {task} again", *command, cache=f"train-{task}"))
    return found


def kernels(clone: Clone) -> list[Taken]:
    """All kernels with 1, 2, … processes."""
    counts = [1]
    while counts[-1] * 2 <= (os.cpu_count() or 1):
        counts.append(counts[-1] * 2)
    structron = [clone.python, "-m", "structron"]
    return [clone.run(f"precompile --jobs {n}", *structron, "precompile", "--jobs", n) for n in counts]


def tests(clone: Clone) -> list[Taken]:
    """The suite, cold and warm, with all that it needs installed before."""
    found = [clone.run("install for tests", "make", ".venv/.dev", f"PYTHON={sys.executable}")]
    return found + [clone.run(what, "make", "test", cache="tests") for what in ("make test, cold", "make test, warm")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="structron-first-") as name:
        clone = Clone(Path(name))
        found = newcomer(clone, Path(name)) if not (given.kernels or given.tests) else []
        if given.kernels:
            found += [clone.run("install", "make", ".venv/.core", f"PYTHON={sys.executable}"), *kernels(clone)]
        if given.tests:
            found += tests(clone)
    if given.out is not None:
        given.out.write_text(json.dumps([asdict(own) for own in found], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
