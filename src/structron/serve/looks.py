"""What a model has learned and how it was trained, as the page shows it."""

from typing import Any

from structron.serve.library import Shelved, heaviest
from structron.tasks.capabilities import able

SEARCHED = 2000
"""The heaviest features of a label that are searched."""


def describe(model: Shelved) -> dict[str, Any]:
    """A model: its parts with labels, sizes, options and training history."""
    estimator = model.estimator
    histories = {entry["part"]: entry["passes"] for entry in estimator.history_} if len(model.parts) > 1 else {}
    parts = []
    for name, part in model.parts.items():
        parts.append(
            {
                "name": name,
                "task": part.task,
                "metric": part.metric,
                "signature": part.signature_,
                "summary": {key: str(value) for key, value in part._summary().items()},
                "labels": labels_of(part),
                "features": able(type(part), "inspect"),
                "options": {key: _shown(value) for key, value in part._stored().items()},
                "history": histories.get(name) or part.history_,
                "best_pass": part.best_pass_,
            }
        )
    return {**model.about(), "parts": parts}


def labels_of(part: Any) -> list[str]:
    """The labels, or for a shift-reduce parser the actions, that weights belong to."""
    problem = getattr(part, "problem_", None)
    if problem is not None:
        return list(problem.actions)
    if hasattr(part, "relations_"):
        return [str(name) for name in part.relations_]
    return [str(label) for label in getattr(part.model_, "labels", [])]


def features(part: Any, label: str | None, search: str, top: int) -> dict[str, Any]:
    """The heaviest features of a label whose names have a text in them; without one, of pairs of labels."""
    labels = labels_of(part)
    found = heaviest(part, label if label is not None or not labels else labels[0], SEARCHED)
    wanted = search.casefold()

    def chosen(weights: Any) -> list[dict[str, Any]]:
        named = [w for w in weights if w.feature and wanted in w.feature.casefold()][:top]
        return [{"feature": w.feature, "label": w.label, "weight": w.weight} for w in named]

    groups = {name: chosen(weights) for name, weights in found.labels.items()}
    pairs = chosen([*found.transitions, *found.trigrams, *found.pairs])
    pairs.sort(key=lambda w: -abs(w["weight"]))
    return {"labels": groups, "pairs": pairs[:top], "nameless": found.nameless}


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
