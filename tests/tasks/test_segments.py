"""The segment chunker: against enumeration of all segmentations, from labels to chunks and back, to files and back."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structron.tasks.segments.model import SHAPE, SegmentModel

import structron
from brute_stretches import BASES, WORDS, names
from structron import schemes
from structron.cli import main
from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.model.beam import BeamModel
from structron.tasks.segments.chunker import SegmentChunker
from structron.tasks.segments.problem import Segments, make_problem, segments_of
from structron.update.violation import RULES
from structron.weights.sparse import Row

TOY = [[list(row) for row in zip(s.words, s.pos, s.chunks, strict=True)] for s in toy_english(150, seed=3) if s.words]
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


def segmentations(n: int, segments: Segments):
    """All of them, as lists of (label, length)."""
    if n == 0:
        yield []
    for y, most in enumerate(segments.longest):
        for length in range(1, min(n, most) + 1):
            for rest in segmentations(n - length, segments):
                yield [(y, length), *rest]


def slow_score(sentence: list[list[str]], path: list[tuple[int, int]], model: SegmentModel) -> float:
    """The sum of the weights of all features of a segmentation, looked up by name."""
    weights = weights_by_name(model)
    before, place, total = "<s>", 0, 0.0
    labels, positions = model.segments.labels, model.shape.positions
    for y, length in path:
        last = place + length - 1
        spans = [("before", range(place - 1, place)), ("after", range(last + 1, last + 2)), ("last", [last])]
        spans += [(f"at{min(i, positions - 1) + 1}", [place + i]) for i in range(length)]
        spans += [("pair", range(t - 1, t + 1)) for t in range(place + 1, last + 1)]
        spans += [("triple", range(t - 2, t + 1)) for t in range(place + 2, last + 1)]
        spans += [(f"whole{length}", range(place, place + length))]
        found = [name for kind, span in spans for name in names(sentence, kind, span)]
        found += [f"len={length}", f"y[-1]={before}", f"y[-1]|len={before}|{length}"]
        total += sum(weights.get((name, y), 0.0) for name in found)
        before, place = labels[y], place + length
    return total


def weights_by_name(model: SegmentModel) -> dict[tuple[str, int], float]:
    spell = {"y[-1]": ["<s>", *model.segments.labels]}
    texts = model.names.all() + [model.base.problem.composition.describe(int(k), spell) for k in model.block_keys]
    rows = model.base.rows
    return {
        (texts[p], y): w
        for p, y, w in zip(rows.place.tolist(), rows.column.tolist(), rows.weight.tolist(), strict=True)
    }


def with_random_weights(model: SegmentModel, rng: np.random.Generator) -> SegmentModel:
    rows = model.base.rows
    weight = rng.integers(-4, 5, len(rows.weight)).astype(np.float32)
    base = BeamModel(model.base.problem, model.block_keys, Row(rows.place, rows.column, weight), model.keys)
    return SegmentModel(model.segments, model.shape, base, model.names)


def random_data(rng: np.random.Generator, sizes: list[int]) -> list[list[list[str]]]:
    """Sentences of random words, tags and chunks of at most three words."""
    found = []
    for n in sizes:
        labels: list[str] = []
        while len(labels) < n:
            length = int(rng.integers(1, min(3, n - len(labels)) + 1))
            kind = str(rng.choice(["O", "NP", "VP"]))
            labels += ["O"] if kind == "O" else [f"B-{kind}"] + [f"I-{kind}"] * (length - 1)
        found.append([[str(rng.choice(WORDS)), str(rng.choice(list("DNV"))), label] for label in labels])
    return found


@pytest.mark.parametrize("seed", range(4))
def test_exact_search_is_the_best_of_all_segmentations(seed):
    rng = np.random.default_rng(seed)
    data = random_data(rng, [5, 4, 3, 6, 5, 1, 2, 6])
    options = {"templates": list(BASES), "cutoff": 0, "passes": 2, "average": "none", "update": "standard"}
    chunker = SegmentChunker(beam=None, alma=None, **options).fit(data)
    model = chunker.model_ = with_random_weights(chunker.model_, rng)
    given_rows = [[row[:2] for row in sentence] for sentence in random_data(rng, [1, 2, 4, 5])]
    out, scores, _ = model.decode(chunker.extractor_.prepare(given_rows), beam=None)
    labels = np.array(model.labels)[out].tolist()
    for rows, score in zip(given_rows, scores.tolist(), strict=True):
        mine, labels = labels[: len(rows)], labels[len(rows) :]
        every = {tuple(p): slow_score(rows, p, model) for p in segmentations(len(rows), model.segments)}
        found = tuple((model.segments.labels.index(kind), n) for kind, n in segments_of(mine))
        assert score == pytest.approx(max(every.values()))
        assert every[found] == pytest.approx(score)
    wide = model.decode(chunker.extractor_.prepare(given_rows), beam=5000)
    np.testing.assert_allclose(wide[1], scores, rtol=1e-6)
    narrow = model.decode(chunker.extractor_.prepare(given_rows), beam=1)
    assert (narrow[1] <= scores + 1e-4).all()


def test_whole_sequences_and_places_are_learned(chunker):
    kinds = {name.split(" ")[0] for name in chunker.model_.names.all()}
    assert {"before", "after", "last", "pair", "triple", "at1", f"at{SHAPE.positions}", "whole1", "whole2"} <= kinds


# -- training and use ----------------------------------------------------------------------------------------------


def test_it_learns(chunker):
    assert chunker.score(TEST) > 85
    assert chunker.evaluate(TEST).f1 == chunker.score(TEST)
    labels = chunker.predict([[row[:2] for row in s] for s in TEST])
    assert [list(map(len, column)) for column in chunker.predict_columns(TEST)] == [[len(s)] for s in TEST]
    assert schemes.count_illegal(labels, "iob2") == 0
    assert labels == chunker.predict(TEST, jobs=2)
    for found, sentence in zip(chunker.predict_segments(TEST), labels, strict=True):
        assert schemes.encode([(kind, a, b) for a, b, kind in found], len(sentence), "iob2") == sentence


@pytest.mark.parametrize("update", sorted(RULES))
@pytest.mark.parametrize("alma", [None, 0.9])
def test_every_rule(update, alma):
    assert SegmentChunker(update=update, alma=alma, **SMALL).fit(TRAIN[:60]).score(TRAIN[:60]) > 80


@pytest.mark.parametrize(("update", "alma"), [("standard", None), ("laso", 0.9)])
def test_without_a_beam(update, alma):
    exact = SegmentChunker(beam=None, update=update, alma=alma, **SMALL).fit(TRAIN[:60])
    assert exact.score(TRAIN[:60]) > 80
    assert "beam-inf" in exact.signature_


def test_the_same_again_and_the_mean_of_runs(chunker):
    assert_same(SegmentChunker(**SMALL).fit(TRAIN).model_, chunker.model_)
    both = SegmentChunker(runs=2, **SMALL).fit(TRAIN)
    assert both.score(TEST) > 85
    assert "runs 2" in both.signature_


def assert_same(first: SegmentModel, second: SegmentModel) -> None:
    found, expected = first.tensors(), second.tensors()
    assert found.keys() == expected.keys()
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], name)


def test_labels_of_any_scheme():
    ends = [
        [[*row[:2], label] for row, label in zip(s, schemes.convert([r[2] for r in s], "iob2", "iobes"), strict=True)]
        for s in TRAIN[:40]
    ]
    first, second = (SegmentChunker(**SMALL).fit(data) for data in (TRAIN[:40], ends))
    assert (first.scheme_, second.scheme_) == ("iob2", "iobes")
    assert first.predict(TEST) == second.predict(TEST)


def test_short_sentences_and_none(chunker):
    assert chunker.predict([]) == []
    assert chunker.predict([[]]) == [[]]
    assert [len(labels) for labels in chunker.predict([[], TEST[0][:1], [], TEST[0]])] == [0, 1, 0, len(TEST[0])]
    assert chunker.predict_segments([[]]) == [[]]
    one = SegmentChunker(**SMALL).fit([[["dog", "NN", "B-NP"]], [["barks", "VB", "B-VP"]]])
    assert one.predict([[["dog", "NN"]]]) == [["B-NP"]]
    assert one.model_.segments.longest == [1, 1, 1]


def test_longest_is_a_limit():
    learned = SegmentChunker(**SMALL).fit(TRAIN)
    short = SegmentChunker(longest=1, **SMALL).fit(TRAIN)
    assert max(learned.model_.segments.longest) > 1
    assert set(short.model_.segments.longest) == {1}
    assert {label[0] for labels in short.predict(TEST) for label in labels} <= {"B", "O"}
    assert short.notes_[0].endswith("chunks of more than 1 words, learned from in pieces")


def test_labels_that_training_does_not_have(chunker):
    other = [[[*row[:2], "B-XP"] for row in sentence] for sentence in TEST]
    assert chunker.score(other) == 0
    assert SegmentChunker(**SMALL).fit(TRAIN[:30], dev=other).history_[0]["dev"] == 0


def test_gazetteers_and_atoms(tmp_path):
    (tmp_path / "names.txt").write_text("the dog\n")
    options = {"gazetteers": {"N": tmp_path / "names.txt"}, "atoms": {"size": lambda s, i: str(len(s[i][0]))}}
    chunker = SegmentChunker(**SMALL, **options).fit(TRAIN[:40])
    assert {"gaz_N[0]", "size[0]"} <= {str(t) for t in chunker.extractor_.templates}
    chunker.save(tmp_path / "m")
    with pytest.raises(StructronError, match="give the functions of its atoms again"):
        structron.load(tmp_path / "m")
    again = structron.load(tmp_path / "m", atoms=options["atoms"])
    assert again.predict(TEST) == chunker.predict(TEST)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alma": 0}, "alma: 0; expected a number above 0"),
        ({"alma": 1.5}, "alma: 1.5; expected a number above 0"),
        ({"longest": 0}, "longest: 0; expected at least 1"),
        ({"average": "voted"}, "unknown average 'voted'"),
        ({"beam": 0}, "beam: 0; expected at least 1"),
        ({"update": "eager"}, "unknown update 'eager'"),
        ({"cutoff": -1}, "cutoff: -1; expected 0 or more"),
        ({"templates": ["w[0]", "w[0]&y"]}, "templates: .*&y: labels before; expected templates over tokens alone"),
        ({"templates": ["tag[0]"]}, "unknown atom 'tag'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_parameters_that_cannot_be(options, message):
    with pytest.raises(StructronError, match=message):
        SegmentChunker(**{**SMALL, **options}).fit(TRAIN[:5])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["NN", "B-NP"], "label 'NN' is no chunk label"),
        (["O", "O"], "one label only"),
        (["B-O", "O"], "chunks of type O"),
    ],
    ids=["tags", "outside", "name"],
)
def test_labels_that_cannot_be(labels, message):
    with pytest.raises(StructronError, match=message):
        SegmentChunker(**SMALL).fit([[["a", "D", labels[0]], ["b", "N", labels[1]]]])


def test_what_only_a_chunker_can(chunker):
    with pytest.raises(StructronError, match="no margins"):
        chunker.predict_with_margins(TEST)
    with pytest.raises(StructronError, match="no forced labels"):
        chunker.predict(TEST[:1], forced=[[None] * len(TEST[0])])
    with pytest.raises(StructronError, match="cannot be trained further"):
        chunker.partial_fit(TRAIN)
    with pytest.raises(StructronError, match="not trained yet"):
        SegmentChunker().predict(TEST)


def test_inspect(chunker):
    weights = chunker.inspect_weights("NP", top=5)
    assert list(weights) == ["NP"]
    assert len(weights["NP"]) == 5
    sizes = [abs(weight) for _, weight in weights["NP"]]
    assert sizes == sorted(sizes, reverse=True)
    assert list(chunker.inspect_weights()) == chunker.model_.segments.labels
    with pytest.raises(StructronError, match="unknown label 'XP'"):
        chunker.inspect_weights("XP")


# -- files ---------------------------------------------------------------------------------------------------------


def test_save_and_load(chunker, tmp_path):
    chunker.save(tmp_path / "m.structron")
    again = structron.load(tmp_path / "m.structron")
    assert isinstance(again, SegmentChunker)
    assert again.predict(TEST) == chunker.predict(TEST)
    assert again.inspect_weights(top=3) == chunker.inspect_weights(top=3)
    assert (again.signature_, again.alma, again.beam) == (chunker.signature_, 0.9, 5)
    again.save(tmp_path / "n.structron")
    assert (tmp_path / "m.structron").read_bytes() == (tmp_path / "n.structron").read_bytes()
    again.beam = 1
    assert len(again.predict(TEST)) == len(TEST)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ["O"]},
        {"longest": [1]},
        {"stretches": [0, 1]},
        {"stretches": 3},
        {"name_heads": []},
        {"labels": None},
    ],
    ids=lambda change: "-".join(f"{k}={v}" for k, v in change.items()),
)
def test_damaged_files(chunker, change, tmp_path):
    from structron.io import modelfile
    from structron.tasks.storage import header_of, tensors_of

    header = header_of(chunker, chunker.model_) | change
    modelfile.save(tmp_path / "m", header, tensors_of(chunker, chunker.model_))
    with pytest.raises(StructronError, match="damaged model file"):
        structron.load(tmp_path / "m")


@pytest.mark.parametrize("dev", [None, TEST], ids=["last", "best"])
def test_a_resumed_run_ends_as_an_unbroken_one(dev, tmp_path):
    options = SMALL | {"passes": 3}
    whole = SegmentChunker(**options).fit(TRAIN[:50], dev)
    SegmentChunker(**(options | {"passes": 2})).fit(TRAIN[:50], dev, checkpoint=tmp_path / "c")
    resumed = SegmentChunker(**options).fit(TRAIN[:50], dev, checkpoint=tmp_path / "c", resume=True)
    assert_same(resumed.model_, whole.model_)
    with pytest.raises(StructronError, match="other data or options"):
        SegmentChunker(**(options | {"alma": 0.5})).fit(TRAIN[:50], dev, checkpoint=tmp_path / "c", resume=True)


def test_command_line(tmp_path, capsys):
    lines = ["\n".join(" ".join(row) for row in sentence) + "\n" for sentence in TOY]
    (tmp_path / "train.conll").write_text("\n".join(lines[:110]))
    (tmp_path / "test.conll").write_text("\n".join(lines[110:]))
    model, test = str(tmp_path / "m.structron"), str(tmp_path / "test.conll")
    assert main(["train", "segments", "--train", str(tmp_path / "train.conll"), "--model", model, "--passes", "2"]) == 0
    assert "| segments | update laso-alma-0.9 | search beam-5-dp |" in capsys.readouterr().err
    assert main(["evaluate", model, test, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert (scores["task"], scores["metric"]) == ("segments", "f1")
    assert scores["f1"] > 85
    assert main(["predict", model, test, "--beam", "inf"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines() if line] == (
        [row[:2] for sentence in TEST for row in sentence]
    )
    assert main(["inspect", model, "--label", "NP", "--top", "2"]) == 0
    assert "\nNP\n" in capsys.readouterr().out
    assert main(["predict", model, test, "--confidence"]) == 2
    assert "no margins" in capsys.readouterr().err


@pytest.mark.corpora
def test_real_chunks(corpora):
    from structron.data.corpora import find
    from structron.io import read

    sentences = [s.rows for s in itertools.islice(read(find(corpora, "conll2000", "train"), "conll"), 500)]
    chunker = SegmentChunker(passes=2, columns=["word", "pos", "chunk"]).fit(sentences[:400])
    assert chunker.score(sentences[400:]) > 80
