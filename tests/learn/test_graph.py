"""The learner of the graph-based parser: what it learns, its room, and its state."""

import numpy as np
import pytest

from structron.learn.committee import Committee
from structron.update.delta import make_delta
from tree_updates import learn_pass, make_learner

STEPS = {"perceptron": {}, "margin": {"margin": 2.0}, "alma": {"alma": 0.8}, "weighted": {"swvp": "b-wm"}}


def arrays(learner) -> list[np.ndarray]:
    return [learner.store.w, learner.store.u, learner.pace, learner.stats]


@pytest.mark.parametrize("step", STEPS)
def test_a_state_is_all_there_is_to_know(step):
    """Warming up changes nothing; a learner that takes up a state goes on as the other does; twins begin anew."""
    one, two = make_learner(**STEPS[step]), make_learner(**STEPS[step])
    fresh = [array.copy() for array in arrays(one)]
    one.warm_up()
    assert all(map(np.array_equal, arrays(one), fresh))
    learn_pass(one)
    two.restore({name: array.copy() for name, array in one.state().items()})
    for learner in (one, two):
        learn_pass(learner)
    assert all(map(np.array_equal, arrays(one), arrays(two)))
    assert one.store.w.any()
    assert all(map(np.array_equal, arrays(one.fresh_copy()), fresh))


def test_other_steps_have_other_fingerprints():
    every = [*STEPS.values(), {"margin": 1.0}, {"alma": 0.4}, {"order": 1}, {"average": "none"}]
    assert len({make_learner(**options).fingerprint() for options in every}) == len(every)


def test_room_that_runs_out_changes_nothing():
    """Where a difference does not fit, it is gathered again in more room."""
    plenty, little = make_learner(alma=0.9), make_learner(alma=0.9)
    little.delta = make_delta(16)
    for learner in (plenty, little):
        learn_pass(learner)
    assert 16 < len(little.delta.feature) <= len(plenty.delta.feature)
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(arrays(plenty), arrays(little), strict=True))


@pytest.mark.parametrize("average", ["mean", "none"])
def test_several_runs_are_their_mean(average):
    committee = Committee(make_learner(average=average, prune=0.1), 3)
    for m, member in enumerate(committee.members):
        for e in np.random.default_rng(m).permutation(member.examples):
            member.learn_from(np.arange(member.examples), e, e + 1)
    singles = [member.fresh_copy() for member in committee.members]
    for member, single in zip(committee.members, singles, strict=True):
        single.restore(member.state())
        single.prune = 0.0
    mean = np.mean([single.snapshot().w for single in singles], axis=0)
    assert np.allclose(committee.snapshot().w, np.where(np.abs(mean) > 0.1, mean, 0), atol=1e-6)
