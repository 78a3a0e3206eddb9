"""Kazama & Torisawa (2007): corpora as documents of rows that end in an IOB2 label."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from structron.data.corpora import find
from structron.errors import StructronError
from structron.experiments.frame import SPLITS
from structron.features.templates import load_templates
from structron.io import read
from structron.schemes import convert, detect
from structron.sentences import Document, sentences_of

CONLL2003 = "conll2003"
CONLL2003_FILES = ("eng.train", "eng.testa", "eng.testb")
PLACES = {
    "conll2002-dutch": {"word": 0, "pos": 1, "label": 2},
    "uner-english-ewt": {"word": 1, "label": 2},
    CONLL2003: {"word": 0, "pos": 1, "chunk": 2, "label": 3},
}
"""The columns of each corpus that are used, and where they stand in its files."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The three parts of a corpus, sentence by sentence in documents."""

    name: str
    columns: tuple[str, ...]
    train: list[Document]
    dev: list[Document]
    test: list[Document]

    @classmethod
    def load(cls, data: Path, name: str, documents: int | None = None) -> "Corpus":
        """Read it; `documents`: so many of each part at most."""
        files = corpus_files(data, name)
        parts = [read_documents(path, list(PLACES[name].values()))[:documents] for path in files]
        scheme = detect(gold_of(parts[0]))
        if scheme is None:
            raise StructronError(f"{files[0]}: the labels are not entities; expected IOB1, IOB2 or IOBES labels")
        for sentence in (line for part in parts for line in sentences_of(part) if scheme != "iob2"):
            for row, label in zip(sentence, convert([row[-1] for row in sentence], scheme, "iob2"), strict=True):
                row[-1] = label
        return cls(name, tuple(PLACES[name]), *parts)

    def labels(self) -> list[str]:
        """Those of the training part, in order."""
        return sorted({label for labels in gold_of(self.train) for label in labels})

    def counts(self) -> dict[str, dict[str, int]]:
        """How large the parts are."""
        found = {}
        for split in SPLITS:
            documents = getattr(self, split)
            sizes = [len(sentence) for sentence in sentences_of(documents)]
            found[split] = {"documents": len(documents), "sentences": len(sizes), "words": sum(sizes)}
        return found


def gold_of(documents: Sequence[Any]) -> list[list[str]]:
    """The labels of every sentence."""
    return [[row[-1] for row in sentence] for sentence in sentences_of(documents)]


def read_documents(path: Path, places: list[int]) -> list[Document]:
    """The documents of a column file, of each row the columns at these places."""
    documents: list[Document] = []
    for sentence in read(path):
        if max(places) >= len(sentence.rows[0]):
            columns = f"{len(sentence.rows[0])} columns; expected at least {max(places) + 1}"
            raise StructronError(f"{path}:{sentence.line_number}: {columns}")
        if sentence.new_document or not documents:
            documents.append(Document())
        documents[-1].append([[row[place] for place in places] for row in sentence.rows])
    return documents


def corpus_files(data: Path, name: str) -> list[Path]:
    """The files for training, development and test; those of CoNLL-2003 keep their names."""
    for folder, packed in product((data, data / CONLL2003), ("", ".gz")):
        files = [folder / (file + packed) for file in CONLL2003_FILES]
        if name == CONLL2003 and all(file.is_file() for file in files):
            return files
    return [find(data, name, split) for split in SPLITS]


def present(data: Path) -> list[str]:
    """The corpora that a folder holds."""
    found = []
    for name in PLACES:
        with suppress(StructronError):
            corpus_files(data, name)
            found.append(name)
    if not found:
        raise StructronError(f"{data}: none of {', '.join(PLACES)} is there; expected at least one of them")
    return found


def templates_of(columns: tuple[str, ...]) -> list[str]:
    """The paper's Table 1 for these columns; chunk tags have the same features as parts of speech."""
    texts = [str(template) for template in load_templates("kazama" if "pos" in columns else "kazama-words")]
    if "chunk" in columns:
        texts += [text.replace("pos[", "chunk[") for text in texts if text.startswith("pos[")]
    return texts
