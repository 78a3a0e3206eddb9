"""Weighted violations in graph-based parsing against full rescoring of mixtures, the plain update, and formulas."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_swvp import alternate, naive_jj, shares
from graphs import SETTINGS, Model, make_tree
from structron import GraphParser
from structron.kernels.jit import entry
from structron.learn.graph import GraphLearner
from structron.search.graph import scratch as scratches
from structron.search.graph.features import sentence_codes
from structron.update.swvp import FAMILIES, VARIANTS, Swvp, define_jj, make_mixed
from structron.update.swvp_trees import OWN, decisions, mix_trees
from structron.update.trees import difference, make_sums, touch_rank
from structron.weights.hashed import shift_of
from toy import tree_rows

TOY = tree_rows(60, 0)
EIGHT = [(f"w{m}", f"t{m % 3}", f"{m - 1}", "dep") for m in range(1, 9)]
"""Each word's head is the one before."""
SMALL = {"bits": 16, "passes": 2, "runs": 1, "average": "none"}
KINDS = {
    "arcs": {"order": 1},
    "crossing": {"order": 1, "projective": False},
    "unlabelled": {"labelled": False},
    "grandparents": {},
    "climbing": {"projective": False, "grandparents": False},
}


def random_tree(rng: np.random.Generator, n: int, labels: int):
    """Heads and relations of any words: SWVP mixes trees into what is none."""
    heads = [rng.choice([h for h in range(n + 1) if h != m]) for m in range(1, n + 1)]
    return make_tree(heads, rng.integers(0, labels, n))


def same(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(SETTINGS)), st.integers(1, 7))
def test_differences_are_those_of_full_scores(seed, name, n):
    """What `difference` touches is all that differs, also where a mixture is no tree."""
    rng = np.random.default_rng(seed)
    model = Model(seed, n, SETTINGS[name], labels=3)
    y, z = random_tree(rng, n, 3), random_tree(rng, n, 3)
    jj, own, other, scratch = make_mixed(n), *(np.zeros(n + 1, np.int64) for _ in range(3))
    entry(decisions)(y, n, 3, own)
    entry(decisions)(z, n, 3, other)
    count = entry(define_jj)(int(rng.integers(len(FAMILIES))), own, other, n, jj)
    u, m = np.zeros(len(model.w)), scratches.make_tree(n)
    for k in range(count):
        entry(mix_trees)(y, z, n, jj, k, m, scratch)
        chosen = {p + 1 for p in jj.places[jj.first[k] : jj.last[k]].tolist()}
        for i in range(1, n + 1):
            source = z if i in chosen else y
            assert (m.heads[i], m.relation[i]) == (source.heads[i], source.relation[i])
        before = model.w.copy()
        sums = make_sums(u, 0.0, 5.0)
        found = entry(difference)(model.sentence(model.w), sums, n, model.setting, model.relations, y, m, scratch)
        assert same([model.w, u], [before, np.zeros_like(u)]), "an amount of 0 changes nothing"
        full = [model.score(t.heads[1:], t.relation[1:]) for t in (y, m)]
        assert found == pytest.approx(full[0] - full[1], abs=1e-3)


def learners(options: dict, **more) -> list[GraphLearner]:
    """Learners of the same data with different options."""
    made = []
    for extra in ({}, more):
        parser = GraphParser(**SMALL, **options, **extra)
        made.append(parser._learner(TOY[:12], None))
    return made


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_tree_is_the_perceptron(kind, variant):
    """JJ = {[L]}: the weights of the plain update, bit for bit."""
    plain, mixed = learners(KINDS[kind], swvp=variant, beta=2.0, jj="whole")
    for k in range(12):
        for learner in (plain, mixed):
            learner.learn_from(np.arange(12), k, k + 1)
    assert plain.store.w.any()
    assert same([plain.store.w, plain.store.u], [mixed.store.w, mixed.store.u])


@pytest.mark.parametrize("jj", [*FAMILIES, alternate], ids=[*FAMILIES, "own"])
@pytest.mark.parametrize("kind", ["arcs", "grandparents"])
def test_updates_are_the_weighted_sum(kind, jj):
    """w grows by Σ γ·ΔΦ with JJ and γ straight from their definitions, and each ΔΦ by scoring one-hot vectors."""
    for variant, enforce in itertools.product(VARIANTS, (False, True)):
        _, learner = learners(KINDS[kind], swvp=variant, beta=1.5, jj=jj, enforce=enforce)
        for k in range(8):
            before = learner.store.w.copy()
            learner.learn_from(np.arange(12), k, k + 1)
            start, stop = learner.trees.starts[k : k + 2]
            expected = expected_change(learner, before, int(start), int(stop - start), Swvp(variant, 1.5, jj, enforce))
            change = learner.store.w - before
            assert np.allclose(change, expected, atol=2e-4), (variant, enforce, k)


@pytest.mark.parametrize(
    ("variant", "large", "small"), [("b-wmr", 8 / 15, 7 / 15), ("a-wmr", 2 / 3, 1 / 3), ("b-wm", 3 / 4, 1 / 4)]
)
def test_two_wrong_heads_in_eight_words_by_hand(variant, large, small):
    """Two wrong heads, d = -3 and -1, those of all other words are right. B-WMR: |JJ| = 8, ranks 0 and 1: 8/8 and 7/8,
    divided by 15/8."""
    parser = GraphParser(**SMALL, order=1, labelled=False, swvp=variant)
    learner = parser._learner([EIGHT], None)
    t, w = learner.trees, learner.store.w
    learner.found[:], learner.named[:] = t.heads, t.relations
    y, wrong = (t.heads, t.relations), [2, 6]
    for place in wrong:
        learner.found[place] = next(h for h in range(1, 9) if h not in (t.heads[place], place + 1))
    z = learner.found, learner.named
    changes = [phi(learner, 0, 8, y, mixed(y, z, [place])) for place in wrong]
    directions = np.linalg.pinv(np.stack(changes))  # w·ΔΦ of one, and not of the other
    w[:] = directions @ [-1.0, -3.0]
    assert [float(change @ w) for change in changes] == pytest.approx([-1.0, -3.0], abs=1e-5)
    before = w.astype(np.float64)
    learner._correct_mixed(0, 8, learner.mixed, OWN)
    assert np.allclose(w - before, small * changes[0] + large * changes[1], atol=1e-6)


def expected_change(learner, before, start, n, swvp):
    """Ranking apart, which the fast model learns by itself."""
    t = learner.trees
    both = ((t.heads, t.relations), (learner.found, learner.named))
    y, z = ((heads[start : start + n], relation[start : start + n]) for heads, relation in both)
    own, other = (list(zip(*tree, strict=True)) for tree in (y, z))
    total = ranking_change(learner, start, n)
    before = before + total
    if own == other:
        return total
    jj = naive_jj(swvp.jj, own, other)
    every = [j for j in range(n) if own[j] != other[j]]
    changes = [phi(learner, start, n, y, mixed(y, z, list(places))) for places in [*jj, every]]
    deltas = [float(change @ before) for change in changes]
    weighted = shares(jj, deltas[:-1], deltas[-1], swvp, least=1e-9)
    return total + sum(share * change for share, change in zip(weighted, changes, strict=True))


def mixed(y, z, places):
    heads, relation = y[0].copy(), y[1].copy()
    heads[places], relation[places] = z[0][places], z[1][places]
    return heads, relation


def empty_look(learner, start, n):
    """A sentence seen with empty weights, and these."""
    w, u = np.zeros(len(learner.store.w), np.float32), np.zeros(len(learner.store.u))
    return (
        sentence_codes(learner.templates, learner.trees.x, start, n, w, shift_of(learner.bits)),
        w,
        make_sums(u, 1.0, 1.0),
    )


def phi(learner, start, n, y, m):
    """ΔΦ(x, y, m): what a plain update of empty weights would be."""
    sentence, w, sums = empty_look(learner, start, n)
    trees = [make_tree(*tree) for tree in (y, m)]
    entry(difference)(sentence, sums, n, learner.setting, learner.relations, *trees, np.zeros(n + 1, np.int64))
    return w.astype(np.float64)


def ranking_change(learner, start, n):
    sentence, w, sums = empty_look(learner, start, n)
    for m in range(1, n + 1):
        gold, best = learner.trees.heads[start + m - 1], learner.ranked[start + m - 1]
        if gold != best:
            entry(touch_rank)(sentence, sums, gold, m, 1.0)
            entry(touch_rank)(sentence, sums, best, m, -1.0)
    return w.astype(np.float64)
