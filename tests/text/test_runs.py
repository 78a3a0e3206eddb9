"""What runs tell about the ends of sentences."""

import pytest

from structron.text.runs import mark_of


@pytest.mark.parametrize(
    ("mark", "runs"),
    [
        ("initial", 'T. J.R.R. (T.S.) Κ. Ж. के. "W. J.-P. a.'),
        ("item", "1. 12) (a) iv) A) IX. 2:"),
        ("bullet", "• - – * ->"),
        ("rule", "--- ===== ***"),
        ("_", "Dr. word a 12 1234. ... Mr No.5 1.5 " + "a." * 20),
    ],
)
def test_marks(mark, runs):
    assert {run: mark_of(run) for run in runs.split()} == dict.fromkeys(runs.split(), mark)
