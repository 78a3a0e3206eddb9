"""Dependency parsing: an incremental (shift-reduce) parser with beam search, dynamic programming and learned weights.

rows ──parser_input──▶ x ──shift_reduce──▶ problem ──beam engine──▶ actions ──transitions──▶ heads, relations
                               ▲
gold heads ──trees.lift──▶ projective ──transitions.oracle──▶ gold actions
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron._version import __version__
from structron.beam_model import BeamModel
from structron.beam_training import BeamTraining, rule_of
from structron.errors import StructronError, unknown
from structron.estimator import Estimator
from structron.features.templates import template_lines
from structron.io import CONLLU_COLUMNS
from structron.problem import SearchProblem
from structron.progress import Progress
from structron.search.engine import make_inputs
from structron.search.frontier import Inputs
from structron.tasks import shift_reduce
from structron.tasks.parser_input import EMPTY, ParserInput, starts_of
from structron.tasks.transitions import moves, oracle_all, seen_relations, trees_of
from structron.train import train
from structron.trees import check_tree, is_projective, lift, unlift

NONPROJECTIVE = ("lift", "skip")
WORDS, TAGS, HEADS, RELATIONS = ("form", "word", "w"), ("upos", "pos"), ("head",), ("deprel", "relation")
PLAIN_COLUMNS = ["word", "pos", "head", "deprel"]

Arc = tuple[int, str | None]
Sentence = Sequence[Sequence[str]]


class Parser(Estimator):
    """Learns dependency trees with beam search and violation-fixing updates (Huang, Fayong & Guo 2012).

    beam: states kept at each step (None: all).   update: the rule, for instance max-violation or early.
    merge: states that look alike to the templates are one (dynamic programming, Huang & Sagae 2010).
    templates: default, huang, a file, or a list of texts.   labelled: learn relations too.
    columns: names of a token's columns; pos: the one with the part of speech.
    nonprojective: lift (learn from lifted trees and undo it when parsing) or skip such sentences.
    cutoff: words seen less often are treated as unknown.   limit_relations: only those seen with a pair of tags.
    passes, average, seed, shuffle, patience: as for every learner.   jobs: threads when parsing.
    check: verify that every update is a violation.
    """

    task: ClassVar[str] = "parser"
    metric: ClassVar[str] = "uas"
    checks_trees: ClassVar[bool] = True
    notes_: list[str]
    source_: dict[str, str]

    def __init__(
        self,
        *,
        beam: int | None = 8,
        update: str = "max-violation",
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
        seed: int = 1,
        shuffle: bool = True,
        patience: int = 0,
        jobs: int = 1,
        verbose: bool = False,
        check: bool | None = None,
    ):
        self.beam, self.update, self.merge, self.passes, self.average = beam, update, merge, passes, average
        self.templates, self.columns, self.pos, self.labelled = templates, columns, pos, labelled
        self.nonprojective, self.cutoff, self.limit_relations = nonprojective, cutoff, limit_relations
        self.seed, self.shuffle, self.patience = seed, shuffle, patience
        self.jobs, self.verbose, self.check = jobs, verbose, check

    # -- training ------------------------------------------------------------------------------------------------

    def fit(
        self,
        sentences: Iterable[Sentence],
        dev: Iterable[Sentence] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> "Parser":
        """Learn from sentences whose tokens are rows with head and relation; with `dev` the best pass on it is kept."""
        self._guarded(lambda: self._train(list(sentences), dev, checkpoint, resume, progress))
        return self

    def _train(
        self,
        sentences: list[Sentence],
        dev: Iterable[Sentence] | None,
        checkpoint: str | Path | None,
        resume: bool,
        progress: Progress | None,
    ) -> None:
        self._check_parameters()
        options = self._options(checkpoint, resume)
        sentences = [sentence for sentence in sentences if len(sentence)]
        if not sentences:
            raise StructronError("training data: no sentences; expected at least one with words")
        self._settle_columns(sentences[0][0])
        self.notes_ = []
        kept, trees = self._projective(sentences, self.arcs(sentences, "training data"))
        learner = self._make_learner(kept, trees)
        progress = progress or Progress(show=self.verbose)
        for note in self.notes_:
            progress.note(note)
        score = None
        if dev is not None:
            given = [sentence for sentence in dev if len(sentence)]
            gold, ready = self.arcs(given, "dev data"), self._inputs(given)

            def score(model: BeamModel) -> float:
                from structron.evaluate import attachment_scores

                return getattr(attachment_scores(gold, self._parse(model, ready, self.jobs)), self.metric_)

        result = train(learner, options, score, progress, self._save_model, self._load_model)
        self.model_, self.history_, self.best_pass_ = result.model, result.history, result.best_pass
        self.stopped_ = result.stopped
        self.signature_ = self._signature()

    def _check_parameters(self) -> None:
        rule_of(self.update)
        self._check_average()
        if self.beam is not None:
            self._check_counts(beam=1)
        self._check_counts(passes=1, cutoff=0, jobs=1)
        if self.nonprojective not in NONPROJECTIVE:
            raise unknown("nonprojective", self.nonprojective, NONPROJECTIVE)

    def _settle_columns(self, first: Sequence[str]) -> None:
        """Which column of a row is what."""
        if isinstance(first, str) or len(first) < 3:
            raise StructronError(f"training data: a token is {first!r}; expected rows with word, tag and head at least")
        width = len(first)
        names = list(self.columns or (CONLLU_COLUMNS if width == len(CONLLU_COLUMNS) else PLAIN_COLUMNS[:width]))
        if len(names) != width:
            raise StructronError(f"training data: {width} columns; expected names for them (columns=…)")
        self.columns_ = names
        self.word_ = self._column(names, WORDS, "word")
        self.tag_ = self._column(names, (self.pos,) if self.pos else TAGS, "part-of-speech")
        self.head_ = self._column(names, HEADS, "head")
        self.labelled_ = self.labelled and any(name in names for name in RELATIONS)
        self.relation_ = self._column(names, RELATIONS, "relation") if self.labelled_ else None

    def _column(self, names: list[str], known: Sequence[str], what: str) -> str:
        found = next((name for name in known if name in names), None)
        if found is None:
            raise StructronError(f"columns: no {what} column ({' or '.join(known)}) among {', '.join(names)}")
        return found

    def arcs(self, sentences: Sequence[Sentence], what: str = "data") -> list[list[Arc]]:
        """The trees that rows hold, checked."""
        head = self.columns_.index(self.head_)
        relation = self.columns_.index(self.relation_) if self.relation_ else None
        found: list[list[Arc]] = []
        for number, sentence in enumerate(sentences):
            try:
                heads = [int(row[head]) for row in sentence]
            except (ValueError, IndexError) as error:
                raise StructronError(f"{what}: sentence {number + 1}: no head: {error}; expected numbers") from None
            if problem := check_tree(heads):
                word = sentence[problem[0]][0] if len(sentence) else ""
                raise StructronError(f"{what}: sentence {number + 1}: word {problem[0] + 1} ({word}): {problem[1]}")
            relations = [None if relation is None else row[relation] for row in sentence]
            found.append(list(zip(heads, relations, strict=True)))
        return found

    def _projective(self, sentences: list[Sentence], arcs: list[list[Arc]]) -> tuple[list[Sentence], list[list[Arc]]]:
        """Trees that arc-standard can build: crossing arcs lifted, or their sentences left out; counted and said."""
        kept, trees, lifted, crossing = [], [], 0, 0
        for sentence, tree in zip(sentences, arcs, strict=True):
            heads = [head for head, _ in tree]
            if not is_projective(heads):
                crossing += 1
                if self.nonprojective == "skip":
                    continue
                new_heads, relations, count = lift(heads, [r for _, r in tree] if self.labelled_ else None)
                lifted += count
                tree = list(zip(new_heads, relations or [None] * len(tree), strict=True))
            kept.append(sentence)
            trees.append(tree)
        if crossing:
            done = "skipped" if self.nonprojective == "skip" else f"learned from with {lifted} words lifted"
            self.notes_.append(f"{crossing} of {len(sentences)} sentences are non-projective: {done}")
        if not kept:
            raise StructronError("training data: all sentences are non-projective; expected --nonprojective lift")
        return kept, trees

    def _make_learner(self, sentences: list[Sentence], trees: list[list[Arc]]) -> BeamTraining:
        flat = [arc for tree in trees for arc in tree]
        roots = Counter(relation for head, relation in flat if head == 0)
        self.root_ = roots.most_common(1)[0][0] if self.labelled_ else None
        names = sorted({relation or EMPTY for head, relation in flat if head > 0}) if self.labelled_ else [EMPTY]
        self.relations_ = names or [EMPTY]
        self._settle_input(sentences)
        x = self.input_.learn(sentences, self.cutoff)
        starts = starts_of(sentences)
        number = {relation: k for k, relation in enumerate(self.relations_)}
        heads = np.array([head for head, _ in flat], np.int64)
        relations = np.array([number.get(relation or EMPTY, 0) if head else 0 for head, relation in flat], np.int64)
        count = len(self.relations_)
        self.seen_ = None
        if self.limit_relations and self.labelled_:
            tags = x[:, 1]
            self.seen_ = seen_relations(starts, heads, relations, tags, self.input_.sizes()["t"], count)
        self.problem_ = self._make_problem()
        actions = oracle_all(starts, heads, relations, count)
        ptr = 2 * starts - np.arange(len(starts))
        inputs = make_inputs(self.problem_, x, starts)._replace(gold=actions, gold_ptr=ptr)
        return BeamTraining(self.problem_, inputs, self.beam, self.update, self.merge, self.average, check=self.check)

    def _settle_input(self, sentences: list[Sentence]) -> None:
        """Which templates the data can serve, and the columns they ask for."""
        given = self.templates
        is_text = isinstance(given, str | Path)
        lines = template_lines(given, "parser") if is_text else [str(line) for line in given]
        attributes = {
            atom.partition(".")[2]: None
            for atoms in shift_reduce.read_templates(lines)
            for atom in atoms
            if "." in atom
        }
        wanted = [name for name in attributes if name not in shift_reduce.RESERVED]
        used = {self.head_, self.relation_, self.tag_}
        empty = {
            name
            for k, name in enumerate(self.columns_)
            if name in wanted and all(row[k] == EMPTY for sentence in sentences for row in sentence)
        }
        extra = [n for n in ParserInput.possible(self.columns_, self.word_, wanted) if n not in used | empty]
        if is_text and str(given) in ("default", "huang"):
            self.templates_ = shift_reduce.usable_templates(lines, ["w", "t", *extra])
        else:
            self.templates_ = ["|".join(atoms) for atoms in shift_reduce.read_templates(lines)]
        self.input_ = ParserInput(self.columns_, self.word_, self.tag_, extra)

    def _make_problem(self) -> SearchProblem:
        """Arc-standard with these templates, alphabets and relations."""
        layout = shift_reduce.atom_layout([*self.templates_, "s1.t"], self.input_.names)
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
            always=["word of q0", "s1.t"],
            table=shift_reduce.make_table(layout, count, self.seen_),
            max_steps=lambda n: 2 * n,
            name="parser",
        )

    # -- using ---------------------------------------------------------------------------------------------------

    def _inputs(self, sentences: Sequence[Sentence]) -> Inputs:
        return make_inputs(self.problem_, self.input_.encode(sentences), starts_of(sentences))

    def _parse(self, model: BeamModel, inputs: Inputs, jobs: int) -> list[list[Arc]]:
        actions, _ = model.decode(inputs, self.beam, self.merge, jobs=jobs)
        flat = np.fromiter((a for example in actions for a in example), np.int64)
        heads, relations = trees_of(inputs.starts, flat, len(self.relations_))
        names = np.array([*self.relations_, self.root_], dtype=object)
        head_list, relation_list = heads.tolist(), names[relations].tolist()
        found: list[list[Arc]] = []
        bounds = inputs.starts.tolist()
        for lo, hi in zip(bounds, bounds[1:], strict=False):
            own = head_list[lo:hi]
            if self.labelled_:
                own, named = unlift(own, relation_list[lo:hi])
                found.append(list(zip(own, named or [], strict=True)))
            else:
                found.append([(head, None) for head in own])
        return found

    def predict(self, sentences: Iterable[Sentence], jobs: int | None = None) -> list[list[Arc]]:
        """For every word its head (from 1; 0: the root) and relation (None: unlabelled)."""
        model = self._check_fitted()
        given = list(sentences)
        wordy = [sentence for sentence in given if len(sentence)]
        trees = iter(self._parse(model, self._inputs(wordy), self.jobs if jobs is None else jobs) if wordy else [])
        return [next(trees) if len(sentence) else [] for sentence in given]

    def predict_columns(self, sentences: Iterable[Sentence], jobs: int | None = None) -> list[list[list[str]]]:
        """For every sentence a list per output column."""
        found = []
        for tree in self.predict(sentences, jobs):
            columns = [[str(head) for head, _ in tree]]
            found.append(columns + ([[relation or EMPTY for _, relation in tree]] if self.labelled_ else []))
        return found

    def evaluate(self, sentences: Iterable[Sentence], jobs: int | None = None, guess: Any = None) -> Any:
        """All scores on sentences with trees, or of `guess` for them."""
        from structron.evaluate import attachment_scores

        self._check_fitted()
        given = [sentence for sentence in sentences if len(sentence)]
        return attachment_scores(self.arcs(given), guess or self.predict(given, jobs))

    def score(self, sentences: Iterable[Sentence]) -> float:
        """LAS, or UAS of an unlabelled parser."""
        return getattr(self.evaluate(sentences), self.metric_)

    @property
    def metric_(self) -> str:
        return "las" if self.labelled_ else "uas"

    @property
    def outputs_(self) -> list[str]:
        return [self.head_, *([self.relation_] if self.relation_ else [])]

    @property
    def needed_(self) -> set[str]:
        used = {name for name in self.input_.extra if name in self.columns_}
        return {self.word_, self.tag_} | used

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

    def _signature(self) -> str:
        beam = "inf" if self.beam is None else self.beam
        search = f"search beam-{beam}{'-dp' if self.merge else ''}"
        parts = [f"structron {__version__}", self.task, f"update {self.update}", search, f"average {self.average}"]
        parts += [f"passes {self.best_pass_}/{self.passes}", f"cutoff {self.cutoff}", f"seed {self.seed}"]
        parts += [f"features {len(self.model_.keys)}", f"actions {len(self.problem_.actions)}"]
        return " | ".join(parts)

    def save(self, path: str | Path) -> None:
        """Write the model file, atomically."""
        self._check_fitted()
        self._save_model(self.model_, Path(path))

    def _save_model(self, model: BeamModel, path: Path) -> None:
        from structron.tasks.parser_storage import save

        save(self, model, path)

    def _load_model(self, path: Path) -> BeamModel:
        from structron.tasks.storage import load

        return load(path).model_
