"""Which violation to learn from: the update methods of Huang, Fayong & Guo (2012), section 5, side by side.

A search leaves for every step i = 1 … n the score of the correct prefix gold[i] = w·Φ(x, y[1:i]), the score of the
best state best[i] = w·Φ(x, B_i[0]), whether the correct prefix is still in the beam (alive[i]) and whether it is the
best itself (right[i]). An update with the prefixes of length i adds ΔΦ(x, y[1:i], B_i[0]); it is a violation, so that
the convergence theorem holds, if gold[i] - best[i] ≤ 0. A method is a choice of i from 1 to n, 0 for none: a pure
function of the trace. Where the search goes on after an update, steps count from there.
"""

from collections.abc import Callable
from dataclasses import dataclass

from structron.errors import unknown


def standard(best, gold, alive, right, n):
    """The last step, violation or not (Collins 2002; valid only when the search is exact)."""
    return 0 if right[n] else n


def early(best, gold, alive, right, n):
    """The first step at which the correct prefix is not in the beam, else the last (Collins & Roark 2004)."""
    for i in range(1, n + 1):
        if not alive[i]:
            return i
    return 0 if right[n] else n


def max_violation(best, gold, alive, right, n):
    """The step at which the correct prefix is furthest behind the best state."""
    chosen, worst = 0, 0.0
    for i in range(1, n + 1):
        if not right[i] and (gold[i] - best[i] < worst or (chosen == 0 and gold[i] - best[i] <= 0)):
            chosen, worst = i, gold[i] - best[i]
    return chosen


def latest(best, gold, alive, right, n):
    """The last step that is a violation."""
    for i in range(n, 0, -1):
        if not right[i] and gold[i] - best[i] <= 0:
            return i
    return 0


def hybrid(best, gold, alive, right, n):
    """The last step if that is a violation, else the early one."""
    if right[n]:
        return 0
    if gold[n] - best[n] <= 0:
        return n
    for i in range(1, n + 1):
        if not alive[i]:
            return i
    return 0


@dataclass(frozen=True, slots=True)
class Rule:
    """An update rule: which step of a search to learn from, and how the search has to run for it.

    Examples:
        >>> from structron.update.violation import Rule
        >>> def last_violation(best, gold, alive, right, n):
        ...     for i in range(n, 0, -1):
        ...         if best[i] >= gold[i] and not right[i]:
        ...             return i
        ...     return 0
        >>> rule = Rule(last_violation)  # BeamLearner(problem, update=rule), Parser(update=rule)
        >>> rule.choose([0, 3, 2, 4], [0, 1, 2, 5], [True] * 4, [True, False, False, True], 3)
        2
    """

    choose: Callable
    """choose(best, gold, alive, right, n): the step to learn from, 1 … n, or 0 for no update."""
    stop_at_fall: bool = False
    """Stop when the correct prefix leaves the beam: nothing after that step matters."""
    go_on: bool = False
    """After an update, continue from the correct prefix (LaSO)."""
    valid: bool = True
    """Every update is a violation."""
    mean: bool = False
    """Learn from the mean of the states in the beam that are wrong and not below the correct one, not from the best
    alone. The rule must then choose the last step of the search, n, or 0."""
    literal: bool = False
    """Take that mean over all states in the beam, as eq. (2) of Daumé & Marcu (2005) is printed."""
    expected: bool = False
    """Weigh all states in the beam by their probability under the model, proportional to exp(score). With exact search
    that is the expectation over all outputs, found by the forward-backward algorithm. Not with `alma`."""


RULES = {
    "standard": Rule(standard, valid=False),
    "early": Rule(early, stop_at_fall=True),
    "max-violation": Rule(max_violation),
    "latest": Rule(latest),
    "hybrid": Rule(hybrid),
    "laso": Rule(early, stop_at_fall=True, go_on=True, mean=True),
    "laso-literal": Rule(early, stop_at_fall=True, go_on=True, mean=True, literal=True, valid=False),
}


def rule_of(update: str | Rule) -> Rule:
    """A rule by name, or a user's own."""
    if isinstance(update, Rule):
        return update
    if update not in RULES:
        raise unknown("update", update, RULES)
    return RULES[update]
