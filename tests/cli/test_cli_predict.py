"""`structron predict`: every other byte is kept, whatever the input; margins, forced labels and n-best lists."""

import gzip
from pathlib import Path

import pytest
from cli_helpers import AWKWARD_CONLL, AWKWARD_CONLLU, Ran, candidates_of, column, write

import structron
from structron.io import read


def test_every_other_byte_is_kept_in_conll(toy, tmp_path, run):
    file, out = write(tmp_path / "a.conll", AWKWARD_CONLL), tmp_path / "o"
    assert run("predict", toy.chunker, file, "--output", out, "--quiet") == Ran(0, "", "")
    labels = structron.load(toy.chunker).model_.labels
    for old, new in zip(AWKWARD_CONLL.split(b"\n"), out.read_bytes().split(b"\n"), strict=True):
        head, label, tail = old.rpartition(b"O")
        if label and b"DOCSTART" not in old:
            assert new.startswith(head)
            assert new.endswith(tail)
            assert new[len(head) : len(new) - len(tail)].decode() in labels
        else:
            assert new == old


def test_every_other_byte_is_kept_in_conllu(toy, tmp_path, run):
    file, out = write(tmp_path / "a.conllu", AWKWARD_CONLLU), tmp_path / "o.conllu"
    assert run("predict", toy.tagger, file, "-o", out).status == 0
    before, after = AWKWARD_CONLLU.decode().split("\n"), out.read_text().split("\n")
    for old, new in zip(before, after, strict=True):
        if "\t?\t" in old:
            head, tail = old.split("?")
            assert new.startswith(head)
            assert new.endswith(tail)
            assert new != old
        else:
            assert new == old


def test_labels_are_those_of_python_whatever_the_input(toy, tmp_path, run):
    text = Path(toy / "test.conll").read_text()
    labeler = structron.load(toy.chunker)
    sentences = [[line.split()[:2] for line in block.split("\n")] for block in text.strip().split("\n\n")]
    expected = [label for labels in labeler.predict(sentences) for label in labels]
    bare = write(tmp_path / "bare.conll", "".join(" ".join(line.split()[:2]) + "\n" for line in text.split("\n")))
    packed = write(tmp_path / "packed.gz", gzip.compress(text.encode()))
    found = {
        "file": run("predict", toy.chunker, toy / "test.conll").out,
        "no label": run("predict", toy.chunker, bare).out,
        "gzip": run("predict", toy.chunker, packed).out,
        "pipe": run("predict", toy.chunker, "-", stdin=text.encode()).out,
        "no name": run("predict", toy.chunker, stdin=text.encode()).out,
    }
    for name, out in found.items():
        assert column(out, 2) == expected, name
    assert run("predict", toy.chunker, packed, "--output", tmp_path / "out.gz").out == ""
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == found["file"]


def test_standard_input_has_the_format_of_training(toy, run):
    text = Path(toy / "test.conllu").read_bytes()
    found = run("predict", toy.tagger, stdin=text)
    assert found.out == run("predict", toy.tagger, toy / "test.conllu").out
    assert run("evaluate", toy.tagger, "-", stdin=text).status == 0
    assert found.out.count("\n") == text.count(b"\n")


def test_jobs_do_not_change_the_output(toy, tmp_path, run):
    big = write(tmp_path / "big.conll", Path(toy / "test.conll").read_bytes() * 150)
    one = run("predict", toy.chunker, big, "--confidence").out
    assert len(column(one, 0)) > 100_000
    assert run("predict", toy.chunker, big, "--confidence", "--jobs", "3").out == one


def test_confidence(toy, tmp_path, run):
    text = Path(toy / "test.conll").read_text()
    rows = [[line.split()[:2] for line in block.split("\n")] for block in text.strip().split("\n\n")]
    _, margins = structron.load(toy.chunker).predict_with_margins(rows)
    expected = [f"{margin:.4g}" for line in margins for margin in line]
    assert column(run("predict", toy.chunker, toy / "test.conll", "--confidence").out, 3) == expected
    bare = write(tmp_path / "bare.conll", "The\tDT\ndog\tNN\n")
    first = run("predict", toy.chunker, bare, "--confidence").out.split("\n")[0].split("\t")
    assert len(first) == 4
    assert float(first[3]) > 0


def test_confidence_in_conllu_goes_to_misc(toy, tmp_path, run):
    file = write(tmp_path / "a.conllu", AWKWARD_CONLLU)
    lines = [line.split("\t") for line in run("predict", toy.tagger, file, "--confidence").out.split("\n")]
    misc = [line[9] for line in lines if len(line) == 10 and line[0].isdigit()]
    assert misc[0].startswith("A=b|Margin=")
    assert misc[0].count("Margin") == 1
    assert misc[1].startswith("Margin=")
    assert lines[2][9] == "SpaceAfter=Yes"


def test_forced_labels_stay(toy, tmp_path, run, refuses):
    free = write(tmp_path / "free.conll", "The DT _\ndog NN _\nof IN _\nRome NNP _\n")
    given = write(tmp_path / "given.conll", "The DT _\ndog NN B-VP\nof IN _\nRome NNP _\n")
    usual = column(run("predict", toy.chunker, free).out, 2)
    assert column(run("predict", toy.chunker, free, "--forced").out, 2) == usual
    found = run("predict", toy.chunker, given, "--forced", "--confidence").out
    assert column(found, 2)[1] == "B-VP"
    assert column(found, 3)[1] == "inf"
    assert column(run("predict", toy.chunker, given).out, 2) == usual
    unheard = write(tmp_path / "unheard.conll", "The DT _\ndog NN B-QP\n")
    refuses("predict", toy.chunker, unheard, "--forced", says=[f"{unheard}:2", "'B-QP'", "B-NP"])
    refuses("predict", toy.chunker, "--forced", stdin=b"The DT\n", says="no column 'label'")


def test_columns_by_name(toy, run, refuses):
    text = b"x The _ DT\nx dog _ NN\n"
    found = run("predict", toy.chunker, "--columns", "id,word,label,pos", stdin=text)
    assert found.out.splitlines() == ["x The B-NP DT", "x dog I-NP NN"]
    found = run("predict", toy.chunker, "--columns", "id,word,guess,pos", "--label", "guess", stdin=text)
    assert found.out.splitlines() == ["x The B-NP DT", "x dog I-NP NN"]
    found = run("predict", toy.chunker, "--columns", "id,form,other,pos", stdin=text)
    assert found.out.splitlines() == ["x The _ DT B-NP", "x dog _ NN I-NP"]
    refuses("predict", toy.chunker, stdin=text, says=["<stdin>:1: 4 columns", "word, pos, label", "--columns"])
    refuses("predict", toy.chunker, stdin=b"The\n", says=["<stdin>", "no column 'pos'"])
    names = ["--columns", "id,word,label,tag"]
    refuses("predict", toy.chunker, *names, stdin=text, says=["no column 'pos'", "id, word, label, tag"])
    refuses("predict", toy.chunker, *names, "--label", "x", stdin=text, says="no column 'x'")
    refuses("predict", toy.chunker, "--format", "conllu", stdin=AWKWARD_CONLLU, says=["no column 'label'", "--label"])


def test_models_cross_formats_by_name(toy, run):
    words = "Her\nactor\n\nHer\n"
    found = run("predict", toy.tagger, "--format", "conll", stdin=words.encode())
    assert column(found.out, 0) == words.split()
    assert set(column(found.out, 1)) <= set(structron.load(toy.tagger).model_.labels)
    names = "id,word,lemma,upos,pos,label,head,deprel,deps,misc"
    found = run("predict", toy.chunker, toy / "test.conllu", "--columns", names)
    assert column(found.out, 5, "\t") == column(run("predict", toy.chunker, toy / "test.conll").out, 2)


def test_failed_prediction_leaves_the_old_output(toy, tmp_path, refuses):
    file, out = write(tmp_path / "a.conll", "a DT O\nb O\n"), write(tmp_path / "out", "precious")
    refuses("predict", toy.chunker, file, "-o", out, says=f"{file}:2: 2 columns where 3 were expected")
    assert out.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.conll", "out"]
    refuses("predict", toy.chunker, file, "-o", tmp_path / "no" / "out", says="no folder")


def test_nbest_of_sentences(toy, run, tmp_path):
    expected = structron.load(toy.chunker).nbest([[row[:2] for row in s.rows] for s in read(toy / "test.conll")], 3)
    found = run("predict", toy.chunker, toy / "test.conll", "--nbest", "3")
    assert (found.status, found.err) == (0, "")
    candidates = candidates_of(found.out)
    assert [rank for rank, _, _ in candidates] == [k for best in expected for k in range(1, len(best) + 1)]
    flat = [candidate for best in expected for candidate in best]
    assert [score for _, score, _ in candidates] == pytest.approx([score for _, score in flat], abs=1e-3)
    assert [column(text, 2) for _, _, text in candidates] == [labels for labels, _ in flat]
    read_back = [sentence.rows for sentence in read(write(tmp_path / "n.conll", found.out))]
    assert [[row[2] for row in rows] for rows in read_back] == [labels for labels, _ in flat]
    best = "".join(text for rank, _, text in candidates if rank == 1)
    assert best == run("predict", toy.chunker, toy / "test.conll").out


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("tail", ["", "{0}", "{0}{0}", "{0}{0}# at the very end", "{0}{0}# at the very end{0}"])
def test_nbest_keeps_lines_and_ends_every_candidate(toy, run, tmp_path, end, tail):
    text = f"\ufeff# text = The dog{end}The DT{end}dog NN{end}{end}# newdoc{end}It PRP{end}ran VBD" + tail.format(end)
    file = write(tmp_path / "a.conll", text)
    found = run("predict", toy.chunker, file, "--nbest", "2").out
    assert found.count("\ufeff") == 1
    assert found.startswith(f"\ufeff# nbest = 1{end}# score = ")
    candidates = candidates_of(found)
    assert [rank for rank, _, _ in candidates] == [1, 2, 1, 2]
    assert all(text.startswith(("# text = The dog" + end, "# newdoc" + end)) for _, _, text in candidates)
    assert all(line.endswith(end) for line in found.splitlines(keepends=True))
    again = list(read(write(tmp_path / "b.conll", found)))
    assert [[row[0] for row in x.rows] for x in again] == [["The", "dog"]] * 2 + [["It", "ran"]] * 2
    assert [x.new_document for x in again] == [False, False, True, True]


def test_nbest_of_conllu(toy, run, tmp_path):
    found = run("predict", toy.tagger, toy / "test.conllu", "--nbest", "2").out
    again = list(read(write(tmp_path / "n.conllu", found)))
    assert [[row[1] for row in x.rows] for x in again[::2]] == [[row[1] for row in x.rows] for x in again[1::2]]
    assert all(x.lines[0].startswith("# nbest = ") for x in again)


def test_predictions_that_cannot_be(toy, refuses):
    file = toy / "test.conll"
    refuses(
        "predict", toy.chunker, file, "--beam", "4", says="beam: 4; expected none: the model was trained with exact"
    )
    for option in ("--confidence", "--forced"):
        refuses("predict", toy.chunker, file, "--nbest", "2", option, says=["--nbest", "--confidence", "--forced"])
