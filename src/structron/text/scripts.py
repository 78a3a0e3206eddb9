"""Edit scripts: how a lemma is made of a form, and the words of a multiword token of its spelling, as labels to learn.

    Houses  → house     Ls→             cut "s"; lower case
    gegeben → geben     Lge→|           cut "ge" in front
    paris   → Paris     T               first letter upper case
    πόλεως  → πόλη      Lεως→η          … and where the accent moves, κυβερνήσεων → κυβέρνηση: L´4εων→η, the fourth
                                        letter from the end has it then
    went    → go        =go             nothing in common: the lemma itself
    didn't  → did n't   ~Ln't→ n't      words, one of them what an edit leaves of the token

A script names what it cuts, so it fits words with that beginning and ending alone, and the same script is found for all
words that change in the same way.
"""

import unicodedata
from functools import lru_cache
from itertools import pairwise

ARROW, BAR, WHOLE = "→", "|", "="
LOWER, KEEP, TITLE, UPPER = "L", "K", "T", "U"
CASES = (LOWER, KEEP, TITLE, UPPER)
ACUTE, ACCENT = "´", "\u0301"
ADDRESS = frozenset("/@_")
MARKS = frozenset(ARROW + BAR + WHOLE + ACUTE)


def _common(a: str, b: str) -> tuple[int, int, int]:
    """(start in a, start in b, length) of the longest run that both have, the leftmost of several."""
    n = 0
    while n < len(a) and n < len(b) and a[n] == b[n]:
        n += 1
    if 2 * n >= len(b):
        return 0, 0, n
    best, before = (0, 0, 0), [0] * (len(b) + 1)
    for i, char in enumerate(a):
        row = [0] * (len(b) + 1)
        for j, other in enumerate(b):
            if char == other:
                row[j + 1] = before[j] + 1
                if row[j + 1] > best[2]:
                    best = (i + 1 - row[j + 1], j + 1 - row[j + 1], row[j + 1])
        before = row
    return best


def _edit(form: str, lemma: str) -> str | None:
    """`front→new|back→new`, parts that change nothing left out; None: too little in common."""
    i, j, n = _common(form, lemma)
    if 2 * n < len(lemma) or (n < 2 and n < len(lemma)):
        return None
    parts = [(form[:i], lemma[:j]), (form[i + n :], lemma[j + n :])]
    if any(MARKS & set(text) for part in parts for text in part):
        return None
    front, back = (f"{old}{ARROW}{new}" if old or new else "" for old, new in parts)
    return f"{front}{BAR}{back}" if front else back


@lru_cache(maxsize=1 << 16)
def lemma_script(form: str, lemma: str) -> str:
    """The shortest script that makes a lemma of a form; an address stays as it is, whatever its letters."""
    if form == lemma and not ADDRESS.isdisjoint(form):
        return KEEP
    lower, found = form.lower(), []
    small = lemma == lemma.lower()
    for case, base, made in (
        (LOWER, lower, lemma if small else ""),
        (KEEP, form, lemma),
        (TITLE, lower, lemma[:1].lower() + lemma[1:]),
        (UPPER, lower, lemma.lower()),
    ):
        edit = _edit(base, made) if made else None
        if edit is not None and apply_lemma(case + edit, form) == lemma:
            found.append(case + edit)
        if small and form == lower:
            break  # the other cases come to the same edit
    return min(found, key=len, default="") or _accent_script(form, lemma) or WHOLE + lemma


def _without_accents(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).replace(ACCENT, ""))


def _accented(text: str, place: int) -> str:
    """A text with an acute accent on a letter, counted from the end; 0: on none."""
    letters = unicodedata.normalize("NFD", text)
    if place:
        bases = [k for k, char in enumerate(letters) if not unicodedata.combining(char)]
        end = bases[len(bases) - place + 1] if place > 1 else len(letters)
        letters = letters[:end] + ACCENT + letters[end:]
    return unicodedata.normalize("NFC", letters)


def _accent_script(form: str, lemma: str) -> str | None:
    """A script that moves the accent, where one edit cannot."""
    letters = unicodedata.normalize("NFD", lemma)
    if ACCENT not in unicodedata.normalize("NFD", form) + letters or letters.count(ACCENT) > 1:
        return None
    after = letters.partition(ACCENT)[2]
    place = 1 + sum(not unicodedata.combining(char) for char in after) if ACCENT in letters else 0
    for case, base in ((LOWER, form.lower()), (KEEP, form)):
        edit = _edit(_without_accents(base), _without_accents(lemma)) if place < 10 else None
        if edit is not None and apply_lemma(f"{case}{ACUTE}{place}{edit}", form) == lemma:
            return f"{case}{ACUTE}{place}{edit}"
    return None


def _parts(script: str) -> tuple[str, str, str, str]:
    """front, new front, back, new back."""
    front, bar, back = script[3 if script[1:2] == ACUTE else 1 :].partition(BAR)
    if not bar:
        front, back = "", front
    old_front, _, new_front = front.partition(ARROW)
    old_back, _, new_back = back.partition(ARROW)
    return old_front, new_front, old_back, new_back


@lru_cache(maxsize=1 << 16)
def apply_lemma(script: str, form: str) -> str | None:
    """The lemma that a script makes of a form; None: it does not fit."""
    if script[:1] == WHOLE:
        return script[1:]
    case = script[:1]
    moves = script[1:2] == ACUTE
    base = form if case == KEEP else form.lower()
    base = _without_accents(base) if moves else base
    front, new_front, back, new_back = _parts(script)
    if len(base) < len(front) + len(back) or not (base.startswith(front) and base.endswith(back)):
        return None
    made = new_front + base[len(front) : len(base) - len(back)] + new_back
    if moves:
        place = int(script[2]) if script[2:3].isdecimal() else 0
        made = _accented(made, place) if place <= len(_without_accents(made)) else made
    return {TITLE: made[:1].upper() + made[1:], UPPER: made.upper()}.get(case, made)


CHANGES = {LOWER: "lower case", TITLE: "first letter a capital", UPPER: "capitals"}


def lemma_in_words(script: str, form: str) -> str:
    """What a script makes of a form, and how: `houses → house: without -s`."""
    lemma = apply_lemma(script, form) or form
    if script[:1] == WHOLE:
        return f"{lemma}: a form of its own"
    front, new_front, back, new_back = _parts(script)
    recased = {LOWER: form.lower(), TITLE: form.lower().capitalize(), UPPER: form.upper()}.get(script[:1], form) != form
    said = [CHANGES[script[:1]]] if recased else []
    for old, new, shown in ((front, new_front, "{}-"), (back, new_back, "-{}")):
        if old and new:
            said.append(f"{shown.format(old)} becomes {shown.format(new)}")
        elif old or new:
            said.append(f"{'without' if old else 'with'} {shown.format(old or new)}")
    if script[1:2] == ACUTE:
        said.append("the accent moves")
    return f"{lemma}: {', '.join(said) or 'unchanged'}"


def lemma_demands(script: str) -> tuple[str, str]:
    """How a form has to begin and end, in lower case."""
    if script[:1] not in CASES or script[1:2] == ACUTE:
        return "", ""
    front, _, back, _ = _parts(script)
    return front.lower(), back.lower()


# -- multiword tokens --------------------------------------------------------------------------------------------------

SINGLE = "_"
"""The script of a token that is one word."""
STEM = "~"


@lru_cache(maxsize=1 << 16)
def words_script(form: str, words: tuple[str, ...]) -> str:
    """The script that makes the words of a token; one of them may be what an edit leaves of the token.

    didn't → did n't: `~Ln't→ n't`        della → di la: `di ~Ldel→|`        vederlo → vedere lo: `~Llo→e lo`
    """
    if words == (form,):
        return SINGLE
    lower, small = form.lower(), [word.lower() for word in words]
    common = [_common(lower, word)[2] for word in small]
    stem = 0 if lower.startswith(small[0]) else max(range(len(words)), key=lambda k: common[k])
    edit = _edit(lower, small[stem])
    if edit is not None:
        found = " ".join([*small[:stem], STEM + LOWER + edit, *small[stem + 1 :]])
        if apply_words(found, form) == words:
            return found
    found = " ".join(small)
    return found if apply_words(found, form) == words else WHOLE + " ".join(words)


@lru_cache(maxsize=1 << 16)
def apply_words(script: str, form: str) -> tuple[str, ...]:
    """The words that a script makes of a token; the token itself, where it does not fit."""
    if script == SINGLE:
        return (form,)
    if script[:1] == WHOLE:
        return tuple(script[1:].split(" "))
    made = []
    for part in script.split(" "):
        word = apply_lemma(part[1:], form) if part[:1] == STEM else part
        if not word:
            return (form,)
        made.append(word)
    if form.isupper() and len(form) > 1:
        return tuple(word.upper() for word in made)
    spelled = "".join(made)
    if spelled == form.lower() and len(spelled) == len(form):
        cuts = [sum(map(len, made[:k])) for k in range(len(made) + 1)]
        return tuple(form[lo:hi] for lo, hi in pairwise(cuts))
    return (made[0][:1].upper() + made[0][1:], *made[1:]) if form[:1].isupper() else tuple(made)


def words_demands(script: str) -> tuple[str, str]:
    """How a token has to begin and end."""
    stem = next((part for part in script.split(" ") if part[:1] == STEM), "")
    return lemma_demands(stem[1:]) if script[:1] != WHOLE and stem else ("", "")
