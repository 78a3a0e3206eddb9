"""A semi-Markov CRF (Sarawagi & Cohen 2004), the likelihood-trained baseline of Table 1.

    p(y | x) = exp(w · Φ(x, y)) / Z(x)        y = a labelled segmentation, Φ as in tasks/segments

The gradient of log p is Φ(x, y) less its expectation, found by the forward-backward algorithm over positions and
labels; L-BFGS climbs, with a Gaussian prior whose variance dev data choose. Sentences of similar length are searched
together, as arrays. The weights become a model of the engine, which finds the best segmentations.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments.daume2005.tasks import COLUMNS, THEIRS, parts
from structron.experiments.frame import block_counts, need, tested
from structron.experiments.frame.ledger import Figures
from structron.experiments.frame.padded import Group, groups_of
from structron.features.names import Names
from structron.features.places import AFTER, AT, BEFORE, LAST, PAIR, TRIPLE
from structron.learn.encoded import Encoded
from structron.model.beam import BeamModel
from structron.model.encoded import EncodedModel
from structron.tasks.segments.chunker import SegmentChunker
from structron.weights.sparse import Row

TOGETHER = 4000
"""Words of the sentences that are searched together, padding included."""
TOLERANCE = 1e-5
REMEMBERED = 5
"""Steps that L-BFGS remembers: every one is two vectors of all weights."""


class SemiCrf:
    """The likelihood of a chunker's training data. Weights are one vector: those of numbered features with each label,
    then len, y[-1] and y[-1]|len with each label."""

    def __init__(self, data: Encoded):
        self.data, encoder = data, data.encoder
        self.segments, self.shape, self.numbered = encoder.segments, encoder.shape, data.numbered
        self.labels, self.longest = len(self.segments.labels), max(self.segments.longest)
        self.inputs, self.kinds = data.inputs, self.shape.kinds
        features, lists = len(data.numbered.keys), int(data.inputs.starts[-1]) * self.kinds
        ones = np.ones(len(data.numbered.numbers))
        self.matrix = need("scipy.sparse", "sklearn").csr_matrix(
            (ones, data.numbered.numbers, data.numbered.ptr), (lists, features)
        )
        y, d = self.labels, self.longest
        self.shapes = [(features, y), (d, y), (y + 1, y), (y + 1, d, y)]
        self.size = sum(int(np.prod(shape)) for shape in self.shapes)
        self.allowed = np.arange(1, d + 1)[:, None] <= np.array(self.segments.longest)
        self.groups = list(groups_of(self.inputs.starts, TOGETHER))
        self.observed = self._observed()

    def split(self, w: np.ndarray) -> list[np.ndarray]:
        """The parts of a vector of weights."""
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)])
        return [w[a:b].reshape(shape) for a, b, shape in zip(ends[:-1], ends[1:], self.shapes, strict=True)]

    def _transitions(self, w: np.ndarray) -> np.ndarray:
        """float[labels before, lengths, labels]: what does not depend on the words; -inf: no such segment."""
        _, length, before, both = self.split(w)
        found = both + length + before[:, None]
        return np.where(self.allowed, found, -np.inf)

    def span_scores(self, group: Group, lists: np.ndarray) -> np.ndarray:
        """float[B, begin, length, labels], from the scores of lists, float[B, words, kinds, labels]."""
        found = np.full((*lists.shape[:2], self.longest, self.labels), -np.inf)
        inner = np.zeros_like(lists[:, :, 0])
        for d in range(min(self.longest, group.words)):
            n = group.words - d
            inner = inner[:, :n] + lists[:, d:, AT + min(d, self.shape.positions - 1)]
            inner += (lists[:, d:, PAIR] if d > 0 else 0.0) + (lists[:, d:, TRIPLE] if d > 1 else 0.0)
            total = inner + lists[:, :n, BEFORE] + lists[:, d:, AFTER] + lists[:, d:, LAST]
            if d < self.shape.whole:
                total = total + lists[:, :n, AT + self.shape.positions + d]
            found[:, :n, d] = total
        return found

    def spread(self, group: Group, share: np.ndarray) -> np.ndarray:
        """The transposed map: how often each list counts, from how often each segment does."""
        found = np.zeros((*share.shape[:2], self.kinds, self.labels))
        inner = np.zeros_like(share[:, :, 0])
        for d in range(min(self.longest, group.words) - 1, -1, -1):
            n = group.words - d
            own = share[:, :n, d]
            inner[:, :n] += own
            found[:, :n, BEFORE] += own
            found[:, d:, AFTER] += own
            found[:, d:, LAST] += own
            found[:, d:, AT + min(d, self.shape.positions - 1)] += inner[:, :n]
            if d > 0:
                found[:, d:, PAIR] += inner[:, :n]
            if d > 1:
                found[:, d:, TRIPLE] += inner[:, :n]
            if d < self.shape.whole:
                found[:, :n, AT + self.shape.positions + d] += own
        return found

    def _observed(self) -> np.ndarray:
        """Φ of the training data."""
        gradient, lists = np.zeros(self.size), np.zeros((self.matrix.shape[0], self.labels))
        _, length, before, both = self.split(gradient)
        for group in self.groups:
            share = np.zeros((len(group.sentences), group.words, self.longest, self.labels))
            for b, path in enumerate(map(self.gold, group.sentences.tolist())):
                for begin, d, y, last in path:
                    share[b, begin, d, y] += 1
                    length[d, y] += 1
                    before[last, y] += 1
                    both[last, d, y] += 1
            self._put(lists, group, self.spread(group, share))
        self.split(gradient)[0][:] = self.matrix.T @ lists
        return gradient

    def gold(self, e: int) -> list[tuple[int, int, int, int]]:
        """(begin, length - 1, label, label before from 1) of the segments of a sentence."""
        found, begin, last = [], 0, 0
        for action in self.inputs.gold[self.inputs.gold_ptr[e] : self.inputs.gold_ptr[e + 1]].tolist():
            y, length = self.segments.actions[action]
            found.append((begin, length - 1, y, last))
            begin, last = begin + length, y + 1
        return found

    def _put(self, lists: np.ndarray, group: Group, counts: np.ndarray) -> None:
        """Counts of a group's lists in their places."""
        lists.reshape(-1, self.kinds, self.labels)[group.tokens[group.known]] += counts[group.known]

    def likelihood(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """log p of the training data, and its gradient."""
        weights, transitions = self.split(w)[0], self._transitions(w)
        scores = (self.matrix @ weights).reshape(-1, self.kinds, self.labels)
        lists, gradient, total = np.zeros_like(scores).reshape(-1, self.labels), np.zeros(self.size), 0.0
        expected = np.zeros_like(transitions)
        for group in self.groups:
            own = np.where(group.known[..., None, None], scores[group.tokens], 0.0)
            logs, share, moves = forward_backward(self.span_scores(group, own), transitions, group.lengths)
            total -= float(logs.sum())
            expected += moves
            self._put(lists, group, self.spread(group, share))
        found, length, before, both = self.split(gradient)
        found[:] = self.matrix.T @ lists
        length[:], before[:], both[:] = expected.sum(axis=0), expected.sum(axis=1), expected
        return total + float(self.observed @ w), self.observed - gradient

    def train(self, variance: float, iterations: int, start: np.ndarray | None = None) -> tuple[np.ndarray, int]:
        """The weights of the highest posterior, and the iterations that it took."""

        def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.likelihood(w)
            return float(w @ w) / (2 * variance) - value, w / variance - gradient

        limits: dict[str, Any] = {"maxiter": iterations, "ftol": TOLERANCE, "maxcor": REMEMBERED}
        begin = np.zeros(self.size) if start is None else start
        minimize = need("scipy.optimize", "sklearn").minimize
        found = minimize(objective, begin, jac=True, method="L-BFGS-B", options=limits)
        return found.x, int(found.nit)

    def model(self, w: np.ndarray) -> EncodedModel:
        """The weights as the engine has them."""
        problem, (weights, length, before, both) = self.data.encoder.problem, self.split(w)
        key, every = problem.composition.key, range(self.labels + 1)
        keys = [key(0, [d + 1, 0, 0]) for d in range(self.longest)] + [key(1, [0, y, 0]) for y in every]
        keys += [key(2, [d + 1, y, 0]) for y in every for d in range(self.longest)]
        rows = np.concatenate([weights, length, before, both.reshape(-1, self.labels)]).astype(np.float32)
        place, column = np.nonzero(rows)
        cells = Row(place.astype(np.int64), column.astype(np.int32), rows[place, column])
        base = BeamModel(problem, np.array(keys, np.uint64), cells, self.numbered.keys)
        return EncodedModel(self.data.encoder, base, Names.of([]))


def forward_backward(
    spans: np.ndarray, transitions: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log Z of every sentence, the probability of every segment, float[B, begin, length, labels], and the expected
    counts of (label before, length, label).

    spans: the scores of segments.   transitions: float[labels before, lengths, labels]; label before 0: none.
    """
    sentences, words, longest, labels = spans.shape
    moves = np.exp(transitions).reshape(labels + 1, -1)
    ahead = np.full((sentences, words + longest + 1, labels + 1), -np.inf)
    ahead[:, 0, 0] = 0.0
    into = np.full_like(spans, -np.inf)
    with np.errstate(divide="ignore"):
        for p in range(words):  # into: all ways to the begin of a segment, with its transition
            most = ahead[:, p].max(axis=1, keepdims=True)
            into[:, p] = (np.log(np.exp(ahead[:, p] - most) @ moves) + most).reshape(sentences, longest, labels)
            reached = ahead[:, p + 1 : p + 1 + longest, 1:]
            np.logaddexp(reached, into[:, p] + spans[:, p], out=reached)
        logs = np.logaddexp.reduce(ahead[np.arange(sentences), lengths, 1:], axis=1)
        rest = np.full_like(ahead, -np.inf)
        rest[np.arange(sentences), lengths] = 0.0
        counts = np.zeros_like(moves)
        for p in range(words - 1, -1, -1):
            alive = p < lengths
            out = (spans[alive, p] + rest[alive, p + 1 : p + 1 + longest, 1:]).reshape(-1, longest * labels)
            most, top = out.max(axis=1, keepdims=True), ahead[alive, p].max(axis=1, keepdims=True)
            ways = np.exp(out - most)
            rest[alive, p] = np.log(ways @ moves.T) + most
            share = np.exp(most + top - logs[alive, None])
            counts += np.exp(ahead[alive, p] - top).T @ (ways * share)
    into += spans
    for d in range(longest):
        into[:, :, d] += rest[:, d + 1 : d + 1 + words, 1:]
    np.exp(into - logs[:, None, None, None], out=into)
    return logs, into, (counts * moves).reshape(transitions.shape)


def train(
    data: Path,
    *,
    variances: Sequence[float],
    iterations: int,
    sentences: int | None = None,
    scored: int | None = None,
) -> Figures:
    """Trained with each variance, each from the weights of the one before; the best on dev data is tested."""
    learned, dev, test = parts(data, sentences, scored)
    chunker = SegmentChunker(columns=COLUMNS, templates=THEIRS, beam=1, margin=None, passes=1, runs=1, jobs=1)
    chunker.fit(learned)
    crf = SemiCrf(chunker.learner_.data)
    chunker.set_params(beam=None, update="standard")
    w, tried, best = None, [], None
    for variance in variances:
        w, steps = crf.train(variance, iterations, w)
        chunker.model_ = crf.model(w)
        guess = chunker.predict(dev)
        score = chunker.evaluate(dev, guess=guess).f1
        tried.append([variance, score, steps])
        if best is None or score > best["dev"]:
            scores = chunker.evaluate(test, guess=chunker.predict(test))
            best = {"variance": variance, "dev": score, "dev_blocks": block_counts(chunker, dev, guess)}
            best |= tested(chunker, test) | {"precision": scores.precision, "recall": scores.recall}
    assert best is not None
    return best | {"seed": 1, "tried": tried, "weights": crf.size, "sentences_learned": len(learned)}
