"""`structron evaluate`: a model's scores on labelled data, for people or as JSON."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from structron.cli.corpus import View
from structron.cli.files import Source
from structron.cli.show import mistakes
from structron.cli.show.mistakes import Placed
from structron.cli.tasks import apply, check_able
from structron.cli.texts import add_entities, read_treebank
from structron.cli.views.confusion import check_plot, confusion_of, draw_confusion
from structron.errors import StructronError, shown, unknown
from structron.eval.scores import TypeScore
from structron.io.doc import Doc
from structron.tasks.registry import load, path_of
from structron.text.numbers import to_json
from structron.text.sentences import sentences_of


def run(
    model: Path,
    file: str,
    format: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    encoding: str = "utf-8",
    skip_invalid: bool = False,
    as_json: bool = False,
    gold: str | None = None,
    entities: str | None = None,
    confusion: bool = False,
    plot: Path | None = None,
    errors: int | None = None,
    settings: dict[str, Any] | None = None,
) -> None:
    """Print the scores. The seconds are those from tokens to labels; reading the file and scoring do not count."""
    estimator = load(model)
    apply(estimator, settings or {})
    if label is not None:
        check_able(type(estimator), "--label", "label")
    if skip_invalid:
        check_able(type(estimator), "--skip-invalid", "nonprojective")
    if gold is not None or entities is not None:
        check_able(type(estimator), "--gold" if gold else "--entities", "folds")
    if columns is not None and estimator.texts:
        check_able(type(estimator), "--columns", "columns")
    if plot is not None:
        check_plot(plot, confusion, {"MODEL": path_of(str(model)), "FILE": file})
    if errors is not None:
        check_able(type(estimator), "--errors", "nbest")
    if estimator.texts:
        if confusion:
            raise StructronError(
                f"--confusion: not available for the {estimator.task}; works with models that label words"
            )
        _evaluate_texts(estimator, file, encoding, format, gold, entities, as_json)
        return
    source = Source(file, format, encoding, columns, estimator)
    corpus = Placed(source, View.of(estimator), label, labelled=True)
    items = list(corpus.labelled(skip_invalid=skip_invalid))
    corpus.tell_unfilled(corpus.unfilled - set(estimator.source_.get("empty", "").split(",")))
    sentences = len(sentences_of(items))
    estimator.predict(items[:1])
    begin = time.perf_counter()
    guess = estimator.predict(items)
    seconds = time.perf_counter() - begin
    scores = estimator.evaluate(items, guess=guess)
    speed = round(scores.tokens / max(seconds, 1e-9))
    confused = confusion_of(estimator, items, guess) if confusion else None
    if confused is not None and plot is not None:
        draw_confusion(confused, plot)
    listed = [] if errors is None else mistakes.find(estimator, items, guess, corpus, errors)
    if not as_json:
        print(scores.report())
        if confused is not None:
            print(f"\n{confused.report()}\n")
        print(f"{sentences:,} sentences in {seconds:.2f} s, {speed:,} tokens/s")
        print(shown(estimator.signature_))
        if errors is not None:
            _list(listed)
        return
    result = {"task": estimator.task, "metric": estimator.metric, "score": getattr(scores, estimator.metric)}
    result |= scores.as_dict() | ({"confusion": confused.as_dict()} if confused else {})
    result |= {"errors": [mistake.as_dict() for mistake in listed]} if errors is not None else {}
    result |= {"sentences": sentences, "seconds": round(seconds, 4), "tokens_per_second": speed}
    print(to_json(result | {"signature": estimator.signature_}))


def _list(listed: Sequence[mistakes.Mistake]) -> None:
    from rich.console import Console

    title = "the most confident mistakes, largest margin first:" if listed else "no mistakes"
    print(f"\n{title}")
    Console(highlight=False, soft_wrap=True).print(mistakes.report(listed), end="")


def _evaluate_texts(
    estimator: Any, file: str, encoding: str, format: str | None, known: str | None, entities: str | None, as_json: bool
) -> None:
    """Scores of a tokenizer or a pipeline from raw text, or from tokens or tags that are given."""
    if known not in (None, "tokens", "tags"):
        raise unknown("--gold", known, ("tokens", "tags"))
    docs = read_treebank(file, encoding, format)
    if entities is not None:
        add_entities(docs, entities, encoding)
    begin = time.perf_counter()
    if known is None:
        guess = estimator.predict([doc.text for doc in docs])
    else:
        guess = estimator.bare(docs, known)
        estimator.annotate(guess, known=known)
    seconds = time.perf_counter() - begin
    scores = estimator.evaluate(docs, guess=guess)
    words = sum(len(doc.words) for doc in guess)
    found = entity_scores(docs, guess) if entities is not None or any(doc.entities for doc in docs) else None
    speed = round(words / max(seconds, 1e-9))
    if as_json:
        result = {"task": estimator.task, "metric": estimator.metric, "score": getattr(scores, estimator.metric)}
        result |= scores.as_dict() | ({"entities": asdict(found)} if found else {})
        result |= {"seconds": round(seconds, 4), "tokens_per_second": speed, "signature": estimator.signature_}
        print(to_json(result))
        return
    print(scores.report())
    if found is not None:
        print(f"entities: precision {found.precision:.2f}, recall {found.recall:.2f}, F1 {found.f1:.2f}")
    print(f"{words:,} words in {seconds:.2f} s, {speed:,} words/s")
    print(shown(estimator.signature_))


def entity_scores(gold: Sequence[Doc], guess: Sequence[Doc]) -> TypeScore:
    """F1 of entities: label and span of the text have to agree."""
    every = [[{(e.label, e.start, e.end) for e in doc.entities} for doc in docs] for docs in (gold, guess)]
    pairs = list(zip(*every, strict=True))
    right = sum(len(a & b) for a, b in pairs)
    return TypeScore.of(sum(len(a) for a, _ in pairs), sum(len(b) for _, b in pairs), right)
