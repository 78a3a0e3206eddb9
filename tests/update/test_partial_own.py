"""Open actions in a user's problem: forced decoding and every rule, against beams of lists over all derivations."""

from functools import cache

import numpy as np
import pytest

from problems import Actions, Space, Weights, parser_problem, weights_in, without_zeros
from separable import bound_of, matrix_of
from structron import BeamLearner, QueueLearner, SearchProblem, StructronError
from structron.learn.loop import Schedule, pass_order
from structron.search.beam import agreeing
from structron.update.violation import RULES
from thermostat import EXAMPLES, PROBLEM, weights_of

REST, LAST = 1, 2


def start(x, table, states, s):
    states[s, REST] = x[0, 0]
    states[s, LAST] = 0


def legal(x, table, states, s, out):
    count = 0
    for coin in range(1, 4):
        if coin <= states[s, REST] and coin != states[s, LAST]:
            out[count] = coin - 1
            count += 1
    return count if count > 0 or states[s, REST] == 0 else -1


def advance(x, table, states, s, action, t):
    states[t, REST] = states[s, REST] - action - 1
    states[t, LAST] = action + 1


def atoms(x, table, states, s, out):
    out[0], out[1], out[2] = states[s, REST], states[s, LAST], x[0, 1]


CHANGE = SearchProblem(
    name="change",
    actions=["one", "two", "three"],
    width=3,
    start=start,
    legal=legal,
    advance=advance,
    atoms=atoms,
    atom_names={"rest": 10, "last": 4, "customer": 3},
    templates=["rest|last", "customer", "customer|last"],
    max_steps=lambda n: 9,
)
"""An amount is paid in coins, never two alike in a row: derivations of several lengths, and dead ends."""


@cache
def parser() -> SearchProblem:
    return parser_problem(["s0.t|s1.t", "q0.t", "s0.w"])


# -- derivations as lists ----------------------------------------------------------------------------------------------


def is_final(space: Space, actions: Actions) -> bool:
    out = np.zeros(len(space.problem.actions), np.int64)
    row = space.row_of(actions)
    return space.legal_into(space.x, space.problem.table, space.states, row, out) == 0


def all_of(space: Space) -> list[Actions]:
    """Every whole derivation."""
    return [actions for actions in space.all() if is_final(space, actions)]


def agree(space: Space, known) -> list[Actions]:
    found = [actions for actions in all_of(space) if len(actions) == len(known)]
    return [actions for actions in found if all(k in (None, a) for k, a in zip(known, actions, strict=True))]


def prefixes(derivations: list[Actions]) -> set[Actions]:
    return {actions[:i] for actions in derivations for i in range(len(actions) + 1)}


def beams(space: Space, w: Weights, beam: int, among: set[Actions] | None = None) -> list[list[Actions]]:
    """The best prefixes of every step, finished ones waiting; equal ones in the order they are made."""
    found: list[list[Actions]] = [[()]]
    while True:
        made: list[Actions] = []
        for prefix in found[-1]:
            made += [prefix] if is_final(space, prefix) else []
            made += [(*prefix, a) for a in space.legal(prefix) if among is None or (*prefix, a) in among]
        if all(prefix in found[-1] for prefix in made):
            return found
        made.sort(key=lambda prefix: -space.score(w, prefix))
        found.append(made[:beam])


def chosen(space: Space, w: Weights, known, rule: str, beam: int, low: float) -> tuple[Actions, Actions] | None:
    """The prefixes y' and z of the update, None: there is none."""
    good = prefixes(agree(space, known))
    free, forced = beams(space, w, beam), beams(space, w, beam, good)
    n, m = len(free) - 1, len(forced) - 1
    steps = max(n, m) if any(is_final(space, own) for own in free[-1]) else n
    best, gold, alive, right, top = [0.0], [0.0], [1], [1], [()]
    for i in range(1, steps + 1):
        own = free[min(i, n)]
        lead = next((p for p in own if i >= n and is_final(space, p)), own[0])
        agreeing, wrong = ([p for p in own if (p in good) is wanted] for wanted in (True, False))
        wrong = [lead] if i >= n and lead not in good else wrong
        ahead = space.score(w, lead) - low
        first = lead in good and (not low or not wrong or ahead > space.score(w, wrong[0]))
        top.append(lead if first else wrong[0])
        best.append(space.score(w, top[-1]) - (low if first else 0.0))
        gold.append(space.score(w, forced[min(i, m)][0]) - low)
        alive.append(int(bool(agreeing)))
        right.append(int(first))
    step = RULES["early" if rule == "laso" else rule].choose(best, gold, alive, right, steps)
    if RULES[rule].valid and step and gold[step] > best[step]:
        step = next((i for i in range(1, steps + 1) if not right[i] and gold[i] <= best[i]), 0)
    return (forced[min(step, m)][0], top[step]) if step else None


def learned_by_lists(problem: SearchProblem, examples, rule: str, beam: int, low: float, passes: int) -> Weights:
    spaces, w = [Space(problem, np.array(x)) for x, _ in examples], {}
    for number in range(passes):
        for e in pass_order(Schedule(), number + 1, len(examples)).tolist():
            if found := chosen(spaces[e], w, examples[e][1], rule, beam, low):
                for key, amount in spaces[e].difference(*found).items():
                    w[key] = w.get(key, 0.0) + amount
    return without_zeros(w)


def random_examples(problem: SearchProblem, seed: int, count: int = 6, share: float = 0.5):
    """Inputs with a derivation at random, of which every second action is open."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        if problem is CHANGE:
            x = [[int(rng.integers(4, 9)), int(rng.integers(3))]]
        else:
            x = rng.integers(1, 4, (int(rng.integers(2, 5)), 2)).tolist()
        every = all_of(Space(problem, np.array(x)))
        own = every[rng.integers(len(every))]
        known = [a if rng.random() > share else None for a in own]
        if None in known:
            found.append((x, known))
    return found


@pytest.mark.parametrize("low", [0.0, 1.5])
@pytest.mark.parametrize("rule", ["standard", "early", "max-violation", "latest", "hybrid", "laso"])
@pytest.mark.parametrize("kind", ["change", "parser"])
def test_updates_are_those_of_lists(kind, rule, low):
    problem = CHANGE if kind == "change" else parser()
    for seed, beam in ((1, 1), (2, 2), (3, 4)):
        examples = random_examples(problem, seed)
        options = {"beam": beam, "update": rule, "merge": False, "margin": low or None, "check": rule != "standard"}
        learner = BeamLearner(problem, **options, passes=3, average="none").fit(examples)
        model = learner.model_
        found = without_zeros(weights_in(problem, model.keys, model.rows))
        assert found == learned_by_lists(problem, examples, rule, beam, low, len(learner.history_))


# -- what agrees -------------------------------------------------------------------------------------------------------


def told(problem: SearchProblem, known, taken: int) -> np.ndarray:
    out = np.zeros(len(problem.actions) + agreeing.places_beyond(len(known)), np.int64)
    own = out[len(problem.actions) :]
    own[agreeing.STEP], own[agreeing.LENGTH] = taken, len(known)
    own[agreeing.ACTIONS : agreeing.ACTIONS + len(known)] = [-1 if a is None else a for a in known]
    return out


@pytest.mark.parametrize("kind", ["change", "parser"])
def test_the_actions_that_agree_are_those_of_enumeration(kind, monkeypatch):
    """In every state of every derivation, whether it is remembered or not."""
    problem = CHANGE if kind == "change" else parser()
    function, seen = agreeing.agreeing_of(problem), 0
    for x, known in random_examples(problem, 5, 8):
        space = Space(problem, np.array(x))
        good = prefixes(agree(space, known))
        memory = told(problem, known, 0)
        for actions in sorted(prefixes(all_of(space))):
            row, taken = space.row_of(actions), len(actions)
            expected = [a for a in space.legal(actions) if (*actions, a) in good]
            for out in (memory, told(problem, known, taken)):
                out[len(problem.actions) + agreeing.STEP] = taken
                count = function(space.x, problem.table, space.states, row, out)
                if actions in good:
                    whole = actions in good and taken == len(known)
                    assert (out[: max(count, 0)].tolist(), count == 0) == (expected, whole)
                    seen += 0 < len(expected) < len(space.legal(actions))
    assert seen > 5


# -- theorem -----------------------------------------------------------------------------------------------------------


@cache
def separable_examples() -> tuple[list, float]:
    """Examples of which some actions are known, and R²/δ²: by δ all prefixes that agree are ahead of all others."""
    rng, examples, rows, u = np.random.default_rng(4), [], [], {}
    while len(examples) < 5:
        space = Space(CHANGE, np.array([[int(rng.integers(3, 6)), int(rng.integers(3))]]))
        every = all_of(space)
        phi = {y: space.phi(y) for y in prefixes([*space.all()])}
        for feature in sorted({f for own in phi.values() for f in own}):
            u.setdefault(feature, float(rng.normal()))
        worth = {y: sum(n * u[f] for f, n in own.items()) for y, own in phi.items()}
        known = [a if rng.random() < 0.5 else None for a in max(every, key=worth.__getitem__)]
        right = prefixes(agree(space, known))
        pairs = [
            (y, z)
            for y in right
            for z in phi.keys() - right
            if y and (len(z) == len(y) or (len(z) < len(y) and z in every) or (len(y) < len(z) and y in every))
        ]
        if pairs and None in known and all(worth[y] > worth[z] for y, z in pairs):
            examples.append((space.x.tolist(), known))
            rows += [space.difference(y, z) for y, z in pairs]
    return examples, bound_of(matrix_of(rows))


@pytest.mark.parametrize("beam", [1, 2, None])
def test_as_many_updates_as_the_theorem_allows(beam):
    examples, bound = separable_examples()
    for rule in ("early", "max-violation", "latest", "hybrid"):
        options = {"beam": beam, "update": rule, "merge": beam is None, "average": "none", "check": True}
        learner = BeamLearner(CHANGE, **options, passes=100).fit(examples)
        assert learner.stopped_ == "converged"
        assert 0 < sum(record["updates"] for record in learner.history_) <= bound
        for (_, known), actions in zip(examples, learner.predict([x for x, _ in examples]), strict=True):
            assert all(k in (None, CHANGE.index[a]) for k, a in zip(known, actions, strict=True))


# -- the estimator -----------------------------------------------------------------------------------------------------


def opened(examples, every: int = 3):
    return [(x, [None if (e + i) % every == 0 else a for i, a in enumerate(y)]) for e, (x, y) in enumerate(examples)]


def test_it_learns_from_some_actions():
    part = opened(EXAMPLES)
    learner = BeamLearner(PROBLEM, passes=50, average="none").fit(part)
    known, total = (sum(a is not None for _, y in data for a in y) for data in (part, EXAMPLES))
    assert learner.notes_ == [f"{known} of {total} actions are known"]
    assert learner.history_[-1]["updates"] == 0
    for (_, y), found in zip(part, learner.predict([x for x, _ in part]), strict=True):
        assert all(a in (None, b) for a, b in zip(y, found, strict=True))
    assert learner.score(EXAMPLES) > 95


def test_with_all_actions_known_nothing_changes():
    """In a mix, examples whose actions are all known are learned from as ever."""
    learner = BeamLearner(PROBLEM, passes=2).fit(EXAMPLES)
    assert learner.learner_.knowledge is None
    mixed = BeamLearner(PROBLEM, passes=2, shuffle=False).fit([*EXAMPLES, ([5], [None])])
    same = BeamLearner(PROBLEM, passes=2, shuffle=False, average="none").fit(EXAMPLES)
    again = BeamLearner(PROBLEM, passes=2, shuffle=False, average="none").fit([*EXAMPLES, ([5], [None])])
    assert mixed.learner_.knowledge is not None
    assert weights_of(same.model_) == weights_of(again.model_)


def test_runs_shards_threads_and_learning_on(tmp_path):
    part = opened(EXAMPLES)
    for kind in ({"runs": 2}, {"shards": 2}, {"alma": 0.5}, {"debug": True, "passes": 1}):
        options = {"passes": 2, "beam": 2} | kind
        one, two = (BeamLearner(PROBLEM, **options, jobs=jobs).fit(part) for jobs in (1, 2))
        assert weights_of(one.model_) == weights_of(two.model_)
    plain, watched = (BeamLearner(PROBLEM, passes=1, beam=2, debug=debug).fit(part) for debug in (False, True))
    assert weights_of(plain.model_) == weights_of(watched.model_)
    plain.partial_fit(part)
    folder = tmp_path / "state"
    whole = BeamLearner(PROBLEM, passes=3).fit(part, checkpoint=tmp_path / "other")
    BeamLearner(PROBLEM, passes=2).fit(part, checkpoint=folder)
    resumed = BeamLearner(PROBLEM, passes=3).fit(part, checkpoint=folder, resume=True)
    assert weights_of(resumed.model_) == weights_of(whole.model_)


@pytest.mark.parametrize(
    ("amount", "actions", "message"),
    [
        (6, ["two", None, None, "three"], ", step 4: 'three' is not legal after any actions that agree with those"),
        (6, ["one", "one", None], ", step 2: 'one' is not legal after any actions that agree with those before"),
        (3, [None, None, None], ": 3 actions, but derivations that agree are final after 2"),
        (6, ["one", None], ": no derivation that agrees is final after its 2 actions"),
        (2, ["one", None], ", step 2: no action is legal there"),
    ],
)
def test_what_contradicts_itself_names_the_place(amount, actions, message):
    good = ([[6, 0]], ["two", "one", "three"])
    with pytest.raises(StructronError) as error:
        BeamLearner(CHANGE, passes=1).fit([good, ([[amount, 0]], actions)])
    text = str(error.value)
    assert text.startswith(f"change: training data: example 1{message}")
    assert "\n" not in text
    assert text.endswith("; expected the actions of a whole derivation, None where one is open")


def test_where_all_actions_have_to_be_known():
    part, learner = opened(EXAMPLES), BeamLearner(PROBLEM, passes=1).fit(EXAMPLES)
    with pytest.raises(StructronError, match=r"data: example 0, step 1: an open action; expected known actions"):
        learner.score(part)
    with pytest.raises(StructronError, match=r"dev data: example 0, step 1: an open action; expected known actions"):
        BeamLearner(PROBLEM, passes=1).fit(EXAMPLES, dev=part)
    with pytest.raises(StructronError, match=r"training data: example 0, step 1: an open .*BeamLearner learns from"):
        QueueLearner(PROBLEM, passes=1).fit(part)
    with pytest.raises(StructronError, match="swvp: cannot be combined with open actions in the training data"):
        BeamLearner(PROBLEM, passes=1, swvp="b-wm").fit(part)
    PROBLEM.check(part)
