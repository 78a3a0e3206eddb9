"""The segment chunker: against enumeration of all segmentations, and from labels to chunks and back."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_segments import BASES, random_data, segmentations, slow_score, weights_by_name
from structron.errors import StructronError
from structron.model.beam import BeamModel
from structron.model.encoded import EncodedModel
from structron.tasks.segments.chunker import SegmentChunker
from structron.tasks.segments.problem import Segments, make_problem, segments_of
from structron.text import schemes
from structron.weights.sparse import Row
from toy import chunk_rows

TOY = [sentence for sentence in chunk_rows(150, 3) if sentence]
TRAIN, TEST = TOY[:110], TOY[110:]
SMALL = {"passes": 2, "templates": ["w[0]", "suffix2[0]", "pos[0]"]}
KINDS = ["NP", "VP", ""]


@pytest.fixture(scope="module")
def chunker() -> SegmentChunker:
    return SegmentChunker(**SMALL).fit(TRAIN)


# -- labels and chunks ---------------------------------------------------------------------------------------------

sentences = st.lists(st.tuples(st.sampled_from(["O", *KINDS]), st.integers(1, 4)), max_size=5).map(
    lambda found: [(kind, 1 if kind == "O" else length) for kind, length in found]
)


def chunks_of(segments: list[tuple[str, int]]) -> list[tuple[str, int, int]]:
    ends = list(itertools.accumulate(length for _, length in segments))
    return [(kind, end - n, end) for (kind, n), end in zip(segments, ends, strict=True) if kind != "O"]


@given(st.lists(sentences, min_size=1, max_size=3), st.sampled_from(["iob1", "iob2", "iobes", "bilou"]))
def test_segments_of_labels_and_back(given_segments, scheme):
    found = Segments.of(given_segments)
    for segments in given_segments:
        chunks, length = chunks_of(segments), sum(n for _, n in segments)
        labels = schemes.encode(chunks, length, scheme)
        assert segments_of(labels) == segments
        actions = np.array(found.encode(segments), np.int64)
        assert [found.bio[k] for k in found.token_labels(actions)] == schemes.encode(chunks, length, "iob2")
        assert found.lengths(actions).tolist() == [n for _, n in segments]


def test_lengths_are_learned_for_each_label():
    found = Segments.of([[("NP", 3), ("O", 1), ("VP", 1)], [("NP", 2)]])
    assert found == Segments(["O", "NP", "VP"], [1, 3, 1])
    assert found.actions == [(0, 1), (1, 1), (2, 1), (1, 2), (1, 3)]
    assert make_problem(found, (1, 1)).actions == ["O:1", "NP:1", "VP:1", "NP:2", "NP:3"]
    assert found.bio == ["O", "B-NP", "I-NP", "B-VP", "I-VP"]


def test_chunks_that_are_too_long_are_made_of_pieces():
    found = Segments.of([[("NP", 5), ("O", 1)]], longest=2)
    assert found.longest == [1, 2]
    assert [found.actions[k] for k in found.encode([("NP", 5), ("O", 1)])] == [(1, 2), (1, 2), (1, 1), (0, 1)]


def test_the_problem_is_sound():
    """Uncompiled: all that compiled code trusts."""
    found = Segments(["O", "NP", "VP"], [1, 3, 2])
    problem = make_problem(found, (2, 2))
    gold = found.encode([("NP", 3), ("O", 1), ("VP", 2)])
    problem.check(np.zeros((6, 1), np.int64), gold)
    problem.check(np.zeros((1, 1), np.int64), found.encode([("VP", 1)]))
    with pytest.raises(StructronError, match="correct action"):
        problem.check(np.zeros((2, 1), np.int64), gold)


# -- search --------------------------------------------------------------------------------------------------------


def with_random_weights(model: EncodedModel, rng: np.random.Generator) -> EncodedModel:
    old = model.base
    weight = rng.integers(-4, 5, len(old.rows.weight)).astype(np.float32)
    base = BeamModel(old.problem, old.keys, Row(old.rows.place, old.rows.column, weight), old.anchored_keys)
    return EncodedModel(model.encoder, base, model.names)


@pytest.mark.parametrize(
    ("seed", "shape"),
    [(0, {}), (1, {}), (2, {"positions": 1, "whole_chunks": 0}), (3, {"whole_chunks": 5, "unseen_chunks": True})],
)
def test_exact_search_is_the_best_of_all_segmentations(seed, shape):
    rng = np.random.default_rng(seed)
    data = random_data(rng, [5, 4, 3, 6, 5, 1, 2, 6])
    options = {"templates": list(BASES), "cutoff": 0, "passes": 2, "average": "none", "update": "standard"}
    chunker = SegmentChunker(beam=None, alma=None, **options, **shape).fit(data)
    model = chunker.model_ = with_random_weights(chunker.model_, rng)
    given_rows = [[row[:2] for row in sentence] for sentence in random_data(rng, [1, 2, 4, 5])]
    prepared, segments = chunker.extractor_.prepare(given_rows), model.encoder.segments
    out, scores = model.decode(prepared, None, True)
    labels, weights = np.array(model.labels)[out].tolist(), weights_by_name(model)
    for rows, score in zip(given_rows, scores.tolist(), strict=True):
        mine, labels = labels[: len(rows)], labels[len(rows) :]
        every = {tuple(p): slow_score(rows, p, model, weights) for p in segmentations(len(rows), segments)}
        found = tuple((segments.labels.index(kind), n) for kind, n in segments_of(mine))
        assert score == pytest.approx(max(every.values()))
        assert every[found] == pytest.approx(score)
    wide = model.decode(prepared, 5000, True)
    np.testing.assert_allclose(wide[1], scores, rtol=1e-6)
    narrow = model.decode(prepared, 1, True)
    assert (narrow[1] <= scores + 1e-4).all()


def test_whole_sequences_of_no_chunk():
    """Every sequence of up to three words has a feature, not only those that are a chunk."""
    rows = [[("a", "B-X"), ("b", "I-X"), ("c", "O"), ("d", "B-X")]]
    for unseen, expected in ((False, {"a|b", "c", "d"}), (True, {"a", "b", "c", "d", "a|b", "b|c", "c|d"})):
        options = {"templates": ["w[0]"], "cutoff": 0, "runs": 1, "passes": 1, "positions": 4, "whole_chunks": 2}
        chunker = SegmentChunker(columns=["word", "chunk"], unseen_chunks=unseen, **options).fit(rows)
        found = chunker.learner_.data.numbered
        keys = found.names(np.arange(len(found.keys)), None, chunker.learner_.data.names).all()
        assert {name.partition("=")[2] for name in keys if name.startswith("whole")} == expected
        assert {name for name in keys if name.startswith("at4")} == {"at4 w[0]=d"}


def test_whole_sequences_and_places_are_learned(chunker):
    kinds = {name.split(" ")[0] for name in chunker.model_.names.all()}
    last = f"at{chunker.model_.encoder.shape.positions}"
    assert {"before", "after", "last", "pair", "triple", "at1", last, "whole1", "whole2"} <= kinds


# -- training and use ----------------------------------------------------------------------------------------------


def test_it_learns(chunker):
    assert chunker.score(TEST) > 85
    labels = chunker.predict([[row[:2] for row in s] for s in TEST])
    assert schemes.count_illegal(labels, "iob2") == 0
    for found, sentence in zip(chunker.predict_segments(TEST), labels, strict=True):
        assert schemes.encode([(kind, a, b) for a, b, kind in found], len(sentence), "iob2") == sentence


@pytest.mark.parametrize(("update", "alma"), [("standard", None), ("max-violation", None), ("laso", 0.9)])
def test_without_a_beam(update, alma):
    exact = SegmentChunker(beam=None, update=update, alma=alma, **SMALL).fit(TRAIN[:60])
    assert exact.score(TRAIN[:60]) > 80
    assert "beam-inf" in exact.signature_


def test_labels_of_any_scheme():
    ends = [
        [[*row[:2], label] for row, label in zip(s, schemes.convert([r[2] for r in s], "iob2", "iobes"), strict=True)]
        for s in TRAIN[:40]
    ]
    first, second = (SegmentChunker(**SMALL).fit(data) for data in (TRAIN[:40], ends))
    assert (first.scheme_, second.scheme_) == ("iob2", "iobes")
    assert first.predict(TEST) == second.predict(TEST)


def test_one_long_chunk_does_not_make_all_slow():
    """A label that runs on by mistake is learned in pieces."""
    long = [("word", "NN", "B-NP"), *[("word", "NN", "I-NP")] * 99]
    model = SegmentChunker(**SMALL).fit([*TRAIN, long])
    assert max(model.model_.encoder.segments.longest) == 50
    assert "1 chunks of more than 50 words, split for training" in model.notes_


def test_longest_is_a_limit():
    learned = SegmentChunker(**SMALL).fit(TRAIN)
    short = SegmentChunker(longest=1, **SMALL).fit(TRAIN)
    assert max(learned.model_.encoder.segments.longest) > 1
    assert set(short.model_.encoder.segments.longest) == {1}
    assert {label[0] for labels in short.predict(TEST) for label in labels} <= {"B", "O"}
    assert short.notes_[0].endswith("chunks of more than 1 words, split for training")


def test_labels_that_training_does_not_have(chunker):
    other = [[[*row[:2], "B-XP"] for row in sentence] for sentence in TEST]
    assert chunker.score(other) == 0
    assert SegmentChunker(**SMALL).fit(TRAIN[:30], dev=other).history_[0]["dev"] == 0


def test_templates_are_over_tokens_alone():
    with pytest.raises(
        StructronError, match=r"templates: .*&y: uses previous labels; expected templates only over tokens"
    ):
        SegmentChunker(templates=["w[0]", "w[0]&y"]).fit(TRAIN[:5])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["NN", "B-NP"], "label 'NN' is not a chunk label"),
        (["O", "O"], "only one label"),
        (["B-O", "O"], "chunks of type O"),
    ],
    ids=["tags", "outside", "name"],
)
def test_labels_that_cannot_be(labels, message):
    with pytest.raises(StructronError, match=message):
        SegmentChunker(**SMALL).fit([[["a", "D", labels[0]], ["b", "N", labels[1]]]])
