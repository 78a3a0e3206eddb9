"""Treebanks: the trees that rows hold, what a projective parser makes of crossing arcs, and trees as numbers.

rows ──read_arcs──▶ trees ──make_projective──▶ projective trees ──Treebank──▶ numbers
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from structron.errors import StructronError, quoted
from structron.features.alphabets import Sentence
from structron.io import CONLLU_COLUMNS
from structron.io.columns import EMPTY, TREE_COLUMNS, Columns, tree_columns
from structron.tasks.partial import is_open
from structron.text.sentences import starts_of
from structron.text.trees import MARK, check_partial_tree, fits_projective, is_projective, lift, opened

RARE, FEW_MARKS = 5, 16
"""Marks of lifted words seen less than RARE times are left off where there are more than FEW_MARKS kinds of them."""

Arc = tuple[int, str | None]
ROOT = "root"
"""The relation of roots where the data do not tell."""
OPEN_HEAD = -1
"""The head of a word whose head is not known."""


def settle_columns(
    sentences: Sequence[Sentence], names: Sequence[str] | None, pos: str | None, labelled: bool
) -> Columns:
    """Find out what the columns are by their names, or by their number where nobody named them."""
    first = sentences[0][0]
    if isinstance(first, str) or len(first) < 3:
        raise StructronError(
            f"training data: a token is {quoted(first)}; expected rows with word, tag and head at least"
        )
    width = len(first)
    columns = list(names or (CONLLU_COLUMNS if width == len(CONLLU_COLUMNS) else TREE_COLUMNS[:width]))
    if len(columns) != width:
        raise StructronError(f"training data: {width} columns; expected names for them (columns=…)")
    roles = tree_columns(columns, pos, labelled)
    if roles.relation is None:
        return roles
    place = columns.index(roles.relation)
    named = any(len(row) == width and row[place] != EMPTY for sentence in sentences for row in sentence)
    return roles if named else roles.without_relations()


def empty_columns(columns: list[str], sentences: Sequence[Sentence]) -> set[str]:
    """The columns that say nothing."""
    full = [row for sentence in sentences for row in sentence if len(row) == len(columns)]
    return {name for k, name in enumerate(columns) if all(row[k] == EMPTY for row in full)}


def read_arcs(
    sentences: Sequence[Sentence],
    roles: Columns,
    what: str,
    many_roots: bool = False,
    numbers: Sequence[int] | None = None,
) -> list[list[Arc]]:
    """The trees that rows hold, checked; a sentence without words has no arcs.

    numbers: of the sentences, of which some heads and relations may then be open: -1 and None.
    """
    head = roles.names.index(roles.outputs[0])
    relation = roles.names.index(roles.relation) if roles.relation is not None else None
    found: list[list[Arc]] = []
    for number, sentence in zip(numbers or range(1, len(sentences) + 1), sentences, strict=True):
        for k, row in enumerate(sentence, 1):
            if isinstance(row, str) or len(row) != len(roles.names):
                expected = f"expected {len(roles.names)} columns: {', '.join(roles.names)}"
                raise StructronError(f"{what}: sentence {number}: word {k} is {quoted(row)}; {expected}")
        heads = [_head(row[head], f"{what}: sentence {number}: word {k}") for k, row in enumerate(sentence, 1)]
        if numbers is None and OPEN_HEAD in heads:
            k = heads.index(OPEN_HEAD)
            raise StructronError(f"{what}: sentence {number}: word {k + 1}: an open head; expected known heads")
        problem = check_partial_tree(heads, many_roots) if heads else None
        if problem:
            word = sentence[problem[0]][roles.names.index(roles.word)]
            raise StructronError(f"{what}: sentence {number}: word {problem[0] + 1} ({word}): {problem[1]}")
        relations = [None if relation is None or is_open(row[relation]) else str(row[relation]) for row in sentence]
        found.append(list(zip(heads, relations, strict=True)))
    return found


def _head(text: object, where: str) -> int:
    if is_open(text):
        return OPEN_HEAD
    try:
        return int(str(text))
    except ValueError:
        raise StructronError(
            f"{where}: head {quoted(text)} is not a number; expected 0 for the root, or the number of a word"
        ) from None


@dataclass(frozen=True, slots=True)
class Projective:
    """Sentences with trees that arc-standard can build, and what was done to get them."""

    sentences: list[Sentence]
    trees: list[list[Arc]]
    lifted: int
    note: str


def make_projective(
    sentences: Sequence[Sentence],
    arcs: Sequence[list[Arc]],
    skip: bool,
    labelled: bool,
    numbers: Sequence[int] | None = None,
    many_roots: bool = False,
) -> Projective:
    """Lift crossing arcs, or leave their sentences out; the note counts them. Where heads are open, crossing arcs are
    left open, too.

    numbers: of the sentences, for the note.
    """
    kept: list[Sentence] = []
    trees: list[list[Arc]] = []
    lifted = crossing = 0
    loosened: list[str] = []
    for number, sentence, tree in zip(numbers or range(1, len(arcs) + 1), sentences, arcs, strict=True):
        heads = [head for head, _ in tree]
        if OPEN_HEAD in heads and not fits_projective(heads, many_roots):
            loose = opened(heads, many_roots)
            places = [k for k, head in enumerate(loose, 1) if head != heads[k - 1]]
            loosened += [f"sentence {number}, word {k}" for k in places]
            if skip:
                continue
            tree = [
                (head, None if k in places else r) for k, (head, (_, r)) in enumerate(zip(loose, tree, strict=True), 1)
            ]
            heads = loose
        if OPEN_HEAD not in heads and not is_projective(heads):
            crossing += 1
            if skip:
                continue
            new_heads, relations, count = lift(heads, [r or EMPTY for _, r in tree] if labelled else None)
            lifted += count
            named: Sequence[str | None] = [None] * len(tree) if relations is None else relations
            tree = list(zip(new_heads, named, strict=True))
        kept.append(sentence)
        trees.append(tree)
    if not kept:
        raise StructronError("training data: all sentences are non-projective; expected --nonprojective lift")
    if lifted and labelled:
        _check_marks(arcs)
        trees = _without_rare_marks(trees)
    done = "skipped" if skip else f"used with {lifted} words lifted"
    notes = [f"{crossing} of {len(arcs)} sentences are non-projective: {done}"] if crossing else []
    if loosened:
        done = "their sentences skipped" if skip else "left open"
        notes.append(
            f"heads of crossing arcs in sentences with open heads: {len(loosened)}, {done} (first: {loosened[0]})"
        )
    return Projective(kept, trees, lifted, "; ".join(notes))


def mirrored(tree: Sequence[Arc]) -> list[Arc]:
    """The tree of a sentence that is read from its last word to its first."""
    return [(len(tree) + 1 - head if head > 0 else head, relation) for head, relation in reversed(tree)]


def mirrored_places(starts: np.ndarray) -> np.ndarray:
    """For every word of some sentences the place of the word that stands as far from the other end of its sentence."""
    lengths = np.diff(starts)
    return np.repeat(starts[:-1] + starts[1:] - 1, lengths) - np.arange(starts[-1])


def _without_rare_marks(trees: list[list[Arc]]) -> list[list[Arc]]:
    """Lifted words of a kind seen less than RARE times keep their plain relation: too few to learn where they belong.

    Each kind is a relation more, which every action and every row of weights has to carry.
    """
    counts = Counter(relation for tree in trees for _, relation in tree if relation and MARK in relation)
    rare = {relation: relation.partition(MARK)[0] for relation, count in counts.items() if count < RARE}
    if len(counts) <= FEW_MARKS:
        return trees
    return [[(head, rare.get(relation or "", relation)) for head, relation in tree] for tree in trees]


def _check_marks(arcs: Sequence[list[Arc]]) -> None:
    """What looks like a lifted word's relation would be undone when parsing."""
    for number, tree in enumerate(arcs, 1):
        for k, (_, relation) in enumerate(tree, 1):
            if relation and MARK in relation:
                raise StructronError(
                    f"training data: sentence {number}: word {k}: relation {relation!r} contains {MARK}, the "
                    "mark of lifted words; expected another name, or --nonprojective skip"
                )


@dataclass(frozen=True, slots=True)
class Treebank:
    """Projective trees as numbers, and the names of their relations; `root` is the relation of roots."""

    starts: np.ndarray  # int64[sentences + 1]
    heads: np.ndarray  # int64[words], -1: open
    relations: np.ndarray  # int64[words], 0 at roots, -1: open
    names: list[str]
    root: str | None

    @classmethod
    def of(cls, trees: Sequence[list[Arc]], labelled: bool, known: Sequence[str] = ()) -> "Treebank":
        """known: relations that come first."""
        flat = [arc for tree in trees for arc in tree]
        roots = Counter(relation for head, relation in flat if head == 0 and relation is not None)
        root = roots.most_common(1)[0][0] if roots else ROOT
        seen = {relation for head, relation in flat if head > 0 and relation is not None}
        others = {relation for head, relation in flat if head < 0 and relation is not None}
        seen = (seen | (others - {root})) if labelled else set()
        names = [*known, *sorted(seen - set(known))]
        number = {relation: k for k, relation in enumerate(names)}
        heads = np.array([head for head, _ in flat], np.int64)
        unknown = -1 if labelled else 0
        relations = np.array(
            [
                (unknown if relation is None else number.get(relation, unknown)) if head else 0
                for head, relation in flat
            ],
            np.int64,
        )
        return cls(starts_of(trees), heads, relations, names or [EMPTY], root if labelled else None)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """starts, heads and relations."""
        return self.starts, self.heads, self.relations

    @property
    def open(self) -> np.ndarray:
        """bool[sentences]: whether a head or a relation is open."""
        before = np.concatenate([[0], np.cumsum((self.heads < 0) | (self.relations < 0))])
        return before[self.starts[1:]] > before[self.starts[:-1]]

    def take(self, some: np.ndarray) -> "Treebank":
        """Some of the sentences. some: bool[sentences]"""
        words = np.repeat(some, np.diff(self.starts))
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[some])])
        return replace(self, starts=starts, heads=self.heads[words], relations=self.relations[words])


def settled_root(tree: list[Arc], of_roots: Collection[str | None]) -> list[Arc]:
    """A tree in which a word with a relation that only roots have is the root, unless there is another."""
    k = next((k for k, (head, relation) in enumerate(tree) if head < 0 and relation in of_roots), None)
    if k is None or any(head == 0 for head, _ in tree):
        return tree
    return [*tree[:k], (0, tree[k][1]), *tree[k + 1 :]]


def roots_by_relation(arcs: Sequence[list[Arc]]) -> list[list[Arc]]:
    """Where heads are open, a word with a relation that only roots have is the root, unless there is another."""
    of_roots = {relation for tree in arcs for head, relation in tree if head == 0}
    of_roots -= {relation for tree in arcs for head, relation in tree if head > 0} | {None}
    return [settled_root(tree, of_roots) for tree in arcs]
