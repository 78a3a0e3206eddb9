"""Taggers and chunkers with exact search: going on, constraints, forced labels, long sentences, users' mistakes."""

from itertools import pairwise, product

import numpy as np
import pytest

import brute
import structron
from helpers import assert_same_weights, weights_of
from structron import StructronError
from structron.features.gazetteer import Gazetteer
from structron.learn.loop import Schedule, pass_order
from structron.model import chain as chain_model

PLAIN = {"order": 1, "runs": 1, "cutoff": 0}
"""Whatever the defaults are: they may change for the better, what is tested here does not."""
COLUMNS = ["word", "pos", "label"]
TEMPLATES = ["w[0]", "pos[0]", "w[-1]|pos[0]"]
PAIRED = [*TEMPLATES, "pos[0]&y", "w[1]&y"]
KINDS = {
    "order 1": {"order": 1, "templates": TEMPLATES},
    "order 2": {"order": 2, "templates": TEMPLATES},
    "pairs": {"order": 1, "templates": PAIRED},
    "pairs, order 2": {"order": 2, "templates": PAIRED},
}


def Tagger(**options) -> structron.Tagger:
    return structron.Tagger(**PLAIN | options)


def Chunker(**options) -> structron.Chunker:
    return structron.Chunker(**PLAIN | options)


def random_rows(seed: int, labels: str, sentences: int = 5, words: str = "abcd", longest: int = 4):
    """Small sentences with labels at random: they cannot be learned, so every pass has updates."""
    rng = np.random.default_rng(seed)
    return [
        [
            (str(rng.choice([*words])), str(rng.choice([*"NV"])), str(rng.choice([*labels])))
            for _ in range(rng.integers(0 if s == 2 else 1, longest + 1))
        ]
        for s in range(sentences)
    ]


def examples(rows, templates) -> list[brute.Example]:
    return [brute.make_example(templates, COLUMNS, sentence) for sentence in rows]


def orders(passes: int, count: int) -> list[list[int]]:
    return [pass_order(Schedule(), k + 1, count).tolist() for k in range(passes)]


def words_of(rows):
    return [[row[:-1] for row in sentence] for sentence in rows]


# -- going on ------------------------------------------------------------------------------------------------------


PARTS = [random_rows(1, "XYZ", words="ab"), random_rows(2, "AYZ", words="bcde"), random_rows(3, "WXZ", words="cd")]


@pytest.mark.parametrize("average", ["none", "mean"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("parts", [PARTS[:1], PARTS[:2], PARTS], ids=["at once", "in two parts", "in three"])
def test_learning_gives_the_weights_of_the_naive_perceptron(parts, kind, average):
    """Further data bring new features and labels; the mean then runs over every example of all trainings."""
    labeler = Tagger(passes=3, average=average, **kind)
    labels, vectors = [], []
    for rows in parts:
        labeler.partial_fit(rows)
        labels += sorted({row[-1] for s in rows for row in s} - set(labels))
        args = (examples(rows, kind["templates"]), labels, kind["order"], orders(3, 5))
        run = brute.perceptron(*args, start=vectors[-1] if vectors else None)
        vectors += run.vectors
        assert [record["updates"] for record in labeler.history_[-3:]] == run.mistakes
    assert labeler.model_.labels == labels
    both = brute.Run(vectors, [])
    assert_same_weights(weights_of(labeler.model_), both.last if average == "none" else both.mean(), tolerance=1e-6)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_twice_as_many_passes_in_two_goes(kind):
    """In a fixed order, k passes and k more are 2k passes, bit for bit."""
    rows = random_rows(4, "XYZ", sentences=12)
    whole = Tagger(passes=6, shuffle=False, **kind).fit(rows)
    halves = Tagger(passes=3, shuffle=False, **kind).fit(rows).partial_fit(rows)
    assert whole.stopped_ == halves.stopped_ == "passes"
    assert weights_of(whole.model_) == weights_of(halves.model_)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_going_on_from_a_file(kind, tmp_path):
    """The file has the mean only: it is where the new training starts, and the new mean is over the new vectors."""
    first, second = random_rows(1, "XY", words="abc"), random_rows(2, "AYZ", words="bcde")
    before = Tagger(passes=3, **kind).fit(first)
    before.save(tmp_path / "model")
    labeler = structron.load(tmp_path / "model")
    labeler.passes = 2
    labeler.partial_fit(second)
    args = (examples(second, kind["templates"]), ["X", "Y", "A", "Z"], kind["order"], orders(2, 5))
    run = brute.perceptron(*args, start=weights_of(before.model_))
    assert_same_weights(weights_of(labeler.model_), run.mean(), tolerance=1e-5)
    names = set(labeler.model_.names.all())
    assert set(before.model_.names.all()) <= names
    assert len(names) == len(labeler.model_.keys)
    labeler.save(tmp_path / "again")
    sentences = words_of(first + second)
    assert structron.load(tmp_path / "again").predict(sentences) == labeler.predict(sentences)


def test_features_below_the_cut_off_may_come_later():
    """Counted in each training by itself: what was left out first can be learned when it becomes frequent."""
    rows = [[("a", "N", "X"), ("b", "N", "Y")]]
    labeler = Tagger(passes=2, cutoff=2, templates=["w[0]"]).fit([*rows, [("a", "N", "Y")]])
    assert labeler.model_.names.all() == ["w[0]=a"]
    labeler.partial_fit([[("b", "N", "Y")], [("b", "N", "Y"), ("c", "N", "X")], [("a", "N", "Y")]])
    assert labeler.model_.names.all() == ["w[0]=a", "w[0]=b"]


def test_the_order_cannot_change_on_the_way():
    labeler = Tagger(order=1, passes=1).fit(random_rows(1, "XY"))
    labeler.order = 2
    with pytest.raises(StructronError, match="order: 2; expected 1, that of the model to continue from"):
        labeler.partial_fit(random_rows(1, "XY"))


def test_voted_models_go_on_too():
    first, second = random_rows(1, "XY"), random_rows(2, "XYZ")
    labeler = Tagger(passes=2, average="voted", templates=TEMPLATES).fit(first)
    start = weights_of(labeler.model_)
    labeler.partial_fit(second)
    args = (examples(second, TEMPLATES), ["X", "Y", "Z"], 1, orders(2, 5))
    run = brute.perceptron(*args, start=start)
    found = labeler.predict(words_of(second))
    assert [tuple(z) for z in found] == [run.vote(x, ["X", "Y", "Z"], 1) for x in examples(second, TEMPLATES)]


# -- constraints ---------------------------------------------------------------------------------------------------


def best_of_all(labeler, sentence, forced=None) -> set[tuple[str, ...]]:
    """All labellings that are best by enumeration: fewest constraints broken, then the score; forced labels stand."""
    model = labeler.model_
    templates = [str(t) for t in labeler.extractor_.templates]
    x = brute.make_example(templates, COLUMNS, [(*row, "") for row in sentence])
    w, number = weights_of(model), {label: k for k, label in enumerate(model.labels)}
    place = model.dictionary.find([row[0] for row in sentence])
    masks = [model.dictionary.masks[model.dictionary.mask[k] if k >= 0 else 0] for k in place]
    found: dict[tuple[str, ...], tuple[int, float]] = {}
    for y in product(model.labels, repeat=len(sentence)):
        if forced and any(want is not None and want != label for want, label in zip(forced, y, strict=True)):
            continue
        contexts = [0, *(number[label] + 1 for label in y)]
        broken = sum(not model.allowed[p, q - 1] for p, q in pairwise(contexts))
        for i, label in enumerate(y):
            broken += not masks[i][number[label]] and not (forced and forced[i] is not None)
        found[y] = (-broken, brute.dot(w, brute.phi(x, y, model.order)))
    top = max(found.values())
    return {y for y, value in found.items() if value[0] == top[0] and value[1] > top[1] - 1e-4}


CHUNKS = [
    [("a", "N", "B-X"), ("b", "N", "I-X"), ("c", "V", "O")],
    [("c", "V", "O"), ("a", "N", "B-X"), ("b", "V", "I-X"), ("b", "N", "I-X")],
    [("d", "V", "B-Y"), ("a", "N", "B-X"), ("d", "N", "B-Y"), ("d", "N", "I-Y")],
    [("b", "N", "O"), ("b", "V", "B-X")],
]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    "options",
    [{}, {"tag_dictionary": 1}, {"forbid": [("O", "B-X"), ("B-X", "O")]}, {"constrain": False}],
    ids=["legal", "dictionary", "forbid", "free"],
)
def test_predictions_are_best_under_the_constraints(kind, options):
    labeler = Chunker(passes=3, **kind, **options).fit(CHUNKS)
    rng = np.random.default_rng(0)
    for _ in range(25):
        n = int(rng.integers(1, 5))
        sentence = [(str(rng.choice([*"abcde"])), str(rng.choice([*"NV"]))) for _ in range(n)]
        forced = [str(rng.choice(labeler.model_.labels)) if rng.random() < 0.4 else None for _ in range(n)]
        for given in (None, forced):
            (found,) = labeler.predict([sentence], forced=None if given is None else [given])
            assert tuple(found) in best_of_all(labeler, sentence, given)
            assert all(want in (None, label) for want, label in zip(given or [None] * n, found, strict=True))


def test_chunk_labels_come_in_a_legal_order():
    """Whatever the weights."""
    legal = Chunker(passes=2, templates=["pos[0]"]).fit(CHUNKS)
    free = Chunker(passes=2, templates=["pos[0]"], constrain=False).fit(CHUNKS)
    for labeler in (legal, free):
        labeler.model_.w[:] = np.random.default_rng(3).normal(size=labeler.model_.w.shape)
    sentences = [[("z", p) for p in word] for word in product("NV", repeat=5)]
    assert legal.scheme_ == "iob2"

    def illegal(sentence: list[str]) -> bool:
        steps = pairwise(["O", *sentence])
        return any(label.startswith("I-") and before[1:] != label[1:] for before, label in steps)

    assert not any(map(illegal, legal.predict(sentences)))
    assert any(map(illegal, free.predict(sentences)))


def test_illegal_labels_in_the_data_are_learned_from_and_counted():
    rows = [*CHUNKS, [("q", "V", "I-X"), ("b", "N", "O"), ("q", "V", "I-Y")]]
    labeler = Chunker(passes=20).fit(rows)
    assert labeler.notes_ == ["2 forbidden transitions in the training labels; kept"]
    assert labeler.predict([[("b", "N"), ("q", "V")]])[0][1] != "I-Y"
    assert Chunker(passes=1).fit(CHUNKS).notes_ == []


@pytest.mark.parametrize(
    "labels",
    [
        ["S-X", "O", "B-X", "S-X", "S-X"],
        ["U-X", "O", "B-X", "U-X", "U-X"],
        ["B-X", "I-X", "I-Y"],
        ["I-X", "I-Y", "O", "B-Z"],
    ],
)
def test_labels_after_which_nothing_legal_is_known(labels):
    """A corpus may have a B-X that nothing continues; it is data to learn from, not a mistake of the user's."""
    rows = [[(f"w{k}", "N", label) for k, label in enumerate(labels)]]
    labeler = Chunker(passes=5).fit(rows)
    assert len(labeler.predict(words_of(rows))[0]) == len(labels)


def test_forbidden_transitions_hold_also_after_loading_and_going_on(tmp_path):
    rows = [[("a", "N", "X"), ("a", "N", "Y"), ("a", "N", "Z")]] * 3
    forbid = [("X", "Y"), ("Y", "Z")]
    labeler = Tagger(passes=2, forbid=forbid, templates=["w[0]"]).fit(rows)
    assert labeler.notes_ == ["6 forbidden transitions in the training labels; kept"]
    labeler.save(tmp_path / "model")
    loaded = structron.load(tmp_path / "model")
    gone_on = structron.load(tmp_path / "model").partial_fit(rows)
    for one in (labeler, loaded, gone_on):
        (found,) = one.predict([[("a", "N")] * 6])
        assert not set(pairwise(found)) & set(forbid)


def test_forbidden_transitions_that_cannot_be():
    rows = random_rows(1, "XY")
    with pytest.raises(StructronError, match="unknown label in a forbidden transition 'Q'; expected one of: X, Y"):
        Tagger(forbid=[("X", "Q")]).fit(rows)
    with pytest.raises(StructronError, match="nothing may follow 'X'"):
        Tagger(forbid=[("X", "X"), ("X", "Y")]).fit(rows)


def test_the_tag_dictionary_keeps_frequent_words_to_their_labels():
    rows = [
        [("run", "N", "V"), ("a", "N", "D")],
        [("run", "N", "N"), ("a", "N", "D")],
        [("a", "N", "D"), ("b", "N", "V")],
    ]
    labeler = Tagger(passes=1, tag_dictionary=2, templates=["pos[0]"]).fit(rows)
    rng = np.random.default_rng(0)
    seen = {"run": set(), "a": set(), "b": set(), "new": set()}
    for _ in range(60):
        labeler.model_.w[:] = rng.normal(size=labeler.model_.w.shape) * 5
        sentence = [(str(w), "N") for w in rng.choice([*seen], size=4)]
        for (word, _), label in zip(sentence, labeler.predict([sentence])[0], strict=True):
            seen[word].add(label)
    assert seen == {"run": {"V", "N"}, "a": {"D"}, "b": {"D", "N", "V"}, "new": {"D", "N", "V"}}


def test_the_tag_dictionary_goes_on_learning():
    labeler = Tagger(passes=3, tag_dictionary=1).fit([[("a", "N", "X"), ("b", "N", "Y")]])
    labeler.partial_fit([[("a", "N", "Z"), ("c", "N", "Y")]])
    model = labeler.model_
    place = model.dictionary.find(["a", "b", "c", "d"])
    rows = [model.dictionary.masks[model.dictionary.mask[k]].tolist() for k in place[:3]]
    assert model.labels == ["X", "Y", "Z"]
    assert rows == [[True, False, True], [False, True, False], [False, True, False]]
    assert place[3] == -1


# -- forced labels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("average", ["mean", "voted"])
def test_contradictory_forced_labels_do_not_spoil_the_rest(order, average):
    """After labels that no legal path joins, the rest of the sentence is labelled as if nothing had happened."""
    rows = [[("a", "N", "B-X"), ("b", "N", "I-X"), ("c", "V", "O"), ("d", "V", "B-Y")]] * 3
    labeler = Chunker(passes=5, order=order, average=average, templates=["w[0]"]).fit(rows)
    sentence = [("c", "V"), ("b", "N"), *[(word, "N") for word in "abcd" * 10]]
    forced = [["O", "I-X", *[None] * 40]]
    (found,) = labeler.predict([sentence], forced=forced)
    assert found == ["O", "I-X", *["B-X", "I-X", "O", "B-Y"] * 10]


def test_a_dictionary_and_an_order_that_leave_no_legal_way():
    rows = [[("a", "N", "B-X"), ("b", "N", "I-X"), ("c", "V", "O"), ("d", "V", "B-Y")]] * 3
    labeler = Chunker(passes=5, tag_dictionary=1, templates=["w[0]"]).fit(rows)
    (found,) = labeler.predict([[(word, "N") for word in "bcb" + "abcd" * 5]])
    assert found[3:] == ["B-X", "I-X", "O", "B-Y"] * 5


def test_margins_of_forced_labels_are_without_limit():
    labeler = Tagger(passes=2).fit(random_rows(1, "XYZ"))
    _, ((first, second),) = labeler.predict_with_margins([[("a", "N"), ("b", "V")]], forced=[["Y", None]])
    assert first == float("inf")
    assert 0 <= second < float("inf")


def test_voted_models_have_no_margins():
    labeler = Tagger(passes=1, average="voted").fit(random_rows(1, "XY"))
    with pytest.raises(StructronError, match="a voted model has no margins"):
        labeler.predict_with_margins([["a"]])


@pytest.mark.parametrize(
    ("forced", "message"),
    [
        ([["X"]], "lengths differ from the sentences'; expected one"),
        ([["X", None], []], "forced labels: 2 for 1 sentences; expected one for each"),
        ([["Q", None]], "unknown forced label 'Q'; expected one of: X, Y"),
        ([["", None]], "unknown forced label ''"),
    ],
)
def test_forced_labels_that_cannot_be(forced, message):
    labeler = Tagger(passes=1, templates=["w[0]"]).fit(random_rows(1, "XY"))
    with pytest.raises(StructronError, match=message):
        labeler.predict([["a", "b"]], forced=forced)


# -- threads -------------------------------------------------------------------------------------------------------


def test_an_error_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr("structron.runtime.threads.BATCH_TOKENS", 2)
    labeler = Tagger(passes=1).fit(random_rows(1, "XYZ"))

    def fail(*args):
        raise MemoryError("no room")

    monkeypatch.setattr(chain_model, "decode_loaded", fail)
    with pytest.raises(MemoryError, match="no room"):
        labeler.predict([["a"]] * 9, jobs=2)


# -- long and empty sentences --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_a_sentence_of_a_hundred_thousand_tokens(order):
    block = [("the", "D", "X"), ("dog", "N", "Y"), ("barks", "V", "Z"), (".", ".", "Z")]
    long = block * 25_000
    labeler = Tagger(order=order, passes=2, templates=["w[0]", "pos[-1]"]).fit([long, block])
    assert labeler.predict([words_of([long])[0]]) == [[row[-1] for row in long]]
    _, (margins,) = labeler.predict_with_margins([words_of([long])[0]])
    assert min(margins) > 0
    middle = np.array(margins[400:-400]).reshape(-1, 4)
    assert (abs(middle - middle[0]) < 1e-3).all()


# -- forms and mistakes --------------------------------------------------------------------------------------------


def test_columns_are_named_by_their_place_or_by_the_user():
    two, three = Tagger(passes=1).fit([[("a", "X"), ("b", "Y")]]), Chunker(passes=1).fit(CHUNKS)
    assert two.extractor_.columns == ["word", "label"]
    assert three.extractor_.columns == ["word", "pos", "label"]
    four = Tagger(passes=1).fit([[("a", "N", "f", "X"), ("b", "N", "g", "Y")]])
    assert four.extractor_.columns == ["word", "pos", "column3", "label"]
    named = Tagger(passes=1, columns=["lemma", "upos", "form"], label="upos", templates=["lemma[0]", "w[0]"])
    named.fit([[("go", "V", "went"), ("home", "N", "home")]])
    assert named.extractor_.word == "form"
    assert set(named.model_.names.all()) <= {"lemma[0]=go", "lemma[0]=home", "w[0]=went", "w[0]=home"}
    assert named.predict([[("go", "went"), ("home", "home")]]) == [["V", "N"]]


def test_gazetteers_from_files(tmp_path):
    (tmp_path / "places.txt").write_text("new york\nbath\n")
    rows = [[("in", "O"), ("bath", "L")], [("the", "O"), ("cat", "O")]]
    options = {"passes": 20, "average": "none", "templates": ["gaz_LOC[0]"]}
    labeler = Tagger(gazetteers={"LOC": tmp_path / "places.txt"}, **options).fit(rows)
    assert labeler.predict([["a", "bath"], ["in", "new"]]) == [["O", "L"], ["O", "O"]]
    given = Tagger(passes=5, gazetteers={"LOC": Gazetteer.from_phrases("LOC", ["bath"])}).fit(rows)
    assert "gaz_LOC[0]=B-LOC" in given.model_.names.all()
    with pytest.raises(StructronError, match="no such file"):
        Tagger(gazetteers={"LOC": tmp_path / "missing.txt"}).fit(rows)


@pytest.mark.parametrize("kind", [structron.Tagger, structron.SegmentChunker])
def test_atoms_of_ones_own_are_given_again(kind, tmp_path):
    own = {"size": lambda sentence, i: str(len(sentence[i][0]))}
    labeler = kind(passes=2, templates=["w[0]"], atoms=own).fit(CHUNKS)
    assert "size[0]" in map(str, labeler.extractor_.templates)
    labeler.save(tmp_path / "m")
    with pytest.raises(StructronError, match="pass the functions of its atoms again"):
        structron.load(tmp_path / "m")
    assert structron.load(tmp_path / "m", atoms=own).predict(words_of(CHUNKS)) == labeler.predict(words_of(CHUNKS))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[]], "training data: no sentences"),
        ([[("a", "X"), ("b", "X")]], r"training data: only one label \(X\); expected two or more"),
        (
            [["a", "b"]],
            r"training data: sentence 1 is \['a', 'b'\]: words without labels, or one token; expected a list",
        ),
        ([[("a",), ("b",)]], "the label cannot be the word; expected word,…,label"),
        ([[("a", "X"), ("b", "Y")], None], "training data: sentence 2 is None; expected a list of tokens"),
    ],
)
def test_training_data_that_cannot_be(rows, message):
    with pytest.raises(StructronError, match=message):
        Tagger(passes=1).fit(rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"templates": "nothing"}, "templates 'nothing': neither a preset"),
        ({"columns": ["a", "a"]}, "columns: a, a: a name occurs twice"),
        ({"columns": ["a", "b", "c"]}, "training data: no column 'c'; the tokens have: a, b"),
        ({"columns": ["a", "b", "c", "d"]}, "sentence 1, token 1: 2 columns; expected rows of 4 columns"),
        ({"label": "chunk"}, "unknown label column 'chunk'; expected one of: word, label"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(StructronError, match=message):
        Tagger(**options).fit([[("a", "X"), ("b", "Y")]])


def test_parts_labelled_on_threads_are_those_of_one(monkeypatch):
    """Threads take whole parts, from strings to labels; forced labels and margins go with their sentences."""
    monkeypatch.setattr("structron.runtime.threads.LEAST_SENTENCES", 1)
    monkeypatch.setattr("structron.runtime.threads.MOST_SENTENCES", 3)
    rows = random_rows(4, "XYZ", sentences=17)
    labeler = Tagger(passes=2).fit(rows)
    forced = [["X" if (s + i) % 4 == 0 else None for i in range(len(row))] for s, row in enumerate(rows)]
    several, one = (labeler.predict_with_margins(rows, forced=forced, jobs=jobs) for jobs in (3, 1))
    assert several == one
    assert labeler.predict(rows, jobs=3) == labeler.predict(rows)
    with pytest.raises(StructronError, match="sentence 14, token 1"):
        labeler.predict([*rows[:13], [("a", "b", "c", "d")]], jobs=2)
