"""Tasks with several output columns: a parser that only counts shows what becomes of columns, trees and options."""

import json
from pathlib import Path

import pytest
from cli_helpers import AWKWARD_CONLLU, ChainOfWords, Ran, candidates_of, column, write

import structron

pytestmark = pytest.mark.usefixtures("counting")


def conllu(*sentences: list[tuple[str, str, str, str]]) -> str:
    """Sentences as CoNLL-U: word, tag, head and relation of each word; upos is empty."""
    blocks = (
        "".join(f"{i}\t{w}\t_\t_\t{t}\t_\t{h}\t{r}\t_\t_\n" for i, (w, t, h, r) in enumerate(words, 1))
        for words in sentences
    )
    return "".join(f"# a sentence\n{block}\n" for block in blocks)


BARKS = [("The", "DT", "2", "det"), ("dog", "NN", "3", "nsubj"), ("barks", "VBZ", "0", "root")]
DOGS = [("Dogs", "NNS", "0", "root"), ("here", "RB", "1", "beam8:x")]
TREES = "".join(" ".join(word) + "\n" for word in BARKS) + "\n" + "".join(" ".join(word) + "\n" for word in DOGS)


@pytest.fixture
def trees(tmp_path) -> Path:
    return write(tmp_path / "trees.conll", TREES)


def test_parser_options_reach_the_estimator(run, trees, tmp_path):
    args = ["train", "parser", "--train", trees, "--dev", trees, "--model", tmp_path / "m", "-q"]
    assert run(*args) == Ran(0, "", "")
    found, fresh = structron.load(tmp_path / "m"), ChainOfWords()
    assert found.get_params() == {**fresh.get_params(), "columns": ["word", "pos", "head", "deprel"]}
    assert (found.roles_.pos, found.roles_.outputs) == ("pos", ["head", "deprel"])
    assert found.sentences == found.dev == [list(map(list, BARKS)), list(map(list, DOGS))]
    assert found.source_ == {"format": "conll"}
    more = ["--beam", "inf", "--update", "early", "--nonprojective", "skip", "--unlabelled", "--passes", "2"]
    assert run(*args, *more, "--check-violations").status == 0
    found = structron.load(tmp_path / "m")
    assert (found.beam, found.update, found.nonprojective, found.labelled, found.passes) == (
        *(None, "early", "skip", False, 2),
    )


def test_parser_columns(run, refuses, tmp_path):
    file, model = tmp_path / "t.conllu", tmp_path / "m"
    args = ["train", "parser", "--train", file, "--model", model]
    write(file, conllu(BARKS, DOGS))
    empty = "column 'upos' is empty (_ everywhere); expected parts of speech"
    refuses(*args, says=[file, empty, "--pos"])
    refuses(*args, "--pos", "tag", says=[file, "no part-of-speech column (tag) among id, form", "--pos"])
    refuses(*args, "--pos", "head", says=[file, "part of speech head", "expected a column of its own for each"])
    assert run(*args, "--pos", "xpos").status == 0
    found = structron.load(model)
    assert (found.roles_.pos, found.roles_.outputs, found.columns[4]) == ("xpos", ["head", "deprel"], "xpos")
    assert found.sentences[1][1][4:8] == ["RB", "_", "1", "beam8:x"]
    write(file, conllu([(w, t, h, "_") for w, t, h, _ in BARKS]))
    refuses(*args, "--pos", "xpos", says=[file, "column 'deprel' is empty", "--unlabelled"])
    assert run(*args, "--pos", "xpos", "--unlabelled").status == 0

    plain = write(tmp_path / "t.conll", "The DT 2\ndog NN 0\n")
    args[3] = plain
    assert run(*args).status == 0
    assert (structron.load(model).columns, structron.load(model).metric) == (["word", "pos", "head"], "uas")
    assert run(*args, "--columns", "form,tag,head", "--pos", "tag").status == 0
    refuses(*args, "--columns", "form,tag,head", says=[plain, "no part-of-speech column", "form, tag, head", "--pos"])
    refuses(*args, "--columns", "word,pos,top", says=[plain, "no head column", "word, pos, top", "--columns"])
    refuses(*args, "--columns", "word,pos,pos", says="a name stands twice")
    write(plain, "1 The the DT 0\n")
    refuses(*args, says=[f"{plain}:1: 5 columns; expected word, pos, head", "--columns", "--format conllu"])


@pytest.mark.parametrize(
    ("heads", "says"),
    [
        ("x 3 0", ":6: head 'x' is not a number; expected 0 … 3"),
        ("2 3 ٠", ":8: head '٠' is not a number; expected 0 … 3"),
        ("2 4 0", ":7: word 'dog': head 4 out of range"),
        ("2 0 0", ":8: word 'barks': second root"),
    ],
)
def test_heads_that_are_no_tree(run, refuses, tmp_path, trees, heads, says):
    rows = [(w, t, h, r) for (w, t, _, r), h in zip(BARKS, heads.split(), strict=True)]
    bad = write(tmp_path / "bad.conllu", conllu(DOGS, rows, DOGS))
    model = tmp_path / "m"
    args = ["--model", model, "--pos", "xpos"]
    refuses("train", "parser", "--train", bad, *args, says=f"{bad}{says}")
    good = write(tmp_path / "good.conllu", conllu(BARKS))
    refuses("train", "parser", "--train", good, "--dev", bad, *args, says=f"{bad}{says}")
    found = run("train", "parser", "--train", bad, "--dev", good, *args, "--skip-invalid")
    assert found.status == 0
    assert f"{bad}: skipped 1 of 3 sentences with invalid trees\n" in found.err
    assert "good" not in found.err
    assert [len(rows) for rows in structron.load(model).sentences] == [2, 2]
    assert run("train", "parser", "--train", bad, *args, "--skip-invalid", "-q") == Ran(0, "", "")
    refuses("evaluate", model, bad, says=f"{bad}{says}")
    found = run("evaluate", model, bad, "--json", "--skip-invalid")
    assert json.loads(found.out)["sentences"] == 2
    assert found.err == f"{bad}: skipped 1 of 3 sentences with invalid trees\n"
    assert run("predict", model, bad).status == 0
    bad = write(tmp_path / "bad.conllu", conllu(rows))
    refuses("evaluate", model, bad, "--skip-invalid", says=f"{bad}: no sentence has a valid tree")


def test_multiword_lines_and_empty_nodes_are_no_words_of_a_tree(run, refuses, tmp_path):
    file, model = write(tmp_path / "a.conllu", AWKWARD_CONLLU), tmp_path / "m"
    assert run("train", "parser", "--train", file, "--model", model, "--pos", "xpos").status == 0
    assert [row[6] for row in structron.load(model).sentences[0]] == ["3", "3", "0"]
    write(file, AWKWARD_CONLLU.replace(b"RB\t_\t3", b"RB\t_\t2"))
    args = ["train", "parser", "--train", file, "--model", model, "--pos", "xpos"]
    refuses(*args, says=f'{file}:5: word "n\'t": is its own head')


def test_parser_writes_both_columns(run, refuses, tmp_path, trees):
    file, model = write(tmp_path / "a.conllu", AWKWARD_CONLLU), tmp_path / "m"
    run("train", "parser", "--train", file, "--model", model, "--pos", "xpos")
    before, after = AWKWARD_CONLLU.decode().split("\n"), run("predict", model, file).out.split("\n")
    arcs = iter(("0\tbeam8", "1\tbeam8", "2\tbeam8"))
    for old, new in zip(before, after, strict=True):
        fields = old.split("\t")
        if "?" in fields:
            fields[6:8] = [next(arcs)]
        assert new == "\t".join(fields)
    assert "\t2\tbeam2\t" in run("predict", model, file, "--beam", "2").out
    assert "\t2\tbeamNone\t" in run("predict", model, file, "--beam", "inf").out
    untagged = AWKWARD_CONLLU.replace(b"VB\t", b"_\t").replace(b"RB\t", b"_\t")
    out = tmp_path / "out"
    refuses("predict", model, "-o", out, stdin=untagged, says="<stdin>: column 'xpos' is empty (_ everywhere)")
    assert not out.exists()
    found = run("predict", model, "--format", "conll", stdin=b"The DT\ndog NN\n")
    assert found.out == "The DT 0 beam8\ndog NN 1 beam8\n"
    run("train", "parser", "--train", file, "--model", model, "--pos", "xpos", "--unlabelled")
    assert column(run("predict", model, file).out, 7, "\t") == column(AWKWARD_CONLLU.decode(), 7, "\t")


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("The DT 9 x\n", [], "The DT 0 beam8\n"),
        ("The DT\n", [], "The DT 0 beam8\n"),
        ("The DT 9\n", [], "The DT 0 beam8\n"),
        ("x DT The\n", ["--columns", "deprel,pos,form"], "beam8 DT The 0\n"),
        ("x  y   DT The\n", ["--columns", "head,other,pos,word"], "0  y   DT The beam8\n"),
    ],
    ids=["all", "none", "heads", "relations", "heads first"],
)
def test_missing_output_columns_are_appended(run, trees, tmp_path, text, options, expected):
    run("train", "parser", "--train", trees, "--model", tmp_path / "m", "-q")
    assert run("predict", tmp_path / "m", *options, stdin=text.encode()).out == expected


def test_evaluate_trees(run, refuses, tmp_path, trees):
    model = tmp_path / "m"
    run("train", "parser", "--train", trees, "--model", model, "-q")
    scores = json.loads(run("evaluate", model, trees, "--json").out)
    assert (scores["task"], scores["metric"], scores["sentences"], scores["tokens"]) == ("parser", "las", 2, 5)
    assert (scores["uas"], scores["las"], scores["las_universal"], scores["score"]) == (40, 0, 20, 0)
    assert scores["signature"] == "a chain of words"
    assert json.loads(run("evaluate", model, trees, "--json", "--beam", "2").out)["las_universal"] == 0
    assert "2 sentences in " in run("evaluate", model, trees).out
    heads = write(tmp_path / "heads.conll", "The DT 2\ndog NN 0\n")
    refuses("evaluate", model, heads, says=[heads, "no column 'deprel' among word, pos, head", "--columns"])
    words = write(tmp_path / "words.conll", "The\n")
    refuses("evaluate", model, words, says=[words, "no column 'head' among word"])
    refuses("predict", model, words, says=[words, "no column 'pos' among word; the model reads it"])
    wide = write(tmp_path / "wide.conll", "The DT 2 x y z\n")
    refuses("predict", model, wide, says=[f"{wide}:1: 6 columns", "'head' and 'deprel' may be missing"])
    run("train", "parser", "--train", trees, "--model", model, "--unlabelled", "-q")
    scores = json.loads(run("evaluate", model, heads, "--json").out)
    assert (scores["metric"], scores["score"], scores["uas"], scores["las"]) == ("uas", 0, 0, None)


def test_inspect_actions(run, refuses, tmp_path, trees):
    model = tmp_path / "m"
    run("train", "parser", "--train", trees, "--model", model, "-q")
    assert run("inspect", model).out == (
        "a chain of words\n\nshift\n      2.5000  s0.w=dog\n\nleft\n     -1.5000  s0.t=NN\n"
    )
    found = json.loads(run("inspect", model, "--label", "left", "--json").out)
    assert found["labels"] == {"left": [{"feature": "s0.t=NN", "label": "left", "weight": -1.5}]}
    says = "--sentence: not available for the parser (it only counts); works with tagger, chunker"
    refuses("inspect", model, "--sentence", "The dog", says=says)


def test_labels_and_trees_have_options_of_their_own(run, refuses, toy, tmp_path, trees):
    model = tmp_path / "m"
    run("train", "parser", "--train", trees, "--model", model, "-q")
    for command in ("predict", "evaluate"):
        refuses(command, model, trees, "--label", "head", says="--label: not available for the parser")
    refuses("predict", model, trees, "--forced", says="--forced: not available for the parser (trees are whole)")
    files = ["--train", toy / "train.conllu", "--model", model]
    refuses("train", "tagger", *files, "--skip-invalid", says="--skip-invalid: not available for the tagger")
    refuses("evaluate", toy.tagger, toy / "test.conllu", "--skip-invalid", says="works with parser")


def test_nbest_trees_have_all_columns(run, tmp_path, trees):
    run("train", "parser", "--train", trees, "--model", tmp_path / "m", "-q")
    found = candidates_of(run("predict", tmp_path / "m", "--nbest", "2", stdin=b"The DT\ndog NN\n").out)
    assert found == [(1, 1.5, "The DT 0 beam8\ndog NN 1 beam8\n\n"), (2, -2.0, "The DT 0 root\ndog NN 0 root\n\n")]
