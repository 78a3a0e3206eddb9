"""The scores of the CoNLL 2018 shared task, from raw text to Universal Dependencies (Zeman et al. 2018).

Gold and guess may cut the same text differently. Tokens and sentences are right when they have the same characters,
white space left out; words are aligned by their characters, and in and around multiword tokens by the longest common
subsequence of their forms. All else is scored on aligned words. Unlike the task's script this reads sentences without
heads, whose words then count as wrongly attached, and does not ask that heads make a tree.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache

from structron.errors import StructronError
from structron.eval.scores import Scores, TypeScore
from structron.text.analysis import Sentence, Word

# fmt: off
CONTENT = frozenset({
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl",
    "advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound",
    "list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep",
})
# fmt: on
"""The relations of content words, on which CLAS, MLAS and BLEX are measured."""
FUNCTIONAL = frozenset({"aux", "cop", "mark", "det", "clf", "case", "cc"})
"""The relations of function words, which MLAS measures with the content words above them."""
# fmt: off
UNIVERSAL_FEATURES = frozenset({
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case",
    "Definite", "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person",
    "Polite",
})
# fmt: on
"""The features that count; all others are a language's own."""

_SPACES = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_ROOT, _UNALIGNED, _HEADLESS, _HEADLESS_GUESS = -1, -2, -3, -4
_SHOWN = 20


@dataclass(frozen=True, repr=False)
class AlignedScore(TypeScore):
    """The score of one metric; `aligned_accuracy` is of the words that could be aligned, None where all are."""

    aligned_accuracy: float | None


@dataclass(frozen=True, repr=False)
class UDScores(Scores):
    """F1 of every metric, in per cent; `metrics` has precision, recall and counts under the shared task's names.

    Examples:
        >>> from structron import Doc
        >>> lines = ["1 She she PRON _ _ 2 nsubj _ _", "2 sleeps sleep VERB _ _ 0 root _ _", ""]
        >>> doc = Doc.from_conllu(line.replace(" ", "\\t") + "\\n" for line in lines)
        >>> from structron.eval.conll18 import ud_scores
        >>> scores = ud_scores(doc, doc)
        >>> scores.words, scores.las
        (100.0, 100.0)
    """

    tokens: float
    sentences: float
    words: float
    upos: float
    xpos: float
    ufeats: float
    alltags: float
    lemmas: float
    uas: float
    las: float
    clas: float
    mlas: float
    blex: float
    metrics: dict[str, AlignedScore]

    def report(self) -> str:
        """A table for the terminal: a line per metric."""
        lines = ["metric     precision   recall       f1  aligned     gold    found  correct"]
        for name, score in self.metrics.items():
            aligned = "" if score.aligned_accuracy is None else f"{score.aligned_accuracy:.2f}"
            lines.append(
                f"{name:<9}  {score.precision:9.2f}{score.recall:9.2f}{score.f1:9.2f}{aligned:>9}"
                f"{score.gold:9d}{score.found:9d}{score.correct:9d}"
            )
        return "\n".join(lines)


def ud_scores(gold: Iterable[Sentence], guess: Iterable[Sentence]) -> UDScores:
    """Score the sentences, or the Doc, that were guessed for a text against the gold ones of the same text."""
    expected, found = _Side(gold, _HEADLESS), _Side(guess, _HEADLESS_GUESS)
    _check_same_text(expected.characters, found.characters)
    metrics = {
        "Tokens": _span_score(expected.tokens, found.tokens),
        "Sentences": _span_score(expected.sentences, found.sentences),
        **_word_scores(expected.words, found.words),
    }
    return UDScores(**{name.lower(): score.f1 for name, score in metrics.items()}, metrics=metrics)


# -- the two sides -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Word:
    """A word as it is compared: `start` and `end` are those of its token, heads and children are places in the list."""

    start: int
    end: int
    multiword: bool
    form: str  # in lower case
    lemma: str
    upos: str
    xpos: str
    feats: str
    relation: str
    head: int
    children: list[int] = field(default_factory=list)  # the function words below it


class _Side:
    """All sentences of a side in one: its characters without white space, and spans of them."""

    def __init__(self, sentences: Iterable[Sentence], headless: int):
        self.tokens: list[tuple[int, int]] = []
        self.sentences: list[tuple[int, int]] = []
        self.words: list[_Word] = []
        pieces: list[str] = []
        end = 0
        for sentence in sentences:
            if not sentence.tokens:
                continue
            first, beginning = len(self.words), end
            for token in sentence.tokens:
                form = _SPACES.sub("", token.form)
                if not form:
                    where = f"sentence {len(self.sentences) + 1}"
                    raise StructronError(f"{where}: token {token.form!r} is white space; expected visible characters")
                start, end = end, end + len(form)
                pieces.append(form)
                self.tokens.append((start, end))
                many = token.is_multiword
                for word in token.words:
                    spelled = word.form if many else form
                    self.words.append(_make_word(word, start, end, many, spelled.lower(), first, headless))
            self.sentences.append((beginning, end))
            self._link(first)
        self.characters = "".join(pieces)

    def _link(self, first: int) -> None:
        """Give the words of a sentence, from `first` on, their function words."""
        for place in range(first, len(self.words)):
            word = self.words[place]
            if word.relation in FUNCTIONAL and first <= word.head < len(self.words):
                self.words[word.head].children.append(place)


def _make_word(word: Word, start: int, end: int, many: bool, form: str, first: int, headless: int) -> _Word:
    head = headless if word.head is None else first + word.head - 1 if word.head else _ROOT
    relation = word.deprel.partition(":")[0]
    return _Word(start, end, many, form, word.lemma, word.upos, word.xpos, _universal(word.feats), relation, head)


@lru_cache(maxsize=1 << 14)
def _universal(feats: str) -> str:
    """The universal features among a word's, in order."""
    return "|".join(sorted(feat for feat in feats.split("|") if feat.partition("=")[0] in UNIVERSAL_FEATURES))


def _check_same_text(gold: str, guess: str) -> None:
    if gold == guess:
        return
    place = next((k for k, (a, b) in enumerate(zip(gold, guess, strict=False)) if a != b), min(len(gold), len(guess)))
    expected, found = (repr(text[place : place + _SHOWN]) if text[place:] else "the end" for text in (gold, guess))
    raise StructronError(
        f"the predicted tokens spell a different text from character {place + 1} on (white space not counted): "
        f"{found}; expected {expected}"
    )


# -- alignment -----------------------------------------------------------------------------------------------------


def _align(gold: Sequence[_Word], guess: Sequence[_Word]) -> list[tuple[int, int]]:
    """The places of words that belong together, gold and guess."""
    pairs: list[tuple[int, int]] = []
    g = s = 0
    while g < len(gold) and s < len(guess):
        a, b = gold[g], guess[s]
        if a.multiword or b.multiword:
            if not b.multiword and b.start < a.start:
                s += 1
            elif not a.multiword and a.start < b.start:
                g += 1
            g_end, s_end = _region(gold, guess, g, s, a.end if a.multiword else b.end)
            pairs += _common_subsequence(gold, guess, range(g, g_end), range(s, s_end))
            g, s = g_end, s_end
        elif (a.start, a.end) == (b.start, b.end):
            pairs.append((g, s))
            g, s = g + 1, s + 1
        elif a.start <= b.start:
            g += 1
        else:
            s += 1
    return pairs


def _region(gold: Sequence[_Word], guess: Sequence[_Word], g: int, s: int, end: int) -> tuple[int, int]:
    """Where the span ends, on both sides, that multiword tokens of either side reach into, one after the other."""

    def beyond(words: Sequence[_Word], k: int) -> bool:
        if k >= len(words):
            return True
        return words[k].start >= end if words[k].multiword else words[k].end > end

    while not (beyond(gold, g) and beyond(guess, s)):
        if g < len(gold) and (s >= len(guess) or gold[g].start <= guess[s].start):
            word, g = gold[g], g + 1
        else:
            word, s = guess[s], s + 1
        if word.multiword:
            end = max(end, word.end)
    return g, s


def _common_subsequence(gold: Sequence[_Word], guess: Sequence[_Word], a: range, b: range) -> list[tuple[int, int]]:
    """The longest common subsequence of two spans by form, the leftmost pairs first."""
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            same = gold[a[i]].form == guess[b[j]].form
            longest[i][j] = max(longest[i + 1][j], longest[i][j + 1], longest[i + 1][j + 1] + 1 if same else 0)
    pairs = []
    i = j = 0
    while i < len(a) and j < len(b):
        if gold[a[i]].form == guess[b[j]].form:
            pairs.append((a[i], b[j]))
            i, j = i + 1, j + 1
        elif longest[i][j] == longest[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


# -- scores --------------------------------------------------------------------------------------------------------


def _score(gold: int, found: int, correct: int, aligned: int | None = None) -> AlignedScore:
    accuracy = None if aligned is None else 100 * correct / aligned if aligned else 0.0
    return AlignedScore(**asdict(TypeScore.of(gold, found, correct)), aligned_accuracy=accuracy)


def _span_score(gold: list[tuple[int, int]], guess: list[tuple[int, int]]) -> AlignedScore:
    return _score(len(gold), len(guess), len({*gold} & {*guess}))


def _word_scores(gold: list[_Word], guess: list[_Word]) -> dict[str, AlignedScore]:
    """The scores of words and of all that is said of them."""
    pairs = _align(gold, guess)
    gold_of = {s: g for g, s in pairs}
    gold_of[_ROOT], gold_of[_HEADLESS_GUESS] = _ROOT, _HEADLESS_GUESS
    content = [word.relation in CONTENT for word in gold]
    of_content = sum(content), sum(word.relation in CONTENT for word in guess)

    def place(k: int, guessed: bool) -> int:
        return gold_of.get(k, _UNALIGNED) if guessed else k

    def arc(word: _Word, guessed: bool) -> tuple[int, str]:
        return place(word.head, guessed), word.relation

    def morphology(word: _Word, guessed: bool) -> Hashable:
        words = guess if guessed else gold
        below = [(place(k, guessed), words[k].relation, words[k].upos, words[k].feats) for k in word.children]
        return arc(word, guessed), word.upos, word.feats, tuple(below)

    def measure(key: Callable[[_Word, bool], Hashable], lemma: bool = False, all_words: bool = True) -> AlignedScore:
        scored = pairs if all_words else [(g, s) for g, s in pairs if content[g]]
        correct = 0
        for g, s in scored:
            a, b = gold[g], guess[s]
            right = key(a, False) == key(b, True)
            correct += right and (not lemma or a.lemma in ("_", b.lemma))
        totals = (len(gold), len(guess)) if all_words else of_content
        return _score(*totals, correct, len(scored))

    return {
        "Words": _score(len(gold), len(guess), len(pairs)),
        "UPOS": measure(lambda word, _: word.upos),
        "XPOS": measure(lambda word, _: word.xpos),
        "UFeats": measure(lambda word, _: word.feats),
        "AllTags": measure(lambda word, _: (word.upos, word.xpos, word.feats)),
        "Lemmas": measure(lambda word, _: None, lemma=True),
        "UAS": measure(lambda word, guessed: place(word.head, guessed)),
        "LAS": measure(arc),
        "CLAS": measure(arc, all_words=False),
        "MLAS": measure(morphology, all_words=False),
        "BLEX": measure(arc, lemma=True, all_words=False),
    }
