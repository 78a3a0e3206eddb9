"""Kazama & Torisawa (2007), section 6.3: from first models over five folds to the second models' scores."""

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from structron.experiments.common import say
from structron.experiments.kazama2007_crf import LocalFeatures, Numbers
from structron.experiments.kazama2007_data import Corpus
from structron.experiments.kazama2007_paper import FOLDS, N_LARGE, RERANKING_1, N
from structron.experiments.kazama2007_rerank import (
    Local,
    LocalNumbers,
    NonLocal,
    Reranker,
    Shortlist,
    folds,
    make_shortlists,
    score_scale,
)
from structron.experiments.kazama2007_trials import Trial, f1
from structron.sentences import Document, regroup, sentences_of


class Reranking:
    """Lists for all parts of a corpus. Those of its training part come from models that have not seen the documents.

    first: the model of the whole training part, for dev and test.   make_first: trains such a model of some documents.
    """

    def __init__(
        self,
        corpus: Corpus,
        first: Any,
        make_first: Callable[[Sequence[Document]], Any],
        non_local: NonLocal,
        n_test: int = N_LARGE,
    ):
        self.corpus, self.first, self.non_local, self.n_test = corpus, first, non_local, n_test
        self.labels = corpus.labels()
        begin = time.perf_counter()
        self.train: list[Shortlist] = []
        for number, (rest, part, place) in enumerate(folds(corpus.train, FOLDS), 1):
            model = make_first(rest)
            self.train += make_shortlists(model, part, N, self.labels, non_local, place)
            say(f"{corpus.name}: re-ranking, lists of fold {number} of {FOLDS}, {time.perf_counter() - begin:.0f} s")
        self.seconds = time.perf_counter() - begin
        self.parts: dict[str, tuple[list[Shortlist], list[Local]]] = {}

    # -- local features ------------------------------------------------------------------------------------------

    @cached_property
    def features(self) -> tuple[LocalFeatures, LocalFeatures]:
        return LocalFeatures(self.corpus), LocalFeatures(self.corpus, edge=True)

    @cached_property
    def numbers(self) -> LocalNumbers:
        return LocalNumbers(*self.features, self.train)

    @cached_property
    def train_locals(self) -> list[Local]:
        return self._locals(self.train, *(features.train for features in self.features))

    def _locals(self, lists: Sequence[Shortlist], node: Numbers, edge: Numbers) -> list[Local]:
        return [self.numbers.of(shortlist, node, edge) for shortlist in lists]

    def part(self, split: str) -> tuple[list[Shortlist], list[Local]]:
        """The lists of dev or test documents, and the local features in them."""
        if split not in self.parts:
            documents = getattr(self.corpus, split)
            lists = make_shortlists(self.first, documents, self.n_test, self.labels, self.non_local)
            self.parts[split] = lists, self._locals(lists, *(features.of(documents) for features in self.features))
        return self.parts[split]

    # -- second models -------------------------------------------------------------------------------------------

    def second(self, kind: str, c: float, passes: int, n: int) -> Trial:
        """Train a second model; its time includes that of the first models, of which all its lists come."""
        if kind == RERANKING_1:
            model = Reranker(c, len(self.labels), score_scale(self.train))
            seconds = model.learn(self.train, [None] * len(self.train), passes)
        else:
            begin = time.perf_counter()
            locals_ = self.train_locals
            model = Reranker(c, len(self.labels), numbers=self.numbers)
            seconds = time.perf_counter() - begin + model.learn(self.train, locals_, passes)
        return Trial(kind, c, self.score(model, "dev", n), seconds, model.passes, n=n, model=model)

    def score(self, model: Reranker, split: str, n: int) -> float:
        """F1 of the best of the first n candidates of each document."""
        lists, locals_ = self.part(split)
        if not model.numbers:
            return self._score(split, [model.best(one, None, n) for one in lists])
        return self._score(split, [model.best(one, local, n) for one, local in zip(lists, locals_, strict=True)])

    def oracle(self, split: str, n: int) -> float:
        """F1 of the candidates with the fewest wrong words: what re-ranking could reach at best."""
        return self._score(split, [int(one.wrong[:n].argmin()) for one in self.part(split)[0]])

    def _score(self, split: str, chosen: Sequence[int]) -> float:
        """F1 of one candidate of each list."""
        documents, (lists, _) = getattr(self.corpus, split), self.part(split)
        rows = [shortlist.labels[k] for shortlist, k in zip(lists, chosen, strict=True)]
        flat = iter([self.labels[y] for row in rows for y in row.tolist()])
        return f1(documents, regroup(documents, [[next(flat) for _ in line] for line in sentences_of(documents)]))
