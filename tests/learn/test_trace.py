"""What a trace shows, against a search over lists and its learner, and against the weights that training leaves."""

import copy
import json
import math
from collections import Counter

import numpy as np
import pytest

from estimators import weights_of
from problems import USUAL, corpus_of, figure1_problem, model_of, uneven_weights
from slow import SlowLearner
from structron import BeamLearner, Chunker, JointTagger, Parser, SegmentChunker, StructronError, Tagger
from structron.learn.trace import SHOWN, BeamTrace
from structron.weights import store
from toy import chunk_rows, tree_rows


def learned(problem, weights, beam: int | None, merge: bool, columns: int) -> BeamLearner:
    """An estimator with given weights."""
    found = BeamLearner(problem, beam=beam, merge=merge)
    found.model_, found.columns_ = model_of(problem, weights), columns
    return found


def by_name(problem, changes: Counter) -> dict[tuple[str, str], float]:
    """Changes of weights as a trace names them."""
    named = {}
    for (text, values, column), amount in changes.items():
        names = [problem.actions[a] for a in np.flatnonzero((problem.parts == column).any(axis=1))]
        named[f"{text}={'|'.join(map(str, values))}", "|".join(names)] = amount
    return named


def changes_of(trace: BeamTrace, rule: str) -> dict[tuple[str, str], float]:
    """What the updates of a rule add up to."""
    total: Counter = Counter()
    for update in trace.rules[rule]:
        for c in update.features:
            total[c.name, c.action] += c.change
    return {key: amount for key, amount in total.items() if abs(amount) > 1e-9}


# -- against lists and dictionaries --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", USUAL)
@pytest.mark.parametrize(("beam", "merge"), [(1, True), (2, False), (3, True), (None, True)])
def test_beams_and_updates_are_those_of_lists(name, beam, merge):
    """States, scores, gold, and for all rules the step and the change of every weight."""
    rng, (problem, xs, golds) = np.random.default_rng(5), corpus_of(name)
    fallen = 0
    for e, (x, gold) in enumerate(zip(xs, golds, strict=True)):
        weights = uneven_weights(problem, rng)
        trace = learned(problem, weights, beam, merge, x.shape[1]).trace(x, gold)
        slow = SlowLearner(problem, xs, golds, "standard", beam or math.inf, merge, weights=dict(weights))
        beams, expected = slow.trace(e, 0)
        assert len(trace.steps) == len(beams)
        for step, items in zip(trace.steps, beams, strict=True):
            assert [s.shows["labels"] for s in step.states] == [[problem.actions[a] for a in i.actions] for i in items]
            assert [s.score for s in step.states] == pytest.approx([i.prefix for i in items], abs=1e-5)
            assert [s.gold for s in step.states] == [i.actions == gold[: step.step] for i in items]
            assert (step.best, step.gold) == pytest.approx(
                (expected.best[step.step], expected.gold[step.step]), abs=1e-5
            )
            assert (step.gold_rank is not None) == expected.alive[step.step]
            assert step.gold_state.shows["labels"] == [problem.actions[a] for a in gold[: step.step]]
        fallen += trace.fell_off is not None
        assert trace.prediction == [problem.actions[a] for a in beams[-1][0].actions]
        for rule in SHOWN:
            alone = SlowLearner(problem, xs, golds, rule, beam or math.inf, merge, weights=dict(weights))
            alone.run([e])
            assert len(trace.rules[rule]) == alone.counts["updates"]
            assert sum(not update.violation for update in trace.rules[rule]) == alone.counts["invalid"]
            change = Counter({k: w - weights.get(k, 0.0) for k, w in alone.weights.items()})
            wanted = {key: amount for key, amount in by_name(problem, change).items() if abs(amount) > 1e-9}
            found = changes_of(trace, rule)
            assert found.keys() == wanted.keys()
            assert found == pytest.approx(wanted, abs=1e-5)
    assert fallen or beam is None


def test_a_difference_is_that_of_the_scores():
    """w·ΔΦ from the weights of the features alone, and from the search's own sums."""
    rng, (problem, xs, golds) = np.random.default_rng(2), corpus_of("labelled")
    seen = 0
    for x, gold in zip(xs, golds, strict=True):
        trace = learned(problem, uneven_weights(problem, rng), 2, True, x.shape[1]).trace(x, gold)
        for rule in SHOWN[:-1]:
            for update in trace.rules[rule]:
                step = trace.steps[update.step]
                assert update.difference == pytest.approx(step.gold - step.best, abs=1e-5)
                seen += 1
    assert seen > 5


def test_parents_lead_back_to_the_start():
    rng, (problem, xs, golds) = np.random.default_rng(3), corpus_of("chain2")
    trace = learned(problem, uneven_weights(problem, rng), 3, True, 1).trace(xs[0], golds[0])
    for before, step in zip(trace.steps, trace.steps[1:], strict=False):
        for state in step.states:
            assert state.shows["labels"][:-1] == before.states[state.parent].shows["labels"]
            assert state.shows["labels"][-1] == state.action
    assert trace.steps[0].states[0].parent is None


def test_a_trace_without_gold_is_the_search_of_prediction():
    rng, (problem, xs, _) = np.random.default_rng(4), corpus_of("parser")
    for x in xs:
        model = learned(problem, uneven_weights(problem, rng), 2, True, x.shape[1])
        trace = model.trace(x)
        assert trace.rules == {}
        assert trace.fell_off is None
        assert {s.gold for step in trace.steps for s in step.states} == {False}
        assert trace.steps[-1].states[0].shows["labels"] == model.predict([x])[0] == trace.prediction
        assert trace.steps[-1].best == pytest.approx(model.predict_with_scores([x])[1][0])


def test_gold_that_is_missing_in_a_beam_with_room_for_every_state_was_merged():
    rng, (problem, xs, golds) = np.random.default_rng(4), corpus_of("parser")
    seen = 0
    for x, gold in zip(xs, golds, strict=True):
        weights = uneven_weights(problem, rng)
        trace = learned(problem, weights, 500, True, x.shape[1]).trace(x, gold)
        for step in trace.steps:
            assert (step.gold_rank is None) == (step.merged_rank is not None)
            if step.merged_rank is not None:
                other = step.states[step.merged_rank - 1]
                assert other.score >= step.gold
                assert other.shows["labels"] != step.gold_state.shows["labels"]
                assert f"gold is merged with number {step.merged_rank}" in trace.report()
                seen += 1
        apart = learned(problem, weights, 500, False, x.shape[1]).trace(x, gold)
        assert all(step.merged_rank is None for step in apart.steps)
        assert apart.fell_off is None
    assert seen


def test_figure_1_of_the_paper():
    """Greedy search loses N N V . to N N N . at the third word; then the full stop, too late, makes gold the better."""
    problem, x, gold = figure1_problem(), np.zeros((4, 1), np.int64), ["N", "N", "V", "."]
    weights = {("nn", (0,), 0): 1.0, ("vd", (0,), 1): 2.0}
    trace = learned(problem, weights, 1, True, 1).trace(x, gold)
    assert trace.fell_off == 3
    assert [u.violation for u in trace.rules["standard"]] == [False]
    assert [u.step for u in trace.rules["early"]] == [3]


# -- against training ----------------------------------------------------------------------------------------------

TAGS = [[(w, p) for w, p, _ in s] for s in chunk_rows(60, 1)]
KINDS = {
    "tagger": (lambda **k: Tagger(columns=["word", "pos"], runs=1, cutoff=1, **k), TAGS),
    "chunker": (lambda **k: Chunker(runs=1, **k), chunk_rows(60, 1)),
    "segments": (lambda **k: SegmentChunker(runs=1, cutoff=1, **{"margin": None} | k), chunk_rows(60, 1)),
    "joint": (lambda **k: JointTagger(runs=1, cutoff=1, **{"margin": None} | k), chunk_rows(60, 1)),
    "parser": (lambda **k: Parser(columns=["word", "pos", "head", "deprel"], **{"margin": None} | k), tree_rows(60, 1)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_trace_shows_the_updates_that_training_makes(kind, monkeypatch):
    """One pass over one sentence from the weights of the model changes these weights, and by so much."""
    monkeypatch.setattr(store, "FIRST_CELLS", 1 << 14)
    make, rows = KINDS[kind]
    seen: Counter = Counter()
    for beam, merge in ((1, True), (2, False))[: 2 if kind in ("tagger", "parser") else 1]:
        model = make(beam=beam, merge=merge, passes=1, update="early", alma=None).fit(rows[:12])
        before = weights_of(model)
        hard = [s for s, guess, gold in zip(rows, model.predict(rows), model._gold(rows), strict=True) if guess != gold]
        for sentence in hard[:1]:
            trace = model.trace(sentence, True)
            seen["fell"] += trace.fell_off is not None
            for rule in SHOWN:
                other = copy.deepcopy(model).set_params(update=rule, average="none", seed=1)
                other.partial_fit([sentence])
                assert other.history_[-1]["updates"] == len(trace.rules[rule])
                assert other.history_[-1]["invalid"] == sum(not u.violation for u in trace.rules[rule])
                after, found = weights_of(other), changes_of(trace, rule)
                change = {key: after.get(key, 0.0) - before.get(key, 0.0) for key in {*after, *before, *found}}
                wanted = {key: amount for key, amount in change.items() if abs(amount) > 1e-4}
                assert found.keys() == wanted.keys()
                assert found == pytest.approx(wanted, abs=1e-4)
                old = {(c.name, c.action): c.weight for u in trace.rules[rule][:1] for c in u.features}
                assert all(weight == before.get(key, 0.0) for key, weight in old.items())
                seen[rule] += bool(found)
    assert all(seen[what] for what in ("fell", *SHOWN)), seen
    assert weights_of(model) == before
    json.dumps(trace.to_json())


def test_gold_may_be_given_beside_the_sentence():
    make, rows = KINDS["parser"]
    model = make(passes=1).fit(rows[:12])
    sentence = rows[20]
    gold = model.arcs([sentence])[0]
    assert model.trace([row[:2] for row in sentence], gold) == model.trace(sentence, True)
    assert model.trace(sentence, gold).gold == gold
    first = model.trace(sentence, gold, beam=1)
    assert (first.beam, {len(step.states) for step in first.steps}) == (1, {1})
    assert model.search().beam == 4
    with pytest.raises(StructronError, match="gold: 2 for"):
        model.trace(sentence, gold[:2])
    with pytest.raises(StructronError, match="gold: \\[2, 0\\]; expected an analysis"):
        model.trace(sentence, [2, 0])
    with pytest.raises(StructronError, match="no words"):
        model.trace([], [])


def test_the_stack_and_the_buffer_are_those_of_the_actions():
    make, rows = KINDS["parser"]
    model = make(passes=1, beam=2).fit(rows[:12])
    trace = model.trace(rows[20], True)
    words = trace.sentence
    for step in trace.steps:
        for state in [*step.states, step.gold_state]:
            shows = state.shows
            done = {child for child, _, _ in shows["arcs"]}
            assert shows["buffer"] == words[len(words) - len(shows["buffer"]) :]
            shifted = len(words) - len(shows["buffer"])
            assert shows["stack"] == [w for k, w in enumerate(words[:shifted], 1) if k not in done]
            assert len(shows["arcs"]) + shifted == step.step
    for sentence in rows:  # without gold, which may bring relations that the model never saw there
        trace = model.trace([row[:2] for row in sentence])
        heads = {child: (head, relation) for child, head, relation in trace.steps[-1].states[0].shows["arcs"]}
        assert all(trace.prediction[child - 1] == arc for child, arc in heads.items())


def test_a_model_without_a_beam_has_no_trace():
    model = Tagger(columns=["word", "pos"], runs=1, passes=1).fit(TAGS[:12])
    with pytest.raises(StructronError, match="exact search"):
        model.trace([("a",)])
