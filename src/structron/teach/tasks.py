"""What each task asks of a sentence: how what is known goes into rows, out of predictions, and into documents.

Known are `labels`, one a word (chunks and entities in IOB2), or `heads` and `relations`; None is open.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from structron.errors import StructronError, quoted
from structron.estimator import Estimator
from structron.io.exports import entity_labels
from structron.tasks import registry
from structron.teach.project import Item, Project, check_name
from structron.text import schemes
from structron.text.analysis import Sentence
from structron.text.sentences import Document
from structron.text.trees import MARK

Known = dict[str, list]
WORD_COLUMNS = {
    "word": "form",
    "form": "form",
    "pos": "xpos",
    "upos": "upos",
    "xpos": "xpos",
    "lemma": "lemma",
    "feats": "feats",
}
"""What a column of a model holds of a word."""
OUTSIDE = "O"
OPEN_MARKS = ("?", "_")
"""What stands for an open label in columns and in CoNLL-U."""
LONGEST_LABEL = 40
"""Characters."""


@dataclass(frozen=True)
class Task:
    """A task that can be taught."""

    name: str
    columns: tuple[str, ...]
    options: tuple[tuple[str, Any], ...] = ()
    spans: bool = False
    trees: bool = False
    documents: bool = False

    @property
    def kind(self) -> Any:
        """The estimator's class."""
        return registry.TASKS[self.name]

    def new(self, seed: int = 1) -> Estimator:
        """An estimator that has learned nothing; it learns from every feature that it sees."""
        return self.kind(columns=list(self.columns), seed=seed, **dict(self.options))

    def empty(self, item: Item) -> Known:
        """What is predicted as long as nothing has been learned."""
        count = len(words_of(item))
        if self.trees:
            return {"heads": [None] * count, "relations": [None] * count}
        return {"labels": [OUTSIDE if self.spans else None] * count}

    def inputs(self, model: Any, item: Item) -> list[tuple[str, ...]]:
        """The rows of a sentence without what is to be predicted."""
        names = _inputs(model) if hasattr(model, "roles_") else self.columns[: -2 if self.trees else -1]
        return [tuple(str(word[WORD_COLUMNS[name]]) for name in names) for word in words_of(item)]

    def example(self, model: Any, item: Item, known: Known) -> Any:
        """The rows of a sentence with what is known, as `fit` takes them."""
        rows = self.inputs(model, item)
        if self.trees:
            heads = [None if head is None else str(head) for head in known["heads"]]
            filled: list[Any] = [(*row, *own) for row, *own in zip(rows, heads, known["relations"], strict=True)]
        else:
            filled = [(*row, label) for row, label in zip(rows, known["labels"], strict=True)]
        return Document([filled]) if self.documents else filled

    def predict(self, model: Any, items: Sequence[Item]) -> list[tuple[Known, list[float] | None]]:
        """What a model predicts for sentences, with the margin of each word where the task has margins."""
        rows = [self.inputs(model, item) for item in items]
        if self.trees:
            found = model.predict(rows)
            return [({"heads": [h for h, _ in tree], "relations": [r for _, r in tree]}, None) for tree in found]
        given = [Document([own]) for own in rows] if self.documents else rows
        labels, margins = model.predict_with_margins(given)
        if self.documents:
            labels, margins = [own[0] for own in labels], [own[0] for own in margins]
        return [({"labels": list(own)}, list(by)) for own, by in zip(labels, margins, strict=True)]

    def score(self, model: Any, items: Sequence[Item]) -> float:
        """How much of what is known of some sentences a model predicts: per cent of words, or F1 of spans."""
        found = [own for own, _ in self.predict(model, items)]
        if not self.spans:
            right = [r for item, own in zip(items, found, strict=True) for r in _agreement(item.known or {}, own)]
            return 100.0 * sum(right) / max(len(right), 1)
        pairs = [
            ({*schemes.spans(_closed(item.known))}, {*schemes.spans(own["labels"])})
            for item, own in zip(items, found, strict=True)
        ]
        both, all_spans = sum(len(a & b) for a, b in pairs), sum(len(a) + len(b) for a, b in pairs)
        return 200.0 * both / all_spans if all_spans else 100.0

    def check(self, item: Item, given: Known, labels: Sequence[str]) -> Known:
        """What a person said of a sentence, or an error that names the word."""
        forms = [word["form"] for word in words_of(item)]
        if self.trees:
            return _check_tree(forms, given, labels)
        found = given.get("labels")
        if set(given) != {"labels"} or not isinstance(found, list) or len(found) != len(forms):
            raise StructronError(f"labels: expected one for each of the {len(forms)} words, null where it is open")
        before: str | None = OUTSIDE
        allowed = {OUTSIDE, *(f"{letter}-{own}" for own in labels for letter in "BI")} if self.spans else {*labels}
        for k, (form, label) in enumerate(zip(forms, found, strict=True), 1):
            if label is not None and not (isinstance(label, str) and label in allowed):
                raise StructronError(
                    f"word {k} ({quoted(form)}): no label {quoted(label)}; expected one of {', '.join(labels)}"
                )
            if self.spans and label is not None and label[:2] == "I-" and before not in (None, label, f"B-{label[2:]}"):
                raise StructronError(f"word {k} ({quoted(form)}): {label} after {before}; expected B-{label[2:]}")
            before = label
        return {"labels": found}

    def guessed(self, item: Item, given: Any) -> Known | None:
        """A prediction as a page sends it back: of the kind and the size that it was shown in; else None."""
        names, count = set(self.empty(item)), len(words_of(item))
        if not isinstance(given, dict) or set(given) != names:
            return None
        for name, values in given.items():
            kind = int if name == "heads" else str
            if not isinstance(values, list) or len(values) != count:
                return None
            if not all(own is None or type(own) is kind for own in values):
                return None
        return given

    def check_label(self, name: str, what: str = "label", longest: int = LONGEST_LABEL) -> str:
        """A new label, without spaces around it; none that means something else in a file."""
        name = check_name(name, what, longest)
        if any(c.isspace() for c in name):
            raise StructronError(f"{what}: {quoted(name)}; expected a word, without spaces")
        taken = (*OPEN_MARKS, *((OUTSIDE, "B", "I") if self.spans else ()))
        if name in taken or (self.trees and MARK in name):
            raise StructronError(f"{what}: {quoted(name)} has a special meaning in files; expected another name")
        return name

    def read(self, sentence: Sentence) -> Known | None:
        """What a document says of a sentence: None, if nothing."""
        words = sentence.words
        if self.trees:
            known: Known = {"heads": [w.head for w in words], "relations": [_open(w.deprel) for w in words]}
        elif self.spans:
            known = {"labels": list(entity_labels(sentence))}
        else:
            known = {"labels": [_open(word.upos) for word in words]}
        return known if any(value is not None for value in next(iter(known.values()))) else None

    def write(self, sentence: Sentence, known: Known) -> None:
        """Put what is known into a document."""
        words = sentence.words
        if self.trees:
            for word, head, relation in zip(words, known["heads"], known["relations"], strict=True):
                word.head, word.deprel = head, relation or "_"
        elif self.spans:
            sentence.set_entities(_closed(known))
        else:
            for word, label in zip(words, known["labels"], strict=True):
                word.upos = label or "_"

    def labels_in(self, known: Known | None) -> list[str]:
        """The labels that occur, without B- and I-."""
        if known is None:
            return []
        values = known["relations" if self.trees else "labels"]
        kinds = [value[2:] if self.spans else value for value in values if value is not None and value != OUTSIDE]
        return list(dict.fromkeys(kind for kind in kinds if kind))

    def corrected(self, predicted: Known | None, known: Known) -> int:
        """How many words were predicted otherwise than a person said; open ones do not count."""
        return 0 if predicted is None else sum(not right for right in _agreement(known, predicted))


TASKS = {
    "tagger": Task("tagger", ("form", "label"), (("cutoff", 0),)),
    "chunker": Task("chunker", ("form", "label"), (("cutoff", 0),), spans=True),
    "entities": Task("entities", ("form", "label"), (("cutoff", 0),), spans=True, documents=True),
    "parser": Task("parser", ("form", "upos", "head", "deprel"), (), trees=True),
}
"""The tasks that `structron teach` knows."""


def task_of(project: Project) -> Task:
    """The task of a project."""
    name = project.settings.get("task")
    if not isinstance(name, str) or name not in TASKS:
        raise StructronError(
            f"{project.path}: a project of the task {quoted(name)}; expected one of {', '.join(TASKS)}"
        )
    return TASKS[name]


def words_of(item: Item) -> list[dict[str, Any]]:
    """The words of a sentence as its project keeps them."""
    return [word for token in item.data["tokens"] for word in token["words"]]


def check_columns(model: Any, task: Task, name: str) -> None:
    """Whether a model can go on from words as a project has them."""
    if not isinstance(model, task.kind):
        raise StructronError(f"{name}: a {model.task} model; expected a {task.name} model")
    unknown = [column for column in _inputs(model) if column not in WORD_COLUMNS]
    if unknown:
        raise StructronError(
            f"{name}: reads the column {quoted(unknown[0])}; expected one of {', '.join(WORD_COLUMNS)}"
        )


def _inputs(model: Any) -> list[str]:
    """The columns that a model reads."""
    return [name for name in model.roles_.names if name not in model.roles_.outputs]


def _open(value: str) -> str | None:
    return None if value == "_" else value


def _closed(known: Known | None) -> list[str]:
    """Labels, with nothing where they are open."""
    labels = [label or OUTSIDE for label in (known or {"labels": []})["labels"]]
    return [
        f"B-{own[2:]}" if own[:2] == "I-" and before == OUTSIDE else own
        for before, own in zip([OUTSIDE, *labels], labels, strict=False)
    ]


def _agreement(known: Known, found: Known) -> list[bool]:
    """For each word of which something is known, whether a prediction agrees."""
    rows, guesses = zip(*known.values(), strict=True), zip(*found.values(), strict=True)
    return [
        all(a is None or a == b for a, b in zip(row, guess, strict=True))
        for row, guess in zip(rows, guesses, strict=True)
        if any(a is not None for a in row)
    ]


ROOT = "root"
"""The relation of the root in Universal Dependencies, which nobody has to choose."""


def _check_tree(forms: Sequence[str], given: Known, labels: Sequence[str]) -> Known:
    heads, relations = given.get("heads"), given.get("relations")
    if not (isinstance(heads, list) and isinstance(relations, list) and len(heads) == len(relations) == len(forms)):
        raise StructronError(f"heads and relations: expected one for each of {len(forms)} words, null where it is open")
    for k, (form, head, relation) in enumerate(zip(forms, heads, relations, strict=True), 1):
        if head is not None and (type(head) is not int or not 0 <= head <= len(forms) or head == k):
            raise StructronError(f"word {k} ({quoted(form)}): head {head}; expected 0 to {len(forms)}, another word")
        if relation is not None and relation not in labels and (head, relation) != (0, ROOT):
            raise StructronError(
                f"word {k} ({quoted(form)}): no relation {quoted(relation)}; expected one of {', '.join(labels)}"
            )
    roots = [k for k, head in enumerate(heads, 1) if head == 0]
    if len(roots) > 1:
        raise StructronError(f"words {roots[0]} and {roots[1]} are both the root; expected one root")
    for k in range(1, len(forms) + 1):
        seen, at = set(), k
        while at and heads[at - 1] is not None:
            if at in seen:
                raise StructronError(
                    f"word {at} ({quoted(forms[at - 1])}) depends on itself through others; expected a tree"
                )
            seen.add(at)
            at = heads[at - 1]
    return {"heads": heads, "relations": relations}
