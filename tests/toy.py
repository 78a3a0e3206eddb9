"""Toy English as rows that estimators read."""

import copy
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from structron import Document
from structron.data.toy_english import NO_SPACE_BEFORE, ToySentence, lemma_of, toy_english, universal
from structron.io.doc import Doc

Rows = list[list[tuple[str, ...]]]
FEW = 3
"""Sentences of a document with text."""
FEATS = {
    "NN": "Number=Sing",
    "NNS": "Number=Plur",
    "NNP": "Number=Sing",
    "VBD": "Mood=Ind|Tense=Past|VerbForm=Fin",
    "VBZ": "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin",
    "VBP": "Mood=Ind|Tense=Pres|VerbForm=Fin",
    "VB": "VerbForm=Inf",
    "VBG": "VerbForm=Ger",
    "VBN": "Tense=Past|VerbForm=Part",
}


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


@cache
def toy_docs(sentences: int, seed: int) -> list[Doc]:
    """Documents of a few sentences in paragraphs: tags, lemmas and features by rule, trees, entities, `didn't`."""
    found = toy_english(sentences, seed)
    ends = [k for k, s in enumerate(found) if k and (s.new_document or k % FEW == 0)]
    return [_doc(found[lo:hi], lo) for lo, hi in pairwise([0, *ends, len(found)])]


def fresh_docs(sentences: int, seed: int) -> list[Doc]:
    """The same, to be changed."""
    return copy.deepcopy(toy_docs(sentences, seed))


def _doc(sentences: Sequence[ToySentence], number: int) -> Doc:
    """One document; every third begins with a line that is a paragraph of its own."""
    text, spans = "", []
    for k, s in enumerate(sentences):
        text += ("\n\n" if k == 1 and number % 3 == 0 else " ") if k else ""
        own: list[tuple[int, int]] = []
        for word in s.words:
            if word == "n't":
                own[-1] = own[-1][0], len(text) + len(word)
            else:
                text += " " if own and word not in NO_SPACE_BEFORE else ""
                own.append((len(text), len(text) + len(word)))
            text += word
        spans.append(own)
    doc = Doc.from_spans(text, spans, lambda form: (form[:-3], "n't") if form.endswith("n't") else (form,))
    for k, (sentence, s) in enumerate(zip(doc.sentences, sentences, strict=True)):
        sentence.new_document, sentence.new_paragraph = k == 0, k == 1 and number % 3 == 0
        columns = zip(sentence.words, s.words, s.pos, s.heads, s.relations, strict=True)
        for word, form, tag, head, relation in columns:
            assert word.form == form
            word.upos, word.xpos, word.head, word.deprel = universal(tag, relation), tag, head, relation
            word.feats, word.lemma = FEATS.get(tag, "_"), lemma_of(form, tag)
        sentence.set_entities(s.entities)
    return doc
