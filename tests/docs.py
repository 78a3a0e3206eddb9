"""Random analysed texts, for the tests of what reads, writes, scores and draws them."""

import re
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from structron.io.doc import Doc

WORDS = re.compile("[^\\s\u200b\ufeff]+")
NASTY = "ab.'_#|\\=-1&<> \t\r\n\u00a0\u2028\u0085\x1c\u3000\u200b\ufeff"
TEXTS = st.text(max_size=40) | st.text(alphabet=NASTY, max_size=40)
FORMS = st.text(min_size=1, max_size=6).filter(WORDS.fullmatch)
VALUES = st.sampled_from(["_", "NOUN", "a b", "Case=Nom|Number=Sing", "#", "é"])
MISC = st.sampled_from(["_", "Gloss=x", "aA=1|Zz=2", "SpacesInToken=\\s", "NER=O", "SpaceAfter=Yes"])
BEGINNINGS = st.sampled_from([False, False, False, True, "p 1"])


@st.composite
def spans(draw: st.DrawFn, text: str) -> list[list[tuple[int, int]]]:
    """Sentences of tokens: runs of what is not white space, cut anywhere."""
    sentences: list[list[tuple[int, int]]] = [[]]
    for run in WORDS.finditer(text):
        cuts = sorted(draw(st.sets(st.integers(*run.span()), max_size=3)) | {*run.span()})
        for lo, hi in pairwise(cuts):
            if draw(st.integers(0, 3)) == 0:
                sentences.append([])
            sentences[-1].append((lo, hi))
    return [sentence for sentence in sentences if sentence]


@st.composite
def docs(draw: st.DrawFn, texts: st.SearchStrategy[str] = TEXTS) -> Doc:
    """Documents with every column, comment and mark that CoNLL-U can hold."""

    def words(form: str) -> list[str]:
        kind = draw(st.integers(0, 3))
        if kind == 0:
            return draw(st.lists(FORMS, min_size=2, max_size=3))
        cut = draw(st.integers(1, len(form)))
        return [form[:cut], form[cut:]] if kind == 1 and cut < len(form) else [form]

    text = draw(texts)
    doc = Doc.from_spans(text, draw(spans(text)), words)
    for sentence in doc:
        count = len(sentence.words)
        sentence.new_document, sentence.new_paragraph = draw(BEGINNINGS), draw(BEGINNINGS)
        sentence.comments = draw(st.lists(st.sampled_from(["# sent_id = 1", "# text_en = x", "#", "# newdocs\t"])))
        sentence.empty_nodes = [
            (k, f"{k}.1" + "\t_" * 9) for k in sorted(draw(st.sets(st.integers(0, count), max_size=2)))
        ]
        for token in sentence.tokens:
            if len(token.words) > 1:
                token.misc, token.feats = draw(MISC), draw(st.sampled_from(["_", "Typo=Yes"]))
        for word in sentence.words:
            for name in ("lemma", "upos", "xpos", "feats", "deprel", "deps"):
                setattr(word, name, draw(VALUES))
            word.misc = draw(MISC)
            word.head = draw(st.none() | st.integers(0, count))
        labels = st.sampled_from(["O", "B-PER", "I-PER", "B-A-b"])
        sentence.set_entities(draw(st.lists(labels, min_size=count, max_size=count)))
        for entity in sentence.entities:
            for word in sentence.words[entity.first : entity.last]:
                word.misc = word.misc if word.misc != "NER=O" else "_"
    return doc


def conllu(*sentences: str, **columns: Any) -> str:
    """CoNLL-U of sentences of tokens; ``don't:do+n't`` is a multiword token, ``a~`` has no space after it.

    `columns`: a text for each word, all words of all sentences in a row.
    """
    given = {name: iter(values.split()) for name, values in columns.items()}
    lines = []
    for sentence in sentences:
        number = 0
        for item in sentence.split():
            form, _, parts = item.rstrip("~").partition(":")
            words = parts.split("+") if parts else [form]
            misc = "SpaceAfter=No" if item.endswith("~") else "_"
            if parts:
                lines.append(f"{number + 1}-{number + len(words)}\t{form}" + "\t_" * 7 + f"\t{misc}")
                misc = "_"
            for word in words:
                number += 1
                row = [next(given[name]) if name in given else "_" for name in ("lemma", "upos", "xpos", "feats")]
                row += [next(given[name]) if name in given else "_" for name in ("head", "deprel")]
                lines.append("\t".join([str(number), word, *row, "_", misc]))
        lines.append("")
    return "\n".join([*lines, ""])
