"""What the tests of the command line share: a toy corpus with models, and what a command did."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structron.io import modelfile

SMALL = ["--passes", "3", "--quiet"]
AWKWARD_CONLL = (
    b"\xef\xbb\xbf-DOCSTART- -X- O\r\n\r\n The  DT   O \r\ndog NN O\r\n\r\n \r\n"
    b"# a longer comment\r\n# # O\r\nran\tVBD\tO\r\n"
)
AWKWARD_CONLLU = (
    b"# newdoc id = d\n# text = Don't go\n1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=Yes\n"
    b"1\tDo\tdo\t?\tVB\t_\t3\taux\t_\tA=b|Margin=9\n2\tn't\tnot\t?\tRB\t_\t3\tadvmod\t_\t_\n"
    b"3\tgo\tgo\t?\tVB\t_\t0\troot\t_\t_\n3.1\tthere\t_\tADV\t_\t_\t_\t_\t3:x\t_\n\n\n"
)


@dataclass(frozen=True)
class Toy:
    """A folder with a small corpus and models."""

    folder: Path

    def __truediv__(self, name: str) -> str:
        return str(self.folder / name)

    @property
    def chunker(self) -> str:
        return self / "chunker.structron"

    @property
    def tagger(self) -> str:
        return self / "tagger.structron"


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


def process(*argv: str | Path, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "structron", *map(str, argv)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def column(text: str, place: int, separator: str | None = None) -> list[str]:
    return [line.split(separator)[place] for line in text.splitlines() if line and not line.startswith("#")]


def candidates_of(text: str) -> list[tuple[int, float, str]]:
    """Rank, score and text of each candidate."""
    found = re.split(
        r"^# nbest = ([0-9]+)\r?\n# score = (-?[0-9.]+)\r?\n", text.removeprefix("\ufeff"), flags=re.MULTILINE
    )
    assert found[0] == ""
    return [(int(r), float(s), body) for r, s, body in zip(found[1::3], found[2::3], found[3::3], strict=True)]


def same_tensors(one: str | Path, other: str | Path) -> bool:
    first, second = modelfile.load(one)[1], modelfile.load(other)[1]
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)
