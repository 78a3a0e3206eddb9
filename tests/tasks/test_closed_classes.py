"""Closed classes: labels that only words have that were seen with them."""

import structron
from structron.tasks.chain.constraints import CLOSED_TOKENS

NOUNS = [f"thing{k}" for k in range(300)]
TRAIN = [[("the", "DET"), (noun, "NOUN"), ("runs" if k % 2 else "sleeps", "VERB")] for k, noun in enumerate(NOUNS)]
"""The open class is that of nouns: each of them is new. Verbs and determiners are closed."""
NEW = [[("the",), ("thingamajig",), ("blorps",)], [("The",), ("THING1",), ("RUNS",)]]


def tagger(**more):
    return structron.Tagger(columns=["word", "pos"], templates=["w[-1]"], passes=3, runs=1, **more)


def test_new_words_get_labels_of_open_classes():
    """After a noun a verb follows, but no new word is one; known words may be one in upper case too."""
    closed = tagger(closed_classes=True).fit(TRAIN)
    assert tagger().fit(TRAIN).predict(NEW[:1]) != closed.predict(NEW[:1])
    assert closed.predict(NEW) == [["DET", "NOUN", "NOUN"], ["DET", "NOUN", "VERB"]]


def test_known_words_keep_to_their_closed_classes(tmp_path):
    model = tagger(closed_classes=True).fit(TRAIN)
    path = tmp_path / "model.structron"
    model.save(path)
    for own in (model, structron.load(path, task="tagger")):
        (found,) = own.predict([[("runs",), ("runs",), ("the",)]])
        assert "DET" not in found[:2]
        assert found[2] != "VERB"


def test_classes_of_few_tokens_are_open():
    few = TRAIN[: CLOSED_TOKENS - 1]
    assert not tagger(closed_classes=True).fit(few).model_.dictionary.mask.any()


def test_it_goes_on_learning_with_new_labels():
    model = tagger(closed_classes=True).fit(TRAIN)
    model.partial_fit([[("the", "DET"), ("thing1", "NOUN"), ("well", "ADV")]] * 5)
    assert "ADV" in model.model_.labels
    assert model.predict([[("thing1",), ("blorps",)]])[0][1] in ("NOUN", "ADV")
