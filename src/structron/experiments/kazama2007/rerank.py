"""Kazama & Torisawa (2007), section 6.3: re-ranking lists of candidates that a first model has made.

The second model learns by Algorithm 4.1 with lists that stay as they are. The gold labelling of a whole document is
hardly ever in its list, and its score under the first model is far below the candidates': an update towards it teaches
that low scores are good. So y* is the candidate with the fewest wrong words, as in Collins' re-rankers. The algorithm's
two conditions come to one: with z the best candidate that is worse than y*, update if score(y*) - score(z) ≤ C.
Re-ranking 1 knows the first model's score and non-local features, re-ranking 2 local features, learned again by a
chunker's learner, and non-local ones.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from structron.evaluate import chunk_scores
from structron.experiments.frame import say, timed
from structron.experiments.kazama2007 import models
from structron.experiments.kazama2007.corpora import Corpus, gold_of
from structron.experiments.kazama2007.models import N_LARGE, Trial, make_model
from structron.features.documents import NonLocalFeatures, Opened
from structron.features.extract import TemplateExtractor
from structron.features.phrases import FAMILIES
from structron.learn.chain import ChainLearner
from structron.search.chain.scores import score_difference
from structron.sentences import Document, sentences_of, spell, starts_of
from structron.update.perceptron import correct

PATIENCE = 3
"""Passes in a row with hardly a change after which learning stops."""

NonLocal = Callable[[Document, np.ndarray], np.ndarray]
"""The non-local features of labellings of a document, int16[labellings, tokens]: float64[labellings, features]."""


@dataclass(frozen=True, slots=True)
class Shortlist:
    """A document's candidates, best first."""

    labels: np.ndarray  # int16[candidates, tokens]
    scores: np.ndarray  # float64[candidates]: the first model's
    vectors: np.ndarray  # float64[candidates, features]: the non-local ones
    wrong: np.ndarray  # int64[candidates]: words that are labelled other than in the gold labelling
    sentences: tuple[int, int]  # the document's first among those of all documents, and the one after its last


def make_shortlists(
    model: Any, documents: Sequence[Document], n: int, labels: Sequence[str], non_local: NonLocal, first: int = 0
) -> list[Shortlist]:
    """The n best of every document by `model.nbest`; first: the number of the first sentence."""
    number = {label: y for y, label in enumerate(labels)}
    lists = []
    for document in documents:
        (found,) = model.nbest([document], n)
        flat = [[number[label] for line in labelling for label in line] for labelling, _ in found]
        rows, scores = np.array(flat, np.int16), np.array([score for _, score in found])
        gold = np.array([number.get(label, -1) for line in gold_of([document]) for label in line])
        places, first = (first, first + len(document)), first + len(document)
        lists.append(Shortlist(rows, scores, non_local(document, rows), (rows != gold).sum(1), places))
    return lists


@dataclass
class Reranker:
    """The second model: a perceptron with margin C over lists.

    scale: what the first model's score is divided by to be a feature; None: it is none.
    learner: holds the weights of local features and the training documents; None: there are no such features. What it
    takes for correct is the right candidate of an update.
    """

    margin: float
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
        labels, first = len(self.learner.labels), one.labels[0]
        return found + [score_difference(*where, y, first, labels) for y in one.labels[:n]]

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
                errors += int(wrong[int(np.argmax(scores))])
                y = int(np.argmin(wrong))
                rivals = np.where(wrong > wrong[y], scores, -np.inf)
                z = int(np.argmax(rivals))
                if scores[y] - rivals[z] <= self.margin:
                    self.add(lists[i], y, z)
                    updates += 1
            still = still + 1 if abs(errors - before) < models.STOP * max(1, before) else 0
            before = errors
            if not updates or (number and still >= PATIENCE):
                break

    def best(self, one: Shortlist, n: int | None = None, local: Any = None) -> int:
        """Which of the first n candidates wins; of equals the first model's favourite."""
        return int(np.argmax(self.scores(one, n, local)))


def non_local_vectors(corpus: Corpus) -> NonLocal:
    """The built-in non-local features of labellings of a document, as numbers of the corpus's labels."""
    features = NonLocalFeatures(corpus.labels(), FAMILIES)
    extractor = TemplateExtractor(corpus.columns, corpus.columns[-1], [])
    return lambda document, rows: features.of(Opened(extractor.prepare([document])), 0, rows)


def score_scale(lists: Sequence[Shortlist]) -> float:
    """By how much the last candidate's score is below the first's, in the middle of the lists: that becomes 1."""
    return max(float(np.median([one.scores[0] - one.scores.min() for one in lists])), 1e-9)


def folds(documents: Sequence[Document], number: int) -> list[tuple[list[Document], list[Document], int]]:
    """(all but a stretch, the stretch, sentences before it) for each of so many stretches."""
    cuts = [round(len(documents) * k / number) for k in range(number + 1)]
    sizes = np.cumsum([0, *map(len, documents)]).tolist()
    return [([*documents[:lo], *documents[hi:]], list(documents[lo:hi]), sizes[lo]) for lo, hi in pairwise(cuts)]


class Reranking:
    """Lists for all parts of a corpus. Those of its training part come from models that have not seen the documents.

    first: the model of the whole training part, for dev and test.   make_first: trains such a model of some documents.
    """

    def __init__(self, corpus: Corpus, first: Any, make_first: Callable, non_local: NonLocal, n_test: int = N_LARGE):
        self.corpus, self.first, self.non_local, self.n_test = corpus, first, non_local, n_test
        self.labels = corpus.labels()
        begin = time.perf_counter()
        self.train: list[Shortlist] = []
        for number, (rest, part, place) in enumerate(folds(corpus.train, models.FOLDS), 1):
            self.train += make_shortlists(make_first(rest), part, models.N, self.labels, non_local, place)
            seconds = time.perf_counter() - begin
            say(f"{corpus.name}: re-ranking, lists of fold {number} of {models.FOLDS}, {seconds:.0f} s")
        self.seconds = time.perf_counter() - begin
        self.parts: dict[str, list[Shortlist]] = {}

    @cached_property
    def local(self) -> Any:
        """A chunker with the local features, whose learner has encoded the training part in a first pass."""
        return make_model(self.corpus, models.PERCEPTRON, None, 0, 1).fit(self.corpus.train)

    def part(self, split: str) -> list[Shortlist]:
        """The lists of dev or test documents."""
        if split not in self.parts:
            documents = getattr(self.corpus, split)
            self.parts[split] = make_shortlists(self.first, documents, self.n_test, self.labels, self.non_local)
        return self.parts[split]

    def second(self, kind: str, c: float, passes: int, n: int) -> Trial:
        """Train a second model; its time does not include that of the lists and of encoding the documents."""
        if kind == models.RERANKING_1:
            model = Reranker(c, score_scale(self.train))
        else:
            model = Reranker(c, learner=self.local.learner_.twin())
        _, seconds = timed(model.learn, self.train, passes)
        return Trial(kind, c, self.score(model, "dev", n), seconds, model.passes, n=n, model=model)

    def score(self, model: Reranker, split: str, n: int) -> float:
        """F1 of the best of the first n candidates of each document."""
        local = model.look(self.local.extractor_.prepare(getattr(self.corpus, split)))
        return self._score(split, [model.best(one, n, local) for one in self.part(split)])

    def oracle(self, split: str, n: int) -> float:
        """F1 of the candidates with the fewest wrong words: what re-ranking could reach at best."""
        return self._score(split, [int(one.wrong[:n].argmin()) for one in self.part(split)])

    def _score(self, split: str, chosen: Sequence[int]) -> float:
        """F1 of one candidate of each list."""
        sentences = sentences_of(getattr(self.corpus, split))
        rows = [one.labels[k] for one, k in zip(self.part(split), chosen, strict=True)]
        guess = spell(np.concatenate(rows), self.labels, starts_of(sentences))
        return chunk_scores(gold_of(sentences), guess).f1
