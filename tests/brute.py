"""Slow and obvious versions of what the package does fast, to compare it with.

Features are strings made straight from the definition of a template, a labelling's score is a sum over a dictionary of
weights, search is a list of all labellings, an average is a sum over stored vectors.

    weight keys:   ("label", p, y)   ("labels", p2, p, y) at order 2   (feature, y)   (paired feature, p, y)
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

START = "<start>"
"""The label before the first one."""

Vector = dict[tuple, float]


# -- features ------------------------------------------------------------------------------------------------------


def char_kind(char: str) -> str:
    """X upper or title case, x lower case, d digit, anything else itself."""
    if char.isupper() or char.istitle():
        return "X"
    if char.islower():
        return "x"
    if char.isdigit():
        return "d"
    return char


def atom(function: str, text: str) -> str | None:
    """What a built-in atom says of a text: its definition, written a second time."""
    kinds = [char_kind(char) for char in text]
    if function in ("w", ""):
        return text
    if function == "lower":
        return text.lower()
    if function == "norm":
        return "".join("0" if char_kind(char) == "d" else char for char in text.lower())
    if function == "shape":
        return "".join(kinds)
    if function == "class":
        short = ""
        previous = None
        for kind in kinds:
            if kind != previous:
                short += kind
            previous = kind
        return short
    if function == "digit":
        return "yes" if "d" in kinds else None
    if function == "upper":
        return "yes" if "X" in kinds else None
    if function == "hyphen":
        return "yes" if "-" in text else None
    if function in ("stem", "ending"):
        ends = "nesses|ations|ation|ments|ingly|ness|ment|edly|ings|ing|ers|est|ies|ied|ed|es|ly|er|'s|s"
        found = re.fullmatch(rf"(.{{3,}}?)({ends})", text.lower(), re.DOTALL)
        if found is None:
            return text.lower() if function == "stem" else None
        return found[1] if function == "stem" else found[2]
    if function.startswith(("lprefix", "lsuffix")):
        return atom(function[1:], text.lower())
    if function.startswith("prefix"):
        k = int(function.removeprefix("prefix"))
        return text[:k] if len(text) >= k else None
    if function.startswith("suffix"):
        k = int(function.removeprefix("suffix"))
        return text[-k:] if len(text) >= k else None
    raise KeyError(function)


def atom_at(name: str, columns: Sequence[str], word: str, row: Sequence[str]) -> str | None:
    """An atom of one token: a column, the word's built-in, or `column.built-in`."""
    if name in columns:
        return row[columns.index(name)]
    column, _, function = name.rpartition(".")
    place = columns.index(word if column in ("", "w") else column)
    return atom(function, row[place])


def feature(template: str, columns: Sequence[str], word: str, rows: Sequence[Sequence[str]], i: int) -> str | None:
    """A template's feature at token i as a string; None when one of its atoms says nothing."""
    body = template.removesuffix("&y")
    texts = []
    for part in body.split("|"):
        name, offset = part.removesuffix("]").split("[")
        j = i + int(offset)
        if j < 0:
            texts.append(f"<s{-j}>")
        elif j >= len(rows):
            texts.append(f"</s{j - len(rows) + 1}>")
        else:
            text = atom_at(name, columns, word, rows[j])
            if text is None:
                return None
            texts.append(text)
    return f"{template}={'|'.join(texts)}"


def features(
    templates: Iterable[str], columns: Sequence[str], word: str, rows: Sequence[Sequence[str]], i: int
) -> list[str]:
    """All features of a token, in the order of the templates."""
    found = [feature(template, columns, word, rows, i) for template in templates]
    return [name for name in found if name is not None]


# -- examples ------------------------------------------------------------------------------------------------------


@dataclass
class Example:
    """A sentence by its features: per token, (name, value) of plain ones and the names of paired ones."""

    plain: list[list[tuple[str, float]]]
    paired: list[list[str]] = field(default_factory=list)
    y: tuple[str, ...] = ()
    known: dict = field(default_factory=dict, repr=False, compare=False)  # what `candidates` has found

    def __len__(self) -> int:
        return len(self.plain)


def make_example(templates: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Example:
    """The example behind rows whose last column is the label and whose first is the word."""
    plain = [t for t in templates if not t.endswith("&y")]
    paired = [t for t in templates if t.endswith("&y")]
    word = columns[0]
    return Example(
        [[(name, 1.0) for name in features(plain, columns, word, rows, i)] for i in range(len(rows))],
        [features(paired, columns, word, rows, i) for i in range(len(rows))],
        tuple(row[-1] for row in rows),
    )


def cut_off(examples: Sequence[Example], cutoff: int) -> list[Example]:
    """The examples without the features that occur less than `cutoff` times in them."""
    plain = Counter(name for x in examples for token in x.plain for name, _ in token)
    paired = Counter(name for x in examples for token in x.paired for name in token)
    return [
        Example(
            [[(name, value) for name, value in token if plain[name] >= cutoff] for token in x.plain],
            [[name for name in token if paired[name] >= cutoff] for token in x.paired],
            x.y,
        )
        for x in examples
    ]


# -- scores and search ---------------------------------------------------------------------------------------------


def phi(x: Example, y: Sequence[str], order: int) -> Counter:
    """The global feature vector: counts of everything that fires under a labelling (Collins 2002, equation 1)."""
    found: Counter = Counter()
    for i, label in enumerate(y):
        before = y[i - 1] if i >= 1 else START
        before2 = y[i - 2] if i >= 2 else START
        found["label", before, label] += 1
        if order == 2:
            found["labels", before2, before, label] += 1
        for name, value in x.plain[i]:
            found[name, label] += value
        for name in x.paired[i] if x.paired else ():
            found[name, before, label] += 1
    return found


def difference(x: Example, z: Sequence[str], order: int) -> Counter:
    """Φ(x, y) - Φ(x, z)."""
    change = phi(x, x.y, order)
    change.subtract(phi(x, z, order))
    return change


def norm(vector: Vector | Counter) -> float:
    return math.sqrt(sum(value * value for value in vector.values()))


def dot(w: Vector, counts: Counter) -> float:
    return sum(w.get(key, 0.0) * count for key, count in counts.items())


def labellings(labels: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    return product(labels, repeat=n)


def candidates(x: Example, labels: Sequence[str], order: int) -> list[tuple[tuple[str, ...], Counter]]:
    """All labellings of an example with their feature vectors, which no weights change: made once."""
    found = x.known.get((*labels, order))
    if found is None:
        found = x.known[(*labels, order)] = [(y, phi(x, y, order)) for y in labellings(labels, len(x))]
    return found


def tie_key(numbers: Sequence[int], order: int) -> tuple[int, ...]:
    """What the search minimises among equal scores: at order 1 it settles labels from the last one backwards; at
    order 2 it first settles the last two together, the earlier of them first."""
    backwards = list(reversed(numbers))
    if order == 2 and len(numbers) > 1:
        backwards[:2] = [numbers[-2], numbers[-1]]
    return tuple(backwards)


Legal = Callable[[Example, Sequence[str]], bool]


def anything(x: Example, y: Sequence[str]) -> bool:
    return True


def best(x: Example, w: Vector, labels: Sequence[str], order: int, legal: Legal = anything) -> tuple[str, ...]:
    """The best labelling among all, by enumeration."""
    number = {label: k for k, label in enumerate(labels)}
    scores = {y: dot(w, counts) for y, counts in candidates(x, labels, order) if legal(x, y)}
    top = max(scores.values())
    ties = [y for y, score in scores.items() if score == top]
    return min(ties, key=lambda y: tie_key([number[label] for label in y], order))


# -- learning ------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """A perceptron run: the weights after every example of every pass, and the mistakes of each pass."""

    vectors: list[Vector]
    mistakes: list[int]

    @property
    def last(self) -> Vector:
        return self.vectors[-1]

    def mean(self) -> Vector:
        total: Counter = Counter()
        for vector in self.vectors:
            for key, value in vector.items():
                total[key] += value
        return clean({key: value / len(self.vectors) for key, value in total.items()})

    def vote(self, x: Example, labels: Sequence[str], order: int) -> tuple[str, ...]:
        """The labelling that most vectors find best; among equals, the one that was found first."""
        ballot: dict[tuple[str, ...], int] = {}
        for w in self.vectors:
            z = best(x, w, labels, order)
            ballot[z] = ballot.get(z, 0) + 1
        return max(ballot, key=lambda z: ballot[z])


def clean(w: Vector) -> Vector:
    return {key: value for key, value in w.items() if value != 0}


def perceptron(
    examples: Sequence[Example],
    labels: Sequence[str],
    order: int,
    passes: Iterable[Iterable[int]],
    start: Vector | None = None,
    legal: Legal = anything,
) -> Run:
    """Collins (2002), Figure 1, on a dictionary. `passes`: the order of the examples in each pass."""
    w: Vector = dict(start or {})
    run = Run([], [])
    for sequence in passes:
        run.mistakes.append(0)
        for s in sequence:
            x = examples[s]
            z = best(x, w, labels, order, legal)
            if z != x.y:
                run.mistakes[-1] += 1
                for key, amount in difference(x, z, order).items():
                    w[key] = w.get(key, 0.0) + amount
            run.vectors.append(clean(w))
    return run


# -- the arrays of the kernels -------------------------------------------------------------------------------------


def chain_terms(chains, weights, order: int, s: int, labels: int):
    """Sentence s of encoded chains as float64 tables: node[i, y], edge[i, p, y] and, at order 2, T2[p2, p, y].

    Constraints are left out; see `chain_breaks`.
    """
    w = weights.w.astype(np.float64)[:, :labels]
    contexts = labels + 1
    lo, hi = int(chains.starts[s]), int(chains.starts[s + 1])
    node = np.zeros((hi - lo, labels))
    edge = np.repeat(w[None, :contexts], hi - lo, axis=0)
    for i, token in enumerate(range(lo, hi)):
        for k in range(chains.ptr[token], chains.ptr[token + 1]):
            row = weights.row_of[chains.numbers[k]]
            if row >= 0:
                node[i] += w[row] * (chains.values[k] if len(chains.values) else 1.0)
        if len(chains.pair_ptr):
            for k in range(chains.pair_ptr[token], chains.pair_ptr[token + 1]):
                block = weights.block_of[chains.pair_numbers[k]]
                for p in range(contexts):
                    if block >= 0 and weights.block_rows[block, p] >= 0:
                        edge[i, p] += w[weights.block_rows[block, p]]
    trigrams = np.zeros((contexts, contexts, labels))
    if order == 2:
        trigrams = w[contexts : contexts + contexts**2].reshape(contexts, contexts, labels)
    return node, edge, trigrams


def chain_breaks(chains, weights, s: int, y: Sequence[int]) -> tuple[int, int]:
    """(forced labels, other constraints) that a labelling of sentence s breaks."""
    return breaks_of(*penalties(chains, weights, s), y)


def penalties(chains, weights, s: int) -> tuple[list[list[float]], list[list[float]]]:
    """What a label costs after another one, the first after none, and at each token of sentence s."""
    masks = weights.masks[chains.mask_of[chains.starts[s] : chains.starts[s + 1]]] if len(chains.mask_of) else []
    return weights.penalty.tolist(), [mask.tolist() for mask in masks]


def breaks_of(after: list[list[float]], at: list[list[float]], y: Sequence[int]) -> tuple[int, int]:
    """`chain_breaks` of the penalties of a sentence."""
    found = [after[before][label] for before, label in zip((0, *(label + 1 for label in y)), y, strict=False)]
    found += [own[label] for own, label in zip(at, y, strict=False)]
    return sum(amount < -1e15 for amount in found), sum(-1e15 < amount < -1e6 for amount in found)


def chain_scores(chains, weights, order: int, s: int, labels: int) -> dict[tuple[int, ...], tuple]:
    """Every labelling of sentence s with (-forced labels broken, -constraints broken, score): larger is better."""
    node, edge, trigrams = (table.tolist() for table in chain_terms(chains, weights, order, s, labels))
    costs, found = penalties(chains, weights, s), {}
    for y in product(range(labels), repeat=len(node)):
        score = 0.0
        for i, label in enumerate(y):
            before = y[i - 1] + 1 if i >= 1 else 0
            before2 = y[i - 2] + 1 if i >= 2 else 0
            score += node[i][label] + edge[i][before][label] + trigrams[before2][before][label]
        forced, others = breaks_of(*costs, y)
        found[y] = (-forced, -others, score)
    return found
