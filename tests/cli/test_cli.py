"""The command line, mostly through `main` in this process; what only a process can show, through `structron` itself."""

import contextlib
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import structron
from structron.cli import corpus, evaluate, inspect, main, predict, train
from structron.cli import tasks as contract
from structron.cli.corpus import Source, View
from structron.data.toy_english import toy_english, write_conll, write_conllu
from structron.evaluate import attachment_scores
from structron.io import modelfile, read
from structron.tasks.storage import TASKS

SCRIPT = Path(sys.executable).with_name("structron")
SMALL = ["--passes", "3", "--quiet"]
DOCUMENTS = View(["word", "pos", "label"], ["label"], "word", {"word"}, documents=True)


@dataclass(frozen=True)
class Toy:
    """A small corpus in both formats, and a model for each."""

    folder: Path

    def __truediv__(self, name: str) -> str:
        return str(self.folder / name)

    @property
    def chunker(self) -> str:
        return self / "chunker.structron"

    @property
    def tagger(self) -> str:
        return self / "tagger.structron"


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    found = Toy(tmp_path_factory.mktemp("toy"))
    corpus = toy_english(400, seed=3)
    for name, lo, hi in (("train", 0, 280), ("dev", 280, 340), ("test", 340, 400)):
        write_conll(found / f"{name}.conll", corpus[lo:hi])
        write_conllu(found / f"{name}.conllu", corpus[lo:hi])
    files = ["--train", found / "train.conll", "--dev", found / "dev.conll"]
    assert main(["train", "chunker", *files, "--model", found.chunker, *SMALL]) == 0
    files = ["--train", found / "train.conllu", "--dev", found / "dev.conllu"]
    assert main(["train", "tagger", *files, "--model", found.tagger, *SMALL]) == 0
    return found


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]):
    """Run a command in this process."""

    def command(*argv: str | Path, stdin: bytes | None = None) -> Ran:
        capfdbinary.readouterr()
        with contextlib.ExitStack() as stack:
            if stdin is not None:
                patch = stack.enter_context(pytest.MonkeyPatch.context())
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            status = main([str(argument) for argument in argv])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Ran(status, out.decode(), err.decode())

    return command


@pytest.fixture
def refuses(run):
    """Run a command that is the user's mistake: exit status 2 and one line, which has these pieces."""

    def command(*argv: str | Path, says: str | list[str], stdin: bytes | None = None) -> None:
        found = run(*argv, stdin=stdin)
        assert found.status == 2, found
        assert found.out == ""
        lines = found.err.splitlines()
        assert len(lines) == 1, found.err
        assert lines[0].startswith("structron: error: ")
        for piece in [says] if isinstance(says, str) else says:
            assert str(piece) in lines[0]

    return command


def process(*argv: str | Path, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "structron", *map(str, argv)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def column(text: str, place: int, separator: str | None = None) -> list[str]:
    return [line.split(separator)[place] for line in text.splitlines() if line and not line.startswith("#")]


def tensors(path: str | Path) -> dict[str, np.ndarray]:
    return modelfile.load(path)[1]


def same_tensors(one: str | Path, other: str | Path) -> bool:
    first, second = tensors(one), tensors(other)
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


# -- the program itself --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [["--help"], ["train", "--help"], ["predict", "--help"], []])
def test_help_needs_neither_numpy_nor_numba(argv):
    code = (
        "import sys; from structron.cli.app import main; status = main(sys.argv[1:]); "
        "sys.exit(status or int(bool({'numpy', 'numba', 'sklearn'} & set(sys.modules))))"
    )
    found = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "Usage: structron" in found.stdout


@pytest.mark.skipif(not SCRIPT.exists(), reason="the package is not installed as a program")
def test_installed_program(toy):
    found = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, check=True)
    assert found.stdout == f"structron {structron.__version__}\n"
    found = subprocess.run([SCRIPT, "evaluate", toy.chunker, "nowhere.conll"], capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr.startswith("structron: error: nowhere.conll: ")
    assert found.stderr.count("\n") == 1


def test_one_sentence_through_a_pipe(toy):
    found = process("predict", toy.chunker, input="The DT\ndog NN\nsleeps VBZ\n")
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[:2] == ["The DT B-NP", "dog NN I-NP"]


def test_closed_pipe_is_no_error(toy, tmp_path):
    big = write(tmp_path / "big.conll", Path(toy / "test.conll").read_bytes() * 300)
    command = [sys.executable, "-m", "structron", "predict", toy.chunker, str(big)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_full_disk_is_one_line(toy):
    command = [sys.executable, "-m", "structron", "evaluate", toy.chunker, toy / "test.conll"]
    with open("/dev/full", "w") as full:
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr == "structron: error: [Errno 28] No space left on device\n"


def test_interrupted_training_saves_the_best_model(toy, tmp_path):
    model, log = tmp_path / "m.structron", tmp_path / "log"
    never_learned = "it PRP B-NP\n\nit PRP O\n\n"
    train = write(tmp_path / "train.conll", Path(toy / "train.conll").read_text() + never_learned)
    files = ["--train", str(train), "--dev", toy / "dev.conll", "--model", str(model), "--log", str(log)]
    running = subprocess.Popen(
        [sys.executable, "-m", "structron", "train", "chunker", *files, "--passes", "1000000"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 200
        while not (log.exists() and log.read_text().count("\n") >= 3) and time.monotonic() < deadline:
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "interrupted: the best model so far" in err
    assert "Traceback" not in err
    labeler = structron.load(model)
    assert labeler.stopped_ == "interrupted"
    scores = {record["pass"]: record["dev"] for record in labeler.history_}
    assert scores.get(labeler.best_pass_) in (None, max(scores.values()))


def test_interrupt_elsewhere(run, toy, monkeypatch):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate, "run", interrupted)
    assert run("evaluate", toy.tagger, "x") == Ran(130, "", "structron: interrupted\n")


def test_bug_is_one_line_unless_asked_for_more(run, toy, monkeypatch):
    def broken(**_):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(evaluate, "run", broken)
    found = run("evaluate", toy.tagger, "x")
    assert found.status == 1
    assert found.err == "structron: error: RuntimeError: two lines (a bug? -v shows the traceback)\n"
    assert "Traceback" in run("evaluate", toy.tagger, "x", "-v").err


def test_mistake_shows_its_traceback_if_asked_for(run, toy):
    found = run("evaluate", toy.tagger, "nowhere", "-v")
    assert found.status == 2
    assert "Traceback" in found.err
    assert found.err.splitlines()[-1].startswith("structron: error: nowhere: ")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["dance"], "dance"),
        (["train"], "TASK"),
        (["train", "tagger", "--model", "m"], "--train"),
        (["train", "tagger", "--train", "t", "--model", "m", "--average", "median"], "mean"),
        (["train", "tagger", "--train", "t", "--model", "m", "--order", "3"], "--order"),
        (["train", "tagger", "--train", "t", "--model", "m", "--passes", "0"], "--passes"),
        (["predict", "m", "--jobs", "0"], "--jobs"),
        (["inspect", "m", "--top", "many"], "--top"),
        (["train", "tagger", "--train", "t", "--model", "m", "--update", "late"], "max-violation"),
        (["train", "parser", "--train", "t", "--model", "m", "--nonprojective", "drop"], "lift"),
    ],
)
def test_usage_errors(refuses, argv, says):
    refuses(*argv, says=[says, "--help"])


# -- train ---------------------------------------------------------------------------------------------------------


def test_train_tells_what_it_does(run, toy, tmp_path):
    model, log = tmp_path / "m.structron", tmp_path / "log.jsonl"
    files = ["--train", toy / "train.conll", "--dev", toy / "dev.conll", "--model", model, "--log", log]
    found = run("train", "chunker", *files, "--passes", "2", "--seed", "7", "--jobs", "2")
    assert found.status == 0
    assert found.out == ""
    lines = [line for line in found.err.splitlines() if not line.startswith("compiling")]
    assert lines[0] == "training on several cores is not available yet: training on one, scoring dev data on 2"
    assert [line.split("  ")[0] for line in lines[1:3]] == ["pass 1/2", "pass 2/2"]
    labeler = structron.load(model)
    assert lines[3].startswith(f"{model}: ")
    assert lines[3].endswith(labeler.signature_)
    for piece in ("kB", f"best pass {labeler.best_pass_} of 2", "dev f1 ", " s | "):
        assert piece in lines[3]
    assert "seed 7" in labeler.signature_
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert records == labeler.history_
    assert {"pass", "updates", "tokens", "seconds", "tokens_per_second", "dev"} <= records[0].keys()


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
    assert labeler.extractor_.columns == ["word", "pos", "chunk"]
    assert [str(t) for t in labeler.extractor_.templates][:3] == ["w[0]", "pos[0]", "pos[-1]|pos[0]&y"]
    assert {name: len(g) for name, g in labeler.extractor_.gazetteers.items()} == {"gaz_LOC": 3, "gaz_PER": 1}
    labels = labeler.model_.labels
    forbidden = {(([None, *labels])[p], labels[y]) for p, y in np.argwhere(~labeler.model_.allowed)}
    assert forbidden == {("O", "B-PP"), ("B-PP", "B-PP")}


def test_defaults_are_those_of_the_task(toy):
    labeler, fresh = structron.load(toy.chunker), structron.Chunker()
    assert (labeler.order, labeler.average, labeler.seed) == (fresh.order, fresh.average, fresh.seed)
    assert labeler.source_ == {"format": "conll"}
    assert structron.load(toy.tagger).extractor_.label == "upos"


def test_default_training_equals_python(run, toy, tmp_path):
    rows = [
        [line.split() for line in block.split("\n")] for block in Path(toy / "train.conll").read_text().split("\n\n")
    ]
    sentences = [sentence for sentence in rows if sentence != [[]]]
    structron.Chunker(passes=2).fit(sentences).save(tmp_path / "python")
    run("train", "chunker", "--train", toy / "train.conll", "--model", tmp_path / "m", "--passes", "2")
    assert same_tensors(tmp_path / "python", tmp_path / "m")


def test_resumed_training_equals_uninterrupted(run, toy, tmp_path):
    files = ["--train", toy / "train.conll", "--dev", toy / "dev.conll"]
    whole, parts, folder = tmp_path / "whole", tmp_path / "parts", tmp_path / "checkpoint"
    log = tmp_path / "log"
    run("train", "chunker", *files, "--model", whole, "--passes", "4")
    first = ["--model", parts, "--checkpoint", folder, "--log", log]
    assert run("train", "chunker", *files, *first, "--passes", "2").status == 0
    assert run("train", "chunker", *files, *first, "--passes", "4", "--resume").status == 0
    assert same_tensors(whole, parts)
    assert [json.loads(line)["pass"] for line in log.read_text().splitlines()] == [1, 2, 3, 4]


def test_checkpoints_are_not_mixed_up(refuses, run, toy, tmp_path):
    files = ["--train", toy / "test.conll", "--model", tmp_path / "m", "--checkpoint", tmp_path / "c", *SMALL]
    assert run("train", "chunker", *files).status == 0
    refuses("train", "chunker", *files, says=["holds a checkpoint already", "--resume"])
    refuses("train", "chunker", *files, "--resume", "--seed", "8", says="belongs to other data or options")
    refuses(
        "train", "chunker", "--train", toy / "test.conll", "--model", tmp_path / "m", "--resume", says="--checkpoint"
    )
    occupied = write(tmp_path / "file", "")
    args = ["--train", toy / "test.conll", "--model", tmp_path / "m", "--checkpoint", occupied]
    refuses("train", "chunker", *args, says=[occupied, "checkpoint folder"])


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


def test_warm_start_keeps_forbidden_transitions_and_resumes(run, toy, tmp_path):
    files, base = ["--train", toy / "test.conll"], tmp_path / "base"
    run("train", "chunker", *files, "--model", base, "--forbid", "O B-PP", *SMALL)
    warm = ["train", "chunker", *files, "--warm-start", base]
    run(*warm, "--model", tmp_path / "whole", "--passes", "3")
    parts = ["--model", tmp_path / "parts", "--checkpoint", tmp_path / "c"]
    run(*warm, *parts, "--passes", "1")
    assert run(*warm, *parts, "--passes", "3", "--resume").status == 0
    assert same_tensors(tmp_path / "whole", tmp_path / "parts")
    labeler = structron.load(tmp_path / "parts")
    labels = labeler.model_.labels
    assert not labeler.model_.allowed[labels.index("O") + 1, labels.index("B-PP")]


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
    refuses(*args, "--label", "feats", says=["train.conllu", "label column is empty"])
    refuses(*args, "--label", "form", says="cannot be the label")
    args[1] = "chunker"
    refuses(*args, says=["train.conllu", "--label"])


def test_latin1(run, refuses, tmp_path):
    text = "".join(f"{word} {tag}\n\n" for word, tag in (("café", "N"), ("naïve", "A"), ("à", "P"), ("là", "P")) * 5)
    file = write(tmp_path / "l.conll", text.encode("latin-1"))
    args = ["train", "tagger", "--train", file, "--model", tmp_path / "m", *SMALL]
    refuses(*args, says=[f"{file}:1: not valid utf-8", "--encoding"])
    assert run(*args, "--encoding", "iso-8859-1").status == 0
    assert run("predict", tmp_path / "m", file, "--encoding", "iso-8859-1", "-o", tmp_path / "out").status == 0
    assert (tmp_path / "out").read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read"),
        ("", "the file is empty"),
        ("\n\n# only\n\n", "no sentences"),
        ("a O\nb O\n", "one label only (O)"),
        ("a X O\nb O\n", ":2: 2 columns where 3 were expected"),
        ("word\n", ":1: 1 column;"),
        (b"a X\nb\xff Y\n", ":2: not valid utf-8 (byte 0xff)"),
        (b"\x1f\x8bnot gzip", "damaged gzip file"),
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
        ("a X\n", "no label column 'label' among word, pos"),
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
        (["--columns", "word,word,chunk"], "a name stands twice"),
        (["--label", "tag"], ["'tag'", "word, pos, label"]),
        (["--format", "xml"], ["'xml'", "conll, conllu"]),
        (["--format", "conllu"], "1 column between tabs where 10 were expected"),
        (["--encoding", "klingon"], "unknown encoding 'klingon'"),
        (["--templates", "nonsense"], ["'nonsense'", "collins-np"]),
        (["--gazetteer", "LOC"], "TYPE=FILE"),
        (["--gazetteer", "LOC=nowhere"], "nowhere: no such file"),
        (["--forbid", "A"], "expected a label and a next label"),
        (["--forbid", "A B"], ["'A'", "B-NP"]),
        (["--log", "nowhere/log"], ["nowhere/log", "no folder"]),
        (["--warm-start", "nowhere"], "nowhere: cannot read the model"),
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


@pytest.mark.parametrize("alpha", ["0", "1.5", "-1", "nan", "much"])
def test_margins_that_cannot_be(refuses, toy, tmp_path, alpha):
    args = ["--train", toy / "train.conll", "--model", tmp_path / "m", "--alma", alpha]
    refuses("train", "segments", *args, says=[f"--alma {alpha}", "above 0 and up to 1, or none"])
    assert not (tmp_path / "m").exists()


def test_longest_is_for_segments(refuses, toy, tmp_path):
    args = ["--train", toy / "train.conll", "--model", tmp_path / "m", "--longest", "4"]
    refuses("train", "chunker", *args, says=["--longest: not an option of the chunker", "works with segments"])


@pytest.mark.parametrize("task", ["graph-parsers", "poet"])
def test_tasks_that_do_not_exist(refuses, task):
    refuses("train", task, "--train", "t", "--model", "m", says=[repr(task), "tagger, chunker"])


def test_model_path_is_checked_before_the_data(refuses, tmp_path):
    for path, says in ((tmp_path / "no" / "m", "no folder"), (tmp_path, "is a folder")):
        refuses("train", "tagger", "--train", tmp_path / "missing", "--model", path, says=[path, says])


# -- predict -------------------------------------------------------------------------------------------------------

AWKWARD_CONLL = (
    b"\xef\xbb\xbf-DOCSTART- -X- O\r\n\r\n The  DT   O \r\ndog NN O\r\n\r\n \r\n"
    b"# a longer comment\r\n# # O\r\nran\tVBD\tO\r\n"
)
AWKWARD_CONLLU = (
    b"# newdoc id = d\n# text = Don't go\n1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=Yes\n"
    b"1\tDo\tdo\t?\tVB\t_\t3\taux\t_\tA=b|Margin=9\n2\tn't\tnot\t?\tRB\t_\t3\tadvmod\t_\t_\n"
    b"3\tgo\tgo\t?\tVB\t_\t0\troot\t_\t_\n3.1\tthere\t_\tADV\t_\t_\t_\t_\t3:x\t_\n\n\n"
)


def test_every_other_byte_is_kept_in_conll(toy, tmp_path, run):
    file, out = write(tmp_path / "a.conll", AWKWARD_CONLL), tmp_path / "o"
    assert run("predict", toy.chunker, file, "--output", out) == Ran(0, "", "")
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
    refuses("predict", toy.chunker, "--forced", stdin=b"The DT\n", says="no label column")


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
    refuses("predict", toy.chunker, *names, "--label", "x", stdin=text, says="no label column 'x'")
    refuses("predict", toy.chunker, "--format", "conllu", stdin=AWKWARD_CONLLU, says=["no label column", "--label"])


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


def test_very_long_sentence(toy, tmp_path, run):
    file = write(tmp_path / "long.conll", "dog NN O\n" * 100_000)
    out = tmp_path / "out"
    assert run("predict", toy.chunker, file, "-o", out).status == 0
    assert out.read_text().count("\n") == 100_000


def test_voted_model_has_no_margins(toy, tmp_path, run, refuses):
    model = tmp_path / "m"
    args = ["--train", toy / "test.conll", "--model", model, "--average", "voted"]
    assert run("train", "chunker", *args, *SMALL).status == 0
    assert run("predict", model, toy / "dev.conll").status == 0
    refuses("predict", model, toy / "dev.conll", "--confidence", says="a voted model has no margins")
    refuses("inspect", model, "--sentence", "The/DT", says="a voted model")


# -- models that are none ------------------------------------------------------------------------------------------


def test_bad_models(toy, tmp_path, refuses):
    good = Path(toy.chunker).read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    header, arrays = modelfile.load(toy.chunker)
    modelfile.save(tmp_path / "other", {**header, "task": "poet"}, arrays)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modelfile, "FORMAT", 99)
        modelfile.save(tmp_path / "future", header, arrays)
    write(tmp_path / "cut", good[: len(good) // 2])
    write(tmp_path / "flipped", bytes(flipped))
    write(tmp_path / "empty", b"")
    write(tmp_path / "text", b"hello, I am no model")
    says = {
        "missing": "cannot read the model",
        "cut": "",
        "flipped": "damaged model file",
        "empty": "not a structron model",
        "text": "not a structron model",
        "future": "format 99",
        "other": "unknown task 'poet'",
    }
    for name, piece in says.items():
        for command in (["predict"], ["evaluate"], ["inspect"]):
            file = [] if command == ["inspect"] else [toy / "test.conll"]
            refuses(*command, tmp_path / name, *file, says=[tmp_path / name, piece])
    refuses("predict", tmp_path, toy / "test.conll", says="is a folder")


# -- evaluate ------------------------------------------------------------------------------------------------------


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


def test_labels_that_training_never_saw_are_wrong(toy, tmp_path, run):
    file = write(tmp_path / "new.conll", "The DT B-NEW\ndog NN I-NEW\n")
    scores = json.loads(run("evaluate", toy.chunker, file, "--json").out)
    assert (scores["f1"], scores["accuracy"], scores["per_type"]["NEW"]["gold"]) == (0, 0, 1)


def test_evaluation_needs_labels(toy, tmp_path, refuses):
    refuses("evaluate", toy.chunker, write(tmp_path / "a", "The DT\n"), says=[tmp_path / "a", "no label column"])
    empty = write(tmp_path / "b", "The DT _\n")
    refuses("evaluate", toy.chunker, empty, says=[empty, "label column is empty"])
    refuses("evaluate", toy.chunker, tmp_path / "c", says=[tmp_path / "c", "cannot be read"])


# -- documents and n-best lists ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def entities(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """The toy corpus with entities in documents, and a model."""
    found = Toy(tmp_path_factory.mktemp("entities"))
    for seed, (name, size) in enumerate({"train": 280, "dev": 60, "test": 60}.items()):
        write_conll(found / f"{name}.conll", toy_english(size, seed), ("word", "pos", "entity"))
    files = ["--train", found / "train.conll", "--dev", found / "dev.conll"]
    assert main(["train", "entities", *files, "--model", found / "model", *SMALL]) == 0
    return found


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
    labelled = [
        structron.Document(s.rows for s in group)
        for group in corpus.groups(Source(entities / "train.conll"), DOCUMENTS)
    ]
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
    says = f"{file}: no document boundaries (-DOCSTART- or # newdoc lines): each sentence is a document\n"
    found = run("train", "entities", "--train", file, "--dev", file, "--model", model, "--passes", "2")
    assert found.status == 0
    assert found.err.count(says) == 2
    assert run("train", "entities", "--train", file, "--model", model, "--passes", "2", "--quiet").err == ""
    whole = run("predict", model, file)
    assert whole.err == says
    assert run("evaluate", model, file).err == says
    sentences = [[row[:2] for row in sentence.rows] for sentence in read(file)]
    assert column(whole.out, 2) == lines_of([structron.load(model).predict(sentences)])
    monkeypatch.setattr(corpus, "DOCUMENT_TOKENS", 30)
    assert run("predict", model, file).out == whole.out


def test_documents_without_end_are_cut(monkeypatch, tmp_path):
    file = write(tmp_path / "a.conll", "# newdoc id = a\n" + "a X O\nb X O\n\n" * 5 + "# newdoc\nc X O\n")
    assert [len(group) for group in corpus.groups(Source(file), DOCUMENTS)] == [5, 1]
    monkeypatch.setattr(corpus, "DOCUMENT_TOKENS", 4)
    assert [len(group) for group in corpus.groups(Source(file), DOCUMENTS)] == [2, 2, 1, 1]


def test_sentences_before_the_first_boundary_are_a_document(tmp_path):
    file = write(tmp_path / "a.conll", "a X O\n\nb X O\n\n-DOCSTART- X O\nc X O\n\nd X O\n")
    assert [len(group) for group in corpus.groups(Source(file), DOCUMENTS)] == [2, 2]


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
    file = write(tmp_path / "none", "Ann NNP I-LOC\nran VBD _\n")
    refuses("predict", tmp_path / "m", file, "--forced", says=["forced labels", "bilou", "iob2"])
    refuses("train", "entities", *how, "--warm-start", tmp_path / "m", says="--inner cannot be given with --warm-start")


def test_labels_of_entities_are_chunk_labels(refuses, tmp_path):
    file = write(tmp_path / "a", "-DOCSTART- X O\n\nAnn NNP B-PER\n\nran VBD VERB\n")
    says = ["training data: sentence 2: label 'VERB' is not a chunk label"]
    refuses("train", "entities", "--train", file, "--model", tmp_path / "m", says=says)


def test_inspect_entities(entities, run):
    assert "\nB-PER\n" in run("inspect", entities / "model", "--top", "2").out
    found = run("inspect", entities / "model", "--sentence", "Ann/NNP ran/VBD")
    assert (found.status, found.out[:4]) == (0, "Ann ")


def candidates_of(text: str) -> list[tuple[int, float, str]]:
    """Rank, score and text of each candidate."""
    found = re.split(
        r"^# nbest = ([0-9]+)\r?\n# score = (-?[0-9.]+)\r?\n", text.removeprefix("\ufeff"), flags=re.MULTILINE
    )
    assert found[0] == ""
    return [(int(r), float(s), body) for r, s, body in zip(found[1::3], found[2::3], found[3::3], strict=True)]


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


def test_nbest_that_cannot_be(toy, refuses):
    file = toy / "test.conll"
    refuses("predict", toy.chunker, file, "--nbest", "0", says="--nbest")
    for option in ("--confidence", "--forced"):
        refuses("predict", toy.chunker, file, "--nbest", "2", option, says=["--nbest", "--confidence", "--forced"])
    with pytest.raises(structron.StructronError, match=r"--nbest -1: expected a whole number of at least 1"):
        predict.run(Path(toy.chunker), file, nbest=-1)


# -- tasks with several output columns -----------------------------------------------------------------------------


class ChainOfWords:
    """A parser that only counts: every word hangs on the word before it, its relation tells the beam."""

    task, checks_trees = "parser", True

    def __init__(
        self,
        *,
        columns=None,
        pos=None,
        labelled=True,
        beam=8,
        update="max-violation",
        nonprojective="lift",
        merge=True,
        check=False,
        passes=1,
        seed=1,
        templates="default",
    ):
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})
        self.history_, self.best_pass_, self.stopped_, self.signature_ = [], 1, "passes", "a chain of words"

    @property
    def metric(self):
        return "las" if self.labelled else "uas"

    @property
    def columns_(self):
        return self.columns

    @property
    def outputs_(self):
        return ["head", "deprel"] if self.labelled else ["head"]

    @property
    def word_(self):
        return next(name for name in self.columns if name in ("word", "form"))

    @property
    def needed_(self):
        return [self.word_, self.pos]

    def fit(self, sentences, dev=None, checkpoint=None, resume=False, progress=None):
        self.sentences, self.dev = list(sentences), list(dev or [])
        return self

    def predict(self, sentences, jobs=None):
        assert all(len(row) == len(self.columns) for rows in sentences for row in rows)
        return [[(i, f"beam{self.beam}") for i in range(len(rows))] for rows in sentences]

    def predict_columns(self, sentences, jobs=None):
        columns = [[[str(h) for h, _ in arcs], [r for _, r in arcs]] for arcs in self.predict(sentences)]
        return [found[: len(self.outputs_)] for found in columns]

    def evaluate(self, sentences, jobs=None, guess=None):
        head, relation = (self.columns.index(name) if name in self.columns else None for name in ("head", "deprel"))
        gold = [[(int(row[head]), row[relation] if self.labelled else None) for row in rows] for rows in sentences]
        return attachment_scores(gold, guess or self.predict(sentences))

    def inspect_weights(self, label=None, top=20):
        found = {"shift": [("s0.w=dog", 2.5)], "left": [("s0.t=NN", np.float32(-1.5))]}
        return {name: weights for name, weights in found.items() if label in (None, name)}

    def save(self, path):
        Path(path).write_text(json.dumps({k: v for k, v in vars(self).items() if not k.startswith("__")}))


def load_chain(path, atoms=None, task=None):
    found = ChainOfWords()
    found.__dict__.update(json.loads(Path(path).read_text()))
    return found


@pytest.fixture
def parser(monkeypatch):
    """The parser that only counts in place of the task's own."""
    monkeypatch.setitem(TASKS, "parser", ChainOfWords)
    for command in (train, predict, evaluate, inspect):
        monkeypatch.setattr(command, "load", load_chain)


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


@pytest.mark.usefixtures("parser")
def test_parser_options_reach_the_estimator(run, trees, tmp_path):
    args = ["train", "parser", "--train", trees, "--dev", trees, "--model", tmp_path / "m", "-q"]
    assert run(*args) == Ran(0, "", "")
    found, fresh = load_chain(tmp_path / "m"), ChainOfWords()
    options = ("beam", "update", "nonprojective", "merge", "check", "labelled", "passes", "templates")
    assert [getattr(found, name) for name in options] == [getattr(fresh, name) for name in options]
    assert (found.columns, found.pos) == (["word", "pos", "head", "deprel"], "pos")
    assert found.sentences == found.dev == [list(map(list, BARKS)), list(map(list, DOGS))]
    assert found.source_ == {"format": "conll"}
    more = ["--beam", "inf", "--update", "early", "--nonprojective", "skip", "--no-merge", "--check-violations"]
    assert run(*args, *more, "--unlabelled", "--templates", "s0.w").status == 0
    found = load_chain(tmp_path / "m")
    assert [getattr(found, name) for name in options] == [None, "early", "skip", False, True, False, 1, "s0.w"]


@pytest.mark.usefixtures("parser")
def test_parser_columns(run, refuses, tmp_path):
    file, model = tmp_path / "t.conllu", tmp_path / "m"
    args = ["train", "parser", "--train", file, "--model", model]
    write(file, conllu(BARKS, DOGS))
    empty = "column 'upos' is empty (_ everywhere); expected parts of speech"
    refuses(*args, says=[file, empty, "--pos"])
    refuses(*args, "--pos", "tag", says=[file, "no column 'tag' among id, form", "--pos"])
    refuses(*args, "--pos", "head", says="--pos head: not a column of parts of speech")
    assert run(*args, "--pos", "xpos").status == 0
    found = load_chain(model)
    assert (found.pos, found.outputs_, found.columns[4]) == ("xpos", ["head", "deprel"], "xpos")
    assert found.sentences[1][1][4:8] == ["RB", "_", "1", "beam8:x"]
    write(file, conllu([(w, t, h, "_") for w, t, h, _ in BARKS]))
    refuses(*args, "--pos", "xpos", says=[file, "column 'deprel' is empty", "--unlabelled"])
    assert run(*args, "--pos", "xpos", "--unlabelled").status == 0

    plain = write(tmp_path / "t.conll", "The DT 2\ndog NN 0\n")
    args[3] = plain
    assert run(*args).status == 0
    assert (load_chain(model).columns, load_chain(model).labelled) == (["word", "pos", "head"], False)
    assert run(*args, "--columns", "form,tag,head", "--pos", "tag").status == 0
    refuses(*args, "--columns", "form,tag,head", says=[plain, "no column 'pos' among form, tag, head", "--pos"])
    refuses(*args, "--columns", "word,pos,top", says=[plain, "no column 'head' among word, pos, top", "--columns"])
    refuses(*args, "--columns", "word,pos,pos", says="a name stands twice")
    write(plain, "1 The the DT 0\n")
    refuses(*args, says=[f"{plain}:1: 5 columns; expected word, pos, head", "--columns", "--format conllu"])


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("heads", "says"),
    [
        ("x 3 0", ":6: head 'x' is no number; expected 0 … 3"),
        ("2 1.0 0", ":7: head '1.0' is no number; expected 0 … 3"),
        ("2 3 ٠", ":8: head '٠' is no number; expected 0 … 3"),
        ("2 4 0", ":7: word 'dog': head 4 out of range"),
        ("-1 3 0", ":6: word 'The': head -1 out of range"),
        ("2 2 0", ":7: word 'dog': is its own head"),
        ("2 0 0", ":8: word 'barks': second root"),
        ("2 1 0", ":6: word 'The': is in a cycle"),
        ("2 3 1", ":6: word 'The': no root"),
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
    assert [len(rows) for rows in load_chain(model).sentences] == [2, 2]
    assert run("train", "parser", "--train", bad, *args, "--skip-invalid", "-q") == Ran(0, "", "")
    refuses("evaluate", model, bad, says=f"{bad}{says}")
    found = run("evaluate", model, bad, "--json", "--skip-invalid")
    assert json.loads(found.out)["sentences"] == 2
    assert found.err == f"{bad}: skipped 1 of 3 sentences with invalid trees\n"
    assert run("predict", model, bad).status == 0
    bad = write(tmp_path / "bad.conllu", conllu(rows))
    refuses("evaluate", model, bad, "--skip-invalid", says=f"{bad}: no sentence has a valid tree")


@pytest.mark.usefixtures("parser")
def test_multiword_lines_and_empty_nodes_are_no_words_of_a_tree(run, refuses, tmp_path):
    file, model = write(tmp_path / "a.conllu", AWKWARD_CONLLU), tmp_path / "m"
    assert run("train", "parser", "--train", file, "--model", model, "--pos", "xpos").status == 0
    assert [row[6] for row in load_chain(model).sentences[0]] == ["3", "3", "0"]
    write(file, AWKWARD_CONLLU.replace(b"RB\t_\t3", b"RB\t_\t2"))
    args = ["train", "parser", "--train", file, "--model", model, "--pos", "xpos"]
    refuses(*args, says=f'{file}:5: word "n\'t": is its own head')


@pytest.mark.usefixtures("parser")
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


@pytest.mark.usefixtures("parser")
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


@pytest.mark.usefixtures("parser")
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


@pytest.mark.usefixtures("parser")
def test_inspect_actions(run, refuses, tmp_path, trees):
    model = tmp_path / "m"
    run("train", "parser", "--train", trees, "--model", model, "-q")
    assert run("inspect", model).out == (
        "a chain of words\n\nshift\n      2.5000  s0.w=dog\n\nleft\n     -1.5000  s0.t=NN\n"
    )
    found = json.loads(run("inspect", model, "--label", "left", "--json").out)
    assert found["labels"] == {"left": [{"feature": "s0.t=NN", "label": "left", "weight": -1.5}]}
    says = "--sentence: not available for the parser; works with tagger, chunker"
    refuses("inspect", model, "--sentence", "The dog", says=says)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--order", "2"], "--order: not an option of the parser; works with tagger, chunker"),
        (["--label", "head"], "--label: not an option of the parser; works with tagger, chunker"),
        (["--forbid", "A B"], "--forbid: not an option of the parser"),
        (["--gazetteer", "A=b"], "--gazetteer: not an option of the parser"),
        (["--tag-dictionary", "3"], "--tag-dictionary: not an option of the parser"),
        (["--no-constrain"], "--constrain: not an option of the parser"),
        (["--warm-start", "m"], "--warm-start: not available for the parser; works with tagger, chunker"),
        (["--beam", "0"], "--beam '0': expected a whole number of at least 1, or inf"),
        (["--beam", "many"], "--beam 'many': expected a whole number of at least 1, or inf"),
        (["--beam", "1_0"], "expected a whole number"),
        (["--beam", "²"], "expected a whole number"),
    ],
    ids=" ".join,
)
def test_options_that_a_parser_does_not_take(refuses, tmp_path, trees, option, says):
    refuses("train", "parser", "--train", trees, "--model", tmp_path / "m", *option, says=says)


@pytest.mark.usefixtures("parser")
def test_margins_are_for_labels(run, refuses, tmp_path, trees):
    model = tmp_path / "m"
    run("train", "parser", "--train", trees, "--model", model, "-q")
    for option in (["--confidence"], ["--forced"], ["--label", "head"], ["--nbest", "2"]):
        says = f"{option[0]}: not available for the parser; works with tagger, chunker"
        refuses("predict", model, trees, *option, says=says)
    refuses("evaluate", model, trees, "--label", "head", says="--label: not available for the parser")
    refuses("evaluate", model, trees, "--beam", "none", says="or inf")


def test_options_of_parsers_only(refuses, toy, tmp_path, monkeypatch):
    args = ["train", "tagger", "--train", toy / "train.conllu", "--model", tmp_path / "m"]
    monkeypatch.setitem(TASKS, "parser", ChainOfWords)
    for option in (["--pos", "xpos"], ["--nonprojective", "skip"], ["--unlabelled"]):
        refuses(*args, *option, says=[f"{option[0]}: not an option of the tagger", "works with", "parser"])
    says = "--skip-invalid: not available for the tagger; works with parser"
    refuses(*args, "--skip-invalid", says=says)
    refuses("evaluate", toy.tagger, toy / "test.conllu", "--skip-invalid", says=says)


def test_parameters_of_a_class_and_those_above():
    found = contract.parameters_of(structron.Tagger)
    assert {"order", "runs", "cutoff", "passes", "label", "forbid", "jobs"} <= found
    assert not found & {"self", "options", "labelled", "args", "kwargs"}
    assert "labelled" in contract.parameters_of(ChainOfWords)


def test_columns_of_a_chain(toy):
    labeler = structron.load(toy.chunker)
    view = View.of(labeler)
    assert (view.columns, view.outputs, view.inputs) == (["word", "pos", "label"], ["label"], ["word", "pos"])
    assert (view.word, view.needed, view.pos) == ("word", {"word", "pos"}, None)
    sentences = [[["The", "DT"], ["dog", "NN"]], [["Dogs", "NNS"]]]
    assert labeler.predict_columns(sentences) == [[labels] for labels in labeler.predict(sentences)]


# -- inspect and experiment ----------------------------------------------------------------------------------------


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


def test_inspect_works_in_any_encoding(toy):
    found = process("inspect", toy.chunker, "--top", "2", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert found.returncode == 0, found.stderr
    assert r"\u2192" in found.stdout


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
    refuses("inspect", toy.tagger, "--sentence", "The", "--label", "DET", says="do not go together")


def test_experiment(tmp_path, run, refuses, monkeypatch):
    from structron import experiments

    monkeypatch.delenv("STRUCTRON_DATA", raising=False)
    write(tmp_path / "nobody1999.py", "def run(data, quick, out):\n    print(data.name, quick, out.name)\n")
    write(tmp_path / "helper.py", "")
    monkeypatch.setattr(experiments, "__path__", [str(tmp_path)])
    (tmp_path / "data").mkdir()
    found = run("experiment", "nobody1999", "--data", tmp_path / "data", "--quick", "--out", tmp_path / "o")
    assert found == Ran(0, "data True o\n", "")
    refuses("experiment", "somebody2000", "--data", tmp_path, says="expected one of: nobody1999")
    refuses("experiment", "nobody1999", "--data", tmp_path / "none", says=[tmp_path / "none", "no such folder"])
    refuses("experiment", "nobody1999", says="--data")
