"""Model files: what goes in comes out, and whatever else a file may hold ends in one clear error, never in a crash."""

import errno
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import structron
from crafted import SENTENCES, TEST, places, repack
from helpers import run_python, weights_of
from structron.errors import StructronError
from structron.features.gazetteer import Gazetteer
from structron.io import modelfile
from structron.model.chain import ChainModel

PAIRED = ["w[0]", "pos[0]|pos[1]", "pos[0]&y", "suffix2[0]&y"]
OPTIONS = {
    "plain": {},
    "order 2": {"order": 2},
    "pairs": {"templates": PAIRED},
    "pairs, order 2": {"templates": PAIRED, "order": 2},
    "unaveraged": {"average": "none"},
    "three runs": {"runs": 3},
    "two runs, pairs": {"runs": 2, "templates": PAIRED},
    "voted": {"average": "voted"},
    "voted, order 2, pairs": {"average": "voted", "order": 2, "templates": PAIRED},
    "dictionary": {"tag_dictionary": 1},
    "cut-off": {"cutoff": 2},
    "unconstrained": {"constrain": False},
    "forbidden": {"forbid": [("O", "B-NP")]},
    "gazetteers": {
        "gazetteers": {
            "LOC": Gazetteer.from_phrases("LOC", ["New York", "İzmir-3"]),
            "low": Gazetteer.from_phrases("low", ["THE"], lowercase=True),
            "none": Gazetteer.from_phrases("none", []),
        }
    },
    "other columns": {"columns": ["form", "tag", "chunk"], "templates": ["w[0]", "tag.lower[-1]"]},
}


def train(**options) -> structron.Chunker:
    return structron.Chunker(**{"passes": 3, "runs": 1, **options}).fit(SENTENCES)


@pytest.fixture(scope="module")
def model_path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model.structron"
    train(order=2, templates=PAIRED, tag_dictionary=2, average="voted").save(path)
    return path


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_model_comes_back_as_it_was(options, tmp_path):
    before = train(**options)
    path = tmp_path / "model.structron"
    before.save(path)
    after = structron.load(path)
    assert type(after) is structron.Chunker
    assert after.predict(TEST) == before.predict(TEST)
    if options.get("average") != "voted":
        assert after.predict_with_margins(TEST) == before.predict_with_margins(TEST)
    assert after.model_.names.all() == before.model_.names.all()
    assert after.model_.pair_names.all() == before.model_.pair_names.all()
    assert weights_of(after.model_) == weights_of(before.model_)
    assert (after.model_.allowed == before.model_.allowed).all()
    assert after.history_ == before.history_
    for name in ("scheme_", "best_pass_", "stopped_", "signature_", "order", "passes", "runs", "average"):
        assert getattr(after, name) == getattr(before, name), name
    assert after.evaluate(SENTENCES) == before.evaluate(SENTENCES)
    again = tmp_path / "again.structron"
    after.save(again)
    assert structron.load(again).predict(TEST) == before.predict(TEST)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_loaded_model_can_be_trained_anew_as_it_was(options, tmp_path):
    """Parameters come back too: `fit` on a loaded labeller does what it did before saving."""
    before = train(**options)
    before.save(tmp_path / "model.structron")
    after = structron.load(tmp_path / "model.structron").fit(SENTENCES)
    assert weights_of(after.model_) == weights_of(before.model_)
    assert after.predict(TEST) == before.predict(TEST)


def test_saving_is_deterministic(tmp_path):
    """Equal models, equal bytes; only the time that passes took is not equal, and stands in the history."""
    contents = set()
    for k in range(5):
        model = train()
        model.history_ = []
        model.save(tmp_path / f"{k}")
        contents.add((tmp_path / f"{k}").read_bytes())
    assert len(contents) == 1


def test_atoms_are_code_and_must_be_given_again(tmp_path):
    atoms = {"length": lambda sentence, i: str(len(sentence[i][0]))}
    before = train(atoms=atoms)
    path = tmp_path / "model.structron"
    before.save(path)
    with pytest.raises(StructronError, match=r"give the functions of its atoms again: load\(path, atoms={length: …}\)"):
        structron.load(path)
    assert structron.load(path, atoms=atoms).predict(TEST) == before.predict(TEST)


def test_a_file_says_what_it_is(model_path):
    """Task, options, signature and version can be read without the package."""
    data = model_path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["structron"])
    assert header["task"] == "chunker"
    assert header["format"] == 1
    assert header["version"] == structron.__version__
    assert header["options"]["order"] == 2
    assert "chunker" in header["signature"]


# -- bad files -----------------------------------------------------------------------------------------------------


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(StructronError, match=r"missing: cannot read the model: No such file"):
        structron.load(tmp_path / "missing")
    with pytest.raises(StructronError, match="is a folder; expected a model file"):
        structron.load(tmp_path)
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
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(StructronError, match=f"{name}: not a structron model, or cut off"):
            structron.load(path)


def test_cut_off_files(model_path, tmp_path):
    data = model_path.read_bytes()
    cuts = places(data)
    assert len(cuts) > 20
    for place in cuts:
        path = tmp_path / "cut"
        path.write_bytes(data[:place])
        with pytest.raises(StructronError, match=r"cut: (not a structron model, or cut off|damaged model file)"):
            structron.load(path)


def test_files_with_something_at_the_end(model_path, tmp_path):
    path = tmp_path / "long"
    path.write_bytes(model_path.read_bytes() + b"\0")
    with pytest.raises(StructronError, match="damaged model file"):
        structron.load(path)


FUZZ = """
import random, sys
from pathlib import Path
import structron
from crafted import TEST

data = Path(sys.argv[1]).read_bytes()
target = Path(sys.argv[2])
expected = structron.load(sys.argv[1]).predict(TEST)
rng = random.Random(20020701)
header = 8 + int.from_bytes(data[:8], "little")
refused = same = 0
for k in range(int(sys.argv[3])):
    changed = bytearray(data)
    area = header if k % 2 else len(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        place = rng.randrange(area)
        changed[place] = rng.choice([changed[place] ^ (1 << rng.randrange(8)), rng.randrange(256)])
    target.write_bytes(changed)
    try:
        found = structron.load(target).predict(TEST)
    except structron.StructronError as error:
        assert str(target) in str(error) and "\\n" not in str(error), str(error)
        refused += 1
    else:
        assert found == expected
        same += 1
print(refused, same)
"""


def test_flipped_bits_never_crash(model_path, tmp_path):
    """In a process of its own, so that a crash would be seen as one."""
    done = run_python(FUZZ, str(model_path), str(tmp_path / "flipped"), "600")
    assert done.returncode == 0, done.stderr[-2000:]
    refused, same = map(int, done.stdout.split())
    assert refused + same == 600
    assert refused > 500


def test_repacking_itself_harms_nothing(model_path, tmp_path):
    repack(model_path, tmp_path / "same")
    assert structron.load(tmp_path / "same").predict(TEST) == structron.load(model_path).predict(TEST)


def test_a_model_from_the_future(model_path, tmp_path):
    path = tmp_path / "future"
    repack(model_path, path, {"format": 2, "version": "9.9"})
    with pytest.raises(
        StructronError, match=r"made by structron 9\.9 \(format 2\); this version reads up to 1: upgrade"
    ):
        structron.load(path)


def test_a_model_of_another_task(model_path, tmp_path):
    with pytest.raises(StructronError, match="a chunker model; expected a tagger model"):
        structron.load(model_path, task="tagger")
    assert structron.load(model_path, task="chunker")
    for task in ("poet", None, ["chunker"], {}):
        repack(model_path, tmp_path / "other", {"task": task})
        with pytest.raises(StructronError, match=r"unknown task .*; expected one of: tagger, chunker"):
            structron.load(tmp_path / "other")


def test_keys_that_nobody_knows_are_left_alone(model_path, tmp_path):
    path = tmp_path / "more"
    repack(model_path, path, {"colour": "blue"}, {"extra": np.zeros(3)})
    assert structron.load(path).predict(TEST) == structron.load(model_path).predict(TEST)


HEADER_ODDITIES = [
    *[
        {name: None}
        for name in ("options", "labels", "order", "templates", "gazetteers", "atoms", "word", "name_heads")
    ],
    *[{name: None} for name in ("pair_name_heads", "scheme", "history", "best_pass", "stopped", "signature", "source")],
    {"labels": []},
    {"labels": ["B-NP", "I-NP"]},
    {"labels": ["B-NP", "I-NP", "O", "X"]},
    {"labels": ["O", "O", "O"]},
    {"labels": [["O"], "I-NP", "B-NP"]},
    {"labels": 3},
    {"order": 1},
    {"order": 3},
    {"order": "2"},
    {"templates": []},
    {"templates": [7]},
    {"templates": ["w[0"]},
    {"templates": ["lemma[0]"]},
    {"word": "lemma"},
    {"word": 3},
    {"options": {}},
    {"options": {"columns": ["word", "pos", "label"], "label": "label", "colour": "blue"}},
    {"options": {"columns": 7, "label": "label"}},
    {"options": {"columns": ["word", "pos"], "label": "label"}},
    {"options": [1]},
    {"gazetteers": [["LOC", False]]},
    {"gazetteers": [7]},
    {"atoms": 7},
    {"atoms": [["a"]]},
    {"name_heads": []},
    {"name_heads": 7},
    {"pair_name_heads": ["x="]},
]


@pytest.mark.parametrize("change", HEADER_ODDITIES, ids=str)
def test_headers_that_do_not_fit(change, model_path, tmp_path):
    path = tmp_path / "odd"
    repack(model_path, path, change)
    with pytest.raises(StructronError, match="odd: damaged model file"):
        structron.load(path)


TENSOR_ODDITIES = """
import sys
from pathlib import Path
import numpy as np
import structron
from structron.io import modelfile
from crafted import TEST, repack

source, target = Path(sys.argv[1]), Path(sys.argv[2])
_, tensors = modelfile.load(source)
big = {"i": 2**31 - 1, "u": 2**16 - 1}
problems = []
tried = 0
for name, array in tensors.items():
    changes = {"missing": None, "empty": array[:0], "shorter": array[:-1], "longer": np.concatenate([array, array[:1]])}
    changes |= {"flat": array.reshape(-1, 1), "float": array.astype(np.float64), "int64": array.astype(np.int64)}
    changes |= {"int8": array.astype(np.int8), "bool": array.astype(bool), "half": array.astype(np.float16)}
    if array.dtype.kind in "iu" and array.dtype.itemsize < 8 or name in ("vote_cell", "vote_ptr"):
        for value in (2**31 - 1, 2**15, 200, -2, -(2**31)):
            for place in (0, -1, slice(None)):
                with np.errstate(all="ignore"):
                    changed = array.copy()
                    if changed.size and np.iinfo(changed.dtype).min <= value <= np.iinfo(changed.dtype).max:
                        changed.reshape(-1)[place] = value
                        changes[f"{value} at {place}"] = changed
    for what, changed in changes.items():
        if changed is not None and changed.dtype == array.dtype and np.array_equal(changed, array):
            continue
        repack(source, target, None, {name: changed})
        tried += 1
        print(name, what, file=sys.stderr, flush=True)
        try:
            labeler = structron.load(target)
        except structron.StructronError:
            continue
        try:
            labeler.predict(TEST)
            labeler.model_.names.all(), labeler.model_.pair_names.all()
            labeler.save(target)
        except Exception as error:
            problems.append(f"{name} {what}: {error!r}")
print(tried)
print("\\n".join(problems))
"""


def test_tensors_that_do_not_fit_never_crash(model_path, tmp_path):
    """Arrays of other kinds and lengths, indices out of range, all under a right checksum.

    Either `load` refuses them, or the change is harmless (another weight, another word) and the model works.
    """
    done = run_python(TENSOR_ODDITIES, str(model_path), str(tmp_path / "odd"))
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-500:]}"
    tried, *problems = done.stdout.strip().split("\n")
    assert problems == []
    assert int(tried) > 200


@pytest.mark.parametrize("name", ["block_rows", "word_mask", "weight_label", "vote_cell", "name_head"])
def test_indices_out_of_range_are_refused(name, model_path, tmp_path):
    _, tensors = modelfile.load(model_path)
    array = tensors[name].copy()
    assert array.size
    array.reshape(-1)[-1] = min(np.iinfo(array.dtype).max, 1 << 40)
    repack(model_path, tmp_path / "odd", None, {name: array})
    with pytest.raises(StructronError, match="damaged model file"):
        structron.load(tmp_path / "odd")


@pytest.mark.parametrize("name", ["weight", "vote_amount", "vote_start"])
def test_weights_must_be_numbers(name, model_path, tmp_path):
    for value in (np.nan, np.inf, -np.inf):
        _, tensors = modelfile.load(model_path)
        tensors[name][0] = value
        repack(model_path, tmp_path / "odd", None, tensors)
        with pytest.raises(StructronError, match="damaged model file"):
            structron.load(tmp_path / "odd")


@pytest.mark.parametrize("value", [3e38, -3e38])
@pytest.mark.parametrize("order", [1, 2])
def test_weights_that_overflow_give_some_labels(value, order, tmp_path):
    train(order=order, templates=PAIRED).save(tmp_path / "model")
    _, tensors = modelfile.load(tmp_path / "model")
    repack(tmp_path / "model", tmp_path / "odd", None, {"weight": np.full_like(tensors["weight"], value)})
    found = structron.load(tmp_path / "odd").predict(TEST)
    assert [len(labels) for labels in found] == [len(sentence) for sentence in TEST]


# -- saving --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_save_keeps_the_old_model(step, error, tmp_path, monkeypatch):
    path = tmp_path / "model.structron"
    train(passes=1).save(path)
    before = path.read_bytes()
    other = train(order=2)

    def fail(*args, **kwargs):
        raise error

    class Full:
        """A file on a full disk."""

        def __init__(self, *args, **kwargs):
            self.stream = open_file(*args, **kwargs)

        def __enter__(self):
            return self

        def __exit__(self, *args):
            self.stream.close()

        def __getattr__(self, name):
            return fail if name == "write" else getattr(self.stream, name)

    import builtins

    open_file = builtins.open
    with monkeypatch.context() as patch:
        if step == "write":
            patch.setattr(builtins, "open", Full)
        else:
            patch.setattr(os, step, fail)
        expected = StructronError if isinstance(error, OSError) else KeyboardInterrupt
        with pytest.raises(expected) as caught:
            other.save(path)
    if isinstance(error, OSError):
        assert "model.structron: could not be written (no space left on device)" in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.structron"]
    other.save(path)
    assert structron.load(path).order == 2


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StructronError, match="there is no folder"):
        train().save(tmp_path / "no" / "model.structron")


def test_from_file_wants_what_tensors_gives():
    """The pair is also what pickles use."""
    model = train(order=2, templates=PAIRED).model_
    again = ChainModel.from_file(json.loads(json.dumps(model.header())), model.tensors())
    assert weights_of(again) == weights_of(model)
