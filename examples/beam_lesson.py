"""Why standard updates fail under a beam: Figure 1 of Huang, Fayong & Guo (2012), and a real sentence.

python examples/beam_lesson.py [FOLDER]      FOLDER: write the pictures of docs/lesson-beam.md there
"""

import sys
from pathlib import Path

import numpy as np

import structron

# -- Figure 1: x = fruit flies fly .   y = N N V .   features: how often N follows N, how often . follows V ----------

POSITION, LAST = 1, 2
N, V, STOP = range(3)


def start(x, table, states, s):
    states[s, POSITION] = 0
    states[s, LAST] = -1


def legal(x, table, states, s, out):
    """{N} × {N, V} × {N, V} × {.}"""
    i, count = states[s, POSITION], 0
    if i < x.shape[0]:
        out[0] = STOP if i == x.shape[0] - 1 else N
        out[1] = V
        count = 2 if 0 < i < x.shape[0] - 1 else 1
    return count


def advance(x, table, states, s, action, t):
    states[t, POSITION] = states[s, POSITION] + 1
    states[t, LAST] = action


def atoms(x, table, states, s, out):
    """A negative value says nothing: each of the two features fires where the figure counts it."""
    inside = states[s, POSITION] < x.shape[0] - 1
    out[0] = 0 if inside and states[s, LAST] == N else -1
    out[1] = 0 if not inside and states[s, LAST] == V else -1
    out[2] = states[s, LAST] + 1


PROBLEM = structron.SearchProblem(
    actions=["N", "V", "."],
    width=3,
    start=start,
    legal=legal,
    advance=advance,
    atoms=atoms,
    atom_names={"after N": 1, "after V": 1, "last": 4},
    templates=["after N", "after V"],
    parts=[[0], [-1], [1]],  # N has the weight of N→N, the full stop that of V→. ; V has none
    always=["last"],
    max_steps=int,
    name="figure 1",
)
X, GOLD = np.zeros((4, 1), np.int64), ["N", "N", "V", "."]


def weights_of(learner: structron.BeamLearner) -> tuple[float, float]:
    found = learner.inspect().labels
    first, second = (sum(w.weight for w in found[action]) for action in ("N", "."))
    return first, second


def figure_1(update: str, passes: int, beam: int = 1) -> list[tuple]:
    """Learn from the one example, pass by pass: each time the trace, ΔΦ, w·ΔΦ and the new w."""
    learner = structron.BeamLearner(PROBLEM, beam=beam, update=update, average="none", passes=1)
    learner.fit([(X, ["N", "N", "N", "."])])  # what greedy search finds with w = (0, 0): nothing is learned
    rows = []
    for _ in range(passes):
        trace = learner.trace(X, GOLD)
        updates = trace.rules[update]
        change = dict.fromkeys(("N", "."), 0.0) | {c.action: c.change for u in updates for c in u.features}
        learner.partial_fit([(X, GOLD)])
        difference = updates[0].difference if updates else None
        rows.append((trace, (change["N"], change["."]), difference, weights_of(learner)))
    return rows


def show_figure_1(update: str, passes: int, beam: int = 1) -> list[tuple]:
    rows = figure_1(update, passes, beam)
    print(f"Figure 1, beam {beam}, {update} updates")
    for k, (trace, change, difference, weights) in enumerate(rows, 1):
        mark = "no update" if difference is None else "a violation" if difference <= 0 else "NO VIOLATION"
        numbers = f"ΔΦ = ({change[0]:+g}, {change[1]:+g})  w·ΔΦ = {difference or 0:g}  {mark:12}"
        print(f"  {k}  {' '.join(trace.prediction)}  {numbers}  w = ({weights[0]:g}, {weights[1]:g})")
    return rows


# -- a real sentence, the bundled parser ----------------------------------------------------------------------------

SENTENCE = "They noticed the man in the car was asleep."
TREE = "2 nsubj, 0 root, 4 det, 9 nsubj, 7 case, 7 det, 4 nmod, 9 cop, 2 ccomp, 2 punct"


def real_sentence(beam: int):
    """The English parser, greedy or with a wider beam, and the tree that a reader would draw."""
    nlp = structron.load("english")
    gold = [(int(head), relation) for head, relation in (arc.split() for arc in TREE.split(", "))]
    return nlp.trace(SENTENCE, gold, beam=beam)


def show_real_sentence(beam: int):
    trace = real_sentence(beam)
    print(f"\n{SENTENCE}  beam {beam}")
    wrong = [
        f"{word}: {relation} of word {head}"
        for word, (head, relation), arc in zip(trace.sentence, trace.prediction, trace.gold, strict=True)
        if (head, relation) != arc
    ]
    print(f"  wrong: {'; '.join(wrong) or 'nothing'}; gold falls off at step {trace.fell_off}")
    for rule, updates in trace.rules.items():
        told = [f"step {u.step}, w·ΔΦ = {u.difference:+.1f}{'' if u.violation else ' NO VIOLATION'}" for u in updates]
        print(f"  {rule:14}{'; '.join(told) or 'no update'}")
    return trace


def main(folder: str | None) -> None:
    standard = show_figure_1("standard", 6)
    show_figure_1("early", 4)
    show_figure_1("early", 6, beam=2)
    greedy = show_real_sentence(1)
    show_real_sentence(4)
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "figure-1.svg").write_text(standard[2][0].to_svg(), "utf-8")
        (Path(folder) / "garden-path.svg").write_text(greedy.to_svg(), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
