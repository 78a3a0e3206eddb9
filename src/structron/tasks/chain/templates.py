"""Templates over labels before: what exact search of a Markov order can serve, and what needs the beam engine."""

from collections.abc import Sequence

from structron.features.templates import Template


def label_templates(templates: Sequence[Template], order: int) -> list[str]:
    """The templates over labels before: those that are always there, then the user's, in terms of the atoms."""
    texts = ["y[-1]", "y[-1]|y[-2]"][:order]
    extras = 0
    for template in templates:
        names = [f"y[-{k}]" for k in template.labels]
        if names and template.parts:
            names.append(f"x[{extras}]")
            extras += 1
        texts += ["|".join(names)] if names else []
    return list(dict.fromkeys(texts))


def looks_further(templates: Sequence[Template], order: int) -> bool:
    """Whether some template looks at labels in a way that Viterbi of this order cannot."""
    return any("x[" not in text or text.count("y[") > 1 or "y[-1]" not in text for text in _own(templates, order))


def _own(templates: Sequence[Template], order: int) -> list[str]:
    """The user's templates over labels before."""
    return [text for text in label_templates(templates, order) if text not in label_templates([], order)]
