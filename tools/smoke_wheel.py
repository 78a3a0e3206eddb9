"""A wheel in a bare environment: annotate, train, predict, serve; nothing may be compiled on the way.

    python tools/smoke_wheel.py dist/structron-…-cp312-cp312-….whl [--python PYTHON] [--work FOLDER]
    python tools/smoke_wheel.py --misfit numba==0.67.0 dist/…        other versions: one line says so, all works

--python: the Python of the environment; this one by default.   --work: where the environment is made, and kept.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pythons import install, make_venv

SENTENCE = "He flew to Paris."
MAGIC = b"structron kernel"
TOY = """
import sys
from structron.data.toy_english import toy_english, write_conll
corpus = toy_english(80, seed=3)
write_conll(sys.argv[1], corpus[:60])
write_conll(sys.argv[2], corpus[60:])
"""
PATIENCE = 900.0
"""Seconds for a command, though it should need two: where kernels are compiled after all, one wants to know which."""


class Bare:
    """An environment with the wheel, and an empty home."""

    def __init__(self, wheel: Path, python: Path, folder: Path):
        self.folder, self.home = folder, folder / "home"
        for own in (self.home, folder / "work", folder / "tmp"):
            own.mkdir(parents=True)
        self.python = make_venv(python, folder / "venv")
        install(self.python, f"{wheel.resolve()}[serve]")
        dropped = ("PYTHON", "NUMBA", "STRUCTRON", "XDG_CACHE_HOME")
        plain = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        homes = dict.fromkeys(("HOME", "USERPROFILE", "LOCALAPPDATA", "APPDATA"), str(self.home))
        self.environment = plain | homes | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder / "tmp"))
        self.said: list[str] = []

    def run(self, *argv: object) -> str:
        """What a command prints. SystemExit: it failed."""
        begin = time.monotonic()
        command = [self.python, "-I", *map(str, argv)]
        options = {"cwd": self.folder / "work", "env": self.environment, "timeout": PATIENCE}
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", **options)
        shown = " ".join(Path(own).name if os.sep in own else own for own in map(str, argv) if "\n" not in own)
        print(f"  {shown}: {time.monotonic() - begin:.1f} s", flush=True)
        if done.returncode:
            raise SystemExit(f"{shown}: status {done.returncode}: {done.stderr}")
        self.said += done.stderr.splitlines()
        return done.stdout

    def structron(self, *argv: object) -> str:
        return self.run("-m", "structron", *argv)

    def kernels(self) -> list[str]:
        """The kernels that were compiled, wherever they are kept."""
        found = []
        for path in (*self.home.rglob("*"), *(self.folder / "tmp").rglob("*")):
            if path.is_file():
                with open(path, "rb") as stream:
                    found += [path.name] if stream.read(len(MAGIC)) == MAGIC else []
        return sorted(found)

    def serve(self) -> None:
        """Ask a server for a sentence, and stop it."""
        begin, log = time.monotonic(), self.folder / "serve.log"
        windows = sys.platform == "win32"
        with open(log, "w", encoding="utf-8") as stream:
            server = subprocess.Popen(
                [self.python, "-I", "-m", "structron", "serve", "--port", "0"],
                cwd=self.folder / "work",
                env=self.environment,
                stdout=stream,
                stderr=stream,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        try:
            address = self._address(server, log)
            self._ask(f"{address}/health")
            answer = self._ask(f"{address}/api/annotate", {"text": SENTENCE})
            if "Paris" not in json.dumps(answer):
                raise SystemExit(f"serve: {answer}")
            time.sleep(5.0)  # what the page shows of a beam is made ready while requests are served
        finally:
            if server.poll() is None:
                server.send_signal(signal.CTRL_BREAK_EVENT if windows else signal.SIGINT)
            try:
                status = server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                server.kill()
                status = server.wait()
        if status and not windows:
            raise SystemExit(f"serve: status {status}: {log.read_text(encoding='utf-8')}")
        print(f"  serve, one request: {time.monotonic() - begin:.1f} s", flush=True)

    def _address(self, server: subprocess.Popen, log: Path) -> str:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for word in log.read_text(encoding="utf-8").split():
                if word.startswith("http://"):
                    return word
            if server.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f"serve does not answer: {log.read_text(encoding='utf-8')}")

    def _ask(self, url: str, data: dict | None = None) -> object:
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as stream:
            return json.load(stream)


def everyday(bare: Bare) -> None:
    """What people do first."""
    if "Paris" not in bare.structron("annotate", "--text", SENTENCE):
        raise SystemExit("annotate: the sentence is not in what it prints")
    train, dev, model = (bare.folder / "work" / name for name in ("train.conll", "dev.conll", "chunker.structron"))
    bare.run("-c", TOY, train, dev)
    bare.structron("train", "chunker", "--train", train, "--dev", dev, "--model", model, "--passes", "2")
    if len(bare.structron("predict", model, dev).splitlines()) < 100:
        raise SystemExit("predict: lines are missing")


def smoke(wheel: Path, python: Path, folder: Path) -> None:
    """Try a wheel. SystemExit: something is wrong."""
    bare = Bare(wheel, python, folder)
    everyday(bare)
    bare.serve()
    if compiled := bare.kernels():
        raise SystemExit(f"{wheel.name}: {len(compiled)} kernels were compiled on the way: {', '.join(compiled)}")
    print(f"{wheel.name}: works, and nothing was compiled", flush=True)


def misfit(wheel: Path, python: Path, folder: Path, other: str) -> None:
    """Try a wheel with another version of what its kernels go with: one line says so, and kernels are compiled."""
    bare = Bare(wheel, python, folder)
    install(bare.python, "--no-deps", *other.split(","))
    found = bare.structron("annotate", "--text", SENTENCE)
    lines = [line for line in bare.said if "kernels of this wheel" in line]
    print(*lines, sep="\n")
    if "Paris" not in found or len(lines) != 1:
        raise SystemExit(f"{other}: {bare.said}")
    bare.said.clear()
    bare.structron("annotate", "--text", SENTENCE)
    if bare.said:
        raise SystemExit(f"a second time something is said: {bare.said}")
    print(f"{wheel.name} with {other}: one line, {len(bare.kernels())} kernels compiled", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--work", type=Path)
    parser.add_argument("--misfit", metavar="VERSIONS")
    given = parser.parse_args()
    for wheel in given.wheels:
        with tempfile.TemporaryDirectory(prefix="smoke-", ignore_cleanup_errors=True) as name:
            folder = (given.work or Path(name)).resolve()
            if given.misfit:
                misfit(wheel, given.python, folder, given.misfit)
            else:
                smoke(wheel, given.python, folder)


if __name__ == "__main__":
    main()
