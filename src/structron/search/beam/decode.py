"""Searching a batch of examples with a finished model."""

import numpy as np

from structron.search.beam.frontier import DONE, Guide
from structron.search.beam.search import derive


def decode(search, score_view, start, legal, advance, atoms, given, lo, hi, out, out_ptr, lengths, scores, trouble):
    """Best actions of examples lo … hi - 1: out[out_ptr[e] : out_ptr[e] + lengths[e]]; in trouble says where."""
    no = np.int64(0)  # a constant 0 would be a type of its own, and have the search compiled once more
    f, trace = given.frontier, given.trace
    for e in range(lo, hi):
        end, n = search(score_view, start, legal, advance, atoms, given, e, Guide(no, no, no, 0.0))
        if end != DONE:
            trouble[0], trouble[1] = end, n
            return e
        length = derive(given.setting, f, trace.top[n])
        for j in range(length):
            out[out_ptr[e] + j] = f.path[1, j]
        lengths[e] = length
        scores[e] = trace.best[n]
    return hi
