"""Several runs as one learner: the mean of what each run would have learned alone, and exact checkpoints."""

import numpy as np
import pytest

import structron
from structron.data.toy_english import toy_english
from structron.tasks.chain_learner import ChainLearner
from structron.tasks.committee import Committee
from structron.train import Options, pass_order

TEMPLATES = ["w[0]", "suffix2[0]", "w[-1]|w[0]", "suffix1[0]&y"]


def rows(count: int, seed: int) -> list[list[tuple[str, str]]]:
    return [list(zip(s.words, s.pos, strict=True)) for s in toy_english(count, seed)]


def learner_of(sentences: list, order: int) -> ChainLearner:
    tagger = structron.Tagger(order=order, runs=1, passes=1, cutoff=0, templates=TEMPLATES).fit(sentences)
    return tagger.learner_.twin()


@pytest.mark.parametrize("order", [1, 2])
def test_the_model_is_the_mean_of_the_members_models(order: int) -> None:
    sentences = rows(60, 1)
    first = learner_of(sentences, order)
    committee = Committee(first.twin(), 3)
    alone = [first.twin() for _ in range(3)]
    options = Options(passes=2, seed=5)
    for number in (1, 2):
        sequence = pass_order(options, number, committee.examples)
        committee.begin_pass()
        place = 0
        while place < len(sequence):
            place = committee.learn(sequence, place)
        for m, member in enumerate(alone):
            own = np.array([e % 60 for e in sequence.tolist() if e // 60 == m])
            assert sorted(own.tolist()) == list(range(60))
            place = 0
            while place < len(own):
                place = member.learn(own, place)
    expected: dict[tuple[int, int], np.ndarray] = {}
    for member in alone:
        model = member.snapshot()
        cells = dict(enumerate(model.w[: model.fixed]))
        plain = zip(model.keys.tolist(), model.w[model.fixed :], strict=False)
        total = {(-1, row): w for row, w in cells.items()} | {(key, -1): w for key, w in plain}
        for block, key in enumerate(model.block_keys.tolist()):
            for p, row in enumerate(model.block_rows[block].tolist()):
                if row >= 0:
                    total[key, p] = model.w[row]
        for name, w in total.items():
            expected[name] = expected.get(name, 0) + w / 3
    mean = committee.snapshot()
    for row in range(mean.fixed):
        np.testing.assert_allclose(mean.w[row], expected.pop((-1, row)), atol=1e-5)
    for key, w in zip(mean.keys.tolist(), mean.w[mean.fixed :], strict=False):
        np.testing.assert_allclose(w, expected.pop((key, -1)), atol=1e-5)
    for block, key in enumerate(mean.block_keys.tolist()):
        for p, row in enumerate(mean.block_rows[block].tolist()):
            if row >= 0:
                np.testing.assert_allclose(mean.w[row], expected.pop((key, p)), atol=1e-5)
    assert not expected


def test_a_run_that_was_stopped_and_resumed_ends_the_same(tmp_path) -> None:
    sentences = rows(80, 2)

    def tagger(passes: int) -> structron.Tagger:
        return structron.Tagger(runs=3, passes=passes, templates=TEMPLATES)

    whole = tagger(4).fit(sentences)
    tagger(2).fit(sentences, checkpoint=tmp_path / "c")
    resumed = tagger(4).fit(sentences, checkpoint=tmp_path / "c", resume=True)
    assert np.array_equal(whole.model_.w, resumed.model_.w)
    assert np.array_equal(whole.model_.keys, resumed.model_.keys)
    same = [{k: v for k, v in record.items() if "second" not in k} for record in resumed.history_]
    assert same == [{k: v for k, v in record.items() if "second" not in k} for record in whole.history_]


def test_the_number_of_runs_belongs_to_a_checkpoint(tmp_path) -> None:
    sentences = rows(20, 2)
    structron.Tagger(runs=2, passes=1, templates=TEMPLATES).fit(sentences, checkpoint=tmp_path / "c")
    with pytest.raises(structron.StructronError, match="other data or options"):
        structron.Tagger(runs=3, passes=2, templates=TEMPLATES).fit(sentences, checkpoint=tmp_path / "c", resume=True)


def test_going_on_starts_from_the_mean() -> None:
    tagger = structron.Tagger(runs=2, passes=2, templates=TEMPLATES).fit(rows(40, 1))
    before = tagger.score(rows(40, 3))
    tagger.partial_fit([*rows(40, 2), [("zork", "NEW"), ("zork", "NEW")]])
    assert "NEW" in tagger.model_.labels
    assert tagger.score(rows(40, 3)) > before - 3


def test_votes_are_those_of_one_run() -> None:
    tagger = structron.Tagger(average="voted", passes=1, templates=TEMPLATES).fit(rows(20, 1))
    assert tagger.model_.votes is not None
    assert int(tagger.model_.votes.count.sum()) == 20
    assert "runs 1" in tagger.signature_
