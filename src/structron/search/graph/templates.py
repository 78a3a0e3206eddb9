"""The features of graph-based parsing: templates as texts, and the arrays that kernels read.

A template names what it looks at: h the head of an arc, m its word (the modifier), s the sibling between them, g the
head's head; w the word, t its tag, or any column; +1 and -1 the neighbours. A group of templates is for one kind of
part, and its features are the sum of a code for each word of the part: so codes are made once per word, not once per
pair of words, and a feature costs an addition. Templates over a column that the data lack are left out.

After McDonald, Crammer & Pereira (2005), Table 1; McDonald & Pereira (2006); Koo & Collins (2010).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structron.kernels.reference import Ints, Ints2, Keys, by_reference
from structron.kernels.table import hash_list


def _numbers(first: int, last: int) -> list[Any]:
    """As NumPy's integers: kernels are compiled once more for every literal that they are called with."""
    return [np.int64(k) for k in range(first, last)]


HEAD, WORD, ARC, BETWEEN, RELATION_OF, RELATION_UNDER, RELATION, RELATION_FAR = _numbers(0, 8)
RELATION_CHILD, RELATION_BESIDE, RELATION_ABOVE, SIBLING, GRAND, TRIPLE = _numbers(8, 14)
RANK_HEAD, RANK_WORD, RANK = _numbers(14, 17)
"""Groups. BETWEEN: once for each kind of tag between head and word. RELATION_OF, _UNDER, RELATION: which relation, by
the word, by the head, by both; _FAR: and by their distance; _CHILD, _BESIDE, _ABOVE: by a child of the word, another
child of its head, the head's head, once the tree is there. RANK…: the fast model that prunes."""

EXTRA = ("lemma", "feats", "upos", "prefix5", "suffix3")
"""Columns of words besides word and tag, where the data have them; functions of the word as in templates elsewhere."""
CLASSES = ("c4", "c6", "c10", "c")
"""The same of word clusters, where there are some."""

_ONE = [
    "w",
    "t",
    "w|t",
    "t|t+1",
    "t-1|t",
    "t-1|t|t+1",
    "lemma",
    "feats",
    "t|feats",
    "prefix5",
    "suffix3",
    *("c6|t", "c10", "c"),
]
_PAIR = [
    *("h.w|h.t|m.w|m.t", "h.t|m.w|m.t", "h.w|m.w|m.t", "h.w|h.t|m.t", "h.w|h.t|m.w", "h.w|m.w", "h.t|m.t"),
    *("h.t|h.t+1|m.t-1|m.t", "h.t-1|h.t|m.t-1|m.t", "h.t|h.t+1|m.t|m.t+1", "h.t-1|h.t|m.t|m.t+1"),
    *("h.t|h.t+1|m.t", "h.t-1|h.t|m.t", "h.t|m.t-1|m.t", "h.t|m.t|m.t+1", "h.t-1|h.t|h.t+1|m.t-1|m.t|m.t+1"),
    *("h.prefix5|m.prefix5", "h.prefix5|m.t", "h.t|m.prefix5", "h.suffix3|m.t", "h.t|m.suffix3"),
    *("h.lemma|m.lemma", "h.lemma|m.t", "h.t|m.lemma", "h.feats|m.feats", "h.feats|m.t", "h.t|m.feats"),
    *("h.t|h.feats|m.t|m.feats", "h.upos|m.upos", "h.upos|h.upos+1|m.upos-1|m.upos"),
    *("h.c4|m.c4", "h.c6|m.c6", "h.c|m.c", "h.c6|m.t", "h.t|m.c6", "h.c10|m.t", "h.t|m.c10", "h.c6|h.t|m.c6|m.t"),
    *("h.w|m.c6", "h.c6|m.w", "h.c4|h.c4+1|m.c4-1|m.c4"),
]
_RELATION = [
    *("h.t|m.t", "h.w|m.t", "h.t|m.w", "h.w|m.w", "h.t|m.t|m.t+1", "h.t|m.t-1|m.t", "h.t|h.t+1|m.t", "h.t-1|h.t|m.t"),
    *("h.lemma|m.t", "h.t|m.lemma", "h.lemma|m.lemma", "h.feats|m.feats", "h.t|m.feats", "h.feats|m.t"),
    *("h.t|m.suffix3", "h.suffix3|m.suffix3"),
    *("h.c6|m.c6", "h.c10|m.t", "h.t|m.c10", "h.c10|m.c10"),
]
TEMPLATES = {
    HEAD: [f"h.{text}".replace("|", "|h.") for text in _ONE],
    WORD: [f"m.{text}".replace("|", "|m.") for text in _ONE],
    ARC: _PAIR,
    BETWEEN: ["h.t|m.t"],
    RELATION_OF: [f"m.{text}".replace("|", "|m.") for text in _ONE],
    RELATION_UNDER: ["h.w", "h.t", "h.lemma", "h.feats"],
    RELATION: _RELATION,
    RELATION_FAR: ["h.t|m.t", "h.t|m.w"],
    RELATION_CHILD: [
        *("c.w|m.t", "c.t|m.t", "h.t|c.t|m.t", "h.t|c.w|m.t", "h.w|c.w|m.t", "c.w|m.w", "c.upos|m.upos"),
        *("h.lemma|c.lemma|m.t", "h.upos|c.lemma|m.upos"),
    ],
    RELATION_BESIDE: ["h.t|s.t|m.t", "s.t|m.t", "s.w|m.t", "h.w|s.t|m.t", "h.t|s.w|m.t", "h.upos|s.upos|m.upos"],
    RELATION_ABOVE: ["g.t|h.t|m.t", "g.w|m.t", "g.t|h.t|m.w"],
    SIBLING: [
        *("h.t|s.t|m.t", "s.t|m.t", "s.w|m.w", "s.w|m.t", "s.t|m.w", "h.w|s.t|m.t", "h.t|s.w|m.t", "h.t|s.t|m.w"),
        *("h.w|s.w|m.t", "h.w|s.t|m.w", "h.lemma|s.lemma|m.t", "h.upos|s.upos|m.upos", "h.feats|s.feats|m.feats"),
        *("h.c4|s.c4|m.c4", "h.t|s.t|m.c6", "s.c6|m.c6"),
    ],
    GRAND: [
        *("g.t|h.t|m.t", "g.t|m.t", "g.w|m.w", "g.w|m.t", "g.t|m.w", "g.w|h.t|m.t", "g.t|h.w|m.t", "g.t|h.t|m.w"),
        *("g.w|h.t|m.w", "g.lemma|h.t|m.w", "g.upos|h.upos|m.upos"),
        *("g.c4|h.c4|m.c4", "g.t|h.t|m.c6", "g.c6|m.c6"),
    ],
    TRIPLE: ["g.t|h.t|s.t|m.t"],
    RANK_HEAD: ["h.t", "h.w", "h.t|h.t+1", "h.t-1|h.t"],
    RANK_WORD: ["m.t", "m.w", "m.t|m.t+1", "m.t-1|m.t"],
    RANK: [
        *("h.t|m.t", "h.w|m.t", "h.t|m.w", "h.w|m.w", "h.t|h.t+1|m.t-1|m.t", "h.t-1|h.t|m.t-1|m.t"),
        *("h.t|h.t+1|m.t|m.t+1", "h.t-1|h.t|m.t|m.t+1"),
    ],
}
ROLES = {
    RELATION_CHILD: "hcm",
    RELATION_BESIDE: "hsm",
    RELATION_ABOVE: "ghm",
    SIBLING: "hsm",
    GRAND: "ghm",
    TRIPLE: "ghsm",
}
"""The words of a part; of all other groups: head and word. c: a child of the word."""
FIRST_ORDER, SECOND_ORDER = tuple(range(int(SIBLING))), (SIBLING, GRAND, TRIPLE)
RANKING = (RANK_HEAD, RANK_WORD, RANK)
MOST_ATOMS = 6


@by_reference
class Codes(NamedTuple):
    """Templates as arrays. A column is a template in one role; those of a group stand together, role after role."""

    slot_column: Ints  # int64[slots]    what of a word: the column of x
    slot_offset: Ints  # int64[slots]    and of which neighbour
    slot_salt: Keys  # uint64[slots]
    slots: Ints2  # int64[sums, MOST_ATOMS]      the slots of every sum of some; `slots` where there are fewer
    sum_of: Ints  # int64[columns]       which of the sums
    factor: Keys  # uint64[columns]      odd, by role: a head is not a word
    salt: Keys  # uint64[columns]        of the template, in its last role
    start: Ints  # int64[groups]         the first column of a group
    size: Ints  # int64[groups]          its templates


def slot_of(text: str) -> tuple[str, int]:
    """The column of a word, or of a neighbour, that an atom looks at."""
    name, offset = (text[:-2], int(text[-2:])) if text[-2:] in ("+1", "-1") else (text, 0)
    return name, offset


def usable(group: int, names: Sequence[str]) -> list[str]:
    """The templates of a group that need nothing but these columns."""
    found = []
    for text in TEMPLATES[group]:
        atoms = [slot_of(atom.partition(".")[2])[0] for atom in text.split("|")]
        if all(name in names for name in atoms):
            found.append(text)
    return found


def encode_templates(names: Sequence[str], groups: Sequence[int]) -> tuple[dict[int, list[str]], Codes]:
    """The templates of the groups over these columns of x (w, t, …), readable and as arrays; others have none."""
    texts = {group: usable(group, names) if group in groups else [] for group in TEMPLATES}
    used = [slot_of(atom.partition(".")[2]) for lines in texts.values() for line in lines for atom in line.split("|")]
    slots = list(dict.fromkeys(used))
    place = {slot: k for k, slot in enumerate(slots)}
    rows: list[list[int]] = []
    factors: list[str] = []
    salts: list[str] = []
    start, count = [], []
    for group, lines in texts.items():
        roles = ROLES.get(group, "hm")
        start.append(len(rows))
        count.append(len(lines))
        for role in roles:
            for line in lines:
                atoms = [atom for atom in line.split("|") if atom.startswith(f"{role}.")]
                own = [place[slot_of(atom.partition(".")[2])] for atom in atoms]
                rows.append(own + [len(slots)] * (MOST_ATOMS - len(own)))
                factors.append(f"role {role}")
                salts.append(f"group {group} {line}" if role == roles[-1] else "")
    salt = np.where([bool(text) for text in salts], hash_list(salts), np.uint64(0))
    sums, sum_of = np.unique(np.array(rows, np.int64).reshape(-1, MOST_ATOMS), axis=0, return_inverse=True)
    codes = Codes(
        np.array([names.index(name) for name, _ in slots], np.int64),
        np.array([offset for _, offset in slots], np.int64),
        hash_list([f"slot {name} {offset}" for name, offset in slots]),
        sums,
        sum_of.reshape(-1).astype(np.int64),
        hash_list(factors) | np.uint64(1),
        salt.astype(np.uint64),
        np.array(start, np.int64),
        np.array(count, np.int64),
    )
    return texts, codes
