"""Kernels that count no references, whoever has called their helpers before."""

import pytest
from numba.core.config import DISABLE_JIT

from helpers import run_python

CODE = """
import numpy as np
from structron.weights.changes import make_changes
from structron.weights.mixing import put_rows
from structron.weights.sparse import add, claim, make_sparse, weight_of

sparse, key = make_sparse(4), np.uint64(7) << np.uint64(50)
add(sparse, sparse.table, claim(sparse, key), np.int32(2), 1.5, 0.0)
changes = make_changes(1)
changes.row[0], changes.column[0], changes.w[0] = key, 3, 2.5
assert put_rows(sparse, np.zeros((0, 2), np.uint64), changes, 0) == 1
head = sparse.table[sparse.table[:, 0] == key][0, 1]
assert [weight_of(sparse, head, column) for column in range(4)] == [0, 0, 1.5, 2.5]
for kernel in (add, put_rows):
    print(max(code.count("call void @NRT_incref") for code in kernel.inspect_llvm().values()))
"""


@pytest.mark.skipif(bool(DISABLE_JIT), reason="nothing is compiled")
def test_helpers_that_were_called_before_count_nothing_inside(tmp_path):
    """Python calls a helper, which counts; then a kernel that does not count calls it, too, and finds another."""
    done = run_python(CODE, NUMBA_CACHE_DIR=str(tmp_path))
    helper, kernel = map(int, done.stdout.split() or [0, -1])
    assert helper > 0, done.stderr
    assert kernel == 0
