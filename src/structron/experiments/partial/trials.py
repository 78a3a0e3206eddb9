"""One training with a share of the labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments.frame import Rows, has, last_tenth, load_rows
from structron.experiments.frame.ledger import Figures
from structron.tasks.chain.labeler import Chunker, Tagger
from structron.tasks.entities import EntityRecognizer
from structron.tasks.graph.parser import GraphParser
from structron.text.trees import check_partial_tree

METHODS = ("spread", "filled", "sentences")


@dataclass(frozen=True, slots=True)
class PartialTask:
    """A task, its corpus, and how models are trained."""

    title: str
    corpus: str
    metric: str
    make: Callable[..., Any]
    columns: tuple[str, ...]  # that models see, the label last
    read: tuple[int, ...] = ()  # their places in a file without names
    options: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1  # columns that are known or open together
    most: int = 10**9  # sentences that are trained on


TASKS = {
    "chunks": PartialTask("Chunks, CoNLL-2000", "conll2000", "F1", Chunker, ("word", "pos", "chunk")),
    "upos": PartialTask("Parts of speech, UD English EWT", "ud-english-ewt", "accuracy", Tagger, ("form", "upos")),
    "entities": PartialTask(
        *("Entities, UNER English EWT, sentence by sentence", "uner-english-ewt", "F1", EntityRecognizer),
        *(("word", "entity"), (1, 2), {"non_local": None}),
    ),
    "trees": PartialTask(
        "Trees, UD English EWT, gold parts of speech",
        "ud-english-ewt",
        "LAS",
        GraphParser,
        ("form", "upos", "head", "deprel"),
        outputs=2,
        most=1000,
    ),
}


def train(
    data: Path,
    task: str,
    method: str,
    share: int,
    seed: int,
    passes: int,
    sentences: int,
    scored: int,
) -> Figures:
    """The dev score of a model that knows a share of the labels."""
    own = TASKS[task]
    rows, dev = corpus_of(data, own)
    rows, dev = rows[:sentences], dev[:scored]
    if method == "sentences":
        known = whole_sentences(rows, share, seed)
    else:
        known = spread(rows, share, seed, own.outputs)
    labels = sum(row[-1] is not None for sentence in known for row in sentence)
    if method == "filled":
        fill = filled if own.outputs == 1 else filled_trees
        known = fill(trained(own, known, seed, passes), known)
    return {"dev": trained(own, known, seed, passes).score(dev), "labels": labels}


def corpus_of(data: Path, task: PartialTask) -> tuple[Rows, Rows]:
    """Training and dev data; where there are no dev data, the last tenth."""

    def rows_of(split: str) -> Rows:
        rows = load_rows(data, task.corpus, split, task.columns)
        return [[[row[k] for k in task.read] for row in own] for own in rows] if task.read else rows

    train = rows_of("train")
    return (train, rows_of("dev")) if has(data, task.corpus, "dev") else last_tenth(train)


def trained(task: PartialTask, rows: Sequence[Any], seed: int, passes: int) -> Any:
    options = {"runs": 1, "seed": seed, "passes": passes, "columns": list(task.columns)} | task.options
    return task.make(**options).fit(rows)


def spread(rows: Rows, share: int, seed: int, outputs: int = 1) -> list[list[list[Any]]]:
    """The labels of words drawn at random; the others are open. outputs: the last columns, which are the label."""
    rng = np.random.default_rng([seed, share])
    drawn = [rng.random(len(sentence)) < share / 100 for sentence in rows]
    pairs = zip(rows, drawn, strict=True)
    return [
        [[*row] if one else [*row[:-outputs], *[None] * outputs] for row, one in zip(own, some, strict=True)]
        for own, some in pairs
    ]


def whole_sentences(rows: Rows, share: int, seed: int) -> Rows:
    """Sentences drawn at random that have as many labels."""
    order, wanted = np.random.default_rng([seed, share]).permutation(len(rows)).tolist(), share / 100
    left, found = wanted * sum(map(len, rows)), []
    for k in order:
        if left <= 0:
            break
        found.append(rows[k])
        left -= len(rows[k])
    return found


def filled(model: Any, rows: Sequence[Any]) -> list[list[list[Any]]]:
    """Open labels replaced by the model's predictions; those that are known stay."""
    guess = model.predict([[row[:-1] for row in sentence] for sentence in rows])
    pairs = zip(rows, guess, strict=True)
    return [
        [[*row[:-1], label if row[-1] is None else row[-1]] for row, label in zip(own, labels, strict=True)]
        for own, labels in pairs
    ]


def filled_trees(model: Any, rows: Sequence[Any]) -> list[list[list[Any]]]:
    """The same for heads and relations; a predicted head that makes no tree with those before stays open."""
    guess = model.predict([[row[:-2] for row in sentence] for sentence in rows])
    found = []
    for sentence, arcs in zip(rows, guess, strict=True):
        heads = [-1 if row[-2] is None else int(row[-2]) for row in sentence]
        own = [[*row] for row in sentence]
        for k, (head, relation) in enumerate(arcs):
            if heads[k] >= 0:
                continue
            heads[k] = head
            if check_partial_tree(heads) is None:
                own[k][-2:] = [head, relation]
            else:
                heads[k] = -1
        found.append(own)
    return found
