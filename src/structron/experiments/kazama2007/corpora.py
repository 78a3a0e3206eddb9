"""Kazama & Torisawa (2007): corpora as documents of rows that end in an IOB2 label.

English has the tags of the same sentences in its treebank, and a column for each gazetteer. Where the treebank has
other tokens (20 sentences), or is not there, the tag is "_"; without lists there are no such columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from structron.data.corpora import find
from structron.errors import StructronError
from structron.experiments.frame import SPLITS
from structron.features.gazetteer import Gazetteer
from structron.features.templates import load_templates
from structron.io import read
from structron.tasks.chain.labeler import Tagger
from structron.text.schemes import convert, detect
from structron.text.sentences import Document, sentences_of

CONLL2003, ENGLISH, SHUFFLED = "conll2003", "uner-english-ewt", "conll2002-dutch"
"""SHUFFLED: its documents have their sentences in another order, so that joining them says nothing."""
CONLL2003_FILES = ("eng.train", "eng.testa", "eng.testb")
PLACES = {
    SHUFFLED: {"word": 0, "pos": 1, "label": 2},
    ENGLISH: {"word": 1, "label": 2},
    CONLL2003: {"word": 0, "pos": 1, "chunk": 2, "label": 3},
}
"""The columns of each corpus that are used, and where they stand in its files."""
TREEBANK, TAG, NO_TAG = "ud-english-ewt", 4, "_"
"""Where English has its tags from: the XPOS column."""
LISTS = "gazetteers-nltk"
GAZETTEERS = {
    "gp": ("names/female", "names/male"),
    "gl": tuple(
        f"gazetteers/{name}"
        for name in ("countries", "usstates", "uscities", "usstateabbrev", "caprovinces", "mexstates")
    ),
    "gm": ("gazetteers/nationalities",),
}
"""For PER, LOC and MISC. The paper has lists for ORG, PER and MISC."""
LIKE_TAGS = ("chunk", *GAZETTEERS)
"""Columns with the features that Table 1 gives to parts of speech."""
GIVEN, AUTOMATIC = "given", "automatic"
"""Tags as they are, or those of a tagger of ours."""
FOLDS = 5
TAGGER: dict[str, Any] = {"order": 1, "runs": 1, "passes": 2}


@dataclass(frozen=True, slots=True)
class EntityCorpus:
    """The three parts of a corpus, sentence by sentence in documents."""

    name: str
    columns: tuple[str, ...]
    train: list[Document]
    dev: list[Document]
    test: list[Document]

    @classmethod
    def load(cls, data: Path, name: str, documents: int | None = None, tags: str = GIVEN) -> "EntityCorpus":
        """Read it, once in a process; `documents`: so many of each part at most."""
        return _load(data, name, documents, tags)

    def joined(self) -> "EntityCorpus":
        """The same with the sentences of every document as one: windows and pairs of labels reach across their ends."""
        parts = ([Document([[row for line in one for row in line]]) for one in own] for own in self.parts())
        return EntityCorpus(self.name, self.columns, *parts)

    def parts(self) -> tuple[list[Document], ...]:
        return self.train, self.dev, self.test

    def labels(self) -> list[str]:
        """Those of the training part, in order."""
        return sorted({label for labels in gold_of(self.train) for label in labels})

    def counts(self) -> dict[str, int]:
        """How many documents the parts have."""
        return {split: len(getattr(self, split)) for split in SPLITS}


@cache
def _load(data: Path, name: str, documents: int | None, tags: str) -> EntityCorpus:
    files, columns, places = corpus_files(data, name), tuple(PLACES[name]), list(PLACES[name].values())
    if name == ENGLISH:
        lists = load_gazetteers(data)
        columns = ("word", "pos", *lists, "label")
        parts = [list(english(data, file, split, lists))[:documents] for file, split in zip(files, SPLITS, strict=True)]
    else:
        parts = [read_documents(path, places)[:documents] for path in files]
    scheme = detect(gold_of(parts[0]))
    if scheme is None:
        raise StructronError(f"{files[0]}: the labels are not entities; expected IOB1, IOB2 or IOBES labels")
    for sentence in (line for part in parts for line in sentences_of(part) if scheme != "iob2"):
        for row, label in zip(sentence, convert([row[-1] for row in sentence], scheme, "iob2"), strict=True):
            row[-1] = label
    corpus = EntityCorpus(name, columns, *parts)
    return corpus if tags == GIVEN else retagged(corpus)


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


# -- English: tags and gazetteers ----------------------------------------------------------------------------------


def english(data: Path, file: Path, split: str, lists: Mapping[str, Gazetteer]) -> Iterator[Document]:
    """Documents with the tags of the treebank and a column for each gazetteer between word and label."""
    tags = treebank_tags(data, split)
    names = iter([sentence_id(sentence) for sentence in read(file)])
    for document in read_documents(file, list(PLACES[ENGLISH].values())):
        rich = Document()
        for sentence in document:
            words = [word for word, _ in sentence]
            own, known = tags.get(next(names), ([], []))
            columns = [known if own == words else [NO_TAG] * len(words), *(g.match(words) for g in lists.values())]
            rich.append([[word, *more, label] for (word, label), *more in zip(sentence, *columns, strict=True)])
        yield rich


def sentence_id(sentence: Any) -> str:
    found = (line.partition("=") for line in sentence.lines if line.startswith("# sent_id"))
    return next((value.strip() for _, _, value in found), "")


def treebank_tags(data: Path, split: str) -> dict[str, tuple[list[str], list[str]]]:
    """The words and tags of a split of the treebank by sentence; none if it is not there."""
    try:
        path = find(data, TREEBANK, split)
    except StructronError:
        return {}
    return {sentence_id(one): ([r[1] for r in one.rows], [r[TAG] for r in one.rows]) for one in read(path)}


def load_gazetteers(data: Path) -> dict[str, Gazetteer]:
    """Those of the lists that are there."""
    files = {name: [data / LISTS / f"{file}.txt" for file in own] for name, own in GAZETTEERS.items()}
    found = {name: [file for file in own if file.is_file()] for name, own in files.items()}
    return {name: Gazetteer.from_files(name, own) for name, own in found.items() if own}


def folds(documents: Sequence[Document], number: int = FOLDS) -> list[tuple[list[Document], list[Document]]]:
    """(all but a fold, the fold) for each of so many folds."""
    cuts = [round(len(documents) * k / number) for k in range(number + 1)]
    return [([*documents[:lo], *documents[hi:]], list(documents[lo:hi])) for lo, hi in pairwise(cuts)]


def retagged(corpus: EntityCorpus) -> EntityCorpus:
    """The same with the tags of a tagger of its training part, there of the other four fifths. Where no tag is known,
    all stay."""
    place = corpus.columns.index("pos")
    if {row[place] for sentence in sentences_of(corpus.train) for row in sentence} == {NO_TAG}:
        return corpus

    def tag(learn: Sequence[Document], documents: Sequence[Document]) -> Iterator[Document]:
        tagger = Tagger(columns=("word", "pos"), jobs=1, **TAGGER)
        tagger.fit([[[row[0], row[place]] for row in sentence] for sentence in sentences_of(learn)])
        for document in documents:
            tags = tagger.predict([[[row[0], NO_TAG] for row in sentence] for sentence in document])
            pairs = [zip(sentence, own, strict=True) for sentence, own in zip(document, tags, strict=True)]
            yield Document([[[*row[:place], tag, *row[place + 1 :]] for row, tag in pair] for pair in pairs])

    train = [document for rest, part in folds(corpus.train) for document in tag(rest, part)]
    return EntityCorpus(
        corpus.name, corpus.columns, train, *(list(tag(corpus.train, p)) for p in (corpus.dev, corpus.test))
    )


# -- what is there -------------------------------------------------------------------------------------------------


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
    """The paper's Table 1 for these columns; chunk tags and gazetteers have the same features as parts of speech."""
    texts = [str(template) for template in load_templates("kazama")]
    of_tags = [text for text in texts if text.startswith("pos[")]
    more = [text.replace("pos[", f"{name}[") for name in LIKE_TAGS if name in columns for text in of_tags]
    return [text for text in texts if "pos" in columns or text not in of_tags] + more
