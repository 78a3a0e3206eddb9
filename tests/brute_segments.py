"""The features of a segment of tokens as strings, from their definition."""

from collections.abc import Callable

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
