"""Kazama & Torisawa (2007): the jobs. Each loads a corpus, trains on one core, and scores dev and test data.

Learning goes on as the stopping rule says, or for so many passes; dev data see the final weights only, as in the paper.
Seconds are the processor's, and kernels are compiled, or read from the cache, before they count.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments.frame.ledger import Figures
from structron.experiments.kazama2007 import bound
from structron.experiments.kazama2007.corpora import GIVEN, EntityCorpus
from structron.experiments.kazama2007.edges import EdgeCrf
from structron.experiments.kazama2007.models import CRF, EDGE_CRF, MARGIN, Crf, make_model, scored, search
from structron.experiments.kazama2007.rerank import CandidateLists
from structron.tasks.chain.labeler import Tagger
from structron.text.sentences import Document

LEAST_VARIANCE = 1 / 64
WARM_UP = 3
"""Documents that are learned from before anything is timed."""


def processor_time(work: Any, *given: Any) -> tuple[Any, float]:
    """What a piece of work gives, and its seconds."""
    begin = time.process_time()
    return work(*given), round(time.process_time() - begin, 2)


def both_parts(model: Any, corpus: EntityCorpus) -> Figures:
    parts = {"dev": corpus.dev, "test": corpus.test}
    return {name: value for part, own in parts.items() for name, value in scored(part, own, model.predict(own)).items()}


def train(
    data: Path,
    *,
    corpus: str,
    method: str,
    passes: int,
    c: float | None = None,
    bpm: int = 0,
    seed: int = 1,
    documents: int | None = None,
    tags: str = GIVEN,
    candidates: Sequence[int] = (),
) -> Figures:
    """A method with its C. candidates: further values of n', whose scores are in `by_n` (Table 3)."""
    given = EntityCorpus.load(data, corpus, documents, tags)
    make_model(given, method, c, bpm and 1, 2).fit(given.train[:WARM_UP]).predict(given.train[:WARM_UP])
    model = make_model(given, method, c, bpm, passes, seed)
    _, seconds = processor_time(model.fit, given.train)
    figures = both_parts(model, given) | {"learning": seconds, "passes": len(model.history_)}
    figures |= {"stopped": model.stopped_, "sizes": given.counts()}
    vars(model).pop("learner_", None)  # the encoded training data
    more: Figures = {}
    for n in candidates:
        model.test_candidates = n
        found, spent = processor_time(both_parts, model, given)
        more[str(n)] = found | {"labelling": spent}
    return figures | ({"by_n": more} if more else {})


def part(
    data: Path,
    *,
    corpus: str,
    method: str,
    documents: int,
    c: float | None = None,
    bpm: int = 0,
    passes: int = 0,
    joined: bool = False,
    variance: float = 1.0,
    iterations: int = 0,
) -> Figures:
    """A method that learns from a part of the training data; dev and test data are whole. joined: documents are single
    sentences.   iterations: of the fields."""
    given = EntityCorpus.load(data, corpus)
    given = replace(given, train=given.train[:documents])
    if joined:
        given = given.joined()
    if method in (CRF, EDGE_CRF):
        edges = method == EDGE_CRF
        model: Any = (
            EdgeCrf(given).train(variance, iterations) if edges else Crf(given).train(0.5 / variance, iterations)
        )
        return both_parts(model, given) | {"passes": model.iterations, "stopped": "–"}
    model = make_model(given, method, c, bpm, passes).fit(given.train)
    return both_parts(model, given) | {"passes": len(model.history_), "stopped": model.stopped_}


def crf(
    data: Path, *, corpus: str, variances: Sequence[float], iterations: int, documents: int | None = None
) -> Figures:
    """The conditional random field, for every variance of its prior that the search asks for."""
    given = EntityCorpus.load(data, corpus, documents)
    field, made = processor_time(Crf, given)

    def at(variance: float) -> tuple[Figures, float]:
        model, seconds = processor_time(field.train, 1 / (2 * variance), iterations)
        figures = both_parts(model, given) | {"learning": round(made + seconds, 2), "passes": model.iterations}
        return figures, figures["dev"]

    variance, (best, _), tried = search(variances, LEAST_VARIANCE, at)
    return best | {"variance": variance, "tried": tried}


def reranking(
    data: Path,
    *,
    corpus: str,
    c: float,
    bpm: int,
    passes: int,
    margins: Sequence[float],
    second_passes: int,
    n_large: int,
    seed: int = 1,
    documents: int | None = None,
) -> Figures:
    """Re-rankers on lists of margin perceptrons with one C, for every C of the second models that is asked for."""
    given = EntityCorpus.load(data, corpus, documents)
    make_model(given, MARGIN, c, bpm and 1, 2).fit(given.train[:WARM_UP]).predict(given.train[:WARM_UP])

    def make_first(documents: Sequence[Any]) -> Any:
        return make_model(given, MARGIN, c, bpm, passes, seed).fit(documents)

    return CandidateLists(given, make_first, n_large, seed).study(margins, second_passes)


# -- convergence, on documents so small that all labellings can be listed ---------------------------------------------


def proposed_bound(data: Path | None, *, documents: int = 8, margin: float = 10.0, seed: int = 1) -> Figures:
    """Algorithm 4.2 (Appendix A)."""
    return bound.check(documents=documents, margin=margin, seed=seed)


def margin_bound(data: Path | None, *, documents: int = 8, margin: float = 10.0, seed: int = 1) -> Figures:
    """Algorithm 3.1 (section 3), the same with local features alone."""
    made = bound.make_documents(documents, seed)
    local, _ = bound.differences(made)
    delta, radius = float((local @ bound.separator(local)).min()), bound.longest(local)
    rows = [
        Document([[[f"w{word}", f"L{bound.right_label(word)}"] for word in sentence] for sentence in document])
        for document in made
    ]
    own: dict[str, Any] = {"templates": ["w[0]"], "order": 1, "average": "none", "runs": 1, "shuffle": False}
    tagger = Tagger(passes=10_000, margin=margin, jobs=1, **own).fit(rows)
    updates = sum(record["updates"] for record in tagger.history_)
    lists = tagger.nbest(rows, 2)
    reached = min(best - second for (_, best), (_, second) in lists) / float(np.linalg.norm(tagger.model_.w))
    most, least = bound.bound(margin, radius, delta), bound.least_margin(margin, radius, delta)
    holds = tagger.stopped_ == "converged" and delta > 0 and updates <= most and reached >= least
    figures = {"updates": updates, "C": margin, "R": radius, "delta": delta, "bound": most}
    return figures | {"margin": reached, "least_margin": least, "holds": bool(holds)}
