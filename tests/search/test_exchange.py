"""Exchange clustering and merging against the mutual information, computed from its definition."""

from collections import Counter
from itertools import pairwise
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structron.learn import clusters
from structron.learn.clusters import FIXED, cluster, count
from structron.search.clusters.exchange import LEAST_GAIN, counted, exchange, information, propose
from structron.search.clusters.merging import losses, merge_all, paths_of

texts = st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=8), min_size=1, max_size=8).filter(
    lambda sentences: len({word for sentence in sentences for word in sentence}) > 1
)


def by_definition(sentences: list[list[str]], of_word: dict[str, object]) -> float:
    """Average mutual information of the classes of neighbours, in bits."""
    flat = ["<s>"]
    for sentence in sentences:
        flat += [*sentence, "<s>"]
    pairs = Counter((of_word.get(a, a), of_word.get(b, b)) for a, b in pairwise(flat))
    first, second = Counter(), Counter()
    for (g, h), n in pairs.items():
        first[g] += n
        second[h] += n
    total = pairs.total()
    return sum(n / total * log2(n * total / (first[g] * second[h])) for (g, h), n in pairs.items())


def start(sentences: list[list[str]], many: int):
    found = count(lambda: sentences)
    words = len(found.words)
    of_word = np.append(np.arange(words) % many, [many, many + 1]).astype(np.int64)
    return found, counted(found.bigrams, of_word, many + FIXED)


def test_counts_by_hand():
    found = count(lambda: [["a", "b", "a"], [], ["c", "a", "b"]], least=2)
    assert found.words == ["a", "b"]
    assert found.counts.tolist() == [3, 2]
    assert found.tokens == 6
    assert count(lambda: [["a", "b", "c", "a"]], most=2).words == ["a", "b"]


@given(texts, st.integers(1, 3), st.integers(1, 5))
@settings(max_examples=60)
def test_bigrams_are_those_of_the_text(sentences, least, piece):
    seen = Counter(word for sentence in sentences for word in sentence)
    kept = [word for word, n in seen.items() if n >= least]
    if len(kept) < 2:
        return
    before, clusters.PIECE = clusters.PIECE, piece
    try:
        found = count(lambda: sentences, least)
    finally:
        clusters.PIECE = before
    assert found.words == sorted(kept, key=lambda word: (-seen[word], word))
    names = [*found.words, "rare", "end"]
    flat = ["end"]
    for sentence in sentences:
        flat += [*(word if word in kept else "rare" for word in sentence), "end"]
    expected = Counter(pairwise(flat))
    b = found.bigrams
    right = {
        (names[w], names[b.right_word[q]]): int(b.right_count[q])
        for w in range(len(names))
        for q in range(b.right_start[w], b.right_start[w + 1])
    }
    left = {
        (names[b.left_word[q]], names[w]): int(b.left_count[q])
        for w in range(len(names))
        for q in range(b.left_start[w], b.left_start[w + 1])
    }
    assert right == left == dict(expected)


@given(texts, st.integers(2, 4))
@settings(max_examples=60)
def test_each_exchange_is_the_best_and_none_lowers_the_information(sentences, many):
    found, state = start(sentences, many)
    words, wanted = found.words, np.zeros(1, np.int64)
    scale = found.bigrams.right_count.sum() / np.log(2)
    for w in [*range(len(words))] * 2:
        classes = dict(zip(words, state.of_word.tolist(), strict=False))
        assert information(state) == pytest.approx(by_definition(sentences, classes), abs=1e-9)
        before = information(state)
        possible = [by_definition(sentences, classes | {words[w]: k}) for k in range(many)]
        pairs = state.pairs.copy()
        propose(found.bigrams, state, w, w + 1, many, wanted)
        assert (state.pairs == pairs).all()
        assert possible[wanted[0]] == pytest.approx(max(possible), abs=1e-9 + LEAST_GAIN * scale)
        exchange(found.bigrams, state, w, w + 1, wanted)
        assert information(state) == pytest.approx(max(before, possible[wanted[0]]), abs=1e-9)
        assert (state.turned == state.pairs.T).all()
        assert (state.first == state.pairs.sum(1)).all()


@given(texts, st.integers(2, 5), st.lists(st.integers(0, 4), min_size=7, max_size=7))
@settings(max_examples=60)
def test_proposals_that_are_out_of_date_do_not_lower_the_information(sentences, many, proposals):
    found, state = start(sentences, many)
    words = len(found.words)
    wanted = np.array([k % many for k in proposals[:words]], np.int64)
    for w in range(words):
        before = information(state)
        exchange(found.bigrams, state, w, w + 1, wanted[w : w + 1])
        assert information(state) >= before - 1e-9


@given(texts, st.integers(2, 6))
@settings(max_examples=60)
def test_each_union_loses_least(sentences, many):
    found, state = start(sentences, many)
    many = min(many, len(found.words))
    classes = dict(zip(found.words, state.of_word.tolist(), strict=False))
    loss, merged = np.zeros((many, many)), np.zeros((many - 1, 2), np.int64)
    losses(state, 0, many, many, loss)
    merge_all(state, many, loss, np.ones(many, np.bool_), merged)
    paths = paths_of(merged, many)
    for a, b in merged.tolist():
        here, there = by_definition(sentences, classes), sorted(set(classes.values()))
        assert a < b
        lost = {
            (i, j): here - by_definition(sentences, {w: i if k == j else k for w, k in classes.items()})
            for i in there
            for j in there
            if i < j
        }
        assert lost[a, b] == pytest.approx(min(lost.values()), abs=1e-9)
        classes = {w: a if k == b else k for w, k in classes.items()}
    assert len(set(paths)) == many
    assert not any(one != other and other.startswith(one) for one in paths for other in paths)
    united: list[set[int]] = [{k} for k in range(many)]
    for a, b in merged.tolist():  # what was united shares a prefix that nothing else has
        own = united[a] | united[b]
        united[a] = own
        prefix = min((paths[k] for k in own), key=len)[: len(_common([paths[k] for k in own]))]
        assert {k for k in range(many) if paths[k].startswith(prefix)} == own


def _common(paths: list[str]) -> str:
    length = 0
    while len({path[: length + 1] for path in paths}) == 1 and all(len(path) > length for path in paths):
        length += 1
    return paths[0][:length]


def test_words_of_a_kind_come_together_whatever_the_threads():
    random = np.random.default_rng(5)
    kinds = [["the", "a"], ["dog", "cat", "cow"], ["runs", "sleeps", "eats"]]
    sentences = [[random.choice(kind) for kind in kinds] for _ in range(200)]
    found = count(lambda: sentences)
    told: list[str] = []
    one = cluster(found, 3, tell=told.append)
    assert one == cluster(found, 3, jobs=3)
    place = dict(zip(found.words, one.paths, strict=True))
    assert [{place[word] for word in kind} for kind in kinds] == [{place[kind[0]]} for kind in kinds]
    assert len(set(one.paths)) == 3
    assert one.information == pytest.approx(by_definition(sentences, place), abs=1e-9)
    assert len(told) == one.passes
    assert told[-1].startswith(f"pass {one.passes}: {one.information:.4f} bits")


@pytest.mark.parametrize(("sentences", "least"), [([], 1), ([["a", "a"]], 1), ([["a", "b"]], 2)])
def test_texts_without_words(sentences, least):
    with pytest.raises(clusters.StructronError, match="words"):
        count(lambda: sentences, least)
