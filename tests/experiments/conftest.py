"""Every experiment once, on a little toy English in the layout of the real corpora; tests look at what came of it."""

import gzip
import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import pytest

from structron.cli.experiment import experiment_of
from structron.data.toy_english import ToySentence, toy_english, write_conll, write_conllu
from structron.experiments.dror2016 import parsing
from structron.experiments.frame import SPLITS, Experiment, Ledger
from structron.experiments.frame import report as frame_report

EWT, WSJ = "ud-english-ewt", "wsj-sample-dep"


@dataclass(frozen=True)
class Run:
    """An experiment, what it printed and said on the way, and what is left of it."""

    experiment: Experiment
    ledger: Ledger
    printed: str
    said: str
    folder: Path


def write_uner(path: Path, sentences: list[ToySentence]) -> None:
    """Packed, with comments, numbers and two columns too many."""
    with gzip.open(f"{path}.gz", "wt", encoding="utf-8") as file:
        for number, sentence in enumerate(sentences):
            file.write("# newdoc id = d\n" * sentence.new_document + f"# sent_id = {number}\n")
            for i, (word, label) in enumerate(zip(sentence.words, sentence.entities, strict=True), 1):
                file.write(f"{i}\t{word}\t{label}\t-\tme\n")
            file.write("\n")


@pytest.fixture(scope="session")
def toys() -> dict[str, list[ToySentence]]:
    sentences = toy_english(200, seed=5)
    return {"train": sentences[:120], "dev": sentences[120:150], "test": sentences[150:]}


@pytest.fixture(scope="session")
def toy_data(toys, tmp_path_factory) -> Path:
    """A folder of corpora. Some have no dev data, as the real ones."""
    folder = tmp_path_factory.mktemp("corpora")
    for corpus, write in {
        EWT: write_conllu,
        "ud-basque-bdt": write_conllu,
        "conll2007-spanish": write_conllu,
        WSJ: partial(write_conll, columns=("word", "pos", "head")),
        "ramshaw-marcus-np": write_conll,
        "conll2000": write_conll,
        "conll2002-dutch": partial(write_conll, columns=("word", "pos", "entity")),
        "uner-english-ewt": write_uner,
    }.items():
        (folder / corpus).mkdir()
        without_dev = corpus in ("conll2007-spanish", "ramshaw-marcus-np", "conll2000")
        for split in ("train", "test") if without_dev else SPLITS:
            write(folder / corpus / f"{split}.{'conllu' if write is write_conllu else 'conll'}", toys[split])
    return folder


@pytest.fixture(scope="session")
def run(toy_data, tmp_path_factory) -> Callable[[str], Run]:
    """Runs the experiment of a paper, once, at the tiny scale of its tests."""

    @cache
    def run(paper: str) -> Run:
        experiment = replace(experiment_of(paper), quick=import_module(f"scales_{paper}").TINY)
        for module in experiment.needs:
            pytest.importorskip(module)
        folder = tmp_path_factory.mktemp(paper) / "new"
        with (
            pytest.MonkeyPatch.context() as patch,
            redirect_stdout(io.StringIO()) as out,
            redirect_stderr(io.StringIO()) as err,
        ):
            patch.setattr(parsing, "BITS", 16)
            ledger = frame_report.run(experiment, toy_data, True, folder, jobs=1)
        return Run(experiment, ledger, out.getvalue(), err.getvalue(), folder)

    return run
