"""The parser as a task: data of every kind, trees whatever comes in, files, the command line and explanations."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structron
from crafted import places, repack
from structron.cli import demo, main
from structron.data.toy_english import toy_english, write_conllu
from structron.errors import StructronError
from structron.features.alphabets import ParserInput
from structron.progress import Progress
from structron.tasks.shift_reduce.parser import Parser
from structron.trees import MARK, check_tree
from structron.update.violation import RULES, Rule

TOY = [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in toy_english(160)]
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


def weights_of(parser: Parser) -> dict[int, dict[int, float]]:
    """Weights by key and action, zeros left out."""
    found: dict[int, dict[int, float]] = {}
    rows = parser.model_.rows
    for place, column, weight in zip(rows.place.tolist(), rows.column.tolist(), rows.weight.tolist(), strict=True):
        if weight:
            found.setdefault(int(parser.model_.keys[place]), {})[column] = weight
    return found


@pytest.fixture(scope="module")
def parser() -> Parser:
    return Parser(passes=4).fit(TRAIN + CROSSING * 4, DEV)


@pytest.fixture(scope="module")
def model_path(parser, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("models") / "parser.structron"
    parser.save(path)
    return path


# -- learning ------------------------------------------------------------------------------------------------------


def test_it_learns(parser):
    assert parser.score(TRAIN) > 95
    assert parser.score(DEV) > 70
    assert parser.metric == "las"
    assert parser.outputs_ == ["head", "deprel"]
    assert parser.needed_ == ["word", "pos"]
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
    assert (found.metric, found.outputs_, len(found.problem_.actions)) == ("uas", ["head"], 3)
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
    assert structron.load(tmp_path / "m").update_name == (update if isinstance(update, str) else "latest")


def test_failed_training_changes_nothing(parser):
    before = dict(vars(parser))
    with pytest.raises(StructronError):
        parser.fit([[("a", "b", "7", "c")]])
    assert vars(parser) == before


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
        Parser().fit(CROSSING, [bad])
    with pytest.raises(StructronError, match=f"^data: sentence 1: {says}"):
        parser.evaluate([bad])


BAD_DATA = {
    "nothing": ([], {}, "no sentences; expected at least one with words"),
    "no words": ([[], []], {}, "no sentences"),
    "text": ([["dog"]], {}, "a token is 'dog'; expected rows with word, tag and head"),
    "names": ([[("a", "b", "0")]], {"columns": ["word", "pos"]}, "3 columns; expected names for them"),
    "wide": ([[("a", "b", "0", "c", "d")]], {}, "5 columns; expected names for them"),
    "no tag": ([[("a", "b", "0")]], {"pos": "upos"}, r"no part-of-speech column \(upos\) among word, pos, head"),
    "no head": ([[("a", "b", "0")]], {"columns": ["word", "pos", "top"]}, r"no head column \(head\) among"),
    "twice": ([[("a", "b", "0")]], {"columns": ["pos", "pos", "head"]}, "a name stands twice"),
    "tag is word": ([[("a", "b", "0")]], {"pos": "word"}, "expected a column of its own for each"),
    "short": ([[*CROSSING[0]], [("a", "b")]], {}, "sentence 2: word 1 is .*; expected 4 columns: word, pos, head"),
    "beam": (CROSSING, {"beam": 0}, "beam: 0; expected at least 1"),
    "half a beam": (CROSSING, {"beam": 1.5}, "beam: 1.5; expected a whole number"),
    "update": (CROSSING, {"update": "late"}, "unknown update 'late'; expected one of: standard, early"),
    "average": (CROSSING, {"average": "voted"}, "unknown average 'voted'"),
    "nonprojective": (CROSSING, {"nonprojective": "drop"}, "unknown nonprojective 'drop'; expected one of: lift, skip"),
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
        Parser().fit(CROSSING, [[("a", "DT", "0", "_")]])
    with pytest.raises(StructronError, match="dev data: no sentences"):
        Parser().fit(CROSSING, [[]])
    with pytest.raises(StructronError, match="not trained yet"):
        Parser().predict([BARKS])


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
        def decode(self, inputs, beam, merge, jobs=1):
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

    inputs = parser._inputs([[("dog", "NN")] * n])
    for _ in range(200):
        (tree,) = parser._parse(Guess(), inputs, 1)
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


def test_threads_change_nothing(parser, monkeypatch):
    monkeypatch.setattr("structron.threads.BATCH_TOKENS", 100)
    assert parser.predict(DEV, jobs=3) == parser.predict(DEV)


# -- files ---------------------------------------------------------------------------------------------------------

OPTIONS = {
    "default": {},
    "huang, plain beam": {"templates": "huang", "merge": False, "beam": 3, "update": "early"},
    "unlabelled": {"labelled": False, "average": "none"},
    "own templates": {"templates": ["s0.w|s0.t", "s0.suffix2", "s0.t|s1.t|q0.t", "s1.t|s1.sr"], "cutoff": 2},
    "any relation": {"limit_relations": False, "nonprojective": "skip", "beam": np.int64(4)},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_model_comes_back_as_it_was(options, tmp_path):
    before = Parser(passes=2, **options).fit(TRAIN[:30] + CROSSING)
    path = tmp_path / "model.structron"
    before.save(path)
    after = structron.load(path)
    assert type(after) is structron.Parser
    assert after.predict(DEV) == before.predict(DEV)
    assert weights_of(after) == weights_of(before)
    for name in ("roles_", "relations_", "root_", "lifted_", "templates_", "history_", "best_pass_", "stopped_"):
        assert getattr(after, name) == getattr(before, name), name
    for name in ("signature_", "needed_", "beam", "merge", "update", "labelled", "cutoff", "average", "nonprojective"):
        assert getattr(after, name) == getattr(before, name), name
    assert (after.seen_ is None) == (before.seen_ is None)
    assert after.inspect_weights(top=3) == before.inspect_weights(top=3)
    after.history_ = before.history_ = []
    after.save(tmp_path / "again")
    before.save(path)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    again = after.fit(TRAIN[:30] + CROSSING)
    assert weights_of(again) == weights_of(before)


def test_another_beam_after_loading(parser, model_path):
    found = structron.load(model_path)
    found.beam = 1
    assert found.score(DEV) != parser.score(DEV)
    found.beam = 8
    assert found.predict(DEV) == parser.predict(DEV)


def test_words_of_any_kind(tmp_path):
    odd = [[("a\nb", "T\t", "0", "root"), ("\ud800", "\x00", "1", "é\n"), ("", "", "1", "x")]]
    before = Parser(passes=3).fit(odd)
    before.save(tmp_path / "m")
    assert structron.load(tmp_path / "m").predict(odd) == before.predict(odd) == [arcs(odd[0])]


HEADER_ODDITIES = [
    *[{name: None} for name in ("options", "word", "head", "relations", "lifted", "templates", "inputs", "history")],
    *[{name: None} for name in ("relation", "root", "best_pass", "stopped", "signature", "source")],
    {"relations": []},
    {"relations": ["det"]},
    {"relations": [1, 2]},
    {"relation": "lemma"},
    {"relation": 3},
    {"root": 3},
    {"templates": []},
    {"templates": ["s0.w"]},
    {"templates": ["s9.w"]},
    {"templates": 7},
    {"inputs": ["nothing"]},
    {"inputs": ["head"]},
    {"inputs": [["w"]]},
    {"word": "head"},
    {"word": "lemma"},
    {"options": {}},
    {"options": [1]},
    {"options": {"columns": ["word", "pos", "head", "deprel"], "pos": "pos", "colour": "blue"}},
    {"options": {"columns": ["word", "pos", "head", "deprel"], "pos": "tag"}},
    {"options": {"columns": ["word", "pos", "head", "deprel"], "pos": "pos", "beam": "x"}},
    {"options": {"columns": 7, "pos": "pos"}},
]


@pytest.mark.parametrize("change", HEADER_ODDITIES, ids=str)
def test_headers_that_do_not_fit(change, model_path, tmp_path):
    repack(model_path, tmp_path / "odd", change)
    with pytest.raises(StructronError, match="odd: damaged model file"):
        structron.load(tmp_path / "odd")


def test_tensors_that_do_not_fit(model_path, parser, tmp_path):
    """Whatever the arrays are: a clear error, or a parser that gives trees."""
    _, tensors = structron.io.modelfile.load(model_path)
    refused = []
    for name, array in tensors.items():
        changes = [None, array[:0], array[:-1], np.concatenate([array, array[:1]]), array.reshape(-1, 1), array[::-1]]
        changes += [array.astype(kind) for kind in (np.int64, np.float64, np.int8)]
        for change in changes:
            repack(model_path, tmp_path / "odd", None, {name: change})
            try:
                trees = structron.load(tmp_path / "odd").predict(DEV[:2])
            except StructronError as error:
                refused.append(f"{name} {error}")
            else:
                assert all(check_tree([head for head, _ in tree]) is None for tree in trees)
    assert len(refused) > 6 * len(tensors)
    assert all("odd: damaged model file" in text for text in refused)


def test_cut_off_and_changed_files(model_path, parser, tmp_path):
    data, path = model_path.read_bytes(), tmp_path / "odd"
    for place in places(data):
        path.write_bytes(data[:place])
        with pytest.raises(StructronError, match=r"odd: (not a structron model, or cut off|damaged model file)"):
            structron.load(path)
    rng = random.Random(2012)
    expected = parser.predict(DEV[:3])
    refused = []
    for _ in range(25):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            found = structron.load(path).predict(DEV[:3])
        except StructronError as error:
            refused.append(str(error))
        else:
            assert found == expected
    assert len(refused) > 20
    assert all(str(path) in text for text in refused)


# -- looking in ----------------------------------------------------------------------------------------------------


def test_explanations_add_up(parser):
    """All reasons together are the margin, all scores together the score of the search, all actions the tree."""
    for sentence in DEV[:5]:
        inputs = parser._inputs([sentence])
        (actions,), (score,) = parser.model_.decode(inputs, parser.beam, parser.merge)
        steps = parser.explain(sentence, top=10_000)
        assert [step.action for step in steps] == [parser.problem_.actions[a] for a in actions]
        assert sum(step.score for step in steps) == pytest.approx(score, rel=1e-5)
        assert (steps[0].stack, steps[0].next, steps[-1].next) == ([], sentence[0][0], None)
        for step in steps:
            assert sum(reason.weight for reason in step.because) == pytest.approx(step.margin or 0, abs=1e-6)
            sizes = [abs(reason.weight) for reason in step.because]
            assert sizes == sorted(sizes, reverse=True)
    assert parser.explain([]) == []
    assert len(parser.explain(BARKS, top=2)[-1].because) == 2


def test_heaviest_features(parser):
    found = parser.inspect_weights("det", 5)
    assert list(found) == ["left:det"] + ["right:det"] * ("right:det" in parser.problem_.actions)
    assert len(found["left:det"]) == 5
    assert all("=" in text for text, _ in found["left:det"])
    with pytest.raises(StructronError, match="unknown action 'poet'; expected one of: shift, left:"):
        parser.inspect_weights("poet")


# -- the command line ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    corpus = toy_english(120)
    write_conllu(folder / "train.conllu", corpus[:90])
    write_conllu(folder / "dev.conllu", corpus[90:])
    return folder


def run(*args) -> int:
    return main([str(arg) for arg in args])


def test_command_line(files, tmp_path, capsys):
    model, dev = tmp_path / "m", files / "dev.conllu"
    train = ["train", "parser", "--train", files / "train.conllu", "--pos", "xpos", "--passes", "3"]
    assert run(*train, "--dev", dev, "--model", model, "--check-violations") == 0
    assert "dev las " in capsys.readouterr().err
    assert run("predict", model, dev, "-o", tmp_path / "out.conllu") == 0
    old, new = ((path.read_text().split("\n")) for path in (dev, tmp_path / "out.conllu"))
    trees = iter([arc for tree in structron.load(model).predict(rows_of(dev)) for arc in tree])
    for before, after in zip(old, new, strict=True):
        fields = before.split("\t")
        if len(fields) == 10:
            fields[6:8] = map(str, next(trees))
        assert after == "\t".join(fields)
    assert run("evaluate", model, dev, "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert (scores["task"], scores["metric"], scores["sentences"]) == ("parser", "las", 30)
    assert 50 < scores["score"] == scores["las"] <= scores["las_universal"] <= scores["uas"]
    assert "beam-8-dp" in scores["signature"]
    assert run("evaluate", model, tmp_path / "out.conllu", "--json") == 0
    assert json.loads(capsys.readouterr().out)["las"] == 100
    assert run("inspect", model, "--label", "nsubj", "--top", "2") == 0
    assert "\nleft:nsubj\n" in capsys.readouterr().out
    assert run("inspect", model, "--sentence", "The/DT dog/NN 1/2/CD", "--top", "1") == 0
    assert "\nshift  [The | dog]" in capsys.readouterr().out
    assert run("inspect", model, "--sentence", "The/DT dog/NN", "--json") == 0
    assert [step["action"] for step in json.loads(capsys.readouterr().out)["actions"]][:2] == ["shift", "shift"]
    assert run("inspect", model, "--sentence", "dog") == 2
    assert "token 'dog'; the model reads form/" in capsys.readouterr().err
    assert run(*train, "--warm-start", model, "--model", tmp_path / "w") == 2
    assert "--warm-start: not available for the parser; works with tagger, chunker" in capsys.readouterr().err


def rows_of(path: Path) -> list[list[list[str]]]:
    blocks = path.read_text().strip().split("\n\n")
    return [[line.split("\t") for line in block.split("\n") if line[0] != "#"] for block in blocks]


class Stop(Progress):
    """Ctrl-C in the middle of a pass."""

    def __init__(self, number: int):
        super().__init__()
        self.number = number

    def begin_pass(self, number: int, *given) -> None:
        if number == self.number:
            raise KeyboardInterrupt
        super().begin_pass(number, *given)


@pytest.mark.parametrize("dev", [None, DEV[:20]], ids=["no dev", "dev"])
def test_interrupted_and_resumed(dev, tmp_path):
    """What is kept is the model so far, and going on ends where an unbroken run ends, bit for bit."""
    whole = Parser(passes=4).fit(TRAIN[:40], dev)
    stopped = Parser(passes=4).fit(TRAIN[:40], dev, checkpoint=tmp_path, progress=Stop(3))
    assert stopped.stopped_ == "interrupted"
    assert len(stopped.history_) == 2
    if dev is None:
        assert weights_of(stopped) == weights_of(Parser(passes=2).fit(TRAIN[:40]))
    resumed = Parser(passes=4).fit(TRAIN[:40], dev, checkpoint=tmp_path, resume=True)
    assert resumed.best_pass_ == whole.best_pass_
    assert weights_of(resumed) == weights_of(whole)
    with pytest.raises(StructronError, match="the checkpoint belongs to other data or options"):
        Parser(passes=4, beam=2).fit(TRAIN[:40], dev, checkpoint=tmp_path, resume=True)


def test_picture_of_a_tree():
    words = ["The", "dog", "saw", "a", "cat", "."]
    gold = [(2, "det"), (3, "nsubj"), (0, "root"), (5, "det"), (3, "obj"), (3, "punct")]
    guess = [*gold[:3], (5, "amod"), (2, "obj"), (3, "punct")]
    right = ["  ┌─The det", "┌─dog nsubj", "saw root", "│ ┌─a det", "├─cat obj", "└─. punct"]
    wrong = ["│ │ ┌─a amod (not det)", "│ └─cat obj (not obj of saw)"]
    assert demo.show_tree(words, gold, gold).plain.split("\n      ") == ["", *right]
    assert demo.show_tree(words, gold, guess).plain.split("\n      ") == ["", *right[:2], *wrong, right[2], right[5]]


@pytest.mark.corpora
def test_real_columns_of_heads(corpora, tmp_path, capsys):
    folder = corpora / "wsj-sample-dep"
    args = ["--passes", "1", "--templates", "huang", "--model", tmp_path / "m", "-q"]
    assert run("train", "parser", "--train", folder / "dev.conll.gz", *args) == 0
    assert run("evaluate", tmp_path / "m", folder / "test.conll.gz", "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert (scores["metric"], scores["las"]) == ("uas", None)
    assert scores["score"] > 60
