"""A model of tags and chunk labels together, and its learner: a chain under a beam whose labels are pairs.

What it shares with the chains of tasks/beam_chain.py it inherits; the problem is that of tasks/joint_problem.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structron.errors import unknown
from structron.features.extract import PreparedTemplates
from structron.features.index import look_up, number_features
from structron.learn.beam import BeamTraining
from structron.model.chain import Dictionary
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.problem import SearchProblem
from structron.tasks.chain.beam import LABEL_PART, START, BeamChainModel, as_column
from structron.tasks.chain.beam_learner import BeamChainLearner, Search
from structron.tasks.chain.problem import look_ahead
from structron.tasks.joint.problem import FIRST_X, LIST, history_of, make_problem, make_table


@dataclass(frozen=True)
class Pairs:
    """The tags and chunk labels of the training data, and which of them were seen together."""

    tags: list[str]
    chunks: list[str]
    pairs: np.ndarray  # int64[pairs, 2]

    @property
    def together(self) -> np.ndarray:
        """bool[tags, chunks]"""
        seen = np.zeros((len(self.tags), len(self.chunks)), bool)
        seen[self.pairs[:, 0], self.pairs[:, 1]] = True
        return seen


def masks_of(dictionary: Dictionary, prepared: PreparedTemplates, tokens: slice) -> np.ndarray:
    """int64[tokens]: the row of the dictionary's masks for each token; words that it does not know may be anything."""
    if not dictionary.mask.any():
        return np.zeros(tokens.stop - tokens.start, np.int64)
    place = dictionary.find(prepared.word_types)
    return np.where(place < 0, 0, dictionary.mask[place]).astype(np.int64)[prepared.word_ids[tokens]]


def encoded(
    problem: SearchProblem,
    pairs: Pairs,
    starts: np.ndarray,
    masks: np.ndarray,
    mask_of: np.ndarray,
    extras: Sequence[np.ndarray],
    allowed: np.ndarray,
) -> Inputs:
    """Sentences as the engine reads them; which pairs tokens may have is part of the table.

    masks: bool[masks, tags].   A token's pairs are those of its tags, without chunk labels that lead nowhere.
    """
    possible = (masks.astype(np.float32) @ pairs.together.astype(np.float32)) > 0
    chunk_masks, chunk_mask_of = look_ahead(possible, mask_of, allowed, starts)
    both, row = np.unique(mask_of * len(chunk_masks) + chunk_mask_of, return_inverse=True)
    tag_row, chunk_row = np.divmod(both, len(chunk_masks))
    open_to = masks[tag_row][:, pairs.pairs[:, 0]] & chunk_masks[chunk_row][:, pairs.pairs[:, 1]]
    lists = [np.arange(len(pairs.pairs)), *(np.flatnonzero(own) for own in open_to)]
    x = np.zeros((len(mask_of), FIRST_X + len(extras)), np.int64)
    x[:, LIST] = row.reshape(-1) + 1
    for c, column in enumerate(extras):
        x[:, FIRST_X + c] = column
    table = make_table(history_of(problem), len(extras), pairs.pairs, allowed, lists)
    return make_inputs(problem, x, starts)._replace(table=table)


@dataclass
class JointModel(BeamChainModel):
    """Weights, features and constraints. `labels` are the names of pairs, `dictionary` is over tags."""

    pairs: Pairs = field(default_factory=lambda: Pairs([], [], np.zeros((0, 2), np.int64)))

    def inputs(self, prepared: PreparedTemplates, lo: int, hi: int, forced: np.ndarray | None = None) -> Inputs:
        """Sentences lo … hi - 1 for the engine."""
        tokens = slice(int(prepared.starts[lo]), int(prepared.starts[hi]))
        starts = prepared.starts[lo : hi + 1] - prepared.starts[lo]
        tables = enumerate(self.extra_tables)
        extras = [as_column(look_up(table, prepared.pair_column(c, lo, hi))) for c, table in tables]
        mask_of = masks_of(self.dictionary, prepared, tokens)
        return encoded(self.base.problem, self.pairs, starts, self.dictionary.masks, mask_of, extras, self.allowed)

    # -- looking in ----------------------------------------------------------------------------------------------

    def columns_named(self, label: str | None) -> dict[str, list[int]]:
        """The columns of weights behind a tag, a chunk label or a pair, by name; None: of all tags and chunk labels."""
        tags, chunks = self.pairs.tags, self.pairs.chunks
        found = {f"tag {tag}": [k] for k, tag in enumerate(tags) if label in (None, tag)}
        found |= {f"chunk {c}": [len(tags) + k] for k, c in enumerate(chunks) if label in (None, c)}
        if label is not None and label in self.labels:
            found[label] = self.base.problem.parts[self.labels.index(label)].tolist()
        if not found:
            pair = f"a pair such as {self.labels[0]}"
            raise unknown("tag, chunk label or pair", label, [*tags, *chunks, pair])
        return found

    def weights(self, columns: list[int], top: int) -> list[tuple[str, float]]:
        """The heaviest features, of either sign, under the sum of some columns."""
        rows, first = self.base.rows, len(self.keys)
        own = np.isin(rows.column, columns)
        weight = np.bincount(rows.place[own], rows.weight[own], first + len(self.block_keys))
        best = np.lexsort((np.arange(len(weight)), -np.abs(weight)))[:top]
        best = best[weight[best] != 0]
        return [(self.name_of(int(k)), float(weight[k])) for k in best]

    def name_of(self, place: int) -> str:
        first = len(self.keys)
        if place < first:
            return self.names.take(np.array([place])).all()[0]
        return self.describe(int(self.block_keys[place - first]))

    def describe(self, key: int) -> str:
        """The name of a feature of the history: `w[0]=dog,t[-1]=DT,c[-1]=B-NP`."""
        template, values = self.base.problem.composition.values_of(key)
        if values is None:
            return f"{template}=#{key:x}"
        spell = {"t": [START, *self.pairs.tags], "c": [START, *self.pairs.chunks]}
        texts, named = [], []
        for atom, value in values.items():
            if atom.startswith("x"):
                text = self.extra_names[int(atom[2:-1])].take(np.array([value])).all()[0]
                texts.append(LABEL_PART.sub("", text, 1))
            else:
                named.append(f"{atom}={spell[atom[0]][value]}")
        return ",".join([*texts, *named])


class JointLearner(BeamChainLearner):
    """The learner that `train.train` drives."""

    def __init__(
        self,
        prepared: PreparedTemplates,
        gold: np.ndarray,
        pairs: Pairs,
        templates: list[str],
        allowed: np.ndarray,
        allowed_learning: np.ndarray,
        dictionary: Dictionary,
        search: Search,
        cutoff: int = 0,
        average: str = "mean",
    ):
        """gold: the number of each token's pair.   allowed, allowed_learning: bool[P, chunks]."""
        self.prepared, self.pairs, self.templates, self.order = prepared, pairs, templates, 1
        self.allowed, self.dictionary, self.start = allowed, dictionary, None
        starts = prepared.starts
        self.plain = number_features(prepared.hashes, starts, cutoff)
        self.extras = [self._number_extra(c, cutoff) for c in range(len(prepared.paired.templates))]
        sizes = [len(extra.keys) for extra in self.extras]
        self.model_problem = make_problem(pairs.tags, pairs.chunks, pairs.pairs, templates, sizes, allowed)
        self.labels = self.model_problem.actions
        problem = make_problem(pairs.tags, pairs.chunks, pairs.pairs, templates, sizes, allowed_learning)
        mask_of = masks_of(dictionary, prepared, slice(0, int(starts[-1])))
        columns = [as_column((extra.ptr, extra.numbers, extra.values)) for extra in self.extras]
        inputs = encoded(problem, pairs, starts, dictionary.masks, mask_of, columns, allowed_learning)
        table = np.stack([self.plain.keys, np.zeros_like(self.plain.keys)], axis=1)
        anchored = Anchored(self.plain.ptr, self.plain.numbers, table)
        how = (search.beam, search.update, search.merge, average, anchored, search.check)
        inputs = inputs._replace(gold=gold, gold_ptr=starts)
        BeamTraining.__init__(self, problem, inputs, *how, 0.0, search.alma, search.margin, search.swvp)

    def make_model(self, *given: Any) -> JointModel:
        return JointModel(*given, pairs=self.pairs)  # type: ignore[misc]
