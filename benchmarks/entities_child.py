"""What runs in processes of its own for the parts of entities: see child.py."""

import time
from pathlib import Path
from typing import Any

from benchmarks.child import answer, count, timed
from benchmarks.report import ENTITIES
from structron import Chunker, Document, EntityRecognizer
from structron.experiments.kazama2007.corpora import Corpus, templates_of
from structron.experiments.kazama2007.models import CUTOFF, MARGIN, PROPOSED, SENTENCES_C, Crf, make_model
from structron.sentences import sentences_of

C = 2000.0
PRESET = "entities"
"""The local features of `train entities`, which python-crfsuite can have too."""
WARM_UP = 3
NBEST_PASSES = 2


def _node_templates(corpus: Corpus) -> list[str]:
    """Those that python-crfsuite can have too."""
    return [text for text in templates_of(corpus.columns) if "&" not in text]


def train_crf(data: str, iterations: int) -> dict[str, Any]:
    corpus = Corpus.load(Path(data), ENTITIES)
    begin = time.perf_counter()
    crf = Crf(corpus, PRESET)
    learning, model = timed(lambda: crf.train(1.0, iterations))
    seconds = time.perf_counter() - begin
    words = count(sentences_of(corpus.train))
    found = {"seconds": seconds, "learning": learning, "tokens": words, "iterations": model.iterations}
    return found | {"f1": model.score(corpus.dev)}


def train_margin(data: str, passes: int) -> dict[str, Any]:
    corpus = Corpus.load(Path(data), ENTITIES)
    sentences = sentences_of(corpus.train)

    def model(passes: int) -> Chunker:
        how = {"templates": PRESET, "columns": corpus.columns, "cutoff": CUTOFF}
        return Chunker(runs=1, passes=passes, margin=SENTENCES_C, **how)

    model(1).fit(sentences[:WARM_UP])
    seconds, fitted = timed(lambda: model(passes).fit(sentences))
    learning = sum(record["seconds"] for record in fitted.history_)
    found = {"seconds": seconds, "learning": learning, "tokens": count(sentences)}
    return found | {"passes": len(fitted.history_), "f1": fitted.score(corpus.dev)}


def train_entities(data: str, passes: int | None) -> dict[str, Any]:
    """The recogniser with its defaults: the same local features, and those of whole documents."""
    corpus = Corpus.load(Path(data), ENTITIES)
    how: dict[str, Any] = {"columns": corpus.columns} | ({} if passes is None else {"passes": passes})
    EntityRecognizer(**how).fit(corpus.train[:WARM_UP]).predict(corpus.dev[:1])
    seconds, fitted = timed(lambda: EntityRecognizer(**how).fit(corpus.train))
    learning = sum(record["seconds"] for record in fitted.history_)
    found = {"seconds": seconds, "learning": learning, "tokens": count(sentences_of(corpus.train))}
    return found | {"passes": len(fitted.history_), "f1": fitted.score(corpus.dev)}


def nbest(data: str, tokens: int, candidates: int, repeat: int) -> dict[str, Any]:
    """Documents of development data one after the other, as far as the tokens go, are one document."""
    corpus = Corpus.load(Path(data), ENTITIES)
    how = {"templates": _node_templates(corpus), "columns": corpus.columns, "cutoff": CUTOFF}
    model = Chunker(runs=1, passes=NBEST_PASSES, **how).fit(corpus.train)
    document, left = Document(), tokens
    for sentence in sentences_of(corpus.dev):
        document += [sentence[:left]] if left else []
        left -= len(sentence[:left])
    model.nbest([document], candidates)
    spent = [1000 * timed(lambda: model.nbest([document], candidates))[0] for _ in range(repeat)]
    return {"tokens": tokens - left, "labels": len(model.model_.labels), "milliseconds": spent}


def non_local(data: str, passes: int, repeat: int) -> dict[str, Any]:
    """All of Table 1's features and no BPM start, so that both algorithms make the same number of passes."""
    corpus = Corpus.load(Path(data), ENTITIES)
    sides = {"margin": MARGIN, "proposed": PROPOSED}
    found: dict[str, list[float]] = {side: [] for side in sides}

    def fit(method: str, documents: list[Document]) -> None:
        model = make_model(corpus, method, C, 0, passes)
        model.stop_change = None
        model.fit(documents)

    for method in sides.values():
        fit(method, corpus.train[:WARM_UP])
    for _ in range(repeat):
        for side, method in sides.items():
            found[side].append(timed(lambda method=method: fit(method, corpus.train))[0])
    return dict(found)


if __name__ == "__main__":
    answer({function.__name__: function for function in (train_crf, train_margin, train_entities, nbest, non_local)})
