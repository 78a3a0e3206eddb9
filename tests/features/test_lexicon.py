"""Which labels a word may have, against the same in dictionaries; demands, columns, digits."""

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structron.features.encode import Column, TokenTable
from structron.features.lexicon import (
    MAX_ENDING,
    MAX_ENDING_LABELS,
    MIN_ENDING_WORDS,
    NO_DEMANDS,
    Lexicon,
    make_demands,
    normal,
)

Token = tuple[str, str, int]
"""Word, tag, label."""
words = st.text(alphabet="abA1", max_size=9)
tokens = st.lists(st.tuples(words, st.sampled_from("NV"), st.integers(0, 3)), min_size=1, max_size=60)


def prepared(data: list[Token]) -> tuple[Any, np.ndarray]:
    """Tokens as an extractor gives them, and their labels."""
    columns = {name: Column.of(token[k] for token in data) for k, name in enumerate(("word", "tag"))}
    bounds, word = np.array([0, len(data)]), columns["word"]
    table = TokenTable(bounds, np.array([0, 1]), columns)
    found = SimpleNamespace(words=word, word_types=word.types, word_ids=word.ids, table=table)
    return found, np.array([label for _, _, label in data], np.int64)


def learn(
    data: list[Token],
    given: list[str] | None = None,
    rare: int = 3,
    demands: Any = NO_DEMANDS,
    common: bool = False,
) -> Lexicon:
    return Lexicon.learn(*prepared(data), given or [], rare, demands, common=common)


def spelled(first: np.ndarray, label: np.ndarray) -> list[list[int]]:
    return [label[lo:hi].tolist() for lo, hi in pairwise(first.tolist())]


def choices(lexicon: Lexicon, data: list[tuple]) -> list[list[int]]:
    """The labels of words, or of words with tags."""
    made, _ = prepared([(*token, "", 0)[:3] if len(token) == 1 else (*token, 0) for token in data])
    return spelled(*lexicon.choices(made, slice(0, len(data))))


def commonest(labels: Counter) -> list[int]:
    return sorted(labels, key=lambda label: (-labels[label], label))[:MAX_ENDING_LABELS]


def naive(data: list[Token], by_tag: bool, rare: int, common: bool, word: str, tag: str) -> list[int]:
    """The definition, word by word."""
    seen = [(normal(w), t if by_tag else "", y) for w, t, y in data]
    word, tag = normal(word), tag if by_tag else ""
    own = Counter(y for w, t, y in seen if (w, t) == (word, tag))
    found = commonest(own)
    if own.total() >= rare:
        return found
    for k in range(min(MAX_ENDING, len(word)), -1, -1):
        ending = word[len(word) - k :]
        labels = Counter(y for w, t, y in set(seen) if t == tag and w.endswith(ending))
        if labels and (k == 0 or labels.total() >= MIN_ENDING_WORDS):
            every = Counter(y for _, t, y in set(seen) if common and t == tag)
            return list(dict.fromkeys([*found, *commonest(labels), *commonest(every)]))
    return found or commonest(Counter(y for _, _, y in set(seen)))


@given(
    tokens,
    st.lists(st.tuples(words, st.sampled_from("NVX")), max_size=20),
    st.booleans(),
    st.integers(1, 6),
    st.booleans(),
)
@settings(max_examples=200)
def test_choices_are_those_of_the_definition(data, new, by_tag, rare, common):
    lexicon = learn(data, ["tag"] if by_tag else [], rare, common=common)
    asked = [*((w, t) for w, t, _ in data), *new]
    assert list(map(sorted, choices(lexicon, asked))) == [
        sorted(naive(data, by_tag, rare, common, *own)) for own in asked
    ]
    half, (made, _) = len(asked) // 2, prepared([(*token, 0) for token in asked])
    assert spelled(*lexicon.choices(made, slice(half, len(asked)))) == choices(lexicon, asked)[half:]


ENDINGS = [(f"{stem}ing", "", 1) for stem in ("go", "see", "do", "be", "eat")]


def test_frequent_words_have_their_own_labels_and_rare_ones_those_of_their_ending_too():
    data = [*[("thing", "", 0)] * 3, *[("king", "", 2)] * 2, *ENDINGS]
    lexicon = learn(data, rare=3)
    found = choices(lexicon, [("thing",), ("king",), ("Thing",)])
    assert list(map(sorted, found)) == [[0], [0, 1, 2], [0]]
    assert choices(lexicon, [("singing",)]) == [[1, 0, 2]]
    assert choices(learn(data, rare=2), [("king",)]) == [[2]]


def test_digits_are_alike():
    lexicon = learn([*[("1984", "", 3)] * 3, *ENDINGS])
    assert choices(lexicon, [("2026",), ("٣٤٥٦",), ("202",)])[:2] == [[3], [3]]
    assert normal("B-52s") == "b-00s"


def test_columns_are_looked_up_with_the_word():
    data = [*[("saw", "N", 0)] * 5, *[("saw", "V", 1)] * 5]
    lexicon = learn(data, ["tag"])
    assert choices(lexicon, [("saw", "N"), ("saw", "V")]) == [[0], [1]]
    assert choices(lexicon, [("saw", "X"), ("new", "X"), ("new", "V")]) == [[0, 1], [0, 1], [1]]


def test_demands_are_respected():
    """Label 0 wants an `s` at the end, 1 an `un` in front, 2 both without sharing letters, 3 nothing."""
    demands = make_demands(["", "un", "uns", ""], ["s", "", "s", ""])
    data = [(word, "", label) for label, word in enumerate(["cats", "undo", "unsets", "go"])]
    lexicon = learn(data, rare=1, demands=demands)
    found = choices(lexicon, [("dogs",), ("unit",), ("unsexes",), ("uns",), ("x",), ("",), ("UNS",)])
    assert list(map(sorted, found)) == [[0, 3], [1, 3], [0, 1, 2, 3], [0, 1, 3], [3], [3], [0, 1, 3]]


def test_there_is_always_a_choice():
    demands = make_demands(["x", "x"], ["y", "y"])
    lexicon = learn([("xy", "", 0), ("xzy", "", 1)], demands=demands)
    assert choices(lexicon, [("abc",), ("",)]) == [[0], [0]]


def test_more_labels_than_there_was_room_for():
    many = [(chr(0x4E00 + k) + "x", "", k % 16) for k in range(400)]
    lexicon = learn(many, rare=99)
    assert all(len(own) == 16 for own in choices(lexicon, [(w,) for w, _, _ in many]))


def test_no_words():
    lexicon = learn(ENDINGS)
    assert choices(lexicon, []) == []
    made, _ = prepared(ENDINGS)
    first, label = lexicon.choices(made, slice(2, 2))
    assert first.tolist() == [0]
    assert len(label) == 0


def test_a_file_gives_it_back_and_nonsense_is_refused():
    lexicon = learn(ENDINGS)
    again = Lexicon.from_tensors([], lexicon.tensors(), NO_DEMANDS)
    assert choices(again, [("sing",), ("",)]) == choices(lexicon, [("sing",), ("",)])
    twice = {name: np.concatenate([array, array]) for name, array in lexicon.tensors().items()}
    empty = {name: array[:0] for name, array in lexicon.tensors().items()}
    for wrong in (twice, empty):
        with pytest.raises(ValueError, match="the lexicon does not fit"):
            Lexicon.from_tensors([], wrong, NO_DEMANDS)
