"""The same work done by an earlier release that stands beside this one, in the same run: `--earlier DIR` is its tree.

Seconds and tokens per second say as much about a machine as about a program; what a release gains on another one says
the same anywhere. Both sides are trained with the defaults that they have.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import BEYOND, LESS, MEGABYTE, MORE, SHARE, Run, alternate, child, run_python
from benchmarks.peers import first_sentences, without_documents
from benchmarks.report import CHUNKS, ENTITIES, OURS, TAGS, Report, Settings, corpus, costs, each, same_tokens, say

EARLIER_PARTS = ("earlier",)
EARLIER, FEW = "earlier release", 60
SIDES = (EARLIER, OURS)
CHUNK_COLUMNS = ("--columns", "word,pos,chunk")


@dataclass(frozen=True, slots=True)
class Work:
    """A task on a corpus: what is learned, with which beams it predicts, and the ratios that are asked for.

    documents: None where sentences are by themselves; False: the marks of documents are left out of the file.
    """

    title: str
    task: str
    corpus: str
    options: tuple[str, ...]
    training: float | None = None
    prediction: float | None = None
    memory: float | None = None
    size: float | None = None
    start: float | None = None
    beams: tuple[int | None, ...] = (None,)
    documents: bool | None = None

    @property
    def ending(self) -> str:
        return "conllu" if self.corpus == TAGS else "conll"


WORKS = (
    Work("chunker, one run", "chunker", CHUNKS, (*CHUNK_COLUMNS, "--runs", "1"), start=0.68),
    Work("segments", "segments", CHUNKS, CHUNK_COLUMNS, prediction=3.3),
    Work("segments, one run", "segments", CHUNKS, (*CHUNK_COLUMNS, "--runs", "1"), training=2.5),
    Work("joint", "joint", CHUNKS, CHUNK_COLUMNS, prediction=3.8),
    Work("joint, one run", "joint", CHUNKS, (*CHUNK_COLUMNS, "--runs", "1"), training=2.1),
    Work("entities", "entities", ENTITIES, ("--columns", "word,pos,entity"), prediction=3.2, documents=True),
    Work(
        "entities, no documents", "entities", ENTITIES, ("--columns", "word,pos,entity"), training=4.6, documents=False
    ),
    Work("parser", "parser", TAGS, ("--pos", "xpos"), prediction=2.3, memory=0.5, size=0.11, beams=(8, 1)),
    Work("graph-parser, order 2", "graph-parser", TAGS, ("--pos", "xpos"), training=2.3, prediction=2.5, memory=0.7),
    Work("graph-parser, order 1", "graph-parser", TAGS, ("--pos", "xpos", "--order", "1"), prediction=2.7),
)
"""The ratios are what was asked for over what the earlier release had when it was asked. It learned once where several
runs are the default now: what the same work takes is seen with one run."""


def earlier_parts(data: Path, folder: Path, settings: Settings, report: Report, parts: Collection[str]) -> None:
    """Run the part if it is wanted."""
    if not {*EARLIER_PARTS} & {*parts}:
        return
    if settings.earlier is None:
        report.skip("the same work by an earlier release: no --earlier DIR")
        return
    for work in WORKS:
        files = corpus(data, work.corpus, work.ending, ("train", "dev" if work.corpus != CHUNKS else "test"))
        if files is None:
            report.skip(f"{work.corpus}: no files of {work.title} in {data / work.corpus}")
        else:
            Beside(work, *files.values(), folder, settings, report).measure()


@dataclass(frozen=True, slots=True)
class Beside:
    """One piece of work on both sides."""

    work: Work
    train: Path
    held: Path
    folder: Path
    settings: Settings
    report: Report

    def measure(self) -> None:
        """Train each side once, with all kernels compiled before; then predict in turn."""
        train = self.train
        if self.work.documents is False:
            train = without_documents(train, self.folder / "sentences.conll")
        few = first_sentences(train, self.folder / f"few.{self.work.ending}", FEW)
        trained: dict[str, Run] = {}
        for side in SIDES:
            self._say(f"{side}, warming up")
            self._train(side, few)
            self._predict(side, few, 1)
            self._say(f"{side}, training")
            trained[side] = self._train(side, train)
        runs = {side: [done] for side, done in trained.items()}
        sizes = {side: [self._model(side).stat().st_size / MEGABYTE] for side in trained}
        self.report.details[f"earlier_{self.work.title}"] = {"training": costs(runs), "megabytes": sizes}
        self._add("training", "file to model, processor time", "s", each(runs, lambda done: done.cpu), LESS)
        self._add("memory", "peak memory", "MB", each(runs, lambda done: done.peak_mb), SHARE)
        self._add("size", "model file", "MB", sizes, SHARE)
        self._prediction()
        if self.work.start is not None:
            self._start(few)

    def _say(self, text: str) -> None:
        say(f"{self.work.corpus}: {self.work.title} beside an earlier release: {text}")

    def _model(self, side: str) -> Path:
        return self.folder / f"{self.work.task}-{'now' if side == OURS else 'then'}.structron"

    def _source(self, side: str) -> Path | None:
        return None if side == OURS else self.settings.earlier

    def _command(self, side: str, *arguments: str | Path) -> Run:
        return run_python("-m", "structron", *arguments, source=self._source(side))

    def _train(self, side: str, train: Path) -> Run:
        passes = [] if self.settings.parser_passes is None else ["--passes", str(self.settings.parser_passes)]
        given = [*self.work.options, *passes, "--train", train, "--model", self._model(side)]
        return self._command(side, "train", self.work.task, *given)

    def _predict(self, side: str, held: Path, repeat: int) -> dict[str, Any]:
        given = {"model": self._model(side), "held": held, "beams": self.work.beams, "repeat": repeat}
        given |= {"documents": self.work.documents, "trees": self.work.ending == "conllu"}
        return child("predict", module="earlier_child", source=self._source(side), **given)[0]

    def _prediction(self) -> None:
        """A process of each side in turn; the best of a process counts, since its first calls load kernels."""
        sides = {side: lambda side=side: self._predict(side, self.held, 3) for side in SIDES}
        found = alternate(sides, self.settings.repeat, lambda text: self._say(f"prediction, {text}"))
        self.report.details[f"earlier_{self.work.title}"]["prediction"] = found
        same_tokens(self.work.title, found[EARLIER][0]["tokens"], found[OURS][0]["tokens"])
        for beam in map(str, self.work.beams):
            which = "" if beam == "None" else f", beam {beam}"
            speed = each(found, lambda one, beam=beam: one["tokens"] / min(one["seconds"][beam]))
            self._add("prediction", f"prediction from tokens{which}", "tokens/s", speed, MORE, which)
            scores = {side: [runs[0]["score"][beam]] for side, runs in found.items()}
            self._add("score", f"score of held-out data{which}", "%", scores, BEYOND, which)

    def _start(self, few: Path) -> None:
        one = first_sentences(few, self.folder / "one.conll", 1)
        sides = {side: lambda side=side: self._command(side, "predict", self._model(side), one) for side in SIDES}
        found = alternate(sides, self.settings.start_repeat, lambda text: self._say(f"start, {text}"))
        self._add("start", "predict of one sentence", "s", each(found, lambda done: done.wall), SHARE)

    def _add(
        self, what: str, title: str, unit: str, values: dict[str, list[float]], ratio_is: str, which: str = ""
    ) -> None:
        asked = getattr(self.work, what, None) if which in ("", ", beam 8") else None
        key = f"earlier_{self.work.title}_{what}{which}".replace(", ", "_").replace(" ", "_")
        self.report.add(key, f"{self.work.corpus}: {self.work.title}, {title}", unit, values, ratio_is, asked)
