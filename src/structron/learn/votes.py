"""Keeping every weight vector of a run, for the voted perceptron (Collins 2002, section 3.2). For small data."""

import numpy as np

from structron.model.votes import Votes
from structron.weights.dense import DenseStore


class Ballots:
    """The voted perceptron's list of vectors: the difference that each update made, and how long each survived."""

    def __init__(self, store: DenseStore):
        self.first = store.w[: int(store.size[0])].copy()
        self.before = self.first.copy()
        self.counts = [0]
        self.cells: list[np.ndarray] = []
        self.amounts: list[np.ndarray] = []

    def cast(self, store: DenseStore) -> None:
        """After one example: one more vote for the present vector, a new one if it was updated."""
        now = store.w[: int(store.size[0])]
        before = np.zeros_like(now)
        before[: len(self.before)] = self.before
        change = now - before
        if change.any():
            cells = np.flatnonzero(change)
            self.cells.append(cells)
            self.amounts.append(change.reshape(-1)[cells])
            self.counts.append(0)
            self.before = now.copy()
        self.counts[-1] += 1

    def votes(self, order: np.ndarray, stride: int) -> Votes:
        """The list in terms of the rows of a finished model."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        start = np.zeros((len(order), stride), np.float32)
        start[place[: len(self.first)]] = self.first
        ptr = np.cumsum([0] + [len(c) for c in self.cells]).astype(np.int64)
        cells = np.concatenate(self.cells) if self.cells else np.empty(0, np.int64)
        amounts = np.concatenate(self.amounts) if self.amounts else np.empty(0, np.float32)
        cells = place[cells // stride] * stride + cells % stride
        return Votes(np.array(self.counts, np.int64), ptr, cells, amounts, start.reshape(-1))

    def state(self) -> dict[str, np.ndarray]:
        lengths = np.array([len(c) for c in self.cells], np.int64)
        state = {"vote_first": self.first, "vote_counts": np.array(self.counts, np.int64), "vote_lengths": lengths}
        state["vote_cells"] = np.concatenate([np.empty(0, np.int64), *self.cells])
        state["vote_amounts"] = np.concatenate([np.empty(0, np.float32), *self.amounts])
        return state

    def restore(self, state: dict[str, np.ndarray], store: DenseStore) -> None:
        ends = np.cumsum(state["vote_lengths"])
        self.first, self.counts = state["vote_first"], state["vote_counts"].tolist()
        self.cells = np.split(state["vote_cells"], ends[:-1]) if len(ends) else []
        self.amounts = np.split(state["vote_amounts"], ends[:-1]) if len(ends) else []
        self.before = store.w[: int(store.size[0])].copy()
