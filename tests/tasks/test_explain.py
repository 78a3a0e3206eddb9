"""Explanations add up: to the score of a labelling, to the margin of a decision."""

import numpy as np
import pytest

import structron
from structron.errors import StructronError
from structron.tasks.chain.explain import START, contributions
from toy import chunk_rows

TEMPLATES = ["w[0]", "pos[0]", "pos[1]", "suffix2[0]", "pos[0]&y", "w[-1]|w[0]&y"]
ALL = 10**6
TOY = chunk_rows(170, 5)


@pytest.fixture(scope="module", params=[1, 2])
def labeler(request: pytest.FixtureRequest) -> structron.Chunker:
    return structron.Chunker(order=request.param, passes=3, templates=TEMPLATES).fit(TOY[:150])


def test_contributions_sum_to_the_score(labeler):
    sentences = TOY[150:]
    model, prepared = labeler.model_, labeler.extractor_.prepare(sentences)
    labels, scores, _ = model.decode(prepared)
    for s in range(len(sentences)):
        path = labels[prepared.starts[s] : prepared.starts[s + 1]].tolist()
        found = list(contributions(model, prepared, s, path))
        assert sum(c.weight for c in found) == pytest.approx(scores[s], abs=1e-3)
        assert {c.token for c in found} == set(range(len(path)))
        features = " ".join(c.feature for c in found)
        for kind in ("y[-1]=", "pos[0]=", "w[0]=", ",y[-1]="):
            assert kind in features


def test_contributions_name_what_the_model_names(labeler):
    model, prepared = labeler.model_, labeler.extractor_.prepare(TOY[:5])
    labels, _, _ = model.decode(prepared)
    plain, paired = set(model.names.all()), {name.replace("&y=", "=", 1) for name in model.pair_names.all()}
    for c in contributions(model, prepared, 0, labels[: prepared.starts[1]].tolist()):
        feature, _, before = c.feature.rpartition(",y[-1]=")
        if feature and before and not feature.startswith("y[-2]="):
            assert feature in paired
        elif not c.feature.startswith("y["):
            assert c.feature in plain


def test_decisions_have_the_margins_of_predictions(labeler):
    for sentence in TOY[150:160]:
        labels, margins = labeler.predict_with_margins([sentence])
        found = labeler.explain(sentence, top=ALL)
        assert [d.word for d in found] == [row[0] for row in sentence]
        assert [d.label for d in found] == labels[0]
        assert [d.margin for d in found] == pytest.approx(margins[0], abs=1e-3)
        for i, decision in enumerate(found):
            assert decision.runner_up not in (None, decision.label)
            assert any(c.token == i for c in decision.because)


def test_runner_up_is_the_best_alternative(labeler):
    sentence = TOY[150]
    model, prepared = labeler.model_, labeler.extractor_.prepare([sentence])
    _, (best,), _ = model.decode(prepared)
    for i, decision in enumerate(labeler.explain(sentence)):
        scores = {}
        for y, label in enumerate(model.labels):
            if i == 0 and not model.allowed[0, y]:
                continue
            forced = np.full(len(sentence), -1)
            forced[i] = y
            _, (scores[label],), _ = model.decode(prepared, forced=forced)
        del scores[decision.label]
        assert best - max(scores.values()) == pytest.approx(decision.margin, abs=1e-3)
        assert scores[decision.runner_up] == pytest.approx(max(scores.values()), abs=1e-3)


def test_no_runner_up_where_nothing_else_is_allowed():
    rows = [[["the", "D"], ["dog", "N"]], [["the", "D"], ["run", "V"]], [["run", "N"], ["the", "D"]]]
    labeler = structron.Tagger(tag_dictionary=1, passes=5).fit(rows)
    the, run = labeler.explain(["the", "run"])
    assert (the.label, the.runner_up, the.margin) == ("D", None, float("inf"))
    assert run.runner_up in {"N", "V"}
    assert all(c.token == 0 for c in the.because)


def test_voted_models_are_not_explained():
    labeler = structron.Tagger(average="voted", passes=2).fit([[["a", "A"], ["b", "B"]]])
    with pytest.raises(StructronError, match="voted"):
        labeler.explain(["a"])


def test_heaviest_against_all_weights(labeler):
    model = labeler.model_
    found = labeler.inspect(top=5)
    assert list(found.labels) == model.labels
    plain = model.w[model.fixed : model.fixed + len(model.keys)]
    names = model.names.all()
    for y, label in enumerate(model.labels):
        expected = sorted((abs(float(w)) for w in plain[:, y] if w), reverse=True)[:5]
        assert [abs(w.weight) for w in found.labels[label]] == expected
        for weight in found.labels[label]:
            assert weight.label == label
            assert plain[names.index(weight.feature), y] == np.float32(weight.weight)
    contexts = [START, *model.labels]
    for weight in found.transitions:
        before = contexts.index(weight.feature.removeprefix("y[-1]="))
        assert model.w[before, model.labels.index(weight.label)] == np.float32(weight.weight)
    sizes = np.sort(np.abs(model.w[: len(contexts), : len(model.labels)]).reshape(-1))[::-1]
    assert [abs(w.weight) for w in found.transitions] == sizes[:5].tolist()
    assert bool(found.trigrams) == (model.order == 2)
    for weight in found.trigrams:
        earlier, before = (part.split("=")[1] for part in weight.feature.split(","))
        row = len(contexts) * (1 + contexts.index(earlier)) + contexts.index(before)
        assert model.w[row, model.labels.index(weight.label)] == np.float32(weight.weight)
    pair_names = [name.replace("&y=", "=", 1) for name in model.pair_names.all()]
    assert len(found.pairs) == 5
    for weight in found.pairs:
        name, _, before = weight.feature.rpartition(",y[-1]=")
        row = model.block_rows[pair_names.index(name), contexts.index(before)]
        assert model.w[row, model.labels.index(weight.label)] == np.float32(weight.weight)


def test_heaviest_of_one_label(labeler):
    found = labeler.inspect("I-NP", top=ALL)
    everything = labeler.inspect(top=ALL)
    assert found.labels == {"I-NP": everything.labels["I-NP"]}
    for part in ("transitions", "trigrams", "pairs"):
        assert getattr(found, part) == [w for w in getattr(everything, part) if w.label == "I-NP"]
    assert str(found.transitions[0]).endswith(" → I-NP")
    with pytest.raises(StructronError, match="unknown label 'X'; expected one of: B-"):
        labeler.inspect("X")


def test_heaviest_of_a_word_in_labels():
    labeler = structron.Tagger(order=1, passes=2).fit([[["a", "X P"], ["b", "X Q"], ["c", "Y P"]]])
    found, everything = labeler.inspect("X"), labeler.inspect()
    assert found.labels == {label: everything.labels[label] for label in ("X P", "X Q")}
    assert {w.label for w in found.transitions} <= {"X P", "X Q"}


def test_models_without_pairs():
    labeler = structron.Tagger(order=1, passes=2).fit([[["a", "A"], ["b", "B"]]])
    found = labeler.inspect()
    assert found.pairs == []
    assert found.trigrams == []
    assert len(labeler.explain(["a", "b"])) == 2
