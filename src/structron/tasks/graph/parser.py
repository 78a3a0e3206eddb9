"""Dependency parsing by graphs: the tree whose arcs, or pairs and triples of arcs, score best.

rows ──alphabets──▶ x ──search/graph: prune, score, search──▶ heads, relations ──update/trees──▶ weights
                                  ▲
gold heads ──treebank──▶ trees ───┘
"""

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.estimator import Sentences
from structron.features.alphabets import ParserInput, Sentence
from structron.io.columns import EMPTY
from structron.io.tensors import Tensors, check
from structron.learn.graph import EncodedTrees, GraphLearner
from structron.model.graph import GraphModel
from structron.model.heaviest import Heaviest
from structron.search.graph.relations import Relations
from structron.search.graph.scratch import ParseSettings
from structron.search.graph.templates import CLASSES, EXTRA, FIRST_ORDER, RANKING, SECOND_ORDER, encode_templates
from structron.tasks.graph.explain import Attachment, explain
from structron.tasks.graph.inspect import heaviest_features
from structron.tasks.options import GraphOptions
from structron.tasks.tree_parser import TreeParser
from structron.tasks.treebank import Arc, empty_columns
from structron.text.sentences import starts_of


class GraphParser(TreeParser):
    """Finds dependency trees by a search over all trees (or nearly all), trained with perceptron updates.

    Order 1 scores arcs (McDonald, Crammer & Pereira 2005), order 2 also siblings and grandparents (Koo & Collins 2010).
    Projective trees are found by Eisner's algorithm, others as maximum spanning arborescences, at order 2 by hill
    climbing from the best projective tree. With a margin C the correct tree must win by C for every wrong arc.

    Examples:
        >>> from structron import GraphParser
        >>> train = [[("The", "DT", "2", "det"), ("dog", "NN", "3", "nsubj"), ("barks", "VBZ", "0", "root")]]
        >>> columns = ["word", "pos", "head", "deprel"]
        >>> parser = GraphParser(columns=columns, order=1, runs=1, bits=16).fit(train)
        >>> parser.predict([[("A", "DT"), ("dog", "NN"), ("barks", "VBZ")]])
        [[(2, 'det'), (3, 'nsubj'), (0, 'root')]]
    """

    options_class = GraphOptions
    usual_columns: ClassVar[tuple[str, ...]] = ("word", "pos", "head", "deprel")

    # -- training ------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        self.options.steps()

    def _learner(self, sentences: Sentences, start: GraphModel | None) -> GraphLearner:
        """Settle columns, alphabets and relations."""
        data = self._treebank(sentences, start, crossing=not self.options.projective)
        if start is None:
            roles = self.roles_
            useless = {roles.pos, roles.word, *empty_columns(roles.names, data.sentences)}
            names, clusters = (EXTRA, False) if self.clusters_ is None else (EXTRA + CLASSES, True)
            possible = ParserInput.possible(roles.inputs, roles.word, names, clusters)
            extra = [name for name in possible if name not in useless]
            self.input_ = ParserInput(roles.names, roles.word, str(roles.pos), extra, roles.outputs, self.clusters_)
            self.relations_ = []
        x = self.input_.learn(self.input_.encoded(data.sentences), self.options.cutoff)
        self._settle_templates()
        flat = [arc for tree in data.trees for arc in tree]
        seen = {relation for _, relation in flat if relation is not None} if self.labelled_ else set()
        self._settle_relations([*self.relations_, *sorted(seen - set(self.relations_))])
        number = {relation: k for k, relation in enumerate(self.relations_)}
        heads = np.array([head for head, _ in flat], np.int64)
        unknown = -1 if self.labelled_ else 0
        gold = np.array([unknown if relation is None else number[relation] for _, relation in flat], np.int64)
        if self.options.swvp is not None and (heads.min() < 0 or gold.min() < 0):
            raise StructronError("swvp: cannot be combined with open heads or relations; expected swvp none")
        trees = EncodedTrees(x, starts_of(data.sentences), heads, gold)
        before = None if start is None else start.relations
        relations = possible_relations(trees, self.input_.sizes()["t"], len(self.relations_), before)
        how = (
            self._setting(),
            self.options.steps(),
            int(self.options.bits),
            self.options.average,
            float(self.options.prune),
        )
        return GraphLearner(self.templates_, trees, relations, *how, self.relations_, start)

    def _settle_templates(self) -> None:
        groups = [*FIRST_ORDER]
        groups += SECOND_ORDER if self.options.order == 2 else []
        groups += RANKING if self.options.keep_heads else []
        self.texts_, self.templates_ = encode_templates(self.input_.names, groups)

    @classmethod
    def kernels_of(cls, options: Mapping[str, Any]) -> str:
        return f"{cls.task} first-order" if options.get("order") == 1 else cls.task

    def _setting(self) -> ParseSettings:
        flags = (bool(self.options.grandparents), bool(self.options.projective), bool(self.options.single_root))
        return ParseSettings(int(self.options.order), *flags, int(self.options.keep_heads))

    # -- using ---------------------------------------------------------------------------------------------------

    def is_cold(self) -> bool:
        """Whether the first sentence has to wait for the compiler."""
        return GraphModel.is_cold(self._setting())

    def _parse(self, model: GraphModel, x: np.ndarray, starts: np.ndarray, jobs: int) -> list[list[Arc]]:
        heads, found = model.decode(x, starts, self._setting(), jobs)
        return self._trees(starts, heads, self._names[found])

    def _parse_nbest(
        self, model: GraphModel, x: np.ndarray, starts: np.ndarray, n: int, jobs: int
    ) -> list[list[tuple[list[Arc], float]]]:
        best, names = model.nbest(x, starts, self._setting(), n, jobs), self._names
        return [[(self._tree(h.tolist(), names[r].tolist()), score) for h, r, score in own] for own in best]

    @property
    def _names(self) -> np.ndarray:
        return np.array(self.relations_ or [EMPTY], dtype=object)

    def inspect(self, label: str | None = None, *, top: int = 20) -> Heaviest:
        """The features with the largest weights, for arcs to the left and to the right, and for every relation.

        Args:
            label: Only those of this relation.
            top: How many of each.
        """
        return heaviest_features(self, self._check_fitted(), label, top)

    def explain(self, sentence: Sentence, *, top: int = 8) -> list[Attachment]:
        """For each word its head, the next best one, and the features that decided.

        Args:
            sentence: A sentence, as for `predict`.
            top: How many features for each word.
        """
        self._check_fitted()
        return explain(self, sentence, top) if len(sentence) else []

    # -- files ---------------------------------------------------------------------------------------------------

    def _summary(self) -> dict[str, Any]:
        kind = ("siblings", "grandparents")[bool(self.options.grandparents)] if self.options.order == 2 else "arcs"
        search = f"{kind}{'' if self.options.projective else '-crossing'}"
        search += f"-keep-{self.options.keep_heads}" if self.options.keep_heads else ""
        rule = self.options.steps().rule.replace("standard", "perceptron")
        found = {"update": rule, "search": search, "cutoff": self.options.cutoff, "features": self.model_.features}
        return found | {"size": f"relations {len(self.relations_)}"}

    def _state(self, model: GraphModel) -> tuple[dict[str, Any], Tensors]:
        """Templates are code: a file says which kind of code its weights belong to."""
        learned, tensors = super()._state(model)
        return learned | {"templates": self._digest()}, tensors

    def _digest(self) -> str:
        """Tells whether weights belong to these templates."""
        texts = repr(sorted((int(group), lines) for group, lines in self.texts_.items()))
        return hashlib.sha256(texts.encode()).hexdigest()[:16]

    def _load_state(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        super()._load_state(learned, tensors, **code)
        if self.labelled_ != bool(self.relations_):
            raise ValueError("relations do not fit together")
        self._settle_templates()
        if learned["templates"] != self._digest():
            raise ValueError("features of another version")
        given = (self.input_.sizes()["t"], len(self.relations_), int(self.options.bits))
        check(tensors, *GraphModel.declared(*given))
        self.model_ = GraphModel.from_tensors(self.templates_, *given, tensors)


def possible_relations(trees: EncodedTrees, tags: int, count: int, before: Relations | None = None) -> Relations:
    """By side and tags of head and word: the relations seen; those of the word's tag where the two were never seen so;
    all where that was not seen either. before: those known already.

    Where heads or relations are open, too few pairs are seen: the word's tag decides.
    """
    words = np.flatnonzero((trees.heads >= 0) & (trees.relations >= 0))
    heads, first = trees.heads[words], np.repeat(trees.starts[:-1], np.diff(trees.starts))[words]
    parents = first + heads - 1
    tag, every = trees.x[words, 1], trees.x[:, 1]
    above = np.where(heads > 0, every[parents], 0)
    seen = np.zeros((2, tags, tags, count), np.bool_)
    if before is not None:
        old = np.zeros((2 * before.tags**2, before.size), np.bool_)
        old[np.repeat(np.arange(len(old)), np.diff(before.first)), before.possible] = True
        seen[:, : before.tags, : before.tags, : before.size] = old.reshape(2, before.tags, before.tags, before.size)
    if count:
        seen[((heads == 0) | (parents < words)).astype(np.int64), above, tag, trees.relations[words]] = True
        named = trees.relations >= 0
        with_word = np.any(seen, axis=(0, 1))
        with_word[every[named], trees.relations[named]] = True
        with_word |= ~np.any(with_word, axis=1, keepdims=True)
        told = np.any(seen, axis=3, keepdims=True) & (not trees.open.any())
        seen = np.where(told, seen, with_word)
    flat = seen.reshape(2 * tags * tags, count)
    ends = np.concatenate([[0], np.cumsum(flat.sum(axis=1))]).astype(np.int64)
    return Relations(count, tags, ends, np.nonzero(flat)[1].astype(np.int64))
