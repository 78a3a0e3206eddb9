"""Which column of a token is the word, the tag, the label, the head: once, for Python and the command line."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from structron.errors import StructronError, unknown

WORDS, TAGS, HEADS, RELATIONS = ("word", "form", "w"), ("upos", "pos"), ("head",), ("deprel", "relation")
"""Names by which a column is known for what it is."""
TREE_COLUMNS = ["word", "pos", "head", "deprel"]
"""Those of trees in a file without names."""
EMPTY = "_"
"""What stands in a column that says nothing."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a token, and what a model makes of them."""

    names: list[str]
    word: str
    outputs: list[str]  # those that a model predicts
    pos: str | None = None  # the parts of speech that a parser reads

    @property
    def inputs(self) -> list[str]:
        """Those that a model may read."""
        return [name for name in self.names if name not in self.outputs]

    @property
    def relation(self) -> str | None:
        """A parser's column of relations, None: unlabelled."""
        return self.outputs[1] if self.pos is not None and len(self.outputs) > 1 else None

    def without_relations(self) -> "Columns":
        """The same for an unlabelled parser."""
        return replace(self, outputs=self.outputs[:1])


def default_columns(width: int) -> list[str]:
    """Names for the columns of a file that nobody named: word, pos, …, label."""
    middle = ["pos", *(f"column{k}" for k in range(3, width))]
    return ["word", *middle[: max(width - 2, 0)], "label"][: max(width, 1)]


def word_column(names: Sequence[str]) -> str:
    """The column of the words: the one that is called so, or the first."""
    return next((name for name in WORDS if name in names), names[0])


def label_columns(names: Sequence[str], label: str | None = None) -> Columns:
    """The columns of a task that learns one label; by default the last."""
    names = _different(names)
    label = _known("label column", label or names[-1], names)
    word = word_column(names)
    if word == label:
        raise StructronError(f"columns: {', '.join(names)}: the label cannot be the word; expected word,…,label")
    return Columns(names, word, [label])


def pair_columns(names: Sequence[str], pos: str | None = None, label: str | None = None) -> Columns:
    """Those of a task that learns a tag ("pos", or the last but one) and a chunk label (the last)."""
    names = _different(names)
    given = ", ".join(names)
    if len(names) < 3:
        raise StructronError(f"columns: {given}: {len(names)}; expected the word, its tag and its chunk label")
    label = _known("label column", label or names[-1], names)
    others = [name for name in names if name != label]
    pos = _known("pos column", pos or ("pos" if "pos" in others else others[-1]), names)
    word = word_column(names)
    if len({word, pos, label}) < 3:
        found = f"word {word!r}, pos {pos!r}, label {label!r}"
        raise StructronError(f"columns: {given}: {found}; expected three different columns")
    return Columns(names, word, [pos, label])


def tree_columns(names: Sequence[str], pos: str | None = None, labelled: bool = True) -> Columns:
    """Those of a parser: heads are learned, and relations where there are any."""
    names = _different(names)
    tag, head = _one(names, [pos] if pos else TAGS, "part-of-speech"), _one(names, HEADS, "head")
    relation = next((name for name in RELATIONS if name in names), None) if labelled else None
    outputs = [head] if relation is None else [head, relation]
    word = word_column(names)
    if len({word, tag, *outputs}) < 2 + len(outputs):
        found = f"word {word}, part of speech {tag}, head {head}"
        raise StructronError(f"columns: {', '.join(names)}: {found}; expected three different columns")
    return Columns(names, word, outputs, tag)


def _different(names: Sequence[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise StructronError(f"columns: {', '.join(names)}: a name occurs twice; expected different names")
    return list(names)


def _known(what: str, name: str, names: Sequence[str]) -> str:
    if name not in names:
        raise unknown(what, name, names)
    return name


def _one(names: Sequence[str], known: Sequence[str], what: str) -> str:
    found = next((name for name in known if name in names), None)
    if found is None:
        raise StructronError(f"columns: no {what} column ({' or '.join(known)}) among {', '.join(names)}")
    return found
