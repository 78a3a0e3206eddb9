"""The graph-based parser as a task: data of every kind, trees whatever comes in, files and the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

import structron
from crafted import repack
from structron import GraphParser
from structron.cli import main
from structron.data.toy_english import toy_english, write_conllu
from structron.errors import StructronError
from structron.model import graph as graph_model
from structron.tasks.treebank import Arc
from structron.trees import check_tree, is_projective

TOY = [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in toy_english(160)]
TRAIN, DEV = TOY[:120], TOY[120:]
CROSSING = [
    [("A", "DT", "2", "det"), ("hearing", "NN", "4", "nsubj"), ("is", "VB", "4", "aux"), ("held", "VB", "0", "root"),
     ("on", "IN", "6", "case"), ("it", "PR", "2", "nmod"), ("today", "RB", "4", "advmod")],
]  # fmt: skip
SMALL = {"bits": 18, "runs": 1}


def arcs(sentence) -> list[Arc]:
    return [(int(head), relation) for *_, head, relation in sentence]


@pytest.fixture(scope="module")
def parser() -> GraphParser:
    return GraphParser(passes=4, **SMALL).fit(TRAIN, DEV)


@pytest.fixture(scope="module")
def model_path(parser, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("models") / "graph.structron"
    parser.save(path)
    return path


# -- learning ------------------------------------------------------------------------------------------------------


def test_it_learns(parser):
    assert parser.score(TRAIN) > 95
    assert parser.score(DEV) > 70
    assert parser.metric == "las"
    assert parser.outputs_ == ["head", "deprel"]
    assert parser.history_[parser.best_pass_ - 1]["dev"] == round(parser.score(DEV), 4)


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


@pytest.mark.parametrize("order", [1, 2])
def test_crossing_arcs(order):
    """Any tree can be learned as it is, or lifted and taken back down; skipped, nothing is left."""
    for options in ({"projective": False}, {}):
        found = GraphParser(order=order, passes=15, **SMALL, **options).fit(CROSSING * 2)
        assert found.predict([[row[:2] for row in s] for s in CROSSING]) == [arcs(s) for s in CROSSING]
        assert found.lifted_ is found.projective
    with pytest.raises(StructronError, match="all sentences are non-projective"):
        GraphParser(nonprojective="skip").fit(CROSSING)


def test_several_roots(tmp_path, capsys):
    """Learned from and found where they are asked for, from rows and from files; otherwise an error that says where."""
    data = [[*s, *(("!", "!", str(len(s) + 1 if k else 0), "punct") for k in range(2))] for s in TRAIN[:20]]
    found = GraphParser(passes=6, single_root=False, **SMALL).fit(data, data)
    assert found.score(data) > 90
    assert sum(head == 0 for head, _ in found.predict(data[:1])[0]) == 2
    with pytest.raises(StructronError, match="second root"):
        GraphParser(**SMALL).fit(data)
    path = tmp_path / "roots.conll"
    path.write_text("\n".join("".join("\t".join(row) + "\n" for row in s) for s in data))
    train = ["train", "graph-parser", "--train", str(path), "--model", str(tmp_path / "m"), "--passes", "2", "-q"]
    assert main([*train, "--many-roots"]) == 0
    assert main(["evaluate", str(tmp_path / "m"), str(path)]) == 0
    assert main(train) == 2
    assert "second root" in capsys.readouterr().err


def test_without_relations():
    data = [[row[:3] for row in s] for s in TRAIN[:40]]
    found = GraphParser(passes=5, **SMALL).fit(data)
    assert (found.metric, found.outputs_) == ("uas", ["head"])
    assert {relation for tree in found.predict(data) for _, relation in tree} == {None}
    assert found.score(data) > 95
    assert GraphParser(passes=1, labelled=False, **SMALL).fit(TRAIN[:5]).relations_ == []


def test_a_mean_of_all_moments():
    """The averaged weights are the mean of the weights after every example."""
    data = TRAIN[:6]
    mean = GraphParser(passes=1, shuffle=False, **SMALL).fit(data).model_.w
    learner = GraphParser(passes=1, shuffle=False, average="none", **SMALL)
    made = learner._make_learner(learner._treebank(data))
    total = np.zeros(len(mean))
    for k in range(len(data)):
        made.learn_from(np.arange(len(data)), k)
        total += made.w
    assert np.allclose(mean, total / len(data), atol=1e-5)


def test_resuming_gives_the_same_weights(tmp_path):
    whole = GraphParser(passes=4, **SMALL).fit(TRAIN[:30])
    GraphParser(passes=2, **SMALL).fit(TRAIN[:30], checkpoint=tmp_path / "c")
    again = GraphParser(passes=4, **SMALL).fit(TRAIN[:30], checkpoint=tmp_path / "c", resume=True)
    assert np.array_equal(whole.model_.w, again.model_.w)
    with pytest.raises(StructronError, match="belongs to other data or options"):
        GraphParser(passes=4, order=1, **SMALL).fit(TRAIN[:30], checkpoint=tmp_path / "c", resume=True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"order": 3}, "order: 3; expected 1 or 2"),
        ({"prune": "x"}, "prune: 'x'; expected"),
        ({"keep_heads": -1}, "keep_heads: -1; expected at least 0"),
        ({"keep_heads": 1.5}, "keep_heads: 1.5; expected a whole number"),
        ({"bits": 50}, "bits: 50; expected at most 30"),
        ({"passes": 0}, "passes: 0; expected at least 1"),
        ({"average": "voted"}, "unknown average 'voted'"),
        ({"nonprojective": "keep"}, "unknown nonprojective 'keep'"),
    ],
    ids=str,
)
def test_parameters_that_cannot_be(options, says):
    with pytest.raises(StructronError, match=says):
        GraphParser(**options).fit(TRAIN[:2])


def test_failed_training_changes_nothing(parser):
    before = dict(vars(parser))
    with pytest.raises(StructronError):
        parser.fit([[("a", "b", "7", "c")]])
    assert vars(parser) == before
    with pytest.raises(StructronError, match="no sentences"):
        parser.fit([])


# -- using ---------------------------------------------------------------------------------------------------------


def test_columns_that_are_predicted_may_be_missing(parser):
    expected = parser.predict(DEV)
    assert parser.predict([[row[:2] for row in s] for s in DEV]) == expected
    assert parser.predict([[], *DEV, []]) == [[], *expected, []]
    assert parser.predict(DEV, jobs=2) == expected
    assert parser.predict_columns(DEV[:1]) == [[[str(head) for head, _ in expected[0]], [r for _, r in expected[0]]]]


def test_not_trained():
    with pytest.raises(StructronError, match="not trained yet"):
        GraphParser().predict(DEV)


def test_what_weighs_most(parser):
    found = parser.inspect_weights(top=5)
    assert list(found)[:2] == ["left", "right"]
    assert set(found) == {"left", "right", *parser.relations_}
    assert all(len(weights) == 5 for name, weights in found.items() if name in ("left", "right", "det", "nsubj"))
    assert "h.t|m.t=NN|DT to the left" in [text for text, weight in found["det"] if weight > 0]
    assert list(parser.inspect_weights("det")) == ["det"]
    with pytest.raises(StructronError, match="unknown relation 'poem'"):
        parser.inspect_weights("poem")


# -- files ---------------------------------------------------------------------------------------------------------


def test_files(parser, model_path, tmp_path):
    found = structron.load(model_path, task="graph-parser")
    assert isinstance(found, GraphParser)
    assert found.predict(DEV) == parser.predict(DEV)
    assert found.signature_ == parser.signature_
    assert found.history_ == parser.history_
    found.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == model_path.read_bytes()


def test_pruned_weights_are_not_in_the_file(tmp_path):
    for name, least in (("all", 0.0), ("some", 0.5)):
        GraphParser(passes=2, prune=least, **SMALL).fit(TRAIN[:20]).save(tmp_path / name)
    assert (tmp_path / "some").stat().st_size < (tmp_path / "all").stat().st_size
    assert np.abs(structron.io.modelfile.load(tmp_path / "some")[1]["weight"]).min() > 0.5


HEADER_ODDITIES = [
    *[{name: None} for name in ("options", "word", "head", "relations", "relation", "inputs", "history", "source")],
    {"relations": []},
    {"relations": ["det"]},
    {"templates": "0123"},
    {"inputs": ["lemma"]},
    {"options": {"columns": ["word", "pos", "head", "deprel"], "pos": "pos", "bits": 12}},
    {"options": {"columns": ["word", "pos", "head", "deprel"], "pos": "pos", "order": 9}},
]


@pytest.mark.parametrize("change", HEADER_ODDITIES, ids=str)
def test_headers_that_do_not_fit(change, model_path, tmp_path):
    repack(model_path, tmp_path / "odd", change)
    with pytest.raises(StructronError, match="odd: damaged model file"):
        structron.load(tmp_path / "odd")


def test_tensors_that_do_not_fit(model_path, tmp_path):
    """Whatever the arrays are: a clear error, or a parser that gives trees."""
    _, tensors = structron.io.modelfile.load(model_path)
    refused = []
    for name, array in tensors.items():
        changes = [None, array[:0], array[:-1], np.concatenate([array, array[:1]]), array.reshape(-1, 1), array[::-1]]
        changes += [array.astype(kind) for kind in (np.float64, np.int8)]
        for change in changes:
            repack(model_path, tmp_path / "odd", None, {name: change})
            try:
                trees = structron.load(tmp_path / "odd").predict(DEV[:2])
            except StructronError as error:
                refused.append(f"{name} {error}")
            else:
                assert all(check_tree([head for head, _ in tree]) is None for tree in trees)
    assert len(refused) > 4 * len(tensors)
    assert all("odd: damaged model file" in text for text in refused)


# -- the command line ----------------------------------------------------------------------------------------------


def test_a_search_that_is_not_compiled_is_announced(parser, monkeypatch):
    """Every search is compiled by itself: one may be missing when all else is there."""
    assert not parser.is_cold()
    monkeypatch.setattr(graph_model, "search_of", lambda *_: lambda arcs, parts, n, single_root, heads: 0.0)
    assert parser.is_cold()


def test_no_sentence_is_explained(model_path, capsys):
    assert main(["inspect", str(model_path), "--sentence", "The/DT dog/NN"]) == 2
    assert "works with tagger, chunker, segments, entities, parser\n" in capsys.readouterr().err


def test_the_command_line(tmp_path, capsys):
    sentences = toy_english(80)
    write_conllu(tmp_path / "train.conllu", sentences[:60])
    write_conllu(tmp_path / "test.conllu", sentences[60:])
    model = tmp_path / "m.structron"
    args = ["--train", tmp_path / "train.conllu", "--model", model, "--passes", "3", "--order", "1", "--margin", "1"]
    args += ["--keep-heads", "4", "--no-projective", "--single-root", "-q"]
    assert main(["train", "graph-parser", *map(str, args)]) == 0
    found = structron.load(model)
    assert (found.order, found.margin, found.keep_heads, found.projective) == (1, 1.0, 4, False)
    capsys.readouterr()
    assert main(["evaluate", str(model), str(tmp_path / "test.conllu"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["task"] == "graph-parser"
    assert scores["las"] <= scores["uas"] <= 100
    output = tmp_path / "out.conllu"
    assert main(["predict", str(model), str(tmp_path / "test.conllu"), "--output", str(output)]) == 0
    assert output.read_text().count("\n") == (tmp_path / "test.conllu").read_text().count("\n")
    assert main(["inspect", str(model), "--top", "2", "--label", "det"]) == 0
    assert "det" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--beam", "4"], "--beam: not available for the graph-parser"),
        (["--cost", "1"], "--cost"),
        (["--update", "early"], "--update: not available for the graph-parser"),
    ],
    ids=["beam", "cost", "update"],
)
def test_options_that_cannot_be(options, says, tmp_path, capsys):
    write_conllu(tmp_path / "t.conllu", toy_english(3))
    args = ["train", "graph-parser", "--train", str(tmp_path / "t.conllu"), "--model", str(tmp_path / "m"), *options]
    assert main(args) == 2
    assert says in capsys.readouterr().err
