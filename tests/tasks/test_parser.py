"""Both parsers as tasks: data of every kind, and trees whatever comes in."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structron
from structron import GraphParser, Parser
from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.features.alphabets import ParserInput
from structron.tasks.shift_reduce.parser import LEAST_WEIGHT, LEVELS
from structron.tasks.treebank import mirrored
from structron.text.trees import MARK, check_tree
from toy import tree_rows

TOY = tree_rows(160, 1)
TRAIN, DEV = TOY[:120], TOY[120:]
CROSSING = [
    [("A", "DT", "2", "det"), ("hearing", "NN", "0", "root"), ("is", "VB", "2", "cop"), ("on", "IN", "5", "case"),
     ("it", "PR", "2", "nmod")],
    [("A", "DT", "2", "det"), ("hearing", "NN", "4", "nsubj"), ("is", "VB", "4", "aux"), ("held", "VB", "0", "root"),
     ("on", "IN", "6", "case"), ("it", "PR", "2", "nmod"), ("today", "RB", "4", "advmod")],
]  # fmt: skip
BARKS = [("The", "DT"), ("dog", "NN"), ("barks", "VBZ"), (".", ".")]
KINDS = {"shift-reduce": (Parser, {}), "graph": (GraphParser, {"bits": 18, "runs": 1})}


def arcs(sentence) -> list[tuple[int, str]]:
    return [(int(head), relation) for *_, head, relation in sentence]


@pytest.fixture(params=KINDS)
def make(request) -> Any:
    """An untrained parser with some options."""
    kind, given = KINDS[request.param]
    return lambda **options: kind(**given | options)


@pytest.fixture(scope="module", params=KINDS)
def parser(request) -> Any:
    """A parser that learned to lift words."""
    kind, given = KINDS[request.param]
    return kind(passes=4, **given).fit(TRAIN + CROSSING * 4, dev=DEV)


# -- learning ------------------------------------------------------------------------------------------------------


def test_the_beam_of_one_call():
    rows = [[token[:2] for token in sentence] for sentence in TOY]
    wide = Parser(passes=2, beam=8).fit(TRAIN[:30])
    own, trees = wide.predict(rows), {beam: copy.copy(wide).set_params(beam=beam).predict(rows) for beam in (1, 8)}
    assert own == trees[8] != trees[1]
    assert wide.predict(rows, beam=1) == wide.predict(rows, beam=1, jobs=2) == trees[1]
    short = [rows[0][:2]]
    assert wide.predict(short, beam=float("inf")) == copy.copy(wide).set_params(beam=None).predict(short)
    differs = next(k for k in range(len(rows)) if trees[1][k] != own[k])
    for beam in (1, 8):
        steps = copy.copy(wide).set_params(beam=beam).explain(rows[differs])
        assert wide.explain(rows[differs], beam=beam) == steps
    assert wide.explain(rows[differs]) != wide.explain(rows[differs], beam=1)
    assert wide.beam == 8
    with pytest.raises(StructronError, match="beam: 0;"):
        wide.predict(rows, beam=0)


def test_from_right_to_left(tmp_path):
    """It is the parser of sentences that are turned around, whatever is asked of it."""

    def turned(sentence):
        n = len(sentence)
        return [(*row[:2], str(n + 1 - int(row[2]) if row[2] != "0" else 0), row[3]) for row in reversed(sentence)]

    data, test = [*TRAIN[:40], *CROSSING], [[row[:2] for row in sentence] for sentence in [*DEV, *CROSSING]]
    Parser(passes=2, right_to_left=True).fit(data, dev=DEV).save(tmp_path / "m")
    backward, forward = (
        structron.load(tmp_path / "m"),
        Parser(passes=2).fit(list(map(turned, data)), dev=list(map(turned, DEV))),
    )
    assert backward.history_[-1]["dev"] == forward.history_[-1]["dev"]
    trees = forward.predict([own[::-1] for own in test])
    assert backward.predict(test) == backward.predict(test, jobs=2) == [mirrored(tree) for tree in trees]
    best, other = backward.nbest(test[:3], 4), forward.nbest([own[::-1] for own in test[:3]], 4)
    assert best == [[(mirrored(tree), score) for tree, score in own] for own in other]
    assert backward.explain(test[0]) == forward.explain(test[0][::-1])
    turned_gold = mirrored(arcs(DEV[0]))
    trace, same = backward.trace(test[0], arcs(DEV[0])), forward.trace(test[0][::-1], turned_gold)
    assert (trace.prediction, trace.gold, trace.steps) == (same.prediction, same.gold, same.steps)
    assert "right-to-left" in backward.signature_


def test_it_learns(parser):
    assert parser.score(TRAIN) > 95
    assert parser.score(DEV) > 70
    assert parser.metric == "las"
    assert parser.roles_.outputs == ["head", "deprel"]
    assert parser.needed_ == {"word", "pos"}
    assert parser.history_[parser.best_pass_ - 1]["dev"] == round(parser.score(DEV), 4)
    assert parser.notes_ == ["4 of 128 sentences are non-projective: used with 4 words lifted"]


def test_crossing_arcs_come_back(make):
    """Lifted and taken back down, or, in a graph, learned as they are."""
    orders = [{"margin": None}] if isinstance(make(), Parser) else [{"order": 1}, {"order": 2}]
    directly = [] if isinstance(make(), Parser) else [order | {"projective": False} for order in orders]
    for options in orders + directly:
        parser = make(passes=20, **options).fit(CROSSING * 2)
        assert parser.predict([[row[:2] for row in s] for s in CROSSING]) == [arcs(s) for s in CROSSING]
        assert parser.score(CROSSING) == 100
        assert any(MARK in relation for relation in parser.relations_) is parser.lifted_ is (options in orders)


def test_the_usual_margin_belongs_to_the_usual_update():
    """The rules of the papers go without, unless one is given; so do large margins of another kind."""
    usual = Parser().search(learning=True)
    assert (usual.update, usual.beam, usual.margin) == ("laso", 4, 5.0)
    assert Parser(update="laso", beam=8).search().margin == 5.0
    for rule in ("standard", "early", "max-violation", "latest", "hybrid", "laso-literal"):
        assert Parser(update=rule).search(learning=True).margin is None
        assert Parser(update=rule, margin=2.0).search(learning=True).margin == 2.0
    assert Parser(margin=None).search().margin is None
    assert Parser(alma=0.9).search(learning=True).margin is None
    weighted = Parser(swvp="b-wm").search(learning=True)
    assert (weighted.update, weighted.margin) == ("max-violation", None)


def test_slack_belongs_to_the_usual_update():
    assert Parser().search().slack == Parser(beam=8, margin=2.0).search().slack == 12.0
    for options in ({"update": "max-violation"}, {"margin": None}, {"alma": 0.9}, {"swvp": "b-wm"}, {"slack": None}):
        assert Parser(**options).search().slack == np.inf
    assert Parser(update="early", slack=3.0).search(learning=True).slack == 3.0
    with pytest.raises(StructronError, match="slack: 0; expected a number above 0"):
        Parser(slack=0).fit(TRAIN)


def test_a_beam_without_slack_is_greedy():
    """What is left of it is the best state alone. The first of the n best is the prediction, and a trace shows all."""
    parser = Parser(passes=1).fit(TRAIN[:20])
    greedy = copy.copy(parser).set_params(beam=1).predict(DEV)
    hasty = copy.copy(parser).set_params(beam=8, slack=1e-9)
    assert hasty.predict(DEV) == greedy
    assert [best[0][0] for best in hasty.nbest(DEV, 3)] == greedy
    assert hasty.predict(DEV, jobs=2) == greedy
    wide = copy.copy(parser).set_params(beam=8, slack=None)
    assert wide.predict(DEV) != greedy, "the test needs sentences on which the two differ"
    assert max(len(step.states) for step in hasty.trace(DEV[0]).steps) == 8


def test_crossing_sentences_can_be_skipped(make):
    parser = make(passes=2, nonprojective="skip").fit(CROSSING)
    assert parser.notes_ == ["1 of 2 sentences are non-projective: skipped"]
    assert not any(MARK in relation for relation in parser.relations_)
    with pytest.raises(StructronError, match="all sentences are non-projective; expected --nonprojective lift"):
        make(nonprojective="skip").fit(CROSSING[1:])


@pytest.mark.parametrize("columns", [None, ["word", "pos", "head", "deprel"]], ids=["heads", "unlabelled"])
def test_without_relations(make, columns):
    data = TRAIN[:40] if columns else [[row[:3] for row in s] for s in TRAIN[:40]]
    found = make(passes=5, columns=columns, labelled=not columns).fit(data)
    assert (found.metric, found.roles_.outputs) == ("uas", ["head"])
    assert {relation for tree in found.predict(data) for _, relation in tree} == {None}
    assert found.score(data) > 95
    assert len(found.predict_columns(data[:1])[0]) == 1
    empty = [[(*row[:3], "_") for row in s] for s in data[:5]]
    assert make(passes=1).fit(empty).metric == "uas"


def test_sentences_of_one_word(make):
    found = make(passes=2).fit([[("Go", "VB", "0", "root")], []])
    assert found.predict([BARKS[:1], []]) == [[(0, "root")], []]
    assert check_tree([head for head, _ in found.predict([BARKS])[0]]) is None


def test_relations_with_the_mark_of_lifted_words(make):
    odd = [("up", "U", "0", "root"), ("down", "D", "1", f"a{MARK}b")]
    for data, option in (([odd], "lift"), ([odd, *CROSSING], "skip")):
        found = make(passes=5, nonprojective=option).fit(data)
        assert found.predict([odd]) == [arcs(odd)]
    with pytest.raises(StructronError, match=f"sentence 3: word 2: relation 'a{MARK}b' contains {MARK}"):
        make().fit([*CROSSING, odd])
    assert not any(MARK in relation for relation in make(passes=1, labelled=False).fit([*CROSSING, odd]).relations_)


# -- input ---------------------------------------------------------------------------------------------------------


def test_columns_that_are_predicted_may_be_missing(parser):
    expected = parser.predict(DEV)
    for width in (2, 3):
        assert parser.predict([[row[:width] for row in s] for s in DEV]) == expected
    mixed = [[row[: 2 + k % 3] for k, row in enumerate(s)] for s in DEV]
    assert parser.predict(np.array(s) for s in map(list, DEV)) == expected
    assert parser.predict(mixed) == expected


def test_orders_of_columns():
    names = ["id", "form", "lemma", "xpos", "head", "deprel", "misc"]
    found = ParserInput(names, "form", "xpos", ["lemma.suffix2"], ["head", "deprel"])
    assert found.read == ["form", "lemma", "xpos"]
    full = ["1", "dogs", "dog", "NNS", "0", "root", "_"]
    for row in (full, full[:4] + full[6:], full[:5] + full[6:], full[:4]):
        assert found.columns_of([[row]]) == {"form": ["dogs"], "lemma": ["dog"], "xpos": ["NNS"]}
    expected = r"sentence 2: word 1 is \['dogs'\]; expected a row of id, .* \(head and deprel may be missing\)"
    with pytest.raises(StructronError, match=expected):
        found.columns_of([[full], [["dogs"]]])


@pytest.mark.parametrize("token", ["dog", ("dog",), {"word": "dog"}, ("a",) * 5, None, b"dogs"], ids=repr)
def test_tokens_that_are_no_rows(parser, token):
    with pytest.raises(StructronError, match=r"sentence 2: word 1 is .*; expected a row of word, pos, head, deprel"):
        parser.predict([BARKS, [token]])


def test_texts_only(parser):
    with pytest.raises(StructronError, match="column 'pos': expected strings, found 3"):
        parser.predict([[("dog", 3)]])


BAD_TREES = {
    "no number": ("x 0", "word 1: head 'x' is not a number"),
    "part": ("2.5 0", "word 1: head '2.5' is not a number"),
    "range": ("3 0", r"word 1 \(a\): head 3 out of range"),
    "self": ("1 0", r"word 1 \(a\): is its own head"),
    "roots": ("0 0", r"word 2 \(b\): second root"),
    "cycle": ("2 1", r"word 1 \(a\): no root"),
}


@pytest.mark.parametrize(("heads", "says"), BAD_TREES.values(), ids=BAD_TREES)
def test_bad_trees(parser, heads, says):
    bad = [(word, "T", head, "r") for word, head in zip("ab", heads.split(), strict=True)]
    with pytest.raises(StructronError, match=f"^training data: sentence 2: {says}"):
        type(parser)(**parser.get_params()).fit([CROSSING[0], bad])
    with pytest.raises(StructronError, match=f"^dev data: sentence 1: {says}"):
        type(parser)(**parser.get_params()).fit(CROSSING, dev=[bad])
    with pytest.raises(StructronError, match=f"^data: sentence 1: {says}"):
        parser.evaluate([bad])


BAD_DATA = {
    "no words": ([[], []], {}, "no sentences"),
    "text": ([["dog"]], {}, "words without labels"),
    "names": ([[("a", "b", "0")]], {"columns": ["word", "pos"]}, "3 columns; expected names for them"),
    "wide": ([[("a", "b", "0", "c", "d")]], {}, "5 columns; expected names for them"),
    "no tag": ([[("a", "b", "0")]], {"pos": "upos"}, r"no part-of-speech column \(upos\) among word, pos, head"),
    "no head": ([[("a", "b", "0")]], {"columns": ["word", "pos", "top"]}, r"no head column \(head\) among"),
    "twice": ([[("a", "b", "0")]], {"columns": ["pos", "pos", "head"]}, "a name occurs twice"),
    "tag is word": ([[("a", "b", "0")]], {"pos": "word"}, "different columns"),
    "short": ([[*CROSSING[0]], [("a", "b")]], {}, "sentence 2: word 1 is .*; expected 4 columns: word, pos, head"),
    "no templates": (CROSSING, {"templates": []}, "no templates"),
    "file": (CROSSING, {"templates": "huan"}, r"templates 'huan': neither a preset \(default, fast, huang\) nor"),
    "atom": (CROSSING, {"templates": ["s0.w", "s0.w|s9.t"]}, "templates:2: unknown atom 's9.t'; expected a node"),
    "gold": (CROSSING, {"templates": ["s0.head"]}, "templates:1: unknown atom 's0.head'; expected one of: s0.w"),
}


@pytest.mark.parametrize(("data", "options", "says"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_and_options(data, options, says):
    with pytest.raises(StructronError, match=says):
        Parser(**options).fit(data)


def test_dev_data_need_relations(make):
    with pytest.raises(StructronError, match="dev data: no relations"):
        make().fit(CROSSING, dev=[[("a", "DT", "0", "_")]])
    with pytest.raises(StructronError, match="dev data: no sentences"):
        make().fit(CROSSING, dev=[[]])


words = st.one_of(st.sampled_from([row[0] for s in TOY for row in s]), st.text(min_size=1))
tags = st.one_of(st.sampled_from([row[1] for s in TOY for row in s]), st.text(min_size=1, max_size=2))


@given(st.lists(st.lists(st.tuples(words, tags), max_size=12), max_size=4), st.sampled_from([1, 2, 8]), st.booleans())
def test_the_output_is_always_one_tree(parser, sentences, beam, merge):
    if isinstance(parser, Parser):
        parser = copy.copy(parser).set_params(beam=beam, merge=merge)
    trees = parser.predict(sentences)
    assert [len(tree) for tree in trees] == [len(sentence) for sentence in sentences]
    for tree in filter(None, trees):
        assert check_tree([head for head, _ in tree]) is None
        assert not any(relation is None or MARK in relation for _, relation in tree)
        assert isinstance(parser, GraphParser) or all(head or relation == "root" for head, relation in tree)


def test_a_very_long_sentence(parser):
    rows = [row[:2] for s in TOY for row in s]
    words = 5000 if isinstance(parser, Parser) else 500
    (tree,) = parser.predict([(rows * 5)[:words]])
    assert len(tree) == words
    assert check_tree([head for head, _ in tree]) is None


def test_what_weighs_most_for_a_relation(parser):
    found = parser.inspect("det", top=5).labels
    directions = [f"{side}:det" for side in ("left", "right") if f"{side}:det" in parser.inspect().labels]
    assert list(found) == (directions or ["det"])
    assert all("=" in weight.feature for weights in found.values() for weight in weights)


def test_words_of_any_kind(make, tmp_path):
    odd = [[("a\nb", "T\t", "0", "root"), ("\ud800", "\x00", "1", "é\n"), ("", "", "1", "x")]]
    before = make(passes=3).fit(odd)
    before.save(tmp_path / "m")
    assert structron.load(tmp_path / "m").predict(odd) == before.predict(odd) == [arcs(odd[0])]


def test_a_small_file(tmp_path):
    """Nearly the same trees in far fewer bytes; features keep their names, and the training its history."""
    rows = [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in toy_english(300)]
    learned, test = rows[:240], rows[240:]
    full = structron.Parser(passes=4, columns=["word", "pos", "head", "deprel"]).fit(learned)
    full.save(tmp_path / "large")
    full.set_params(compact=True).save(tmp_path / "small")
    large, small = structron.load(tmp_path / "large"), structron.load(tmp_path / "small")
    assert (tmp_path / "small").stat().st_size < (tmp_path / "large").stat().st_size / 4
    assert small.compact
    assert small.history_ == large.history_
    assert small.evaluate(test).las > large.evaluate(test).las - 2
    assert all("=" in weight.feature for weights in small.inspect(top=3).labels.values() for weight in weights)
    sizes = {abs(float(weight)) for weight in small.contents()[1]["weight"]}
    assert len(sizes) <= LEVELS
    assert min(sizes) > 0.9 * LEAST_WEIGHT
