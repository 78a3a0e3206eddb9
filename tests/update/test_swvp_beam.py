"""Weighted violations under beams: against full rescoring over dictionaries, exact search, and the plain update."""

from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structron
from brute_swvp import BETAS, alternate, naive_gamma, naive_jj
from problems import (
    CHAIN_1,
    CHAIN_2,
    POOR,
    Space,
    begin_with,
    chain_problem,
    inputs_of,
    learn_pass,
    parser_problem,
    random_corpus,
    uneven_weights,
    weights_in,
)
from slow import SlowLearner, SlowSearch
from structron import BeamLearner, Chunker, JointTagger, Parser
from structron.cli import main
from structron.data.toy_english import toy_english, write_conll, write_conllu
from structron.errors import StructronError
from structron.learn.beam import BeamTraining
from structron.model.beam import BeamModel
from structron.search.beam.frontier import ROWS
from structron.update.delta import make_delta
from structron.update.swvp import FAMILIES, VARIANTS, Swvp
from structron.update.violation import RULES, Rule, early
from structron.weights.sparse import Row

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


PROBLEMS = {
    "leaps": (lambda: chain_problem(2, 4, CHAIN_2, legal=leap_legal, advance=leap_advance, always=["y1", "y2"]), [4]),
    "chain1": (lambda: chain_problem(3, 4, CHAIN_1, exchangeable=True), [4]),
    "chain2": (lambda: chain_problem(3, 4, CHAIN_2, exchangeable=True), [4]),
    "steps": (lambda: chain_problem(3, 4, CHAIN_2), [4]),
    "parser": (parser_problem, [4, 4]),
    "poor": (lambda: parser_problem(POOR, words=2, tags=3), [2, 3]),
}
SENTENCES = [s for s in toy_english(60, 3) if s.words]
ROWS_OF = [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in SENTENCES]
TREES = [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in SENTENCES[:30]]
SMALL = {"templates": ["w[0]", "pos[0]", "pos[-1]|pos[0]"], "passes": 2}


def single_positions(y: list, z: list) -> list[list[int]]:
    """The family `errors` as a user may write it."""
    return [[j] for j in range(max(len(y), len(z)))]


# -- the same, slowly ----------------------------------------------------------------------------------------------


def steps_of(space: Space, actions) -> list[tuple]:
    """What tells the steps of a derivation apart: the state as the beam sees it, and the action."""
    search = SlowSearch(space, {}, 1, True)
    return [(search.key(search.alone(actions[:j])), action) for j, action in enumerate(actions)]


def mixed_difference(space: Space, y, z, places) -> Counter:
    """ΔΦ(x, y', m^J), every feature of it counted anew."""
    change = Counter()
    if space.problem.exchangeable:
        change.update(space.phi(tuple(y)))
        change.subtract(space.phi(tuple(z[j] if j in places else action for j, action in enumerate(y))))
        return change
    for j in places:
        change.update(space.features(y[:j], y[j]) if j < len(y) else [])
        change.subtract(space.features(z[:j], z[j]) if j < len(z) else [])
    return change


def weighted_step(space: Space, y, z, weights, swvp: Swvp) -> dict:
    """Δ of Algorithm 2 for two prefixes, straight from its lines."""
    marks = (y, z) if space.problem.exchangeable else (steps_of(space, y), steps_of(space, z))
    family = (lambda *_: swvp.jj(list(y), list(z))) if callable(swvp.jj) else swvp.jj
    lists = naive_jj(family, *zip(*zip_longest(*marks), strict=True))
    changes = [mixed_difference(space, y, z, places) for places in lists]
    every = [j for j, (a, b) in enumerate(zip_longest(*marks)) if a != b]
    whole = mixed_difference(space, y, z, every)

    def dot(change: Counter) -> float:
        return sum(weights.get(name, 0.0) * value for name, value in change.items())

    found = [dot(change) for change in changes]
    gamma, share = naive_gamma(found, swvp.variant, swvp.beta), 1.0
    if gamma is not None:
        total, share = float(np.dot(gamma, found)), 0.0
        if swvp.enforce and total > 0:
            share = total / (total - dot(whole)) if dot(whole) < 0 else 1.0
    step: dict = {}
    parts = [(share, whole), *(((1 - share) * g, c) for g, c in zip(gamma or [], changes, strict=False))]
    for amount, change in parts:
        for name, value in change.items():
            step[name] = step.get(name, 0.0) + amount * value
    return step


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


variants = st.builds(
    Swvp, st.sampled_from(VARIANTS), st.sampled_from(BETAS), st.sampled_from([*FAMILIES, alternate]), st.booleans()
)


def trained(name: str, seed: int, beam: int | None, rule: str, merge: bool, swvp: Swvp | None, **more):
    """A learner with weights to start from that make no two scores equal, and what it learns from."""
    problem, rng = PROBLEMS[name][0](), np.random.default_rng(seed)
    xs, golds = random_corpus(rng, problem, 4, 5, PROBLEMS[name][1])
    more = {"average": "none", "check": True} | more
    learner = BeamTraining(problem, inputs_of(problem, xs, golds), beam, rule, merge, swvp=swvp, **more)
    begin_with(learner, uneven_weights(problem, rng))
    return learner, xs, golds


@pytest.mark.parametrize("name", PROBLEMS)
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
        found = weights_in(learner.problem, *learner.rows())
        for key in found.keys() | slow.weights.keys():
            assert found.get(key, 0.0) == pytest.approx(slow.weights.get(key, 0.0), abs=2e-5)


@pytest.mark.parametrize("name", ["parser", "poor", "steps"])
@pytest.mark.parametrize("rule", ["early", "max-violation"])
def test_single_steps_add_up_to_the_whole_update(name, rule):
    """From nothing all d are 0 and γ is uniform: the update is the plain one divided by the number of wrong steps."""
    problem = PROBLEMS[name][0]()
    xs, golds = random_corpus(np.random.default_rng(5), problem, 6, 6, PROBLEMS[name][1])
    for e in range(len(xs)):
        found = []
        for swvp in (None, Swvp("a-wm")):
            learner = BeamTraining(problem, inputs_of(problem, xs, golds), 2, rule, average="none", swvp=swvp)
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
    learner = BeamTraining(problem, inputs_of(problem, [x], [gold]), 1, "standard", average="none", swvp=Swvp("b-wm"))
    learn_pass(learner, [0])
    assert weights_in(problem, *learner.rows()) == {
        ("s0.w", (2,), 2): 1.0,
        ("s1.w", (1,), 2): 1.0,
        ("s0.w", (2,), 1): -1.0,
        ("s1.w", (1,), 1): -1.0,
    }


# -- the plain update and exact search -----------------------------------------------------------------------------


def arrays(learner: BeamTraining) -> list[bytes]:
    return [array.tobytes() for array in learner.state().values()]


@pytest.mark.parametrize("rule", RULE_NAMES)
@pytest.mark.parametrize("name", PROBLEMS)
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


@pytest.mark.parametrize("name", ["chain1", "parser"])
def test_a_users_function_is_asked_for_every_mistake(name):
    found = []
    for jj in ("errors", single_positions):
        learner, xs, _ = trained(name, 3, 2, "max-violation", True, Swvp("b-wm", jj=jj))
        for _ in range(3):
            learn_pass(learner, range(len(xs)))
        found.append(arrays(learner)[:-2])
    assert found[0] == found[1]


def names_of(model) -> list[str]:
    """The names of the features of either kind of chain model, in the order of their rows."""
    if hasattr(model, "base"):
        return [*model.names.all(), *map(model.describe, model.block_keys.tolist())]
    before = ["<s>", *model.labels]
    pairs = [f"y[-2]={a},y[-1]={b}" for a in before for b in before] if model.order == 2 else []
    return [*(f"y[-1]={a}" for a in before), *pairs, *model.names.all()]


def named_weights(model) -> dict[tuple[str, str], float]:
    """Weights by (feature, label)."""
    names, labels = names_of(model), model.labels
    if hasattr(model, "base"):
        cells = zip(*(array.tolist() for array in model.base.rows), strict=True)
        return {(names[place], labels[column]): weight for place, column, weight in cells}
    return {(name, label): float(model.w[j, y]) for j, name in enumerate(names) for y, label in enumerate(labels)}


def begin_at(labeler: Chunker, weights: dict[tuple[str, str], float]) -> None:
    """Let a trained labeller go on from other weights than its own."""
    model = labeler.model_
    cells = np.array([[weights.get((name, y), 0.0) for y in model.labels] for name in names_of(model)], np.float32)
    if hasattr(model, "base"):
        place, column = np.indices(cells.shape).reshape(2, -1)
        rows = Row(place, column.astype(np.int32), cells.reshape(-1))
        model.base = BeamModel(model.base.problem, model.base.keys, rows, model.base.anchored_keys)
    else:
        del labeler.learner_
        model.w[: len(cells), : cells.shape[1]] = cells


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("order", [1, 2])
def test_a_beam_that_keeps_everything_is_exact_search(order, variant):
    """From weights that make no two labellings equal: which of equal ones is found is each search's own business."""
    how = SMALL | {"order": order, "average": "none", "constrain": False}
    exact, beamed = Chunker(**how).fit(ROWS_OF), Chunker(**how, beam=5000, update="standard").fit(ROWS_OF[:20])
    common = sorted(set(names_of(exact.model_)) & set(names_of(beamed.model_)))
    keys = [(name, label) for name in common for label in exact.model_.labels]
    start = dict(zip(keys, np.random.default_rng(order).normal(size=len(keys)).tolist(), strict=True))
    for labeler in (exact, beamed):
        begin_at(labeler, start)
        labeler.swvp, labeler.beta, labeler.passes = variant, 2.0, 1
        labeler.partial_fit(ROWS_OF[:20])
    one, other = named_weights(exact.model_), named_weights(beamed.model_)
    assert exact.history_[-1]["updates"] == beamed.history_[-1]["updates"] > 10
    assert sum(abs(one.get(key, 0.0) - start.get(key, 0.0)) > 0.01 for key in one) > 100
    for key in one.keys() | other.keys():
        assert other.get(key, 0.0) == pytest.approx(one.get(key, 0.0), abs=1e-4), key


# -- condition 2 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chain2", "parser"])
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


# -- room ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jj", ["errors", single_positions])
@pytest.mark.parametrize("name", ["chain1", "parser"])
def test_room_that_runs_out_changes_nothing(name, jj):
    found = []
    for tight in (False, True):
        learner, xs, _ = trained(name, 4, 2, "standard", True, Swvp("b-wm", jj=jj))
        for e in [*range(len(xs))] * 2:
            if tight:
                learner.delta = make_delta(4)
                room = learner.engine.room(learner.inputs)
                room.rows = int(room.frontier.used[ROWS]) + 1 if room.frontier.used[ROWS] else room.rows
                room._make()
            learn_pass(learner, [e])
        found.append(weights_in(learner.problem, *learner.rows()))
    assert found[0] == found[1]


# -- tasks ---------------------------------------------------------------------------------------------------------


def model_bits(estimator) -> list[bytes]:
    base = getattr(estimator.model_, "base", estimator.model_)
    return [base.keys.tobytes(), *(array.tobytes() for array in base.rows)]


MAKERS = {
    "chunker": (lambda **how: Chunker(beam=4, **(SMALL | how)), ROWS_OF),
    "further": (lambda **how: Chunker(**(SMALL | {"templates": ["w[0]", "w[0]|y[-1]|y[-2]"]} | how)), ROWS_OF[:20]),
    "parser": (lambda **how: Parser(**({"beam": 4, "passes": 2} | how)), TREES),
    "joint": (lambda **how: JointTagger(**({"update": "early", "alma": None, "beam": 4, "passes": 2} | how)), ROWS_OF),
}


@pytest.mark.parametrize("task", MAKERS)
def test_tasks_with_weighted_violations(task, tmp_path):
    """Another model than the plain one, with its rule in the signature, kept by its file; whole: the plain one."""
    make, data = MAKERS[task]
    plain, weighted = make(passes=5).fit(data), make(passes=5, swvp="b-wmr", beta=2.0).fit(data)
    assert model_bits(plain) != model_bits(weighted)
    assert "swvp-b-wmr-2-errors" in weighted.signature_
    assert "swvp" not in plain.signature_
    assert weighted.score(data) > 70
    weighted.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert (again.swvp, again.beta, again.jj, again.enforce) == ("b-wmr", 2.0, "errors", False)
    assert again.predict(data) == weighted.predict(data)
    assert model_bits(make(passes=5, swvp="a-wm", jj="whole", enforce=True).fit(data)) == model_bits(plain)


@pytest.mark.parametrize("update", RULE_NAMES)
@pytest.mark.parametrize("task", ["chunker", "parser"])
def test_whole_is_plain_with_every_rule(task, update):
    make, data = MAKERS[task]
    plain, whole = (make(update=update, swvp=swvp, jj="whole").fit(data[:15]) for swvp in (None, "b-wm"))
    assert model_bits(plain) == model_bits(whole)


def test_the_signature_names_the_rule():
    given = {"update": "early", "swvp": "a-wm", "jj": "spans", "enforce": True}
    assert "update early-swvp-a-wm-1-spans-enforced" in MAKERS["parser"][0](**given).fit(TREES[:5]).signature_
    assert "update early-swvp-a-wm-1-spans-enforced" in MAKERS["chunker"][0](**given).fit(ROWS_OF[:5]).signature_
    standard = Chunker(**SMALL, beam=4, update="standard", swvp="a-wm").fit(ROWS_OF[:5])
    assert "update swvp-a-wm-1-errors | search beam-4-dp" in standard.signature_


@pytest.mark.parametrize("task", ["chunker", "parser", "joint"])
def test_a_checkpoint_goes_on_bit_for_bit(task, tmp_path):
    make, data = MAKERS[task]
    whole, first, rest = (make(passes=passes, swvp="b-wm") for passes in (4, 2, 4))
    whole.fit(data[:20])
    first.fit(data[:20], checkpoint=tmp_path / "c")
    rest.fit(data[:20], checkpoint=tmp_path / "c", resume=True)
    assert model_bits(rest) == model_bits(whole)
    for other in ({"beta": 2}, {"swvp": None}, {"jj": "spans"}, {"enforce": True}):
        with pytest.raises(StructronError, match="belongs to other data or options"):
            make(**({"passes": 4, "swvp": "b-wm"} | other)).fit(data[:20], checkpoint=tmp_path / "c", resume=True)


@pytest.mark.parametrize("task", ["chunker", "parser", "joint"])
def test_a_users_function_is_not_in_the_file_but_its_name(task, tmp_path):
    make, data = MAKERS[task]
    built_in, own = (make(swvp="b-wm", jj=jj).fit(data[:10]) for jj in ("errors", single_positions))
    assert model_bits(built_in) == model_bits(own)
    assert "swvp-b-wm-1-single_positions" in own.signature_
    own.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert again.jj == "single_positions"
    assert again.predict(data[:5]) == own.predict(data[:5])
    with pytest.raises(StructronError, match="jj: 'single_positions'; expected errors, spans, prefixes, whole, or"):
        again.fit(data[:10])


def test_what_a_function_of_the_parser_sees():
    seen = []
    Parser(passes=1, beam=1, update="early", swvp="b-wm", jj=lambda y, z: seen.append((y, z)) or []).fit(TREES[:3])
    assert seen
    for y, z in seen:
        assert len(y) == len(z) > 0
        assert y != z
        assert y[0] == "shift"
        assert all(action == "shift" or action.startswith(("left:", "right:")) for action in y + z)


def test_problems_of_ones_own(tmp_path):
    problem, examples = PROBLEMS["chain1"][0](), []
    xs, golds = random_corpus(np.random.default_rng(1), problem, 30, 6, [4])
    examples = [(x, list(gold)) for x, gold in zip(xs, golds, strict=True)]
    how = {"passes": 3, "beam": 2}
    plain, weighted, whole = (
        BeamLearner(problem, **how, **more).fit(examples)
        for more in ({}, {"swvp": "b-wm", "beta": 3.0}, {"swvp": "b-wm", "jj": "whole"})
    )
    assert model_bits(plain) == model_bits(whole) != model_bits(weighted)
    assert "update max-violation-swvp-b-wm-3-errors" in weighted.signature_
    weighted.save(tmp_path / "m")
    again = BeamLearner.load(tmp_path / "m", problem)
    assert (again.swvp, again.beta, again.jj, again.enforce) == ("b-wm", 3.0, "errors", False)
    assert again.predict(xs) == weighted.predict(xs)
    assert model_bits(BeamLearner(problem, **how, runs=2, swvp="a-wm", jj=alternate).fit(examples)) != model_bits(plain)


# -- bad input -----------------------------------------------------------------------------------------------------


WORKS = r"; works with exact search or a beam, any update but laso, and without alma, margin and non_local \(none\)$"


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"update": "laso"}, "with update laso"),
        ({"update": Rule(early, go_on=True)}, "with update early"),
        ({"alma": 0.9}, "with alma 0.9"),
        ({"margin": 3}, "with margin 3"),
    ],
)
def test_what_they_do_not_go_with(options, shown):
    with pytest.raises(StructronError, match=f"^swvp: a-wm {shown}{WORKS}"):
        Parser(swvp="a-wm", **options).fit(TREES)
    with pytest.raises(StructronError, match=f"^swvp: a-wm {shown}{WORKS}"):
        BeamLearner(PROBLEMS["chain1"][0](), swvp="a-wm", **options).fit([])
    if isinstance(options.get("update", ""), str):
        with pytest.raises(StructronError, match=f"^swvp: a-wm {shown}{WORKS}"):
            JointTagger(swvp="a-wm", **({"update": "early", "alma": None} | options)).fit(ROWS_OF)
        with pytest.raises(StructronError, match=f"^swvp: a-wm {shown}{WORKS}"):
            Chunker(swvp="a-wm", beam=4, **({"update": "early"} | options)).fit(ROWS_OF)


@pytest.mark.parametrize(("name", "value"), [("swvp", "wm"), ("beta", float("nan")), ("beta", 0), ("jj", "all")])
@pytest.mark.parametrize("task", ["chunker", "parser", "joint"])
def test_bad_parameters(task, name, value):
    make, data = MAKERS[task]
    with pytest.raises(StructronError, match=name):
        make(**{"swvp": "a-wm", name: value}).fit(data)


@pytest.mark.parametrize("task", ["chunker", "parser"])
def test_positions_outside_the_sequence(task):
    make, data = MAKERS[task]
    with pytest.raises(StructronError, match=r"^jj: the function gave position 999; expected 0 to \d+: the sequence's"):
        make(swvp="a-wm", jj=lambda y, z: [[999]]).fit(data)
    with pytest.raises(StructronError, match=r"^jj: the function gave \[0\.5\]; expected lists of positions"):
        make(swvp="a-wm", jj=lambda y, z: [0.5]).fit(data)


def test_exchangeable_problems():
    with pytest.raises(StructronError, match=r"exchangeable: not for a problem with a stack \(moves\)"):
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


def test_the_command_line(tmp_path, capfd):
    trees, chunks, model = str(tmp_path / "t.conllu"), str(tmp_path / "t.conll"), str(tmp_path / "m")
    write_conllu(trees, SENTENCES[:12])
    write_conll(chunks, SENTENCES[:12])
    runs = {
        "parser": (trees, [], "update max-violation-swvp-b-wm-1.5-errors | search beam-8-dp"),
        "chunker": (chunks, ["--beam", "4"], "update max-violation-swvp-b-wm-1.5-errors | search beam-4-dp"),
        "joint": (chunks, ["--update", "early", "--alma", "none"], "update early-swvp-b-wm-1.5-errors"),
    }
    for task, (file, more, says) in runs.items():
        argv = ["train", task, "--train", file, "--model", model, "--passes", "1", *more]
        assert main([*argv, "--swvp", "b-wm", "--beta", "1.5", "--check-violations"]) == 0
        assert says in capfd.readouterr().err
    for task, more, says in (
        ("joint", [], "swvp: b-wm with update laso; works with exact search or a beam"),
        ("parser", ["--alma", "0.9"], "swvp: b-wm with alma 0.9; works with"),
        ("segments", [], "--swvp: not an option of the segments; works with tagger, chunker, joint"),
    ):
        file = trees if task == "parser" else chunks
        assert main(["train", task, "--train", file, "--model", model, "--swvp", "b-wm", *more]) == 2
        said = capfd.readouterr().err
        assert says in said
        assert said.count("\n") == 1
