"""Toy English as rows that estimators read."""

from functools import cache

from structron import Document
from structron.data.toy_english import toy_english

Rows = list[list[tuple[str, ...]]]


@cache
def chunk_rows(sentences: int, seed: int) -> Rows:
    """Word, tag and chunk label."""
    return [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in toy_english(sentences, seed)]


@cache
def tree_rows(sentences: int, seed: int) -> Rows:
    """Word, tag, head and relation."""
    return [
        list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in toy_english(sentences, seed)
    ]


@cache
def entity_documents(sentences: int, seed: int) -> list[Document]:
    """Word, tag and entity label, in documents."""
    found: list[Document] = []
    for s in toy_english(sentences, seed):
        if s.new_document:
            found.append(Document())
        found[-1].append(list(zip(s.words, s.pos, s.entities, strict=True)))
    return found
