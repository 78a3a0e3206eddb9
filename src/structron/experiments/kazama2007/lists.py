"""Kazama & Torisawa (2007), section 6.3: from first models over five folds to the second models' scores."""

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from structron.experiments.frame import need, say
from structron.experiments.kazama2007 import paper
from structron.experiments.kazama2007.corpora import Corpus, gold_of
from structron.experiments.kazama2007.crf import LocalFeatures
from structron.experiments.kazama2007.models import Trial, f1
from structron.experiments.kazama2007.paper import N_LARGE
from structron.experiments.kazama2007.rerank import Local, Reranker, Shortlist
from structron.features.documents import NonLocalFeatures, Opened
from structron.features.extract import TemplateExtractor
from structron.features.phrases import FAMILIES
from structron.sentences import Document, regroup, sentences_of

NonLocal = Callable[[Document, np.ndarray], np.ndarray]
"""The non-local features of labellings of a document, int16[labellings, tokens]: float64[labellings, features]."""

MakeFirst = Callable[[Sequence[Document]], Any]


def non_local_vectors(corpus: Corpus) -> NonLocal:
    """The built-in non-local features of labellings of a document, as numbers of the corpus's labels."""
    features = NonLocalFeatures(corpus.labels(), FAMILIES)
    extractor = TemplateExtractor(corpus.columns, corpus.columns[-1], [])
    return lambda document, rows: features.of(Opened(extractor.prepare([document])), 0, rows)


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
        lists.append(Shortlist(rows, scores, non_local(document, rows), (rows != gold).sum(1), first, place))
        place += len(first)
    return lists


def score_scale(lists: Sequence[Shortlist]) -> float:
    """By how much the last candidate's score is below the first's, in the middle of the lists: that becomes 1."""
    return max(float(np.median([one.scores[0] - one.scores.min() for one in lists])), 1e-9)


def folds(documents: Sequence[Document], number: int) -> list[tuple[list[Document], list[Document], int]]:
    """(all but a stretch, the stretch, tokens before it) for each of so many stretches."""
    cuts = [round(len(documents) * k / number) for k in range(number + 1)]
    sizes = np.cumsum([0, *(sum(map(len, document)) for document in documents)])
    return [([*documents[:lo], *documents[hi:]], list(documents[lo:hi]), int(sizes[lo])) for lo, hi in pairwise(cuts)]


class Reranking:
    """Lists for all parts of a corpus. Those of its training part come from models that have not seen the documents.

    first: the model of the whole training part, for dev and test.   make_first: trains such a model of some documents.
    """

    def __init__(self, corpus: Corpus, first: Any, make_first: MakeFirst, non_local: NonLocal, n_test: int = N_LARGE):
        self.corpus, self.first, self.non_local, self.n_test = corpus, first, non_local, n_test
        self.labels = corpus.labels()
        begin = time.perf_counter()
        self.train: list[Shortlist] = []
        for number, (rest, part, place) in enumerate(folds(corpus.train, paper.FOLDS), 1):
            self.train += make_shortlists(make_first(rest), part, paper.N, self.labels, non_local, place)
            seconds = time.perf_counter() - begin
            say(f"{corpus.name}: re-ranking, lists of fold {number} of {paper.FOLDS}, {seconds:.0f} s")
        self.seconds = time.perf_counter() - begin
        self.parts: dict[str, list[Shortlist]] = {}

    @cached_property
    def features(self) -> list[tuple[LocalFeatures, np.ndarray]]:
        """Node and edge features, and those of them at active tokens of the training lists: no others are learned."""
        tokens = np.concatenate([one.place + one.active() for one in self.train])
        every = (LocalFeatures(self.corpus), LocalFeatures(self.corpus, edge=True))
        return [(features, np.unique(features.train[tokens].indices)) for features in every]

    def add_local(self, lists: Sequence[Shortlist], documents: Sequence[Document] | None = None) -> None:
        """Give the lists of documents (None: the training lists) their node and edge features, and label bigrams: an
        edge feature that every token has."""
        active = [one.active() for one in lists]
        tokens = np.concatenate([one.place + own for one, own in zip(lists, active, strict=True)])
        matrices = ((f.train if documents is None else f.of(documents), used) for f, used in self.features)
        node, edge = (matrix[tokens][:, used] for matrix, used in matrices)
        ones, hi = need("scipy.sparse", "bench").csr_matrix(np.ones((len(tokens), 1), np.float32)), 0
        for one, own in zip(lists, active, strict=True):
            lo, hi = hi, hi + len(own)
            y = one.labels.astype(np.int64)
            before = np.where(one.first, 0, np.roll(y, 1, axis=1) + 1)
            pair = (before * len(self.labels) + y)[:, own]
            one.local = (Local(node[lo:hi], y[:, own]), Local(edge[lo:hi], pair), Local(ones[lo:hi], pair))

    def shapes(self) -> list[tuple[int, int]]:
        """Of the weights: node features with the label, edge features and bigrams with the label before as well."""
        (node, edge), labels = (len(used) for _, used in self.features), len(self.labels)
        return [(node, labels), (edge, (labels + 1) * labels), (1, (labels + 1) * labels)]

    def part(self, split: str) -> list[Shortlist]:
        """The lists of dev or test documents."""
        if split not in self.parts:
            documents = getattr(self.corpus, split)
            lists = make_shortlists(self.first, documents, self.n_test, self.labels, self.non_local)
            self.add_local(lists, documents)
            self.parts[split] = lists
        return self.parts[split]

    def second(self, kind: str, c: float, passes: int, n: int) -> Trial:
        """Train a second model; its time does not include that of the lists."""
        begin = time.perf_counter()
        if kind == paper.RERANKING_1:
            model = Reranker(c, score_scale(self.train))
        else:
            if not self.train[0].local:
                self.add_local(self.train)
            model = Reranker(c, shapes=self.shapes())
        model.learn(self.train, passes)
        seconds = time.perf_counter() - begin
        return Trial(kind, c, self.score(model, "dev", n), seconds, model.passes, n=n, model=model)

    def score(self, model: Reranker, split: str, n: int) -> float:
        """F1 of the best of the first n candidates of each document."""
        return self._score(split, [model.best(one, n) for one in self.part(split)])

    def oracle(self, split: str, n: int) -> float:
        """F1 of the candidates with the fewest wrong words: what re-ranking could reach at best."""
        return self._score(split, [int(one.wrong[:n].argmin()) for one in self.part(split)])

    def _score(self, split: str, chosen: Sequence[int]) -> float:
        """F1 of one candidate of each list."""
        documents = getattr(self.corpus, split)
        rows = [one.labels[k] for one, k in zip(self.part(split), chosen, strict=True)]
        flat = iter([self.labels[y] for row in rows for y in row.tolist()])
        return f1(documents, regroup(documents, [[next(flat) for _ in line] for line in sentences_of(documents)]))
