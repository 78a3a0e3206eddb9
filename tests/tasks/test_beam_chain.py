"""Taggers and chunkers under a beam: against Viterbi and enumeration, with every rule, to files and back."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structron
from structron.cli import main
from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.features.templates import Template, parse_template
from structron.model.beam import BeamModel
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import Anchored
from structron.search.beam.states import compose, feature_key
from structron.tasks.chain.beam import BeamChainModel, encoded
from structron.tasks.chain.explain import explain, heaviest
from structron.tasks.chain.problem import (
    label_templates,
    look_ahead,
    looks_further,
    make_problem,
    rekeyed,
)
from structron.update.violation import RULES
from structron.weights.sparse import Row

TOY = [[list(row) for row in zip(s.words, s.pos, s.chunks, strict=True)] for s in toy_english(160, seed=2) if s.words]
TRAIN, TEST = TOY[:120], TOY[120:]
TAGGED = [[row[:2] for row in sentence] for sentence in TRAIN]
TAGGED_TEST = [[row[:2] for row in sentence] for sentence in TEST]
SMALL = {
    "templates": ["w[0]", "suffix2[0]", "w[-1]"],
    "runs": 1,
    "passes": 2,
    "cutoff": 0,
}


# -- the problem itself --------------------------------------------------------------------------------------------


def random_model(
    rng: np.random.Generator,
    labels: list[str],
    order: int,
    tokens: int,
    allowed: np.ndarray,
):
    """Random node and history weights, and the model and features that hold them."""
    problem = make_problem(labels, label_templates([], order), [], allowed)
    node = rng.integers(-3, 4, size=(tokens, len(labels))).astype(np.float32)
    contexts = len(labels) + 1
    one = rng.integers(-3, 4, size=(contexts, len(labels)))
    two = rng.integers(-3, 4, size=(contexts, contexts, len(labels))) * (order == 2)
    keys, rows = [], []
    for t, text in enumerate(problem.composition.texts):
        for values in itertools.product(range(contexts), repeat=text.count("y[")):
            keys.append(problem.composition.key(t, [*values, 0][:order]))
            rows.append(one[values[0]] if len(values) == 1 else two[values[1], values[0]])
    cells = np.concatenate([node, np.array(rows)]).astype(np.float32)
    place, column = np.indices(cells.shape).reshape(2, -1)
    anchored = np.arange(1, tokens + 1, dtype=np.uint64)
    model = BeamModel(
        problem,
        np.array(keys, np.uint64),
        Row(place, column.astype(np.int32), cells.reshape(-1)),
        anchored,
    )
    numbers = Anchored(np.arange(tokens + 1), np.arange(tokens, dtype=np.int32), model.anchored_table)

    def score(first: int, labelling: tuple[int, ...]) -> float:
        before = [0, 0, *(y + 1 for y in labelling)]
        return float(
            sum(
                node[first + i, y] + one[before[i + 1], y] + two[before[i], before[i + 1], y]
                for i, y in enumerate(labelling)
            )
        )

    return model, numbers, score


def random_allowed(rng: np.random.Generator, labels: int, share: float) -> np.ndarray:
    allowed = rng.random((labels + 1, labels)) >= share
    allowed[np.arange(labels + 1), rng.integers(labels, size=labels + 1)] = True
    return allowed


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2]),
    st.sampled_from([0.0, 0.4]),
    st.booleans(),
)
@settings(max_examples=40)
def test_without_a_limit_the_search_is_exact_and_keeps_to_what_is_allowed(seed, order, share, masked):
    rng = np.random.default_rng(seed)
    labels, lengths = ["A", "B", "C"], rng.integers(0, 5, size=4)
    starts = np.cumsum([0, *lengths]).astype(np.int64)
    tokens = int(starts[-1])
    allowed = random_allowed(rng, 3, share)
    masks = np.ones((3, 3), bool)
    masks[1:] = [[True, False, True], [False, True, False]]
    mask_of = rng.integers(3, size=tokens) * masked
    model, numbers, score = random_model(rng, labels, order, tokens, allowed)
    inputs = encoded(model.problem, starts, masks, mask_of, [], allowed)
    found, scores = model.decode(inputs, None, anchored=numbers)
    for s, actions in enumerate(found):
        lo, hi = int(starts[s]), int(starts[s + 1])
        legal = {}
        for labelling in itertools.product(range(3), repeat=hi - lo):
            before = [0, *(y + 1 for y in labelling)]
            if all(allowed[p, y] for p, y in zip(before, labelling, strict=False)) and all(
                masks[mask_of[lo + i], y] for i, y in enumerate(labelling)
            ):
                legal[labelling] = score(lo, labelling)
        assert len(actions) == hi - lo
        if legal:
            assert scores[s] == max(legal.values()) == legal[tuple(actions)]
        else:
            assert scores[s] == score(lo, tuple(actions))


@pytest.mark.parametrize("order", [1, 2])
def test_the_engine_labels_like_viterbi(order):
    """Weights that Viterbi learned, given to the engine feature by feature."""
    exact = structron.Tagger(order=order, **SMALL).fit(TAGGED)
    beamed = structron.Tagger(order=order, beam=2, **SMALL).fit(TAGGED)
    old, new = exact.model_, beamed.model_
    composition = new.base.problem.composition
    contexts = len(old.labels) + 1
    rows, keys = [old.w[old.fixed : old.fixed + len(old.keys)]], []
    for t, text in enumerate(composition.texts):
        for number, values in enumerate(itertools.product(range(contexts), repeat=text.count("y["))):
            pair = values[::-1]  # Viterbi's rows count the earlier label first
            keys.append(composition.key(t, [*pair, 0][:order]))
            rows.append(old.w[number + contexts * (len(values) - 1)][None])
    cells = np.concatenate(rows)[:, : len(old.labels)]
    place, column = np.nonzero(cells)
    base = BeamModel(
        new.base.problem,
        np.array(keys, np.uint64),
        Row(place, column.astype(np.int32), cells[place, column]),
        old.keys,
    )
    copied = BeamChainModel(
        old.labels,
        order,
        new.templates,
        base,
        old.allowed,
        old.dictionary,
        [],
        old.names,
        [],
    )
    prepared = exact.extractor_.prepare(TAGGED_TEST[:6])
    labels, scores, _ = old.decode(prepared)
    wide = None if order == 1 else 100
    again, sums, _ = copied.decode(prepared, beam=wide)
    assert np.allclose(scores, sums, atol=1e-3)
    assert (labels == again).mean() > 0.99  # ties may fall otherwise


def test_look_ahead_leaves_no_dead_ends():
    allowed = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 1], [1, 1, 1]], bool)  # label 2 only after 1 and 2
    masks = np.array([[1, 1, 1], [0, 0, 1], [1, 0, 0]], bool)
    new, mask_of = look_ahead(masks, np.array([0, 1, 2, 1]), allowed, np.array([0, 2, 4]))
    assert new[mask_of].tolist() == [
        [False, True, True],
        [False, False, True],
        [True, False, False],
        [False, False, True],
    ]


def test_no_legal_labelling_breaks_as_little_as_it_can():
    problem = make_problem(["A", "B"], ["y[-1]"], [], np.array([[1, 1], [1, 0], [1, 1]], bool))
    masks = np.array([[1, 1], [1, 0], [0, 1]], bool)
    inputs = encoded(
        problem,
        np.array([0, 2]),
        masks,
        np.array([1, 2]),
        [],
        np.array([[1, 1], [1, 0], [1, 1]], bool),
    )
    out = np.zeros(2, np.int64)
    states = np.array([[0, 1, 1]])
    assert problem.plain("legal")(inputs.x, inputs.table, states, 0, out) == 2  # A breaks the mask, B the transition
    inputs.x[1, 1] = 1
    assert problem.plain("legal")(inputs.x, inputs.table, states, 0, out) == 1
    assert out[0] == 1  # what the user forced stays


def test_a_problem_can_be_checked():
    allowed = np.ones((3, 2), bool)
    problem = make_problem(["A", "B"], ["y[-1]", "y[-3]|x[0]"], [5], allowed)
    inputs = encoded(
        problem,
        np.array([0, 3]),
        np.ones((1, 2), bool),
        np.zeros(3, np.int64),
        [np.array([4, -1, 0])],
        allowed,
    )
    problem.table = inputs.table
    problem.check(inputs.x, [0, 1, 1])
    assert make_inputs(problem, inputs.x, inputs.starts).limit.tolist() == [3]


# -- templates over labels before ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y[-1]", Template((), False, (1,))),
        ("y[-3]|y[-1]|y[-2]", Template((), False, (1, 2, 3))),
        ("y[-1]|w[0]", Template((("w", 0),), True)),
        ("y[-2]|w[0]", Template((("w", 0),), False, (2,))),
        ("y[-2]|w[0] &y", Template((("w", 0),), False, (1, 2))),
    ],
)
def test_labels_before_in_templates(text, expected):
    found = parse_template(text)
    assert found == expected
    assert parse_template(str(found)) == found


def test_labels_too_far_back():
    with pytest.raises(StructronError, match=r"'y\[-9\]\|w\[0\]': offset -9; at most 8"):
        parse_template("y[-9]|w[0]")


def test_a_column_cannot_be_called_like_the_labels():
    with pytest.raises(StructronError, match="column 'y': templates call the labels before so"):
        structron.Tagger(columns=["word", "y", "tag"], templates=["w[0]", "y[-2]"]).fit(TRAIN)


def test_which_templates_need_the_engine():
    def further(text: str, order: int) -> bool:
        return looks_further([parse_template(text), parse_template("w[0]")], order)

    assert not any(further(text, 1) for text in ("w[0]", "w[0]&y", "y[-1]", "y[-1]|w[0]"))
    assert further("y[-1]|y[-2]", 1)
    assert not further("y[-1]|y[-2]", 2)
    assert all(further(text, 2) for text in ("y[-2]", "y[-2]|w[0]", "y[-1]|y[-2]|y[-3]", "y[-2]|w[0]&y"))
    assert label_templates(
        [
            parse_template("y[-2]|w[0]"),
            parse_template("y[-1]"),
            parse_template("w[1]&y"),
        ],
        1,
    ) == [*("y[-1]", "y[-2]|x[0]", "y[-1]|x[1]")]


def test_the_label_three_before_can_be_learned():
    """Labels repeat with period 3 and the words say nothing but the first three: order 2 cannot know the fourth."""
    rng = np.random.default_rng(0)
    data = []
    for _ in range(60):
        start = rng.integers(2, size=3).tolist()
        labels = [start[i % 3] for i in range(12)]
        data.append([("ab"[labels[i]] if i < 3 else "x", "AB"[labels[i]]) for i in range(12)])
    given = {"runs": 1, "passes": 12, "cutoff": 0}
    short = structron.Tagger(templates=["w[0]"], order=2, beam=8, **given).fit(data[:40])
    long = structron.Tagger(templates=["w[0]", "y[-3]"], order=2, beam=8, **given).fit(data[:40])
    exact = structron.Tagger(templates=["w[0]", "y[-3]"], order=1, **given).fit(data[:40])
    assert short.score(data[40:]) < 90
    assert long.score(data[40:]) == 100
    assert exact.score(data[40:]) == 100
    assert "exact search by dynamic programming" in exact.notes_[0]
    assert exact._search().beam is None


def weights(model: BeamChainModel) -> dict[tuple[str, str], float]:
    found = {}
    for y, label in enumerate(model.labels):
        for features in model.heaviest(y, 10**6).values():
            found |= {(name, label): weight for name, weight in features}
    return found


def test_a_label_before_as_an_atom_is_a_pair():
    models = [
        structron.Chunker(templates=["w[0]", "pos[0]", text], beam=4, runs=1, passes=3).fit(TRAIN).model_
        for text in ("y[-1]|w[0]", "w[0] &y")
    ]
    assert weights(models[0]) == weights(models[1])
    assert any(name.startswith("w[0]=") and ",y[-1]=" in name for name, _ in weights(models[0]))
    assert structron.Chunker(templates=["y[-1]|w[0]"], runs=1, passes=1).fit(TRAIN).model_.block_keys.size > 0


@given(
    st.lists(st.integers(0, 2), min_size=3, max_size=3),
    st.integers(0, 6),
    st.sampled_from([7, 300, 1 << 60]),
)
def test_keys_under_new_sizes(values, x, size):
    def at(labels: int, extra: int):
        return compose(
            {**{f"y[-{k}]": labels for k in (1, 2, 3)}, "x[0]": extra},
            ["y[-1]", "y[-1]|y[-3]|x[0]"],
        )

    def key(composition, t):
        row = np.array([[*values, x, 0]])
        return int(feature_key(composition.features, t, row, 0))

    old, new = at(3, 7), at(40, size)
    for t in range(2):
        assert rekeyed(np.array([key(old, t)], np.uint64), old, new).tolist() == [key(new, t)]
    assert old.values_of(key(old, 1))[1] == {
        "y[-1]": values[0],
        "y[-3]": values[2],
        "x[0]": x,
    }


# -- training ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", list(RULES))
@pytest.mark.parametrize("beam", [1, 4, None], ids=["1", "4", "inf"])
def test_every_rule_with_every_beam(update, beam):
    model = structron.Chunker(
        update=update,
        beam=beam,
        runs=1,
        passes=3,
        check=True,
        templates=["w[0]", "pos[0]"],
    )
    model.fit(TRAIN[:40])
    assert model.score(TRAIN[:40]) > 70
    exact = beam is None and update == "standard"
    assert isinstance(model.model_, BeamChainModel) != exact
    if not exact:
        record = model.history_[-1]
        assert {"updates", "invalid", "fell_off", "fell_at", "search_errors"} <= set(record)
        assert update == "standard" or record["invalid"] == 0


@pytest.mark.parametrize(
    ("given", "beam", "update"),
    [
        ({}, None, "standard"),
        ({"beam": 4}, 4, "max-violation"),
        ({"update": "early"}, 8, "early"),
        ({"beam": None, "update": "early"}, None, "early"),
        ({"beam": 2, "update": "standard"}, 2, "standard"),
        ({"beam": None}, None, "standard"),
    ],
)
def test_defaults_of_beam_and_update(given, beam, update):
    search = structron.Tagger(**given)._search()
    assert (search.beam, search.update) == (beam, update)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"beam": 0}, "beam: 0; expected at least 1"),
        ({"beam": "wide"}, "beam: 'wide'; expected a whole number"),
        ({"update": "late"}, "unknown update 'late'"),
        ({"merge": False}, "merge: off without a beam"),
        ({"beam": 4, "average": "voted"}, "average: voted needs exact search"),
    ],
)
def test_what_does_not_go_together(given, message):
    with pytest.raises(StructronError, match=message):
        structron.Tagger(**{**SMALL, **given}).fit(TAGGED)


def test_accuracy_on_toy_english():
    exact, beamed = (structron.Tagger(order=2, passes=4, runs=2, **given).fit(TAGGED) for given in ({}, {"beam": 4}))
    assert beamed.score(TAGGED_TEST) > exact.score(TAGGED_TEST) - 2


def test_several_runs_are_averaged_and_repeat():
    one, two = (structron.Tagger(beam=2, **{**SMALL, "runs": 3}).fit(TAGGED[:40]) for _ in range(2))
    assert weights(one.model_) == weights(two.model_)
    assert weights(one.model_) != weights(structron.Tagger(beam=2, **SMALL).fit(TAGGED[:40]).model_)


def test_a_resumed_run_ends_with_the_same_weights(tmp_path):
    given = {**SMALL, "beam": 3, "runs": 2}
    whole = structron.Tagger(**{**given, "passes": 4}).fit(TAGGED[:50], TAGGED_TEST)
    structron.Tagger(**given).fit(TAGGED[:50], TAGGED_TEST, checkpoint=tmp_path / "c")
    again = structron.Tagger(**{**given, "passes": 4}).fit(
        TAGGED[:50], TAGGED_TEST, checkpoint=tmp_path / "c", resume=True
    )
    assert weights(again.model_) == weights(whole.model_)
    assert again.best_pass_ == whole.best_pass_


def test_going_on_from_a_model(tmp_path):
    """New labels and words; the first vector of the new mean is the old model."""
    templates = ["w[0]", "w[-1]", "suffix2[0]", "w[0]|y[-2]", "y[-1]|y[-2]|y[-3]"]
    model = structron.Tagger(beam=4, **{**SMALL, "templates": templates, "passes": 3}).fit(TAGGED[:60])
    before, score = weights(model.model_), model.score(TAGGED[:60])
    model.save(tmp_path / "m")
    more = [[["zebra", "ZZ"], ["runs", "NEW"], *sentence] for sentence in TAGGED[60:80]]
    again = structron.load(tmp_path / "m")
    again.passes = 1
    again.partial_fit(more)
    assert {"ZZ", "NEW"} <= set(again.model_.labels)
    assert again.score(more) > 80
    assert again.score(TAGGED[:60]) > score - 8
    after = weights(again.model_)
    assert len(after.keys() & before.keys()) > 0.9 * len(before)
    kept = [key for key in before if abs(after.get(key, 0.0) - before[key]) < 1e-6]
    assert len(kept) > 0.3 * len(before)  # what the new data never touch stays as it was


def test_going_on_needs_the_same_search():
    model = structron.Tagger(**SMALL).fit(TAGGED[:20])
    model.beam = 4
    with pytest.raises(StructronError, match="the model to go on from was trained with no beam"):
        model.partial_fit(TAGGED[:20])
    with pytest.raises(
        StructronError,
        match="beam: 4; expected none: the model was trained with exact search",
    ):
        model.predict(TAGGED[:1])


# -- using ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beam", [1, 4])
def test_chunks_stay_legal(beam):
    model = structron.Chunker(beam=beam, runs=1, passes=1, templates=["w[0]"]).fit(TRAIN)
    for labels in model.predict(TEST):
        for before, label in itertools.pairwise(["O", *labels]):
            assert not label.startswith("I-") or before[2:] == label[2:]


def test_the_tag_dictionary_is_kept():
    model = structron.Tagger(beam=2, tag_dictionary=1, **SMALL).fit(TAGGED)
    seen: dict[str, set[str]] = {}
    for word, tag in itertools.chain.from_iterable(TAGGED):
        seen.setdefault(word, set()).add(tag)
    for sentence, labels in zip(TAGGED_TEST, model.predict(TAGGED_TEST), strict=True):
        for (word, _), label in zip(sentence, labels, strict=True):
            assert label in seen.get(word, {label})


def test_forced_labels_stay_and_steer_the_others():
    model = structron.Chunker(beam=4, runs=1, passes=2).fit(TRAIN)
    sentence = TEST[0]
    for i in range(1, len(sentence)):
        forced: list[str | None] = [None] * len(sentence)
        forced[i] = "I-VP"
        (labels,) = model.predict([sentence], forced=[forced])
        assert labels[i] == "I-VP"
        assert labels[i - 1] in ("B-VP", "I-VP")
    assert model.predict([sentence, []]) == [model.predict([sentence])[0], []]


def test_what_a_beam_cannot_do():
    model = structron.Tagger(beam=4, **SMALL).fit(TAGGED[:20])
    with pytest.raises(StructronError, match="a model with a beam has no margins"):
        model.predict_with_margins(TAGGED_TEST)
    with pytest.raises(StructronError, match="explained by exact search only"):
        explain(model, ["a", "dog"])


def test_batches_and_threads_give_the_same_labels(monkeypatch):
    model = structron.Tagger(beam=4, **SMALL).fit(TAGGED)
    whole = model.predict(TAGGED_TEST)
    assert [model.predict([sentence])[0] for sentence in TAGGED_TEST] == whole
    monkeypatch.setattr("structron.tasks.chain.labeler.PART", 3)
    monkeypatch.setattr("structron.threads.BATCH_TOKENS", 20)
    assert model.predict(TAGGED_TEST, jobs=2) == whole


def test_saved_and_loaded(tmp_path):
    templates = ["w[0]", "pos[0]", "y[-1]|y[-2]|y[-3]", "y[-2]|pos[0]", "w[0]&y"]
    model = structron.Chunker(beam=4, update="early", templates=templates, runs=1, passes=2).fit(TRAIN)
    model.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert again.predict(TEST) == model.predict(TEST)
    assert again.signature_ == model.signature_
    assert "update early | search beam-4-dp" in model.signature_
    assert weights(again.model_) == weights(model.model_)
    again.save(tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    again.beam = 1
    again.predict(TEST)
    assert again.fit(TRAIN[:30]).model_.labels


def test_files_whose_parts_do_not_fit(tmp_path):
    model = structron.Tagger(beam=2, **{**SMALL, "templates": ["w[0]", "w[0]&y"]}).fit(TAGGED[:20]).model_
    header, tensors = json.loads(json.dumps(model.header())), model.tensors()
    BeamChainModel.from_file(header, tensors)
    for change in (
        {"allowed": tensors["allowed"][:, 1:]},
        {"masks": np.zeros_like(tensors["masks"])},
        {"weight_label": tensors["weight_label"] + np.uint8(99)},
        {"extra_0_keys": tensors["extra_0_keys"][1:]},
        {"name_head": tensors["name_head"][1:]},
        {"keys": tensors["keys"] | np.uint64(1 << 63)},
    ):
        with pytest.raises((KeyError, ValueError)):
            BeamChainModel.from_file(header, {**tensors, **change})
    for change in (
        {"labels": ["A", "A"]},
        {"order": 3},
        {"label_templates": ["y[-1]|x[7]", "y[-1]"]},
    ):
        with pytest.raises((KeyError, ValueError)):
            BeamChainModel.from_file({**header, **change}, tensors)


def test_what_weighs_most():
    model = structron.Tagger(beam=4, **{**SMALL, "templates": ["w[0]", "w[0]|y[-2]"]}).fit(TAGGED)
    found = heaviest(model.model_, "NN", 5)
    assert list(found.labels) == ["NN"]
    assert found.labels["NN"][0].feature.startswith("w[0]=")
    assert found.transitions[0].feature.startswith("y[-1]=")
    assert found.trigrams[0].feature.startswith("y[-2]=")
    assert found.pairs[0].feature.startswith("w[0]=")
    assert ",y[-2]=" in found.pairs[0].feature
    assert all(len(group) <= 5 for group in (found.transitions, found.trigrams, found.pairs))


def test_the_command_line(tmp_path, capsys):
    train, test, model = (
        tmp_path / "train.conll",
        tmp_path / "test.conll",
        str(tmp_path / "m"),
    )
    for path, data in ((train, TRAIN), (test, TEST)):
        path.write_text("\n".join("".join(" ".join(row) + "\n" for row in sentence) for sentence in data))
    options = [
        "--beam",
        "4",
        "--runs",
        "1",
        "--passes",
        "2",
        "--check-violations",
        "--log",
        str(tmp_path / "log"),
    ]
    columns = ["--columns", "word,pos,chunk"]
    assert (
        main(
            [
                "train",
                "chunker",
                "--train",
                str(train),
                "--model",
                model,
                *columns,
                *options,
            ]
        )
        == 0
    )
    records = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [record["invalid"] for record in records] == [0, 0]
    capsys.readouterr()
    assert main(["evaluate", model, str(test), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["f1"] > 80
    assert "update max-violation | search beam-4-dp" in result["signature"]
    assert main(["predict", model, str(test)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [line.split()[:2] for line in test.read_text().splitlines()]
    assert main(["predict", model, str(test), "--beam", "1"]) == 0
    assert main(["predict", model, str(test), "--confidence"]) == 2
    assert "has no margins" in capsys.readouterr().err
    assert main(["inspect", model, "--label", "B-NP", "--top", "3"]) == 0
    assert "label pairs" in capsys.readouterr().out
    assert main(["inspect", model, "--sentence", "The/DT dog/NN"]) == 2
    assert "exact search only" in capsys.readouterr().err
