"""Searching a batch of examples with a finished model."""

from structron.kernels import inlined
from structron.search.beam import derive, search
from structron.search.frontier import DONE
from structron.search.lattice import search_lattice


@inlined
def find(
    start,
    legal,
    advance,
    atoms,
    inputs,
    e,
    anchored,
    sparse,
    setting,
    memory,
    f,
    trace,
    learning,
    first,
    stop_at_fall,
    penalty,
):
    """Search example e the way the problem and the beam ask for: see beam.search and search_lattice."""
    if setting.lattice >= 0:
        return search_lattice(
            start, legal, advance, atoms, inputs, e, anchored, sparse, setting, memory, f, trace, learning, penalty
        )
    return search(
        start,
        legal,
        advance,
        atoms,
        inputs,
        e,
        anchored,
        sparse,
        setting,
        memory,
        f,
        trace,
        learning,
        first,
        stop_at_fall,
        penalty,
    )


def decode(
    start,
    legal,
    advance,
    atoms,
    inputs,
    anchored,
    sparse,
    setting,
    memory,
    f,
    trace,
    lo,
    hi,
    out,
    out_ptr,
    lengths,
    scores,
    trouble,
):
    """Best actions of examples lo … hi - 1: out[out_ptr[e] : out_ptr[e] + lengths[e]]; in trouble says where."""
    for e in range(lo, hi):
        end, n = find(
            start, legal, advance, atoms, inputs, e, anchored, sparse, setting, memory, f, trace, False, 0, False, 0.0
        )
        if end != DONE:
            trouble[0], trouble[1] = end, n
            return e
        length = derive(setting, f, trace.top[n])
        for j in range(length):
            out[out_ptr[e] + j] = f.path[1, j]
        lengths[e] = length
        scores[e] = trace.best[n]
    return hi
