"""Labels chosen among those seen with a word: when, what does not go with it, explanations, files that do not fit."""

import math

import pytest

import structron
from estimators import CASES, fitted
from structron import StructronError
from structron.io import modelfile
from structron.tasks.chain.explain import START, contributions
from structron.tasks.chain.labeler import MAX_LABELS_OF_ALL
from toy import chunk_rows

SEEN = CASES["tagger, seen"]
MANY = [[(chr(0x4E00 + j), f"L{j}") for j in (k, 3 * k % 120)] for k in range(120)]
"""More labels than are all looked at, a word for each."""


PIECES = [
    [("a", "_"), ("p", "X=1|Y=1")], [("a", "_"), ("q", "X=1|Y=2")], [("b", "_"), ("p", "X=2|Y=1")],
    [("c", "_"), ("p", "X=2|Y=1")], [("c", "_"), ("q", "X=2|Y=2")],
]  # fmt: skip
"""What stands before says X, the word says Y; b never stands before q."""


def small(**more) -> structron.Tagger:
    return structron.Tagger(**{"templates": ["w[0]", "w[-1]"], "passes": 2, "runs": 1, "cutoff": 0} | more)


def test_many_labels_are_chosen_among_those_seen():
    model = small().fit(MANY)
    assert len(model.model_.labels) > MAX_LABELS_OF_ALL
    assert model.model_.kind == "choices"
    assert " | search choices-1 | " in model.signature_
    assert model.score(MANY) > 95
    assert small(among="all").fit(MANY).model_.kind == "chain"
    assert small().fit(SEEN.train).model_.kind == "chain"


@pytest.mark.parametrize(
    ("against", "given"),
    [
        ("beam", {"beam": 3, "update": "standard"}),
        ("margin", {"margin": 2.0}),
        ("swvp", {"swvp": "b-wm"}),
        ("average", {"average": "voted"}),
        ("tag_dictionary", {"tag_dictionary": 1}),
        ("forbid", {"forbid": [("L1", "L2")]}),
        ("templates", {"templates": ["w[0]", "w[0]&y"]}),
        ("templates", {"templates": ["w[0]", "y[-3]"]}),
        ("non_local", {"non_local": [lambda document, labels: {"all": 1.0}]}),
    ],
)
def test_what_does_not_go_with_it(against, given):
    """It is refused; not asked for, all labels are looked at, however many."""
    estimator = small(**given | {"among": "seen"})
    with pytest.raises(
        StructronError, match=f"seen cannot be combined with {against}; expected exact search without {against}, or"
    ):
        estimator.fit(MANY)
    if against == "tag_dictionary":
        assert small(**given).fit(MANY).model_.kind == "chain"


def test_chunks_stay_in_a_legal_order():
    rows = [[(word, f"{label}{k % 60}" if label != "O" else label) for word, _, label in sentence]
            for k, sentence in enumerate(chunk_rows(180, 2))]  # fmt: skip
    model = structron.Chunker(templates=["w[0]"], passes=1, runs=1).fit(rows)
    assert len(model.model_.labels) > MAX_LABELS_OF_ALL
    assert model.model_.kind == "chain"
    with pytest.raises(StructronError, match="among: seen cannot be combined with constrain; expected"):
        structron.Chunker(among="seen").fit(rows)
    assert structron.Chunker(constrain=False, templates=["w[0]"], passes=1).fit(rows).model_.kind == "choices"


def test_scikit_learns_dress_has_no_words():
    pytest.importorskip("sklearn")
    from structron.sklearn import SequenceLabeler

    X = [[{"w": word} for word, _ in sentence] for sentence in MANY]
    y = [[label for _, label in sentence] for sentence in MANY]
    assert SequenceLabeler(passes=3).fit(X, y).score(X, y) > 0.9


def test_unknown_columns_are_refused():
    with pytest.raises(StructronError, match="unknown column to look up 'colour'; expected one of: "):
        small(among="seen", given=["colour"]).fit(SEEN.train)


def test_margins_and_forced_labels():
    model = fitted("tagger, seen")
    labels, margins = model.predict_with_margins(SEEN.inputs)
    assert labels == model.predict(SEEN.inputs)
    every = model.nbest(SEEN.inputs, 50)
    for own, sure, found in zip(labels, margins, every, strict=True):
        for i, margin in enumerate(sure):
            others = [score for y, score in found if y[i] != own[i]]
            assert margin >= 0
            assert not others or margin == pytest.approx(found[0][1] - others[0], abs=1e-3)
    forced = [[None, "UH", *[None] * (len(words) - 2)] for words in SEEN.inputs]
    with pytest.raises(StructronError, match="unknown forced label 'UH'"):
        model.predict(SEEN.inputs, forced=forced)
    forced = [["NN" if label is not None else None for label in own] for own in forced]
    assert all(own[1] == "NN" for own in model.predict(SEEN.inputs, forced=forced))


def test_values_of_labels_are_learned_on_their_own(tmp_path):
    """What b was seen with tells the X of q, which b never stood before. A feature has the weights of all values."""
    model = small(among="seen", rare=1, passes=10).fit(PIECES)
    assert model.model_.split
    assert model.predict([["b", "q"], ["a", "q"], ["c", "q"]]) == [["_", "X=2|Y=2"], ["_", "X=1|Y=2"], ["_", "X=2|Y=2"]]
    model.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert again.model_.split
    assert again.predict_with_margins([["b", "q"]]) == model.predict_with_margins([["b", "q"]])
    learned, label = model.model_, "X=2|Y=2"
    features = {own.feature: own.weight for own in model.inspect(label, top=100).labels[label]}
    number, y = learned.names.all().index("w[-1]=a"), learned.labels.index(label)
    x, other = learned.kinds.piece[learned.kinds.begin[y] : learned.kinds.begin[y + 1]].tolist()
    row = dict(zip(learned.column[learned.row == learned.fixed + number].tolist(),
                   learned.weight[learned.row == learned.fixed + number].tolist(), strict=True))  # fmt: skip
    assert row[x] < 0
    assert features["w[-1]=a"] == pytest.approx(row[x] + row.get(other, 0.0))


def test_a_file_of_whole_labels_stays_one(tmp_path):
    """Labels are split where the file says so: earlier files do not."""
    model = fitted("tagger, seen")
    labels = {label: f"{label}|x" for label in model.model_.labels}
    model.save(tmp_path / "m")
    header, tensors = modelfile.load(tmp_path / "m")
    header["learned"]["model"] |= {"labels": list(labels.values())}
    assert header["learned"]["model"].pop("split")
    modelfile.save(tmp_path / "whole", header, tensors)
    found = structron.load(tmp_path / "whole").predict(SEEN.inputs)
    assert found == [[labels[y] for y in own] for own in model.predict(SEEN.inputs)]


@pytest.mark.parametrize("split", [False, True])
def test_explanations_add_up(split):
    """To the margin; the runner-up is the best labelling with another label, found by forcing each of them."""
    model = small(among="seen", rare=1, passes=1).fit(PIECES) if split else fitted("tagger, seen")
    chosen = model.model_
    for sentence in [[("b",), ("q",)], [("a",), ("p",)]] if split else SEEN.inputs[:6]:
        (labels,), (margins,) = model.predict_with_margins([sentence])
        found = model.explain(sentence, top=10**6)
        assert [d.word for d in found] == [row[0] for row in sentence]
        assert [d.label for d in found] == labels
        assert [d.margin for d in found] == pytest.approx(margins, abs=1e-3)
        prepared = model.extractor_.prepare([sentence])
        first, choice = chosen.lexicon.choices(prepared, slice(0, len(sentence)))
        for i, d in enumerate(found):
            others = {chosen.labels[y] for y in choice[first[i] : first[i + 1]]} - {d.label}
            assert (d.runner_up in others) if others else (d.runner_up is None and d.margin == math.inf)
            if others:
                assert sum(c.weight for c in d.because) == pytest.approx(d.margin, abs=1e-3)
    assert any(d.runner_up for d in found)


def test_contributions_are_the_weights_of_the_model():
    model = fitted("tagger, seen").model_
    weights = {}
    names = [f"y[-1]={label}" for label in (START, *model.labels)] + model.names.all()
    for row, y, weight in zip(model.row.tolist(), model.column.tolist(), model.weight.tolist(), strict=True):
        weights[names[row], y] = weight
    prepared = fitted("tagger, seen").extractor_.prepare(SEEN.inputs[:1])
    path, _, _ = model.decode(prepared)
    found = list(contributions(model, prepared, 0, path.tolist()))
    assert {c.token for c in found} == set(range(len(path)))
    assert all(c.weight == weights.get((c.feature, path[c.token]), 0.0) for c in found)


def test_the_heaviest_features_are_those_of_the_model():
    model, top = fitted("tagger, seen"), 10**6
    found, plain = model.inspect(top=top), model.model_
    listed = [weight for own in found.labels.values() for weight in own]
    assert len(listed) + len(found.transitions) == len(plain.weight)
    assert sum(weight.weight for weight in (*listed, *found.transitions)) == pytest.approx(plain.weight.sum(), abs=1e-2)
    assert all(weight.feature.startswith("y[-1]=") for weight in found.transitions)
    assert model.inspect("NN", top=top).transitions == [w for w in found.transitions if w.label == "NN"]
    assert model.inspect(top=5).transitions == found.transitions[:5]


@pytest.mark.parametrize(
    "change",
    [{"given": ["colour"]}, {"given": "w"}, {"labels": []}, {"labels": ["A"]}, {"features": 3}, {"paired": None}],
)
def test_files_that_do_not_fit_together(change, tmp_path):
    fitted("tagger, seen").save(tmp_path / "m")
    header, tensors = modelfile.load(tmp_path / "m")
    if change.get("paired", 0) is None:
        del header["learned"]["model"]["paired"]
    else:
        header["learned"]["model"] |= change
    modelfile.save(tmp_path / "odd", header, tensors)
    with pytest.raises(StructronError, match="odd: damaged"):
        structron.load(tmp_path / "odd")


@pytest.mark.parametrize("name", ["entry", "keys"])
def test_what_stands_twice_is_refused(name, tmp_path):
    fitted("tagger, seen").save(tmp_path / "m")
    header, tensors = modelfile.load(tmp_path / "m")
    tensors[name] = tensors[name].copy()
    tensors[name][1] = tensors[name][0]
    modelfile.save(tmp_path / "odd", header, tensors)
    with pytest.raises(StructronError, match="odd: damaged"):
        structron.load(tmp_path / "odd")
