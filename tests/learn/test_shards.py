"""Iterative parameter mixing against the figure of McDonald, Hall & Mann (2010) on dictionaries, and its promises."""

import signal
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import brute
from estimators import CASES, Case, Interrupting, bytes_of
from helpers import assert_same_weights, learn_passes, learned, make_learner, random_examples
from runs import Killed, Killer
from structron import StructronError
from structron.learn import shards as shards_module
from structron.learn.shards import Shards, ThreadRunner, mixes_of
from structron.runtime.progress import Progress
from structron.runtime.threads import for_each
from structron.weights import mixing

LABELS = ["A", "B", "C"]
ABLE = [name for name in CASES if name != "pipeline"]


def figure(examples: list, order: int, passes: list[list[int]], shards: int, mix: str) -> tuple[brute.Run, Any]:
    """Iterative parameter mixing as the paper has it: OneEpochPerceptron for every shard, then w = Σ μ·w."""
    found, w = brute.Run([], []), brute.Vector()
    for sequence in passes:
        parts = [[e for e in sequence if e % shards == s] for s in range(shards)]
        runs = [brute.perceptron(examples, LABELS, order, [part], start=w) for part in parts if part]
        errors = [run.mistakes[0] for run in runs]
        by_errors = mix == "errors" and sum(errors) > 0
        shares = [count / sum(errors) if by_errors else 1 / shards for count in errors]
        keys = {key for run in runs for key in run.last}
        if mix == "changes":
            w, vectors = by_change(w, runs, mixing.AGREE)
            found.vectors += vectors
        else:
            w = {key: sum(mu * run.last.get(key, 0.0) for mu, run in zip(shares, runs, strict=True)) for key in keys}
            found.vectors += [vector for run in runs for vector in run.vectors]
        found.mistakes.append(sum(errors))
    return found, w


def by_change(start: Any, runs: list[brute.Run], agree: float) -> tuple[dict, list[dict]]:
    """Every weight by the sum of what c shards have learned of it, over c^agree, after the pass and in every step."""
    w, vectors = {}, [{} for run in runs for _ in run.vectors]
    for key in {*start, *(key for run in runs for vector in run.vectors for key in vector)}:
        before = start.get(key, 0.0)
        moved = [[vector.get(key, 0.0) - before for vector in run.vectors] for run in runs]
        able = [run for run, steps in zip(runs, moved, strict=True) if steps[-1] or sum(steps)]
        learned_of = sum(run.last.get(key, 0.0) - before for run in able)
        w[key] = before + learned_of / len(able) ** agree if able else before
        every = [(run, vector.get(key, 0.0)) for run in runs for vector in run.vectors]
        for vector, (run, value) in zip(vectors, every, strict=True):
            scale = len(runs) / len(able) ** agree if any(run is each for each in able) else 0.0
            vector[key] = before + scale * (value - before)
    return w, vectors


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.sampled_from(["mean", "none"]),
    st.sampled_from([1, 2]),
)
@settings(max_examples=60, deadline=None)
def test_the_figure_of_the_paper(seed, shards, order, pairs, average, jobs):
    """Shares that are powers of two are exact in single precision: the same mistakes, and the same weights."""
    rng = np.random.default_rng(seed)
    examples = random_examples(rng, LABELS, pairs=pairs)
    while len(examples) < shards:
        examples += random_examples(rng, LABELS, pairs=pairs)
    passes = [rng.permutation(len(examples)).tolist() for _ in range(3)]
    learner = Shards(
        make_learner(examples, LABELS, order, pairs=pairs, average=average),
        shards,
        "uniform",
        partial(ThreadRunner, jobs=jobs),
    )
    updates = learn_passes(learner, passes)
    run, w = figure(examples, order, passes, shards, "uniform")
    assert updates == run.mistakes
    assert_same_weights(learned(learner), run.mean() if average == "mean" else w, tolerance=1e-5)


@pytest.fixture
def exact(monkeypatch):
    """Means over two shards have no rounding, which could break a tie in another way in a later pass."""
    monkeypatch.setattr(mixing, "AGREE", 1.0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2]), st.booleans(), st.sampled_from(["mean", "none"]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_weights_by_the_shards_that_changed_them(exact, seed, order, pairs, average):
    rng = np.random.default_rng(seed)
    examples = random_examples(rng, LABELS, pairs=pairs)
    while len(examples) < 2:
        examples += random_examples(rng, LABELS, pairs=pairs)
    passes = [rng.permutation(len(examples)).tolist() for _ in range(3)]
    learner = Shards(make_learner(examples, LABELS, order, pairs=pairs, average=average), 2, "changes")
    updates = learn_passes(learner, passes)
    run, w = figure(examples, order, passes, 2, "changes")
    assert updates == run.mistakes
    assert_same_weights(learned(learner), run.mean() if average == "mean" else w, tolerance=1e-5)


@given(st.integers(0, 2**32 - 1), st.integers(8, 30), st.sampled_from([1, 2]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_several_mixes_in_the_first_passes(exact, monkeypatch, seed, sentences, jobs):
    """Two shards mix 4, 2, 1 and 1 times: as passes over so many parts of the examples would."""
    monkeypatch.setattr(shards_module, "TOGETHER", 1)
    rng = np.random.default_rng(seed)
    examples = random_examples(rng, LABELS, sentences)
    passes = [rng.permutation(len(examples)).tolist() for _ in range(4)]
    learner = Shards(make_learner(examples, LABELS, 1), 2, "changes", partial(ThreadRunner, jobs=jobs))
    bounds = [[len(examples) * k // mixes for k in range(mixes + 1)] for mixes in (4, 2, 1, 1)]
    parts = [[p[lo:hi] for lo, hi in pairwise(own)] for p, own in zip(passes, bounds, strict=True)]
    run, _ = figure(examples, 1, [part for own in parts for part in own], 2, "changes")
    mistakes = iter(run.mistakes)
    assert learn_passes(learner, passes) == [sum(next(mistakes) for _ in own) for own in parts]
    assert_same_weights(learned(learner), run.mean(), tolerance=1e-5)


def test_how_often_weights_are_mixed():
    assert [mixes_of(8, number, 10_000) for number in range(1, 8)] == [16, 8, 4, 2, 1, 1, 1]
    assert [mixes_of(2, number, 10_000) for number in range(1, 5)] == [4, 2, 1, 1]
    assert mixes_of(8, 1, 200) == 3, "a shard has eight examples between two mixes"
    assert mixes_of(8, 1, 8) == 1


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("mix", ["errors", "changes"])
def test_other_shares(mix, seed, shards):
    """One pass: later ones may see ties that rounding breaks in another way."""
    rng = np.random.default_rng(seed)
    examples = random_examples(rng, LABELS)
    while len(examples) < shards:
        examples += random_examples(rng, LABELS)
    passes = [rng.permutation(len(examples)).tolist()]
    for average in ("mean", "none"):
        learner = Shards(make_learner(examples, LABELS, 1, average=average), shards, mix)
        run, w = figure(examples, 1, passes, shards, mix)
        assert learn_passes(learner, passes) == run.mistakes
        assert_same_weights(learned(learner), run.mean() if average == "mean" else w, tolerance=1e-5)


# -- every learner ---------------------------------------------------------------------------------------------------


@pytest.fixture(params=ABLE)
def case(request) -> Case:
    return CASES[request.param]


def test_one_shard_is_no_shard(case, tmp_path):
    """The plain learner to the bit, where its steps are whole numbers; LaSO's means and ALMA's steps are not."""
    plain, one = case.make(), case.make()
    one._wrap_runs_and_shards = lambda learner: Shards(learner, 1)
    for estimator in (plain, one):
        estimator.fit(case.train)
    assert [r["updates"] for r in plain.history_] == [r["updates"] for r in one.history_]
    if "update laso" not in plain.signature_:
        assert bytes_of(plain, tmp_path / "a") == bytes_of(one, tmp_path / "b")
    assert plain.predict(case.inputs) == one.predict(case.inputs)


@pytest.mark.parametrize("mix", ["uniform", "errors", "changes"])
def test_threads_change_nothing(case, mix, tmp_path):
    one, two, many = (case.make(shards=3, mix=mix, jobs=jobs).fit(case.train, dev=case.test) for jobs in (1, 2, 8))
    assert f" | shards 3 {mix} | " in one.signature_
    assert bytes_of(one, tmp_path / "a") == bytes_of(two, tmp_path / "b") == bytes_of(many, tmp_path / "c")
    plain = case.make().fit(case.train, dev=case.test)
    assert bytes_of(plain, tmp_path / "d") != bytes_of(one, tmp_path / "a")
    assert one.history_[0]["tokens"] == plain.history_[0]["tokens"]


def test_shards_learn(case):
    plain, several = (case.make(shards=shards, passes=8).fit(case.train) for shards in (1, 2))
    assert several.score(case.train) > plain.score(case.train) - 15


def test_runs_of_shards(case, tmp_path):
    one, two, many = (case.make(shards=2, runs=2, jobs=jobs).fit(case.train) for jobs in (1, 2, 5))
    assert " | runs 2 | shards 2 changes | " in one.signature_
    assert bytes_of(one, tmp_path / "a") == bytes_of(two, tmp_path / "b") == bytes_of(many, tmp_path / "c")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_resumed_run_ends_with_the_same_file(case, jobs, tmp_path):
    given = {"shards": 3, "mix": "errors"}
    whole = case.make(**given).fit(case.train, dev=case.test)
    folder = {"checkpoint": tmp_path / "c", "dev": case.test}
    with pytest.raises(Killed):
        case.make(**given, jobs=jobs).fit(case.train, progress=Killer(4 if jobs == 1 else 2), **folder)
    for other in ({"shards": 2}, {"mix": "uniform"}):
        with pytest.raises(StructronError, match="other data"):
            case.make(**given | other).fit(case.train, resume=True, **folder)
    again = case.make(**given, jobs=3 - jobs).fit(case.train, resume=True, **folder)
    assert bytes_of(again, tmp_path / "a") == bytes_of(whole, tmp_path / "b")


def test_an_interruption_keeps_what_was_learned(case):
    stopped = case.make(shards=2).fit(case.train, progress=Interrupting(2))
    assert (stopped.stopped_, len(stopped.history_)) == ("interrupted", 1)
    assert len(stopped.predict(case.inputs)) == len(case.inputs)


class Half(Progress):
    """Ctrl-C after the first shard."""

    def advance(self, done: int) -> None:
        raise KeyboardInterrupt


def test_half_a_pass_is_better_than_none():
    case = CASES["chunker"]
    stopped = case.make(shards=2).fit(case.train, progress=Half())
    assert (stopped.stopped_, stopped.history_) == ("interrupted", [])
    assert stopped.score(case.train) > 20


def test_ctrl_c_while_updates_are_mixed(monkeypatch):
    """All of them are mixed then, and once, even where threads are waited for: what was learned is kept."""
    examples = random_examples(np.random.default_rng(3), LABELS) * 9
    whole, stopped = (Shards(make_learner(examples, LABELS, 1), 2, "changes") for _ in range(2))
    sequence = np.arange(len(examples))
    for learner in (whole, stopped):
        learner.begin_pass()
        learner.learn(sequence, 0)  # one shard
    assert len(stopped.shard_updates) == 1
    whole.learn(sequence, 0)
    mix = stopped.runner.mix
    monkeypatch.setattr(
        stopped.runner, "mix", lambda *given: (signal.raise_signal(signal.SIGINT), for_each(str, "ab", 2), mix(*given))
    )
    with pytest.raises(KeyboardInterrupt):
        stopped.learn(sequence, 0)
    assert whole.counts() == stopped.counts()
    ours, theirs = (learner.settled().state() for learner in (whole, stopped))
    assert {name: array.tolist() for name, array in ours.items()} == {
        name: array.tolist() for name, array in theirs.items()
    }


def test_more_shards_than_examples(case):
    count = case.make().fit(case.train).learner_.examples
    case.make(shards=count).fit(case.train)
    with pytest.raises(StructronError, match=f"^shards: {count + 1}; the training data have {count} examples; expect"):
        case.make(shards=count + 1).fit(case.train)


def test_votes_are_those_of_one_run():
    case = CASES["chunker"]
    with pytest.raises(StructronError, match=r"^average: voted cannot be combined with shards: .*; expected shards 1$"):
        case.make(shards=2, average="voted").fit(case.train)


@pytest.mark.parametrize("name", ["tagger", "parser", "graph-parser", "segments"])
@pytest.mark.parametrize("how", [{"alma": 0.9}, {"margin": 2.0, "alma": None}, {"swvp": "b-wm", "alma": None}])
def test_other_steps(name, how, tmp_path):
    case = CASES[name]
    one, two = (case.make(shards=2, jobs=jobs, **how).fit(case.train) for jobs in (1, 2))
    assert bytes_of(one, tmp_path / "a") == bytes_of(two, tmp_path / "b")
    assert one.score(case.train) > 30


@pytest.mark.parametrize("name", ["chunker", "parser", "graph-parser"])
def test_bpm_and_going_on(name):
    case = CASES[name]
    estimator = case.make(shards=2, bpm=2).fit(case.train)
    before = estimator.score(case.train)
    assert estimator.partial_fit(case.data(24, 5)).score(case.train) > before - 50


def test_alma_with_one_shard_is_close_to_none():
    case = CASES["parser"]
    how: dict[str, Any] = {"alma": 0.9, "passes": 1}
    plain, one = case.make(**how), case.make(**how)
    one._wrap_runs_and_shards = lambda learner: Shards(learner, 1)
    for estimator in (plain, one):
        estimator.fit(case.train)
    (keys, rows), (same, other) = plain.learner_.rows(), one.learner_.common.rows()
    assert sorted(keys.tolist()) == sorted(same.tolist())
    assert np.allclose(np.sort(rows.weight), np.sort(other.weight), atol=1e-4)


def test_features_of_documents_from_functions():
    """Each shard may meet names that others do not."""

    def long(document, labels):
        return [f"{len(document)}"] * any("LOC" in label for line in labels for label in line)

    case = CASES["entities"]
    one, two = (case.make(shards=3, jobs=jobs, non_local=long).fit(case.train) for jobs in (1, 2))
    assert one.model_.document_weights() == two.model_.document_weights() != {}


def test_kernels_of_shards_are_compiled_with_those_of_the_task(monkeypatch):
    asked = []
    monkeypatch.setattr("structron.estimator.prepare", lambda *wanted, show: asked.append(wanted))
    case = CASES["tagger"]
    for shards in (1, 2):
        case.make(shards=shards, passes=1).fit(case.data(4, 3))
    assert asked == [("train tagger",), ("train tagger", "train shards")]
