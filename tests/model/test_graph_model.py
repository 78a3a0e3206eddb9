"""The n best trees of a trained graph-based parser."""

import numpy as np
import pytest

from structron import GraphParser
from structron.model import graph
from structron.text.sentences import starts_of
from toy import tree_rows

TOY = tree_rows(40, 0)
KINDS = {
    "arcs": {"order": 1},
    "crossing": {"order": 1, "projective": False},
    "siblings": {"grandparents": False, "single_root": False},
    "grandparents": {},
    "climbing": {"projective": False},
    "without relations": {"order": 1, "labelled": False, "keep_heads": 0},
}


@pytest.fixture(scope="module", params=KINDS)
def trained(request):
    """A model, its setting and what it is to parse; an empty sentence, one word, and words never seen among it."""
    parser = GraphParser(passes=2, bits=16, runs=1, **KINDS[request.param]).fit(TOY[:25])
    sentences = [*TOY[25:30], [], [("zork", "X")], [("zork", "X"), ("quux", "Y")] * 3]
    return (
        parser.model_,
        parser._setting(),
        (parser.input_.encode(parser.input_.encoded(sentences)), starts_of(sentences)),
    )


def test_the_first_is_the_best(trained):
    """The tree that `decode` finds, relations and all; then other trees, none better than the one before."""
    model, setting, inputs = trained
    heads, relations = model.decode(*inputs, setting, 1)
    found, climbing = model.nbest(*inputs, setting, 7, 1), setting.order == 2 and not setting.projective
    assert len(found) == len(inputs[1]) - 1
    for s, trees in enumerate(found):
        words = slice(inputs[1][s], inputs[1][s + 1])
        assert trees[0][0].tolist() == heads[words].tolist()
        assert trees[0][1].tolist() == relations[words].tolist()
        assert len({tuple(tree.tolist()) for tree, *_ in trees}) == len(trees)
        scores = [score for *_, score in trees][climbing:]
        assert scores == sorted(scores, reverse=True)
        for tree, of, _ in trees:
            assert len(tree) == len(of) == words.stop - words.start
            assert not setting.single_root or not len(tree) or np.count_nonzero(tree == 0) == 1
    assert [len(trees) for trees in found[5:7]] == [1, 1]
    assert len(found[0]) == 7


def test_fewer_and_more(trained):
    """The first trees of many are those that few would be, on any number of threads."""
    model, setting, inputs = trained
    many, few = model.nbest(*inputs, setting, 7, 2), model.nbest(*inputs, setting, 1, 1)
    for some, one in zip(many, few, strict=True):
        assert len(one) == 1
        assert some[0][0].tolist() == one[0][0].tolist()
        assert some[0][2] == one[0][2]


def test_decoding_does_without_it(trained, monkeypatch):
    """Nobody who wants one tree waits for the kernel of many."""
    model, setting, inputs = trained
    monkeypatch.setattr(graph, "WEIGH", None)
    monkeypatch.setattr(graph, "k_best", None)
    model.decode(*inputs, setting, 1)
    assert not model.is_cold(setting)
