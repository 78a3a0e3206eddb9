"""The experiment of Collins (2002): its figures, the ME baseline's search, and Theorem 1's bound."""

import sys
from itertools import product

import numpy as np
import pytest

import brute
from helpers import random_chain
from structron import Tagger
from structron.errors import StructronError
from structron.experiments import collins2002
from structron.experiments.collins2002 import theorem
from structron.experiments.collins2002.maxent import MaxEnt
from structron.experiments.frame import Report
from structron.search.chain.local import decode_local
from structron.search.chain.scores import make_work


def test_results_hold_every_method_beside_the_papers_figures(run):
    results = run("collins2002").results
    methods = ("Perc, avg", "Perc, noavg", "ME", "ME with prior")
    names = {f"{method}, cc={cutoff}" for method in methods for cutoff in (0, 5)}
    for task in ("np", "pos"):
        assert set(results["dev"][task]) == set(results["curves"][task]) == names
        assert set(results["test"][task]) == {"Perc", "ME", "ME with prior", "errors_avoided"}
        for name, curve in results["curves"][task].items():
            best = (max if task == "np" else min)(figure for _, figure in curve)
            row = results["dev"][task][name]
            assert row["ours"] == best
            assert [row["numits"], best] in curve
    assert results["dev"]["np"]["Perc, avg, cc=0"]["paper"] == 93.53
    assert results["test"]["pos"]["Perc"]["paper"] == 2.89
    assert results["sentences"]["np"] == {"train": 180, "dev": 20, "test": 60}
    assert results["test"]["np"]["Perc"]["ours"] > 85
    assert results["test"]["np"]["ME with prior"]["ours"] > 80
    assert results["test"]["pos"]["Perc"]["ours"] < 15
    assert results["test"]["pos"]["ME with prior"]["ours"] < 20


@pytest.mark.parametrize(("module", "extra"), [("matplotlib", "plot"), ("sklearn", "sklearn")])
def test_missing_extra_is_named_before_any_work(module, extra, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(StructronError, match=rf"{module}.*structron\[{extra}\]"):
        collins2002.run(tmp_path / "no-data", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


# -- maximum entropy -----------------------------------------------------------------------------------------------


def log_probabilities(chains, weights, s: int, labels: int) -> dict[tuple[int, ...], float]:
    """Equation 2 by enumeration: log p of every labelling of sentence s."""
    node, edge, trigrams = brute.chain_terms(chains, weights, 2, s, labels)
    found = {}
    for y in product(range(labels), repeat=len(node)):
        total = 0.0
        for i, label in enumerate(y):
            before = y[i - 1] + 1 if i >= 1 else 0
            before2 = y[i - 2] + 1 if i >= 2 else 0
            scores = node[i] + edge[i, before] + trigrams[before2, before]
            total += scores[label] - np.logaddexp.reduce(scores)
        found[y] = total
    return found


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("scale", [0.3, 3.0, 20.0])
def test_local_search_finds_the_most_probable_labels(labels, scale):
    rng = np.random.default_rng([labels, int(10 * scale)])
    lengths = [1, 2, 3, 4, 0, 5, 1, 4]
    chains, weights = random_chain(rng, labels, 2, lengths, whole=False, scale=scale)
    out, scores = np.full(sum(lengths), -1), np.full(len(lengths), np.nan, np.float32)
    work = make_work(max(lengths), labels, weights.w.shape[1], 2)
    decode_local(chains, weights, labels, work, out, scores)
    for s in range(len(lengths)):
        expected = log_probabilities(chains, weights, s, labels)
        found = tuple(out[chains.starts[s] : chains.starts[s + 1]].tolist())
        assert np.logaddexp.reduce(list(expected.values())) == pytest.approx(0, abs=1e-9)
        assert scores[s] == pytest.approx(max(expected.values()), rel=1e-4, abs=1e-4)
        assert expected[found] == pytest.approx(max(expected.values()), rel=1e-4, abs=1e-4)


def encoded(rows: list, templates: list[str], cutoff: int = 0) -> Tagger:
    """A tagger that has seen the rows."""
    return Tagger(order=2, runs=1, passes=1, cutoff=cutoff, templates=templates).fit(rows)


@pytest.mark.parametrize("tags", ["AB", "ABC"])
def test_trained_model_scores_and_decodes_as_its_equation_says(tags):
    rng = np.random.default_rng(len(tags))
    rows = [
        [(str(rng.integers(4)), tags[rng.integers(len(tags))]) for _ in range(rng.integers(1, 5))] for _ in range(30)
    ]
    tagger = encoded(rows, ["w[0]", "w[-1]|w[0]"], cutoff=2)
    prepared, data = tagger.extractor_.prepare(rows), MaxEnt(tagger.learner_)
    models = dict(data.train(1.0, (3, 50)))
    assert next(iter(models)) == 3
    tagger.model_ = model = models[max(models)]
    chains = model.chains(prepared, 0, len(rows))
    guess, scores = tagger.predict(rows), model.decode(prepared)[1]
    activation = data.matrix @ model.w[:, : len(tags)].astype(float)
    for s, row in enumerate(rows):
        expected = log_probabilities(chains, model.weights, s, len(tags))
        gold = tuple(tags.index(tag) for _, tag in row)
        own = activation[prepared.starts[s] : prepared.starts[s + 1]]
        by_matrix = sum(a[y] - np.logaddexp.reduce(a) for a, y in zip(own, gold, strict=True))
        assert expected[gold] == pytest.approx(by_matrix, abs=1e-5)
        assert expected[tuple(map(tags.index, guess[s]))] == pytest.approx(max(expected.values()), abs=1e-5)
        assert scores[s] == pytest.approx(max(expected.values()), abs=1e-4)


def test_maximum_likelihood_learns_a_deterministic_chain():
    """Only the label two before tells B from C: order 2 is at work in training and in search."""
    rows = [[("x", "ABACABAC"[i % 8]) for i in range(12)] for _ in range(20)]
    tagger = encoded(rows, ["w[0]"])
    *_, (_, tagger.model_) = MaxEnt(tagger.learner_).train(np.inf, (30,))
    assert tagger.score(rows) == 100
    assert tagger.model_.decode(tagger.extractor_.prepare(rows))[1].min() > -0.5


# -- Theorem 1 -----------------------------------------------------------------------------------------------------


def test_mistakes_stay_within_the_bound():
    report = Report()
    theorem.check_bound(report, 40)
    found = report.content["bound"]
    assert 0 < found["mistakes"] <= found["bound"]
    assert found["bound"] == pytest.approx(found["R"] ** 2 / found["delta"] ** 2)


def test_margin_and_radius_against_enumeration():
    templates = ["w[0]", "w[-1]", "suffix1[0]"]
    rows = [[(word, tag) for word, tag in zip("abab", "XYYX", strict=True)], [("a", "X"), ("c", "Y"), ("c", "Y")]]
    tagger = Tagger(order=2, passes=100, runs=1, cutoff=0, average="none", templates=templates, shuffle=False).fit(rows)
    assert tagger.stopped_ == "converged"
    theorem.widen_margin(tagger)
    labels = [[tag for _, tag in row] for row in rows]
    examples = [brute.make_example(templates, ["word", "label"], row) for row in rows]
    chains = tagger.model_.chains(tagger.extractor_.prepare(rows), 0, len(rows))
    margins, radii = [], []
    for s, x in enumerate(examples):
        scores = brute.chain_scores(chains, tagger.model_.weights, 2, s, 2)
        gold = tuple("XY".index(tag) for tag in x.y)
        margins += [scores[gold][-1] - score[-1] for y, score in scores.items() if y != gold]
        for z in brute.labellings("XY", len(x)):
            difference = brute.phi(x, x.y, 2)
            difference.subtract(brute.phi(x, z, 2))
            radii.append(sum(count**2 for count in difference.values()) ** 0.5)
    norm = np.linalg.norm(tagger.model_.w)
    assert theorem.separation(tagger, rows, labels) == pytest.approx(min(margins) / norm)
    assert min(margins) >= theorem.HANDICAP
    assert max(radii) <= theorem.max_difference(tagger.learner_) <= 2 * max(radii)
