"""Dependency parsing: an incremental (shift-reduce) parser with beam search, dynamic programming and learned weights.

rows ──parser_input──▶ x ──shift_reduce──▶ problem ──beam engine──▶ actions ──transitions──▶ heads, relations
                               ▲
gold heads ──parser_data──▶ projective trees ──transitions.oracle_all──▶ gold actions
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron.errors import unknown
from structron.features.alphabets import ParserInput, Sentence
from structron.learn.beam import BeamTraining, check_swvp, rule_of
from structron.model.beam import BeamModel
from structron.progress import Progress
from structron.search.beam import engine
from structron.search.beam.frontier import Inputs
from structron.search.beam.problem import SearchProblem
from structron.sentences import starts_of
from structron.tasks.shift_reduce import system as shift_reduce
from structron.tasks.shift_reduce.explain import Step, explain
from structron.tasks.shift_reduce.oracle import moves, oracle_all, seen_relations, trees_of
from structron.tasks.tree_parser import TreeParser
from structron.tasks.treebank import Arc, Projective, Templates, Treebank
from structron.update.alma import make_alma, named
from structron.update.swvp import Family, make_swvp
from structron.update.violation import Rule

LEAST = {"beam": 1, "passes": 1, "cutoff": 0, "jobs": 1, "seed": 0, "patience": 0}


class Parser(TreeParser):
    """Learns dependency trees with beam search and violation-fixing updates (Huang, Fayong & Guo 2012).

    beam: states kept at each step (None: all).   update: the rule, for instance max-violation or early.
    merge: states that look alike to the templates are one (dynamic programming, Huang & Sagae 2010).
    templates: default, huang, a file, or a list of texts.   labelled: learn relations too.
    columns: names of a token's columns; pos: the one with the part of speech.
    nonprojective: lift (learn from lifted trees and undo it when parsing) or skip such sentences.
    cutoff: words seen less often are treated as unknown.   limit_relations: only those seen with a pair of tags.
    prune: weights of at most this size are left out of the model, which makes it smaller and faster.
    passes, average, seed, shuffle, patience: as for every learner.   jobs: threads when parsing.
    check: verify that every update is a violation.   alma: α of approximate large margin updates, for instance 0.9.
    margin: learn until the correct tree wins by more than this (Kazama & Torisawa 2007), None: until it wins.
    stop_change: stop when the share of sentences with updates hardly changes any more, for instance 1e-4.
    swvp: a-wm, b-wm, a-wmr or b-wmr: weighted violations (Dror & Reichart 2016) of single steps with their beta; jj:
    errors, spans, prefixes, whole or a function of the correct and the predicted actions that gives lists of steps;
    enforce their condition 2 (update/swvp.py, mixed.py).
    """

    task: ClassVar[str] = "parser"
    root_: str | None
    templates_: list[str]
    seen_: np.ndarray | None
    problem_: SearchProblem

    def __init__(
        self,
        *,
        beam: int | None = 8,
        update: str | Rule = "max-violation",
        merge: bool = True,
        passes: int = 10,
        average: str = "mean",
        templates: Any = "default",
        columns: Sequence[str] | None = None,
        pos: str | None = None,
        labelled: bool = True,
        nonprojective: str = "lift",
        cutoff: int = 1,
        limit_relations: bool = True,
        prune: float = 0.0,
        seed: int = 1,
        shuffle: bool = True,
        patience: int = 0,
        jobs: int = 1,
        verbose: bool = False,
        check: bool | None = None,
        alma: float | None = None,
        margin: float | None = None,
        stop_change: float | None = None,
        swvp: str | None = None,
        beta: float = 1.0,
        jj: str | Family = "errors",
        enforce: bool = False,
    ):
        self.beam, self.update, self.merge, self.passes, self.average = beam, update, merge, passes, average
        self.templates, self.columns, self.pos, self.labelled = templates, columns, pos, labelled
        self.nonprojective, self.cutoff, self.limit_relations = nonprojective, cutoff, limit_relations
        self.prune, self.alma, self.margin, self.stop_change = prune, alma, margin, stop_change
        self.seed, self.shuffle, self.patience = seed, shuffle, patience
        self.jobs, self.verbose, self.check = jobs, verbose, check
        self.swvp, self.beta, self.jj, self.enforce = swvp, beta, jj, enforce

    # -- training ------------------------------------------------------------------------------------------------

    def _train(
        self,
        sentences: Iterable[Sentence],
        dev: Iterable[Sentence] | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
    ) -> None:
        rule_of(self.update)
        make_alma(self.alma, self.margin)
        self._check_parameters()
        check_swvp(make_swvp(self), self.update, alma=self.alma, margin=self.margin)
        templates = Templates.of(self.templates)
        options = self._options(checkpoint, resume)
        found = self._treebank(sentences)
        learner = self._make_learner(found, templates)
        score = self._dev_score(dev)
        self._learn(learner, options, score, progress, self.notes_)

    def _check_parameters(self) -> None:
        self._check_whole(**{name: value for name, value in LEAST.items() if (name, self.beam) != ("beam", None)})
        self._check_choices()

    def _make_learner(self, data: Projective, templates: Templates) -> BeamTraining:
        """Settle relations, alphabets and the problem, and turn trees into the actions that build them."""
        bank = Treebank.of(data.trees, self.labelled_)
        self.relations_, self.root_ = bank.names, bank.root
        self.templates_, extra = templates.settle(self.roles_, data.sentences)
        self.input_ = ParserInput(self.columns_, self.word_, self.tag_, extra, self.outputs_)
        x = self.input_.learn(data.sentences, self.cutoff)
        count, tags = len(bank.names), self.input_.sizes()["t"]
        self.seen_ = None
        if self.limit_relations and self.labelled_:
            seen = seen_relations(bank.starts, bank.heads, bank.relations, x[:, 1], tags, count)
            pair_seen, with_child = seen.any(axis=3, keepdims=True), seen.any(axis=1, keepdims=True)
            self.seen_ = np.where(pair_seen, seen, with_child)  # a pair never seen: what its child was seen with
        self.problem_ = self._make_problem()
        actions = oracle_all(bank.starts, bank.heads, bank.relations, count)
        ptr = 2 * bank.starts - np.arange(len(bank.starts))
        inputs = engine.make_inputs(self.problem_, x, bank.starts)._replace(gold=actions, gold_ptr=ptr)
        how = (self.beam, self.update, self.merge, self.average, engine.NO_ANCHORS, self.check, self.prune)
        return BeamTraining(self.problem_, inputs, *how, self.alma, self.margin, make_swvp(self))

    def _make_problem(self) -> SearchProblem:
        """Arc-standard with these templates, alphabets and relations."""
        lasting = shift_reduce.lasting_atoms(self.templates_)
        asked = [name for name in lasting if not name.startswith("word of ")]
        layout = shift_reduce.atom_layout([*self.templates_, *asked], self.input_.names)
        count = len(self.relations_)
        sides = [f"{side}:{relation}" for side in ("left", "right") for relation in self.relations_]
        return SearchProblem(
            actions=["shift", *sides],
            width=shift_reduce.WIDTH,
            start=shift_reduce.start,
            legal=shift_reduce.legal,
            advance=shift_reduce.advance,
            atoms=shift_reduce.atoms,
            atom_names=shift_reduce.sizes(layout, self.input_.sizes(), count),
            templates=self.templates_,
            moves=moves(count).tolist(),
            always=lasting,
            table=shift_reduce.make_table(layout, count, self.seen_),
            max_steps=shift_reduce.most_steps,
            looks_at=shift_reduce.looks_at,
            name="parser",
        )

    # -- using ---------------------------------------------------------------------------------------------------

    def is_cold(self) -> bool:
        """Whether the first sentence has to wait for the compiler."""
        return engine.is_cold()

    def _inputs(self, sentences: Sequence[Sentence]) -> Inputs:
        return engine.make_inputs(self.problem_, self.input_.encode(sentences), starts_of(sentences))

    def _parse(self, model: BeamModel, inputs: Inputs, jobs: int) -> list[list[Arc]]:
        actions, _ = model.decode(inputs, self.beam, self.merge, jobs=jobs)
        flat = np.fromiter((a for example in actions for a in example), np.int64)
        heads, relations = trees_of(inputs.starts, flat, len(self.relations_))
        names = np.array([*self.relations_, self.root_], dtype=object)
        return self._trees(inputs.starts, heads, names[relations])

    # -- looking in ----------------------------------------------------------------------------------------------

    def explain(self, sentence: Sentence, top: int = 8) -> list[Step]:
        """For each action of the best derivation the runner-up in that state, and the features that decided."""
        model = self._check_fitted()
        if not len(sentence):
            return []
        inputs = self._inputs([sentence])
        (actions,), _ = model.decode(inputs, self.beam, self.merge)
        words = self.input_.columns_of([sentence])[self.word_]
        spell = self.input_.spell(self.problem_.composition.atoms, self.relations_)
        return explain(model, inputs.x, actions, words, spell, top)

    def inspect_weights(self, label: str | None = None, top: int = 20) -> dict[str, list[tuple[str, float]]]:
        """The heaviest features of every action, or of those whose name or relation is `label`."""
        model = self._check_fitted()
        actions = self.problem_.actions
        chosen = [k for k, name in enumerate(actions) if label in (None, name, name.partition(":")[2])]
        if not chosen:
            raise unknown("action", label, actions)
        composition = self.problem_.composition
        spell = self.input_.spell(composition.atoms, self.relations_)

        def describe(place: int) -> str:
            return composition.describe(int(model.keys[place]), spell)

        return {actions[k]: model.heaviest(k, top, describe) for k in chosen}

    # -- files ---------------------------------------------------------------------------------------------------

    @property
    def update_name(self) -> str:
        """The update rule by name; one of a user's own goes by that of its function."""
        return self.update if isinstance(self.update, str) else self.update.choose.__name__

    def _signature(self) -> str:
        beam = "inf" if self.beam is None else self.beam
        update = named(self.update_name, self.alma, self.margin, make_swvp(self))
        search, size = f"beam-{beam}{'-dp' if self.merge else ''}", f"actions {len(self.problem_.actions)}"
        return self._signed(update, search, None, self.cutoff, len(self.model_.keys), size)

    def _save_model(self, model: BeamModel, path: Path) -> None:
        from structron.tasks.shift_reduce.storage import save

        save(self, model, path)
