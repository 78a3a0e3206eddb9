"""Every estimator on a little toy data, for tests of what all of them do."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import structron
import thermostat
from structron.estimator import Estimator
from structron.runtime.progress import Progress
from structron.text.sentences import Document
from toy import chunk_rows, entity_documents, toy_docs, tree_rows


@dataclass(frozen=True)
class Case:
    """An estimator, how to make it learn little and fast, and data for it."""

    kind: Any
    options: dict[str, Any]
    data: Callable[[int, int], list]
    bare: Callable[[Any], Any]  # an example without what is to be predicted
    new: Callable[[list], list] | None = None  # examples with a label that no other has
    labels: Callable[[Any], list[str]] = lambda model: model.labels  # those that a model knows
    templates: list[str] = field(default_factory=list)
    code: dict[str, Any] = field(default_factory=dict)  # what `load` has to be given again
    goes_on: bool = True  # whether training can go on from a model

    def able(self, what: str) -> bool:
        """Whether the task can do something, or takes an option."""
        return what not in self.kind.lacks

    def make(self, **more: Any) -> Estimator:
        return self.kind(*self.code.values(), **self.options | more)

    @property
    def train(self) -> list:
        return self.data(24, 3)

    @property
    def test(self) -> list:
        return self.data(12, 8)

    @property
    def inputs(self) -> list:
        return [self.bare(x) for x in self.test]

    def load(self, path: Path) -> Any:
        return structron.load(path, **self.code)


def _tagged(count: int, seed: int) -> list:
    return [[row[:2] for row in sentence] for sentence in chunk_rows(count, seed)]


def _without(columns: int) -> Callable[[Any], Any]:
    return lambda sentence: [row[: len(row) - columns] for row in sentence]


def _relabelled(old: str, new: str) -> Callable[[list], list]:
    """The same sentences with a new label in place of an old one."""
    return lambda data: [[(*row[:-1], row[-1].replace(old, new)) for row in sentence] for sentence in data]


def _lemmas(count: int, seed: int) -> list:
    sentences = [sentence for doc in toy_docs(count, seed) for sentence in doc]
    return [[(word.form, word.upos, word.lemma) for word in sentence.words] for sentence in sentences]


def _fewer_docs(count: int, seed: int) -> list:
    """For what learns all parts."""
    return toy_docs(count // 2, seed)


def _bare_document(document: Document) -> Document:
    return Document(_without(1)(sentence) for sentence in document)


def _new_entities(data: list) -> list:
    return [Document(_relabelled("LOC", "NEW")(document)) for document in data]


CHUNKS = {"templates": ["w[0]", "pos[0]", "pos[-1]|pos[0]"], "passes": 3, "runs": 1, "cutoff": 0}
CASES = {
    "tagger": Case(
        structron.Tagger,
        {"templates": ["w[0]", "suffix2[0]", "w[-1]"], "order": 2, "passes": 3, "runs": 1, "cutoff": 0},
        _tagged,
        _without(1),
        _relabelled("NN", "NEW"),
        templates=["w[0]"],
    ),
    "tagger, seen": Case(
        structron.Tagger,
        {"templates": ["w[0]", "suffix2[0]", "w[-1]"], "among": "seen", "passes": 3, "runs": 1, "cutoff": 0},
        _tagged,
        _without(1),
        templates=["w[0]"],
        goes_on=False,
    ),
    "chunker": Case(structron.Chunker, CHUNKS, chunk_rows, _without(1), _relabelled("NP", "NEW"), templates=["w[0]"]),
    "chunker, beam": Case(
        structron.Chunker,
        CHUNKS | {"beam": 3, "templates": [*CHUNKS["templates"], "w[0]|y[-2]"]},
        chunk_rows,
        _without(1),
        _relabelled("NP", "NEW"),
        templates=["w[0]"],
    ),
    "entities": Case(
        structron.EntityRecognizer,
        {"templates": ["w[0]", "shape[0]", "w[-1]"], "passes": 3, "cutoff": 0, "candidates": 4, "test_candidates": 8},
        entity_documents,
        _bare_document,
        _new_entities,
        templates=["w[0]"],
    ),
    "segments": Case(
        structron.SegmentChunker,
        {"templates": ["w[0]", "pos[0]"], "passes": 3, "runs": 1, "cutoff": 0},
        chunk_rows,
        _without(1),
        _relabelled("NP", "NEW"),
        labels=lambda model: model.encoder.segments.labels,
        templates=["w[0]"],
    ),
    "joint": Case(
        structron.JointTagger,
        {"templates": ["w[0]", "suffix2[0]", "t[-1]|c[-1]"], "passes": 3, "runs": 1, "cutoff": 0, "beam": 3},
        chunk_rows,
        _without(2),
        _relabelled("NP", "NEW"),
        templates=["w[0]", "t[-1]"],
    ),
    "parser": Case(
        structron.Parser,
        {"templates": ["s0.w|s0.t", "s0.t|s1.t|q0.t", "s0.t|s1.w"], "passes": 3, "beam": 3},
        tree_rows,
        _without(2),
        _relabelled("det", "new"),
        labels=lambda model: model.problem.actions,
        templates=["s0.t|s1.t", "q0.t"],
    ),
    "graph-parser": Case(
        structron.GraphParser,
        {"order": 1, "bits": 16, "passes": 3, "runs": 1},
        tree_rows,
        _without(2),
        _relabelled("det", "new"),
        labels=lambda model: [str(k) for k in range(model.relations.size)],
    ),
    "lemmatizer": Case(
        structron.Lemmatizer,
        {"columns": ["form", "upos", "lemma"], "passes": 3, "runs": 1, "cutoff": 0},
        _lemmas,
        _without(1),
        templates=["w[0]", "suffix2[0]"],
        goes_on=False,
    ),
    "tokenizer": Case(
        structron.Tokenizer,
        {"passes": 3, "runs": 1, "cutoff": 0},
        toy_docs,
        lambda doc: doc.text,
        templates=["w[0]", "w[1]"],
        goes_on=False,
    ),
    "pipeline": Case(structron.Pipeline, {"folds": 2}, _fewer_docs, lambda doc: doc.text, goes_on=False),
    "problem": Case(
        structron.BeamLearner,
        {"passes": 3, "beam": 2},
        lambda count, seed: thermostat.make_examples(count, seed, noise=0.2),
        lambda example: example[0],
        labels=lambda model: model.problem.actions,
        code={"problem": thermostat.PROBLEM},
    ),
    "queue problem": Case(
        structron.QueueLearner,
        {"passes": 3},
        lambda count, seed: thermostat.make_examples(count // 2, seed, noise=0.2),
        lambda example: example[0],
        labels=lambda model: model.problem.actions,
        code={"problem": thermostat.PROBLEM},
    ),
}


@cache
def fitted(name: str) -> Any:
    """A trained estimator, for tests that leave it as it is."""
    return CASES[name].make().fit(CASES[name].train)


def bytes_of(estimator: Any, path: Path) -> bytes:
    """The model file."""
    estimator.save(path)
    return path.read_bytes()


class Interrupting(Progress):
    """Ctrl-C when a pass begins, counted from 1 over all parts."""

    def __init__(self, at: int, **given: Any):
        super().__init__(**given)
        self.left = at

    def begin_pass(self, number: int, passes: int, examples: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def weights_of(estimator) -> dict[tuple[str, str], float]:
    """Every weight of a model under a beam by the names of its feature and column."""
    if estimator.task == "parser":
        model, name, columns = estimator.model_, estimator._namer(), estimator.problem_.actions
    else:
        model, name = estimator.model_.base, estimator.model_.name_of
        columns = estimator.model_.encoder.column_names()
    rows, names = model.rows, {}
    found = {}
    for place, column, weight in zip(rows.place.tolist(), rows.column.tolist(), rows.weight.tolist(), strict=True):
        if place not in names:
            names[place] = name(place)
        found[names[place], columns[column]] = weight
    return found
