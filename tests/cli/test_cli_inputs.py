"""Input that is not what it seems: plain text, empty files and columns, header rows, labels that nobody has seen."""

import json
import re

import pytest
from cli_helpers import SMALL, write

import structron
from structron.cli.files import SENTENCE_END

TEXTS = ["It was late.\n", "He said “no!”\nShe said yes.\n", "Hello my world\n", "It was late.\n\nWe left early.\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_plain_text_is_no_columns(refuses, toy, tmp_path, text):
    """By its last words, or by labels that are none: nothing is replaced."""
    says = "plain text"
    refuses("predict", toy.chunker, write(tmp_path / "t.txt", text), "-o", tmp_path / "out", says=says)
    refuses("predict", toy.chunker, stdin=text.encode(), says=says)
    assert not (tmp_path / "out").exists()


def test_plain_text_is_no_training_data(refuses, toy, tmp_path):
    file = write(tmp_path / "t.txt", "It was late.\nWe left early.\n\nHe slept well.\n")
    refuses("train", "chunker", "--train", file, "--model", tmp_path / "m", says="t.txt:1: no columns; this looks")
    refuses("evaluate", toy.chunker, file, says="this looks like plain text")
    ragged = write(tmp_path / "r.txt", "It was late and dark\nWe left\n")
    refuses("train", "chunker", "--train", ragged, "--model", tmp_path / "m", says="r.txt:2: 2 columns where 5")
    refuses("predict", toy.chunker, ragged, says="2 columns where 5 were expected; this looks like plain text")


@pytest.mark.parametrize("rows", ["It PRP ?\nsleeps VBZ ?\n", "It PRP X\n", "It PRP O\nsleeps VBZ new\n", "Mr. NNP\n"])
def test_columns_are_no_plain_text(run, toy, rows):
    assert run("predict", toy.chunker, stdin=rows.encode()).status == 0


def test_what_ends_a_sentence():
    for text in ("late.", "no!”", "früh?", "mot…»"):
        assert SENTENCE_END.search(text)
    for text in (".", "NN", "B-NP", "U.S.", "3.", "...", "O", "_", "PRP$"):
        assert not SENTENCE_END.search(text)


@pytest.mark.parametrize("name", ["f", "f.txt", "-"])
def test_the_same_bytes_are_the_same_from_a_pipe(run, toy, tmp_path, name):
    """Columns and CoNLL-U for models of both; a name that tells the format is believed."""
    files = {ending: (toy.folder / f"test.{ending}").read_bytes() for ending in ("conll", "conllu")}
    for ending, model in (("conll", toy.chunker), ("conllu", toy.tagger)):
        file = write(tmp_path / "f", files[ending]) if name != "-" else "-"
        given = {"stdin": files[ending]} if name == "-" else {}
        assert run("predict", model, file, **given) == run("predict", model, toy / f"test.{ending}")
    mixed = write(tmp_path / "f", files["conll"]) if name != "-" else "-"
    found = run("predict", toy.tagger, mixed, **({"stdin": files["conll"]} if name == "-" else {}))
    named = run("predict", toy.tagger, toy / "test.conll")
    assert (found.status, found.out) == (named.status, named.out)
    assert re.sub(r"^.*?:1:", "", found.err) == re.sub(r"^.*?:1:", "", named.err)


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# a comment\n", b"\xef\xbb\xbf"])
def test_empty_input_is_no_error(run, toy, tmp_path, text):
    for given in ({"stdin": text}, {}):
        file = "-" if given else write(tmp_path / "f", text)
        found = run("predict", toy.chunker, file, **given)
        assert (found.status, found.out.encode(), found.err) == (0, text, "")
    assert run("predict", toy.chunker, write(tmp_path / "f", text), "-o", tmp_path / "o").status == 0
    assert (tmp_path / "o").read_bytes() == text
    assert run("evaluate", toy.chunker, write(tmp_path / "f", text)).status == 2


@pytest.mark.parametrize("format", ["conllu", "json", "tokens"])
def test_empty_text_is_no_error(run, tmp_path, format):
    from toy import toy_docs

    structron.Tokenizer(passes=1, runs=1).fit(toy_docs(8, 3)).save(tmp_path / "m")
    found = run("annotate", "-m", tmp_path / "m", "--format", format, stdin=b"")
    assert (found.status, found.err) == (0, "")
    assert json.loads(found.out)["sentences"] == [] if format == "json" else found.out == ""


# -- warnings ------------------------------------------------------------------------------------------------------


def warnings(found) -> list[str]:
    return [line for line in found.err.splitlines() if line.startswith("warning: ")]


def without(path, target, column: int):
    lines = [line.split(" ") for line in path.read_text().splitlines()]
    return write(
        target,
        "".join(
            " ".join("_" if k == column and line != [""] else f for k, f in enumerate(line)) + "\n" for line in lines
        ),
    )


def test_an_empty_column_that_the_model_learned_from(run, toy, tmp_path):
    bare = without(toy.folder / "test.conll", tmp_path / "bare.conll", 1)
    says = f"warning: {bare}: column 'pos' is empty (_), but the model was trained with it"
    for command in ("predict", "evaluate"):
        assert warnings(run(command, toy.chunker, bare)) == [says]
        assert warnings(run(command, toy.chunker, toy / "test.conll")) == []
    train = without(toy.folder / "train.conll", tmp_path / "train.conll", 1)
    found = run(
        "train", "chunker", "--train", toy / "train.conll", "--dev", bare, "--model", tmp_path / "m", *SMALL[:2]
    )
    assert warnings(found) == [says]
    assert run("train", "chunker", "--train", train, "--dev", bare, "--model", tmp_path / "m", *SMALL).err == ""
    assert structron.load(tmp_path / "m").source_ == {"format": "conll", "empty": "pos"}
    assert warnings(run("predict", tmp_path / "m", bare)) == []


def test_a_parser_without_lemmas_and_features(run, toy, tmp_path):
    """Templates read columns that the file leaves empty."""
    lines = [line.split("\t") for line in (toy.folder / "test.conllu").read_text().splitlines()]
    full = [[*f[:2], f[1].lower(), *f[3:5], f"Case={f[4]}", *f[6:]] if len(f) == 10 else f for f in lines]
    empty = [[*f[:2], "_", *f[3:5], "_", *f[6:]] if len(f) == 10 else f for f in lines]
    both = {}
    for name, found in (("full", full), ("bare", empty)):
        both[name] = write(tmp_path / f"{name}.conllu", "".join("\t".join(f) + "\n" for f in found))
    argv = ["--train", both["full"], "--model", tmp_path / "m", "--quiet"]
    argv += ["--passes", "1", "--runs", "1", "--beam", "2"]
    assert run("train", "parser", *argv).status == 0
    told = [
        f"warning: {both['bare']}: column {name!r} is empty (_), but the model was trained with it"
        for name in ("feats", "lemma")
    ]
    assert warnings(run("evaluate", tmp_path / "m", both["bare"])) == told
    assert warnings(run("evaluate", tmp_path / "m", both["full"])) == []


def test_a_header_row(run, toy, tmp_path):
    for names in ("word pos label", "Token POS Chunk"):
        file = write(tmp_path / "f.conll", f"{names}\n\n" + (toy.folder / "test.conll").read_text())
        says = [f"warning: {file}:1: looks like a header ({names}) but is read as a word; remove it"]
        assert warnings(run("predict", toy.chunker, file)) == says
        assert warnings(run("evaluate", toy.chunker, file)) == says
        found = run("train", "chunker", "--train", file, "--model", tmp_path / "m", *SMALL[:2])
        assert (found.status, warnings(found)) == (0, says)


def test_dev_labels_that_were_never_seen(run, toy, tmp_path):
    text = (toy.folder / "dev.conll").read_text()
    dev = write(tmp_path / "dev.conll", text.replace("B-NP", "B-XX").replace("I-NP", "I-XX"))
    argv = [
        "train",
        "chunker",
        "--train",
        toy / "train.conll",
        "--dev",
        dev,
        "--model",
        tmp_path / "m",
        "--passes",
        "1",
    ]
    found = run(*argv)
    assert warnings(found)[0] == f"warning: {dev}: column 'label': 2 labels never seen in training (B-XX, I-XX)"
    assert found.err.index("warning") < found.err.index("pass 1/1")
    assert run(*argv, "--quiet").err == ""


def test_a_dev_score_of_nothing(run, toy, tmp_path):
    text = re.sub(" [BI]-[A-Z]+$", " B-XX", (toy.folder / "dev.conll").read_text(), flags=re.MULTILINE)
    dev = write(tmp_path / "dev.conll", text)
    argv = [
        "train",
        "chunker",
        "--train",
        toy / "train.conll",
        "--dev",
        dev,
        "--model",
        tmp_path / "m",
        "--passes",
        "2",
    ]
    told = warnings(run(*argv))
    assert told[-1] == "warning: dev f1 is 0 in every pass; expected labels as in the training data"
    assert structron.load(tmp_path / "m").best_pass_ == 1
