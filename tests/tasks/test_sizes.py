"""More labels, relations, atoms or columns than 16 bits can number: wider numbers, or an error before training."""

from types import SimpleNamespace

import numpy as np
import pytest

import structron
from problems import chain_problem
from structron import EntityRecognizer, GraphParser, Parser, StructronError, Tagger
from structron.features.lexicon import NO_DEMANDS, Lexicon
from structron.features.names import Names
from structron.io import modelfile
from structron.io.tensors import check, number_kind
from structron.model.choices import ChoiceModel
from structron.model.compact import compacted
from structron.model.dictionary import Dictionary
from structron.search.beam.states import MOST_NAMED_ATOMS, compose
from structron.search.chain import candidates
from structron.tasks.tree_parser import MOST_RELATIONS
from structron.weights.dense import cell_tensors, cells_in, declared_cells
from structron.weights.mixing import AGREE, Changes, scales_by_change
from structron.weights.sparse import MOST_COLUMNS, Row
from structron.weights.store import SparseStore, rows_of
from toy import entity_documents

LABELS = 70_000
PAIRS = 3
"""The row of pairs with a label before."""
NUMBERS = [0, 4, *range(65_530, 65_540), 69_996]
NARROW, WIDE = (1 << 16) - 1, 1 << 16


def many_choices() -> ChoiceModel:
    """A model of 70,000 labels: each of some words has one of them, and a row has weights for all."""
    words = [f"word{'abcdefghijklm'[k]}" for k in range(len(NUMBERS))]
    batch = SimpleNamespace(types={}, ids={})
    found = SimpleNamespace(word_types=words, word_ids=np.arange(len(words)), batch=batch)
    lexicon = Lexicon.learn(found, np.array(NUMBERS), [], rare=1)
    dictionary = Dictionary(np.zeros(0, np.uint64), np.zeros(0, np.int32), np.ones((1, LABELS), bool))
    labels, rows = [f"label {k}" for k in range(LABELS)], np.repeat([PAIRS, LABELS + 1], [LABELS, 1])
    column, weight = np.append(np.arange(LABELS), LABELS - 1), np.arange(1, LABELS + 2, dtype=np.float32)
    key, names = np.array([5], np.uint64), Names.of(["w[0]=a"])
    return ChoiceModel(labels, True, lexicon, key, rows.astype(np.int32), column, weight, dictionary, names)


def test_labels_beyond_16_bits_are_kept(tmp_path):
    model = many_choices()
    modelfile.save(tmp_path / "m", model.header(), model.tensors())
    header, tensors = modelfile.load(tmp_path / "m")
    check(tensors, *ChoiceModel.declared(header))
    again = ChoiceModel.from_file(header, tensors, NO_DEMANDS)
    np.testing.assert_array_equal(again.lexicon.label, model.lexicon.label)
    assert {*NUMBERS} <= {*again.lexicon.label.tolist()}
    assert [again.weight_at(PAIRS, k) for k in NUMBERS] == [k + 1 for k in NUMBERS]
    assert again.weight_at(LABELS + 1, LABELS - 1) == LABELS + 1
    assert {tensors[name].dtype.name for name in ("weight_label", "weight_count", "entry_label")} == {"uint32"}


def test_small_files_keep_wide_numbers():
    """`compacted` counts rows anew."""
    model = many_choices()
    header = {"learned": {"model": model.header()}, "training": {}}
    _, tensors = compacted(header, model.tensors(), 0.0)
    row, column, weight = cells_in(tensors)
    np.testing.assert_array_equal(row, model.row)
    np.testing.assert_array_equal(column, model.column)
    np.testing.assert_allclose(weight, model.weight, rtol=0.1)


@pytest.mark.parametrize("columns", [5, 256, 257, NARROW, WIDE, WIDE + 1, LABELS])
def test_rows_of_any_length_come_back(columns):
    """The last column, and a row that has all of them; numbers have 16 bits where they fit."""
    row = np.concatenate([[0], np.full(columns, 2)])
    column, weight = np.append(columns - 1, np.arange(columns)), np.arange(1, columns + 2, dtype=np.float32)
    tensors = cell_tensors(row, column, weight, 3, columns)
    check(tensors, declared_cells("rows", columns), {"rows": 3})
    for found, expected in zip(cells_in(tensors), (row, column, weight), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert tensors["weight_count"].dtype == (np.uint16 if columns <= NARROW else np.uint32)
    assert tensors["weight_label"].dtype == (
        np.uint8 if columns <= 256 else np.uint16 if columns <= WIDE else np.uint32
    )


def test_vectors_are_as_long_as_a_head_can_tell():
    keys = np.array([1, 2], np.uint64)
    place, column = np.repeat([0, 1], [MOST_COLUMNS, 1]), np.append(np.arange(MOST_COLUMNS), MOST_COLUMNS - 1)
    weight = np.arange(1, MOST_COLUMNS + 2, dtype=np.float32)
    store = SparseStore(MOST_COLUMNS, np.zeros(0, np.uint64))
    store.load(keys, Row(place, column, weight), 0)
    found = rows_of(store.lean(0, 1.0, 0.0)[1])
    for own, expected in zip(found, (place, column, weight), strict=True):
        np.testing.assert_array_equal(own, expected)


def test_more_actions_than_a_head_can_tell():
    many = MOST_COLUMNS + 1
    learner = structron.BeamLearner(chain_problem(labels=many), beam=2, passes=1, runs=1)
    says = f"^{many} columns of weights, one for each label or action; expected at most {MOST_COLUMNS} under a beam$"
    with pytest.raises(StructronError, match=says):
        learner.fit([([[1], [2]], [0, many - 1])])
    assert not hasattr(learner, "model_")


def test_more_atoms_than_can_be_numbered():
    names = {f"a{k}": 2 for k in range(MOST_NAMED_ATOMS + 1)}
    last = f"a{MOST_NAMED_ATOMS - 1}"
    with pytest.raises(StructronError, match=f"^atoms: {len(names)}; expected at most {MOST_NAMED_ATOMS}$"):
        compose(names, [last])
    del names[f"a{MOST_NAMED_ATOMS}"]
    features = compose(names, [last]).features
    assert features.atom[0].tolist() == [MOST_NAMED_ATOMS - 1, *[MOST_NAMED_ATOMS] * 3]
    assert features.signature.tolist() == [MOST_NAMED_ATOMS - 1]


@pytest.mark.parametrize("kind", [Parser, GraphParser])
def test_more_relations_than_a_file_can_hold(kind):
    count = MOST_RELATIONS + 1
    trees = [[("a", "X", "0", "root"), ("b", "X", "1", f"r{k}")] for k in range(count)]
    with pytest.raises(StructronError, match=rf"^training data: \d+ relations; expected at most {MOST_RELATIONS}$"):
        kind(passes=1).fit(trees)


def test_labellings_number_labels_with_16_bits(monkeypatch):
    sentences = [sentence for document in entity_documents(12, 5) for sentence in document]
    tagger = Tagger(passes=1, runs=1).fit([[(word, pos) for word, pos, _ in rows] for rows in sentences])
    words, labels = [[(row[0],) for row in sentences[0]]], len(tagger.model_.labels)
    monkeypatch.setattr(candidates, "MOST_LABELS", labels)
    assert len(tagger.nbest(words, 2)[0]) == 2
    monkeypatch.setattr(candidates, "MOST_LABELS", labels - 1)
    says = f"labels: {labels}; expected at most {labels - 1} for n-best labellings"
    with pytest.raises(StructronError, match=says):
        tagger.nbest(words, 2)
    monkeypatch.setattr(candidates, "MOST_LABELS", 2)
    with pytest.raises(StructronError, match=r"^labels: \d+; expected at most 2 for n-best labellings$"):
        EntityRecognizer(passes=1).fit(sentences)


def test_names_with_many_heads():
    heads = [f"t{k}=" for k in range(WIDE + 2)]
    number = np.array([0, WIDE + 1, WIDE], number_kind(len(heads)))
    names = Names(heads, number, np.array([1, 1, 1], np.uint32), "abc")
    joined = names + Names.of(["plain"])
    assert joined.all() == ["t0=a", f"t{WIDE + 1}=b", f"t{WIDE}=c", "plain"]
    check(joined.tensors(), Names.declared("features", joined.heads), {"features": 4})
    assert Names.of(["plain"]).head.dtype == np.uint16


def test_more_shards_than_16_bits_count():
    """As many shards as 65,536 have changed the same weight."""
    one = Changes(np.ones(1, np.uint64), np.zeros(1, np.int32), *(np.ones(1, kind) for kind in "ffd"))
    (first, *_), few = scales_by_change([one] * WIDE), scales_by_change([one] * 2)
    assert first[0] == pytest.approx(WIDE / WIDE**AGREE)
    assert few[0][0] == pytest.approx(2 / 2**AGREE)
