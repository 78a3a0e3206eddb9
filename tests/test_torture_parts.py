"""A sample of what `make torture` tries in full: crafted models stand in test_mutations.py, mistakes in
tasks/test_own_guard.py."""

import pytest

from torture import inputs


@pytest.mark.slow
@pytest.mark.parametrize("task", ["chunker", "lemmatizer"])
def test_mutated_inputs_are_taken_or_refused_in_a_line(task, tmp_path):
    outcomes, _ = inputs._part(task, 100, 115, tmp_path)
    assert len(outcomes) == 15
    assert [outcome for outcome in outcomes if outcome.startswith("failed")] == []
    assert {"done", "refused"} == set(outcomes)
