"""Mutated inputs through the commands, of all tasks: a result, or one line and status 2; never a traceback, a crash,
more than 5 seconds of processor time or 1 GB.

Files of columns, CoNLL-U, JSON lines, plain text, templates, word clusters and vectors lose, gain or
repeat bytes, lines and columns, get other line ends, encodings and control characters, or are compressed, also so that
they unpack to gigabytes. Command lines lose, gain or repeat arguments, and options get values that are none of theirs.
"""

import contextlib
import gzip
import io
import os
import subprocess
import sys
import threading
import traceback
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from structron.cli.app import main
from structron.cli.commands import COMMANDS
from torture.frame import Found, Job, chunks, command, environment, limited, print_trials, tried
from torture.kills import OPTIONS, corpora

FULL = 80_000
PART = 100
"""Inputs that one process tries before the next one takes over."""
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
TAUGHT = ("tagger", "chunker", "entities", "parser")
"""Tasks of `teach`."""
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


# -- command lines -----------------------------------------------------------------------------------------------------

KINDS = ("train", "train", "predict", "predict", "evaluate", "evaluate", "annotate", "inspect", "compare", "templates")
KINDS += ("choose", "cluster", "check", "teach", "clusters", "lexicons", "open")
FORMATS = ("conllu", "json", "jsonl", "tsv", "vertical", "conll", "brat", "sentences", "tokens", "html", "svg", "none")
TEMPLATES = """# a comment
U00:%x[-2,0]
U01:%x[-1,0]/%x[0,0]
U02:%x[0,1]
B02:%x[0,1]
*:%x[0,0]
u:suf=%m[0,0,".?.?.?$"]
u:%X[0,0]
B
"""
OURS = """w[-1] w[0] w[1]
w[0]|pos[0]
suffix3[0] &y
shape[0] lower[-1]|lower[0]
"""
CLUSTERS = "The\t0110\ndog\t0111\nbarks\t10\nsees\t11\na\t0110\n"
BROWN = "0110\tThe\t120\n0111\tdog\t17\n10\tbarks\t3\n"
TABLE = '{"The": 6, "dog": 14, "a": 6, "barks": 1, "x": 0}'
LEXICON = "The\tthe\tDET\ndog\tdog\tNOUN\tNN\tNumber=Sing\nbarks\tbark\tVERB\tVBZ\t_\n"
UNIMORPH = "dog\tdogs\tN;PL\nbark\tbarks\tV;PRS;3;SG\n"
LEMMAS = '{"dogs": "dog", "barks": ["bark"]}'
ENDINGS = '{"noun": [["s", ""]], "verb": [["es", "e"]]}'
VECTORS = "4 3\nthe 0.1 -0.2 3e2\ndog 1 0 0\ncat 0.9 0.1 0\nbarks -1 2 1e-9\n"
JSONL = """{"text": "Ann likes Oslo.", "spans": [{"start": 10, "end": 14, "label": "LOC"}]}
{"text": "Bob sleeps.", "label": [[0, 3, "PER"]]}
{"text": "Eve saw Rome.", "tokens": [{"start": 0, "end": 3}, {"start": 4, "end": 7}], "spans": [], "answer": "accept"}
"""
OPTIONAL: dict[str, tuple[tuple[str, ...], ...]] = {
    "predict": (("--nbest", "2"), ("--confidence",), ("--forced",), ("--beam", "2"), ("--format", "conllu")),
    "evaluate": (("--confusion",), ("--errors", "3"), ("--json",), ("--gold", "tokens"), ("--skip-invalid",)),
    "inspect": (("--top", "3"), ("--json",), ("--beam",), ("--label", "NN"), ("--width", "2")),
    "compare": (("--top", "2"), ("--json",)),
    "train": (("--skip-invalid",), ("--format", "conllu"), ("--columns", "word,pos"), ("--encoding", "latin-1")),
    "annotate": (("--input", "tokens"), ("--input", "conllu"), ("--input", "vertical"), ("--keep", "tokens")),
    "import-templates": (("--columns", "word,pos"),),
    "choose": (
        ("--by", "doubt-per-word"),
        ("--by", "margin-per-word"),
        ("--by", "random"),
        ("--diverse",),
        ("--json",),
    ),
    "cluster": (("--annotated",), ("--tokenized",), ("--min-count", "1"), ("--most-words", "3")),
    "check": (("--json",), ("--top", "1")),
    "teach": (("--all",), ("--overlap", "50")),
}
"""What commands may be given besides their input."""
WITHHELD = ("serve", "teach", "precompile", "experiment", "demo", "papers")
"""Commands whose options are not played with: they listen, compile, or learn for hours."""
NOT_PLAYED = ("--ray", "--passes", "--jobs", "--runs", "--shards", "--help", "--bits")
"""Options that would start a cluster, learn for hours, or fill the machine, as they are told to."""
TRAINED = ("--order", "--beam", "--average", "--update", "--margin", "--templates", "--columns", "--format", "--seed")
TRAINED += ("--cutoff", "--patience", "--log", "--checkpoint", "--dev", "--warm-start", "--resume", "--scheme", "--pos")
"""Options of `train`, some of which a task has."""
ODD = ("", "-1", "0", "1", "2", "x", "nan", "1e400", "B-NP", "word,pos", "é\udce9", "a\nb", "--", "-", ".", "..")
"""Values of options and arguments."""


class Given:
    """What the trials of a task share: its data, a model, and a folder for what is written."""

    def __init__(self, task: str, folder: Path):
        self.task, self.folder, self.model = task, folder, folder / f"{task}.structron"
        given = corpora(task, folder)
        self.files: dict[str, Path] = dict(zip(given[::2], given[1::2], strict=True))

    def train(self) -> None:
        """Make the model, unless it is there."""
        if not self.model.exists():
            argv = command("train", self.task, "--train", self.files["--train"], "--model", self.model)
            subprocess.run([*argv, *quick(self.task)], check=True, env=environment())

    def place(self, name: str) -> str:
        return str(self.folder / name)


def command_line(given: Given, path: Path, kind: str, random: np.random.Generator) -> list[str]:
    """A command that reads a file, maybe with options."""
    model, out = str(given.model), given.place(f"{os.getpid()}.out")
    if kind in ("predict", "annotate") and given.task in ("tokenizer", "pipeline"):
        argv = ["annotate", str(path), "--model", model, "--output", out, "--format", str(random.choice(FORMATS))]
    elif kind in ("predict", "annotate"):
        argv = ["predict", model, str(path), "--output", out]
    elif kind == "train":
        argv = ["train", given.task, "--train", str(path), "--model", given.place(f"{os.getpid()}.made.structron")]
        argv += quick(given.task)
    elif kind == "inspect":
        with contextlib.suppress(OSError):
            text = path.read_bytes()[:200].decode("utf-8", "surrogateescape").replace("\0", " ")
        argv = ["inspect", model, "--sentence", text]
        argv += ["--beam", "--gold", str(path)] if random.random() < 0.5 else []
    elif kind == "compare":
        argv = ["compare", model, model, str(path)]
    elif kind == "choose":
        argv = ["choose", str(path), "--model", model, "--output", out, "--number", "3", "--jobs", "1"]
    elif kind == "cluster":
        argv = ["cluster", str(path), "--output", out, "--classes", "8", "--passes", "2", "--jobs", "1"]
    elif kind == "check":
        argv = ["check", str(path), "--against", str(given.files["--dev"])]
    else:
        argv = [kind, model, str(path)]
    if random.random() < 0.4:
        some = OPTIONAL[argv[0]]
        argv += some[random.integers(len(some))]
    return argv


def clusters(given: Given, path: Path, random: np.random.Generator) -> list[str]:
    """A command that reads mutated word clusters, or makes some of mutated vectors."""
    texts = (CLUSTERS, BROWN, TABLE, VECTORS)
    text = texts[random.integers(len(texts))]
    path.write_bytes(mutated(text.encode(), random))
    if text == VECTORS:
        out = given.place(f"{os.getpid()}.out")
        return ["cluster", str(path), "--vectors", "--output", out, "--classes", "2", "--passes", "2"]
    model, data = given.place(f"{os.getpid()}.made.structron"), str(given.files["--dev"])
    return ["train", given.task, "--train", data, "--clusters", str(path), "--model", model, *quick(given.task)]


def lexicons(given: Given, path: Path, random: np.random.Generator) -> list[str]:
    """A command that reads a mutated lexicon, or makes one of mutated dictionaries."""
    texts = (LEXICON, UNIMORPH, LEMMAS, ENDINGS)
    text = texts[random.integers(len(texts))]
    path.write_bytes(mutated(text.encode(), random))
    if text != LEXICON or random.integers(2):
        return ["lexicon", str(path), "--output", given.place(f"{os.getpid()}.out")]
    model, data = given.place(f"{os.getpid()}.made.structron"), str(given.files["--dev"])
    return ["train", given.task, "--train", data, "--lexicon", str(path), "--model", model, *quick(given.task)]


def opened(given: Given, path: Path, random: np.random.Generator) -> list[str]:
    """Training on labels of which some are open."""
    open_label = ["--partial"] if random.integers(2) else ["--open-label", str(random.choice(["_", "?", "O", "NN"]))]
    model = given.place(f"{os.getpid()}.made.structron")
    return ["train", given.task, "--train", str(path), *open_label, "--model", model, *quick(given.task)]


def taught(given: Given, path: Path, random: np.random.Generator) -> list[str]:
    """A project of what can be taught, made of a file and written again."""
    project, ending = Path(given.place(f"{os.getpid()}.teach")), str(random.choice(["conll", "conllu", "jsonl"]))
    project.unlink(missing_ok=True)
    task = given.task if given.task in TAUGHT else str(random.choice(TAUGHT))
    if random.integers(3) == 0:
        path = path.with_suffix(".jsonl")
        path.write_bytes(mutated(JSONL.encode(), random))
    tokenizer = ["--tokenizer", str(given.model)] if given.task == "tokenizer" else []
    argv = ["teach", str(project), "--texts", str(path), "--task", task, "--labels", "PER,LOC", *tokenizer]
    return [*argv, "--export", given.place(f"{os.getpid()}.out.{ending}")]


def templates(given: Given, path: Path, random: np.random.Generator) -> list[str]:
    """A command that reads a mutated file of templates."""
    theirs = bool(random.integers(2))
    path.write_bytes(mutated((TEMPLATES if theirs else OURS).encode(), random))
    if theirs:
        return ["import-templates", str(path), "--output", given.place(f"{os.getpid()}.templates")]
    model = given.place(f"{os.getpid()}.made.structron")
    data = str(given.files["--dev"])
    return ["train", given.task, "--train", data, "--templates", str(path), "--model", model, *quick(given.task)]


def played(argv: list[str], random: np.random.Generator) -> list[str]:
    """A command line with something changed."""
    (command,) = (own for own in COMMANDS if own.name == argv[0])
    flags = [flag for own in command.params for flag in own.opts if flag.startswith("--") and flag not in NOT_PLAYED]
    flags = flags or list(TRAINED)
    for _ in range(int(random.integers(1, 3))):
        place, choice = int(random.integers(1, len(argv))) if len(argv) > 1 else 1, int(random.integers(5))
        fixed = {index + 1 for index, own in enumerate(argv) if own in NOT_PLAYED}
        value = ODD[random.integers(len(ODD))]
        if choice == 0 and place not in fixed and argv[place] not in NOT_PLAYED:
            argv = argv[:place] + argv[place + 1 :]
        elif choice == 1 and place not in fixed:
            argv = [*argv[:place], value, *argv[place + 1 :]] if argv[place] not in NOT_PLAYED else argv
        elif choice == 2:
            argv = [*argv, flags[random.integers(len(flags))]]
        else:
            argv = [*argv, flags[random.integers(len(flags))], value]
    return argv


def new_problem(given: Given, random: np.random.Generator) -> list[str]:
    name = ODD[random.integers(len(ODD))] if random.integers(2) else f"own{random.integers(10**6)}"
    return ["new-problem", name, "--output-dir", given.place("problems")]


# -- trials ------------------------------------------------------------------------------------------------------------


def attempt(given: Given, seed: int) -> str:
    """One input, mutated, through one command: done, refused, or what went wrong."""
    random = np.random.default_rng(seed)
    source = given.files[str(random.choice(["--train", "--dev"]))]
    kind = str(random.choice(KINDS))
    data = mutated(source.read_bytes(), random)
    zipped = random.random() < 0.1 and kind != "cluster"  # which reads gigabytes of text, as it is made to
    path = given.folder / f"input.{seed}{source.suffix}{'.gz' if zipped else ''}"
    path.write_bytes(packed(data, random) if zipped else data)
    make = {"templates": templates, "clusters": clusters, "lexicons": lexicons, "open": opened, "teach": taught}.get(
        kind
    )
    argv = command_line(given, path, kind, random) if make is None else make(given, path, random)
    if random.random() < 0.1 and argv[0] not in WITHHELD:
        path.write_bytes(source.read_bytes())  # the input is right, the command line is not
        argv = played(new_problem(given, random) if random.random() < 0.1 else argv, random)
    name = f"{given.task}: seed {seed}: {' '.join(argv)[:300]!r}"
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            status = main(argv)
    except BaseException:
        return f"failed: {name}: {traceback.format_exc()[-400:]}"
    finally:
        for own in given.folder.glob(f"input.{seed}*"):
            own.unlink()
    said = [line for line in errors.getvalue().splitlines() if line.startswith("structron:")]
    wrong = [line for line in said if "warning:" not in line]
    lines = {0: len(wrong), 2: 1} | ({1: 0} if argv[0] == "check" else {})  # it ends with 1 if it finds something
    if len(wrong) != lines.get(status):
        return f"failed: {name}: status {status}: {errors.getvalue()[-400:]}"
    return f"{argv[0]}/{'refused' if status == 2 else 'done'}"


def jobs(trials: int, seed: int, folder: Path) -> Iterator[Job]:
    """So many inputs, spread over all tasks, a task after the other in turn."""
    locks: dict[str, threading.Lock] = defaultdict(threading.Lock)

    def some(task: str, first: int, last: int) -> Found:
        own = folder / task
        with locks[task]:
            own.mkdir(exist_ok=True)
            Given(task, own).train()
        return Found.of(tried("inputs", task, own, first=first, last=last, patience=PATIENCE))

    for begin, end in chunks(seed * 1_000_000, -(-trials // len(OPTIONS)), PART):
        for number, task in enumerate(OPTIONS):
            first, last = begin + number * 100_000_000, end + number * 100_000_000
            yield Job(f"inputs {task} {first}–{last - 1}", partial(some, task, first, last))


if __name__ == "__main__":
    own_task, own_folder, first_seed, last_seed = sys.argv[1:]
    shared = Given(own_task, Path(own_folder))
    os.chdir(own_folder)
    print_trials(range(int(first_seed), int(last_seed)), lambda seed: limited(own_task, partial(attempt, shared), seed))
