"""Atoms: what a template can ask of one token, computed once per word *type* as 64-bit integers.

An atom is a column ("w", "pos", any column of the file) or a function of a column's text ("suffix3",
"lemma.lower"). `atom_text` says what an atom is; `atom_values` computes the hash of that text for many types at
once in compiled code. Where an atom says nothing (a prefix longer than the word, a flag that is false) its text
is None and its value 0, and a template that uses it does not fire.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np

from structron.errors import StructronError
from structron.kernels.jit import helper, kernel
from structron.kernels.reference import Codes, Ints, by_reference
from structron.kernels.table import hash_codes, mix, pack_strings

WHOLE, LOWER, NORM, SHAPE, CLASS, PREFIX, SUFFIX, LPREFIX, LSUFFIX, DIGIT, UPPER, HYPHEN, STEM, ENDING, FORM = range(15)
KINDS = {
    "lower": LOWER,
    "norm": NORM,
    "shape": SHAPE,
    "class": CLASS,
    "digit": DIGIT,
    "upper": UPPER,
    "hyphen": HYPHEN,
    "stem": STEM,
    "ending": ENDING,
    "form": FORM,
}
AFFIXES = {"prefix": PREFIX, "suffix": SUFFIX, "lprefix": LPREFIX, "lsuffix": LSUFFIX}
AFFIX_KINDS = frozenset(AFFIXES.values())
UNSPELLED = frozenset((WHOLE, PREFIX, SUFFIX))
"""Kinds that take characters as they are, neither in lower case nor by their classes."""
AFFIX = re.compile(r"(l?prefix|l?suffix)([1-9])$")
FLAG = np.uint64(0x5BD1E995)
ENDINGS = [
    *("nesses", "ations", "ation", "ments", "ingly", "ness", "ment", "edly", "ings", "ing"),
    *("ers", "est", "ies", "ied", "ed", "es", "ly", "er", "'s", "s"),
]
"""What a stem lacks: the first of these that leaves three characters. For English; longer ones come first."""
LEAST_STEM = 3
ENDING_CODES, ENDING_OFFSETS = pack_strings(ENDINGS)
FORMS = ("2d", "4d", "d&a", "d&-", "d&/", "d&,", "d&.", "n", "ac", "cp", "ic", "l", "other")
"""Word forms (Bikel, Schwartz & Weischedel 1999, Table 3.1; names of Kazama & Torisawa 2007), the first that fits."""
FORM_CODES, FORM_OFFSETS = pack_strings(list(FORMS))
DIGIT_MARKS = "-/,."
SHAPE_CODES = {"X": 1, "x": 2, "d": 3}
SHAPE_OTHER = 16


@dataclass(frozen=True, slots=True)
class Atom:
    """A function (kind, length) of the text in a column."""

    column: str
    kind: int
    length: int = 0


def parse_atoms(names: Iterable[str], columns: Sequence[str], word: str) -> dict[str, Atom]:
    """The atoms that have these names."""
    return {name: parse_atom(name, columns, word) for name in dict.fromkeys(names)}


def parse_atom(name: str, columns: Sequence[str], word: str) -> Atom:
    """Resolve an atom's name: a column, `w` for the word column, a built-in of the word, or `column.built-in`."""
    if name in columns:
        return Atom(name, WHOLE)
    if name == "w":
        return Atom(word, WHOLE)
    column, _, function = name.rpartition(".")
    column = word if column == "" or (column == "w" and "w" not in columns) else column
    affix = AFFIX.match(function)
    if column in columns and affix:
        return Atom(column, AFFIXES[affix[1]], int(affix[2]))
    if column in columns and function in KINDS:
        return Atom(column, KINDS[function])
    built_in = ["w", *KINDS, *(f"{affix}1…9" for affix in AFFIXES)]
    known = f"columns: {', '.join(columns)}; built in: {', '.join(built_in)}"
    known += "; with clusters: c, c1 … c64; with a lexicon: lex, lex_xpos, lex_feats"
    raise StructronError(f"unknown atom {name!r}; {known}")


def char_class(char: str) -> str:
    """X for upper case, x for lower case, d for digits, other characters themselves."""
    if char.isupper() or char.istitle():
        return "X"
    if char.islower():
        return "x"
    return "d" if char.isdigit() else char


class _CharClasses(dict):
    """The classes of the characters that were asked for, as `str.translate` takes them."""

    def __missing__(self, code: int) -> str:
        found = self[code] = char_class(chr(code))
        return found


_CHAR_CLASSES = _CharClasses()


def word_form(word: str) -> str:
    """Numbers by what else is in them, other words by their capitals; letters are those that have two cases."""
    classes = "".join(c if c in "Xxd" else " " for c in map(char_class, word))
    if "d" in classes:
        if classes in ("dd", "dddd"):
            return f"{len(word)}d"
        letters = "X" in classes or "x" in classes
        return "d&a" if letters else next((f"d&{mark}" for mark in DIGIT_MARKS if mark in word), "n")
    if classes and set(classes) == {"X"}:
        return "ac"
    if classes == "X " and word[1] == ".":
        return "cp"
    return "ic" if classes[:1] == "X" else "l" if "x" in classes and "X" not in classes else "other"


def atom_text(atom: Atom, word: str) -> str | None:
    """What an atom says of a word, readable; None when it says nothing."""
    kind, k = atom.kind, atom.length
    if kind == WHOLE:
        return word
    if kind == LOWER:
        return word.lower()
    if kind == NORM:
        return "".join("0" if char_class(c) == "d" else c for c in word.lower())
    if kind in AFFIX_KINDS:
        word = word.lower() if kind in (LPREFIX, LSUFFIX) else word
        return None if len(word) < k else word[:k] if kind in (PREFIX, LPREFIX) else word[len(word) - k :]
    if kind in (STEM, ENDING):
        word = word.lower()
        cut = next((len(e) for e in ENDINGS if word.endswith(e) and len(word) - len(e) >= LEAST_STEM), 0)
        return word[: len(word) - cut] if kind == STEM else word[len(word) - cut :] or None
    if kind == FORM:
        return word_form(word)
    classes = word.translate(_CHAR_CLASSES)
    if kind == SHAPE:
        return classes
    if kind == CLASS:
        return "".join(c for j, c in enumerate(classes) if j == 0 or classes[j - 1] != c)
    fires = {DIGIT: "d" in classes, UPPER: "X" in classes, HYPHEN: "-" in word}[kind]
    return "yes" if fires else None


def texts_of(atoms: Iterable[Atom], types: Mapping[str, list[str]], nothing: str) -> list[list[str]]:
    """What each atom says of the types of its column; nothing: stands for one of which it says nothing."""
    return [
        types[atom.column] if atom.kind == WHOLE else [atom_text(atom, word) or nothing for word in types[atom.column]]
        for atom in atoms
    ]


@by_reference
class PackedTypes(NamedTuple):
    """The distinct texts of a column as compiled code reads them."""

    codes: Codes  # uint32: the code points of all texts, one after the other
    offsets: Ints  # int64[types + 1]
    classes: Codes  # uint32: see `class_codes`
    lower: Codes  # the same three for the texts in lower case
    lower_offsets: Ints
    lower_classes: Codes


def pack_types(types: list[str], spelled: bool = True) -> PackedTypes:
    """Pack texts; lower case and classes only where an atom looks at the spelling."""
    lowered = [t.lower() for t in types] if spelled else []
    codes, offsets = pack_strings([*types, *lowered])
    if not spelled:
        return PackedTypes(codes, offsets, codes[:0], codes[:0], offsets[:0], codes[:0])
    classes, count = class_codes(codes), len(types)
    middle = offsets[count]
    own = (codes[:middle], offsets[: count + 1], classes[:middle])
    return PackedTypes(*own, codes[middle:], offsets[count:] - middle, classes[middle:])


@helper
def ending_length(codes, start, stop):
    """The length of a lower-case text's ending, 0 if it has none."""
    for e in range(ENDING_OFFSETS.shape[0] - 1):
        first, last = ENDING_OFFSETS[e], ENDING_OFFSETS[e + 1]
        size = last - first
        same = stop - start - size >= LEAST_STEM
        j = 0
        while same and j < size:
            same = codes[stop - size + j] == ENDING_CODES[first + j]
            j += 1
        if same:
            return size
    return 0


@helper
def form_number(codes, classes, start, stop):
    """The place of a text's word form in FORMS. Mirrors `word_form`."""
    upper = lower = digits = 0
    dash = slash = comma = period = False
    for j in range(start, stop):
        upper += classes[j] == 1
        lower += classes[j] == 2
        digits += classes[j] == 3
        dash |= codes[j] == 45
        slash |= codes[j] == 47
        comma |= codes[j] == 44
        period |= codes[j] == 46
    size = stop - start
    if digits > 0:
        if digits == size and (size == 2 or size == 4):
            return size // 2 - 1
        if upper + lower > 0:
            return 2
        return 3 if dash else 4 if slash else 5 if comma else 6 if period else 7
    if upper > 0 and upper == size:
        return 8
    if size == 2 and classes[start] == 1 and codes[start + 1] == 46:
        return 9
    if size > 0 and classes[start] == 1:
        return 10
    return 11 if lower > 0 and upper == 0 else 12


@helper
def atom_value(kind, k, packed, t):
    """The hash of an atom's text for type t; 0 where the atom says nothing. Mirrors `atom_text`."""
    codes, classes, lower = packed.codes, packed.classes, packed.lower
    start, stop = packed.offsets[t], packed.offsets[t + 1]
    h = np.uint64(0)
    if kind == WHOLE:
        h = hash_codes(codes, start, stop)
    elif kind == LOWER:
        h = hash_codes(lower, packed.lower_offsets[t], packed.lower_offsets[t + 1])
    elif kind == PREFIX:
        if stop - start >= k:
            h = hash_codes(codes, start, start + k)
    elif kind == SUFFIX:
        if stop - start >= k:
            h = hash_codes(codes, stop - k, stop)
    elif kind == LPREFIX or kind == LSUFFIX:
        start, stop = packed.lower_offsets[t], packed.lower_offsets[t + 1]
        if stop - start >= k:
            first = start if kind == LPREFIX else stop - k
            h = hash_codes(lower, first, first + k)
    elif kind == STEM or kind == ENDING:
        start, stop = packed.lower_offsets[t], packed.lower_offsets[t + 1]
        cut = ending_length(lower, start, stop)
        if kind == STEM:
            h = hash_codes(lower, start, stop - cut)
        elif cut > 0:
            h = hash_codes(lower, stop - cut, stop)
    elif kind == FORM:
        h = mix(np.uint64(kind), np.uint64(form_number(codes, classes, start, stop))) | np.uint64(1)
    elif kind == SHAPE:
        h = hash_codes(classes, start, stop)
    elif kind == NORM or kind == CLASS:
        h = np.uint64(kind)
        if kind == NORM:
            for j in range(packed.lower_offsets[t], packed.lower_offsets[t + 1]):
                code = np.uint64(48) if packed.lower_classes[j] == 3 else np.uint64(lower[j])
                h = mix(h, code)
        else:
            for j in range(start, stop):
                if j == start or classes[j] != classes[j - 1]:
                    h = mix(h, np.uint64(classes[j]))
        h |= np.uint64(1)
    else:
        for j in range(start, stop):
            digit = kind == DIGIT and classes[j] == 3
            upper = kind == UPPER and classes[j] == 1
            if digit or upper or (kind == HYPHEN and codes[j] == 45):
                h = FLAG
    return h


@kernel
def atom_values(kinds, lengths, first, base, packed, out):
    """What atoms say of types: out[base[a]] … out[base[a + 1] - 1] is what atom a says of types first[a] …"""
    for a in range(kinds.shape[0]):
        for j in range(base[a + 1] - base[a]):
            out[base[a] + j] = atom_value(kinds[a], lengths[a], packed, first[a] + j)


def values_of(atoms: Sequence[Atom], types: Mapping[str, list[str]]) -> list[np.ndarray]:
    """uint64[types of its column]: what each atom says of the distinct texts of its column; in one compiled call."""
    texts = list(chain.from_iterable(types.values()))
    place = dict(zip(types, accumulate(map(len, types.values()), initial=0), strict=False))
    kinds, lengths = (np.array([getattr(atom, own) for atom in atoms], np.int64) for own in ("kind", "length"))
    first = np.array([place[atom.column] for atom in atoms], np.int64)
    base = np.cumsum([0, *(len(types[atom.column]) for atom in atoms)], dtype=np.int64)
    out = np.empty(int(base[-1]), np.uint64)
    packed = pack_types(texts, spelled=not UNSPELLED.issuperset(kinds.tolist()))
    atom_values(kinds, lengths, first, base, packed, out)
    return np.split(out, base[1:-1])


def class_codes(codes: np.ndarray) -> np.ndarray:
    """The class of every character as an integer: 1 upper, 2 lower, 3 digit, else its code point + 16."""
    points = np.unique(codes)
    chars = map(chr, points.tolist())
    lookup = np.zeros(int(points.max(initial=0)) + 1, np.uint32)
    lookup[points] = [SHAPE_CODES.get(char_class(c), ord(c) + SHAPE_OTHER) for c in chars]
    return lookup[codes]
