"""The other extractor: tokens with features that the user has worked out already, as dicts or lists of strings.

The forms are those of python-crfsuite's `ItemSequence`, so that its users can bring their feature functions along:

    ["a", "b"]              the attributes a and b, of value 1; a set likewise
    {"k": "v"}              k:v, of value 1
    {"k": 0.5}              k, of value 0.5; True is 1, and what is 0 or False is absent
    {"k": ["a", "b"]}       k:a and k:b
    {"k": {"a": 0.5}}       k:a, of value 0.5
    "word"                  the attribute word (`ItemSequence` would take its letters apart)

    tokens ──reader──▶ a number per distinct text ──hash_list──▶ one hash per number
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.features.encode import UNWEIGHTED, Hashes
from structron.features.extract import NO_IDS
from structron.features.names import Names
from structron.kernels.table import hash_list

LARGEST = 1e15
"""Larger values could overflow the scores, which are sums of values times sums of values."""


def _text(given: Any) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, bytes):
        return given.decode()
    raise TypeError(f"attribute {short(given)}; expected a string")


class _Numbers(dict):
    """Text -> number, for attributes with the same beginning. A text is looked at once, when it is first seen."""

    def __init__(self, texts: list[str], prefix: str = ""):
        self.texts, self.prefix = texts, prefix

    def __missing__(self, text: Any) -> int:
        name = self.prefix + _text(text)
        number = self[text] = len(self.texts)
        self.texts.append(name)
        return number


class _Keys(dict):
    """Key -> the numbers of its values."""

    def __init__(self, texts: list[str]):
        self.texts = texts

    def __missing__(self, key: Any) -> _Numbers:
        numbers = self[key] = _Numbers(self.texts, f"{_text(key)}:")
        return numbers


ABSENT = -1
"""The code of what is 0 or False."""
PLAIN = {str, bool, int, float}
"""Types of values with nothing within."""
PACKED = 1 << 20
"""Codes that are kept as Python's numbers before they are packed."""
REMEMBERED = 1 << 16
"""Pairs with a value other than 1 that are looked at once; measurements hardly ever come again."""


class _Items(dict):
    """(key, value) of a dict -> the number of its attribute, `ABSENT`, or below it the place of a number and a value.

    A pair is looked at once, when it is first seen; many dicts are then read by one `map`, without Python in between.
    """

    def __init__(self, texts: list[str]):
        self.singles, self.by_key = _Numbers(texts), _Keys(texts)
        self.valued, self.weights = array("i"), array("f")

    def __missing__(self, item: tuple[Any, Any]) -> int:
        key, value = item
        if isinstance(value, str | bytes):
            code = self[item] = self.by_key[key][value]
            return code
        number = _value(key, value)
        if number == 0:
            code = ABSENT
        elif number == 1:
            code = self.singles[key]
        else:
            code = ABSENT - 1 - len(self.weights)
            self.valued.append(self.singles[key])
            self.weights.append(number)
        if code >= ABSENT or len(self.weights) <= REMEMBERED:
            self[item] = code
        return code


def _value(key: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        expected = "expected a string, a number, a dict or a list of strings"
        raise TypeError(f"attribute {key!r}: {short(value)}; {expected}") from None
    if not -LARGEST <= number <= LARGEST:
        raise ValueError(f"attribute {key!r}: {number}; expected a number between -{LARGEST:g} and {LARGEST:g}")
    return number


class _Reader:
    """Takes sequences one after the other and keeps their attributes as codes."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.items = _Items(self.texts)
        self.codes: list[int] = []
        self.packed, self.lengths = array("i"), array("i")
        self.flat = True

    def sequence(self, tokens: Sequence) -> None:
        """Add the attributes of all tokens. Dicts without lists and dicts within, the usual case, are read at once."""
        codes, items = self.codes, self.items
        if len(codes) > PACKED:
            self._pack()
        before = len(codes)
        if self.flat:
            try:
                codes.extend(map(items.__getitem__, chain.from_iterable(map(dict.items, tokens))))
                self.lengths.extend(map(len, tokens))
                return
            except (TypeError, ValueError, OverflowError):  # also a mistake, which is found again below
                del codes[before:]
                self.flat = False
        for i, token in enumerate(tokens):
            before = len(codes)
            try:
                self._token(token)
            except (TypeError, ValueError, OverflowError) as error:
                raise StructronError(f"token {i + 1}: {error}") from None
            self.lengths.append(len(codes) - before)

    def _pack(self) -> None:
        self.packed.extend(array("i", self.codes))
        self.codes.clear()

    def _token(self, token: Any) -> None:
        kind = type(token)
        if kind is dict or isinstance(token, Mapping):
            self._mapping(token, "")
        elif kind is str or isinstance(token, str | bytes):
            self.codes.append(self.items.singles[token])
        elif hasattr(token, "__len__"):
            self._strings(token, self.items.singles)
        else:
            raise TypeError(f"{short(token)}; expected a dict, a list or set of strings, or a string")

    def _strings(self, items: Collection, numbers: _Numbers) -> None:
        """A list's strings, or a set's in an order that no process changes."""
        try:
            ordered = sorted(items, key=_text) if isinstance(items, Set) else items
            self.codes.extend(map(numbers.__getitem__, ordered))
        except TypeError:
            for item in items:
                _text(item)
            raise

    def _mapping(self, mapping: Mapping[str, Any], prefix: str) -> None:
        codes, items = self.codes, self.items
        for key, value in mapping.items():
            if prefix:
                key = prefix + _text(key)
            if type(value) in PLAIN:
                codes.append(items[key, value])
            elif isinstance(value, Mapping):
                self._mapping(value, f"{_text(key)}:")
            elif isinstance(value, list | tuple | Set):
                self._strings(value, items.by_key[key])
            else:  # an array of one number has no hash, its number has
                codes.append(items[key, value if isinstance(value, str | bytes) else _value(key, value)])

    def result(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the attributes of each token begin, their numbers, and their values if any is not 1."""
        self._pack()
        ptr = np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])
        numbers, values = np.array(self.packed, np.int32), UNWEIGHTED
        if self.items.weights:
            values, valued = np.ones(len(numbers), np.float32), np.flatnonzero(numbers < ABSENT)
            places = ABSENT - 1 - numbers[valued]
            values[valued] = np.array(self.items.weights, np.float32)[places]
            numbers[valued] = np.array(self.items.valued, np.int32)[places]
        there = numbers > ABSENT
        if not there.all():
            ptr = np.concatenate([[0], np.cumsum(there)])[ptr]
            numbers, values = numbers[there], values[there] if len(values) else values
        return ptr, numbers, values


class PreparedAttributes:
    """Sentences whose attributes have been numbered: gives hashes, and names for people."""

    has_pairs, jobs = False, 1

    def __init__(self, lengths: list[int], reader: _Reader, label_types: list, label_ids: array):
        self.starts = np.cumsum([0, *lengths], dtype=np.int64)
        self.units = np.arange(len(self.starts))
        self.ptr, self.numbers, self.values = reader.result()
        self.texts = reader.texts
        self.keys = hash_list(self.texts)
        self.label_types, self.label_ids = label_types, np.array(label_ids, np.int32)
        self.word_types: list[str] = []
        self.word_ids = NO_IDS

    def hashes(self, lo: int, hi: int) -> Hashes:
        """The attributes of sentences lo … hi-1."""
        ptr = self.ptr[self.starts[lo] : self.starts[hi] + 1]
        here = slice(int(ptr[0]), int(ptr[-1]))
        return ptr - ptr[0], self.keys[self.numbers[here]], self.values[here]

    def pair_hashes(self, lo: int, hi: int) -> Hashes:
        """None: attributes are not paired with the previous label."""
        return np.zeros(int(self.starts[hi] - self.starts[lo]) + 1, np.int64), np.empty(0, np.uint64), UNWEIGHTED

    @cached_property
    def _by_key(self) -> np.ndarray:
        return np.argsort(self.keys)

    def names(self, keys: np.ndarray, tokens: np.ndarray, paired: bool) -> Names:
        """The attributes that some hashes stand for, all of them seen in these sentences."""
        places = self._by_key[np.searchsorted(self.keys, keys, sorter=self._by_key)]
        return Names.of([self.texts[k] for k in places.tolist()])

    def describe(self, s: int, token: int, paired: bool) -> Iterator[tuple[int, str, float]]:
        """(hash, attribute, value) of every attribute of one token, counted through all sentences."""
        if paired:
            return
        for j in range(int(self.ptr[token]), int(self.ptr[token + 1])):
            number = self.numbers[j]
            yield int(self.keys[number]), self.texts[number], float(self.values[j]) if len(self.values) else 1.0


class AttributeExtractor:
    """A user's own attributes, as they are. labels: those to expect even if no sentence shows them."""

    def __init__(self, labels: Sequence = ()):
        self.labels = list(labels)

    def prepare(self, sentences: Iterable[Sequence], labelled: bool = False, what: str = "data") -> PreparedAttributes:
        """Look at the attributes of all tokens; with `labelled`, sentences are pairs: tokens and their labels."""
        reader, lengths = _Reader(), []
        label_numbers, label_ids = {label: y for y, label in enumerate(self.labels)}, array("i")
        for s, sentence in enumerate(sentences):
            tokens = sentence[0] if labelled else sentence
            try:
                reader.sequence(tokens)
            except StructronError as error:
                raise StructronError(f"{what}: sequence {s + 1}, {error}") from None
            lengths.append(len(tokens))
            if labelled:
                label_ids.extend([label_numbers.setdefault(label, len(label_numbers)) for label in sentence[1]])
        return PreparedAttributes(lengths, reader, list(label_numbers), label_ids)


def short(value: Any) -> str:
    """A value as an error message shows it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
