"""What a graph-based parser has learned, by name.

Weights are found by hashes and have no names. But words and tags are known, so the features of short templates can be
made from them and looked up: all of one word or tag, and all of two where both are of few kinds, like tags.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from structron.errors import unknown
from structron.kernels.jit import entry
from structron.model.graph import GraphModel
from structron.model.heaviest import Heaviest, Weight, heaviest
from structron.search.graph.features import PLAIN, sentence_codes
from structron.search.graph.relations import side_code
from structron.search.graph.templates import ARC, HEAD, RELATION, RELATION_OF, RELATION_UNDER, WORD
from structron.weights.hashed import LOG_CELLS, shift_of

MAX_PAIRED_KINDS = 64
"""Kinds of a column that is paired with another: of more pairs, most were never seen and share others' weights."""
ARCS = (HEAD, WORD, ARC)
SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class TemplateFeatures:
    """All features of a template: their codes, and the texts that the head and the word have in them."""

    group: int
    text: str
    codes: np.ndarray
    heads: list[str]
    words: list[str]

    def name(self, k: int) -> str:
        values = (self.heads[k // len(self.words)], self.words[k % len(self.words)])
        return f"{self.text}={'|'.join(filter(None, values))}"


def heaviest_features(parser: Any, model: GraphModel, label: str | None, top: int) -> Heaviest:
    """The heaviest features of arcs to the left and to the right, whatever their length, and of each relation."""
    names = [*SIDES, *parser.relations_]
    if label not in (None, *names):
        raise unknown("relation", label, names)
    found: dict[str, list[Weight]] = {name: [] for name in names if label in (None, name)}

    def collect(name: str, weights: np.ndarray, listed: TemplateFeatures, more: str) -> None:
        if name in found:
            found[name] += heaviest(weights, name, top, lambda k: listed.name(k) + more)

    for listed in _features(parser, model):
        for side, name in enumerate(SIDES):
            if listed.group in ARCS:
                collect(name, model.w[_rows(listed.codes, model) + PLAIN + side], listed, "")
                continue
            rows = _rows(listed.codes + entry(side_code)(0, side), model)
            for column, relation in enumerate(parser.relations_):
                collect(relation, model.w[rows + column], listed, f" to the {name}")
    order = {name: sorted(own, key=lambda w: (-abs(w.weight), w.feature))[:top] for name, own in found.items()}
    return Heaviest(order)


def _rows(codes: np.ndarray, model: GraphModel) -> np.ndarray:
    return (codes >> shift_of(model.bits)).astype(np.int64) << LOG_CELLS


def _features(parser: Any, model: GraphModel) -> Iterator[TemplateFeatures]:
    """The features of every template that can be listed: one column of the head, of the word, or of each."""
    inputs, templates = parser.input_, model.templates
    texts = {name: alphabet.names()[1:] for name, alphabet in zip(inputs.names, inputs.alphabets, strict=True)}
    sizes = [len(values) for values in texts.values()]
    n = max(sizes)
    x = np.minimum(np.arange(1, n + 1)[:, None], np.array(sizes))
    codes = sentence_codes(templates, np.ascontiguousarray(x), 0, n, model.w, shift_of(model.bits)).codes
    for group in (*ARCS, RELATION_OF, RELATION_UNDER, RELATION):
        start, count = int(templates.start[group]), int(templates.size[group])
        for t, text in enumerate(parser.texts_[group]):
            columns = {atom[0]: atom[2:] for atom in text.split("|")}
            if len(columns) < text.count("|") + 1 or not set(columns.values()) <= set(texts):
                continue
            heads, words = (texts[columns[role]] if role in columns else [""] for role in "hm")
            if min(len(heads), len(words)) == 1 or max(len(heads), len(words)) <= MAX_PAIRED_KINDS:
                head, word = codes[1 : 1 + len(heads), start + t], codes[1 : 1 + len(words), start + count + t]
                yield TemplateFeatures(group, text, (head[:, None] + word).ravel(), heads, words)
