"""What users give, sentences and documents, and what they get back: a list per sentence.

A sentence is a list of tokens; a token is a word or a row of columns. Sentences that belong together make a
`Document`, labelled as one sequence (Kazama & Torisawa 2007).
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np

from structron.errors import StructronError, quoted

WORDS, ROWS = "words", "rows"
"""What tokens can be."""
OTHER = -1
"""The length of what is no list."""


class Document(list):
    """A list of sentences that are labelled as one sequence, so that the labels of one can influence those of the
    others.

    Examples:
        >>> from structron import Document
        >>> Document([[("Ann", "NNP"), ("left", "VBD")], [("She", "PRP"), ("cried", "VBD")]])
        [[('Ann', 'NNP'), ('left', 'VBD')], [('She', 'PRP'), ('cried', 'VBD')]]
    """


def sentences_of(items: Iterable[Any]) -> list[Sequence]:
    """The sentences of sentences and documents, one after the other."""
    return [sentence for item in items for sentence in (item if isinstance(item, Document) else (item,))]


def regroup(items: Sequence[Any], found: Sequence[Any]) -> list[Any]:
    """What was found for each sentence, in the shape of the items: a list per document."""
    if not any(isinstance(item, Document) for item in items):
        return list(found)
    rest = iter(found)
    return [list(islice(rest, len(item))) if isinstance(item, Document) else next(rest) for item in items]


def check_sentences(sentences: Sequence[Sequence], what: str, before: int = 0) -> None:
    """Refuse anything but lists of tokens; a string would be taken apart into letters.

    The error counts sentences after the `before` ones that came earlier.
    """
    for number, sentence in enumerate(sentences, before + 1):
        if isinstance(sentence, str) or not hasattr(sentence, "__len__"):
            raise StructronError(f"{what}: sentence {number} is {quoted(sentence)}; expected a list of tokens")


def tokens_of(items: Sequence[Any], what: str, before: int) -> tuple[list[Sequence], list[int], list[Any], str]:
    """The sentences of items, checked as by `check_sentences`; how many each item has; all of their tokens, and what
    these are: WORDS, ROWS, or something else ("").
    """
    sizes = [len(item) if isinstance(item, Document) else 1 for item in items]
    sentences = sentences_of(items)
    check_sentences(sentences, what, before)
    tokens = list(chain.from_iterable(sentences))
    kinds = set(map(type, tokens))
    rows = ROWS if all(map(is_row, kinds)) else ""
    return sentences, sizes, tokens, WORDS if all(issubclass(kind, str) for kind in kinds) else rows


def sharing_texts(sentences: Iterable[Sequence]) -> Sequence[Sequence]:
    """Sentences of rows that are read one by one, equal texts kept once: most of what a treebank says, it says again.

    Sentences that are all there already are left as they are. Rows are made when all texts are known: with a text that
    lasts longer between them, their memory would not go back to the system when they have gone.
    """
    if isinstance(sentences, list | tuple):
        return sentences
    known: dict[str, int] = {}
    numbers, widths, lengths = array("i"), array("i"), array("i")
    others: list[Any] = []
    for own in sentences:
        lengths.append(len(own) if type(own) is list else OTHER)
        if type(own) is not list:
            others.append(own)
            continue
        for row in own:
            if type(row) is list and set(map(type, row)) == {str}:
                widths.append(len(row))
                numbers.extend([known.setdefault(text, len(known)) for text in row])
            else:
                widths.append(OTHER)
                others.append(row)
    texts, left = iter(map([*known].__getitem__, numbers)), iter(others)
    rows = (next(left) if width == OTHER else list(islice(texts, width)) for width in widths)
    return [next(left) if length == OTHER else list(islice(rows, length)) for length in lengths]


def is_row(kind: type) -> bool:
    """Whether tokens of this type have columns that can be counted."""
    return hasattr(kind, "__len__") and not issubclass(kind, str | bytes | Mapping | Set)


def starts_of(sentences: Sequence[Sequence]) -> np.ndarray:
    """int64[sentences + 1]: where each sentence starts among all tokens, and where the last one ends."""
    starts = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, sentences), np.int64, len(sentences)), out=starts[1:])
    return starts


def split(flat: np.ndarray, starts: np.ndarray) -> list[list]:
    """Cut an array with a value per token into a list per sentence."""
    values = flat.tolist()
    return [values[lo:hi] for lo, hi in pairwise(starts.tolist())]


def decode_labels(numbers: np.ndarray, labels: Sequence[Any], starts: np.ndarray) -> list[list]:
    """Label numbers, one per token, as a list of labels per sentence; -1 becomes None."""
    names = np.empty(len(labels) + 1, object)
    for k, label in enumerate(labels):
        names[k] = label
    return split(names[numbers], starts)
