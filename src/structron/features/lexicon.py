"""A lexicon: which labels a word may have, from those that it, or words with its ending, had in training.

What users have in lexicons of their own (wordforms.py) counts as seen.

    word ──seen often──▶ its own labels
      └────seen rarely, or never──▶ its own, and the commonest of the longest ending that is known
                                      └──if they are to be tried──▶ and those of all words

Columns beside the word (its part of speech, say) may be part of what is looked up. So a token has a few labels to
choose from, however many there are in all. Words count in lower case, digits alike.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from structron.features.atoms import WHOLE, Atom, char_class
from structron.features.encode import Column
from structron.features.wordforms import Choices
from structron.io.tensors import NUMBERS, Tensor, Tensors, number_kind
from structron.kernels.jit import entry, helper, kernel
from structron.kernels.reference import Codes, Flags, Ints, Keys2, Numbers, by_reference
from structron.kernels.table import MULTIPLIER, SHIFT, build_table, hash_codes, mix, pack_strings, table_find

MAX_ENDING = 7
"""Longest ending, in characters."""
MIN_ENDING_WORDS = 5
"""Words that an ending must have been seen with."""
MAX_ENDING_LABELS = 16
"""Labels that an ending keeps, the commonest."""
ENDING = np.uint64(0x71D67FFFEDA60000)
WORD = np.uint64(0x5851F42D4C957F2D)


@by_reference
class Demands(NamedTuple):
    """What a label asks of a word: how it begins and how it ends. No labels: nothing."""

    fronts: Codes  # uint32: code points
    front: Ints  # int64[labels + 1]
    backs: Codes
    back: Ints


def make_demands(fronts: list[str], backs: list[str]) -> Demands:
    """Demands of labels by number."""
    return Demands(*pack_strings(fronts), *pack_strings(backs))


NO_DEMANDS = make_demands([], [])


@by_reference
class Entries(NamedTuple):
    """The lexicon as kernels read it; entry 0 is that of all words."""

    table: Keys2  # uint64[capacity, 2]: see kernels/table.py
    ptr: Ints  # int64[entries + 1]
    label: Numbers  # int32: those of an entry, the commonest first
    sure: Flags  # bool[entries]: whether a word needs no labels of its ending


@lru_cache(1 << 16)
def normal(word: str) -> str:
    """A word as it is looked up, by several models in turn."""
    lower = word.lower().replace("ς", "σ")  # which of the two it is depends on what follows
    return lower if lower.isalpha() else "".join("0" if char_class(c) == "d" else c for c in lower)


def folded(words: Column) -> tuple[np.ndarray, np.ndarray]:
    """The distinct words of a column as they are looked up, packed; once for all models that do so."""
    if words.folded is None:
        words.folded = pack_strings(list(map(normal, words.types)))
    return words.folded


@helper
def ending_key(codes, stop, length, given):
    """The key of an ending; length 0: of all words with these columns."""
    return mix(mix(hash_codes(codes, stop - length, stop), given), ENDING + np.uint64(length)) | np.uint64(1)


@helper
def word_key(codes, start, stop, given):
    return mix(mix(hash_codes(codes, start, stop), given), WORD) | np.uint64(1)


@helper
def fits(demands, label, codes, start, stop):
    """Whether a word begins and ends as a label demands."""
    if demands.front.shape[0] < 2:
        return True
    front, front_end = demands.front[label], demands.front[label + 1]
    back, back_end = demands.back[label], demands.back[label + 1]
    if stop - start < front_end - front + back_end - back:
        return False
    for j in range(front_end - front):
        if codes[start + j] != demands.fronts[front + j]:
            return False
    same = True
    for j in range(back_end - back):
        same = same and codes[stop - 1 - j] == demands.backs[back_end - 1 - j]
    return same


@helper
def take(entries, entry, demands, codes, start, stop, out, count):
    """Add the labels of an entry that fit and are not there yet; returns how many there are then."""
    for j in range(entries.ptr[entry], entries.ptr[entry + 1]):
        label = entries.label[j]
        new = count < out.shape[0]
        for k in range(count):
            new = new and out[k] != label
        if new and fits(demands, label, codes, start, stop):
            out[count] = label
            count += 1
    return count


@kernel
def choices_of(entries, demands, common, codes, offsets, word, given, own, first, out):
    """The labels of each word: out[first[k]] … ; `word` are places in `offsets`. Returns their number; -1: no room.

    own: room for those of a word.
    """
    total = 0
    for k in range(word.shape[0]):
        start, stop = offsets[word[k]], offsets[word[k] + 1]
        known = table_find(entries.table, word_key(codes, start, stop, given[k]))
        count = 0
        if known >= 0:
            count = take(entries, known, demands, codes, start, stop, own, count)
        if known < 0 or not entries.sure[known]:
            length = min(MAX_ENDING, stop - start)
            found = np.int64(-1)
            while length >= 0 and found < 0:
                found = table_find(entries.table, ending_key(codes, stop, length, given[k]))
                if found >= 0:
                    before = count
                    count = take(entries, found, demands, codes, start, stop, own, count)
                    if count == 0 or (count == before and known < 0):
                        found = np.int64(-1)
                length -= 1
            every = table_find(entries.table, ending_key(codes, stop, np.int64(0), given[k]))
            if common and every >= 0:
                count = take(entries, every, demands, codes, start, stop, own, count)
        if count == 0:
            count = take(entries, np.int64(0), demands, codes, start, stop, own, count)
        if count == 0:
            own[0] = 0
            count = 1
        if total + count > out.shape[0]:
            return -1
        for j in range(count):
            out[total + j] = own[j]
        total += count
        first[k + 1] = total
    return total


@dataclass
class Lexicon:
    """Labels by word and by ending.

    given: the columns that are looked up with the word.   common: whether a word that is not sure may also have the
    commonest labels of all words with these columns.
    """

    given: list[str]
    keys: np.ndarray  # uint64[entries]; that of entry 0 is never looked up
    size: np.ndarray  # uint16[entries]: how many labels
    label: np.ndarray  # uint16, or uint32 where labels are more
    sure: np.ndarray  # bool[entries]
    demands: Demands = NO_DEMANDS
    common: bool = False
    more: Choices | None = None
    """Labels that count as seen with words, from elsewhere; they are not in a file."""

    def __post_init__(self) -> None:
        ptr = np.zeros(len(self.size) + 1, np.int64)
        np.cumsum(self.size, out=ptr[1:])
        self.entries = Entries(build_table(self.keys), ptr, self.label.astype(np.int32), self.sure)

    def choices(self, prepared, tokens: slice) -> tuple[np.ndarray, np.ndarray]:
        """(first int64[tokens + 1], labels int32): what each token has to choose from."""
        words, given = prepared.word_ids[tokens].astype(np.int64), self._given(prepared, tokens)
        pair = given ^ (words.astype(np.uint64) * MULTIPLIER)
        _, place, back = np.unique(pair, return_index=True, return_inverse=True)
        word, (codes, offsets) = words[place], folded(prepared.words)
        first, capacity = np.zeros(len(place) + 1, np.int64), 4 * len(place) + 2 * MAX_ENDING_LABELS + 64
        while True:
            own, out = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
            known, looked_up = (self.entries, self.demands, self.common), (codes, offsets, word, given[place])
            found = choices_of(*known, *looked_up, own, first, out)
            if found >= 0:
                break
            capacity *= 4
        if self.more is not None:
            first, out = self._with_more(self.more, prepared, tokens.start + place, first, out)
        count = np.diff(first)[back]
        ends = np.zeros(len(back) + 1, np.int64)
        np.cumsum(count, out=ends[1:])
        source = np.repeat(first[back] - ends[:-1], count) + np.arange(ends[-1])
        return ends, out[source]

    def _with_more(
        self, more: Choices, prepared, tokens: np.ndarray, first: np.ndarray, choice: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The choices of tokens with those from elsewhere after them."""
        words = [prepared.word_types[k] for k in prepared.word_ids[tokens].tolist()]
        columns = [prepared.table.columns[name] for name in self.given]
        given = zip(*([own.types[k] for k in own.ids[tokens].tolist()] for own in columns), strict=True)
        found = more(words, list(given) if columns else [()] * len(words))
        bounds, known = first.tolist(), choice.tolist()
        own = [
            list(dict.fromkeys([*known[lo:hi], *new])) for (lo, hi), new in zip(pairwise(bounds), found, strict=True)
        ]
        ends = np.cumsum([0, *map(len, own)], dtype=np.int64)
        return ends, np.array([label for labels in own for label in labels], np.int32)

    def _given(self, prepared, tokens: slice) -> np.ndarray:
        """uint64[tokens]: a hash of the columns that go with the word."""
        found = np.zeros(tokens.stop - tokens.start, np.uint64)
        for name in self.given:
            column = prepared.table.columns[name]
            values = column.known.get((WHOLE, 0))
            if values is None:
                (values,) = prepared.table.values([Atom(name, WHOLE)])
            found = mixed(found, values[column.ids[tokens]])
        return found

    @classmethod
    def learn(
        cls,
        prepared,
        gold: np.ndarray,
        given: Sequence[str],
        rare: int,
        demands: Demands = NO_DEMANDS,
        alone: Container[int] = (),
        common: bool = False,
    ) -> "Lexicon":
        """From training data. rare: words seen less often may have the labels of their ending too, but those that
        belong to a word alone."""
        columns = [prepared.word_ids, *(prepared.table.columns[name].ids for name in given), gold]
        rows, counts = np.unique(np.stack(columns).astype(np.int64), axis=1, return_counts=True)
        types = [normal(word) for word in prepared.word_types]
        hashes = np.zeros(rows.shape[1], np.uint64)
        for name, ids in zip(given, rows[1:-1], strict=True):
            (values,) = prepared.table.values([Atom(name, WHOLE)])
            hashes = mixed(hashes, values[ids])
        words: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
        endings: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
        everything: Counter[int] = Counter()
        for word, own, label, count in zip(
            rows[0].tolist(), hashes.tolist(), rows[-1].tolist(), counts.tolist(), strict=True
        ):
            words[types[word], own][label] += count
        for (word, own), labels in words.items():
            for label in labels:
                if label in alone:
                    continue
                everything[label] += 1
                for k in range(min(MAX_ENDING, len(word)) + 1):
                    endings[word[len(word) - k :], own][label] += 1
        found: list[tuple[int, list[int], bool]] = [(1, _commonest(everything), False)]
        for (ending, own), labels in endings.items():
            if ending and labels.total() < MIN_ENDING_WORDS:
                continue
            best = _commonest(labels)
            if ending and best == _commonest(endings[ending[1:], own]):
                continue
            found.append((_key(ending, own, True), best, False))
        kept = {key for key, _, _ in found}
        for (word, own), labels in words.items():
            best, known = _commonest(labels), labels.total() >= rare
            longest = _longest(word, own, kept)
            other = _commonest(endings[longest, own]) if longest is not None else []
            if common or set(best) != set(other) if known else not set(best) <= set(other):
                found.append((_key(word, own, False), best, known))
        keys, lists, sure = zip(*sorted(found), strict=True)
        every = [label for own in lists for label in own]
        sizes = np.array([len(own) for own in lists], np.uint16)
        arrays = (np.array(keys, np.uint64), sizes, np.array(every, number_kind(max(every) + 1)), np.array(sure, bool))
        return cls(list(given), *arrays, demands, common)

    def tensors(self) -> Tensors:
        """For a model file."""
        return {"entry": self.keys, "entry_size": self.size, "entry_label": self.label, "entry_sure": self.sure}

    @staticmethod
    def declared() -> dict[str, Tensor]:
        """The arrays of a lexicon."""
        return {
            "entry": Tensor("uint64", "entries", least=1, spread=True),
            "entry_size": Tensor("uint16", "entries", adds_up="entry labels"),
            "entry_label": Tensor(NUMBERS, "entry labels", below="labels"),
            "entry_sure": Tensor("bool", "entries"),
        }

    @classmethod
    def from_tensors(
        cls, given: list[str], tensors: Tensors, demands: Demands = NO_DEMANDS, common: bool = False
    ) -> "Lexicon":
        """The inverse of `tensors`, of arrays that were checked; ValueError: it has no entry, or one twice."""
        keys = tensors["entry"]
        if not len(keys) or len(np.unique(keys)) < len(keys):
            raise ValueError("the lexicon does not fit")
        arrays = (keys, tensors["entry_size"], tensors["entry_label"], tensors["entry_sure"])
        return cls(given, *arrays, demands, common)


def _commonest(labels: Counter[int]) -> list[int]:
    return [label for label, _ in sorted(labels.items(), key=lambda item: (-item[1], item[0]))[:MAX_ENDING_LABELS]]


def _longest(word: str, given: int, kept: set[int]) -> str | None:
    """The longest ending of a word that the lexicon keeps."""
    endings = (word[len(word) - k :] for k in range(min(MAX_ENDING, len(word)), -1, -1))
    return next((ending for ending in endings if _key(ending, given, True) in kept), None)


def _key(text: str, given: int, ending: bool) -> int:
    codes, offsets = pack_strings([text])
    own = np.uint64(given)
    if ending:
        return int(entry(ending_key)(codes, len(text), len(text), own))
    return int(entry(word_key)(codes, 0, offsets[1], own))


def mixed(h: np.ndarray, v: np.ndarray) -> np.ndarray:
    """`mix` of many."""
    h = (h ^ v) * MULTIPLIER
    return h ^ (h >> SHIFT)
