"""Daumé & Marcu (2005), Figures 1 and 2 as they are written: goals are tested when they leave the queue.

The engine's beam lets finished segmentations wait until all are finished. Here three queues are compared, with eq. (2)
as printed: `beam` does the same; in `first-goal` the first finished segmentation that leaves a beam ends the search, in
learning as an error if it is wrong; `cut` is one queue for segmentations of any number of chunks, of which the best are
kept after every expansion. They run in plain Python, on a part of the data.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structron.experiments.daume2005.tasks import COLUMNS, THEIRS, parts
from structron.experiments.frame import block_counts, learn_once
from structron.experiments.frame.ledger import Figures
from structron.features.names import Names
from structron.learn.loop import Schedule, pass_order
from structron.learn.queue import QueueTraining
from structron.model.encoded import EncodedModel
from structron.options import Search
from structron.search.beam.frontier import Anchored
from structron.search.queue.nodes import Space
from structron.search.queue.queue import queue_maker, search
from structron.tasks.segments.chunker import SegmentChunker

LIMIT = 100_000
"""Nodes that may be expanded for a sentence."""


def chunks_in_queue(chunker: SegmentChunker, model: EncodedModel, rows: Sequence[Any], queue: str, beam: int) -> list:
    """Labels of the segmentations that a queue finds."""
    prepared = chunker.extractor_.prepare([[row[:2] for row in sentence] for sentence in rows])
    inputs, anchored = model.look(prepared, 0, len(rows))
    space, found = Space(model.base.engine(1, False), inputs, anchored, LIMIT), []
    for e in range(len(rows)):
        space.begin(e, model.base.sparse)
        actions = np.array(search(space, queue_maker(queue, beam)).actions(), np.int64)
        found.append([model.labels[k] for k in model.encoder.labels_of(actions)])
    return found


def make_learner(chunker: SegmentChunker, queue: str, beam: int) -> QueueTraining:
    """A learner of a chunker's data under a queue, at its start."""
    data = chunker.learner_.data
    inputs, keys = data.inputs, data.numbered.keys
    table = np.stack([keys, np.zeros_like(keys)], axis=1)
    anchored = Anchored(data.numbered.ptr, data.numbered.numbers, table, *data.problem.kinds)
    gold = [[own.tolist()] for own in np.split(inputs.gold, inputs.gold_ptr[1:-1])]
    search = Search(1, "laso-literal", False)
    return QueueTraining(data.problem, inputs, gold, (queue, beam, None, LIMIT), search, anchored=anchored)


def train(
    data: Path, *, queue: str, beam: int, sentences: int, passes: int, seed: int = 1, scored: int | None = None
) -> Figures:
    """LaSO-P under a queue; the pass that is best on dev data is tested."""
    learned, dev, test = parts(data, sentences, scored)
    chunker = SegmentChunker(columns=COLUMNS, templates=THEIRS, beam=1, margin=None, passes=1, runs=1, jobs=1)
    learner = make_learner(chunker.fit(learned), queue, beam)
    best: tuple[float, int, EncodedModel] | None = None
    history: list[dict[str, float]] = []
    for number in range(1, passes + 1):
        counts = learn_once(learner, pass_order(Schedule(seed=seed), number, learner.examples))
        model = EncodedModel(chunker.model_.encoder, learner.snapshot(), Names.of([]))
        score = chunker.evaluate(dev, guess=chunks_in_queue(chunker, model, dev, queue, beam)).f1
        history.append({"dev": score, "updates": counts["updates"], "invalid": counts["invalid"]})
        if best is None or score > best[0]:
            best = (score, number, model)
    assert best is not None
    guess = chunks_in_queue(chunker, best[2], test, queue, beam)
    found: Figures = {"dev": best[0], "best_pass": best[1], "test": chunker.evaluate(test, guess=guess).f1}
    found["passes"] = {name: [round(record[name], 4) for record in history] for name in history[0]}
    return found | {"test_blocks": block_counts(chunker, test, guess)}
