"""Beams, parts of pipelines, comparisons, confusions and pictures on the command line."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from cli_helpers import SMALL, Toy, write

import structron
from structron.cli import main
from toy import toy_docs


@pytest.fixture(scope="session")
def beam(toy) -> str:
    """A chunker under a beam."""
    model = toy / "beam.structron"
    files = ["--train", toy / "train.conll", "--dev", toy / "dev.conll"]
    assert main(["train", "chunker", *files, "--model", model, "--beam", "1", "--runs", "1", *SMALL]) == 0
    return model


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A small pipeline, and a treebank."""
    found, docs = Toy(tmp_path_factory.mktemp("pipeline")), toy_docs(24, 1)
    model = structron.Pipeline(folds=2, without=["entities", "lemmatizer", "morphology"]).fit(docs)
    model.save(found / "pipeline")
    write(Path(found / "test.conllu"), "".join(doc.to_conllu() for doc in docs[:2]))
    return found


def test_the_beams_of_a_sentence(toy, beam, run, refuses):
    text = run("inspect", beam, "--beam", "--sentence", "The/DT dogs/NNS bark/VBP", "--width", "3").out
    assert text.startswith("step 1\n   1 ")
    assert "step 3\n" in text
    assert "gold" not in text
    found = json.loads(run("inspect", beam, "--beam", "--gold", toy / "test.conll", "--json").out)
    first = [line.split() for line in Path(toy / "test.conll").read_text().split("\n\n")[0].splitlines()]
    assert found["sentence"] == [row[0] for row in first]
    assert found["gold_analysis"] == [row[2] for row in first]
    assert set(found["rules"]) == {"standard", "early", "max-violation", "latest", "hybrid", "laso"}
    third = [line.split() for line in Path(toy / "test.conll").read_text().split("\n\n")[2].splitlines()]
    words = " ".join(row[0] for row in third)
    found = json.loads(run("inspect", beam, "--beam", "--gold", toy / "test.conll", "--sentence", words, "--json").out)
    assert found["gold_analysis"] == [row[2] for row in third]
    text = run("inspect", beam, "--beam", "--gold", toy / "test.conll").out
    assert "max-violation: " in text
    refuses("inspect", beam, "--beam", says="--beam: expected --sentence TEXT or --gold FILE")
    refuses("inspect", beam, "--gold", toy / "test.conll", says="--gold: expected --beam too")
    refuses("inspect", beam, "--beam", "--sentence", "a/DT", "--width", "0", says="--width: '0'; expected")
    refuses(
        "inspect", beam, "--beam", "--gold", toy / "test.conll", "--sentence", "no such", says="no sentence 'no such'"
    )
    refuses("inspect", toy.chunker, "--beam", "--sentence", "a/DT", says="exact search, which has no beam")


def test_the_parts_of_a_pipeline(pipeline, run, refuses):
    text = run("inspect", pipeline / "pipeline", "--top", "2").out
    places = [text.index(f"\n{name}: ") for name in ("tokenizer", "splitter", "tagger", "parser")]
    assert places == sorted(places)
    found = json.loads(run("inspect", pipeline / "pipeline", "--json").out)
    assert found["parts"]["parser"]["writes"] == ["head", "deprel"]
    alone = run("inspect", pipeline / "pipeline", "--part", "parser", "--label", "shift", "--top", "2").out
    assert "| parser |" in alone
    assert "\nshift\n" in alone
    found = json.loads(
        run("inspect", pipeline / "pipeline", "--beam", "--gold", pipeline / "test.conllu", "--json").out
    )
    doc = toy_docs(24, 1)[0].sentences[0]
    assert found["gold_analysis"] == [[word.head, word.deprel] for word in doc.words]
    assert found["task"] == "parser"
    assert "step 1\n" in run("inspect", pipeline / "pipeline", "--beam", "--sentence", "He slept.").out
    refuses("inspect", pipeline / "pipeline", "--beam", "--part", "tagger", "--sentence", "He.", says="exact search")
    refuses(
        "inspect",
        pipeline / "pipeline",
        "--beam",
        "--part",
        "splitter",
        "--sentence",
        "He.",
        says="does not use beam search",
    )
    refuses("inspect", pipeline / "pipeline", "--beam", "--sentence", "He slept. He ran.", says="sentences in")


def test_the_history_of_training_as_a_picture(beam, pipeline, tmp_path, run, refuses):
    out = tmp_path / "history.svg"
    assert run("inspect", beam, "--plot", out).status == 0
    assert "score on dev data" in out.read_text()
    ET.parse(out)
    run("inspect", pipeline / "pipeline", "--plot", out)
    assert "parser: updates" in out.read_text()
    refuses("inspect", beam, "--plot", tmp_path / "h.png", says="ends in .svg")
    refuses("inspect", "english", "--plot", tmp_path / "e.svg", says="no training history")
    assert not (tmp_path / "e.svg").exists()


def test_two_models_on_one_file(toy, beam, run, refuses):
    found = json.loads(run("compare", toy.chunker, beam, toy / "test.conll", "--json").out)
    scores = [json.loads(run("evaluate", m, toy / "test.conll", "--json").out)["f1"] for m in (toy.chunker, beam)]
    assert [own["f1"] for own in found["scores"]] == scores
    assert found["n"] == 60
    assert 0 < found["p"] <= 1
    text = run("compare", toy.chunker, beam, toy / "test.conll", "--top", "1").out
    assert f"p = {found['p']:.4f} (paired bootstrap over 60 sentences)" in text
    assert f"{len(found['differences'])} sentences differ" in text
    refuses("compare", toy.chunker, toy.tagger, toy / "test.conllu", "--label", "upos", says="expected two models of")
    refuses("compare", toy.chunker, "none", toy / "test.conll", says="none")


def test_which_labels_are_taken_for_which(toy, beam, tmp_path, run, refuses):
    out = tmp_path / "c.svg"
    text = run("evaluate", beam, toy / "test.conll", "--confusion", "--plot", out).out
    assert "taken for" in text
    found = json.loads(run("evaluate", beam, toy / "test.conll", "--confusion", "--json").out)
    labels, counts = found["confusion"]["labels"], found["confusion"]["counts"]
    wrong = sum(value for i, row in enumerate(counts) for j, value in enumerate(row) if i != j)
    assert wrong == found["tokens"] - found["correct_tokens"] > 0
    titles = [element.text for element in ET.parse(out).iter("{http://www.w3.org/2000/svg}title")]
    assert f"{labels[0]} taken for {labels[1]}: {counts[0][1]}" in titles
    refuses("evaluate", beam, toy / "test.conll", "--plot", out, says="--plot: expected --confusion")
    refuses("evaluate", beam, toy / "test.conll", "--confusion", "--plot", tmp_path / "x.jpg", says="ends in .svg")


def test_a_text_as_one_picture(pipeline, tmp_path, run):
    out = tmp_path / "t.svg"
    run("annotate", "--text", "He slept. She ran.", "-m", pipeline / "pipeline", "-f", "svg", "-o", out)
    assert len(ET.parse(out).getroot().findall("{http://www.w3.org/2000/svg}svg")) == 2
