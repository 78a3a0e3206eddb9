"""What the tests of the command line share: a toy corpus with models, what a command did, and a parser that counts."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron.estimator import Estimator
from structron.evaluate import attachment_scores
from structron.io import modelfile
from structron.io.columns import tree_columns
from structron.model.heaviest import Heaviest, Weight
from structron.options import Searching, Trees, options

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


@options()
class ChainOfWords(Trees, Searching, Estimator):
    """A parser that only counts: every word hangs on the word before it, its relation tells the beam."""

    task: ClassVar[str] = "parser"
    single_root: ClassVar[bool] = True
    lacks: ClassVar[dict[str, str]] = {
        "confidence": "trees have no margins",
        "forced": "trees are whole",
        "explain": "it only counts",
        "partial_fit": "it forgets",
    }

    @property
    def metric(self) -> str:  # type: ignore[override]
        return "las" if self.roles_.relation else "uas"

    @property
    def needed_(self) -> set[str]:
        return {self.roles_.word, str(self.roles_.pos)}

    def _settle_columns(self, names: list[str]):
        return tree_columns(names, self.pos, self.labelled)

    def fit(self, sentences, *, dev=None, **_):
        self.roles_, self.model_ = self._settle_columns(list(self.columns)), self
        self.sentences, self.dev = list(sentences), list(dev or [])
        self.history_, self.best_pass_, self.stopped_, self.signature_ = [], 1, "passes", "a chain of words"
        return self

    def is_cold(self) -> bool:
        return False

    def _learner(self, sentences, start): ...

    def _summary(self): ...

    def _ready(self, sentences, what="data"):
        assert all(len(row) == len(self.roles_.names) for rows in sentences for row in rows)
        return sentences

    def _decode(self, model, ready, jobs):
        return [[(i, f"beam{self.beam}") for i in range(len(rows))] for rows in ready]

    def _nbest(self, model, ready, n, jobs):
        found = self._decode(model, ready, jobs)
        return [[(tree, 1.5), ([(0, "root") for _ in tree], -2.0)][:n] for tree in found]

    def _columns_of(self, prediction):
        columns = [[str(head) for head, _ in prediction], [relation for _, relation in prediction]]
        return columns[: len(self.roles_.outputs)]

    def _gold(self, sentences, what="data"):
        head, *relation = map(self.roles_.names.index, self.roles_.outputs)
        return [[(int(row[head]), row[relation[0]] if relation else None) for row in rows] for rows in sentences]

    def _scores(self, gold, guess, sentences=None):
        return attachment_scores(gold, guess)

    def inspect(self, label=None, *, top=20):
        found = {"shift": [Weight("s0.w=dog", "shift", 2.5)], "left": [Weight("s0.t=NN", "left", -1.5)]}
        return Heaviest({name: weights for name, weights in found.items() if label in (None, name)})

    def _learned(self, model):
        return {"columns": self.roles_.names, "sentences": self.sentences, "dev": self.dev}, {"none": np.zeros(1)}

    def _take(self, learned: dict[str, Any], tensors, **code):
        self.roles_, self.model_ = self._settle_columns(learned["columns"]), self
        self.sentences, self.dev = learned["sentences"], learned["dev"]
