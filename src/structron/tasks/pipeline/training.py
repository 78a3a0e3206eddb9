"""Training a pipeline: each part from gold columns; features, lemmas and trees also, entities only, from columns as the
parts before will predict them.

    gold ──▶ tokenizer, splitter, tagger, morphology, lemmatizer, parser
      └─jackknife: five folds, each annotated by parts that were trained on the other four──▶ … parser, entities

A sentence that the parser learns from with predicted tags never met the tagger that predicted them. Gold tags beside
them teach it what tags are worth where they are right: about 0.4 LAS on dev data in English and Greek, one seed each.
"""

import copy
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from structron.errors import OneLabelError
from structron.features.templates import template_lines
from structron.io.columns import EMPTY
from structron.io.doc import Doc
from structron.runtime.progress import Progress
from structron.runtime.threads import for_each
from structron.tasks.pipeline.annotate import Annotator, words_of
from structron.tasks.pipeline.parts import KINDS, TABLES, VOTES, Part, entity_rows, split_rows, tree_rows
from structron.tasks.registry import TASKS
from structron.tasks.tokens import telling
from structron.text.analysis import Sentence

TAGGING = ("tagger", "morphology", "lemmatizer")
"""Parts whose columns others read."""
QUICK: dict[str, dict[str, Any]] = {name: {"runs": 1} for name in TAGGING}
QUICK["lemmatizer"]["letters"] = False
"""Settings of the parts that annotate a fold."""


def make_estimator(name: str, part: Part, seed: int, jobs: int, **changed: Any) -> Any:
    """An untrained part; once trained, it has what it needs to predict and nothing else."""
    estimator = _made(name, part, {**part.settings, **changed, "seed": seed, "jobs": jobs})
    estimator.keep_learner_ = False
    return estimator


def _made(name: str, part: Part, settings: dict[str, Any]) -> Any:
    """A part with these settings."""
    kind = TASKS[settings.pop("task", KINDS[name][0])]
    if name == "tokenizer":
        return kind(**settings)
    if name in VOTES:
        return kind(columns=[*part.reads, *part.writes], **settings)
    tables = telling({kind: settings[kind] for kind in TABLES if kind in settings})
    if name == "morphology":
        settings["templates"] = readable(template_lines("morphology", tables=tables), part.reads)
    if name == "lemmatizer":
        settings["templates"] = readable(template_lines("lemmatizer", tables=tables), part.reads)
    if name == "entities" and len(part.reads) == 1:
        settings.setdefault("templates", "entities-words")
    columns = part.columns
    if name == "entities":
        columns = ["form", *["pos"] * (len(part.reads) - 1), "entity"]
    return kind(columns=columns, **settings)


def readable(lines: Iterable[str], columns: Sequence[str]) -> list[str]:
    """The templates of a preset that look at nothing but the given columns and the spelling."""
    missing = {"upos", "xpos", "feats"} - set(columns)
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    return [line for line in kept if not any(f"{name}[" in line for name in missing)]


def data_for(name: str, part: Part, docs: Sequence[Doc]) -> list[Any]:
    """What a part learns from."""
    if name == "tokenizer":
        return list(docs)
    if name == "entities":
        return [entity_rows(part, doc, True) for doc in docs]
    rows: Callable[[Sentence], Any] = part.gold
    if name == "splitter":
        rows = lambda sentence: split_rows(sentence, True)  # noqa: E731
    elif name in VOTES:
        rows = lambda sentence: tree_rows(part, sentence)  # noqa: E731
    return [rows(sentence) for doc in docs for sentence in doc.sentences]


def as_read(part: Part, seen: Sequence[Doc], gold: Sequence[Doc]) -> list[Any]:
    """What a part learns besides: to write gold columns where it reads those that others predict."""
    pairs = zip((s for doc in seen for s in doc.sentences), (s for doc in gold for s in doc.sentences), strict=True)
    return [
        [(*row, *own[len(row) :]) for row, own in zip(part.rows(read), part.gold(right), strict=True)]
        for read, right in pairs
    ]


def folds_of(docs: Sequence[Doc], folds: int) -> list[list[Sentence]]:
    """The sentences in so many parts, each of whole batches: neighbours are mostly in the same part."""
    sentences = [sentence for doc in docs for sentence in doc.sentences]
    bounds = [len(sentences) * k // folds for k in range(folds + 1)]
    return [sentences[lo:hi] for lo, hi in pairwise(bounds)]


def jackknifed(
    parts: dict[str, Part], docs: Sequence[Doc], folds: int, seed: int, jobs: int, progress: Progress
) -> list[Doc]:
    """Copies of documents with tags, features and lemmas as parts predict them that never saw the sentence."""
    copies = copy.deepcopy(list(docs))
    names = [name for name in TAGGING if name in parts]
    pieces = [piece for piece in folds_of(copies, folds) if piece]
    gold = [piece for piece in folds_of(docs, folds) if piece]
    if not names or len(pieces) < 2:
        return copies
    for word in (word for doc in copies for word in doc.words):
        for column in (column for name in names for column in parts[name].writes):
            setattr(word, column, EMPTY)

    def annotate(held: int) -> None:
        rest = [Doc("", [sentence for k, piece in enumerate(gold) if k != held for sentence in piece])]
        trained = {}
        for name in names:
            estimator = make_estimator(name, parts[name], seed, 1, **QUICK[name])
            with suppress(OneLabelError):
                trained[name] = estimator.fit(data_for(name, parts[name], rest))
        Annotator(parts, trained).tag(words_of(pieces[held]), 1)

    progress.note(f"tagging the training data in {len(pieces)} folds, for training later parts")
    for_each(annotate, range(len(pieces)), jobs)
    return copies


def predicted(annotator: Annotator, docs: Sequence[Doc], jobs: int) -> list[Doc]:
    """Copies of documents with gold words and predicted tags."""
    copies = copy.deepcopy(list(docs))
    annotator.tag(words_of(sentence for doc in copies for sentence in doc.sentences), jobs)
    return copies
