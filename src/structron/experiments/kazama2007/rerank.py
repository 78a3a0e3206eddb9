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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from structron.experiments.kazama2007.paper import STOP

PATIENCE = 3
"""Passes in a row with hardly a change after which learning stops."""


class Local(NamedTuple):
    """One kind of features of a list's active tokens, and the column of their weights that a labelling picks."""

    matrix: Any  # sparse [active tokens, features]
    columns: np.ndarray  # int64[candidates, active tokens]: the label, of edge features with the one before


@dataclass(slots=True)
class Shortlist:
    """A document's candidates, best first."""

    labels: np.ndarray  # int16[candidates, tokens]
    scores: np.ndarray  # float64[candidates]: the first model's
    vectors: np.ndarray  # float64[candidates, features]: the non-local ones
    wrong: np.ndarray  # int64[candidates]: words that are labelled other than in the gold labelling
    first: np.ndarray  # bool[tokens]: the first of a sentence, which no label stands before
    place: int  # of the document's first token in all of them
    local: tuple[Local, ...] = ()

    def active(self) -> np.ndarray:
        """Tokens at which local features differ between labellings."""
        differs = (self.labels != self.labels[0]).any(0)
        return np.flatnonzero(differs | (np.roll(differs, 1) & ~self.first))


@dataclass
class Reranker:
    """The second model: a perceptron with margin C over lists.

    scale: what the first model's score is divided by to be a feature; None: it is none.
    shapes: of the weights of local features, in the order in which lists have them; none: there are no such weights.
    """

    margin: float
    scale: float | None = None
    shapes: Sequence[tuple[int, int]] = ()
    seed: int = 1
    passes: int = 0

    def __post_init__(self) -> None:
        self.whole = np.zeros(0)
        self.local = [np.zeros(shape, np.float32) for shape in self.shapes]

    def features(self, one: Shortlist) -> np.ndarray:
        """Those of each labelling as a whole, the first model's score last, if it is one."""
        if self.scale is None:
            return one.vectors
        return np.concatenate([one.vectors, (one.scores - one.scores[0])[:, None] / self.scale], axis=1)

    def scores(self, one: Shortlist) -> np.ndarray:
        """The score of each labelling, but for what all of them share."""
        found = self.features(one) @ self.whole
        for weights, (matrix, columns) in zip(self.local, one.local, strict=False):
            found = found + (matrix @ weights)[np.arange(matrix.shape[0]), columns].sum(1)
        return found

    def add(self, one: Shortlist, right: int, wrong: int) -> None:
        """w += Φ(right) - Φ(wrong)."""
        whole = self.features(one)
        self.whole += whole[right] - whole[wrong]
        for weights, (matrix, columns) in zip(self.local, one.local, strict=False):
            differs = columns[right] != columns[wrong]
            rows = matrix[differs]
            for labelling, sign in ((right, 1), (wrong, -1)):
                picked = np.repeat(columns[labelling, differs], np.diff(rows.indptr))
                np.add.at(weights, (rows.indices, picked), sign)

    def learn(self, lists: Sequence[Shortlist], passes: int) -> float:
        """Until no more updates, or the share of wrong words hardly changes; returns the seconds."""
        begin = time.perf_counter()
        self.whole = np.zeros(self.features(lists[0]).shape[1])
        before, still = 0, 0
        for number in range(passes):
            self.passes, updates, errors = number + 1, 0, 0
            for i in np.random.default_rng((self.seed, number)).permutation(len(lists)).tolist():
                scores, wrong = self.scores(lists[i]), lists[i].wrong
                errors += int(wrong[int(np.argmax(scores))])
                y = int(np.argmin(wrong))
                rivals = np.where(wrong > wrong[y], scores, -np.inf)
                z = int(np.argmax(rivals))
                if scores[y] - rivals[z] <= self.margin:
                    self.add(lists[i], y, z)
                    updates += 1
            still = still + 1 if abs(errors - before) < STOP * max(1, before) else 0
            before = errors
            if not updates or (number and still >= PATIENCE):
                break
        return time.perf_counter() - begin

    def best(self, one: Shortlist, n: int | None = None) -> int:
        """Which of the first n candidates wins; of equals the first model's favourite."""
        return int(np.argmax(self.scores(one)[:n]))
