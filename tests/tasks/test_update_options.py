"""Options of the update for every task: weighted violations, margins and ALMA, from training to files and back."""

import re

import numpy as np
import pytest

import structron
from brute_swvp import alternate, single_positions
from problems import named, random_corpus
from structron import BeamLearner, Chunker, GraphParser, JointTagger, Parser, QueueLearner, SegmentChunker, Tagger
from structron.errors import StructronError
from structron.model.beam import BeamModel
from structron.update.violation import RULES, Rule, early
from thermostat import EXAMPLES, NOISY, PROBLEM, weights_of
from toy import chunk_rows, tree_rows

CHUNKS, TREES = chunk_rows(60, 3), tree_rows(30, 3)
SMALL = {"templates": ["w[0]", "pos[0]", "pos[-1]|pos[0]"], "passes": 2}
MAKERS = {
    "exact": (lambda **how: Chunker(**SMALL | how), CHUNKS),
    "beam": (lambda **how: Chunker(**SMALL | {"beam": 4} | how), CHUNKS),
    "further": (lambda **how: Chunker(**SMALL | {"templates": ["w[0]", "w[0]|y[-1]|y[-2]"]} | how), CHUNKS[:10]),
    "parser": (lambda **how: Parser(**{"beam": 4, "passes": 2, "update": "max-violation"} | how), TREES),
    "joint": (lambda **how: JointTagger(**{"update": "early", "alma": None, "beam": 4, "passes": 2} | how), CHUNKS),
    "graph": (lambda **how: GraphParser(**{"bits": 16, "passes": 2} | how), TREES),
}
TASKS = [name for name in MAKERS if name != "further"]


def model_bits(estimator) -> list[bytes]:
    model = getattr(estimator.model_, "base", estimator.model_)
    arrays = (model.keys, *model.rows) if isinstance(model, BeamModel) else (model.w,)
    return [array.tobytes() for array in arrays]


# -- weighted violations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", MAKERS)
def test_weighted_violations(task):
    """Another model than the plain one, with its rule in the signature; whole: the plain one."""
    make, data = MAKERS[task]
    plain, weighted = make(passes=5).fit(data), make(passes=5, swvp="b-wmr", beta=2.0).fit(data)
    assert model_bits(plain) != model_bits(weighted)
    assert "swvp-b-wmr-2-errors" in weighted.signature_
    assert "swvp" not in plain.signature_
    assert all("invalid" in record for record in weighted.history_)
    assert weighted.score(data) > 70
    assert model_bits(make(passes=5, swvp="a-wm", jj="whole", enforce=True).fit(data)) == model_bits(plain)


@pytest.mark.parametrize("update", [name for name, rule in RULES.items() if not rule.mean])
@pytest.mark.parametrize("task", ["beam", "parser"])
def test_whole_is_plain_with_every_rule(task, update):
    make, data = MAKERS[task]
    plain, whole = (make(update=update, swvp=swvp, jj="whole").fit(data[:15]) for swvp in (None, "b-wm"))
    assert model_bits(plain) == model_bits(whole)


@pytest.mark.parametrize("task", TASKS)
def test_a_users_function_is_not_in_the_file_but_its_name(task, tmp_path):
    make, data = MAKERS[task]
    built_in, own = (make(swvp="b-wm", jj=jj).fit(data[:10]) for jj in ("errors", single_positions))
    assert model_bits(built_in) == model_bits(own)
    assert "swvp-b-wm-1-single_positions" in own.signature_
    own.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert again.jj == "single_positions"
    assert again.predict(data[:5]) == own.predict(data[:5])
    with pytest.raises(StructronError, match="jj: 'single_positions'; expected errors, spans, prefixes, whole, or"):
        again.partial_fit(data[:10])
    again.jj = single_positions
    again.partial_fit(data[:10])


@pytest.mark.parametrize("task", ["parser", "graph"])
def test_what_a_function_sees(task):
    """Actions of a parser, heads and relations of a graph-based one."""
    seen, (make, data) = [], MAKERS[task]
    make(passes=1, swvp="b-wm", jj=lambda y, z: seen.append((y, z)) or []).fit(data[:3])
    assert seen
    for y, z in seen:
        assert len(y) == len(z) > 0
        assert y != z
        if task == "parser":
            assert y[0] == "shift"
            assert all(action == "shift" or action.startswith(("left:", "right:")) for action in y + z)
        else:
            assert all(isinstance(head, int) and isinstance(relation, str) for head, relation in y + z)


def test_documents_and_bpm():
    documents = [structron.Document(CHUNKS[lo : lo + 4]) for lo in range(0, 20, 4)]
    entities = structron.EntityRecognizer(margin=None, non_local=(), passes=3, swvp="b-wm", bpm=2)
    apart = entities.fit(CHUNKS[:20]).model_.w
    assert entities.fit(documents).model_.w.tobytes() == apart.tobytes()


def test_problems_of_ones_own():
    problem, columns = named("exchanged1")
    xs, golds = random_corpus(np.random.default_rng(1), problem, 30, 6, columns)
    examples = [(x, list(gold)) for x, gold in zip(xs, golds, strict=True)]
    how = {"passes": 3, "beam": 2}
    plain, weighted, whole = (
        BeamLearner(problem, **how, **more).fit(examples)
        for more in ({}, {"swvp": "b-wm", "beta": 3.0}, {"swvp": "b-wm", "jj": "whole"})
    )
    assert model_bits(plain) == model_bits(whole) != model_bits(weighted)
    assert "update max-violation-swvp-b-wm-3-errors" in weighted.signature_
    assert model_bits(BeamLearner(problem, **how, runs=2, swvp="a-wm", jj=alternate).fit(examples)) != model_bits(plain)


def test_the_scikit_learn_estimator():
    pytest.importorskip("sklearn")
    from structron.sklearn import SequenceLabeler

    X, Y = [[row[0] for row in s] for s in CHUNKS], [[row[2] for row in s] for s in CHUNKS]
    labeler = SequenceLabeler(passes=2, swvp="a-wmr", beta=0.5, jj="spans", enforce=True).fit(X, Y)
    assert "swvp-a-wmr-0.5-spans-enforced" in labeler.labeler_.signature_
    with pytest.raises(ValueError, match="beta: -1"):
        SequenceLabeler(swvp="a-wmr", beta=-1).fit(X, Y)


NOT_WITH = "; expected any update but laso, and neither alma nor margin"


@pytest.mark.parametrize(
    ("tasks", "options", "shown"),
    [
        (["beam", "parser", "joint"], {"update": "laso"}, f"update laso{NOT_WITH}"),
        (["parser"], {"update": Rule(early, go_on=True)}, f"update early{NOT_WITH}"),
        (["beam", "parser", "joint"], {"update": "early", "alma": 0.9}, f"alma 0.9{NOT_WITH}"),
        (["exact", "beam", "parser", "joint", "graph"], {"margin": 3}, f"margin 3{NOT_WITH}"),
        (["graph"], {"alma": 0.9}, f"alma 0.9{NOT_WITH}"),
        (["exact"], {"alma": 0.9, "beam": None, "update": "standard"}, f"alma 0.9{NOT_WITH}"),
        (["exact"], {"non_local": ["phrase"]}, "non_local phrase; expected non_local none"),
    ],
)
def test_what_weighted_violations_do_not_go_with(tasks, options, shown):
    for task in tasks:
        make, data = MAKERS[task]
        with pytest.raises(StructronError, match=f"^swvp: a-wm cannot be combined with {re.escape(shown)}"):
            make(swvp="a-wm", **options).fit(data)


@pytest.mark.parametrize("task", TASKS)
def test_bad_parameters(task):
    make, data = MAKERS[task]
    for given, message in (
        ({"jj": "all"}, "jj: 'all'; expected errors, spans, prefixes, whole, or a function"),
        ({"jj": lambda y, z: [[999]]}, r"^jj: the function returned position 999; expected 0 to \d+, the positions"),
        ({"jj": lambda y, z: [0.5]}, r"^jj: the function returned \[0\.5\]; expected lists of positions"),
    ):
        with pytest.raises(StructronError, match=message):
            make(**{"swvp": "a-wm"} | given).fit(data)


# -- margins and ALMA ----------------------------------------------------------------------------------------------

COLUMNS = ["word", "pos", "chunk"]
CHAIN = {"columns": COLUMNS, "runs": 1, "beam": 4}
WITH_MARGINS = {
    "segments": (SegmentChunker, {"columns": COLUMNS, "alma": None}, CHUNKS),
    "joint": (JointTagger, {"columns": COLUMNS, "alma": None}, CHUNKS),
    "parser": (Parser, {"columns": ["word", "pos", "head", "deprel"]}, TREES),
    "tagger": (Tagger, CHAIN | {"label": "pos"}, CHUNKS),
    "chunker": (Chunker, CHAIN, CHUNKS),
}


@pytest.mark.parametrize("task", WITH_MARGINS)
def test_margins(task):
    kind, options, data = WITH_MARGINS[task]
    plain, wide = (kind(passes=3, update="max-violation", margin=m, **options).fit(data) for m in (None, 20))
    assert wide.history_[-1]["updates"] > plain.history_[-1]["updates"]
    assert "update max-violation-margin-20 |" in wide.signature_
    assert wide.score(data) > 80


def test_a_queue_learner_reaches_the_margin():
    learner = QueueLearner(PROBLEM, queue="exhaustive", passes=200, average="none", margin=3.0).fit(EXAMPLES)
    assert learner.stopped_ == "converged"
    assert learner.evaluate(EXAMPLES).exact == 100.0


def test_checkpoints_know_the_margin(tmp_path):
    whole = BeamLearner(PROBLEM, passes=4, margin=4.0).fit(NOISY)
    BeamLearner(PROBLEM, passes=2, margin=4.0).fit(NOISY, checkpoint=tmp_path / "c")
    for margin in (None, 5.0):
        with pytest.raises(StructronError, match="other data"):
            BeamLearner(PROBLEM, margin=margin).fit(NOISY, checkpoint=tmp_path / "c", resume=True)
    resumed = BeamLearner(PROBLEM, passes=4, margin=4.0).fit(NOISY, checkpoint=tmp_path / "c", resume=True)
    assert weights_of(resumed.model_) == weights_of(whole.model_)
