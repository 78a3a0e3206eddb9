"""Learners whose steps have a pace (update/alma.py), and what becomes of it when shards are mixed."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from structron.learn.loop import Member, ShardUpdate
from structron.update.alma import ALPHA, GENERATION, LONGEST, NORM, SCALE, TOTAL


def squared_length(w: np.ndarray) -> float:
    """‖w‖², whatever the order of the weights."""
    return float(np.sort(np.square(w[w != 0], dtype=np.float64)).sum())


class Paced(Member):
    """A learner with weights w = scale·v; between passes of shards the scale is 1."""

    pace: np.ndarray

    @abstractmethod
    def _length(self) -> float:
        """‖v‖²."""

    def copy_weights_from(self, common: Any) -> None:
        super().copy_weights_from(common)
        self.pace[:] = common.pace
        self.pace[TOTAL] = 0.0

    def shard_update(self, common: Any) -> ShardUpdate:
        self._take_scale_in()
        return super().shard_update(common)._replace(more={"pace": self.pace.copy()})

    def _take_scale_in(self) -> None:
        """Weights and sums as a perceptron has them: scale 1, and as many scales as steps; their mean is the same."""
        scale, total, time = float(self.pace[SCALE]), float(self.pace[TOTAL]), float(self.stats[0])
        if (scale, total) != (1.0, time):
            self.store.fold(scale, total - time * scale)
            self.pace[NORM] *= scale * scale
            self.pace[SCALE], self.pace[TOTAL] = 1.0, time

    def mix(
        self, shard_updates: Sequence[ShardUpdate], shares: Sequence[float], by_change: bool = False, jobs: int = 1
    ) -> None:
        """The generation, which the rate falls with, is mixed like the weights."""
        super().mix(shard_updates, shares, by_change, jobs)
        pace, paces = self.pace, np.stack([update.more["pace"] for update in shard_updates])
        pace[TOTAL] = self.stats[0]
        if pace[ALPHA]:
            pace[GENERATION] = float(np.dot(shares, paces[:, GENERATION]))
            pace[LONGEST], pace[NORM] = paces[:, LONGEST].max(), self._length()

    def take(self, broadcast: ShardUpdate) -> None:
        super().take(broadcast)
        self.pace[:] = broadcast.more["pace"]
