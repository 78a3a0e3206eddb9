"""`structron inspect`: what a model has learned, or what decided on the labels of one sentence."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from structron.cli.tasks import check_able
from structron.cli.views.beam import parse_sentence, trace_of, width_of
from structron.cli.views.parts import draw_history, print_parts
from structron.errors import StructronError, shown
from structron.tasks.chain.explain import Decision
from structron.tasks.registry import load
from structron.text.numbers import to_json


def run(
    model: Path,
    label: str | None = None,
    top: int | None = None,
    sentence: str | None = None,
    beam: bool = False,
    width: str | None = None,
    gold: str | None = None,
    part: str | None = None,
    plot: Path | None = None,
    as_json: bool = False,
) -> None:
    """Print the heaviest features of a model, what decided on a sentence, or its beams; or draw how training went."""
    estimator = load(model)
    reads = None
    if part is not None:
        if estimator.task != "pipeline":
            raise StructronError(f"--part: {model} is a {estimator.task}; expected a pipeline, which has parts")
        estimator, reads = estimator.part(part), estimator
    if plot is not None:
        draw_history(estimator, model, plot)
        return
    if not beam and (gold or width):
        raise StructronError(f"--{'gold' if gold else 'width'}: expected --beam too")
    if beam:
        if sentence is None and gold is None:
            raise StructronError("--beam: expected --sentence TEXT or --gold FILE too")
        trace = trace_of(reads or estimator, part, width_of(width), sentence, gold)
        print(to_json(trace.to_json()) if as_json else trace.report(top or 5))
        return
    if estimator.task == "pipeline" and sentence is None and label is None:
        print_parts(estimator, top or 3, as_json)
        return
    result = {"task": estimator.task, "signature": estimator.signature_}
    if sentence is None:
        check_able(type(estimator), "inspect", "inspect")
        found = estimator.inspect(label, top=top or 10)
        result |= asdict(found)
        text = f"{shown(estimator.signature_)}\n\n{found}"
    elif label is not None:
        raise StructronError("--label: cannot be combined with --sentence")
    else:
        check_able(type(estimator), "--sentence", "explain")
        steps = estimator.explain(parse_sentence(sentence, estimator), top=top or 8)
        by_token = isinstance(steps[0], Decision)
        result["tokens" if by_token else "actions"] = [_finite(asdict(step)) for step in steps]
        text = "\n".join(_decision(i, steps) if by_token else str(step) for i, step in enumerate(steps))
    print(to_json(result) if as_json else text)


def _decision(i: int, decisions: list[Decision]) -> str:
    decision = decisions[i]
    line = f"{decision.word}  {decision.label}"
    if decision.runner_up is None:
        line += "  (no other label is possible)"
    else:
        line += f"  by {decision.margin:.4g} before {decision.runner_up}"
    lines = [shown(line)]
    for c in decision.because:
        elsewhere = "" if c.token == i else f"  (at {decisions[c.token].word!r}, token {c.token + 1})"
        lines.append(shown(f"{c.weight:+12.4f}  {c.feature}{elsewhere}"))
    return "\n".join(lines)


def _finite(step: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: the margin over nothing is null."""
    return {name: None if value == math.inf else value for name, value in step.items()}
