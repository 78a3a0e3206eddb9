"""Documents in files: what is labelled as one, and in which scheme."""

import json
from pathlib import Path

import pytest
from cli_helpers import SMALL, candidates_of, column, same_tensors, write

import structron
from structron.cli import files, predict
from structron.cli.files import Source, groups
from structron.io import read


def in_documents(path: str | Path) -> list[structron.Document]:
    """The documents of a file, without its labels."""
    found: list[structron.Document] = []
    for sentence in read(path):
        if sentence.new_document or not found:
            found.append(structron.Document())
        found[-1].append([row[:2] for row in sentence.rows])
    return found


def lines_of(found: list) -> list[str]:
    return [label for document in found for labels in document for label in labels]


def test_documents_are_labelled_as_one(entities, run, monkeypatch):
    """Whatever the size of batches: they end where documents end."""
    expected = lines_of(structron.load(entities / "model").predict(in_documents(entities / "test.conll")))
    text = Path(entities / "test.conll").read_text()
    for size in (predict.BATCH_TOKENS, 1, 150):
        monkeypatch.setattr(predict, "BATCH_TOKENS", size)
        found = run("predict", entities / "model", entities / "test.conll")
        assert (found.status, found.err) == (0, "")
        assert column(found.out.replace("-DOCSTART- -X- O\n", ""), 2) == expected
        kept = [line.rsplit(" ", 1)[0] for line in found.out.splitlines()]
        assert kept == [line.rsplit(" ", 1)[0] for line in text.splitlines()]


def test_training_on_documents_equals_python(entities, run, tmp_path):
    labelled = [structron.Document(s.rows for s in group) for group in groups(Source(entities / "train.conll"), True)]
    assert len(labelled) > 10
    assert sum(map(len, labelled)) == 280
    structron.EntityRecognizer(passes=3).fit(labelled).save(tmp_path / "python")
    argv = ["--train", entities / "train.conll", "--model", tmp_path / "m", *SMALL]
    assert run("train", "entities", *argv).status == 0
    assert same_tensors(tmp_path / "m", tmp_path / "python")


def test_evaluation_counts_sentences_not_documents(entities, run):
    found = json.loads(run("evaluate", entities / "model", entities / "test.conll", "--json").out)
    assert (found["sentences"], found["metric"]) == (60, "f1")
    assert found["tokens"] == sum(len(x) for document in in_documents(entities / "test.conll") for x in document)
    assert "60 sentences in " in run("evaluate", entities / "model", entities / "test.conll").out


def test_files_without_document_boundaries(entities, run, tmp_path, monkeypatch):
    text = Path(entities / "train.conll").read_text().replace("-DOCSTART- -X- O\n\n", "")
    file, model = write(tmp_path / "plain.conll", text), tmp_path / "m"
    says = f"{file}: no document boundaries (-DOCSTART- or # newdoc lines): each sentence becomes a document\n"
    found = run("train", "entities", "--train", file, "--dev", file, "--model", model, "--passes", "2")
    assert found.status == 0
    assert found.err.count(says) == 2
    assert run("train", "entities", "--train", file, "--model", model, "--passes", "2", "--quiet").err == ""
    whole = run("predict", model, file)
    assert whole.err == says
    assert run("evaluate", model, file).err == says
    sentences = [[row[:2] for row in sentence.rows] for sentence in read(file)]
    assert column(whole.out, 2) == lines_of([structron.load(model).predict(sentences)])
    monkeypatch.setattr(files, "DOCUMENT_TOKENS", 30)
    assert run("predict", model, file).out == whole.out


def test_documents_without_end_are_cut(monkeypatch, tmp_path):
    file = write(tmp_path / "a.conll", "# newdoc id = a\n" + "a X O\nb X O\n\n" * 5 + "# newdoc\nc X O\n")
    assert [len(group) for group in groups(Source(file), True)] == [5, 1]
    monkeypatch.setattr(files, "DOCUMENT_TOKENS", 4)
    assert [len(group) for group in groups(Source(file), True)] == [2, 2, 1, 1]


def test_sentences_before_the_first_boundary_are_a_document(tmp_path):
    file = write(tmp_path / "a.conll", "a X O\n\nb X O\n\n-DOCSTART- X O\nc X O\n\nd X O\n")
    assert [len(group) for group in groups(Source(file), True)] == [2, 2]


def test_entities_in_columns_by_name(run, tmp_path):
    """The files of Universal NER: newdoc comments, tabs, the label in the middle."""
    sentence = "# sent_id = {0}\n1\tIn\tO\t-\t-\n2\t{1}\tB-LOC\t-\tann\n3\t{2}\tI-LOC\t-\tann\n\n"
    pairs = [("New", "York"), ("New", "Delhi"), ("Old", "York"), ("New", "York")]
    parts = [sentence.format(k, *pair) for k, pair in enumerate(pairs)]
    file = write(tmp_path / "a.conll", f"# newdoc id = a\n{parts[0]}{parts[1]}# newdoc id = b\n{parts[2]}{parts[3]}")
    how = ["--columns", "id,word,tag,x,annotator"]
    argv = ["--train", file, *how, "--label", "tag", "--model", tmp_path / "m", "--cutoff", "0"]
    found = run("train", "entities", *argv, *SMALL)
    assert (found.status, found.err) == (0, "")
    found = run("predict", tmp_path / "m", file, *how, "--label", "tag")
    assert (found.out, found.err) == (file.read_text(), "")
    assert json.loads(run("evaluate", tmp_path / "m", file, *how, "--json").out)["sentences"] == 4


def test_inner_scheme_and_forced_labels(entities, run, refuses, tmp_path):
    how = ["--train", entities / "train.conll", "--model", tmp_path / "m", "--inner", "bilou"]
    assert run("train", "entities", *how, *SMALL).status == 0
    assert structron.load(tmp_path / "m").inner == "bilou"
    found = set(column(run("predict", tmp_path / "m", entities / "test.conll").out, 2))
    assert {"O", "B-PER"} <= found <= {f"{x}-{y}" for x in "BI" for y in ("PER", "LOC", "ORG")} | {"O"}
    file = write(tmp_path / "some", "-DOCSTART- X O\nAnn NNP B-ORG\nran VBD _\n")
    assert column(run("predict", entities / "model", file, "--forced").out, 2)[:2] == ["O", "B-ORG"]
    file = write(tmp_path / "none", "-DOCSTART- X O\n\nAnn NNP I-LOC\nran VBD _\n")
    refuses("predict", tmp_path / "m", file, "--forced", says=["forced labels", "bilou", "iob2"])
    how += ["--model", tmp_path / "m2", "--warm-start", tmp_path / "m"]
    refuses("train", "entities", *how, says="--inner cannot be given with --warm-start")


def test_nbest_of_documents(entities, run, tmp_path):
    found = run("predict", entities / "model", entities / "test.conll", "--nbest", "4").out
    candidates = candidates_of(found)
    expected = structron.load(entities / "model").nbest(in_documents(entities / "test.conll"), 4)
    flat = [candidate for best in expected for candidate in best]
    assert [score for _, score, _ in candidates] == pytest.approx([score for _, score in flat], abs=1e-3)
    labels = [column(text.replace("-DOCSTART- -X- O\n", ""), 2) for _, _, text in candidates]
    assert labels == [lines_of([document]) for document, _ in flat]
    file = write(tmp_path / "n.conll", found)
    assert [len(document) for document in in_documents(file)] == [len(document) for document, _ in flat]
    best = "".join(text for rank, _, text in candidates if rank == 1)
    assert best == run("predict", entities / "model", entities / "test.conll").out
