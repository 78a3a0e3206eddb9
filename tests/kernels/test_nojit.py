"""The kernels as plain Python (NUMBA_DISABLE_JIT=1) do what they do compiled: for debugging and for coverage."""

import json

import pytest

from digests import PARTS
from helpers import run_python

CODE = """
import json
import numpy as np
import numba
from digests import PARTS
from structron.kernels.table import mix

assert numba.config.DISABLE_JIT and not hasattr(mix, "signatures")
with np.errstate(over="ignore"):
    print(json.dumps({name: part() for name, part in PARTS.items()}))
"""


@pytest.fixture(scope="module")
def plain() -> dict:
    """The same, worked out by another process without the compiler. Whole numbers wrap around there with a warning."""
    done = run_python(CODE, NUMBA_DISABLE_JIT="1", PYTHONWARNINGS="ignore")
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("part", PARTS)
def test_plain_python_agrees(part, plain):
    assert plain[part] == PARTS[part]()
