"""The experiment of Collins (2002): its plan and verdicts, the paper's features, the ME baseline, the theorems."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scales_collins2002 import TINY

import brute
from helpers import random_chain
from structron import Tagger
from structron.errors import StructronError
from structron.experiments.collins2002 import EXPERIMENT, jobs_of, plan, theorem
from structron.experiments.collins2002.comparison import make_learner, milestones, snapshot
from structron.experiments.collins2002.maxent import MaxEnt
from structron.experiments.collins2002.report import PAPER, claims, dev_table, errors_avoided, final_table, shown
from structron.experiments.collins2002.settings import (
    FAMILIES,
    Setting,
    best_of,
    final_job,
    find,
    sample,
    settings_of,
    trial_of,
)
from structron.experiments.frame import Ledger, learn_once
from structron.search.chain.local import decode_local
from structron.search.chain.scores import make_work


def test_figure_4_has_every_row_beside_the_papers(run):
    ledger = run("collins2002").ledger
    for task in ("np", "pos"):
        table, known = dev_table(ledger, task), PAPER["dev"][task]["figures"]
        rows = {name: cells for name, *cells in table.rows}
        plain = [str(setting) for family in FAMILIES for setting in settings_of(family)]
        shuffled = [f"Perc, {average}, cc=0, shuffled" for average in ("avg", "noavg")] if task == "pos" else []
        assert list(rows) == plain + shuffled
        assert set(known) < set(rows)
        for setting in (setting for family in FAMILIES for setting in settings_of(family)):
            paper, ours, numits, best = rows[str(setting)]
            curve = find(ledger, task, setting)["curve"]
            assert [paper, numits] == list(known.get(str(setting), (None, None)))
            assert ours == shown(task, max(score for _, score in curve)) == shown(task, dict(map(tuple, curve))[best])


def test_test_figures_are_those_of_what_dev_data_choose(run):
    ledger = run("collins2002").ledger
    for task in ("np", "pos"):
        rows = {name: cells for name, *cells in final_table(ledger, task).rows}
        assert list(rows) == [*FAMILIES, "ME's errors avoided by Perc"]
        for family in FAMILIES:
            best = best_of(ledger, task, family)
            assert best["dev"] == max(find(ledger, task, setting)["dev"] for setting in settings_of(family))
            assert rows[family][2] == shown(task, best["test"])
            assert sample(best, "test").mean == pytest.approx(best["test"])
        perceptron, entropy = (best_of(ledger, task, family)["test"] for family in ("Perc", "ME"))
        assert errors_avoided(ledger, task) == pytest.approx(100 * (perceptron - entropy) / (100 - entropy))
    assert best_of(ledger, "np", "Perc")["test"] > 85
    assert best_of(ledger, "pos", "ME with prior")["test"] > 80


def test_chunks_are_learned_from_dev_data_too_once_dev_has_chosen(run):
    ledger = run("collins2002").ledger
    assert trial_of(ledger, "np", "Perc", 0)["sentences"] == [108, 12, 50]
    for family in FAMILIES:
        trial = trial_of(ledger, "np", family, 5)
        final = ledger.get(final_job(trial))
        assert "test" not in (trial["avg"] if "avg" in trial.figures else trial.figures)
        if "avg" in trial.figures:
            assert [final.options[name] for name in ("avg", "noavg")] == [trial[n]["best"] for n in ("avg", "noavg")]
        else:
            assert final.options["iterations"] == trial["best"]
        assert final_job(trial_of(ledger, "pos", family, 5)) is None


def test_iterations_are_doubled_while_the_last_are_the_best(tmp_path):
    ledger = Ledger(tmp_path / "some.json", "paper")
    (first,) = jobs_of(ledger, TINY, "np", "ME", 0)
    assert first.options["limit"] == 20
    ledger.enter(first, {"best": 20}, 1)
    *_, second = jobs_of(ledger, TINY, "np", "ME", 0)
    assert second.options == first.options | {"limit": 40}
    ledger.enter(second, {"best": 40}, 1)
    *_, last = jobs_of(ledger, TINY, "np", "ME", 0)
    assert last.options["iterations"] == 40
    ledger.enter(second, {"best": 10}, 1)
    *_, close = jobs_of(ledger, TINY, "np", "ME", 0)
    assert close.options == first.options | {"limit": 20, "close": True}
    ledger.enter(close, {"best": 13}, 1)
    *_, last = jobs_of(ledger, TINY, "np", "ME", 0)
    assert last.options["iterations"] == 13
    assert milestones(20) == [5, 10, 20]
    assert milestones(20, True) == list(range(5, 21))
    close = milestones(400, True)
    assert (len(close), close[0], close[-1]) == (60, 100, 400)


def test_every_claim_has_a_verdict_and_a_part_of_the_run_has_tables(run, tmp_path):
    whole, part = run("collins2002").ledger, Ledger(tmp_path / "part.json", "paper")
    made = {claim.text: claim for claim in claims(whole)}
    assert len(made) == len(PAPER["claims"]) + sum(isinstance(one["paper"], dict) for one in PAPER["claims"].values())
    assert "not run" not in {str(claim.verdict) for claim in made.values()}
    assert {str(claim.verdict) for claim in made.values() if "Theorem" in claim.where} == {"reproduced"}
    assert {str(claim.verdict) for claim in claims(part)} == {"not run"}
    assert not list(EXPERIMENT.tables(part))
    for count in range(0, len(whole.trials), 4):
        part.trials = dict(list(whole.trials.items())[:count])
        assert len(list(claims(part))) == len(made)
        list(EXPERIMENT.tables(part))
        list(EXPERIMENT.drawings(part))
    assert (run("collins2002").folder / "collins2002-np-curves.png").exists()


def test_claims_of_figure_4_look_at_dev_and_test_data_together(run):
    found = find(run("collins2002").ledger, "np", Setting("Perc", 0, "avg"))
    right, guessed, gold = np.sum(found["dev_blocks"] + found["test_blocks"], axis=0)
    both = sample(found, "dev", "test")
    assert both.scores == [pytest.approx(200 * right / (guessed + gold))]
    assert len(both.blocks) == len(found["dev_blocks"]) + len(found["test_blocks"])
    assert not sample({"dev": 1.0}, "dev", "test")


def test_missing_corpora_are_named_before_any_work(tmp_path):
    with pytest.raises(StructronError, match="ramshaw-marcus-np"):
        list(plan(Ledger(tmp_path / "none.json", "paper"), TINY, tmp_path))


# -- the paper's features --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cutoff", [0, 2])
@pytest.mark.parametrize("features", ["seen", "all"])
def test_perceptron_has_the_papers_features(features, cutoff):
    """Against Figure 1 on a dictionary whose features are counted as section 4.3 says."""
    rng, templates, order = np.random.default_rng(cutoff), ["w[0]", "w[-1]"], 2
    rows = [[(str(rng.integers(3)), "XYZ"[rng.integers(3)]) for _ in range(rng.integers(1, 5))] for _ in range(12)]
    tagger = Tagger(order=order, passes=1, runs=1, cutoff=cutoff, templates=templates, shuffle=False).fit(rows)
    learner = make_learner(tagger, cutoff, features)
    for _ in range(2):
        learn_once(learner)
    examples = [brute.make_example(templates, ["word", "label"], row) for row in rows]
    counts = sum((brute.phi(x, x.y, order) for x in examples), Counter())
    if features == "all":
        examples = brute.cut_off(examples, cutoff)
    kept = {key for key, count in counts.items() if count >= max(1, cutoff)}
    w: dict = {}
    vectors = []
    for x in examples * 2:
        z = brute.best(x, w, "XYZ", order)
        change = brute.difference(x, z, order) if z != x.y else {}
        for key, amount in change.items():
            if features == "all" or key in kept:
                w[key] = w.get(key, 0.0) + amount
        vectors.append(dict(w))
    for average, expected in (("none", w), ("mean", brute.Run(vectors, []).mean())):
        model = snapshot(learner, average)
        chains = model.chains(tagger.extractor_.prepare(rows), 0, len(rows))
        for s, x in enumerate(examples):
            for y, (*_, score) in brute.chain_scores(chains, model.weights, order, s, 3).items():
                labels = ["XYZ"[k] for k in y]
                assert score == pytest.approx(brute.dot(expected, brute.phi(x, labels, order)), abs=1e-4)


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


@pytest.mark.parametrize("method", ["gis", "prior"])
@pytest.mark.parametrize("tags", ["AB", "ABC"])
def test_trained_model_scores_and_decodes_as_its_equation_says(tags, method):
    rng = np.random.default_rng(len(tags))
    rows = [
        [(str(rng.integers(4)), tags[rng.integers(len(tags))]) for _ in range(rng.integers(1, 5))] for _ in range(30)
    ]
    tagger = encoded(rows, ["w[0]", "w[-1]|w[0]"], cutoff=2)
    prepared, data = tagger.extractor_.prepare(rows), MaxEnt(tagger.learner_, 2)
    models = dict(data.train(method, (3, 50)))
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


@pytest.mark.parametrize(("method", "variance"), [("gis", np.inf), ("lbfgs", np.inf), ("prior", 1.0)])
def test_training_ends_where_expectations_meet_the_counts(method, variance):
    """Del Pietra's condition: E - E~ + w / variance = 0 for every feature; pairs that were not seen have no weight."""
    rng = np.random.default_rng(3)
    rows = [[(str(rng.integers(2)), "AB"[int(rng.random() < 0.7)]) for _ in range(4)] for _ in range(200)]
    data = MaxEnt(encoded(rows, ["w[0]"], cutoff=5).learner_, 5)
    *_, (_, model) = data.train(method, (1000,))
    w = model.w[:, :2].ravel()[data.features].astype(float)
    assert np.abs(data._expected(w)[1] - data.counts + w / variance).max() < 0.2
    assert (np.delete(model.w[:, :2].ravel(), data.features) == 0).all()
    assert data.counts.min() >= 5


def test_scaling_raises_the_likelihood_in_every_iteration():
    rows = [[("x", "ABACABAD"[(i * k) % 8]) for i in range(9)] for k in range(1, 9)]
    data = MaxEnt(encoded(rows, ["w[0]"]).learner_)
    models = [model.w[:, :4].ravel()[data.features] for _, model in data.train("gis", range(1, 30))]
    losses = [data._expected(w)[0] for w in models]
    assert losses == sorted(losses, reverse=True)


def test_maximum_likelihood_learns_a_deterministic_chain():
    """Only the label two before tells B from C: order 2 is at work in training and in search."""
    rows = [[("x", "ABACABAC"[i % 8]) for i in range(12)] for _ in range(20)]
    tagger = encoded(rows, ["w[0]"])
    *_, (_, tagger.model_) = MaxEnt(tagger.learner_).train("lbfgs", (30,))
    assert tagger.score(rows) == 100
    assert tagger.model_.decode(tagger.extractor_.prepare(rows))[1].min() > -0.5


# -- theorems ------------------------------------------------------------------------------------------------------


def test_theorems_hold_and_say_something():
    first = theorem.theorem1(None, toy=False, sentences=200)
    assert 0 < first["mistakes"] <= first["bound"] == pytest.approx(first["R"] ** 2 / first["delta"] ** 2)
    assert first["bound"] < 200
    toy = theorem.theorem1(None, toy=True, sentences=40)
    assert 0 < toy["mistakes"] <= toy["bound"]
    second = theorem.theorem2(None, sentences=1000, noise=0.02)
    assert 0 < second["mistakes"] <= second["bound"] < second["examples"]
    assert second["bound"] == pytest.approx((second["R"] + second["D"]) ** 2 / second["delta"] ** 2)
    third = theorem.theorem3(None, sentences=600, noise=0.002, draws=2)
    assert third["mistakes"] <= third["bound"] < 1


def test_bound_by_hand():
    """Margins 1, 0.5 and -0.2 with δ = 0.6: ε = 0, 0.1, 0.8."""
    bound, distance = theorem.bound_of(np.array([1, 0.5, -0.2]), 2.0, 0.6)
    assert distance == pytest.approx(0.65**0.5)
    assert bound == pytest.approx((2 + 0.65**0.5) ** 2 / 0.36)


@pytest.mark.parametrize("separable", [True, False])
def test_margins_and_radius_against_enumeration(separable):
    templates, more = ["w[0]", "w[-1]", "suffix1[0]"], [] if separable else [[("a", "Y"), ("c", "Y"), ("c", "Y")]]
    rows = [[*zip("abab", "XYYX", strict=True)], [("a", "X"), ("c", "Y"), ("c", "Y")], *more]
    learner = theorem.make_tagger(templates).fit(rows).learner_
    model = theorem.learn_with_handicap(learner.fresh_copy(), 1000, 500)
    chains = model.chains(learner.prepared, 0, len(rows))
    margins, radii = [], []
    for s, x in enumerate(brute.make_example(templates, ["word", "label"], row) for row in rows):
        scores = brute.chain_scores(chains, model.weights, 2, s, 2)
        gold = tuple("XY".index(tag) for tag in x.y)
        margins.append(scores[gold][-1] - max(score[-1] for y, score in scores.items() if y != gold))
        radii += [brute.norm(brute.difference(x, z, 2)) for z in brute.labellings("XY", len(x))]
    assert theorem.margins_of(model, learner) == pytest.approx(np.array(margins) / np.linalg.norm(model.w), abs=1e-5)
    assert (min(margins) >= 1000) == separable
    assert max(radii) <= theorem.max_difference(learner) <= 2 * max(radii)


def test_votes_means_and_last_weights_of_one_pass(toy_data):
    found = theorem.voting(toy_data, task="pos", sentences=30, test_sentences=20)
    assert 0 < found["updates"] <= found["examples"] == 30
    mixed = theorem.voting(toy_data, task="pos", sentences=30, test_sentences=20, mixed=True)
    assert mixed["mean"] != found["mean"]
    assert len({found[name]["test"] for name in ("voted", "mean", "none")}) > 1
