"""The voted perceptron's model (Collins 2002, section 3.2): every weight vector of training has a vote."""

from dataclasses import dataclass

import numpy as np

from structron.io.tensors import Tensor, Tensors
from structron.kernels.memory import aligned_zeros
from structron.search.chain.scores import EncodedChains, Weights, Work
from structron.search.chain.viterbi import decode
from structron.weights.dense import row_stride


@dataclass(slots=True)
class Votes:
    """Every intermediate weight vector of training, as the updates that lead from one to the next (Collins 3.2).

    Vector k is the sum of updates 0 … k-1 (from zero) and votes `count[k]` times: once for each example it survived.
    """

    count: np.ndarray  # int64[vectors]
    ptr: np.ndarray  # int64[vectors]: update k is cells ptr[k-1] … ptr[k]-1; ptr[0] = 0
    cell: np.ndarray  # int64: row * stride + label
    amount: np.ndarray  # float32
    start: np.ndarray  # float32[rows * stride]: vector 0

    def decode(
        self,
        chains: EncodedChains,
        weights: Weights,
        order: int,
        lo: int,
        hi: int,
        labels: int,
        work: Work,
        out: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        """The labelling of each sentence that most votes fall on; ties go to the one found first."""
        weights = weights._replace(w=aligned_zeros(weights.w.shape, np.float32))
        cells = weights.w.reshape(-1)
        cells[:] = self.start
        places = [slice(int(chains.starts[s]), int(chains.starts[s + 1])) for s in range(lo, hi)]
        ballots: list[dict[bytes, int]] = [{} for _ in places]
        for k in range(len(self.count)):
            if k > 0:
                change = slice(int(self.ptr[k - 1]), int(self.ptr[k]))
                np.add.at(cells, self.cell[change], self.amount[change])
            if self.count[k] == 0:
                continue
            decode(chains, weights, order, lo, hi, labels, work, out, scores)
            for place, ballot in zip(places, ballots, strict=True):
                vote = out[place].tobytes()
                ballot[vote] = ballot.get(vote, 0) + int(self.count[k])
        for place, ballot in zip(places, ballots, strict=True):
            if ballot:
                out[place] = np.frombuffer(max(ballot, key=ballot.__getitem__), np.int64)

    def tensors(self, labels: int) -> Tensors:
        """As a file holds them: cells of a matrix without padding, which is the affair of the machine."""
        stride = row_stride(labels)
        cell = self.cell // stride * labels + self.cell % stride
        start = self.start.reshape(-1, stride)[:, :labels].reshape(-1)
        votes = {"count": self.count, "ptr": self.ptr, "cell": cell, "amount": self.amount, "start": start}
        return {f"vote_{name}": array for name, array in votes.items()}

    @staticmethod
    def declared() -> dict[str, Tensor]:
        """The arrays of a model file; `row cells`: its rows without padding."""
        return {
            "vote_count": Tensor("int64", "vectors", least=0),
            "vote_ptr": Tensor("int64", "vectors", least=0, rises="vote cells"),
            "vote_cell": Tensor("int64", "vote cells", least=0, below="row cells"),
            "vote_amount": Tensor("float32", "vote cells"),
            "vote_start": Tensor("float32", "row cells"),
        }

    @classmethod
    def from_tensors(cls, tensors: Tensors, rows: int, labels: int) -> "Votes":
        """The inverse of `tensors`, of arrays that were checked."""
        count, ptr, cell, amount, given = (tensors[name] for name in cls.declared())
        start = np.zeros((rows, row_stride(labels)), np.float32)
        start[:, :labels] = given.reshape(rows, labels)
        cell = cell // labels * start.shape[1] + cell % labels
        return cls(count, ptr, cell, amount, start.reshape(-1))
