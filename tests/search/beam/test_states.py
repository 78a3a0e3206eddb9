"""Templates over atoms: keys that are exact where they can be, and can be read back."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structron.errors import StructronError
from structron.search.beam.states import LOW, compose, feature_key

SIZES = {"a": 3, "b.w": 5, "b.t": 2, "c": 1}
TEMPLATES = ["a", "b.w", "a|b.w", "b.w|b.t", "c|a|b.t", "b.t|c"]


def key_of(composition, text: str, values: dict[str, int]) -> int:
    """The key as compiled code makes it (its rows end with a 0), and as Python does."""
    number, row = composition.texts.index(text), [values.get(name, 0) for name in composition.atoms]
    key = int(feature_key(composition.features, number, np.array([[*row, 0]], np.int64), 0))
    assert composition.key(number, row) == key
    return key


def test_different_values_have_different_keys_that_can_be_read():
    composition = compose(SIZES, TEMPLATES)
    seen = {}
    for text in TEMPLATES:
        names = text.split("|")
        for values in product(*(range(SIZES[name]) for name in names)):
            key = key_of(composition, text, dict(zip(names, values, strict=True)))
            assert key > 0
            seen[key] = f"{text}={'|'.join(map(str, values))}"
    assert len(seen) == 3 + 5 + 15 + 10 + 6 + 2
    assert {key: composition.describe(key) for key in seen} == seen


def test_values_are_named_where_names_are_known():
    composition = compose(SIZES, TEMPLATES)
    key = key_of(composition, "b.w|b.t", {"b.w": 4, "b.t": 1})
    assert composition.describe(key, {"b.w": ["a", "b", "c", "d", "dog"], "b.t": ["NN"]}) == "b.w|b.t=dog|1"


@given(st.lists(st.integers(1, 2**20), min_size=1, max_size=6), st.data())
@settings(max_examples=60)
def test_keys_are_packed_while_they_fit(sizes, data):
    names = [f"x{k}" for k in range(len(sizes))]
    composition = compose(dict(zip(names, sizes, strict=True)), ["|".join(names)])
    bits = sum(max(1, (size - 1).bit_length()) for size in sizes)
    values = [data.draw(st.integers(0, size - 1)) for size in sizes]
    text = composition.describe(key_of(composition, "|".join(names), dict(zip(names, values, strict=True))))
    if bits <= 55:
        assert text == f"{'|'.join(names)}={'|'.join(map(str, values))}"
    else:
        assert text.startswith(f"{'|'.join(names)}=#")


@pytest.mark.parametrize(
    "sizes", [{"a": 0, "b": 5}, {"a": 1 << 30, "b": 1 << 30}], ids=["any value", "together too wide"]
)
def test_what_does_not_fit_is_hashed(sizes):
    composition = compose(sizes, ["b", "a|b"])
    rng = np.random.default_rng(1)
    pairs = {(int(a), int(b)) for a, b in zip(rng.integers(0, 1 << 30, 3000), rng.integers(0, 5, 3000), strict=True)}
    keys = {key_of(composition, "a|b", {"a": a, "b": b}) for a, b in pairs}
    assert len(keys) == len(pairs)
    number = composition.texts.index("a|b") + 1
    assert {key >> 55 for key in keys} == {number}
    key = keys.pop()
    assert composition.describe(key) == f"a|b=#{key & int(LOW):x}"
    assert key_of(composition, "a|b", {"a": 1, "b": 2}) != key_of(composition, "a|b", {"a": 2, "b": 1})


@pytest.mark.parametrize("sizes", [{"a": 4, "b": 4}, {"a": 0, "b": 0}], ids=["packed", "hashed"])
def test_an_atom_that_says_nothing_silences_its_templates(sizes):
    composition = compose(sizes, ["a|b", "b"])
    assert key_of(composition, "a|b", {"a": -1, "b": 2}) == 0
    assert key_of(composition, "a|b", {"a": 2, "b": -5}) == 0
    assert key_of(composition, "b", {"a": -1, "b": 2}) > 0


def test_templates_over_the_same_parts_form_groups():
    sizes = {"s0.w": 9, "s0.t": 9, "q[0]": 9, "q[1]": 9}
    composition = compose(sizes, ["s0.w", "q[0]", "s0.w|s0.t", "q[1]", "s0.t|q[0]"])
    assert composition.texts == ["s0.w", "q[0]", "s0.w|s0.t", "q[1]", "s0.t|q[0]"]
    assert groups_of(composition) == [([0, 2], [0, 1]), ([1, 3], [2, 3]), ([4], [1, 2])]
    one = compose(sizes, ["s0.w", "q[0]", "s0.t|q[0]"], parts=lambda atom: ["all"])
    assert groups_of(one) == [([0, 1, 2], [0, 1, 2])]


def groups_of(composition) -> list[tuple[list[int], list[int]]]:
    """The templates and the atoms of every group."""
    f = composition.features
    ends = np.flatnonzero(f.group_atom == len(composition.atoms)).tolist()
    cuts = zip(pairwise(f.group.tolist()), f.group_ptr.tolist(), ends, strict=True)
    return [(f.member[a:b].tolist(), f.group_atom[c:d].tolist()) for (a, b), c, d in cuts]


def test_the_signature_is_what_templates_use_and_what_is_asked_for():
    sizes = dict.fromkeys("abcde", 4)
    assert compose(sizes, ["b|d"]).features.signature.tolist() == [1, 3]
    assert compose(sizes, ["b|d"], ["e", "b"]).features.signature.tolist() == [1, 3, 4]


def test_templates_are_read():
    """One that stands twice counts once; unknown atoms are named."""
    assert compose(SIZES, ["a", " a ", "a"]).texts == ["a"]
    with pytest.raises(StructronError, match=r"template 'a\|z': unknown atom 'z'; the problem has a, b.w, b.t, c$"):
        compose(SIZES, ["a", "a|z"])
    with pytest.raises(StructronError, match="'z'"):
        compose(SIZES, ["a"], ["z"])


def test_there_is_an_end_to_templates():
    names = [f"x{k}" for k in range(33)]
    texts = ["|".join(pair) for pair in combinations(names, 2)][:512]
    with pytest.raises(StructronError, match="templates: 512; expected at most 511"):
        compose(dict.fromkeys(names, 4), texts)
    composition = compose(dict.fromkeys(names, 4), texts[:511])
    last = composition.texts[-1]
    values = dict(zip(last.split("|"), (3, 2), strict=True))
    assert composition.describe(key_of(composition, last, values)) == f"{last}=3|2"


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_keys_move_when_alphabets_grow(seed):
    """Key by key: read the values back and make the key anew; those that were hashed stay as they are."""
    rng, names = np.random.default_rng(seed), ["a", "b", "c", "d", "e"]
    sizes = dict(zip(names, [*(int(2 ** rng.uniform(0, 18)) for _ in names[:-1]), 0], strict=True))
    grown = {name: size and size + int(rng.integers(0, 2 * size + 2)) for name, size in sizes.items()}
    texts = ["a", "b|c", "d|c|b|a", "a|a|b|c|d", "e|a"]
    old, new = compose(sizes, texts), compose(grown, texts)
    keys, expected = [], []
    for number in rng.permutation(np.repeat(np.arange(len(texts)), 8)).tolist():
        values = [int(rng.integers(size or 1 << 40)) for size in sizes.values()]
        keys.append(old.key(number, values))
        read = old.values_of(keys[-1])[1]
        again = None if read is None else [read.get(name, 0) for name in names]
        expected.append(keys[-1] if again is None else new.key(number, again))
        assert expected[-1] == new.key(number, values)
    assert old.rekey(np.array(keys, np.uint64), new).tolist() == expected
    assert len(old.rekey(np.zeros(0, np.uint64), new)) == 0
