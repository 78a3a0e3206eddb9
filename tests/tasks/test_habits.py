"""What trees never have, from training data to trees."""

import numpy as np
import pytest

import structron
from structron.tasks.shift_reduce.habits import group_of, groups_of, rootless_tags, single_relations, unusual
from structron.tasks.shift_reduce.system import usual_bits
from structron.text.trees import MARK

STARTS = np.array([0, 3, 6])
HEADS = np.array([2, 0, 2, 2, 0, 2])


def test_groups():
    assert [group_of(name) for name in ("nsubj", "csubj:pass", "obl:tmod", "nsubj:outer", f"obj{MARK}acl")] == [
        *("subject", "subject", "obl", None, None)
    ]
    assert groups_of(["csubj", "det", "nsubj"], ["obj", "subject"]) == [1, -1, 1]


def test_relations_that_no_head_has_twice():
    names = ["det", "nsubj", "punct"]
    relations = np.array([1, 0, 2, 2, 0, 2])
    starts = np.append(0, np.cumsum(np.tile(np.diff(STARTS), 100)))
    many = np.tile(HEADS, 100), np.tile(relations, 100)
    assert single_relations(starts, *many, names) == ["subject"]
    assert single_relations(starts[:101], many[0][:300], many[1][:300], names) == [], "too few"
    found = unusual(STARTS, HEADS, np.array([-1, -1, 0])[relations], np.ones(6, int), np.zeros(2, bool))
    assert found.tolist() == [False, True]


def test_tags_without_roots():
    starts = np.append(0, np.cumsum(np.tile([3, 1], 150)))
    heads, tags = np.tile([2, 0, 2, 0], 150), np.tile([1, 2, 3, 3], 150)
    assert rootless_tags(starts, heads, tags, 5).tolist() == [False, True, False, True, False]
    rootless = np.array([False, True, False, True, False])
    odd = unusual(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([-1, -1, -1]), np.array([3, 2, 3]), rootless)
    assert odd.tolist() == [True, False]


def rows(*words):
    return [tuple(word.split("/")) for word in words]


def test_a_parser_learns_them_and_keeps_them(tmp_path):
    """Whatever the words: one subject, and no mark as the root."""
    good = rows("it/N/2/nsubj", "is/V/0/root", "so/A/2/xcomp", "./P/2/punct")
    odd = rows("it/N/2/nsubj", "is/V/0/root", "it/N/2/nsubj", "./P/2/punct")
    columns = ["word", "pos", "head", "deprel"]
    few = {"templates": ["s0.t|s1.t", "s1.t", "q0.t"], "passes": 1, "runs": 1}
    parser = structron.Parser(columns=columns, **few).fit([good] * 200 + [odd])
    assert "subject" in parser.single_
    assert any("1 of 201 sentences left out" in note for note in parser.notes_)
    path = tmp_path / "model.structron"
    parser.save(path)
    again = structron.load(path, task="parser")
    tests = [[("it", tag) for tag in tags] for tags in ("NNVNNPNPN", "NVNVNVNP", "PPP", "VP", "PV", "NV")]
    for model in (parser, again):
        for sentence, tree in zip(tests, model.predict(tests), strict=True):
            subjects = [head for head, relation in tree if relation == "nsubj"]
            assert len(set(subjects)) == len(subjects)
            if len(sentence) == 2:
                tags = [tag for _, tag in sentence]
                assert tags[[head for head, _ in tree].index(0)] == "V"
    assert again.predict(tests) == parser.predict(tests)
    shown = parser.trace([row[:2] for row in odd], [row[2:] for row in odd])
    assert shown is not None


def test_without_limits_there_are_none():
    good = rows("it/N/2/nsubj", "is/V/0/root", "so/A/2/xcomp", "./P/2/punct")
    columns = ["word", "pos", "head", "deprel"]
    parser = structron.Parser(columns=columns, templates=["s0.t|s1.t"], passes=1, runs=1, limit_relations=False).fit(
        [good] * 120
    )
    assert parser.single_ == []
    assert not parser.rootless_.any()


def test_one_subject_a_head_among_many_relations(tmp_path):
    """Sets of relations have 60 bits. A file from before bits were given out has those of the relations' numbers."""
    good = rows("it/N/2/nsubj", "is/V/0/root", "so/A/2/xcomp", "./P/2/punct")
    others = [rows("it/N/2/nsubj", "is/V/0/root", f"so/A/2/a{k:02}") for k in range(62)]
    few = {"templates": ["s0.t|s1.t", "s0.sl|s0.sr", "s1.t", "q0.t"], "passes": 1, "runs": 1}
    parser = structron.Parser(columns=["word", "pos", "head", "deprel"], **few).fit([good] * 200 + others)
    number = parser.relations_.index("nsubj")
    assert number >= 60
    assert parser.bits_.count(parser.bits_[number]) == 1
    path = tmp_path / "model.structron"
    parser.save(path)
    again = structron.load(path, task="parser")
    assert again.bits_ == parser.bits_
    tests = [[("it", tag) for tag in tags] for tags in ("NNVNNPNPN", "NVNVNVNP", "NNNV")]
    assert again.predict(tests) == parser.predict(tests)
    for tree in parser.predict(tests):
        subjects = [head for head, relation in tree if relation == "nsubj"]
        assert len(set(subjects)) == len(subjects)
    header, tensors = parser.contents()
    del header["learned"]["bits"]
    assert structron.Parser.from_contents(header, dict(tensors)).bits_ == usual_bits(len(parser.relations_))
    header["learned"]["bits"] = [2]
    with pytest.raises(ValueError, match="bits"):
        structron.Parser.from_contents(header, dict(tensors))
