"""Analysed sentences from CoNLL-U and back, with the text they stand in.

White space is kept as UDPipe keeps it: ``SpaceAfter=No``, ``SpacesAfter=\\s\\n``, ``SpacesBefore=`` and, for a token
that the text breaks across lines, ``SpacesInToken=`` in MISC, with the escapes ``\\s \\t \\r \\n \\p \\\\ \\u00A0``; so
a text comes back to the character. Where a file says nothing there is one space after a token, and a blank line before
a paragraph or document. Entities are ``NER=B-PER`` in the MISC of their words, with the same escapes.
"""

import re
from collections.abc import Iterable

from structron.errors import StructronError
from structron.io import conll
from structron.io.conll import BOM, is_blank
from structron.text import schemes
from structron.text.analysis import LINE_BREAK, Sentence, Token, Word

PARAGRAPH = "\n\n"
"""What stands before a paragraph or document where a file does not say it."""

_ESCAPES = {" ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p", "\\": r"\\"}
_ESCAPED = str.maketrans(_ESCAPES)
_MEANT = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(?:[strnp\\]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})")
_OTHER = re.compile(r"[\v\f\x1c-\x1f\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]")
_NOT_IN_A_LINE = re.compile(r"\s*[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_NO_WIDTH = re.compile(r"[\u200b\ufeff]")
_BEGINNING = re.compile(r"# *new(doc|par)(?: +id *= *(.*?))? *")
_TEXT = re.compile(r"# *text *=")
_SPACES_BEFORE = re.compile(r"# *SpacesBefore *= ?(.*)")
_NO_SPACE, _AFTER, _BEFORE, _NER = "SpaceAfter=No", "SpacesAfter=", "SpacesBefore=", "NER="
_WITHIN = "SpacesInToken="
_CHUNK_LABEL = re.compile("[BIESLU](?:-.*)?|O")


def spaces_comment(spaces: str) -> str:
    """A text of white space alone, in CoNLL-U."""
    return f"# SpacesBefore = {_escape(spaces)}\n\n" if spaces else ""


def read_spaces_comment(lines: Iterable[str]) -> str | None:
    """The white space that comments say stands before what follows; None when there is no such comment."""
    found = [match[1] for line in lines if (match := _SPACES_BEFORE.match(line.removeprefix(BOM).rstrip("\r\n")))]
    return _unescape("".join(found)) if found else None


def _escape(spaces: str) -> str:
    """White space that can be seen: that of ASCII by its letters, other by its code point, as \\u00A0."""
    return _OTHER.sub(lambda match: f"\\u{ord(match[0]):04X}", spaces.translate(_ESCAPED))


def _unescape(value: str) -> str:
    return _ESCAPE.sub(_meant, value) if "\\" in value else value


def _meant(match: re.Match) -> str:
    return _MEANT.get(match[0]) or chr(int(match[0][2:], 16))


# -- reading -------------------------------------------------------------------------------------------------------


class TextBuilder:
    """Sentences of a file put together to a text; `finish` gives it, `spaces_before` and `sentences` are its parts."""

    def __init__(self, name: str):
        self.name = name
        self.sentences: list[Sentence] = []
        self.spaces_before = ""
        self._pieces: list[str] = []
        self._length = 0
        self._last: Token | None = None
        self._open = False  # whether the white space after the last token waits for what comes next
        self._said: str | None = None  # what the file says it is
        self._glued = False  # whether the file says SpaceAfter=No

    def add(self, block: conll.ColumnSentence) -> None:
        """Take one more sentence."""
        sentence = Sentence([])
        rows = self._split(sentence, block)
        self._fit_columns(sentence.begins)
        self._put_before(read_spaces_comment(block.lines[: rows[0][0]]) or "")
        count, open_words = 0, 0
        for index, columns in rows:
            identifier, form, lemma, upos, xpos, feats, head, deprel, deps, misc = columns
            if "." in identifier:
                sentence.empty_nodes.append((count, "\t".join(columns)))
            elif "-" in identifier:
                open_words = _range_length(identifier, count, open_words, len(block.rows), self._place(block, index))
                sentence.tokens.append(self._token(form, misc))
                sentence.tokens[-1].feats = feats
            else:
                count += 1
                number = self._head(head, block, index)
                word = Word(count, form, lemma, upos, xpos, feats, number, deprel, deps, misc)
                if open_words:
                    open_words -= 1
                else:
                    token = self._token(form, misc)
                    word.misc, token.misc = token.misc, "_"
                    sentence.tokens.append(token)
                sentence.tokens[-1].words.append(word)
        for token in sentence.tokens:
            token.place_words()
        _take_entities(sentence)
        self.sentences.append(sentence)

    def finish(self) -> str:
        """The text."""
        self._fit_columns(False)
        return "".join(self._pieces)

    def _split(self, sentence: Sentence, block: conll.ColumnSentence) -> list[tuple[int, list[str]]]:
        """Give a sentence its comments; return the other lines in columns, each with its index."""
        rows: list[tuple[int, list[str]]] = []
        for index, line in enumerate(block.lines):
            text = line.rstrip("\r\n")
            if index == 0 and block.line_number == 1:
                text = text.removeprefix(BOM)
            if text[:1] == "#":
                self._comment(sentence, text, bool(rows))
            elif not is_blank(text):
                rows.append((index, text.split("\t")))
        return rows

    def _comment(self, sentence: Sentence, text: str, late: bool) -> None:
        """Read or keep a comment; a late one, after tokens, cannot say what begins."""
        beginning = _BEGINNING.fullmatch(text)
        if beginning and not late:
            if beginning[1] == "doc":
                sentence.new_document = beginning[2] or True
            else:
                sentence.new_paragraph = beginning[2] or True
        elif not beginning and not _TEXT.match(text) and not _SPACES_BEFORE.match(text):
            sentence.comments.append(text)

    def _fit_columns(self, begins: bool) -> None:
        """Write the white space after the last token, now that it is known what comes next."""
        token, said = self._last, self._said
        if token is None or not self._open:
            return
        if said is None:
            said = PARAGRAPH if begins else "" if self._glued else " "
            if begins and self._glued:
                owner = token if token.is_multiword else token.words[0]
                owner.misc = _join_misc(_attributes(owner.misc), _NO_SPACE)
        token.spaces_after = said
        self._write(said)
        self._open = False

    def _put_before(self, spaces: str) -> None:
        """White space before the next token belongs to the last one, or to the start of the text."""
        if self._last is None:
            self.spaces_before += spaces
        else:
            self._last.spaces_after += spaces
        self._write(spaces)

    def _write(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)

    def _token(self, form: str, misc: str) -> Token:
        """The token of a line, its white space read from MISC and the rest of MISC left."""
        self._fit_columns(False)
        said, glued, spelled = None, False, ""
        if misc != "_" and "Space" in misc:
            rest = []
            for attribute in misc.split("|"):
                if attribute == _NO_SPACE:
                    glued = True
                elif attribute.startswith(_AFTER):
                    said = _unescape(attribute.removeprefix(_AFTER))
                elif attribute.startswith(_BEFORE):
                    self._put_before(_unescape(attribute.removeprefix(_BEFORE)))
                elif attribute.startswith(_WITHIN) and not spelled and _is_spelled(form, attribute):
                    spelled = _unescape(attribute.removeprefix(_WITHIN))
                else:
                    rest.append(attribute)
            misc = "|".join(rest) or "_"
        start = self._length
        token = Token(form, start, start + len(spelled or form), [], " ", misc, spelled=spelled)
        self._write(spelled or form)
        self._last, self._open, self._said, self._glued = token, True, said, glued
        return token

    def _head(self, value: str, block: conll.ColumnSentence, index: int) -> int | None:
        if value == "_":
            return None
        if not (value.isascii() and value.isdigit() and len(value) < 10):
            raise StructronError(f"{self._place(block, index)}: head {value!r}; expected a word id, 0 or _")
        return int(value)

    def _place(self, block: conll.ColumnSentence, index: int) -> str:
        return f"{self.name}:{block.line_number + index}"


def _is_spelled(form: str, attribute: str) -> bool:
    """Whether MISC says how the text breaks a token across lines, as it would be written here."""
    value = _unescape(attribute.removeprefix(_WITHIN))
    return value != form and LINE_BREAK.sub(" ", value) == form and _WITHIN + _escape(value) == attribute


def _range_length(identifier: str, before: int, still_open: int, words: int, place: str) -> int:
    """How many words a range line stands for."""
    first, last = map(int, identifier.split("-"))
    if first != before + 1 or still_open:
        expected = f"one from {before + still_open + 1} on"
        raise StructronError(f"{place}: range {identifier} before word {before + 1}; expected {expected}")
    if last > words:
        raise StructronError(
            f"{place}: range {identifier} in a sentence of {words} words; expected it to end within the sentence"
        )
    return last - first + 1


def _take_entities(sentence: Sentence) -> None:
    """Read entities from MISC, and take them out of it; what is no chunk label stays there."""
    words = sentence.words
    if not any(_NER in word.misc for word in words):
        return
    labels = ["O"] * len(words)
    for k, word in enumerate(words):
        for attribute in _attributes(word.misc):
            if attribute.startswith(_NER):
                labels[k] = _unescape(attribute.removeprefix(_NER))
    if not all(map(_CHUNK_LABEL.fullmatch, labels)):
        return
    for word, label in zip(words, labels, strict=True):
        if label != "O":
            word.misc = _join_misc(_without(word.misc, _NER))
    sentence.set_entities(labels)


def _attributes(misc: str) -> list[str]:
    return [] if misc == "_" else misc.split("|")


def _without(misc: str, *beginnings: str) -> list[str]:
    return [attribute for attribute in _attributes(misc) if not attribute.startswith(beginnings)]


def _join_misc(attributes: list[str], *new: str) -> str:
    """MISC with more attributes, each where the alphabet wants it."""
    for attribute in new:
        later = (k for k, other in enumerate(attributes) if other.lower() > attribute.lower())
        attributes.insert(next(later, len(attributes)), attribute)
    return "|".join(attributes) or "_"


# -- writing -------------------------------------------------------------------------------------------------------


def _in_a_line(sentence: Sentence) -> str:
    """The text of a sentence, with white space that everybody takes for that: MISC has it as it is."""
    spaces = [_NO_WIDTH.sub(" ", token.spaces_after) for token in sentence.tokens[:-1]]
    pieces = [token.form + space for token, space in zip(sentence.tokens, [*spaces, ""], strict=True)]
    return _NOT_IN_A_LINE.sub(" ", "".join(pieces))


def write_sentence(sentence: Sentence, spaces_before: str, ends: bool, number: int) -> str:
    """A sentence in CoNLL-U; `ends`: a paragraph or document begins after it, `number`: what an error calls it."""
    comments = [
        *_beginning("newdoc", sentence.new_document),
        *_beginning("newpar", sentence.new_paragraph),
        *sentence.comments,
        f"# text = {_in_a_line(sentence)}",
    ]
    labels = _entity_labels(sentence)
    nodes = sentence.empty_nodes
    lines = [line for after, line in nodes if after <= 0]
    place = 0
    for token in sentence.tokens:
        last = ends and token is sentence.tokens[-1]
        space = _space_attribute(token.spaces_after, last)
        many = token.is_multiword
        if many:
            misc = _spaced(token.misc, space, spaces_before, last, token.spelled)
            lines.append(f"{token.id}\t{token.form}\t_\t_\t_\t{token.feats}\t_\t_\t_\t{misc}")
        for w in token.words:
            misc = w.misc if many else _spaced(w.misc, space, spaces_before, last, token.spelled)
            if labels and labels[place] != "O":
                misc = _join_misc(_without(misc, _NER), _NER + _escape(labels[place]))
            head = "_" if w.head is None else w.head
            lines.append(
                f"{w.id}\t{w.form}\t{w.lemma}\t{w.upos}\t{w.xpos}\t{w.feats}\t{head}\t{w.deprel}\t{w.deps}\t{misc}"
            )
            place += 1
            if nodes:
                lines += [line for after, line in nodes if after == place]
        spaces_before = ""
    rows = "\n".join(lines)
    if rows.count("\t") != 9 * len(lines) or "\n".join([*comments, rows]).count("\n") != len(comments + lines) - 1:
        raise StructronError(f"sentence {number}: a tab or line end in a column or comment; expected neither")
    return "\n".join([*comments, rows, "", ""])


def _space_attribute(spaces: str, last: bool) -> str:
    """What MISC says of the white space after a token, perhaps the last of a paragraph; nothing where it is usual."""
    if spaces == (PARAGRAPH if last else " "):
        return ""
    return _AFTER + _escape(spaces) if spaces or last else _NO_SPACE


def _beginning(what: str, identifier: bool | str) -> list[str]:
    if identifier is False:
        return []
    return [f"# {what}" if identifier is True else f"# {what} id = {identifier}"]


def _entity_labels(sentence: Sentence) -> list[str]:
    """A chunk label per word; nothing where there are no entities."""
    if not sentence.entities:
        return []
    chunks = [(entity.label, entity.first, entity.last) for entity in sentence.entities]
    return schemes.encode(chunks, len(sentence.words), "iob2")


def _spaced(misc: str, space: str, before: str, last: bool, spelled: str) -> str:
    """MISC with a token's white space.

    At the end of a paragraph with the usual white space a SpaceAfter=No of the file may stay: nobody believes it.
    """
    if misc == "_" and not before and not spelled:
        return space or "_"
    others = _without(misc, _AFTER, _BEFORE, *([] if last and not space else [_NO_SPACE]))
    within = [_WITHIN + _escape(spelled)] * bool(spelled)
    return _join_misc(others, *[space] * bool(space), *[_BEFORE + _escape(before)] * bool(before), *within)
