"""Scores for guessed labels: chunks by conlleval's rules, accuracy of tags, both together, attachment in trees.

The chunk scores agree with conlleval, the scorer of the CoNLL shared tasks, to the last digit that it prints,
so that results can be set beside published ones. All scores are percentages.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import repeat
from operator import eq
from typing import Any

from structron.errors import StructronError, shown
from structron.text.numbers import ShortFloats
from structron.text.schemes import boundary
from structron.text.trees import UNLABELLED

Labels = Sequence[Sequence[str]]
Arcs = Sequence[Sequence[tuple[int, str | None]]]
Pairs = Sequence[Sequence[tuple[str, str]]]


@dataclass(frozen=True, repr=False)
class TypeScore(ShortFloats):
    """The score of one chunk type or of one label."""

    precision: float
    recall: float
    f1: float
    gold: int
    found: int
    correct: int

    @classmethod
    def of(cls, gold: int, found: int, correct: int) -> "TypeScore":
        """The score for these counts; like conlleval's, 0 where the divisor is."""
        precision, recall = _percent(correct, found), _percent(correct, gold)
        f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
        return cls(precision, recall, f1, gold, found, correct)


class Scores(ShortFloats, ABC):
    """What all scores can do; they are dataclasses."""

    def as_dict(self) -> dict[str, Any]:
        """The scores as plain values that JSON can hold."""
        return asdict(self)  # type: ignore[call-overload]

    @abstractmethod
    def report(self) -> str:
        """The scores as a table."""

    def __str__(self) -> str:
        return self.report()


@dataclass(frozen=True, repr=False)
class _Chunks(Scores):
    """What scores of chunks have in common: `gold`, `found` and `correct` count chunks."""

    tokens: int
    gold: int
    found: int
    correct: int
    precision: float
    recall: float
    f1: float
    per_type: dict[str, TypeScore]

    def _report(self, *titles: str) -> str:
        overall = TypeScore.of(self.gold, self.found, self.correct)
        return "\n".join([*titles, *_table("type", [("overall", overall), *self.per_type.items()])])


@dataclass(frozen=True, repr=False)
class ChunkScores(_Chunks):
    """What conlleval reports: `gold`, `found` and `correct` count chunks; `accuracy` is that of single labels.

    Examples:
        >>> from structron.eval.scores import chunk_scores
        >>> scores = chunk_scores([["B-NP", "I-NP", "B-VP", "O"]], [["B-NP", "O", "B-VP", "O"]])
        >>> scores.f1, scores.accuracy
        (50.0, 75.0)
    """

    correct_tokens: int
    accuracy: float

    def report(self) -> str:
        """A table for the terminal: the overall line, then a line per type."""
        return self._report(f"{self.tokens} tokens, accuracy {self.accuracy:.2f}%, {self.gold} chunks")


@dataclass(frozen=True, repr=False)
class AccuracyScores(Scores):
    """The accuracy of tags; None where there are no tokens (or sentences) to measure it on.

    Examples:
        >>> from structron.eval.scores import accuracy_scores
        >>> scores = accuracy_scores([["a", "dog"]], [["DET", "NOUN"]], [["DET", "VERB"]], known={"a"})
        >>> scores.accuracy, scores.known_accuracy, scores.unknown_accuracy
        (50.0, 100.0, 0.0)
    """

    tokens: int
    correct: int
    accuracy: float
    known_tokens: int
    known_accuracy: float | None
    unknown_tokens: int
    unknown_accuracy: float | None
    sentence_accuracy: float | None
    per_label: dict[str, TypeScore]

    def report(self) -> str:
        """A table for the terminal: the overall lines, then a line per label."""
        lines = [f"{self.tokens} tokens, accuracy {self.accuracy:.2f}%"]
        if self.known_accuracy is not None:
            lines.append(f"{self.known_tokens} known, accuracy {self.known_accuracy:.2f}%")
        if self.unknown_accuracy is not None:
            lines.append(f"{self.unknown_tokens} unknown, accuracy {self.unknown_accuracy:.2f}%")
        if self.sentence_accuracy is not None:
            lines.append(f"sentences without an error {self.sentence_accuracy:.2f}%")
        return "\n".join([*lines, *_table("label", self.per_label.items())])


@dataclass(frozen=True, repr=False)
class JointScores(_Chunks):
    """Tags and chunk labels predicted together: conlleval's chunk scores, and the accuracy of words.

    `accuracy` is that of tags, `chunk_accuracy` that of chunk labels, `joint_accuracy` that of both; `gold`, `found`
    and `correct` count chunks.

    Examples:
        >>> from structron.eval.scores import joint_scores
        >>> scores = joint_scores([[("DT", "B-NP"), ("NN", "I-NP")]], [[("DT", "B-NP"), ("VB", "I-NP")]])
        >>> scores.accuracy, scores.chunk_accuracy, scores.f1
        (50.0, 100.0, 100.0)
    """

    accuracy: float
    chunk_accuracy: float
    joint_accuracy: float

    def report(self) -> str:
        """A table for the terminal: the accuracies, then the chunks, a line per type."""
        return self._report(
            f"{self.tokens} tokens, {self.gold} chunks",
            f"accuracy of tags {self.accuracy:.2f}%, of chunk labels {self.chunk_accuracy:.2f}%, "
            f"of both {self.joint_accuracy:.2f}%",
        )


@dataclass(frozen=True, repr=False)
class AttachmentScores(Scores):
    """How many words of dependency trees got the right head (`uas`), and the right relation to it too (`las`).

    All words count, punctuation too, and relations are compared whole; `las_universal` leaves their subtypes out, as
    the scorer of CoNLL 2018 does. `label_accuracy` is of relations whatever the heads, `root_accuracy` of gold roots,
    `sentence_uas` of whole trees. In `per_relation` a word is correct when both head and relation are. Scores
    without anything to measure are None: those of relations in unlabelled data, of roots and of sentences.

    Examples:
        >>> from structron.eval.scores import attachment_scores
        >>> scores = attachment_scores([[(2, "nsubj"), (0, "root")]], [[(2, "obj"), (0, "root")]])
        >>> scores.uas, scores.las
        (100.0, 50.0)
    """

    tokens: int
    uas: float
    las: float | None
    las_universal: float | None
    label_accuracy: float | None
    root_accuracy: float | None
    sentence_uas: float | None
    per_relation: dict[str, TypeScore]

    def report(self) -> str:
        """A table for the terminal: the overall lines, then a line per relation."""
        lines = [f"{self.tokens} tokens, UAS {self.uas:.2f}%"]
        if self.las is not None:
            lines[0] += f", LAS {self.las:.2f}%"
            lines.append(f"LAS without subtypes {self.las_universal:.2f}%, relations alone {self.label_accuracy:.2f}%")
        if self.root_accuracy is not None:
            lines.append(f"roots found {self.root_accuracy:.2f}%")
        if self.sentence_uas is not None:
            lines.append(f"sentences with all heads right {self.sentence_uas:.2f}%")
        return "\n".join([*lines, *(_table("relation", self.per_relation.items()) if self.per_relation else [])])


@dataclass(frozen=True)
class Confusion:
    """Which labels are taken for which: counts[gold][found], labels by falling number of mistakes with them."""

    labels: list[str]
    counts: list[list[int]]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> "Confusion":
        """Count pairs of a gold label and the one that was found."""
        counts = Counter(pairs)
        mistakes: Counter[str] = Counter()
        for (gold, found), times in counts.items():
            mistakes[gold] += times * (gold != found)
            mistakes[found] += times * (gold != found)
        labels = sorted(mistakes, key=lambda label: (-mistakes[label], label))
        return cls(labels, [[counts[gold, found] for found in labels] for gold in labels])

    @property
    def mistakes(self) -> list[tuple[str, str, int, int]]:
        """(gold, found, how often, how often gold there is), the most frequent first."""
        found = [
            (gold, label, times, sum(row))
            for gold, row in zip(self.labels, self.counts, strict=True)
            for label, times in zip(self.labels, row, strict=True)
            if gold != label and times
        ]
        return sorted(found, key=lambda m: (-m[2], m[0], m[1]))

    def first(self, most: int) -> "Confusion":
        """The same of the labels with most mistakes."""
        return Confusion(self.labels[:most], [row[:most] for row in self.counts[:most]])

    def as_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"labels": self.labels, "counts": self.counts}

    def report(self, top: int = 20) -> str:
        """A table for the terminal: the most frequent mistakes."""
        mistakes = self.mistakes
        if not mistakes:
            return "no label is taken for another"
        width = max(len(label or "(none)") for label in self.labels)
        lines = [f"{'gold':<{width}}  {'taken for':<{width}}    times  of gold"]
        for gold, found, times, total in mistakes[:top]:
            share = 100 * times / total
            lines.append(f"{gold or '(none)':<{width}}  {found or '(none)':<{width}}{times:9d}{share:8.2f}%")
        if len(mistakes) > top:
            lines.append(f"… {len(mistakes) - top} more kinds of mistakes")
        return "\n".join(lines)


def chunk_scores(gold_sequences: Labels, guess_sequences: Labels) -> ChunkScores:
    """Score guessed chunk labels, in any scheme that `structron.text.schemes` reads, against the gold ones."""
    _check(gold_sequences, guess_sequences, "guessed labels")
    gold_chunks: Counter[str] = Counter()
    found: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for gold, guess in zip(gold_sequences, guess_sequences, strict=True):
        last, last_guess, last_kind, last_guess_kind = "O", "O", "", ""
        matching = False
        for label, guessed in zip((*gold, "O"), (*guess, "O"), strict=True):
            ends, starts, kind = boundary(last, label)
            guess_ends, guess_starts, guess_kind = boundary(last_guess, guessed)
            if matching:
                if ends and guess_ends and last_kind == last_guess_kind:
                    correct[last_kind] += 1
                    matching = False
                elif ends != guess_ends or kind != guess_kind:
                    matching = False
            if starts:
                gold_chunks[kind] += 1
                if guess_starts and kind == guess_kind:
                    matching = True
            if guess_starts:
                found[guess_kind] += 1
            last, last_guess, last_kind, last_guess_kind = label, guessed, kind, guess_kind
    tokens = sum(map(len, gold_sequences))
    correct_tokens = _agreeing(gold_sequences, guess_sequences)
    overall = TypeScore.of(gold_chunks.total(), found.total(), correct.total())
    return ChunkScores(
        tokens=tokens,
        correct_tokens=correct_tokens,
        accuracy=_percent(correct_tokens, tokens),
        **asdict(overall),
        per_type=_by_name(gold_chunks, found, correct),
    )


def accuracy_scores(
    words: Labels,
    gold: Labels,
    guess: Labels,
    known: Container[str] | Callable[[str], bool] | None = None,
) -> AccuracyScores:
    """Score guessed tags, one per word; `known` tells the words seen in training from the others."""
    _check(gold, guess, "guessed labels")
    _check(gold, words, "words")
    pairs: Counter[tuple[str, str, bool]] = Counter()
    for labels, guessed in zip(gold, guess, strict=True):
        pairs.update(zip(labels, guessed, repeat(True)))
    tokens, correct = pairs.total(), sum(count for (label, found, _), count in pairs.items() if label == found)
    seen: Counter[tuple[bool, bool]] = Counter()
    if known is not None:
        is_known = known.__contains__ if isinstance(known, Container) else known
        for sentence, labels, guessed in zip(words, gold, guess, strict=True):
            seen.update((bool(is_known(word)), a == b) for word, a, b in zip(sentence, labels, guessed, strict=True))
    known_tokens = seen[True, True] + seen[True, False]
    unknown_tokens = seen[False, True] + seen[False, False]
    whole = sum(list(a) == list(b) for a, b in zip(gold, guess, strict=True))
    return AccuracyScores(
        tokens=tokens,
        correct=correct,
        accuracy=_percent(correct, tokens),
        known_tokens=known_tokens,
        known_accuracy=_percent(seen[True, True], known_tokens) if known_tokens else None,
        unknown_tokens=unknown_tokens,
        unknown_accuracy=_percent(seen[False, True], unknown_tokens) if unknown_tokens else None,
        sentence_accuracy=_percent(whole, len(gold)) if gold else None,
        per_label=_label_scores(pairs),
    )


def joint_scores(gold: Pairs, guess: Pairs) -> JointScores:
    """Score guessed (tag, chunk label) pairs, one per word."""
    _check(gold, guess, "guessed pairs", "gold pairs")
    tags, guessed_tags = ([[tag for tag, _ in pairs] for pairs in given] for given in (gold, guess))
    chunks, guessed_chunks = ([[chunk for _, chunk in pairs] for pairs in given] for given in (gold, guess))
    scores = chunk_scores(chunks, guessed_chunks)
    both = sum(tuple(a) == tuple(b) for x, y in zip(gold, guess, strict=True) for a, b in zip(x, y, strict=True))
    return JointScores(
        **{field.name: getattr(scores, field.name) for field in fields(_Chunks)},
        accuracy=_percent(_agreeing(tags, guessed_tags), scores.tokens),
        chunk_accuracy=scores.accuracy,
        joint_accuracy=_percent(both, scores.tokens),
    )


def attachment_scores(gold: Arcs, guess: Arcs) -> AttachmentScores:
    """Score guessed dependency trees, a (head, relation) pair per word; the relation None or "_" stands for none."""
    _check(gold, guess, "guessed heads", "gold heads")
    words: Counter[tuple[str, str, bool]] = Counter()
    roots = roots_found = whole = 0
    for arcs, guesses in zip(gold, guess, strict=True):
        heads, guessed_heads = [head for head, _ in arcs], [head for head, _ in guesses]
        words.update(
            (relation or UNLABELLED, guessed or UNLABELLED, head == guessed_head)
            for (head, relation), (guessed_head, guessed) in zip(arcs, guesses, strict=True)
        )
        roots += heads.count(0)
        roots_found += sum(head == guessed_head == 0 for head, guessed_head in zip(heads, guessed_heads, strict=True))
        whole += heads == guessed_heads
    tokens = words.total()
    labelled = any(relation != UNLABELLED for relation, _, _ in words)

    def relation_score(right: Callable[[str, str, bool], bool]) -> float | None:
        return _percent(sum(count for key, count in words.items() if right(*key)), tokens) if labelled else None

    return AttachmentScores(
        tokens=tokens,
        uas=_percent(sum(count for (_, _, attached), count in words.items() if attached), tokens),
        las=relation_score(lambda a, b, attached: attached and a == b),
        las_universal=relation_score(lambda a, b, attached: attached and a.split(":")[0] == b.split(":")[0]),
        label_accuracy=relation_score(lambda a, b, _: a == b),
        root_accuracy=_percent(roots_found, roots) if roots else None,
        sentence_uas=_percent(whole, len(gold)) if gold else None,
        per_relation=_label_scores(words) if labelled else {},
    )


def _label_scores(words: Mapping[tuple[str, str, bool], int]) -> dict[str, TypeScore]:
    """The scores of single labels, from the counts of (gold label, guessed label, whether it may be correct)."""
    expected: Counter[str] = Counter()
    found: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for (label, guessed, attached), count in words.items():
        expected[label] += count
        found[guessed] += count
        if attached and label == guessed:
            correct[label] += count
    return _by_name(expected, found, correct)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _agreeing(gold: Labels, guess: Labels) -> int:
    return sum(sum(map(eq, a, b)) for a, b in zip(gold, guess, strict=True))


def _by_name(gold: Mapping[str, int], found: Mapping[str, int], correct: Mapping[str, int]) -> dict[str, TypeScore]:
    names = sorted({*gold, *found})
    return {name: TypeScore.of(gold.get(name, 0), found.get(name, 0), correct.get(name, 0)) for name in names}


def _check(
    gold: Sequence[Sequence[object]], other: Sequence[Sequence[object]], what: str, than: str = "gold labels"
) -> None:
    """Refuse sequences that do not line up, naming the sentence: their scores would be meaningless."""
    if len(gold) != len(other):
        raise StructronError(f"{what} for {len(other)} sentences; expected {len(gold)}, as in the gold data")
    for number, (labels, others) in enumerate(zip(gold, other, strict=True), 1):
        if len(labels) != len(others):
            raise StructronError(f"sentence {number}: {len(others)} {what}; expected {len(labels)}, as many as {than}")


def _table(heading: str, rows: Iterable[tuple[str, TypeScore]]) -> list[str]:
    named = [(shown(name) or "(none)", score) for name, score in rows]
    width = max(len(heading), *(len(name) for name, _ in named), 7)
    lines = [f"{heading:<{width}}  precision   recall       f1     gold    found  correct"]
    for name, score in named:
        lines.append(
            f"{name:<{width}}  {score.precision:9.2f}{score.recall:9.2f}{score.f1:9.2f}"
            f"{score.gold:9d}{score.found:9d}{score.correct:9d}"
        )
    return lines


@dataclass(frozen=True, repr=False)
class SegmentationScores(Scores):
    """How well text was split: F1 of tokens and of sentences, and their mean.

    Examples:
        >>> from structron.eval.scores import segmentation_scores
        >>> gold, found = ([(0, 2), (3, 9), (9, 10)], [(0, 10)]), ([(0, 2), (3, 10)], [(0, 10)])
        >>> scores = segmentation_scores([gold], [found])
        >>> scores.token_f1, scores.sentence_f1
        (40.0, 100.0)
    """

    tokens: int
    token_f1: float
    sentence_f1: float
    f1: float
    per_kind: dict[str, TypeScore]

    def report(self) -> str:
        """A table for the terminal."""
        return "\n".join([f"{self.tokens} tokens", *_table("", list(self.per_kind.items()))])


Spans = tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]


def segmentation_scores(gold: Sequence[Spans], guess: Sequence[Spans]) -> SegmentationScores:
    """Scores of (tokens, sentences), spans of the same texts."""
    found = {}
    for k, name in enumerate(("tokens", "sentences")):
        pairs = [(set(right[k]), set(own[k])) for right, own in zip(gold, guess, strict=True)]
        correct = sum(len(right & own) for right, own in pairs)
        found[name] = TypeScore.of(sum(len(r) for r, _ in pairs), sum(len(g) for _, g in pairs), correct)
    token, sentence = found["tokens"], found["sentences"]
    return SegmentationScores(token.gold, token.f1, sentence.f1, (token.f1 + sentence.f1) / 2, found)
