"""Lemmas letter by letter, for words whose lemma may need a script that was never seen: a search problem like a user's.

    kitabımda   copy k, copy i, copy t, copy a, put p, delete ı, delete m, delete d, delete a, end   →   kitap

    x       int64[letters + 1, COLUMNS]   the letters of a form, and an end: LETTER, a number; SMALL, that of its lower
                                          case; REST, a number for the ending that begins here, 0: a long one; TAG, all
                                          tags of the word; POS, its first tag; OWN: a lemma that is not to be known
    table   int64[:]                      LETTERS, PUTS, ADDS, KNOWN, WITH_TAG: how many; from FIRST on, for each letter
                                          (and the end), what can be written in its place, and before it, as flags; the
                                          letters that are written; lemmas as numbers (`spelled`), alone and with tags
    states  int64[rows, WIDTH]            TAIL; AT, the next letter; MADE, the lemma so far as a number; its last three
                                          letters; KIND of the last action; ADDED, letters put in before this one

Actions are copy, lower (copy in lower case), delete and end, then put A for every letter that training data have in the
place of another, and add A for those that they put in between. What is learned is when a stem ends, what becomes of its
last letters, and whether what is written is the lemma of another word: unlike a script, endings in any combination.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

from structron.io.tensors import Tensor, Tensors, check, pack_json, taken, texts, unpack_json
from structron.model.beam import BeamModel
from structron.model.explain import Explainer
from structron.search.beam.engine import make_inputs
from structron.search.beam.problem import SearchProblem
from structron.tasks.own.beam import BeamLearner

LETTER, SMALL, REST, TAG, POS, OWN, COLUMNS = range(7)
AT, MADE, LAST, LAST2, LAST3, KIND, ADDED, WIDTH = range(1, 9)
COPY, LOWER, DELETE, END, PUT = range(5)
"""Actions; after them those that write a letter."""
ADD, NOTHING = 5, 6
"""Further kinds of the last action."""
LETTERS, PUTS, ADDS, KNOWN, WITH_TAG, FIRST = range(6)
PRIME, BASE = 2_147_483_647, 65_599
OTHER, STOP = 1, 2
"""Letters that training data do not have, and the end of a word."""
LEMMAS = {name: Tensor("uint32", name, below=PRIME, ascending=True) for name in ("lemmas", "tagged_lemmas")}
"""Arrays of lemmas as numbers in a file."""
KINDS = ["copy", "lower", "delete", "end", "put", "add", "start"]
"""The names of kinds of actions."""
UNKNOWN, END_MARK = "\ufffd", "\n"
"""How a file has a letter that is not one of its own."""
FIRST_TAG = 100_000
NO_LEMMA = -1
MOST_ADDED = 3
LONGEST_REST = 8
EVIDENCE = 2
"""Words in which a letter must have been written in the place of another."""
AROUND = 3
BEAM, NARROW, PASSES = 4, 2, 6
"""The beams of learning and of predictions."""
TEMPLATES = (
    *("c0|c1|c2|c3", "c-1|c0|c1|c2", "c-2|c-1|c0|c1", "c-3|c-2|c-1|c0", "c-1|c0|c1", "c0|c1"),
    *("kind|c0|c1", "kind|c-1|c0|c1", "o1|c0", "o1|o2|c0", "o1|o2|o3|c0", "o1|kind|c0|c1", "o1|o2|kind|tag"),
    *("rest", "rest|c-1", "rest|c-2|c-1", "rest|tag", "rest|pos", "rest|pos|c-1", "rest|tag|c-1", "rest|kind"),
    *("tag|c0", "tag|c0|c1", "tag|c-1|c0|c1", "pos|c-1|c0|c1|c2", "pos|kind|c0", "tag|kind", "rest|pos|c-2|c-1"),
    *("known|pos|kind", "known|rest", "known|rest|pos", "known|tag", "known|c0|pos", "known|kind|at"),
    *("pos|at|c0", "pos|at|kind"),
)


def start(x, table, states, s):
    """Nothing is written yet."""
    for column in range(AT, WIDTH):
        states[s, column] = 0
    states[s, KIND] = NOTHING


def legal(x, table, states, s, out):
    """What can be done at a letter; letters can be added in a few places, and before the end."""
    i = states[s, AT]
    if i >= x.shape[0]:
        return 0
    letter, letters, count = x[i, LETTER], table[LETTERS], 0
    if letter == STOP:
        if states[s, MADE] > 0:
            out[count] = END
            count += 1
    else:
        out[0], out[1] = COPY, DELETE
        count = 2
        if x[i, SMALL] != letter:
            out[count] = LOWER
            count += 1
        for k in range(table[PUTS]):
            if table[FIRST + letter * table[PUTS] + k]:
                out[count] = PUT + k
                count += 1
    if states[s, ADDED] < MOST_ADDED and states[s, KIND] != DELETE:
        adds = FIRST + letters * table[PUTS]
        for k in range(table[ADDS]):
            if table[adds + letter * table[ADDS] + k]:
                out[count] = PUT + table[PUTS] + k
                count += 1
    return count


def advance(x, table, states, s, action, t):
    """Write a letter, or none, and go on."""
    i, puts, letter = states[s, AT], table[PUTS], np.int64(0)
    kind, adds = min(action, PUT), False
    for column in range(AT, WIDTH):
        states[t, column] = states[s, column]
    if action == COPY:
        letter = x[i, LETTER]
    elif action == LOWER:
        letter = x[i, SMALL]
    elif action >= PUT:
        adds = action >= PUT + puts
        written = FIRST + table[LETTERS] * (puts + table[ADDS])
        letter = table[written + action - PUT]
        kind = ADD if adds else PUT
    if letter > 0:
        states[t, MADE] = (states[s, MADE] * BASE + letter) % PRIME
        states[t, LAST3], states[t, LAST2], states[t, LAST] = states[s, LAST2], states[s, LAST], letter
    states[t, AT] = i if adds else i + 1
    states[t, ADDED] = states[s, ADDED] + 1 if adds else 0
    states[t, KIND] = kind


def atoms(x, table, states, s, out):
    """Letters around, those written last, the ending, tags, and whether what is written is a lemma."""
    i, n = states[s, AT], x.shape[0]
    for k in range(2 * AROUND + 1):
        j = i + k - AROUND
        out[k] = x[j, LETTER] if 0 <= j < n else 0
    place = 2 * AROUND + 1
    here = min(i, n - 1)
    out[place] = x[here, REST] if i < n else 0
    out[place + 1] = x[here, TAG]
    out[place + 2] = x[here, POS]
    for k in range(3):
        out[place + 3 + k] = states[s, LAST + k]
    out[place + 6] = states[s, KIND]
    made = states[s, MADE]
    begin = FIRST + table[LETTERS] * (table[PUTS] + table[ADDS]) + table[PUTS] + table[ADDS]
    known = np.int64(0)
    if made != x[here, OWN]:
        for kind in range(2):
            lo, size, wanted = begin, table[KNOWN], made
            if kind == 1:
                lo, size, wanted = (
                    begin + table[KNOWN],
                    table[WITH_TAG],
                    (made * BASE + FIRST_TAG + x[here, POS]) % PRIME,
                )
            end, hi = lo + size, lo + size
            while lo < hi:
                middle = (lo + hi) // 2
                if table[middle] < wanted:
                    lo = middle + 1
                else:
                    hi = middle
            if lo < end and table[lo] == wanted:
                known += 1 + kind
    out[place + 7] = known
    out[place + 8] = min(i, 3)
    out[place + 9] = i
    out[place + 10] = made


def spelled(letters: Iterable[int]) -> int:
    """A text as a number."""
    made = 0
    for letter in letters:
        made = (made * BASE + letter) % PRIME
    return made


def with_first(lemma: int, pos: int) -> int:
    """A lemma and its first tag as a number."""
    return (lemma * BASE + FIRST_TAG + pos) % PRIME


class Letters(NamedTuple):
    """What training data say of letters: their numbers, and which can be written where."""

    number: dict[str, int]
    puts: list[str]
    adds: list[str]
    put: np.ndarray  # bool[letters, puts]
    add: np.ndarray  # bool[letters, adds]

    @property
    def actions(self) -> list[str]:
        """The names of actions."""
        written = [f"put {letter}" for letter in self.puts] + [f"add {letter}" for letter in self.adds]
        return ["copy", "lower", "delete", "end", *written]

    @property
    def names(self) -> list[str]:
        """The letter of every number; "" is the end."""
        return ["", UNKNOWN, "", *self.number]

    @property
    def tables(self) -> list[tuple[np.ndarray, list[str]]]:
        """What can be written in the place of letters, and before them."""
        return [(self.put, self.puts), (self.add, self.adds)]

    def of(self, text: Iterable[str]) -> list[int]:
        """The numbers of a text's letters."""
        return [self.number.get(letter, OTHER) for letter in text]

    def derivation(self, form: str, steps: Sequence["Step"]) -> list[int] | None:
        """The actions that take these steps, or None where one of them is not legal."""
        found, i, added = [], 0, 0
        letters, small = [*self.of(form), STOP], [*self.of((letter.lower() or letter)[0] for letter in form), STOP]
        for kind, letter in steps:
            places = {"put": (self.put, self.puts, PUT), "add": (self.add, self.adds, PUT + len(self.puts))}
            if kind in places:
                may, written, first = places[kind]
                if letter not in written or not may[letters[i], written.index(letter)]:
                    return None
                found.append(first + written.index(letter))
            else:
                if kind == "lower" and small[i] == letters[i]:
                    return None
                found.append(["copy", "lower", "delete", "end"].index(kind))
            added = added + 1 if kind == "add" else 0
            if added > MOST_ADDED or (kind == "add" and len(found) > 1 and found[-2] == DELETE):
                return None
            i += kind != "add"
        return found if any(action != DELETE for action in found[:-1]) else None

    def written(self, form: str, actions: Iterable[int]) -> str:
        """The lemma that actions write."""
        i, found = 0, ""
        for action in actions:
            if action == COPY:
                found += form[i]
            elif action == LOWER:
                found += form[i].lower()
            elif action >= PUT:
                found += [*self.puts, *self.adds][action - PUT]
            i += action < PUT + len(self.puts)
        return found


Step = tuple[str, str]
"""What is done at a letter of a form, or at its end: a kind of action, and the letter that it writes."""


def aligned(form: str, lemma: str) -> list[Step]:
    """The cheapest way from a form to a lemma; of several the one that copies early and deletes late."""
    steps: list[Step] = []
    for letter, other in zip(form, lemma, strict=False):
        if letter != other and letter.lower() != other:
            break
        steps.append(("copy" if letter == other else "lower", ""))
    return [*steps, *_cheapest(form[len(steps) :], lemma[len(steps) :]), ("end", "")]


@lru_cache(1 << 14)
def _cheapest(form: str, lemma: str) -> tuple[Step, ...]:
    """The way from one ending to another."""
    cost = np.zeros((len(form) + 1, len(lemma) + 1))
    for i in range(len(form), -1, -1):
        for j in range(len(lemma), -1, -1):
            cost[i, j] = min((price + cost[to] for price, to, _ in _ways(form, lemma, i, j)), default=0.0)
    i = j = 0
    found: list[Step] = []
    while i < len(form) or j < len(lemma):
        _, (i, j), step = min(_ways(form, lemma, i, j), key=lambda way: way[0] + cost[way[1]])
        found.append(step)
    return tuple(found)


def _ways(form: str, lemma: str, i: int, j: int) -> list[tuple[float, tuple[int, int], Step]]:
    """What can be done next, what is preferred first: its price, where it leads, and what it is."""
    found: list[tuple[float, tuple[int, int], Step]] = []
    if i < len(form) and j < len(lemma):
        if form[i] == lemma[j]:
            found.append((0.0, (i + 1, j + 1), ("copy", "")))
        elif form[i].lower() == lemma[j]:
            found.append((0.0, (i + 1, j + 1), ("lower", "")))
        found.append((1.5, (i + 1, j + 1), ("put", lemma[j])))
    if j < len(lemma):
        found.append((1.0, (i, j + 1), ("add", lemma[j])))
    if i < len(form):
        found.append((1.0, (i + 1, j), ("delete", "")))
    return found


def settle(pairs: Iterable[tuple[str, list[Step]]]) -> Letters:
    """What words and their ways to lemmas show."""
    seen: Counter[str] = Counter()
    put: Counter[tuple[str, str]] = Counter()
    add: Counter[tuple[str, str]] = Counter()
    for form, steps in pairs:
        seen.update(set(form) | set(form.lower()))
        i = 0
        for kind, letter in steps:
            here = form[i] if i < len(form) else ""
            if kind in ("put", "add"):
                (put if kind == "put" else add)[here, letter] += 1
            i += kind != "add"
    written = [{pair for pair, count in own.items() if count >= EVIDENCE} for own in (put, add)]
    letters = {letter for letter, count in seen.items() if count >= EVIDENCE} | {c for own in written for _, c in own}
    return make_letters(sorted(letters), sorted(written[0]), sorted(written[1]))


def make_letters(letters: Sequence[str], put: Iterable[tuple[str, str]], add: Iterable[tuple[str, str]]) -> Letters:
    """From letters, and pairs of a letter (or the end) and what is written in its place, or before it."""
    put, add = list(put), list(add)
    number = {letter: k for k, letter in enumerate(letters, STOP + 1)}
    puts, adds = (sorted({letter for _, letter in own}) for own in (put, add))
    may_put, may_add = (np.zeros((len(number) + STOP + 1, len(own)), bool) for own in (puts, adds))
    for own, written, may in ((put, puts, may_put), (add, adds, may_add)):
        for here, letter in own:
            may[number.get(here, OTHER) if here else STOP, written.index(letter)] = True
    return Letters(number, puts, adds, may_put, may_add)


def most_steps(letters: int) -> int:
    """Actions for so many letters, the end among them."""
    return (MOST_ADDED + 1) * letters


def make_problem(
    letters: Letters, tags: int, first_tags: int, known: np.ndarray, with_tag: np.ndarray
) -> SearchProblem:
    """The problem of spelling lemmas. known, with_tag: lemmas, alone and with their first tags, as numbers, sorted."""
    size = len(letters.number) + STOP + 1
    written = [letters.number[letter] for letter in (*letters.puts, *letters.adds)]
    head = [size, len(letters.puts), len(letters.adds), len(known), len(with_tag)]
    may = [letters.put.reshape(-1), letters.add.reshape(-1)]
    around = {f"c{k}": size for k in range(-AROUND, AROUND + 1)}
    return SearchProblem(
        name="lemmas",
        actions=letters.actions,
        width=WIDTH,
        start=start,
        legal=legal,
        advance=advance,
        atoms=atoms,
        atom_names={
            **around,
            "rest": 0,
            "tag": tags,
            "pos": first_tags,
            **{f"o{k}": size for k in (1, 2, 3)},
            "kind": NOTHING + 1,
            "known": 4,
            "at": 4,
            "place": 0,
            "made": 0,
        },
        templates=TEMPLATES,
        always=["place", "made"],
        table=np.concatenate([np.array(head), *may, np.array(written), known, with_tag]).astype(np.int64),
        max_steps=most_steps,
    )


Row = tuple[str, tuple[str, ...]]
"""A form and its tags."""


class Speller:
    """Lemmas of any words, letter by letter."""

    def __init__(self, letters: Letters, tags: Sequence[Sequence[str]], known: np.ndarray, with_tag: np.ndarray):
        """tags: all that words have, each with the others of its word.   known, with_tag: see `make_problem`."""
        self.letters, self.tags, self.known, self.with_tag = letters, [tuple(own) for own in tags], known, with_tag
        self.tag = {own: k for k, own in enumerate(self.tags, 1)}
        self.first_tags = sorted({own[0] for own in self.tags if own})
        self.pos = {own: k for k, own in enumerate(self.first_tags, 1)}
        self.problem = make_problem(letters, len(self.tags) + 1, len(self.first_tags) + 1, known, with_tag)
        self.model: BeamModel

    @classmethod
    def learn(cls, rows: Iterable[tuple[str, tuple[str, ...], str]], seed: int) -> Self:
        """From distinct rows of form, tags and lemma."""
        rows = [row for row in rows if row[0] and row[2]]
        steps = [aligned(form, lemma) for form, _, lemma in rows]
        letters = settle((form, own) for (form, _, _), own in zip(rows, steps, strict=True))
        forms: defaultdict[str, set[str]] = defaultdict(set)
        for form, _, lemma in rows:
            forms[lemma].add(form)
        number = {lemma: spelled(letters.of(lemma)) for lemma in forms}
        made = cls(letters, sorted({tags for _, tags, _ in rows}), np.unique([*number.values()]), np.empty(0, np.int64))
        pairs = {with_first(number[lemma], made.pos[tags[0]]) for _, tags, lemma in rows if tags}
        made = cls(letters, made.tags, made.known, np.array(sorted(pairs), np.int64))
        own = [number[lemma] if len(forms[lemma]) == 1 else NO_LEMMA for _, _, lemma in rows]
        x, starts = made.encode([(form, tags) for form, tags, _ in rows], own)
        examples = [
            (x[starts[k] : starts[k + 1]], actions)
            for k, (form, _, _) in enumerate(rows)
            if (actions := letters.derivation(form, steps[k])) is not None
        ]
        learner = BeamLearner(made.problem, beam=BEAM, update="max-violation", merge=False, passes=PASSES, seed=seed)
        made.model = learner.fit(examples).model_
        return made

    def encode(self, rows: Sequence[Row], own: Sequence[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(x, starts): forms as the search reads them. own: for each a lemma that is not to be known."""
        ends = np.cumsum([len(form) + 1 for form, _ in rows], dtype=np.int64)
        starts = np.concatenate([[0], ends]).astype(np.int64)
        x = np.zeros((int(starts[-1]), COLUMNS), np.int64)
        text = "".join(form + END_MARK for form, _ in rows)
        small = "".join((letter.lower() or letter)[0] for letter in text)
        x[:, LETTER], x[:, SMALL] = self.letters.of(text), self.letters.of(small)
        x[ends - 1, : SMALL + 1] = STOP
        rest, power, at, begins = np.zeros(len(rows), np.int64), 1, ends - 1, starts[:-1]
        x[at, REST] = 1
        for _ in range(LONGEST_REST):
            at, begins, rest = (some[at > begins] for some in (at, begins, rest))
            at = at - 1
            rest, power = (x[at, SMALL] * power + rest) % PRIME, power * BASE % PRIME
            x[at, REST] = 1 + rest
        lengths = np.diff(starts)
        x[:, TAG] = np.repeat([self.tag.get(tags, 0) for _, tags in rows], lengths)
        x[:, POS] = np.repeat([self.pos.get(tags[0], 0) if tags else 0 for _, tags in rows], lengths)
        x[:, OWN] = np.repeat([NO_LEMMA] * len(rows) if own is None else own, lengths)
        return x, starts

    def __call__(self, rows: Sequence[Row]) -> list[tuple[str, float]]:
        """For every form its lemma, and by how much that beats the second best; forms are not empty."""
        best = self.model.nbest(make_inputs(self.problem, *self.encode(rows)), 2, NARROW, False)
        return [
            (self.letters.written(form, own[0][0]), own[0][1] - own[1][1] if len(own) > 1 else float("inf"))
            for (form, _), own in zip(rows, best, strict=True)
        ]

    def explain(self, form: str, tags: tuple[str, ...], top: int) -> tuple[list[str], dict[str, float]]:
        """The lemma and, if there is one, the second best; and the features that made the difference."""
        inputs, composition = make_inputs(self.problem, *self.encode([(form, tags)])), self.problem.composition
        (best,) = self.model.nbest(inputs, 2, NARROW, False)
        names = self.letters.names
        spell = {atom: names for atom in composition.atoms if atom[:1] in "co" and atom[1:].lstrip("-").isdigit()}
        spell |= {"tag": ["", *map(" ".join, self.tags)], "pos": ["", *self.first_tags], "kind": KINDS}
        explainer = Explainer(
            self.model, inputs, lambda place: composition.describe(int(self.model.keys[place]), spell), lambda *_: ""
        )
        gains = explainer.difference(*[actions for actions, _ in best], top=top)
        return [self.letters.written(form, actions) for actions, _ in best], gains

    # -- files ---------------------------------------------------------------------------------------------------

    def tensors(self) -> Tensors:
        """For a model file."""
        letters = self.letters
        pairs = [[(letters.names[k], own[c]) for k, c in np.argwhere(may)] for may, own in letters.tables]
        found = {"letters": pack_json([list(letters.number), *pairs, self.tags])}
        found |= {"lemmas": self.known.astype(np.uint32), "tagged_lemmas": self.with_tag.astype(np.uint32)}
        return found | {name: own for name, own in self.model.tensors().items() if name != "anchored_keys"}

    @classmethod
    def take(cls, tensors: Tensors) -> Self:
        """That of a model file; ValueError: its arrays do not fit together."""
        given = unpack_json(taken(tensors, "letters"))
        if not isinstance(given, list) or len(given) != 4 or not all(isinstance(own, list) for own in given):
            raise ValueError("letters do not fit")
        names, tags = texts(given[0], "letters"), given[3]
        if not all(isinstance(own, list) and all(texts([tag], "tags") for tag in own) for own in tags):
            raise ValueError("tags do not fit")
        put, add = ([(pair[0], pair[-1]) for pair in (texts(own, "pair", 2) for own in kind)] for kind in given[1:3])
        if any(len(name) != 1 for name in names) or not {letter for _, letter in (*put, *add)} <= {*names}:
            raise ValueError("letters do not fit")
        tensors = {"anchored_keys": np.empty(0, np.uint64), **tensors}
        check({name: tensors[name] for name in LEMMAS}, LEMMAS, {})
        known, with_tag = (tensors.pop(name).astype(np.int64) for name in LEMMAS)
        made = cls(make_letters(names, put, add), tags, known, with_tag)
        check(tensors, BeamModel.declared(made.problem), {"anchored": 0})
        made.model = BeamModel.from_tensors(made.problem, tensors)
        return made
