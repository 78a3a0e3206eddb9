"""`structron train`: options reach the estimator, mistakes are found before the first pass, training can go on."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SMALL, Ran, same_tensors, write

import structron
from structron.cli.train import _summary
from structron.learn.loop import timeless


def test_train_tells_what_it_does(run, toy, tmp_path):
    model, log = tmp_path / "m.structron", tmp_path / "log.jsonl"
    files = ["--train", toy / "train.conll", "--dev", toy / "dev.conll", "--model", model, "--log", log]
    found = run("train", "chunker", *files, "--passes", "2", "--seed", "7", "--jobs", "2", "--runs", "1")
    assert found.status == 0
    assert found.out == ""
    lines = [line for line in found.err.splitlines() if not line.startswith("compiling")]
    assert lines[0] == "a single run trains on one core; dev data are scored on 2; --shards N trains on up to N"
    assert [line.split("  ")[0] for line in lines[1:3]] == ["pass 1/2", "pass 2/2"]
    labeler = structron.load(model)
    assert lines[3].startswith(f"{model}: ")
    assert lines[3].endswith(labeler.signature_)
    for piece in ("kB", f"best pass {labeler.best_pass_} of 2", "dev f1 ", " s | "):
        assert piece in lines[3]
    assert "seed 7" in labeler.signature_
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert timeless(records) == labeler.history_
    assert {"pass", "updates", "tokens", "seconds", "tokens_per_second", "dev"} <= records[0].keys()


def test_a_pass_that_was_stopped_is_not_one_of_those_that_were_done(tmp_path):
    """Ctrl-C in pass 3 without dev data: the model is of that pass, and two are in the history."""
    tagger = structron.Tagger(passes=2, runs=1).fit([[("a", "X"), ("b", "Y")], [("b", "Y")]])
    tagger.save(tmp_path / "m")
    assert ", best pass 2 of 2, " in _summary(tagger, tmp_path / "m", 1.0)
    tagger.best_pass_ = 3
    assert ", stopped in pass 3, " in _summary(tagger, tmp_path / "m", 1.0)


def test_quiet(run, toy, tmp_path):
    found = run("train", "tagger", "--train", toy / "test.conllu", "--model", tmp_path / "m", *SMALL, "--jobs", "2")
    assert found == Ran(0, "", "")


def test_options_reach_the_labeler(run, toy, tmp_path):
    templates = write(tmp_path / "templates", "w[0]\npos[0]\npos[-1]|pos[0] &y # a pair\n")
    places = write(tmp_path / "places", "New York\nRome\n")
    people = write(tmp_path / "people.gz", gzip.compress(b"Ann\n"))
    model = tmp_path / "m"
    options = ["--order", "2", "--passes", "2", "--average", "none", "--cutoff", "2", "--seed", "5", "--patience", "1"]
    options += ["--tag-dictionary", "3", "--no-constrain", "--forbid", "O B-PP", "--forbid", "B-PP B-PP"]
    options += ["--templates", templates, "--columns", "word,pos,chunk", "--label", "chunk"]
    options += ["--gazetteer", f"LOC={places}", "--gazetteer", f"PER={people}", "--gazetteer", f"LOC={people}"]
    assert run("train", "chunker", "--train", toy / "train.conll", "--model", model, *options, "-q").status == 0
    labeler = structron.load(model)
    assert (labeler.order, labeler.passes, labeler.average, labeler.cutoff, labeler.seed) == (2, 2, "none", 2, 5)
    assert (labeler.patience, labeler.tag_dictionary, labeler.constrain) == (1, 3, False)
    assert labeler.roles_.names == ["word", "pos", "chunk"]
    assert [str(t) for t in labeler.extractor_.templates][:3] == ["w[0]", "pos[0]", "pos[-1]|pos[0]&y"]
    assert {name: len(g) for name, g in labeler.extractor_.gazetteers.items()} == {"gaz_LOC": 3, "gaz_PER": 1}
    labels = labeler.model_.labels
    forbidden = {(([None, *labels])[p], labels[y]) for p, y in np.argwhere(~labeler.model_.allowed)}
    assert forbidden == {("O", "B-PP"), ("B-PP", "B-PP")}


def test_default_training_equals_python(run, toy, tmp_path):
    rows = [
        [line.split() for line in block.split("\n")] for block in Path(toy / "train.conll").read_text().split("\n\n")
    ]
    sentences = [sentence for sentence in rows if sentence != [[]]]
    structron.Chunker(passes=2).fit(sentences).save(tmp_path / "python")
    run("train", "chunker", "--train", toy / "train.conll", "--model", tmp_path / "m", "--passes", "2")
    assert same_tensors(tmp_path / "python", tmp_path / "m")


def test_training_is_resumed(refuses, run, toy, tmp_path):
    """With all its passes in the log; from the folder of the same run alone."""
    files = ["--train", toy / "train.conll", "--dev", toy / "dev.conll"]
    whole, parts, log = tmp_path / "whole", tmp_path / "parts", tmp_path / "log"
    run("train", "chunker", *files, "--model", whole, "--passes", "4")
    argv = ["train", "chunker", *files, "--model", parts, "--checkpoint", tmp_path / "c", "--log", log]
    assert run(*argv, "--passes", "2").status == 0
    refuses(*argv, says="--resume")
    refuses(*argv, "--resume", "--seed", "8", says="other data")
    refuses("train", "chunker", *files, "--model", parts, "--resume", says="--checkpoint")
    assert run(*argv, "--passes", "4", "--resume").status == 0
    assert same_tensors(whole, parts)
    assert [json.loads(line)["pass"] for line in log.read_text().splitlines()] == [1, 2, 3, 4]


def test_warm_start_takes_new_labels_and_features(run, toy, tmp_path):
    more = write(tmp_path / "more.conll", "Zork NNP B-NEW\nblorps VBZ B-VP\n\nthe DT B-NP\nzork NN I-NP\n")
    model = tmp_path / "m"
    found = run("train", "chunker", "--train", more, "--model", model, "--warm-start", toy.chunker, "--passes", "5")
    assert found.status == 0, found.err
    labeler = structron.load(model)
    old = structron.load(toy.chunker)
    assert labeler.model_.labels == [*old.model_.labels, "B-NEW"]
    assert labeler.predict([[["Zork", "NNP"], ["blorps", "VBZ"]]]) == [["B-NEW", "B-VP"]]
    assert json.loads(run("evaluate", model, toy / "test.conll", "--json").out)["f1"] > 80


def test_warm_start_settles_some_options(refuses, toy, tmp_path):
    args = ["--train", toy / "test.conll", "--model", tmp_path / "m", "--warm-start", toy.chunker]
    for option in (["--order", "2"], ["--templates", "collins-np"], ["--gazetteer", "A=b"]):
        refuses("train", "chunker", *args, *option, says=[option[0], "--warm-start"])
    refuses("train", "tagger", *args, says=[toy.chunker, "a chunker model", "a tagger model"])


def test_illegal_labels_are_counted(run, tmp_path):
    bad = write(tmp_path / "bad.conll", "a X I-NP\nb Y O\n\nc X B-NP\nd Y I-VP\n\ne X B-NP\nf Y I-NP\n\n" * 2)
    found = run("train", "chunker", "--train", bad, "--model", tmp_path / "m", "--passes", "2")
    assert found.status == 0
    assert "4 forbidden transitions in the training labels" in found.err


def test_label_of_conllu(run, refuses, toy, tmp_path):
    args = ["train", "tagger", "--train", toy / "train.conllu", "--model", tmp_path / "m", *SMALL]
    assert run(*args, "--label", "xpos").status == 0
    assert "NNS" in structron.load(tmp_path / "m").model_.labels
    refuses(*args, "--label", "pos", says=["train.conllu", "'pos'", "upos, xpos"])
    refuses(*args, "--label", "feats", says=["train.conllu", "column 'feats' is empty"])
    refuses(*args, "--label", "form", says="the label cannot be the word")
    args[1] = "chunker"
    refuses(*args, "--force", says=["train.conllu", "--label"])


def test_latin1(run, refuses, tmp_path):
    text = "".join(f"{word} {tag}\n\n" for word, tag in (("café", "N"), ("naïve", "A"), ("à", "P"), ("là", "P")) * 5)
    file = write(tmp_path / "l.conll", text.encode("latin-1"))
    args = ["train", "tagger", "--train", file, "--model", tmp_path / "m", *SMALL]
    refuses(*args, says=[f"{file}:1: not valid", "--encoding"])
    assert run(*args, "--encoding", "iso-8859-1").status == 0
    assert run("predict", tmp_path / "m", file, "--encoding", "iso-8859-1", "-o", tmp_path / "out").status == 0
    assert (tmp_path / "out").read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read"),
        ("", "the file is empty"),
        ("\n\n# only\n\n", "no sentences"),
        ("a O\nb O\n", "only one label (O)"),
        ("word\n", ":1: columns: word: the label cannot be the word"),
        (b"a X\nb\xff Y\n", ":2: not valid"),
    ],
)
def test_bad_training_data(refuses, tmp_path, text, says):
    file = tmp_path / "train.conll"
    if text is not None:
        write(file, text)
    refuses("train", "tagger", "--train", file, "--model", tmp_path / "m", says=[file, says])
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("a X\n", "no column 'label' among word, pos"),
        ("a X O Y\n", ":1: 4 columns; the model reads 3 (word, pos, label)"),
    ],
)
def test_bad_dev_data(refuses, toy, tmp_path, text, says):
    dev = write(tmp_path / "dev.conll", text)
    args = ["--train", toy / "train.conll", "--dev", dev, "--model", tmp_path / "m"]
    refuses("train", "chunker", *args, says=[dev, says])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--columns", "word,chunk"], ["3 columns", "--columns names 2"]),
        (["--columns", "word,word,chunk"], "a name occurs twice"),
        (["--label", "tag"], ["'tag'", "word, pos, label"]),
        (["--format", "xml"], ["'xml'", "conll, conllu"]),
        (["--format", "conllu"], "1 column separated by tabs where 10 were expected"),
        (["--encoding", "klingon"], "unknown encoding 'klingon'"),
        (["--templates", "nonsense"], ["'nonsense'", "collins-np"]),
        (["--gazetteer", "LOC=nowhere"], "nowhere: cannot be read (no such file"),
        (["--forbid", "A B"], ["'A'", "B-NP"]),
        (["--log", "nowhere/log"], ["nowhere/log", "no folder"]),
        (["--warm-start", "nowhere"], "nowhere: no such file or bundled model"),
        (["--dev", "nowhere"], "nowhere: cannot be read"),
    ],
)
def test_bad_training_options(refuses, toy, tmp_path, monkeypatch, options, says):
    monkeypatch.chdir(tmp_path)
    refuses("train", "chunker", "--train", toy / "train.conll", "--model", "m", *options, says=says)


def test_bad_template_names_its_line(refuses, toy, tmp_path):
    file = write(tmp_path / "t", "w[0]\nw(1)\n")
    args = ["--train", toy / "train.conll", "--model", tmp_path / "m", "--templates", file]
    refuses("train", "chunker", *args, says=[f"{file}:2", "w(1)"])


def test_model_path_is_checked_before_the_data(refuses, tmp_path):
    for path, says in ((tmp_path / "no" / "m", "no folder"), (tmp_path, "is a folder")):
        refuses("train", "tagger", "--train", tmp_path / "missing", "--model", path, says=[path, says])
