"""Small models: the sizes that weights may have."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structron.model.compact import quantised

PRINTED = """
import hashlib
import numpy as np
from structron.model.compact import quantised
weight = (9 * np.random.default_rng(1).normal(size=20_000)).astype(np.float32)
print(hashlib.sha256(quantised(weight).tobytes()).hexdigest())
"""


def digest(without: str) -> str:
    """What a process makes of the same weights, without some abilities of the processor."""
    environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": without}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRINTED], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_same_without_vector_instructions():
    """The sizes do not depend on the vector instructions that NumPy finds."""
    core = pytest.importorskip("numpy._core._multiarray_umath")
    optional = [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]
    if not optional:
        pytest.skip("NumPy uses no more of this processor than of any other")
    assert digest("") == digest(" ".join(optional))


@given(st.lists(st.floats(1 / 64, 64, width=32), min_size=2, max_size=50), st.integers(2, 40))
def test_few_sizes_near_the_weights(sizes, levels):
    """At most so many sizes; the nearest is less than one step away, the least and the greatest stay."""
    weight = np.array(sizes, np.float32)
    found = quantised(weight, levels)
    step = (np.log(weight.max()) - np.log(weight.min())) / (levels - 1)
    assert len(np.unique(found)) <= levels
    assert np.abs(np.log(found) - np.log(weight)).max() <= step / 2 + 1e-4
    assert found.min() == pytest.approx(weight.min(), rel=1e-5)
    assert found.max() == pytest.approx(weight.max(), rel=1e-5)
    assert quantised(-weight, levels).tolist() == (-found).tolist()
