"""What runs in processes of its own for the pipeline: see child.py."""

from typing import Any

import structron
from benchmarks.child import answer, timed
from benchmarks.peers import Udpipe
from structron.eval.conll18 import ud_scores
from structron.io.doc import Doc, read_docs


def _documents(path: str, sentences: int | None) -> list[Doc]:
    docs = list(read_docs(path))
    if sentences is None:
        return docs
    some = Doc("", docs[0].sentences[:sentences], docs[0].spaces_before)
    return [Doc.from_conllu(some.to_conllu())]


def train(train: str, dev: str, model: str, sentences: int | None, fast: bool) -> dict[str, Any]:
    """Our pipeline with its defaults or with --fast, on one core."""
    data = [_documents(path, sentences) for path in (train, dev)]
    seconds, nlp = timed(lambda: structron.Pipeline(fast=fast).fit(data[0], dev=data[1]))
    nlp.save(model)
    return {"seconds": seconds}


def train_udpipe(train: str, dev: str, model: str, sentences: int | None) -> dict[str, Any]:
    """UDPipe's tokenizer, tagger, lemmatizer and parser with their defaults."""
    return {"seconds": timed(lambda: Udpipe.train_all(train, dev, model, sentences))[0]}


def annotate(test: str, models: dict[str, str], repeat: int) -> dict[str, Any]:
    """Raw text to trees in CoNLL-U, sides in turn."""
    docs = list(read_docs(test))
    texts = [doc.text for doc in docs]
    loaded = {name: structron.load(path) for name, path in models.items() if name != "UDPipe"}
    work: dict[str, Any] = {}
    if "UDPipe" in models:
        peer = Udpipe(models["UDPipe"])
        work["UDPipe"] = lambda: peer.annotate(texts)
    for name, nlp in loaded.items():
        work[name] = lambda nlp=nlp: [doc.to_conllu() for doc in nlp.predict(texts)]
    try:
        import spacy
    except ImportError:
        pass
    else:
        blank = spacy.blank("xx")
        work["spaCy, blank"] = lambda: [blank.make_doc(text) for text in texts]
        work["structron, tokenizer"] = lambda: loaded["structron"].model_.trained["tokenizer"].predict(texts)
    seconds: dict[str, list[float]] = {name: [] for name in work}
    found: dict[str, Any] = {}
    for nlp in loaded.values():
        nlp.predict(texts[:1])
    for _ in range(repeat):
        for name, run in work.items():
            spent, found[name] = timed(run)
            seconds[name].append(spent)
    scores = {}
    for name in ("UDPipe", "structron", "structron --fast"):
        if name in found:
            scores[name] = _scores(docs, [Doc.from_conllu(text) for text in found[name]])
    return {"words": sum(len(doc.words) for doc in docs), "seconds": seconds, "scores": scores}


def _scores(gold: list[Doc], guess: list[Doc]) -> dict[str, float]:
    found = ud_scores([s for doc in gold for s in doc.sentences], [s for doc in guess for s in doc.sentences])
    return {name: value for name, value in found.as_dict().items() if isinstance(value, float)}


if __name__ == "__main__":
    answer({"train": train, "train_udpipe": train_udpipe, "annotate": annotate})
