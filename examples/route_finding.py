"""Finding routes as a walker would: a space with cycles, several correct routes, and searches with different queues.

    . . ♣ ~ .        From the corner above to the corner below, north, east, south or west at every step. The walker
    . = = ~ .        knows how hard a step onto a road =, a meadow ., a wood ♣ or a swamp ~ is, and takes the easiest
    ♣ = ♣ = =        route, any one if there are several. We only see the routes, and learn what the walker knows.

One can walk in circles, so a search must remember where it was, and a beam does not: it would get lost. Best-first and
exhaustive search do. With the learned weights for the score g, and a heuristic h for what is yet to come, best-first
search is A*, and looks at fewer places.

    python examples/route_finding.py
"""

from heapq import heappop, heappush
from random import Random

from structron import QueueLearner, SearchProblem

SIZE = 6
KINDS, EFFORT = "=.♣~", [1, 2, 5, 9]  # what the walker knows
STEPS = [(-1, 0), (0, 1), (1, 0), (0, -1)]
ROW, COLUMN, VIEW, WIDTH = 1, 2, 3, 4
"""Columns of a state: where the walker is, and which of the actions is being scored (see `views` below)."""


def start(x, table, states, s):
    states[s, ROW] = states[s, COLUMN] = states[s, VIEW] = 0


def legal(x, table, states, s, out):
    row, column, count = states[s, ROW], states[s, COLUMN], 0
    size = x.shape[0]
    if row == size - 1 and column == size - 1:
        return 0  # there
    for action in range(4):
        r, c = row + table[2 * action], column + table[2 * action + 1]
        if 0 <= r < size and 0 <= c < size:
            out[count] = action
            count += 1
    return count


def advance(x, table, states, s, action, t):
    states[t, ROW] = states[s, ROW] + table[2 * action]
    states[t, COLUMN] = states[s, COLUMN] + table[2 * action + 1]
    states[t, VIEW] = 0


def atoms(x, table, states, s, out):
    """What a step would lead onto: each action looks in its own direction."""
    r = states[s, ROW] + table[2 * states[s, VIEW]]
    c = states[s, COLUMN] + table[2 * states[s, VIEW] + 1]
    out[0] = x[r, c] if 0 <= r < x.shape[0] and 0 <= c < x.shape[0] else -1
    out[1] = 0


PROBLEM = SearchProblem(
    name="routes",
    actions=["north", "east", "south", "west"],
    width=WIDTH,
    start=start,
    legal=legal,
    advance=advance,
    atoms=atoms,
    atom_names={"ground": len(KINDS), "step": 1},
    templates=["ground", "step"],  # five weights in all: one for each kind of ground, and one for any step
    parts=[[0]] * 4,  # which all actions share
    views=range(4),  # but they see different things
    view=VIEW,
    table=[number for step in STEPS for number in step],
    max_steps=lambda n: 100 * n,
)


def landscape(rng):
    return [[rng.choices(range(4), [3, 4, 2, 2])[0] for _ in range(SIZE)] for _ in range(SIZE)]


def effort(x, actions):
    row, column, total = 0, 0, 0
    for action in actions:
        row, column = row + STEPS[action][0], column + STEPS[action][1]
        total += EFFORT[x[row][column]]
    return total


def easiest(x, most=20):
    """The walker's routes: all that take the least effort (up to `most`)."""
    queue, found, least = [(0, 0, 0, ())], [], {}
    while queue:
        total, row, column, actions = heappop(queue)
        if total > least.setdefault((row, column), total):
            continue
        if row == column == SIZE - 1:
            found.append(list(actions))
            if len(found) == most:
                break
            continue
        for action, (down, right) in enumerate(STEPS):
            r, c = row + down, column + right
            if 0 <= r < SIZE and 0 <= c < SIZE:
                heappush(queue, (total + EFFORT[x[r][c]], r, c, (*actions, action)))
    return found


def at_least(weights):
    """A heuristic: no step on the way is better than one onto the best ground. It must never promise too little."""
    step = min(0.0, max(weights))

    def heuristic(x, table, states, s):
        return step * (2 * x.shape[0] - 2 - states[s, ROW] - states[s, COLUMN])

    return heuristic


def ground_weights(model):
    """What the model thinks of a step onto each kind of ground."""
    found = {own.feature: own.weight for own in model.inspect("north").labels["north"]}
    return [found.get(f"ground={kind}", 0.0) + found.get("step=0", 0.0) for kind in range(len(KINDS))]


def share_of_easiest(found, examples):
    """How many routes take no more effort than the walker's, in percent."""
    right = sum(effort(x, own) == effort(x, routes[0]) for own, (x, routes) in zip(found, examples, strict=True))
    return 100 * right / len(examples)


def routes_of(model, examples):
    return [[PROBLEM.index[name] for name in names] for names in model.predict(x for x, _ in examples)]


def main(size=60):
    rng = Random(1)
    examples = [(x, easiest(x)) for x in (landscape(rng) for _ in range(size + size // 2))]
    train, test = examples[:size], examples[size:]
    several = sum(len(routes) > 1 for _, routes in train)
    print(f"{size} landscapes to learn from, {several} with several easiest routes; {len(test)} to test on")
    straight = [[1] * (SIZE - 1) + [2] * (SIZE - 1)] * len(test)
    print(f"{'straight on':22} {share_of_easiest(straight, test):5.1f} % as easy as the walker's")
    for queue, alma in (("exhaustive", None), ("best-first", 0.9), ("best-first", None)):
        model = QueueLearner(PROBLEM, queue=queue, alma=alma, passes=5).fit(train)
        share, name = share_of_easiest(routes_of(model, test), test), queue + (", margin" if alma else "")
        print(f"{name:22} {share:5.1f} % as easy as the walker's", flush=True)
    weights = ground_weights(model)
    print("a step onto", ", ".join(f"{kind} {weight:.2f}" for kind, weight in zip(KINDS, weights, strict=True)))
    for queue, heuristic in (("best-first", None), ("a-star", at_least(weights))):
        model.queue, model.heuristic = queue, heuristic
        share = share_of_easiest(routes_of(model, test), test)
        print(f"{queue:22} {share:5.1f} %, {model.expanded_ / len(test):.1f} of {SIZE * SIZE} places looked at")


if __name__ == "__main__":
    main()
