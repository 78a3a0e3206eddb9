"""A closer look at updates in parsing: how far they are from violations, and what becomes of the weights."""

from typing import Any

import numpy as np

from structron.experiments.frame import Rows, learn_once, mean
from structron.learn.beam import BeamTraining
from structron.update.delta import MEASURE
from structron.update.violation import Rule, standard

BEAMS = (1, 2, 8)
LOOKED_AT = 500
"""Sentences whose updates are looked at one by one."""
SKIP = "skip"
"""Ours, to find out what invalid updates do: the standard update where it is a violation, else none."""


def violation_or_none(best, gold, alive, right, n):
    """The last step if that is a violation."""
    return 0 if right[n] or gold[n] > best[n] else n


RULES = {SKIP: Rule(violation_or_none)}


def look_closer(parser: Any, dev: Rows) -> dict[str, Any]:
    """What a trained parser does under other beams than its own, and how its updates change the length of w.

    ‖w + ΔΦ‖² = ‖w‖² + ‖ΔΦ‖² + 2 w·ΔΦ. The last term is not above 0 if the update is a violation. growth: Σ 2 w·ΔΦ
    divided by Σ ‖ΔΦ‖², over updates of one pass more. invalid_by, valid_by: the mean of w·ΔΦ over ‖ΔΦ‖² of invalid and
    of valid updates. first: of updates, the share in % whose first wrong action scored at least as high as the correct
    one, in the same state (updates with whole derivations, search without merging).
    """
    own, crossed = parser.beam, {}
    for beam in BEAMS:
        crossed[str(beam)] = parser.set_params(beam=beam).score(dev)
    parser.set_params(beam=own)
    products, squares, first = one_by_one(parser.learner_)
    above, shares = products > 0, products / np.maximum(squares, 1)
    found = {"first": 100 * float(np.mean(first))} if first else {}
    return found | {
        "crossed": crossed,
        "growth": 2 * float(products.sum() / max(squares.sum(), 1)),
        "invalid_by": mean(shares[above].tolist()),
        "valid_by": mean(shares[~above].tolist()),
    }


def one_by_one(learner: BeamTraining, count: int = LOOKED_AT) -> tuple[np.ndarray, np.ndarray, list[bool]]:
    """w·ΔΦ and ‖ΔΦ‖² of each update, and whether its first wrong action scored at least as high as the correct one."""
    products, squares, first = [], [], []
    whole = learner.rule.choose in (standard, violation_or_none) and not learner.engine.merge
    for example in range(min(count, learner.examples)):
        if learn_once(learner, np.array([example]))["updates"]:
            square, after = MEASURE(learner.delta, learner.sparse, learner.anchored)
            products.append(after - square)
            squares.append(square)
            if whole:
                first.append(errs_first(learner, example))
    return np.array(products), np.array(squares), first


def errs_first(learner: BeamTraining, example: int) -> bool:
    """Of the last search: whether its result left the correct derivation by an action that scored no less there."""
    scratch, inputs = learner.engine.scratch(learner.inputs), learner.inputs
    gold = inputs.gold[inputs.gold_ptr[example] : inputs.gold_ptr[example + 1]]
    rows, actions = scratch.frontier.path
    step = int(np.argmax(actions[: len(gold)] != gold))
    after = rows[step + 1] if step + 1 < len(gold) else scratch.trace.top[len(gold)]
    prefix = scratch.frontier.score[:, 0]
    return bool(prefix[after] - prefix[rows[step]] >= scratch.trace.gold[step + 1] - scratch.trace.gold[step])
