"""Extractors turn a user's sentences into hashed features. This one: templates over the columns of tokens.

`prepare` looks at the strings once; the prepared sentences then give the hashes of any batch of them, so that a
large corpus never has all its hashes in memory at the same time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from structron.errors import StructronError, quoted
from structron.features import encode
from structron.features.atoms import parse_atoms
from structron.features.encode import Column, Hashes
from structron.features.names import Names, template_names
from structron.features.templates import LABEL, Template, parse_template
from structron.kernels.jit import entry
from structron.text.sentences import ROWS, WORDS, is_row, tokens_of

if TYPE_CHECKING:
    from structron.features.gazetteer import Gazetteer
    from structron.features.wordtable import WordTable

ComputedAtom = Callable[[Sequence, int], str | None]
"""A user's atom: a function of (sentence, position) that returns a text; None and "" count as one value, "none"."""


@dataclass(frozen=True, slots=True)
class WordAtom:
    """An atom that the word alone decides: one of those that a function finds for all distinct words."""

    function: Callable[[list[str]], Sequence[Sequence[str]]]
    """For each word what its atoms are."""
    which: int


NO_IDS = np.empty(0, np.int32)
NOTHING = "none"
"""What an atom without a text counts as."""
BATCH_SENTENCES = 100
"""Sentences whose strings are looked at together: so few that they stay in the cache."""


class Prepared(Protocol):
    """What an extractor makes of sentences: templates here, a user's own attributes in attributes.py."""

    starts: np.ndarray
    units: np.ndarray
    has_pairs: bool
    jobs: int  # threads that may look for features at a time
    word_types: list[str]
    word_ids: np.ndarray

    def hashes(self, lo: int, hi: int) -> Hashes: ...
    def pair_hashes(self, lo: int, hi: int) -> Hashes: ...
    def names(self, keys: np.ndarray, tokens: np.ndarray, paired: bool) -> Names: ...
    def describe(self, s: int, token: int, paired: bool) -> Iterator[tuple[int, str, float]]: ...


class PreparedTemplates:
    """Sentences whose strings have been looked at: gives hashes, and names for people."""

    jobs = 1

    def __init__(
        self,
        table: encode.TokenTable,
        plain: encode.TemplateSet,
        paired: encode.TemplateSet,
        word: str,
        label: str | None = None,
    ):
        self.table, self.plain, self.paired = table, plain, paired
        self.starts, self.units = table.starts, table.units
        labels = table.columns[label] if label else Column([], NO_IDS)
        self.label_types, self.label_ids = labels.types, labels.ids
        self.plain_arrays = plain.arrays(table)
        self.hashes: Callable[[int, int], Hashes] = partial(encode.hashes_of, self.plain_arrays, table.starts)
        """The plain features of sentences lo … hi-1."""
        self.words = table.columns[word]
        self.word_types, self.word_ids = self.words.types, self.words.ids
        self.has_pairs = bool(paired.templates)

    @cached_property
    def paired_arrays(self) -> encode.Arrays:
        return self.paired.arrays(self.table)

    def _templates(self, paired: bool) -> tuple[encode.TemplateSet, encode.Arrays]:
        return (self.paired, self.paired_arrays) if paired else (self.plain, self.plain_arrays)

    def pair_hashes(self, lo: int, hi: int) -> Hashes:
        """Their features that are paired with the previous label."""
        return encode.hashes_of(self.paired_arrays, self.starts, lo, hi)

    def pair_column(self, t: int, lo: int, hi: int) -> Hashes:
        """Those of paired template t alone: at most one feature per token."""
        arrays = self.paired_arrays
        own = arrays._replace(seeds=arrays.seeds[t : t + 1], first=arrays.first[t : t + 2])
        return encode.hashes_of(own, self.starts, lo, hi)

    def names(self, keys: np.ndarray, tokens: np.ndarray, paired: bool) -> Names:
        """Readable names of features, each given with a token where it fires."""
        templates = self.paired if paired else self.plain
        arrays = self._templates(paired)[1] if len(keys) else None
        return template_names(templates, arrays, self.table, keys, tokens, self.jobs)

    def describe(self, s: int, token: int, paired: bool) -> Iterator[tuple[int, str, float]]:
        """(hash, name, value) of every feature at one token of sentence s."""
        (templates, arrays), hash_of = self._templates(paired), entry(encode.template_hash)
        lo, hi = int(self.starts[s]), int(self.starts[s + 1])
        for t in range(len(templates.templates)):
            key = int(hash_of(arrays, t, token, lo, hi))
            if key:
                yield key, templates.describe(self.table, t, token, lo, hi), 1.0


class TemplateExtractor:
    """Templates over named columns, gazetteers, tables of words (clusters, a lexicon) and a user's own atoms."""

    def __init__(
        self,
        columns: Sequence[str],
        label: str,
        templates: Sequence[Template],
        word: str | None = None,
        gazetteers: Sequence["Gazetteer"] = (),
        atoms: Mapping[str, ComputedAtom | WordAtom] | None = None,
        tables: Iterable["WordTable"] = (),
    ):
        self.columns, self.label = list(columns), label
        self.word = word or self.columns[0]
        self.inputs = [c for c in self.columns if c != label]
        self.gazetteers = {f"gaz_{g.name}": g for g in gazetteers}
        self.atoms = dict(atoms or {})
        self.classes = {name: table for table in tables for name in self._asked(table, templates)}
        self.templates = [*templates, *self._default_templates(templates)]
        if any(name == label for t in self.templates for name, _ in t.parts):
            raise StructronError(f"templates: {label!r} is the label column and cannot be an input")
        known = [*self.inputs, *self.gazetteers, *self.atoms, *self.classes]
        if LABEL in known and any(t.labels for t in self.templates):
            raise StructronError(
                f"column {LABEL!r}: templates use this name for previous labels; expected another name"
            )
        used = [t for t in self.templates if not t.labels or t.parts]
        atoms_by_name = parse_atoms([name for t in used for name, _ in t.parts], known, self.word)
        seeds, paired = encode.template_seeds(used), np.array([bool(t.labels) for t in used], bool)
        plain_ones, paired_ones = ([t for t in used if bool(t.labels) == kind] for kind in (False, True))
        self.plain = encode.TemplateSet(plain_ones, atoms_by_name, seeds[~paired])
        self.paired = encode.TemplateSet(paired_ones, atoms_by_name, seeds[paired])
        self.needed = {self.word, *self.plain.columns, *self.paired.columns}

    def _default_templates(self, templates: Sequence[Template]) -> list[Template]:
        """A gazetteer or an atom that no template mentions gets templates of its own: it was given to be used."""
        mentioned = {name for t in templates for name, _ in t.parts}
        given = [g for g in self.gazetteers if g not in mentioned]
        texts = [text for g in given for text in (f"{g}[-1]", f"{g}[0]", f"{g}[1]", f"{g}[0]|class[0]")]
        texts += [f"{name}[0]" for name in (*self.atoms, *self.classes) if name not in mentioned]
        return [parse_template(text) for text in texts]

    def _asked(self, table: "WordTable", templates: Sequence[Template]) -> list[str]:
        """The atoms of a table of words that templates ask for; where they ask for none, the usual ones."""
        taken = [name for name in (*self.columns, *self.atoms) if table.knows(name)]
        if taken:
            raise StructronError(f"column {taken[0]!r}: {table.meaning}; rename it")
        names = dict.fromkeys(name.partition(".")[0] for t in templates for name, _ in t.parts)
        return [name for name in names if table.knows(name)] or list(table.usual)

    def prepare(self, sentences: Iterable[Sequence], labelled: bool = False, what: str = "data") -> PreparedTemplates:
        """Look at the strings of sentences, with `labelled` at those of the label column too.

        The sentences of a `Document` stay together: they are one unit.
        """
        label = {self.label} if labelled else set()
        return self.prepared(self._read(sentences, (self.needed | label) - self._derived(), what), *label)

    def prepared(self, table: encode.TokenTable, label: str | None = None) -> PreparedTemplates:
        """Sentences whose columns are encoded already."""
        if wanted := self.needed & self._derived():
            words = table.columns[self.word]
            table |= self._of_words(wanted - {*self.classes}, words, table.starts)
            for own in dict.fromkeys(self.classes.values()):
                table |= own.columns(words, [name for name, of in self.classes.items() if of is own and name in wanted])
        return PreparedTemplates(table, self.plain, self.paired, self.word, label)

    def _derived(self) -> set[str]:
        """Columns that follow from the words: gazetteers, tables of words, and atoms of a word alone."""
        return {
            *self.gazetteers,
            *self.classes,
            *(name for name, atom in self.atoms.items() if isinstance(atom, WordAtom)),
        }

    def _of_words(self, names: set[str], words: Column, starts: np.ndarray) -> dict[str, Column]:
        """Columns that follow from the words; a function that several atoms share is called once."""
        found: dict[str, Column] = {}
        for name in names & self.gazetteers.keys():
            texts, bounds = words.texts(), pairwise(starts.tolist())
            found[name] = Column.of(tag for lo, hi in bounds for tag in self.gazetteers[name].match(texts[lo:hi]))
        atoms = {name: atom for name in sorted(names - found.keys()) if isinstance(atom := self.atoms[name], WordAtom)}
        made = {function: function(words.types) for function in {atom.function for atom in atoms.values()}}
        for name, atom in atoms.items():
            own = Column.of(row[atom.which] for row in made[atom.function])
            found[name] = Column(own.types, own.ids[words.ids])
        return found

    def _read(self, sentences: Iterable[Sequence], wanted: set[str], what: str) -> encode.TokenTable:
        """Number the strings of some columns of the sentences, a batch at a time."""
        numbering = encode.Numbering(wanted)
        lengths: list[int] = []
        sizes: list[int] = []  # of the units, in sentences
        names: list[str] = []  # of the columns
        source = iter(sentences)
        while items := list(islice(source, BATCH_SENTENCES)):
            batch, own, tokens, kind = tokens_of(items, what, len(lengths))
            sizes += own
            names = self._names(batch, tokens, kind, names, what, len(lengths))
            numbering.add(self._texts(batch, tokens, names, wanted, what))
            lengths.extend(map(len, batch))
        return numbering.table(lengths, sizes)

    def _names(
        self, sentences: list[Sequence], tokens: list, kind: str, known: list[str], what: str, before: int
    ) -> list[str]:
        """The names of the tokens' columns; known: those of earlier ones.

        A token is a string (the word alone) or a row; rows may leave out the label column.
        """
        if not tokens:
            return known
        if kind == WORDS and known in ([], [self.word]):
            return [self.word]
        if kind == ROWS:
            widths = set(map(len, tokens))
            for names in [known] if known else [self.columns, self.inputs]:
                if widths == {len(names)}:
                    return names
        raise self._refusal(sentences, known, what, before)

    def _refusal(self, sentences: list[Sequence], known: list[str], what: str, before: int) -> StructronError:
        """Name the first token that is no row, or not as wide as it should be or as the others are."""
        names = f"{', '.join(self.columns)}; {self.label!r} may be left out in all rows"
        expected = f"expected rows of {len(self.columns)} columns ({names})"
        possible = (f"{len(self.columns)} columns", f"{len(self.inputs)} columns")
        first = f"{len(known)} columns" if known else None
        for s, sentence in enumerate(sentences, before + 1):
            for i, row in enumerate(sentence, 1):
                size = f"{len(row)} columns" if is_row(type(row)) else repr(row)
                first = first or size
                if size != first or size not in possible:
                    return StructronError(f"{what}: sentence {s}, token {i}: {size}; {expected}")
        raise AssertionError("all rows are as they should be")

    def _texts(
        self,
        sentences: list[Sequence],
        tokens: list,
        names: list[str],
        wanted: set[str],
        what: str,
    ) -> dict[str, Sequence[str]]:
        """The wanted columns of some sentences, flat."""
        if not tokens:
            return {name: [] for name in wanted}
        single = isinstance(tokens[0], str)
        columns: dict[str, Sequence[str]] = {}
        for name in wanted - self.atoms.keys():
            if name not in names:
                use = "" if name == self.label else ", which a template uses"
                raise StructronError(f"{what}: no column {name!r}{use}; the tokens have: {', '.join(names)}")
            place = names.index(name)
            columns[name] = tokens if single else [row[place] for row in tokens]
        for name in wanted & self.atoms.keys():
            function: Any = self.atoms[name]
            columns[name] = [self._computed(name, function, s, i) for s in sentences for i in range(len(s))]
        return columns

    @staticmethod
    def _computed(name: str, function: ComputedAtom, sentence: Sequence, i: int) -> str:
        try:
            text: Any = function(sentence, i)
        except Exception as error:
            raise StructronError(
                f"atom {name!r} failed at token {i + 1} of {quoted(list(sentence))}: {error!r}"
            ) from error
        return str(text) if text is not None and text != "" else NOTHING
