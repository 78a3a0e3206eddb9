"""What the joint tagger reads: which columns of a token are which, its templates, and guesses of tags from words.

Tags to the right are not known yet when a word gets its own, so the training data are asked what tag the words there
mostly have. A word that they show rarely is guessed by its spelling, from other rare words: training then sees what
it will see in new text.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from structron.errors import StructronError
from structron.features.atoms import CLASS, Atom, atom_text
from structron.features.extract import WordAtom
from structron.features.templates import MAX_HISTORY, Template, parse_templates, template_lines
from structron.io.columns import Columns
from structron.io.tensors import Tensors, pack_json, taken, unpack_json
from structron.tasks.partial import is_open
from structron.text.sentences import check_sentences, is_row

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
MAX_ENDING = 4
"""Letters of an ending."""
SHARE = 0.1
"""A tag is one of a word's often seen ones from this share on."""

Sentence = Sequence[Any]


class JointRows:
    """Sentences as rows of the input columns and, if they are labelled, both outputs in one text."""

    def __init__(self, columns: Columns):
        self.columns = columns

    @property
    def pair(self) -> str:
        """The name of the column that holds both outputs."""
        return SEPARATOR.join(self.columns.outputs)

    def of(self, sentences: Iterable[Sentence], labelled: bool, what: str = "data") -> list[list[Sequence[str]]]:
        """Rows may leave both outputs out, unless they are to be `labelled`."""
        given = sentences if isinstance(sentences, list) else list(sentences)
        check_sentences(given, what)
        names, inputs = self.columns.names, self.columns.inputs
        places = [names.index(name) for name in inputs]
        outputs = [names.index(name) for name in self.columns.outputs]
        found: list[list[Sequence[str]]] = []
        for number, sentence in enumerate(given):
            kinds = set(map(type, sentence))
            rows: list[Sequence[str]] = []
            if not labelled and all(map(is_row, kinds)) and set(map(len, sentence)) == {len(names)}:
                found.append(list(zip(*(map(itemgetter(k), sentence) for k in places), strict=True)))
                continue
            if not labelled and kinds == {str} and len(inputs) == 1:
                found.append(list(zip(sentence, strict=True)))
                continue
            for row in sentence:
                width = len(row) if is_row(type(row)) else 0
                if width == len(names):
                    new = [row[k] for k in places]
                    if labelled:
                        new.append(self._both([row[k] for k in outputs], what))
                elif width == len(inputs) and not labelled:
                    new = list(row)
                elif isinstance(row, str) and not labelled and len(inputs) == 1:
                    new = [row]
                else:
                    raise self._refusal(what, number, len(rows), row, labelled)
                rows.append(new)
            found.append(rows)
        return found

    def _both(self, labels: list[Any], what: str) -> str:
        """Tag and chunk label as one text that can be taken apart again."""
        for name, label in zip(self.columns.outputs, labels, strict=True):
            if not isinstance(label, str):
                raise StructronError(f"{what}: column {name!r}: expected strings, found {label!r}")
            if SEPARATOR in label:
                raise StructronError(f"{what}: {label!r}: a tab in a label; expected none")
        return SEPARATOR.join(labels)

    def _refusal(self, what: str, sentence: int, token: int, row: Any, labelled: bool) -> StructronError:
        names, (tag, chunk) = self.columns.names, self.columns.outputs
        size = f"{len(row)} columns" if is_row(type(row)) else repr(row)
        may = "" if labelled else f"; {tag!r} and {chunk!r} may be left out"
        expected = f"expected rows of {len(names)} columns ({', '.join(names)}{may})"
        return StructronError(f"{what}: sentence {sentence + 1}, token {token + 1}: {size}; {expected}")


# -- templates -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JointTemplates:
    """Templates taken apart: what tokens alone say, and what is combined with the history."""

    texts: list[str]  # as they were given
    tokens: list[Template]  # for the extractor; those to be combined with the history are paired
    history: list[str]  # over the atoms of the problem

    @classmethod
    def of(cls, source: Any, columns: Columns, tables: Iterable[str] = ()) -> "JointTemplates":
        """From a preset, a file or a list of texts; `t[-1]` and `c[-1]` are labels before, `y[-1]` is both."""
        named = isinstance(source, str | Path)
        lines = template_lines(source, KIND, tables) if named else [str(text) for text in source]
        found = parse_templates(lines, str(source) if named else "templates")
        for name, offset in (part for template in found for part in template.parts):
            if name in HISTORY and offset < 0 and name in columns.names:
                raise StructronError(
                    f"column {name!r}: templates use this name for previous labels; expected another name"
                )
            if name in HISTORY and offset < -MAX_HISTORY:
                raise StructronError(f"templates: {name}[{offset}]: at most {MAX_HISTORY} labels back are possible")
            if name.partition(".")[0] in columns.outputs:
                raise StructronError(f"templates: {name!r} is predicted and cannot be an input; use t[-1], c[-1]")
        plain, paired, history = [], [], []
        for template in found:
            before = [f"{n}[{k}]" for n, k in template.parts if n in HISTORY and k < 0]
            before += [f"{n}[-{k}]" for k in template.labels for n in HISTORY]
            parts = tuple((n, k) for n, k in template.parts if n not in HISTORY or k >= 0)
            if not before:
                plain.append(template)
            elif parts:
                own = Template(parts, (1,))
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
    return [f"{kind} {lower[len(lower) - k :]}" for k in range(min(MAX_ENDING, len(lower)), -1, -1)]


def _guess(tags: Mapping[str, int], chunks: Mapping[str, int]) -> list[str]:
    """The three guesses from counts, of which there are some of tags; equal counts go by the alphabet."""
    ranked = sorted(tags, key=lambda tag: (-tags[tag], tag))
    total = sum(tags.values())
    often = sorted(tag for tag in ranked if tags[tag] >= SHARE * total) or ranked[:1]
    return [ranked[0], "|".join(often), min(chunks, key=lambda chunk: (-chunks[chunk], chunk), default="")]


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
            for counts, label in zip(seen[word], (tag, chunk), strict=True):
                if not is_open(label):
                    counts[label] += 1
        spelled: defaultdict[str, tuple[Counter[str], Counter[str], Counter[str]]] = defaultdict(
            lambda: (Counter(), Counter(), Counter())
        )
        for word, (own_tags, own_chunks) in seen.items():
            if 0 < own_tags.total() <= max(COMMON, rare):
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

    def atoms(self, wanted: Sequence[str]) -> dict[str, WordAtom]:
        """The guesses as atoms of words."""
        return {name: WordAtom(self._guesses, GUESSES.index(name)) for name in wanted}

    def _guesses(self, words: list[str]) -> list[list[str]]:
        return list(map(self, words))

    def tensors(self) -> Tensors:
        """For a model file."""
        return {"guesses": pack_json([self.words, self.endings])}

    @classmethod
    def take(cls, tensors: Tensors) -> "Guesser":
        """The guesses of a model file, taken out of its arrays; ValueError: they do not fit."""
        words, endings = unpack_json(taken(tensors, "guesses"))
        for guesses in (*words.values(), *endings.values()):
            if (
                not isinstance(guesses, list)
                or len(guesses) != len(GUESSES)
                or not all(isinstance(text, str) for text in guesses)
            ):
                raise ValueError("guesses do not fit")
        return cls(words, endings)
