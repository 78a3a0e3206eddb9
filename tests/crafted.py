"""A little data to train models on, and model files that were changed on purpose."""

import json
import struct
from pathlib import Path

import numpy as np
import safetensors.numpy

from structron.io import modelfile

SENTENCES = [
    [("The", "D", "B-NP"), ("dog", "N", "I-NP"), ("barks", "V", "O"), (".", ".", "O")],
    [("New", "N", "B-NP"), ("York", "N", "I-NP"), ("sleeps", "V", "O")],
    [("The", "D", "B-NP"), ("İzmir-3", "N", "I-NP"), ("dog", "N", "I-NP"), ("saw", "V", "O"), ("York", "N", "B-NP")],
    [],
    [("saw", "N", "B-NP"), ("barks", "N", "I-NP")],
]


TEST = [[(word, pos) for word, pos, _ in sentence] for sentence in SENTENCES] + [[("Unseen", "N"), ("saw", "V")]]


def places(data: bytes) -> list[int]:
    """Where to cut: every kind of place, from the length to the last byte."""
    (length,) = struct.unpack("<Q", data[:8])
    found = {0, 1, 7, 8, 9, 8 + length // 2, 8 + length - 1, 8 + length, 9 + length, len(data) - 1}
    tensors = json.loads(data[8 : 8 + length])
    for name, entry in tensors.items():
        if name != "__metadata__":
            found |= {8 + length + offset for offset in entry["data_offsets"]}
    return sorted(place for place in found if place < len(data))


def repack(source: Path, target: Path, header: dict | None = None, tensors: dict | None = None) -> None:
    """The file with some entries of header and tensors replaced (None: left out) and a right checksum."""
    old_header, old_tensors = modelfile.load(source)
    new_header = {k: v for k, v in (old_header | (header or {})).items() if v is not None}
    new_tensors = {k: v for k, v in (old_tensors | (tensors or {})).items() if v is not None}
    new_tensors = {k: np.ascontiguousarray(v) for k, v in new_tensors.items()}
    new_header["checksum"] = modelfile._digest(new_header, new_tensors)
    target.write_bytes(safetensors.numpy.save(new_tensors, {modelfile.KEY: json.dumps(new_header)}))
