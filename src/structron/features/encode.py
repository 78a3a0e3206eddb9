"""From columns of strings to the hashes that the kernels read. After this file there are no strings.

    columns of strings ──types──▶ one value per atom and type ──templates──▶ hashes per token

Each distinct text of a column is looked at once; a token is then a few array look-ups per template.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from structron.errors import StructronError, quoted
from structron.features.atoms import PREFIX, SUFFIX, WHOLE, Atom, PackedTypes, atom_text, atom_values, parse_atom
from structron.features.templates import Template
from structron.kernels.jit import helper, kernel
from structron.kernels.reference import Ints, Keys, Numbers2, by_reference
from structron.kernels.table import hash_list, mix

EDGE = np.uint64(0x632BE59BD9B4E019)


@dataclass(slots=True)
class Batch:
    """Columns of a batch of sentences: `types` are the distinct texts, `ids` the type of each token."""

    starts: np.ndarray  # int64[sentences + 1]
    ids: dict[str, np.ndarray]  # column -> int32[tokens]
    types: dict[str, list[str]]


def check_strings(texts: Sequence, name: str) -> None:
    """Refuse a column that holds anything but strings."""
    for kind in set(map(type, texts)):
        if not issubclass(kind, str):
            odd = next(text for text in texts if type(text) is kind)
            raise StructronError(f"column {name!r}: expected strings, found {quoted(odd)}")


class Numbering:
    """Numbers the distinct texts of a column in order of appearance, stretch by stretch."""

    def __init__(self, name: str):
        self.name = name
        self.index: defaultdict[str, int] = defaultdict(count().__next__)  # a text that is new gets the next number
        self.parts: list[np.ndarray] = []

    def add(self, texts: Sequence[str]) -> None:
        """Number the texts of the next stretch."""
        known = len(self.index)
        try:
            numbers = np.fromiter(map(self.index.__getitem__, texts), np.int32, len(texts))
        except TypeError:  # something that no dictionary takes, such as a list
            check_strings(texts, self.name)
            raise
        check_strings([texts[k] for k in np.flatnonzero(numbers >= known).tolist()], self.name)
        self.parts.append(numbers)

    def ids(self) -> np.ndarray:
        """int32[tokens]: the numbers of all stretches."""
        return np.concatenate(self.parts) if self.parts else np.empty(0, np.int32)


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


class TemplateSet:
    """Templates of one kind (plain or paired) for a given list of columns."""

    def __init__(self, templates: Sequence[Template], columns: Sequence[str], word: str):
        self.templates = list(templates)
        self.parts = [[(parse_atom(name, columns, word), o) for name, o in t.parts] for t in self.templates]
        flat = list(chain.from_iterable(self.parts))
        self.atoms: list[Atom] = list(dict.fromkeys(atom for atom, _ in flat))
        self.columns = sorted({atom.column for atom in self.atoms})
        self.spelled = {atom.column for atom in self.atoms if atom.kind not in (WHOLE, PREFIX, SUFFIX)}
        number = {atom: k for k, atom in enumerate(self.atoms)}
        self.seeds = hash_list([str(t) for t in self.templates])
        self.first = np.cumsum([0] + [len(part) for part in self.parts]).astype(np.int64)
        self.atom = np.array([number[atom] for atom, _ in flat], np.int64)
        self.offset = np.array([offset for _, offset in flat], np.int64)
        self.column = np.array([self.columns.index(a.column) for a in self.atoms], np.int64)

    def arrays(self, batch: Batch, packed: Mapping[str, PackedTypes]) -> Arrays:
        """What the kernels need to apply the templates to a batch."""
        tokens = int(batch.starts[-1])
        ids = np.stack([batch.ids[c] for c in self.columns]) if self.columns else np.empty((0, tokens), np.int32)
        values = []
        for atom in self.atoms:
            values.append(np.empty(len(batch.types[atom.column]), np.uint64))
            atom_values(atom.kind, atom.length, packed[atom.column], values[-1])
        base = np.cumsum([0] + [len(v) for v in values])[:-1].astype(np.int64)
        flat = np.concatenate(values) if values else np.empty(0, np.uint64)
        return Arrays(ids, flat, base, self.column, self.seeds, self.first, self.atom, self.offset)

    def describe(self, batch: Batch, t: int, token: int, lo: int, hi: int) -> str:
        """A template's feature at one token of the sentence lo … hi-1, readable: `w[-1]|w[0]=the|dog`."""
        texts = []
        for atom, offset in self.parts[t]:
            j = token + offset
            if lo <= j < hi:
                texts.append(atom_text(atom, batch.types[atom.column][batch.ids[atom.column][j]]) or "")
            else:
                texts.append(f"<s{lo - j}>" if j < lo else f"</s{j - hi + 1}>")
        return f"{self.templates[t]}={'|'.join(texts)}"
