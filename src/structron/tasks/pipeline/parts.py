"""The parts of a pipeline: what each reads of a word, what it writes, and the settings that it is trained with.

    tokenizer → splitter → tagger → morphology → lemmatizer → parser, or several that vote
                                                           └→ entities

Every part is an estimator of its own. A part sees words as rows of the columns it reads; what it writes goes into the
words, and the next part reads it there. Settings were chosen on development data of several languages.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from structron.features.wordtable import WordTable
from structron.io.columns import EMPTY
from structron.io.doc import Doc
from structron.tasks.scripts import BETWEEN_WORDS
from structron.text.analysis import Sentence, Word
from structron.text.sentences import Document
from structron.text.trees import is_projective

VOTES = {"parser": 1.1, "parser-backward": 0.6, "parser-graph": 1.0}
"""Parsers, and what the vote of each counts: from left to right, from right to left, and by a search over all trees."""
PARTS = ("tokenizer", "splitter", "tagger", "morphology", "lemmatizer", *VOTES, "entities")
"""In the order in which they work."""
KINDS = {
    "tokenizer": ("tokenizer",),
    "splitter": ("splitter",),
    "tagger": ("tagger",),
    "morphology": ("tagger",),
    "lemmatizer": ("lemmatizer",),
    "parser": ("parser", "graph-parser"),
    "parser-backward": ("parser",),
    "parser-graph": ("graph-parser",),
    "entities": ("entities",),
}
"""The tasks that a part can be, the usual one first; their classes are imported when they are needed."""
TAGS = ("upos", "xpos")
TABLES = {"clusters": ("tagger", "morphology", *VOTES, "entities"), "lexicon": ("tagger", "morphology", "lemmatizer")}
"""Parts that look at word clusters, and those that look at a user's lexicon."""
COLUMNS_OF = {"tagger": TAGS, "morphology": ("feats",), "lemmatizer": ("lemma",)}
"""What nobody writes where a part is left out."""
WRITES = {
    "tokenizer": set[str](),
    "splitter": {"words"},
    "tagger": {*TAGS},
    "morphology": {*TAGS, "feats"},
    "lemmatizer": {"lemma"},
    **{name: {"head", "deprel"} for name in VOTES},
    "entities": {"entity"},
}
SMALL_TREEBANK = 20_000
"""Words from which on a parser can do without its small weights: those of little data are all small."""
PRUNE = 0.3
"""A parser's weights of at most this size are small."""
CROSSING = 0.1
"""Share of sentences with crossing arcs from which on the search over all trees finds them too."""
MANY_TAGS = 150
"""Pairs of UPOS and XPOS that one tagger learns; where there are more, it learns UPOS, and the morphology chooses among
triples of UPOS, XPOS and features, so that they agree."""
BETWEEN = " "
"""Stands between columns that are learned as one label, which is split there (search/chain/choices.py); no column of
CoNLL-U but the form and lemma may have it."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a part reads of a word and writes to it, and its settings."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The columns of its rows, the label last."""
        return [*self.reads, "+".join(self.writes)]

    def rows(self, sentence: Sentence) -> list[tuple[str, ...]]:
        """A sentence to be analysed."""
        return rows_of(sentence.words, self.reads)

    def gold(self, sentence: Sentence) -> list[tuple[str, ...]]:
        """A sentence to be learned from."""
        words = sentence.words
        read, labels = rows_of(words, self.reads), rows_of(words, self.writes)
        return [(*row, BETWEEN.join(label)) for row, label in zip(read, labels, strict=True)]


def rows_of(words: Iterable[Word], names: Sequence[str]) -> list[tuple[str, ...]]:
    """Some columns of words."""
    get: Any = attrgetter(*names)
    return [(get(word),) for word in words] if len(names) == 1 else list(map(get, words))


def split_rows(sentence: Sentence, labelled: bool) -> list[tuple[str, ...]]:
    """The tokens of a sentence as the splitter reads them, with their words if those are to be learned."""
    if not labelled:
        return [(token.form,) for token in sentence.tokens]
    return [(token.form, BETWEEN_WORDS.join([word.form for word in token.words])) for token in sentence.tokens]


def tree_rows(part: Part, sentence: Sentence) -> list[tuple[str, ...]]:
    """The words of a sentence with heads and relations."""
    words = sentence.words
    trees = [(EMPTY if word.head is None else str(word.head), word.deprel) for word in words]
    return [(*row, *tree) for row, tree in zip(rows_of(words, part.reads), trees, strict=True)]


def entity_rows(part: Part, doc: Doc, labelled: bool) -> Document:
    """A document as the recogniser of entities reads it."""
    found = Document()
    for sentence in doc.sentences:
        rows = part.rows(sentence)
        if labelled:
            labels = ["O"] * len(rows)
            for entity in sentence.entities:
                labels[entity.first : entity.last] = [f"I-{entity.label}"] * (entity.last - entity.first)
                labels[entity.first] = f"B-{entity.label}"
            rows = [(*row, label) for row, label in zip(rows, labels, strict=True)]
        found.append(rows)
    return found


# -- what training data have -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contents:
    """Which columns of a treebank say something."""

    tokens: bool
    multiword: bool
    filled: frozenset[str]
    heads: bool
    entities: bool
    tags: int  # pairs of UPOS and XPOS
    spaces: bool  # whether it says where there is no space
    words: int
    crossing: float  # the share of sentences with crossing arcs

    @classmethod
    def of(cls, docs: Sequence[Doc]) -> "Contents":
        """Look at training data."""
        words = [word for doc in docs for word in doc.words]
        tokens = [token for doc in docs for token in doc.tokens]
        columns = ("lemma", "upos", "xpos", "feats")
        heads = bool(words) and all(word.head is not None for word in words)
        return cls(
            bool(tokens),
            any(len(token.words) > 1 for token in tokens),
            frozenset(name for name in columns if any(getattr(word, name) != EMPTY for word in words)),
            heads,
            any(doc.entities for doc in docs),
            len({(word.upos, word.xpos) for word in words}),
            any(not token.spaces_after for token in tokens[:-1]),
            len(words),
            _crossing([sentence for doc in docs for sentence in doc.sentences]) if heads else 0.0,
        )

    def has(self, name: str, part: "Part") -> bool:
        """Whether they say what a part writes."""
        known = dict.fromkeys(VOTES, self.heads) | {"entities": self.entities}
        return known.get(name, self.filled.issuperset(part.writes) or name == "splitter")

    def missing(self, without: Iterable[str]) -> list[str]:
        """What a user should know that they lack, but for what was not asked for."""
        named = {"upos": "tagger", "xpos": "tagger", "feats": "morphology", "lemma": "lemmatizer"}
        found = [
            f"no {name.upper()} in the training data: not trained"
            for name, part in named.items()
            if name not in self.filled and part not in without
        ]
        if "parser" in without:
            pass
        elif not self.heads:
            found.append("no heads in the training data: no parser")
        elif "tagger" in without or self.filled.isdisjoint(TAGS):
            found.append("no tags for the parser to read: no parser")
        if not self.spaces and "tokenizer" not in without:
            found.append("no SpaceAfter=No in the training data: tokens are assumed to be separated by spaces")
        return found


def _crossing(sentences: Sequence[Sentence]) -> float:
    """The share of sentences with crossing arcs."""
    trees = [[word.head or 0 for word in sentence.words] for sentence in sentences]
    return sum(not is_projective(tree) for tree in trees) / len(trees)


def check_part(name: str, part: Part, estimator: Any) -> None:
    """Refuse a part of a file that does not read and write words as its estimator does."""
    reads, writes = {"form", "lemma", *TAGS, "feats"}, WRITES[name]
    fits = set(part.reads) <= reads and set(part.writes) <= writes and bool(part.writes) is bool(writes)
    if name != "tokenizer":
        fits = fits and len(estimator.roles_.inputs) == len(part.reads) > 0
    if name in ("tagger", "morphology") and len(part.writes) > 1:
        fits = fits and all(label.count(BETWEEN) + 1 == len(part.writes) for label in estimator.model_.labels)
    if not fits:
        raise ValueError(f"columns of the {name} do not fit")


def make_parts(
    contents: Contents,
    without: Iterable[str],
    tables: Mapping[str, WordTable] = MappingProxyType({}),
    best: bool = False,
    gazetteers: Mapping[str, Any] | None = None,
) -> dict[str, Part]:
    """The parts that can be learned, but for some; settings are those of estimators. tables: of words. best: with
    several parsers. gazetteers: for entities.

    A part reads what parts before it write: nothing else is there when text is analysed.
    """
    without, found = set(without), {}
    without |= {name for name in VOTES if "parser" in without or (not best and name != "parser")}
    filled = contents.filled - {name for part in without for name in COLUMNS_OF.get(part, ())}
    found["tokenizer"] = Part((), ())
    if contents.multiword:
        found["splitter"] = Part(("form",), ("words",), {"passes": 12, "runs": 4})
    tags = [name for name in TAGS if name in filled]
    rest = ["feats"] if "feats" in filled else []
    if len(tags) == 2 and contents.tags > MANY_TAGS:
        tags, rest = ["upos"], [*TAGS, *rest]
    if tags:
        found["tagger"] = Part(("form",), tuple(tags), {"passes": 8, "runs": 4, "among": "all", "closed_classes": True})
    if rest:
        reads = ("form", *tags)
        found["morphology"] = Part(reads, tuple(rest), {"passes": 3, "runs": 4, "among": "seen", "given": tags})
    known = list(dict.fromkeys([*tags, *rest]))
    if "lemma" in filled:
        found["lemmatizer"] = Part(("form", *known), ("lemma",), {"passes": 3, "runs": 4, "rare": 50, "letters": True})
    if contents.heads and tags:
        learning = {"passes": 6, "runs": 4}
        prune = PRUNE if contents.words >= SMALL_TREEBANK else 0.0
        reads = ("form", *known, *(["lemma"] if "lemma" in filled else []))
        settings = {"pos": tags[-1], "prune": prune, **learning}
        graph = {"task": "graph-parser", "pos": tags[-1], "projective": contents.crossing < CROSSING}
        special = {"parser": settings, "parser-backward": {**settings, "right_to_left": True}, "parser-graph": graph}
        found |= {name: Part(reads, ("head", "deprel"), own) for name, own in special.items()}
    if contents.entities:
        found["entities"] = Part(("form", *tags[-1:]), ("entity",), {"passes": 10, "runs": 4, "test_candidates": 40})
        if gazetteers:
            found["entities"].settings["gazetteers"] = gazetteers
    for kind, table in tables.items():
        for name in found.keys() & TABLES[kind]:
            found[name].settings[kind] = table
    return {name: part for name, part in found.items() if name not in without}
