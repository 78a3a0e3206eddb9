"""A sample of crafted model files; `make mutations` tries thousands, in compiled code that checks every index."""

import pytest

from mutations import UNCHECKED, try_all


@pytest.mark.slow
@pytest.mark.parametrize("task", ["chunker", "graph-parser", "lemmatizer", "pipeline"])
def test_crafted_files_are_refused_or_used(task):
    (counts,) = try_all([task], 30, seed=7, how=UNCHECKED).values()
    assert sum(counts.values()) == 30
    assert counts["failed"] == 0
    assert counts["refused"] > 10
