"""A component for spaCy: tags, features, lemmas, trees and entities of a pipeline for spaCy's own tokens.

    nlp = spacy.blank("en")
    nlp.add_pipe("structron", config={"model": "english"})

spaCy's tokens are the words. White space becomes a token that depends on the previous word, as in spaCy. Columns of
CoNLL-U become spaCy's attributes as in `spacy convert`.
"""

import json
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from structron.errors import StructronError, unknown
from structron.io.doc import Doc as Analysis
from structron.runtime.threads import uncollected
from structron.tasks.registry import bundled, load
from structron.text.analysis import Word

try:
    from spacy import util
    from spacy.language import Language
    from spacy.parts_of_speech import IDS as PARTS_OF_SPEECH
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc, Span
except ImportError as error:
    raise ImportError("structron.spacy needs spaCy: pip install 'structron[spacy]'") from error

SENTENCES = ("structron", "keep")
COLUMNS = {"TAG": ("upos", "xpos"), "POS": ("upos",), "MORPH": ("feats",), "LEMMA": ("lemma",)}
"""spaCy's attributes, and the columns of CoNLL-U that they are made of."""
ROOT, LOOSE, SPACE_TAG = "ROOT", "dep", "_SP"
NOTHING = "_"
ENGLISH = "english"
"""The bundled model of English."""
UNIVERSAL = frozenset({"obj", "obl", "nmod", "case", "iobj", "cop", "flat", "nsubj:pass"})
"""Relations by which trees of Universal Dependencies can be told from those of spaCy's own parsers."""
BEFORE_NOUN = frozenset({"det", "amod", "nummod", "compound", "nmod:poss", "flat", "goeswith"})
AFTER_NOUN = frozenset({"flat", "compound", "fixed", "goeswith"})
"""Relations of what stands directly before and after a noun and belongs to its chunk."""
INSIDE_NAME = frozenset({"flat", "compound", "fixed", "goeswith", "det", "amod", "nmod:poss", "case", "mark", "cc"})
"""Relations of words that are part of another chunk, or of none."""
FILE, SETTINGS = "model.structron", "cfg"


class SentenceBounds(NamedTuple):
    """A spaCy document cut into sentences (first token, the one after the last), and those with words in them."""

    bounds: list[tuple[int, int]]
    words: list[list[int]]  # the tokens of a sentence that are no white space


class Component(Pipe):
    """Annotates spaCy documents with a structron pipeline, which is loaded on first use or comes with a saved
    component.

    Args:
        name: The name of the component.
        model: A pipeline file, or the name of a bundled model.
        sentences: "structron": find sentences with the model's tokenizer; "keep": use those set by an earlier
            component; None: keep them if there are any, otherwise find them.
        overwrite: None: overwrite annotations except entities; True: entities too; False: fill only what is empty.
        fast: A narrower beam for the parser; None: the model's setting.
        jobs: Number of threads; None: the model's setting.

    Examples:
        >>> import spacy
        >>> nlp = spacy.blank("en")
        >>> component = nlp.add_pipe("structron")
        >>> [(token.text, token.pos_) for token in nlp("He flew to Paris.")]
        [('He', 'PRON'), ('flew', 'VERB'), ('to', 'ADP'), ('Paris', 'PROPN'), ('.', 'PUNCT')]
    """

    def __init__(
        self,
        name: str = "structron",
        model: str = "english",
        *,
        overwrite: bool | None = None,
        sentences: str | None = None,
        fast: bool | None = None,
        jobs: int | None = None,
    ):
        if sentences is not None and sentences not in SENTENCES:
            raise unknown("sentences", sentences, SENTENCES)
        if jobs is not None and jobs < 1:
            raise StructronError(f"jobs: {jobs}; expected at least 1")
        self.name, self.model = name, model
        self.overwrite, self.sentences, self.fast, self.jobs = overwrite, sentences, fast, jobs
        self._pipeline: Any = None

    @property
    def pipeline(self) -> Any:
        """The structron.Pipeline."""
        if self._pipeline is None:
            if self.model not in bundled() and not Path(self.model).exists():
                expected = ", ".join(["a model file", *bundled()])
                raise StructronError(f"unknown model {self.model!r}; expected one of: {expected}")
            self._load_state(self.model)
        return self._pipeline

    def _load_state(self, path: str | Path) -> None:
        self._pipeline = load(path, task="pipeline")
        if self.fast is not None:
            self._pipeline.set_params(fast=self.fast)

    def initialize(self, get_examples: Any = None, *, nlp: Any = None) -> None:
        """Load the model; spaCy does not train it."""
        self._pipeline = self.pipeline

    # -- annotating ------------------------------------------------------------------------------------------------

    def __call__(self, doc: Doc) -> Doc:
        """Annotate a document."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate documents in batches. If a batch fails, its documents are annotated one by one for spaCy's error
        handler.

        Args:
            stream: The documents.
            batch_size: Documents in a batch.
        """
        for batch in util.minibatch(stream, batch_size):
            docs = list(batch)
            try:
                self._annotate(docs)
            except Exception:
                yield from super().pipe(docs)
            else:
                yield from docs

    def _annotate(self, docs: Sequence[Doc]) -> None:
        cuts = [_cut(doc, starts) for doc, starts in zip(docs, self._starts(docs), strict=True)]
        found = [_unannotated(doc, cut) for doc, cut in zip(docs, cuts, strict=True)]
        with uncollected():
            self.pipeline.annotate([own for own in found if own.sentences], known="tokens", jobs=self.jobs)
        trained = self.pipeline.model_.trained
        written = {column for part in self.pipeline.parts_.values() for column in part.writes}
        for doc, own, cut in zip(docs, found, cuts, strict=True):
            self._write_columns(doc, own, cut, written)
            if not self._tree_stays(doc):
                _write_sentences(doc, own, cut, "parser" in trained)
            if "entities" in trained:
                self._write_entities(doc, own, cut)

    def _tree_stays(self, doc: Doc) -> bool:
        """Whether a document has a tree already, which nothing here replaces; its sentences stay with it."""
        replaced = "parser" in self.pipeline.model_.trained and self.overwrite is not False
        return not replaced and doc.has_annotation("DEP")

    def _starts(self, docs: Sequence[Doc]) -> list[set[int]]:
        """The tokens of each document that begin a sentence."""
        kept = [self._keeps(doc) for doc in docs]
        rest = [doc.text for doc, keep in zip(docs, kept, strict=True) if not keep]
        found = iter(self._find_sentences(rest))
        return [
            {sentence.start for sentence in doc.sents} if keep else _matched(doc, next(found))
            for doc, keep in zip(docs, kept, strict=True)
        ]

    def _keeps(self, doc: Doc) -> bool:
        """Whether a document's own sentences are taken."""
        known = doc.has_annotation("SENT_START")
        if self.sentences == "keep" and not known:
            expected = "an earlier component that sets them (sentencizer), or another value of sentences"
            raise StructronError(f"{self.name}: no sentence starts to keep; expected {expected}")
        return self._tree_stays(doc) or (known and self.sentences != "structron")

    def _find_sentences(self, texts: list[str]) -> list[list[int]]:
        """Where sentences begin in texts."""
        if not texts:
            return []
        tokenizer = self.pipeline.model_.trained.get("tokenizer")
        if tokenizer is None:
            raise StructronError(
                f"{self.name}: the model has no tokenizer; expected sentence starts set by an earlier component"
            )
        return [[sentence.start for sentence in doc.sentences] for doc in tokenizer.predict(texts, jobs=self.jobs)]

    def _write_columns(self, doc: Doc, own: Analysis, cut: SentenceBounds, written: set[str]) -> None:
        names = [name for name, columns in COLUMNS.items() if not written.isdisjoint(columns)]
        if not names or not len(doc):
            return
        words: list[Word | None] = [None] * len(doc)
        for place, word in zip((i for row in cut.words for i in row), own.words, strict=True):
            words[place] = word
        make = {"TAG": _tag, "POS": _part_of_speech, "MORPH": _features, "LEMMA": _lemma}
        values = [[make[name](doc, k, word) for k, word in enumerate(words)] for name in names]
        new = np.array(values, np.uint64).T
        if self.overwrite is False:
            old = np.stack([doc.to_array([name]) for name in names], axis=-1).reshape(new.shape)
            new = np.where(old == 0, new, old)
        _set(doc, names, new)

    def _write_entities(self, doc: Doc, own: Analysis, cut: SentenceBounds) -> None:
        taken = set() if self.overwrite else {token.i for token in doc if token.ent_iob_ in ("B", "I")}
        spans = [
            Span(doc, row[entity.first], row[entity.last - 1] + 1, entity.label)
            for row, sentence in zip(cut.words, own.sentences, strict=True)
            for entity in sentence.entities
        ]
        free = [span for span in spans if taken.isdisjoint(range(span.start, span.end))]
        doc.set_ents(free, default="unmodified" if taken else "outside")

    # -- files -----------------------------------------------------------------------------------------------------

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write a folder with the settings and the model itself."""
        writers = {
            SETTINGS: lambda p: Path(p).write_bytes(self._settings()),
            FILE: lambda p: self.pipeline.save(p),
        }
        util.to_disk(path, writers, list(exclude))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "Component":
        """Read the settings and the model from a folder."""
        readers = {SETTINGS: lambda p: self._take_settings(Path(p).read_bytes()), FILE: self._load_state}
        util.from_disk(path, readers, list(exclude))
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """What `to_disk` writes, as bytes."""
        return util.to_bytes({SETTINGS: self._settings, FILE: self._model_bytes}, list(exclude))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "Component":
        """Take the model from what `to_bytes` gave."""
        util.from_bytes(data, {SETTINGS: self._take_settings, FILE: self._take_bytes}, list(exclude))
        return self

    def _settings(self) -> bytes:
        return json.dumps({"model": self.model}).encode()

    def _take_settings(self, data: bytes) -> None:
        self.model = json.loads(data)["model"]

    def _model_bytes(self) -> bytes:
        with TemporaryDirectory() as folder:
            path = Path(folder) / FILE
            self.pipeline.save(path)
            return path.read_bytes()

    def _take_bytes(self, data: bytes) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / FILE
            path.write_bytes(data)
            self._load_state(path)


# -- from spaCy's documents --------------------------------------------------------------------------------------------


def _matched(doc: Doc, starts: list[int]) -> set[int]:
    """The words in which a sentence starts, or which follow the white space where one does."""
    found, ends = [], 0
    for token in doc:
        if ends < len(starts) and starts[ends] < token.idx + len(token) and not token.is_space:
            found.append(token.i)
            ends = bisect_left(starts, token.idx + len(token))
    return {0, *found[1:]}


def _cut(doc: Doc, starts: set[int]) -> SentenceBounds:
    bounds = list(pairwise([*sorted(starts), len(doc)]))
    words = [[k for k in range(lo, hi) if not doc[k].is_space] for lo, hi in bounds]
    return SentenceBounds(bounds, [row for row in words if row])


def _unannotated(doc: Doc, cut: SentenceBounds) -> Analysis:
    places = [(token.idx, token.idx + len(token)) for token in doc]
    return Analysis.from_spans(doc.text, [[places[k] for k in row] for row in cut.words])


# -- to spaCy's documents: values of attributes; no word is white space -----------------------------------------------


def _set(doc: Any, names: list[str], values: np.ndarray) -> None:
    doc.from_array(names, values)


def _tag(doc: Doc, place: int, word: Word | None) -> int:
    if word is None:
        return doc.vocab.strings.add(SPACE_TAG)
    tag = word.upos if word.xpos == NOTHING else word.xpos
    return 0 if tag == NOTHING else doc.vocab.strings.add(tag)


def _part_of_speech(doc: Doc, place: int, word: Word | None) -> int:
    if word is None:
        return PARTS_OF_SPEECH["SPACE"]
    return PARTS_OF_SPEECH["" if word.upos == NOTHING else word.upos if word.upos in PARTS_OF_SPEECH else "X"]


def _features(doc: Doc, place: int, word: Word | None) -> int:
    known = [] if word is None else [feature for feature in word.feats.split("|") if feature.count("=") == 1]
    return doc.vocab.morphology.add("|".join(known))


def _lemma(doc: Doc, place: int, word: Word | None) -> int:
    if word is None:
        return doc[place].orth
    return 0 if word.lemma == NOTHING != word.form else doc.vocab.strings.add(word.lemma)


def _write_sentences(doc: Doc, own: Analysis, cut: SentenceBounds, parsed: bool) -> None:
    """Set where sentences start; with trees where there are some."""
    if not len(doc):
        return
    if parsed:
        heads, relations = _tree(doc, own, cut)
        offsets = heads - np.arange(len(doc))
        _set(doc, ["HEAD", "DEP"], np.stack([offsets.astype(np.uint64), relations], axis=1))
    starts = np.full(len(doc), -1)
    starts[[lo for lo, _ in cut.bounds]] = 1
    _set(doc, ["SENT_START"], starts.astype(np.uint64))


def _tree(doc: Doc, own: Analysis, cut: SentenceBounds) -> tuple[np.ndarray, np.ndarray]:
    """The head of each token (its own place: a root) and its relation; one root for every sentence."""
    add = doc.vocab.strings.add
    heads, relations = np.arange(len(doc)), np.full(len(doc), add(LOOSE), np.uint64)
    rows = {row[0]: (row, sentence.words) for row, sentence in zip(cut.words, own.sentences, strict=True)}
    for lo, hi in cut.bounds:
        first = next((k for k in range(lo, hi) if k in rows), lo)
        row, words = rows.get(first, ([], []))
        root = next((k for k, word in zip(row, words, strict=True) if not word.head), first)
        for k, word in zip(row, words, strict=True):
            heads[k] = row[word.head - 1] if word.head else root
            if word.head and word.deprel != NOTHING:
                relations[k] = add(word.deprel)
        relations[root] = add(ROOT)
        before = first
        for k in range(lo, hi):
            if doc[k].is_space:
                heads[k] = before
            else:
                before = k
    return heads, relations


# -- the name that spaCy knows -----------------------------------------------------------------------------------------


class NounChunks:
    """What `doc.noun_chunks` calls: reads trees of Universal Dependencies; others are left to spaCy's own function."""

    def __init__(self, own: Any):
        self.own: Any = own.own if isinstance(own, NounChunks) else own

    def __call__(self, doclike: Doc | Span) -> Any:
        if self.own is None or any(token.dep_ in UNIVERSAL for token in doclike.doc):
            return universal_noun_chunks(doclike)
        return self.own(doclike)


def universal_noun_chunks(doclike: Doc | Span) -> Iterator[tuple[int, int, int]]:
    """The base noun phrases of a tree of Universal Dependencies: first token, the one after the last, and the label.

    A noun with determiners, adjectives, numbers, possessors and other nouns directly before it, and the rest of a name.
    """
    doc, last = doclike.doc, -1
    if not doc.has_annotation("DEP"):
        raise ValueError("noun chunks need a tree; expected a pipeline with a parser")
    label = doc.vocab.strings.add("NP")
    for word in doclike:
        if word.pos_ not in ("NOUN", "PROPN", "PRON") or _relation(word) in INSIDE_NAME or word.i <= last:
            continue
        begin, end = word.i, word.i + 1
        for child in reversed(list(word.lefts)):
            if _relation(child) not in BEFORE_NOUN or child.right_edge.i + 1 != begin:
                break
            begin = child.left_edge.i
        for child in word.rights:
            if _relation(child) not in AFTER_NOUN or child.left_edge.i != end:
                break
            end = child.right_edge.i + 1
        if begin > last:
            last = end - 1
            yield begin, end, label


def _relation(token: Any) -> str:
    """Without a subtype, but for possessors."""
    return token.dep_ if token.dep_ == "nmod:poss" else token.dep_.partition(":")[0]


def make_component(
    nlp: Language,
    name: str,
    model: str,
    overwrite: bool | None,
    sentences: str | None,
    fast: bool | None,
    jobs: int | None,
) -> Component:
    """What `nlp.add_pipe("structron", config=…)` calls."""
    if model == ENGLISH and nlp.lang not in ("en", "xx"):
        expected = "expected a model of this language (structron train pipeline)"
        warnings.warn(
            f"model {model!r} is for English, and the language of the pipeline is {nlp.lang!r}; {expected}",
            stacklevel=2,
        )
    nlp.vocab.get_noun_chunks = NounChunks(nlp.vocab.get_noun_chunks)
    return Component(name, model, overwrite=overwrite, sentences=sentences, fast=fast, jobs=jobs)


Language.factory(
    "structron",
    default_config={"model": "english", "overwrite": None, "sentences": None, "fast": None, "jobs": None},
    assigns=[
        *("token.tag", "token.pos", "token.morph", "token.lemma", "token.head", "token.dep", "token.is_sent_start"),
        *("doc.sents", "doc.ents", "token.ent_iob", "token.ent_type"),
    ],
    func=make_component,
)
