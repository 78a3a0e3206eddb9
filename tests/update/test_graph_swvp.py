"""Weighted violations in graph-based parsing against full rescoring of mixtures, the plain update, and formulas."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structron
from brute_swvp import alternate, naive_gamma, naive_jj
from graphs import SETTINGS, Model
from structron import GraphParser
from structron.cli import main
from structron.data.toy_english import toy_english, write_conllu
from structron.errors import StructronError
from structron.learn.graph import GraphLearner
from structron.update.swvp import FAMILIES, VARIANTS, define_jj, make_mixed
from structron.update.trees import Sums, decisions, difference, make_tree, mix_trees

TOY = [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in toy_english(60)]
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
    heads = np.array([-1, *(rng.choice([h for h in range(n + 1) if h != m]) for m in range(1, n + 1))])
    return make_tree(heads, np.array([-1, *rng.integers(0, labels, n)]), n)


def same(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(SETTINGS)), st.integers(1, 7))
def test_differences_are_those_of_full_scores(seed, name, n):
    """What `difference` touches is all that differs, also where a mixture is no tree."""
    rng = np.random.default_rng(seed)
    model = Model(seed, n, SETTINGS[name], labels=3)
    y, z = random_tree(rng, n, 3), random_tree(rng, n, 3)
    jj = make_mixed(n)
    count = define_jj(int(rng.integers(len(FAMILIES))), decisions(y, n, 3), decisions(z, n, 3), n, jj)
    u = np.zeros(len(model.w))
    for k in range(count):
        m = mix_trees(y, z, n, jj, k)
        chosen = {p + 1 for p in jj.places[jj.first[k] : jj.last[k]].tolist()}
        for i in range(1, n + 1):
            source = z if i in chosen else y
            assert (m.heads[i], m.relation[i]) == (source.heads[i], source.relation[i])
        before = model.w.copy()
        found = difference(model.look(model.w), Sums(u, 0.0, 5.0), n, model.setting, model.relations, y, m)
        assert same([model.w, u], [before, np.zeros_like(u)]), "an amount of 0 changes nothing"
        full = [model.score(t.heads[1:], t.relation[1:]) for t in (y, m)]
        assert found == pytest.approx(full[0] - full[1], abs=1e-3)


def learners(options: dict, **more) -> list[GraphLearner]:
    """Learners of the same data with different options."""
    made = []
    for extra in ({}, more):
        parser = GraphParser(**SMALL, **options, **extra)
        made.append(parser._make_learner(parser._treebank(TOY[:12], crossing=not parser.projective)))
    return made


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_tree_is_the_perceptron(kind, variant):
    """JJ = {[L]}: the weights of the plain update, bit for bit."""
    plain, mixed = learners(KINDS[kind], swvp=variant, beta=2.0, jj="whole")
    for k in range(12):
        for learner in (plain, mixed):
            learner.learn_from(np.arange(12), k)
    assert plain.w.any()
    assert same([plain.w, plain.u], [mixed.w, mixed.u])


@pytest.mark.parametrize("jj", [*FAMILIES, alternate], ids=[*FAMILIES, "own"])
@pytest.mark.parametrize("kind", ["arcs", "grandparents"])
def test_updates_are_the_weighted_sum(kind, jj):
    """w grows by Σ γ·ΔΦ with JJ and γ straight from their definitions, and each ΔΦ by scoring one-hot vectors."""
    for variant, enforce in itertools.product(VARIANTS, (False, True)):
        _, learner = learners(KINDS[kind], swvp=variant, beta=1.5, jj=jj, enforce=enforce)
        for k in range(8):
            before = learner.w.copy()
            learner.learn_from(np.arange(12), k)
            start, stop = learner.trees.starts[k : k + 2]
            expected = expected_change(learner, before, int(start), int(stop - start), variant, jj, enforce)
            change = learner.w - before
            assert np.allclose(change, expected, atol=2e-4), (variant, enforce, k)


def expected_change(learner, before, start, n, variant, jj, enforce):
    """Ranking apart, which the fast model learns by itself."""
    t = learner.trees
    y, z = ((heads[start : start + n], relation[start : start + n]) for heads, relation in (
        (t.heads, t.relations), (learner.found, learner.named)))  # fmt: skip
    own, other = (list(zip(*tree, strict=True)) for tree in (y, z))
    total = ranking_change(learner, start, n)
    before = before + total
    if own == other:
        return total
    lists = [list(J) for J in naive_jj(jj, own, other)]
    whole = [j for j in range(n) if own[j] != other[j]]
    changes = [phi(learner, start, n, y, mixed(y, z, J)) for J in [*lists, whole]]
    deltas = [float(change @ before) for change in changes]
    gamma = naive_gamma(deltas[:-1], variant, 1.5)
    shares = [0.0] * len(lists) + [1.0] if gamma is None else [*gamma, 0.0]
    d = sum(share * delta for share, delta in zip(shares, deltas, strict=True))
    if gamma is not None and enforce and d > 1e-9:
        whole_share = d / (d - deltas[-1]) if deltas[-1] < 0 else 1.0
        shares = [share * (1 - whole_share) for share in shares[:-1]] + [whole_share]
    return total + sum(share * change for share, change in zip(shares, changes, strict=True))


def mixed(y, z, places):
    heads, relation = y[0].copy(), y[1].copy()
    heads[places], relation[places] = z[0][places], z[1][places]
    return heads, relation


def phi(learner, start, n, y, m):
    """ΔΦ(x, y, m): what a plain update of empty weights would be."""
    from structron.model.graph import shift_of
    from structron.search.graph.features import look_at

    w, u = np.zeros(len(learner.w), np.float32), np.zeros(len(learner.u))
    look = look_at(learner.templates, learner.trees.x, start, n, w, shift_of(learner.bits))
    trees = [make_tree(np.array([-1, *heads]), np.array([-1, *relation]), n) for heads, relation in (y, m)]
    difference(look, Sums(u, 1.0, 1.0), n, learner.setting, learner.relations, *trees)
    return w.astype(np.float64)


def ranking_change(learner, start, n):
    from structron.model.graph import shift_of
    from structron.search.graph.features import look_at
    from structron.update.trees import touch_rank

    w, u = np.zeros(len(learner.w), np.float32), np.zeros(len(learner.u))
    look = look_at(learner.templates, learner.trees.x, start, n, w, shift_of(learner.bits))
    for m in range(1, n + 1):
        gold, best = learner.trees.heads[start + m - 1], learner.ranked[start + m - 1]
        if gold != best:
            touch_rank(look, Sums(u, 1.0, 1.0), gold, m, 1.0)
            touch_rank(look, Sums(u, 1.0, 1.0), best, m, -1.0)
    return w.astype(np.float64)


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_learns(variant, tmp_path):
    found = GraphParser(bits=18, passes=6, swvp=variant, beta=2.0).fit(TOY[:40])
    assert found.score(TOY[:40]) > 90
    found.save(tmp_path / "m")
    assert f"swvp-{variant}-2-errors" in found.signature_
    again = structron.load(tmp_path / "m")
    assert (again.swvp, again.beta) == (variant, 2.0)
    assert again.predict(TOY[:5]) == found.predict(TOY[:5])


def test_a_function_of_ones_own(tmp_path):
    """It sees heads and relations; a file keeps its name, and what it learned."""
    seen = []

    def ends(y, z):
        seen.append((y, z))
        return [[0], [len(y) - 1]]

    found = GraphParser(bits=16, passes=2, swvp="b-wm", jj=ends).fit(TOY[:10])
    assert all(len(y) == len(z) > 0 and isinstance(y[0][0], int) and isinstance(z[0][1], str) for y, z in seen)
    found.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert again.jj == "ends"
    assert again.predict(TOY[:5]) == found.predict(TOY[:5])


def test_resuming(tmp_path):
    options = {"bits": 16, "swvp": "b-wm"}
    whole = GraphParser(passes=4, **options).fit(TOY[:20])
    GraphParser(passes=2, **options).fit(TOY[:20], checkpoint=tmp_path / "c")
    again = GraphParser(passes=4, **options).fit(TOY[:20], checkpoint=tmp_path / "c", resume=True)
    assert np.array_equal(whole.model_.w, again.model_.w)
    with pytest.raises(StructronError, match="belongs to other data or options"):
        GraphParser(passes=4, **options, beta=3.0).fit(TOY[:20], checkpoint=tmp_path / "c", resume=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"swvp": "c-wm"}, "a-wm, b-wm, a-wmr, b-wmr"),
        ({"swvp": "b-wm", "beta": 0}, "beta: 0; expected a number above 0"),
        ({"swvp": "b-wm", "beta": float("nan")}, "beta: nan; expected a number above 0"),
        ({"swvp": "b-wm", "jj": "pairs"}, "expected errors, spans, prefixes, whole, or a function"),
        ({"swvp": "b-wm", "cost": 1.0}, "swvp: b-wm with cost 1; expected cost 0"),
        ({"swvp": "b-wm", "jj": lambda y, z: [[len(y)]]}, "jj: the function gave position"),
    ],
    ids=["variant", "beta 0", "beta nan", "family", "cost", "outside"],
)
def test_bad_input(options, message):
    with pytest.raises(StructronError, match=message):
        GraphParser(passes=1, bits=16, **options).fit(TOY[:5])


def test_the_command_line(tmp_path, capsys):
    write_conllu(tmp_path / "train.conllu", toy_english(30))
    train = ["train", "graph-parser", "--train", str(tmp_path / "train.conllu"), "--model", str(tmp_path / "m"), "-q"]
    assert main([*train, "--passes", "1", "--swvp", "a-wmr", "--beta", "0.5"]) == 0
    assert "swvp-a-wmr-0.5-errors" in structron.load(tmp_path / "m").signature_
    assert main([*train, "--swvp", "b-wm", "--beta", "-1"]) == 2
    assert "expected a number above 0" in capsys.readouterr().err
