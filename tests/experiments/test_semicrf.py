"""The semi-Markov CRF of the experiment with Daumé & Marcu (2005), against all segmentations written out."""

import numpy as np
import pytest
from scipy.special import logsumexp

from brute_segments import BASES, random_data, segmentations, slow_score, weights_by_name
from structron.experiments.daume2005 import semicrf
from structron.experiments.daume2005.semicrf import SemiCrf
from structron.model.encoded import EncodedModel
from structron.tasks.segments.chunker import SegmentChunker
from structron.tasks.segments.problem import segments_of


@pytest.fixture(scope="module")
def made() -> tuple[SemiCrf, SegmentChunker, list]:
    rows = random_data(np.random.default_rng(3), [4, 1, 3, 5, 2])
    options = {"templates": list(BASES), "cutoff": 0, "positions": 2, "whole_chunks": 2, "margin": None}
    chunker = SegmentChunker(beam=1, passes=1, runs=1, **options).fit(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(semicrf, "TOGETHER", 9)  # several groups, some of them padded
        return SemiCrf(chunker.learner_.data), chunker, rows


def named(crf: SemiCrf, w: np.ndarray) -> EncodedModel:
    model, numbered = crf.model(w), crf.numbered
    model.names = numbered.names(np.arange(len(numbered.keys)), None, crf.data.names)
    return model


def test_the_likelihood_is_that_of_all_segmentations(made):
    crf, _, rows = made
    assert len(crf.groups) > 1
    assert any((group.tokens < 0).any() for group in crf.groups)
    w = np.random.default_rng(1).normal(size=crf.size).astype(np.float32).astype(float)
    model = named(crf, w)
    weights, segments, expected = weights_by_name(model), model.encoder.segments, 0.0
    for sentence in rows:
        plain = [row[:2] for row in sentence]
        gold = [(segments.labels.index(kind), n) for kind, n in segments_of([row[2] for row in sentence])]
        every = [slow_score(plain, path, model, weights) for path in segmentations(len(plain), segments)]
        expected += slow_score(plain, gold, model, weights) - logsumexp(every)
    assert crf.likelihood(w)[0] == pytest.approx(expected, abs=1e-3)


def test_the_gradient_is_that_of_finite_differences(made):
    crf, rng, step = made[0], np.random.default_rng(2), 1e-5
    w = rng.normal(size=crf.size) / 3
    gradient = crf.likelihood(w)[1]
    blocks = [rng.normal(size=shape) for shape in crf.shapes]
    for k in range(len(blocks)):  # a direction within each kind of weights
        direction = np.concatenate([(block if j == k else 0 * block).ravel() for j, block in enumerate(blocks)])
        up, down = (crf.likelihood(w + sign * step * direction)[0] for sign in (1, -1))
        assert gradient @ direction == pytest.approx((up - down) / (2 * step), rel=1e-5)


def test_training_climbs_to_where_the_gradient_is_the_prior(made):
    crf, chunker, rows = made
    w, steps = crf.train(10.0, 60)
    value, gradient = crf.likelihood(w)
    assert 1 < steps <= 60
    assert value > crf.likelihood(np.zeros(crf.size))[0]
    assert np.abs(gradient - w / 10.0).max() < 0.05
    best = SegmentChunker(**chunker.get_params()).set_params(beam=None, update="standard")
    vars(best).update({name: value for name, value in vars(chunker).items() if name.endswith("_")})
    best.model_ = crf.model(w)
    assert best.evaluate(rows).f1 > 95
