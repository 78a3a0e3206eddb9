"""The learner of the graph-based parser: margins and ALMA in checkpoints, files, messages and the command line."""

import numpy as np
import pytest

import structron
from structron import GraphParser
from structron.cli import main
from structron.data.toy_english import toy_english, write_conllu
from structron.errors import StructronError
from structron.update.delta import make_delta
from tree_updates import learn_pass, make_learner

TOY = [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in toy_english(40)]
STEPS = {"margin": {"margin": 2.0}, "alma": {"alma": 0.8}}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("average", ["mean", "none"])
def test_it_learns(step, average, tmp_path):
    found = GraphParser(bits=18, passes=6, runs=2, average=average, **STEPS[step]).fit(TOY)
    assert found.score(TOY) > 90
    ((name, value),) = STEPS[step].items()
    assert f"perceptron-{name}-{value:g}" in found.signature_
    found.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert (again.margin, again.alma) == (found.margin, found.alma)
    assert again.predict(TOY[:5]) == found.predict(TOY[:5])


@pytest.mark.parametrize("step", STEPS)
def test_resuming_gives_the_same_weights(step, tmp_path):
    options = {"bits": 16, "runs": 1, **STEPS[step]}
    whole = GraphParser(passes=4, **options).fit(TOY[:20])
    GraphParser(passes=2, **options).fit(TOY[:20], checkpoint=tmp_path / "c")
    again = GraphParser(passes=4, **options).fit(TOY[:20], checkpoint=tmp_path / "c", resume=True)
    assert np.array_equal(whole.model_.w, again.model_.w)
    other = options | {name: value / 2 for name, value in STEPS[step].items()}
    with pytest.raises(StructronError, match="belongs to other data or options"):
        GraphParser(passes=4, **other).fit(TOY[:20], checkpoint=tmp_path / "c", resume=True)


def test_room_that_runs_out_changes_nothing():
    """Where a difference does not fit, it is gathered again in more room."""
    plenty, little = make_learner(alma=0.9), make_learner(alma=0.9)
    little.delta = make_delta(16)
    for learner in (plenty, little):
        learn_pass(learner)
    assert 16 < len(little.delta.feature) <= len(plenty.delta.feature)
    for name in ("w", "u", "pace", "stats"):
        assert np.allclose(getattr(plenty, name), getattr(little, name), atol=1e-6)


def test_warming_up_changes_nothing():
    for options in ({"alma": 0.9}, {"margin": 1.0}, {"swvp": "b-wm"}):
        learner = make_learner(**options)
        before = [array.copy() for array in (learner.store.w, learner.store.u, learner.pace, learner.stats)]
        learner.warm_up()
        after = (learner.store.w, learner.store.u, learner.pace, learner.stats)
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"margin": -1}, "margin: -1; expected a number of at least 0"),
        ({"margin": float("nan")}, "margin: nan; expected"),
        ({"alma": 0}, "alma: 0; expected a number above 0 and up to 1"),
        ({"alma": 0.9, "margin": 1.0}, "margin 1 and alma 0.9: expected one of the two"),
        ({"swvp": "b-wm", "margin": 1.0}, "swvp: b-wm with margin 1.0; works with .* without alma, margin"),
        ({"swvp": "a-wm", "alma": 0.9}, "swvp: a-wm with alma 0.9; works with .* without alma, margin"),
    ],
    ids=str,
)
def test_parameters_that_cannot_be(options, says):
    with pytest.raises(StructronError, match=says):
        GraphParser(passes=1, bits=14, **options).fit(TOY[:2])


def test_the_command_line(tmp_path, capsys):
    write_conllu(tmp_path / "t.conllu", toy_english(20))
    train = ["train", "graph-parser", "--train", str(tmp_path / "t.conllu"), "--model", str(tmp_path / "m"), "-q"]
    for options, name in ((["--alma", "0.9"], "alma-0.9"), (["--margin", "2"], "margin-2"), (["--alma", "none"], "")):
        assert main([*train, "--passes", "1", *options]) == 0
        assert f"perceptron{'-' if name else ''}{name} |" in structron.load(tmp_path / "m").signature_
    assert main([*train, "--margin", "nan"]) == 2
    assert "nan: expected a number of at least 0, or none" in capsys.readouterr().err
