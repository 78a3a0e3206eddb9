"""The graph-based parser: every kind of it learns and gives trees, and its weights."""

import numpy as np
import pytest

import structron
from structron import GraphParser
from structron.errors import StructronError
from structron.kernels.jit import kernel
from structron.search.graph import parse
from structron.search.trees.search import SIGNATURE
from structron.text.trees import check_tree, is_projective
from toy import tree_rows

TOY = tree_rows(160, 1)
TRAIN, DEV = TOY[:120], TOY[120:]
SMALL = {"bits": 18, "runs": 1}


@pytest.fixture(scope="module")
def parser() -> GraphParser:
    return GraphParser(passes=4, **SMALL).fit(TRAIN, dev=DEV)


# -- learning ------------------------------------------------------------------------------------------------------


KINDS = {
    "arcs": {"order": 1},
    "all arcs": {"order": 1, "keep_heads": 0},
    "crossing": {"order": 1, "projective": False},
    "siblings": {"grandparents": False},
    "climbing": {"projective": False},
    "many roots": {"single_root": False},
    "margin": {"margin": 2.0},
    "alma": {"alma": 0.9},
    "unaveraged": {"average": "none"},
    "few heads": {"keep_heads": 2},
    "two runs": {"runs": 2},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_learns(kind):
    """And gives trees, whatever the words."""
    found = GraphParser(passes=6, **SMALL | KINDS[kind]).fit(TRAIN[:40])
    assert found.score(TRAIN[:40]) > 90
    unknown = [[("zork", "X"), ("quux", "Y")] * 6]
    for tree in found.predict([*DEV[:10], *unknown]):
        heads = [head for head, _ in tree]
        if found.single_root:
            assert check_tree(heads) is None
        assert is_projective(heads) or not found.projective or found.lifted_


def test_several_roots():
    """Learned from and found where they are asked for; otherwise an error that says where."""
    data = [[*s, *(("!", "!", str(len(s) + 1 if k else 0), "punct") for k in range(2))] for s in TRAIN[:20]]
    found = GraphParser(passes=6, single_root=False, **SMALL).fit(data, dev=data)
    assert found.score(data) > 90
    assert sum(head == 0 for head, _ in found.predict(data[:1])[0]) == 2
    with pytest.raises(StructronError, match="second root"):
        GraphParser(**SMALL).fit(data)


def test_a_mean_of_all_moments():
    """The averaged weights are the mean of the weights after every example."""
    data = TRAIN[:6]
    mean = GraphParser(passes=1, shuffle=False, **SMALL).fit(data).model_.w
    made = GraphParser(passes=1, shuffle=False, average="none", **SMALL)._learner(data, None)
    total = np.zeros(len(mean))
    for k in range(len(data)):
        made.learn_from(np.arange(len(data)), k, k + 1)
        total += made.store.w
    assert np.allclose(mean, total / len(data), atol=1e-5)


# -- using ---------------------------------------------------------------------------------------------------------


def test_what_weighs_most(parser):
    found = parser.inspect(top=5).labels
    assert list(found)[:2] == ["left", "right"]
    assert set(found) == {"left", "right", *parser.relations_}
    most = parser.inspect("det", top=40).labels["det"]
    assert "h.t|m.t=NN|DT to the left" in [weight.feature for weight in most if weight.weight > 0]
    assert list(parser.inspect("det").labels) == ["det"]


def test_pruned_weights_are_not_in_the_file(tmp_path):
    for name, least in (("all", 0.0), ("some", 0.5)):
        GraphParser(passes=2, prune=least, **SMALL).fit(TRAIN[:20]).save(tmp_path / name)
    assert (tmp_path / "some").stat().st_size < (tmp_path / "all").stat().st_size
    assert np.abs(structron.io.modelfile.load(tmp_path / "some")[1]["weight"]).min() > 0.5


def test_a_search_that_is_not_compiled_is_announced(parser, monkeypatch):
    """Every search is compiled by itself: one may be missing when all else is there."""
    assert not parser.is_cold()
    search = kernel(lambda arcs, parts, charts, n, single_root, heads: 0.0, signature=SIGNATURE)
    monkeypatch.setattr(parse, "compiled_search", lambda *_: search)
    assert parser.is_cold()
