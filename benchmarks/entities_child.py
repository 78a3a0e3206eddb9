"""What runs in processes of its own for the parts of entities: see child.py."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import answer, count, timed
from benchmarks.report import ENTITIES
from structron import Chunker, Document, EntityRecognizer
from structron.experiments.kazama2007.corpora import EntityCorpus, templates_of
from structron.experiments.kazama2007.models import CUTOFF, MARGIN, PROPOSED, SENTENCES_C, Crf, make_model
from structron.text.sentences import sentences_of

C = 2000.0
PRESET = "entities"
"""The local features of `train entities`, which python-crfsuite can have too."""
WARM_UP = 3
NBEST_PASSES = 2


def _node_templates(corpus: EntityCorpus) -> list[str]:
    """Those that python-crfsuite can have too."""
    return [text for text in templates_of(corpus.columns) if "&" not in text]


def train_crf(data: str, iterations: int) -> dict[str, Any]:
    corpus = EntityCorpus.load(Path(data), ENTITIES)
    begin = time.perf_counter()
    crf = Crf(corpus, PRESET)
    learning, model = timed(lambda: crf.train(1.0, iterations))
    seconds = time.perf_counter() - begin
    words = count(sentences_of(corpus.train))
    found = {"seconds": seconds, "learning": learning, "tokens": words, "iterations": model.iterations}
    speed = count(sentences_of(corpus.dev)) / timed(lambda: model.predict(corpus.dev))[0]
    return found | {"f1": model.score(corpus.dev), "tokens_per_second": speed}


def train_margin(data: str, passes: int) -> dict[str, Any]:
    corpus = EntityCorpus.load(Path(data), ENTITIES)
    sentences = sentences_of(corpus.train)

    def model(passes: int) -> Chunker:
        how = {"templates": PRESET, "columns": corpus.columns, "cutoff": CUTOFF}
        return Chunker(runs=1, passes=passes, margin=SENTENCES_C, **how)

    model(1).fit(sentences[:WARM_UP])
    seconds, fitted = timed(lambda: model(passes).fit(sentences))
    learning = sum(record["seconds"] for record in fitted.history_)
    found = {"seconds": seconds, "learning": learning, "tokens": count(sentences)}
    return found | {"passes": len(fitted.history_), "f1": fitted.score(corpus.dev)}


def train_entities(data: str, passes: int | None, sentences: bool = False) -> dict[str, Any]:
    """The recogniser with its defaults: the same local features, and those of whole documents.

    sentences: every sentence is its own document, as in files that mark none.
    """
    corpus = EntityCorpus.load(Path(data), ENTITIES)
    train, dev = ((sentences_of(part) if sentences else part) for part in (corpus.train, corpus.dev))
    how: dict[str, Any] = {"columns": corpus.columns, "jobs": 1} | ({} if passes is None else {"passes": passes})
    EntityRecognizer(**how).fit(train[:WARM_UP]).predict(dev[:WARM_UP])
    seconds, fitted = timed(lambda: EntityRecognizer(**how).fit(train))
    learning = sum(record["seconds"] for record in fitted.history_)
    found = {"seconds": seconds, "learning": learning, "tokens": count(sentences_of(corpus.train))}
    speed = count(sentences_of(corpus.dev)) / timed(lambda: fitted.predict(dev))[0]
    return found | {"passes": len(fitted.history_), "f1": fitted.score(dev), "tokens_per_second": speed}


def nbest(data: str, tokens: int, candidates: int, repeat: int) -> dict[str, Any]:
    """Documents of development data one after the other, as far as the tokens go, are one document."""
    corpus = EntityCorpus.load(Path(data), ENTITIES)
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
    corpus = EntityCorpus.load(Path(data), ENTITIES)
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


# -- the tutorial of sklearn-crfsuite --------------------------------------------------------------------------------


def _word_attributes(row: Sequence[str], prefix: str = "") -> dict[str, Any]:
    word, pos = row[0], row[1]
    found = {"word.lower()": word.lower(), "word.istitle()": word.istitle(), "word.isupper()": word.isupper()}
    return {f"{prefix}{key}": value for key, value in (found | {"postag": pos, "postag[:2]": pos[:2]}).items()}


def tutorial_attributes(sentence: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """The attributes of the tutorial's `word2features`, token by token."""
    found = []
    for i, row in enumerate(sentence):
        word = row[0]
        own = {"bias": 1.0, "word[-3:]": word[-3:], "word[-2:]": word[-2:], "word.isdigit()": word.isdigit()}
        own |= _word_attributes(row)
        own |= _word_attributes(sentence[i - 1], "-1:") if i else {"BOS": True}
        own |= _word_attributes(sentence[i + 1], "+1:") if i + 1 < len(sentence) else {"EOS": True}
        found.append(own)
    return found


def _tutorial(data: str) -> dict[str, tuple[list, list]]:
    """Attributes and labels of the sentences to learn from, and of dev data."""
    corpus, found = EntityCorpus.load(Path(data), ENTITIES), {}
    for name, part in (("train", corpus.train), ("dev", corpus.dev)):
        sentences = [sentence for sentence in sentences_of(part) if sentence]
        labels = [[row[-1] for row in sentence] for sentence in sentences]
        found[name] = [tutorial_attributes(sentence) for sentence in sentences], labels
    return found


def _weighted_f1(gold: list, guess: list) -> float:
    from structron.sklearn import metrics

    labels = sorted({label for row in gold for label in row} - {"O"})
    return 100 * metrics.flat_f1_score(gold, guess, average="weighted", labels=labels)


def _measured(work: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
    begin = time.process_time()
    seconds, made = timed(work)
    return {"seconds": seconds, "processor": time.process_time() - begin}, made


def tutorial_crfsuite(data: str, iterations: int) -> dict[str, Any]:
    """What sklearn_crfsuite.CRF.fit does: append all sequences, train, open the model."""
    import pycrfsuite

    corpus = _tutorial(data)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")

        def work() -> Any:
            trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
            given = {"c1": 0.1, "c2": 0.1, "max_iterations": iterations, "feature.possible_transitions": True}
            trainer.set_params(given)
            for x, y in zip(*corpus["train"], strict=True):
                trainer.append(x, y)
            trainer.train(path)
            tagger = pycrfsuite.Tagger()
            tagger.open(path)
            return tagger

        found, tagger = _measured(work)
        x, y = corpus["dev"]
        return found | {"f1": _weighted_f1(y, [tagger.tag(sequence) for sequence in x])}


def tutorial_ours(data: str, iterations: int) -> dict[str, Any]:
    from structron.sklearn import CRF

    corpus = _tutorial(data)
    given = {"c1": 0.1, "c2": 0.1, "max_iterations": iterations, "all_possible_transitions": True}
    (x, y), (dev, gold) = corpus["train"], corpus["dev"]
    CRF("ap", **given | {"max_iterations": 1}).fit(x[:WARM_UP], y[:WARM_UP]).predict(dev[:1])
    found, crf = _measured(lambda: CRF("lbfgs", **given).fit(x, y))
    return found | {"f1": _weighted_f1(gold, crf.predict(dev))}


if __name__ == "__main__":
    known = (train_crf, train_margin, train_entities, nbest, non_local, tutorial_crfsuite, tutorial_ours)
    answer({function.__name__: function for function in known})
