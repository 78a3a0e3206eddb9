"""Templates over the atoms of a search problem: names to arrays that compiled code reads, and keys back to names.

A template is a list of atoms, written "s0.w|s0.t". Its feature in a state is a 64-bit key: the template's number in the
top bits and the atoms' values packed below, exactly, wherever the values are bounded and fit; so a key can be read
back. Where they do not fit the values are hashed. A negative value means that the atom says nothing: no feature.

Templates that look at the same parts of a state (the names before a dot: "s0", "q0") form a group. All states that
agree on the atoms of a group share its scores: they are computed once and remembered (see search/scores.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structron.errors import StructronError
from structron.kernels import SEED, inlined, mix

TEMPLATE_BITS = 9
VALUE_BITS = 64 - TEMPLATE_BITS
TOP = np.uint64(VALUE_BITS)
LOW = np.uint64((1 << VALUE_BITS) - 1)
HASHED = -1


class Features(NamedTuple):
    """Templates as arrays, ordered by group."""

    ptr: np.ndarray  # int64[templates + 1] into atom
    atom: np.ndarray  # int64: the atoms of each template
    shift: np.ndarray  # int64: where each atom's value stands in the key, HASHED: nowhere
    group: np.ndarray  # int64[groups + 1] into the templates
    group_ptr: np.ndarray  # int64[groups + 1] into group_atom
    group_atom: np.ndarray  # int64: all atoms of a group
    signature: np.ndarray  # int64: the atoms that tell states apart


@inlined
def feature_key(features, t, values, row):
    """The key of template t in a state whose atoms stand in values[row], 0 if it does not fire."""
    begin, end = features.ptr[t], features.ptr[t + 1]
    packed = np.uint64(0)
    if features.shift[begin] != HASHED:
        for j in range(begin, end):
            value = values[row, features.atom[j]]
            if value < 0:
                return np.uint64(0)
            packed |= np.uint64(value) << np.uint64(features.shift[j])
    else:
        packed = SEED
        for j in range(begin, end):
            value = values[row, features.atom[j]]
            if value < 0:
                return np.uint64(0)
            packed = mix(packed, np.uint64(value))
        packed &= LOW
    return packed | (np.uint64(t + 1) << TOP)


@inlined
def combine(values, row, atoms, begin, end, seed):
    """One number for the values of some atoms."""
    h = seed
    for j in range(begin, end):
        h = mix(h, np.uint64(values[row, atoms[j]]))
    return h


@dataclass(frozen=True, slots=True)
class Composition:
    """Templates of a problem, ready for the engine, and their way back to names."""

    atoms: list[str]
    sizes: list[int]  # upper bounds of the values, 0: unbounded
    texts: list[str]  # the templates in the order of their numbers
    features: Features

    def describe(self, key: int, spell: Mapping[str, Sequence[str]] | None = None) -> str:
        """A feature by name: "s0.w|s0.t=dog|NN". `spell` names the values of atoms."""
        number = (key >> VALUE_BITS) - 1
        f, text = self.features, self.texts[number]
        places = range(int(f.ptr[number]), int(f.ptr[number + 1]))
        if f.shift[places[0]] == HASHED:
            return f"{text}=#{key & int(LOW):x}"
        return f"{text}={'|'.join(self._value(int(f.atom[j]), int(f.shift[j]), key, spell or {}) for j in places)}"

    def _value(self, atom: int, shift: int, key: int, spell: Mapping[str, Sequence[str]]) -> str:
        value = (key >> shift) & ((1 << _bits(self.sizes[atom])) - 1)
        names = spell.get(self.atoms[atom], ())
        return names[value] if value < len(names) else str(value)


def _bits(size: int) -> int:
    return max(1, int(size - 1).bit_length())


def parts_of(text: str) -> list[str]:
    """The atoms of a template."""
    return [atom.strip() for atom in text.split("|")]


def _part(atom: str) -> str:
    """The part of a state that an atom looks at: what stands before the dot or the bracket."""
    return atom.split(".")[0].split("[")[0]


def compose(atoms: Mapping[str, int], templates: Sequence[str], always: Sequence[str] = ()) -> Composition:
    """Make templates ready. `atoms`: names and sizes; `always`: atoms that tell states apart besides those used."""
    names, sizes = list(atoms), list(atoms.values())
    index = {name: k for k, name in enumerate(names)}
    wanted = list(dict.fromkeys(text.strip() for text in templates))
    if len(wanted) >= 1 << TEMPLATE_BITS:
        raise StructronError(f"templates: {len(wanted)}; expected at most {(1 << TEMPLATE_BITS) - 1}")
    groups: dict[tuple[str, ...], list[str]] = {}
    for text in wanted:
        for atom in parts_of(text):
            if atom not in index:
                raise StructronError(f"template {text!r}: unknown atom {atom!r}; the problem has {', '.join(names)}")
        groups.setdefault(tuple(sorted({_part(atom) for atom in parts_of(text)})), []).append(text)
    texts = [text for group in groups.values() for text in group]
    ptr, atom, shift = [0], [], []
    for text in texts:
        members = [index[name] for name in parts_of(text)]
        shifts, place = [], 0
        for k in members:
            shifts.append(place)
            place += _bits(sizes[k]) if sizes[k] > 0 else VALUE_BITS + 1
        atom += members
        shift += shifts if place <= VALUE_BITS else [HASHED] * len(members)
        ptr.append(len(atom))
    group_atoms = [sorted({index[a] for text in group for a in parts_of(text)}) for group in groups.values()]
    signature = sorted({*atom, *(index[name] for name in always)})
    features = Features(
        *(np.array(values, np.int64) for values in (ptr, atom, shift)),
        np.cumsum([0, *map(len, groups.values())]).astype(np.int64),
        np.cumsum([0, *map(len, group_atoms)]).astype(np.int64),
        np.array([k for group in group_atoms for k in group], np.int64),
        np.array(signature, np.int64),
    )
    return Composition(names, sizes, texts, features)
