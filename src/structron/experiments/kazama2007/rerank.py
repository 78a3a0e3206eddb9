"""Kazama & Torisawa (2007), section 6.3: re-ranking lists of candidates that a first model has made.

The second model learns by Algorithm 4.1 with lists that stay as they are (update/nbest.py). Re-ranking 1 knows the
first model's score and non-local features, re-ranking 2 local features, learned again by a chunker's learner, and
non-local ones.

Ours: the gold labelling of a whole document is hardly ever in its list, and its score under the first model is far
below the candidates': an update towards it teaches that low scores are good. So y* is the candidate with the fewest
wrong words, as in Collins' re-rankers. The algorithm's two conditions come to one: with z the best candidate that is
worse than y*, update if score(y*) - score(z) ≤ C.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from structron.experiments.frame.ledger import Figures
from structron.experiments.kazama2007.corpora import EntityCorpus, folds, gold_of
from structron.experiments.kazama2007.models import (
    N_TEST,
    PERCEPTRON,
    STOP,
    N,
    make_model,
    scored,
    search,
)
from structron.features.documents import NonLocalFeatures, Opened
from structron.features.extract import TemplateExtractor
from structron.features.phrases import FAMILIES
from structron.learn.chain import ChainLearner
from structron.search.chain.scores import score_difference
from structron.text.sentences import Document, decode_labels, sentences_of, starts_of
from structron.update.nbest import find_update
from structron.update.perceptron import correct

RERANKING_1, RERANKING_2 = "re-ranking 1", "re-ranking 2"
OURS = "{}, least wrong (ours)".format
KINDS = tuple(name(kind) for name in (str, OURS) for kind in (RERANKING_1, RERANKING_2))
PATIENCE = 3
"""Passes in a row with hardly a change after which learning stops."""
SMALLER_N = 80
"""The smaller n' of re-ranking 1 in Table 6."""
LEAST = 1 / 4
"""Of C; the first model's score is divided, so that small ones make a difference."""

NonLocal = Callable[[Document, np.ndarray], np.ndarray]
"""The non-local features of labellings of a document, int16[labellings, tokens]: float64[labellings, features]."""


@dataclass(frozen=True, slots=True)
class Shortlist:
    """A document's candidates, best first; in training the gold labelling stands behind them."""

    labels: np.ndarray  # int16[labellings, tokens]
    scores: np.ndarray  # float64[labellings]: the first model's
    vectors: np.ndarray  # float64[labellings, features]: the non-local ones
    wrong: np.ndarray  # int64[candidates]: words that are labelled other than in the gold labelling
    sentences: tuple[int, int]  # the document's first among those of all documents, and the one after its last


def make_shortlists(
    model: Any, documents: Sequence[Document], n: int, non_local: NonLocal, labels: Sequence[str], learning: int = -1
) -> list[Shortlist]:
    """The n best of every document by `model.nbest`. learning: the number of the first sentence in the training part;
    the gold labelling is put behind the candidates."""
    number = {label: y for y, label in enumerate(labels)}
    lists, first = [], max(0, learning)
    for document in documents:
        (found,) = model.nbest([document], n)
        flat = [[number[label] for line in labelling for label in line] for labelling, _ in found]
        rows, scores = np.array(flat, np.int16), np.array([score for _, score in found])
        gold = np.array([number.get(label, -1) for line in gold_of([document]) for label in line], np.int16)
        wrong = (rows != gold).sum(1)
        if learning >= 0:
            rows, scores = np.vstack([rows, gold]), np.append(scores, gold_score(model, document))
        places, first = (first, first + len(document)), first + len(document)
        lists.append(Shortlist(rows, scores, non_local(document, rows), wrong, places))
    return lists


def gold_score(model: Any, document: Document) -> float:
    """The gold labelling's score by a chunker. Where it has not seen a label, it chooses one."""
    number = {label: y for y, label in enumerate(model.model_.labels)}
    gold = np.array([number.get(label, -1) for line in gold_of([document]) for label in line])
    return float(model.model_.decode(model.extractor_.prepare([document]), forced=gold)[1].sum())


@dataclass
class Reranker:
    """The second model: a perceptron with margin C over lists.

    ours: y* is the candidate with the fewest wrong words, else the gold labelling.
    scale: what the first model's score is divided by to be a feature; None: it is none.
    learner: holds the weights of local features and the training documents; None: there are no such features. What it
    takes for correct is the right candidate of an update.
    """

    margin: float
    ours: bool = False
    scale: float | None = None
    learner: ChainLearner | None = None
    seed: int = 1
    passes: int = 0
    whole: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def features(self, one: Shortlist) -> np.ndarray:
        """Those of each labelling as a whole, the first model's score last, if it is one."""
        if self.scale is None:
            return one.vectors
        return np.concatenate([one.vectors, (one.scores - one.scores[0])[:, None] / self.scale], axis=1)

    def scores(self, one: Shortlist, n: int | None = None, local: Any = None) -> np.ndarray:
        """The score of each of the first n labellings, but for what all of them share.

        local: chains of documents and the weights of their features, see `look`; None: of the training documents.
        """
        found = self.features(one)[:n] @ self.whole
        if self.learner is None:
            return found
        chains, weights = local or (self.learner.chains, self.learner.weights())
        where = (chains, weights, self.learner.order, *one.sentences)
        count, labels = len(self.learner.labels), one.labels.astype(np.int64)
        return found + [score_difference(*where, y, labels[0], count) for y in labels[:n]]

    def look(self, prepared: Any) -> Any:
        """Documents that `scores` is to be asked about."""
        if self.learner is None:
            return None
        model = self.learner.snapshot()
        return model.chains(prepared, 0, len(prepared.starts) - 1), model.weights

    def add(self, one: Shortlist, right: int, wrong: int) -> None:
        """w += Φ(right) - Φ(wrong)."""
        whole = self.features(one)
        self.whole += whole[right] - whole[wrong]
        if self.learner is None:
            return
        learner, chains = self.learner, self.learner.chains
        start, stop = chains.starts[list(one.sentences)]
        pairs = int(chains.pair_ptr[stop] - chains.pair_ptr[start])
        learner.store.reserve(int(chains.ptr[stop] - chains.ptr[start]) + 2 * pairs, pairs)
        learner.gold[start:stop], learner.found[: stop - start] = one.labels[right], one.labels[wrong]
        where = (chains, learner.gold, learner.weights(), learner.order, *one.sentences, learner.found)
        correct(*where, len(learner.labels), learner.work, 0)

    def learn(self, lists: Sequence[Shortlist], passes: int) -> None:
        """Until no more updates, or the share of wrong words hardly changes."""
        self.whole = np.zeros(self.features(lists[0]).shape[1])
        before, still = 0, 0
        for number in range(passes):
            self.passes, updates, errors = number + 1, 0, 0
            for i in np.random.default_rng((self.seed, number)).permutation(len(lists)).tolist():
                scores, wrong = self.scores(lists[i]), lists[i].wrong
                errors += int(wrong[int(np.argmax(scores[: len(wrong)]))])
                if pair := self.pair(scores, wrong):
                    self.add(lists[i], *pair)
                    updates += 1
            still = still + 1 if abs(errors - before) < STOP * max(1, before) else 0
            before = errors
            if not updates or (number and still >= PATIENCE):
                break

    def pair(self, scores: np.ndarray, wrong: np.ndarray) -> tuple[int, int] | None:
        """The labellings to move to and away from, if any."""
        n = len(wrong)
        if not self.ours:
            place = int(np.argmin(wrong)) if wrong.min() == 0 else -1
            step = find_update(scores[:n], scores[:n], (place, 0.0, scores[n]), self.margin, 0.0, "none")
            return None if step is None else (n, step.candidate)
        y = int(np.argmin(wrong))
        rivals = np.where(wrong > wrong[y], scores[:n], -np.inf)
        z = int(np.argmax(rivals))
        return (y, z) if scores[y] - rivals[z] <= self.margin else None

    def best(self, one: Shortlist, n: int | None = None, local: Any = None) -> int:
        """Which of the first n candidates wins; of equals the first model's favourite."""
        return int(np.argmax(self.scores(one, n, local)))


def non_local_vectors(corpus: EntityCorpus) -> NonLocal:
    """The built-in non-local features of labellings of a document, as numbers of the corpus's labels."""
    features = NonLocalFeatures(corpus.labels(), FAMILIES)
    extractor = TemplateExtractor(corpus.columns, corpus.columns[-1], [])
    return lambda document, rows: features.of(Opened(extractor.prepare([document])), 0, rows)


def score_scale(lists: Sequence[Shortlist]) -> float:
    """By how much the last candidate's score is below the first's, in the middle of the lists: that becomes 1."""
    return max(float(np.median([one.scores[0] - one.scores[len(one.wrong) - 1] for one in lists])), 1e-9)


class CandidateLists:
    """Lists for all parts of a corpus. Those of its training part come from models that have not seen the documents.

    make_first: trains a first model of some documents.   n_large: candidates of dev and test documents.
    """

    def __init__(self, corpus: EntityCorpus, make_first: Callable, n_large: int, seed: int = 1, non_local: Any = None):
        self.corpus, self.n_large, self.seed, self.labels = corpus, n_large, seed, corpus.labels()
        self.non_local: NonLocal = non_local or non_local_vectors(corpus)
        begin = time.process_time()
        self.first = make_first(corpus.train)
        self.train: list[Shortlist] = []
        for rest, part in folds(corpus.train):
            place = self.train[-1].sentences[1] if self.train else 0
            self.train += make_shortlists(make_first(rest), part, N, self.non_local, self.labels, place)
        self.seconds = round(time.process_time() - begin, 2)
        self.parts: dict[str, list[Shortlist]] = {}

    @cached_property
    def local(self) -> Any:
        """A chunker with the local features, whose learner has encoded the training part in a first pass."""
        return make_model(self.corpus, PERCEPTRON, None, 0, 1).fit(self.corpus.train)

    def part(self, split: str) -> list[Shortlist]:
        """The lists of dev or test documents."""
        if split not in self.parts:
            documents = getattr(self.corpus, split)
            self.parts[split] = make_shortlists(self.first, documents, self.n_large, self.non_local, self.labels)
        return self.parts[split]

    def study(self, margins: Sequence[float], passes: int) -> Figures:
        """Every kind of second model: dev scores of all C (`tried`), and of the best one all figures."""
        numbers = (SMALLER_N, N_TEST, self.n_large)
        figures: Figures = {"learning": self.seconds, "oracle": {n: self.oracle("dev", n) for n in (1, *numbers[1:])}}
        for kind in KINDS:
            c, (model, seconds, _), tried = search(margins, LEAST, partial(self.second, kind, passes))
            by_n = {n: self.score(model, "dev", n) | self.score(model, "test", n) for n in numbers}
            figures[kind] = {"c": c, "learning": seconds, "passes": model.passes, "tried": tried, "by_n": by_n}
        return figures

    def second(self, kind: str, passes: int, c: float) -> tuple[Reranker, float, float]:
        """Train a second model: its seconds, without those of lists and of encoding documents, and its dev score."""
        if kind.startswith(RERANKING_1):
            features: dict[str, Any] = {"scale": score_scale(self.train)}
        else:
            features = {"learner": self.local.learner_.fresh_copy()}
        model = Reranker(c, kind not in (RERANKING_1, RERANKING_2), seed=self.seed, **features)
        begin = time.process_time()
        model.learn(self.train, passes)
        seconds = round(time.process_time() - begin, 2)
        return model, seconds, self.score(model, "dev", N_TEST)["dev"]

    def score(self, model: Reranker, split: str, n: int) -> Figures:
        """F1 of the best of the first n candidates of each document."""
        local = model.look(self.local.extractor_.prepare(getattr(self.corpus, split)))
        return self._score(split, [model.best(one, n, local) for one in self.part(split)])

    def oracle(self, split: str, n: int) -> float:
        """F1 of the candidates with the fewest wrong words: what re-ranking could reach at best."""
        return self._score(split, [int(one.wrong[:n].argmin()) for one in self.part(split)])[split]

    def _score(self, split: str, chosen: Sequence[int]) -> Figures:
        """F1 of one candidate of each list."""
        documents = getattr(self.corpus, split)
        rows = [one.labels[k] for one, k in zip(self.part(split), chosen, strict=True)]
        found = iter(decode_labels(np.concatenate(rows), self.labels, starts_of(sentences_of(documents))))
        return scored(split, documents, [[next(found) for _ in document] for document in documents])
