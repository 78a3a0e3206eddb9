"""Tags and chunks together: each step of the search gives the next word its part of speech and its chunk label.

rows ──joint_input──▶ words, guesses ──TemplateExtractor──▶ features ──joint_model──▶ beam engine ──▶ pairs
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.estimator import Estimator
from structron.evaluate import JointScores, joint_scores
from structron.features.extract import PreparedTemplates, TemplateExtractor
from structron.learn.committee import Committee
from structron.progress import Progress
from structron.search.beam import engine
from structron.sentences import split
from structron.tasks.chain import setup as chain_setup
from structron.tasks.chain.beam_learner import Search
from structron.tasks.chain.constraints import Neighbours, legal_transitions, make_dictionary
from structron.tasks.joint.inputs import RARE, SEPARATOR, Guesser, JointTemplates, Roles, Sentence, first_columns
from structron.tasks.joint.model import JointLearner, JointModel, Pairs
from structron.update.swvp import Family

Pair = tuple[str, str]


class JointTagger(Estimator):
    """Learns the tag and the chunk label of every word together (Daumé & Marcu 2005, section 4.2).

    beam: states kept at each word (None: all).   update: the rule: laso, early, max-violation, …
    merge: states that look alike to the templates are one (dynamic programming).
    passes: over the training data.   runs: the model is the mean of so many runs in different orders.
    templates: default, a file, or a list of texts; t[-1] and c[-1] are the tag and the chunk label before.
    columns: names of a token's columns; pos: the one with the tags (pos, or the last but one); label: the one with the
    chunk labels (the last).   cutoff: features seen less often are left out.
    tag_dictionary: words seen that often only get tags they were seen with (0 = off).
    gazetteers: {TYPE: file, files or Gazetteer}.   check: verify that updates are violations.
    alma: α of approximate large margin updates; None: the perceptron's.   margin: the perceptron learns until the
    correct labels win by more than this (Kazama & Torisawa 2007; alma must be None), None: until they win.
    average, seed, shuffle, patience, stop_change: as for every learner.   jobs: threads when predicting.
    swvp: a-wm, b-wm, a-wmr or b-wmr: weighted violations (Dror & Reichart 2016) with their beta, for other rules than
    laso and alma None; jj: errors, spans, prefixes, whole or a function of the correct and the predicted pairs, such as
    NN/B-NP, that gives lists of positions; enforce their condition 2 (update/swvp.py).
    """

    task: ClassVar[str] = "joint"
    metric: ClassVar[str] = "f1"
    predicts_tags: ClassVar[bool] = True
    source_: dict[str, str]
    notes_: list[str]
    scheme_: str | None
    roles_: Roles
    templates_: JointTemplates
    guesser_: Guesser
    extractor_: TemplateExtractor

    def __init__(
        self,
        *,
        beam: int | None = 10,
        update: str = "laso",
        merge: bool = True,
        passes: int = 10,
        runs: int = 1,
        average: str = "mean",
        templates: Any = "default",
        columns: Sequence[str] | None = None,
        pos: str | None = None,
        label: str | None = None,
        cutoff: int = 2,
        tag_dictionary: int = 5,
        gazetteers: Mapping[str, Any] | None = None,
        seed: int = 1,
        shuffle: bool = True,
        patience: int = 0,
        jobs: int = 1,
        verbose: bool = False,
        check: bool | None = None,
        alma: float | None = 0.9,
        margin: float | None = None,
        stop_change: float | None = None,
        swvp: str | None = None,
        beta: float = 1.0,
        jj: str | Family = "errors",
        enforce: bool = False,
    ):
        self.beam, self.update, self.merge, self.passes, self.runs = beam, update, merge, passes, runs
        self.average, self.templates, self.columns, self.pos, self.label = average, templates, columns, pos, label
        self.cutoff, self.tag_dictionary, self.gazetteers = cutoff, tag_dictionary, gazetteers
        self.seed, self.shuffle, self.patience = seed, shuffle, patience
        self.jobs, self.verbose, self.check, self.alma = jobs, verbose, check, alma
        self.margin, self.stop_change = margin, stop_change
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
        options = self._options(checkpoint, resume)
        learner = self.learner(sentences)
        score = None if dev is None else self._dev_score(dev)
        self._learn(learner if self.runs == 1 else Committee(learner, self.runs), options, score, progress, self.notes_)

    def learner(
        self, sentences: Iterable[Sentence], alma: float | tuple[float, float, float] | None = None
    ) -> JointLearner:
        """What `fit` drives, at its start: columns, guesses and features settled. alma: (α, B, C) in place of α."""
        self._check_parameters()
        chain_setup.learning(self)
        given = list(sentences)
        self.roles_ = Roles.settle(first_columns(given, self.columns), self.pos, self.label)
        self.templates_ = JointTemplates.of(self.templates, self.roles_)
        rows = self.roles_.rows(given, labelled=True, what="training data")
        flat = [row for sentence in rows for row in sentence]
        word = self.roles_.inputs.index(self.word_)
        tags, chunks = zip(*(row[-1].split(SEPARATOR, 1) for row in flat), strict=True)
        self.guesser_ = Guesser.learn([row[word] for row in flat], tags, chunks, RARE)
        lists = [chain_setup.make_gazetteer(name, files) for name, files in (self.gazetteers or {}).items()]
        self.extractor_ = self._make_extractor(lists)
        prepared = self.extractor_.prepare(rows, labelled=True, what="training data")
        return self._make_learner(prepared, self.alma if alma is None else alma)

    def _check_parameters(self) -> None:
        self._check_average()
        self._check_counts(passes=1, runs=1, jobs=1, cutoff=0, tag_dictionary=0)
        self._search()

    def _search(self) -> Search:
        return chain_setup.settle_search(self.beam, self.update, self.merge, self.check, self.alma, self.margin)

    def _make_extractor(self, gazetteers: Sequence[Any]) -> TemplateExtractor:
        """Features of the input columns; the outputs are one column, which is none of them."""
        roles, wanted = self.roles_, self.templates_.guesses
        atoms = self.guesser_.atoms(wanted, roles.inputs.index(roles.word))
        columns = [*roles.inputs, roles.pair]
        return TemplateExtractor(columns, roles.pair, self.templates_.tokens, roles.word, gazetteers, atoms)

    def _make_learner(self, prepared: PreparedTemplates, alma: Any) -> JointLearner:
        """Number tags, chunk labels and pairs, settle the constraints, number the features."""
        texts = [tuple(text.split(SEPARATOR, 1)) for text in prepared.label_types]
        tags, chunks = (sorted({text[k] for text in texts}) for k in range(2))
        for name, labels in ((self.roles_.tag, tags), (self.roles_.chunk, chunks)):
            if len(labels) < 2:
                raise StructronError(f"training data: column {name!r}: one label only ({labels[0]}); expected two")
        numbers = np.array([(tags.index(tag), chunks.index(chunk)) for tag, chunk in texts], np.int64)
        order = np.lexsort((numbers[:, 1], numbers[:, 0]))
        pairs = Pairs(tags, chunks, numbers[order])
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        gold = rank[prepared.label_ids]
        neighbours = Neighbours(chunks, numbers[prepared.label_ids, 1], prepared.starts)
        self.scheme_ = neighbours.scheme(None)
        allowed = legal_transitions(chunks, self.scheme_, ())
        self.notes_ = []
        if illegal := neighbours.illegal(allowed):
            self.notes_.append(f"{illegal} forbidden transitions in the training labels, learned from as they are")
        dictionary = make_dictionary(prepared, numbers[prepared.label_ids, 0], len(tags), self.tag_dictionary)
        seen, search = neighbours.seen(allowed), replace(chain_setup.learning(self), alma=alma)
        given = (allowed, seen, dictionary, search, self.cutoff, self.average)
        return JointLearner(prepared, gold, pairs, self.templates_.history, *given)

    def _dev_score(self, sentences: Iterable[Sentence]) -> Any:
        """The function that scores a model on dev data, which are read and encoded once."""
        given = list(sentences)
        gold, ready = self._gold(given, "dev data"), self._prepare(given, "dev data")

        def score(model: JointModel) -> float:
            return getattr(joint_scores(gold, self._label(model, ready, self.jobs)), self.metric)

        return score

    # -- using ---------------------------------------------------------------------------------------------------

    def is_cold(self) -> bool:
        """Whether the first sentence has to wait for the compiler."""
        return engine.is_cold()

    def _gold(self, sentences: Iterable[Sentence], what: str = "data") -> list[list[Pair]]:
        rows = self.roles_.rows(sentences, labelled=True, what=what)
        return [[(tag, chunk) for tag, chunk in (row[-1].split(SEPARATOR, 1) for row in own)] for own in rows]

    def _prepare(self, sentences: Iterable[Sentence], what: str = "data") -> PreparedTemplates:
        return self.extractor_.prepare(self.roles_.rows(sentences, labelled=False, what=what), what=what)

    def _label(self, model: JointModel, prepared: PreparedTemplates, jobs: int) -> list[list[Pair]]:
        search = self._search()
        out, _, _ = model.decode(prepared, jobs, beam=search.beam, merge=search.merge)
        tags, chunks = model.pairs.tags, model.pairs.chunks
        named = np.empty(len(model.labels), object)
        named[:] = [(tags[t], chunks[c]) for t, c in model.pairs.pairs.tolist()]
        return split(named[out], prepared.starts)

    def predict(self, sentences: Iterable[Sentence], jobs: int | None = None) -> list[list[Pair]]:
        """For every word its tag and its chunk label."""
        model = self._check_fitted()
        return self._label(model, self._prepare(sentences), self.jobs if jobs is None else jobs)

    def predict_columns(self, sentences: Iterable[Sentence], jobs: int | None = None) -> list[list[list[str]]]:
        """For every sentence a list per output column."""
        return [[[pair[k] for pair in pairs] for k in range(2)] for pairs in self.predict(sentences, jobs)]

    def evaluate(self, sentences: Iterable[Sentence], jobs: int | None = None, guess: Any = None) -> JointScores:
        """All scores on sentences with tags and chunk labels, or of `guess` for them."""
        self._check_fitted()
        given = list(sentences)
        return joint_scores(self._gold(given), self.predict(given, jobs) if guess is None else guess)

    def score(self, sentences: Iterable[Sentence]) -> float:
        """F1 of chunks, in per cent."""
        return self.evaluate(sentences).f1

    def inspect_weights(self, label: str | None = None, top: int = 20) -> dict[str, list[tuple[str, float]]]:
        """The heaviest features of every tag and chunk label, or of one of them, or of a pair (NN/B-NP)."""
        model = self._check_fitted()
        return {name: model.weights(columns, top) for name, columns in model.columns_named(label).items()}

    # -- columns, as the command line asks every task for them ---------------------------------------------------

    @property
    def columns_(self) -> list[str]:
        return self.roles_.columns

    @property
    def outputs_(self) -> list[str]:
        return self.roles_.outputs

    @property
    def word_(self) -> str:
        return self.roles_.word

    @property
    def needed_(self) -> set[str]:
        """Columns that it cannot do without."""
        return self.extractor_.needed - self.extractor_.gazetteers.keys() - self.extractor_.atoms.keys()

    # -- files ---------------------------------------------------------------------------------------------------

    def _signature(self) -> str:
        search, model = chain_setup.learning(self), self.model_
        features, pairs = len(model.keys) + len(model.block_keys), f"pairs {len(model.labels)}"
        return self._signed(search.rule, search, self.runs, self.cutoff, features, pairs)

    def _save_model(self, model: JointModel, path: Path) -> None:
        from structron.tasks.joint.storage import save

        save(self, model, path)

    def _load_model(self, path: Path) -> JointModel:
        from structron.tasks.storage import load

        return load(path).model_
