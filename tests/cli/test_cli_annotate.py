"""`structron annotate`, and pipelines and tokenizers of the command line: every format, every mistake."""

import json
import subprocess
import sys

import pytest
from cli_helpers import Ran, Toy, process, write

import structron
from structron.data.toy_english import toy_english, write_conll
from structron.io.doc import Doc, read_docs
from structron.tasks.pipeline import stream
from toy import fresh_docs, toy_docs

FORMATS = ("conllu", "json", "sentences", "tokens", "html")
LINE = "The guard didn't sleep."


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A treebank of toy text, and models of it."""
    found = Toy(tmp_path_factory.mktemp("texts"))
    for name, size, seed in (("train", 60, 3), ("dev", 12, 5), ("test", 24, 8)):
        docs = toy_docs(size, seed)
        write(found.folder / f"{name}.conllu", "".join(doc.to_conllu() for doc in docs))
        write(found.folder / f"{name}.txt", "\n\n".join(doc.text for doc in docs) + "\n")
        write_conll(found / f"{name}.ner", toy_english(size, seed), ("word", "pos", "entity"))
    structron.Pipeline(folds=2).fit(toy_docs(60, 3)).save(found / "pipeline")
    structron.Tokenizer(passes=3, runs=1).fit(toy_docs(60, 3)).save(found / "tokenizer")
    return found


# -- annotate ------------------------------------------------------------------------------------------------------


def test_every_format(run, texts, tmp_path):
    doc = structron.load(texts / "pipeline")((texts.folder / "test.txt").read_text())
    found = {f: run("annotate", texts / "test.txt", "-m", texts / "pipeline", "-f", f) for f in FORMATS}
    assert all(one.status == 0 for one in found.values())
    read = Doc.from_conllu(found["conllu"].out)
    assert read.text == doc.text
    assert [c for s in read for c in s.comments if "sent_id" in c] == [
        f"# sent_id = {k}" for k in range(1, len(doc) + 1)
    ]
    assert Doc.from_json(json.loads(found["json"].out)) == doc
    assert found["sentences"].out.splitlines() == [" ".join(s.text.split()) for s in doc]
    assert found["tokens"].out.splitlines() == [" ".join(t.form for t in s.tokens) for s in doc]
    assert found["html"].out.startswith("<!doctype html>") or found["html"].out.startswith("<!DOCTYPE html>")
    assert run("annotate", texts / "test.txt", "-m", texts / "pipeline", "-o", tmp_path / "out").out == ""
    assert (tmp_path / "out").read_text() == found["conllu"].out


def test_text_and_standard_input(run, texts):
    args = ["annotate", "-m", texts / "pipeline"]
    given = run(*args, "--text", LINE)
    assert given.status == 0, given.err
    assert f"# text = {LINE}\n1\tThe\tthe\tDET\tDT\t" in given.out
    for argv in (args, [*args, "-"]):
        assert run(*argv, stdin=LINE.encode()).out == given.out
    assert run(*args, stdin=b"").out == ""
    assert json.loads(run(*args, "-f", "json", stdin=b" \n").out) == {
        "sentences": [],
        "text": " \n",
        "spaces_before": " \n",
    }
    assert Doc.from_conllu(run(*args, stdin=f"{LINE}\r\n\r\n{LINE}\r\n".encode()).out).text.count("\r\n") == 3


@pytest.mark.parametrize("gap", ["\n\n", "\n\n\n ", "\r\n\r\n"])
def test_long_text_in_blocks_is_written_as_in_one_piece(run, texts, tmp_path, monkeypatch, gap):
    file = write(tmp_path / "long.txt", gap.join(doc.text for doc in toy_docs(40, 9)))
    args = ["annotate", file, "-m", texts / "tokenizer"]
    whole = {f: run(*args, "-f", f).out for f in FORMATS}
    monkeypatch.setattr(stream, "BLOCK_CHARACTERS", 200)
    assert {f: run(*args, "-f", f).out for f in FORMATS} == whole
    assert Doc.from_conllu(whole["conllu"]).text == file.read_bytes().decode()


def test_lines_fast_and_jobs(run, texts):
    args = ["annotate", "-m", texts / "pipeline", "-f", "sentences"]
    text = "the guard slept\nit was late"
    assert run(*args, "--lines", stdin=text.encode()).out == text + "\n"
    plain = run("annotate", texts / "test.txt", "-m", texts / "pipeline")
    assert run("annotate", texts / "test.txt", "-m", texts / "pipeline", "--jobs", "2").out == plain.out
    fast = run("annotate", texts / "test.txt", "-m", texts / "pipeline", "--fast")
    assert fast.status == 0
    assert len(fast.out.splitlines()) == len(plain.out.splitlines())


def test_tokens_and_tags_are_kept(run, refuses, texts):
    args = ["annotate", texts / "test.conllu", "-m", texts / "pipeline"]
    gold = list(read_docs(texts / "test.conllu"))
    words = [word for doc in gold for word in doc.words]
    for keep, same in (("tokens", ("form",)), ("tags", ("form", "lemma", "upos", "xpos", "feats"))):
        found = Doc.from_conllu(run(*args, "--keep", keep).out)
        assert [[getattr(w, n) for n in same] for w in found.words] == [[getattr(w, n) for n in same] for w in words]
        assert [w.head for w in found.words] != [w.head for w in words]
        assert [s.new_document is not False for s in found] == [s.new_document is not False for d in gold for s in d]
    refuses(*args, "--keep", "heads", says="unknown --keep 'heads'; expected one of: tokens, tags")
    refuses("annotate", texts / "test.conllu", "-m", texts / "tokenizer", "--keep", "tags", says="expected a pipeline")
    refuses(*args, "--keep", "tags", "--text", "x", says="--text: cannot be combined with files")
    refuses(*args, "--keep", "tags", "--input", "tokens", says="--keep: expected CoNLL-U")
    refuses(*args, "--input", "pdf", says="unknown --input 'pdf'; expected one of: text, ")


@pytest.mark.parametrize("name", ["vertical", "conll"])
def test_known_tokens_in_other_formats(run, texts, tmp_path, name):
    """What one format wrote, another call reads: the same words get the same tags."""
    args = ["annotate", "-m", texts / "pipeline"]
    whole = Doc.from_conllu(run(*args, "--keep", "tokens", texts / "test.conllu").out)
    file = tmp_path / "given"
    run(*args, "--keep", "tokens", texts / "test.conllu", "--format", name, "-o", file)
    found = Doc.from_conllu(run(*args, "--input", name, file).out)
    named = file.rename(file.with_suffix({"vertical": ".vert"}.get(name, f".{name}")))
    assert run(*args, named).out == found.to_conllu()
    assert run(*args, texts / "test.conllu").out == whole.to_conllu()
    for column in ("form", "upos", "lemma", "head"):
        assert [getattr(word, column) for word in found.words] == [getattr(word, column) for word in whole.words]


def test_what_was_written_is_told(run, texts, tmp_path, monkeypatch):
    args = ["annotate", texts / "test.txt", "-m", texts / "pipeline"]
    out = tmp_path / "out"
    whole = Doc.from_conllu(run(*args).out)
    counts = f"{out}: {len(whole.sentences)} sentences, {len(whole.words)} words written, "
    assert run(*args, "-o", out).err.startswith(counts)
    assert run(*args, "-o", out, "-q").err == ""
    assert run(*args, args[1], "-o", out).err.startswith(
        f"{args[1]}: given more than once; it is read only once\n{counts}"
    )
    monkeypatch.setattr("structron.runtime.progress.LINE_SECONDS", 0.0)
    first = run(*args, "-o", out).err.splitlines()[0]
    assert first.startswith(f"{len(whole.sentences)} sentences, {len(whole.words)} words, ")


def test_a_tokenizer_annotates_too(run, texts):
    found = run("annotate", "-m", texts / "tokenizer", "-f", "tokens", "--text", "It was late. It rained.")
    assert found.out == "It was late .\nIt rained .\n"


def test_mistakes(refuses, texts, toy, tmp_path):
    args = ["annotate", texts / "test.txt", "-m", texts / "pipeline"]
    refuses(*args, "-f", "xml", says="unknown format 'xml'; expected one of: conllu, json")
    refuses("annotate", tmp_path / "none.txt", "-m", texts / "pipeline", says=["none.txt", "cannot be read"])
    refuses(*args, "-o", tmp_path / "no" / "folder", says=str(tmp_path / "no"))
    refuses("annotate", texts / "test.txt", "-m", tmp_path / "none", says="none: no such file or bundled model")
    refuses("annotate", texts / "test.txt", "-m", toy.tagger, says="a tagger model; expected a pipeline or a tokenizer")
    refuses("annotate", "-m", texts / "tokenizer", "--fast", "--text", "x", says="--fast: not available")
    refuses("annotate", write(tmp_path / "l1", b"caf\xe9\n"), "-m", texts / "pipeline", says=":1: not valid")
    refuses("predict", texts / "pipeline", texts / "test.conllu", says="a pipeline model reads plain text")
    refuses("inspect", texts / "pipeline", "--label", "x", says="inspect: not available")
    refuses("inspect", texts / "pipeline", "--part", "cook", says="unknown part 'cook'; expected one of: tokenizer")
    refuses("inspect", texts / "tokenizer", "--part", "parser", says="--part: ")
    refuses("inspect", texts / "tokenizer", "--sentence", "x", says="--sentence: not available")


def test_what_a_tokenizer_learned_is_shown(run, texts):
    found = run("inspect", texts / "tokenizer", "--top", "2")
    assert found.status == 0
    assert "| tokenizer | " in found.out


# -- evaluate ------------------------------------------------------------------------------------------------------


def test_scores_from_text_tokens_and_tags(run, texts):
    args = ["evaluate", texts / "pipeline", texts / "test.conllu", "--json"]
    found = [json.loads(run(*args, *more).out) for more in ([], ["--gold", "tokens"], ["--gold", "tags"])]
    raw, tokens, tags = found
    expected = structron.load(texts / "pipeline").evaluate(toy_docs(24, 8))
    assert (raw["las"], raw["score"], raw["metric"]) == (
        pytest.approx(expected.las),
        pytest.approx(expected.las),
        "las",
    )
    assert (tokens["words"], tags["words"], tags["alltags"]) == (100, 100, 100)
    assert tokens["upos"] < 100
    assert {"entities", "tokens_per_second", "signature"} <= raw.keys()
    assert raw["entities"]["f1"] > 20
    text = run(*args[:-1]).out
    assert "LAS" in text
    assert "entities: precision " in text
    only = json.loads(run("evaluate", texts / "tokenizer", texts / "test.conllu", "--json").out)
    assert only["task"] == "tokenizer"
    assert only["score"] > 90


def test_scores_of_entities_in_another_file(run, refuses, texts, tmp_path):
    bare = fresh_docs(24, 8)
    for sentence in (s for doc in bare for s in doc):
        sentence.entities = []
    file = write(tmp_path / "bare.conllu", "".join(doc.to_conllu() for doc in bare))
    args = ["evaluate", texts / "pipeline", file, "--json"]
    assert "entities" not in json.loads(run(*args).out)
    inside = json.loads(run("evaluate", texts / "pipeline", texts / "test.conllu", "--json").out)
    assert json.loads(run(*args, "--entities", texts / "test.ner").out)["entities"] == inside["entities"]
    refuses(*args, "--entities", texts / "train.ner", says="none of its sentences is in the treebank")
    refuses(*args, "--gold", "words", says="unknown --gold 'words'; expected one of: tokens, tags")
    refuses(*args, "--columns", "a,b", says="--columns: not available")
    refuses("evaluate", texts / "tokenizer", file, "--gold", "tokens", says="--gold: not available")


# -- train ---------------------------------------------------------------------------------------------------------


def test_training_says_which_part_is_at_work(run, texts, tmp_path):
    files = ["--train", texts / "train.conllu", "--dev", texts / "dev.conllu", "--model", tmp_path / "m"]
    found = run("train", "pipeline", *files, "--without", "parser,entities", "--log", tmp_path / "log")
    assert found.status == 0, found.err
    assert "tagger: pass 1/8" in found.err
    assert "lemmatizer: pass 1/3" in found.err
    records = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    names = list(dict.fromkeys(record["part"] for record in records))
    assert names == ["tokenizer", "splitter", "tagger", "morphology", "lemmatizer"]
    assert all("dev" in record for record in records)
    assert run("train", "pipeline", *files, "--without", "parser", "--quiet", "--compact").err == ""


def test_training_goes_on(run, refuses, texts, tmp_path):
    args = ["train", "pipeline", "--train", texts / "dev.conllu", "--model", tmp_path / "m", "--without", "parser"]
    args += ["--checkpoint", tmp_path / "c"]
    assert run(*args).status == 0
    before = (tmp_path / "m").read_bytes()
    refuses(*args, says="--resume")
    refuses(*args, "--resume", "--seed", "2", says="other data")
    assert run(*args, "--resume").status == 0
    assert (tmp_path / "m").read_bytes() == before


def test_entities_beside_a_treebank(run, refuses, texts, tmp_path):
    docs = fresh_docs(60, 3)
    for sentence in (s for doc in docs for s in doc):
        sentence.entities = []
    file = write(tmp_path / "bare.conllu", "".join(doc.to_conllu() for doc in docs))
    args = ["train", "pipeline", "--train", file, "--model", tmp_path / "m", "--without", "parser,tokenizer"]
    assert run(*args, "--entities", texts / "train.ner").status == 0
    assert "entities" in structron.load(tmp_path / "m").model_.trained
    found = run(*args, "--entities", texts / "train.ner", "--train", texts / "train.conllu")
    assert found.status == 0
    refuses(*args, "--entities", texts / "train.conllu", says="no column of entity labels")
    refuses("train", "tokenizer", *args[2:6], "--entities", texts / "train.ner", says="--entities: not available for")


TREE = "1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n2\tb\tb\tY\tY\t_\t1\tdep\t_\t_\n\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read"),
        ("", "the file is empty"),
        ("\n# nothing\n\n", "no sentences"),
        (TREE.replace("2\tb", "3\tb"), ":2: "),
        (TREE.replace("\t1\tdep", "\t2\tdep"), ":2: word 2 (b): "),
        (TREE.replace("\t1\tdep", "\t9\tdep"), ":2: word 2 (b): "),
        (TREE.replace("\t1\tdep", "\tx\tdep"), ":2: head 'x' is not a number"),
        (TREE.replace("\t1\tdep", f"\t{'9' * 5000}\tdep"), ":2: head '9999"),
        (TREE.replace("\t1\tdep", "\t_\tdep"), ":2: head '_' is not a number"),
        (TREE.replace("\t0\troot", "\t2\troot"), ": "),
        ("1\ta\n", ":1: "),
        (TREE.encode() + b"1\t\xff" + b"\t_" * 8 + b"\n\n", ":4: not valid"),
    ],
)
@pytest.mark.parametrize("task", ["pipeline", "tokenizer"])
def test_treebanks_that_are_wrong(refuses, tmp_path, task, text, says):
    file = tmp_path / "bad.conllu" if text is None else write(tmp_path / "bad.conllu", text)
    refuses("train", task, "--train", file, "--model", tmp_path / "m", says=[str(file), says])
    assert not (tmp_path / "m").exists()


def test_options_that_are_refused(refuses, texts, tmp_path):
    args = ["--train", texts / "train.conllu", "--model", tmp_path / "m"]
    for task, option in (
        ("pipeline", ["--passes", "3"]),
        ("pipeline", ["--templates", "tagger"]),
        ("pipeline", ["--columns", "a,b"]),
        ("pipeline", ["--warm-start", texts / "pipeline"]),
        ("tokenizer", ["--label", "upos"]),
        ("tokenizer", ["--columns", "a,b"]),
        ("tokenizer", ["--warm-start", texts / "tokenizer"]),
        ("lemmatizer", ["--beam", "3"]),
    ):
        refuses("train", task, *args, *option, says=f"{option[0]}: not available")
    refuses("train", "pipeline", *args, "--without", "poet", says="'poet'")
    refuses("train", "pipeline", *args, "--format", "conll", says="expected CoNLL-U")
    refuses("train", "splitter", *args, says="unknown task 'splitter'")


def test_ctrl_c_saves_the_parts_that_are_trained(texts, tmp_path):
    argv = ["train", "pipeline", "--train", texts / "train.conllu", "--model", tmp_path / "m"]
    command = [sys.executable, "-c", KILLED, *map(str, argv)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 130, done.stderr
    assert "interrupted: what is trained so far (tokenizer, splitter, tagger) is saved\n" in done.stderr
    assert structron.load(tmp_path / "m")(LINE).words[0].upos != "_"


KILLED = """
import os, signal, sys
from structron.cli import main
from structron.runtime.progress import Progress
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
begin = Progress.begin_pass
def begin_pass(self, number, passes, examples):
    begin(self, number, passes, examples)
    if (self.part, number) == ("tagger", 3):
        os.kill(os.getpid(), signal.SIGINT)
Progress.begin_pass = begin_pass
sys.exit(main(sys.argv[1:]))
"""


def test_as_a_process(texts):
    found = process("annotate", "-m", texts / "tokenizer", "-f", "tokens", "--text", "It was late.")
    assert Ran(found.returncode, found.stdout, "") == Ran(0, "It was late .\n", "")
