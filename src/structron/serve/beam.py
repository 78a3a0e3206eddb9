"""The engine's own trace of a beam search, from sentences that users give: with their analysis, or without."""

import re
from typing import Any

from structron.cli.corpus import Corpus, View
from structron.cli.files import Source
from structron.errors import StructronError
from structron.io.doc import Doc
from structron.serve.analyse import analyse, check_text, columns_for
from structron.serve.library import Library, Shelved
from structron.tasks.pipeline.annotate import words_of
from structron.tasks.pipeline.parts import VOTES, Part, rows_of, tree_rows
from structron.text.sentences import Document

MAX_SHOWN_WORDS = 80
"""Words of a sentence whose search is shown: a page of more would help nobody."""
FEATURES = 200
"""Features of an update that are shown."""


def trace(library: Library, model: Shelved, part: str | None, sentence: str, beam: int) -> dict[str, Any]:
    """Every step of the search for a sentence. With gold: what each update rule would learn."""
    check_text(sentence)
    estimator = model.part(part)
    if len(model.parts) > 1:
        rows, gold = _part_rows(library, model, str(part), sentence)
    else:
        rows, gold = _own_rows(library, model, sentence)
    if len(rows) > MAX_SHOWN_WORDS:
        raise StructronError(f"{len(rows)} words; expected a sentence of at most {MAX_SHOWN_WORDS}")
    found = estimator.trace(rows, True if gold else None, beam=beam).to_json()
    for rule in found["rules"].values():
        for update in (rule, *rule.get("updates", [])):
            update["changed"] = len(update["features"])
            update["features"] = update["features"][:FEATURES]
    return found | {"model": model.name, "part": part, "annotated": gold}


def is_annotated(text: str) -> bool:
    """Whether a text is a sentence in columns, a token a line, not plain text."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return bool(lines) and (all("\t" in line for line in lines) or (len(lines) > 1 and len(_widths(lines)) == 1))


def _widths(lines: list[str]) -> set[int]:
    """How many columns lines have; plain text of several lines has many widths, or one column."""
    found = {len(line.split()) for line in lines}
    return found if found != {1} else {0, 1}


def format_of(text: str) -> str:
    """CoNLL-U has ten columns between tabs, the first a number."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return "conllu" if all(re.match(r"[\d.-]+\t", line) and line.count("\t") == 9 for line in lines) else "conll"


def items_of(model: Shelved, text: str, name: str, format: str, labelled: bool) -> list[Any]:
    """Annotated sentences in a model's columns, in documents where it labels those."""
    source = Source(name, format, model=model.estimator, text=text)
    corpus = Corpus(source, View.of(model.estimator), labelled=labelled)
    return list(corpus.labelled(quiet=True))


def _own_rows(library: Library, model: Shelved, text: str) -> tuple[list, bool]:
    """The rows of a sentence for a model of tokens, and whether they have the correct labels."""
    if not is_annotated(text):
        doc = analyse(library, model, " ".join(text.split())).doc
        if len(doc.sentences) != 1:
            raise StructronError(f"{len(doc.sentences)} sentences; expected one")
        return columns_for(model.estimator, doc.sentences[0]), False
    (item,) = _one(items_of(model, text, "sentence", format_of(text), True))
    return (item[0] if isinstance(item, Document) else item), True


def _part_rows(library: Library, model: Shelved, name: str, text: str) -> tuple[list, bool]:
    """The same for a part of a pipeline, which reads what the other parts make of a text."""
    part: Part = model.estimator.parts_[name]
    annotated = is_annotated(text)
    if annotated:
        if format_of(text) != "conllu":
            raise StructronError("expected a sentence in CoNLL-U (ten columns separated by tabs), or plain text")
        doc = Doc.from_conllu(text, "sentence")
        if doc.words and all(word.upos == "_" and word.xpos == "_" for word in doc.words):
            model.estimator.model_.tag(words_of(doc.sentences), 1)
    else:
        doc = analyse(library, model, " ".join(text.split())).doc
    (sentence,) = _one(doc.sentences)
    if name in VOTES:
        gold = annotated and all(word.head is not None for word in sentence.words)
        return (tree_rows(part, sentence) if gold else part.rows(sentence)), gold
    gold = annotated and all(any(getattr(word, own) != "_" for word in sentence.words) for own in part.writes)
    return (part.gold(sentence) if gold else rows_of(sentence.words, part.reads)), gold


def _one(found: list) -> list:
    if len(found) != 1:
        raise StructronError(f"{len(found)} sentences; expected one")
    return found
