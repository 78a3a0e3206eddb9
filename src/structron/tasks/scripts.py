"""What the lemmatizer and the splitter of multiword tokens share: an edit script per token as its label, chosen among
those seen with the token or its ending (text/scripts.py, features/lexicon.py)."""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.estimator import Sentences
from structron.features.encode import Column
from structron.features.extract import TemplateExtractor
from structron.features.lexicon import Demands, Lexicon, make_demands, normal
from structron.features.templates import parse_templates
from structron.features.wordforms import Choices, LexiconScripts
from structron.fields import DEFAULT
from structron.io.tensors import Tensors, beginning, texts, under
from structron.learn.choices import ChoiceLearner
from structron.learn.loop import Schedule
from structron.model.choices import ChoiceModel
from structron.model.compact import SPELLER
from structron.runtime.progress import Progress
from structron.tasks.chain.constraints import make_dictionary, number_labels
from structron.tasks.chain.explain import Contribution, Decision
from structron.tasks.chain.models import Settled, read_model
from structron.tasks.chain.predictor import LabelPredictor
from structron.tasks.chain.templates import looks_further
from structron.tasks.lemmas import ATOMS, KnownLemmas
from structron.tasks.options import LemmatizerOptions, SplitterOptions
from structron.tasks.transducer import Speller
from structron.text.scripts import (
    WHOLE,
    apply_lemma,
    apply_words,
    lemma_demands,
    lemma_script,
    words_demands,
    words_script,
)
from structron.text.sentences import decode_labels

TAGS = {"upos", "xpos", "feats"}
"""Columns that the lemmatizer's preset looks at, those that there are."""
RELIABLE = 0.9
"""Share of the training data's lemmas that a lexicon has to have for a part of speech, for unknown words to get theirs
from it."""
TRUST = 1.0
"""How many times a script's margin that of spelling counts."""
BETWEEN_WORDS = "\t"
"""What stands between the words of a multiword token in the splitter's column."""


class ScriptLabeler(LabelPredictor):
    """Learns how to make one text of another, for every token."""

    closed: ClassVar[bool] = False
    common_labels: ClassVar[bool] = False
    """Whether the commonest scripts of all words are tried where a word is not well known."""

    @abstractmethod
    def _script(self, form: str, text: str) -> str:
        """The script that makes a text of a form."""

    @abstractmethod
    def _apply(self, script: str, form: str) -> str:
        """The text that a script makes of a form."""

    @abstractmethod
    def _demand(self, script: str) -> tuple[str, str]:
        """How a form has to begin and end for a script."""

    def _make_learner(self, prepared: Any, start: Any) -> ChoiceLearner:
        """Every token alone, among the scripts that it, or tokens with its ending, were seen with."""
        labels, gold = number_labels(prepared)
        if looks_further(self.extractor_.templates, 1) or self.extractor_.paired.templates:
            raise StructronError("templates: cannot use previous labels here; expected templates only over words")
        own = {y for y, label in enumerate(labels) if label[:1] == WHOLE}  # they say nothing of other words
        about = (self._given(), self.options.rare, self._demands(labels), own, self.common_labels)
        lexicon = Lexicon.learn(prepared, gold, *about)
        lexicon.more = self._lexicon_choices(labels)
        known = (labels, lexicon, make_dictionary(prepared, gold, len(labels), 0))
        return ChoiceLearner(prepared, gold, *known, False, False, self.options.cutoff, self.options.average)

    def _read_model(self, header: dict[str, Any], tensors: Tensors, **code: Any) -> Any:
        if header["kind"] != ChoiceModel.kind:
            raise ValueError(f"a model of kind {header['kind']!r}")
        return read_model(
            header, tensors, Settled(self.extractor_, self._given(), self._demands, self._lexicon_choices)
        )

    def predict_with_margins(
        self, sentences: Sentences, *, jobs: int | None = None
    ) -> tuple[list[list[str]], list[list[float]]]:
        """Texts, and for each token by how much its edit script beats the best other one.

        Args:
            sentences: As for `predict`.
            jobs: Number of threads; by default that of the estimator.
        """
        return self._predict(sentences, None, self._jobs(jobs), True)

    def _prepare(self, sentences: Sentences, labelled: bool = False, what: str = "data") -> Any:
        prepared = super()._prepare(sentences, labelled, what)
        if labelled:
            pairs, place = np.unique(np.stack([prepared.word_ids, prepared.label_ids]), axis=1, return_inverse=True)
            forms, made = prepared.word_types, prepared.label_types
            scripts = [self._script(forms[w], made[y]) for w, y in pairs.T.tolist()]
            types = sorted(set(scripts))
            number = {script: k for k, script in enumerate(types)}
            numbers = np.array([number[script] for script in scripts], np.int32)
            prepared.label_types, prepared.label_ids = types, numbers[place.reshape(-1)]
        return prepared

    def _gold(self, sentences: Sentences, what: str = "data") -> list[list[str]]:
        prepared = super()._prepare(sentences, True, what)
        return decode_labels(prepared.label_ids, prepared.label_types, prepared.starts)

    def _column(self, out: np.ndarray, model: Any, prepared: Any) -> Column:
        return self._made(out, prepared.word_ids, model, prepared)

    def _made(self, scripts: np.ndarray, words: np.ndarray, model: Any, prepared: Any) -> Column:
        """What scripts make of words, each pair of both looked at once."""
        labels = self._scripts_of(model, prepared)
        pairs, place = np.unique(words.astype(np.int64) * len(labels) + scripts, return_inverse=True)
        used = zip(*(own.tolist() for own in np.divmod(pairs, len(labels))), strict=True)
        made = Column.of([self._apply(labels[y], prepared.word_types[w]) for w, y in used])
        return Column(made.types, made.ids[place.reshape(-1)])

    def _scripts_of(self, model: Any, prepared: Any) -> list[str]:
        """The scripts by number that were found in a search."""
        return model.labels

    def _decode_labels(self, out: np.ndarray, model: Any, prepared: Any, bounds: np.ndarray) -> list[list[str]]:
        made = self._made(out, prepared.word_ids[bounds[0] : bounds[-1]], model, prepared)
        return decode_labels(made.ids, made.types, bounds - bounds[0])

    def _demands(self, labels: Sequence[str]) -> Demands:
        wanted = [self._demand(label) for label in labels]
        return make_demands([normal(front) for front, _ in wanted], [normal(back) for _, back in wanted])


class Lemmatizer(ScriptLabeler):
    """Finds the lemma of every word from its form and, if the data have them, its tags.

    With `letters` those of unknown words are spelled letter by letter (transducer.py) where that is surer.

    Examples:
        >>> from structron import Lemmatizer
        >>> pairs = [("dogs", "dog"), ("cats", "cat"), ("barks", "bark"), ("sleep", "sleep")]
        >>> lemmatizer = Lemmatizer(columns=["form", "lemma"], cutoff=0).fit([pairs])
        >>> lemmatizer.predict([["birds"]])
        [['bird']]
    """

    options_class = LemmatizerOptions
    usual_columns: ClassVar[tuple[str, ...]] = ("form", "upos", "lemma")
    common_labels: ClassVar[bool] = True

    def _templates(self) -> list[Any]:
        found, missing = super()._templates(), TAGS - set(self.roles_.names)
        preset = isinstance(self.options.templates, str) and self.options.templates == DEFAULT
        return [t for t in found if not missing & {name for name, _ in t.parts}] if preset else found

    def _given(self) -> list[str]:
        return super()._given() or (["upos"] if "upos" in self.roles_.inputs else [])

    def _fit_columns(self, sentences: Sentences) -> Sentences:
        self.known_ = KnownLemmas([], {})
        given = list(super()._fit_columns(sentences))
        if self._known_atoms(self.extractor_.templates):
            roles = self.roles_
            plain = TemplateExtractor(roles.names, roles.outputs[0], [], roles.word)
            seen = plain.prepare(given, labelled=True, what="training data")
            pairs = np.unique(np.stack([seen.word_ids, seen.label_ids]), axis=1).T.tolist()
            forms = ((seen.word_types[w], seen.label_types[y]) for w, y in pairs)
            self.known_ = KnownLemmas.learn(forms, self.lexicon_)
            self.extractor_ = self._make_extractor(self._templates())
        return given

    def _known_atoms(self, templates: Sequence[Any]) -> list[str]:
        """Those that templates look at, where neither a column nor an atom of the user's has the name."""
        asked = {name for template in templates for name, _ in template.parts}
        return [name for name in ATOMS if name in asked - {*self.roles_.names, *(self.options.atoms or {})}]

    def _atoms(self, templates: list[Any]) -> dict[str, Any]:
        return super()._atoms(templates) | self.known_.atoms(self._known_atoms(templates))

    # -- a user's lexicon ----------------------------------------------------------------------------------------------

    def _lexicon_choices(self, labels: Sequence[str]) -> Choices | None:
        return None if self.lexicon_ is None else LexiconScripts(self.lexicon_, labels, self._given())

    def _upos(self, prepared: Any, tokens: np.ndarray) -> list[str]:
        """The part of speech of each token, "" where the data have none."""
        own = prepared.table.columns["upos"] if "upos" in self._given() else None
        return [""] * len(tokens) if own is None else [own.types[k] for k in own.ids[tokens].tolist()]

    def _trusted_tags(self, prepared: Any) -> list[str]:
        """Parts of speech of which the lexicon's lemmas are mostly those of the training data; "": of all words."""
        words = [prepared.word_types[k] for k in prepared.word_ids.tolist()]
        made = [prepared.label_types[k] for k in prepared.label_ids.tolist()]
        rows = dict.fromkeys(zip(words, self._upos(prepared, np.arange(len(words))), made, strict=True))
        words, tags, scripts = map(list, zip(*rows, strict=True))
        assert self.lexicon_ is not None
        agreed: defaultdict[str, list[bool]] = defaultdict(list)
        for word, tag, script, lemmas in zip(words, tags, scripts, self.lexicon_.lemmas_of(words, tags), strict=True):
            if lemmas:
                agreed[tag].append(self._apply(script, word) in lemmas)
        return sorted(tag for tag, own in agreed.items() if sum(own) >= RELIABLE * len(own))

    def _from_lexicon(self, prepared: Any, tokens: np.ndarray, out: np.ndarray, model: Any) -> dict[int, str]:
        """Tokens whose lemma is another in the lexicon, with that lemma."""
        lexicon = self.lexicon_
        assert lexicon is not None
        tags = self._upos(prepared, tokens)
        asked = [(token, tag) for token, tag in zip(tokens.tolist(), tags, strict=True) if tag in self.trusted_]
        words = [prepared.word_types[prepared.word_ids[token]] for token, _ in asked]
        labels, found = self._scripts_of(model, prepared), {}
        for (token, _), word, lemmas in zip(
            asked, words, lexicon.lemmas_of(words, [tag for _, tag in asked]), strict=True
        ):
            if lemmas and self._apply(labels[out[token]], word) not in lemmas:
                found[token] = lemmas[0]
        return found

    # -- letter by letter ----------------------------------------------------------------------------------------------

    @classmethod
    def kernels_of(cls, options: Mapping[str, Any]) -> str:
        return f"{cls.task} letters" if options.get("letters") else cls.task

    def _learn(self, sentences: Any, dev: Any, schedule: Schedule, progress: Progress | None, start: Any) -> None:
        self.speller_ = None
        super()._learn(sentences, dev, schedule, progress, start)
        rows = vars(self).pop("rows_", None)
        if rows is not None and self.stopped_ != "interrupted":
            self.speller_ = Speller.learn(rows, self.options.seed)

    def _make_learner(self, prepared: Any, start: Any) -> ChoiceLearner:
        if self.options.letters:
            columns = self._tag_columns(prepared)
            ids = [prepared.word_ids, *(column.ids for column in columns), prepared.label_ids]
            self.rows_ = [
                (form, tuple(own.types[t] for own, t in zip(columns, tags, strict=True)), self._apply(script, form))
                for w, *tags, y in np.unique(np.stack(ids), axis=1).T.tolist()
                for form, script in [(prepared.word_types[w], prepared.label_types[y])]
            ]
        self.trusted_ = [] if self.lexicon_ is None else self._trusted_tags(prepared)
        return super()._make_learner(prepared, start)

    def _tag_columns(self, prepared: Any) -> list[Column]:
        """Columns of tags, the first of them UPOS where there is one."""
        return [prepared.table.columns[name] for name in self.roles_.inputs if name in TAGS]

    def _looked_up(self) -> set[str]:
        return super()._looked_up() | (TAGS & set(self.roles_.inputs) if self.options.letters else set())

    def _search_tokens(self, model: Any, prepared: Any, jobs: int, forced: Any, margins: bool) -> tuple[Any, Any]:
        out, sure = super()._search_tokens(model, prepared, jobs, forced, margins or self.speller_ is not None)
        if self.speller_ is None and self.lexicon_ is None:
            return out, sure
        known = model.dictionary.find(prepared.word_types) >= 0
        tokens = np.flatnonzero(~known[prepared.word_ids])
        prepared.spelled = []
        if self.speller_ is not None:
            self._spell_tokens(self.speller_, model, prepared, tokens, out, sure)
        if self.lexicon_ is not None:
            prepared.looked_up = self._from_lexicon(prepared, tokens, out, model)
            for token, lemma in prepared.looked_up.items():
                out[token] = len(model.labels) + len(prepared.spelled)
                prepared.spelled.append(WHOLE + lemma)
        return out, sure

    def _spell_tokens(
        self, speller: Speller, model: Any, prepared: Any, tokens: np.ndarray, out: np.ndarray, sure: np.ndarray
    ) -> None:
        """Spell some tokens, and take what is surer than their script."""
        columns = self._tag_columns(prepared)
        ids = np.stack([prepared.word_ids[tokens], *(column.ids[tokens] for column in columns)])
        rows, place = np.unique(ids, axis=1, return_inverse=True)
        place = place.reshape(-1)
        forms = [prepared.word_types[w] for w in rows[0].tolist()]
        tags = [tuple(own.types[t] for own, t in zip(columns, each, strict=True)) for each in rows[1:].T.tolist()]
        spelled = speller(list(zip(forms, tags, strict=True)))
        won = np.array([margin for _, margin in spelled], np.float64)[place]
        surer = (won * TRUST > sure[tokens]) | np.isinf(sure[tokens])  # inf: there was no other script
        prepared.spelled = [WHOLE + lemma for lemma, _ in spelled]
        out[tokens[surer]], sure[tokens[surer]] = len(model.labels) + place[surer], won[surer]

    def explain(self, sentence: Sequence, *, top: int = 8) -> Any:
        """For each word its script, or its spelling, the runner-up and the features that decided.

        Args:
            sentence: A sentence, as for `predict`.
            top: The largest number of features for each word.

        Returns:
            A `Decision` for each word.
        """
        found = super().explain(sentence, top=top)
        if (self.speller_ is None and self.lexicon_ is None) or not len(sentence):
            return found
        model, prepared = self.model_, self._prepare([sentence])
        out, sure = self._search_tokens(model, prepared, 1, None, True)
        for token in np.flatnonzero(out >= len(model.labels)).tolist():
            form = prepared.word_types[prepared.word_ids[token]]
            looked_up = getattr(prepared, "looked_up", {}).get(token)
            if looked_up is not None:
                margin, script = float(sure[token]), lemma_script(form, looked_up)
                because = [Contribution(token, f"lexicon={looked_up}", margin)]
                found[token] = Decision(form, script, found[token].label, margin, because)
                continue
            assert self.speller_ is not None
            tags = tuple(own.types[own.ids[token]] for own in self._tag_columns(prepared))
            lemmas, gains = self.speller_.explain(form, tags, top)
            scripts = [lemma_script(form, lemma) for lemma in lemmas]
            because = [Contribution(token, feature, weight) for feature, weight in gains.items()]
            margin = self.speller_([(form, tags)])[0][1]
            found[token] = Decision(form, scripts[0], scripts[1] if len(scripts) > 1 else None, margin, because)
        return found

    def _scripts_of(self, model: Any, prepared: Any) -> list[str]:
        return [*model.labels, *getattr(prepared, "spelled", ())]

    def _script(self, form: str, text: str) -> str:
        return lemma_script(form, text)

    def _apply(self, script: str, form: str) -> str:
        return apply_lemma(script, form) or form  # a script that does not fit, or would leave nothing

    def _demand(self, script: str) -> tuple[str, str]:
        return lemma_demands(script)

    def _state(self, model: Any) -> tuple[dict[str, Any], Tensors]:
        learned, tensors = super()._state(model)
        known = self.known_.tensors() if self._known_atoms(self.extractor_.templates) else {}
        spelled = {} if self.speller_ is None else under(SPELLER, self.speller_.tensors())
        learned = learned if self.lexicon_ is None else learned | {"trusted": self.trusted_}
        return learned, tensors | known | spelled

    def _take_features(self, learned: dict[str, Any], tensors: Tensors) -> None:
        asked = self._known_atoms(parse_templates(self.options.templates))
        self.known_ = KnownLemmas.take(tensors, self.lexicon_) if asked else KnownLemmas([], {})
        super()._take_features(learned, tensors)
        self.trusted_ = [] if self.lexicon_ is None else texts(learned["trusted"], "trusted tags")
        own = beginning(SPELLER, tensors)
        for name in own:
            del tensors[f"{SPELLER}{name}"]
        self.speller_ = Speller.take(own) if own else None


class Splitter(ScriptLabeler):
    """Learns which tokens are several words, and which words these are; between them stands a tab."""

    options_class = SplitterOptions

    def _script(self, form: str, text: str) -> str:
        return words_script(form, tuple(text.split(BETWEEN_WORDS)))

    def _apply(self, script: str, form: str) -> str:
        return BETWEEN_WORDS.join(apply_words(script, form))

    def _demand(self, script: str) -> tuple[str, str]:
        return words_demands(script)
