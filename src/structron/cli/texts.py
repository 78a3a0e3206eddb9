"""Treebanks as commands read them, document by document, and entities that stand in another file beside them."""

from collections.abc import Sequence
from pathlib import Path

from structron.cli.files import tell_new
from structron.errors import StructronError
from structron.io import CONLLU_COLUMNS, read
from structron.io.columns import EMPTY
from structron.io.doc import Doc, read_docs
from structron.io.text import display_name, is_standard
from structron.runtime.progress import say
from structron.text.trees import check_tree

CHUNK = ("B-", "I-", "S-", "E-", "L-", "U-")
HEAD = CONLLU_COLUMNS.index("head")


def read_treebank(path: str | Path, encoding: str = "utf-8", format: str | None = None) -> list[Doc]:
    """The documents of a CoNLL-U file, whose trees are trees."""
    name = display_name(path)
    if format not in (None, "conllu"):
        raise StructronError(f"{name}: --format {format}; expected CoNLL-U, which has tokens and spaces")
    if not is_standard(path):
        _check_trees(path, encoding)
    return list(read_docs(path, encoding))


def _check_trees(path: str | Path, encoding: str) -> None:
    """Refuse the first sentence whose heads do not form a tree; one without heads may stand."""
    for sentence in read(path, "conllu", encoding):
        heads = [row[HEAD] for row in sentence.rows]
        if set(heads) == {EMPTY}:
            continue
        for token, head in enumerate(heads):
            if not head.isascii() or not head.isdigit() or len(head) > 9:
                where = f"{display_name(path)}:{sentence.line_number + sentence.token_lines[token]}"
                raise StructronError(
                    f"{where}: head {head!r} is not a number; expected 0 for the root, or the number of a word"
                )
        if problem := check_tree(list(map(int, heads)), False):
            where = f"{display_name(path)}:{sentence.line_number + sentence.token_lines[problem[0]]}"
            raise StructronError(f"{where}: word {problem[0] + 1} ({sentence.rows[problem[0]][1]}): {problem[1]}")


def add_entities(docs: Sequence[Doc], path: str | Path, encoding: str = "utf-8", quiet: bool = False) -> None:
    """Give documents the entities of a column file with the same sentences; a sentence that differs keeps none."""
    name = display_name(path)
    found: list[tuple[tuple[str, ...], list[str]]] = []
    columns: tuple[int, int] | None = None
    for sentence in read(path, "conll", encoding):
        if columns is None:
            columns = _columns(sentence.rows, docs, f"{name}:{sentence.line_number + sentence.token_lines[0]}")
        word, label = columns
        found.append((tuple(row[word] for row in sentence.rows), [row[label] for row in sentence.rows]))
    known = dict(found)
    missing = total = 0
    for doc in docs:
        for own in doc.sentences:
            labels = known.get(tuple(word.form for word in own.words))
            total += 1
            missing += labels is None
            if labels is not None:
                own.set_entities(labels)
    if missing == total:
        raise StructronError(f"{name}: none of its sentences is in the treebank; expected the same sentences")
    if missing and not quiet:
        say(f"{name}: {missing} of {total} sentences of the treebank are missing from it, and used without entities")


def tell_new_tags(name: str, training: Sequence[Doc], dev: Sequence[Doc]) -> None:
    """Say which tags and relations of dev data no pipeline can find."""
    for column in ("upos", "xpos", "deprel"):
        seen, new = ({getattr(word, column) for doc in docs for word in doc.words} for docs in (training, dev))
        if seen - {EMPTY, ""}:
            tell_new(name, column, {text for text in new - seen if text})


def _columns(rows: list[list[str]], docs: Sequence[Doc], where: str) -> tuple[int, int]:
    """Which column holds the words, and which the labels; a column of 1, 2, 3 … holds neither."""
    forms = {word.form for doc in docs for word in doc.words}
    numbers = [str(k) for k in range(1, len(rows) + 1)]
    columns = [k for k in range(len(rows[0])) if [row[k] for row in rows] != numbers]
    word = max(columns, key=lambda k: sum(row[k] in forms for row in rows), default=0)
    for k in columns:
        if k != word and all(row[k] == "O" or row[k][:2] in CHUNK for row in rows):
            return word, k
    raise StructronError(f"{where}: no column of entity labels; expected one with O, B-PER, I-PER …")
