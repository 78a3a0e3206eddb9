"""The words of toy English: a hand-written lexicon, its inflection, and a mint for words nobody has seen.

Lists run from frequent to rare, because `Dice.often` favours the front: that alone gives a Zipf-like text.
Many words stand in several lists on purpose (`plan` is a noun and a verb, `closed` an adjective and a
participle, `Lincoln` a person, a town and a firm): a corpus in which every word has one tag teaches a tagger
nothing.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")


class Dice:
    """Draws built on `Random.random()` alone, the one sequence Python promises to keep for a given seed."""

    __slots__ = ("roll",)

    def __init__(self, seed: int) -> None:
        self.roll = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.roll() < probability

    def pick(self, items: Sequence[Item]) -> Item:
        """Any item, all equally likely."""
        return items[int(self.roll() * len(items))]

    def often(self, items: Sequence[Item]) -> Item:
        """An item, the first ones far more often than the last."""
        roll = self.roll()
        return items[int(roll * roll * len(items))]


class Verb(NamedTuple):
    """A verb's forms; the plural present is the base form."""

    base: str
    present: str
    past: str
    participle: str
    gerund: str


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _pairs(text: str) -> dict[str, str]:
    """`a:b c:d` as a dictionary."""
    return dict(pair.split(":") for pair in text.split())


def shares(text: str) -> tuple[str, ...]:
    """A tuple to pick from in given shares: `a:2 b` makes `a` twice as likely as `b`."""
    pairs = (word.partition(":") for word in text.split())
    return tuple(word for word, _, count in pairs for _ in range(int(count or 1)))


NOUNS: dict[str, tuple[str, ...]] = {
    "person": _words("""minister president player teacher doctor officer judge worker coach student lawyer
        leader man woman reporter driver farmer manager guard child captain scientist pilot writer
        singer soldier mayor senator nurse cook guide director editor actor artist banker builder buyer
        dealer engineer expert fan fighter friend member neighbour official owner painter partner
        patient prisoner professor sailor tailor victim witness host rebel visitor chief critic clerk
        hunter thief uncle cousin brother sister daughter aunt monk tenant tourist"""),
    "group": _words("""government company team club committee council party union bank court army board
        agency family crowd ministry group crew jury parliament firm school hospital church university
        panel gang tribe choir orchestra navy charity embassy"""),
    "thing": _words("""book letter car door window table box bag stone ring cup bottle chair coat shirt
        phone machine engine paper picture ship train gun boat lamp clock mirror coin ticket ball
        statue bicycle truck plane tent shoe basket blanket bell drum flag map pipe plate wheel sword
        tractor violin parcel carpet candle"""),
    "event": _words("""plan report game offer vote attack deal match talk visit change cut rise fall
        increase drop move order test study call trade fight strike protest debate search review ban
        tax claim demand promise record result start return race tour show dance walk run play win loss
        speech meeting election trial war crisis party festival reform merger sale contract decision
        answer charge delay escape export guess hope import judgment lead look march mistake need
        project raid release request rescue share signal stop supply support threat transfer turn watch
        work experiment ceremony treaty budget scandal"""),
    "place": _words("""city village street hill river park house bridge garden market station road field
        forest island valley office hotel museum border airport square tower castle harbour beach lake
        farm prison theatre stadium factory library cave desert tunnel port"""),
    "idea": _words("""idea law policy problem question reason rule chance future history culture economy
        price cost interest right point view value risk theory method measure issue account cause aim
        dream fear doubt debt fund level rate standard effect force goal limit model crime peace
        tradition strategy principle"""),
    "mass": _words("""money water food advice information music oil gold rice help time traffic power energy
        research evidence land news progress silver snow sugar wheat luck damage furniture equipment"""),
    "instrument": _words("hammer telescope knife key camera net rope stick spoon brush ladder torch axe saw needle"),
    "feature": _words("beard hat scar roof balcony tail accent limp logo moustache handle lid label motto"),
    "time": _words("week month year day evening morning night season summer winter decade hour"),
}

IRREGULAR_PLURALS = _pairs("man:men woman:women child:children thief:thieves knife:knives crisis:crises")

NOUN_COMPLEMENTS = _pairs("""report:on plan:for attack:on increase:in rise:in interest:in deal:with war:against
        visit:to key:to ban:on tax:on debate:over demand:for search:for threat:to change:in cut:in
        support:for reason:for answer:to research:on fear:of fight:against protest:against law:on
        talk:about drop:in right:to doubt:about hope:for contract:with treaty:with crisis:in
        strike:over speech:to fall:in need:for trade:with""")

INFINITIVE_NOUNS = _words("plan offer vote move order call claim demand promise decision right chance idea need aim")

_FRAMES: dict[str, tuple[str, ...]] = {
    "intransitive": _words("""arrive wait sleep smile laugh fail rest stop fall rise disappear work win lose
        fight vote dance swim shout hesitate retire struggle resign vanish collapse recover march
        strike play sigh complain"""),
    "motion": _words("walk run drive climb move travel march ride hurry jump sail crawl wander stroll step fly look"),
    "transitive": _words("""support reject plan see visit report cut attack watch praise beat review study
        change ban criticise accept sign lead record order call follow test stop start buy break
        win delay defend judge need fear cause raid release rescue share trade build lose describe
        discuss examine find hear help host ignore investigate join keep control measure mention miss
        notice own paint push question read repeat replace ruin save search destroy spend tax threaten
        touch transfer like want hate admire blame welcome"""),
    "speech": _words("""say report announce claim believe hope think know hear show fear argue suggest admit
        deny doubt insist guess promise warn note learn"""),
    "control": _words("want plan try hope decide promise agree need refuse start fail offer threaten begin prepare"),
    "ditransitive": _words("give send offer show sell promise teach hand pay tell lend deny award"),
    "locative": _words("put leave place hide park set find keep lay drop store bury stack"),
    "instrument": _words("cut open fix break hit close clean measure watch move lift examine catch mark paint"),
    "causative": _words("want ask tell force order allow help urge lead teach"),
    "link": _words("be be be seem become remain look feel sound"),
}

_PHRASAL = """pick:up take:over turn:down call:off carry:out hand:over set:up bring:in point:out look:up
    look:over hand:in turn:in break:off give:up put:off run:over shut:down work:out turn:over cut:down
    write:down show:off throw:out buy:up sort:out"""
_OBLIQUE = """wait:for look:at talk:about agree:with depend:on listen:to vote:for fight:against care:about
    work:on hope:for deal:with call:for play:with complain:about move:to vote:against search:for
    laugh:at insist:on"""

_IRREGULAR_VERBS: dict[str, tuple[str, str]] = {
    form[0]: (form[1], form[-1])
    for form in (
        entry.split("/")
        for entry in _words("""beat/beat/beaten become/became/become begin/began/begun break/broke/broken
            bring/brought build/built buy/bought catch/caught cut/cut deal/dealt drive/drove/driven
            fall/fell/fallen feel/felt fight/fought find/found fly/flew/flown give/gave/given
            hear/heard hide/hid/hidden hit/hit keep/kept know/knew/known lay/laid lead/led leave/left
            lend/lent lose/lost pay/paid put/put read/read ride/rode/ridden rise/rose/risen run/ran/run
            say/said see/saw/seen sell/sold send/sent set/set show/showed/shown shut/shut sleep/slept
            spend/spent strike/struck swim/swam/swum take/took/taken teach/taught tell/told
            think/thought throw/threw/thrown win/won write/wrote/written be/was/been""")
    )
}
_DOUBLING = frozenset(_words("plan stop ban run cut put set hit win begin step swim shut drop admit control transfer"))

ADJECTIVES = _words("""new old big small young good long short public local strong weak late early rich poor
    national open closed secret tired broken leading popular happy angry foreign growing rising planned
    red green blue dark hard fast clean dirty heavy light quiet loud famous serious simple difficult
    dangerous careful fresh free full empty cheap expensive important political economic military
    medical modern ancient brave calm cold hot warm clever cruel deep dry wet false true fair final
    former general great huge tiny guilty honest hungry joint large legal lost lucky major minor narrow
    wide nervous nice painted perfect polite possible proud quick rare ready recent royal rural sad
    safe sharp sick slow soft special strange sudden sweet tall thick thin ugly usual vast violent
    vital wild wise worried wrong wounded surprising shocking costly friendly deadly lively French
    German Dutch Italian Spanish""")
PREDICATIVE = _words("""ready tired happy angry closed worried open hungry broken late lost sick nervous
    surprised safe interested wrong proud alone guilty free early calm afraid planned excited aware
    shocked wounded""")
MANNER = _words("""quickly slowly quietly hard badly carefully fast suddenly loudly early late openly well
    happily secretly nervously politely gladly calmly bravely sharply firmly briefly warmly""")
SENTENCE_ADVERBS = _words("also still now often never soon finally probably again already rarely recently perhaps")
DEGREES = _words("very too quite so rather more most")

TITLES = {"m": _words("Mr. President Dr. Minister Judge"), "f": _words("Mrs. Ms. Dr. President Senator")}
FIRST_NAMES = {
    "m": _words("""John Peter David Mark Frank Paul Martin Tom James Will Grant Carlos Ahmed Ivan Pierre
        Hans Simon Oliver Kenji Marco Drew Rob Bill Jack"""),
    "f": _words("""Mary Anna Rose Grace Hope Susan Maria Elena Julia Sophie Fatima Yuki Laura Helen Irene
        Claire Nina May Olga Joy Dawn"""),
}
SURNAMES = _words("""Smith Jones Brown Baker Cook Miller Young King Green Walker Taylor Hunter Bell Rivera
    Chen Singh Kowalski Novak Meyer Larsen Rossi Dubois Tanaka Okafor Haddad Murphy Fletcher Hughes
    Price Marsh""")
LOCATIONS = _words("""London Paris Berlin Rome Tokyo Boston Moscow Cairo Madrid Vienna Oslo Dublin France
    Germany Italy Spain Japan Egypt Norway Ireland Poland Kenya Brazil Canada Texas Ohio Kansas Lagos
    Lima Geneva""")
ORGANISATIONS = _words("""Reuters Sony Toyota Intel Siemens Nokia Fiat Philips Shell Boeing Apple Ajax
    Arsenal Juventus Unicef Congress Interpol Greenpeace Microsoft Renault Oracle Target Gap Benetton""")
AMBIGUOUS_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_words("Washington Lincoln Chelsea Carter Jordan Houston"), ("PER", "LOC", "ORG")),
    **dict.fromkeys(_words("Madison Clinton Wellington Hamilton Sidney Victoria Orlando Chester"), ("PER", "LOC")),
    **dict.fromkeys(_words("Ford Morgan Heinz Dell Disney Bosch Macy Hilton"), ("PER", "ORG")),
    **dict.fromkeys(_words("Brentford Liverpool Milan Valencia Everton Phoenix"), ("LOC", "ORG")),
}
FIRM_ENDINGS = _words("Corp. Inc. Ltd. Group Bank Motors United Industries Holdings")
NAME_STEMS = _words("""Brad Carl Den Eld Far Green Har Hol Kings Lang Mar Nor Old Pres Rad Sand Stan Thorn
    Wal West Win Wood Ald Bren Corn Dal Elm Fen Gar Hart Ing Kel Lind Mel Nash Oak Pem Rock Shel Tren
    Ulm Var Whit Yar Zel""")
NAME_ENDINGS = {
    "PER": _words("son man berg ley er ski ford ton well ov ez"),
    "LOC": _words("ville ton burg ford land shire ley ia stan mouth bury"),
    "ORG": _words("soft tron corp tech ia ex co well dyne star ford"),
}
DAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = _words("January February March April May June July August September October November December")
NUMBERS = _words("two three five ten four six seven twenty hundred 12 15 20 30 50 100 250 400")

_ROOTS = _words("""form port struct spect duct press tract vers gress rupt script miss act arm band bond
    camp claim class craft count dream farm firm fold frame fund grade hand head land load mark model
    pack pain part phase plant point rank reason rest scale sense shift sign sort spell stand stress
    task term test thought tour track value vent view ward weight work board brand fest guard harm help
    hope lock mind mix""")
_PREFIXES = _words("re un over pre con de ex in pro sub trans inter anti counter out dis mis super micro non")
_SUFFIXES = {
    "noun": _words("er ment ation al ness - ing ist ion ism ship"),
    "verb": _words("ize - ify en ate"),
    "adjective": _words("able al ive ful ed ing less ous ish ly"),
}


def plural(noun: str) -> str:
    """The plural of a noun, by the spelling rules of English and a few exceptions."""
    return IRREGULAR_PLURALS.get(noun) or _with_s(noun)


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def conjugate(base: str) -> Verb:
    """All forms of a verb."""
    present = "is" if base == "be" else _with_s(base)
    stem = base + base[-1] if base in _DOUBLING else base
    past = base + "d" if base.endswith("e") else stem + "ed"
    if base.endswith("y") and base[-2] not in "aeiou":
        past = base[:-1] + "ied"
    gerund = base[:-1] if base.endswith("e") and base not in ("be", "see", "agree") else stem
    past, participle = _IRREGULAR_VERBS.get(base, (past, past))
    return Verb(base, present, past, participle, gerund + "ing")


def coin(dice: Dice, kind: str) -> str:
    """A new word of the kind `noun`, `verb` or `adjective`: its root says nothing, its ending nearly all."""
    prefix = dice.pick(_PREFIXES) if dice.chance(0.7) else ""
    suffix = dice.often(_SUFFIXES[kind])
    return prefix + dice.pick(_ROOTS) + ("" if suffix == "-" else suffix)


def coin_name(dice: Dice, kind: str) -> str:
    """A new name for an entity of the kind `PER`, `LOC` or `ORG`; some endings fit more than one."""
    return dice.pick(NAME_STEMS) + dice.pick(NAME_ENDINGS[kind])


def article(word: str) -> str:
    """The indefinite article before this word."""
    return "an" if word[0] in "aeiouAEIO" else "a"


VERBS: dict[str, tuple[Verb, ...]] = {frame: tuple(map(conjugate, verbs)) for frame, verbs in _FRAMES.items()}
PHRASAL, OBLIQUE = (
    tuple((conjugate(verb), word) for verb, word in (pair.split(":") for pair in _words(text)))
    for text in (_PHRASAL, _OBLIQUE)
)
