"""Kazama & Torisawa (2007): all that is done with one corpus, written down as it goes."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments.common import say, write_json
from structron.experiments.kazama2007_crf import Crf
from structron.experiments.kazama2007_data import Corpus
from structron.experiments.kazama2007_lists import Reranking
from structron.experiments.kazama2007_paper import (
    AVERAGED,
    AVERAGED_MARGIN,
    AVERAGED_PROPOSED,
    CANDIDATE,
    CRF,
    MARGIN,
    N_LARGE,
    N_TEST,
    PERCEPTRON,
    PROPOSED,
    RERANKING_1,
    RERANKING_2,
    SENTENCES,
    SENTENCES_C,
)
from structron.experiments.kazama2007_rerank import NonLocal
from structron.experiments.kazama2007_trials import NON_LOCAL, Scale, Trial, attempt, best_c, f1_of, make_model, tune
from structron.features.documents import NonLocalFeatures, Opened
from structron.features.extract import TemplateExtractor
from structron.sentences import Document

WARM_UP = 3
"""Documents to learn from before anything is timed: enough to have every kernel compiled."""


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
        self.warm_up()
        works = (self.local_models, self.crf, self.non_local_models, self.without_bpm, self.same_c)
        for work in works:
            work()
        self.reranking()
        self.test()
        self.results |= {"seconds": round(time.perf_counter() - self.begin), "done": True}
        self.write()
        return self.record()

    def warm_up(self) -> None:
        """Kernels compile, or are read from the cache, before the clock counts."""
        part = self.corpus.train[:WARM_UP]
        for method in (MARGIN, PROPOSED):
            make_model(self.corpus, method, 1.0, 1, 2).fit(part).predict(part)

    def record(self) -> dict[str, Any]:
        trials = [trial.as_dict() for trial in self.trials.values()]
        return self.results | {"chosen": {name: t.as_dict() for name, t in self.chosen.items()}, "trials": trials}

    def write(self) -> None:
        """All trials so far, so that a run that is stopped loses nothing."""
        write_json(self.folder / f"{self.corpus.name}.json", self.record())

    def note(self, trial: Trial) -> Trial:
        self.trials[trial.method, trial.c, trial.bpm] = trial
        say(f"{self.corpus.name}: {trial} ({time.perf_counter() - self.begin:.0f} s in all)")
        self.write()
        return trial

    def at(self, method: str, c: float | None = None, bpm: int = 0) -> Trial:
        """The trial of a method, trained unless it was before."""
        found = self.trials.get((method, c, bpm))
        return found or self.note(attempt(self.corpus, method, c, bpm, self.scale.passes))

    def choose(self, trial: Trial, name: str | None = None) -> Trial:
        """Take a trial for the tables, and let go of the method's other models, but for one that Table 7 may need."""
        self.chosen[name or trial.method] = trial
        kept = {id(one) for one in self.chosen.values()}
        for other in self.trials.values():
            if other.method == trial.method and id(other) not in kept and other.c != self.chosen[MARGIN].c:
                other.model = None
        self.write()
        return trial

    # -- Table 2 -------------------------------------------------------------------------------------------------

    def local_models(self) -> None:
        self.choose(self.tuned(MARGIN, self.scale.margins))
        for method in (PERCEPTRON, AVERAGED):
            self.choose(self.at(method))
        self.choose(self.at(AVERAGED_MARGIN, self.chosen[MARGIN].c, self.scale.bpm))

    def tuned(self, method: str, values: Sequence[float], refine: bool = True) -> Trial:
        return tune(values, lambda c: self.at(method, c, self.scale.bpm), refine and self.scale.refine)

    def crf(self) -> None:
        """The variance of the prior is tuned; a trial's time includes what making the features takes."""
        begin = time.perf_counter()
        crf = Crf(self.corpus)
        made = time.perf_counter() - begin
        tried = {}
        for variance in self.scale.variances:
            begin = time.perf_counter()
            model = crf.train(1 / (2 * variance), self.scale.iterations)
            seconds = time.perf_counter() - begin + made
            dev = f1_of(model, self.corpus.dev)
            tried[variance] = self.note(Trial(CRF, variance, dev, seconds, model.iterations, model=model))
        self.choose(tried[best_c(tried)])

    def non_local_models(self) -> None:
        self.choose(self.tuned(PROPOSED, self.scale.margins))
        self.choose(self.at(AVERAGED_PROPOSED, self.chosen[PROPOSED].c, self.scale.bpm))
        self.choose(self.at(SENTENCES, SENTENCES_C))
        more = {*self.scale.candidate_margins, self.chosen[PROPOSED].c or 0}
        self.choose(self.tuned(CANDIDATE, tuple(sorted(more)), refine=False))

    def without_bpm(self) -> None:
        """The effect of the BPM start (section 6.2), at the C that is best with it."""
        for method in (MARGIN, PROPOSED):
            self.choose(self.at(method, self.chosen[method].c), without(method))

    # -- Tables 6 and 7 ------------------------------------------------------------------------------------------

    def same_c(self) -> None:
        """Table 7 compares times at one C: that of the margin perceptron, whose models are the re-rankers' first."""
        self.choose(self.at(PROPOSED, self.chosen[MARGIN].c, self.scale.bpm), same(PROPOSED))

    def first_model(self, documents: Sequence[Document]) -> Any:
        model = make_model(self.corpus, MARGIN, self.chosen[MARGIN].c, self.scale.bpm, self.scale.passes)
        return model.fit(documents)

    def reranking(self) -> None:
        vectors = non_local_vectors(self.corpus)
        self.lists = Reranking(self.corpus, self.chosen[MARGIN].model, self.first_model, vectors)
        self.results["reranking"] = {
            "first_seconds": round(self.lists.seconds, 2),
            "oracle": {n: self.lists.oracle("dev", n) for n in (1, N_TEST, N_LARGE)},
        }
        for kind in (RERANKING_1, RERANKING_2):
            self.choose(tune(self.scale.second_margins, self._second(kind), False))
        self.choose(self._second(RERANKING_2)(self.chosen[MARGIN].c or 0), same(RERANKING_2))

    def _second(self, kind: str) -> Callable[[float], Trial]:
        def at(c: float) -> Trial:
            found = self.trials.get((kind, c, 0))
            return found or self.note(self.lists.second(kind, c, self.scale.second_passes, N_TEST))

        return at

    # -- test data -----------------------------------------------------------------------------------------------

    def test(self) -> None:
        """The models that dev data chose, on test data; more candidates at test (Tables 3 and 6) on both."""
        for trial in {id(trial): trial for trial in self.chosen.values()}.values():
            if trial.method not in (RERANKING_1, RERANKING_2):
                trial.test = f1_of(trial.model, self.corpus.test)
            else:
                trial.test = self.lists.score(trial.model, "test", N_TEST)
            self.write()
        best = self.chosen[RERANKING_2]
        self.results["reranking"]["large"] = [self.lists.score(best.model, s, N_LARGE) for s in ("dev", "test")]
        self.results["table3"] = {}
        model = self.chosen[PROPOSED].model
        for n in self.scale.test_candidates:
            model.test_candidates = n
            begin = time.perf_counter()
            scores = [f1_of(model, documents) for documents in (self.corpus.dev, self.corpus.test)]
            seconds = round(time.perf_counter() - begin, 2)
            self.results["table3"][str(n)] = {"dev": scores[0], "test": scores[1], "seconds": seconds}
            say(f"{self.corpus.name}: n' = {n}: dev {scores[0]:.2f}, {seconds:.0f} s for dev and test")
            self.write()


def without(method: str) -> str:
    """The name of a method without the BPM start."""
    return f"{method}, no BPM"


def same(method: str) -> str:
    """The name of a method with the margin perceptron's C."""
    return f"{method}, same C"


def non_local_vectors(corpus: Corpus) -> NonLocal:
    """The built-in non-local features of labellings of a document, as numbers of the corpus's labels."""
    features = NonLocalFeatures(corpus.labels(), NON_LOCAL)
    extractor = TemplateExtractor(corpus.columns, corpus.columns[-1], [])

    def vectors(document: Document, rows: np.ndarray) -> np.ndarray:
        return features.of(Opened(extractor.prepare([document])), 0, rows)

    return vectors
