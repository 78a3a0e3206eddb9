"""Mutated inputs through train, predict and evaluate, of all tasks: a result, or one line and status 2; never a
traceback, a crash, more than 5 seconds of processor time or 1 GB.

Files of columns, CoNLL-U and plain text lose, gain or repeat bytes, lines and columns, get other line ends, encodings
and control characters, or are compressed, also so that they unpack to gigabytes.
"""

import contextlib
import gzip
import io
import json
import resource
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from structron.cli.app import main
from structron.runtime.threads import cores
from torture.frame import Found, environment
from torture.kills import OPTIONS, corpora

FULL = 10_000
PART = 100
"""Inputs that one process tries before the next one takes over."""
MOST_SECONDS, MOST_BYTES = 5.0, 1 << 30
PATIENCE = 1200
"""Seconds after which a process with PART inputs hangs, however busy the machine is."""
QUICK = ["--jobs", "1", "-q"]
ONE_PASS = ["--passes", "1", "--runs", "1"]
MORE = {"pipeline": ["--without", "entities", "--without", "parser"], "graph-parser": ["--order", "1"]}


def quick(task: str) -> list[str]:
    """Options that keep a training short; the parts of a pipeline have settings of their own."""
    return [*QUICK, *([] if task == "pipeline" else ONE_PASS), *MORE.get(task, [])]


PIECES = [
    b"\n\n",
    b"\t",
    b" ",
    b"\r",
    b"\0",
    b"\xff",
    b"\xe2\x80\xa8",
    b"#",
    b"-DOCSTART-",
    b"1-2\t",
    b"_\t_",
    b"\x1b[2J",
    b"9" * 30,
]
VALUES = [
    b"",
    b"_",
    b"0",
    b"-1",
    b"7",
    b"999999999999",
    b"1.1",
    b"B-",
    b"I-NP",
    b"a|b=c",
    b"\xc2\xa0",
    b"\xf0\x9f\x98\x80",
    b"\x07",
]
BOMB = 3_000_000_000
"""Bytes of a file that never ends a sentence."""


def mutated(data: bytes, random: np.random.Generator) -> bytes:
    """A file with a few things changed."""
    for _ in range(int(random.integers(1, 4))):
        lines = data.split(b"\n")
        place, other = (int(random.integers(len(data) + 1)) for _ in range(2))
        row = int(random.integers(len(lines)))
        choice = int(random.integers(16))
        if choice == 0:
            data = data[:place]
        elif choice == 1:
            data = data[:place] + PIECES[random.integers(len(PIECES))] * int(random.choice([1, 1, 2000])) + data[place:]
        elif choice == 2:
            data = data[:place] + bytes(random.integers(0, 256, 8, dtype=np.uint8)) + data[place + 8 :]
        elif choice == 3:
            data = b"\n".join(lines[:row] + lines[row + 1 :])
        elif choice == 4:
            data = b"\n".join([*lines[:row], *[lines[row]] * int(random.choice([2, 500])), *lines[row:]])
        elif choice == 5:
            fields = lines[row].split(b"\t")
            lines[row] = b"\t".join(fields[: int(random.integers(len(fields) + 1))])
            data = b"\n".join(lines)
        elif choice == 6:
            data = data.replace(b"\n\n", b"\n")
        elif choice == 7:
            data = data.replace(b"\n", b"\r\n") if random.integers(2) else data.replace(b"\t", b" ")
        elif choice == 8:
            data = data[min(place, other) : max(place, other)]
        elif choice == 9:
            random.shuffle(lines)
            data = b"\n".join(lines)
        elif choice == 10:
            with contextlib.suppress(UnicodeError):
                data = data.decode().encode(str(random.choice(["utf-16", "utf-8-sig", "utf-32", "cp500"])))
        elif choice >= 12:
            fields = lines[row].split(b"\t")
            fields[random.integers(len(fields))] = VALUES[random.integers(len(VALUES))]
            lines[row] = b"\t".join(fields)
            data = b"\n".join(lines)
        else:
            lines[row] = lines[row].replace(lines[row][:3], b"x" * int(random.choice([0, 1, 100_000])), 1)
            data = b"\n".join(lines)
    return data


def packed(data: bytes, random: np.random.Generator) -> bytes:
    """Compressed, and perhaps damaged or endless."""
    choice = int(random.integers(4))
    found = gzip.compress(data, 1)
    if choice == 0:
        return found[: int(random.integers(len(found)))]
    if choice == 1:
        return found + bomb()[0]
    if choice == 2:
        return bomb()[1] + found
    return found


_bombs: list[tuple[bytes, bytes]] = []


def bomb() -> tuple[bytes, bytes]:
    """Gzip members that unpack to gigabytes: one long line, and one long sentence."""
    if not _bombs:
        made = []
        for text in (b"x" * 1_000_000, b"a b c\n" * 200_000):
            member = gzip.compress(text, 6)
            made.append(member * (BOMB // len(text)))
        _bombs.append((made[0], made[1]))
    return _bombs[0]


def attempt(task: str, files: dict[str, Path], model: Path, folder: Path, seed: int) -> str:
    """One input, mutated, through one command: done, refused, or what went wrong."""
    random = np.random.default_rng(seed)
    source = files[str(random.choice(["--train", "--dev"]))]
    data = mutated(source.read_bytes(), random)
    zipped = random.random() < 0.1
    path = folder / f"input.{seed}{source.suffix}{'.gz' if zipped else ''}"
    path.write_bytes(packed(data, random) if zipped else data)
    command = str(random.choice(["train", "predict", "evaluate"]))
    if command == "train":
        argv = ["train", task, "--train", path, "--model", folder / "made.structron", *quick(task)]
    elif command == "predict" and task in ("tokenizer", "pipeline"):
        argv = ["annotate", path, "--model", model, "--output", folder / "out"]
    else:
        argv = [command, model, path, *(["--output", folder / "out"] if command == "predict" else [])]
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            status = main([str(part) for part in argv])
    except BaseException:
        return f"failed: {task}: seed {seed}: {command}: {traceback.format_exc()[-400:]}"
    finally:
        path.unlink()
    said = [line for line in errors.getvalue().splitlines() if line.startswith("structron:")]
    if status not in (0, 2) or (status == 2 and len(said) != 1):
        return f"failed: {task}: seed {seed}: {command}: status {status}: {errors.getvalue()[-300:]}"
    return "done" if status == 0 else "refused"


def limited(*given) -> str:
    """The same, within time and memory."""
    begin, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = attempt(*given)
    seconds, peak = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if peak > before and peak * 1024 > MOST_BYTES:
        return f"failed: {given[0]}: seed {given[-1]}: {peak // 1024} MB ({found})"
    if seconds > MOST_SECONDS and not found.startswith("failed"):
        return f"failed: {given[0]}: seed {given[-1]}: {seconds:.1f} s ({found})"
    return found


def run(trials: int, seed: int, folder: Path) -> Found:
    """So many inputs, spread over all tasks."""

    def of_task(number: int, task: str) -> list[str]:
        outcomes: list[str] = []
        first = seed * 1_000_000 + number * 50_000
        end = first + trials // len(OPTIONS) + (number < trials % len(OPTIONS))
        while first < end:
            own, first = _part(task, first, min(first + PART, end), folder)
            outcomes += own
        return outcomes

    found = Found()
    with ThreadPoolExecutor(cores()) as pool:
        for outcomes in pool.map(of_task, range(len(OPTIONS)), OPTIONS):
            for outcome in outcomes:
                found.add(outcome.partition(":")[0], outcome if outcome.startswith("failed") else None)
    return found


def _part(task: str, first: int, last: int, folder: Path) -> tuple[list[str], int]:
    """What became of some inputs in a process of their own, and where the next one has to begin."""
    argv = [sys.executable, "-m", "torture.inputs", task, str(first), str(last), str(folder)]
    try:
        done = subprocess.run(argv, env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE)
        out, status, errors = done.stdout, done.returncode, done.stderr
    except subprocess.TimeoutExpired as hung:
        out, status, errors = (hung.stdout or b"").decode(), -1, "it hung"
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("[")]
    outcomes = [outcome for _, outcome in lines if outcome]
    if status == 0:
        return outcomes, last
    at = max((number for number, _ in lines), default=first)
    return [*outcomes, f"failed: {task}: seed {at}: the process ended with {status}: {errors[-300:]}"], at + 1


def _child(task: str, first: str, last: str, folder: str) -> None:
    place = Path(folder)
    model = place / f"{task}.structron"
    given = corpora(task, place)
    files = dict(zip(given[::2], given[1::2], strict=True))
    if not model.exists():
        argv = ["train", task, "--train", str(files["--train"]), "--model", str(model), *quick(task)]
        assert main(argv) == 0
    for seed in range(int(first), int(last)):
        print(json.dumps([seed, ""]), flush=True)
        print(json.dumps([seed, limited(task, files, model, place, seed)]), flush=True)


if __name__ == "__main__":
    _child(*sys.argv[1:])
