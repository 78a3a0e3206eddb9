"""The learner of the graph-based parser that the training loop drives (see train.py)."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from structron.kernels import is_cold
from structron.tasks.graph_model import GraphModel, make_vector, shift_of
from structron.tasks.graph_relations import Relations
from structron.tasks.graph_search import Setting
from structron.tasks.graph_templates import Codes
from structron.tasks.graph_update import LOST, STATS, TIME, TOKENS, UPDATES, WRONG_TOKENS, run

CALL_TOKENS = 5_000
"""Tokens learned from in one compiled call; between calls Python shows progress and hears Ctrl-C."""
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Trees:
    """A treebank as numbers."""

    x: np.ndarray  # int64[words, columns]
    starts: np.ndarray  # int64[sentences + 1]
    heads: np.ndarray  # int64[words]
    relations: np.ndarray  # int64[words]


class GraphLearner:
    """Weights and their sums, and one pass after the other."""

    def __init__(
        self,
        templates: Codes,
        trees: Trees,
        relations: Relations,
        setting: Setting,
        bits: int,
        average: str,
        prune: float,
    ):
        self.templates, self.trees, self.relations, self.setting = templates, trees, relations, setting
        self.bits, self.average, self.prune = bits, average, prune
        self.w = make_vector(bits, relations.size, np.float32)
        self.u = make_vector(bits, relations.size, np.float64)
        self.stats = np.zeros(STATS)

    @property
    def examples(self) -> int:
        return len(self.trees.starts) - 1

    def is_cold(self) -> bool:
        return is_cold(run)

    def warm_up(self) -> None:
        """Load or compile the kernels, so that the time of a pass is that of a pass."""
        self._call(np.zeros(0, np.int64), 0, 0)

    def begin_pass(self) -> None:
        self.stats[UPDATES:] = 0

    def _call(self, sequence: np.ndarray, lo: int, hi: int) -> None:
        t = self.trees
        given: Any = (self.templates, t.x, t.starts, t.heads, t.relations, sequence, lo, hi)
        run(*given, self.w, self.u, shift_of(self.bits), self.setting, self.relations, True, self.stats)

    def learn(self, sequence: np.ndarray, lo: int) -> int:
        """Learn from some examples of the sequence from place lo on; returns the place to go on from."""
        tokens = np.cumsum(np.diff(self.trees.starts)[sequence[lo : lo + CALL_TOKENS]])
        hi = lo + max(1, int(np.searchsorted(tokens, CALL_TOKENS, "right")))
        self._call(sequence, lo, hi)
        return hi

    def counts(self) -> dict[str, Any]:
        """This pass's figures for the progress line and the log."""
        s = self.stats
        found = {"updates": int(s[UPDATES]), "wrong_tokens": int(s[WRONG_TOKENS]), "tokens": int(s[TOKENS])}
        return found | ({"ranked_wrong": int(s[LOST])} if self.setting.keep else {})

    def fingerprint(self) -> str:
        """Tells whether a checkpoint was made from the same data and options."""
        digest = hashlib.sha256(f"{tuple(self.setting)} {self.bits} {self.average}".encode())
        t = self.trees
        for array in (t.x, t.starts, t.heads, t.relations, self.templates.slots, self.templates.salt):
            digest.update(f"{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data if array.size else b"")
        return digest.hexdigest()

    def state(self) -> dict[str, np.ndarray]:
        """Everything that later passes depend on."""
        places = np.flatnonzero((self.w != 0) | (self.u != 0))
        return {"place": places, "w": self.w[places], "u": self.u[places], "stats": self.stats}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state` gave for the same data and options."""
        self.w[:], self.u[:] = 0, 0
        self.w[state["place"]], self.u[state["place"]] = state["w"], state["u"]
        self.stats[:] = state["stats"]

    def snapshot(self) -> GraphModel:
        """The model that the weights of this moment make."""
        w = make_vector(self.bits, self.relations.size, np.float32)
        time = self.stats[TIME]
        for lo in range(0, len(w), _BLOCK):
            part = slice(lo, lo + _BLOCK)
            w[part] = self.w[part]
            if self.average == "mean" and time:
                w[part] = self.w[part] - self.u[part] / time
            w[part][np.abs(w[part]) <= self.prune] = 0
        return GraphModel(self.templates, self.relations, self.bits, w)

    def finish(self, model: GraphModel) -> GraphModel:
        return model
