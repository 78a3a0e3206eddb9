"""What all tasks share that give every token of a sentence something: labels, chunks, or tags and chunks.

    rows ──TemplateExtractor──▶ prepared features ──the task's model──▶ a number per token ──decode──▶ labels

A task says how to make a learner of prepared sentences; columns, features, threads, documents and files are here.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from structron.errors import StructronError, quoted
from structron.estimator import Estimator, Sentences
from structron.features.encode import Column, TokenTable
from structron.features.extract import TemplateExtractor
from structron.features.templates import load_templates, parse_templates
from structron.fields import DEFAULT
from structron.io.columns import Columns, default_columns, label_columns
from structron.io.tensors import Tensors, texts
from structron.options import SCHEMES, Search
from structron.tasks.partial import OpenRows, check_closed, settle_open
from structron.text.numbers import shortened
from structron.text.sentences import Document, check_sentences, decode_labels, is_row, regroup, sentences_of, split

Labels = list[list[Any]]
LabelDecoder = Callable[[np.ndarray, np.ndarray], Labels]
"""Label numbers of some sentences as the user's labels: `decode(numbers, bounds)`."""


class TokenLabeler(Estimator):
    """Learns something for every token from templates over its columns."""

    default_templates: ClassVar[Mapping[str, str]]

    _with_search: ClassVar[Any]
    """A model with the search of its kind: `_with_search(model, options).decode(prepared, jobs, forced, margins)`."""

    chunks_per_thread: ClassVar[int] = 4

    @abstractmethod
    def _make_learner(self, prepared: Any, start: Any) -> Any:
        """Number the labels, settle the constraints, number the features."""

    @abstractmethod
    def _read_model(self, header: dict[str, Any], tensors: Tensors, **code: Any) -> Any:
        """A model from a file, checked."""

    # -- training ------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        search = self.options.search(learning=True)
        if search.beam is None and not search.merge:
            raise StructronError("merge: cannot be off in exact search; expected a beam")

    def _learner(self, sentences: Sentences, start: Any) -> Any:
        if start is None:
            self._make_tables()
            sentences = self._fit_columns(sentences)
        rows = self._open_rows()
        prepared = self._prepare(rows.of(sentences), True, "training data")
        if not len(prepared.label_ids):
            wanted = "with a known label" if rows.missing else "with words"
            raise StructronError(f"training data: no sentences; expected at least one {wanted}")
        prepared.sentence_numbers = rows.numbers
        if note := rows.note():
            self.notes_.append(note)
        prepared.jobs = self.options.jobs
        return self._make_learner(prepared, start)

    def _make_tables(self) -> None:
        """The tables of words that the options name."""
        self.clusters_ = self.lexicon_ = None
        if self.options.clusters is not None:
            from structron.features.clusters import make_clusters

            self.clusters_ = make_clusters(self.options.clusters)
        if self.options.lexicon is not None:
            from structron.features.wordforms import make_lexicon

            self.lexicon_ = make_lexicon(self.options.lexicon)

    def _make_gazetteers(self) -> list[Any]:
        if not self.options.gazetteers:
            return []
        from structron.features.gazetteer import make_gazetteers

        return make_gazetteers(self.options.gazetteers)

    def _open_rows(self) -> OpenRows:
        """How training data are read whose labels may be open."""
        names, able = self.roles_.names, hasattr(self.options, "open_label")
        places = [names.index(name) for name in self.roles_.outputs] if able else []
        return OpenRows(places, self.options.open_label if able else None)

    def _fit_columns(self, sentences: Sentences) -> Sentences:
        """Settle columns and features on training data, of which the first token is looked at; gives them again."""
        sentences, first = first_row(iter(sentences))
        self.roles_ = self._settle_columns(
            list(self.options.columns) if self.options.columns else default_columns(len(first))
        )
        self.extractor_ = self._make_extractor(self._templates())
        self.scheme_: str | None = None
        return sentences

    def _settle_columns(self, names: list[str]) -> Columns:
        return label_columns(names, self.options.label)

    def _templates(self) -> list[Any]:
        """The templates asked for; by default the preset for these columns: richer where the file has more."""
        source = self.options.templates
        if isinstance(source, str) and source == DEFAULT:
            presets = self.default_templates.items()
            source = next(preset for column, preset in presets if column in (*self.roles_.names, ""))
        return load_templates(source, telling(self.tables_))

    def _make_extractor(self, templates: list[Any]) -> TemplateExtractor:
        roles, gazetteers, atoms = self.roles_, self._make_gazetteers(), self._atoms(templates)
        tables = self.tables_.values()
        extractor = TemplateExtractor(roles.names, roles.outputs[0], templates, roles.word, gazetteers, atoms, tables)
        extractor.needed |= self._looked_up()
        return extractor

    def _atoms(self, templates: list[Any]) -> dict[str, Any]:
        """Atoms beside the built-in ones: functions of the user's."""
        return dict(self.options.atoms or {})

    def _looked_up(self) -> set[str]:
        """Columns that are needed beside those of the templates."""
        return set()

    def _prepare(self, sentences: Sentences, labelled: bool = False, what: str = "data") -> Any:
        """Look at the strings of sentences; a task may turn their labels into others that it learns better."""
        prepared = self.extractor_.prepare(sentences, labelled=labelled, what=what)
        if labelled:
            settle_open(prepared)
        return prepared

    # -- using ---------------------------------------------------------------------------------------------------

    def _encode(self, sentences: Sentences, what: str = "data") -> Any:
        return self._prepare(sentences, False, what)

    def _gold(self, sentences: Sentences, what: str = "data") -> Labels:
        """The labels that stand in sentences, as the user writes them; of documents sentence by sentence."""
        prepared = self._prepare(sentences, True, what)
        check_closed(prepared, getattr(self.options, "open_label", None), what)
        return decode_labels(prepared.label_ids, prepared.label_types, prepared.starts)

    def labels_known(self) -> set[str]:
        return set(self._check_fitted().labels) if self.closed else set()

    def _decode_labels(self, out: np.ndarray, model: Any, prepared: Any, bounds: np.ndarray) -> Labels:
        """Label numbers as the user's labels, sentence by sentence; bounds: of the sentences among all tokens."""
        return decode_labels(out, model.labels, bounds - bounds[0])

    def _label_decoder(self, model: Any, prepared: Any) -> LabelDecoder:
        """`_decode_labels` for what is found in some sentences."""
        return lambda out, bounds: self._decode_labels(out, model, prepared, bounds)

    def _search_tokens(self, model: Any, prepared: Any, jobs: int, forced: Any, margins: bool) -> tuple[Any, Any]:
        """The number of a label for each token, and the margins if they are asked for."""
        return self._with_search(model, self.options).decode(prepared, jobs, forced, margins)

    def _decode(self, model: Any, ready: Any, jobs: int) -> Labels:
        out, _ = self._search_tokens(model, ready, jobs, None, False)
        return self._decode_labels(out, model, ready, ready.starts)

    def predict_column(self, table: TokenTable, jobs: int) -> Column:
        """The labels of a table's tokens, as another column of it."""
        model, prepared = self.model_, self.extractor_.prepared(table)
        out, _ = self._search_tokens(model, prepared, jobs, None, False)
        return self._column(out, model, prepared)

    def _column(self, out: np.ndarray, model: Any, prepared: Any) -> Column:
        """Label numbers of all tokens as a column of the user's labels."""
        return Column.of_labels(model.labels, out)

    def predict(self, sentences: Sentences, *, jobs: int | None = None) -> Labels:
        """The best labels of each sentence or Document.

        Args:
            sentences: Sentences or Documents whose tokens are strings or rows; the label column may be missing.
            jobs: Number of threads; by default that of the estimator.
        """
        return self._predict(sentences, None, self._jobs(jobs), False)[0]

    def _predict(self, sentences: Sentences, forced: Any, jobs: int, margins: bool) -> tuple[Labels, Labels]:
        """Labels, and margins if they are asked for, on several threads if wanted."""
        model, rows = self._check_fitted(), self._rows(sentences)
        items = rows if isinstance(rows, list) else list(rows)
        if forced is not None:
            forced = self._numbers(
                model, sentences_of(items), sentences_of(_as_documents(items, forced, "forced labels"))
            )
        if jobs > 1 and not any(isinstance(item, Document) for item in items):
            labels, sure = self._predict_slices(model, items, forced, jobs, margins)
        else:
            labels, sure = self._predict_some(model, self._prepare(items), forced, jobs, margins)
        return regroup(items, labels), regroup(items, sure) if margins else []

    def _predict_slices(self, model: Any, items: list, forced: Any, jobs: int, margins: bool) -> tuple[Labels, Labels]:
        def search(own: slice, ready: Any) -> tuple[Labels, Labels]:
            return self._predict_some(model, ready, None if forced is None else forced[own], 1, margins)

        every = self._by_slices(self._prepare, search, items, jobs)
        return [x for labels, _ in every for x in labels], [x for _, sure in every for x in sure]

    def _predict_some(self, model: Any, prepared: Any, forced: Any, jobs: int, margins: bool) -> tuple[Labels, Labels]:
        fixed = None if forced is None else np.array([y for labels in forced for y in labels], np.int64)
        out, sure = self._search_tokens(model, prepared, jobs, fixed, margins)
        found = map(shortened, split(sure, prepared.starts)) if margins else ()
        return self._decode_labels(out, model, prepared, prepared.starts), list(found)

    def evaluate(self, sentences: Sentences, *, jobs: int | None = None, guess: list | None = None) -> Any:
        """All scores on labelled sentences or Documents, in per cent.

        Args:
            sentences: Labelled sentences or Documents.
            jobs: Number of threads; by default that of the estimator.
            guess: Score these predictions instead of the model's.
        """
        self._check_fitted()
        rows = self._rows(sentences)
        items = rows if isinstance(rows, list) else list(rows)
        found = self.predict(items, jobs=jobs) if guess is None else guess
        return super().evaluate(items, guess=sentences_of(_as_documents(items, found, "guess")))

    def _numbers(self, model: Any, sentences: Sequence, forced: Any) -> list[list[int]]:
        """The numbers of forced labels, -1 where a token is free."""
        raise self._refusal("forced")

    def _nbest(self, model: Any, ready: Any, n: int, jobs: int) -> list[list[tuple[Any, float]]]:
        return self._with_search(model, self.options).nbest(ready, n, jobs, self._label_decoder(model, ready))

    def nbest(self, sentences: Sentences, n: int, *, jobs: int | None = None) -> list[list[tuple[Any, float]]]:
        """The n best labellings of each sentence or Document.

        Args:
            sentences: As for `predict`.
            n: How many; there are fewer if the sentence has fewer.
            jobs: Number of threads; by default that of the estimator.

        Returns:
            For each sentence a list of pairs of labels and score, best first.
        """
        self._check_fitted()
        rows = self._rows(sentences)
        items = rows if isinstance(rows, list) else list(rows)
        found = super().nbest(items, n, jobs=jobs)
        pairs = zip(items, found, strict=True)
        return [own if isinstance(item, Document) else [(x[0], s) for x, s in own] for item, own in pairs]

    # -- looking in ----------------------------------------------------------------------------------------------

    def _scene(self, sentence: Any, gold: Any) -> Any:
        """One sentence in the beam engine; with gold at the learner of it alone, which goes on from the model."""
        from structron.learn.trace import Scene

        model, prepared = self.model_, self._prepare([sentence])
        if not len(prepared.word_ids):
            raise StructronError("trace: no words; expected a sentence")
        words = [prepared.word_types[k] for k in prepared.word_ids.tolist()]
        own = (self.task, words, self.options.resolved)
        prediction = self._decode(model, prepared, 1)[0]
        if gold is None:
            shows, look = _labels_shown(model.encoder), (model.base, *model.look(prepared, 0, 1))
            return Scene(*own, shows, look=look, prediction=prediction)
        rows = self._annotated(sentence, gold)
        correct = self._gold([rows])[0]
        self.notes_ = []
        learner = self._learner([rows], model)
        encoder = learner.data.encoder
        return Scene(
            *own,
            _labels_shown(encoder),
            learner,
            None,
            learner.feature_name,
            encoder.column_names(),
            correct,
            prediction,
        )

    # -- files ---------------------------------------------------------------------------------------------------

    def _state(self, model: Any) -> tuple[dict[str, Any], Tensors]:
        extractor, roles = self.extractor_, self.roles_
        gazetteers = list(extractor.gazetteers.values())
        learned = {
            "columns": roles.names,
            "word": roles.word,
            "outputs": roles.outputs,
            "templates": self._template_texts(),
            "gazetteers": [[gazetteer.name, gazetteer.lowercase] for gazetteer in gazetteers],
            "atoms": sorted(self.options.atoms or {}),
            "scheme": self.scheme_,
            "model": model.header(),
        }
        found = model.tensors()
        if gazetteers:
            from structron.features.gazetteer import gazetteer_tensors

            found |= gazetteer_tensors(gazetteers)
        if not self.tables_:
            return learned, found
        from structron.features.wordtable import with_tables

        return with_tables(learned, found, self.tables_)

    def _resolved_options(self) -> dict[str, Any]:
        return {"columns": self.roles_.names, "label": self.roles_.outputs[-1]}

    def _take_tables(self, learned: dict[str, Any], tensors: Tensors, code: Mapping[str, Any]) -> None:
        """Lists of names and tables of words from a file; code: tables that a pipeline has for all of its parts."""
        self.options.gazetteers = None
        self.clusters_ = self.options.clusters = self.lexicon_ = self.options.lexicon = None
        if learned["gazetteers"] != []:
            from structron.features.gazetteer import take_gazetteers

            self.options.gazetteers = {own.name: own for own in take_gazetteers(learned["gazetteers"], tensors)}
        if "clusters" in learned:
            from structron.features.clusters import Clusters
            from structron.features.wordtable import take_table

            self.clusters_ = self.options.clusters = take_table(Clusters, learned, tensors, code.get("clusters"))
        if "lexicon" in learned:
            from structron.features.wordforms import WordForms
            from structron.features.wordtable import take_table

            self.lexicon_ = self.options.lexicon = take_table(WordForms, learned, tensors, code.get("lexicon"))

    def _template_texts(self) -> list[str]:
        return [str(template) for template in self.extractor_.templates]

    def _load_state(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        names, outputs = texts(learned["columns"], "columns"), texts(learned["outputs"], "outputs", 1)
        self.roles_ = Columns(names, learned["word"], outputs)
        if not {learned["word"], *outputs} <= set(names):
            raise ValueError("columns do not fit together")
        if learned["scheme"] not in (None, *SCHEMES):
            raise ValueError("the scheme does not fit")
        self.scheme_ = learned["scheme"]
        self.options.atoms = code.get("atoms")
        self._take_tables(learned, tensors, code)
        self.options.templates = texts(learned["templates"], "templates")
        self._take_features(learned, tensors)
        self.model_ = self._read_model(learned["model"], tensors, **code)

    def _take_features(self, learned: dict[str, Any], tensors: Tensors) -> None:
        self.extractor_ = self._make_extractor(parse_templates(self.options.templates))

    @classmethod
    def load(cls, path: str | Path, *, atoms: Mapping[str, Callable] | None = None) -> Self:
        """Read a model file of this task.

        Args:
            path: The model file.
            atoms: Your own features of words, by name; they are not in the file.
        """
        return cls._load(path, atoms=atoms)

    @classmethod
    def _ask_for(cls, path: Any, header: dict[str, Any], code: dict[str, Any]) -> None:
        ask_for(path, code, "atoms", names_in(header, "atoms"), "atoms={{{}: …}}")

    def _code(self) -> dict[str, Any]:
        return {"atoms": self.options.atoms}

    # -- columns, as the command line asks for them --------------------------------------------------------------

    @property
    def needed_(self) -> set[str]:  # type: ignore[override]
        """Columns that it cannot do without."""
        extractor = self.extractor_
        return extractor.needed - extractor.gazetteers.keys() - extractor.atoms.keys() - {*extractor.classes}


def _labels_shown(encoder: Any) -> Any:
    """What is shown of a state: the labels of the tokens so far."""
    names = [label if isinstance(label, str) else "/".join(label) for label in encoder.labels]
    return lambda actions: {"labels": [names[y] for y in encoder.labels_of(np.array(actions, np.int64)).tolist()]}


def names_in(header: dict[str, Any], what: str) -> list[str]:
    """Names of functions in a header that may be damaged."""
    learned = header.get("learned")
    given = learned.get(what, []) if isinstance(learned, dict) else []
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []


def ask_for(path: Any, code: dict[str, Any], what: str, names: list[str], how: str) -> None:
    """Refuse to load a model without the functions that it names. how: an example of how to give them."""
    given = code.get(what) or {}
    if set(names) - set(given if isinstance(given, dict) else [getattr(f, "__name__", "") for f in given]):
        wanted = how.format(", ".join(names))
        raise StructronError(f"{path}: pass the functions of its {what} again: load(path, {wanted})")


def telling(tables: Mapping[str, Any]) -> list[str]:
    """The tables of words that presets are to have templates over: a lexicon without parts of speech tells nothing."""
    return [
        name
        for name, table in tables.items()
        if name != "lexicon" or any(entry.upos for own in table.entries for entry in own)
    ]


def first_row(sentences: Iterator[Any]) -> tuple[Iterator[Any], Sequence]:
    """The sentences again from the first on, and the first token of all."""
    head: list[Any] = []
    for item in sentences:
        head.append(item)
        found = sentences_of([item])
        check_sentences(found, "training data", len(head) - 1)
        full = next(filter(len, found), None)
        if full is not None:
            first = full[0]
            break
    else:
        raise StructronError("training data: no sentences; expected at least one with words")
    if not is_row(type(first)):
        one = (
            "; for a single sentence, expected a list that contains it"
            if isinstance(first, str) and len(head) == 1
            else ""
        )
        raise StructronError(f"training data: a token is {quoted(first)}; expected rows that end with the label{one}")
    return chain(head, sentences), first


def _as_documents(items: Sequence, found: Sequence, what: str) -> list:
    """What was found for documents, marked as such."""
    if len(found) != len(items):
        raise StructronError(f"{what}: {len(found)} for {len(items)} sentences; expected one for each")
    return [Document(x) if isinstance(item, Document) else x for item, x in zip(items, found, strict=True)]


def nbest_under_beam(
    model: Any, search: Search, prepared: Any, n: int, jobs: int, decode: LabelDecoder
) -> list[list[tuple[Any, float]]]:
    """What the beam holds at the end of each sentence; of a document's sentences the best combinations."""
    lists = []
    for s, (labellings, scores) in enumerate(model.nbest(prepared, n, search.beam, search.merge, jobs)):
        decoded = [decode(row, prepared.starts[s : s + 2])[0] for row in labellings] or [[]]
        lists.append(list(zip(decoded, scores or [0.0], strict=True)))
    return [combine(lists[lo:hi], n) for lo, hi in pairwise(prepared.units.tolist())]


def combine(lists: Sequence[list[tuple[Any, float]]], n: int) -> list[tuple[list[Any], float]]:
    """The n best ways to take one of each list, all lists being sorted: sums of independent scores."""
    start = (0,) * len(lists)
    queue, seen = [(-sum(own[0][1] for own in lists), start)], {start}
    found: list[tuple[list[Any], float]] = []
    while queue and len(found) < n:
        loss, places = heappop(queue)
        found.append(([own[k][0] for own, k in zip(lists, places, strict=True)], -loss))
        for j, k in enumerate(places):
            if k + 1 < len(lists[j]):
                further = (*places[:j], k + 1, *places[j + 1 :])
                if further not in seen:
                    seen.add(further)
                    heappush(queue, (loss + lists[j][k][1] - lists[j][k + 1][1], further))
    return found
