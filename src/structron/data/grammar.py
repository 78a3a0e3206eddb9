"""The phrases of toy English: noun phrases and verb groups that write words and all their analyses in one go.

A method appends its tokens from left to right and returns the number of its head, so that whoever asked for
the phrase can attach it. A phrase attaches only what it wrote itself: trees are projective by construction.
Chunks follow CoNLL-2000 (a chunk ends at its head; `'s` opens a new noun phrase; `to` and auxiliaries stay in
their verb's chunk), entities CoNLL-2003, relations Universal Dependencies.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from structron.data import lexicon
from structron.data.lexicon import NOUN_COMPLEMENTS, NOUNS, VERBS, Dice, Verb, shares

SINGULAR, PLURAL, FIRST = range(3)
KINDS = ("PER", "ORG", "LOC")
BE_PAST = ("was", "were", "was")
HAVE = (("has", "VBZ"), ("have", "VBP"), ("have", "VBP"))
DO = (("does", "VBZ"), ("do", "VBP"), ("do", "VBP"))
FORMS = ("VB", "VBZ", "VBD", "VBN", "VBG")
SUBJECTS = {"he": SINGULAR, "she": SINGULAR, "they": PLURAL, "it": SINGULAR, "we": PLURAL, "I": FIRST}
OBJECTS = ("her", "him", "them", "her", "it", "us", "me")
POSSESSIVES = ("her", "his", "their", "her", "its", "our", "my")
MODALS = ("will", "can", "may", "would", "could", "must", "should", "might")
THINGS = shares("event:2 thing:2 person group idea mass")
PATHS = ("up", "over", "in", "down", "to", "through", "into", "across", "on", "off", "along", "towards")

AGENT_FRAMES = shares("transitive:5 speech:3 control:2 passive oblique phrasal giving")
PERSON_FRAMES = shares("""transitive:10 speech:6 control:4 phrasal:4 motion:3 link:3 passive:2 oblique:2
    giving:2 intransitive:2 placing:2 handling:2 causative""")
MATTER_FRAMES = shares("passive:2 link:2 transitive:2 intransitive phrasal")
FRAMES = {
    **dict.fromkeys(("PER", "person"), PERSON_FRAMES),
    **dict.fromkeys(("LOC", "ORG", "group"), AGENT_FRAMES),
    **dict.fromkeys(("event", "idea", "thing", "mass"), MATTER_FRAMES),
}


class CastMember(NamedTuple):
    """Someone or something a document is about; the short form of a name may be all one sees of it."""

    kind: str
    long: tuple[str, ...]
    short: str
    gender: str


class PhraseWriter(ABC):
    """Writes phrases about the current document's cast, and prefers its topic's nouns."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.cast: dict[str, list[CastMember]] = {}
        self.topic: dict[str, list[str]] = {}
        self.start()

    def start(self) -> None:
        """Begin a new sentence."""
        self.words: list[str] = []
        self.pos: list[str] = []
        self.chunks: list[str] = []
        self.entities: list[str] = []
        self.heads: list[int] = []
        self.relations: list[str] = []
        self.begin("")

    def begin(self, chunk: str) -> None:
        """Open a chunk for the tokens to come; the empty name puts them outside."""
        self._next, self._inside = (f"B-{chunk}", f"I-{chunk}") if chunk else ("O", "O")

    def add(self, word: str, pos: str, entity: str = "O") -> int:
        """Append a token, to be attached later; its number is returned."""
        self.words.append(word)
        self.pos.append(pos)
        self.chunks.append(self._next)
        self.entities.append(entity)
        self.heads.append(0)
        self.relations.append("root")
        self._next = self._inside
        return len(self.words)

    def single(self, chunk: str, word: str, pos: str) -> int:
        """A token that opens a chunk."""
        self.begin(chunk)
        return self.add(word, pos)

    def attach(self, child: int, head: int, relation: str) -> int:
        """Give a token its head, which is returned; child 0 stands for none."""
        if child:
            self.heads[child - 1] = head
            self.relations[child - 1] = relation
        return head

    def attach_all(self, children: Sequence[tuple[int, str]], head: int) -> int:
        """Give tokens their common head, each with its relation; the head is returned."""
        for child, relation in children:
            self.attach(child, head, relation)
        return head

    def noun(self, kind: str) -> str:
        """A common noun of a kind: any, one of the topic's, or a coined one."""
        roll = self.dice.roll()
        if roll < 0.07:
            return lexicon.coin(self.dice, "noun")
        return self.dice.pick(self.topic[kind]) if roll < 0.35 else self.dice.often(NOUNS[kind])

    def verb(self, frame: str) -> Verb:
        """A verb with a frame, sometimes a coined one."""
        if frame in ("transitive", "intransitive") and self.dice.chance(0.1):
            return lexicon.conjugate(lexicon.coin(self.dice, "verb"))
        return self.dice.often(VERBS[frame])

    def adjective(self) -> int:
        """A word before a noun; participles may stand there too."""
        roll = self.dice.roll()
        if roll < 0.12:
            return self.add(lexicon.coin(self.dice, "adjective"), "JJ")
        if roll < 0.16:
            return self.add(self.verb("transitive").participle, "VBN")
        if roll < 0.2:
            return self.add(self.verb("intransitive").gerund, "VBG")
        return self.add(self.dice.often(lexicon.ADJECTIVES), "JJ")

    def degree(self, probability: float) -> int:
        """A word such as `very` before the adjective or adverb to come, or none."""
        return self.add(self.dice.often(lexicon.DEGREES), "RB") if self.dice.chance(probability) else 0

    def adverb(self) -> str:
        """An adverb of manner, sometimes a coined one."""
        if self.dice.chance(0.15):
            return lexicon.coin(self.dice, "adjective").removesuffix("ly") + "ly"
        return self.dice.often(lexicon.MANNER)

    # Noun phrases

    def name(self, kind: str, plain: bool = False) -> int:
        """A mention of one of the cast, more often than not a bare name; `plain` lets nothing follow it."""
        dice = self.dice
        self._mentioned = entity = dice.often(self.cast[kind])
        self.begin("NP")
        roll = dice.roll()
        if kind == "PER" and roll < 0.15:
            title = self.add(dice.often(lexicon.TITLES[entity.gender]), "NNP")
            head = self.attach(title, self.add(entity.short, "NNP", "B-PER"), "compound")
        elif roll < 0.33:
            head = self.add(entity.long[0], "NNP", f"B-{kind}")
            for word in entity.long[1:]:
                self.attach(self.add(word, "NNP", f"I-{kind}"), head, "flat")
        else:
            head = self.add(entity.short, "NNP", f"B-{kind}")
        if not plain and dice.chance(0.06):
            comma = self.single("", ",", ",")
            other = self.core({"PER": "person", "LOC": "place", "ORG": "group"}[kind], False)
            self.attach(comma, other, "punct")
            self.attach(self.attach(self.single("", ",", ","), other, "punct"), head, "appos")
        return head

    def determiner(self, plural: bool, mass: bool) -> tuple[int, str] | None:
        """What opens a noun phrase; a possessor closes its own chunk, and `'s` opens the noun's."""
        dice = self.dice
        roll = dice.roll()
        if roll < 0.12:
            return self.add(dice.often(POSSESSIVES), "PRP$"), "nmod:poss"
        if roll < 0.19:
            owner = self.name(dice.pick(KINDS), plain=True)
            self.begin("NP")
            return self.attach(self.add("'s", "POS"), owner, "case"), "nmod:poss"
        if (plural or mass) and roll < 0.55:
            return None
        if plural and roll < 0.75:
            about = self.add("about", "RB") if roll < 0.6 else 0
            number = self.add(dice.often(lexicon.NUMBERS), "CD")
            return self.attach(about, number, "advmod"), "nummod"
        if plural or mass:
            word = dice.pick(("the", "the", "some", "that" if mass else "these"))
        elif roll < 0.85:
            word = "the" if roll < 0.55 else "a"
        else:
            word = dice.pick(("that", "this", "that", "every", "no", "another"))
        return self.add(word, "DT"), "det"

    def core(self, kind: str, plural: bool) -> int:
        """Determiner, adjectives and noun: one chunk, or two with a possessor."""
        dice = self.dice
        plural = plural and kind != "mass"
        self.begin("NP")
        opening = self.determiner(plural, kind == "mass")
        left = [opening] if opening else []
        after = len(self.words)
        if dice.chance(0.3):
            degree = self.degree(0.1)
            left.append((self.adjective(), "amod"))
            if degree:
                self.attach(degree, left[-1][0], "advmod")
            elif dice.chance(0.2):
                self.second_adjective(left)
        roll = dice.roll()
        if roll < 0.1:
            left.append((self.add(self.noun(dice.pick(("event", "mass", "idea"))), "NN"), "compound"))
        elif roll < 0.15 and kind in ("person", "group", "event"):
            name = dice.pick(KINDS)
            left.append((self.add(self.cast[name][0].short, "NNP", f"B-{name}"), "compound"))
        self.lemma = noun = self.noun(kind)
        head = self.add(lexicon.plural(noun), "NNS") if plural else self.add(noun, "NN")
        if after and self.words[after - 1] == "a":
            self.words[after - 1] = lexicon.article(self.words[after])
        return self.attach_all(left, head)

    def second_adjective(self, left: list[tuple[int, str]]) -> None:
        """`old young` or `old and young`: then the second hangs on the first."""
        if self.dice.chance(0.5):
            left.append((self.adjective(), "amod"))
        else:
            conjunction = self.add("and", "CC")
            self.attach(self.attach(conjunction, self.adjective(), "cc"), left[-1][0], "conj")

    def common(self, kind: str, plural: bool, depth: int) -> tuple[int, int]:
        """A noun phrase around a common noun with what may follow it, and the number of the whole."""
        dice = self.dice
        head = self.core(kind, plural)
        preposition = NOUN_COMPLEMENTS.get(self.lemma)
        roll = dice.roll()
        number = PLURAL if plural and kind != "mass" else SINGULAR
        if preposition and roll < 0.3:
            self.prepositional(preposition, head, "nmod", dice.pick(("idea", "event", "mass")), depth - 1)
        elif roll < 0.1:
            self.prepositional("of", head, "nmod", dice.pick(THINGS), depth - 1)
        elif roll < 0.14 and kind in ("person", "thing"):
            self.prepositional("with", head, "nmod", "feature", 0)
        elif roll < 0.17 and kind in ("person", "group", "event"):
            self.prepositional("in", head, "nmod", "place", 0)
        elif roll < 0.25 and depth > 0:
            self.relative(head, kind, number, depth - 1)
        elif roll < 0.31 and depth > 0:
            self.conjoin(head, kind, plural)
            number = PLURAL
        return head, number

    def conjoin(self, head: int, kind: str, plural: bool) -> None:
        """Two plurals mostly share a chunk, the second then having no determiner of its own."""
        word = self.dice.pick(("and", "and", "or"))
        if plural and self.dice.chance(0.8 if self.chunks[head - 1] == "B-NP" else 0.5):
            conjunction = self.add(word, "CC")
            other = self.add(lexicon.plural(self.noun(kind)), "NNS")
        else:
            conjunction = self.single("", word, "CC")
            other = self.core(kind, plural)
        self.attach(self.attach(conjunction, other, "cc"), head, "conj")

    @abstractmethod
    def relative(self, head: int, kind: str, number: int, depth: int) -> None:
        """A clause that modifies the noun `head`; clauses are written by the subclass."""

    def subject(self, depth: int) -> tuple[int, int, Sequence[str]]:
        """A subject, its number, and the frames of the verbs that go with it."""
        dice = self.dice
        roll = dice.roll()
        if roll < 0.18:
            word = dice.often(tuple(SUBJECTS))
            return self.single("NP", word, "PRP"), SUBJECTS[word], PERSON_FRAMES
        if roll < 0.54:
            kind = dice.pick(KINDS)
            head = self.name(kind)
            others = [entity for entity in self.cast[kind] if entity != self._mentioned]
            if not others or dice.chance(0.9) or self.words[-1] == ",":
                return head, SINGULAR, FRAMES[kind]
            conjunction = self.add("and", "CC")
            other = self.add(others[0].short, "NNP", f"B-{kind}")
            self.attach(self.attach(conjunction, other, "cc"), head, "conj")
            return head, PLURAL, AGENT_FRAMES
        kind = dice.pick(("person", "person", "person", "group", "event", "event", "idea", "thing"))
        head, number = self.common(kind, dice.chance(0.35), depth)
        return head, number, FRAMES[kind]

    def object(self, depth: int, kinds: Sequence[str] = THINGS) -> int:
        """A pronoun, a name or a noun phrase in object position."""
        roll = self.dice.roll()
        if roll < 0.12:
            return self.single("NP", self.dice.often(OBJECTS), "PRP")
        if roll < 0.32:
            return self.name(self.dice.pick(KINDS))
        return self.common(self.dice.pick(kinds), self.dice.chance(0.35), depth)[0]

    def prepositional(self, word: str, head: int, relation: str, kind: str, depth: int) -> int:
        """A preposition and a noun phrase, attached to the verb or noun `head`, which is returned."""
        case = self.single("PP", word, "IN")
        roll = self.dice.roll()
        if kind == "place" and roll < 0.55:
            noun = self.name("LOC")
        elif kind in ("person", "event", "idea") and roll < 0.3:
            noun = self.name(self.dice.pick(KINDS))
        else:
            noun = self.common(kind, self.dice.chance(0.25), depth)[0]
        return self.attach(self.attach(case, noun, "case"), head, relation)

    # Verb groups

    def auxiliaries(self, number: int, mood: str, span: float = 1.0) -> tuple[list[tuple[int, str]], str]:
        """What precedes the last word of a verb group, and the tag that word must have.

        Moods: `finite`, `gerund`; `base` and `infinitive` go on with a verb chunk that is already open. A
        `span` below 1 leaves out the last ways to form a verb group, which do not suit `be`.
        """
        dice = self.dice
        if mood == "base":
            return [], "VB"
        if mood == "infinitive":
            return [(self.add("to", "TO"), "mark")], "VB"
        self.begin("VP")
        if mood == "gerund":
            return [], "VBG"
        roll = dice.roll() * span
        if roll < 0.62:
            return [], "VBD" if roll < 0.44 else "VBP" if number else "VBZ"
        if roll < 0.74:
            first, tag = (dice.often(MODALS), "MD"), "VB"
        elif roll < 0.82:
            first, tag = ("had", "VBD") if roll < 0.76 else HAVE[number], "VBN"
        elif roll < 0.92:
            first, tag = (BE_PAST[number], "VBD") if roll < 0.87 else self.be_present(number), "VBG"
        else:
            first, tag = ("did", "VBD") if roll < 0.97 else DO[number], "VB"
        left = [(self.add(*first), "aux")]
        if roll >= 0.92 or dice.chance(0.1):
            left.append((self.add("n't" if roll >= 0.92 and dice.chance(0.6) else "not", "RB"), "advmod"))
        elif dice.chance(0.12):
            left.append((self.add(dice.often(lexicon.SENTENCE_ADVERBS), "RB"), "advmod"))
        return left, tag

    def verb_group(self, verb: Verb, number: int, mood: str) -> int:
        """Auxiliaries and main verb, one chunk; the verb is its head."""
        left, tag = self.auxiliaries(number, mood)
        head = self.add(verb[FORMS.index(tag)] if tag != "VBP" else verb.base, tag)
        return self.attach_all(left, head)

    def be_group(self, number: int, mood: str) -> list[tuple[int, str]]:
        """A verb group that ends in a form of `be`, to be attached to what follows it."""
        left, tag = self.auxiliaries(number, mood, span=0.82)
        if tag in ("VBZ", "VBP"):
            word, tag = self.be_present(number)
        else:
            word = {"VB": "be", "VBD": BE_PAST[number], "VBN": "been", "VBG": "being"}[tag]
        left.append((self.add(word, tag), "cop"))
        return left

    def be_present(self, number: int) -> tuple[str, str]:
        """A present form of `be` and its tag."""
        if number == SINGULAR:
            return ("'s" if self.dice.chance(0.3) else "is"), "VBZ"
        return ("are" if number == PLURAL else "am"), "VBP"
