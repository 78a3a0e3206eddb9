"""Tags and chunks together: each step of the search gives the next word its part of speech and its chunk label.

rows ──inputs──▶ words, guesses ──TemplateExtractor──▶ features ──encoder──▶ beam engine ──▶ pairs
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.estimator import Sentences
from structron.eval.scores import JointScores, joint_scores
from structron.features.extract import TemplateExtractor
from structron.features.gazetteer import make_gazetteers
from structron.io.columns import Columns, default_columns, pair_columns
from structron.io.tensors import Tensors
from structron.learn.encoded import EncodedLearner
from structron.model.encoded import EncodedModel
from structron.model.heaviest import Heaviest, heaviest_of
from structron.tasks.chain.constraints import Neighbours, legal_transitions, make_dictionary
from structron.tasks.chain.extras import Extras
from structron.tasks.encoded import EncodedLabeler
from structron.tasks.joint.encoder import KnownLayers, PairEncoder, Pairs, encode_pairs
from structron.tasks.joint.inputs import RARE, SEPARATOR, Guesser, JointRows, JointTemplates
from structron.tasks.joint.partial import agreeing_pairs, is_closed, labels_of, missing_pairs
from structron.tasks.options import JointOptions
from structron.tasks.partial import open_in
from structron.tasks.tokens import first_row, telling
from structron.text import schemes

Pair = tuple[str, str]


class JointTagger(EncodedLabeler):
    """Finds the tag and the chunk label of every word together (Daumé & Marcu 2005, section 4.2).

    In templates, t[-1] and c[-1] are the previous tag and chunk label. A function given as `jj` receives pairs such as
    NN/B-NP. By default the beam is 2, with LaSO updates and a margin of 5.

    Examples:
        >>> from structron import JointTagger
        >>> from structron.data.toy_english import toy_english
        >>> train = [list(zip(s.words, s.pos, s.chunks)) for s in toy_english(100)]
        >>> tagger = JointTagger(columns=["word", "pos", "chunk"], runs=1).fit(train)
        >>> tagger.predict([["The", "market", "fell"]])
        [[('DT', 'B-NP'), ('NN', 'I-NP'), ('VBD', 'B-VP')]]
    """

    options_class = JointOptions
    usual_columns: ClassVar[tuple[str, ...]] = ("word", "pos", "chunk")
    metric: ClassVar[str] = "f1"

    # -- training ------------------------------------------------------------------------------------------------

    def _settle_columns(self, names: list[str]) -> Columns:
        return pair_columns(names, self.options.pos, self.options.label)

    def _fit_columns(self, sentences: Sentences) -> Sentences:
        """Beside columns and templates the guesses: tags that words mostly have in the training data."""
        given = list(sentences)
        _, first = first_row(iter(given))
        self.roles_ = self._settle_columns(
            list(self.options.columns) if self.options.columns else default_columns(len(first))
        )
        self.templates_ = JointTemplates.of(self.options.templates, self.roles_, telling(self.tables_))
        rows = JointRows(self.roles_).of(self._open_rows().of(given), True, "training data")
        flat = [row for sentence in rows for row in sentence]
        word = self.roles_.inputs.index(self.roles_.word)
        if not flat:
            raise StructronError("training data: no sentences; expected at least one with a known label")
        tags, chunks = zip(*(row[-1].split(SEPARATOR, 1) for row in flat), strict=True)
        self.guesser_ = Guesser.learn([row[word] for row in flat], tags, chunks, RARE)
        self.extractor_ = self._make_extractor(self.templates_.tokens)
        return given

    def _make_extractor(self, templates: list[Any]) -> TemplateExtractor:
        """Features of the input columns; the outputs are one column, which is none of them."""
        roles, rows = self.roles_, JointRows(self.roles_)
        guesses = self.guesser_.atoms(self.templates_.guesses)
        gazetteers = make_gazetteers(self.options.gazetteers)
        atoms: dict[str, Any] = {**(self.options.atoms or {}), **guesses}
        columns = [*roles.inputs, rows.pair]
        return TemplateExtractor(columns, rows.pair, templates, roles.word, gazetteers, atoms, self.tables_.values())

    def _prepare(self, sentences: Sentences, labelled: bool = False, what: str = "data") -> Any:
        return self.extractor_.prepare(
            JointRows(self.roles_).of(sentences, labelled, what), labelled=labelled, what=what
        )

    def _make_learner(self, prepared: Any, start: EncodedModel | None) -> EncodedLearner:
        """Number tags, chunk labels and pairs, settle the constraints, number the features."""
        seen: list[Pair] = [(tag, chunk) for tag, chunk in (t.split(SEPARATOR, 1) for t in prepared.label_types)]
        known = None if start is None else start.encoder
        before = known.pairs if known else None
        layers = [labels_of(seen, k, before) for k in range(2)]
        tag_of, chunk_of = (own.numbers(seen)[prepared.label_ids] for own in layers)
        for name, own in zip(self.roles_.outputs, layers, strict=True):
            if len(own.labels) < 2:
                label = own.labels[0] if own.labels else "open"
                raise StructronError(f"training data: column {name!r}: only one label ({label}); expected two")
        neighbours = Neighbours(layers[1].labels, chunk_of, prepared.starts)
        self.scheme_ = neighbours.scheme(self.scheme_ if start else None)
        partial = bool((tag_of < 0).any() or (chunk_of < 0).any())
        if partial and self.scheme_:
            layers[1] = labels_of(seen, 1, before, schemes.completed(layers[1].labels, self.scheme_))
            chunk_of = layers[1].numbers(seen)[prepared.label_ids]
            neighbours = Neighbours(layers[1].labels, chunk_of, prepared.starts)
        allowed = legal_transitions(layers[1].labels, self.scheme_, ())
        if illegal := neighbours.illegal(allowed):
            self.notes_.append(f"{illegal} forbidden transitions in the training labels; kept")
        words = (self.options.tag_dictionary, self.options.closed_classes)
        dictionary = make_dictionary(prepared, tag_of, len(layers[0].labels), *words)
        if known is not None:
            dictionary = known.dictionary.merged(dictionary, len(layers[0].labels))
        learning, knowledge = neighbours.seen(allowed), self._knowledge(prepared, tag_of, chunk_of, partial)
        pairs = Pairs.of([*filter(is_closed, seen), *missing_pairs(seen, layers, before)], before)
        encoder = PairEncoder(pairs, self.templates_.history, allowed, dictionary, Extras([], []))
        if knowledge is not None:
            encoder.pairs = agreeing_pairs(prepared, encoder, knowledge, allowed, self.scheme_)
        gold = np.where((tag_of < 0) | (chunk_of < 0), 0, encoder.pairs.numbers[tag_of, chunk_of])
        data = encode_pairs(prepared, gold, encoder, learning, self.options.cutoff, start, knowledge)
        columns = None if before is None else before.columns_among(encoder.pairs)
        return EncodedLearner(data, self.options.resolved, self.options.average, start, columns)

    def _knowledge(self, prepared: Any, tag_of: np.ndarray, chunk_of: np.ndarray, partial: bool) -> KnownLayers | None:
        """What is known where labels are open; None: everything is known."""
        if not partial:
            return None
        if self.options.swvp is not None:
            raise StructronError("swvp: cannot be combined with open labels in the training data; expected swvp none")
        before = np.concatenate([[0], np.cumsum((tag_of < 0) | (chunk_of < 0))])
        return KnownLayers(tag_of, chunk_of, before[prepared.starts[1:]] > before[prepared.starts[:-1]])

    # -- using ---------------------------------------------------------------------------------------------------

    def _gold(self, sentences: Sentences, what: str = "data") -> list[list[Pair]]:
        rows = JointRows(self.roles_).of(sentences, True, what)
        mark = self.options.open_label
        for s, sentence in enumerate(rows, 1):
            for i, row in enumerate(sentence, 1):
                if mark is not None and mark in row[-1].split(SEPARATOR, 1):
                    raise open_in(what, s, i)
        return [[(tag, chunk) for tag, chunk in (row[-1].split(SEPARATOR, 1) for row in own)] for own in rows]

    def labels_known(self) -> set[str]:
        return set(self._check_fitted().encoder.pairs.chunks)

    def _columns_of(self, prediction: Sequence[Pair]) -> list[list[str]]:
        return [[pair[k] for pair in prediction] for k in range(2)]

    def _size(self, model: EncodedModel) -> str:
        return f"pairs {len(model.labels)}"

    def _scores(self, gold: list, guess: list, sentences: Any = None) -> JointScores:
        return joint_scores(gold, guess)

    def inspect(self, label: str | None = None, *, top: int = 20) -> Heaviest:
        """The features with the largest weights, for every tag and every chunk label.

        Args:
            label: Only those of this tag, chunk label, or pair (NN/B-NP).
            top: How many of each.
        """
        model = self._check_fitted()
        return heaviest_of(model.base, model.encoder.columns_named(label), top, model.name_of)

    # -- files ---------------------------------------------------------------------------------------------------

    def _template_texts(self) -> list[str]:
        return self.templates_.texts

    def _state(self, model: Any) -> tuple[dict[str, Any], Tensors]:
        learned, tensors = super()._state(model)
        return learned, tensors | self.guesser_.tensors()

    def _resolved_options(self) -> dict[str, Any]:
        return super()._resolved_options() | {"pos": self.roles_.outputs[0]}

    def _take_features(self, learned: dict[str, Any], tensors: Tensors) -> None:
        if len(self.roles_.outputs) != 2:
            raise ValueError("columns do not fit together")
        self.templates_ = JointTemplates.of(self.options.templates, self.roles_)
        self.guesser_ = Guesser.take(tensors)
        self.extractor_ = self._make_extractor(self.templates_.tokens)

    def _read_model(self, header: dict[str, Any], tensors: Tensors, **code: Any) -> EncodedModel:
        model = EncodedModel.read(PairEncoder, header, tensors)
        fits = len(model.encoder.extras.keys) == len(self.extractor_.paired.templates)
        if not fits or model.encoder.templates != self.templates_.history:
            raise ValueError("features do not fit the templates")
        return model
