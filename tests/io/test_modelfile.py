"""Model files: what goes in comes out; anything else ends in one line, whatever a file holds."""

import errno
import json
import os
import random
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from structron import __version__
from structron.errors import StructronError
from structron.io import modelfile
from structron.io.tensors import (
    LARGEST_WEIGHT,
    Tensor,
    beginning,
    check,
    pack,
    pack_json,
    taken,
    texts,
    under,
    unpack,
    unpack_json,
    whole,
)

HEADER = {"task": "poet", "options": {"order": 2, "name": "Über"}, "learned": {"labels": ["A", "B"]}}
TENSORS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "keys": np.array([1, 2**64 - 1], np.uint64),
    "flags": np.array([True, False]),
    "none": np.zeros((0, 3), np.int32),
    "turned": np.arange(6, dtype=np.int64).reshape(2, 3).T,
}


@pytest.fixture
def path(tmp_path) -> Path:
    modelfile.save(tmp_path / "model", HEADER, TENSORS)
    return tmp_path / "model"


def assert_same(tensors: dict, expected: dict) -> None:
    assert tensors.keys() == expected.keys()
    for name, array in tensors.items():
        assert array.dtype == expected[name].dtype
        assert np.array_equal(array, expected[name])
        assert array.flags.writeable
        assert array.flags.c_contiguous


def test_what_goes_in_comes_out(path):
    header, tensors = modelfile.load(path)
    assert header == HEADER | {"format": modelfile.FORMAT, "version": __version__}
    assert_same(tensors, TENSORS)


def test_a_file_may_be_begun_before_it_is_asked_for(path):
    modelfile.begin(path)
    begun = modelfile._begun[str(path)]
    header, tensors = modelfile.load(path)
    assert begun.done()
    assert header["version"] == __version__
    assert_same(tensors, TENSORS)
    assert str(path) not in modelfile._begun, "what was read is handed out once"
    assert modelfile.load(path)[1]["turned"] is not tensors["turned"]


def test_what_is_wrong_with_a_file_is_said_when_it_is_asked_for(tmp_path):
    (tmp_path / "model").write_bytes(b"no model")
    for name in ("model", "nowhere", "."):
        modelfile.begin(tmp_path / name)
        with pytest.raises(StructronError, match=r"not a structron model|cannot read|is a folder"):
            modelfile.load(tmp_path / name)


def test_a_file_says_what_it_is(path):
    """Without the package: a length, JSON, and in it JSON."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["structron"])
    assert (header["task"], header["format"], header["version"]) == ("poet", 2, __version__)


def test_equal_models_have_equal_bytes(path, tmp_path):
    turned = dict(reversed(TENSORS.items()))
    modelfile.save(tmp_path / "again", dict(reversed(HEADER.items())), turned)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


# -- bad files -------------------------------------------------------------------------------------------------------


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(StructronError, match=r"missing: cannot read the model: No such file"):
        modelfile.load(tmp_path / "missing")
    with pytest.raises(StructronError, match="is a folder; expected a model file"):
        modelfile.load(tmp_path)
    odd = {
        "empty": b"",
        "short": b"\x01\x02",
        "text": b"the D B-NP\n" * 100,
        "long": struct.pack("<Q", 1 << 62) + b"{}" * 40,
        "zero": bytes(100),
        "list": struct.pack("<Q", 2) + b"[]",
        "deep": struct.pack("<Q", 100_000) + b"[" * 100_000,
        "infinite": safetensors.numpy.save({}, {"structron": '{"format": Infinity}'}),
        "no dictionary": safetensors.numpy.save({}, {"structron": "[1]"}),
        "other": safetensors.numpy.save({"a": np.zeros(3)}),
    }
    for name, content in odd.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StructronError, match=f"{name}: not a structron model, or cut off"):
            modelfile.load(tmp_path / name)


def test_a_file_is_read_only_if_it_is_as_long_as_its_head_says(path, tmp_path):
    """Also one without end, or of 30 GB on a disk that is smaller."""
    with pytest.raises(StructronError, match="not a structron model"):
        modelfile.load("/dev/zero")
    large, odd = tmp_path / "large", tmp_path / "odd"
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    for size in (len(data) + 1, 1 << 35):
        large.write_bytes(data)
        os.truncate(large, size)
        with pytest.raises(StructronError, match=r"large: damaged model file \(its size does not match"):
            modelfile.load(large)
    for end in (-5, 1 << 62, 1 << 80, "x", None):
        head = json.loads(data[8 : 8 + length]) | {"more": {"dtype": "I8", "shape": [1], "data_offsets": [0, end]}}
        text = json.dumps(head).encode()
        odd.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])
        with pytest.raises(StructronError, match=r"odd: (damaged|not a structron) model"):
            modelfile.load(odd)


def test_a_model_may_come_through_a_pipe(path, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()), daemon=True).start()
    assert_same(modelfile.load(pipe)[1], TENSORS)


def test_flipped_bits_are_noticed(path):
    """Anywhere in the file; a change that JSON does not mind is none."""
    data, rng, refused = path.read_bytes(), random.Random(20020701), []
    for k in range(500):
        changed = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 8])):
            place = rng.randrange(8 + int.from_bytes(data[:8], "little") if k % 2 else len(data))
            changed[place] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            header, tensors = modelfile.load(path)
        except StructronError as error:
            refused.append(str(error))
        else:
            assert header == HEADER | {"format": modelfile.FORMAT, "version": __version__}
            assert_same(tensors, TENSORS)
    assert len(refused) > 450
    assert all(line.startswith(f"{path}: ") and "\n" not in line for line in refused)


def repack(source: Path, target: Path, header: dict, tensors: dict) -> None:
    """The file with some entries of header and tensors replaced and a right checksum."""
    old_header, old_tensors = modelfile.load(source)
    new_header, new_tensors = old_header | header, old_tensors | tensors
    new_header["checksum"] = modelfile._digest(new_header, new_tensors)
    target.write_bytes(safetensors.numpy.save(new_tensors, {modelfile.KEY: json.dumps(new_header)}))


@pytest.mark.parametrize(("number", "remedy"), [(1, "retrain the model"), (0, "retrain"), (3, "upgrade")])
def test_other_formats(number, remedy, path, tmp_path):
    repack(path, tmp_path / "other", {"format": number, "version": "9.9"}, {})
    says = rf"other: made by structron 9\.9 \(format {number}\); this version reads format 2: {remedy}"
    with pytest.raises(StructronError, match=says):
        modelfile.load(tmp_path / "other")


def test_repacking_itself_harms_nothing(path, tmp_path):
    repack(path, tmp_path / "same", {"colour": "blue"}, {"more": np.ones(1)})
    header, tensors = modelfile.load(tmp_path / "same")
    assert header["colour"] == "blue"
    assert_same(tensors, TENSORS | {"more": np.ones(1)})


# -- saving ----------------------------------------------------------------------------------------------------------


def test_a_failed_save_keeps_the_old_model(path, monkeypatch):
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StructronError, match=r"model: .*no space left"):
            modelfile.save(path, HEADER, {})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StructronError, match="no folder"):
        modelfile.save(tmp_path / "no" / "model", {}, {})


# -- declared arrays -------------------------------------------------------------------------------------------------

DECLARED = {
    "keys": Tensor("uint64", "features", least=1, ascending=True),
    "row": Tensor("int32", "features", least=-1, below="rows"),
    "first": Tensor("int64", "features+1", rises="cells"),
    "count": Tensor("uint8|uint16", "rows", adds_up="cells"),
    "weight": Tensor("float32", "cells"),
    "table": Tensor("bool", "rows", 3),
    "small": Tensor("int64", "rows", below=10),
}
FITS = {
    "keys": np.array([4, 7, 2**64 - 1], np.uint64),
    "row": np.array([0, -1, 1], np.int32),
    "first": np.array([0, 2, 2, 5]),
    "count": np.array([2, 3], np.uint8),
    "weight": np.ones(5, np.float32),
    "table": np.ones((2, 3), bool),
    "small": np.array([-5, 9]),
}
MISFITS = {
    "missing": ({"keys": None}, "keys is missing"),
    "foreign": ({"more": np.ones(1)}, "more: an array that does not belong there"),
    "kind": ({"row": FITS["row"].astype(np.int64)}, "row is int64, not int32"),
    "kinds": ({"count": FITS["count"].astype(np.int32)}, "count is int32, not uint8 or uint16"),
    "dimensions": ({"weight": np.ones((5, 1), np.float32)}, "weight has 2 dimensions, not 1"),
    "scalar": ({"weight": np.float32(1)}, "weight has 0 dimensions, not 1"),
    "length": ({"row": np.zeros(4, np.int32)}, r"row has shape \(4,\), not \(features\) with features = 3"),
    "one more": ({"first": np.array([0, 2, 5])}, r"first has shape \(3,\), not \(features\+1\)"),
    "width": ({"table": np.ones((2, 4), bool)}, r"table has shape \(2, 4\), not \(rows, 3\)"),
    "least": ({"row": np.array([0, -2, 1], np.int32)}, "row has values below -1"),
    "no key": ({"keys": np.array([0, 1, 2], np.uint64)}, "keys has values below 1"),
    "below": ({"row": np.array([0, 2, 1], np.int32)}, "row has values of 2 or more"),
    "below a number": ({"small": np.array([0, 10])}, "small has values of 10 or more"),
    "falling keys": ({"keys": np.array([4, 9, 7], np.uint64)}, "keys does not ascend"),
    "equal keys": ({"keys": np.array([4, 4, 7], np.uint64)}, "keys does not ascend"),
    "sum": ({"count": np.array([2, 2], np.uint8)}, "count does not add up to cells"),
    "falling": ({"first": np.array([0, 3, 2, 5])}, "first does not rise from 0 to cells"),
    "start": ({"first": np.array([1, 2, 2, 5])}, "first does not rise from 0 to cells"),
    "end": ({"first": np.array([0, 2, 2, 4])}, "first does not rise from 0 to cells"),
    "not a number": ({"weight": np.array([1, np.nan, 1, 1, 1], np.float32)}, "weight has values that are not finite"),
    "infinite": ({"weight": np.array([1, 1, 1, 1, -np.inf], np.float32)}, "weight has values that are not finite"),
    "huge": ({"weight": np.array([1, 1, 3e20, 1, 1], np.float32)}, "weight has values that are not finite, or huge"),
}


def test_arrays_that_are_as_declared():
    assert check(FITS, DECLARED, {"rows": 2}) == {"rows": 2, "features": 3, "cells": 5}
    large = FITS | {"weight": np.full(5, -0.99 * LARGEST_WEIGHT, np.float32), "count": FITS["count"].astype(np.uint16)}
    assert check(large, DECLARED, {})["cells"] == 5


@pytest.mark.parametrize(("change", "says"), MISFITS.values(), ids=MISFITS)
def test_arrays_that_are_not(change, says):
    changed = {name: array for name, array in (FITS | change).items() if array is not None}
    with pytest.raises(ValueError, match=says):
        check(changed, DECLARED, {})


def test_sizes_that_a_header_settles():
    with pytest.raises(ValueError, match="with rows = 9"):
        check(FITS, DECLARED, {"rows": 9})


def test_nothing_at_all():
    """Empty arrays have no values to be wrong, but offsets begin with a 0 and sums are sums."""
    empty = {name: array[:0] for name, array in FITS.items()} | {"first": np.zeros(1, np.int64)}
    assert set(check(empty, DECLARED, {}).values()) == {0}
    with pytest.raises(ValueError, match="first has shape"):
        check(empty | {"first": np.zeros(0, np.int64)}, DECLARED, {})
    for name, says in (("first", "first does not rise"), ("count", "count does not add up")):
        with pytest.raises(ValueError, match=says):
            check({name: empty[name]}, {name: DECLARED[name]}, {"cells": 3})


# -- headers and texts -----------------------------------------------------------------------------------------------


def test_lists_of_texts():
    assert texts(["a", "b"], "labels", 2) == ["a", "b"]
    for odd in (["a", "a"], ["a"], [1, 2], "ab", None, {"a": 1, "b": 2}, [["a"], "b"]):
        with pytest.raises(ValueError, match="labels do not fit"):
            texts(odd, "labels", 2)


def test_whole_numbers():
    assert whole(3, "order", 1, 3) == 3
    for odd in (0, 4, 1.0, "2", True, None, [2]):
        with pytest.raises(ValueError, match=r"order is .*, not a whole number from 1 to 3"):
            whole(odd, "order", 1, 3)


def test_prefixes():
    assert under("a_", {"x": 1}) == {"a_x": 1}
    assert beginning("a_", {"a_x": 1, "b_x": 2, "a_a_": 3}) == {"x": 1, "a_": 3}


@given(st.text(st.characters(), max_size=50))
def test_texts_as_arrays(text):
    array = pack(text)
    assert taken({"names": array}, "names") is array
    assert unpack(array) == text
    assert unpack_json(pack_json([text, {"x": text}])) == [text, {"x": text}]


def test_texts_are_unpacked_within_bounds():
    """A few bytes can unpack to gigabytes: reading stops at the bound."""
    bomb = pack("a" * 10_000_000)
    assert len(bomb) < 20_000
    assert len(unpack(bomb, 10_000_000)) == 10_000_000
    for array, most in ((bomb, 9_999_999), (bomb[:-3], 10_000_000), (bomb[:0], 5)):
        with pytest.raises(ValueError, match="a text is cut off, or too long"):
            unpack(array, most)
    with pytest.raises(ValueError, match="a text is damaged"):
        unpack(np.arange(9, dtype=np.uint8))
    for odd in (pack("[1"), pack("[" * 100_000)):
        with pytest.raises(ValueError):
            unpack_json(odd)
