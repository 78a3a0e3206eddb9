"""The features of a segment of tokens as strings, from their definition; all segmentations, and their scores."""

from collections.abc import Callable

import numpy as np

from structron.model.encoded import EncodedModel
from structron.tasks.segments.problem import Segments

Rows = list[list[str]]


BASES: dict[str, Callable[[Rows, int], str | None]] = {
    "w[0]": lambda s, i: at(s, i, 0),
    "pos[0]": lambda s, i: at(s, i, 1),
    "upper[0]": lambda s, i: "yes" if 0 <= i < len(s) and s[i][0] != s[i][0].lower() else edge(s, i),
    "suffix2[0]": lambda s, i: edge(s, i) or (s[i][0][-2:] if len(s[i][0]) > 1 else None),
    "w[-1]|pos[1]": lambda s, i: f"{at(s, i - 1, 0)}|{at(s, i + 1, 1)}",
}
"""Templates, and what each says of a token; None: nothing."""


WORDS = ["a", "b", "Ab", "bab", "B", "ä|b"]


def edge(sentence: Rows, i: int) -> str | None:
    return f"<s{-i}>" if i < 0 else f"</s{i - len(sentence) + 1}>" if i >= len(sentence) else None


def at(sentence: Rows, i: int, column: int) -> str:
    return edge(sentence, i) or sentence[i][column]


def names(sentence: Rows, kind: str, span: range):
    for base, text in BASES.items():
        texts = [text(sentence, i) for i in span]
        if texts and None not in texts:
            yield f"{kind} {base}={'|'.join(map(str, texts))}"


def segmentations(n: int, segments: Segments):
    """All of them, as lists of (label, length)."""
    if n == 0:
        yield []
    for y, most in enumerate(segments.longest):
        for length in range(1, min(n, most) + 1):
            for rest in segmentations(n - length, segments):
                yield [(y, length), *rest]


def slow_score(sentence: list[list[str]], path: list[tuple[int, int]], model: EncodedModel, weights: dict) -> float:
    """The sum of the weights of all features of a segmentation, looked up by name."""
    before, place, total = "<s>", 0, 0.0
    labels, positions = model.encoder.segments.labels, model.encoder.shape.positions
    for y, length in path:
        last = place + length - 1
        spans = [("before", range(place - 1, place)), ("after", range(last + 1, last + 2)), ("last", [last])]
        spans += [(f"at{min(i, positions - 1) + 1}", [place + i]) for i in range(length)]
        spans += [("pair", range(t - 1, t + 1)) for t in range(place + 1, last + 1)]
        spans += [("triple", range(t - 2, t + 1)) for t in range(place + 2, last + 1)]
        spans += [(f"whole{length}", range(place, place + length))]
        found = [name for kind, span in spans for name in names(sentence, kind, span)]
        found += [f"len={length}", f"y[-1]={before}", f"y[-1]|len={before}|{length}"]
        total += sum(weights.get((name, y), 0.0) for name in found)
        before, place = labels[y], place + length
    return total


def weights_by_name(model: EncodedModel) -> dict[tuple[str, int], float]:
    rows = model.base.rows
    texts = [model.name_of(place) for place in range(model.size)]
    return {
        (texts[p], y): w
        for p, y, w in zip(rows.place.tolist(), rows.column.tolist(), rows.weight.tolist(), strict=True)
    }


def random_data(rng: np.random.Generator, sizes: list[int]) -> list[list[list[str]]]:
    """Sentences of random words, tags and chunks of at most three words."""
    found = []
    for n in sizes:
        labels: list[str] = []
        while len(labels) < n:
            length = int(rng.integers(1, min(3, n - len(labels)) + 1))
            kind = str(rng.choice(["O", "NP", "VP"]))
            labels += ["O"] if kind == "O" else [f"B-{kind}"] + [f"I-{kind}"] * (length - 1)
        found.append([[str(rng.choice(WORDS)), str(rng.choice(list("DNV"))), label] for label in labels])
    return found
