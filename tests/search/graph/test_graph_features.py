"""Features of graph-based parsing against their texts, scores and searches against sums over features."""

import itertools

import numpy as np
import pytest

from brute_trees import trees
from graphs import BITS, NAMES, SETTINGS, Model, make_tree
from structron.kernels.jit import entry
from structron.learn.graph import EncodedTrees
from structron.search.graph.features import sentence_codes
from structron.search.graph.parse import keep_best
from structron.search.graph.templates import (
    FIRST_ORDER,
    MOST_ATOMS,
    RANKING,
    ROLES,
    SECOND_ORDER,
    TEMPLATES,
    encode_templates,
)
from structron.tasks.graph.parser import possible_relations
from structron.update.trees import difference, make_sums
from structron.weights.hashed import shift_of

X = np.array([[2, 2, 3], [3, 3, 2], [2, 3, 4], [4, 2, 2], [5, 4, 3]])


def text_of(atom: str, x: np.ndarray, i: int) -> str:
    """What an atom says of position i, straight from its definition; n + 1 is the absence of a word."""
    name, offset = (atom[2:-2], int(atom[-2:])) if atom[-2:] in ("+1", "-1") else (atom[2:], 0)
    if i > len(x):
        return "none"
    j = i + offset
    return "root" if j == 0 else str(x[j - 1][NAMES.index(name)]) if 1 <= j <= len(x) else "none"


@pytest.mark.parametrize("group", TEMPLATES)
def test_features_are_equal_when_their_texts_are(group):
    """Codes of all combinations of words, in all templates of a group: the same if and only if the texts are."""
    texts, templates = encode_templates(NAMES, list(TEMPLATES))
    n = len(X)
    sentence = sentence_codes(templates, X, 0, n, np.zeros(1, np.float32), shift_of(BITS))
    roles, start, count = ROLES.get(group, "hm"), int(templates.start[group]), int(templates.size[group])
    assert count == len(texts[group]) > 0
    codes: dict[str, int] = {}
    for positions in itertools.product(range(n + 2), repeat=len(roles)):
        for t, line in enumerate(texts[group]):
            place = dict(zip(roles, positions, strict=True))
            text = line + "=" + "|".join(text_of(atom, X, place[atom[0]]) for atom in line.split("|"))
            with np.errstate(over="ignore"):
                code = sum(
                    (sentence.codes[i, start + k * count + t] for k, i in enumerate(positions)), start=np.uint64(0)
                )
            assert codes.setdefault(text, int(code)) == int(code)
    assert len(set(codes.values())) == len(codes)


def test_templates_without_their_columns():
    texts, templates = encode_templates(["w", "t"], list(FIRST_ORDER))
    assert not any("lemma" in line for lines in texts.values() for line in lines)
    assert all(not texts[group] for group in (*SECOND_ORDER, *RANKING))
    assert templates.slots.shape[1] == MOST_ATOMS


@pytest.mark.parametrize("name", SETTINGS)
def test_no_tree_has_better_features(name):
    """What a search finds is the best sum of features that any tree has."""
    setting = SETTINGS[name]
    for seed, n in enumerate((1, 2, 3, 4, 4)):
        model = Model(seed, n, setting)
        heads, _, score = model.parse()
        sums = {tuple(tree): model.score(tree) for tree in trees(n, setting.projective, setting.single_root).tolist()}
        assert score == pytest.approx(max(sums.values()), abs=1e-3)
        assert sums[tuple(heads)] == pytest.approx(score, abs=1e-3)


def test_relations_are_the_best_of_the_tree():
    """Given the tree that was found, no other possible relations have a better sum of features."""
    for seed in range(4):
        model = Model(seed, 3, SETTINGS["grandparents"], labels=3)
        heads, found, _ = model.parse()
        sums = {r: model.score(heads, r) for r in itertools.product(range(3), repeat=3) if allowed(model, heads, r)}
        assert sums[tuple(found)] == pytest.approx(max(sums.values()), abs=1e-3)


def allowed(model: Model, heads, relations) -> bool:
    tags, table = [0, *model.x[:, 1]], model.relations
    for m, (h, r) in enumerate(zip(heads, relations, strict=True), 1):
        place = ((m > h) * table.tags + tags[h]) * table.tags + tags[m]
        if r not in table.possible[table.first[place] : table.first[place + 1]]:
            return False
    return True


def test_updates_by_hand():
    """w += Φ(y) - Φ(z): w · Δ grows by |Δ|², and what both trees share is not touched."""
    for name, setting in SETTINGS.items():
        model = Model(3, 4, setting, labels=2)
        w, u, scratch = np.zeros_like(model.w), np.zeros(len(model.w)), np.zeros(5, np.int64)
        y, z = (make_tree(t, [0] * 4) for t in ([2, 0, 2, 3], [2, 0, 2, 2]))
        entry(difference)(model.sentence(w), make_sums(u, 1.0, 3.0), 4, setting, model.relations, y, z, scratch)
        assert np.array_equal(2 * w, u), name
        ahead = model.score([2, 0, 2, 3], [0] * 4) - model.score([2, 0, 2, 2], [0] * 4)
        assert float(model.w.astype(np.float64) @ w) == pytest.approx(ahead, abs=1e-3)
        same = np.zeros_like(w)
        entry(difference)(model.sentence(same), make_sums(u, 1.0, 3.0), 4, setting, model.relations, y, y, scratch)
        assert not same.any()


def test_relations_that_can_be():
    x = np.array([[2, 2], [3, 3], [2, 2]])
    found = possible_relations(EncodedTrees(x, np.array([0, 2, 3]), np.array([2, 0, 0]), np.array([1, 0, 0])), 5, 2)

    def between(to_right: int, head: int, word: int) -> list[int]:
        place = (to_right * 5 + head) * 5 + word
        return found.possible[found.first[place] : found.first[place + 1]].tolist()

    assert between(0, 3, 2) == [1]
    assert between(1, 0, 3) == [0]
    assert between(1, 0, 2) == [0]
    assert between(1, 3, 2) == [0, 1], "never seen so: what the word was seen with"
    assert between(1, 2, 4) == [0, 1], "a tag never seen: anything"


def test_the_best_heads_are_kept():
    rng = np.random.default_rng(3)
    for n, keep in ((1, 1), (5, 2), (9, 4), (3, 10)):
        scores, mask = rng.normal(size=(n + 1, n + 1)).astype(np.float32), np.zeros((n + 1, n + 1), np.bool_)
        entry(keep_best)(scores, n, keep, mask, np.zeros(n + 1, np.int64))
        for m in range(1, n + 1):
            others = [h for h in range(n + 1) if h != m]
            best = sorted(others, key=lambda h, m=m, scores=scores: -scores[h, m])[:keep]
            assert np.flatnonzero(mask[:, m]).tolist() == sorted(best)
