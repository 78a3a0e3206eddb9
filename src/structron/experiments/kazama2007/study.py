"""Kazama & Torisawa (2007): all that is done with one corpus, written down as it goes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from structron.experiments.frame import say, timed, write_json
from structron.experiments.kazama2007 import models
from structron.experiments.kazama2007.corpora import Corpus
from structron.experiments.kazama2007.models import MARGIN, PROPOSED, RERANKING_1, RERANKING_2, Trial
from structron.experiments.kazama2007.rerank import Reranking, non_local_vectors
from structron.sentences import Document

WARM_UP = 3
"""Documents to learn from before anything is timed: enough to have every kernel compiled."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done: documents of each part (None: all), passes at most, runs of the BPM start, values of C that are
    tried at first, those of the candidate algorithm (beside the proposed one's), variances of the CRF's prior and its
    iterations, n' of Table 3, values of C and passes of the second models, whether C is refined, and processes (a
    corpus is the work of one).
    """

    documents: int | None = None
    passes: int = 20
    bpm: int = models.BPM
    margins: tuple[float, ...] = (500, 2000, 8000)
    candidate_margins: tuple[float, ...] = (500, 2000)
    variances: tuple[float, ...] = (1, 10, 100)
    iterations: int = 100
    test_candidates: tuple[int, ...] = (20, 100, 400, 800, 1600, 6400)
    second_margins: tuple[float, ...] = (0, 8, 64, 500, 2000, 8000)
    second_passes: int = 100
    refine: bool = True
    processes: int = 2


class Study:
    """The trials with one corpus. What was chosen on dev data is tested at the very end, once."""

    def __init__(self, corpus: Corpus, scale: Scale, folder: Path):
        self.corpus, self.scale, self.folder = corpus, scale, folder
        self.trials: dict[tuple[str, float | None, int], Trial] = {}
        self.chosen: dict[str, Trial] = {}
        self.results: dict[str, Any] = {"corpus": corpus.name, "sizes": corpus.counts(), "done": False}
        self.begin = time.perf_counter()

    def run(self) -> dict[str, Any]:
        """Everything; returns what the JSON file holds."""
        for method in (MARGIN, PROPOSED):  # kernels compile, or are read from the cache, before the clock counts
            part = self.corpus.train[:WARM_UP]
            models.make_model(self.corpus, method, 1.0, 1, 2).fit(part).predict(part)
        for work in (self.local_models, self.crf, self.non_local_models, self.reranking, self.test):
            work()
        self.results |= {"seconds": round(time.perf_counter() - self.begin), "done": True}
        return self.write()

    def write(self) -> dict[str, Any]:
        """All trials so far, so that a run that is stopped loses nothing."""
        chosen = {name: trial.as_dict() for name, trial in self.chosen.items()}
        found = self.results | {"chosen": chosen, "trials": [trial.as_dict() for trial in self.trials.values()]}
        write_json(self.folder / f"{self.corpus.name}.json", found)
        return found

    def note(self, trial: Trial) -> Trial:
        self.trials[trial.method, trial.c, trial.bpm] = trial
        say(f"{self.corpus.name}: {trial} ({time.perf_counter() - self.begin:.0f} s in all)")
        self.write()
        return trial

    def at(self, method: str, c: float | None = None, bpm: int = 0) -> Trial:
        """The trial of a method, trained unless it was before."""
        found = self.trials.get((method, c, bpm))
        return found or self.note(models.attempt(self.corpus, method, c, bpm, self.scale.passes))

    def tuned(self, method: str, values: Sequence[float], refine: bool = True) -> Trial:
        return models.tune(values, lambda c: self.at(method, c, self.scale.bpm), refine and self.scale.refine)

    def choose(self, trial: Trial, name: str | None = None) -> None:
        """Take a trial for the tables, and let go of the method's other models, but for one that Table 7 may need."""
        self.chosen[name or trial.method] = trial
        kept = {id(one) for one in self.chosen.values()}
        for other in self.trials.values():
            if other.method == trial.method and id(other) not in kept and other.c != self.chosen[MARGIN].c:
                other.model = None
        self.write()

    def local_models(self) -> None:
        self.choose(self.tuned(MARGIN, self.scale.margins))
        for method in (models.PERCEPTRON, models.AVERAGED):
            self.choose(self.at(method))
        self.choose(self.at(models.AVERAGED_MARGIN, self.chosen[MARGIN].c, self.scale.bpm))

    def crf(self) -> None:
        """The variance of the prior is tuned; a trial's time includes what making the features takes."""
        crf, made = timed(models.Crf, self.corpus)

        def at(variance: float) -> Trial:
            model, seconds = timed(crf.train, 1 / (2 * variance), self.scale.iterations)
            dev = model.score(self.corpus.dev)
            return self.note(Trial(models.CRF, variance, dev, made + seconds, model.iterations, model=model))

        self.choose(models.tune(self.scale.variances, at, refine=False))

    def non_local_models(self) -> None:
        """And the effect of the BPM start (section 6.2), at the C that is best with it."""
        self.choose(self.tuned(PROPOSED, self.scale.margins))
        self.choose(self.at(models.AVERAGED_PROPOSED, self.chosen[PROPOSED].c, self.scale.bpm))
        self.choose(self.at(models.SENTENCES, models.SENTENCES_C))
        more = {*self.scale.candidate_margins, self.chosen[PROPOSED].c or 0}
        self.choose(self.tuned(models.CANDIDATE, tuple(sorted(more)), refine=False))
        for method in (MARGIN, PROPOSED):
            self.choose(self.at(method, self.chosen[method].c), models.NO_BPM(method))

    def reranking(self) -> None:
        """Table 7 compares times at one C: that of the margin perceptron, whose models are the re-rankers' first."""
        c, (bpm, passes) = self.chosen[MARGIN].c, (self.scale.bpm, self.scale.passes)
        self.choose(self.at(PROPOSED, c, bpm), models.SAME_C(PROPOSED))

        def make_first(documents: Sequence[Document]) -> Any:
            return models.make_model(self.corpus, MARGIN, c, bpm, passes).fit(documents)

        vectors = non_local_vectors(self.corpus)
        self.lists = Reranking(self.corpus, self.chosen[MARGIN].model, make_first, vectors)
        oracle = {n: self.lists.oracle("dev", n) for n in (1, models.N_TEST, models.N_LARGE)}
        self.results["reranking"] = {"first_seconds": round(self.lists.seconds, 2), "oracle": oracle}
        for kind in (RERANKING_1, RERANKING_2):
            self.choose(models.tune(self.scale.second_margins, partial(self.second, kind), refine=False))
        self.choose(self.second(RERANKING_2, c or 0), models.SAME_C(RERANKING_2))

    def second(self, kind: str, c: float) -> Trial:
        found = self.trials.get((kind, c, 0))
        return found or self.note(self.lists.second(kind, c, self.scale.second_passes, models.N_TEST))

    def test(self) -> None:
        """The models that dev data chose, on test data; more candidates at test (Tables 3 and 6) on both."""
        for trial in {id(trial): trial for trial in self.chosen.values()}.values():
            if trial.method in (RERANKING_1, RERANKING_2):
                trial.test = self.lists.score(trial.model, "test", models.N_TEST)
            else:
                trial.test = trial.model.score(self.corpus.test)
            self.write()
        best = self.chosen[RERANKING_2].model
        self.results["reranking"]["large"] = [self.lists.score(best, s, models.N_LARGE) for s in ("dev", "test")]
        self.results["table3"] = {}
        model = self.chosen[PROPOSED].model
        for n in self.scale.test_candidates:
            model.test_candidates = n
            (dev, test), seconds = timed(lambda: [model.score(part) for part in (self.corpus.dev, self.corpus.test)])
            self.results["table3"][str(n)] = {"dev": dev, "test": test, "seconds": round(seconds, 2)}
            say(f"{self.corpus.name}: n' = {n}: dev {dev:.2f}, {seconds:.0f} s for dev and test")
            self.write()
