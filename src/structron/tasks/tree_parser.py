"""What all dependency parsers share: how they take treebanks, and what they can be asked, however they search."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.estimator import Estimator, Sentences
from structron.eval.scores import AttachmentScores, attachment_scores
from structron.features.alphabets import ParserInput, Sentence
from structron.features.clusters import Clusters, make_clusters, prefix_length
from structron.features.encode import TokenTable
from structron.features.wordtable import take_table, with_tables
from structron.fields import options_of
from structron.io.columns import EMPTY, Columns, tree_columns
from structron.io.tensors import Tensors, texts
from structron.options import many_roots
from structron.runtime.threads import uncollected
from structron.tasks.partial import OpenRows
from structron.tasks.treebank import Arc, Projective, make_projective, read_arcs, roots_by_relation, settle_columns
from structron.text.sentences import check_sentences, sharing_texts, starts_of
from structron.text.trees import MARK, unlift

Parse = Callable[[Any, np.ndarray, np.ndarray, int], list[list[Arc]]]
"""The trees that a model finds for encoded sentences: `parse(model, x, starts, jobs)`."""
MOST_RELATIONS = 10_000
"""Relations of a model file, lifted ones included."""


class TreeParser(Estimator):
    """An estimator whose sentences are rows with a head and, unless it is unlabelled, a relation for every word."""

    input_: ParserInput

    @abstractmethod
    def _parse(self, model: Any, x: np.ndarray, starts: np.ndarray, jobs: int) -> list[list[Arc]]:
        """The trees that a model finds for encoded sentences."""

    @abstractmethod
    def _parse_nbest(
        self, model: Any, x: np.ndarray, starts: np.ndarray, n: int, jobs: int
    ) -> list[list[tuple[list[Arc], float]]]:
        """The n best trees of each sentence."""

    # -- training ------------------------------------------------------------------------------------------------

    def _treebank(self, sentences: Sentences, start: Any, crossing: bool = False) -> Projective:
        """Settle the columns and read the trees; those with crossing arcs are lifted or left out unless wanted."""
        given = _full(sharing_texts(sentences), "training data")
        if not given:
            raise StructronError("training data: no sentences; expected at least one with words")
        if start is None:
            self.roles_ = settle_columns(given, self.options.columns, self.options.pos, self.options.labelled)
            self.lifted_ = False
            self.clusters_ = make_clusters(self.options.clusters)
            odd = next((name for name in self.roles_.names if self.clusters_ and prefix_length(name) is not None), None)
            if odd is not None:
                raise StructronError(
                    f"column {odd!r}: with clusters, templates use this name for classes of words; rename it"
                )
        rows = self._open_rows()
        given = list(rows.of(given))
        if not given:
            raise StructronError("training data: no sentences; expected at least one with words")
        if note := rows.note():
            self.notes_.append(note)
        arcs = read_arcs(given, self.roles_, "training data", many_roots(self.options), rows.numbers or None)
        arcs = roots_by_relation(arcs) if rows.missing else arcs
        if crossing:
            found = Projective(given, arcs, 0, "")
        else:
            skip, numbers = self.options.nonprojective == "skip", rows.numbers or None
            found = make_projective(given, arcs, skip, self.labelled_, numbers, many_roots(self.options))
        self.lifted_ = self.lifted_ or (found.lifted > 0 and self.labelled_)
        if found.note:
            self.notes_.append(found.note)
        if start is not None:  # its alphabets will grow; those that the model was learned with stay as they are
            self.input_ = copy.copy(self.input_)
        return found

    def _open_rows(self) -> OpenRows:
        """How training data are read whose heads and relations may be open."""
        names, able = self.roles_.names, "open_label" in options_of(type(self))
        places = [names.index(name) for name in self.roles_.outputs] if able else []
        return OpenRows(places, self.options.open_label if able else None)

    def _settle_relations(self, names: list[str]) -> None:
        """The relations that are learned; a file cannot hold any number."""
        if len(names) > MOST_RELATIONS:
            raise StructronError(f"training data: {len(names)} relations; expected at most {MOST_RELATIONS}")
        self.relations_ = names

    def _settle_columns(self, names: list[str]) -> Columns:
        return tree_columns(names, self.options.pos, self.options.labelled)

    def arcs(self, sentences: Sequence[Sentence], what: str = "data") -> list[list[Arc]]:
        """The trees that rows hold, checked."""
        return read_arcs(sentences, self.roles_, what, many_roots(self.options))

    def _judge(self, dev: Sentences) -> Callable[[Any], float]:
        sentences = _full(dev, "dev data")
        gold = self.arcs(sentences, "dev data")
        if not gold:
            raise StructronError("dev data: no sentences; expected at least one with words")
        if self.labelled_ and all(relation == EMPTY for tree in gold for _, relation in tree):
            raise StructronError(f"dev data: no relations ({EMPTY} everywhere); expected some, as in the training data")
        return super()._judge(sentences)

    # -- using ---------------------------------------------------------------------------------------------------

    def _rows(self, sentences: Any) -> Any:
        """Pairs of a word and its tag will do, whatever other columns the model has seen."""
        given, roles = super()._rows(sentences), self.roles_
        if len(roles.inputs) <= 2:
            return given
        return [self._filled(sentence) if _pairs(sentence) else sentence for sentence in given]

    def _filled(self, sentence: Any) -> list[list[str]]:
        roles = self.roles_
        rows = [{roles.word: word, roles.pos: tag} for word, tag in sentence]
        return [[row.get(name, EMPTY) for name in roles.inputs] for row in rows]

    def _encode(self, sentences: Sentences, what: str = "data") -> tuple[list[int], np.ndarray, np.ndarray]:
        """The length of every sentence; those that have words, encoded; and where each of these begins."""
        given = list(sentences)
        full = _full(given, what)
        x = self.input_.encode(self.input_.encoded(full)) if full else np.zeros((0, len(self.input_.names)), np.int64)
        return list(map(len, given)), x, starts_of(full)

    def predict_arcs(self, table: TokenTable, jobs: int) -> list[Arc]:
        """The arcs of all words of a table, sentence after sentence."""
        return self._arcs(table, jobs, self._parse)

    def _arcs(self, table: TokenTable, jobs: int, parse: Parse) -> list[Arc]:
        if not table.starts[-1]:
            return []
        trees = parse(self.model_, self.input_.encode(table.columns), np.unique(table.starts), jobs)
        return list(chain.from_iterable(trees))

    def predict(self, sentences: Sentences, *, jobs: int | None = None) -> list[list[Arc]]:
        """The tree of each sentence.

        Args:
            sentences: Sentences whose words are rows; head and relation may be missing.
            jobs: Number of threads; by default that of the estimator.

        Returns:
            For each sentence a list with a head (0: the root) and a relation for every word.
        """
        return self._predict(sentences, jobs, self._parse)

    def _predict(self, sentences: Sentences, jobs: int | None, parse: Parse) -> list[list[Arc]]:
        model, given, jobs = self._check_fitted(), list(self._rows(sentences)), self._jobs(jobs)
        if jobs == 1:
            return _trees_by(parse, model, self._encode(given), 1)
        found = self._by_slices(self._encode, lambda _, ready: _trees_by(parse, model, ready, 1), given, jobs)
        return list(chain.from_iterable(found))

    def _decode(self, model: Any, ready: Any, jobs: int) -> list[list[Arc]]:
        return _trees_by(self._parse, model, ready, jobs)

    def _nbest(self, model: Any, ready: Any, n: int, jobs: int) -> list[list[tuple[Any, float]]]:
        lengths, x, starts = ready
        trees = iter(self._parse_nbest(model, x, starts, n, jobs) if len(x) else [])
        return [next(trees) if length else [([], 0.0)] for length in lengths]

    def _tree(self, heads: list[int], relations: list[Any]) -> list[Arc]:
        """The arcs of heads and names of relations, lifted words taken back down."""
        (tree,) = self._trees(np.array([0, len(heads)]), np.array(heads), np.array(relations, object))
        return tree

    def _trees(self, starts: np.ndarray, heads: np.ndarray, relations: np.ndarray) -> list[list[Arc]]:
        """The same of many sentences."""
        bounds, own = starts.tolist(), heads.tolist()
        named: list[Any] = relations.tolist() if self.labelled_ else [None] * len(heads)
        if self.labelled_ and self.lifted_:
            places = [k for k, relation in enumerate(named) if MARK in relation]
            for s in np.unique(np.searchsorted(starts, places, "right") - 1).tolist():
                lo, hi = bounds[s], bounds[s + 1]
                own[lo:hi], named[lo:hi] = unlift(own[lo:hi], named[lo:hi])  # type: ignore[assignment]
        arcs = list(zip(own, named, strict=True))
        return [arcs[lo:hi] for lo, hi in pairwise(bounds)]

    def _columns_of(self, prediction: Sequence[Arc]) -> list[list[str]]:
        heads = [str(head) for head, _ in prediction]
        return [heads, [relation or EMPTY for _, relation in prediction]] if self.labelled_ else [heads]

    def _gold(self, sentences: Sentences, what: str = "data") -> list[list[Arc]]:
        return self.arcs(list(sentences), what)

    def _scores(self, gold: list, guess: list, sentences: Any = None) -> AttachmentScores:
        return attachment_scores(gold, guess)

    # -- files ---------------------------------------------------------------------------------------------------

    def _state(self, model: Any) -> tuple[dict[str, Any], Tensors]:
        roles = self.roles_
        learned = {
            "columns": roles.names,
            "word": roles.word,
            "pos": roles.pos,
            "outputs": roles.outputs,
            "relations": self.relations_,
            "lifted": self.lifted_,
            "inputs": self.input_.extra,
        }
        found = model.tensors() | self.input_.tensors()
        return with_tables(learned, found, self.tables_)

    def _resolved_options(self) -> dict[str, Any]:
        return {"columns": self.roles_.names, "pos": self.roles_.pos}

    def _load_state(self, learned: dict[str, Any], tensors: Tensors, **code: Any) -> None:
        names, outputs = texts(learned["columns"], "columns"), texts(learned["outputs"], "outputs", 1)
        word, pos = learned["word"], learned["pos"]
        if not {word, pos, *outputs} <= set(names) or len({word, pos, *outputs}) < 2 + len(outputs) or len(outputs) > 2:
            raise ValueError("columns do not fit together")
        self.roles_ = Columns(names, word, outputs, pos)
        self.relations_, self.lifted_ = texts(learned["relations"], "relations"), bool(learned["lifted"])
        if len(self.relations_) > MOST_RELATIONS:
            raise ValueError(f"{len(self.relations_)} relations; at most {MOST_RELATIONS} are possible")
        self.clusters_ = self.options.clusters = take_table(Clusters, learned, tensors, code.get("clusters"))
        self.input_ = ParserInput(names, word, pos, texts(learned["inputs"], "inputs"), outputs, self.clusters_)
        if set(self.input_.read) & set(outputs):
            raise ValueError("inputs do not fit")
        self.input_.take(tensors)

    # -- columns -------------------------------------------------------------------------------------------------

    @property
    def labelled_(self) -> bool:
        """Whether relations are learned."""
        return len(self.roles_.outputs) > 1

    @property
    def metric(self) -> str:  # type: ignore[override]
        """LAS, or UAS of an unlabelled parser."""
        labelled = self.labelled_ if "roles_" in vars(self) else self.options.labelled
        return "las" if labelled else "uas"

    @property
    def needed_(self) -> set[str]:  # type: ignore[override]
        """The columns that a sentence to be parsed must have."""
        return set(self.input_.read)


def _trees_by(parse: Parse, model: Any, ready: Any, jobs: int) -> list[list[Arc]]:
    """The tree of each sentence; an empty one for those without words."""
    lengths, x, starts = ready
    with uncollected():
        trees = iter(parse(model, x, starts, jobs) if len(x) else [])
        return [next(trees) if length else [] for length in lengths]


def _pairs(sentence: Any) -> bool:
    """Whether the tokens of a sentence are pairs."""
    if not isinstance(sentence, list | tuple) or not sentence or not hasattr(sentence[0], "__len__"):
        return False
    return len(sentence[0]) == 2 and all(isinstance(token, list | tuple) and len(token) == 2 for token in sentence)


def _full(sentences: Sentences, what: str) -> list[Sentence]:
    """The sentences that have words."""
    given = list(sentences)
    check_sentences(given, what)
    return [sentence for sentence in given if len(sentence)]
