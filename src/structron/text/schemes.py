"""Chunk-label schemes: what IOB1, IOB2, IOBES and BILOU labels mean, which may follow which, how to convert.

Where a chunk starts and ends is decided by the rules of the CoNLL shared tasks' scorer, conlleval, for any
mixture of the letters B, I, E, S and O. Labels that break their scheme therefore still have one reading, the
one they are scored by. BILOU's L and U are read as E and S.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product

from structron.errors import StructronError, unknown

LETTERS = {"iob1": "BIO", "iob2": "BIO", "iobes": "BIOES", "bilou": "BILOU"}
"""The schemes, and the prefixes each is written with."""

Span = tuple[str, int, int]

_ALIASES = {"L": "E", "U": "S"}
_CHUNK_LETTERS = frozenset("BIOESLU")
_OUTSIDE = frozenset("O.")
_ONE_WORD = frozenset("[]")
_ENDS = frozenset((*product("BI", "BSO"), *product("ES", "BIESO")))
_STARTS = frozenset((*product("BIESO", "BS"), *product("OES", "IE")))


def split(label: str) -> tuple[str, str]:
    """The prefix and the type of a label, cut at the first hyphen: types may have hyphens of their own."""
    prefix, _, kind = label.partition("-")
    return prefix, kind


@lru_cache(maxsize=1 << 16)
def boundary(previous: str, current: str) -> tuple[bool, bool, str]:
    """Whether a chunk ends between two neighbouring labels, whether one starts there, and the second's type.

    Cached because a corpus has few distinct pairs of labels and scoring asks for every token.
    """
    before, before_kind = split(previous)
    after, kind = split(current)
    before = _ALIASES.get(before, before)
    after = _ALIASES.get(after, after)
    changed = before_kind != kind
    ends = before in _ONE_WORD or (before not in _OUTSIDE and (changed or (before, after) in _ENDS))
    starts = after in _ONE_WORD or (after not in _OUTSIDE and (changed or (before, after) in _STARTS))
    return ends, starts, kind


def spans(labels: Iterable[str]) -> list[Span]:
    """The chunks of one sentence as (type, start, end), the end exclusive, whatever the scheme."""
    found: list[Span] = []
    opened: tuple[str, int] | None = None
    previous = "O"
    for position, label in enumerate((*labels, "O")):
        ends, starts, kind = boundary(previous, label)
        if opened and (ends or starts or label == "O"):
            found.append((*opened, position))
            opened = None
        if starts:
            opened = (kind, position)
        previous = label
    return found


def encode(chunks: Iterable[Span], length: int, scheme: str) -> list[str]:
    """The labels of a sentence of `length` words that has these chunks; the inverse of `spans`."""
    _check(scheme)
    labels = ["O"] * length
    last, single = ("L", "U") if scheme == "bilou" else ("E", "S")
    for kind, start, end in chunks:
        letters = ["B"] + ["I"] * (end - start - 1)
        if scheme == "iob1":
            touches = start > 0 and split(labels[start - 1]) in (("B", kind), ("I", kind))
            letters[0] = "B" if touches else "I"
        elif scheme != "iob2":
            letters[-1] = single if len(letters) == 1 else last
        labels[start:end] = [f"{letter}-{kind}" if kind else letter for letter in letters]
    return labels


def convert(labels: Sequence[str], source: str, target: str) -> list[str]:
    """One sentence's labels in another scheme; labels that break the source scheme come out repaired."""
    _check(source)
    _check(target)
    for label in labels:
        if split(label)[0] not in _CHUNK_LETTERS:
            raise StructronError(f"label {label!r} is not a chunk label; expected {_forms(source)}")
    return encode(spans(labels), len(labels), target)


def detect(label_sequences: Iterable[Sequence[str]]) -> str | None:
    """The scheme that a corpus is written in, or None when its labels are not chunk labels.

    IOB1 and IOB2 share their letters and differ in how a chunk begins that does not touch another of its
    type, so the majority of those decides; E, S, L and U count only when they are common. A few annotation
    errors thus cannot change the answer.
    """
    return detect_pairs(_neighbours(label_sequences))


def detect_partial(label_sequences: Iterable[Sequence[str | None]]) -> str | None:
    """`detect` where labels may be open (None): what follows an open one tells its letter, not how chunks begin."""
    pairs: Counter[tuple[str | None, str]] = Counter()
    for labels in label_sequences:
        for k, label in enumerate(labels):
            if label is not None:
                before = labels[k - 1] if k else None
                pairs[label if k and before is None else before, label] += 1
    return detect_pairs(pairs)


def agreeing(labels: Sequence[str | None], source: str, target: str) -> list[tuple[str, ...]]:
    """For every word the labels of another scheme that it may have, as far as its own and its neighbours' tell; of a
    word whose label is open (None) nothing is known: ().

    IOB1 says of an I-X after an open label neither that it begins a chunk nor that it does not.
    """
    for scheme in (source, target):
        _check(scheme)
    letters = {(True, True): "S", (True, False): "B", (False, True): "E", (False, False): "I"}
    if target == "bilou":
        letters |= {(True, True): "U", (False, True): "L"}
    if target == "iob2":
        letters |= {(True, True): "B", (False, True): "I"}
    found: list[tuple[str, ...]] = []
    for k, label in enumerate(labels):
        if label is None or split(label)[0] in _OUTSIDE:
            found.append(() if label is None else (label,))
            continue
        letter, kind = split(label)
        before, after = labels[k - 1] if k else "O", labels[k + 1] if k + 1 < len(labels) else "O"
        starts: Iterable[bool] = [letter in "BSU"] if letter != "I" or source != "iob1" else [True, False]
        ends: Iterable[bool] = [letter in "SUEL"] if source in ("iobes", "bilou") else [False, True]
        starts = starts if before is None else [boundary(before, label)[1]]
        ends = ends if after is None else [boundary(label, after)[0]]
        own = dict.fromkeys(letters[pair] for pair in product(starts, ends))
        found.append(tuple(f"{one}-{kind}" if kind else one for one in own))
    return found


def detect_pairs(pairs: Mapping[tuple[str | None, str], int]) -> str | None:
    """`detect` from the counts of neighbours; None stands before the first label of a sentence."""
    letters: Counter[str] = Counter()
    begins: Counter[str] = Counter()
    for (previous, current), count in pairs.items():
        letter, kind = split(current)
        if letter not in _CHUNK_LETTERS or (letter == "O" and kind):
            return None
        letters[letter] += count
        if previous is None or previous == "O" or split(previous)[1] != kind:
            begins[letter] += count
    if letters.keys() <= {"O"}:
        return None
    iobes, bilou = letters["E"] + letters["S"], letters["L"] + letters["U"]
    if 2 * (iobes + bilou) > begins["B"] + begins["I"] + begins["S"] + begins["U"]:
        return "iobes" if iobes >= bilou else "bilou"
    return "iob1" if begins["I"] > begins["B"] else "iob2"


def allowed(previous: str | None, current: str, scheme: str) -> bool:
    """Whether a label may follow another; `previous` is None at the start of the sentence."""
    _check(scheme)
    letter, kind = split(current)
    if letter not in tuple(LETTERS[scheme]) or (letter == "O" and kind):
        return False
    before, before_kind = split("O" if previous is None else previous)
    inside = before in ("B", "I")
    continues = inside and before_kind == kind
    if scheme == "iob1":
        return letter != "B" or continues
    if scheme == "iob2":
        return letter != "I" or continues
    return continues if letter in "IEL" else not inside


def allowed_pairs(labels: Sequence[str], scheme: str) -> list[list[bool]]:
    """Which labels may follow each other: a row for the start of the sentence, then one for each label before."""
    return [[allowed(before, label, scheme) for label in labels] for before in (None, *labels)]


def allowed_end(last: str | None, scheme: str) -> bool:
    """Whether a sentence may end with this label (None: it has no words)."""
    _check(scheme)
    return scheme in ("iob1", "iob2") or last is None or split(last)[0] not in ("B", "I")


def completed(labels: Sequence[str], scheme: str) -> list[str]:
    """The labels that chunks need beside these: what I-X may follow, and what may follow B-X."""
    _check(scheme)
    begin, inside, last = ("I", "I", "I") if scheme == "iob1" else ("B", "I", "I")
    if scheme in ("iobes", "bilou"):
        last = "E" if scheme == "iobes" else "L"
    found: list[str] = []
    for label in labels:
        letter, kind = split(label)
        needed = [begin] if letter in (inside, last) and letter != begin else []
        needed += [last] if last != inside and letter in (begin, inside) else []
        needed += [inside] if scheme == "iob1" and letter == "B" else []
        found += [f"{own}-{kind}" if kind else own for own in needed]
    return sorted(set(found) - set(labels))


def count_illegal(label_sequences: Iterable[Sequence[str]], scheme: str) -> int:
    """How many labels may not stand where they do, plus how many sentences may not end as they do."""
    _check(scheme)
    sequences = list(label_sequences)
    pairs, lasts = _neighbours(sequences), Counter(labels[-1] for labels in sequences if labels)
    steps = sum(n for (previous, current), n in pairs.items() if not allowed(previous, current, scheme))
    return steps + sum(n for last, n in lasts.items() if not allowed_end(last, scheme))


def _neighbours(label_sequences: Iterable[Sequence[str]]) -> Counter[tuple[str | None, str]]:
    """How often each label follows each; None stands before the first label of a sentence."""
    pairs: Counter[tuple[str | None, str]] = Counter()
    for labels in label_sequences:
        pairs.update(zip((None, *labels), labels, strict=False))
    return pairs


def _check(scheme: str) -> None:
    if scheme not in LETTERS:
        raise unknown("label scheme", scheme, LETTERS)


def _forms(scheme: str) -> str:
    return f"{scheme} labels such as " + ", ".join("O" if x == "O" else f"{x}-NP" for x in LETTERS[scheme])
