"""`structron.sklearn.CRF`: what code written for sklearn-crfsuite calls, with what it expects back."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import RandomizedSearchCV, cross_val_score

import structron
from structron.cli import main
from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.sklearn import CRF, ParameterWarning, SequenceLabeler, metrics, scorers, show_weights
from structron.sklearn.crf import INSTEAD
from structron.tasks.attributes import best_temperature, softmax
from structron.text.numbers import ShortFloat

pytestmark = pytest.mark.filterwarnings("ignore::structron.sklearn.ParameterWarning")


def token_of(words, i):
    return {"word": words[i], "end": words[i][-2:], "before": words[i - 1] if i else "<s>", "bias": 1.0}


TOY = toy_english(400, seed=8)
X = [[token_of(s.words, i) for i in range(len(s.words))] for s in TOY]
Y = [s.chunks for s in TOY]
LABELS = sorted({label for row in Y for label in row})


@pytest.fixture(scope="module")
def crf():
    return CRF("lbfgs", c1=0.1, c2=0.1, max_iterations=100).fit(X[:300], Y[:300])


# -- what was learned ------------------------------------------------------------------------------------------------


def test_weights_have_the_names_of_sklearn_crfsuite(crf):
    assert crf.classes_ == LABELS
    assert len(crf.attributes_) == crf.num_attributes_ == len(set(crf.attributes_))
    assert "bias" in crf.attributes_
    states, moves = crf.state_features_, crf.transition_features_
    assert {type(w) for w in (*states.values(), *moves.values())} == {ShortFloat}
    assert {attribute for attribute, _ in states} == set(crf.attributes_)
    assert {label for _, label in states} <= set(LABELS)
    assert ("B-NP", "I-NP") in moves
    assert ("O", "I-NP") not in moves
    assert crf.size_ > 1000
    free = CRF(constrain=False, max_iterations=2).fit(X[:50], Y[:50])
    assert ("O", "I-NP") in free.transition_features_


def test_weights_add_up_to_the_score_of_a_labelling(crf):
    """State and transition weights are the model: summed by hand they give what n-best says."""
    x = X[300]
    start = crf.labeler_.model_.w[0]
    for labels, score in crf.nbest([x], 3)[0]:
        total = float(start[crf.labeler_.model_.labels.index(labels[0])])
        for token, label in zip(x, labels, strict=True):
            names = [key if key == "bias" else f"{key}:{value}" for key, value in token.items()]
            total += sum(crf.state_features_.get((name, label), 0.0) for name in names)
        total += sum(crf.transition_features_[pair] for pair in pairwise(labels))
        assert total == pytest.approx(score, abs=1e-3)
    assert crf.nbest([x], 3)[0][0][0] == crf.predict_single(x)


def test_weights_are_shown_as_eli5_does(crf):
    found = show_weights(crf, top=5, targets=["B-NP", "I-NP"])
    assert list(found.labels) == ["B-NP", "I-NP"]
    states = crf.state_features_
    best = sorted((abs(w) for (_, label), w in states.items() if label == "B-NP"), reverse=True)[:5]
    assert [abs(weight.weight) for weight in found.labels["B-NP"]] == pytest.approx(best)
    assert all(states[weight.feature, "B-NP"] == pytest.approx(weight.weight) for weight in found.labels["B-NP"])
    moves = {abs(w) for (_, label), w in crf.transition_features_.items() if label in found.labels}
    assert abs(found.transitions[0].weight) == pytest.approx(max(moves))
    ending = show_weights(crf, top=3, feature_re="^end:")
    assert {weight.feature[:4] for weights in ending.labels.values() for weight in weights} == {"end:"}
    assert ending.transitions == []
    html = found._repr_html_()
    assert html.count("<table") == 3
    assert html.count("<tr style") == 15
    assert str(found).startswith("B-NP\n")
    with pytest.raises(StructronError, match="'X'"):
        show_weights(crf, targets=["X"])


def test_the_training_log_has_a_line_for_each_pass(crf):
    log = crf.training_log_
    assert [own["num"] for own in log.iterations] == list(range(1, crf.n_iter_ + 1))
    assert log.last_iteration["loss"] == crf.history_[-1]["wrong_tokens"]
    assert str(log).startswith("Iter 1   time=")
    dev = CRF(max_iterations=2).fit(X[:50], Y[:50], X[50:80], Y[50:80])
    assert 0.5 < dev.training_log_.last_iteration["dev_accuracy"] <= 1


def test_the_tagger_is_that_of_python_crfsuite(crf):
    tagger, x = crf.tagger_, X[310]
    assert sorted(tagger.labels()) == LABELS
    assert tagger.tag(x) == crf.predict_single(x)
    assert tagger.marginal("O", 0) == crf.predict_marginals_single(x)[0]["O"]
    info = tagger.info()
    assert (info.transitions, info.state_features) == (crf.transition_features_, crf.state_features_)
    assert int(info.header["num_attrs"]) == len(info.attributes) == crf.num_attributes_
    tagger.close()
    with pytest.raises(StructronError, match="no sequence is set"):
        crf.tagger_.tag()
    with pytest.raises(StructronError, match="'X'"):
        tagger.marginal("X", 0)
    with pytest.raises(StructronError, match="position 99; expected 0 to"):
        tagger.marginal("O", 99)
    with pytest.raises(StructronError, match="a whole sequence has no probability"):
        tagger.probability(["O"])


def test_nothing_is_there_before_training():
    for name in ("classes_", "attributes_", "state_features_", "tagger_", "size_", "training_log_"):
        with pytest.raises(NotFittedError):
            getattr(CRF(), name)
        assert not hasattr(CRF(), name)


# -- marginals -------------------------------------------------------------------------------------------------------


def test_marginals_are_probabilities_of_every_label(crf):
    for row, labels in zip(crf.predict_marginals(X[300:340]), crf.predict(X[300:340]), strict=True):
        for likely, label in zip(row, labels, strict=True):
            assert likely.keys() == set(LABELS)
            assert sum(likely.values()) == pytest.approx(1)
            assert likely[label] == max(likely.values())


def test_marginals_of_unseen_sentences_are_calibrated(crf):
    """What is said to be likely is right about as often: within a few points, in all and where it is unsure."""
    rows = [(max(t.values()), max(t, key=t.get)) for row in crf.predict_marginals(X[300:]) for t in row]
    gold = [label for labels in Y[300:] for label in labels]
    right = [label == guess for (_, guess), label in zip(rows, gold, strict=True)]
    assert abs(np.mean(right) - np.mean([p for p, _ in rows])) < 0.03
    unsure = [(p, ok) for (p, _), ok in zip(rows, right, strict=True) if p < 0.9]
    assert len(unsure) > 50
    assert abs(np.mean([ok for _, ok in unsure]) - np.mean([p for p, _ in unsure])) < 0.12


def test_marginals_may_be_calibrated_by_data_of_ones_own():
    crf = CRF(max_iterations=3, calibrate_saved=False).fit(X[:100], Y[:100])
    again = pickle.loads(pickle.dumps(crf))
    assert again.labeler_.temperature_ is None
    with pytest.raises(StructronError, match="the training data are no longer available"):
        again.predict_marginals(X[:1])
    again.calibrate(X[200:300], Y[200:300])
    assert again.predict_marginals_single(X[0])[0].keys() == set(LABELS)
    dev = CRF(max_iterations=3).fit(X[:100], Y[:100], X[200:300], Y[200:300])
    assert dev.labeler_.temperature_ is not None


def test_pickles_and_files_keep_the_calibration(tmp_path):
    crf = CRF(max_iterations=3).fit(X[:100], Y[:100])
    copy = pickle.loads(pickle.dumps(crf))
    crf.save(tmp_path / "m")
    loaded = CRF.load(tmp_path / "m")
    assert loaded.get_params() == crf.get_params()
    for other in (copy, loaded):
        assert other.predict(X) == crf.predict(X)
        assert other.predict_marginals(X[:5]) == crf.predict_marginals(X[:5])


def test_very_few_sentences_give_marginals_too():
    crf = CRF().fit([[["a"], ["b"]]], [["A", "B"]])
    (first, second) = crf.predict_marginals_single([["a"], ["b"]])
    assert 0.5 < first["A"] < 1
    assert 0.5 < second["B"] < 1


def test_the_temperature_is_that_of_the_likeliest_labels():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(20_000, 3)).astype(np.float32) * 12
    likely = softmax(scores - scores.max(axis=1, keepdims=True), 5.0)
    gold = (likely.cumsum(axis=1) > rng.random((len(likely), 1))).argmax(axis=1)
    assert best_temperature(scores - scores.max(axis=1, keepdims=True), gold) == pytest.approx(5, rel=0.05)


# -- parameters ------------------------------------------------------------------------------------------------------


def test_parameters_come_in_the_order_of_sklearn_crfsuite():
    sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
    theirs = list(sklearn_crfsuite.CRF().get_params())
    assert set(theirs) <= set(CRF().get_params())


@pytest.mark.parametrize("name", INSTEAD)
def test_parameters_without_a_meaning_are_accepted_with_a_warning(name):
    with pytest.warns(ParameterWarning, match=f"{name}: ignored, {INSTEAD[name]}"):
        CRF(max_iterations=1, **{name: 1}).fit(X[:5], Y[:5])


def test_what_is_trained_is_said_once():
    with pytest.warns(ParameterWarning) as caught:
        CRF(algorithm="l2sgd", epsilon=0.1, delta=0.1, max_iterations=1).fit(X[:5], Y[:5])
    assert len(caught) == 1
    assert "algorithm l2sgd: the averaged perceptron is trained" in str(caught[0].message)
    assert "epsilon, delta: ignored, training makes a fixed number of passes" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF("ap", max_iterations=2, all_possible_transitions=True, min_freq=1).fit(X[:9], Y[:9])


@pytest.mark.parametrize(
    ("given", "passes"),
    [
        ({}, 20),
        ({"c2": 0.1}, 20),
        ({"c2": 1.0}, 11),
        ({"c2": 0.0}, 40),
        ({"c2": 1e6}, 5),
        ({"c2": 0.1, "max_iterations": 3}, 3),
        ({"algorithm": "ap", "max_iterations": 70}, 70),
        ({"algorithm": "ap"}, 20),
    ],
)
def test_the_penalty_and_the_iterations_settle_the_passes(given, passes):
    assert CRF(**given)._settings(few=False)["passes"] == passes
    assert CRF()._settings(few=True)["passes"] == 30


def test_c1_makes_the_model_smaller():
    sizes = [CRF(c1=c1, max_iterations=5).fit(X[:100], Y[:100]) for c1 in (0, 0.2, 2)]
    counts = [len(crf.state_features_) for crf in sizes]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[2] > 0
    assert sizes[0].num_attributes_ > sizes[2].num_attributes_
    assert min(abs(w) for w in sizes[1].state_features_.values()) > 0.2


def test_other_parameters_with_a_meaning():
    rare = CRF(min_freq=3, max_iterations=2).fit(X[:100], Y[:100])
    assert rare.num_attributes_ < CRF(max_iterations=2).fit(X[:100], Y[:100]).num_attributes_
    assert CRF(averaging=False)._settings(few=True)["average"] == "none"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"algorithm": "svm"}, "unknown algorithm 'svm'; expected one of: lbfgs"),
        ({"c1": -1}, "c1: -1; expected a number of at least 0"),
        ({"c2": "x"}, "c2: 'x'; expected a number"),
        ({"max_iterations": 0}, "max_iterations: 0;"),
        ({"runs": 0}, "runs: 0; expected a whole number"),
    ],
)
def test_wrong_parameters_are_named(given, message):
    with pytest.raises(StructronError, match=message):
        CRF(**given).fit(X[:5], Y[:5])


def test_a_randomized_search_over_the_penalties(crf):
    scorer = scorers.make_scorer(metrics.flat_f1_score, average="weighted", labels=LABELS)
    space = {"c1": [0.0, 0.05], "c2": [0.01, 1e6]}
    base = CRF("lbfgs", max_iterations=100, all_possible_transitions=True)
    search = RandomizedSearchCV(base, space, cv=2, n_iter=3, scoring=scorer, random_state=0, error_score="raise")
    search.fit(X[:80], Y[:80])
    assert search.best_params_.keys() == {"c1", "c2"}
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


# -- metrics, files, both classes --------------------------------------------------------------------------------------


def test_metrics_and_scorers(crf):
    gold, guess = [["A", "B"], ["B"]], [["A", "A"], ["B"]]
    assert metrics.flat_accuracy_score(gold, guess) == pytest.approx(2 / 3)
    assert metrics.sequence_accuracy_score(gold, guess) == 0.5
    assert metrics.flat_f1_score(gold, guess, average="macro") == pytest.approx(2 / 3)
    assert metrics.flat_precision_score(gold, guess, average="macro") == 0.75
    assert metrics.flat_recall_score(gold, guess, average="macro") == 0.75
    assert metrics.flat_fbeta_score(gold, guess, beta=1, average="macro") == pytest.approx(2 / 3)
    assert "precision" in metrics.flat_classification_report(gold, guess)
    assert pickle.loads(pickle.dumps(metrics.flat_f1_score)) is metrics.flat_f1_score
    assert crf.score(X[300:], Y[300:]) == metrics.flat_accuracy_score(Y[300:], crf.predict(X[300:]))
    found = cross_val_score(CRF(max_iterations=2), X[:60], Y[:60], cv=2, scoring=scorers.sequence_accuracy)
    assert found.shape == (2,)


def test_a_model_file_is_written_and_found_again(tmp_path):
    path = str(tmp_path / "model")
    crf = CRF(model_filename=path, max_iterations=2).fit(X[:50], Y[:50])
    assert CRF(model_filename=path).predict(X) == crf.predict(X)


@pytest.mark.parametrize("kind", [CRF, SequenceLabeler])
def test_model_files_of_both_classes(tmp_path, kind):
    path = tmp_path / "m.structron"
    labeler = kind(random_state=3).fit(X[:60], Y[:60])
    labeler.save(path)
    again = kind.load(path)
    assert again.predict(X) == labeler.predict(X)
    assert again.nbest(X[:3], 2) == labeler.nbest(X[:3], 2)
    assert again.get_params() == labeler.get_params()
    assert structron.load(path).predict(X) == labeler.predict(X)
    other = SequenceLabeler if kind is CRF else CRF
    with pytest.raises(
        StructronError, match=f"a model of {kind.__name__}; expected one written by {other.__name__}.save"
    ):
        other.load(path)


def test_labels_that_are_numbers_come_back_as_numbers(tmp_path):
    numbers = [[len(label) for label in row] for row in Y[:40]]
    labeler = SequenceLabeler(passes=2).fit(X[:40], np.array(numbers, object))
    labeler.save(tmp_path / "m")
    again = SequenceLabeler.load(tmp_path / "m")
    assert again.predict(X[:9]) == labeler.predict(X[:9])
    assert {type(label) for row in again.predict(X[:9]) for label in row} == {int}


def test_decisions_are_explained(crf):
    decisions = crf.explain(X[301])
    assert [d.label for d in decisions] == crf.predict_single(X[301])
    assert [d.word for d in decisions] == [token["word"] for token in X[301]]
    assert any(c.feature.startswith("word:") for d in decisions for c in d.because)
    assert crf.inspect("B-NP", top=3).labels["B-NP"][0].label == "B-NP"
    assert SequenceLabeler(passes=1).fit([["a", "b"]], [["A", "B"]]).explain(["a", "b"])[0].word == "a"


def test_the_command_line_says_where_such_a_model_is_used(tmp_path, capsys):
    SequenceLabeler(passes=1).fit(X[:30], Y[:30]).save(tmp_path / "m")
    (tmp_path / "f.conll").write_text("a O\n")
    for command in ("predict", "evaluate"):
        assert main([command, str(tmp_path / "m"), str(tmp_path / "f.conll")]) == 2
        assert "its tokens are attributes made in Python; expected structron.sklearn there" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "m")]) == 0
    assert "word:" in capsys.readouterr().out
