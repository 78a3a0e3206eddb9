"""`structron evaluate`: a model's scores on labelled data, for people or as JSON."""

import json
import time
from pathlib import Path

from structron.commands.corpus import Source, View, labelled_rows, layout
from structron.commands.predict import announce_compiling
from structron.tasks.storage import load


def run(
    model: Path,
    file: str,
    format: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    encoding: str = "utf-8",
    jobs: int = 1,
    as_json: bool = False,
) -> None:
    """Print the scores. The seconds are those from tokens to labels; reading the file and scoring do not count."""
    labeler = load(model)
    source = Source(file, format, encoding, columns, labeler)
    sentences = list(labelled_rows(source, layout(source, View.of(labeler), label, labelled=True)))
    announce_compiling()
    labeler.predict(sentences[:1])
    begin = time.perf_counter()
    guess = labeler.predict(sentences, jobs=jobs)
    seconds = time.perf_counter() - begin
    scores = labeler.evaluate(sentences, guess=guess)
    speed = round(scores.tokens / max(seconds, 1e-9))
    if not as_json:
        print(scores.report())
        print(f"{len(sentences)} sentences in {seconds:.2f} s, {speed} tokens/s")
        print(labeler.signature_)
        return
    result = {"task": labeler.task, "metric": labeler.metric, "score": getattr(scores, labeler.metric)}
    result |= scores.as_dict()
    result |= {"sentences": len(sentences), "seconds": round(seconds, 4), "tokens_per_second": speed}
    print(json.dumps(result | {"signature": labeler.signature_}, ensure_ascii=False))
