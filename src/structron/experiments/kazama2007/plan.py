"""Kazama & Torisawa (2007): which jobs are wanted, and what their trials chose. C is chosen on dev data, with one seed;
what the claims compare is learned with several."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from structron.experiments.frame import Job, Ledger, Trial
from structron.experiments.kazama2007 import models
from structron.experiments.kazama2007.corpora import AUTOMATIC, ENGLISH, PLACES, SHUFFLED, present
from structron.experiments.kazama2007.models import AVERAGED, CANDIDATE, CONSERVATIVE, CRF, MARGIN, PERCEPTRON, PROPOSED

TRAIN, FIELD, RERANK, PART = (f"kazama2007.jobs:{name}" for name in ("train", "crf", "reranking", "part"))
BOUNDS = tuple(f"kazama2007.jobs:{name}" for name in ("margin_bound", "proposed_bound"))
TUNED = (MARGIN, PROPOSED, CANDIDATE)
STARTED = (*TUNED, models.AVERAGED_MARGIN)
"""Methods that start from the mean of one-pass runs."""
SEED = 1
"""Of the trials that choose C."""
OTHERS = (PROPOSED, CONSERVATIVE, models.NODES, CRF, models.EDGE_CRF)
"""What learns from a part of the training data beside the margin perceptron."""
FEWER = 60
"""Iterations of the fields that learn from a part of the data, at most."""
LEAST = 1
"""The smallest C; below, a margin perceptron is a perceptron."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done: documents of each part (None: all), passes at most, runs of the BPM start, values of C that are
    tried at first and whether the search walks on, variances of the CRF's prior and its iterations, n' of Table 3,
    values of C and passes of the second models, and the larger n' of re-ranking.

    Saved: three seeds have the rows of Table 2 that are close to each other (and Table 3), `fewer` those that show what
    the start and the tags do, and one the candidate algorithm, re-ranking and our own rows. What learns
    from a part of the training data has one seed.
    """

    documents: int | None = None
    passes: int = 20
    bpm: int = 10
    seeds: tuple[int, ...] = (1, 2, 3)
    fewer: tuple[int, ...] = (1, 2)
    margins: tuple[float, ...] = (500, 2000, 8000)
    walk: bool = True
    variances: tuple[float, ...] = (0.25, 1, 4)
    iterations: int = 100
    test_candidates: tuple[int, ...] = (20, 100, 400, 800, 1600, 6400)
    second_margins: tuple[float, ...] = (8, 500, 8000)
    second_passes: int = 30
    n_large: int = 800
    part: int = 40
    """Documents of what learns from a part of the training data."""
    part_methods: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict.fromkeys((SHUFFLED, ENGLISH), OTHERS))
    """What learns from it beside the margin perceptron, by corpus."""
    long_part: int = 10
    long: int = 200
    """Documents, and passes at most, where the stopping rule is to end a training."""


class Found:
    """The trials of one corpus."""

    def __init__(self, ledger: Ledger, corpus: str):
        self.ledger, self.corpus = ledger, corpus

    def tried(self, method: str) -> dict[float, Trial]:
        """The trials of the search for C."""
        own = self.ledger.of(
            TRAIN, corpus=self.corpus, method=method, seed=SEED, tags=None, candidates=None, joined=None
        )
        return {trial["c"]: trial for trial in own if "bpm" in trial.options}

    def chosen(self, method: str) -> float | None:
        """The C that is best on dev data, of those tried so far; of the CRF the variance. None: the method has none."""
        if method == models.SENTENCES:
            return models.SENTENCES_C
        if method == CRF:
            return next((trial["variance"] for trial in self.final(CRF)), None)
        if method in (PERCEPTRON, AVERAGED):
            return None
        tried = self.tried(MARGIN if method == models.AVERAGED_MARGIN else method)
        return models.best_value({c: trial["dev"] for c, trial in tried.items()}) if tried else None

    def final(self, method: str, bpm: bool | None = None, tags: str | None = None) -> list[Trial]:
        """The trials of a method at its C, seed by seed. bpm: with that start or not; None: as the paper has it."""
        if method == CRF:
            return self.ledger.of(FIELD, corpus=self.corpus)
        start = method in STARTED if bpm is None else bpm
        every = self.ledger.of(TRAIN, corpus=self.corpus, method=method, c=self.chosen(method), tags=tags)
        own = [trial for trial in every if ("bpm" in trial.options) == start]
        several = [trial for trial in own if "candidates" in trial.options]
        return sorted(several or own, key=lambda trial: trial["seed"])

    def reranked(self) -> list[Trial]:
        return self.ledger.of(RERANK, corpus=self.corpus, c=self.chosen(MARGIN))

    def same_c(self) -> Trial | None:
        """The proposed algorithm with the margin perceptron's C, for Table 7."""
        return self.tried(PROPOSED).get(self.chosen(MARGIN) or 0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The jobs of one corpus."""

    found: Found
    scale: Scale

    def train(self, method: str, c: float | None = None, seed: int = SEED, bpm: bool | None = None, **more: Any) -> Job:
        start = method in STARTED if bpm is None else bpm
        options = {"method": method, "c": c, "seed": seed, "bpm": self.scale.bpm if start else None, **more}
        cost = 110 if "local_update" in models.OPTIONS[method] else 60
        return self.job(TRAIN, cost, passes=self.scale.passes, **options)

    def job(self, work: str, cost: float, **options: Any) -> Job:
        every = {"corpus": self.found.corpus, **options, "documents": self.scale.documents}
        return Job(work, {name: value for name, value in every.items() if value is not None}, cost)

    def search(self, method: str) -> list[Job]:
        """What is tried next for the best C; nothing: it is found."""
        tried = {c: trial["dev"] for c, trial in self.found.tried(method).items()}
        start = [c for c in self.scale.margins if c not in tried]
        more = models.next_values(tried, self.scale.margins, LEAST) if self.scale.walk else start
        return [self.train(method, c) for c in more]

    def first(self) -> Iterator[Job]:
        """The searches for C, and what needs none."""
        for method in TUNED:
            yield from (self.train(method, c) for c in self.found.tried(method))
            yield from self.search(method)
        for method in (PERCEPTRON, AVERAGED):
            yield from (self.train(method, seed=seed) for seed in self.scale.seeds)
            yield from (self.train(method, seed=seed, bpm=True) for seed in self.scale.fewer)
        yield self.job(FIELD, 500, variances=self.scale.variances, iterations=self.scale.iterations)

    def second(self) -> Iterator[Job]:
        """What needs a C that was found."""
        c = {method: self.found.chosen(method) for method in TUNED if not self.search(method)}
        scale, candidates = self.scale, list(self.scale.test_candidates)
        if MARGIN in c:
            again = {"margins": scale.second_margins, "second_passes": scale.second_passes, "n_large": scale.n_large}
            yield self.job(RERANK, 600, c=c[MARGIN], bpm=scale.bpm, passes=scale.passes, seed=SEED, **again)
            yield from (self.train(MARGIN, c[MARGIN], seed) for seed in scale.seeds)
        if PROPOSED in c:
            yield from (self.train(PROPOSED, c[PROPOSED], seed, candidates=candidates) for seed in scale.seeds)
        for method, seed in product((MARGIN, PROPOSED), scale.fewer):
            if method in c:
                yield self.train(method, c[method], seed, bpm=False)
            if method in c and self.found.corpus == ENGLISH:
                yield self.train(method, c[method], seed, tags=AUTOMATIC)
        if MARGIN in c:
            yield self.train(models.AVERAGED_MARGIN, c[MARGIN])
        if MARGIN in c and PROPOSED in c:
            yield from self.parts(c[MARGIN], c[PROPOSED])
        if MARGIN in c and PROPOSED in c:
            yield self.train(PROPOSED, c[MARGIN])
        yield self.train(models.SENTENCES, models.SENTENCES_C)

    def parts(self, margin: float | None, proposed: float | None) -> Iterator[Job]:
        """What learns from a part of the training data."""
        steps = {"bpm": self.scale.bpm, "passes": self.scale.passes}
        yield self.part(MARGIN, c=margin, **steps)
        yield self.part(MARGIN, c=margin, joined=True, **steps)
        for method in self.scale.part_methods.get(self.found.corpus, ()):
            if method in (CRF, models.EDGE_CRF):
                yield self.part(method, iterations=min(FEWER, self.scale.iterations))
            else:
                yield self.part(method, c=margin if method == models.NODES else proposed, **steps)

    def third(self) -> Iterator[Job]:
        """Training until the stopping rule ends it."""
        margin = self.found.chosen(MARGIN)
        if margin is not None and not self.search(MARGIN):
            sizes = {"documents": self.scale.long_part, "passes": self.scale.long}
            yield self.part(MARGIN, c=margin, bpm=self.scale.bpm, **sizes)

    def part(self, method: str, **more: Any) -> Job:
        own = {"corpus": self.found.corpus, "documents": self.scale.part, "method": method}
        return Job(PART, own | more, 100)


def plan(ledger: Ledger, scale: Scale, data: Path | None) -> Iterator[Job]:
    """The bounds, then for every corpus the searches for C, then what is compared."""
    assert data is not None
    for work, c, seed in product(BOUNDS, (1, 10, 100), range(1, 6)):
        yield Job(work, {"margin": c, "seed": seed}, 1)
    wanted = [Wanted(Found(ledger, corpus), scale) for corpus in present(data)]
    for one in wanted:
        yield from one.first()
    for one in wanted:
        yield from one.second()
    for one in wanted:
        yield from one.third()


def corpora_of(ledger: Ledger) -> list[str]:
    """The corpora that there are trials of."""
    return [name for name in PLACES if ledger.of(TRAIN, corpus=name)]
