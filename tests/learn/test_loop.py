"""The training loop: seeds, stopping, the best pass, Ctrl-C, and runs that are killed anywhere and go on."""

import errno
import io
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import structron
from helpers import run_python, weights_of
from runs import Killed, Killer, fit
from structron.errors import StructronError
from structron.io import modelfile
from structron.learn import chain as chain_learner
from structron.learn.checkpoint import STATE_FILE
from structron.learn.loop import Schedule, pass_order, train
from structron.runtime.progress import Progress, is_written, pass_line
from toy import chunk_rows

TIMES = ("seconds", "cpu_seconds", "tokens_per_second")


# -- the loop by itself --------------------------------------------------------------------------------------------


class Scripted:
    """A learner that only plays a part: `updates` per pass are given; its model is the number of the pass."""

    def __init__(self, updates: list[int], examples: int = 4):
        self.updates, self.examples, self.number, self.seen, self.kept = updates, examples, 0, [], []

    def warm_up(self):
        self.warm = True

    def begin_pass(self):
        assert self.warm
        self.number += 1
        self.seen.append([])

    def learn(self, sequence, lo):
        self.seen[-1].append(int(sequence[lo]))
        return lo + 1

    def counts(self):
        return {"updates": self.updates[self.number - 1], "wrong_tokens": 1, "tokens": 10}

    def state(self):
        return {"number": np.array([self.number])}

    def restore(self, state):
        self.number = int(state["number"][0])

    def fingerprint(self):
        return "scripted"

    def snapshot(self):
        return self.number

    def free_search_buffers(self, model):
        self.kept.append(model)

    def finish(self, model):
        return f"pass {model}"


def play(updates: list[int], scores: list[float] | None = None, **options):
    learner = Scripted(updates)
    score = None if scores is None else lambda model: scores[model - 1]
    return learner, train(learner, Schedule(passes=len(updates), **options), score)


UP_AND_DOWN = [1.0, 5.0, 4.0, 6.0, 3.0, 2.0]


@pytest.mark.parametrize(
    ("updates", "scores", "patience", "best", "stopped", "passes"),
    [
        ([5, 4, 3], None, 0, 3, "passes", 3),
        ([9] * 5, [10.0, 30.0, 20.0, 30.0, 29.99999], 0, 2, "passes", 5),
        ([9, 9], [0.0, 0.0], 0, 1, "passes", 2),
        ([5, 0, 0, 0], None, 0, 2, "converged", 2),
        ([9] * 6, UP_AND_DOWN, 0, 4, "passes", 6),
        ([9] * 6, UP_AND_DOWN, 1, 2, "patience", 3),
        ([9] * 6, UP_AND_DOWN, 2, 4, "patience", 6),
        ([9] * 6, UP_AND_DOWN, 3, 4, "passes", 6),
        ([9] * 5, None, 1, 5, "passes", 5),
    ],
    ids=["last", "first of equals", "zero", "no updates", "never", "at once", "second", "third", "no dev"],
)
def test_which_pass_is_kept_and_which_is_the_last(updates, scores, patience, best, stopped, passes):
    learner, result = play(updates, scores, patience=patience)
    assert (result.model, result.best_pass, result.stopped) == (f"pass {best}", best, stopped)
    assert [record["pass"] for record in result.history] == list(range(1, passes + 1))
    assert [record["updates"] for record in result.history] == updates[:passes]
    assert [record.get("dev") for record in result.history] == [
        None if scores is None else round(score, 4) for score in (scores or updates)[:passes]
    ]
    assert learner.kept[-1:] == ([] if scores is None else [best])  # rests while others learn on
    assert [sorted(seen) for seen in learner.seen] == [[0, 1, 2, 3]] * passes
    assert learner.seen[0] == pass_order(Schedule(), 1, 4).tolist()


class Erring(Scripted):
    """Makes so many mistakes in 1000 words a pass; or counts no words, and makes so many updates with 100 examples."""

    def __init__(self, wrong: list[int], words: bool = True):
        super().__init__(wrong)
        self.words = words

    def counts(self):
        wrong = self.updates[self.number - 1]
        found = {"updates": 1 if self.words else wrong, "examples": 100, "tokens": 1000}
        return found | ({"wrong_tokens": wrong} if self.words else {})


@pytest.mark.parametrize("words", [True, False], ids=["words", "examples"])
@pytest.mark.parametrize(
    ("wrong", "passes"),
    [
        ([100, 101, 100, 101, 100, 100], 4),  # 1 %, three times in a row: passes 2, 3 and 4
        ([100, 101, 100, 102, 101, 100, 100, 100], 7),  # 2 % at pass 4 begins anew
        ([100, 98, 96, 94, 92, 90], 6),  # always 2 % or more
        ([100, 99, 98], 3),  # too few passes to tell
        ([2, 1, 1, 1, 1], 5),  # half as many is a change, however few
        ([7, 7, 7, 7, 7], 4),  # none at all
    ],
    ids=["early", "anew", "never", "few", "half", "same"],
)
def test_a_steady_error_stops(wrong, passes, words):
    """A relative change below 1.5 % in three passes in a row."""
    result = train(Erring(wrong, words), Schedule(passes=len(wrong), stop_change=0.015))
    assert len(result.history) == passes
    assert result.best_pass == passes
    assert result.stopped == ("change" if passes < len(wrong) or wrong[0] in (2, 7) else "passes")
    assert len(train(Erring(wrong, words), Schedule(passes=len(wrong))).history) == len(wrong)


@pytest.mark.parametrize(
    ("wrong", "stop_change", "scores", "stopped", "best", "passes"),
    [
        ([64, 32, 16, 8, 4], 0.1, None, "passes", 5, 5),  # half the mistakes with every example still wrong is a change
        ([5, 0, 0, 0, 0, 0], 1e-4, None, "change", 5, 5),  # with a margin updates go on after the last mistake
        ([100] * 5, 0.1, [50.0, 60.0, 40.0, 30.0, 70.0], "change", 2, 4),  # the best pass is kept
    ],
    ids=["halved", "none left", "best"],
)
def test_what_a_steady_error_is(wrong, stop_change, scores, stopped, best, passes):
    score = None if scores is None else lambda model: scores[model - 1]
    result = train(Erring(wrong), Schedule(passes=len(wrong), stop_change=stop_change), score)
    assert (result.stopped, result.best_pass, len(result.history)) == (stopped, best, passes)


@pytest.mark.parametrize("kill", [1, 2, 3, 4])
def test_a_steady_error_is_seen_over_a_checkpoint(kill, tmp_path):
    """The rule looks at the history, which a resumed run has; one that had ended stays so."""
    wrong = [100, 101, 100, 101, 100, 100]
    train(Erring(wrong), Schedule(passes=kill, stop_change=0.015, checkpoint=tmp_path))
    resumed = train(Erring(wrong), Schedule(passes=6, stop_change=0.015, checkpoint=tmp_path, resume=True))
    assert (resumed.stopped, len(resumed.history)) == ("change", 4)


def test_the_order_of_a_pass_depends_on_seed_and_number_alone():
    orders = {
        (seed, number): pass_order(Schedule(seed=seed), number, 50).tolist() for seed in (1, 2) for number in (1, 2, 3)
    }
    assert len({tuple(order) for order in orders.values()}) == 6
    for (seed, number), order in orders.items():
        assert sorted(order) == list(range(50))
        assert pass_order(Schedule(seed=seed, passes=99), number, 50).tolist() == order
    assert pass_order(Schedule(shuffle=False), 7, 5).tolist() == [0, 1, 2, 3, 4]


def test_resuming_needs_a_checkpoint():
    with pytest.raises(StructronError, match="--resume needs --checkpoint DIR"):
        Schedule(resume=True)


# -- progress ------------------------------------------------------------------------------------------------------


def test_plain_lines_and_a_log_of_json(tmp_path):
    stream, log = io.StringIO(), tmp_path / "log.jsonl"
    scores = [50.0, 40.0]
    progress = Progress(show=True, log=log, stream=stream)
    train(Scripted([7, 3]), Schedule(passes=2), lambda model: scores[model - 1], progress)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("pass 1/2  updates      7  wrong 10.00 %  dev 50.00 *")
    assert "*" not in lines[1]
    records = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(r["pass"], r["updates"], r["dev"]) for r in records] == [(1, 7, 50.0), (2, 3, 40.0)]
    train(Scripted([7, 3]), Schedule(passes=1), None, Progress(log=log, append=True))
    assert len(log.read_text().splitlines()) == 3


def test_a_log_is_locked_while_it_is_written(tmp_path):
    log = tmp_path / "log"
    assert is_written(log) is None
    first, second = Progress(log=log), Progress(log=log, append=True)
    assert is_written(log)
    first.close()
    assert is_written(log)
    second.close()
    assert is_written(log) is False


def test_a_log_that_cannot_be_written(tmp_path):
    with pytest.raises(StructronError, match="cannot write the log: No such file"):
        Progress(log=tmp_path / "no" / "log")


def test_lines_for_passes():
    """Without tokens, and of an inexact search."""
    record = {"pass": 1, "updates": 0, "wrong_tokens": 0, "tokens": 0, "tokens_per_second": 0}
    assert pass_line(record, 10, False).startswith("pass  1/10")
    record = {"pass": 1, "updates": 40, "tokens": 500, "tokens_per_second": 2000, "dev": 81.5}
    record |= {"invalid": 5, "examples": 80, "fell_off": 20, "fell_at": 0.25, "search_errors": 3}
    line = pass_line(record, 9, True)
    assert line.startswith("pass 1/9  updates     40  invalid  12 %  gold fell off  25 % at 0.25  search errors 3  dev")
    assert line.endswith("  dev 81.50 *  2k tokens/s")
    record |= {"updates": 0, "invalid": 0, "examples": 0, "fell_off": 0, "fell_at": None}
    assert "invalid   0 %  gold fell off   0 %  search" in pass_line(record, 9, False)


# -- real learners -------------------------------------------------------------------------------------------------

RUNS = {
    "mean": {},
    "no dev": {"dev": False},
    "order 2": {"order": 2},
    "unaveraged": {"average": "none", "dev": False},
    "voted": {"average": "voted", "passes": 3},
    "pairs": {"templates": ["w[0]", "pos[0]", "pos[-1]|pos[0]&y", "w[0]&y"]},
    "dictionary": {"tag_dictionary": 2},
    "three runs": {"runs": 3},
    "two runs, pairs, order 2": {"runs": 2, "order": 2, "templates": ["w[0]", "pos[-1]|pos[0]&y"], "passes": 3},
}


def history(labeler) -> list[dict]:
    """Without the times, which differ from run to run."""
    return [{k: v for k, v in record.items() if k not in TIMES} for record in labeler.history_]


def assert_identical(one, two) -> None:
    """Bit for bit: weights, what they belong to, votes, history."""
    a, b = one.model_, two.model_
    assert history(one) == history(two)
    assert (one.best_pass_, one.stopped_) == (two.best_pass_, two.stopped_)
    for name in ("w", "keys", "block_keys", "block_rows", "allowed"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.names.all() == b.names.all()
    assert a.pair_names.all() == b.pair_names.all()
    if a.votes is not None:
        for name in ("count", "ptr", "cell", "amount", "start"):
            assert np.array_equal(getattr(a.votes, name), getattr(b.votes, name)), name
    test = [[row[:2] for row in sentence] for sentence in chunk_rows(10, 9)]
    assert one.predict(test) == two.predict(test)


def test_other_seeds_give_other_weights():
    assert weights_of(fit(seed=1).model_) != weights_of(fit(seed=2).model_)
    assert weights_of(fit(shuffle=False).model_) != weights_of(fit(seed=1).model_)
    assert weights_of(fit(shuffle=False, seed=1).model_) == weights_of(fit(shuffle=False, seed=2).model_)


def test_the_best_pass_is_the_model_of_that_pass():
    full = fit(passes=6)
    assert full.best_pass_ == max(range(1, len(full.history_) + 1), key=lambda k: full.history_[k - 1]["dev"])
    short = fit(passes=full.best_pass_)
    assert weights_of(short.model_) == weights_of(full.model_)
    assert full.score(chunk_rows(20, 4)) == pytest.approx(full.history_[full.best_pass_ - 1]["dev"], abs=1e-4)


def test_a_real_run_converges():
    """Enough passes without averaging on data that can be separated end by themselves."""
    labeler = fit(passes=200, dev=False, average="none")
    assert labeler.stopped_ == "converged"
    assert labeler.history_[-1]["updates"] == 0
    assert all(record["updates"] > 0 for record in labeler.history_[:-1])
    assert labeler.score(chunk_rows(120, 3)) == 100


# -- killed and resumed --------------------------------------------------------------------------------------------


def chances_in_a_pass(**options) -> int:
    """How often a run can be killed in one pass: after every compiled call, and at the end."""
    counter = Killer(10_000)
    fit(progress=counter, **{**options, "passes": 1})
    chances = 10_000 - counter.left
    assert chances > 4
    return chances


@pytest.fixture
def short_calls(monkeypatch):
    """Passes of several compiled calls, though the data are few."""
    monkeypatch.setattr(chain_learner, "CALL_TOKENS", 200)


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS)
def test_a_killed_run_goes_on_to_the_same_bits(options, tmp_path, monkeypatch):
    """Killed again and again, in the middle of passes and between them, resumed each time; and however many tokens a
    compiled call gets."""
    whole = fit(**options)
    monkeypatch.setattr(chain_learner, "CALL_TOKENS", 200)
    chances = chances_in_a_pass(**options)
    kills = 0
    while True:
        place = [3, chances - 1, 0, chances // 2][kills % 4]
        try:
            resumed = fit(tmp_path / "run", kills > 0, Killer(chances + place), **options)
            break
        except Killed:
            kills += 1
    assert kills >= 2
    assert_identical(whole, resumed)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6])
def test_killed_while_the_checkpoint_is_written(number, tmp_path, monkeypatch):
    """The best model and the state are two files: a run may die before, between and after them."""
    whole = fit()
    calls = 0
    save = modelfile.save

    def dying(path, *args):
        nonlocal calls
        calls += 1
        if calls == number:
            raise Killed
        save(path, *args)

    with monkeypatch.context() as patch:
        patch.setattr(modelfile, "save", dying)
        with pytest.raises(Killed):
            fit(tmp_path / "run")
    assert_identical(whole, fit(tmp_path / "run", (tmp_path / "run" / STATE_FILE).exists()))


VICTIM = """
import os, signal, sys
from structron.learn import chain as chain_learner
from runs import Killer, fit

chain_learner.CALL_TOKENS = 200

class Fatal(Killer):
    def _chance(self):
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

fit(sys.argv[1], len(sys.argv) > 3, Fatal(int(sys.argv[2])))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("short_calls")
def test_a_process_that_is_killed_goes_on(tmp_path):
    chances = chances_in_a_pass()
    for place, more in ((chances + 2, ()), (chances + 4, ("resume",))):
        done = run_python(VICTIM, str(tmp_path / "run"), str(place), *more)
        assert done.returncode == -signal.SIGKILL, done.stderr
    header, _ = modelfile.load(tmp_path / "run" / STATE_FILE)
    assert 0 < len(header["history"]) < 5
    assert_identical(fit(), fit(tmp_path / "run", True))


def test_a_finished_run_is_not_run_again(tmp_path):
    done = fit(tmp_path / "run")
    files = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
    assert sorted(files) == [f"best-{done.best_pass_}.structron", STATE_FILE]
    assert_identical(done, fit(tmp_path / "run", True, Killer(0)))
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()} == files


def test_resuming_from_nothing_or_for_more_passes(tmp_path):
    whole = fit()
    assert_identical(whole, fit(tmp_path / "new" / "run", True))
    fit(tmp_path / "run", passes=2)
    assert_identical(whole, fit(tmp_path / "run", True, passes=5))


@pytest.fixture(scope="module")
def one_pass(tmp_path_factory) -> Path:
    """A checkpoint, to be read only."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    fit(folder, passes=1)
    return folder


def test_a_checkpoint_is_not_overwritten_by_chance(one_pass):
    with pytest.raises(
        StructronError, match="already has a checkpoint; continue with --resume, or name another folder"
    ):
        fit(one_pass)


@pytest.mark.parametrize(
    "other",
    [
        *({"seed": 2}, {"order": 2}, {"average": "none"}, {"runs": 2}, {"cutoff": 2}, {"shuffle": False}),
        *({"constrain": False}, {"forbid": [("O", "B-NP")]}, {"tag_dictionary": 1}, {"templates": ["w[0]"]}),
        {"dev": False},
    ],
    ids=str,
)
def test_other_options_are_refused(other, one_pass):
    with pytest.raises(StructronError, match="the checkpoint belongs to other data or options; name another folder"):
        fit(one_pass, True, **other)


def test_other_data_are_refused(tmp_path):
    sentences = chunk_rows(120, 3)
    labeler = structron.Chunker(passes=1, templates=["w[0]"])
    labeler.fit(sentences, checkpoint=tmp_path / "run")
    joined = [sentences[0] + sentences[1], *sentences[2:]]
    relabelled = [[*sentences[0][:-1], (*sentences[0][-1][:2], "I-NP")], *sentences[1:]]
    for other in (sentences[:-1], sentences[::-1], joined, [*sentences, []], relabelled, chunk_rows(120, 8)):
        with pytest.raises(StructronError, match="other data"):
            structron.Chunker(passes=2, templates=["w[0]"]).fit(other, checkpoint=tmp_path / "run", resume=True)


def test_a_checkpoint_that_is_damaged_or_something_else(tmp_path):
    labeler = fit(tmp_path / "run", passes=1)
    state = tmp_path / "run" / STATE_FILE
    content = state.read_bytes()
    state.write_bytes(content[:-5])
    with pytest.raises(StructronError, match="damaged"):
        fit(tmp_path / "run", True)
    labeler.save(state)
    with pytest.raises(StructronError, match="other data"):
        fit(tmp_path / "run", True)
    state.write_bytes(content)
    (tmp_path / "run" / f"best-{labeler.best_pass_}.structron").unlink()
    with pytest.raises(StructronError, match="cannot read"):
        fit(tmp_path / "run", True)


@pytest.mark.usefixtures("short_calls")
def test_a_best_model_left_by_another_run_is_not_taken_for_ours(tmp_path):
    """A run that died before its first state was written leaves a best model that belongs to nothing."""
    folder = tmp_path / "run"
    whole = fit(passes=3)
    folder.mkdir()
    for k in range(1, 4):
        fit(order=2, seed=9, passes=1).save(folder / f"best-{k}.structron")
    with pytest.raises(Killed):
        fit(folder, progress=Killer(5), passes=3)
    assert_identical(whole, fit(folder, True, passes=3))


def test_a_checkpoint_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StructronError, match="cannot create the checkpoint folder"):
        fit(tmp_path / "file" / "run")


def test_a_full_disk_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    whole = fit()
    fit(tmp_path / "run", passes=2)
    before = (tmp_path / "run" / STATE_FILE).read_bytes()

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert_identical(whole, fit(tmp_path / "run", True))  # no checkpoint, but a model
    assert (tmp_path / "run" / STATE_FILE).read_bytes() == before
    assert_identical(whole, fit(tmp_path / "run", True))


def test_further_training_can_be_checkpointed_too(tmp_path):
    first, second = chunk_rows(30, 1), chunk_rows(30, 2)

    def start():
        return structron.Chunker(passes=3).fit(first)

    whole = start().partial_fit(second)
    with pytest.raises(Killed):
        start().partial_fit(second, checkpoint=tmp_path / "run", progress=Killer(2))
    assert_identical(whole, start().partial_fit(second, checkpoint=tmp_path / "run", resume=True))
    with pytest.raises(StructronError, match="other data"):
        structron.Chunker(passes=2).fit(first).partial_fit(second, checkpoint=tmp_path / "run", resume=True)


# -- Ctrl-C --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short_calls")
def test_ctrl_c_keeps_the_best_model():
    labeler = fit(progress=Killer(3 * chances_in_a_pass() + 1, KeyboardInterrupt))
    assert (labeler.stopped_, len(labeler.history_)) == ("interrupted", 3)
    best = fit(passes=3)
    assert labeler.best_pass_ == best.best_pass_
    assert weights_of(labeler.model_) == weights_of(best.model_)


@pytest.mark.usefixtures("short_calls")
def test_ctrl_c_without_dev_data_keeps_what_was_learned():
    labeler = fit(dev=False, progress=Killer(chances_in_a_pass() + 2, KeyboardInterrupt))
    assert (labeler.stopped_, len(labeler.history_), labeler.best_pass_) == ("interrupted", 1, 2)
    assert weights_of(labeler.model_) != weights_of(fit(dev=False, passes=1).model_)
    assert labeler.score(chunk_rows(120, 3)) > 50


@pytest.mark.usefixtures("short_calls")
def test_ctrl_c_in_the_first_pass_keeps_what_was_learned(tmp_path):
    labeler = fit(progress=Killer(1, KeyboardInterrupt))
    assert (labeler.stopped_, labeler.best_pass_, labeler.history_) == ("interrupted", 1, [])
    assert len(labeler.model_.names.all()) == len(labeler.model_.keys) > 0
    labeler.save(tmp_path / "model")
    assert structron.load(tmp_path / "model").stopped_ == "interrupted"


@pytest.mark.usefixtures("short_calls")
def test_after_ctrl_c_a_run_can_be_resumed(tmp_path):
    whole = fit()
    assert fit(tmp_path / "run", progress=Killer(9, KeyboardInterrupt)).stopped_ == "interrupted"
    assert_identical(whole, fit(tmp_path / "run", True))


@pytest.mark.parametrize("columns", [[0, 1, 2], [2, 0, 3]])
def test_rows_of_an_older_model_are_copied_to_their_places(columns):
    rows, into = np.arange(1.0, 9.0).reshape(2, 4), np.zeros((4, 5))
    chain_learner.copy_rows(into, np.array([3, 1]), np.array(columns), rows)
    expected = np.zeros((4, 5))
    for place, row in ((3, rows[0]), (1, rows[1])):
        for k, column in enumerate(columns):
            expected[place, column] = row[k]
    assert (into == expected).all()
