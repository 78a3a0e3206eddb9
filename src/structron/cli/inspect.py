"""`structron inspect`: what a model has learned, or what decided on the labels of one sentence."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from structron.cli.tasks import check_able
from structron.errors import StructronError, shown
from structron.io.columns import EMPTY
from structron.model.heaviest import Heaviest, Weight
from structron.tasks.chain.explain import Decision
from structron.tasks.registry import load


def run(
    model: Path,
    label: str | None = None,
    top: int | None = None,
    sentence: str | None = None,
    as_json: bool = False,
) -> None:
    """Print the heaviest features of a model, or what decided on each word or step of a sentence."""
    estimator = load(model)
    result = {"task": estimator.task, "signature": estimator.signature_}
    if sentence is None:
        check_able(type(estimator), "inspect", "inspect")
        found = estimator.inspect(label, top=top or 10)
        result |= asdict(found)
        text = f"{shown(estimator.signature_)}\n{_listing(found)}"
    elif label is not None:
        raise StructronError("--label and --sentence do not go together: a sentence has the labels it has")
    else:
        check_able(type(estimator), "--sentence", "explain")
        steps = estimator.explain(parse_sentence(sentence, estimator), top=top or 8)
        by_token = isinstance(steps[0], Decision)
        result["tokens" if by_token else "actions"] = [_finite(asdict(step)) for step in steps]
        text = "\n".join(_decision(i, steps) if by_token else str(step) for i, step in enumerate(steps))
    print(json.dumps(result, ensure_ascii=False) if as_json else text)


def parse_sentence(text: str, estimator: Any) -> list[list[str]]:
    """Tokens between spaces; with further columns that the model reads, between slashes, counted from the right.

    `The/DT dog/NN` for word and pos; the word itself may have slashes: `1/2/CD`. A parser that reads more makes do with
    these two.
    """
    roles = estimator.roles_
    needed = [name for name in roles.inputs if name in estimator.needed_]
    orders = [needed] if roles.pos is None else [needed, [roles.word, roles.pos]]
    rows = []
    for token in text.split():
        for names in orders:
            fields = token.rsplit("/", len(names) - 1) if len(names) > 1 else [token]
            if len(fields) == len(names):
                break
        else:
            raise StructronError(f"--sentence: token {token!r}; the model reads {'/'.join(needed)}")
        given = dict(zip(names, fields, strict=True))
        rows.append([given.get(name, EMPTY) for name in roles.inputs])
    if not rows:
        raise StructronError("--sentence: no words; expected some between spaces")
    return rows


def _listing(found: Heaviest) -> str:
    lines = []
    for label, weights in found.labels.items():
        lines += ["", shown(label), *(f"{w.weight:12.4f}  {shown(w.feature)}" for w in weights)]
    groups: dict[str, list[Weight]] = {
        "label pairs": found.transitions,
        "label triples": found.trigrams,
        "features paired with the label before": found.pairs,
    }
    for title, weights in groups.items():
        if weights:
            lines += ["", title, *(f"{w.weight:12.4f}  {shown(str(w))}" for w in weights)]
    if found.non_local:
        lines += ["", "features of whole documents"]
        lines += [f"{weight:12.4f}  {shown(name)}" for name, weight in found.non_local]
    return "\n".join(lines)


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
