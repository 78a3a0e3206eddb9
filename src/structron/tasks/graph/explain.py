"""Why a graph-based parser attaches a word where it does: its tree against the best tree with another head there.

The score of a tree is a sum over the features of its parts. Weights have no names, but the features of a given tree can
be spelled out and looked up, template by template. What decides between two trees are the features that only one has.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from structron.errors import shown
from structron.kernels.jit import entry
from structron.model.explain import Reason
from structron.model.graph import GraphModel
from structron.search.graph import features, relations, scores
from structron.search.graph import templates as groups
from structron.search.graph.features import BINS, PLAIN, sentence_codes
from structron.search.trees import parts
from structron.text.numbers import ShortFloats
from structron.weights.hashed import LOG_CELLS, shift_of

bin_of, order_of, side_of = (entry(own) for own in (features.bin_of, features.order_of, features.side_of))
bin_code, side_code = entry(relations.bin_code), entry(relations.side_code)
sibling_cells, tag_code = entry(scores.sibling_cells), entry(scores.tag_code)
siblings_of = entry(parts.siblings_of)
RIVALS = 10
"""So many more trees than words are looked at for other heads."""
SIDES = ("left", "right")
DISTANCES = ("1", "2", "3", "4", "5", "6 to 10", "above 10")
Feature = tuple[str, int]
"""Its name, and its place among the weights."""


@dataclass(frozen=True, slots=True, repr=False)
class Attachment(ShortFloats):
    """A word's head and relation, the head in the best tree with another one, and why."""

    word: str
    head: str
    relation: str | None
    runner_up: str | None
    margin: float | None
    because: list[Reason]

    def __str__(self) -> str:
        line = f"{self.word}  {self.relation or ''} of {self.head}"
        if self.runner_up is None or self.margin is None:
            line += "  (no other head among the best trees)"
        else:
            line += f"  by {self.margin:.4g} before {self.runner_up}"
        return "\n".join([shown(line), *(f"{own.weight:+12.4f}  {shown(own.feature)}" for own in self.because)])


class TreeFeatures:
    """The features of trees of one sentence, by name and place."""

    def __init__(self, parser: Any, model: GraphModel, x: np.ndarray, words: list[str]):
        self.parser, self.model, self.words = parser, model, ["<root>", *words, "<none>"]
        self.sentence = sentence_codes(model.templates, x, 0, len(x), model.w, shift_of(model.bits))
        self.values = {}  # the texts of each column
        for k, (name, alphabet) in enumerate(zip(parser.input_.names, parser.input_.alphabets, strict=True)):
            texts = alphabet.names()
            self.values[name] = [texts[value] for value in x[:, k].tolist()]

    def features(self, heads: np.ndarray, relations: np.ndarray) -> Iterator[Feature]:
        """All features of a tree. heads, relations: int64[n + 1]."""
        n, setting = len(heads) - 1, self.parser._setting()
        inner = np.zeros(n + 1, np.int64)
        siblings_of(heads, n, inner, np.zeros(n + 1, np.int64))
        for m in range(1, n + 1):
            h, s = int(heads[m]), int(inner[m]) or n + 1
            g = int(heads[h]) if h > 0 else n + 1
            arc = (bin_of(h, m), PLAIN + side_of(h, m))
            for group, i in ((groups.HEAD, h), (groups.WORD, m)):
                yield from self._of(group, (i, i), 0, arc)
            yield from self._of(groups.ARC, (h, m), 0, arc)
            for tag in sorted({int(self.sentence.tags[i]) for i in range(min(h, m) + 1, max(h, m))}):
                yield from self._of(groups.BETWEEN, (h, m), int(tag_code(tag)), arc, f" over tag {tag}")
            if self.parser.relations_:
                yield from self._relation(heads, m, int(relations[m]))
            if setting.order == 2:
                near, plain = sibling_cells(h, s, m, n + 1)
                yield from self._of(groups.SIBLING, (h, s, m), 0, (near, plain))
                if setting.grandparents:
                    yield from self._of(groups.GRAND, (g, h, m), 0, (order_of(g, h, m),))
                    yield from self._of(groups.TRIPLE, (g, h, s, m), 0, (order_of(g, h, m),))

    def _relation(self, heads: np.ndarray, m: int, relation: int) -> Iterator[Feature]:
        n, h, cells = len(heads) - 1, int(heads[m]), (relation,)
        name = f" as {self.parser.relations_[relation]}"
        side = int(side_code(h, m))
        yield from self._of(groups.RELATION_OF, (m, m), side, cells, name)
        yield from self._of(groups.RELATION_UNDER, (h, h), side, cells, name)
        yield from self._of(groups.RELATION, (h, m), side, cells, name)
        yield from self._of(groups.RELATION_FAR, (h, m), int(bin_code(h, m)), cells, name)
        for i in range(1, n + 1):
            if heads[i] == m:
                yield from self._of(groups.RELATION_CHILD, (h, i, m), int(side_code(m, i)), cells, name)
            elif heads[i] == h and i != m:
                yield from self._of(groups.RELATION_BESIDE, (h, i, m), int(side_code(i, m)), cells, name)
        yield from self._of(groups.RELATION_ABOVE, (int(heads[h]) if h > 0 else n + 1, h, m), 0, cells, name)

    def _of(
        self, group: int, words: tuple[int, ...], more: int, cells: tuple[int, ...], note: str = ""
    ) -> Iterator[Feature]:
        """The features of a group over some words, a weight for each of the cells."""
        templates = self.model.templates
        count, first = int(templates.size[group]), int(templates.start[group])
        for t, text in enumerate(self.parser.texts_[group]):
            code = (sum(int(self.sentence.codes[i, first + k * count + t]) for k, i in enumerate(words)) + more) % (
                1 << 64
            )
            row = (code >> int(shift_of(self.model.bits))) << LOG_CELLS
            name = f"{text}={self._spelled(group, text, words)}{note}"
            for cell in cells:
                yield name + (_cell_name(cell) if len(cells) > 1 else ""), row + cell

    def _spelled(self, group: int, text: str, words: tuple[int, ...]) -> str:
        """What each atom of a template says of these words."""
        place, found = dict(zip(groups.ROLES.get(group, "hm"), words, strict=True)), []
        for atom in text.split("|"):
            role, _, what = atom.partition(".")
            name, offset = groups.slot_of(what)
            i = place[role] + offset
            inside = 1 <= i <= len(self.words) - 2 and place[role] < len(self.words) - 1
            found.append(self.values[name][i - 1] if inside else self.words[0 if i == 0 else -1])
        return "|".join(found)


def _cell_name(cell: int) -> str:
    """The direction and distance that a cell of an arc's row is for."""
    if cell >= PLAIN:
        return f" to the {SIDES[cell - PLAIN]}"
    return f" to the {SIDES[cell // BINS]} at distance {DISTANCES[cell % BINS]}"


def explain(parser: Any, sentence: Any, top: int) -> list[Attachment]:
    """For each word its head, the next best, and the features that decided."""
    model = parser.model_
    _, x, starts = parser._encode([sentence])
    words = parser.input_.columns_of([sentence])[parser.roles_.word]
    best = model.nbest(x, starts, parser._setting(), 2 * len(words) + RIVALS, 1)[0]
    spelled: dict[int, dict[Feature, int]] = {}
    features = TreeFeatures(parser, model, x, words)

    def counted(k: int) -> dict[Feature, int]:
        if k not in spelled:
            found: dict[Feature, int] = {}
            heads, relations, _ = best[k]
            for feature in features.features(np.concatenate([[-1], heads]), np.concatenate([[0], relations])):
                found[feature] = found.get(feature, 0) + 1
            spelled[k] = found
        return spelled[k]

    tree, found = parser._tree(best[0][0].tolist(), parser._names[best[0][1]].tolist()), []
    for i, word in enumerate(words):
        rival = next((k for k in range(1, len(best)) if best[k][0][i] != best[0][0][i]), None)
        runner_up, margin, because = None, None, []
        if rival is not None:
            runner_up, margin = features.words[int(best[rival][0][i])], best[0][2] - best[rival][2]
            ours, theirs = counted(0), counted(rival)
            gains = {f: (ours.get(f, 0) - theirs.get(f, 0)) * float(model.w[f[1]]) for f in [*ours, *theirs]}
            order = sorted((f for f in gains if gains[f]), key=lambda f: -abs(gains[f]))
            because = [Reason(f[0], gains[f]) for f in order[:top]]
        head, relation = tree[i]
        found.append(Attachment(word, features.words[head], relation, runner_up, margin, because))
    return found
