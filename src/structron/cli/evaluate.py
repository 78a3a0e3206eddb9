"""`structron evaluate`: a model's scores on labelled data, for people or as JSON."""

import json
import time
from pathlib import Path
from typing import Any

from structron.cli.corpus import Corpus, View
from structron.cli.files import Source
from structron.cli.predict import announce_compiling
from structron.cli.tasks import apply, check_able
from structron.sentences import sentences_of
from structron.tasks.registry import load


def run(
    model: Path,
    file: str,
    format: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    encoding: str = "utf-8",
    skip_invalid: bool = False,
    as_json: bool = False,
    settings: dict[str, Any] | None = None,
) -> None:
    """Print the scores. The seconds are those from tokens to labels; reading the file and scoring do not count."""
    estimator = load(model)
    apply(estimator, settings or {})
    if label is not None:
        check_able(type(estimator), "--label", "label")
    if skip_invalid:
        check_able(type(estimator), "--skip-invalid", "nonprojective")
    source = Source(file, format, encoding, columns, estimator)
    items = list(Corpus(source, View.of(estimator), label, labelled=True).labelled(skip_invalid=skip_invalid))
    sentences = len(sentences_of(items))
    announce_compiling(estimator)
    estimator.predict(items[:1])
    begin = time.perf_counter()
    guess = estimator.predict(items)
    seconds = time.perf_counter() - begin
    scores = estimator.evaluate(items, guess=guess)
    speed = round(scores.tokens / max(seconds, 1e-9))
    if not as_json:
        print(scores.report())
        print(f"{sentences} sentences in {seconds:.2f} s, {speed} tokens/s")
        print(estimator.signature_)
        return
    result = {"task": estimator.task, "metric": estimator.metric, "score": getattr(scores, estimator.metric)}
    result |= scores.as_dict()
    result |= {"sentences": sentences, "seconds": round(seconds, 4), "tokens_per_second": speed}
    print(json.dumps(result | {"signature": estimator.signature_}, ensure_ascii=False))
