"""Daumé & Marcu (2005), Theorem 4: how many corrections ALMA makes on separable data, against the bound.

    m ≤ 2/γ²·(2/α - 1)² + 8/α - 4      with B = √8/α, C = √2

γ is the largest number by which all y-good states can be lowered with the final weights so that the search still makes
no mistake: found by trying. The proof is for differences of length 1 at most, to which ℘ brings them; a bound that
uses the paper's γ may be too small where differences are longer (R is the longest), γ/R is on the safe side.
"""

import math
from dataclasses import replace

from structron.experiments.daume2005.tasks import ALPHA, COLUMNS, PAPER
from structron.experiments.frame import Report, Rows, Table, learn_once, say
from structron.learn.encoded import EncodedLearner
from structron.tasks.joint.tagger import JointTagger
from structron.update.alma import ALPHA as SHARE
from structron.update.alma import GENERATION, LONGEST, SCALE, B, C

BEAM = 5
HALVINGS = 24


def bound(margin: float, alpha: float = ALPHA) -> float:
    """The theorem's."""
    return 2 / margin**2 * (2 / alpha - 1) ** 2 + 8 / alpha - 4


def make_learner(train: Rows) -> EncodedLearner:
    """A joint tagger's learner at its start, with the constants of the theorem; a first pass encodes the data."""
    tagger = JointTagger(columns=COLUMNS, beam=BEAM, cutoff=0, passes=1).fit(train)
    step = (ALPHA, math.sqrt(8) / ALPHA, math.sqrt(2))
    return EncodedLearner(tagger.learner_.data, replace(tagger.search(), alma=step))


def margin_of(learner: EncodedLearner) -> float:
    """The largest lowering without a mistake; steps of length 0 leave the weights as they are."""
    pace = learner.pace.copy()
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        learner.pace[:] = pace
        learner.pace[SHARE], learner.pace[B], learner.pace[C], learner.pace[GENERATION] = 0.5, 2 * middle, 0.0, 1.0
        low, high = (low, middle) if learn_once(learner)["updates"] else (middle, high)
    learner.pace[:] = pace
    return low


def check_theorem(train: Rows, passes: int, report: Report) -> None:
    """Learn until nothing is left to correct, then find the margin."""
    learner, corrections, done, left = make_learner(train), 0, 0, 1
    while left and done < passes:
        left = learn_once(learner)["updates"]
        corrections, done = corrections + left, done + 1
        if done % 20 == 0:
            say(f"theorem 4: pass {done}, {left} corrections")
    longest = math.sqrt(learner.pace[LONGEST])
    found = {"sentences": len(train), "passes": done, "corrections": corrections, "left": left, "longest": longest}
    report.content["theorem4"] = found
    table = Table.of(PAPER["theorem"])
    for name, value in (("sentences", len(train)), ("passes", done), ("corrections", corrections)):
        table.add(name, value)
    if left:
        table.notes = [f"Not separated after {done} passes ({left} corrections in the last): no margin, no bound."]
    else:
        margin = margin_of(learner)
        safe = margin / max(1.0, longest)
        found |= {"margin": margin, "bound": bound(margin), "safe_bound": bound(safe), "scale": learner.pace[SCALE]}
        table.add("margin γ", f"{margin:.3e}")
        table.add("longest difference R", longest)
        table.add("bound with γ", round(bound(margin)))
        table.add("bound with γ/R", round(bound(safe)))
        shown = f"{corrections} of {round(bound(safe))}"
        report.target(PAPER["targets"]["theorem"], shown, corrections <= bound(safe))
    report.show(table)
