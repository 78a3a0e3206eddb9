"""Dror & Reichart (2016), dependency parsing: trainings on the treebanks that stand in for those of CoNLL 2007.

The paper trains TurboParser, whose search is not projective, with CSP and with B-WM. Here it is the graph-based parser,
unlabelled, with projective search, which is exact at both orders; on treebanks with many crossing arcs there is a
non-projective CSP too. Every training is scored twice, with its last weights and with the mean of all.

Two variants are ours. The paper does not impose its condition 2, that what an update adds up is a violation: its models
converge without it. At second order B-WM breaks it often (a word's features depend there on the heads of others, and
single differences do not add up to the whole one): *enforced*. And γ adds up to 1 however many words are wrong, so that
an error in a long sentence counts for little: *scaled*, γ times the number of wrong words. At second order, both too.

Where a treebank has no dev data (or nothing else to learn from), sentences drawn from its training data are, as in the
paper: B-WM and the control learn from the others, CSP from all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments.dror2016.choice import CONTROL, CSP, MEAN, SEED, Accuracies, Trials
from structron.experiments.frame import Job, Ledger, Rows, has, load_rows
from structron.tasks.graph.parser import GraphParser

B_WM, ENFORCED, SCALED, BOTH = "b-wm", "b-wm enforced", "b-wm scaled", "b-wm scaled, enforced"
CROSSING = "CSP non-projective"
WEIGHTED: Mapping[str, Mapping[str, Any]] = {
    B_WM: {},
    ENFORCED: {"enforce": True},
    SCALED: {"scaled": True},
    BOTH: {"scaled": True, "enforce": True},
}
WORK = "dror2016.parsing:train"
BITS = 22
"""2^22 weights: enough for what is learned here."""
HELD_OUT, LEAST_LEFT = 1000, 2
"""Sentences drawn for dev data where there are none (the paper's number), and how many times as many must be left."""


@dataclass(frozen=True, slots=True)
class ParsingCorpus:
    """A treebank: the column with the tags, how it is written, whether sentences have one root, whether its crossing
    arcs are worth a search that allows them, and the split to learn from: some have no train."""

    name: str
    language: str
    pos: str = "upos"
    encoding: str = "utf-8"
    single_root: bool = True
    crossing: bool = False
    train: str = "train"

    def own_dev(self, data: Path) -> bool:
        return self.train != "dev" and has(data, self.name, "dev")


CORPORA = {
    corpus.name: corpus
    for corpus in (
        ParsingCorpus("ud-greek-gdt", "Greek", crossing=True),
        ParsingCorpus("ud-hungarian-szeged", "Hungarian", crossing=True),
        ParsingCorpus("ud-italian-partut", "Italian"),
        ParsingCorpus("ud-english-ewt", "English", pos="xpos"),
        ParsingCorpus("wsj-sample-dep", "English", pos="pos"),
        ParsingCorpus("ud-chinese-gsd", "Chinese"),
        ParsingCorpus("ud-turkish-imst", "Turkish"),
        ParsingCorpus("ud-basque-bdt", "Basque", crossing=True),
        ParsingCorpus(
            "conll2007-basque", "Basque", pos="xpos", encoding="iso-8859-1", single_root=False, crossing=True
        ),
        ParsingCorpus("conll2007-spanish", "Spanish", pos="xpos"),
        ParsingCorpus("ud-arabic-padt", "Arabic", train="dev"),
        ParsingCorpus("ud-catalan-ancora", "Catalan", train="dev"),
    )
}


@dataclass(frozen=True, slots=True)
class ParsingScale:
    """How much is done. tokens: of train, dev and test, from the front. few: the β tried of every method on every
    treebank; many: those of B-WM on the treebanks named in `swept`, where the control has as many orders. corpora: how
    many treebanks at most."""

    tokens: Sequence[int]
    passes: int
    few: Sequence[float]
    many: Sequence[float]
    swept: Sequence[str]
    orders: Sequence[int] = (1, 2)
    corpora: int | None = None


def usable(data: Path | None) -> list[ParsingCorpus]:
    """The treebanks that are there."""
    if data is None:
        return []
    return [one for one in CORPORA.values() if all(has(data, one.name, part) for part in (one.train, "test"))]


def front(sentences: Rows, tokens: int) -> Rows:
    """Whole sentences from the front, as long as they have no more tokens than that."""
    ends = accumulate(map(len, sentences))
    return [one for one, end in zip(sentences, ends, strict=True) if end <= tokens]


@dataclass(frozen=True, slots=True)
class Bank:
    """A treebank in memory. whole: what CSP learns from; rest: without what was drawn for dev data."""

    corpus: ParsingCorpus
    whole: Rows
    rest: Rows
    dev: Rows
    test: Rows

    @property
    def own_dev(self) -> bool:
        return self.whole is self.rest


@cache
def load(data: Path, name: str, train: int, dev: int, test: int) -> Bank:
    """A treebank, with so many tokens of each part at most."""
    corpus = CORPORA[name]

    def rows(split: str) -> Rows:
        return load_rows(data, name, split, encoding=corpus.encoding)

    everything, held = rows(corpus.train), front(rows("test"), test)
    if corpus.own_dev(data):
        whole = front(everything, train)
        return Bank(corpus, whole, whole, front(rows("dev"), dev), held)
    count = min(HELD_OUT, len(everything) // (1 + LEAST_LEFT))
    drawn = set(np.random.default_rng(SEED).choice(len(everything), count, replace=False).tolist())
    out, rest = ([one for k, one in enumerate(everything) if (k in drawn) == own] for own in (True, False))
    return Bank(corpus, front(everything, train), front(rest, train), front(out, dev), held)


def train(
    data: Path,
    *,
    corpus: str,
    order: int,
    method: str,
    value: float,
    tokens: Sequence[int],
    passes: int,
) -> dict[str, Any]:
    """A job: UAS of a parser with its last weights and with their mean. value: β, of CSP the seed of its order."""
    bank = load(data, corpus, *tokens)
    options: dict[str, Any] = {"labelled": False, "average": "none", "bits": BITS, "pos": bank.corpus.pos, "jobs": 1}
    options |= {"single_root": bank.corpus.single_root, "passes": passes, "runs": 1, "order": order}
    if method in WEIGHTED:
        options |= {"seed": SEED, "swvp": B_WM, "beta": value, **WEIGHTED[method]}
    else:
        options |= {"seed": int(value), "projective": method != CROSSING}
    on_whole = method in (CSP, CROSSING)
    rows = bank.whole if on_whole else bank.rest
    parser = GraphParser(**options).fit(rows)
    record = {name: [one.get(name, 0) for one in parser.history_] for name in ("updates", "invalid")}
    found: dict[str, Any] = {"own_dev": bank.own_dev, "sentences": len(rows), "by_pass": record}
    for end in ("", "_mean"):
        found[f"dev{end}"] = parser.score(bank.dev) if bank.own_dev or not on_whole else None
        found[f"test{end}"] = parser.score(bank.test)
        parser.learner_.average = "mean"
        parser.model_ = parser.learner_.snapshot()
    return found


def values_of(scale: ParsingScale, corpus: str, method: str) -> Sequence[float]:
    """The β of a method; of the control the seeds of as many orders, of CSP one seed."""
    if method in (CSP, CROSSING):
        return [SEED]
    betas = scale.many if corpus in scale.swept and method in (B_WM, CONTROL) else scale.few
    return [SEED + k for k in range(len(betas))] if method == CONTROL else betas


def plan(ledger: Ledger, scale: ParsingScale, data: Path | None) -> Iterator[Job]:
    """CSP and B-WM everywhere, then the control, then what is ours. CSP is itself the control's first order if both
    learn from the same sentences."""
    banks = usable(data)[: scale.corpora]

    def job(corpus: ParsingCorpus, order: int, method: str, value: float) -> Job:
        size = {"tokens": list(scale.tokens), "passes": scale.passes}
        return Job(WORK, {"corpus": corpus.name, "order": order, "method": method, "value": value, **size}, 15 * order)

    for methods in ((CSP, B_WM), (CONTROL,), (SCALED,), (ENFORCED,), (BOTH,), (CROSSING,)):
        for corpus, order, method in product(banks, scale.orders, methods):
            if corpus.crossing if method == CROSSING else order == 2 or method != BOTH:
                skip = method == CONTROL and data is not None and corpus.own_dev(data)
                for value in values_of(scale, corpus.name, method)[skip:]:
                    yield job(corpus, order, method, value)


def collected(ledger: Ledger, order: int) -> dict[str, Trials]:
    """What was found at an order, by treebank."""
    found: dict[str, Trials] = {}
    places = list(CORPORA)
    for trial in sorted(ledger.of(WORK, order=order), key=lambda one: (places.index(one["corpus"]), one["value"])):
        own, method, value = found.setdefault(trial["corpus"], Trials()), trial["method"], trial["value"]
        updates, invalid = trial["by_pass"]["updates"], trial["by_pass"]["invalid"]
        shares = 100 * sum(invalid) / max(1, sum(updates)), 100 * updates[-1] / trial["sentences"]
        own.enter(method, value, Accuracies(trial["dev"], trial["test"], *shares))
        own.enter(method + MEAN, value, Accuracies(trial["dev_mean"], trial["test_mean"], *shares))
        if method == CSP and trial["own_dev"]:
            own.enter(CONTROL, value, own.models[CSP][value])
    return found


def drawn(ledger: Ledger) -> list[str]:
    """Treebanks without dev data of their own."""
    return sorted({trial["corpus"] for trial in ledger.of(WORK) if not trial["own_dev"]})
