"""The clauses of toy English: what verbs take, what nouns may be followed by, and how predicates combine.

The frame of a verb is the name of the method that writes it.
"""

from structron.data import lexicon
from structron.data.grammar import AGENT_FRAMES, FRAMES, PATHS, PERSON_FRAMES, PLURAL, SINGULAR, PhraseWriter
from structron.data.lexicon import OBLIQUE, PHRASAL

VERBAL_ADVERBS = ("also", "still", "often", "never", "already")


class Clauses(PhraseWriter):
    """Verbs with what they take, and clauses."""

    def relative(self, head: int, kind: str, number: int, depth: int) -> None:
        """Relatives on subject or object, reduced passives, and content clauses that look like relatives."""
        dice = self.dice
        roll = dice.roll()
        who = kind == "person" and dice.chance(0.6)
        pronoun, tag = ("who", "WP") if who else (dice.pick(("that", "that", "which")), "WDT")
        if self.lemma in lexicon.INFINITIVE_NOUNS and dice.chance(0.5):
            self.begin("VP")
            verb = self.predicate(dice.pick(AGENT_FRAMES), number, "infinitive", 0)
            self.attach(verb, head, "acl")
        elif roll < 0.35:
            subject = self.single("NP", pronoun, tag)
            verb = self.predicate(dice.pick(FRAMES[kind]), number, "finite", depth)
            self.attach(self.attach_subject(subject, verb), head, "acl:relcl")
        elif roll < 0.6:
            gap = self.single("NP", pronoun, tag) if dice.chance(0.8) else 0
            subject, person, _ = self.subject(0)
            verb = self.verb_group(self.verb("transitive"), person, "finite")
            self.attach(gap, verb, "obj")
            self.attach(self.attach(subject, verb, "nsubj"), head, "acl:relcl")
        elif roll < 0.8 or kind not in ("event", "idea"):
            verb = self.single("VP", self.verb("transitive").participle, "VBN")
            self.attach(self.prepositional("by", verb, "obl", "person", depth), head, "acl")
        else:
            mark = self.single("SBAR", "that", "IN")
            self.attach(self.attach(mark, self.clause(depth), "mark"), head, "acl")

    def attach_subject(self, subject: int, head: int) -> int:
        """Attach a subject to its verb, as a passive one if the verb is passive."""
        between = zip(self.heads[subject:head], self.relations[subject:head], strict=True)
        return self.attach(subject, head, "nsubj:pass" if (head, "aux:pass") in between else "nsubj")

    def clause(self, depth: int) -> int:
        """Subject and predicate, sometimes a second predicate."""
        subject, number, frames = self.subject(depth)
        adverb = self.dice.often(lexicon.SENTENCE_ADVERBS) if self.dice.chance(0.14) else ""
        before = self.single("ADVP", adverb, "RB") if adverb else 0
        head = self.attach_subject(subject, self.predicate(self.dice.pick(frames), number, "finite", depth))
        if before:
            self.attach(before, head, "advmod")
            if self.dice.chance(0.8 if adverb in VERBAL_ADVERBS else 0.15):
                self.chunks[before - 1 : before + 1] = "B-VP", "I-VP"
        if depth > 0 and self.dice.chance(0.07):
            conjunction = self.single("", self.dice.pick(("and", "but", "and")), "CC")
            second = self.predicate(self.dice.pick(frames), number, "finite", 0)
            self.attach(self.attach(conjunction, second, "cc"), head, "conj")
        return head

    def predicate(self, frame: str, number: int, mood: str, depth: int) -> int:
        """A verb group with its complements and adjuncts; the frame says which."""
        head: int = getattr(self, frame)(number, mood, depth)
        if self.dice.chance(0.3):
            self.adjunct(head)
        return head

    def adjunct(self, head: int) -> None:
        """When, where or how: always the verb's."""
        dice = self.dice
        roll = dice.roll()
        if roll < 0.08:
            word = dice.pick(("yesterday", "today", "tomorrow"))
            self.attach(self.single("NP", word, "NN"), head, "obl:tmod")
        elif roll < 0.16:
            self.attach(self.single("NP", dice.often(lexicon.DAYS), "NNP"), head, "obl:tmod")
        elif roll < 0.3:
            which = self.single("NP", dice.pick(("last", "next", "last")), "JJ")
            time = self.add(dice.often(lexicon.NOUNS["time"]), "NN")
            self.attach(self.attach(which, time, "amod"), head, "obl:tmod")
        elif roll < 0.48:
            word, names = dice.pick((("on", lexicon.DAYS), ("in", lexicon.MONTHS)))
            case = self.single("PP", word, "IN")
            self.attach(self.attach(case, self.single("NP", dice.often(names), "NNP"), "case"), head, "obl")
        elif roll < 0.6:
            word = dice.pick(("after", "before", "since", "until", "during", "as"))
            self.prepositional(word, head, "obl", "person" if word == "as" else "event", 0)
        elif roll < 0.8:
            self.prepositional(dice.often(("in", "at", "near", "outside")), head, "obl", "place", 0)
        else:
            self.begin("ADVP")
            degree = self.degree(0.2)
            adverb = self.attach(degree, self.add(self.adverb(), "RB"), "advmod")
            self.attach(adverb, head, "advmod")

    # Frames of verbs: each picks a verb and writes what goes with it

    def intransitive(self, number: int, mood: str, depth: int) -> int:
        """`sleeps`."""
        return self.verb_group(self.verb("intransitive"), number, mood)

    def transitive(self, number: int, mood: str, depth: int) -> int:
        """`reads the book`."""
        head = self.verb_group(self.verb("transitive"), number, mood)
        return self.attach(self.object(depth), head, "obj")

    def motion(self, number: int, mood: str, depth: int) -> int:
        """`walks over the hill`."""
        head = self.verb_group(self.verb("motion"), number, mood)
        return self.prepositional(self.dice.often(PATHS), head, "obl", "place", 0)

    def oblique(self, number: int, mood: str, depth: int) -> int:
        """`waits for the result`."""
        verb, preposition = self.dice.often(OBLIQUE)
        head = self.verb_group(verb, number, mood)
        kind = self.dice.pick(("event", "idea", "person", "thing"))
        return self.prepositional(preposition, head, "obl", kind, depth)

    def phrasal(self, number: int, mood: str, depth: int) -> int:
        """The particle before its object looks like a preposition; pronouns force it behind."""
        verb, particle = self.dice.often(PHRASAL)
        head = self.verb_group(verb, number, mood)
        if self.dice.chance(0.6):
            self.attach(self.single("PRT", particle, "RP"), head, "compound:prt")
            kind = self.dice.pick(("event", "thing", "idea"))
            self.attach(self.common(kind, self.dice.chance(0.3), depth)[0], head, "obj")
        else:
            self.attach(self.object(0, ("event", "thing", "idea")), head, "obj")
            self.attach(self.single("PRT", particle, "RP"), head, "compound:prt")
        return head

    def placing(self, number: int, mood: str, depth: int) -> int:
        """`puts the lamp on the table`."""
        head = self.verb_group(self.verb("locative"), number, mood)
        self.attach(self.object(0, ("thing", "thing", "mass")), head, "obj")
        where = self.dice.often(("in", "on", "under", "behind", "at"))
        return self.prepositional(where, head, "obl", "place", 0)

    def handling(self, number: int, mood: str, depth: int) -> int:
        """`cuts the rope with a knife`."""
        head = self.verb_group(self.verb("instrument"), number, mood)
        self.attach(self.object(0, ("thing", "thing", "person")), head, "obj")
        if self.dice.chance(0.8):
            self.prepositional("with", head, "obl", "instrument", 0)
        return head

    def giving(self, number: int, mood: str, depth: int) -> int:
        """`gave her books` or `gave her books to him`: only what follows tells which `her` it is."""
        head = self.verb_group(self.verb("ditransitive"), number, mood)
        if self.dice.chance(0.5):
            self.attach(self.object(0, ("person", "group")), head, "iobj")
            return self.attach(self.object(depth, ("thing", "event", "mass")), head, "obj")
        self.attach(self.object(0, ("thing", "event", "mass")), head, "obj")
        return self.prepositional("to", head, "obl", "person", 0)

    def speech(self, number: int, mood: str, depth: int) -> int:
        """`says that …`, or `reports the accident` where no further clause may follow."""
        head = self.verb_group(self.verb("speech"), number, mood)
        if depth <= 0:
            return self.attach(self.object(0, ("idea", "event")), head, "obj")
        mark = self.single("SBAR", "that", "IN") if self.dice.chance(0.6) else 0
        content = self.attach(mark, self.clause(depth - 1), "mark")
        return self.attach(content, head, "ccomp")

    def control(self, number: int, mood: str, depth: int) -> int:
        """`wants to …`."""
        head = self.verb_group(self.verb("control"), number, mood)
        if self.dice.chance(0.2):
            self.begin("VP")
        action = self.predicate(self.dice.pick(PERSON_FRAMES), SINGULAR, "infinitive", depth - 1)
        return self.attach(action, head, "xcomp")

    def causative(self, number: int, mood: str, depth: int) -> int:
        """`asks the crew to …`."""
        head = self.verb_group(self.verb("causative"), number, mood)
        self.attach(self.object(0, ("person", "group")), head, "obj")
        self.begin("VP")
        action = self.predicate(self.dice.pick(AGENT_FRAMES), SINGULAR, "infinitive", 0)
        return self.attach(action, head, "xcomp")

    def passive(self, number: int, mood: str, depth: int) -> int:
        """`was praised by the critic`."""
        left = self.be_group(number, mood)
        head = self.add(self.verb("transitive").participle, "VBN")
        self.attach_all([(child, "aux:pass" if relation == "cop" else relation) for child, relation in left], head)
        if self.dice.chance(0.4):
            self.prepositional("by", head, "obl", "person", depth - 1)
        return head

    def link(self, number: int, mood: str, depth: int) -> int:
        """`be` hangs on its predicate; other linking verbs govern theirs."""
        dice = self.dice
        verb = self.verb("link")
        copula = verb.base == "be"
        left = self.be_group(number, mood) if copula else [(self.verb_group(verb, number, mood), "")]
        if copula and dice.chance(0.25):
            head = self.common(dice.pick(("person", "idea", "event")), number == PLURAL, depth)[0]
        else:
            self.begin("ADJP")
            degree = self.degree(0.3)
            coined = dice.chance(0.1)
            word = lexicon.coin(dice, "adjective") if coined else dice.often(lexicon.PREDICATIVE)
            head = self.attach(degree, self.add(word, "JJ"), "advmod")
            if dice.chance(0.15):
                self.begin("VP")
                action = self.predicate(dice.pick(AGENT_FRAMES), SINGULAR, "infinitive", 0)
                self.attach(action, head, "xcomp")
        if not copula:
            return self.attach(head, left[0][0], "xcomp")
        return self.attach_all(left, head)
