"""Dependency parsing by graphs: the tree whose arcs, or pairs and triples of arcs, score best.

rows ──parser_input──▶ x ──graph_search: prune, score, search──▶ heads, relations ──graph_update──▶ weights
                                      ▲
gold heads ──parser_data──▶ trees ────┘
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from structron.errors import StructronError
from structron.features.alphabets import EMPTY, ParserInput, Sentence
from structron.learn.committee import Committee
from structron.learn.graph import GraphLearner, Trees
from structron.model.graph import LEAST_BITS, MOST_BITS, GraphModel
from structron.progress import Progress
from structron.search.graph.parse import Setting
from structron.search.graph.relations import Relations
from structron.search.graph.templates import EXTRA, FIRST_ORDER, RANKING, SECOND_ORDER, Codes, settle
from structron.sentences import starts_of
from structron.tasks.graph.inspect import heaviest
from structron.tasks.tree_parser import TreeParser
from structron.tasks.treebank import Arc, Projective, empty_columns
from structron.update.alma import make_alma, named
from structron.update.swvp import Family, make_swvp

Encoded = tuple[np.ndarray, np.ndarray]
ORDERS = (1, 2)


class GraphParser(TreeParser):
    """Learns dependency trees with exact search over all trees, or nearly all, and perceptron updates.

    order: 1 scores arcs (McDonald, Crammer & Pereira 2005), 2 also siblings and, unless grandparents is False, the
    head's head (Koo & Collins 2010).   projective: search trees without crossing arcs (Eisner); False: any tree, by
    maximum spanning arborescence, at order 2 by climbing from the best projective tree.
    nonprojective: what a projective parser does with trees that cross: lift (undone when parsing) or skip them.
    single_root: the root has one child.   labelled: learn relations too.
    columns: names of a token's columns; pos: the one with the part of speech.
    margin: C: every word with a wrong head or relation is worth C to the search while learning, so that the correct
    tree has to win by C for each; None: the perceptron.   alma: ALMA, which aims at this share (0 to 1) of the largest
    margin.
    keep_heads: heads of each word that a fast model leaves to be looked at closely, 0: all.
    cutoff: words seen less often are treated as unknown.   bits: 2^bits weights, shared by chance where they are few.
    prune: weights of at most this size are left out of the model.
    swvp: a-wm, b-wm, a-wmr or b-wmr: weighted violations (Dror & Reichart 2016) with their beta; jj: errors, spans,
    prefixes, whole or a function of the correct and the found (head, relation) of a sentence's words that gives lists
    of positions (from 0); enforce: every update a violation.
    passes, runs, average, seed, shuffle, patience, stop_change: as for every learner.   jobs: threads when parsing.
    """

    task: ClassVar[str] = "graph-parser"
    templates_: Codes
    texts_: dict[int, list[str]]
    model_: GraphModel

    def __init__(
        self,
        *,
        order: int = 2,
        grandparents: bool = True,
        projective: bool = True,
        single_root: bool = True,
        labelled: bool = True,
        passes: int = 5,
        runs: int = 2,
        average: str = "mean",
        margin: float | None = None,
        alma: float | None = None,
        keep_heads: int = 8,
        columns: Sequence[str] | None = None,
        pos: str | None = None,
        nonprojective: str = "lift",
        cutoff: int = 1,
        bits: int = 24,
        prune: float = 0.0,
        seed: int = 1,
        shuffle: bool = True,
        patience: int = 0,
        stop_change: float | None = None,
        swvp: str | None = None,
        beta: float = 1.0,
        jj: str | Family = "errors",
        enforce: bool = False,
        jobs: int = 1,
        verbose: bool = False,
    ):
        self.order, self.grandparents, self.projective, self.single_root = order, grandparents, projective, single_root
        self.labelled, self.passes, self.runs, self.average = labelled, passes, runs, average
        self.margin, self.alma = margin, alma
        self.keep_heads, self.columns, self.pos, self.nonprojective = keep_heads, columns, pos, nonprojective
        self.cutoff, self.bits, self.prune = cutoff, bits, prune
        self.seed, self.shuffle, self.patience, self.stop_change = seed, shuffle, patience, stop_change
        self.swvp, self.beta, self.jj, self.enforce = swvp, beta, jj, enforce
        self.jobs, self.verbose = jobs, verbose

    # -- training ------------------------------------------------------------------------------------------------

    def _train(
        self,
        sentences: Iterable[Sentence],
        dev: Iterable[Sentence] | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
    ) -> None:
        self._check_parameters()
        options = self._options(checkpoint, resume)
        learner = self._make_learner(self._treebank(sentences, crossing=not self.projective))
        several = Committee(learner, int(self.runs)) if self.runs > 1 else learner
        self._learn(several, options, self._dev_score(dev), progress, self.notes_)

    def _check_parameters(self) -> None:
        self._check_whole(
            passes=1, runs=1, cutoff=0, jobs=1, seed=0, patience=0, keep_heads=0, bits=LEAST_BITS, order=1
        )
        self._check_choices()
        if self.order not in ORDERS:
            raise StructronError(f"order: {self.order}; expected 1 or 2")
        if self.bits > MOST_BITS:
            raise StructronError(f"bits: {self.bits}; expected at most {MOST_BITS}")
        make_alma(self.alma, self.margin)
        if not (isinstance(self.prune, int | float | np.number) and 0 <= self.prune < math.inf):
            raise StructronError(f"prune: {self.prune!r}; expected a number of at least 0")

    def _make_learner(self, data: Projective) -> GraphLearner:
        """Settle columns, alphabets and relations."""
        given = [name for name in self.columns_ if name not in self.outputs_]
        useless = {self.tag_, self.word_, *empty_columns(self.columns_, data.sentences)}
        extra = [name for name in ParserInput.possible(given, self.word_, EXTRA) if name not in useless]
        self.input_ = ParserInput(self.columns_, self.word_, self.tag_, extra, self.outputs_)
        x = self.input_.learn(data.sentences, self.cutoff)
        self._settle_templates()
        flat = [arc for tree in data.trees for arc in tree]
        self.relations_ = sorted({relation or EMPTY for _, relation in flat}) if self.labelled_ else []
        number = {relation: k for k, relation in enumerate(self.relations_)}
        heads = np.array([head for head, _ in flat], np.int64)
        gold = np.array([number.get(relation or EMPTY, 0) for _, relation in flat], np.int64)
        trees = Trees(x, starts_of(data.sentences), heads, gold)
        relations = possible_relations(trees, self.input_.sizes()["t"], len(self.relations_))
        how = (self._setting(), int(self.bits), self.average, float(self.prune), self.margin, self.alma)
        return GraphLearner(self.templates_, trees, relations, *how, make_swvp(self), self.relations_)

    def _settle_templates(self) -> None:
        groups = [*FIRST_ORDER]
        groups += SECOND_ORDER if self.order == 2 else []
        groups += RANKING if self.keep_heads else []
        self.texts_, self.templates_ = settle(self.input_.names, groups)

    def _setting(self) -> Setting:
        flags = (bool(self.grandparents), bool(self.projective), bool(self.single_root))
        return Setting(int(self.order), *flags, int(self.keep_heads))

    # -- using ---------------------------------------------------------------------------------------------------

    def is_cold(self) -> bool:
        """Whether the first sentence has to wait for the compiler."""
        return GraphModel.is_cold(self._setting())

    def _inputs(self, sentences: Sequence[Sentence]) -> Encoded:
        return self.input_.encode(sentences), starts_of(sentences)

    def _parse(self, model: GraphModel, inputs: Encoded, jobs: int) -> list[list[Arc]]:
        heads, found = model.decode(*inputs, self._setting(), jobs)
        names = np.array(self.relations_ or [EMPTY], dtype=object)
        return self._trees(inputs[1], heads, names[found])

    def inspect_weights(self, label: str | None = None, top: int = 20) -> dict[str, list[tuple[str, float]]]:
        """The heaviest features of arcs by side, and of every relation, or of `label` alone (see graph_inspect.py)."""
        return heaviest(self, self._check_fitted(), label, top)

    # -- files ---------------------------------------------------------------------------------------------------

    def _signature(self) -> str:
        kind = ("siblings", "grandparents")[bool(self.grandparents)] if self.order == 2 else "arcs"
        search = f"{kind}{'' if self.projective else '-crossing'}"
        search += f"-keep-{self.keep_heads}" if self.keep_heads else ""
        update = f"{make_swvp(self) or named('perceptron', self.alma, self.margin)}"
        size = f"relations {len(self.relations_)}"
        return self._signed(update, search, self.runs, self.cutoff, self.model_.features, size)

    def _save_model(self, model: GraphModel, path: Path) -> None:
        from structron.tasks.graph.storage import save

        save(self, model, path)


def possible_relations(trees: Trees, tags: int, count: int) -> Relations:
    """By side and tags of head and word: the relations seen; those of the word's tag where the two were never seen so;
    all where that was not seen either."""
    words = np.arange(len(trees.heads))
    first = np.repeat(trees.starts[:-1], np.diff(trees.starts))
    parents = first + trees.heads - 1
    tag = trees.x[:, 1]
    above = np.where(trees.heads > 0, tag[parents], 0)
    seen = np.zeros((2, tags, tags, count), np.bool_)
    if count:
        seen[((trees.heads == 0) | (parents < words)).astype(np.int64), above, tag, trees.relations] = True
        with_word = np.any(seen, axis=(0, 1))
        with_word |= ~np.any(with_word, axis=1, keepdims=True)
        seen = np.where(np.any(seen, axis=3, keepdims=True), seen, with_word)
    flat = seen.reshape(2 * tags * tags, count)
    ends = np.concatenate([[0], np.cumsum(flat.sum(axis=1))]).astype(np.int64)
    return Relations(count, tags, ends, np.nonzero(flat)[1].astype(np.int64))
