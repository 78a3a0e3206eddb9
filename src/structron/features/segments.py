"""Features of segments of tokens: what a whole chunk is made of (Daumé & Marcu 2005, section 4.1).

Base features b are templates over tokens. A segment from token s to token e has, for every b, the meta features

    before, after     b of the token before s, of the token after e; outside the sentence b has a value by distance
    last              b of e
    pair, triple      b of any two or three neighbours inside
    at1, at2, …       b of the first token, the second …; the last of them stands for all further ones
    whole1, whole2 …  b of all tokens of a segment of so many

Each looks at one place of the sentence, so all are hashed and numbered once, per token and kind, before any search:
list t * kinds + q has the features of kind q at token t, and a segment is the sum of its lists (search/beam/scores.py).
Sequences are many and mostly no chunk, so by default only those whole ones are learned that are a chunk somewhere.
"""

from dataclasses import dataclass

import numpy as np

from structron.features.encode import UNWEIGHTED, Hashes, sentence_of, template_hash
from structron.features.extract import PreparedTemplates
from structron.features.index import BATCH_SENTENCES, Numbered, number_features
from structron.features.names import BAR, Names, template_names
from structron.features.places import AFTER, AT, BEFORE, LAST, PAIR, TRIPLE
from structron.io.tensors import number_kind
from structron.kernels.jit import helper, kernel
from structron.kernels.table import SEED, build_table, mix, table_find

NO_TABLE = np.zeros((0, 2), np.uint64)
NAMES = {BEFORE: "before", AFTER: "after", LAST: "last", PAIR: "pair", TRIPLE: "triple"}


@dataclass(frozen=True, slots=True)
class Shape:
    """How many places of a segment are told apart, and up to which length a whole segment is a feature."""

    positions: int
    whole: int

    @property
    def kinds(self) -> int:
        """How many kinds of features a token has."""
        return AT + self.positions + self.whole

    def names(self) -> list[str]:
        """The names of the kinds, in the order of their numbers."""
        places = [f"at{k + 1}" for k in range(self.positions)]
        return [*(NAMES[q] for q in range(AT)), *places, *(f"whole{k + 1}" for k in range(self.whole))]


@helper
def span_of(q, i, n, positions):
    """The tokens (first, how many) that kind q looks at from token i of n; none where it cannot be."""
    if q == BEFORE:
        return i - 1, 1
    if q == AFTER:
        return i + 1, 1
    if q == PAIR:
        return i - 1, 2 if i >= 1 else 0
    if q == TRIPLE:
        return i - 2, 3 if i >= 2 else 0
    length = q - AT - positions + 1
    if length > 0:
        return i, length if i + length <= n else 0
    return i, 1 if q < AT or i >= q - AT else 0


@helper
def kind_seed(q):
    """Where the hash of a feature of kind q begins."""
    return mix(mix(SEED, np.uint64(q + 1)), SEED)


@helper
def segment_key(arrays, q, b, first, length, lo, hi):
    """The hash of base feature b of some tokens of the sentence lo … hi-1 as kind q; 0 when it does not fire."""
    h = kind_seed(q)
    for j in range(first, first + length):
        v = template_hash(arrays, b, j, lo, hi)
        if v == np.uint64(0):
            return v
        h = mix(h, v)
    return h


@kernel(allocates=True)
def hash_lists(arrays, starts, s_lo, s_hi, positions, whole, chunks, ptr, out):
    """The features of every token and kind of sentences s_lo … s_hi-1; returns how many.

    The same as `segment_key` everywhere; here a base feature is computed once per token. chunks: a table of the whole
    sequences that count; without rows all do.
    """
    bases, kinds, longest = arrays.seeds.shape[0], AT + positions + whole, 0
    for s in range(s_lo, s_hi):
        longest = max(longest, starts[s + 1] - starts[s])
    cell = np.empty((longest + 2, bases), np.uint64)
    k, anchor = 0, 0
    for s in range(s_lo, s_hi):
        lo, hi = starts[s], starts[s + 1]
        for j in range(lo - 1, hi + 1):
            for b in range(bases):
                cell[j - lo + 1, b] = template_hash(arrays, b, j, lo, hi)
        for i in range(hi - lo):
            for q in range(kinds):
                first, length = span_of(q, i, hi - lo, positions)
                seed, sought = kind_seed(q), q >= AT + positions and chunks.shape[0] > 0
                for b in range(bases if length > 0 else 0):
                    h = seed
                    for j in range(first, first + length):
                        v = cell[j + 1, b]
                        if v == np.uint64(0):
                            h = v
                            break
                        h = mix(h, v)
                    if h != np.uint64(0) and (not sought or table_find(chunks, h) >= 0):
                        out[k] = h
                        k += 1
                anchor += 1
                ptr[anchor] = k
    return k


@kernel
def chunk_keys(arrays, starts, lengths, s_lo, s_hi, positions, whole, out):
    """The whole-sequence features of the chunks of sentences s_lo … s_hi-1; lengths[t]: of the one that begins at t."""
    k = 0
    for s in range(s_lo, s_hi):
        for t in range(starts[s], starts[s + 1]):
            if 0 < lengths[t] <= whole:
                for b in range(arrays.seeds.shape[0]):
                    q = AT + positions + lengths[t] - 1
                    h = segment_key(arrays, q, b, t, lengths[t], starts[s], starts[s + 1])
                    if h != np.uint64(0):
                        out[k] = h
                        k += 1
    return k


def segment_hashes(
    prepared: PreparedTemplates, shape: Shape, lo: int, hi: int, chunks: np.ndarray = NO_TABLE
) -> Hashes:
    """The features of sentences lo … hi-1, per token and kind; `chunks`: see `hash_lists`."""
    arrays, starts = prepared.plain_arrays, prepared.starts
    lists = int(starts[hi] - starts[lo]) * shape.kinds
    ptr, out = np.zeros(lists + 1, np.int64), np.empty(lists * len(arrays.seeds), np.uint64)
    count = hash_lists(arrays, starts, lo, hi, shape.positions, shape.whole, chunks, ptr, out)
    return ptr, out[:count], UNWEIGHTED


def seen_chunks(prepared: PreparedTemplates, shape: Shape, lengths: np.ndarray) -> np.ndarray:
    """The table of all sequences that are a chunk somewhere; lengths[t]: of the chunk that begins at t, 0: none."""
    arrays, starts = prepared.plain_arrays, prepared.starts
    found = [np.empty(0, np.uint64)]
    for lo in range(0, len(starts) - 1, BATCH_SENTENCES):
        hi = min(lo + BATCH_SENTENCES, len(starts) - 1)
        out = np.empty(int(starts[hi] - starts[lo]) * len(arrays.seeds), np.uint64)
        count = chunk_keys(arrays, starts, lengths, lo, hi, shape.positions, shape.whole, out)
        found.append(np.unique(out[:count]))
    return build_table(np.unique(np.concatenate(found)))


def number_segments(
    prepared: PreparedTemplates, shape: Shape, lengths: np.ndarray | None, cutoff: int, known: np.ndarray | None = None
) -> Numbered:
    """Number the features of training data whose chunks have these lengths; `tokens` are numbers of lists here.

    lengths: None: whole sequences count whether they are chunks or not.   known: keys that have their numbers already.
    """
    chunks = NO_TABLE if lengths is None else seen_chunks(prepared, shape, lengths)

    def hashes(lo: int, hi: int) -> Hashes:
        return segment_hashes(prepared, shape, lo, hi, chunks)

    return number_features(hashes, prepared.starts * shape.kinds, cutoff, known, prepared.jobs)


# -- names -----------------------------------------------------------------------------------------------------------


@kernel
def trace_keys(arrays, starts, positions, whole, lists, keys, out):
    """Where each key came from, found in the list that has it: out[k] = sentence, kind, base feature, first, length."""
    kinds = AT + positions + whole
    for k in range(keys.shape[0]):
        t, q = lists[k] // kinds, lists[k] % kinds
        s = sentence_of(starts, t)
        lo, hi = starts[s], starts[s + 1]
        first, length = span_of(q, t - lo, hi - lo, positions)
        for b in range(arrays.seeds.shape[0]):
            if segment_key(arrays, q, b, lo + first, length, lo, hi) == keys[k]:
                out[k, 0], out[k, 1], out[k, 2], out[k, 3], out[k, 4] = s, q, b, lo + first, length
                break


@kernel
def base_hashes(arrays, starts, tokens, bases, out):
    """The hash of a base feature of each token."""
    for k in range(tokens.shape[0]):
        s = sentence_of(starts, tokens[k])
        out[k] = template_hash(arrays, bases[k], tokens[k], starts[s], starts[s + 1])


def segment_names(prepared: PreparedTemplates, shape: Shape, keys: np.ndarray, lists: np.ndarray) -> Names:
    """Readable names of features, each given with a list that has it: `pair w[0]=of|the`, `last pos[0]=NN`."""
    arrays, starts, bases = prepared.plain_arrays, prepared.starts, len(prepared.plain.templates)
    heads = [f"{kind} {template}=" for kind in shape.names() for template in prepared.plain.templates]
    found = np.zeros((len(keys), 5), np.int64)
    trace_keys(arrays, starts, shape.positions, shape.whole, lists, keys, found)
    sentence, q, b, first, length = found.T
    head = (q * bases + b).astype(number_kind(len(heads)))
    outside = (first < starts[sentence]) | (first >= starts[sentence + 1])
    inside = np.flatnonzero(~outside)
    sizes, text = _joined(prepared, b[inside], first[inside], length[inside])
    within = Names(heads, head[inside], sizes, text)
    edges = []
    for k in np.flatnonzero(outside).tolist():
        lo, hi = int(starts[sentence[k]]), int(starts[sentence[k] + 1])
        described = prepared.plain.describe(prepared.table, int(b[k]), int(first[k]), lo, hi)
        edges.append(described.removeprefix(f"{prepared.plain.templates[b[k]]}="))
    beyond = Names(heads, head[outside], np.array(list(map(len, edges)), np.uint32), "".join(edges))
    place = np.empty(len(keys), np.int64)
    place[~outside], place[outside] = np.arange(len(within)), np.arange(len(within), len(keys))
    return (within + beyond).take(place)


def _joined(
    prepared: PreparedTemplates, b: np.ndarray, first: np.ndarray, length: np.ndarray
) -> tuple[np.ndarray, str]:
    """The texts of base features over segments inside a sentence, joined by `|`: their lengths, and all in one."""
    ends = np.cumsum(length)
    tokens = np.repeat(first - (ends - length), length) + np.arange(int(length.sum()))
    hashes = np.empty(len(tokens), np.uint64)
    base_hashes(prepared.plain_arrays, prepared.starts, tokens, np.repeat(b, length), hashes)
    pieces = template_names(prepared.plain, prepared.plain_arrays, prepared.table, hashes, tokens)
    codes = np.frombuffer(pieces.text.encode("utf-32-le", "surrogatepass"), np.uint32)
    size = np.concatenate([[0], np.cumsum(pieces.length, dtype=np.int64)])
    between = np.setdiff1d(np.arange(1, len(tokens)), ends)
    codes = np.insert(codes, size[between], BAR)
    sizes = size[ends] - size[ends - length] + length - 1
    return sizes.astype(np.uint32), codes.astype(np.uint32).tobytes().decode("utf-32-le", "surrogatepass")
