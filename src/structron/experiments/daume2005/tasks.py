"""Daumé & Marcu (2005), section 4: trainings of chunks as whole segments, and of tags and chunks together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from structron.experiments.frame import Rows, block_counts, last_tenth, learn, load_rows, paper_of, tested, timed
from structron.features.templates import template_lines
from structron.tasks.joint.tagger import JointTagger
from structron.tasks.segments.chunker import SegmentChunker
from structron.update.violation import RULES, Rule

PAPER = paper_of("daume2005")
ALPHA = 0.9
EXPECTED = "LaSO-P, expectation"
COLUMNS = ("word", "pos", "chunk")
METHODS: dict[str, tuple[str | Rule, float | None]] = {
    "perceptron": ("standard", None),
    "LaSO-P": ("laso-literal", None),
    "LaSO-A": ("laso-literal", ALPHA),
    EXPECTED: (replace(RULES["laso-literal"], expected=True), None),
    "our LaSO-P": ("laso", None),
    "our LaSO-A": ("laso", ALPHA),
    "early": ("early", None),
    "standard": ("standard", None),
}
"""The rule and the step of every method. LaSO takes the mean of eq. (2) over the whole queue; ours leaves out of
it what is no mistake, the expectation weighs it by its probability. `perceptron` is that of exact search, `standard`
the same rule with a beam."""
LASO_P, LASO_A = LASO = ("LaSO-P", "LaSO-A")
OUR_LASO = ("our LaSO-P", "our LaSO-A")
OTHERS = ("early", "standard")
THEIRS, OURS, PRINTED = "daume-chunks", "default", "printed"
"""The paper's features of segments, cut off as ours are, and our default templates. PRINTED: every position and every
sequence of words, seen as a chunk or not, once or more, and lists; for tags and chunks the features of section 4.2."""
PLAIN, LAST = {"merge": False}, {"merge": False, "average": "none"}
"""Search as the paper has it, and without averaging."""
PART: tuple[tuple[str, str, str, int | None, Mapping[str, Any]], ...] = (
    *(("segments", THEIRS, method, 1, {}) for method in ("LaSO-P", "LaSO-A")),
    ("segments", THEIRS, "perceptron", None, {}),
    ("segments", THEIRS, "perceptron", None, {"average": "none"}),
    *(("segments", THEIRS, method, None, {}) for method in ("LaSO-P", EXPECTED)),
    *(("segments", THEIRS, method, 5, PLAIN) for method in ("LaSO-P", "LaSO-A", "our LaSO-P", EXPECTED)),
    *(("segments", THEIRS, method, 25, PLAIN) for method in ("LaSO-P", "our LaSO-P", EXPECTED)),
    *(("segments", THEIRS, method, 5, more) for method in ("early", "standard") for more in (PLAIN, LAST)),
    *(
        ("joint", features, method, 10, PLAIN)
        for features in (OURS, PRINTED)
        for method in ("LaSO-P", "LaSO-A", "early")
    ),
    *(("segments", PRINTED, method, 5, PLAIN) for method in ("LaSO-P", "LaSO-A", "early")),
)
"""What is trained from a part of the data: task, features, method, beam, and what else."""
LISTS: Mapping[str, tuple[str, ...]] = {
    "NAME": ("names/female", "names/male"),
    "LOC": tuple(f"gazetteers/{name}" for name in ("countries", "usstates", "uscities", "usstateabbrev", "mexstates")),
    "NAT": ("gazetteers/nationalities",),
}
"""Lists in the folder `gazetteers-nltk` of the corpora; the paper has others, of abbreviations and stop words too."""
LONGEST = 15
"""Words of the longest chunk of the training data."""


@dataclass(frozen=True, slots=True)
class SegmentationTask:
    """estimator: what is learned.   beam: at which all methods are compared.   scores: those in its table."""

    estimator: type[SegmentChunker] | type[JointTagger]
    beam: int
    scores: tuple[str, ...]


TASKS = {
    "segments": SegmentationTask(SegmentChunker, 5, ("precision", "recall")),
    "joint": SegmentationTask(JointTagger, 10, ("accuracy", "chunk_accuracy", "joint_accuracy")),
}


def features_of(data: Path, task: str, features: str) -> dict[str, Any]:
    """The options that stand for a set of features."""
    if features != PRINTED:
        return {"templates": features}
    lists = {kind: [data / "gazetteers-nltk" / f"{name}.txt" for name in names] for kind, names in LISTS.items()}
    there = {kind: own for kind, own in lists.items() if all(file.is_file() for file in own)}
    preset = template_lines(THEIRS) if task == "segments" else template_lines("daume", "joint")
    found: dict[str, Any] = {"templates": [*preset, *(f"gaz_{kind}[0]" for kind in there)], "cutoff": 0}
    if there:
        found["gazetteers"] = there
    if task == "segments":
        found |= {"positions": LONGEST, "whole_chunks": LONGEST, "unseen_chunks": True}
    return found


@cache
def parts(data: Path, sentences: int | None, scored: int | None) -> tuple[Rows, Rows, Rows]:
    """Training, dev and test data of CoNLL-2000: the last tenth of the training data is for dev scores.

    sentences: of training data at most.   scored: of the others.
    """
    train, dev = last_tenth(load_rows(data, "conll2000", "train"))
    return train[:sentences], dev[:scored], load_rows(data, "conll2000", "test")[:scored]


def train(
    data: Path,
    *,
    task: str,
    method: str,
    passes: int,
    patience: int,
    beam: int | None = None,
    merge: bool = True,
    features: str = OURS,
    seed: int = 1,
    sentences: int | None = None,
    scored: int | None = None,
    average: str = "mean",
    constants: tuple[float, float, float] | None = None,
    beams: tuple[int, ...] = (),
) -> dict[str, Any]:
    """A training, tested with the pass that is best on dev data. merge: equivalent states, which the paper's queue does
    not do.   constants: α, B and C of ALMA, if not the usual ones;
    then for a sweep, on dev data alone.   beams: others to test with, as `grid`."""
    update, alma = METHODS[method]
    options: dict[str, Any] = {"update": update, "alma": alma, "margin": None, "beam": beam, "seed": seed}
    options |= {"merge": merge, "average": average, **features_of(data, task, features)}
    model = TASKS[task].estimator(columns=COLUMNS, passes=passes, patience=patience, runs=1, **options)
    learned, dev, test = parts(data, sentences, scored)
    if constants is not None:
        alpha, b, c = constants
        search = replace(model.options.search(), alma=(alpha, b, c))
        vars(model.options)["search"] = lambda learning=False: search
        return learn(model, learned, dev)
    figures = learn(model, learned, dev)
    guess, seconds = timed(model.predict, test)
    scores = model.evaluate(test, guess=guess)
    figures |= {"test": scores.f1, "test_seconds": round(seconds, 3), "test_blocks": block_counts(model, test, guess)}
    figures |= {name: getattr(scores, name) for name in TASKS[task].scores}
    return figures | {"grid": {other: tested(model.set_params(beam=other), test) for other in beams}}
