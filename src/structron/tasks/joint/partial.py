"""Tags and chunk labels where either may be open: the labels and pairs that such sentences need."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structron.learn.partial import Knowledge
from structron.tasks.joint.encoder import KnownLayers, PairEncoder, Pairs
from structron.tasks.partial import check_agreement, is_open

Pair = tuple[str, str]


@dataclass
class Layer:
    """The labels of one of the two layers. place: in a pair."""

    labels: list[str]
    place: int

    def numbers(self, seen: Sequence[Pair]) -> np.ndarray:
        """The number of each pair's label, -1 where it is open."""
        index = {label: k for k, label in enumerate(self.labels)}
        return np.array([-1 if is_open(pair[self.place]) else index[pair[self.place]] for pair in seen], np.int64)


def labels_of(seen: Sequence[Pair], place: int, before: Pairs | None, more: Sequence[str] = ()) -> Layer:
    """The labels of a layer, those known before first. more: other labels that it has."""
    old = [] if before is None else [before.tags, before.chunks][place]
    own = {pair[place] for pair in seen if not is_open(pair[place])}
    return Layer([*old, *sorted({*own, *more} - set(old))], place)


def is_closed(pair: Pair) -> bool:
    """Whether both labels are known."""
    return not any(map(is_open, pair))


def missing_pairs(seen: Sequence[Pair], layers: Sequence[Layer], before: Pairs | None) -> list[Pair]:
    """A label that is never known together with one of the other layer may stand with all of them."""
    together = [*filter(is_closed, seen), *(before.names if before is not None else [])]
    tags, chunks = (own.labels for own in layers)
    found = [(tag, chunk) for tag in set(tags) - {tag for tag, _ in together} for chunk in chunks]
    return found + [(tag, chunk) for chunk in set(chunks) - {chunk for _, chunk in together} for tag in tags]


def agreeing_pairs(
    prepared: Any, encoder: PairEncoder, known: KnownLayers, allowed: np.ndarray, scheme: str | None
) -> Pairs:
    """The pairs, and more for sentences that would have no legal pairs which agree; what no pairs agree with is
    refused. allowed: bool[P, chunks], which chunk label may follow which."""
    pairs, starts, among = encoder.pairs, prepared.starts, known.open.copy()
    tags, chunks = range(len(pairs.tags)), range(len(pairs.chunks))
    more: set[tuple[int, int]] = set()
    masks = _masks(prepared, encoder, known)
    while found := masks.contradiction(allowed, starts, among):
        s = found[0]
        among[s] = False
        for token in range(int(starts[s]), int(starts[s + 1])):
            tag, chunk = int(known.tags[token]), int(known.chunks[token])
            more |= {(tag, c) for c in chunks if tag >= 0 > chunk} | {(t, chunk) for t in tags if chunk >= 0 > tag}
    if more:
        named = [(pairs.tags[t], pairs.chunks[c]) for t, c in sorted(more)]
        encoder.pairs = pairs = Pairs.of(named, pairs)

    def describe(token: int) -> str:
        return repr(pairs.chunks[known.chunks[token]]) if known.chunks[token] >= 0 else "an open label"

    why = f"labels that {scheme} allows" if scheme else "labels that may follow each other"
    check_agreement(_masks(prepared, encoder, known), allowed, prepared, describe, why, known.open)
    return pairs


def _masks(prepared: Any, encoder: PairEncoder, known: KnownLayers) -> Knowledge:
    """The chunk labels that tokens may have."""
    *_, masks, mask_of = encoder.layers(prepared, slice(0, int(prepared.starts[-1])), known)
    return Knowledge(masks, mask_of)
