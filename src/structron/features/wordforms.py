"""Lexicons that users have: for each form its lemmas, parts of speech and features, as atoms of templates.

    lex         the parts of speech that a form has: NOUN|VERB
    lex_xpos    its language's own tags: NN|VB            lex_feats   its features, with all their values: Case=Acc,Nom

A file has lines `form⇥lemma⇥UPOS⇥XPOS⇥FEATS`, of which the last two may be missing; `_` is what it does not know, but
features that are `_` are none. A form is looked up as it is written and in lower case; if it is in the lexicon neither
way, with a capital. Lemmas are kept as edit scripts (text/scripts.py), so forms with the same endings share a class.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from structron.errors import StructronError, quoted
from structron.features.encode import Column
from structron.features.wordtable import WordTable, column_of, values_with_none
from structron.io.text import read_lines
from structron.text.scripts import apply_lemma, lemma_script

ATOMS = ("lex", "lex_xpos", "lex_feats")
EMPTY = "_"
LONGEST_LINE = 10_000
"""Characters."""
MOST_ENTRIES = 1_000
"""Of a form."""
EXPECTED = "expected a form, its lemma and UPOS, and possibly XPOS and FEATS, between tabs"
REMEMBERED = 100_000
"""Words whose entries are kept."""


class Entry(NamedTuple):
    """What a form may be; "" is what is not known."""

    upos: str
    xpos: str
    feats: str  # "_": none
    script: str  # makes the lemma


class WordForms(WordTable):
    """Forms, and the entries of each."""

    kind: ClassVar[str] = "lexicon"
    array: ClassVar[str] = "entries"
    facts: ClassVar[Mapping[str, type]] = {"entries": int}
    usual: ClassVar[tuple[str, ...]] = ("lex",)
    meaning: ClassVar[str] = "with a lexicon, templates use this name for the tags that it has for words"

    def __init__(self, keys: np.ndarray, numbers: np.ndarray, classes: Sequence[str], about: dict[str, Any]):
        super().__init__(keys, numbers, classes, about)
        if any((text.count("\t") + 1) % len(Entry._fields) for text in self.classes):
            raise ValueError(f"{self.kind}: the entries do not fit")
        self.entries = list(map(_entries, self.classes))
        self._tags: dict[str, dict[tuple[int, ...], str]] = {name: {} for name in ATOMS}
        self._known: dict[str, tuple[tuple[str, Entry], ...]] = {}

    @classmethod
    def of(cls, rows: Iterable[Sequence[str]], name: str = "lexicon") -> Self:
        """From rows of form, lemma, UPOS and, if they are known, XPOS and FEATS."""
        found: dict[str, str] = {}
        count = 0
        for form, lemma, *tags in rows:
            upos, xpos, feats = (*tags, "", "", "")[:3]
            script = lemma_script(form, lemma) if lemma != EMPTY or form == EMPTY else ""
            text = "\t".join(Entry("" if upos == EMPTY else upos, "" if xpos == EMPTY else xpos, feats, script))
            known = found.get(form)
            if known is None:
                found[form] = text
            elif Entry(*text.split("\t")) not in _entries(known):
                found[form] = f"{known}\t{text}"
                if known.count("\t") > MOST_ENTRIES * len(Entry._fields):
                    raise StructronError(f"{name}: {quoted(form)}: more than {MOST_ENTRIES} entries of a form")
            else:
                continue
            count += 1
        same: dict[str, str] = {}  # equal texts once in memory
        table = {form: same.setdefault(text, text) for form, text in found.items()}
        return cls._made(table, name, entries=count)

    @classmethod
    def from_file(cls, path: str | Path, encoding: str = "utf-8") -> Self:
        """From a file, plain or packed, of lines `form⇥lemma⇥UPOS⇥XPOS⇥FEATS`."""
        found = cls.of(read_rows(path, encoding), Path(path).name)
        if not len(found):
            raise StructronError(f"{path}: no words; {EXPECTED}")
        return found

    @property
    def summary(self) -> str:
        about = self.about
        return f"{about['name']}: {about['words']} forms, {about['entries']} entries ({about['digest']})"

    # -- looking up ------------------------------------------------------------------------------------------------

    @staticmethod
    def knows(name: str) -> bool:
        return name in ATOMS

    def _spellings(self, words: list[str]) -> tuple[list[list[str]], list[tuple[int, ...]]]:
        """How words may be written in the lexicon; and for each word the numbers of these spellings, -1: not there."""
        lower = [word.lower() for word in words]
        own, small = self.of_words(words), self.of_words(lower)
        small[[a == b for a, b in zip(words, lower, strict=True)]] = -1
        capital = [word.capitalize() if a < 0 and b < 0 else word for word, a, b in zip(words, own, small, strict=True)]
        large = np.where((own < 0) & (small < 0), self.of_words(capital), -1)
        return [words, lower, capital], list(zip(own.tolist(), small.tolist(), large.tolist(), strict=True))

    def class_of(self, words: list[str]) -> np.ndarray:
        """The class of each word by the first of its spellings that is in the lexicon, -1: none is."""
        return np.array([next((k for k in own if k >= 0), -1) for own in self._spellings(words)[1]], np.int64)

    def columns(self, words: Column, names: Iterable[str]) -> dict[str, Column]:
        """Atoms of words as columns, in which words that are not in the lexicon have no value."""
        names = list(names)
        numbers = self._spellings(words.types)[1] if names else []
        found = {}
        for name in names:
            known = self._tags[name]
            texts = []
            for key in numbers:
                text = known.get(key)
                if text is None:
                    text = known[key] = self._text(name, key)
                texts.append(text)
            types = [*sorted(set(texts) - {""}), ""]
            number = {text: k for k, text in enumerate(types)}
            ids = np.array([number[text] for text in texts], np.int32)
            found[name] = column_of(types, ids[words.ids], values_with_none(types))
        return found

    def _text(self, name: str, key: tuple[int, ...]) -> str:
        """What an atom says of a word with these spellings."""
        entries = [entry for k in key if k >= 0 for entry in self.entries[k]]
        if name != "lex_feats":
            return "|".join(sorted({entry.upos if name == "lex" else entry.xpos for entry in entries} - {""}))
        values: dict[str, set[str]] = {}
        for feature in (feature for entry in entries for feature in entry.feats.split("|") if feature not in ("", "_")):
            attribute, _, value = feature.partition("=")
            values.setdefault(attribute, set()).update(value.split(","))
        text = "|".join(f"{attribute}={','.join(sorted(own))}" for attribute, own in sorted(values.items()))
        return text or (EMPTY if any(entry.feats == EMPTY for entry in entries) else "")

    def entries_of(self, words: list[str]) -> list[tuple[tuple[str, Entry], ...]]:
        """For each word its entries, each with the spelling that it is of."""
        new = [word for word in dict.fromkeys(words) if word not in self._known]
        found = dict(zip(new, self._looked_up(new), strict=True))
        if len(self._known) < REMEMBERED:
            self._known.update(found)
        return [found.get(word) or self._known.get(word, ()) for word in words]

    def _looked_up(self, words: list[str]) -> list[tuple[tuple[str, Entry], ...]]:
        spelled, numbers = self._spellings(words)
        return [
            tuple((spelled[s][w], entry) for s, k in enumerate(own) if k >= 0 for entry in self.entries[k])
            for w, own in enumerate(numbers)
        ]

    def lemmas_of(self, words: list[str], upos: Sequence[str]) -> list[list[str]]:
        """For each word with a part of speech ("": any) its lemmas, in the order of the file."""
        return [
            list(dict.fromkeys(lemma for form, entry in own if (lemma := lemma_of(form, entry)) and agrees(entry, tag)))
            for own, tag in zip(self.entries_of(words), upos, strict=True)
        ]

    def are_lemmas(self, texts: list[str]) -> list[bool]:
        """Whether they are lemmas of which the lexicon says so: forms of themselves."""
        numbers = self.of_words(texts).tolist()
        return [
            k >= 0 and any(lemma_of(text, entry) == text for entry in self.entries[k])
            for text, k in zip(texts, numbers, strict=True)
        ]


def lemma_of(form: str, entry: Entry) -> str | None:
    """The lemma of a form by one of its entries; None: it is not known."""
    return apply_lemma(entry.script, form) if entry.script else None


def agrees(entry: Entry, upos: str) -> bool:
    """Whether an entry may be of a part of speech."""
    return not upos or not entry.upos or entry.upos == upos


def _entries(text: str) -> list[Entry]:
    fields, width = text.split("\t"), len(Entry._fields)
    return [Entry(*fields[k : k + width]) for k in range(0, len(fields), width)]


def read_rows(path: str | Path, encoding: str = "utf-8") -> Iterable[list[str]]:
    """The rows of a file; what is wrong names its line."""
    for number, line in enumerate(read_lines(str(path), encoding, plain=True), 1):
        line = (line.removeprefix("\ufeff") if number == 1 else line).rstrip("\r\n")
        if len(line) > LONGEST_LINE:
            raise StructronError(f"{path}:{number}: a line of {len(line)} characters; {EXPECTED}")
        if not line:
            continue
        row = line.split("\t")
        if not 3 <= len(row) <= 5 or not all(row):
            raise StructronError(f"{path}:{number}: {quoted(line)}; {EXPECTED}")
        yield row


def make_lexicon(given: Any) -> WordForms | None:
    """A lexicon from a file, from rows, or as it is."""
    if given is None or isinstance(given, WordForms):
        return given
    if isinstance(given, str | Path):
        return WordForms.from_file(given)
    expected = "expected a file, or rows of form, lemma, UPOS and possibly XPOS and FEATS"
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise StructronError(f"lexicon: {quoted(given)}; {expected}")
    rows = list(given)
    for row in rows:
        texts = isinstance(row, list | tuple) and 3 <= len(row) <= 5 and all(isinstance(x, str) for x in row)
        if not texts or not all(row) or any({"\t", "\n"} & set(text) for text in row):
            raise StructronError(f"lexicon: {quoted(row)}; {expected}")
    if not rows:
        raise StructronError(f"lexicon: no rows; {expected}")
    return WordForms.of(rows)


# -- what a lexicon allows a word --------------------------------------------------------------------------------------

TAGS = ("upos", "xpos", "feats")
Choices = Callable[[list[str], list[tuple[str, ...]]], list[list[int]]]
"""For words, each with the columns that are looked up with it, the numbers of labels that count as seen with them."""


class LexiconTags:
    """Labels of a tagger that a lexicon has for words."""

    def __init__(self, forms: WordForms, column: str, labels: Sequence[str], given: Sequence[str] = ()):
        """column: of the labels, with + between several. given: columns that are looked up with the word."""
        self.forms, self.given, self.count = forms, list(given), len(labels)
        names = column.split("+")
        self.places = [TAGS.index(name) for name in names] if set(names) <= {*TAGS} else []
        self.parts = [tuple(label.split(" ")) for label in labels]
        self.number = {label: y for y, label in enumerate(labels)}
        self._labels: dict[Entry, list[int]] = {}

    def __call__(self, words: list[str], given: list[tuple[str, ...]]) -> list[list[int]]:
        """The labels of each word that agree with what is given."""
        return [
            list(dict.fromkeys(y for _, entry in own if self._agrees(entry, tags) for y in self.labels_of(entry)))
            for own, tags in zip(self.forms.entries_of(words), given, strict=True)
        ]

    def sets(self, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distinct sets of some labels, bool[sets, labels], and for each class of the lexicon which it has."""
        number: dict[tuple[int, ...], int] = {}
        place = [
            number.setdefault(
                tuple(sorted({y for entry in own for y in self.labels_of(entry) if among[y]})), len(number)
            )
            for own in self.forms.entries
        ]
        found = np.zeros((len(number), self.count), bool)
        for labels, k in number.items():
            found[k, list(labels)] = True
        return found, np.array(place, np.int64)

    def allowed(self, words: list[str]) -> np.ndarray:
        """bool[words, labels]: those that words have."""
        found = np.zeros((len(words), self.count), bool)
        for k, own in enumerate(self.forms.entries_of(words)):
            for _, entry in own:
                found[k, self.labels_of(entry)] = True
        return found

    def labels_of(self, entry: Entry) -> list[int]:
        """The labels that an entry may stand for: those that say the same where both say something."""
        tags = entry._replace(script="")
        if tags not in self._labels:
            if not self.places:  # tags by another name: either kind
                found = [self.number[tag] for tag in dict.fromkeys((tags.upos, tags.xpos)) if tag in self.number]
            else:
                wanted = [tags[place] for place in self.places]
                found = [
                    y
                    for y, parts in enumerate(self.parts)
                    if any(wanted) and all(a in ("", b) for a, b in zip(wanted, parts, strict=False))
                ]
            self._labels[tags] = found
        return self._labels[tags]

    def _agrees(self, entry: Entry, given: tuple[str, ...]) -> bool:
        pairs = zip(self.given, given, strict=True)
        return all(entry[TAGS.index(name)] in ("", tag) for name, tag in pairs if name in TAGS)


class LexiconScripts:
    """Edit scripts of a lemmatizer that a lexicon has for words."""

    def __init__(self, forms: WordForms, scripts: Sequence[str], given: Sequence[str] = ()):
        self.forms, self.number = forms, {script: y for y, script in enumerate(scripts)}
        self.place = list(given).index("upos") if "upos" in given else None

    def __call__(self, words: list[str], given: list[tuple[str, ...]]) -> list[list[int]]:
        """The scripts of each word that agree with its part of speech, where that is given."""
        tags = [own[self.place] if self.place is not None else "" for own in given]
        scripts = partial(map, self.number.get)
        return [
            [y for y in scripts(lemma_script(word, lemma) for lemma in lemmas) if y is not None]
            for word, lemmas in zip(words, self.forms.lemmas_of(words, tags), strict=True)
        ]
