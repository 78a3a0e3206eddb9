"""The other toolkits, used the way their documentation shows, on the same rows and templates as ours."""

import gzip
import random
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

Rows = list[list[str]]

CONLLU_FORM, CONLLU_XPOS = 1, 4
DOCUMENT = "-DOCSTART-"
BEFORE, AFTER = ["<s2>", "<s1>"], ["</s1>", "</s2>"]


def _lines(path: str | Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") if str(path).endswith(".gz") else open(path, encoding="utf-8") as file:
        yield from file


def read_columns(path: str | Path) -> list[Rows]:
    """Sentences of a column file: what a user of these toolkits writes to get at the data."""
    sentences: list[Rows] = []
    rows: Rows = []
    for line in _lines(path):
        fields = line.split()
        if fields:
            rows.append(fields)
        elif rows:
            sentences.append(rows)
            rows = []
    return [*sentences, rows] if rows else sentences


def first_sentences(path: str | Path, to: Path, number: int) -> Path:
    """The first sentences of a file, line by line, in a file of their own; returns that file."""
    lines: list[str] = []
    left = number
    for line in _lines(path):
        lines.append(line)
        left -= not line.strip()
        if not left:
            break
    to.write_text("".join(lines), encoding="utf-8")
    return to


def without_documents(path: str | Path, to: Path) -> Path:
    """The sentences of a column file without the marks of documents, in a file of their own; returns that file."""
    sentences = [rows for rows in read_columns(path) if rows[0][0] != DOCUMENT]
    lines = ["".join(" ".join(row) + "\n" for row in rows) for rows in sentences]
    to.write_text("\n".join(lines), encoding="utf-8")
    return to


def read_words(path: str | Path) -> list[Rows]:
    """The rows of the words of a CoNLL-U file, without multiword tokens and empty nodes."""
    sentences: list[Rows] = [[]]
    for line in _lines(path):
        fields = line.rstrip("\n").split("\t")
        if fields[0].isdigit():
            sentences[-1].append(fields)
        elif not line.strip() and sentences[-1]:
            sentences.append([])
    return [rows for rows in sentences if rows]


def read_tags(path: str | Path) -> list[list[tuple[str, str]]]:
    """(word, language-specific tag) of the words of a CoNLL-U file, without multiword tokens and empty nodes."""
    return [[(row[CONLLU_FORM], row[CONLLU_XPOS]) for row in rows] for rows in read_words(path)]


def features(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The 19 templates of the preset `chunk19`, spelled out per token."""
    w = BEFORE + [row[0] for row in rows] + AFTER
    p = BEFORE + [row[1] for row in rows] + AFTER
    return [
        [
            f"w[-2]={w[i - 2]}",
            f"w[-1]={w[i - 1]}",
            f"w[0]={w[i]}",
            f"w[1]={w[i + 1]}",
            f"w[2]={w[i + 2]}",
            f"w[-1]|w[0]={w[i - 1]}|{w[i]}",
            f"w[0]|w[1]={w[i]}|{w[i + 1]}",
            f"pos[-2]={p[i - 2]}",
            f"pos[-1]={p[i - 1]}",
            f"pos[0]={p[i]}",
            f"pos[1]={p[i + 1]}",
            f"pos[2]={p[i + 2]}",
            f"pos[-2]|pos[-1]={p[i - 2]}|{p[i - 1]}",
            f"pos[-1]|pos[0]={p[i - 1]}|{p[i]}",
            f"pos[0]|pos[1]={p[i]}|{p[i + 1]}",
            f"pos[1]|pos[2]={p[i + 1]}|{p[i + 2]}",
            f"pos[-2]|pos[-1]|pos[0]={p[i - 2]}|{p[i - 1]}|{p[i]}",
            f"pos[-1]|pos[0]|pos[1]={p[i - 1]}|{p[i]}|{p[i + 1]}",
            f"pos[0]|pos[1]|pos[2]={p[i]}|{p[i + 1]}|{p[i + 2]}",
        ]
        for i in range(2, len(rows) + 2)
    ]


class Crfsuite:
    """python-crfsuite with its averaged perceptron, `ap`."""

    name: ClassVar[str] = "python-crfsuite"

    @staticmethod
    def train(sentences: list[Rows], model: str | Path, passes: int) -> dict[str, list[float]]:
        """Train and save; returns the seconds of each pass: `log`, processor time by CRFsuite's own log, and `wall`."""
        import pycrfsuite

        class Trainer(pycrfsuite.Trainer):
            """Notes when the log begins to speak of another pass, which CRFsuite lets it do at a pass's end."""

            def message(self, text: str) -> None:
                super().message(text)
                passes_done = len(self.logparser.iterations)
                if passes_done == len(ends):
                    ends.append(time.perf_counter())
                elif passes_done == 0:
                    ends[0] = time.perf_counter()

        ends: list[float] = []
        x = [features(rows) for rows in sentences]
        y = [[row[-1] for row in rows] for rows in sentences]
        trainer = Trainer(algorithm="ap", params={"max_iterations": passes}, verbose=False)
        for xseq, yseq in zip(x, y, strict=True):
            trainer.append(xseq, yseq)
        trainer.train(str(model))
        log = [iteration["time"] for iteration in trainer.logparser.iterations]
        return {"log": log, "wall": [b - a for a, b in pairwise(ends)]}

    def __init__(self, model: str | Path):
        import pycrfsuite

        self.tagger = pycrfsuite.Tagger()
        self.tagger.open(str(model))

    def predict(self, sentences: list[Rows]) -> list[list[str]]:
        return [self.tagger.tag(features(rows)) for rows in sentences]


class Nltk:
    """NLTK's PerceptronTagger: greedy, with features of its own that cannot be changed."""

    def __init__(self, seed: int = 1):
        from nltk.tag.perceptron import PerceptronTagger

        random.seed(seed)
        self.tagger: Any = PerceptronTagger(load=False)

    def train(self, sentences: list[list[tuple[str, str]]], passes: int) -> None:
        self.tagger.train(sentences, nr_iter=passes)

    def predict(self, sentences: list[list[str]]) -> list[list[str]]:
        return [[tag for _, tag in self.tagger.tag(words)] for words in sentences]


class Udpipe:
    """UDPipe 1's parser (Parsito): a transition system as ours, scored by a small neural network, with beam search.

    Its speed is measured, not its scores: so it goes through the data once, with the static oracle. It must see all of
    them nevertheless: a model of 50 sentences was measured to parse up to twice as fast as one of 1000.
    """

    name: ClassVar[str] = "UDPipe"
    options: ClassVar[str] = "iterations=1;embedding_xpostag=20;transition_oracle=static;structured_interval=0"

    @staticmethod
    def read(path: str | Path, most: int | None = None) -> Any:
        """The sentences of a CoNLL-U file in UDPipe's own form."""
        from ufal import udpipe

        reader, error, found = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError(), udpipe.Sentences()
        reader.setText("".join(_lines(path)))
        sentence = udpipe.Sentence()
        while (most is None or len(found) < most) and reader.nextSentence(sentence, error):
            found.append(sentence)
            sentence = udpipe.Sentence()
        if error.occurred():
            raise ValueError(f"{path}: {error.message}")
        return found

    @classmethod
    def train(cls, train: str | Path, model: str | Path, sentences: int | None) -> None:
        from ufal import udpipe

        error, none = udpipe.ProcessingError(), udpipe.Trainer.NONE
        data = (cls.read(train, sentences), udpipe.Sentences())
        found = udpipe.Trainer.train("morphodita_parsito", *data, none, none, cls.options, error)
        if error.occurred():
            raise ValueError(f"{train}: {error.message}")
        Path(model).write_bytes(found)

    @classmethod
    def train_all(cls, train: str | Path, dev: str | Path, model: str | Path, sentences: int | None) -> None:
        """Tokenizer, tagger, lemmatizer and parser with UDPipe's defaults."""
        from ufal import udpipe

        error, data = udpipe.ProcessingError(), [cls.read(path, sentences) for path in (train, dev)]
        found = udpipe.Trainer.train("morphodita_parsito", *data, "", "", "", error)
        if error.occurred():
            raise ValueError(f"{train}: {error.message}")
        Path(model).write_bytes(found)

    def annotate(self, texts: list[str]) -> list[str]:
        """From raw text to CoNLL-U, which is how its users get at the result."""
        from ufal import udpipe

        pipeline, error = udpipe.Pipeline(self.model, "tokenize", "", "", "conllu"), udpipe.ProcessingError()
        found = [pipeline.process(text, error) for text in texts]
        if error.occurred():
            raise ValueError(error.message)
        return found

    def __init__(self, model: str | Path):
        from ufal import udpipe

        self.model = udpipe.Model.load(str(model))

    def parse(self, sentences: Any, beam: int) -> int:
        """Parse sentences where they stand; returns the number of words (the root is none)."""
        option, words = f"beam_search={beam}", 0
        for sentence in sentences:
            self.model.parse(sentence, option)
            words += len(sentence.words) - 1
        return words
