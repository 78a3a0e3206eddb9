"""The parser as a task: data of every kind, trees whatever comes in, and explanations."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structron
from structron.errors import StructronError
from structron.features.alphabets import ParserInput
from structron.io import read
from structron.tasks.shift_reduce.parser import Parser
from structron.trees import MARK, check_tree
from structron.update.violation import RULES, Rule
from toy import tree_rows
from transitions import tree_of

TOY = tree_rows(160, 1)
TRAIN, DEV = TOY[:120], TOY[120:]
CROSSING = [
    [("A", "DT", "2", "det"), ("hearing", "NN", "0", "root"), ("is", "VB", "2", "cop"), ("on", "IN", "5", "case"),
     ("it", "PR", "2", "nmod")],
    [("A", "DT", "2", "det"), ("hearing", "NN", "4", "nsubj"), ("is", "VB", "4", "aux"), ("held", "VB", "0", "root"),
     ("on", "IN", "6", "case"), ("it", "PR", "2", "nmod"), ("today", "RB", "4", "advmod")],
]  # fmt: skip
BARKS = [("The", "DT"), ("dog", "NN"), ("barks", "VBZ"), (".", ".")]


def arcs(sentence) -> list[tuple[int, str]]:
    return [(int(head), relation) for *_, head, relation in sentence]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return Parser(passes=4).fit(TRAIN + CROSSING * 4, dev=DEV)


# -- learning ------------------------------------------------------------------------------------------------------


def test_it_learns(parser):
    assert parser.score(TRAIN) > 95
    assert parser.score(DEV) > 70
    assert parser.metric == "las"
    assert parser.roles_.outputs == ["head", "deprel"]
    assert parser.needed_ == {"word", "pos"}
    assert parser.history_[parser.best_pass_ - 1]["dev"] == round(parser.score(DEV), 4)
    assert parser.notes_ == ["4 of 128 sentences are non-projective: learned from with 4 words lifted"]


def test_crossing_arcs_come_back():
    parser = Parser(passes=20).fit(CROSSING * 2)
    assert any(MARK in relation for relation in parser.relations_)
    assert parser.predict([[row[:2] for row in s] for s in CROSSING]) == [arcs(s) for s in CROSSING]
    assert parser.score(CROSSING) == 100


def test_crossing_sentences_can_be_skipped():
    parser = Parser(passes=2, nonprojective="skip").fit(CROSSING)
    assert parser.notes_ == ["1 of 2 sentences are non-projective: skipped"]
    assert not any(MARK in relation for relation in parser.relations_)
    with pytest.raises(StructronError, match="all sentences are non-projective; expected --nonprojective lift"):
        Parser(nonprojective="skip").fit(CROSSING[1:])


def test_relations_with_the_mark_of_lifted_words():
    odd = [("up", "U", "0", "root"), ("down", "D", "1", f"a{MARK}b")]
    for data, option in (([odd], "lift"), ([odd, *CROSSING], "skip")):
        found = Parser(passes=5, nonprojective=option).fit(data)
        assert found.predict([odd]) == [arcs(odd)]
    with pytest.raises(StructronError, match=f"sentence 3: word 2: relation 'a{MARK}b' has {MARK} in it"):
        Parser().fit([*CROSSING, odd])
    assert Parser(passes=1, labelled=False).fit([*CROSSING, odd]).relations_ == ["_"]


@pytest.mark.parametrize("columns", [None, ["word", "pos", "head", "deprel"]], ids=["heads", "unlabelled"])
def test_without_relations(columns):
    data = TRAIN[:40] if columns else [[row[:3] for row in s] for s in TRAIN[:40]]
    found = Parser(passes=4, columns=columns, labelled=not columns).fit(data)
    assert (found.metric, found.roles_.outputs, len(found.problem_.actions)) == ("uas", ["head"], 3)
    assert {relation for tree in found.predict(data) for _, relation in tree} == {None}
    assert found.score(data) > 95
    assert len(found.predict_columns(data[:1])[0]) == 1
    empty = [[(*row[:3], "_") for row in s] for s in data[:5]]
    assert Parser(passes=1).fit(empty).metric == "uas"


@pytest.mark.parametrize("update", [*RULES, Rule(RULES["latest"].choose)], ids=[*RULES, "own"])
def test_every_rule_learns(update, tmp_path):
    found = Parser(passes=10, beam=4, update=update).fit(TRAIN[:15])
    assert found.score(TRAIN[:15]) > 70
    found.save(tmp_path / "m")
    assert structron.load(tmp_path / "m").update == (update if isinstance(update, str) else "latest")


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
    "no number": ("x 0", "word 1: head 'x' is no number"),
    "part": ("2.5 0", "word 1: head '2.5' is no number"),
    "range": ("3 0", r"word 1 \(a\): head 3 out of range"),
    "self": ("1 0", r"word 1 \(a\): is its own head"),
    "roots": ("0 0", r"word 2 \(b\): second root"),
    "cycle": ("2 1", r"word 1 \(a\): no root"),
}


@pytest.mark.parametrize(("heads", "says"), BAD_TREES.values(), ids=BAD_TREES)
def test_bad_trees(parser, heads, says):
    bad = [(word, "T", head, "r") for word, head in zip("ab", heads.split(), strict=True)]
    with pytest.raises(StructronError, match=f"^training data: sentence 2: {says}"):
        Parser().fit([CROSSING[0], bad])
    with pytest.raises(StructronError, match=f"^dev data: sentence 1: {says}"):
        Parser().fit(CROSSING, dev=[bad])
    with pytest.raises(StructronError, match=f"^data: sentence 1: {says}"):
        parser.evaluate([bad])


BAD_DATA = {
    "no words": ([[], []], {}, "no sentences"),
    "text": ([["dog"]], {}, "a token is 'dog'; expected rows with word, tag and head"),
    "names": ([[("a", "b", "0")]], {"columns": ["word", "pos"]}, "3 columns; expected names for them"),
    "wide": ([[("a", "b", "0", "c", "d")]], {}, "5 columns; expected names for them"),
    "no tag": ([[("a", "b", "0")]], {"pos": "upos"}, r"no part-of-speech column \(upos\) among word, pos, head"),
    "no head": ([[("a", "b", "0")]], {"columns": ["word", "pos", "top"]}, r"no head column \(head\) among"),
    "twice": ([[("a", "b", "0")]], {"columns": ["pos", "pos", "head"]}, "a name stands twice"),
    "tag is word": ([[("a", "b", "0")]], {"pos": "word"}, "expected a column of its own for each"),
    "short": ([[*CROSSING[0]], [("a", "b")]], {}, "sentence 2: word 1 is .*; expected 4 columns: word, pos, head"),
    "update": (CROSSING, {"update": "late"}, "unknown update 'late'; expected one of: standard, early"),
    "no templates": (CROSSING, {"templates": []}, "no templates; expected one a line"),
    "file": (CROSSING, {"templates": "huan"}, r"templates 'huan': neither a preset \(default, huang\) nor"),
    "atom": (CROSSING, {"templates": ["s0.w", "s0.w|s9.t"]}, "templates:2: unknown atom 's9.t'; expected a node"),
    "column": (CROSSING, {"templates": ["s0.lemma"]}, "templates:1: unknown atom 's0.lemma'; expected one of: s0.w"),
    "gold": (CROSSING, {"templates": ["s0.head"]}, "templates:1: unknown atom 's0.head'"),
}


@pytest.mark.parametrize(("data", "options", "says"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_and_options(data, options, says):
    with pytest.raises(StructronError, match=says):
        Parser(**options).fit(data)


def test_dev_data_need_relations():
    with pytest.raises(StructronError, match="dev data: no relations"):
        Parser().fit(CROSSING, dev=[[("a", "DT", "0", "_")]])
    with pytest.raises(StructronError, match="dev data: no sentences"):
        Parser().fit(CROSSING, dev=[[]])


def test_sentences_without_words_and_with_one(parser):
    assert parser.predict([]) == []
    assert parser.predict([[], BARKS[:1], []]) == [[], [(0, "root")], []]
    scores = parser.evaluate([[], [("Go", "VB", "0", "root")], []])
    assert (scores.tokens, scores.las) == (1, 100)
    found = Parser(passes=2).fit([[("Go", "VB", "0", "root")], []])
    assert found.predict([BARKS[:1]]) == [[(0, "root")]]
    assert check_tree([head for head, _ in found.predict([BARKS])[0]]) is None


words = st.one_of(st.sampled_from([row[0] for s in TOY for row in s]), st.text(min_size=1))
tags = st.one_of(st.sampled_from([row[1] for s in TOY for row in s]), st.text(min_size=1, max_size=2))


@given(st.lists(st.lists(st.tuples(words, tags), max_size=12), max_size=4), st.sampled_from([1, 2, 8]), st.booleans())
def test_the_output_is_always_one_tree(parser, sentences, beam, merge):
    parser.beam, parser.merge = beam, merge
    try:
        trees = parser.predict(sentences)
    finally:
        parser.beam, parser.merge = 8, True
    assert [len(tree) for tree in trees] == [len(sentence) for sentence in sentences]
    for tree in filter(None, trees):
        assert check_tree([head for head, _ in tree]) is None
        assert not any(relation is None or MARK in relation for _, relation in tree)
        assert all((head == 0) <= (relation == "root") for head, relation in tree)


def test_unlifting_keeps_trees(parser):
    """Trees at random with marks at random, through the same way out as real ones."""
    rng = random.Random(2005)
    n, relations = 30, len(parser.relations_)
    marked = [k for k, name in enumerate(parser.relations_) if MARK in name]
    moved = 0

    class Guess:
        def decode(self, inputs, beam, merge, jobs):
            actions, stack, shifted = [], 0, 0
            while shifted < n or stack > 1:
                if shifted < n and (stack < 2 or rng.random() < 0.5):
                    actions.append(0)
                    stack, shifted = stack + 1, shifted + 1
                else:
                    relation = rng.choice(marked) if rng.random() < 0.3 else rng.randrange(relations)
                    actions.append(1 + rng.randrange(2) * relations + relation)
                    stack -= 1
            return [actions], [0.0]

    _, *encoded = parser._ready([[("dog", "NN")] * n])
    for _ in range(200):
        (tree,) = parser._parse(Guess(), *encoded, 1)
        heads = [head for head, _ in tree]
        assert check_tree(heads) is None
        assert not any(MARK in relation for _, relation in tree)
        moved += any(head > max(i, 1) + 1 for i, head in enumerate(heads))
    assert moved > 100


def test_a_very_long_sentence(parser):
    rows = [row[:2] for s in TOY for row in s]
    (tree,) = parser.predict([(rows * 5)[:5000]])
    assert len(tree) == 5000
    assert check_tree([head for head, _ in tree]) is None


# -- files ---------------------------------------------------------------------------------------------------------


def test_words_of_any_kind(tmp_path):
    odd = [[("a\nb", "T\t", "0", "root"), ("\ud800", "\x00", "1", "é\n"), ("", "", "1", "x")]]
    before = Parser(passes=3).fit(odd)
    before.save(tmp_path / "m")
    assert structron.load(tmp_path / "m").predict(odd) == before.predict(odd) == [arcs(odd[0])]


# -- looking in ----------------------------------------------------------------------------------------------------


def test_explanations_add_up(parser):
    """All reasons together are the margin, all scores together the score of the search, all actions the tree."""
    for sentence in DEV[:5]:
        ((_, score),) = parser.nbest([sentence], 1)[0]
        steps = parser.explain(sentence, top=10_000)
        actions = [parser.problem_.index[step.action] for step in steps]
        heads, _ = tree_of(actions, len(sentence), len(parser.relations_))
        assert parser.lifted_ or heads == [head for head, _ in parser.predict([sentence])[0]]
        assert sum(step.score for step in steps) == pytest.approx(score, rel=1e-5)
        assert steps[0].state == f"| {sentence[0][0]}"
        for step in steps:
            assert sum(reason.weight for reason in step.because) == pytest.approx(step.margin or 0, abs=1e-6)
            sizes = [abs(reason.weight) for reason in step.because]
            assert sizes == sorted(sizes, reverse=True)


def test_heaviest_features(parser):
    found = parser.inspect("det", top=5).labels
    assert list(found) == ["left:det"] + ["right:det"] * ("right:det" in parser.problem_.actions)
    assert all("=" in weight.feature for weight in found["left:det"])


@pytest.mark.corpora
def test_real_columns_of_heads(corpora):
    train, test = (
        [sentence.rows for sentence in read(corpora / "wsj-sample-dep" / f"{split}.conll.gz")]
        for split in ("dev", "test")
    )
    found = Parser(passes=1, templates="huang").fit(train)
    assert found.metric == "uas"
    assert found.score(test) > 60
