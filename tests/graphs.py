"""A graph-based parser's sentence with random weights: its search, and a sum over features that knows nothing of it."""

from typing import Any

import numpy as np

from structron.kernels.jit import entry
from structron.learn.graph import EncodedTrees
from structron.search.graph.features import sentence_codes
from structron.search.graph.parse import WEIGH, steps_of
from structron.search.graph.scratch import ParseSettings, Tree, make_scratch
from structron.search.graph.templates import TEMPLATES, encode_templates
from structron.tasks.graph.parser import possible_relations
from structron.update.trees import find_siblings, make_sums, touch_word
from structron.weights.hashed import make_vector, shift_of

NAMES = ["w", "t", "lemma"]


BITS = 16


def make_tree(heads: Any, relations: Any) -> Tree:
    """A tree of words, heads and relations from the first word on."""
    n = len(heads)
    tree = Tree(np.array([-1, *heads]), np.array([-1, *relations]), np.zeros(n + 1, np.int64))
    entry(find_siblings)(tree, n, np.zeros(n + 1, np.int64))
    return tree


def add_features(
    sentence: Any, u: np.ndarray, n: int, setting: ParseSettings, table: Any, heads: Any, relations: Any
) -> None:
    """Every feature of a tree, as an update adds it to the weights that are looked at."""
    tree = make_tree(heads, relations)
    nothing = tree._replace(heads=np.full(n + 1, -9), relation=np.full(n + 1, -9))
    every = np.ones(n + 1, np.int64)
    for m in range(1, n + 1):
        entry(touch_word)(sentence, make_sums(u, 1.0, 2.0), n, setting, table, tree, nothing, every, m, 1.0)


class Model:
    """Random weights over a sentence, and a sum over features that knows nothing of the search."""

    def __init__(self, seed: int, n: int, setting: ParseSettings, labels: int = 0):
        self.n, self.setting = n, setting
        _, self.templates = encode_templates(NAMES, list(TEMPLATES))
        rng = np.random.default_rng(seed)
        self.x = rng.integers(2, 5, (n, len(NAMES)))
        shown = EncodedTrees(self.x, np.array([0, n]), np.zeros(n, np.int64), rng.integers(0, max(labels, 1), n))
        self.relations = possible_relations(shown, 5, labels)
        self.w = make_vector(BITS, labels, np.float32)
        self.w[:] = np.round(rng.normal(size=len(self.w)), 1)

    def sentence(self, w: np.ndarray):
        return sentence_codes(self.templates, self.x, 0, self.n, w, shift_of(BITS))

    def score(self, heads, relations=None) -> float:
        """w · Φ: the features that an update adds, counted in an empty vector."""
        counts, u = np.zeros_like(self.w), np.zeros(len(self.w))
        own = np.zeros(self.n, np.int64) if relations is None else relations
        add_features(self.sentence(counts), u, self.n, self.setting, self.relations, heads, own)
        assert np.array_equal(counts, u)
        return float(self.w.astype(np.float64) @ counts)

    def parse(self):
        scratch = make_scratch(self.templates, self.relations, self.setting, self.w, shift_of(BITS), self.n)
        prepare, score, search, choose = steps_of(self.setting)
        assert WEIGH(prepare, score, search, scratch, self.x, 0, self.n)
        heads, found = scratch.found.heads, scratch.found.relation
        best = search(scratch.arcs, scratch.parts, scratch.charts, self.n, self.setting.single_root, heads)
        choose(scratch, self.n, 0, 0.0, heads, found)
        return heads[1:].tolist(), found[1:].tolist(), float(best)


SETTINGS = {
    "arcs": ParseSettings(1, True, True, True, 0),
    "arcs, many roots": ParseSettings(1, True, True, False, 0),
    "arcs, crossing": ParseSettings(1, True, False, True, 0),
    "siblings": ParseSettings(2, False, True, True, 0),
    "grandparents": ParseSettings(2, True, True, True, 0),
    "grandparents, many roots": ParseSettings(2, True, True, False, 0),
}
