"""What a chain model has learned, and why it labels a sentence as it does: functions that return data.

A chain model's score of a labelling is a sum of weights, one for each feature under the label of its token. The label
before (`y[-1]`), the two before (`y[-2],y[-1]`) and their pairs with other features are features too. So a decision
between two labellings is explained exactly by the features whose weights differ.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from structron.errors import StructronError, unknown
from structron.features.extract import Prepared
from structron.kernels.table import table_find
from structron.model.chain import ChainModel
from structron.model.heaviest import Heaviest, Weight, heaviest, largest
from structron.search.chain.scores import FORBIDDEN
from structron.text.numbers import ShortFloat, ShortFloats

Whole = Callable[[Prepared, list[int]], dict[str, float]]
START = "<s>"
"""What stands before the first label of a sentence."""


@dataclass(frozen=True, slots=True, repr=False)
class Contribution(ShortFloats):
    """How much a feature favours the chosen labelling; tokens are counted from 0.

    Examples:
        >>> from structron.tasks.chain.explain import Contribution
        >>> Contribution(token=1, feature="w[0]=dog", weight=2.400001525878906)
        Contribution(token=1, feature='w[0]=dog', weight=2.4)
    """

    token: int
    feature: str
    weight: float


@dataclass(frozen=True, slots=True, repr=False)
class Decision(ShortFloats):
    """Why a token has its label: `because` lists what favours the chosen labelling or (negative) the runner-up.

    The runner-up is the best labelling with another label here; it may differ at neighbouring tokens too. The margin is
    the sum of all contributions. Without a runner-up, no other label is possible.

    Examples:
        >>> from structron import Tagger
        >>> train = [[("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [("a", "DET"), ("cat", "NOUN")]]
        >>> tagger = Tagger(templates=["w[0]"], cutoff=0, runs=1).fit(train)
        >>> decision = tagger.explain(["a", "dog"])[1]
        >>> decision.word, decision.label, decision.margin > 0
        ('dog', 'NOUN', True)
        >>> abs(sum(own.weight for own in decision.because) - decision.margin) < 1e-9
        True
    """

    word: str
    label: str
    runner_up: str | None
    margin: float
    because: list[Contribution]


def _columns(model: Any, label: str | None) -> list[int]:
    """The columns of all labels, or of one, which may be a word of labels such as `NOUN NNS`."""
    if label is None or label in model.labels:
        return [y for y, name in enumerate(model.labels) if label in (None, name)]
    if found := [y for y, name in enumerate(model.labels) if label in name.split(" ")]:
        return found
    raise unknown("label", label, model.labels)


def heaviest_in_chain(model: ChainModel, label: str | None, top: int) -> Heaviest:
    """The heaviest features of every label, and of label pairs and triples; only those for `label` if one is given."""
    columns = _columns(model, label)
    context = [START, *model.labels]
    contexts, first = len(context), model.fixed + len(model.keys)
    plain = model.w[model.fixed : first]

    def name(place: int) -> str:
        return model.names.take(np.array([place])).all()[0]

    labels = {model.labels[y]: heaviest(plain[:, y], model.labels[y], top, name) for y in columns}
    transitions = _ranked(model, columns, np.arange(contexts), [_before(p) for p in context], top)
    trigrams: list[Weight] = []
    if model.order == 2:
        names = [_before(p, q) for q in context for p in context]
        trigrams = _ranked(model, columns, np.arange(contexts, model.fixed), names, top)
    return Heaviest(labels, transitions, trigrams, _ranked_pairs(model, columns, top))


def heaviest_of_documents(model: Any, top: int) -> list[tuple[str, float]]:
    """The heaviest features of documents."""
    pairs = [(text, ShortFloat(weight)) for text, (weight, _) in model.document_weights().items()]
    return [pairs[k] for k in largest(np.array([weight for _, weight in pairs]), top).tolist()]


def heaviest_under_beam(model: Any, label: str | None, top: int) -> Heaviest:
    """The same for a model with a beam; templates over labels that Viterbi does not have stand with the pairs."""
    columns, composition = _columns(model, label), model.base.problem.composition
    first = len(model.base.anchored_keys)
    number = model.base.template_numbers()
    groups: dict[str, list[Weight]] = {"y[-1]": [], "y[-1]|y[-2]": [], "": []}
    labels = {}
    for y in columns:
        name, weights = model.labels[y], model.base.weights_of([y])
        labels[name] = heaviest(weights[:first], name, top, model.name_of)
        for t, template in enumerate(composition.texts):
            places = (first + np.flatnonzero(number == t)).tolist()
            groups[template if template in groups else ""] += heaviest(weights, name, top, model.name_of, places)
    pairs, triples, others = (sorted(found, key=lambda w: -abs(w.weight))[:top] for found in groups.values())
    return Heaviest(labels, pairs, triples, others)


def heaviest_of_choices(model: Any, label: str | None, top: int) -> Heaviest:
    """The same for a model whose weights are cells: what the pieces of a label have is added up."""
    columns = _columns(model, label)
    context, labels, pairs = [START, *model.labels], {}, []
    split, (begin, piece, width, _) = int(np.searchsorted(model.row, model.fixed)), model.kinds
    before, plain = (_by_column(model, part, width) for part in (slice(0, split), slice(split, None)))

    def ranked(name_of_label: str, rows: np.ndarray, weights: np.ndarray) -> list[Weight]:
        return [Weight(name(int(rows[k])), name_of_label, float(weights[k])) for k in largest(weights, top).tolist()]

    def name(row: int) -> str:
        return _before(context[row]) if row < model.fixed else model.names.take(np.array([row - model.fixed])).all()[0]

    for y in columns:
        known, own = model.labels[y], [plain[k] for k in piece[begin[y] : begin[y + 1]].tolist()]
        rows, place = np.unique(np.concatenate([row for row, _ in own]), return_inverse=True)
        sums = np.bincount(place, np.concatenate([weight for _, weight in own]), len(rows))
        labels[known] = ranked(known, rows, sums)
        pairs += ranked(known, *before[y])
    return Heaviest(labels, sorted(pairs, key=lambda w: -abs(w.weight))[:top])


def _by_column(model: Any, part: slice, width: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows and weights of some cells, for each column."""
    row, column, weight = model.row[part], model.column[part], model.weight[part]
    order = np.argsort(column, kind="stable")
    bounds = np.searchsorted(column[order], np.arange(width + 1))
    return [(row[order[lo:hi]], weight[order[lo:hi]]) for lo, hi in pairwise(bounds.tolist())]


def _ranked(model: ChainModel, columns: list[int], rows: np.ndarray, names: Sequence[str], top: int) -> list[Weight]:
    """The heaviest cells of some rows, each row with its name."""
    cells = model.w[rows][:, columns]
    best = largest(cells.reshape(-1), top)
    row, column = np.unravel_index(best, cells.shape)
    places = zip(row.tolist(), column.tolist(), strict=True)
    return [Weight(names[r], model.labels[columns[c]], float(cells[r, c])) for r, c in places]


def _ranked_pairs(model: ChainModel, columns: list[int], top: int) -> list[Weight]:
    blocks, contexts = np.nonzero(model.block_rows >= 0)
    if not len(blocks):
        return []
    rows = model.block_rows[blocks, contexts]
    cells = model.w[rows][:, columns]
    best = largest(cells.reshape(-1), top)
    row, column = np.unravel_index(best, cells.shape)
    names = model.pair_names.take(blocks[row]).all()
    found = zip(names, contexts[row].tolist(), cells[row, column].tolist(), column.tolist(), strict=True)
    before = [START, *model.labels]
    return [Weight(_paired(name, before[p]), model.labels[columns[c]], weight) for name, p, weight, c in found]


def _before(label: str, earlier: str | None = None) -> str:
    return f"y[-1]={label}" if earlier is None else f"y[-2]={earlier},y[-1]={label}"


def _paired(name: str, before: str) -> str:
    """`w[0]&y=dog` with the label it is paired with: `w[0]=dog,y[-1]=DT`."""
    return f"{name.replace('&y=', '=', 1)},{_before(before)}"


def contributions(model: Any, prepared: Prepared, s: int, labels: Sequence[int]) -> Iterator[Contribution]:
    """All that a labelling's score is the sum of: labels[i] is the number of the label of token i of sentence s."""
    start, contexts = int(prepared.starts[s]), len(model.labels) + 1
    names = [START, *model.labels]
    for i, y in enumerate(labels):
        before = labels[i - 1] + 1 if i > 0 else 0
        if model.order:
            yield Contribution(i, _before(names[before]), model.weight_at(before, y))
        if model.order == 2:
            earlier = labels[i - 2] + 1 if i > 1 else 0
            row = contexts + earlier * contexts + before
            yield Contribution(i, _before(names[before], names[earlier]), model.weight_at(row, y))
        for key, name, value in prepared.describe(s, start + i, False):
            number = table_find(model.table, np.uint64(key & (1 << model.bits) - 1))
            if number >= 0:
                yield Contribution(i, name, value * model.weight_at(model.fixed + number, y))
        for key, name, _ in prepared.describe(s, start + i, True):
            block = table_find(model.block_table, np.uint64(key))
            row = model.block_rows[block, before] if block >= 0 else -1
            if row >= 0:
                yield Contribution(i, _paired(name, names[before]), model.weight_at(row, y))


def explain(model: Any, prepared: Prepared, top: int, whole: Whole | None = None, **how: Any) -> list[Decision]:
    """For each token its label, the runner-up and the `top` features that decided, those that weighed most first.

    prepared: one sentence; whole: what features of the whole document add to a labelling; how: what `decode` of the
    model is told.
    """
    if model.votes is not None:
        raise StructronError("a voted model cannot be explained, because many vectors vote; train with average mean")
    chosen, scores, _ = model.decode(prepared, **how)
    path = chosen.tolist()
    reasons, ours = _weigh(model, prepared, path), whole(prepared, path) if whole else {}
    words = [prepared.word_types[k] for k in prepared.word_ids.tolist()]
    decisions = []
    for i, (other, score) in enumerate(model.runners_up(prepared, chosen)):
        others = whole(prepared, other) if whole else {}
        label, margin = model.labels[path[i]], float(scores[0]) - score - sum(others.values())
        if margin >= -FORBIDDEN / 2:
            because = {key: weight for key, weight in reasons.items() if key[0] == i}
            runner_up, margin = None, float("inf")
        else:
            against = _weigh(model, prepared, other)
            because = {key: reasons.get(key, 0.0) - against.get(key, 0.0) for key in [*reasons, *against]}
            because |= {(i, name): ours.get(name, 0.0) - others.get(name, 0.0) for name in [*ours, *others]}
            runner_up = model.labels[other[i]]
        found = [Contribution(token, name, weight) for (token, name), weight in because.items() if weight]
        found.sort(key=lambda c: -abs(c.weight))
        decisions.append(Decision(words[i], label, runner_up, margin, found[:top]))
    return decisions


def _weigh(model: Any, prepared: Prepared, path: list[int]) -> dict[tuple[int, str], float]:
    """The contributions of a labelling by token and feature."""
    sums: dict[tuple[int, str], float] = {}
    for c in contributions(model, prepared, 0, path):
        sums[c.token, c.feature] = sums.get((c.token, c.feature), 0.0) + c.weight
    return sums
