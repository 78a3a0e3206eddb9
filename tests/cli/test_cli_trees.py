"""Tasks with several output columns: a parser that knows its few sentences by heart shows what becomes of columns."""

import json
from pathlib import Path

import pytest
from cli_helpers import AWKWARD_CONLLU, Ran, candidates_of, column, write

import structron


def conllu(*sentences: list[tuple[str, str, str, str]]) -> str:
    """Sentences as CoNLL-U: word, tag, head and relation of each word; upos is empty."""
    blocks = (
        "".join(f"{i}\t{w}\t_\t_\t{t}\t_\t{h}\t{r}\t_\t_\n" for i, (w, t, h, r) in enumerate(words, 1))
        for words in sentences
    )
    return "".join(f"# a sentence\n{block}\n" for block in blocks)


BARKS = [("The", "DT", "2", "det"), ("dog", "NN", "3", "nsubj"), ("barks", "VBZ", "0", "root")]
DOGS = [("Dogs", "NNS", "0", "root"), ("here", "RB", "1", "advmod:x")]
TREES = "".join(" ".join(word) + "\n" for word in BARKS) + "\n" + "".join(" ".join(word) + "\n" for word in DOGS)


@pytest.fixture
def trees(tmp_path) -> Path:
    return write(tmp_path / "trees.conll", TREES)


@pytest.fixture
def model(run, trees, tmp_path) -> Path:
    """Knows `trees` by heart."""
    assert run("train", "parser", "--train", trees, "--model", tmp_path / "m", "--passes", "20", "-q").status == 0
    return tmp_path / "m"


def test_parser_options_reach_the_estimator(run, trees, tmp_path):
    args = ["train", "parser", "--train", trees, "--dev", trees, "--model", tmp_path / "m", "-q"]
    assert run(*args) == Ran(0, "", "")
    found = structron.load(tmp_path / "m")
    settled = {name: getattr(found, name) for name in ("columns", "pos", "templates")}
    assert found.get_params() == structron.Parser().get_params() | settled
    assert (found.columns, found.pos) == (["word", "pos", "head", "deprel"], "pos")
    assert (found.history_[-1]["examples"], found.history_[-1]["tokens"]) == (2, 5)
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
    refuses(*args, "--pos", "head", says=[file, "part of speech head"])
    assert run(*args, "--pos", "xpos").status == 0
    found = structron.load(model)
    assert (found.roles_.pos, found.roles_.outputs, found.columns[4]) == ("xpos", ["head", "deprel"], "xpos")
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
    refuses(*args, "--columns", "word,pos,pos", says="a name occurs twice")
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
    assert f"{good}: skipped" not in found.err
    assert structron.load(model).history_[0]["tokens"] == 4
    assert run("train", "parser", "--train", bad, *args, "--skip-invalid", "-q") == Ran(0, "", "")
    refuses("evaluate", model, bad, says=f"{bad}{says}")
    found = run("evaluate", model, bad, "--json", "--skip-invalid")
    assert json.loads(found.out)["sentences"] == 2
    assert found.err == f"{bad}: skipped 1 of 3 sentences with invalid trees\n"
    assert run("predict", model, bad).status == 0
    bad = write(tmp_path / "bad.conllu", conllu(rows))
    refuses("evaluate", model, bad, "--skip-invalid", says=f"{bad}: no sentence has a valid tree")


def test_parser_writes_both_columns(run, refuses, tmp_path):
    """And leaves every other byte: multiword lines and empty nodes are no words of a tree."""
    file, model = write(tmp_path / "a.conllu", AWKWARD_CONLLU), tmp_path / "m"
    train = ["train", "parser", "--train", file, "--model", model, "--pos", "xpos", "--passes", "20"]
    assert run(*train).status == 0
    arcs = [b"\t3\taux\t", b"\t3\tadvmod\t", b"\t0\troot\t"]
    empty = AWKWARD_CONLLU
    for arc in arcs:
        empty = empty.replace(arc, b"\t9\t_\t")
    for beam in ([], ["--beam", "2"], ["--beam", "inf"]):
        assert run("predict", model, *beam, stdin=empty).out == AWKWARD_CONLLU.decode()
    untagged, out = AWKWARD_CONLLU.replace(b"VB\t", b"_\t").replace(b"RB\t", b"_\t"), tmp_path / "out"
    refuses("predict", model, "-o", out, stdin=untagged, says="<stdin>: column 'xpos' is empty (_ everywhere)")
    assert not out.exists()
    run(*train, "--unlabelled")
    assert column(run("predict", model, stdin=empty).out, 7, "\t") == column(empty.decode(), 7, "\t")
    write(file, AWKWARD_CONLLU.replace(b"RB\t_\t3", b"RB\t_\t2"))
    refuses(*train, says=f'{file}:5: word "n\'t": is its own head')


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("The DT 9 x\n", [], "The DT 0 root\n"),
        ("The DT\n", [], "The DT 0 root\n"),
        ("The DT 9\n", [], "The DT 0 root\n"),
        ("x DT The\n", ["--columns", "deprel,pos,form"], "root DT The 0\n"),
        ("x  y   DT The\n", ["--columns", "head,other,pos,word"], "0  y   DT The root\n"),
    ],
    ids=["all", "none", "heads", "relations", "heads first"],
)
def test_missing_output_columns_are_appended(run, model, text, options, expected):
    assert run("predict", model, *options, stdin=text.encode()).out == expected


def test_evaluate_trees(run, refuses, tmp_path, trees, model):
    other = write(tmp_path / "other.conll", TREES.replace("advmod:x", "advmod").replace("2 det", "3 det"))
    scores = json.loads(run("evaluate", model, other, "--json").out)
    assert (scores["task"], scores["metric"], scores["sentences"], scores["tokens"]) == ("parser", "las", 2, 5)
    assert (scores["uas"], scores["las"], scores["las_universal"], scores["score"]) == (80, 60, 80, 60)
    assert scores["signature"] == structron.load(model).signature_
    assert json.loads(run("evaluate", model, trees, "--json", "--beam", "2").out)["las"] == 100
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
    assert (scores["metric"], scores["score"], scores["las"]) == ("uas", scores["uas"], None)


def test_inspect_actions(run, model):
    text = run("inspect", model, "--label", "left:det", "--top", "2").out
    assert text.startswith(f"{structron.load(model).signature_}\n\nleft:det\n")
    assert text.count("\n") == 5
    found = json.loads(run("inspect", model, "--label", "left:det", "--top", "2", "--json").out)
    assert list(found["labels"]) == ["left:det"]
    assert {weight["label"] for weight in found["labels"]["left:det"]} == {"left:det"}


def test_labels_and_trees_have_options_of_their_own(refuses, toy, trees, model):
    for command in ("predict", "evaluate"):
        refuses(command, model, trees, "--label", "head", says="--label: not available")
    files = ["--train", toy / "train.conllu", "--model", model]
    refuses("train", "tagger", *files, "--skip-invalid", says="--skip-invalid: not available")
    refuses("evaluate", toy.tagger, toy / "test.conllu", "--skip-invalid", says="works with parser")


def test_nbest_trees_have_all_columns(run, model):
    found = run("predict", model, "--nbest", "2", stdin=b"Dogs NNS\nhere RB\n").out
    (first, _, best), (second, _, other) = candidates_of(found)
    assert (first, second, best) == (1, 2, "Dogs NNS 0 root\nhere RB 1 advmod:x\n\n")
    assert [len(line.split()) for line in other.split("\n")] == [4, 4, 0, 0]
    assert other != best
