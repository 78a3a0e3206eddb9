"""A small model of a large one, to be shipped.

Small weights are left out, the others keep one of a few values, keys of hashed features 32 of their 64 bits, and names
of features go, and the list of known words where nothing asks for it. What is left is sorted by key, so that it packs
well (io/packing.py).
"""

from typing import Any

import numpy as np

from structron.features.names import Names
from structron.io.tensors import Tensors

LEVELS = 127
"""Sizes that a weight may have."""
BITS = 32
SPELLER = "speller."
"""What the arrays of a speller begin with, which works on words that are not known (tasks/scripts.py)."""


def compacted(
    header: dict[str, Any], tensors: Tensors, least: float, levels: int = LEVELS
) -> tuple[dict[str, Any], Tensors]:
    """The header and arrays of a model without weights of at most `least`; models of other kinds stay as they are."""
    model = header["learned"].get("model", {})
    if "weight_count" not in tensors or len(tensors.get("anchored_keys", ())) or len(tensors.get("block_keys", ())):
        return header, tensors
    tensors, model = dict(tensors), dict(model)
    keys, counts = tensors["keys"], tensors["weight_count"].astype(np.int64)
    fixed = len(counts) - len(keys)
    row = np.repeat(np.arange(len(counts)), counts)
    weight, column = tensors["weight"], tensors["weight_label"]
    if hashed := model.get("kind") in ("chain", "documents", "choices"):
        keys = keys & np.uint64((1 << BITS) - 1)
        model["bits"] = BITS
    kept = (np.abs(weight) > least) | (row < fixed)
    kept &= weight != 0
    used = np.zeros(len(keys), bool)
    used[row[kept & (row >= fixed)] - fixed] = True
    order = np.argsort(keys, kind="stable")
    alone = np.ones(len(order), bool)
    alone[1:] = keys[order][1:] != keys[order][:-1]
    order = order[alone & used[order] & (keys[order] != 0)]
    place = np.full(len(counts), -1)
    place[:fixed], place[fixed + order] = np.arange(fixed), fixed + np.arange(len(order))
    kept &= place[row] >= 0
    row, weight, column = place[row[kept]], weight[kept], column[kept]
    sort = np.argsort(row, kind="stable")
    rows = fixed + len(order)
    tensors |= {
        "keys": keys[order],
        "weight_count": np.bincount(row, minlength=rows).astype(tensors["weight_count"].dtype),
        "weight_label": column[sort],
        "weight": quantised(weight[sort], levels),
    }
    if hashed:
        tensors |= _without_names(tensors, len(order))
        model |= {"rows": rows} if "rows" in model else {"features": len(order)}
        model["name_heads"] = [""]
    learned = header["learned"] | ({"model": model} if model else {})
    return header | {"learned": learned}, tensors


def _without_names(tensors: Tensors, features: int) -> Tensors:
    names = Names.of([""] * features).tensors()
    if tensors["word_mask"].any() or any(name.startswith(SPELLER) for name in tensors):
        return names
    return names | {"words": tensors["words"][:0], "word_mask": tensors["word_mask"][:0]}


def quantised(weight: np.ndarray, levels: int = LEVELS) -> np.ndarray:
    """Weights as the nearest of so many sizes, finer where they are small.

    In double precision: NumPy's logarithms of single precision depend on the processor in the last bit, and a model
    must not.
    """
    if not len(weight):
        return weight
    size = np.log(np.abs(weight).astype(np.float64))
    low, high = float(size.min()), float(size.max())
    step = max(high - low, 1e-6) / (levels - 1)
    return (np.sign(weight) * np.exp(low + np.round((size - low) / step) * step)).astype(np.float32)
