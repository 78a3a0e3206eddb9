"""The parts of entities in whole documents: n-best search, training beside a CRF, the price of non-local features."""

from collections.abc import Collection
from pathlib import Path

from benchmarks.beam import ASKED
from benchmarks.measure import BEYOND, LESS, MORE, SHARE, alternate, child
from benchmarks.peers import Crfsuite
from benchmarks.report import ENTITIES, OURS, Report, Settings, corpus, each, installed, same_tokens, say, split

CANDIDATES, TOKENS, MILLISECONDS = 100, 1000, 50
TIMES_FASTER = 3
TIMES_SLOWER = 3
LOCAL = "without them"
WHOLE, ALONE = "EntityRecognizer", "EntityRecognizer, sentences"
ENTITY_PARTS = ("nbest", "entities", "non-local", "tutorial")
TIMES_FASTER_TUTORIAL = 4


def entity_parts(data: Path, settings: Settings, report: Report, parts: Collection[str]) -> None:
    """Run those of the parts that are wanted."""
    wanted = [part for part in ENTITY_PARTS if part in parts]
    if not wanted:
        return
    if corpus(data, ENTITIES, "conll", ("train", "dev", "test")) is None:
        report.skip(f"{ENTITIES}: no train, dev and test .conll(.gz) in {data / ENTITIES}: {', '.join(wanted)}")
        return
    for part, work in zip(ENTITY_PARTS, (nbest, entities, non_local, tutorial), strict=True):
        if part in wanted:
            work(data, settings, report)


def nbest(data: Path, settings: Settings, report: Report) -> None:
    """From the tokens of a document to its best labellings with their scores."""
    say(f"{ENTITIES}: n-best search")
    given = {"data": data, "tokens": TOKENS, "candidates": CANDIDATES, "repeat": 10 * settings.repeat}
    found, _ = child("nbest", module="entities_child", **given)
    report.details["nbest"] = found
    title = f"{ENTITIES}: the {CANDIDATES} best of {found['tokens']} tokens, {found['labels']} labels"
    values = {ASKED: [float(MILLISECONDS)] * len(found["milliseconds"]), OURS: found["milliseconds"]}
    report.add("nbest", title, "ms", values, LESS, 1)


def entities(data: Path, settings: Settings, report: Report) -> None:
    """Margin perceptron and CRF with the same local features: time to the model, and F1 on development data."""
    if not installed("pycrfsuite"):
        report.skip(f"{ENTITIES}: python-crfsuite is not installed (the extra `bench` has it)")
        return
    options = {"module": "entities_child", "data": data}
    sides = {
        Crfsuite.name: lambda: child("train_crf", iterations=settings.crf_iterations, **options),
        OURS: lambda: child("train_margin", passes=settings.entity_passes, **options),
        WHOLE: lambda: child("train_entities", passes=settings.recogniser_passes, **options),
        ALONE: lambda: child("train_entities", passes=settings.recogniser_passes, sentences=True, **options),
    }
    logs, _ = split(alternate(sides, settings.repeat, lambda text: say(f"{ENTITIES}: training, {text}")))
    same_tokens(f"{ENTITIES}, training", logs[Crfsuite.name][0]["tokens"], logs[OURS][0]["tokens"])
    report.details["entities"] = logs
    title = f"{ENTITIES}: rows to model, local features"
    local = {side: logs[side] for side in (Crfsuite.name, OURS)}
    seconds = each(local, lambda log: log["seconds"])
    report.add("entities_training", title, "s", seconds, LESS, TIMES_FASTER)
    alone = each(local, lambda log: log["learning"])
    report.add("entities_learning", f"{ENTITIES}: … without making features", "s", alone, LESS)
    report.add("entities_f1", f"{ENTITIES}: … dev F1", "%", each(local, lambda log: log["f1"]), BEYOND, 0)
    for key, side, title in (("recogniser", WHOLE, "defaults"), ("sentences", ALONE, "sentences as documents")):
        pair = {Crfsuite.name: logs[Crfsuite.name], OURS: logs[side]}
        text, seconds = f"{ENTITIES}: the recogniser, {title}, rows to model", each(pair, lambda log: log["seconds"])
        report.add(f"{key}_training", text, "s", seconds, LESS, TIMES_FASTER)
        report.add(f"{key}_f1", f"{ENTITIES}: … dev F1", "%", each(pair, lambda log: log["f1"]), BEYOND, 0)
        speed = each(pair, lambda log: log["tokens_per_second"])
        report.add(f"{key}_predict", f"{ENTITIES}: … prediction from tokens", "tokens/s", speed, MORE)


def non_local(data: Path, settings: Settings, report: Report) -> None:
    """The proposed algorithm beside the margin perceptron, as many passes of each."""
    say(f"{ENTITIES}: training with non-local features and without")
    given = {"data": data, "passes": settings.non_local_passes, "repeat": settings.repeat}
    found, _ = child("non_local", module="entities_child", **given)
    report.details["non_local"] = found
    title = f"{ENTITIES}: non-local features, {settings.non_local_passes} passes"
    values = {LOCAL: found["margin"], OURS: found["proposed"]}
    report.add("non_local", title, "s", values, SHARE, TIMES_SLOWER)


def tutorial(data: Path, settings: Settings, report: Report) -> None:
    """The tutorial of sklearn-crfsuite, from lists of dicts to a model, and its weighted F1, here of dev data."""
    if not (installed("pycrfsuite") and installed("sklearn")):
        report.skip(f"{ENTITIES}: python-crfsuite and scikit-learn are not installed (the extra `bench` has them)")
        return
    options = {"module": "entities_child", "data": data, "iterations": settings.crf_iterations}
    sides = {
        Crfsuite.name: lambda: child("tutorial_crfsuite", **options),
        OURS: lambda: child("tutorial_ours", **options),
    }
    logs, _ = split(alternate(sides, settings.repeat, lambda text: say(f"{ENTITIES}: the tutorial, {text}")))
    report.details["tutorial"] = logs
    title = f"{ENTITIES}: sklearn-crfsuite's tutorial, dicts to model"
    report.add("tutorial", title, "s", each(logs, lambda log: log["seconds"]), LESS, TIMES_FASTER_TUTORIAL)
    cpu = each(logs, lambda log: log["processor"])
    report.add("tutorial_processor", f"{ENTITIES}: … processor time", "s", cpu, LESS, TIMES_FASTER_TUTORIAL)
    report.add("tutorial_f1", f"{ENTITIES}: … dev weighted F1", "%", each(logs, lambda log: log["f1"]), BEYOND, -0.5)
