"""Texts as models see them, and what they make of them: documents for the page, whatever the task.

A pipeline and a tokenizer read text. Other models read tokens with columns: between spaces, one sentence a line,
further columns after slashes ("The/DT dog/NN"). Where those are missing, a pipeline that was loaded too supplies them.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from structron.cli.inspect import parse_sentence
from structron.errors import StructronError
from structron.io.columns import EMPTY
from structron.io.doc import Doc
from structron.io.tokenized import TokenizedSentence, doc_of
from structron.serve.library import Library, Shelved
from structron.tasks.capabilities import able
from structron.tasks.pipeline.parts import rows_of
from structron.text.analysis import Sentence, Word
from structron.text.schemes import spans
from structron.text.scripts import lemma_in_words
from structron.text.sentences import Document

MAX_SENTENCE_WORDS = 10_000
"""Words of a sentence that a parser is given: time and memory of some grow with their square."""
EXPLAINED = 120
"""Words of a sentence that is explained."""
WORD_COLUMNS = {"upos": "upos", "xpos": "xpos", "pos": "xpos", "feats": "feats", "lemma": "lemma"}
"""Where a column goes in a word; labels of other names are shown as tags."""

Rows = list[list[str]]


class Analysis:
    """An analysed text: the document, chunks and margins beside it, and who supplied what the text lacked."""

    def __init__(self, doc: Doc, model: str):
        self.doc, self.model = doc, model
        self.chunks: list[list[tuple[str, int, int]]] = [[] for _ in doc.sentences]
        self.margins: list[list[float | None]] = [[] for _ in doc.sentences]
        self.supplied_by: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As `Doc.to_json`, with chunks and margins in the sentences."""
        found = self.doc.to_json()
        for sentence, chunks, margins in zip(found["sentences"], self.chunks, self.margins, strict=True):
            sentence["chunks"] = [{"label": label, "first": lo, "last": hi} for label, lo, hi in chunks]
            sentence["margins"] = margins
        return {"model": self.model, "supplied_by": self.supplied_by, **found, "conllu": self.doc.to_conllu()}


def check_text(text: str) -> None:
    """Refuse what no model can read."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise StructronError("text: an incomplete surrogate pair; expected valid Unicode") from None


def analyse(library: Library, model: Shelved, text: str, margins: bool = False) -> Analysis:
    """The analysis of a text by a model."""
    check_text(text)
    if model.estimator.texts:
        return _analyse_text(model, text, margins)
    return _analyse_rows(library, model, text, margins)


# -- models that read text -----------------------------------------------------------------------------------------


def annotate_docs(model: Shelved, docs: Sequence[Doc], known: str = "") -> None:
    """Let the parts of a pipeline fill documents; refuses sentences that have no end."""
    for doc in docs:
        for number, sentence in enumerate(doc.sentences, 1):
            if len(sentence.tokens) > MAX_SENTENCE_WORDS:
                long = f"{len(sentence.tokens)} tokens; expected at most {MAX_SENTENCE_WORDS}"
                raise StructronError(f"sentence {number}: {long}")
    model.estimator.model_.annotate(docs, 1, known, model.estimator.fast)


def tokenized(model: Shelved, texts: Sequence[str]) -> list[Doc]:
    """Texts in sentences and tokens."""
    tokenizer = model.parts.get("tokenizer")
    if tokenizer is None:
        raise StructronError(f"{model.name}: no tokenizer; expected CoNLL-U")
    return tokenizer.predict(list(texts), jobs=1, lines=model.estimator.lines)


def _analyse_text(model: Shelved, text: str, margins: bool) -> Analysis:
    (doc,) = tokenized(model, [text])
    if model.estimator.task == "pipeline":
        annotate_docs(model, [doc])
    found = Analysis(doc, model.name)
    tagger = model.parts.get("tagger")
    if margins and tagger is not None and able(type(tagger), "confidence"):
        reads = model.estimator.parts_["tagger"].reads
        rows = [rows_of(sentence.words, reads) for sentence in doc.sentences]
        with contextlib.suppress(StructronError):
            found.margins = _finite(tagger.predict_with_margins(rows, jobs=1)[1])
    return found


# -- models that read rows -----------------------------------------------------------------------------------------


def _analyse_rows(library: Library, model: Shelved, text: str, margins: bool) -> Analysis:
    estimator, supplied_by = model.estimator, None
    try:
        rows = [_parsed(line, estimator) for line in text.splitlines() if line.strip()]
    except StructronError:
        pipeline = library.pipeline
        if pipeline is None or "/" in text:
            raise
        doc = _analyse_text(pipeline, text, False).doc
        rows, supplied_by = [columns_for(estimator, sentence) for sentence in doc.sentences], pipeline.name
    if not rows:
        return Analysis(Doc(text, [], text), model.name)
    found = label_rows(model, rows, margins)
    found.supplied_by = supplied_by
    return found


def _parsed(line: str, estimator: Any) -> Rows:
    try:
        return parse_sentence(line, estimator)
    except StructronError as error:
        raise StructronError(str(error).removeprefix("--sentence: ")) from None


def columns_for(estimator: Any, sentence: Sentence) -> Rows:
    """The words of a sentence in a model's columns."""
    roles = estimator.roles_
    names = [("form" if name == roles.word else WORD_COLUMNS.get(name)) for name in roles.inputs]
    return [[EMPTY if name is None else getattr(word, name) for name in names] for word in sentence.words]


def label_rows(model: Shelved, rows: list[Rows], margins: bool) -> Analysis:
    """What a model makes of sentences in its columns."""
    estimator = model.estimator
    for number, own in enumerate(rows, 1):
        if len(own) > MAX_SENTENCE_WORDS:
            raise StructronError(f"sentence {number}: {len(own)} tokens; expected at most {MAX_SENTENCE_WORDS}")
    roles = estimator.roles_
    doc = doc_of(TokenizedSentence([row[roles.inputs.index(roles.word)] for row in own]) for own in rows)
    found = Analysis(doc, model.name)
    for sentence, own in zip(doc.sentences, rows, strict=True):
        for word, row in zip(sentence.words, own, strict=True):
            for name, value in zip(roles.inputs, row, strict=True):
                if name in WORD_COLUMNS:
                    setattr(word, WORD_COLUMNS[name], value)
    items: list[Any] = [Document(rows)] if estimator.documents else rows
    for k, columns in enumerate(_by_sentence(estimator, estimator.predict_columns(items, jobs=1))):
        found.chunks[k] = list(_write(estimator, doc.sentences[k], columns))
    if margins and able(type(estimator), "confidence"):
        with contextlib.suppress(StructronError):
            sure = estimator.predict_with_margins(items, jobs=1)[1]
            found.margins = _finite(sure[0] if estimator.documents else sure)
    return found


def _by_sentence(estimator: Any, found: list) -> Iterator[list]:
    for columns in found:
        yield from (zip(*columns, strict=True) if estimator.documents else [columns])


def _write(estimator: Any, sentence: Sentence, columns: Sequence) -> Iterator[tuple[str, int, int]]:
    """Put predictions into a sentence; yields its chunks."""
    roles, words = estimator.roles_, sentence.words
    for name, values in zip(roles.outputs, columns, strict=True):
        if roles.pos is not None:
            _attach(words, values, name == roles.outputs[0])
        elif estimator.task == "entities":
            sentence.set_entities(values)
        elif estimator.task in ("chunker", "segments") or (estimator.task == "joint" and name == roles.outputs[1]):
            for word, label in zip(words, values, strict=True):
                word.misc = f"Chunk={label}"
            yield from spans(values)
        else:
            place = WORD_COLUMNS.get(name, "lemma" if estimator.task == "lemmatizer" else "xpos")
            for word, label in zip(words, values, strict=True):
                setattr(word, place, label)


def _attach(words: list[Word], values: Sequence, heads: bool) -> None:
    for word, value in zip(words, values, strict=True):
        if heads:
            word.head = int(value)
        else:
            word.deprel = value or EMPTY


def _finite(margins: list[list[float]]) -> list[list[float | None]]:
    """JSON has no infinity: the margin over nothing is null."""
    return [[float(m) if math.isfinite(m) else None for m in own] for own in margins]


# -- why -----------------------------------------------------------------------------------------------------------


def explain(model: Shelved, part: str | None, words: list[dict[str, str]], top: int = 8) -> list[dict[str, Any]]:
    """For each decision on a sentence: the words it is about, what was chosen, the runner-up and the features.

    words: columns by the names of CoNLL-U, or of the model.
    """
    if len(words) > EXPLAINED:
        raise StructronError(f"{len(words)} words; expected a sentence of at most {EXPLAINED} to explain")
    estimator = model.part(part)
    if not able(type(estimator), "explain"):
        raise StructronError(f"{estimator.task}: its decisions cannot be explained")
    for word in words:
        for value in word.values():
            check_text(value)
    whole = model.estimator
    parses = whole.task == "pipeline" and estimator is model.parts.get("parser")
    how = whole.model_.narrowed(whole.fast) if parses else {}
    rows = _rows_to_explain(model, part, estimator, words)
    found = list(_placed(estimator, estimator.explain(rows, top=top, **how)))
    if estimator.task == "lemmatizer":
        place = estimator.roles_.inputs.index(estimator.roles_.word)
        for decision, row in zip(found, rows, strict=True):
            for name in ("chosen", "runner_up"):
                if decision[name] is not None:
                    decision[name] = lemma_in_words(decision[name], row[place])
    return found


def _rows_to_explain(model: Shelved, part: str | None, estimator: Any, words: list[dict[str, str]]) -> Rows:
    roles = estimator.roles_
    if model.estimator.task == "pipeline":
        names = list(model.estimator.parts_[part].reads)
    else:
        names = ["form" if name == roles.word else name for name in roles.inputs]
    rows = []
    for word in words:
        given = {WORD_COLUMNS.get(name, name): value for name, value in word.items()}
        rows.append([given.get(name, given.get(WORD_COLUMNS.get(name, name), EMPTY)) or EMPTY for name in names])
    if roles.pos is not None:
        rows = [[*row, "0", EMPTY][: len(row) + len(roles.outputs)] for row in rows]
    return rows


def _placed(estimator: Any, steps: list[Any]) -> Iterator[dict[str, Any]]:
    """Decisions in one form, each with the number of its word."""
    stack: list[int] = []
    following, backward = 0, getattr(estimator.options, "right_to_left", False)
    for k, step in enumerate(steps):
        found = asdict(step)
        word: int | None = k
        if "action" in found:
            chosen, word = found["action"], None
            if estimator.roles_.pos is None:
                word = following
                following += 1
            elif chosen.startswith("left"):
                word = stack.pop(-2)
            elif chosen.startswith("right"):
                word = stack.pop()
            else:
                stack.append(following)
                following += 1
            word = len(steps) // 2 - word if backward and word is not None else word
        elif "head" in found:
            chosen = f"{found['relation'] or 'head'}: {found['head']}"
        else:
            chosen = found["label"]
        margin = found["margin"]
        yield {
            "word": word,
            "chosen": chosen,
            "state": found.get("state", ""),
            "runner_up": found["runner_up"],
            "margin": margin if margin is not None and math.isfinite(margin) else None,
            "because": [
                {"feature": r["feature"], "weight": r["weight"], "word": r.get("token", word)} for r in found["because"]
            ],
        }
