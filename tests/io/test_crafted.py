"""Model files with valid checksums that were made to hang a reader or to fill its memory: declarations refuse them."""

import json
import zlib

import numpy as np
import pytest

from mutations import craft, raw
from structron.errors import StructronError
from structron.io import modelfile
from structron.io.tensors import LEAST_SIZE, MARK, Tensor, check, crowded, nested, pack, size_of, unpack, unpack_json
from structron.kernels.table import build_table
from structron.tasks.registry import TASKS, load
from toy import chunk_rows, tree_rows


@pytest.fixture(scope="module")
def bomb():
    """A compressed part of 300 MB."""
    return zlib.compress(bytes(300_000_000), 9)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Small models by task."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for task in ("chunker", "segments", "joint", "parser"):
        rows = (tree_rows if task == "parser" else chunk_rows)(40, 0)
        found[task] = folder / task
        TASKS[task](passes=1, runs=1).fit(rows).save(found[task])
    return found


def refused(path, header, tensors) -> str:
    """What a crafted file is refused with."""
    craft(path, header, tensors)
    with pytest.raises(StructronError) as caught:
        load(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert len(said) < 500
    return said


# -- compressed parts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "name"), [("chunker", "name_text"), ("parser", "alphabet_0"), ("joint", "guesses")])
@pytest.mark.parametrize("said", [None, 300_000_000, 1 << 62, 10])
def test_what_unpacks_to_far_more_than_the_file_is_refused(models, bomb, tmp_path, task, name, said):
    header, tensors = raw(models[task])
    head = b"" if said is None else MARK + said.to_bytes(8, "little")
    tensors[name] = np.frombuffer(head + bomb, np.uint8)
    text = refused(tmp_path / "m", header, tensors)
    assert "a text is cut off, or too long" in text or "its compressed parts claim to have" in text


def test_packed_arrays_say_their_size_first(models, bomb, tmp_path):
    header, tensors = raw(models["chunker"])
    tensors["weight"] = np.frombuffer(bomb, np.uint8)
    header["packed"] = {"weight": ["plain", "float32", [75_000_000]]}
    assert f"such a file holds at most {LEAST_SIZE}" in refused(tmp_path / "m", header, tensors)


def test_a_text_keeps_its_size_and_older_ones_are_read():
    text = "ünïcödé\n" * 5000
    assert size_of(pack(text)) == len(text.encode())
    assert unpack(pack(text)) == text
    older = np.frombuffer(zlib.compress(text.encode()), np.uint8)
    assert (unpack(older), size_of(older)) == (text, 0)
    with pytest.raises(ValueError, match="too long"):
        unpack(pack(text), 100)


# -- keys ----------------------------------------------------------------------------------------------------------


def test_keys_that_are_alike_are_found_before_they_are_entered():
    keys = np.random.default_rng(1).integers(1, 1 << 63, 300_000).astype(np.uint64)
    assert not crowded(keys)
    for bad in (np.ones_like(keys), keys << np.uint64(20), np.arange(len(keys), dtype=np.uint64) // np.uint64(2)):
        assert crowded(bad)
        with pytest.raises(ValueError, match="keys has too many keys that are alike"):
            check({"keys": bad}, {"keys": Tensor("uint64", "n", spread=True)}, {})
    assert len(build_table(keys)) >= 2 * len(keys)


@pytest.mark.parametrize(("task", "name"), [("chunker", "keys"), ("segments", "anchored_keys"), ("parser", "keys")])
def test_400000_equal_keys(models, tmp_path, task, name):
    header, tensors = raw(models[task])
    own = tensors[name]
    tensors[name] = np.full(400_000, own[0], np.uint64)
    more = 400_000 - len(own)
    tensors["weight_count"] = np.concatenate([tensors["weight_count"], np.zeros(more, np.uint16)])
    if task == "chunker":
        header["learned"]["model"]["rows"] += more
    for part in ("name_head", "name_length"):
        if part in tensors:
            tensors[part] = np.concatenate([tensors[part], np.zeros(more, tensors[part].dtype)])
    assert "keys" in refused(tmp_path / "m", header, tensors)


# -- headers -------------------------------------------------------------------------------------------------------


def test_lists_in_lists(models, tmp_path):
    deep: list = []
    for _ in range(400):
        deep = [deep]
    assert nested(deep)
    assert not nested([{"a": [[1], {}]}] * 3)
    header, tensors = raw(models["chunker"])
    header["training"]["history"] = [{"x": deep}]
    assert "not a structron model" in refused(tmp_path / "m", header, tensors)
    with pytest.raises(ValueError, match="nested too deep"):
        unpack_json(pack(json.dumps(deep)))
    with pytest.raises(StructronError, match="nested too deep"):
        modelfile.save(tmp_path / "n", {"task": "x", "extra": deep}, {})


WRONG = {
    "jobs": 4,  # no file has it
    "verbose": True,
    "beam": 100_000,
    "update": 3,
    "merge": "yes",
    "forbid": [["O"]],
    "candidates": 1_000_000,
    "columns": {"word": 1},
    "label": ["chunk"],
    "given": "upos",
    "passes": "ten",
    "shuffle": 2,
    "nothing": 1,
}


@pytest.mark.parametrize("name", WRONG)
def test_options_of_a_wrong_kind(models, tmp_path, name):
    header, tensors = raw(models["chunker"])
    header["options"][name] = WRONG[name]
    assert name in refused(tmp_path / "m", header, tensors)


@pytest.mark.parametrize(
    ("task", "path", "value"),
    [
        ("chunker", ["learned", "scheme"], "iob9"),
        ("chunker", ["learned", "scheme"], ["iob2"]),
        ("chunker", ["learned", "model", "labels"], ["O", 1]),
        ("chunker", ["learned", "model", "labels"], ["O", "x" * 2_000_000]),
        ("chunker", ["learned", "gazetteers"], [[1, 2]]),
        ("chunker", ["training", "source"], {"format": 3}),
        ("chunker", ["training", "history"], [3]),
        ("parser", ["learned", "relations"], [f"r{k}" for k in range(200_000)]),
        ("segments", ["learned", "model", "encoder", "longest"], [1, 10**6]),
        ("segments", ["learned", "model", "encoder", "stretches"], [3, 10**6]),
        ("segments", ["learned", "model", "encoder", "stretches"], [65, 64]),
    ],
)
def test_headers_of_a_wrong_kind(models, tmp_path, task, path, value):
    header, tensors = raw(models[task])
    node = header
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    refused(tmp_path / "m", header, tensors)


@pytest.mark.parametrize("name", ["weight", "keys", "weight_count"])
def test_arrays_of_two_dimensions(models, tmp_path, name):
    for task in models:
        header, tensors = raw(models[task])
        tensors[name] = tensors[name].reshape(1, -1)
        assert "dimensions" in refused(tmp_path / "m", header, tensors)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_weights_that_are_or_become_infinite(models, tmp_path, value):
    for task in models:
        header, tensors = raw(models[task])
        tensors["weight"][0] = value
        assert "not finite, or huge" in refused(tmp_path / "m", header, tensors)


def test_more_weights_than_the_file_could_hold(models, tmp_path):
    header, tensors = raw(models["chunker"])
    model = header["learned"]["model"]
    labels = len(model["labels"])
    rows = 2_000_000
    more = rows - model["rows"]
    header["learned"]["model"] |= {"labels": model["labels"] + [f"B-{k}" for k in range(900)], "rows": rows}
    tensors["weight_count"] = np.concatenate([tensors["weight_count"], np.zeros(more, np.uint16)])
    assert labels < 100
    refused(tmp_path / "m", header, tensors)


# -- what is shown -------------------------------------------------------------------------------------------------


def test_control_characters_in_labels_and_features_are_shown_escaped(tmp_path, capsys):
    from structron.cli.app import main

    rows = [[(f"a\x1b[31m{k}", "B-\x9b2J" if k % 2 else "O") for k in range(6)]] * 3
    path = tmp_path / "m"
    TASKS["chunker"](passes=2, runs=1, columns=["word", "chunk"]).fit(rows).save(path)
    assert main(["inspect", str(path)]) == 0
    assert main(["inspect", str(path), "--sentence", "a\x1b[31m1 b"]) == 0
    shown = capsys.readouterr().out
    assert r"\x9b2J" in shown
    assert r"\x1b[31m" in shown
    assert "\x1b" not in shown
    assert "\x9b" not in shown
