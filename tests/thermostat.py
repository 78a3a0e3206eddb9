"""A user's own problem: a thermostat, on below 3 degrees, off above 6, in between as it was."""

from random import Random

from structron import SearchProblem

AT, LAST = 1, 2


def start(x, table, states, s):
    states[s, AT] = 0
    states[s, LAST] = 0


def legal(x, table, states, s, out):
    out[0], out[1] = 0, 1
    return 2 if states[s, AT] < x.shape[0] else 0


def advance(x, table, states, s, action, t):
    states[t, AT] = states[s, AT] + 1
    states[t, LAST] = action + 1


def atoms(x, table, states, s, out):
    at = states[s, AT]
    out[0] = x[at, 0] if at < x.shape[0] else -1
    out[1] = states[s, LAST]


DEFINITION = {
    "name": "thermostat",
    "actions": ["off", "on"],
    "width": 3,
    "start": start,
    "legal": legal,
    "advance": advance,
    "atoms": atoms,
    "atom_names": {"degrees": 10, "last": 3},
    "templates": ["degrees", "degrees|last"],
    "max_steps": int,
}


def make_problem(**changes) -> SearchProblem:
    return SearchProblem(**(DEFINITION | changes))


PROBLEM = make_problem()


def make_examples(count: int, seed: int = 1, noise: float = 0.0) -> list[tuple[list[int], list[str]]]:
    """On below 3, off above 6, in between as it was."""
    rng, found = Random(seed), []
    for _ in range(count):
        degrees, state, states = [rng.randrange(10) for _ in range(rng.randint(1, 8))], "off", []
        for d in degrees:
            state = "on" if d < 3 else "off" if d > 6 else state
            states.append(rng.choice(["off", "on"]) if rng.random() < noise else state)
        found.append((degrees, states))
    return found


EXAMPLES = make_examples(60)


NOISY = make_examples(40, noise=0.3)


def weights_of(model) -> dict[tuple[str, int], float]:
    """Weights by the names of features and columns."""
    names = [model.problem.composition.describe(int(key)) for key in model.keys]
    cells = zip(model.rows.place.tolist(), model.rows.column.tolist(), model.rows.weight.tolist(), strict=True)
    return {(names[place], column): weight for place, column, weight in cells if weight}
