"""Dependency parsing: an incremental (shift-reduce) parser with beam search, dynamic programming and learned weights.

rows ──alphabets──▶ x ──system──▶ problem ──beam engine──▶ actions ──oracle──▶ heads, relations
                         ▲
gold heads ──treebank──▶ projective trees ──oracle──▶ gold actions
"""

import copy
import dataclasses
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError, unknown
from structron.estimator import Sentences
from structron.features.alphabets import ParserInput, Sentence
from structron.features.encode import TokenTable
from structron.fields import options_of
from structron.io import modelfile
from structron.io.tensors import Tensors, check, taken, texts, whole
from structron.learn.beam import BeamTraining, Beginning, Known
from structron.learn.trace import Scene
from structron.model.beam import WIDE, BeamModel, joined
from structron.model.compact import compacted
from structron.model.explain import Explainer, Step
from structron.model.heaviest import Heaviest, heaviest_of
from structron.options import Search
from structron.search.beam.engine import NO_ANCHORS, Engine, make_inputs
from structron.search.beam.frontier import TAIL, Inputs
from structron.search.beam.problem import SearchProblem, Walk
from structron.tasks.chain.encoder import columns_of
from structron.tasks.options import ParserOptions
from structron.tasks.shift_reduce import system
from structron.tasks.shift_reduce.agreeing import agreeing, known_trees
from structron.tasks.shift_reduce.building import follow, trees_of
from structron.tasks.shift_reduce.habits import groups_of, rootless_tags, single_relations, unusual
from structron.tasks.shift_reduce.oracle import moves, oracle_all, seen_relations
from structron.tasks.shift_reduce.templates import ParserTemplates
from structron.tasks.tree_parser import TreeParser
from structron.tasks.treebank import Arc, Treebank, mirrored, mirrored_places, read_arcs, settled_root
from structron.text.trees import MARK, check_tree, fits_projective, opened

LEAST_WEIGHT, LEVELS = 0.8, 31
"""Weights of at most this size are left out of small files; the others have one of so many sizes."""
ORDERS = 4
"""Derivations that are looked at for each of the n best trees."""


class Parser(TreeParser):
    """Finds dependency trees with beam search, trained by LaSO (Daumé & Marcu 2005) with a margin of 5, or by
    violation-fixing updates (Huang, Fayong & Guo 2012).

    Templates are default, huang, a file, or a list of strings. Words seen less often than the cutoff are treated as
    unknown.

    Examples:
        >>> from structron import Parser
        >>> train = [[("The", "DT", "2", "det"), ("dog", "NN", "3", "nsubj"), ("barks", "VBZ", "0", "root")]]
        >>> parser = Parser(columns=["word", "pos", "head", "deprel"], passes=2).fit(train)
        >>> parser.predict([[("A", "DT"), ("dog", "NN"), ("barks", "VBZ")]])
        [[(2, 'det'), (3, 'nsubj'), (0, 'root')]]
    """

    options_class = ParserOptions
    usual_columns: ClassVar[tuple[str, ...]] = ("word", "pos", "head", "deprel")

    def save(self, path: str | Path) -> None:
        """Write the model file, atomically; a small one if `compact` is set.

        Args:
            path: The file to write.
        """
        if not self.options.compact:
            return super().save(path)
        return modelfile.save(path, *compacted(*self.contents(), LEAST_WEIGHT, LEVELS), packed=9)

    # -- training ------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        self.options.search(learning=True)
        ParserTemplates.of(self.options.templates)

    def _learner(self, sentences: Sentences, start: BeamModel | None) -> BeamTraining:
        """Settle relations, alphabets and the problem, and turn trees into the actions that build them."""
        data = self._treebank(sentences, start)
        if self.options.right_to_left:
            trees = [mirrored(tree) for tree in data.trees]
            data = dataclasses.replace(data, sentences=[own[::-1] for own in data.sentences], trees=trees)
        bank = Treebank.of(data.trees, self.labelled_, [] if start is None else self.relations_)
        self._settle_relations(bank.names)
        if start is None:
            self.root_ = bank.root
            templates = ParserTemplates.of(self.options.templates, self.clusters_ is not None)
            self.templates_, extra = templates.usable(self.roles_, data.sentences)
            roles = self.roles_
            self.input_ = ParserInput(roles.names, roles.word, str(roles.pos), extra, roles.outputs, self.clusters_)
            self.seen_: np.ndarray | None = None
            self.single_, self.rootless_, self.bits_ = list[str](), np.zeros(0, np.bool_), list[int]()
        x = self.input_.learn(self.input_.encoded(data.sentences), self.options.cutoff)
        if self.options.limit_relations and self.labelled_:
            bank, x = self._usual(bank, x, start is None)
            self.seen_ = self._seen(bank, x, self.seen_)
        else:
            self.seen_ = None
        lifted = [MARK in name for name in bank.names]
        self.bits_ = system.relation_bits(groups_of(bank.names, self.single_), lifted, self.bits_)
        self.problem_ = self._make_problem()
        is_open, ptr = bank.open, 2 * bank.starts - np.arange(len(bank.starts))
        closed, gold = bank.take(~is_open), np.zeros(int(ptr[-1]), np.int64)
        if len(closed.heads):
            gold[np.repeat(~is_open, np.diff(ptr))] = oracle_all(*closed.arrays, len(bank.names))
        inputs = make_inputs(self.problem_, x, bank.starts)._replace(gold=gold, gold_ptr=ptr)
        known = self._knowledge(inputs, bank) if is_open.any() else None
        beginning = None
        if start is not None:
            beginning = Beginning(start, columns_of(start.problem.actions, self.problem_.actions, "actions"))
        return BeamTraining(
            self.problem_,
            inputs,
            self.options.resolved,
            self.options.average,
            prune=self.options.prune,
            start=beginning,
            known=known,
        )

    def _usual(self, bank: Treebank, x: np.ndarray, learn: bool) -> tuple[Treebank, np.ndarray]:
        """A treebank without the sentences that have what others never have. learn: what that is.

        Sentences with open heads or relations say nothing about it and are kept."""
        is_open, count = bank.open, self.input_.sizes()["t"]
        closed, tags = bank.take(~is_open), x[np.repeat(~is_open, np.diff(bank.starts)), 1]
        if learn:
            self.single_ = single_relations(*closed.arrays, bank.names)
            self.rootless_ = rootless_tags(closed.starts, closed.heads, tags, count)
        self.rootless_ = np.append(self.rootless_, np.zeros(count - len(self.rootless_), np.bool_))
        groups = np.array(groups_of(bank.names, self.single_))[closed.relations]
        unused = unusual(closed.starts, closed.heads, groups, tags, self.rootless_)
        if len(unused) and unused.all():  # there may be few of them, as when one tree is traced
            self.single_, self.rootless_ = [], np.zeros(count, np.bool_)
            return bank, x
        if not unused.any():
            return bank, x
        kept = np.ones(len(is_open), np.bool_)
        kept[~is_open] = ~unused
        self.notes_.append(
            f"{(~kept).sum()} of {len(kept)} sentences left out: relations or roots that the others never have"
        )
        return bank.take(kept), x[np.repeat(kept, np.diff(bank.starts))]

    def _knowledge(self, inputs: Inputs, bank: Treebank) -> Known:
        """What is known of trees with open heads or relations."""
        search = self.options.search()
        for what, wrong in (("swvp", search.swvp is not None), ("beam", search.beam is None)):
            if wrong:
                given, expected = ("inf", "a limited beam") if what == "beam" else (search.swvp.variant, "swvp none")
                raise StructronError(f"{what}: {given} does not work with open heads or relations; expected {expected}")
        return known_trees(inputs, bank.heads, bank.relations, bank.open)

    def _seen(self, bank: Treebank, x: np.ndarray, before: np.ndarray | None) -> np.ndarray:
        """The relations seen with pairs of tags; with a pair never seen those that its word was seen with."""
        tags, count = self.input_.sizes()["t"], len(bank.names)
        heads = np.where(bank.relations < 0, 0, bank.heads)
        seen = seen_relations(bank.starts, heads, bank.relations, x[:, 1], tags, count)
        for word in np.flatnonzero((bank.heads < 0) & (bank.relations >= 0)).tolist():
            tag, relation = x[word, 1], bank.relations[word]
            if not seen[:, :, tag, relation].any():
                seen[:, :, tag, relation] = True
        if before is not None:
            _, old, _, relations = before.shape
            seen[:, :old, :old, :relations] |= before
        return np.where(seen.any(axis=3, keepdims=True), seen, seen.any(axis=1, keepdims=True))

    def _make_problem(self) -> SearchProblem:
        """Arc-standard with these templates, alphabets and relations."""
        excluded = system.exclusions(groups_of(self.relations_, self.single_), self.bits_)
        lasting = system.keep_learner_atoms(self.templates_, bool(excluded.any()))
        asked = [name for name in lasting if not name.startswith("word of ")]
        layout = system.atom_layout([*self.templates_, *asked], self.input_.names)
        count = len(self.relations_)
        sides = [f"{side}:{relation}" for side in ("left", "right") for relation in self.relations_]
        return SearchProblem(
            actions=["shift", *sides],
            width=system.WIDTH,
            start=system.start,
            legal=system.legal,
            advance=system.advance,
            atoms=system.atoms,
            atom_names=system.sizes(layout, self.input_.sizes(), count),
            templates=self.templates_,
            moves=moves(count).tolist(),
            always=lasting,
            table=system.make_table(layout, count, self.seen_, excluded, self.rootless_, self.bits_),
            max_steps=system.most_steps,
            looks_at=system.looks_at,
            name="parser",
        )

    # -- using ---------------------------------------------------------------------------------------------------

    def predict(
        self, sentences: Sentences, *, jobs: int | None = None, beam: int | float | None = None
    ) -> list[list[Arc]]:
        """The tree of each sentence.

        Args:
            sentences: Sentences whose tokens are rows with words and tags.
            jobs: Number of threads; by default that of the estimator.
            beam: Another width than the model's, inf for no limit.

        Returns:
            For each sentence a head and a relation for every word.
        """
        return self._predict(sentences, jobs, partial(self._parse, search=self._search_with(beam)))

    def complete(self, sentences: Sentences) -> list[list[Arc]]:
        """The best tree of each sentence that agrees with what is known of it.

        Known heads of crossing arcs, which the parser cannot build, are put back where the result is still a tree.

        Args:
            sentences: Sentences whose tokens are rows with a head and a relation, None where they are open.

        Returns:
            For each sentence a head and a relation for every word.
        """
        self._check_fitted()
        given, rows = list(sentences), self._open_rows()
        places = [k for k, sentence in enumerate(given) if len(sentence)]
        full: list[Sentence] = [[rows.marked(row) for row in given[k]] for k in places]
        arcs = read_arcs(full, self.roles_, "data", numbers=range(1, len(full) + 1))
        known = [settled_root(tree, {self.root_}.difference(self.relations_, [None])) for tree in arcs]
        found: list[list[Arc]] = [[] for _ in given]
        for k, tree, own in zip(places, self._completed(full, known) if full else [], known, strict=True):
            found[k] = _put_back(tree, own)
        return found

    def _completed(self, full: list[Sentence], known: list[list[Arc]]) -> list[list[Arc]]:
        """The best projective trees that agree with what is known, as far as a projective tree can."""
        heads = [[head for head, _ in tree] for tree in known]
        heads = [own if fits_projective(own) else opened(own) for own in heads]
        trees = [
            [(head, relation if head == before else None) for head, (before, relation) in zip(own, tree, strict=True)]
            for own, tree in zip(heads, known, strict=True)
        ]
        turned = [mirrored(tree) for tree in trees] if self.options.right_to_left else trees
        number: dict[Any, int] = {relation: k for k, relation in enumerate(self.relations_)}
        own = [(head, number.get(relation, -1) if self.labelled_ else -1) for tree in turned for head, relation in tree]
        flat = np.array(own, np.int64)
        _, x, starts = self._encode(full)
        told = known_trees(self._inputs(x, starts), flat[:, 0], flat[:, 1], np.ones(len(full), np.bool_))
        beam = self.options.resolved.beam
        model, engine = self.model_, Engine(self.problem_.with_legal(agreeing), beam or WIDE, merge=False)
        found, ptr, lengths, _ = engine.decode(told.inputs, model.sparse)
        return self._built(starts, joined(found, ptr[:-1], lengths))

    def predict_arcs(self, table: TokenTable, jobs: int, beam: int | float | None = None) -> list[Arc]:
        """The arcs of all words of a table, sentence after sentence. beam: see `predict`."""
        return self._arcs(table, jobs, partial(self._parse, search=self._search_with(beam)))

    def _search_with(self, beam: int | float | None) -> Search:
        """The search that the options stand for, with the beam of this call."""
        if beam is None:
            return self.options.resolved
        width: Any = None if beam == math.inf else beam
        options_of(type(self))["beam"].check("beam", width)
        return dataclasses.replace(self.options.resolved, beam=width)

    def _parse(
        self, model: BeamModel, x: np.ndarray, starts: np.ndarray, jobs: int, search: Search | None = None
    ) -> list[list[Arc]]:
        search, inputs = search or self.options.resolved, self._inputs(x, starts)
        actions = model.decode_actions(inputs, search.beam, search.merge, jobs=jobs, slack=search.slack)
        return self._built(starts, actions)

    def _inputs(self, x: np.ndarray, starts: np.ndarray) -> Inputs:
        """Encoded sentences as the engine reads them, one way or the other."""
        return make_inputs(self.problem_, x[mirrored_places(starts)] if self.options.right_to_left else x, starts)

    def _as_read(self, words: list[str]) -> list[str]:
        """The words of a sentence in the order in which they are read."""
        return words[::-1] if self.options.right_to_left else words

    def _built(self, starts: np.ndarray, actions: np.ndarray) -> list[list[Arc]]:
        """The trees that actions build, those of one sentence after those of the other."""
        heads, relations = trees_of(starts, actions, len(self.relations_))
        if self.options.right_to_left:
            places, lengths = mirrored_places(starts), np.repeat(np.diff(starts), np.diff(starts))
            heads = np.where(heads > 0, lengths + 1 - heads, heads)[places]
            relations = relations[places]
        names = np.array([*self.relations_, self.root_], dtype=object)
        return self._trees(starts, heads, names[relations])

    def _parse_nbest(
        self, model: BeamModel, x: np.ndarray, starts: np.ndarray, n: int, jobs: int
    ) -> list[list[tuple[list[Arc], float]]]:
        """Each tree once: its arcs may be built in several orders, which score differently."""
        search, inputs = self.options.resolved, self._inputs(x, starts)
        many = n if n == 1 else ORDERS * n
        best = model.candidates(inputs, many, search.beam, search.merge, jobs=jobs, slack=search.slack)
        found = []
        for words, own in zip(np.diff(starts).tolist(), best, strict=True):
            actions = np.fromiter((action for actions, _ in own for action in actions), np.int64)
            trees = self._built(np.arange(len(own) + 1) * words, actions)
            scored: dict[str, tuple[list[Arc], float]] = {}
            for tree, (_, score) in zip(trees, own, strict=True):
                scored.setdefault(str(tree), (tree, score))
            found.append([*scored.values()][:n])
        return found

    # -- looking in ----------------------------------------------------------------------------------------------

    def _namer(self) -> Callable[[int], str]:
        """Names features by their places."""
        composition, keys = self.problem_.composition, self.model_.keys
        spell = self.input_.spell(composition.atoms, self.relations_)
        return lambda place: composition.describe(int(keys[place]), spell)

    def inspect(self, label: str | None = None, *, top: int = 20) -> Heaviest:
        """The features with the largest weights.

        Args:
            label: Only those of actions with this name or relation; by default of every action.
            top: How many of each.
        """
        model, actions = self._check_fitted(), self.problem_.actions
        chosen = [k for k, name in enumerate(actions) if label in (None, name, name.partition(":")[2])]
        if not chosen:
            raise unknown("action", label, actions)
        return heaviest_of(model, {actions[k]: self.problem_.parts[k] for k in chosen}, top, self._namer())

    def explain(self, sentence: Sentence, *, top: int = 8, beam: int | float | None = None) -> list[Step]:
        """For each action of the best derivation the runner-up in that state, and the features that made the
        difference.

        Args:
            sentence: A sentence, as for `predict`.
            top: How many features for each action.
            beam: As for `predict`.
        """
        model, search = self._check_fitted(), self._search_with(beam)
        if not len(sentence):
            return []
        _, x, starts = self._encode([sentence])
        inputs = self._inputs(x, starts)
        (actions,), _ = model.decode(inputs, search.beam, search.merge, slack=search.slack)
        words = self._as_read(self.input_.columns_of([sentence])[self.roles_.word])

        def state(walk: Walk, row: int) -> str:
            """The words on the stack, the top last, and the first of the buffer."""
            following, stack = int(walk.states[row, system.NEXT]), []
            while row >= 0 and walk.states[row, system.TOP] >= 0:
                stack.append(words[walk.states[row, system.TOP]])
                row = int(walk.states[row, TAIL])
            return " ".join([*stack[::-1], "|", words[following] if following < len(words) else ""])

        return Explainer(model, inputs, self._namer(), state).steps(actions, top)

    def _scene(self, sentence: Sentence, gold: Any) -> Scene:
        """One sentence in the beam engine; with gold at the learner of it alone, which goes on from the model."""
        if not len(sentence):
            raise StructronError("trace: no words; expected a sentence")
        ready = self._encode([sentence])
        words = self._as_read(self.input_.columns_of([sentence])[self.roles_.word])
        own = (self.task, words, self.options.resolved)
        prediction, backward = self._decode(self.model_, ready, 1)[0], self.options.right_to_left
        prediction = mirrored(prediction) if backward else prediction
        if gold is None:
            look = (self.model_, self._inputs(*ready[1:]), NO_ANCHORS)
            return Scene(*own, self._shown(words), look=look, prediction=prediction)
        rows = self._annotated(sentence, gold)
        self.input_, self.notes_, model = copy.copy(self.input_), [], self.model_
        learner = self._learner([rows], model)
        composition, spell, (tree,) = self.problem_.composition, self.input_.spell, self.arcs([rows])
        names = spell(composition.atoms, self.relations_)
        return Scene(
            *own,
            self._shown(words),
            learner,
            None,
            lambda key: composition.describe(key, names),
            self.problem_.actions,
            mirrored(tree) if backward else tree,
            prediction,
        )

    def _shown(self, words: list[str]) -> Callable[[list[int]], dict[str, Any]]:
        """The words on the stack, the top last, those in the buffer, and the arcs so far: (word, head, relation)."""

        def shows(actions: list[int]) -> dict[str, Any]:
            stack, buffer, arcs = follow(actions, len(self.relations_))
            named = [[child + 1, head + 1, self.relations_[relation]] for child, head, relation in arcs]
            return {"stack": [words[k] for k in stack], "buffer": words[buffer:], "arcs": named}

        return shows

    # -- files ---------------------------------------------------------------------------------------------------

    def _summary(self) -> dict[str, Any]:
        search = self.options.resolved
        found = {
            "update": search.rule,
            "search": f"{search}-right-to-left" if self.options.right_to_left else search,
            "cutoff": self.options.cutoff,
            "features": len(self.model_.keys),
        }
        return found | {"size": f"actions {len(self.problem_.actions)}"}

    def _state(self, model: BeamModel) -> tuple[dict[str, Any], Tensors]:
        learned, tensors = super()._state(model)
        if self.seen_ is not None:
            tensors["seen"] = np.packbits(self.seen_)
        if self.rootless_.any():
            tensors["rootless"] = np.packbits(self.rootless_)
        learned |= {"root": self.root_, "templates": self.templates_}
        learned |= {"single": self.single_} if self.single_ else {}
        if self.bits_ != system.usual_bits(len(self.bits_)):
            learned["bits"] = self.bits_
        return learned, tensors

    def _load_state(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        super()._load_state(learned, tensors, **code)
        self.root_ = learned["root"]
        if not self.relations_ or self.labelled_ != isinstance(self.root_, str):
            raise ValueError("relations do not fit together")
        self.options.templates = self.templates_ = texts(learned["templates"], "templates", 1)
        self.seen_ = self._unpack_seen(tensors) if "seen" in tensors else None
        self.single_ = texts(learned.get("single", []), "single")
        bits = learned.get("bits", system.usual_bits(len(self.relations_)))
        self.bits_ = [whole(bit, "bits", 0, system.SET_BITS - 1) for bit in bits]
        if len(self.bits_) != len(self.relations_):
            raise ValueError("bits do not fit")
        self.rootless_ = np.zeros(0, np.bool_)
        if "rootless" in tensors:
            size = self.input_.sizes()["t"]
            self.rootless_ = np.unpackbits(taken(tensors, "rootless", -(-size // 8)), count=size).astype(np.bool_)
        self.problem_ = self._make_problem()
        check(tensors, BeamModel.declared(self.problem_), {"anchored": 0})
        self.model_ = BeamModel.from_tensors(self.problem_, tensors)

    def _unpack_seen(self, tensors: Tensors) -> np.ndarray:
        tags, relations = self.input_.sizes()["t"], len(self.relations_)
        size = 2 * tags * tags * relations
        packed = taken(tensors, "seen", -(-size // 8))
        return np.unpackbits(packed, count=size).astype(np.bool_).reshape(2, tags, tags, relations)


def _put_back(tree: list[Arc], known: list[Arc]) -> list[Arc]:
    """A tree with the known heads that it lacks, those of crossing arcs, and with all known relations."""
    found = list(tree)
    for k, (head, relation) in enumerate(known):
        if head >= 0 and head != found[k][0]:
            heads = [*(h for h, _ in found[:k]), head, *(h for h, _ in found[k + 1 :])]
            if check_tree(heads) is not None:
                continue
            found[k] = head, found[k][1]
        found[k] = found[k][0], found[k][1] if relation is None else relation
    return found
