"""Fixtures of the command line's tests: corpora with models, trained once, and ways to run a command."""

import contextlib
import io
import sys
from pathlib import Path

import pytest
from cli_helpers import SMALL, Ran, Toy

from structron.cli import main
from structron.data.toy_english import toy_english, write_conll, write_conllu


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A small corpus in both formats, and a model for each."""
    found = Toy(tmp_path_factory.mktemp("toy"))
    corpus = toy_english(400, seed=3)
    for name, lo, hi in (("train", 0, 280), ("dev", 280, 340), ("test", 340, 400)):
        write_conll(found / f"{name}.conll", corpus[lo:hi])
        write_conllu(found / f"{name}.conllu", corpus[lo:hi])
    for task, ending, model in (("chunker", "conll", found.chunker), ("tagger", "conllu", found.tagger)):
        files = ["--train", found / f"train.{ending}", "--dev", found / f"dev.{ending}"]
        assert main(["train", task, *files, "--model", model, *SMALL]) == 0
    return found


@pytest.fixture(scope="session")
def entities(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """The toy corpus with entities in documents, and a model."""
    found = Toy(tmp_path_factory.mktemp("entities"))
    for seed, (name, size) in enumerate({"train": 280, "dev": 60, "test": 60}.items()):
        write_conll(found / f"{name}.conll", toy_english(size, seed), ("word", "pos", "entity"))
    files = ["--train", found / "train.conll", "--dev", found / "dev.conll"]
    assert main(["train", "entities", *files, "--model", found / "model", *SMALL]) == 0
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
        assert found.err.count("\n") == 1, found.err
        assert found.err.startswith("structron: error: ")
        for piece in [says] if isinstance(says, str) else says:
            assert str(piece) in found.err

    return command
