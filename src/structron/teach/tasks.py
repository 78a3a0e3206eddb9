"""What each task asks of a sentence: how what is known goes into rows, out of predictions, and into documents.

Known are `labels`, one a word (chunks and entities in IOB2), or `heads` and `relations`; None is open.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from structron.errors import StructronError, quoted
from structron.estimator import Estimator
from structron.io.exports import entity_labels
from structron.tasks import registry
from structron.teach.project import Item, Project, check_name
from structron.text import schemes
from structron.text.analysis import Sentence
from structron.text.sentences import Document
from structron.text.trees import MARK, check_partial_tree

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
OTHER_BEAMS = (1, 16)
"""A parser is in doubt where it finds another head with these: of EWT's dev words 15 %, of its wrong heads 56 %."""


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

    def predict(
        self, model: Any, items: Sequence[Item], margins: bool = True
    ) -> list[tuple[Known, list[float] | None]]:
        """What a model predicts for sentences, with the margin of each word if it is wanted."""
        rows = [self.inputs(model, item) for item in items]
        if self.trees:
            trees = model.predict(rows)
            others = [model.predict(rows, beam=beam) for beam in OTHER_BEAMS] if margins else []
            return [(_columns(tree), _head_margins(tree, own)) for tree, *own in zip(trees, *others, strict=True)]
        return self._labelled(model, rows, None)

    def complete(self, model: Any, item: Item, known: Known) -> tuple[Known, list[float] | None]:
        """What a model predicts for the words of a sentence of which nothing is known; what is known stays."""
        if self.trees:
            (tree,) = model.complete([self.example(model, item, known)])
            return _joined_trees(known, _columns(tree)), None
        can = {*model.model_.labels, None}
        forced = [label if label in can else None for label in known["labels"]]
        ((found, margins),) = self._labelled(model, [self.inputs(model, item)], [forced])
        return self.joined(known, found), margins

    def _labelled(
        self, model: Any, rows: list[Any], forced: list[Any] | None
    ) -> list[tuple[Known, list[float] | None]]:
        """Labels and margins, document by document where the model reads documents."""

        def given(sentences: list[Any]) -> list[Any]:
            return [Document([own]) for own in sentences] if self.documents else sentences

        kept = {} if forced is None else {"forced": given(forced)}
        labels, margins = model.predict_with_margins(given(rows), **kept)
        if self.documents:
            labels, margins = [own[0] for own in labels], [own[0] for own in margins]
        return [({"labels": list(own)}, list(by)) for own, by in zip(labels, margins, strict=True)]

    def joined(self, known: Known, found: Known) -> Known:
        """A prediction around what is known, without labels that cannot stand beside it."""
        if self.trees:
            return _joined_trees(known, found)
        said = known["labels"]
        labels = [a if b is None else b for a, b in zip(found["labels"], said, strict=True)]
        for k, label in enumerate(labels if self.spans else ()):
            if label is None or label[:2] != "I-" or (k and labels[k - 1] in (None, label, f"B-{label[2:]}")):
                continue
            if said[k] is None:
                labels[k] = f"B-{label[2:]}"
            elif k and said[k - 1] is None:
                labels[k - 1] = None
        return {"labels": labels}

    def score(self, model: Any, items: Sequence[Item]) -> float:
        """How much of what is known of some sentences a model predicts: per cent of words, or F1 of spans."""
        found = [own for own, _ in self.predict(model, items, margins=False)]
        if not self.spans:
            right = [r for item, own in zip(items, found, strict=True) for r in _agreement(item.known or {}, own)]
            return 100.0 * sum(right) / max(len(right), 1)
        pairs = [
            tuple(_known_spans(own["labels"], (item.known or own)["labels"]) for own in (item.known or own, own))
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
        return known if says_something(known) else None

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


def says_something(known: Known | None) -> bool:
    """Whether anything is known of a sentence."""
    return known is not None and any(value is not None for values in known.values() for value in values)


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


def _known_spans(labels: Sequence[str | None], known: Sequence[str | None]) -> set[tuple]:
    """The spans of labels that begin and end where labels are known, the word after them included."""
    found = schemes.spans(_closed({"labels": list(labels)}))
    begun = [(kind, start, end) for kind, start, end in found if (labels[start] or "")[:2] == "B-"]
    return {(kind, start, end) for kind, start, end in begun if None not in known[start : end + 1]}


def _columns(tree: Sequence[tuple[int, str | None]]) -> Known:
    """A parser's tree as heads and relations."""
    return {"heads": [head for head, _ in tree], "relations": [relation for _, relation in tree]}


def _head_margins(tree: Sequence[tuple[int, Any]], others: Sequence[Any]) -> list[float] | None:
    """0 where another search finds another head, else inf; None: there was no other."""
    if not others:
        return None
    return [0.0 if any(own[k][0] != head for own in others) else inf for k, (head, _) in enumerate(tree)]


def _joined_trees(known: Known, found: Known) -> Known:
    """A tree around what is known; predicted heads that leave no tree are open."""
    heads = [a if b is None else b for a, b in zip(found["heads"], known["heads"], strict=True)]
    relations = [a if b is None else b for a, b in zip(found["relations"], known["relations"], strict=True)]
    while (wrong := _wrong(heads)) is not None:
        k = next((k for k in _above(heads, wrong[0]) if known["heads"][k] is None), None)
        if k is None:
            break
        heads[k] = None
        relations[k] = known["relations"][k]
    return {"heads": heads, "relations": relations}


def _wrong(heads: Sequence[int | None]) -> tuple[int, str] | None:
    """What keeps heads, None where they are open, from being part of a tree with one root."""
    return check_partial_tree([-1 if head is None else head for head in heads])


def _above(heads: Sequence[int | None], k: int) -> Iterator[int]:
    """A word, its head, and so on, each once; then all other roots."""
    seen: dict[int, None] = {}
    at: int | None = k
    while at is not None and at >= 0 and at not in seen:
        seen[at] = None
        head = heads[at]
        at = None if head is None else head - 1
    yield from seen
    yield from (own for own, head in enumerate(heads) if head == 0 and own not in seen)


ROOT = "root"
"""The relation of the root in Universal Dependencies, which nobody has to choose."""


def _check_tree(forms: Sequence[str], given: Known, labels: Sequence[str]) -> Known:
    heads, relations = given.get("heads"), given.get("relations")
    if not (isinstance(heads, list) and isinstance(relations, list) and len(heads) == len(relations) == len(forms)):
        raise StructronError(f"heads and relations: expected one for each of {len(forms)} words, null where it is open")
    for k, (form, head, relation) in enumerate(zip(forms, heads, relations, strict=True), 1):
        if head is not None and (type(head) is not int or head < 0):
            raise StructronError(f"word {k} ({quoted(form)}): head {head}; expected 0 to {len(forms)}, another word")
        if relation is not None and relation not in labels and (head, relation) != (0, ROOT):
            raise StructronError(
                f"word {k} ({quoted(form)}): no relation {quoted(relation)}; expected one of {', '.join(labels)}"
            )
    if forms and (wrong := _wrong(heads)) is not None:
        raise StructronError(f"word {wrong[0] + 1} ({quoted(forms[wrong[0]])}): {wrong[1]}")
    return {"heads": heads, "relations": relations}
