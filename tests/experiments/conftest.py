"""Every experiment once, on a little toy English in the layout of the real corpora; tests look at what came of it."""

import gzip
import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import pytest

from structron.data.toy_english import ToySentence, toy_english, write_conll, write_conllu
from structron.experiments import daume2005, dror2016
from structron.experiments.dror2016.parsing import ParsingScale
from structron.experiments.frame import SPLITS
from structron.experiments.huang2012.methods import EWT, WSJ, Scale
from structron.experiments.kazama2007.study import Scale as EntityScale

ITEMS = {"train": 80, "dev": 30, "test": 30}
SCALES = {
    "daume2005": daume2005.Scale(60, (1, 5, None), (1, 10), (2, 2), 12, 60),
    "dror2016": dror2016.Scale(
        2, (1.0, 2.0), 1, ITEMS, ParsingScale(400, 150, 200, {1: (1.0, 3.0), 2: (2.0,)}, 2, 400, 200, 2)
    ),
    "huang2012": Scale(
        sentences=40,
        dev_sentences=20,
        tagging_beams=(1, 4),
        tagging_passes=(2, 2),
        parsing_beams=(1, 8),
        parsing_passes={WSJ: (3, 2, 1), EWT: (3, 2, 1)},
        tagging_sentences=60,
    ),
    "kazama2007": EntityScale(
        documents=15,
        passes=3,
        bpm=2,
        margins=(10, 100),
        candidate_margins=(10,),
        variances=(10,),
        iterations=10,
        test_candidates=(20, 100),
        second_margins=(1, 100),
        second_passes=5,
        refine=False,
        processes=1,
    ),
}


@dataclass(frozen=True)
class Run:
    """What an experiment gave back, printed, said on the way, and wrote."""

    results: dict
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
    sentences = toy_english(300, seed=5)
    return {"train": sentences[:200], "dev": sentences[200:240], "test": sentences[240:]}


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
    """Runs the experiment of a paper, once."""

    @cache
    def run(paper: str) -> Run:
        if paper == "kazama2007":
            pytest.importorskip("pycrfsuite")
        module, folder = import_module(f"structron.experiments.{paper}"), tmp_path_factory.mktemp(paper) / "new"
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
            patch.setattr(module, "QUICK", SCALES.get(paper), raising=False)
            with redirect_stderr(io.StringIO()) as err:
                results = module.run(toy_data, quick=True, out=folder)
        return Run(results, out.getvalue(), err.getvalue(), folder)

    return run
