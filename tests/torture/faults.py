"""Disks, streams, permissions and caches that fail: a model is saved wherever training could go on, and everything
else ends with one line and status 2. Each fault is tried once.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import structron
from structron.data.toy_english import toy_english, write_conll
from structron.kernels.cache import places
from torture.frame import (
    Found,
    Job,
    chunks,
    command,
    environment,
    found_by,
    print_found,
    start,
    without_privileges,
)

FULL = 1000
"""More than there are: all of them."""
PART = 7
PATIENCE = 3600
ENDLESS = ("--passes", "1000000", "--patience", "0", "--average", "none", "--margin", "1e9")
"""Passes that come to no end by themselves."""
LIMITED = ("--passes", "30", "--patience", "0")
Fault = Callable[[], str | None]
"""Tries something; returns what went wrong."""


def begun(*argv: object, **options) -> subprocess.Popen:
    """A training that has done its first pass."""
    running = start(*argv, **{"stderr": subprocess.PIPE, "text": True, **options})
    assert running.stderr is not None
    while line := running.stderr.readline():
        if line.startswith("pass "):
            return running
    raise AssertionError(f"{argv}: ended with {running.wait()} before its first pass")


class Trial:
    """A folder with data and a model, and ways to run commands on them."""

    def __init__(self, folder: Path):
        self.folder, self.train, self.model = folder, folder / "train.conll", folder / "known.structron"
        self.count = 0

    def prepare(self) -> None:
        """Write the data, learn the model."""
        self.folder.mkdir(exist_ok=True)
        write_conll(str(self.train), toy_english(150, 1))
        done = self.run(*self.training(self.model))
        assert done.returncode == 0, done.stderr

    def place(self) -> Path:
        """A new folder."""
        self.count += 1
        found = self.folder / f"{self.count}"
        found.mkdir()
        return found

    def training(self, model: Path, *more: object) -> list:
        return ["train", "chunker", "--train", self.train, "--model", model, "--passes", "3", "--runs", "1", *more]

    def run(self, *argv: object, shell: str = "structron", **options) -> subprocess.CompletedProcess:
        """A command, in a line of the shell in which `structron` stands for it."""
        whole = ["bash", "-c", shell.replace("structron", '"$@"'), "bash", *command(*argv)]
        options = {"env": environment(PYTHONUNBUFFERED=""), "timeout": 600, **options}
        return subprocess.run(whole, capture_output=True, text=True, check=False, **options)

    # -- what should become of it ----------------------------------------------------------------------------------

    def saved(self, *more: object, says: str = "", **options) -> str | None:
        """A training that ends with a model."""
        place = self.place()
        return self._judged(self.run(*self.training(place / "m", *more), **options), place / "m", says)

    @staticmethod
    def _judged(done: subprocess.CompletedProcess, model: Path, says: str = "") -> str | None:
        if done.returncode or says not in done.stderr or done.stderr.count("warning:") != bool(says):
            return f"status {done.returncode}: {done.stderr}"
        return None if structron.load(model).task == "chunker" else "another model"

    def refused(self, *argv: object, says: str, **options) -> str | None:
        """A command that ends with one line and status 2, before the first pass."""
        done = self.run(*argv, **options)
        right = (done.returncode, done.stderr.count("\n")) == (2, 1) and says in done.stderr
        return None if right else f"status {done.returncode}: {done.stderr}"


def jobs(trials: int, seed: int, folder: Path) -> Iterator[Job]:
    """The first so many faults, in processes of their own: a process with threads has no copies that do much."""
    every = all_of(Trial(folder / "names"))
    for begin, end in chunks(0, min(trials, len(every)), PART):
        place = folder / str(begin)
        name = f"faults {begin}–{end - 1} of {len(every)}"
        yield Job(name, partial(found_by, "faults", place, begin, end, patience=PATIENCE))


def all_of(trial: Trial) -> list[tuple[str, Fault]]:
    """Every fault, with its name."""
    return [*streams(trial), *signals(trial), *permissions(trial), *caches(trial), *disks(trial)]


def run(folder: Path, first: int, last: int) -> Found:
    """Try some faults."""
    found, trial = Found(), Trial(folder)
    trial.prepare()
    for name, fault in all_of(trial)[first:last]:
        try:
            problem = fault()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        found.add(f"{name.split(':')[0]}/nothing lost", None if problem is None else f"{name}: {problem}")
    return found


# -- streams and signals ---------------------------------------------------------------------------------------------


def streams(trial: Trial) -> Iterator[tuple[str, Fault]]:
    head = "structron 2>&1 | head -1 >/dev/null; exit ${PIPESTATUS[0]}"
    lines = ["structron 2>&-", "structron 2>/dev/full", "structron >&-", "structron <&-", "structron <&- >&- 2>&-"]
    for line in [*lines, "structron >/dev/full", head]:
        yield f"stream: train, {line}", partial(trial.saved, shell=line)
    text = ["annotate", "--text", "It rains."]
    dev = [["predict", trial.model, trial.train], ["evaluate", trial.model, trial.train], ["inspect", trial.model]]
    for argv in [*dev, ["capabilities"], ["--help"], ["--version"], ["train", "--help"], text]:
        for line in ("structron >&-", "structron >/dev/full"):
            fault = partial(trial.refused, *argv, says="standard output: could not be written", shell=line)
            yield f"stream: {argv[0]}, {line}", fault
    for argv in (["predict", trial.model], ["annotate"]):
        yield f"stream: {argv[0]}, <&-", partial(trial.refused, *argv, says="<stdin>: cannot be", shell="structron <&-")


def signals(trial: Trial) -> Iterator[tuple[str, Fault]]:
    def interrupted(number: int) -> str | None:
        place = trial.place()
        running = begun(*trial.training(place / "m", *ENDLESS))
        running.send_signal(number)
        _, said = running.communicate(timeout=300)
        if running.returncode != 128 + number:
            return f"status {running.returncode}: {said}"
        return None if structron.load(place / "m").stopped_ == "interrupted" else "another model"

    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        yield f"signal: {name}", partial(interrupted, getattr(signal, name).value)


# -- permissions and caches ------------------------------------------------------------------------------------------


def permissions(trial: Trial) -> Iterator[tuple[str, Fault]]:
    def closed(option: str) -> str | None:
        place = trial.place()
        os.chmod(place, 0o555)
        others = [] if option in ("--model", "--output") else ["--model", trial.place() / "m"]
        argv = ["predict", trial.model, trial.train] if option == "--output" else trial.training(place / "m")[:4]
        target = place if option == "--checkpoint" else place / "f"
        return trial.refused(*argv, *others, option, target, says="permission", preexec_fn=without_privileges)

    def read_only_file() -> str | None:
        place = trial.place()
        shutil.copy(trial.model, place / "m")
        os.chmod(place / "m", 0o444)
        before = (place / "m").read_bytes()
        problem = trial.refused(*trial.training(place / "m"), says="permission", preexec_fn=without_privileges)
        return problem or (None if (place / "m").read_bytes() == before else "the model has changed")

    for option in ("--model", "--log", "--checkpoint", "--output"):
        yield f"permission: {option} in a folder that is closed", partial(closed, option)
    yield "permission: a model that is read-only", read_only_file


def caches(trial: Trial) -> Iterator[tuple[str, Fault]]:
    def package(place: Path) -> dict[str, str]:
        """A package and its kernels in a folder of their own: variables of a process that uses them."""
        shutil.copytree(Path(structron.__file__).parent, place / "structron", copy_function=os.link)
        shutil.copytree(places()[0], place / "kernels")
        return environment(PYTHONPATH=str(place), STRUCTRON_CACHE=str(place / "kernels"))

    def container() -> str | None:
        """A package, its kernels and a home that are read-only."""
        place = trial.place()
        env = package(place) | {"HOME": str(place), "XDG_CACHE_HOME": str(place)}
        for path in [place, *place.rglob("*")]:
            if path.is_dir():
                os.chmod(path, 0o555)
        return trial.saved(env=env, preexec_fn=without_privileges)

    def damaged() -> str | None:
        """Every kernel without its last bytes."""
        place = trial.place()
        env = package(place)
        kernels = [path for path in (place / "kernels").rglob("*-*") if path.is_file()]
        for path in kernels:
            path.write_bytes(path.read_bytes()[:-9])
        done = trial.run("predict", trial.model, trial.train, env=env)
        right = done.returncode == 0 and done.stderr.count("damaged; the kernel is compiled again") > 0
        return None if right and kernels else f"status {done.returncode}: {len(kernels)} kernels: {done.stderr}"

    yield "cache: a container", container
    yield "cache: damaged kernels", damaged


# -- disks -----------------------------------------------------------------------------------------------------------


def disks(trial: Trial) -> Iterator[tuple[str, Fault]]:
    """On small file systems of their own, where this process may make some."""
    small = partial(mounted, trial)
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        return

    def side(option: str, size: str, says: str) -> str | None:
        place = trial.place()
        line = f"{small(place, size)}; head -c 1M /dev/zero > {place}/fill 2>/dev/null; structron"
        target = place / "c" if option == "--checkpoint" else place / "log"
        return trial.saved(option, target, "--quiet", shell=namespace(line), says=says)

    def model_now() -> str | None:
        place = trial.place()
        line = f"{small(place, '64k')}; head -c 1M /dev/zero > {place}/fill 2>/dev/null; structron"
        return trial.refused(*trial.training(place / "m"), says="no space left on device", shell=namespace(line))

    def model_later() -> str | None:
        place, rescued = trial.place(), trial.place()
        line = f"{small(place, '112k')}; structron"
        env = environment(TMPDIR=str(rescued))
        argv = trial.training(place / "m", "--quiet")
        problem = trial.refused(
            *argv, says="(no space left on device); the model is in", shell=namespace(line), env=env
        )
        return problem or (None if [structron.load(path).task for path in rescued.iterdir()] else "no model")

    def cache() -> str | None:
        place = trial.place()
        line = f"{small(place, '64k')}; structron"
        env = environment(NUMBA_CACHE_DIR=str(place), PYTHONPATH=str(sources(trial.place())))
        return trial.saved(
            "--quiet", shell=namespace(line), env=env, says="compiled kernels cannot be stored (no space left"
        )

    yield (
        "disk: log",
        partial(side, "--log", "64k", "the log cannot be written (no space left on device); training continues"),
    )
    yield "disk: checkpoint", partial(side, "--checkpoint", "256k", "no checkpoint of this pass: ")
    yield "disk: model", model_now
    yield "disk: model, full when training ends", model_later
    yield "disk: cache", cache


def sources(folder: Path) -> Path:
    """The package without its kernels."""
    package = Path(structron.__file__).parent
    shutil.copytree(package, folder / "structron", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def mounted(trial: Trial, place: Path, size: str) -> str:
    return f"mount -t tmpfs -o size={size} tmpfs {place}"


def namespace(line: str) -> str:
    """A line of the shell in which file systems can be mounted that nobody else sees."""
    inner = line.replace("structron", '"$@"')
    return f"unshare -rm bash -c '{inner}' bash structron"


if __name__ == "__main__":
    print_found(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
