"""The parts of the beam engine: the parser's training, speed and start, and tagging with a beam beside exact search.

Some figures are asked of us as they are, not as a ratio: there the peer is called "goal" and its figure is the one
that was asked for, so that a ratio of 1 or more is enough.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.measure import (
    BEYOND,
    LESS,
    MEGABYTE,
    MORE,
    SHARE,
    Run,
    alternate,
    child,
    cold,
    compiled,
    mid,
    numba_alone,
    structron,
)
from benchmarks.peers import Udpipe, first_sentences
from benchmarks.report import NUMBA, OURS, TAGS, Report, Settings, corpus, costs, each, installed, same_tokens, say

ASKED, UDPIPE, EXACT, WARM = "goal", Udpipe.name, "exact Viterbi", "once compiled"
BEAMS = {8: 35_000, 1: 150_000}
"""Beams that the parser is measured with, and the tokens per second that are asked for."""
TRAINING_SECONDS, TRAINING_MEGABYTES = 300, 500
PASS_TO_PARSING = 1.5
HISTORY_SPEED, HISTORY_LOSS = 3, -0.05
FEW = 50
BEAM_PARTS = ("parser", "parsing", "parser-pass", "parser-start", "history")


def beam_parts(data: Path, folder: Path, settings: Settings, report: Report, parts: Collection[str]) -> None:
    """Run those of the parts that are wanted."""
    wanted = [part for part in BEAM_PARTS if part in parts]
    if not wanted:
        return
    files = corpus(data, TAGS, "conllu", ("train", "dev", "test"))
    if files is None:
        report.skip(f"{TAGS}: no train, dev and test .conllu(.gz) in {data / TAGS}: {', '.join(wanted)}")
        return
    bench = ParserBench(files, folder, settings, report)
    works = (bench.training, bench.parsing, bench.passes, bench.starting, lambda: history(files, settings, report))
    for part, work in zip(BEAM_PARTS, works, strict=True):
        if part in wanted:
            work()


@dataclass
class ParserBench:
    """The parser's parts; they share one model, trained when the first of them asks for it."""

    files: dict[str, Path]
    folder: Path
    settings: Settings
    report: Report

    def _train(self, train: Path, model: Path, *more: str | Path) -> Run:
        return structron(*self._training(train, model), *more)

    @staticmethod
    def _training(train: Path, model: Path) -> list[str | Path]:
        return ["train", "parser", "--pos", "xpos", "--train", train, "--model", model]

    @cached_property
    def few(self) -> Path:
        """A few sentences in a file: enough to have every kernel compiled."""
        return first_sentences(self.files["train"], self.folder / "few.conllu", FEW)

    @cached_property
    def warm_model(self) -> Path:
        """A model of a few sentences; after it all kernels are in the cache."""
        say(f"{TAGS}: parser, warming up")
        model = self.folder / "few.structron"
        self._train(self.few, model, "--passes", "1")
        structron("predict", model, self.few, "--output", self.folder / "few-parsed.conllu")
        return model

    @cached_property
    def model(self) -> Path:
        """Train with the defaults, from file to model; the row of it comes with the model."""
        _ = self.warm_model
        model, log, passes = self.folder / "parser.structron", self.folder / "parser.jsonl", self.settings.parser_passes
        say(f"{TAGS}: parser, training from file to model")
        done = self._train(self.files["train"], model, "--log", log, *(["--passes", str(passes)] if passes else []))
        records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        size = model.stat().st_size / MEGABYTE
        self.report.details["parser_training"] = {"process": done.cost(), "passes": records, "model_mb": size}
        title = f"{TAGS}: parser, file to model, {len(records)} passes"
        values = {ASKED: [float(TRAINING_SECONDS)], OURS: [done.wall]}
        self.report.add("parser_training", title, "s", values, LESS, 1)
        values = {ASKED: [float(TRAINING_MEGABYTES)], OURS: [done.peak_mb]}
        self.report.add("parser_memory", f"{TAGS}: … peak memory", "MB", values, SHARE, 1)
        return model

    def training(self) -> None:
        """File to model; nothing more if another part has needed the model already."""
        _ = self.model

    def parsing(self) -> None:
        """Tokens per second of one thread, from tokens to trees."""
        report, options = self.report, {"dev": self.files["dev"], "test": self.files["test"], "model": self.model}
        if installed("ufal.udpipe"):
            options["udpipe_model"] = self.folder / "parser.udpipe"
            say(f"{TAGS}: parsing, training {UDPIPE}")
            size = self.settings.udpipe_sentences
            given = {"train": self.files["train"], "model": options["udpipe_model"], "sentences": size}
            report.details["udpipe_training"], _ = child("train_udpipe", module="beam_child", **given)
        else:
            report.skip(f"{TAGS}: parsing beside {UDPIPE}: ufal.udpipe is not installed (the extra `bench` has it)")
        say(f"{TAGS}: parsing")
        found, _ = child("parse", module="beam_child", beams=list(BEAMS), repeat=self.settings.repeat, **options)
        report.details["parsing"] = found
        tokens = found["tokens"]
        same_tokens(f"{TAGS}, parsing", tokens.get(UDPIPE, tokens[OURS]), tokens[OURS])
        speed = {
            side: {int(beam): [tokens[side] / spent for spent in times] for beam, times in of_side.items()}
            for side, of_side in found["seconds"].items()
        }
        for beam, asked in BEAMS.items():
            ours, title = speed[OURS][beam], f"{TAGS}: parsing from tokens, beam {beam}"
            values = {ASKED: [float(asked)] * len(ours), OURS: ours}
            report.add(f"parse_beam{beam}", title, "tokens/s", values, MORE, 1)
            if UDPIPE in speed:
                values = {UDPIPE: speed[UDPIPE][beam], OURS: ours}
                report.add(f"parse_beam{beam}_udpipe", f"{TAGS}: … beside its parser", "tokens/s", values, MORE)
        if UDPIPE not in speed:
            values = {"our beam 1": speed[OURS][1], OURS: speed[OURS][8]}
            report.add("parse_beam8_beam1", f"{TAGS}: … beam 8 beside beam 1", "tokens/s", values, MORE)

    def passes(self) -> None:
        """A pass of training against the time in which the finished model parses the same data."""
        model = self.model
        say(f"{TAGS}: parser, passes of training and parsing in turn")
        given = {"train": self.files["train"], "model": model, "passes": self.settings.paired_passes}
        found, _ = child("passes", module="beam_child", **given)
        for tokens in found["learned_tokens"]:
            same_tokens(f"{TAGS}, a pass of training and parsing", found["tokens"], tokens)
        self.report.details["parser_pass"] = found
        seconds = found["seconds"]
        for key, peer, title in (
            ("parser_pass", "parsing it", f"{TAGS}: parser, a pass of training, defaults"),
            ("parser_pass_search", "its search alone", f"{TAGS}: … beside the search alone"),
        ):
            values = {peer: seconds["parsing" if key == "parser_pass" else "search"], OURS: seconds["learning"]}
            self.report.add(key, title, "s", values, SHARE, PASS_TO_PARSING)

    def starting(self) -> None:
        """From the prompt to one sentence's tree, compiled before and not; and a training that has to compile."""
        model, report = self.model, self.report
        one = first_sentences(self.files["test"], self.folder / "one.conllu", 1)
        few = self._training(self.few, self.folder / "few.structron")
        sides = {
            NUMBA: numba_alone,
            "predict": lambda: structron("predict", model, one),
            "train": lambda: structron(*few, "--passes", "1"),
        }
        alternate(sides, 1, lambda text: say(f"parser, start, warming up: {text}"))
        found = alternate(sides, self.settings.start_repeat, lambda text: say(f"parser, start: {text}"))
        wall = each(found, lambda done: done.wall)
        values = {NUMBA: wall[NUMBA], OURS: wall["predict"]}
        report.add("parser_start", "structron predict, one sentence, parser", "s", values, SHARE)
        first = {}
        for name, command in (("predict", ["predict", model, one]), ("train", [*few, "--passes", "1"])):
            say(f"parser, start: {name} with nothing compiled")
            first[name] = cold(self.folder / f"cache-{name}", *command)
            values = {WARM: [mid(wall[name])], OURS: [first[name].wall]}
            report.add(f"parser_cold_{name}", f"structron {name}, parser, first run ever", "s", values, SHARE)
        cost = {name: done.cost() | {"compiled": compiled(done)} for name, done in first.items()}
        report.details["parser_start"] = {"warm": costs(found), "cold": cost}


def history(files: dict[str, Path], settings: Settings, report: Report) -> None:
    """Tagging that looks two labels back: a beam of 4 beside our exact search."""
    say(f"{TAGS}: order 2, beam and exact search in turn")
    given = {"train": files["train"], "dev": files["dev"], "passes": settings.history_passes}
    found, _ = child("history", module="beam_child", repeat=5 * settings.repeat, **given)
    report.details["history"] = found
    tokens, sides = found["tokens"], found["sides"]

    def speed(what: str) -> dict[str, list[float]]:
        return {side: [tokens / spent for spent in one[what]] for side, one in sides.items()}

    title = f"{TAGS} XPOS: order 2, beam 4"
    add = report.add
    add("history_search", f"{title}, search alone", "tokens/s", speed("search"), MORE, HISTORY_SPEED)
    add("history_tokens", f"{title}, from tokens", "tokens/s", speed("tokens"), MORE, HISTORY_SPEED)
    scores = {side: [one["accuracy"]] for side, one in sides.items()}
    add("history_accuracy", f"{title}, dev accuracy", "%", scores, BEYOND, HISTORY_LOSS)
    learning = {side: [one["learning"]] for side, one in sides.items()}
    add("history_training", f"{title}, {settings.history_passes} passes of training", "s", learning, LESS)
