"""Toy English: an annotated corpus without end, for demonstrations and tests, from a hand-written grammar.

Every sentence carries parts of speech, chunks, entities and a dependency tree. The text is made to be hard
where real text is: words with several tags, `that`, `her` and `to`, particles against prepositions,
attachment that only the words can settle, a long tail of unseen words whose endings tell what they are, and
names like `Lincoln` whose kind is plain in some mentions of a document only. A few decisions are left to
chance: no model can be perfect.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path

from structron.data import lexicon
from structron.data.clauses import Clauses
from structron.data.grammar import AGENT_FRAMES, KINDS, MODALS, PERSON_FRAMES, PLURAL, SINGULAR, CastMember
from structron.data.lexicon import Dice
from structron.errors import StructronError, unknown

COLUMNS = {"word": "words", "pos": "pos", "chunk": "chunks", "entity": "entities", "head": "heads"}
NAMES = {"PER": lexicon.SURNAMES, "LOC": lexicon.LOCATIONS, "ORG": lexicon.ORGANISATIONS}
CONJUNCTIONS = ("after", "because", "before", "since", "as", "if", "until", "while", "although")
KINDS_OF_SENTENCE = lexicon.shares("statement:74 quotation:7 score:7 question:6 command:3 existence:3")
SLIPS = {"VBN": "JJ", "VBD": "VBN", "JJ": "NN", "RP": "IN", "VBG": "NN", "NN": "JJ", "NNP": "NN"}
NO_SPACE_BEFORE = frozenset((",", ".", "?", "'s", "n't"))
_UNIVERSAL = """ADJ:JJ ADP:IN ADP:RP ADV:RB ADV:WRB AUX:MD CCONJ:CC DET:DT NOUN:NN NOUN:NNS NUM:CD PART:TO
    PART:POS PRON:PRP PRON:PRP$ PRON:WP PRON:WDT PRON:EX PROPN:NNP PUNCT:, PUNCT:. VERB:VB VERB:VBD VERB:VBG
    VERB:VBN VERB:VBP VERB:VBZ"""
UNIVERSAL = {penn: universal for universal, penn in (pair.split(":") for pair in _UNIVERSAL.split())}


@dataclass(frozen=True, slots=True)
class ToySentence:
    """One sentence and its analyses, a list per layer; heads count from 1, and 0 is the root."""

    words: list[str]
    pos: list[str]
    chunks: list[str]
    entities: list[str]
    heads: list[int]
    relations: list[str]
    new_document: bool


class Sentences(Clauses):
    """The kinds of sentence."""

    def sentence(self) -> None:
        """Write one sentence of any kind, down to its full stop."""
        dice = self.dice
        self.start()
        kind = dice.pick(KINDS_OF_SENTENCE)
        root: int = getattr(self, kind)()
        if self.words[-1] == ",":
            self.drop_last()
        self.attach(self.single("", "?" if kind == "question" else ".", "."), root, "punct")
        self.words[0] = self.words[0][0].upper() + self.words[0][1:]
        if dice.chance(0.1):
            slip = int(dice.roll() * len(self.pos))
            self.pos[slip] = SLIPS.get(self.pos[slip], self.pos[slip])

    def drop_last(self) -> None:
        """Take the last token back."""
        for layer in (self.words, self.pos, self.chunks, self.entities, self.heads, self.relations):
            layer.pop()

    def comma(self) -> int:
        """A comma, unless an apposition has just ended in one: then 0."""
        return 0 if self.words[-1] == "," else self.single("", ",", ",")

    def statement(self) -> int:
        """A main clause, perhaps with something before it and another clause after it."""
        dice = self.dice
        opening = self.opening() if dice.chance(0.2) else []
        root = self.attach_all(opening, self.clause(2))
        roll = dice.roll()
        if roll < 0.1:
            comma = self.comma()
            conjunction = self.single("", dice.pick(("but", "and", "but")), "CC")
            second = self.attach(conjunction, self.clause(0), "cc")
            self.attach(self.attach(comma, second, "punct"), root, "conj")
        elif roll < 0.2:
            self.attach(self.subordinate(), root, "advcl")
        return root

    def opening(self) -> list[tuple[int, str]]:
        """What may precede a main clause, with its comma, to be attached to the clause's head."""
        dice = self.dice
        roll = dice.roll()
        if roll < 0.35:
            first = self.subordinate(), "advcl"
        elif roll < 0.5:
            first = self.predicate(dice.pick(AGENT_FRAMES), SINGULAR, "gerund", 0), "advcl"
        elif roll < 0.65:
            first = self.single("ADVP", dice.often(lexicon.SENTENCE_ADVERBS), "RB"), "advmod"
        else:
            case = self.single("PP", dice.pick(("in", "in", "after", "at")), "IN")
            noun = self.name("LOC", plain=True) if self.words[0] == "in" else self.core("event", False)
            first = self.attach(case, noun, "case"), "obl"
        return [first, (self.comma(), "punct")]

    def subordinate(self) -> int:
        """An adverbial clause; most of the words that open it are prepositions elsewhere."""
        if self.dice.chance(0.25):
            mark, relation = self.single("ADVP", "when", "WRB"), "advmod"
        else:
            mark, relation = self.single("SBAR", self.dice.often(CONJUNCTIONS), "IN"), "mark"
        return self.attach(mark, self.clause(0), relation)

    def quotation(self) -> int:
        """`The plan failed, said the minister`."""
        content = self.clause(1)
        comma = self.comma()
        speaker = self.subject(0)[0]
        verb = self.dice.often(lexicon.VERBS["speech"][:6])
        root = self.attach(speaker, self.single("VP", verb.past, "VBD"), "nsubj")
        self.attach(comma, root, "punct")
        return self.attach(content, root, "ccomp")

    def question(self) -> int:
        """`Who saw it` or `did the team win`."""
        dice = self.dice
        if dice.chance(0.3):
            who = self.single("NP", "who", "WP")
            return self.attach_subject(who, self.predicate(dice.pick(AGENT_FRAMES), SINGULAR, "finite", 0))
        modal = dice.chance(0.5)
        auxiliary = self.single("VP", dice.often(MODALS) if modal else "did", "MD" if modal else "VBD")
        subject, _, frames = self.subject(0)
        self.begin("VP")
        root = self.predicate(dice.pick(frames) if modal else "transitive", SINGULAR, "base", 0)
        self.attach(auxiliary, root, "aux")
        return self.attach_subject(subject, root)

    def command(self) -> int:
        """`Call the guard` or `do n't wait`."""
        self.begin("VP")
        negated = self.dice.chance(0.4)
        left = [(self.add("do", "VB"), "aux"), (self.add("n't", "RB"), "advmod")] if negated else []
        return self.attach_all(left, self.predicate(self.dice.pick(PERSON_FRAMES), SINGULAR, "base", 1))

    def existence(self) -> int:
        """`There was a fight in the city`."""
        number = PLURAL if self.dice.chance(0.4) else SINGULAR
        there = self.single("NP", "there", "EX")
        *left, (root, _) = self.be_group(number, "finite")
        self.attach_all(left, root)
        self.attach(there, root, "expl")
        what = self.common(self.dice.pick(("event", "person", "thing")), number == PLURAL, 1)[0]
        self.attach(what, root, "nsubj")
        return self.prepositional("in", root, "obl", "place", 0)

    def score(self) -> int:
        """A line of sports news: nothing in it tells a player from a club or a country."""
        dice = self.dice
        kind = dice.pick(KINDS)
        winner = self.name(kind)
        root = self.attach(winner, self.single("VP", dice.pick(("beat", "led", "defeated")), "VBD"), "nsubj")
        self.attach(self.name(dice.pick([other for other in KINDS if other != kind])), root, "obj")
        result = self.single("NP", f"{int(dice.roll() * 7)}-{int(dice.roll() * 7)}", "CD")
        self.attach(result, root, "obl")
        if dice.chance(0.5):
            self.adjunct(root)
        return root


def _entity(dice: Dice, kind: str, used: set[str]) -> CastMember:
    """A new member of a cast; no word of a name may stand for two of them."""
    while True:
        roll = dice.roll()
        if roll < 0.45:
            short = dice.pick([name for name, kinds in lexicon.AMBIGUOUS_NAMES.items() if kind in kinds])
        else:
            short = dice.pick(NAMES[kind]) if roll < 0.75 else lexicon.coin_name(dice, kind)
        gender = "m" if dice.chance(0.5) else "f"
        long: tuple[str, ...]
        if kind == "PER":
            long = dice.pick(lexicon.FIRST_NAMES[gender]), short
        elif kind == "ORG":
            long = short, dice.pick(lexicon.FIRM_ENDINGS)
        else:
            long = (short,) if short in NAMES["LOC"] else (short, dice.pick(("City", "County", "Valley")))
        if used.isdisjoint(long):
            used.update(long)
            return CastMember(kind, long, short, gender)


def _documents(seed: int) -> Iterator[ToySentence]:
    """Sentences without end, in documents of 5 to 12 that share their cast and their favourite nouns."""
    dice = Dice(seed)
    grammar = Sentences(dice)
    while True:
        used: set[str] = set()
        sizes = {kind: 2 if dice.chance(0.5) else 1 for kind in KINDS}
        grammar.cast = {kind: [_entity(dice, kind, used) for _ in range(sizes[kind])] for kind in KINDS}
        grammar.topic = {kind: [dice.pick(nouns) for _ in range(3)] for kind, nouns in lexicon.NOUNS.items()}
        for number in range(5 + int(dice.roll() * 8)):
            grammar.sentence()
            g = grammar
            yield ToySentence(g.words, g.pos, g.chunks, g.entities, g.heads, g.relations, number == 0)


def toy_english(sentences: int = 1000, seed: int = 0) -> list[ToySentence]:
    """So many sentences: the same everywhere for a seed, and a longer corpus begins like a shorter one."""
    if sentences < 0 or seed < 0:
        raise StructronError(f"toy English needs sentences >= 0 and seed >= 0, not {sentences} and {seed}")
    return list(islice(_documents(seed), sentences))


def write_conll(
    path: str | PathLike[str],
    sentences: Iterable[ToySentence],
    columns: Sequence[str] = ("word", "pos", "chunk"),
) -> None:
    """Write columns separated by spaces; with entities, `-DOCSTART-` lines as in CoNLL-2003."""
    for column in columns:
        if column not in COLUMNS:
            raise unknown("column", column, COLUMNS)
    fillers = {"word": "-DOCSTART-", "chunk": "O", "entity": "O"}
    start = " ".join(fillers.get(column, "-X-") for column in columns)
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for sentence in sentences:
            if sentence.new_document and "entity" in columns:
                file.write(start + "\n\n")
            for row in zip(*(getattr(sentence, COLUMNS[column]) for column in columns), strict=True):
                file.write(" ".join(map(str, row)) + "\n")
            file.write("\n")


def write_conllu(path: str | PathLike[str], sentences: Iterable[ToySentence], lemmas: bool = False) -> None:
    """Write CoNLL-U with document and sentence numbers and the running text."""
    document = 0
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for number, sentence in enumerate(sentences, 1):
            if sentence.new_document:
                document += 1
                file.write(f"# newdoc id = toy-{document}\n")
            glued = [word in NO_SPACE_BEFORE for word in sentence.words[1:]] + [False]
            text = "".join(w if g else w + " " for w, g in zip(sentence.words, glued, strict=True)).rstrip()
            file.write(f"# sent_id = toy-{number}\n# text = {text}\n")
            layers = zip(sentence.words, sentence.pos, sentence.heads, sentence.relations, glued, strict=True)
            for token, (word, tag, head, relation, glue) in enumerate(layers, 1):
                space = "SpaceAfter=No" if glue else "_"
                upos = universal(tag, relation)
                lemma = lemma_of(word, tag) if lemmas else "_"
                file.write(f"{token}\t{word}\t{lemma}\t{upos}\t{tag}\t_\t{head}\t{relation}\t_\t{space}\n")
            file.write("\n")


def universal(tag: str, relation: str) -> str:
    """The universal part of speech, which tells auxiliaries and conjunctions apart where Penn tags do not."""
    if relation in ("aux", "aux:pass", "cop"):
        return "AUX"
    return "SCONJ" if tag == "IN" and relation == "mark" else UNIVERSAL[tag]


def lemma_of(word: str, tag: str) -> str:
    """A lemma by rule: regular endings are cut off, and all words but names are in small letters."""
    if tag == "NNP":
        return word
    ending = {"NNS": "s", "VBZ": "s", "VBD": "ed", "VBN": "ed", "VBG": "ing"}.get(tag, "")
    return word.lower().removesuffix(ending) or word.lower()
