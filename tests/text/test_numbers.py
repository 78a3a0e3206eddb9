import json
import pickle

import pytest

from structron import Chunker, Tagger, compare
from structron.eval.scores import accuracy_scores
from structron.text.numbers import ShortFloat, to_json

NOISE = 21.399999618530273  # 21.4 in 32 bits


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (NOISE, "21.4"),
        (114.0, "114.0"),
        (1234567.8, "1234570.0"),
        (-0.00012345678, "-0.000123457"),
        (float("inf"), "inf"),
    ],
)
def test_six_digits_are_printed_and_all_are_kept(value, text):
    found = ShortFloat(value)
    assert (repr(found), str(found), f"{found}") == (text, text, text)
    assert found == value
    assert hash(found) == hash(value)
    assert repr(pickle.loads(pickle.dumps(found))) == text
    assert json.loads(json.dumps([found])) == [value]


def test_lists_of_candidates_margins_and_scores_print_short():
    train = [[("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [("a", "DET"), ("cat", "NOUN")]]
    tagger = Tagger(cutoff=0, runs=1, passes=3).fit(train)
    given = [["the", "cat", "sleeps"]]
    best, margins = tagger.nbest(given, 3)[0], tagger.predict_with_margins(given)[1][0]
    for value in [score for _, score in best] + margins:
        assert len(repr(value).lstrip("-").replace(".", "")) <= 7
        assert value == float(value)
    third = accuracy_scores([["a", "b", "c"]], [["X", "X", "X"]], [["X", "Y", "Y"]])
    assert "accuracy=33.3333," in repr(third)
    assert third.accuracy == 100 / 3


def test_weights_of_a_crf_print_short():
    pytest.importorskip("sklearn")
    from structron.sklearn import CRF

    crf = CRF(max_iterations=3).fit(
        [["the", "dog"], ["a", "cat"], ["the", "a"]] * 3, [["D", "N"], ["D", "N"], ["D", "D"]] * 3
    )
    weights = [*crf.transition_features_.values(), *crf.state_features_.values()]
    assert weights
    assert all(isinstance(weight, ShortFloat) for weight in weights)


def test_json_has_six_digits():
    value = {"f1": 97.67304860088365, "rows": [(1, 10.901875495910645, "0.1234567")], "count": 1_234_567, "on": True}
    found = to_json(value | {"é": None})
    assert found == '{"f1": 97.673, "rows": [[1, 10.9019, "0.1234567"]], "count": 1234567, "on": true, "é": null}'


def test_scores_and_comparisons_print_short():
    train = [[("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [("a", "DET"), ("cat", "NOUN")]]
    first, second = (Tagger(templates=[name], cutoff=0, runs=1, passes=3).fit(train) for name in ("w[0]", "suffix1[0]"))
    test = [[("the", "DET"), ("cat", "VERB"), ("barks", "VERB")]]
    assert repr(first.score(test)) == "66.6667"
    assert first.score(test) == first.evaluate(test).accuracy == 200 / 3
    found = compare(first, second, test, samples=10)
    assert "'accuracy': 66.6667," in repr(found)
    assert found.scores[0]["accuracy"] == 200 / 3
    assert str(found) == found.report()


def test_an_option_that_is_a_list_is_its_default_if_its_items_are():
    assert repr(Chunker(forbid=[], given=[])) == "Chunker()"
    assert repr(Chunker(forbid=[("O", "B-A")])) == "Chunker(forbid=[('O', 'B-A')])"
