"""Taggers and chunkers under a beam: against enumeration, with every rule."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structron
from structron.errors import StructronError
from structron.features.templates import Template, parse_template
from structron.model.beam import BeamModel
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.states import compose, feature_key
from structron.tasks.chain.encoder import LabelEncoder
from structron.tasks.chain.problem import look_ahead, make_problem
from structron.tasks.chain.templates import label_templates, looks_further
from structron.update.violation import RULES
from structron.weights.sparse import Row
from stubs import dictionary_of, extras_of, sentences_at
from toy import chunk_rows

TOY = [sentence for sentence in chunk_rows(160, 2) if sentence]
TRAIN, TEST = TOY[:120], TOY[120:]
TAGGED = [[row[:2] for row in sentence] for sentence in TRAIN]
SMALL = {"templates": ["w[0]", "suffix2[0]", "w[-1]"], "runs": 1, "passes": 2, "cutoff": 0}


# -- the problem itself --------------------------------------------------------------------------------------------


def encoded(
    templates: list[str], allowed: np.ndarray, starts: np.ndarray, masks: np.ndarray, mask_of: np.ndarray
) -> Inputs:
    """Sentences whose tokens have masks of labels, for the engine."""
    labels = [*"ABC"[: allowed.shape[1]]]
    given = (dictionary_of(masks, mask_of), extras_of([], []))
    return LabelEncoder(labels, 1, templates, allowed, *given).inputs(sentences_at(starts), 0, len(starts) - 1)


def random_model(rng: np.random.Generator, labels: list[str], order: int, tokens: int, allowed: np.ndarray):
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
    rows = Row(place, column.astype(np.int32), cells.reshape(-1))
    model = BeamModel(problem, np.array(keys, np.uint64), rows, anchored)
    numbers = Anchored(np.arange(tokens + 1), np.arange(tokens, dtype=np.int32), model.anchored_table)

    def score(first: int, labelling: tuple[int, ...]) -> float:
        before = [0, 0, *(y + 1 for y in labelling)]
        parts = (
            node[first + i, y] + one[before[i + 1], y] + two[before[i], before[i + 1], y]
            for i, y in enumerate(labelling)
        )
        return float(sum(parts))

    return model, numbers, score


def random_allowed(rng: np.random.Generator, labels: int, share: float) -> np.ndarray:
    allowed = rng.random((labels + 1, labels)) >= share
    allowed[np.arange(labels + 1), rng.integers(labels, size=labels + 1)] = True
    return allowed


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2]), st.sampled_from([0.0, 0.4]), st.booleans())
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
    inputs = encoded(label_templates([], order), allowed, starts, masks, mask_of)
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


def test_look_ahead_keeps_masks_apart_however_many_labels_there_are():
    rng = np.random.default_rng(5)
    for labels in (8, 64, 65, 200):
        masks = rng.random((6, labels)) < 0.5
        masks[:, 0] = masks[0, -1] = True
        masks[1] = masks[0]
        masks[1, -1] = not masks[0, -1]
        allowed = np.ones((labels + 1, labels), bool)
        allowed[0, -1] = False  # not everything is allowed, nothing is a dead end
        mask_of = rng.integers(0, 6, 40)
        new, new_of = look_ahead(masks, mask_of, allowed, np.array([0, 3, 3, 40]))
        assert np.array_equal(new[new_of], masks[mask_of])
        assert len(np.unique(new, axis=0)) == len(new) <= 6


def test_no_legal_labelling_breaks_as_little_as_it_can():
    allowed = np.array([[1, 1], [1, 0], [1, 1]], bool)
    problem = make_problem(["A", "B"], ["y[-1]"], [], allowed)
    masks = np.array([[1, 1], [1, 0], [0, 1]], bool)
    inputs = encoded(["y[-1]"], allowed, np.array([0, 2]), masks, np.array([1, 2]))
    out = np.zeros(2, np.int64)
    states = np.array([[0, 1, 1]])
    assert problem.plain("legal")(inputs.x, inputs.table, states, 0, out) == 2  # A breaks the mask, B the transition
    inputs.x[1, 1] = 1
    assert problem.plain("legal")(inputs.x, inputs.table, states, 0, out) == 1
    assert out[0] == 1  # what the user forced stays


def test_a_problem_can_be_checked():
    given = (dictionary_of(np.ones((1, 2), bool), np.zeros(3, np.int64)), extras_of([np.array([4, -1, 0])], [5]))
    encoder = LabelEncoder(["A", "B"], 1, ["y[-1]", "y[-3]|x[0]"], np.ones((3, 2), bool), *given)
    inputs, problem = encoder.inputs(sentences_at(np.array([0, 3])), 0, 1), encoder.problem
    problem.table = inputs.table
    problem.check(inputs.x, [0, 1, 1])
    assert make_inputs(problem, inputs.x, inputs.starts).limit.tolist() == [3]


# -- templates over labels before ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y[-1]", Template((), (1,))),
        ("y[-3]|y[-1]|y[-2]", Template((), (1, 2, 3))),
        ("y[-1]|w[0]", Template((("w", 0),), (1,))),
        ("y[-2]|w[0]", Template((("w", 0),), (2,))),
        ("y[-2]|w[0] &y", Template((("w", 0),), (1, 2))),
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
    with pytest.raises(StructronError, match="column 'y': templates use this name for previous labels"):
        structron.Tagger(columns=["word", "y", "tag"], templates=["w[0]", "y[-2]"]).fit(TRAIN)


def test_which_templates_need_the_engine():
    def further(text: str, order: int) -> bool:
        return looks_further([parse_template(text), parse_template("w[0]")], order)

    assert not any(further(text, 1) for text in ("w[0]", "w[0]&y", "y[-1]", "y[-1]|w[0]"))
    assert further("y[-1]|y[-2]", 1)
    assert not further("y[-1]|y[-2]", 2)
    assert all(further(text, 2) for text in ("y[-2]", "y[-2]|w[0]", "y[-1]|y[-2]|y[-3]", "y[-2]|w[0]&y"))
    templates = [parse_template(text) for text in ("y[-2]|w[0]", "y[-1]", "w[1]&y")]
    assert label_templates(templates, 1) == ["y[-1]", "y[-2]|x[0]", "y[-1]|x[1]"]


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
    assert "searching all states instead" in exact.notes_[0]
    assert exact.search().beam is None


def weights(estimator) -> dict[tuple[str, str], float]:
    found = estimator.inspect(top=10**6)
    every = itertools.chain(*found.labels.values(), found.transitions, found.trigrams, found.pairs)
    return {(weight.feature, weight.label): weight.weight for weight in every}


def test_a_label_before_as_an_atom_is_a_pair():
    models = [
        structron.Chunker(templates=["w[0]", "pos[0]", text], beam=4, runs=1, passes=3).fit(TRAIN)
        for text in ("y[-1]|w[0]", "w[0] &y")
    ]
    assert weights(models[0]) == weights(models[1])
    assert any(name.startswith("w[0]=") and ",y[-1]=" in name for name, _ in weights(models[0]))
    assert structron.Chunker(templates=["y[-1]|w[0]"], runs=1, passes=1).fit(TRAIN).model_.block_keys.size > 0


@given(st.lists(st.integers(0, 2), min_size=3, max_size=3), st.integers(0, 6), st.sampled_from([7, 300, 1 << 60]))
def test_keys_under_new_sizes(values, x, size):
    def at(labels: int, extra: int):
        sizes = {**{f"y[-{k}]": labels for k in (1, 2, 3)}, "x[0]": extra}
        return compose(sizes, ["y[-1]", "y[-1]|y[-3]|x[0]"])

    def key(composition, t):
        row = np.array([[*values, x, 0]])
        return int(feature_key(composition.features, t, row, 0))

    old, new = at(3, 7), at(40, size)
    for t in range(2):
        assert old.rekey(np.array([key(old, t)], np.uint64), new).tolist() == [key(new, t)]
    assert old.values_of(key(old, 1))[1] == {"y[-1]": values[0], "y[-3]": values[2], "x[0]": x}


# -- training ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("update", list(RULES))
def test_every_rule_without_a_limit(update):
    given = {"runs": 1, "passes": 3, "check": True, "templates": ["w[0]", "pos[0]"]}
    model = structron.Chunker(update=update, beam=None, **given).fit(TRAIN[:40])
    assert model.score(TRAIN[:40]) > 70
    assert model.has_beam() is not (update == "standard")
    assert not RULES[update].valid or model.history_[-1].get("invalid", 0) == 0


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
    search = structron.Tagger(**given).search()
    assert (search.beam, search.update) == (beam, update)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"merge": False}, "merge: cannot be off in exact search; expected a beam"),
        ({"beam": 4, "average": "voted"}, "average: voted needs exact search"),
    ],
)
def test_what_does_not_go_together(given, message):
    with pytest.raises(StructronError, match=message):
        structron.Tagger(**{**SMALL, **given}).fit(TAGGED)


def test_going_on_from_a_model(tmp_path):
    """New labels and words; the first vector of the new mean is the old model."""
    templates = ["w[0]", "w[-1]", "suffix2[0]", "w[0]|y[-2]", "y[-1]|y[-2]|y[-3]"]
    model = structron.Tagger(beam=4, **{**SMALL, "templates": templates, "passes": 3}).fit(TAGGED[:60])
    before, score = weights(model), model.score(TAGGED[:60])
    model.save(tmp_path / "m")
    more = [[["zebra", "ZZ"], ["runs", "NEW"], *sentence] for sentence in TAGGED[60:80]]
    again = structron.load(tmp_path / "m")
    again.passes = 1
    again.partial_fit(more)
    assert {"ZZ", "NEW"} <= set(again.model_.labels)
    assert again.score(more) > 80
    assert again.score(TAGGED[:60]) > score - 8
    after = weights(again)
    assert len(after.keys() & before.keys()) > 0.9 * len(before)
    kept = [key for key in before if abs(after.get(key, 0.0) - before[key]) < 1e-6]
    assert len(kept) > 0.3 * len(before)  # what the new data never touch stays as it was


def test_going_on_needs_the_same_search():
    model = structron.Tagger(**SMALL).fit(TAGGED[:20])
    model.beam = 4
    with pytest.raises(StructronError, match="the model to continue from was trained with no beam"):
        model.partial_fit(TAGGED[:20])
    with pytest.raises(StructronError, match="beam: 4; expected none: the model was trained with exact search"):
        model.predict(TAGGED[:1])


# -- using ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beam", [1, 4])
def test_chunks_stay_legal(beam):
    model = structron.Chunker(beam=beam, runs=1, passes=1, templates=["w[0]"]).fit(TRAIN)
    for labels in model.predict(TEST):
        for before, label in itertools.pairwise(["O", *labels]):
            assert not label.startswith("I-") or before[2:] == label[2:]


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


def test_what_weighs_most():
    model = structron.Tagger(beam=4, **{**SMALL, "templates": ["w[0]", "w[0]|y[-2]"]}).fit(TAGGED)
    found = model.inspect("NN", top=5)
    assert list(found.labels) == ["NN"]
    assert found.labels["NN"][0].feature.startswith("w[0]=")
    assert found.transitions[0].feature.startswith("y[-1]=")
    assert found.trigrams[0].feature.startswith("y[-2]=")
    assert found.pairs[0].feature.startswith("w[0]=")
    assert ",y[-2]=" in found.pairs[0].feature
    assert all(len(group) <= 5 for group in (found.transitions, found.trigrams, found.pairs))
