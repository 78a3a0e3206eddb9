"""Packed arrays: nothing is lost, equal arrays give equal bytes, and what does not fit together is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from structron import StructronError
from structron.io import modelfile
from structron.io.packing import KINDS, LEAST_BYTES, pack_all, unpack_all

ASCENDING = np.cumsum(np.arange(1, 200, dtype=np.uint64) ** 3).astype(np.uint64)
FEW = np.tile(np.array([0.5, -1.25, 3.0], np.float32), 300)
MANY = np.random.default_rng(1).normal(size=(40, 50)).astype(np.float32)
EVERY = {
    "ascending": ASCENDING,
    "down": ASCENDING[::-1].copy(),
    "few": FEW,
    "many": MANY,
    "flags": np.arange(400) % 3 == 0,
    "small": np.arange(4),
    "none": np.zeros((0, 5), np.float32),
}


def same(a, b) -> bool:
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and np.array_equal(a[k], b[k], equal_nan=a[k].dtype.kind == "f") for k in a
    )


def test_nothing_is_lost():
    packed, ways = pack_all(EVERY)
    assert {name: way for name, (way, _, _) in ways.items()} == {
        "ascending": "ascending",
        "down": "plain",
        "few": "palette",
        "many": "plain",
        "flags": "plain",
    }
    assert same(unpack_all(packed, ways), EVERY)
    sizes = {name: array.nbytes for name, array in packed.items()}
    assert sizes["few"] < FEW.nbytes / 50
    assert sizes["ascending"] < ASCENDING.nbytes / 2


@given(st.sampled_from(KINDS).flatmap(lambda kind: arrays(kind, array_shapes(max_dims=3, max_side=12))))
def test_arrays_of_every_kind_come_back(array):
    big = {"x": np.concatenate([array.reshape(-1)] * (LEAST_BYTES // max(array.nbytes, 1) + 1)), "y": array}
    assert same(unpack_all(*pack_all(big)), big)


def test_files_of_packed_arrays(tmp_path):
    for name in ("a", "b"):
        modelfile.save(tmp_path / name, {"task": "x"}, EVERY, packed=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    header, found = modelfile.load(tmp_path / "a")
    assert header["task"] == "x"
    assert "packed" not in header
    assert same(found, EVERY)
    assert all(array.flags.writeable for array in found.values())


@pytest.mark.parametrize(
    "ways",
    [
        7,
        [],
        {"few": None},
        {"few": ["palette", "float32"]},
        {"few": ["palette", "float32", [10**12]]},
        {"few": ["palette", "float32", [-900]]},
        {"few": ["palette", "float32", [899]]},
        {"few": ["palette", "float32", [901]]},
        {"few": ["palette", "float64", [900]]},
        {"few": ["palette", "object", [900]]},
        {"few": ["palette", ["float32"], [900]]},
        {"few": ["palette", "float32", 900]},
        {"few": ["palette", "float32", [True, 900.0]]},
        {"few": ["magic", "uint8", [900]]},
        {"few": ["ascending", "uint64", [112, 1]]},
        {"missing": ["plain", "uint8", [900]]},
        {"many": ["palette", "float32", [40, 50]]},
        {"few": ["ascending", "float32", [225]]},
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(ways, tmp_path):
    packed, _ = pack_all({"few": FEW, "many": MANY})
    modelfile.save(tmp_path / "m", {"task": "x", "packed": ways}, packed)
    with pytest.raises(StructronError, match="damaged") as caught:
        modelfile.load(tmp_path / "m")
    assert "\n" not in str(caught.value)


def test_bombs_and_cut_off_arrays(tmp_path):
    packed, ways = pack_all({"few": FEW})
    for array in (packed["few"][:-3], np.append(packed["few"], np.uint8(0))[1:], packed["few"].astype(np.int32)):
        with pytest.raises(ValueError, match="few"):
            unpack_all({**packed, "few": array}, ways)
    bomb, how = pack_all({"x": np.zeros(10**6, np.int64)})
    with pytest.raises(ValueError, match="cut off, or too long"):
        unpack_all(bomb, {"x": ["plain", "int64", [1000]]})
    with pytest.raises(ValueError, match="palette"):
        unpack_all({**packed, "few.palette": packed["few.palette"][:1]}, ways)
    assert how["x"][2] == [10**6]
