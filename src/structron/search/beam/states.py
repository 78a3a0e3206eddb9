"""Templates over the atoms of a search problem: names to arrays that compiled code reads, and keys back to names.

A template is a list of atoms, written "s0.w|s0.t". Its feature in a state is a 64-bit key: the template's number in the
top bits and the atoms' values packed below, exactly, wherever the values are bounded and fit; so a key can be read
back. Where they do not fit the values are hashed. A negative value means that the atom says nothing: no feature.

Templates that look at the same parts of a state (the names before a dot: "s0", "q0") form a group. All states that
agree on the atoms of a group share its scores: they are computed once and remembered (see scores.py).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structron.errors import StructronError
from structron.kernels.jit import helper
from structron.kernels.reference import Bytes2, Ints, Keys, Shorts, Shorts2, by_reference
from structron.kernels.table import MULTIPLIER, SEED, SHIFT, mix

TEMPLATE_BITS = 9
VALUE_BITS = 64 - TEMPLATE_BITS
TOP = np.uint64(VALUE_BITS)
LOW = np.uint64((1 << VALUE_BITS) - 1)
WORD = (1 << 64) - 1
FAST = 4
"""Templates of so many atoms are read without loops."""
MOST_NAMED_ATOMS = 0xFFFF
"""Their numbers, and one more for no atom, have 16 bits."""


@by_reference
class Features(NamedTuple):
    """Templates as arrays."""

    atom: Shorts2  # uint16[templates, FAST or more]: the atoms of each template; after them an atom that is 0
    shift: Bytes2  # uint8[templates, …]: where each atom's value stands in the key
    hashed: Ints  # int64[templates]: 1 where the values do not fit
    group: Ints  # int64[groups + 1] into member
    member: Ints  # int64[templates]: the templates of each group
    group_ptr: Ints  # int64[groups] into group_atom
    group_atom: Shorts  # uint16: all atoms of a group, then the one that is 0
    signature: Shorts  # uint16: the atoms that tell states apart
    salt: Keys  # uint64[atoms + 1]: odd numbers that values are multiplied with to be added up to a hash
    telling: Keys  # uint64[atoms + 1]: the same for the atoms that tell states apart, 0 for the others


@helper(inline=True)
def feature_key(features, t, values, row):
    """The key of template t in a state whose atoms stand in values[row], 0 if it does not fire.

    Without branches for the usual case: templates are padded to FAST atoms.
    """
    atom, shift = features.atom, features.shift
    a, b, c, d = values[row, atom[t, 0]], values[row, atom[t, 1]], values[row, atom[t, 2]], values[row, atom[t, 3]]
    silent = a | b | c | d
    packed = (
        np.uint64(a) << np.uint64(shift[t, 0])
        | np.uint64(b) << np.uint64(shift[t, 1])
        | np.uint64(c) << np.uint64(shift[t, 2])
        | np.uint64(d) << np.uint64(shift[t, 3])
    )
    if features.hashed[t]:
        packed = mix(mix(mix(mix(SEED, np.uint64(a)), np.uint64(b)), np.uint64(c)), np.uint64(d))
    for j in range(FAST, atom.shape[1]):
        value = values[row, atom[t, j]]
        silent |= value
        if features.hashed[t]:
            packed = mix(packed, np.uint64(value))
        else:
            packed |= np.uint64(value) << np.uint64(shift[t, j])
    key = (packed & LOW) | (np.uint64(t + 1) << TOP)
    return key if silent >= 0 else np.uint64(0)


@helper(inline=True)
def hash_all(values, row, salt):
    """One number for the values of all atoms that have a salt: products that need not wait for each other."""
    h = SEED
    for a in range(salt.shape[0]):
        h += np.uint64(values[row, a]) * salt[a]
    return stirred(h)


@helper(inline=True)
def hash_groups(features, values, row, products, hashes):
    """hashes[g, 0] = one number for the values of the atoms of group g, for every group of a state.

    The lists end with a mark, not after a count: compilers would make vectors of the sum, and reading a vector's
    numbers from all over takes longer than one by one.
    """
    atoms, salt, end = features.group_atom, features.salt, np.uint16(features.salt.shape[0] - 1)
    for a in range(salt.shape[0]):
        products[a] = np.uint64(values[row, a]) * salt[a]
    for g in range(features.group_ptr.shape[0]):
        h, j = SEED, features.group_ptr[g]
        while atoms[j] != end:
            h += products[atoms[j]]
            j += 1
        hashes[g, 0] = stirred(h)


@helper(inline=True)
def stirred(h):
    """A sum of products, its bits mixed."""
    return mix(mix(h, SEED), h >> np.uint64(32))


@dataclass(frozen=True, slots=True)
class Composition:
    """Templates of a problem, ready for the engine, and their way back to names."""

    atoms: list[str]
    sizes: list[int]  # upper bounds of the values, 0: unbounded
    texts: list[str]  # the templates in the order of their numbers
    features: Features

    def describe(self, key: int, spell: Mapping[str, Sequence[str]] | None = None) -> str:
        """A feature by name: "s0.w|s0.t=dog|NN". `spell` names the values of atoms."""
        text, values = self.values_of(key)
        if values is None:
            return f"{text}=#{key & int(LOW):x}"
        names = spell or {}
        named = [names[a][v] if v < len(names.get(a, ())) else str(v) for a, v in values.items()]
        return f"{text}={'|'.join(named)}"

    def values_of(self, key: int) -> tuple[str, dict[str, int] | None]:
        """The template of a key and the values of its atoms, None where they were hashed."""
        number = (key >> VALUE_BITS) - 1
        f, text = self.features, self.texts[number]
        if f.hashed[number]:
            return text, None
        found = {}
        for atom, shift, name in zip(f.atom[number].tolist(), f.shift[number].tolist(), parts_of(text), strict=False):
            found[name] = (key >> shift) & ((1 << _bits(self.sizes[atom])) - 1)
        return text, found

    def key(self, number: int, values: Sequence[int]) -> int:
        """The key of a template in a state with these atom values, 0 if it does not fire; `feature_key` in Python."""
        f = self.features
        chosen = [int([*values, 0][atom]) for atom in f.atom[number].tolist()]
        if min(chosen) < 0:
            return 0
        packed = 0
        if f.hashed[number]:
            packed = int(SEED)
            for value in chosen:
                packed = ((packed ^ value) * int(MULTIPLIER)) & WORD
                packed ^= packed >> int(SHIFT)
        else:
            for value, shift in zip(chosen, f.shift[number].tolist(), strict=True):
                packed |= value << shift
        return (packed & int(LOW)) | (number + 1) << VALUE_BITS

    def rekey(self, keys: np.ndarray, new: "Composition") -> np.ndarray:
        """Keys of features under new sizes of the atoms; templates are the same, sizes have not shrunk."""
        old, now = self.features, new.features
        if np.array_equal(old.shift, now.shift) and np.array_equal(old.hashed, now.hashed):
            return keys
        out, number = keys.copy(), (keys >> TOP).astype(np.int64) - 1
        for t in np.flatnonzero(self.features.hashed == 0).tolist():
            own = np.flatnonzero(number == t)
            values = np.zeros((len(own), new.features.atom.shape[1]), np.uint64)
            atoms, shifts = self.features.atom[t].tolist(), self.features.shift[t].tolist()
            for j in range(len(parts_of(self.texts[t]))):
                mask = np.uint64((1 << _bits(self.sizes[atoms[j]])) - 1)
                values[:, j] = (keys[own] >> np.uint64(shifts[j])) & mask
            packed = np.full(len(own), SEED if new.features.hashed[t] else 0, np.uint64)
            for j in range(values.shape[1]):
                if new.features.hashed[t]:
                    packed = (packed ^ values[:, j]) * MULTIPLIER
                    packed ^= packed >> SHIFT
                else:
                    packed |= values[:, j] << np.uint64(new.features.shift[t, j])
            out[own] = (packed & LOW) | (np.uint64(t + 1) << TOP)
        return out


def _bits(size: int) -> int:
    return max(1, int(size - 1).bit_length())


def parts_of(text: str) -> list[str]:
    """The atoms of a template."""
    return [atom.strip() for atom in text.split("|")]


def part_of(atom: str) -> tuple[str, ...]:
    """The parts of a state that an atom looks at: what stands before the dot or the bracket."""
    return (atom.split(".")[0].split("[")[0],)


def compose(
    atoms: Mapping[str, int],
    templates: Sequence[str],
    always: Sequence[str] = (),
    parts: Callable[[str], Iterable[str]] = part_of,
) -> Composition:
    """Make templates ready. `atoms`: names and sizes; `always`: atoms that tell states apart besides those used.

    parts: what of a state an atom looks at; templates over the same parts form a group.
    """
    names, sizes = list(atoms), list(atoms.values())
    if len(names) > MOST_NAMED_ATOMS:
        raise StructronError(f"atoms: {len(names)}; expected at most {MOST_NAMED_ATOMS}")
    index = {name: k for k, name in enumerate(names)}
    wanted = list(dict.fromkeys(text.strip() for text in templates))
    if len(wanted) >= 1 << TEMPLATE_BITS:
        raise StructronError(f"templates: {len(wanted)}; expected at most {(1 << TEMPLATE_BITS) - 1}")
    for name in always:
        if name not in index:
            raise StructronError(f"always: unknown atom {name!r}; the problem has {', '.join(names)}")
    groups: dict[tuple[str, ...], list[str]] = {}
    for text in wanted:
        for atom in parts_of(text):
            if atom not in index:
                raise StructronError(f"template {text!r}: unknown atom {atom!r}; the problem has {', '.join(names)}")
        groups.setdefault(tuple(sorted({part for atom in parts_of(text) for part in parts(atom)})), []).append(text)
    texts = wanted
    number = {text: t for t, text in enumerate(texts)}
    width = max([FAST, *(len(parts_of(text)) for text in texts)])
    atom_of = np.full((len(texts), width), len(names), np.int64)
    shift, hashed = np.zeros_like(atom_of), np.zeros(len(texts), np.int64)
    for t, text in enumerate(texts):
        place = 0
        for j, k in enumerate(index[name] for name in parts_of(text)):
            atom_of[t, j], shift[t, j] = k, min(place, VALUE_BITS)
            place += _bits(sizes[k]) if sizes[k] > 0 else VALUE_BITS + 1
        hashed[t] = place > VALUE_BITS
    group_atoms = [sorted({index[a] for text in group for a in parts_of(text)}) for group in groups.values()]
    signature = sorted({*(index[a] for text in texts for a in parts_of(text)), *(index[name] for name in always)})
    salt = np.append(np.random.default_rng(1).integers(0, 2**64, len(names), np.uint64) | np.uint64(1), np.uint64(0))
    telling = np.zeros_like(salt)
    telling[signature] = salt[signature]
    features = Features(
        atom_of.astype(np.uint16),
        shift.astype(np.uint8),
        hashed,
        np.cumsum([0, *map(len, groups.values())]).astype(np.int64),
        np.array([number[text] for group in groups.values() for text in group], np.int64),
        np.cumsum([0, *(len(group) + 1 for group in group_atoms)])[:-1].astype(np.int64),
        np.array([k for group in group_atoms for k in (*group, len(names))], np.uint16),
        np.array(signature, np.uint16),
        salt,
        telling,
    )
    return Composition(names, sizes, texts, features)
