"""`structron evaluate`: a model's scores on labelled data, for people or as JSON."""

import json
import time
from pathlib import Path

from structron.cli.corpus import Source, View, labelled_rows, layout, per_sentence
from structron.cli.predict import announce_compiling
from structron.cli.tasks import MARGINS, check_capability, set_beam, set_test_candidates
from structron.cli.trees import check_trees
from structron.tasks.storage import load


def run(
    model: Path,
    file: str,
    format: str | None = None,
    columns: str | None = None,
    label: str | None = None,
    encoding: str = "utf-8",
    beam: str | None = None,
    test_candidates: int | None = None,
    skip_invalid: bool = False,
    jobs: int = 1,
    as_json: bool = False,
) -> None:
    """Print the scores. The seconds are those from tokens to labels; reading the file and scoring do not count."""
    estimator = load(model)
    set_beam(estimator, beam)
    set_test_candidates(estimator, test_candidates)
    if label is not None:
        check_capability("--label", estimator.task, MARGINS)
    if skip_invalid:
        check_capability("--skip-invalid", estimator.task, "checks_trees")
    source = Source(file, format, encoding, columns, estimator)
    view = View.of(estimator)
    fits = layout(source, view, label, labelled=True)
    if view.pos is not None:
        check_trees(source, view, fits, skip_invalid)
    items = list(labelled_rows(source, view, fits))
    sentences = len(per_sentence(view, items))
    announce_compiling(estimator)
    estimator.predict(items[:1])
    begin = time.perf_counter()
    guess = estimator.predict(items, jobs=jobs)
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
