"""`structron evaluate` and `structron inspect`: scores, and what decided."""

import json
from pathlib import Path

from cli_helpers import column, write

import structron


def test_evaluate_as_json(toy, run):
    found = json.loads(run("evaluate", toy.chunker, toy / "test.conll", "--json", "--jobs", "2").out)
    labeler = structron.load(toy.chunker)
    general = {
        "task",
        "metric",
        "score",
        "accuracy",
        "sentences",
        "tokens",
        "seconds",
        "tokens_per_second",
        "signature",
    }
    assert general | {"precision", "recall", "f1", "per_type"} <= found.keys()
    assert (found["task"], found["metric"], found["score"]) == ("chunker", "f1", found["f1"])
    assert (found["sentences"], found["signature"]) == (60, labeler.signature_)
    assert found["per_type"]["NP"]["gold"] > 100
    found = json.loads(run("evaluate", toy.tagger, toy / "test.conllu", "--json").out)
    assert general | {"known_accuracy", "unknown_accuracy", "sentence_accuracy", "per_label"} <= found.keys()
    assert (found["metric"], found["score"]) == ("accuracy", found["accuracy"])
    assert 80 < found["accuracy"] <= 100


def test_evaluate_for_people(toy, run):
    text = run("evaluate", toy.chunker, toy / "test.conll").out
    scores = json.loads(run("evaluate", toy.chunker, toy / "test.conll", "--json").out)
    assert f"{scores['tokens']} tokens, accuracy {scores['accuracy']:.2f}%" in text
    assert f"{scores['f1']:.2f}" in text
    assert "60 sentences in " in text
    assert text.rstrip("\n").endswith(scores["signature"])


def test_evaluate_agrees_with_predict(toy, tmp_path, run):
    out = tmp_path / "out.conll"
    run("predict", toy.chunker, toy / "test.conll", "-o", out)
    gold, guess = column(Path(toy / "test.conll").read_text(), 2), column(out.read_text(), 2)
    scores = json.loads(run("evaluate", toy.chunker, toy / "test.conll", "--json").out)
    assert scores["correct_tokens"] == sum(a == b for a, b in zip(gold, guess, strict=True))
    assert json.loads(run("evaluate", toy.chunker, out, "--json").out)["f1"] == 100


def test_evaluation_needs_labels(toy, tmp_path, refuses):
    refuses("evaluate", toy.chunker, write(tmp_path / "a", "The DT\n"), says=[tmp_path / "a", "no column 'label'"])
    empty = write(tmp_path / "b", "The DT _\n")
    refuses("evaluate", toy.chunker, empty, says=[empty, "column 'label' is empty"])
    refuses("evaluate", toy.chunker, tmp_path / "c", says=[tmp_path / "c", "cannot be read"])


def test_inspect(toy, run, refuses):
    text = run("inspect", toy.chunker, "--top", "3").out
    assert text.startswith(structron.load(toy.chunker).signature_)
    assert "\nB-NP\n" in text
    assert "y[-1]=B-NP → I-NP" in run("inspect", toy.chunker, "--label", "I-NP").out
    found = json.loads(run("inspect", toy.chunker, "--label", "I-NP", "--top", "2", "--json").out)
    assert list(found["labels"]) == ["I-NP"]
    assert len(found["labels"]["I-NP"]) == 2
    assert {weight["label"] for weight in found["transitions"]} == {"I-NP"}
    refuses("inspect", toy.chunker, "--label", "X-NP", says=["'X-NP'", "B-NP"])


def test_inspect_sentence(toy, run, refuses):
    text = run("inspect", toy.chunker, "--sentence", "The/DT 1/2/CD dogs/NNS", "--top", "4").out
    heads = [line.split() for line in text.splitlines() if not line.startswith(" ")]
    assert [head[0] for head in heads] == ["The", "1/2", "dogs"]
    assert [head[1] for head in heads] == structron.load(toy.chunker).predict(
        [[["The", "DT"], ["1/2", "CD"], ["dogs", "NNS"]]]
    )[0]
    found = json.loads(run("inspect", toy.tagger, "--sentence", "The dogs", "--json").out)
    assert [token["word"] for token in found["tokens"]] == ["The", "dogs"]
    assert {"label", "runner_up", "margin", "because"} <= found["tokens"][0].keys()
    refuses("inspect", toy.chunker, "--sentence", "The dogs", says=["'The'", "word/pos"])
    refuses("inspect", toy.chunker, "--sentence", " ", says="no words")
    refuses("inspect", toy.tagger, "--sentence", "The", "--label", "DET", says="cannot be combined")
