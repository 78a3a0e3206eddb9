"""BPM initialisation (Kazama & Torisawa 2007, section 4.3): training starts from the mean of several one-pass runs.

What a perceptron learns first depends on the order of its examples; the mean of the weights after one pass over
differently shuffled examples depends on it less (Herbrich & Graepel's Bayes point machines).
"""

from typing import Any

import numpy as np


def bpm_start(learner: Any, runs: int, seed: int) -> None:
    """Give a learner that has seen nothing the mean of the weights after so many runs."""
    for run in range(runs):
        member = learner.fresh_copy()
        sequence = np.random.default_rng([seed, 0, run]).permutation(member.examples)
        member.begin_pass()
        place = 0
        while place < len(sequence):
            place = member.learn(sequence, place)
        learner.add(member, 1 / runs)
