"""The beams of one sentence, typed or taken from a labelled file."""

from typing import Any

from structron.cli.corpus import Corpus, View
from structron.cli.files import Source
from structron.cli.texts import read_treebank
from structron.errors import StructronError
from structron.io.columns import EMPTY
from structron.text.sentences import sentences_of


def width_of(text: str | None) -> Any:
    """The width of a beam as it is typed."""
    if text is None or text == "inf":
        return text
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise StructronError(f"--width: {text!r}; expected a whole number of at least 1, or inf")
    return int(text)


def trace_of(estimator: Any, part: str | None, width: Any, sentence: str | None, gold: str | None) -> Any:
    """The search for a sentence that is typed, or for that of a labelled file with these words, or for its first."""
    if estimator.task == "pipeline":
        given: Any = sentence if gold is None else gold_sentence(estimator, gold, sentence)
        return estimator.trace(given, True if gold else None, beam=width, part=part or "parser")
    if gold is not None:
        return estimator.trace(gold_sentence(estimator, gold, sentence), True, beam=width)
    return estimator.trace(parse_sentence(str(sentence), estimator), beam=width)


def gold_sentence(estimator: Any, file: str, text: str | None) -> Any:
    """The sentence of a labelled file whose words are those of a text, or its first."""
    wanted = None if text is None else text.split()
    if estimator.task == "pipeline":
        for doc in read_treebank(file):
            for own in doc.sentences:
                if wanted in (None, [word.form for word in own.words], own.text.split()):
                    return own
    else:
        source = Source(file, None, "utf-8", None, estimator)
        for item in Corpus(source, View.of(estimator), labelled=True).labelled(quiet=True):
            for rows in sentences_of([item]):
                place = estimator.roles_.names.index(estimator.roles_.word)
                if wanted in (None, [row[place] for row in rows]):
                    return rows
    raise StructronError(f"{file}: no sentence {text!r}; expected the words of one of its sentences")


def parse_sentence(text: str, estimator: Any) -> list[list[str]]:
    """Tokens between spaces; with further columns that the model reads, between slashes, counted from the right.

    `The/DT dog/NN` for word and pos; the word itself may have slashes: `1/2/CD`. A parser that reads more makes do with
    these two.
    """
    roles = estimator.roles_
    needed = [name for name in roles.inputs if name in estimator.needed_]
    orders = [needed] if roles.pos is None else [needed, [roles.word, roles.pos]]
    rows = []
    for token in text.split():
        for names in orders:
            fields = token.rsplit("/", len(names) - 1) if len(names) > 1 else [token]
            if len(fields) == len(names):
                break
        else:
            raise StructronError(f"--sentence: token {token!r}; expected {'/'.join(needed)}, which the model reads")
        given = dict(zip(names, fields, strict=True))
        rows.append([given.get(name, EMPTY) for name in roles.inputs])
    if not rows:
        raise StructronError("--sentence: no words; expected words separated by spaces")
    return rows
