"""Learning label sequences whose tokens have a few labels to choose from: Collins' perceptron over a lexicon's choices.

sentences ──features/index──▶ numbers, lexicon ──▶ choices ──search/chain/choices──▶ z ──update/choices──▶ cells
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from structron.features.index import number_features
from structron.features.lexicon import Lexicon
from structron.io.tensors import Tensors
from structron.learn.chain import CALL_TOKENS, LazyNames
from structron.learn.checkpoint import digest
from structron.learn.loop import Member, batch_end
from structron.learn.parts import Bounds, lists_of, without_tokens
from structron.model.choices import ChoiceModel, with_gold
from structron.model.dictionary import Dictionary
from structron.search.chain.choices import Lattice, make_labels, make_scratch
from structron.update.choices import learn
from structron.update.perceptron import STATS, TIME, TOKENS, UPDATES, WRONG_TOKENS
from structron.weights.cells import CellStore, mean_cells


class ChoiceLearner(Member):
    """The learner that `learn.loop` drives."""

    working = ("scratch", "store", "stats")

    def __init__(
        self,
        prepared: Any,
        gold: np.ndarray,
        labels: list[str],
        lexicon: Lexicon,
        dictionary: Dictionary,
        paired: bool,
        split: bool = False,
        cutoff: int = 0,
        average: str = "mean",
    ):
        """paired: whether label pairs have weights.   split: whether pieces of labels have, as search/chain/choices.py
        says."""
        self.prepared, self.gold, self.labels, self.lexicon = prepared, gold.astype(np.int64), labels, lexicon
        self.dictionary, self.paired, self.average, self.fixed = dictionary, paired, average, len(labels) + 1
        self.split, self.kinds = split, make_labels(labels, split)
        self.plain = number_features(prepared.hashes, prepared.starts, cutoff, jobs=prepared.jobs)
        first, choice = with_gold(*lexicon.choices(prepared, slice(0, len(gold))), self.gold)
        self.lattice = Lattice(prepared.starts, self.plain.ptr, self.plain.numbers, first, choice)
        self._begin()

    def _begin(self) -> None:
        self.scratch = make_scratch(self.lattice, self.kinds)
        self.store, self.stats = CellStore(self.kinds.width), np.zeros(STATS, np.int64)

    def part(self, examples: np.ndarray) -> Self:
        of = self.lattice
        starts, tokens = lists_of(of.starts, examples, np.arange(len(self.gold)))
        lattice = Lattice(starts, *lists_of(of.ptr, tokens, of.numbers), *lists_of(of.first, tokens, of.choice))
        bounds = Bounds(starts, np.arange(len(starts)))
        sent = {"prepared": bounds, "plain": without_tokens(self.plain), "lexicon": None, "dictionary": None}
        return self._sent(lattice=lattice, gold=self.gold[tokens], **sent)

    @property
    def examples(self) -> int:
        return len(self.prepared.starts) - 1

    def warm_up(self) -> None:
        self._learn(np.zeros(0, np.int64), 0, 0)

    def _learn(self, sequence: np.ndarray, lo: int, hi: int) -> int:
        how = (self.kinds, self.fixed, self.paired)
        return learn(self.lattice, self.gold, self.store.cells, *how, sequence, lo, hi, self.scratch, self.stats)

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        starts = self.prepared.starts
        done = self._learn(sequence, lo, batch_end(starts, sequence, lo, CALL_TOKENS))
        if done == lo:
            start, stop = starts[sequence[lo]], starts[sequence[lo] + 1]
            features = int(self.lattice.ptr[stop] - self.lattice.ptr[start])
            self.store.reserve(2 * (self.kinds.most * features + int(stop - start)))
        return done

    def counts(self) -> dict[str, int]:
        places = {"updates": UPDATES, "wrong_tokens": WRONG_TOKENS, "tokens": TOKENS}
        return {name: int(self.stats[place]) for name, place in places.items()}

    def fingerprint(self) -> str:
        arrays = (self.gold, *self.lattice, self.plain.keys, self.kinds.begin, self.kinds.piece)
        return digest(f"{self.labels} {self.paired} {self.average} {self.lexicon.given}", arrays)

    def state(self) -> Tensors:
        return self.store.state() | {"stats": self.stats}

    def restore(self, state: Tensors) -> None:
        self.store.restore(state)
        self.stats[:] = state["stats"]

    def add(self, other: Any, share: float) -> None:
        self.store.add(other.store, share)

    @staticmethod
    def assemble(members: Sequence["ChoiceLearner"]) -> ChoiceModel:
        first = members[0]
        times = [int(member.stats[TIME]) if first.average == "mean" else 0 for member in members]
        key, weight = mean_cells([(member.store, time) for member, time in zip(members, times, strict=True)])
        row, column = np.divmod(key.astype(np.int64) - 1, first.kinds.width)
        numbers, place = np.unique(row[row >= first.fixed], return_inverse=True)
        row[row >= first.fixed] = first.fixed + place
        return ChoiceModel(
            first.labels,
            first.paired,
            first.lexicon,
            first.plain.keys[numbers - first.fixed],
            row.astype(np.int32),
            column,
            weight,
            first.dictionary,
            LazyNames(first.plain, numbers - first.fixed, False),  # type: ignore[arg-type]
            split=first.split,
        )

    def finish(self, model: ChoiceModel) -> ChoiceModel:
        lazy: Any = model.names
        if isinstance(lazy, LazyNames):
            prepared = self.prepared
            model.names = self.plain.names(lazy.numbers, None, lambda keys, at: prepared.names(keys, at, False))
        return model
