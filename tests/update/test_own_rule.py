"""Update rules of a user's own: a step that is there is learned from, any other is an error that names the example."""

import re
from typing import Any

import numpy as np
import pytest

import structron
from problems import chain_problem
from structron.errors import StructronError
from structron.update.violation import RULES, Rule

LENGTHS = [2, 3, 5, 4]
"""Of the examples, so that the number of a step tells which one it is."""


def last(best, gold, alive, right, n):
    return n


def none(best, gold, alive, right, n):
    return 0


def beyond(best, gold, alive, right, n):
    return n + 5


def one_after_five(best, gold, alive, right, n):
    return n + 1 if n == 5 else n


def below(best, gold, alive, right, n):
    return -3 if n == 4 else n


def huge(best, gold, alive, right, n):
    return 1 << 40


def first(best, gold, alive, right, n):
    return 1


def corpus() -> list[tuple[Any, list[int]]]:
    rng = np.random.default_rng(3)
    return [(rng.integers(0, 4, (length, 1)), rng.integers(0, 3, length).tolist()) for length in LENGTHS]


def learner(update: Any, **more: Any) -> structron.BeamLearner:
    given: dict[str, Any] = {"beam": 2, "passes": 2, "runs": 1, "shuffle": False, "check": False}
    return structron.BeamLearner(chain_problem(), update=update, **given | more)


@pytest.mark.parametrize("debug", [False, True], ids=["compiled", "debug"])
@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (Rule(beyond), "beyond: example 0: it returned 7; expected a step from 1 to 2, or 0 for no update"),
        (
            Rule(one_after_five, valid=False),
            "one_after_five: example 2: it returned 6; expected a step from 1 to 5, or 0 for no update",
        ),
        (Rule(below), "below: example 3: it returned -3; expected a step from 1 to 4, or 0 for no update"),
        (Rule(huge), "huge: example 0: it returned 1099511627776; expected a step from 1 to 2, or 0 for no update"),
        (
            Rule(first, mean=True),
            "first: example 0: it returned 1; expected 2, the last step (the rule has mean), or 0 for no update",
        ),
    ],
    ids=["beyond", "one beyond", "below", "huge", "mean"],
)
def test_a_step_that_is_not_there(rule, says, debug):
    model = learner(rule, debug=debug)
    with pytest.raises(StructronError, match=f"^chain: update rule {re.escape(says)}$"):
        model.fit(corpus())
    assert not hasattr(model, "model_")


def test_steps_count_from_where_the_search_went_on():
    """After an update in the middle of example 0 the rule sees the rest of it alone."""
    rule = Rule(beyond_the_rest, go_on=True, valid=False)
    with pytest.raises(StructronError, match="example 0: it returned 2; expected a step from 1 to 1, or 0"):
        learner(rule).fit(corpus())


def beyond_the_rest(best, gold, alive, right, n):
    return 1 if n == 2 else 2


def weights(update: Any) -> dict[tuple[int, int], float]:
    model = learner(update).fit(corpus()).model_
    rows = model.rows
    return {
        (int(model.keys[place]), int(column)): float(weight)
        for place, column, weight in zip(rows.place, rows.column, rows.weight, strict=True)
        if weight
    }


def test_steps_that_are_there_are_learned_from():
    assert weights(Rule(none)) == {}
    assert weights(Rule(last, valid=False)) == weights("standard") != {}
    assert weights(Rule(first, valid=False)) not in ({}, weights("standard"))
    for name in ("early", "max-violation", "laso"):
        rule = RULES[name]
        own = Rule(rule.choose, rule.stop_at_fall, rule.go_on, rule.valid, rule.mean)
        assert weights(own) == weights(name) != {}
