"""`structron evaluate --errors N`: the mistakes that a model is surest of, where they stand.

    test.conll:214  margin 25.48
       [After] a short search , these …
       B-SBAR, gold B-PP

The margin of a token is the difference between the analysis that was chosen and the best one with something else there.
Labellers know it; for all others the n best analyses are compared. A high margin means that the model does not
hesitate: often the gold data are wrong, or a feature is missing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from structron.cli.corpus import Corpus
from structron.io import ColumnSentence
from structron.text import schemes
from structron.text.sentences import sentences_of

NBEST = 10
"""Analyses to compare where a task has no margins of its own."""
AROUND = 5
"""Words to show on either side of a mistake."""


class Placed(Corpus):
    """A corpus that remembers its sentences: a mistake has a place."""

    def __init__(self, *given: Any, **options: Any):
        super().__init__(*given, **options)
        self.sentences: list[ColumnSentence] = []

    def item(self, group: list[ColumnSentence]) -> Any:
        self.sentences += group
        return super().item(group)


@dataclass(frozen=True)
class Mistake:
    """A passage of words with a wrong analysis, and the words around it."""

    where: str
    margin: float
    at_least: bool
    """Whether the margin may be larger: none of the n best analyses has anything else there."""
    before: str
    words: str
    after: str
    guess: str
    gold: str

    def as_dict(self) -> dict[str, Any]:
        """As JSON can hold it; a margin over nothing else at all is null."""
        return {**asdict(self), "margin": None if self.margin == float("inf") else round(self.margin, 4)}


Margins = list[list[tuple[float, bool]]]
"""For each token of each sentence its margin, and whether that is a lower bound."""


def find(estimator: Any, items: list[Any], guess: list[Any], corpus: Placed, most: int) -> list[Mistake]:
    """The mistakes with the largest margins, largest first."""
    rows = sentences_of(items)
    gold = estimator._gold(items)
    found = [x for group in guess for x in group] if corpus.view.documents else guess
    wrong = [k for k, (right, own) in enumerate(zip(gold, found, strict=True)) if list(right) != list(own)]
    margins = dict(zip(wrong, _margins(estimator, items, rows, found, wrong), strict=True))
    word = corpus.view.roles.names.index(corpus.view.roles.word)
    mistakes = [
        (max(margins[k][i] for i in range(lo, hi) if gold[k][i] != found[k][i]), k, lo, hi)
        for k in wrong
        for lo, hi in passages(gold[k], found[k], estimator.metric == "f1")
    ]
    mistakes.sort(key=lambda mistake: (-mistake[0][0], *mistake[1:]))
    return [
        _mistake(estimator, corpus, k, (lo, hi), margin, [row[word] for row in rows[k]], gold[k], found[k])
        for margin, k, lo, hi in mistakes[:most]
    ]


def _margins(estimator: Any, items: list[Any], rows: list, found: list, wrong: list[int]) -> Margins:
    """The margins of the sentences with mistakes."""
    if "confidence" not in estimator.lacks:
        _, sure = estimator.predict_with_margins(items)
        flat = [own for group, item in zip(sure, items, strict=True) for own in (group if _nested(item) else [group])]
        return [[(float(margin), False) for margin in flat[k]] for k in wrong]
    best = estimator.nbest([rows[k] for k in wrong], NBEST)
    return [_by_comparison(found[k], own) for k, own in zip(wrong, best, strict=True)]


def _nested(item: Any) -> bool:
    return len(sentences_of([item])) != 1 or sentences_of([item])[0] is not item


def _by_comparison(chosen: Sequence[Any], best: list[tuple[Any, float]]) -> list[tuple[float, bool]]:
    """The margin of each token of the analysis that was chosen over others among the best."""
    top = best[0][1]
    found = []
    for i, own in enumerate(chosen):
        other = next((score for analysis, score in best[1:] if analysis[i] != own), None)
        found.append((top - best[-1][1], True) if other is None else (top - other, False))
    return found


def passages(gold: Sequence[Any], guess: Sequence[Any], chunks: bool) -> Iterator[tuple[int, int]]:
    """Where they differ: single words or, of chunks, all words of those that overlap."""
    different = [i for i, (right, own) in enumerate(zip(gold, guess, strict=True)) if right != own]
    if not chunks:
        yield from ((i, i + 1) for i in different)
        return
    spans = {(lo, hi) for labels in (gold, guess) for _, lo, hi in schemes.spans(_chunk_labels(labels))}
    wide = {i: (i, i + 1) for i in different}
    for i in different:
        own = [span for span in spans if span[0] <= i < span[1]]
        wide[i] = (min([i, *(lo for lo, _ in own)]), max([i + 1, *(hi for _, hi in own)]))
    lo = hi = -1
    for first, last in sorted(wide.values()):
        if first >= hi:
            if hi > lo:
                yield lo, hi
            lo, hi = first, last
        hi = max(hi, last)
    if hi > lo:
        yield lo, hi


def _chunk_labels(labels: Sequence[Any]) -> list[str]:
    """The chunk labels of words that may have tags too."""
    return [label if isinstance(label, str) else label[-1] for label in labels]


def _mistake(
    estimator: Any,
    corpus: Placed,
    k: int,
    passage: tuple[int, int],
    margin: tuple[float, bool],
    words: list[str],
    gold: Sequence[Any],
    guess: Sequence[Any],
) -> Mistake:
    lo, hi = passage
    spell = _spelled_heads(words) if corpus.view.roles.pos is not None and estimator.task != "joint" else _spelled
    return Mistake(
        where=corpus.source.line(corpus.sentences[k], lo),
        margin=margin[0],
        at_least=margin[1],
        before=" ".join([*(["…"] if lo > AROUND else []), *words[max(lo - AROUND, 0) : lo]]),
        words=" ".join(words[lo:hi]),
        after=" ".join([*words[hi : hi + AROUND], *(["…"] if hi + AROUND < len(words) else [])]),
        guess=" ".join(spell(label) for label in guess[lo:hi]),
        gold=" ".join(spell(label) for label in gold[lo:hi]),
    )


def _spelled(label: Any) -> str:
    return label if isinstance(label, str) else "/".join(map(str, label))


def _spelled_heads(words: list[str]) -> Any:
    """Arcs by the head's word: `nsubj of flew`."""

    def spell(arc: Any) -> str:
        head, relation = arc
        if head == 0:
            return relation or "root"
        return f"{relation or 'depends'} {'of' if relation else 'on'} {words[head - 1]}"

    return spell


def report(mistakes: Sequence[Mistake]) -> Any:
    """Mistakes for a terminal: three lines each."""
    from rich.text import Text

    text = Text()
    for mistake in mistakes:
        sure = "no other possible" if mistake.margin == float("inf") else f"margin {mistake.margin:.4g}"
        text.append(f"{mistake.where}  {sure}{' or more' if mistake.at_least else ''}\n", "dim")
        text.append(f"   {mistake.before} " if mistake.before else "   ")
        text.append(f"[{mistake.words}]", "bold")
        text.append(f" {mistake.after}".rstrip() + "\n   ")
        text.append(mistake.guess, "red")
        text.append(", gold ")
        text.append(mistake.gold, "green")
        text.append("\n")
    return text
