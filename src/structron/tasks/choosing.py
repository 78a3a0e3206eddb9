"""Which sentences a person should label next: those that a model doubts, on which models differ, or any at random.

    sentences ──doubts──▶ how sure, and why ──Choice──▶ the least sure, some at random, no duplicates

`simulate` plays the person with gold data: how many words have to be looked at, and how many labels corrected, until
models are as good as they get.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import islice, pairwise
from math import inf, log
from typing import Any

import numpy as np

from structron.errors import StructronError, unknown
from structron.fields import options_of
from structron.tasks.capabilities import able, able_tasks, reason
from structron.text.numbers import ShortFloats

WORDS = "words"
CRITERIA = ("margin", "margin-per-word", "doubt-per-word", WORDS, "disagreement", "random")
ASKED = 2
"""Words of a sentence that a person is asked for by the criterion `words`; the others stay open."""
SMALL = 0.1
"""The share of words whose margins are small: a word at its edge is doubted by 1/e, one without a margin by 1."""
ALIKE = 0.5
"""Sentences that share so much of their words and pairs of words are near-duplicates."""
SPARE = 20
"""Times as many candidates as are wanted are kept, since some are duplicates of others."""
SHARE_AT_RANDOM = 0.1
MOST_SENTENCES = 1 << 40
"""Sentences that can be asked for: more than there are."""


@dataclass(frozen=True, slots=True, repr=False)
class Doubt(ShortFloats):
    """How sure models are of a sentence: the smaller the value, the more a label would teach; word: the place of the
    word that they doubt most."""

    value: float
    reason: str
    word: int | None = None
    ask: tuple[int, ...] = ()
    """The words to be labelled, where not all of them are."""

    def to_json(self) -> dict[str, Any]:
        word = None if self.word is None else self.word + 1
        found = {"value": None if self.value == inf else self.value, "reason": self.reason, "word": word}
        return found | ({"ask": [place + 1 for place in self.ask]} if self.ask else {})


class Doubter:
    """Looks at the sentences of a pool, batch by batch. What is a small margin, the first batch tells."""

    def __init__(self, models: Sequence[Any], by: str, jobs: int = 1):
        """models: several for disagreement, else one; by: one of CRITERIA but random."""
        self.models, self.by, self.jobs = models, by, jobs
        self.small: float | None = None

    def __call__(self, sentences: Sequence[Any], labelled: Sequence[Collection[int]] = ()) -> list[Doubt]:
        """One for each sentence. labelled: the words of each that are not asked for any more."""
        if self.by == "disagreement":
            return _disagreements([model.predict_columns(sentences, jobs=self.jobs) for model in self.models])
        model = self.models[0]
        if able(model.options_class, "confidence"):
            labels, margins = model.predict_with_margins(sentences, jobs=self.jobs)
            self._settle(margin for own in margins for margin in own)
            if self.by == WORDS:
                done = labelled or [()] * len(labels)
                return [_words_asked(*own) for own in zip(labels, margins, done, strict=True)]
            return [self._doubt(*own) for own in zip(labels, margins, strict=True)]
        lists = model.nbest(sentences, 2, jobs=self.jobs)
        gaps = [own[0][1] - own[1][1] if len(own) > 1 else inf for own in lists]
        if self.by == "margin":
            return [Doubt(gap, f"margin {gap:.4g} of the whole analysis") for gap in gaps]
        gaps = [gap / max(len(own), 1) for gap, own in zip(gaps, sentences, strict=True)]
        self._settle(gaps)
        return [Doubt(-self._doubted([gap]), f"margin {gap:.4g} a word of the whole analysis") for gap in gaps]

    def _settle(self, margins: Iterable[float]) -> None:
        """What a small margin is: the first tell."""
        finite = [margin for margin in margins if margin < inf]
        if self.small is None and finite:
            self.small = max(float(np.quantile(finite, SMALL)), 1e-9)

    def _doubted(self, margins: Sequence[float]) -> float:
        """The mean doubt, from 0 to 1."""
        return float(np.mean(np.exp(-np.array(margins) / (self.small or 1.0))))

    def _doubt(self, labels: Sequence[str], margins: Sequence[float]) -> Doubt:
        if not margins:
            return Doubt(inf, "no words")
        word = int(np.argmin(margins))
        where = f"{margins[word]:.4g} at word {word + 1}, {labels[word]}"
        if self.by == "margin":
            return Doubt(margins[word], f"margin {where}", word)
        if self.by == "doubt-per-word":
            doubt = self._doubted(margins)
            return Doubt(-doubt, f"doubt {doubt:.4f} a word, smallest margin {where}", word)
        finite = [margin for margin in margins if margin < inf]
        mean = float(np.mean(finite)) if finite else inf
        return Doubt(mean, f"mean margin {mean:.4g}, {where}", word)


def _words_asked(labels: Sequence[str], margins: Sequence[float], labelled: Collection[int]) -> Doubt:
    """The words with the smallest margins."""
    places = sorted((i for i in range(len(margins)) if i not in labelled), key=margins.__getitem__)[:ASKED]
    if not places:
        return Doubt(inf, "no words")
    text = ", ".join(f"word {i + 1}: margin {margins[i]:.4g}, {labels[i]}" for i in places)
    return Doubt(margins[places[0]], text, places[0], tuple(places))


def doubts(models: Sequence[Any], sentences: Sequence[Any], by: str, jobs: int = 1) -> list[Doubt]:
    """Those of sentences that are looked at together; see Doubter."""
    return Doubter(models, by, jobs)(sentences)


def _disagreements(found: list[list[list[list]]]) -> list[Doubt]:
    """Of models: the mean over the words of the entropy of their votes."""
    doubts = []
    for columns in zip(*found, strict=True):
        votes: list[Counter[tuple]] = [
            Counter(words) for words in zip(*(list(zip(*own, strict=True)) for own in columns), strict=True)
        ]
        entropies = [-sum(n / len(found) * log(n / len(found)) for n in own.values()) for own in votes]
        if not entropies or max(entropies) == 0:
            doubts.append(Doubt(0.0 if entropies else inf, "the models agree"))
            continue
        word = int(np.argmax(entropies))
        labels = ", ".join("/".join(map(str, columns)) for columns, _ in votes[word].most_common())
        count = sum(entropy > 0 for entropy in entropies)
        reason = f"{count} of {len(votes)} words differ, most word {word + 1}: {labels}"
        doubts.append(Doubt(-float(np.mean(entropies)), reason, word))
    return doubts


def check_criterion(by: str, models: Sequence[Any]) -> None:
    """Refuse what cannot be asked of these models."""
    if by not in CRITERIA:
        raise unknown("by", by, CRITERIA)
    if by == "disagreement":
        if len(models) < 2:
            raise StructronError("disagreement: one model; expected two or more of the same task (--model, repeated)")
        if len({model.task for model in models}) > 1:
            raise StructronError(
                f"disagreement: models of {', '.join(model.task for model in models)}; expected one task"
            )
        return
    if len(models) > 1:
        raise StructronError(f"by: {by} with {len(models)} models; expected one, or disagreement")
    kind = models[0].options_class
    if by == WORDS and not able(kind, "open_label"):
        raise StructronError(f"by: {by}: not available for the {kind.task}; works with {', '.join(_with_words())}")
    what = "confidence" if by in ("margin-per-word", WORDS) or not able(kind, "nbest") else "nbest"
    if by != "random" and not able(kind, what):
        others = f"works with {', '.join(able_tasks(what))}"
        raise StructronError(f"by: {by}: not available for the {kind.task} ({reason(kind, what)}); {others}")


def _with_words() -> list[str]:
    """The tasks that learn from single words and know their margins."""
    return [task for task in able_tasks("open_label") if task in able_tasks("confidence")]


@dataclass(order=True, slots=True)
class _Kept:
    key: tuple[float, int]  # the largest goes first: minus what is to be small
    entry: Any = field(compare=False)


class Choice:
    """Chooses from a stream of sentences; its memory does not depend on how many there are."""

    def __init__(self, number: int, share: float = SHARE_AT_RANDOM, diverse: bool = False, seed: int = 1):
        """share: of the number, drawn at random.   diverse: leave out near-duplicates, too."""
        number = min(number, MOST_SENTENCES)
        self.number, self.diverse = number, diverse
        self.at_random = min(number, round(number * share))
        self.size = max(1000, SPARE * number)
        self.rng, self.seen = np.random.default_rng(seed), 0
        self.least: list[_Kept] = []
        self.drawn: list[_Kept] = []

    def add(self, words: Sequence[str], doubt: Doubt | None, payload: Any) -> None:
        """One more sentence; doubt: None: any is as good as another."""
        self.seen += 1
        if not words:
            return
        entry, chance = (tuple(words), doubt, payload), float(self.rng.random())
        self._keep(self.drawn, chance, entry)
        if doubt is not None:
            self._keep(self.least, doubt.value, entry)

    def _keep(self, heap: list[_Kept], value: float, entry: Any) -> None:
        own = _Kept((-value, -self.seen), entry)
        if len(heap) < self.size:
            heappush(heap, own)
        elif own.key > heap[0].key:
            heappushpop(heap, own)

    def chosen(self) -> list[tuple[Doubt, Any]]:
        """The sentences, those drawn at random last: why, and what was given with them."""
        ranked, drawn = ([own.entry for own in sorted(heap, reverse=True)] for heap in (self.least, self.drawn))
        kept: list[frozenset] = []
        texts: set[tuple[str, ...]] = set()
        found = self._take(ranked, self.number - self.at_random, kept, texts)
        at_random = [(words, None, payload) for words, _, payload in drawn]
        return found + self._take(at_random, self.number - len(found), kept, texts)

    def _take(self, entries: Iterable[Any], number: int, kept: list[frozenset], texts: set) -> list[tuple[Doubt, Any]]:
        """The first entries that are no duplicates of those before."""

        def fresh() -> Iterable[tuple[Doubt, Any]]:
            for words, doubt, payload in entries:
                if words in texts or (self.diverse and _is_alike(words, kept)):
                    continue
                texts.add(words)
                if self.diverse:
                    kept.append(_shingles(words))
                yield doubt or Doubt(0.0, "random"), payload

        return list(islice(fresh(), number))


def _shingles(words: Sequence[str]) -> frozenset:
    """The words of a sentence and its pairs of words."""
    small = [word.casefold() for word in words]
    return frozenset([*small, *pairwise(small)])


def _is_alike(words: Sequence[str], kept: Iterable[frozenset]) -> bool:
    own = _shingles(words)
    return any(len(own & other) >= ALIKE * len(own | other) for other in kept)


# -- a person simulated ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Simulated:
    """The rounds of a simulation: for each criterion the words looked at, the labels corrected and the score."""

    metric: str
    everything: dict[str, float]  # the words of all data, and the score of a model of them
    curves: dict[str, list[dict[str, float]]]

    def words_until(self, by: str, share: float = 0.95) -> float | None:
        """The words looked at until a share of the final score is reached; None: it is not."""
        wanted = share * self.everything["score"]
        return next((step["words"] for step in self.curves[by] if step["score"] >= wanted), None)

    def to_json(self) -> dict[str, Any]:
        reached = {by: self.words_until(by) for by in self.curves}
        return {"metric": self.metric, "everything": self.everything, "words_to_95": reached, "curves": self.curves}

    def panels(self) -> list[tuple[str, dict[str, list[tuple[float, float]]], dict[str, float]]]:
        """What is drawn: score by words looked at, and by labels corrected."""

        def over(axis: str) -> dict[str, list[tuple[float, float]]]:
            return {by: [(step[axis], step["score"]) for step in steps] for by, steps in self.curves.items()}

        name = f"{self.metric} on dev data"
        return [
            (f"{name}, by words looked at", over("words"), {}),
            (f"{name}, by corrections", over("corrections"), {}),
        ]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a simulation goes: sentences to begin with, sentences a round, rounds."""

    start: int = 50
    number: int = 50
    rounds: int = 10
    share: float = 0.0
    diverse: bool = False
    seed: int = 1
    committee: int = 3


def simulate(
    model: Any,
    pool: Sequence[Any],
    dev: Sequence[Any],
    criteria: Sequence[str],
    plan: Plan,
    tell: Callable[[str], None] = lambda text: None,
) -> Simulated:
    """Play the person with gold data. model: of the task, with the options that all models here are trained with."""
    order = np.random.default_rng(plan.seed).permutation(len(pool)).tolist()
    begin, word = order[: plan.start], model.roles_.names.index(model.roles_.word)
    everything = _trained(model, pool, plan.seed)
    final = {"words": float(sum(map(len, pool))), "score": everything.score(dev)}
    tell(f"all {len(pool)} sentences: {model.metric} {final['score']:.2f}")
    curves: dict[str, list[dict[str, float]]] = {}
    for by in criteria:
        person = _Person(pool, model.roles_, begin)
        curves[by] = []
        for turn in range(plan.rounds + 1):
            models = _committee(model, person.rows(), by, plan)
            score, (words, corrections) = models[0].score(dev), (person.words, person.corrections)
            curves[by].append({"words": float(words), "corrections": float(corrections), "score": score})
            tell(f"{by}: {words} words, {corrections} corrections, {model.metric} {score:.2f}")
            rest = [k for k in order[plan.start :] if len(person.labelled[k]) < len(pool[k])]
            if turn == plan.rounds or not rest:
                break
            choice = Choice(plan.number, plan.share, plan.diverse, plan.seed + turn)
            given, done = [pool[k] for k in rest], [person.labelled[k] for k in rest]
            found = [None] * len(rest) if by == "random" else Doubter(models, by, model.options.jobs)(given, done)
            for k, doubt in zip(rest, found, strict=True):
                choice.add([row[word] for row in pool[k]], doubt, k)
            chosen = choice.chosen()
            wrong = _corrections(models[0], [pool[k] for _, k in chosen])
            for (doubt, k), own in zip(chosen, wrong, strict=True):
                person.label(k, doubt.ask or range(len(pool[k])), own)
    return Simulated(model.metric, final, curves)


class _Person:
    """What a simulated person has labelled: the places of words, sentence by sentence; and how much work it was."""

    def __init__(self, pool: Sequence[Any], roles: Any, begin: Iterable[int]):
        """begin: sentences that are labelled from the start; of these every label is written by hand."""
        self.pool, self.places = pool, [roles.names.index(name) for name in roles.outputs]
        self.labelled: dict[int, set[int]] = {k: set() for k in range(len(pool))}
        self.order: list[int] = []
        self.words = self.corrections = 0
        for k in begin:
            self.label(k, range(len(pool[k])), [True] * len(pool[k]))

    def label(self, k: int, places: Iterable[int], wrong: Sequence[bool]) -> None:
        """Label some words of a sentence. wrong: whether each word's label has to be corrected."""
        fresh = [place for place in places if place not in self.labelled[k]]
        self.order += [k] if not self.labelled[k] else []
        self.labelled[k].update(fresh)
        self.words += len(fresh)
        self.corrections += sum(wrong[place] for place in fresh)

    def rows(self) -> list[Any]:
        """The sentences with what is labelled; other labels are open."""
        return [self._opened(self.pool[k], self.labelled[k]) for k in self.order]

    def _opened(self, sentence: Any, labelled: Collection[int]) -> Any:
        if len(labelled) == len(sentence):
            return sentence
        rows = [list(row) for row in sentence]
        for i, row in enumerate(rows):
            for place in self.places if i not in labelled else ():
                row[place] = None
        return rows


def _trained(model: Any, rows: Sequence[Any], seed: int, **changed: Any) -> Any:
    """A model with the same options that has learned from these sentences alone."""
    given = model.get_params() | {"verbose": False, "seed": seed} | changed
    return type(model)(**given).fit(list(rows))


def _committee(model: Any, rows: Sequence[Any], by: str, plan: Plan) -> list[Any]:
    """The model of this round; for disagreement several runs beside it, the first a mean like that of the others."""
    first = _trained(model, rows, plan.seed)
    if by != "disagreement":
        return [first]
    runs = {"runs": 1} if "runs" in options_of(type(model)) else {}
    return [first, *(_trained(model, rows, plan.seed + k, **runs) for k in range(1, plan.committee))]


def _corrections(model: Any, rows: Sequence[Any]) -> list[list[bool]]:
    """Which words of these sentences a person corrects when the model has filled in its predictions."""
    gold = [model._columns_of(own) for own in model._gold(rows)]
    found = model.predict_columns(rows)
    pairs = ((zip(*own, strict=True), zip(*other, strict=True)) for own, other in zip(gold, found, strict=True))
    return [[a != b for a, b in zip(own, other, strict=True)] for own, other in pairs]
