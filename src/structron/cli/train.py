"""`structron train`: everything that can be wrong is found before the first pass; Ctrl-C keeps what was learned."""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from structron.cli.corpus import Corpus, Item, View, column_names, conllu_labels
from structron.cli.files import Source
from structron.cli.options import flag_of
from structron.cli.places import check_checkpoint, check_log_place, check_model_place, check_output, check_places
from structron.cli.show import curve
from structron.cli.texts import add_entities, read_treebank, tell_new_tags
from structron.errors import StructronError
from structron.estimator import Estimator
from structron.features.clusters import Clusters
from structron.features.gazetteer import Gazetteer
from structron.features.wordforms import WordForms
from structron.fields import options_of
from structron.io.columns import EMPTY
from structron.io.doc import Doc
from structron.io.text import try_folder
from structron.learn.checkpoint import STATE_FILE, make_folder
from structron.learn.loop import Schedule
from structron.runtime.progress import Progress, say
from structron.runtime.threads import cores
from structron.tasks.registry import TASKS, load

INTERRUPTED = 130
DISK_SPACE = 1 << 16
"""Bytes that a disk should have room for before a model is trained for it."""


def run(
    task: str,
    train: str | Path,
    model: str | Path,
    dev: str | Path | None = None,
    format: str | None = None,
    columns: str | None = None,
    encoding: str = "utf-8",
    partial: bool = False,
    skip_invalid: bool = False,
    warm_start: Path | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    log: Path | None = None,
    force: bool = False,
    quiet: bool = False,
    entities: str | None = None,
    dev_entities: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> int:
    """Train a model and save it. `settings` are parameters of the task's class; the others keep their defaults."""
    begin, kind, given = time.perf_counter(), TASKS[task], {"jobs": cores(), **(settings or {})}
    inputs: dict[str, Any] = {"--train": train, "--dev": dev, "--entities": entities, "--dev-entities": dev_entities}
    inputs |= {"--warm-start": warm_start, "--templates": template_file(given.get("templates"))}
    inputs |= {"--clusters": given.get("clusters"), "--lexicon": given.get("lexicon")}
    inputs["--gazetteer"] = list(chain.from_iterable((given.get("gazetteers") or {}).values()))
    _check_places(task, inputs, Path(model), log, checkpoint, resume, force)
    _check_outputs(Path(model), log, checkpoint, resume)
    if "beta" in given and given.get("swvp") is None and warm_start is None:
        raise StructronError(f"--beta {given['beta']:g}: expected --swvp a-wm, b-wm, a-wmr or b-wmr too")
    for name, table, title in (("clusters", Clusters, "word clusters"), ("lexicon", WordForms, "lexicon")):
        if given.get(name) is not None and warm_start is None:
            given[name] = table.from_file(given[name], encoding)
            if not quiet:
                say(f"{title} {given[name].summary}")
    if "gazetteers" in given and warm_start is None:
        files = given["gazetteers"].items()
        given["gazetteers"] = {name: Gazetteer.from_files(name, paths, encoding) for name, paths in files}
    if partial and given.setdefault("open_label", EMPTY) != EMPTY:
        raise StructronError(f"--partial with --open-label {given['open_label']}; expected one of the two")
    if kind.texts:
        estimator = kind(**given)
        estimator.check_options()
        estimator._check()
        files = [(train, entities), *([(dev, dev_entities)] if dev else [])]
        documents = [_documents(path, names, encoding, format, quiet) for path, names in files]
        if dev and not quiet:
            tell_new_tags(str(dev), documents[0], documents[1])
        estimator.source_ = {"format": "conllu"}
        progress = Progress(show=not quiet, log=log, append=resume)
        estimator.fit(
            documents[0], dev=documents[1] if dev else None, checkpoint=checkpoint, resume=resume, progress=progress
        )
        return _saved(estimator, Path(model), begin, quiet)
    sources = [Source(path, format, encoding, columns) for path in (train, dev) if path]
    if warm_start is not None:
        estimator, view = _loaded(warm_start, kind, given)
    else:
        estimator, view = _fresh(sources[0], kind, given, encoding)
    corpora = [Corpus(source, view, given.get("label"), labelled=True) for source in sources]
    corpora[0].open_label = given.get("open_label")
    if "jobs" in (settings or {}) and estimator.jobs > 1 and estimator.runs == estimator.shards == 1 and not quiet:
        scored = f"dev data are scored on {estimator.jobs}"
        say(f"a single run trains on one core; {scored}; --shards N trains on up to N")
    least = [1 if warm_start else 2, 1]
    sentences, *devs = (
        corpus.labelled(at_least=at_least, skip_invalid=skip_invalid, quiet=quiet)
        for corpus, at_least in zip(corpora, least, strict=False)
    )
    devs = [_compared(found, corpora[1], corpora[0], quiet, warm_start is None) for found in devs]
    estimator.source_, estimator.keep_learner_ = {"format": sources[0].format}, False
    progress = Progress(show=not quiet, log=log, append=resume)
    fit = estimator.partial_fit if warm_start else estimator.fit
    fit(sentences, dev=devs[0] if devs else None, checkpoint=checkpoint, resume=resume, progress=progress)
    estimator.source_ |= {"empty": ",".join(sorted(corpora[0].unfilled))} if corpora[0].unfilled else {}
    return _saved(estimator, Path(model), begin, quiet)


def _compared(items: Iterator[Item], dev: Corpus, training: Corpus, quiet: bool, fresh: bool) -> Iterator[Item]:
    """The items of dev data; at their end, before anything is learned, what they have and the training data lack."""
    yield from items
    dev.tell_unfilled(dev.unfilled - training.unfilled, quiet)
    if fresh and not quiet and training.view.closed:
        dev.tell_new_labels(training)


def _saved(estimator: Estimator, model: Path, begin: float, quiet: bool) -> int:
    """Save what was learned and say what it is; returns the exit status."""
    try:
        estimator.save(model)
    except (StructronError, OSError) as error:
        raise StructronError(f"{error}{_rescued(estimator)}") from None
    interrupted = estimator.stopped_ == "interrupted"
    if interrupted:
        if estimator.task == "pipeline":
            kept = f"what is trained so far ({', '.join(estimator.model_.trained)}) is saved"
        elif estimator.best_pass_ <= len(estimator.history_):
            kept = f"the best model so far (pass {estimator.best_pass_}) is saved"
        else:
            kept = f"the model of pass {estimator.best_pass_} is saved"
        say(f"interrupted: {kept}")
    if not quiet:
        curve.show(getattr(estimator, "history_", []), estimator.metric)
        say(_summary(estimator, model, time.perf_counter() - begin))
    return INTERRUPTED if interrupted else 0


def _rescued(estimator: Estimator) -> str:
    """Save a model whose place has become impossible where there may be room, and say where."""
    with contextlib.suppress(StructronError, OSError):
        descriptor, path = tempfile.mkstemp(".structron", "rescued-")
        os.close(descriptor)
        try:
            estimator.save(path)
        except BaseException:
            os.unlink(path)
            raise
        return f"; the model is in {path}"
    return ""


def _documents(path: str | Path, entities: str | None, encoding: str, format: str | None, quiet: bool) -> list[Doc]:
    docs = read_treebank(path, encoding, format)
    if entities is not None:
        add_entities(docs, entities, encoding, quiet)
    return docs


def _fresh(source: Source, kind: Any, settings: dict[str, Any], encoding: str) -> tuple[Estimator, View]:
    """An estimator to be trained on data like the source, and the columns that it is going to know."""
    settings = settings | conllu_labels(source, kind, settings)
    names = column_names(source, kind)
    estimator = kind(columns=names, **settings)
    try:
        roles = estimator._settle_columns(names)
    except StructronError as error:
        where = source.place if source.columns is None else source.name
        hint = ", ".join(["--columns", *(flag_of(name) for name in ("label", "pos") if name in options_of(kind))])
        raise StructronError(f"{where}: {error}; see {hint}") from None
    return estimator, View.of(estimator, roles)


def _loaded(path: Path, kind: type[Estimator], settings: dict[str, Any]) -> tuple[Estimator, View]:
    """The estimator to go on from, with what was given anew, and the columns that it knows."""
    for name in settings:
        if options_of(kind)[name].fixed:
            raise StructronError(f"{flag_of(name)} cannot be given with --warm-start: the model has its own")
    estimator = load(path, task=kind.task)
    estimator.set_params(**{name: value for name, value in settings.items() if name != "label"})
    return estimator, View.of(estimator)


def template_file(source: Any) -> str | None:
    """The file that --templates names; a preset is none."""
    return source if isinstance(source, str) and os.path.exists(source) else None


def _check_places(
    task: str,
    inputs: dict[str, Any],
    model: Path,
    log: Path | None,
    checkpoint: Path | None,
    resume: bool,
    force: bool,
) -> None:
    """Refuse to write what is read, or one file twice, or over a file of another kind."""
    parts: tuple[str, ...] = ()
    if task == "pipeline":
        from structron.tasks.pipeline.parts import PARTS as parts
    files = {"--model": model, "--log": log}
    check_places(inputs, files | {"--checkpoint": checkpoint})
    check_model_place("--model", model, task, force)
    check_log_place("--log", log)
    check_checkpoint(checkpoint, inputs | files, STATE_FILE, parts, resume)


def _check_outputs(model: Path, log: Path | None, checkpoint: Path | None, resume: bool) -> None:
    """Refuse what training would stumble over at its end, or after hours of reading."""
    check_output(model, DISK_SPACE)
    check_output(log)
    Schedule(checkpoint=checkpoint, resume=resume)
    if checkpoint is None:
        return
    make_folder(checkpoint, resume)
    if not os.access(checkpoint, os.W_OK):
        raise StructronError(f"{checkpoint}: no permission to write; expected a writable checkpoint folder")
    try_folder(checkpoint, checkpoint)


def _summary(estimator: Estimator, model: Path, seconds: float) -> str:
    parts = [f"{size(model.stat().st_size)}"]
    if estimator.task == "pipeline":
        return f"{model}: {parts[0]}, {seconds:.1f} s | {estimator.signature_}"
    passes = len(estimator.history_)
    best = f"best pass {estimator.best_pass_} of {passes}"
    parts.append(best if estimator.best_pass_ <= passes else f"stopped in pass {estimator.best_pass_}")
    done = {record["pass"]: record for record in estimator.history_}
    if "dev" in done.get(estimator.best_pass_, {}):
        parts.append(f"dev {estimator.metric} {done[estimator.best_pass_]['dev']:.2f}")
    return f"{model}: {', '.join(parts)}, {seconds:.1f} s | {estimator.signature_}"


def size(number: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"
