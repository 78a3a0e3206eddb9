"""What an analysis of a text is made of: sentences of tokens, tokens of words, entities over words.

Offsets count code points of the document's text; "_" stands for a column that says nothing, as in CoNLL-U.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from structron.errors import StructronError, counted, quoted
from structron.text.schemes import spans

LINE_BREAK = re.compile(r"[ \t]*(?:\r\n|\n|\r)[ \t]*")
"""White space with one line break, which counts as a space inside a token."""


class InSentence:
    """The sentence that a word is in, once the word is taken from `Sentence.words`.

    No reference that counts: documents are freed at once where Python does not look for circles, as in streams.
    """

    __slots__ = ("_sentence",)
    _sentence: "Callable[[], Sentence | None]"

    def place_in(self, sentence: "Callable[[], Sentence | None]") -> None:
        """Remember the sentence, as a weak reference."""
        self._sentence = sentence

    def __getstate__(self) -> Any:
        """A copy does not know its sentence yet."""
        return None, {name: getattr(self, name) for name in type(self).__slots__}

    def _neighbours(self) -> "list[Word]":
        place = getattr(self, "_sentence", None)
        sentence = place and place()
        if sentence is None:
            what = "its sentence is not known" if place is None else "its sentence no longer exists"
            expected = "sentence.words or doc.words" if place is None else "a document that still exists"
            raise StructronError(f"{self!r}: {what}; expected a word of {expected}")
        return sentence.words


@dataclass(slots=True)
class Word(InSentence):
    """A syntactic word with its columns of CoNLL-U, and where it stands.

    Inside a multiword token a word has its own span where the words' forms spell the token, else the whole token's.

    Examples:
        >>> from structron import Doc
        >>> lines = ["1 She she PRON _ _ 2 nsubj _ _", "2 sleeps sleep VERB _ _ 0 root _ _", ""]
        >>> doc = Doc.from_conllu(line.replace(" ", "\\t") + "\\n" for line in lines)
        >>> word = doc.words[0]
        >>> word.lemma, word.upos, word.deprel, word.head_word.form
        ('she', 'PRON', 'nsubj', 'sleeps')
    """

    id: int  # from 1 in each sentence
    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: int | None = None  # the id of another word, 0: the root, None: not known
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"  # without white space (Token.spaces_after) and entities (Sentence.entities)
    start: int = 0
    end: int = 0

    @property
    def head_word(self) -> "Word | None":
        """The word that it depends on; None for a root, or if its head is not known."""
        return self._neighbours()[self.head - 1] if self.head else None

    @property
    def children(self) -> "list[Word]":
        """The words that depend on it, in their order."""
        return [word for word in self._neighbours() if word.head == self.id]


@dataclass(slots=True, repr=False)
class Node:
    """A word of a tree with what depends on it; printed, it is a drawing with a line for each word.

    Examples:
        >>> from structron import Doc
        >>> lines = ["1 She she PRON _ _ 2 nsubj _ _", "2 sleeps sleep VERB _ _ 0 root _ _", ""]
        >>> doc = Doc.from_conllu(line.replace(" ", "\\t") + "\\n" for line in lines)
        >>> print(doc.sentences[0].to_tree())
        sleeps VERB root
        └── She PRON nsubj
    """

    word: Word
    children: "list[Node]"

    def __str__(self) -> str:
        lines: list[str] = []
        waiting = [(self, "", "")]
        while waiting:
            node, before, below = waiting.pop()
            lines.append(f"{before}{node.word.form} {node.word.upos} {node.word.deprel}")
            for k, child in enumerate(reversed(node.children)):
                arm, stem = ("├── ", "│   ") if k else ("└── ", "    ")
                waiting.append((child, f"{below}{arm}", f"{below}{stem}"))
        return "\n".join(lines)


@dataclass(slots=True)
class Token:
    """A span of the text: one word, or several (a multiword token), and the exact white space after it.

    Examples:
        >>> from structron import Doc
        >>> doc = Doc.from_spans("I can't.", [[(0, 1), (2, 7), (7, 8)]], lambda form: form.split("'"))
        >>> [(token.form, token.is_multiword, len(token.words)) for token in doc.tokens]
        [('I', False, 1), ("can't", True, 2), ('.', False, 1)]
    """

    form: str
    start: int
    end: int
    words: list[Word]
    spaces_after: str = " "
    misc: str = "_"  # a multiword token's own, as its feats are; those of other tokens are their word's
    feats: str = "_"
    spelled: str = ""  # as it stands in the text, where that is not its form: a line break in it counts as a space

    @property
    def is_multiword(self) -> bool:
        """Whether CoNLL-U needs a range line for it: it is several words, or one that is spelled otherwise."""
        return len(self.words) != 1 or self.words[0].form != self.form or self.misc != "_" or self.feats != "_"

    @property
    def id(self) -> str:
        """The id of its line in CoNLL-U: "3", or "3-4"."""
        first, last = self.words[0].id, self.words[-1].id
        return f"{first}-{last}" if self.is_multiword else str(first)

    def place_words(self) -> None:
        """Give the words their spans of the text."""
        exact = not self.spelled and "".join([word.form for word in self.words]) == self.form
        place = self.start
        for word in self.words:
            word.start, word.end = (place, place + len(word.form)) if exact else (self.start, self.end)
            place += len(word.form)


@dataclass(slots=True)
class Entity:
    """A name: the words first … last - 1 of a sentence (counted from 0), and their span of the text.

    Examples:
        >>> from structron import Doc
        >>> doc = Doc.from_spans("Ann Lee left.", [[(0, 3), (4, 7), (8, 12), (12, 13)]])
        >>> doc.sentences[0].set_entities(["B-PER", "I-PER", "O", "O"])
        >>> [(entity.text, entity.label, entity.start, entity.end) for entity in doc.entities]
        [('Ann Lee', 'PER', 0, 7)]
    """

    label: str
    first: int
    last: int
    start: int
    end: int
    text: str


@dataclass(slots=True, repr=False, weakref_slot=True)
class Sentence:
    """A sentence; `comments` are the raw lines of CoNLL-U that nothing else here holds.

    `new_document` and `new_paragraph` say that one begins here, by its id where it has one. `empty_nodes` are raw
    lines, each after the number of words that stand before it.

    Examples:
        >>> from structron import Doc
        >>> lines = ["1 She she PRON _ _ 2 nsubj _ _", "2 sleeps sleep VERB _ _ 0 root _ _", ""]
        >>> doc = Doc.from_conllu(line.replace(" ", "\\t") + "\\n" for line in lines)
        >>> sentence = doc.sentences[0]
        >>> sentence.text, sentence.root.form, [word.form for word in sentence.root.children]
        ('She sleeps', 'sleeps', ['She'])
    """

    tokens: list[Token]
    comments: list[str] = field(default_factory=list)
    new_document: bool | str = False
    new_paragraph: bool | str = False
    entities: list[Entity] = field(default_factory=list)
    empty_nodes: list[tuple[int, str]] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Sentence({quoted(self.text)}, {counted(len(self.words), 'word')})"

    @property
    def words(self) -> list[Word]:
        """The words of all tokens; each knows its sentence from now on."""
        found = [word for token in self.tokens for word in token.words]
        place = ref(self)
        for word in found:
            word.place_in(place)
        return found

    @property
    def root(self) -> Word | None:
        """The first word that depends on none; None where no tree is known."""
        return next((word for word in self.words if word.head == 0), None)

    def to_tree(self) -> Node:
        """The tree below the root, to go through or to print."""
        words = self.words
        nodes = {word.id: Node(word, []) for word in words}
        root = None
        for word in words:
            if word.head:
                nodes[word.head].children.append(nodes[word.id])
            elif word.head == 0:
                root = root or nodes[word.id]
        if root is None:
            raise StructronError(f"{self!r}: no tree; expected a sentence that has been parsed")
        return root

    @property
    def start(self) -> int:
        """Where the first token starts."""
        return self.tokens[0].start if self.tokens else 0

    @property
    def end(self) -> int:
        """Where the last token ends."""
        return self.tokens[-1].end if self.tokens else 0

    @property
    def text(self) -> str:
        """The span of the document's text from the first token to the last."""
        pieces = [piece for token in self.tokens for piece in (token.spelled or token.form, token.spaces_after)]
        return "".join(pieces[:-1])

    @property
    def begins(self) -> bool:
        """Whether a document or a paragraph begins here."""
        return self.new_document is not False or self.new_paragraph is not False

    def set_entities(self, labels: Iterable[str]) -> None:
        """Take the entities from chunk labels, one per word, in any scheme."""
        self.entities, found = [], list(spans(labels))
        if not found:
            return
        words, text, start = self.words, self.text, self.start
        for label, first, last in found:
            lo, hi = words[first].start, words[last - 1].end
            self.entities.append(Entity(label, first, last, lo, hi, text[lo - start : hi - start]))


def make_sentence(
    text: str, tokens: Sequence[tuple[int, int]], end: int, words: Sequence[Sequence[str]] | None = None
) -> Sentence:
    """A sentence of these spans of a text, up to `end`, where the next one begins.

    words: the forms of each token's words; None: each is one word.
    """
    made: list[Token] = []
    number = 1
    following = [lo for lo, _ in tokens[1:]]
    following.append(end)
    for k, (lo, hi) in enumerate(tokens):
        form, spaces, spelled = text[lo:hi], text[hi : following[k]], ""
        if "\n" in form or "\r" in form:
            form, spelled = LINE_BREAK.sub(" ", form), form
        if words is None:
            made.append(Token(form, lo, hi, [Word(number, form, start=lo, end=hi)], spaces, spelled=spelled))
            number += 1
            continue
        token = Token(form, lo, hi, [Word(number + j, own) for j, own in enumerate(words[k])], spaces, spelled=spelled)
        token.place_words()
        number += len(token.words)
        made.append(token)
    return Sentence(made)
