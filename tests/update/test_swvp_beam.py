"""Weighted violations under beams: against full rescoring over dictionaries, and the plain update."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_swvp import naive_jj, naive_step, single_positions, variants
from problems import (
    CHAIN_2,
    Space,
    begin_with,
    chain_problem,
    corpus_of,
    inputs_of,
    learn_pass,
    named,
    parser_problem,
    random_corpus,
    training,
    uneven_weights,
    weights_in,
)
from slow import SlowLearner, SlowSearch, assert_close
from structron.errors import StructronError
from structron.learn.beam import BeamTraining
from structron.search.beam.frontier import ROWS
from structron.search.beam.problem import SearchProblem
from structron.update.delta import make_delta
from structron.update.swvp import VARIANTS, Swvp
from structron.update.violation import RULES

RULE_NAMES = [name for name, rule in RULES.items() if not rule.mean]
VALID = [name for name in RULE_NAMES if RULES[name].valid]


def leap_legal(x, table, states, s, out):
    """Take the next token, or the next two: derivations differ in length."""
    out[0], out[1] = 0, 1
    return min(2, x.shape[0] - states[s, 1])


def leap_advance(x, table, states, s, action, t):
    states[t, 1] = states[s, 1] + 1 + action
    states[t, 2] = action + 1
    states[t, 3] = states[s, 2]


@cache
def problem_of(name: str) -> tuple[SearchProblem, list[int]]:
    if name != "leaps":
        return named(name)
    return chain_problem(2, 4, CHAIN_2, legal=leap_legal, advance=leap_advance, always=["y1", "y2"]), [4]


NAMES = ["leaps", "exchanged1", "exchanged2", "chain2", "parser", "poor"]


# -- the same, slowly ----------------------------------------------------------------------------------------------


def steps_of(space: Space, actions) -> list[tuple]:
    """What tells the steps of a derivation apart: the state as the beam sees it, and the action."""
    search = SlowSearch(space, {}, 1, True)
    return [(search.key(search.alone(actions[:j])), action) for j, action in enumerate(actions)]


def mixed_difference(space: Space, y, z, places) -> Counter:
    """ΔΦ(x, y', m^J), every feature of it counted anew."""
    if space.problem.exchangeable:
        return space.difference(tuple(y), tuple(z[j] if j in places else action for j, action in enumerate(y)))
    change = Counter()
    for j in places:
        change.update(space.features(y[:j], y[j]) if j < len(y) else [])
        change.subtract(space.features(z[:j], z[j]) if j < len(z) else [])
    return change


def weighted_step(space: Space, y, z, weights, swvp: Swvp) -> dict:
    """Δ of Algorithm 2 for two prefixes."""
    marks = (y, z) if space.problem.exchangeable else (steps_of(space, y), steps_of(space, z))
    family = (lambda *_: swvp.jj(list(y), list(z))) if callable(swvp.jj) else swvp.jj
    jj = naive_jj(family, *zip(*zip_longest(*marks), strict=True))
    every = [j for j, (a, b) in enumerate(zip_longest(*marks)) if a != b]
    return naive_step(jj, [mixed_difference(space, y, z, places) for places in [*jj, every]], weights, swvp)


@dataclass
class SlowWeighted(SlowLearner):
    """The violation-fixing perceptron with weighted violations, over dictionaries."""

    swvp: Swvp = Swvp("a-wm")  # noqa: RUF009 (frozen)

    def update(self, e, y, wrong, margin) -> None:
        delta = weighted_step(self.spaces[e], y, wrong[0], self.weights, self.swvp)
        self.counts["updates"] += 1
        self.counts["invalid"] += sum(self.weights.get(name, 0.0) * value for name, value in delta.items()) > 1e-9
        for name, amount in delta.items():
            self.weights[name] = self.weights.get(name, 0.0) + amount


def trained(name: str, seed: int, beam: int | None, rule: str, merge: bool, swvp: Swvp | None, **more):
    """A learner with weights to start from that make no two scores equal, and what it learns from."""
    rng, (problem, columns) = np.random.default_rng(seed), problem_of(name)
    xs, golds = random_corpus(rng, problem, 4, 5, columns)
    more = {"average": "none", "check": True} | more
    learner = training(problem, inputs_of(problem, xs, golds), beam, rule, merge, swvp=swvp, **more)
    begin_with(learner, uneven_weights(problem, rng))
    return learner, xs, golds


@pytest.mark.parametrize("name", NAMES)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 4, None]), st.sampled_from(RULE_NAMES), st.booleans(), variants
)
@settings(max_examples=30)
def test_every_step_is_that_of_algorithm_2(name, seed, beam, rule, merge, swvp):
    learner, xs, golds = trained(name, seed, beam, rule, merge, swvp)
    slow = SlowWeighted(learner.problem, xs, golds, rule, beam or float("inf"), merge, swvp=swvp)
    for e in range(len(xs)):
        slow.weights = weights_in(learner.problem, *learner.rows())
        slow.run([e])
        counts = learn_pass(learner, [e])
        assert (counts["updates"], counts["invalid"]) == (slow.counts["updates"], slow.counts["invalid"])
        assert_close(weights_in(learner.problem, *learner.rows()), slow.weights, 2e-5)


@pytest.mark.parametrize("name", ["parser", "poor", "chain2"])
@pytest.mark.parametrize("rule", ["early", "max-violation"])
def test_single_steps_add_up_to_the_whole_update(name, rule):
    """From nothing all d are 0 and γ is uniform: the update is the plain one divided by the number of wrong steps."""
    problem, xs, golds = corpus_of(name, 5, 6, 6)
    for e in range(len(xs)):
        found = []
        for swvp in (None, Swvp("a-wm")):
            learner = training(problem, inputs_of(problem, xs, golds), 2, rule, average="none", swvp=swvp)
            learn_pass(learner, [e])
            found.append(weights_in(problem, *learner.rows()))
        whole, weighted = found
        assert whole.keys() == weighted.keys()
        ratios = {round(whole[key] / weighted[key], 4) for key in whole}
        assert len(ratios) <= 1
        assert all(ratio == round(ratio) and 1 <= ratio <= len(golds[e]) for ratio in ratios)


def test_a_hand_worked_parse():
    """x = a b, correct: shift shift right, found: shift shift left; one wrong step, d = 0, so all of it is γ = 1."""
    problem = parser_problem(["s0.w", "s1.w"], words=4)
    x, gold = np.array([[1, 1], [2, 1]]), [0, 0, 2]
    learner = training(problem, inputs_of(problem, [x], [gold]), 1, "standard", average="none", swvp=Swvp("b-wm"))
    learn_pass(learner, [0])
    assert weights_in(problem, *learner.rows()) == {
        ("s0.w", (2,), 2): 1.0,
        ("s1.w", (1,), 2): 1.0,
        ("s0.w", (2,), 1): -1.0,
        ("s1.w", (1,), 1): -1.0,
    }


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("beam", [1, 3, None])
@pytest.mark.parametrize(
    ("variant", "first", "second"), [("b-wmr", 8 / 15, 7 / 15), ("a-wmr", 2 / 3, 1 / 3), ("b-wm", 7 / 9, 2 / 9)]
)
def test_two_errors_in_eight_words_by_hand(variant, first, second, beam, merge):
    """The example of test_swvp.py: y = B A A A A B A A, z = A A A A A A A A, d = -3.5 of the first word, -1 of the
    sixth. B-WMR: |JJ| = 8, 8/8 and 7/8, divided by 15/8."""
    problem = chain_problem(2, 9, ["w", "y1"], exchangeable=True)
    x, gold = np.arange(1, 9)[:, None], [1, 0, 0, 0, 0, 1, 0, 0]
    given = inputs_of(problem, [x], [gold])
    learner = training(problem, given, beam, "standard", merge, "none", swvp=Swvp(variant), check=True)
    begin_with(learner, {("y1", (0,), 0): 3.0, ("y1", (1,), 0): 0.5})
    learn_pass(learner, [0])
    found = {key[1:]: value for key, value in weights_in(problem, *learner.rows()).items() if key[0] == "w"}
    assert found == pytest.approx({((1,), 1): first, ((1,), 0): -first, ((6,), 1): second, ((6,), 0): -second})


# -- the plain update ------------------------------------------------------------------------------------------------


def arrays(learner: BeamTraining) -> list[bytes]:
    return [array.tobytes() for array in learner.state().values()]


@pytest.mark.parametrize("rule", RULE_NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_the_whole_output_is_the_plain_update_bit_for_bit(name, rule):
    for seed, variant in enumerate(VARIANTS):
        found = []
        for swvp in (
            None,
            Swvp(variant, 2.0, "whole"),
            Swvp(variant, 0.5, lambda y, z: [range(max(len(y), len(z)))], True),
        ):
            learner, xs, _ = trained(name, seed, 2, rule, True, swvp, average="mean")
            counts = [learn_pass(learner, range(len(xs))) for _ in range(3)]
            found.append((counts, arrays(learner)))
        (plain, bits), *others = found
        for counts, weighted in others:
            assert [c["updates"] for c in counts] == [c["updates"] for c in plain]
            assert [c["invalid"] for c in counts] == [c["invalid"] for c in plain]
            assert weighted[:-2] == bits[:-2]  # the last two hold counts and the step


@pytest.mark.parametrize("name", ["exchanged1", "parser"])
def test_a_users_function_is_asked_for_every_mistake(name):
    found = []
    for jj in ("errors", single_positions):
        learner, xs, _ = trained(name, 3, 2, "max-violation", True, Swvp("b-wm", jj=jj))
        for _ in range(3):
            learn_pass(learner, range(len(xs)))
        found.append(arrays(learner)[:-2])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["exchanged2", "parser"])
def test_updates_that_are_no_violations_are_counted(name):
    """Balanced ones may be; aggressive and enforced ones never are, where the rule's own are not."""
    counts = Counter()
    for seed in range(12):
        for kind, swvp in (
            ("balanced", Swvp("b-wmr", 5.0)),
            ("aggressive", Swvp("a-wmr", 5.0)),
            ("enforced", Swvp("b-wmr", 5.0, enforce=True)),
        ):
            learner, xs, _ = trained(name, seed, 2, VALID[seed % len(VALID)], True, swvp)
            for _ in range(2):
                counts[kind] += learn_pass(learner, range(len(xs)))["invalid"]
    assert counts["balanced"] > 0
    assert counts["aggressive"] == counts["enforced"] == 0


@pytest.mark.parametrize("jj", ["errors", single_positions])
@pytest.mark.parametrize("name", ["exchanged1", "parser"])
def test_room_that_runs_out_changes_nothing(name, jj):
    found = []
    for tight in (False, True):
        learner, xs, _ = trained(name, 4, 2, "standard", True, Swvp("b-wm", jj=jj))
        for e in [*range(len(xs))] * 2:
            if tight:
                learner.delta = make_delta(4)
                scratch = learner.engine.scratch(learner.inputs)
                scratch.rows = int(scratch.frontier.used[ROWS]) + 1 if scratch.frontier.used[ROWS] else scratch.rows
                scratch._make()
            learn_pass(learner, [e])
        found.append(weights_in(learner.problem, *learner.rows()))
    assert found[0] == found[1]


def test_exchangeable_problems():
    with pytest.raises(StructronError, match=r"exchangeable: does not work with a stack \(moves\)"):
        chain_problem(exchangeable=True, moves=[1, 0, -1])

    def advance(x, table, states, s, action, t):
        assert action < 2, "only A and B"
        states[t, 1:] = states[s, 1] + 1, action + 1, states[s, 2]

    def legal(x, table, states, s, out):
        out[0] = 0
        return int(states[s, 1] < x.shape[0])

    problem = chain_problem(exchangeable=True, advance=advance, legal=legal)
    with pytest.raises(StructronError, match="chain: advance: example 0: AssertionError: only A and B"):
        problem.check(np.full((9, 1), 1))
