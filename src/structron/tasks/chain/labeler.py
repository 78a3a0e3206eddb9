"""Taggers and chunkers: one label for each token (Collins 2002), with exact search or under a beam.

    Chunker().fit(sentences):   rows ──tasks/tokens──▶ prepared ──learn/chain──▶ model/chain

Beams, weighted violations and features of documents are imported when they are asked for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from structron.errors import StructronError, unknown
from structron.estimator import Sentences
from structron.features.extract import PreparedTemplates
from structron.features.templates import Template
from structron.fields import DEFAULT
from structron.io.tensors import Tensors
from structron.learn.chain import Chain, ChainLearner, Perceptron, Start
from structron.learn.partial import Knowledge
from structron.tasks.chain.constraints import Neighbours, legal_transitions, make_dictionary, number_labels
from structron.tasks.chain.models import Settled, read_model
from structron.tasks.chain.predictor import LabelPredictor
from structron.tasks.chain.templates import label_templates, looks_further
from structron.tasks.options import ChunkerOptions, TaggerOptions
from structron.tasks.partial import check_agreement
from structron.tasks.tokens import ask_for, names_in
from structron.text import schemes

MAX_LABELS_OF_ALL = 100
"""Labels that are all looked at, by default."""
FURTHER = (
    "the templates look at labels in ways that Viterbi search cannot; searching all states instead (--beam N is faster)"
)


class ChainLabeler(LabelPredictor):
    """Learns one label per token with the averaged structured perceptron and exact search (Collins 2002).

    With a beam, or a rule other than the standard one, updates fix violations (Huang, Fayong & Guo 2012): the beam is
    then 8, or the rule max-violation, unless it is given. Features of documents (`non_local`) are learned from n-best
    candidates (Kazama & Torisawa 2007); they, votes and weighted violations of documents need exact search.
    """

    task_defaults: ClassVar[Mapping[str, Any]]

    # -- training ------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        super()._check()
        search, sources = self.options.resolved, self._sources()
        if search.swvp is not None and sources:
            from structron.features.documents import name_of

            names = " ".join(map(name_of, sources))
            raise StructronError(
                f"swvp: {search.swvp.variant} cannot be combined with non_local {names}; expected non_local none"
            )
        if self.options.average == "voted" and self.options.shards > 1:
            raise StructronError(
                "average: voted cannot be combined with shards: the votes are those of a single run; expected shards 1"
            )

    def _sources(self) -> list[Any]:
        """The features of documents asked for; by default those of the task, where the search can serve them."""
        if isinstance(self.options.non_local, str) and self.options.non_local == DEFAULT:
            search = self.options.resolved
            able = search.exact and search.swvp is None and self.options.average != "voted"
            return list(self.task_defaults.get("non_local", ())) if able else []
        if not self.options.non_local:
            return []
        from structron.features.documents import check_sources

        return check_sources(self.options.non_local)

    def _start(self) -> Any:
        found = self._with_search(self.model_, self.options)
        start, order = found.start(getattr(self, "learner_", None)), found.known.order
        if self.options.order != order:
            raise StructronError(f"order: {self.options.order}; expected {order}, that of the model to continue from")
        return start

    @classmethod
    def kernels_of(cls, options: Mapping[str, Any]) -> str:
        return cls.task if options.get("beam") in (None, DEFAULT, np.inf, "inf") else f"{cls.task} beam"

    def _members(self) -> int:
        """Votes are the vectors of one run."""
        return 1 if self.options.average == "voted" else self.options.runs

    def _chunks(self) -> bool:
        """Whether the labels are chunk labels, to be kept in a legal order."""
        return self.metric == "f1"

    def _make_learner(self, prepared: PreparedTemplates, start: Any) -> Any:
        return self._learner_among(prepared, start, {})

    def _learner_among(self, prepared: PreparedTemplates, start: Any, sets: dict[int, tuple[str, ...]]) -> Any:
        """sets: tokens that are known to have one of several labels."""
        chunks = self._chunks()
        labels, gold = number_labels(prepared, start.labels if start else [])
        neighbours = Neighbours(labels, gold, prepared.starts)
        self.scheme_ = neighbours.scheme(self.scheme_ if start else None) if chunks else None
        partial = bool(sets or (gold < 0).any())
        if self.scheme_ and partial:
            labels += schemes.completed(labels, self.scheme_)
        allowed = legal_transitions(labels, self.scheme_ if self.options.constrain else None, self.options.forbid)
        if illegal := neighbours.illegal(allowed):
            self.notes_.append(f"{illegal} forbidden transitions in the training labels; kept")
        learning = neighbours.seen(allowed)
        words = (self.options.tag_dictionary, self.options.closed_classes)
        tags = None if self.lexicon_ is None else self._lexicon_tags(labels)
        dictionary = make_dictionary(prepared, gold, len(labels), *words, tags)
        if start is not None:
            before = self._with_search(self.model_, self.options).known.dictionary
            dictionary = before.merged(dictionary, len(labels)).with_lexicon(tags)
        knowledge = self._knowledge(prepared, labels, gold, sets, allowed) if partial else None
        chain = Chain(
            labels, self.options.order, allowed, learning, dictionary, self.options.cutoff, self.options.average
        )
        search, templates = self.options.resolved, getattr(self.extractor_, "templates", [])
        exact = search.exact and not looks_further(templates, self.options.order)
        if start is not None and exact != isinstance(start, Start):
            has = "a beam" if exact else "no beam"
            raise StructronError(
                f"the model to continue from was trained with {has}; expected the same beam and update"
            )
        if knowledge is None and self._among(labels, exact) == "seen":
            return self._choice_learner(prepared, gold, chain, exact)
        if exact:
            return self._exact_learner(prepared, gold, chain, start, knowledge)
        return self._beam_learner(prepared, gold, chain, templates, start, knowledge)

    def _knowledge(
        self, prepared: Any, labels: list[str], gold: np.ndarray, sets: dict[int, tuple[str, ...]], allowed: np.ndarray
    ) -> Knowledge:
        """What is known of labels of which some are open. What contradicts itself, or cannot be learned, is refused."""
        if self.options.swvp is not None:
            raise StructronError("swvp: cannot be combined with open labels in the training data; expected swvp none")
        if self.options.among == "seen":
            raise StructronError("among: seen cannot be combined with open labels in the training data; expected all")
        index = {label: y for y, label in enumerate(labels)}
        known = Knowledge.of(gold, len(labels), {token: [index[y] for y in own] for token, own in sets.items()})

        def describe(token: int) -> str:
            return " or ".join(sets.get(token, ())) or (repr(labels[gold[token]]) if gold[token] >= 0 else "open")

        why = f"labels that {self.scheme_} allows" if self.scheme_ else "labels that may follow each other"
        check_agreement(known, allowed, prepared, describe, why)
        return known

    def _among(self, labels: Sequence[str], exact: bool) -> str:
        """What there is to choose from: by default all labels, unless they are many and nothing stands against it."""
        if self.options.among == DEFAULT:
            return "seen" if len(labels) > MAX_LABELS_OF_ALL and exact and not self._against() else "all"
        return self.options.among

    def _against(self) -> str:
        """What does not go with a choice among labels seen with a word, if anything."""
        steps, paired = self.options.resolved, getattr(self.extractor_, "paired", None)
        given: dict[str, Any] = {
            "beam": steps.beam,
            "update": steps.update != "standard",
            "alma": steps.alma,
            "margin": steps.margin,
            "swvp": steps.swvp,
            "average": self.options.average == "voted",
            "non_local": self._sources(),
            "tag_dictionary": self.options.tag_dictionary,
            "closed_classes": self.options.closed_classes,
            "forbid": list(self.options.forbid),
            "constrain": self.options.constrain and self.scheme_ is not None,
            "attributes": paired is None,
            "templates": paired is not None and paired.templates,
        }
        return next((name for name, value in given.items() if value), "")

    def _choice_learner(self, prepared: PreparedTemplates, gold: np.ndarray, chain: Chain, exact: bool) -> Any:
        """Collins' perceptron over the labels that a word, or words with its ending, were seen with."""
        from structron.features.lexicon import NO_DEMANDS, Lexicon
        from structron.learn.choices import ChoiceLearner

        if against := self._against() or ("" if exact else "templates"):
            raise StructronError(
                f"among: seen cannot be combined with {against}; expected exact search without {against}, or among all"
            )
        lexicon = Lexicon.learn(prepared, gold, self._given(), self.options.rare, NO_DEMANDS, set(), False)
        lexicon.more = self._lexicon_choices(chain.labels)
        known = (chain.labels, lexicon, chain.dictionary)
        return ChoiceLearner(prepared, gold, *known, True, True, chain.cutoff, chain.average)

    def _exact_learner(
        self, prepared: Any, gold: np.ndarray, chain: Chain, start: Start | None, knowledge: Knowledge | None
    ) -> ChainLearner:
        """Viterbi's learner: Collins' perceptron, with a margin or weighted violations, or with document features."""
        search = self.options.resolved
        if self._sources():
            return self._document_learner(prepared, gold, chain, start, knowledge)
        if search.swvp is None:
            return ChainLearner(prepared, gold, chain, Perceptron(search.margin), start, knowledge)
        from structron.learn.weighted import WeightedViolations

        longest = int(np.diff(prepared.starts).max(initial=1))
        return ChainLearner(prepared, gold, chain, WeightedViolations(search.swvp, longest), start)

    def _document_learner(
        self, prepared: Any, gold: np.ndarray, chain: Chain, start: Start | None, knowledge: Knowledge | None
    ) -> ChainLearner:
        from structron.learn.documents import DocumentLearner, NBest

        sources = self._sources()
        if self.options.average == "voted":
            raise StructronError("average: voted cannot be combined with non-local features; expected mean or none")
        if self.scheme_ is None and any(isinstance(source, str) for source in sources):
            raise StructronError("non_local: the built-in features need chunk labels; expected labels such as B-PER, O")
        numbers = (self.options.candidates, self.options.test_candidates)
        nbest = NBest(tuple(sources), *numbers, self.options.local_update, self.options.local_margin)
        return DocumentLearner(prepared, gold, chain, self.options.resolved.margin, nbest, start, knowledge)

    def _beam_learner(
        self,
        prepared: Any,
        gold: np.ndarray,
        chain: Chain,
        templates: Sequence[Template],
        start: Any,
        knowledge: Knowledge | None,
    ) -> Any:
        from structron.learn.encoded import EncodedLearner
        from structron.tasks.chain.encoder import columns_of, encode_labels

        if self._sources():
            raise StructronError("non_local: needs exact search; expected no beam, update or alma")
        if self.options.average == "voted":
            raise StructronError("average: voted needs exact search; expected mean or none with a beam or an update")
        search = self.options.resolved
        if search.beam is None and search.update == "standard":
            self.notes_.append(FURTHER)
        data = encode_labels(prepared, gold, chain, label_templates(templates, self.options.order), start, knowledge)
        columns = None if start is None else columns_of(start.labels, chain.labels)
        return EncodedLearner(data, search, self.options.average, start, columns)

    # -- using ---------------------------------------------------------------------------------------------------

    def predict(self, sentences: Sentences, *, forced: Any = None, jobs: int | None = None) -> list[list[str]]:
        """The best labels of each sentence or Document.

        Args:
            sentences: Sentences or Documents whose tokens are strings or rows; the label column may be missing.
            forced: For each sentence a label for each token that the model must keep, or None.
            jobs: Number of threads; by default that of the estimator.

        Returns:
            A list of labels for each sentence; for a Document, a list of such lists.
        """
        return self._predict(sentences, forced, self._jobs(jobs), False)[0]

    def predict_with_margins(
        self, sentences: Sentences, *, forced: Any = None, jobs: int | None = None
    ) -> tuple[list[list[str]], list[list[float]]]:
        """The best labels, and the margin of each.

        Args:
            sentences: As for `predict`.
            forced: As for `predict`.
            jobs: As for `predict`.

        Returns:
            The labels as from `predict`, and in the same form the margins: the score of the best labelling minus that
            of the best one with another label there.
        """
        self._check_has("confidence")
        return self._predict(sentences, forced, self._jobs(jobs), True)

    def _numbers(self, model: Any, sentences: Sequence, forced: Iterable[Sequence[str | None]]) -> list[list[int]]:
        forced = list(forced)
        index: dict[str | None, int] = {label: y for y, label in enumerate(model.labels)} | {None: -1}
        if [len(given) for given in forced] != [len(sentence) for sentence in sentences]:
            raise StructronError("forced labels: lengths differ from the sentences'; expected one (or None) per token")
        try:
            return [[index[label] for label in given] for given in forced]
        except KeyError as error:
            raise unknown("forced label", error.args[0], model.labels) from None

    # -- files ---------------------------------------------------------------------------------------------------

    def _read_model(self, header: dict[str, Any], tensors: Tensors, **code: Any) -> Any:
        functions = [function for function in code.get("non_local", ()) if callable(function)]
        model = read_model(
            header, tensors, Settled(self.extractor_, self._given(), None, self._lexicon_choices, functions)
        )
        known = self._with_search(model, self.options).known
        known.dictionary = known.dictionary.with_lexicon(self._lexicon_tags(model.labels))
        sources = self._with_search(model, self.options).sources
        if sources is not None:
            self.options.non_local = sources
        return model

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        atoms: Mapping[str, Callable] | None = None,
        non_local: Sequence[Callable] | None = None,
    ) -> Self:
        """Read a model file of this task.

        Args:
            path: The model file.
            atoms: Your own features of words, by name; they are not in the file.
            non_local: Your own features of whole documents; they are not in the file.
        """
        return cls._load(path, atoms=atoms, non_local=non_local)

    @classmethod
    def _ask_for(cls, path: Any, header: dict[str, Any], code: dict[str, Any]) -> None:
        super()._ask_for(path, header, code)
        learned = header.get("learned")
        model = learned.get("model") if isinstance(learned, dict) else None
        functions = names_in({"learned": model}, "non_local_functions")
        ask_for(path, code, "non_local", functions, "non_local=[{}]")

    def _code(self) -> dict[str, Any]:
        return super()._code() | {"non_local": [f for f in self._sources() if callable(f)]}


class Tagger(ChainLabeler):
    """Tags words: one label for every word, such as its part of speech, scored by accuracy.

    Examples:
        >>> from structron import Tagger
        >>> train = [
        ...     [("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")],
        ...     [("a", "DET"), ("cat", "NOUN"), ("sleeps", "VERB")],
        ... ]
        >>> tagger = Tagger(cutoff=0, runs=1).fit(train)
        >>> tagger.predict([["the", "cat", "barks"]])
        [['DET', 'NOUN', 'VERB']]
    """

    options_class = TaggerOptions
    metric: ClassVar[str] = "accuracy"
    usual_columns: ClassVar[tuple[str, ...]] = ("word", "upos")


class Chunker(ChainLabeler):
    """Finds chunks: labels such as B-NP, I-NP, O, kept in a legal order and scored by conlleval's F1.

    Examples:
        >>> from structron import Chunker
        >>> from structron.data.toy_english import toy_english
        >>> train = [list(zip(s.words, s.pos, s.chunks)) for s in toy_english(100)]
        >>> chunker = Chunker(columns=["word", "pos", "chunk"], runs=1).fit(train)
        >>> chunker.predict([[("A", "DT"), ("dog", "NN"), ("barks", "VBZ")]])
        [['B-NP', 'I-NP', 'B-VP']]
    """

    options_class = ChunkerOptions
    metric: ClassVar[str] = "f1"
    usual_columns: ClassVar[tuple[str, ...]] = ("word", "pos", "chunk")
