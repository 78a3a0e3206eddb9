"""`structron.sklearn`: attributes as python-crfsuite reads them, and an estimator that scikit-learn's tools accept."""

import pickle
import random
from itertools import pairwise

import joblib
import numpy as np
import pycrfsuite
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from helpers import run_python
from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.features import attributes
from structron.features.attributes import LARGEST, AttributeExtractor
from structron.kernels.table import hash_list
from structron.learn.chain import ChainLearner
from structron.sklearn import CRF, SequenceLabeler
from structron.text.schemes import count_illegal


def token_of(words, i):
    found = {"word": words[i], "suffix": [words[i][-n:] for n in (1, 2, 3)], "capital": words[i][0].isupper()}
    for step in (-1, 1):
        if 0 <= i + step < len(words):
            found[f"{step:+d}"] = {"word": words[i + step]}
    return found


def featurize(sentences):
    return [[token_of(words, i) for i in range(len(words))] for words in sentences]


TOY = toy_english(900, seed=5)
WORDS, Y = [s.words for s in TOY], [s.chunks for s in TOY]
X = featurize(WORDS)
SMALL = slice(0, 150)


@pytest.fixture(scope="module")
def fitted():
    return SequenceLabeler(random_state=3).fit(X[:600], Y[:600])


def weights(labeler):
    return labeler.labeler_.model_.w.tobytes(), labeler.labeler_.model_.names.all()


def both_readings(token):
    """One token's attributes as we read them and as python-crfsuite does."""
    prepared = AttributeExtractor().prepare([[["before"], token]])
    ours = {name: value for _, name, value in prepared.describe(0, 1, False)}
    theirs = pycrfsuite.ItemSequence([token]).items()[0]
    return ours, {name: float(np.float32(value)) for name, value in theirs.items() if value}


# -- attributes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SequenceLabeler, CRF])
def test_it_inherits_little(kind):
    """What scikit-learn wants as attributes set by the constructor are the fields of two groups of options."""
    assert len([base for base in kind.__mro__ if base.__module__.partition(".")[0] == "structron"]) <= 6


@pytest.mark.parametrize(
    "token",
    [
        ["a", "b", "ü:😀"],
        ("a", "b"),
        {"b", "a"},
        np.array(["a", "b"]),
        [b"a", "b"],
        [],
        {},
        {"k": "v", "": "", "é": "a:b"},
        {"k": b"v", b"l": 1},
        {"yes": True, "no": False, "one": 1, "zero": 0, "half": 0.5, "minus": -3},
        {"f": np.float32(0.5), "i": np.int64(3), "b": np.bool_(True), "s": np.str_("x"), "0d": np.array(2.5)},
        {"k": ["a", "b"], "l": {"c"}, "m": []},
        {"k": {"a": 0.5, "b": "x", "c": ["p", "q"], "d": {"e": True, "f": {"g": 2}}}, "l": {}},
        {"k": 1e12, "l": -1e-12},
    ],
)
def test_attributes_are_read_as_python_crfsuite_reads_them(token):
    ours, theirs = both_readings(token)
    assert ours == theirs


names = st.text(st.characters(exclude_characters=":\0", exclude_categories=["Cs"]), max_size=4)
values = st.recursive(
    names | st.booleans() | st.integers(-1000, 1000) | st.floats(-1e6, 1e6, width=32) | st.lists(names, unique=True),
    lambda inner: st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(names, values, max_size=4) | st.lists(names, unique=True) | st.sets(names))
def test_any_token_is_read_as_python_crfsuite_reads_it(token):
    ours, theirs = both_readings(token)
    assert ours == theirs


def test_what_python_crfsuite_reads_otherwise_or_not_at_all():
    def read(token):
        return {name for _, name, _ in AttributeExtractor().prepare([[token]]).describe(0, 0, False)}

    assert read("word") == {"word"}
    assert read({"k": ("a", "b"), "l": frozenset("c")}) == {"k:a", "k:b", "l:c"}
    assert read(["a\0b"]) == {"a\0b"}


def test_prepared_attributes_are_what_the_learner_reads():
    prepared = AttributeExtractor().prepare([[["a", "b"], {"k": "v"}], [], ["a"], [["b"], {"x": 0.5}]])
    assert prepared.starts.tolist() == [0, 2, 2, 3, 5]
    ptr, hashes, found = prepared.hashes(1, 4)
    assert ptr.tolist() == [0, 1, 2, 3]
    assert hashes.tolist() == hash_list(["a", "b", "x"]).tolist()
    assert found.tolist() == [1, 1, 0.5]
    assert [part.tolist() for part in prepared.pair_hashes(0, 2)] == [[0, 0, 0], [], []]
    assert prepared.names(hash_list(["x", "k:v"]), np.zeros(2, np.int64), False).all() == ["x", "k:v"]
    assert list(prepared.describe(0, 0, True)) == []
    assert AttributeExtractor().prepare([[["a"], {"k": 1, "l": True}]]).values.size == 0


@pytest.mark.parametrize("last", [{"k": 3}, "word", {"k": ["a"]}], ids=["dicts", "a text after", "a list within"])
def test_many_tokens_are_read_like_one(last, monkeypatch):
    """Sequences of plain dicts are read at once, others token by token; codes are packed now and then."""
    monkeypatch.setattr(attributes, "PACKED", 3)
    monkeypatch.setattr(attributes, "REMEMBERED", 2)
    tokens = [{"a": "x", "b": k % 2 == 0, "c": 0, "d": k / 2, "e": [True, 1, 2.5][k % 3]} for k in range(12)]
    sentences = [tokens[:5], [], tokens[5:8], tokens[8:], [tokens[0], last], tokens[:3]]
    prepared = AttributeExtractor().prepare(sentences)
    every = [token for sentence in sentences for token in sentence]
    assert prepared.starts.tolist() == [0, 5, 5, 8, 12, 14, 17]
    for place, token in enumerate(every):
        one = AttributeExtractor().prepare([["", token]]).describe(0, 1, False)
        assert list(prepared.describe(0, place, False)) == list(one)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ({"k": float("nan")}, "attribute 'k': nan"),
        ({"k": {"l": float("inf")}}, "attribute 'k:l': inf"),
        ({"k": 10 * LARGEST}, "expected a number between"),
        ({"k": 10**400}, "too large"),
        ({"k": None}, "attribute 'k': None; expected a string"),
        ({"k": [1]}, "attribute 1; expected a string"),
        ({"k": [["a"]]}, "attribute ['a']; expected a string"),
        ({1: "a"}, "attribute 1; expected a string"),
        (["a", None], "attribute None; expected a string"),
        ([{"k": 1}], "attribute {'k': 1}; expected a string"),
        ({"a", 1}, "attribute 1; expected a string"),
        (0.5, "0.5; expected a dict"),
        (iter("a"), "expected a dict"),
    ],
)
def test_unusable_attributes_are_named(token, message):
    with pytest.raises(StructronError) as caught:
        AttributeExtractor().prepare([["a"], ["a", token]])
    assert "sequence 2, token 2: " in str(caught.value)
    assert message in str(caught.value)


# -- learning --------------------------------------------------------------------------------------------------------


def test_as_accurate_as_python_crfsuite(tmp_path, fitted):
    trainer = pycrfsuite.Trainer("ap", {"max_iterations": 10}, verbose=False)
    for tokens, labels in zip(X[:600], Y[:600], strict=True):
        trainer.append(tokens, labels)
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    pairs = [(a, b) for x, y in zip(X[600:], Y[600:], strict=True) for a, b in zip(tagger.tag(x), y, strict=True)]
    theirs = sum(a == b for a, b in pairs) / len(pairs)
    assert fitted.score(X[600:], Y[600:]) > max(0.9, theirs - 0.01)


def test_values_count():
    dice = random.Random(1)
    draws = [[dice.uniform(-1, 1) for _ in range(8)] for _ in range(300)]
    labels = [["up" if v > 0.2 else "down" for v in row] for row in draws]
    told = [[{"bias": 1, "x": v} for v in row] for row in draws]
    untold = [[{"bias": 1, "x": 1} for v in row] for row in draws]
    assert SequenceLabeler().fit(told[:200], labels[:200]).score(told[200:], labels[200:]) > 0.97
    assert SequenceLabeler().fit(untold[:200], labels[:200]).score(untold[200:], labels[200:]) < 0.75


@pytest.mark.parametrize("token", [str, lambda w: [w, w[-2:]], lambda w: {w, w[-2:]}], ids=["string", "list", "set"])
def test_every_form_of_token_learns(token):
    sequences = [[token(w) for w in words] for words in WORDS[:300]]
    assert SequenceLabeler().fit(sequences[:250], Y[:250]).score(sequences[250:], Y[250:300]) > 0.75


def test_equal_seeds_give_equal_weights():
    def fitted(seed: object = None) -> tuple:
        return weights(SequenceLabeler(random_state=seed).fit(X[SMALL], Y[SMALL]))

    assert fitted(3) == fitted(3) != fitted(4)
    assert fitted() == fitted() != fitted(np.random.RandomState(7)) == fitted(np.random.RandomState(7))


def test_sets_learn_the_same_in_every_process():
    program = """if True:
        import hashlib
        from structron.data.toy_english import toy_english
        from structron.sklearn import CRF, SequenceLabeler
        toy = toy_english(20, seed=2)
        X = [[{w, w[-2:], w[:2], str(len(w))} for w in s.words] for s in toy]
        model = SequenceLabeler().fit(X, [s.pos for s in toy]).labeler_.model_
        print(hashlib.sha256(model.w.tobytes() + model.keys.tobytes()).hexdigest())
    """
    runs = [run_python(program, PYTHONHASHSEED=seed).stdout for seed in ("1", "2")]
    assert runs[0] == runs[1] != ""


def test_dev_data_choose_the_pass():
    labeler = SequenceLabeler(passes=6, patience=2).fit(X[:100], Y[:100], X[600:], Y[600:])
    scores = [record["dev"] for record in labeler.history_]
    assert labeler.n_iter_ == len(scores) <= 6
    assert labeler.score(X[600:], Y[600:]) == pytest.approx(max(scores) / 100, abs=1e-5)


def test_labels_may_differ_between_training_dev_and_test():
    labeler = SequenceLabeler(passes=3).fit(
        [["a", "b", "c"]] * 3, [["A", "B", "C"]] * 3, [["a", "z"]], [["A", "only in dev"]]
    )
    assert labeler.classes_ == ["A", "B", "C"]
    assert labeler.score([["a", "b"], []], [["A", "only in test"], []]) == 0.5


def test_constraints():
    labeler = SequenceLabeler(passes=1, constrain=True).fit(X[SMALL], Y[SMALL])
    assert labeler.labeler_.scheme_ == "iob2"
    assert count_illegal(labeler.predict(X), "iob2") == 0
    assert count_illegal(labeler.set_params(constrain=False).fit(X[SMALL], Y[SMALL]).predict(X), "iob2") > 0
    forbidden = ("B-NP", "I-NP")
    predicted = labeler.set_params(forbid=[forbidden]).fit(X[SMALL], Y[SMALL]).predict(X)
    assert forbidden not in {pair for labels in predicted for pair in pairwise(labels)}


def test_constraints_outlive_more_data():
    labeler = SequenceLabeler(passes=1, constrain=True).fit(X[SMALL], Y[SMALL])
    labeler.partial_fit([["only", "these"]], [["O", "O"]])
    assert count_illegal(labeler.predict(X), "iob2") == 0
    labeler.partial_fit([["neither", "chunk"]], [["K", "L"]])
    assert labeler.labeler_.scheme_ is None
    assert labeler.labeler_.model_.allowed.all()


def test_options_reach_the_labeller():
    given = {"order": 2, "passes": 2, "cutoff": 2, "average": "none", "margin": 5.0, "bpm": 2, "stop_change": 0.1}
    labeler = SequenceLabeler(random_state=4, **given).fit(X[SMALL], Y[SMALL])
    assert labeler.labeler_.get_params().items() >= (given | {"seed": 4}).items()
    assert "standard-margin-5" in labeler.labeler_.signature_


def test_margins(fitted):
    labels, margins = fitted.predict_with_margins(X[600:620])
    assert labels == fitted.predict(X[600:620])
    assert [len(row) for row in margins] == [len(row) for row in labels]
    assert all(margin >= 0 for row in margins for margin in row)
    assert max(max(row) for row in margins) > 1


def test_predict_single_and_empty_input(fitted):
    assert fitted.predict_single(X[700]) == fitted.predict(X[700:701])[0]
    assert fitted.predict([]) == []
    assert fitted.predict([[], X[0], []]) == [[], fitted.predict_single(X[0]), []]
    assert fitted.predict_single([{}, ["never seen"]])


def test_arrays_and_tuples_serve_as_lists():
    lists = SequenceLabeler().fit(X[SMALL], Y[SMALL])
    ragged = np.empty(150, object)
    ragged[:] = [tuple(x) for x in X[SMALL]]
    arrays = SequenceLabeler().fit(ragged, tuple(np.array(y) for y in Y[SMALL]))
    assert weights(arrays) == weights(lists)
    assert {type(label) for labels in arrays.predict(ragged) for label in labels} == {str}
    grid = np.array([["a", "b"], ["b", "a"]])
    assert SequenceLabeler().fit(grid, np.char.upper(grid)).predict(grid) == [["A", "B"], ["B", "A"]]


def test_labels_may_be_integers():
    numbers = [[len(label) for label in labels] for labels in Y[SMALL]]
    labeler = SequenceLabeler(constrain=True).fit(X[SMALL], numbers)
    assert labeler.classes_ == sorted({n for row in numbers for n in row})
    assert labeler.score(X[SMALL], numbers) > 0.95


# -- going on --------------------------------------------------------------------------------------------------------


def test_partial_fit_brings_new_labels_and_attributes():
    old, new = ([["a", "b"]] * 5, [["A", "B"]] * 5), ([["a", "c"]] * 5, [["A", "C"]] * 5)
    labeler = SequenceLabeler().partial_fit(*old)
    assert labeler.classes_ == ["A", "B"]
    labeler.partial_fit(*new)
    assert labeler.classes_ == ["A", "B", "C"]
    assert labeler.predict([["a", "b"], ["a", "c"]]) == [["A", "B"], ["A", "C"]]
    newer = [["a", "b"], ["a", "c"], ["a", "d"]], [["A", "B"], ["A", "C"], ["A", "D"]]
    assert pickle.loads(pickle.dumps(labeler)).partial_fit(*newer).predict(newer[0]) == newer[1]
    assert labeler.classes_ == ["A", "B", "C"]


def test_partial_fit_takes_classes_that_come_later():
    labeler = SequenceLabeler().partial_fit([["a", "a"]], [["A", "A"]], classes=["B", "A"])
    assert labeler.classes_ == ["A", "B"]
    assert labeler.predict([["a"]]) == [["A"]]
    assert labeler.partial_fit([["b"]], [["B"]], classes=np.array(["C"])).classes_ == ["A", "B", "C"]


# -- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([["a"], ["b", "c"]], [["A"], ["B"]], "sequence 2: 2 tokens, 1 labels"),
        ([["a"]], [["A"], ["B"]], "1 sequences in X, 2 in y"),
        ([["a", "b"]], [["A", "A"]], "only one label"),
        ([], [], "no sentences"),
        ([[]], [[]], "no sentences"),
        ("ab", [["A", "B"]], "X: 'ab'; expected a list of lists of tokens"),
        (["ab"], [["A", "B"]], "X, sequence 1: 'ab'; expected a list of tokens"),
        ([{"a": 1}], [["A"]], "expected a list of tokens"),
        (None, [["A"]], "X: None"),
        (scipy.sparse.eye_array(3), [["A"]], "sparse"),
        ([["a"]], ["A"], "y, sequence 1: 'A'; expected a list of labels"),
        ([["a"]], None, "requires y to be passed, but the target y is None"),
        ([["a", "b"], ["c"]], [["A", "B"], [1]], "sequence 2: label 1; expected all strings or all integers"),
        ([["a", "b"]], [["A", 1.5]], "sequence 1: label 1.5"),
        ([["a", {"k": float("nan")}]], [["A", "B"]], "training data: sequence 1, token 2: attribute 'k': nan"),
    ],
)
def test_mistakes_are_named(x, y, message):
    with pytest.raises(ValueError) as caught:
        SequenceLabeler().fit(x, y)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"order": 3}, "order: 3;"),
        ({"random_state": "x"}, "cannot be used to seed"),
        ({"random_state": -1}, "Seed must be between"),
        ({"forbid": [("O", "nothing")]}, "'nothing'"),
    ],
)
def test_wrong_parameters_are_named_by_fit(parameters, message):
    with pytest.raises(ValueError, match=message):
        SequenceLabeler(**parameters).fit(X[:20], Y[:20])


def test_other_mistakes(fitted):
    for method in ("predict", "predict_single", "predict_with_margins"):
        with pytest.raises(NotFittedError):
            getattr(SequenceLabeler(), method)(X[:1])
    with pytest.raises(NotFittedError):
        SequenceLabeler().score(X[:1], Y[:1])
    with pytest.raises(StructronError, match="X_dev or y_dev is missing"):
        SequenceLabeler().fit(X[:9], Y[:9], X_dev=X[:9])
    with pytest.raises(StructronError, match="dev data: sequence 1"):
        SequenceLabeler().fit(X[:9], Y[:9], [["a"]], [["A", "B"]])
    with pytest.raises(StructronError, match="no tokens"):
        fitted.score([[]], [[]])


def test_interrupted_training_keeps_its_model_and_stops_what_called_it(monkeypatch):
    learn, passes = ChainLearner.learn, []

    def interrupted(self, sequence, lo):
        passes.extend([1] * (lo == 0))
        if len(passes) == 3:
            raise KeyboardInterrupt
        return learn(self, sequence, lo)

    monkeypatch.setattr(ChainLearner, "learn", interrupted)
    labeler = SequenceLabeler(runs=1)
    with pytest.raises(KeyboardInterrupt):
        labeler.fit(X[SMALL], Y[SMALL])
    assert labeler.n_iter_ == 2
    assert labeler.score(X[SMALL], Y[SMALL]) > 0.9


# -- scikit-learn ----------------------------------------------------------------------------------------------------


def test_grid_search_over_a_pipeline():
    pipeline = make_pipeline(FunctionTransformer(featurize), SequenceLabeler())
    grid = {"sequencelabeler__passes": [1, 4], "sequencelabeler__average": ["mean", "none"]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(WORDS[SMALL], Y[SMALL])
    assert search.best_params_["sequencelabeler__average"] == "mean"
    assert search.score(WORDS[600:], Y[600:]) > 0.8
    assert search.classes_ == sorted({label for labels in Y[SMALL] for label in labels})
    assert search.predict(WORDS[600:610]) == search.best_estimator_[-1].predict(X[600:610])


def test_cross_validation():
    """On several processes as on one."""
    labeler = SequenceLabeler(passes=3)
    scores = cross_val_score(labeler, X[SMALL], Y[SMALL], cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.8
    assert cross_val_score(labeler, X[SMALL], Y[SMALL], cv=3, n_jobs=2, error_score="raise").tolist() == scores.tolist()
    whole = make_scorer(lambda y, guess: np.mean([list(a) == list(b) for a, b in zip(y, guess, strict=True)]))
    assert 0 < cross_val_score(labeler, X[SMALL], Y[SMALL], cv=3, scoring=whole).mean() < scores.mean()


@pytest.mark.parametrize("lengths", ["ragged", "equal"])
def test_cross_val_predict_gives_back_every_sequence(lengths):
    chosen = [(x[:3], y[:3]) if lengths == "equal" else (x, y) for x, y in zip(X[:90], Y[:90], strict=True)]
    sequences, labels = [x for x, _ in chosen], [y for _, y in chosen]
    predicted = cross_val_predict(SequenceLabeler(passes=2), sequences, labels, cv=3)
    assert predicted.shape == (90,)
    assert [len(row) for row in predicted] == [len(row) for row in labels]
    last = SequenceLabeler(passes=2).fit(sequences[:60], labels[:60]).predict(sequences[60:])
    assert predicted[60:].tolist() == last


def test_pickles_hold_the_model_and_nothing_else(fitted):
    data = pickle.dumps(fitted)
    assert len(data) < 400_000
    again = pickle.loads(data)
    assert again.predict(X) == fitted.predict(X)
    assert (again.classes_, again.history_) == (fitted.classes_, fitted.history_)
    assert not hasattr(again.labeler_, "learner_")
    voted = SequenceLabeler(average="voted", passes=1).fit(X[:30], Y[:30])
    assert pickle.loads(pickle.dumps(voted)).predict(X[:60]) == voted.predict(X[:60])


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_joblib(tmp_path, fitted, mmap_mode):
    joblib.dump(fitted, tmp_path / "labeler")
    again = joblib.load(tmp_path / "labeler", mmap_mode=mmap_mode)
    assert again.predict(X) == fitted.predict(X)
    assert again.partial_fit(X[:50], Y[:50]).score(X[600:], Y[600:]) > 0.8


def test_tags():
    tags = get_tags(SequenceLabeler())
    assert (tags.input_tags.two_d_array, tags.input_tags.string, tags.input_tags.dict) == (False, True, True)
    assert tags.target_tags.required


class AsMatrices:
    """An estimator as it is, but scikit-learn is told that it takes matrices: otherwise it would not check it."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class AsRows(AsMatrices):
    """Each row of a matrix as a sequence of one token with an attribute per column: what the checks can be fed with."""

    def _rows(self, X, reset):
        return [[{str(k): value for k, value in enumerate(row)}] for row in validate_data(self, X, reset=reset)]

    def fit(self, X, y, X_dev=None, y_dev=None):
        return super().fit(self._rows(X, True), None if y is None else np.reshape(y, (-1, 1)).astype(int))

    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(self._rows(X, not hasattr(self, "labeler_")), np.reshape(y, (-1, 1)), classes)

    def predict(self, X):
        check_is_fitted(self)
        return np.array([labels[0] for labels in super().predict(self._rows(X, False))])

    def predict_with_margins(self, X):
        check_is_fitted(self)
        return super().predict_with_margins(self._rows(X, False))

    def score(self, X, y):
        return float(np.mean(self.predict(X) == y))


class Matrices(AsMatrices, SequenceLabeler):
    pass


class Rows(AsRows, SequenceLabeler):
    pass


class CRFMatrices(AsMatrices, CRF):
    pass


class CRFRows(AsRows, CRF):
    pass


A_MATRIX = "feeds a matrix of numbers and one label a row, which are refused: no tokens; see Rows"
NO_COLUMNS = "is about the columns of a matrix; sequences have no number of features"
MATRICES = """
check_fit_score_takes_y check_estimators_overwrite_params check_dont_overwrite_parameters
check_estimators_fit_returns_self check_readonly_memmap_input check_estimators_dtypes
check_dtype_object check_pipeline_consistency check_estimators_pickle
check_f_contiguous_array_estimator check_methods_sample_order_invariance
check_methods_subset_invariance check_dict_unchanged check_fit_idempotent
check_fit_check_is_fitted check_positive_only_tag_during_fit
"""
NOT_FOR_SEQUENCES = dict.fromkeys(MATRICES.split(), A_MATRIX) | {
    "check_estimators_nan_inf": "feeds a matrix, which is refused whether it holds NaN or not; see Rows",
    "check_complex_data": "expects the word 'complex' about a matrix; it is refused for being one",
    "check_n_features_in": NO_COLUMNS,
    "check_n_features_in_after_fitting": NO_COLUMNS,
    "check_fit2d_predict1d": NO_COLUMNS,
    "check_fit2d_1feature": NO_COLUMNS,
    "check_fit2d_1sample": "expects the word 'sample' about one row of a matrix; it is refused for being a matrix",
    "check_estimators_empty_data_messages": "expects '0 feature(s)' about a matrix without columns; it is refused too",
}
NOT_FOR_ROWS = {
    "check_fit2d_1sample": "one sample has one label, which is refused as 'only one label', not 'one class'",
}


def expected_failures(estimator):
    return NOT_FOR_ROWS if isinstance(estimator, AsRows) else NOT_FOR_SEQUENCES


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [Matrices(), Rows(), CRFMatrices(), CRFRows()], expected_failed_checks=expected_failures, xfail_strict=True
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- around ----------------------------------------------------------------------------------------------------------


def test_structron_does_not_import_scikit_learn():
    program = "import sys, structron; structron.Tagger, structron.load; assert 'sklearn' not in sys.modules"
    done = run_python(program)
    assert done.returncode == 0, done.stderr


def test_without_scikit_learn_the_extra_is_named():
    program = """if True:
        import sys
        sys.modules["sklearn"] = None
        try:
            import structron.sklearn
        except ImportError as error:
            print(error)
    """
    assert "pip install 'structron[sklearn]'" in run_python(program).stdout


def test_labels_that_are_not_known():
    """None when fitting; scores need all labels."""
    X = [[{"w": w} for w in text.split()] for text in ["a b a", "b a", "b b a"]]
    y = [["X", None, "X"], [None, None], ["Y", None, None]]
    labeler = SequenceLabeler(passes=3, runs=1).fit(X, y)
    assert labeler.predict(X) == [["X", "Y", "X"], ["Y", "X"], ["Y", "Y", "X"]]
    assert list(labeler.classes_) == ["X", "Y"]
    with pytest.raises(ValueError, match="an open label"):
        labeler.score(X, y)
