"""Checks of annotated files: the rules of Universal Dependencies (levels 1 and 2 of its validator), and analyses that
cannot be. Unlike the readers of CoNLL-U, checks go on after what is wrong, and count.

    for problem in problems(read_lines("file.conllu"), Attested.of(...)):
        print(problem.line, problem.rule, problem.text)
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from structron.text.trees import check_tree


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


EMPTY, WIDTH = "_", 10
ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(WIDTH)
TAGS = _words("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X")
CLOSED = _words("ADP AUX CCONJ DET PART PRON SCONJ")
"""Tags of few words, to which hardly any are added."""
RELATIONS = _words(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse dislocated expl fixed "
    "flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis punct reparandum root vocative xcomp"
)
SUBJECTS = ("nsubj", "csubj")
RULES = {
    "columns": "ten columns separated by tabs, none of them empty",
    "ids": "words are numbered 1, 2, 3 …, with ranges and empty nodes in their places",
    "spaces": "no white space except inside forms, lemmas and MISC",
    "sent-id": "every sentence has one sent_id of its own",
    "text": "every sentence has one text, which matches its tokens and SpaceAfter=No",
    "multiword": "a multiword token has only a form, MISC and Typo=Yes",
    "upos": "UPOS is one of the 17 tags",
    "feats": "FEATS are Name=Value, sorted, each name once",
    "deprel": "relations are universal, with at most one subtype",
    "head": "heads are numbers of other words",
    "root": "one word is the root, and only it has the relation root",
    "cycle": "heads lead to the root",
    "deps": "DEPS are head:relation, sorted, each once",
    "no-lemma": "a word has a lemma if other words have one",
    "subjects": "a head has one subject, apart from :outer ones",
    "punct-root": "punctuation is the root only if there is nothing else",
    "upos-xpos": "UPOS and XPOS occur together in the other file",
    "upos-feats": "UPOS and FEATS occur together in the other file",
    "closed-class": "a word with a closed-class tag has this tag in the other file",
    "lemma": "a lemma occurs with its form and UPOS in the other file, if these do",
}
"""What each rule asks for. The last four need another file."""
AGAINST = ("upos-xpos", "upos-feats", "closed-class", "lemma")
_ID = re.compile(r"[0-9]{1,9}")
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_WHITE = re.compile(r"\s")  # any of them separates tokens, as in UD's own validator
_EMPTY_NODE = re.compile(r"([0-9]{1,9})\.([1-9][0-9]{0,8})")
_FEATURE = re.compile(r"([A-Z0-9][A-Za-z0-9]*(?:\[[a-z0-9]+\])?)=([A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*)")
_RELATION = re.compile(r"[a-z]+(:[a-z]+)?")
_ENHANCED = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?:([a-z]+(?::\S+)?)")
_COMMENT = re.compile(r"# ?(sent_id|text) ?= ?(.*)")


@dataclass(frozen=True, slots=True)
class Problem:
    """A breach of a rule: where, and what."""

    rule: str
    line: int
    text: str


@dataclass(slots=True)
class Attested:
    """What another file has: pairs of tags and features, words of closed classes, lemmas."""

    pairs: set[tuple[str, str]] = field(default_factory=set)
    features: set[tuple[str, str]] = field(default_factory=set)
    closed: set[tuple[str, str]] = field(default_factory=set)
    lemmas: defaultdict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, sentences: Iterable[Sequence[Sequence[str]]]) -> "Attested":
        """From sentences of rows with ten columns."""
        found = cls()
        for row in (row for sentence in sentences for row in sentence):
            found.pairs.add((row[UPOS], row[XPOS]))
            found.features.add((row[UPOS], row[FEATS]))
            found.closed.add((row[FORM].lower(), row[UPOS]))
            found.lemmas[row[FORM], row[UPOS]].add(row[LEMMA])
        return found

    def problems(self, row: Sequence[str], line: int) -> Iterator[Problem]:
        """What of a word the other file never has."""
        form, tag, xpos, feats, lemma = row[FORM], row[UPOS], row[XPOS], row[FEATS], row[LEMMA]
        if (tag, xpos) not in self.pairs:
            yield Problem("upos-xpos", line, f"{form}: {tag} with {xpos}")
        if (tag, feats) not in self.features:
            yield Problem("upos-feats", line, f"{form}: {tag} with {feats}")
        if tag in CLOSED and (form.lower(), tag) not in self.closed:
            yield Problem("closed-class", line, f"{form}: {tag}")
        if (known := self.lemmas.get((form, tag))) and lemma not in known:
            yield Problem("lemma", line, f"{form} ({tag}): {lemma}, there {', '.join(sorted(known)[:3])}")


@dataclass(slots=True)
class Report:
    """How often each rule is broken, and where first."""

    sentences: int = 0
    words: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, list[tuple[str, Problem]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, lines: Iterable[str], known: Attested | None = None, examples: int = 3) -> None:
        """Look at a file."""
        for sentence in _Sentences(lines):
            self.sentences += 1
            self.words += len(sentence.words)
            for problem in sentence.problems(known):
                self.counts[problem.rule] += 1
                if len(self.first[problem.rule]) < examples:
                    self.first[problem.rule].append((name, problem))


def problems(lines: Iterable[str], known: Attested | None = None) -> Iterator[Problem]:
    """All that is wrong with the lines of a CoNLL-U file, sentence by sentence."""
    for sentence in _Sentences(lines):
        yield from sentence.problems(known)


class _Sentences:
    """The sentences of a file, and what is common to them."""

    def __init__(self, lines: Iterable[str]):
        self.lines = lines
        self.ids: set[str] = set()
        self.lemmas = False  # whether any word has had one

    def __iter__(self) -> Iterator["_Sentence"]:
        own: list[tuple[int, str]] = []
        for number, line in enumerate(self.lines, 1):
            text = line.rstrip("\r\n")
            text = text.removeprefix("\ufeff") if number == 1 else text
            if text.strip():
                own.append((number, text))
            elif own:
                yield from self._made(own)
                own = []
        if own:
            yield from self._made(own)

    def _made(self, own: list[tuple[int, str]]) -> Iterator["_Sentence"]:
        if any(not text.startswith("#") for _, text in own):
            yield _Sentence(own, self)


class _Sentence:
    """The lines of a sentence: words, other tokens, comments."""

    def __init__(self, lines: list[tuple[int, str]], file: _Sentences):
        self.file, self.start = file, lines[0][0]
        self.comments: list[tuple[int, str]] = []
        self.rows: list[tuple[int, list[str]]] = []  # of ten columns, in the order of the file
        self.malformed: list[Problem] = []
        for number, text in lines:
            if text.startswith("#"):
                self.comments.append((number, text))
                continue
            row = text.split("\t")
            if len(row) != WIDTH or "" in row:
                what = "an empty column" if len(row) == WIDTH else f"{len(row)} columns"
                self.malformed.append(Problem("columns", number, what))
            if len(row) > 1:
                self.rows.append((number, [*row, *[EMPTY] * WIDTH][:WIDTH]))
        self.words = [(number, row) for number, row in self.rows if _ID.fullmatch(row[ID])]

    def problems(self, known: Attested | None) -> Iterator[Problem]:
        """All that is wrong with it."""
        yield from self.malformed
        yield from self._of_comments()
        yield from self._of_ids()
        for number, row in self.rows:
            yield from _of_row(number, row)
        for number, row in self.words:
            yield from _of_word(number, row)
            if row[LEMMA] not in (EMPTY, ""):
                self.file.lemmas = True
            elif self.file.lemmas and row[FORM] != EMPTY and row[DEPREL] != "goeswith":
                yield Problem("no-lemma", number, row[FORM])
            if known is not None:
                yield from known.problems(row, number)
        yield from self._of_tree()

    def _of_comments(self) -> Iterator[Problem]:
        found = defaultdict(list)
        for number, text in self.comments:
            if match := _COMMENT.fullmatch(text):
                found[match[1]].append((number, match[2]))
        for name, rule in (("sent_id", "sent-id"), ("text", "text")):
            if len(found[name]) != 1:
                yield Problem(rule, self.start, f"{len(found[name]) or 'no'} {name}")
        for number, own in found["sent_id"]:
            if own in self.file.ids:
                yield Problem("sent-id", number, f"{own}: not the first")
            self.file.ids.add(own)
        for number, text in found["text"][:1]:
            text, spelled = _WHITE.sub(" ", text), self._spelled()
            if spelled.rstrip() != text:
                k = next(
                    (k for k, (a, b) in enumerate(zip(spelled, text, strict=False)) if a != b), len(spelled.rstrip())
                )
                yield Problem(
                    "text", number, f"from character {k + 1}: {text[k : k + 20]!r}, tokens {spelled[k : k + 20]!r}"
                )

    def _spelled(self) -> str:
        """The text that tokens spell."""
        found, covered = [], 0
        for _, row in self.rows:
            if match := _RANGE.fullmatch(row[ID]):
                covered = int(match[2])
            elif not _ID.fullmatch(row[ID]) or int(row[ID]) <= covered:
                continue
            found.append(row[FORM] + ("" if "SpaceAfter=No" in row[MISC].split("|") else " "))
        return "".join(found)

    def _of_ids(self) -> Iterator[Problem]:
        done = covered = 0
        empty = (0, 0)
        for number, row in self.rows:
            own = row[ID]
            if _ID.fullmatch(own):
                if int(own) != done + 1:
                    yield Problem("ids", number, f"{own} after {done}")
                done = int(own)
            elif match := _RANGE.fullmatch(own):
                first, last = int(match[1]), int(match[2])
                if first != done + 1 or last <= first or first <= covered or last > len(self.words):
                    yield Problem("ids", number, f"{own} after {done}")
                covered = last
            elif match := _EMPTY_NODE.fullmatch(own):
                place = (int(match[1]), int(match[2]))
                if place[0] != done or place != (done, empty[1] + 1 if empty[0] == done else 1):
                    yield Problem("ids", number, f"{own} after {done}")
                empty = place
            else:
                yield Problem("ids", number, own)
        if not self.words:
            yield Problem("ids", self.start, "no words")

    def _of_tree(self) -> Iterator[Problem]:
        """What is wrong with heads and relations; a sentence without any is not parsed."""
        rows = [row for _, row in self.words]
        if not rows or all(row[HEAD] == EMPTY for row in rows):
            return
        heads = [int(row[HEAD]) if _ID.fullmatch(row[HEAD]) else -1 for row in rows]
        odd = False
        for (number, row), head, k in zip(self.words, heads, range(1, len(rows) + 1), strict=True):
            if not 0 <= head <= len(rows) or head == k:
                odd = True
                yield Problem("head", number, f"{row[FORM]}: {row[HEAD]}")
            if (head == 0) != (row[DEPREL].partition(":")[0] == "root"):
                yield Problem("root", number, f"{row[FORM]}: head {row[HEAD]} with {row[DEPREL]}")
        roots = [k for k, head in enumerate(heads) if head == 0]
        if len(roots) != 1:
            yield Problem("root", self.start, f"{len(roots)} roots")
        elif not odd and (found := check_tree(heads)) is not None:
            yield Problem("cycle", self.words[found[0]][0], f"{rows[found[0]][FORM]} {found[1].partition(';')[0]}")
        for k in roots:
            if rows[k][UPOS] == "PUNCT" and any(row[UPOS] != "PUNCT" for row in rows):
                yield Problem("punct-root", self.words[k][0], rows[k][FORM])
        yield from self._of_subjects(heads)

    def _of_subjects(self, heads: list[int]) -> Iterator[Problem]:
        """A second subject of a head. A predicate that is a clause has an outer one, too."""
        seen: set[int] = set()
        for (number, row), head in zip(self.words, heads, strict=True):
            relation, _, subtype = row[DEPREL].partition(":")
            if relation in SUBJECTS and subtype != "outer" and head > 0:
                if head in seen:
                    name = self.words[head - 1][1][FORM] if head <= len(heads) else str(head)
                    yield Problem("subjects", number, f"{row[FORM]}, second subject of {name}")
                seen.add(head)


def _of_row(number: int, row: list[str]) -> Iterator[Problem]:
    """What is wrong with any line of a sentence."""
    for k, text in enumerate(row):
        inside = k in (FORM, LEMMA, MISC)
        if text != text.strip() or (not inside and any(map(str.isspace, text))):
            yield Problem("spaces", number, repr(text))
    if _RANGE.fullmatch(row[ID]):
        rest = [row[k] for k in (LEMMA, UPOS, XPOS, HEAD, DEPREL, DEPS)]
        if set(rest) != {EMPTY} or row[FEATS] not in (EMPTY, "Typo=Yes"):
            yield Problem("multiword", number, row[FORM])


def _of_word(number: int, row: list[str]) -> Iterator[Problem]:
    """What is wrong with the columns of a word, each for itself."""
    form = row[FORM]
    if row[UPOS] not in TAGS:
        yield Problem("upos", number, f"{form}: {row[UPOS]}")
    if row[FEATS] != EMPTY:
        parts = row[FEATS].split("|")
        names = [part.partition("=")[0].lower() for part in parts]
        if not all(map(_FEATURE.fullmatch, parts)) or any(a >= b for a, b in pairwise(names)):
            yield Problem("feats", number, f"{form}: {row[FEATS]}")
    known = _RELATION.fullmatch(row[DEPREL]) and row[DEPREL].partition(":")[0] in RELATIONS
    if not known and (row[DEPREL], row[HEAD]) != (EMPTY, EMPTY):
        yield Problem("deprel", number, f"{form}: {row[DEPREL]}")
    if row[DEPS] != EMPTY:
        found = [_ENHANCED.fullmatch(part) for part in row[DEPS].split("|")]
        keys = [(int(own[1]), int(own[2] or 0), own[3]) for own in found if own]
        if len(keys) < len(found) or any(a >= b for a, b in pairwise(keys)):
            yield Problem("deps", number, f"{form}: {row[DEPS]}")
