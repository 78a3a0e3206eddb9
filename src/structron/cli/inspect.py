"""`structron inspect`: what a model has learned, or what decided on the labels of one sentence."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from structron.cli.corpus import EMPTY, View
from structron.cli.tasks import MARGINS, check_capability
from structron.errors import StructronError
from structron.tasks.chain.explain import Decision, Heaviest, Weight, explain, heaviest
from structron.tasks.storage import load


def run(
    model: Path,
    label: str | None = None,
    top: int | None = None,
    sentence: str | None = None,
    as_json: bool = False,
) -> None:
    estimator: Any = load(model)
    result = {"task": estimator.task, "signature": estimator.signature_}
    if sentence is not None:
        if label is not None:
            raise StructronError("--label and --sentence do not go together: a sentence has the labels it has")
        check_capability("--sentence", estimator.task, MARGINS, "explain")
        if hasattr(estimator, "explain"):
            steps = estimator.explain(parse_sentence(sentence, View.of(estimator)), top or 8)
            print(json.dumps(result | {"actions": [*map(asdict, steps)]}) if as_json else "\n".join(map(str, steps)))
            return
        decisions = explain(estimator, parse_sentence(sentence, View.of(estimator)), top or 8)
        result["tokens"] = [asdict(decision) for decision in decisions]
        text = "\n".join(_decision(i, decisions) for i in range(len(decisions)))
    else:
        found = _heaviest(estimator, label, top or 10)
        result |= asdict(found)
        text = f"{estimator.signature_}\n{_listing(found)}"
    print(json.dumps(_finite(result), ensure_ascii=False) if as_json else text)


def parse_sentence(text: str, view: View) -> list[list[str]]:
    """Tokens between spaces; with further columns that the model reads, between slashes, counted from the right.

    `The/DT dog/NN` for word and pos; the word itself may have slashes: `1/2/CD`. A parser that reads more makes do with
    these two.
    """
    needed = [name for name in view.inputs if name in view.needed]
    orders = [needed] if view.pos is None else [needed, [view.word, view.pos]]
    rows = []
    for token in text.split():
        for names in orders:
            fields = token.rsplit("/", len(names) - 1) if len(names) > 1 else [token]
            if len(fields) == len(names):
                break
        else:
            raise StructronError(f"--sentence: token {token!r}; the model reads {'/'.join(needed)}")
        given = dict(zip(names, fields, strict=True))
        rows.append([given.get(name, EMPTY) for name in view.inputs])
    if not rows:
        raise StructronError("--sentence: no words; expected some between spaces")
    return rows


def _heaviest(estimator: Any, label: str | None, top: int) -> Heaviest:
    """What weighs most; a task whose model is no chain says it itself, as features and weights for each action."""
    if not hasattr(estimator, "inspect_weights"):
        return heaviest(estimator.model_, label, top)
    weights = estimator.inspect_weights(label, top)
    labels = {name: [Weight(text, name, float(w)) for text, w in found] for name, found in weights.items()}
    return Heaviest(labels, [], [], [])


def _listing(found: Heaviest) -> str:
    lines = []
    for label, weights in found.labels.items():
        lines += ["", label, *(f"{w.weight:12.4f}  {w.feature}" for w in weights)]
    groups: dict[str, list[Weight]] = {
        "label pairs": found.transitions,
        "label triples": found.trigrams,
        "features paired with the label before": found.pairs,
    }
    for title, weights in groups.items():
        if weights:
            lines += ["", title, *(f"{w.weight:12.4f}  {w}" for w in weights)]
    if found.non_local:
        lines += ["", "features of whole documents", *(f"{weight:12.4f}  {name}" for name, weight in found.non_local)]
    return "\n".join(lines)


def _decision(i: int, decisions: list[Decision]) -> str:
    decision = decisions[i]
    line = f"{decision.word}  {decision.label}"
    if decision.runner_up is None:
        line += "  (no other label is possible)"
    else:
        line += f"  by {decision.margin:.4g} before {decision.runner_up}"
    lines = [line]
    for c in decision.because:
        elsewhere = "" if c.token == i else f"  (at {decisions[c.token].word!r}, token {c.token + 1})"
        lines.append(f"{c.weight:+12.4f}  {c.feature}{elsewhere}")
    return "\n".join(lines)


def _finite(result: dict) -> dict:
    """JSON has no infinity: the margin over nothing is null."""
    for token in result.get("tokens", []):
        if token["runner_up"] is None:
            token["margin"] = None
    return result
