"""Open labels under a beam: forced decoding and every rule, against beams of lists."""

import numpy as np
import pytest

import brute
import structron
from estimators import weights_of
from structron.errors import StructronError
from structron.learn.loop import Schedule, pass_order
from structron.update.violation import RULES

COLUMNS = ["word", "label"]
TEMPLATES = ["w[0]", "w[-1]"]
LABELS = ["X", "Y", "Z"]


def random_rows(seed: int, sentences: int = 8, share: float = 0.5):
    """Sentences in which at least one label is known, and one open."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(sentences):
        size = int(rng.integers(2, 6))
        known = int(rng.integers(size))
        labels = [str(rng.choice(LABELS)) if i == known or rng.random() > share else None for i in range(size)]
        labels[known - 1] = None
        found.append([(str(rng.choice([*"abc"])), label) for label in labels])
    return found


def beams(x: brute.Example, w: brute.Vector, beam: int, known: bool) -> list[list[tuple[str, ...]]]:
    """The best labellings of every prefix, of those that agree if wanted; equal ones in the order they are made."""
    found: list[list[tuple[str, ...]]] = [[()]]
    for i in range(len(x)):
        may = [y for y in LABELS if not known or x.y[i] in (None, y)]
        made = [(*prefix, y) for prefix in found[-1] for y in may]
        made.sort(key=lambda prefix: -brute.dot(w, brute.phi(x, prefix, 1)))
        found.append(made[:beam])
    return found


def agrees(x: brute.Example, prefix: tuple[str, ...]) -> bool:
    return all(label in (None, own) for label, own in zip(x.y, prefix, strict=False))


def chosen(x: brute.Example, w: brute.Vector, rule: str, beam: int, margin: float):
    """The prefixes y' and z of the update, None: there is none."""

    def score(prefix):
        return brute.dot(w, brute.phi(x, prefix, 1))

    free, forced = (beams(x, w, beam, known) for known in (False, True))
    n = len(x)
    best, gold, alive, right, top = [0.0], [0.0], [1], [1], [()]
    for own, agreeing in zip(free[1:], forced[1:], strict=True):
        good, bad = ([p for p in own if agrees(x, p) is wanted] for wanted in (True, False))
        first = bool(good) and (
            not bad or score(good[0]) - margin > score(bad[0]) or (own[0] == good[0] and not margin)
        )
        top.append(good[0] if first else bad[0])
        best.append(score(top[-1]) - (margin if first else 0.0))
        gold.append(score(agreeing[0]) - margin)
        alive.append(int(bool(good)))
        right.append(int(first))
    name = "early" if rule == "laso" else rule
    step = RULES[name].choose(best, gold, alive, right, n)
    if RULES[name].valid and step and gold[step] > best[step]:
        step = next((i for i in range(1, n + 1) if not right[i] and gold[i] <= best[i]), 0)
    return (forced[step][0], top[step]) if step else None


def learned_by_lists(rows, rule: str, beam: int, margin: float, passes: int) -> dict[tuple[str, str], float]:
    examples = [brute.make_example(TEMPLATES, COLUMNS, sentence) for sentence in rows]
    w: brute.Vector = {}
    for number in range(passes):
        for s in pass_order(Schedule(), number + 1, len(rows)).tolist():
            x = examples[s]
            if found := chosen(x, w, rule, beam, margin):
                change = brute.phi(x, found[0], 1)
                change.subtract(brute.phi(x, found[1], 1))
                for key, amount in change.items():
                    w[key] = w.get(key, 0.0) + amount
    named = {}
    for key, value in brute.clean(w).items():
        if key[0] == "label":
            key = (f"y[-1]={'<s>' if key[1] == brute.START else key[1]}", key[2])
        named[key] = value
    return named


@pytest.mark.parametrize("margin", [None, 1.5])
@pytest.mark.parametrize("rule", ["standard", "early", "max-violation", "latest", "hybrid", "laso"])
def test_updates_are_those_of_lists(rule, margin):
    for seed, beam in ((1, 1), (2, 2), (3, 4)):
        rows = random_rows(seed)
        options = {"beam": beam, "update": rule, "merge": False, "margin": margin, "templates": TEMPLATES, "order": 1}
        tagger = structron.Tagger(**options, runs=1, cutoff=0, passes=2, average="none", check=rule != "standard")
        tagger.fit(rows)
        found = {key: value for key, value in weights_of(tagger).items() if value}
        assert found == learned_by_lists(rows, rule, beam, margin or 0.0, 2)


def test_exact_search_under_a_beam_without_limit_learns_the_same_as_viterbi():
    rows = random_rows(7)
    options = {"templates": TEMPLATES, "order": 1, "runs": 1, "cutoff": 0, "passes": 3, "average": "none"}
    exact = structron.Tagger(**options).fit(rows)
    beam = structron.Tagger(**options, beam=None, update="standard", merge=True).fit(rows)
    words = [[word for word, _ in sentence] for sentence in rows]
    assert [r["updates"] for r in exact.history_] == [r["updates"] for r in beam.history_]
    assert beam.predict(words) == exact.predict(words)


def test_with_all_labels_known_nothing_changes():
    rows = [[(word, label or "X") for word, label in sentence] for sentence in random_rows(9)]
    options = {"beam": 2, "runs": 1, "cutoff": 0, "passes": 2, "templates": TEMPLATES}
    first, second = structron.Tagger(**options).fit(rows), structron.Tagger(**options, open_label="?").fit(rows)
    assert second.learner_.knowledge is None
    assert weights_of(first) == weights_of(second)


def test_runs_shards_and_alma():
    rows = random_rows(5, sentences=12)
    for kind in ({"runs": 2}, {"shards": 2}, {"alma": 0.5}):
        options = {"beam": 2, "runs": 1, "cutoff": 0, "passes": 2, "templates": TEMPLATES} | kind
        one, two = (structron.Tagger(**options, jobs=jobs).fit(rows) for jobs in (1, 2))
        assert weights_of(one) == weights_of(two)


def test_weighted_violations_need_all_labels():
    with pytest.raises(StructronError, match="swvp: cannot be combined with open labels in the training data"):
        structron.Tagger(beam=2, swvp="b-wm").fit(random_rows(5))
