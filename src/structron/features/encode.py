"""From columns of strings to the hashes that the kernels read. After this file there are no strings.

    columns of strings ──types──▶ one value per atom and type ──templates──▶ hashes per token

Each distinct text of a column is looked at once; a token is then a few array look-ups per template.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from structron.errors import StructronError, quoted
from structron.features.atoms import Atom, atom_text, values_of
from structron.features.templates import Template, template_texts
from structron.kernels.jit import helper, kernel
from structron.kernels.reference import Ints, Keys, Numbers2, by_reference
from structron.kernels.table import hash_list, mix

Hashes = tuple[np.ndarray, np.ndarray, np.ndarray]
"""(ptr int64[tokens + 1], hashes uint64, values float32: empty when all are 1)"""
UNWEIGHTED = np.empty(0, np.float32)
EDGE = np.uint64(0x632BE59BD9B4E019)
NO_VALUES = np.empty(0, np.uint64)


def check_strings(texts: Sequence, name: str) -> None:
    """Refuse a column that holds anything but strings."""
    for kind in set(map(type, texts)):
        if not issubclass(kind, str):
            odd = next(text for text in texts if type(text) is kind)
            raise StructronError(f"column {name!r}: expected strings, found {quoted(odd)}")


@dataclass(slots=True)
class Column:
    """A column of all tokens: its distinct texts (types), and the number of each token's.

    What atoms say of the types is found out once, however many models ask.
    """

    types: list[str]
    ids: np.ndarray  # int32[tokens]
    known: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)  # by kind and length of the atom
    folded: tuple[np.ndarray, np.ndarray] | None = None  # code points and offsets, as a lexicon looks the types up

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Column":
        """A column of so many texts."""
        index: defaultdict[str, int] = defaultdict(count().__next__)  # a text that is new gets the next number
        ids = np.fromiter(map(index.__getitem__, texts), np.int32)
        return cls(list(index), ids)

    @classmethod
    def of_labels(cls, labels: Sequence[str], numbers: np.ndarray) -> "Column":
        """A column of labels by their numbers."""
        used, ids = np.unique(numbers, return_inverse=True)
        return cls([labels[y] for y in used.tolist()], ids.reshape(-1).astype(np.int32))

    def split(self, separator: str, count: int) -> list["Column"]:
        """The columns of the parts that texts consist of."""
        parts = [text.split(separator) for text in self.types]
        made = [Column.of(own[k] for own in parts) for k in range(count)]
        return [Column(own.types, own.ids[self.ids]) for own in made]

    def texts(self) -> list[str]:
        """The text of every token."""
        return list(map(self.types.__getitem__, self.ids.tolist()))


@dataclass(slots=True)
class TokenTable:
    """The columns of some sentences, encoded once for all models that read them."""

    starts: np.ndarray  # int64[sentences + 1]
    units: np.ndarray  # int64[units + 1]: unit u, a sentence or a document, is sentences units[u] … units[u + 1] - 1
    columns: dict[str, Column]

    def __or__(self, more: Mapping[str, Column]) -> "TokenTable":
        """The table with further columns."""
        return TokenTable(self.starts, self.units, {**self.columns, **more})

    def values(self, atoms: Sequence[Atom]) -> list[np.ndarray]:
        """uint64[types of its column]: what each atom says of each type."""
        columns = self.columns
        missing = [atom for atom in atoms if (atom.kind, atom.length) not in columns[atom.column].known]
        if missing:
            types = {atom.column: columns[atom.column].types for atom in missing}
            for atom, values in zip(missing, values_of(missing, types), strict=True):
                columns[atom.column].known[atom.kind, atom.length] = values
        return [columns[atom.column].known[atom.kind, atom.length] for atom in atoms]


class Numbering:
    """Numbers the distinct texts of columns in order of appearance, batch by batch."""

    def __init__(self, names: Iterable[str]):
        # a text that is new gets the next number
        self.index: dict[str, defaultdict[str, int]] = {name: defaultdict(count().__next__) for name in names}
        self.batches: dict[str, list[np.ndarray]] = {name: [] for name in self.index}

    def add(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Number the texts of the next batch."""
        for name, index in self.index.items():
            texts, known = columns[name], len(index)
            try:
                numbers = np.fromiter(map(index.__getitem__, texts), np.int32, len(texts))
            except TypeError:  # something that no dictionary takes, such as a list
                check_strings(texts, name)
                raise
            check_strings([texts[k] for k in np.flatnonzero(numbers >= known).tolist()], name)
            self.batches[name].append(numbers)

    def table(self, lengths: Sequence[int], sizes: Sequence[int]) -> TokenTable:
        """The columns of sentences of these lengths. sizes: how many sentences each unit has."""
        starts, units = (np.cumsum([0, *own], dtype=np.int64) for own in (lengths, sizes))
        return TokenTable(starts, units, self.columns())

    def columns(self) -> dict[str, Column]:
        """The columns of all batches."""
        nothing = np.empty(0, np.int32)
        return {
            name: Column(list(own), np.concatenate([nothing, *self.batches[name]])) for name, own in self.index.items()
        }


@by_reference
class Arrays(NamedTuple):
    """Templates and atom values as compiled code reads them."""

    ids: Numbers2  # int32[columns, tokens]
    values: Keys  # uint64: values[base[a] + type] is atom a's value for a type of its column
    base: Ints  # int64[atoms]
    column: Ints  # int64[atoms]
    seeds: Keys  # uint64[templates]
    first: Ints  # int64[templates + 1]: parts of template t are first[t] … first[t+1]-1
    atom: Ints  # int64[parts]
    offset: Ints  # int64[parts]


@helper
def place_value(arrays, a, j, lo, hi):
    """The value of atom a at place j of the sentence lo … hi-1.

    Places outside the sentence have a value by their distance, so that "two before the start" can be learned.
    """
    if j < lo:
        return EDGE * np.uint64(lo - j)
    if j >= hi:
        return ~(EDGE * np.uint64(j - hi + 1))
    return arrays.values[arrays.base[a] + arrays.ids[arrays.column[a], j]]


@helper
def template_hash(arrays, t, i, lo, hi):
    """The hash of template t at token i of the sentence lo … hi-1; 0 when it does not fire."""
    h = arrays.seeds[t]
    for q in range(arrays.first[t], arrays.first[t + 1]):
        v = place_value(arrays, arrays.atom[q], i + arrays.offset[q], lo, hi)
        if v == np.uint64(0):
            return v
        h = mix(h, v)
    return h


@kernel(allocates=True)
def template_hashes(arrays, starts, s_lo, s_hi, ptr, out):
    """The hash of every template that fires at every token of sentences s_lo … s_hi-1; returns how many.

    The same as `template_hash` everywhere; here each atom is looked up once per place, not once per template.
    """
    seeds, first, atom, offset = arrays.seeds, arrays.first, arrays.atom, arrays.offset
    reach, longest = 0, 0
    for q in range(offset.shape[0]):
        reach = max(reach, abs(offset[q]))
    for s in range(s_lo, s_hi):
        longest = max(longest, starts[s + 1] - starts[s])
    cell = np.empty((arrays.base.shape[0], longest + 2 * reach), np.uint64)
    k = 0
    origin = starts[s_lo]
    for s in range(s_lo, s_hi):
        lo, hi = starts[s], starts[s + 1]
        for a in range(cell.shape[0]):
            for j in range(lo - reach, hi + reach):
                cell[a, j - lo + reach] = place_value(arrays, a, j, lo, hi)
        for i in range(lo, hi):
            for t in range(seeds.shape[0]):
                h = seeds[t]
                for q in range(first[t], first[t + 1]):
                    v = cell[atom[q], i - lo + reach + offset[q]]
                    h = mix(h, v) if v != np.uint64(0) else v
                    if h == np.uint64(0):
                        break
                if h != np.uint64(0):
                    out[k] = h
                    k += 1
            ptr[i - origin + 1] = k
    return k


def hashes_of(arrays: Arrays, starts: np.ndarray, lo: int, hi: int) -> Hashes:
    """The hashes of the templates that fire at every token of sentences lo … hi-1."""
    tokens = int(starts[hi] - starts[lo])
    ptr = np.zeros(tokens + 1, np.int64)
    out = np.empty(tokens * len(arrays.seeds), np.uint64)
    count = template_hashes(arrays, starts, lo, hi, ptr, out)
    return ptr, out[:count], UNWEIGHTED


@helper
def sentence_of(starts, i):
    """The sentence that token i stands in."""
    lo, hi = 0, starts.shape[0] - 1
    while hi - lo > 1:
        middle = (lo + hi) >> 1
        if starts[middle] <= i:
            lo = middle
        else:
            hi = middle
    return lo


@kernel
def which_templates(arrays, starts, tokens, keys, out):
    """For each key, the template that gave it at the token where it was first seen."""
    for k in range(keys.shape[0]):
        s = sentence_of(starts, tokens[k])
        for t in range(arrays.seeds.shape[0]):
            if template_hash(arrays, t, tokens[k], starts[s], starts[s + 1]) == keys[k]:
                out[k] = t
                break


def template_seeds(templates: Sequence[Template]) -> np.ndarray:
    """The hash of each template's text, which those of its features begin with."""
    return hash_list(template_texts(templates))


class TemplateSet:
    """Templates of one kind (plain or paired)."""

    def __init__(self, templates: Sequence[Template], known: Mapping[str, Atom], seeds: np.ndarray):
        """known: atoms by their names.   seeds: uint64[templates], see `template_seeds`."""
        self.templates, self.seeds = list(templates), seeds
        self.parts = [[(known[name], offset) for name, offset in t.parts] for t in self.templates]
        flat = list(chain.from_iterable(self.parts))
        self.atoms: list[Atom] = list(dict.fromkeys(atom for atom, _ in flat))
        self.columns = sorted({atom.column for atom in self.atoms})
        number = {atom: k for k, atom in enumerate(self.atoms)}
        self.first = np.cumsum([0] + [len(part) for part in self.parts]).astype(np.int64)
        self.atom = np.array([number[atom] for atom, _ in flat], np.int64)
        self.offset = np.array([offset for _, offset in flat], np.int64)
        self.column = np.array([self.columns.index(a.column) for a in self.atoms], np.int64)

    def arrays(self, table: TokenTable) -> Arrays:
        """What the kernels need to apply the templates to the sentences of a table."""
        ids = np.empty((len(self.columns), int(table.starts[-1])), np.int32)
        for k, name in enumerate(self.columns):
            ids[k] = table.columns[name].ids
        values = table.values(self.atoms)
        base = np.cumsum([0, *map(len, values)])[:-1].astype(np.int64)
        flat = np.concatenate([NO_VALUES, *values])
        return Arrays(ids, flat, base, self.column, self.seeds, self.first, self.atom, self.offset)

    def describe(self, table: TokenTable, t: int, token: int, lo: int, hi: int) -> str:
        """A template's feature at one token of the sentence lo … hi-1, readable: `w[-1]|w[0]=the|dog`."""
        texts = []
        for atom, offset in self.parts[t]:
            j = token + offset
            if lo <= j < hi:
                column = table.columns[atom.column]
                texts.append(atom_text(atom, column.types[column.ids[j]]) or "")
            else:
                texts.append(f"<s{lo - j}>" if j < lo else f"</s{j - hi + 1}>")
        return f"{self.templates[t]}={'|'.join(texts)}"
