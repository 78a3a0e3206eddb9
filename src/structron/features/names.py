"""Readable names of learned features, written by compiled code because a model has some hundred thousand of them.

A name is a template and the texts of its atoms where the feature was first seen: `w[-1]|w[0]=the|dog`. Only the texts
are stored, compressed in the model file; they are unpacked when somebody asks.
"""

from dataclasses import dataclass, field

import numpy as np

from structron.features import atoms as a
from structron.features.encode import Arrays, TemplateSet, TokenTable, sentence_of, which_templates
from structron.io.tensors import NUMBERS, TEXT, Tensor, Tensors, check_expansion, number_kind, pack, unpack
from structron.kernels.jit import helper, kernel
from structron.runtime.threads import for_each

STEP = 1 << 14
"""Features whose names are written together."""
BAR, ZERO, LESS, SLASH, LETTER_S, GREATER = (np.uint32(ord(c)) for c in "|0</s>")


@dataclass(slots=True)
class Names:
    """One name per feature: a head (the template), and a text."""

    heads: list[str]
    head: np.ndarray  # uint16[features], or uint32 where heads are more
    length: np.ndarray  # uint32[features]: of each text, in characters
    text: str  # all texts, one after the other
    _ends: np.ndarray | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def ends(self) -> np.ndarray:
        """int64[features]: where each text ends."""
        if self._ends is None:
            self._ends = np.cumsum(self.length, dtype=np.int64)
        return self._ends

    def __len__(self) -> int:
        return len(self.head)

    def all(self) -> list[str]:
        """Every name, spelled out."""
        ends = self.ends
        starts = ends - self.length
        heads, text = self.heads, self.text
        pieces = zip(self.head.tolist(), starts.tolist(), ends.tolist(), strict=True)
        return [heads[h] + text[start:end] for h, start, end in pieces]

    @classmethod
    def of(cls, names: list[str]) -> "Names":
        """Names that are given as they are."""
        length = np.fromiter(map(len, names), np.uint32, len(names))
        return cls([""], np.zeros(len(names), np.uint16), length, "".join(names))

    def __add__(self, other: "Names") -> "Names":
        heads = list(dict.fromkeys(self.heads + other.heads))
        number, kind = {head: k for k, head in enumerate(heads)}, number_kind(len(heads))
        here, there = (np.array([number[head] for head in own.heads], kind) for own in (self, other))
        head = np.concatenate([here[self.head], there[other.head]])
        return Names(heads, head, np.concatenate([self.length, other.length]), self.text + other.text)

    def take(self, wanted: np.ndarray) -> "Names":
        """The names of some of the features, in the given order."""
        ends, length = self.ends[wanted], self.length[wanted]
        pieces = zip((ends - length).tolist(), ends.tolist(), strict=True)
        text = "".join([self.text[start:end] for start, end in pieces])
        return Names(self.heads, self.head[wanted], length, text)

    def tensors(self) -> Tensors:
        """For a model file, beside `heads` in its header."""
        return {"name_head": self.head, "name_length": self.length, "name_text": pack(self.text)}

    @staticmethod
    def declared(features: str, heads: list[str], prefix: str = "") -> dict[str, Tensor]:
        """The arrays of so many names."""
        return {
            f"{prefix}name_head": Tensor(NUMBERS, features, below=max(len(heads), 1)),
            f"{prefix}name_length": Tensor("uint32", features),
            f"{prefix}name_text": Tensor(TEXT, f"{prefix}name bytes"),
        }

    @classmethod
    def from_tensors(cls, heads: list[str], tensors: Tensors, prefix: str = "") -> "Names":
        """The inverse of `tensors`, of arrays that were checked; ValueError: lengths and text differ."""
        head, length, text = (tensors[f"{prefix}name_{what}"] for what in ("head", "length", "text"))
        total = int(length.sum(dtype=np.int64))
        unpacked = unpack(text, 4 * total)
        if total != len(unpacked):
            raise ValueError("names do not fit together")
        written = np.array([len(own) for own in heads] or [0], np.int64)[head].sum()
        check_expansion(int(written), sum(array.nbytes for array in tensors.values()), "names")
        return cls(heads, head, length, unpacked)


@helper
def put(out, k, code):
    """Write a character to out[k], if there is room; returns the next place."""
    if k < out.shape[0]:
        out[k] = code
    return k + 1


@helper
def put_edge(out, k, distance, end):
    """<s1>, <s2> … before the sentence, </s1>, </s2> … after it."""
    k = put(out, k, LESS)
    if end:
        k = put(out, k, SLASH)
    k = put(out, k, LETTER_S)
    if distance > 9:
        k = put(out, k, np.uint32(ZERO + distance // 10 % 10))
    return put(out, put(out, k, np.uint32(ZERO + distance % 10)), GREATER)


@helper
def put_class(out, k, code):
    """Write the letter of a class of characters (see `atoms.class_codes`)."""
    if code >= a.SHAPE_OTHER:
        return put(out, k, np.uint32(code - a.SHAPE_OTHER))
    return put(out, k, np.uint32((88, 120, 100)[code - 1]))


@helper
def put_atom(out, k, kind, length, packed, t):
    """The text of an atom for type t: `atom_text` in compiled code."""
    codes, classes = packed.codes, packed.classes
    start, stop = packed.offsets[t], packed.offsets[t + 1]
    if kind == a.WHOLE or kind == a.PREFIX or kind == a.SUFFIX:
        lo = stop - length if kind == a.SUFFIX else start
        hi = start + length if kind == a.PREFIX else stop
        for j in range(lo, hi):
            k = put(out, k, codes[j])
    elif kind == a.LOWER or kind == a.NORM or kind == a.LPREFIX or kind == a.LSUFFIX:
        start, stop = packed.lower_offsets[t], packed.lower_offsets[t + 1]
        lo = stop - length if kind == a.LSUFFIX else start
        hi = start + length if kind == a.LPREFIX else stop
        for j in range(lo, hi):
            digit = kind == a.NORM and packed.lower_classes[j] == 3
            k = put(out, k, ZERO if digit else packed.lower[j])
    elif kind == a.STEM or kind == a.ENDING:
        start, stop = packed.lower_offsets[t], packed.lower_offsets[t + 1]
        cut = stop - a.ending_length(packed.lower, start, stop)
        for j in range(start if kind == a.STEM else cut, cut if kind == a.STEM else stop):
            k = put(out, k, packed.lower[j])
    elif kind == a.FORM:
        form = a.form_number(codes, classes, start, stop)
        for j in range(a.FORM_OFFSETS[form], a.FORM_OFFSETS[form + 1]):
            k = put(out, k, a.FORM_CODES[j])
    elif kind == a.SHAPE or kind == a.CLASS:
        for j in range(start, stop):
            if kind == a.SHAPE or j == start or classes[j] != classes[j - 1]:
                k = put_class(out, k, classes[j])
    else:
        for code in (121, 101, 115):
            k = put(out, k, np.uint32(code))
    return k


@kernel
def put_names(arrays, kinds, lengths, packed, base, starts, tokens, templates, out, out_length):
    """Write the text of every feature's atoms; returns the characters needed, all written if `out` is long enough.

    packed: the types of all columns in one; base[column]: where a column's begin.
    """
    k = np.int64(0)
    for f in range(tokens.shape[0]):
        begin = k
        i, t = tokens[f], templates[f]
        s = sentence_of(starts, i)
        lo, hi = starts[s], starts[s + 1]
        for q in range(arrays.first[t], arrays.first[t + 1]):
            if q > arrays.first[t]:
                k = put(out, k, BAR)
            j = i + arrays.offset[q]
            if j < lo:
                k = put_edge(out, k, lo - j, False)
            elif j >= hi:
                k = put_edge(out, k, j - hi + 1, True)
            else:
                atom = arrays.atom[q]
                column = arrays.column[atom]
                k = put_atom(out, k, kinds[atom], lengths[atom], packed, base[column] + arrays.ids[column, j])
        out_length[f] = k - begin
    return k


def template_names(
    templates: TemplateSet,
    arrays: Arrays | None,
    table: TokenTable,
    keys: np.ndarray,
    tokens: np.ndarray,
    jobs: int = 1,
) -> Names:
    """The names of features that were first seen at the given tokens. arrays: None where there are no features."""
    which, length = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.uint32)
    if arrays is None:
        heads = [f"{t}=" for t in templates.templates]
        return Names(heads, which.astype(number_kind(len(heads))), length, "")
    kinds = np.array([atom.kind for atom in templates.atoms], np.int64)
    lengths = np.array([atom.length for atom in templates.atoms], np.int64)
    types = [table.columns[c].types for c in templates.columns]
    base = np.cumsum([0] + [len(t) for t in types]).astype(np.int64)
    texts_of_types = [text for column in types for text in column]
    heads = [f"{t}=" for t in templates.templates]
    packed = a.pack_types(texts_of_types)

    def write(lo: int) -> str:
        """The texts of features lo and following."""
        part = slice(lo, lo + STEP)
        which_templates(arrays, table.starts, tokens[part], keys[part], which[part])
        args = (arrays, kinds, lengths, packed, base, table.starts, tokens[part], which[part])
        out = np.empty(24 * STEP, np.uint32)
        needed = put_names(*args, out, length[part])
        if needed > len(out):
            out = np.empty(needed, np.uint32)
            put_names(*args, out, length[part])
        return out[:needed].tobytes().decode("utf-32-le", "surrogatepass")

    pieces = range(0, len(keys), STEP)
    texts = list(map(write, pieces)) if jobs == 1 else for_each(write, pieces, jobs)
    return Names(heads, which.astype(number_kind(len(heads))), length, "".join(texts))
