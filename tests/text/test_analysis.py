"""Words and their neighbours, trees to print, and what objects show of themselves."""

import copy
import gc
import pickle

import pytest

from structron.errors import StructronError
from structron.io.doc import Doc, Sentence

TEXT = """\
# text = He saw it here.
1	He	he	PRON	_	_	2	nsubj	_	_
2	saw	see	VERB	_	_	0	root	_	_
3	it	it	PRON	_	_	2	obj	_	_
4	here	here	ADV	_	_	3	advmod	_	SpaceAfter=No
5	.	.	PUNCT	_	_	2	punct	_	_

# text = Yes
1	Yes	yes	INTJ	_	_	_	_	_	_

"""


@pytest.fixture
def doc() -> Doc:
    return Doc.from_conllu(TEXT)


def test_words_know_their_neighbours(doc):
    he, saw, it, here, dot, yes = doc.words
    assert [word.head_word for word in doc.words] == [saw, None, saw, it, saw, None]
    assert saw.children == [he, it, dot]
    assert (it.children, here.children, yes.children) == ([here], [], [])
    assert [sentence.root for sentence in doc] == [saw, None]
    copied = pickle.loads(pickle.dumps(copy.deepcopy(doc)))
    assert copied == doc
    assert copied.words[0].head_word is copied.words[1]


def test_a_word_that_does_not_know_its_sentence(doc):
    first = copy.copy(doc.words[0])
    with pytest.raises(
        StructronError, match=r"^Word\(id=1, form='He', .*: its sentence is not known; expected a word of "
    ):
        first.head_word  # noqa: B018
    with pytest.raises(
        StructronError, match=r"its sentence no longer exists; expected a word of a document that still exists"
    ):
        Doc.from_conllu(TEXT).words[0].head_word  # noqa: B018


def test_trees_are_printed(doc):
    tree = doc.sentences[0].to_tree()
    assert [node.word.form for node in tree.children] == ["He", "it", "."]
    assert str(tree).splitlines() == [
        "saw VERB root",
        "├── He PRON nsubj",
        "├── it PRON obj",
        "│   └── here ADV advmod",
        "└── . PUNCT punct",
    ]
    with pytest.raises(StructronError, match=r"^Sentence\('Yes', 1 word\): no tree"):
        doc.sentences[1].to_tree()


def test_a_tree_of_any_depth():
    rows = (f"{n}\tw\t_\tX\t_\t_\t{n - 1}\tdep\t_\t_\n" for n in range(1, 5001))
    assert len(str(Doc.from_conllu("".join([*rows, "\n"])).sentences[0].to_tree()).splitlines()) == 5000


def test_objects_show_themselves_in_a_line(doc):
    assert repr(doc) == "Doc('He saw it here. Yes ', 2 sentences, 6 words)"
    assert repr(doc.sentences[0]) == "Sentence('He saw it here.', 5 words)"
    assert len(repr(Doc.from_conllu(TEXT * 50))) < 120


def test_documents_have_no_circles():
    """Streams run without the collector of circles."""
    before = kept()
    gc.disable()
    try:
        doc = Doc.from_conllu(TEXT)
        doc.to_conllu(), doc.to_json(), doc.to_html(), repr(doc), doc.words[0].head_word
        assert kept() == before + 2
        del doc
        assert kept() == before
    finally:
        gc.enable()


def kept() -> int:
    """The sentences in memory."""
    return sum(type(found) is Sentence for found in gc.get_objects())
