"""Kazama & Torisawa (2007), section 6.3: re-ranking lists of candidates that a first model has made.

The second model learns by Algorithm 4.1 with lists that stay as they are. The gold labelling of a whole document is
hardly ever in its list, and its score under the first model is far below the candidates': an update towards it teaches
that low scores are good. So y* is the candidate with the fewest wrong words, as in Collins' re-rankers. The algorithm's
two conditions come to one: with z the best candidate that is worse than y*, update if score(y*) - score(z) ≤ C.
Re-ranking 1 knows the first model's score and non-local features, re-ranking 2 local features, learned again, and
non-local ones.

Candidates of a document agree on most tokens, which then count the same for all: local features are looked at only at
tokens where candidates differ, or the labels before.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from structron.experiments.kazama2007_crf import LocalFeatures, Numbers
from structron.experiments.kazama2007_data import gold_of
from structron.experiments.kazama2007_paper import STOP
from structron.sentences import Document

PATIENCE = 3
"""Passes in a row with hardly a change after which learning stops."""

NonLocal = Callable[[Document, np.ndarray], np.ndarray]
"""The non-local features of labellings of a document, int16[labellings, tokens]: float64[labellings, features]."""


@dataclass(slots=True)
class Shortlist:
    """A document's candidates, best first."""

    labels: np.ndarray  # int16[candidates, tokens]
    scores: np.ndarray  # float64[candidates]: the first model's
    vectors: np.ndarray  # float64[candidates, features]: the non-local ones
    wrong: np.ndarray  # int64[candidates]: words that are labelled other than in the gold labelling
    first: np.ndarray  # bool[tokens]: the first of a sentence, which no label stands before
    place: int  # of the document's first token in all of them

    def active(self) -> np.ndarray:
        """Tokens at which local features differ between labellings."""
        differs = (self.labels != self.labels[0]).any(0)
        return np.flatnonzero(differs | (np.roll(differs, 1) & ~self.first))


def make_shortlists(
    model: Any, documents: Sequence[Document], n: int, labels: Sequence[str], non_local: NonLocal, place: int = 0
) -> list[Shortlist]:
    """The n best of every document by `model.nbest`; place: of the first one's first token in all of them."""
    number = {label: y for y, label in enumerate(labels)}
    lists = []
    for document in documents:
        (found,) = model.nbest([document], n)
        flat = [[number[label] for line in labelling for label in line] for labelling, _ in found]
        rows, scores = np.array(flat, np.int16), np.array([score for _, score in found])
        gold = np.array([number.get(label, -1) for line in gold_of([document]) for label in line])
        first = np.array([i == 0 for sentence in document for i in range(len(sentence))])
        wrong = (rows != gold).sum(1)
        lists.append(Shortlist(rows, scores, non_local(document, rows), wrong, first, place))
        place += len(first)
    return lists


@dataclass(slots=True)
class Local:
    """The local features of a list where they matter: a row per active token, padded with a number that weighs 0."""

    node: np.ndarray  # int32[tokens, features]
    edge: np.ndarray  # int32[tokens, features]
    y: np.ndarray  # int64[labellings, tokens]
    before: np.ndarray  # int64[labellings, tokens]: the label before, from 1; 0 at the start of a sentence


class LocalNumbers:
    """Numbers for the features at active tokens of the training lists; others are never learned."""

    def __init__(self, node: LocalFeatures, edge: LocalFeatures, lists: Sequence[Shortlist]):
        tokens = np.concatenate([shortlist.place + shortlist.active() for shortlist in lists])
        self.rank: list[np.ndarray] = []
        self.sizes: list[int] = []
        for features in (node, edge):
            used = np.unique(gathered(features.train, tokens))
            rank = np.full(len(features.keys), len(used), np.int32)
            rank[used] = np.arange(len(used), dtype=np.int32)
            self.rank.append(rank)
            self.sizes.append(len(used))

    def of(self, shortlist: Shortlist, node: Numbers, edge: Numbers) -> Local:
        active = shortlist.active()
        tokens = shortlist.place + active
        kinds = zip((node, edge), self.rank, self.sizes, strict=True)
        node_table, edge_table = (padded(numbers, tokens, rank, size) for numbers, rank, size in kinds)
        labels = shortlist.labels.astype(np.int64)
        before = np.where(shortlist.first, 0, np.roll(labels, 1, axis=1) + 1)
        return Local(node_table, edge_table, labels[:, active], before[:, active])


def gathered(numbers: Numbers, tokens: np.ndarray) -> np.ndarray:
    """The features of some tokens, one after the other."""
    parts = [numbers.numbers[numbers.ptr[i] : numbers.ptr[i + 1]] for i in tokens.tolist()]
    return np.concatenate(parts) if parts else np.empty(0, np.int32)


def padded(numbers: Numbers, tokens: np.ndarray, rank: np.ndarray, size: int) -> np.ndarray:
    """A row of new numbers per token; what has none, and what is missing to a row, is `size`."""
    counts = numbers.ptr[tokens + 1] - numbers.ptr[tokens]
    table = np.full((len(tokens), int(counts.max(initial=1))), size, np.int32)
    table[np.arange(table.shape[1]) < counts[:, None]] = rank[gathered(numbers, tokens)]
    return table


@dataclass(slots=True)
class Entry:
    """A list as the second model reads it: features of each labelling as a whole, and local ones if it has them."""

    whole: np.ndarray  # float64[labellings, features]
    local: Local | None


@dataclass
class Reranker:
    """The second model: a perceptron with margin C over lists. scale: what the first model's score is divided by."""

    margin: float
    labels: int
    scale: float | None = None
    numbers: LocalNumbers | None = None
    seed: int = 1
    passes: int = 0

    def __post_init__(self) -> None:
        self.whole = np.zeros(0)
        node, edge = self.numbers.sizes if self.numbers else (0, 0)
        self.node = np.zeros((node + 1, self.labels), np.float32)
        self.edge = np.zeros((edge + 1, self.labels + 1, self.labels), np.float32)
        self.bigrams = np.zeros((self.labels + 1, self.labels), np.float32)

    # -- reading -------------------------------------------------------------------------------------------------

    def entry(self, shortlist: Shortlist, local: Local | None) -> Entry:
        """With the first model's score as the last feature, if it is one."""
        whole = shortlist.vectors
        if self.scale is not None:
            scores = (shortlist.scores - shortlist.scores[0]) / self.scale
            whole = np.concatenate([whole, scores[:, None]], axis=1)
        return Entry(whole, local)

    # -- scores and updates --------------------------------------------------------------------------------------

    def scores(self, entry: Entry) -> np.ndarray:
        """The score of each labelling, but for what all of them share."""
        found = entry.whole @ self.whole
        local = entry.local
        if local is not None and len(local.node):
            tokens = np.arange(len(local.node))
            node = self.node[local.node].sum(1)
            edge = self.edge[local.edge].sum(1) + self.bigrams
            found = found + (node[tokens, local.y] + edge[tokens, local.before, local.y]).sum(1)
        return found

    def add(self, entry: Entry, right: int, wrong: int) -> None:
        """w += Φ(right) - Φ(wrong)."""
        self.whole += entry.whole[right] - entry.whole[wrong]
        local = entry.local
        if local is None:
            return
        differs = (local.y[right] != local.y[wrong]) | (local.before[right] != local.before[wrong])
        for row, sign in ((right, 1), (wrong, -1)):
            y, before = local.y[row, differs], local.before[row, differs]
            np.add.at(self.node, (local.node[differs], y[:, None]), sign)
            np.add.at(self.edge, (local.edge[differs], before[:, None], y[:, None]), sign)
            np.add.at(self.bigrams, (before, y), sign)
        self.node[-1] = self.edge[-1] = 0  # the padding

    def learn(self, lists: Sequence[Shortlist], locals_: Sequence[Local | None], passes: int) -> float:
        """Until no more updates, or the share of wrong words hardly changes; returns the seconds."""
        begin = time.perf_counter()
        entries = [self.entry(one, local) for one, local in zip(lists, locals_, strict=True)]
        self.whole = np.zeros(entries[0].whole.shape[1])
        before, still = 0, 0
        for number in range(passes):
            self.passes, updates, errors = number + 1, 0, 0
            for i in np.random.default_rng((self.seed, number)).permutation(len(lists)).tolist():
                scores, wrong = self.scores(entries[i]), lists[i].wrong
                errors += int(wrong[int(np.argmax(scores))])
                y = int(np.argmin(wrong))
                rivals = np.where(wrong > wrong[y], scores, -np.inf)
                z = int(np.argmax(rivals))
                if scores[y] - rivals[z] <= self.margin:
                    self.add(entries[i], y, z)
                    updates += 1
            still = still + 1 if abs(errors - before) < STOP * max(1, before) else 0
            before = errors
            if not updates or (number and still >= PATIENCE):
                break
        return time.perf_counter() - begin

    def best(self, shortlist: Shortlist, local: Local | None, n: int | None = None) -> int:
        """Which of the first n candidates wins; of equals the first model's favourite."""
        return int(np.argmax(self.scores(self.entry(shortlist, local))[:n]))


def score_scale(lists: Sequence[Shortlist]) -> float:
    """By how much the last candidate's score is below the first's, in the middle of the lists: that becomes 1."""
    found = [float(one.scores[0] - one.scores.min()) for one in lists]
    return max(float(np.median(found)), 1e-9)


def folds(documents: Sequence[Document], number: int) -> list[tuple[list[Document], list[Document], int]]:
    """(all but a stretch, the stretch, tokens before it) for each of so many stretches."""
    cuts = [round(len(documents) * k / number) for k in range(number + 1)]
    sizes = np.cumsum([0, *(sum(map(len, document)) for document in documents)])
    return [([*documents[:lo], *documents[hi:]], list(documents[lo:hi]), int(sizes[lo])) for lo, hi in pairwise(cuts)]
