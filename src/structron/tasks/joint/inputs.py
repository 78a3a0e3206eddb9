"""What the joint tagger reads: which columns of a token are which, its templates, and guesses of tags from words.

Tags to the right are not known yet when a word gets its own, so the training data are asked what tag the words there
mostly have. A word that they show rarely is guessed by its spelling, from other rare words: training then sees what
it will see in new text.
"""

import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structron.errors import StructronError, unknown
from structron.features.atoms import CLASS, Atom, atom_text
from structron.features.templates import MAX_HISTORY, Template, parse_templates, template_lines
from structron.sentences import check_sentences, is_row
from structron.tasks.chain.setup import WORD_COLUMNS, default_columns

KIND = "joint"
"""Of template presets."""
GUESSES = ("guess", "guesses", "chunk_guess")
"""Atoms: the tag that a word mostly has, all tags that it often has, the chunk label that it mostly has."""
HISTORY = ("t", "c")
"""How templates call the tags and the chunk labels before."""
SEPARATOR = "\t"
RARE = 1
"""Words seen no more often are guessed by their spelling."""
COMMON = 10
"""Words seen no more often teach what the spelling of rare words says."""
EVIDENCE = 3
"""So many words must share an ending for it to count."""
REMEMBERED = 100_000
"""New words whose guesses are kept; a text without end must not fill the memory."""
LONGEST = 4
"""Letters of an ending."""
SHARE = 0.1
"""A tag is one of a word's often seen ones from this share on."""

Sentence = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns of a token and what each is for."""

    columns: list[str]
    word: str
    tag: str
    chunk: str

    @property
    def inputs(self) -> list[str]:
        return [name for name in self.columns if name not in self.outputs]

    @property
    def outputs(self) -> list[str]:
        return [self.tag, self.chunk]

    @property
    def pair(self) -> str:
        """The name of the column that holds both outputs."""
        return f"{self.tag}{SEPARATOR}{self.chunk}"

    @classmethod
    def settle(cls, names: Sequence[str], tag: str | None = None, chunk: str | None = None) -> "Roles":
        """Find the word, the tag ("pos", or the last but one) and the chunk label (the last) among columns."""
        names = list(names)
        given = ", ".join(names)
        if len(set(names)) < len(names):
            raise StructronError(f"columns: {given}: a name stands twice; expected different ones")
        if len(names) < 3:
            raise StructronError(f"columns: {given}: {len(names)}; expected the word, its tag and its chunk label")
        chunk = chunk or names[-1]
        if chunk not in names:
            raise unknown("label column", chunk, names)
        others = [name for name in names if name != chunk]
        tag = tag or ("pos" if "pos" in others else others[-1])
        if tag not in names:
            raise unknown("pos column", tag, names)
        word = next((name for name in WORD_COLUMNS if name in names), names[0])
        if len({word, tag, chunk}) < 3:
            raise StructronError(
                f"columns: {given}: word {word!r}, pos {tag!r}, label {chunk!r}; expected three different ones"
            )
        return cls(names, word, tag, chunk)

    def rows(self, sentences: Iterable[Sentence], labelled: bool, what: str = "data") -> list[list[list[str]]]:
        """Sentences as rows of the input columns and, if they are to be `labelled`, both outputs in one text."""
        given = sentences if isinstance(sentences, list) else list(sentences)
        check_sentences(given, what)
        places = [self.columns.index(name) for name in self.inputs]
        tag, chunk = self.columns.index(self.tag), self.columns.index(self.chunk)
        full, bare = len(self.columns), len(self.inputs)
        found = []
        for number, sentence in enumerate(given):
            rows: list[list[str]] = []
            for row in sentence:
                width = len(row) if is_row(type(row)) else 0
                if width == full:
                    new = [row[k] for k in places]
                    if labelled:
                        new.append(self._both(row[tag], row[chunk], what))
                elif width == bare and not labelled:
                    new = list(row)
                elif isinstance(row, str) and not labelled and bare == 1:
                    new = [row]
                else:
                    raise self._refusal(what, number, len(rows), row, labelled)
                rows.append(new)
            found.append(rows)
        return found

    def _both(self, tag: Any, chunk: Any, what: str) -> str:
        """Tag and chunk label as one text that can be taken apart again."""
        if not isinstance(tag, str) or not isinstance(chunk, str):
            name, odd = (self.tag, tag) if not isinstance(tag, str) else (self.chunk, chunk)
            raise StructronError(f"{what}: column {name!r}: expected strings, found {odd!r}")
        if SEPARATOR in tag or SEPARATOR in chunk:
            raise StructronError(f"{what}: {tag!r}, {chunk!r}: a tab in a label; expected none")
        return f"{tag}{SEPARATOR}{chunk}"

    def _refusal(self, what: str, sentence: int, token: int, row: Any, labelled: bool) -> StructronError:
        size = f"{len(row)} columns" if is_row(type(row)) else repr(row)
        may = "" if labelled else f"; {self.tag!r} and {self.chunk!r} may be left out"
        expected = f"expected rows of {len(self.columns)} columns ({', '.join(self.columns)}{may})"
        return StructronError(f"{what}: sentence {sentence + 1}, token {token + 1}: {size}; {expected}")


def first_columns(sentences: Iterable[Sentence], columns: Sequence[str] | None) -> list[str]:
    """Names for the columns of the first token."""
    first = next((sentence[0] for sentence in sentences if len(sentence)), None)
    if first is None:
        raise StructronError("training data: no sentences; expected at least one with words")
    if not is_row(type(first)):
        raise StructronError(f"training data: a token is {first!r}; expected rows of word, tag and chunk label")
    return list(columns) if columns else default_columns(len(first))


# -- templates -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JointTemplates:
    """Templates taken apart: what tokens alone say, and what is combined with the history."""

    texts: list[str]  # as they were given
    tokens: list[Template]  # for the extractor; those to be combined with the history are paired
    history: list[str]  # over the atoms of the problem

    @classmethod
    def of(cls, source: Any, roles: Roles) -> "JointTemplates":
        """From a preset, a file or a list of texts; `t[-1]` and `c[-1]` are labels before, `y[-1]` is both."""
        named = isinstance(source, str | Path)
        lines = template_lines(source, KIND) if named else [str(text) for text in source]
        found = parse_templates(lines, str(source) if named else "templates")
        for name, offset in (part for template in found for part in template.parts):
            if name in HISTORY and offset < 0 and name in roles.columns:
                raise StructronError(f"column {name!r}: templates call labels before so; expected another name")
            if name in HISTORY and offset < -MAX_HISTORY:
                raise StructronError(f"templates: {name}[{offset}]: at most {MAX_HISTORY} labels back are possible")
            if name.partition(".")[0] in roles.outputs:
                raise StructronError(f"templates: {name!r} is predicted and cannot be an input; t[-1], c[-1] can")
        plain, paired, history = [], [], []
        for template in found:
            before = [f"{n}[{k}]" for n, k in template.parts if n in HISTORY and k < 0]
            before += [f"{n}[-{k}]" for k in template.labels for n in HISTORY]
            parts = tuple((n, k) for n, k in template.parts if n not in HISTORY or k >= 0)
            if not before:
                plain.append(template)
            elif parts:
                own = Template(parts, True)
                paired += [] if own in paired else [own]
                before.append(f"x[{paired.index(own)}]")
            if before:
                history.append("|".join(sorted(dict.fromkeys(before))))
        texts = [str(template) for template in found]
        return cls(texts, [*plain, *paired], list(dict.fromkeys(history)) or ["t[-1]|c[-1]"])

    @property
    def guesses(self) -> list[str]:
        """The guesses that the templates ask for."""
        asked = {name for template in self.tokens for name, _ in template.parts}
        return [name for name in GUESSES if name in asked]


# -- guesses ---------------------------------------------------------------------------------------------------------


def _endings(word: str) -> list[str]:
    """What the spelling of a word says, the most exact first: its kind of letters with ever shorter endings."""
    kind, lower = atom_text(Atom("", CLASS), word), word.lower()
    return [f"{kind} {lower[len(lower) - k :]}" for k in range(min(LONGEST, len(lower)), -1, -1)]


def _guess(tags: Mapping[str, int], chunks: Mapping[str, int]) -> list[str]:
    """The three guesses from counts; equal counts go by the alphabet."""
    ranked = sorted(tags, key=lambda tag: (-tags[tag], tag))
    total = sum(tags.values())
    often = sorted(tag for tag in ranked if tags[tag] >= SHARE * total) or ranked[:1]
    return [ranked[0], "|".join(often), min(chunks, key=lambda chunk: (-chunks[chunk], chunk))]


class Guesser:
    """For words the tag, the tags and the chunk label that training data give to them, or to words spelled alike."""

    def __init__(self, words: dict[str, list[str]], endings: dict[str, list[str]]):
        self.words, self.endings = words, endings
        self.known: dict[str, list[str]] = dict(words)

    @classmethod
    def learn(cls, words: Sequence[str], tags: Sequence[str], chunks: Sequence[str], rare: int) -> "Guesser":
        """rare: words seen no more often are guessed by their spelling."""
        seen: defaultdict[str, tuple[Counter[str], Counter[str]]] = defaultdict(lambda: (Counter(), Counter()))
        for word, tag, chunk in zip(words, tags, chunks, strict=True):
            seen[word][0][tag] += 1
            seen[word][1][chunk] += 1
        spelled: defaultdict[str, tuple[Counter[str], Counter[str], Counter[str]]] = defaultdict(
            lambda: (Counter(), Counter(), Counter())
        )
        for word, (own_tags, own_chunks) in seen.items():
            if own_tags.total() <= max(COMMON, rare):
                for ending in _endings(word):
                    spelled[ending][0].update(own_tags)
                    spelled[ending][1].update(own_chunks)
                    spelled[ending][2][word] += 1
        known = {word: _guess(*counts) for word, counts in seen.items() if counts[0].total() > rare}
        return cls(known, {end: _guess(t, c) for end, (t, c, n) in spelled.items() if len(n) >= EVIDENCE})

    def __call__(self, word: str) -> list[str]:
        found = self.known.get(word)
        if found is None:
            by_spelling = next((self.endings[end] for end in _endings(word) if end in self.endings), [""] * 3)
            found = [f"~{text}" for text in by_spelling]
            if len(self.known) < len(self.words) + REMEMBERED:
                self.known[word] = found
        return found

    def atoms(self, wanted: Sequence[str], place: int) -> dict[str, Callable[[Sequence, int], str]]:
        """The guesses as computed atoms of rows whose word stands at `place`."""
        return {name: self._atom(GUESSES.index(name), place) for name in wanted}

    def _atom(self, which: int, place: int) -> Callable[[Sequence, int], str]:
        return lambda sentence, i: self(sentence[i][place])[which]

    def tensor(self) -> np.ndarray:
        """For a model file."""
        return np.frombuffer(zlib.compress(json.dumps([self.words, self.endings]).encode()), np.uint8)

    @classmethod
    def of_tensor(cls, packed: np.ndarray) -> "Guesser":
        """Raises ValueError where the parts do not fit."""
        words, endings = json.loads(zlib.decompress(packed.tobytes()))
        for guesses in (*words.values(), *endings.values()):
            if len(guesses) != len(GUESSES) or not all(isinstance(text, str) for text in guesses):
                raise ValueError("guesses do not fit")
        return cls(words, endings)
