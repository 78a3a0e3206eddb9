"""Two models on the same labelled sentences: scores side by side, whether they differ by more than chance, and the
sentences on which they do.

    structron.compare(a, b, sentences).report()
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structron.errors import StructronError, counted
from structron.eval.bootstrap import SAMPLES, count, paired_bootstrap
from structron.text.numbers import ShortFloat, ShortFloats
from structron.text.sentences import Document, is_row

SHOWN = 10
"""Sentences that a report shows."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A sentence that two models analyse differently; `number` is its place in the data, from 1.

    Examples:
        >>> from structron.eval.compare import Difference
        >>> Difference(1, ["dogs", "bark"], ["NOUN", "VERB"], ["NOUN", "NOUN"], ["NOUN", "VERB"]).wrong
        (1, 0)
    """

    number: int
    sentence: list[str]
    gold: list[Any]
    a: list[Any]
    b: list[Any]

    @property
    def wrong(self) -> tuple[int, int]:
        """How many words each model gets wrong."""
        first, second = (sum(x != y for x, y in zip(self.gold, own, strict=False)) for own in (self.a, self.b))
        return first, second

    def to_json(self) -> dict[str, Any]:
        """The same as values that JSON can represent."""
        own = {"number": self.number, "sentence": self.sentence, "gold": self.gold, "a": self.a, "b": self.b}
        return own | {"wrong": list(self.wrong)}


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(ShortFloats):
    """Scores of two models in per cent, and p by the paired bootstrap over sentences.

    p is the fraction of resamples whose difference is at least as far from the observed one as that is from 0.

    Examples:
        >>> from structron.eval.compare import Comparison
        >>> found = Comparison(["a", "b"], "f1", [{"f1": 90.0}, {"f1": 92.5}], p=0.01, n=9, samples=99, differences=[])
        >>> found.difference
        2.5
    """

    models: list[str]
    metric: str
    scores: list[dict[str, Any]]
    p: float
    n: int
    samples: int
    differences: list[Difference]

    @property
    def difference(self) -> float:
        """What the second model has more of the metric."""
        return self.scores[1][self.metric] - self.scores[0][self.metric]

    def to_json(self) -> dict[str, Any]:
        """The same as values that JSON can represent."""
        return {
            "models": self.models,
            "metric": self.metric,
            "scores": self.scores,
            "difference": self.difference,
            "p": self.p,
            "n": self.n,
            "samples": self.samples,
            "differences": [difference.to_json() for difference in self.differences],
        }

    def __str__(self) -> str:
        return self.report()

    def report(self, shown: int = SHOWN) -> str:
        """A table for the terminal, and the first sentences on which the models differ."""
        first, second = self.scores
        lines = [f"a  {self.models[0]}", f"b  {self.models[1]}", ""]
        width = max(len(name) for name in first)
        lines += [f"{'':<{width}}         a        b    b - a"]
        for name, score in first.items():
            other = second.get(name)
            if isinstance(score, float) and isinstance(other, float):
                lines.append(f"{name:<{width}} {score:9.2f}{other:9.2f}{other - score:+9.2f}")
        lines += ["", f"{self.metric}: p = {self.p:.4f} (paired bootstrap over {self.n} sentences)"]
        differ = f"{counted(len(self.differences), 'sentence')} differ{'s' * (len(self.differences) == 1)}"
        lines.append(differ + (":" if self.differences and shown else ""))
        for d in self.differences[:shown]:
            lines += ["", f"{d.number}  wrong words: a {d.wrong[0]}, b {d.wrong[1]}"]
            for word, gold, a, b in zip(d.sentence, d.gold, d.a, d.b, strict=True):
                if a != b:
                    lines.append(f"    {word}  gold {_text(gold)}  a {_text(a)}  b {_text(b)}")
        if len(self.differences) > shown > 0:
            lines += ["", f"… {len(self.differences) - shown} more"]
        return "\n".join(lines)


def _text(label: Any) -> str:
    return label if isinstance(label, str) else " ".join(map(str, label))


def check_alike(a: Any, b: Any) -> None:
    """Refuse two models that no score is common to."""
    if a.metric != b.metric or a.texts != b.texts:
        raise StructronError(f"compare: a {a.task} and a {b.task}; expected two models of the same kind")
    for model in (a, b):
        if model.texts and not hasattr(model, "bare"):
            raise StructronError(f"compare: a {model.task} reads plain text; expected pipelines, or models of tokens")


def compare(
    a: Any,
    b: Any,
    sentences: Sequence[Any],
    *,
    other: Sequence[Any] | None = None,
    names: Sequence[str] = (),
    seed: int = 1,
    samples: int = SAMPLES,
) -> Comparison:
    """Compare two models on labelled sentences (pipelines: on documents, whose tokens they are given).

    Args:
        a: A trained estimator.
        b: Another one with the same kind of output.
        sentences: Labelled sentences, as for `evaluate`.
        other: The same sentences for the second model, if its columns differ.
        names: Names of the two models for the report.
        seed: Seed of the bootstrap.
        samples: Number of bootstrap samples.

    Returns:
        Both sets of scores, p by the paired bootstrap, and the sentences on which the models differ.

    Examples:
        >>> import structron
        >>> train = [[("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [("a", "DET"), ("fish", "NOUN")]]
        >>> words = structron.Tagger(templates=["w[0]"], cutoff=0, runs=1).fit(train)
        >>> endings = structron.Tagger(templates=["suffix1[0]"], cutoff=0, runs=1).fit(train)
        >>> found = structron.compare(words, endings, [[("cats", "NOUN"), ("bark", "VERB")]], samples=100)
        >>> found.metric, found.n
        ('accuracy', 1)
    """
    check_alike(a, b)
    items = sentences if isinstance(sentences, list) else list(sentences)
    if not items:
        raise StructronError("compare: no sentences; expected at least one")
    first, second = _ComparedModel(a, items), _ComparedModel(b, items if other is None else list(other))
    if [len(gold) for gold in first.gold] != [len(gold) for gold in second.gold]:
        raise StructronError("compare: the models read different sentences; expected the same ones for both")
    if first.gold != second.gold:
        raise StructronError("compare: the models learn different columns; expected the same one")
    given = zip(first.words, first.gold, first.guess, second.guess, strict=True)
    differences = [Difference(k, *own) for k, own in enumerate(given, 1) if own[2] != own[3]]
    p = paired_bootstrap(first.counts(), second.counts(), seed, samples)
    scores = [
        {name: ShortFloat(value) if isinstance(value, float) else value for name, value in own.scores().items()}
        for own in (first, second)
    ]
    named = list(names) or [a.signature_, b.signature_]
    return Comparison(named, a.metric, scores, p, len(first.gold), samples, differences)


class _ComparedModel:
    """One model and what it makes of the sentences."""

    def __init__(self, model: Any, items: list[Any]):
        self.model, self.items = model, items
        if model.texts:
            guessed = model.bare(items, "tokens")
            model.annotate(guessed, known="tokens")
            self.raw: list[Any] = guessed
            self.pairs = [
                ([gold], [guess])
                for doc, found in zip(items, guessed, strict=True)
                for gold, guess in zip(doc.sentences, found.sentences, strict=True)
            ]
            self.words = [[word.form for word in gold[0].words] for gold, _ in self.pairs]
            self.gold, self.guess = ([_analysis(pair[k][0]) for pair in self.pairs] for k in range(2))
            return
        self.raw = model.predict(items)
        self.gold = model._gold(items)
        self.guess = []
        rows: list[Any] = []
        for item, found in zip(items, self.raw, strict=True):
            self.guess += found if isinstance(item, Document) else [found]
            rows += item if isinstance(item, Document) else [item]
        self.words = [[self._word(token) for token in sentence] for sentence in rows]

    def _word(self, token: Any) -> str:
        roles = self.model.roles_
        if not is_row(type(token)):
            return str(token)
        names = roles.names if len(token) == len(roles.names) else roles.inputs
        return token[names.index(roles.word)]

    def counts(self) -> np.ndarray:
        """What was right, sentence by sentence."""
        model, metric = self.model, self.model.metric
        if model.texts:
            from structron.eval.conll18 import ud_scores

            return np.array([count(ud_scores(*pair), metric) for pair in self.pairs])
        pairs = zip(self.gold, self.guess, strict=True)
        return np.array([count(model._scores([gold], [guess]), metric) for gold, guess in pairs])

    def scores(self) -> dict[str, Any]:
        """All scores that are one number."""
        found = self.model.evaluate(self.items, guess=self.raw).as_dict()
        return {name: value for name, value in found.items() if isinstance(value, int | float)}


def _analysis(sentence: Any) -> list[list[str]]:
    """What a pipeline says of each word."""
    return [[w.upos, w.xpos, w.feats, w.lemma, str(w.head), w.deprel] for w in sentence.words]
