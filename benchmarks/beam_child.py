"""What runs in processes of its own for the parts of the beam engine: see child.py."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import structron
from benchmarks.child import TAG_COLUMNS, WARM_UP, answer, count, timed
from benchmarks.measure import Failed
from benchmarks.peers import Udpipe, read_tags
from structron import Parser, Tagger
from structron.io import read
from structron.runtime.progress import Progress
from structron.runtime.threads import batches
from structron.search.beam.engine import make_inputs
from structron.search.beam.scores import CLOCK

EXACT, BEAM = "exact Viterbi", "structron"
HISTORY_BEAM = 4


def read_rows(*files: str) -> list[list[list[str]]]:
    return [sentence.rows for file in files for sentence in read(file)]


def train_udpipe(train: str, model: str, sentences: int | None) -> dict[str, Any]:
    seconds, _ = timed(lambda: Udpipe.train(train, model, sentences))
    return {"seconds": seconds}


def parse(
    dev: str,
    test: str,
    model: str,
    beams: Sequence[int],
    repeat: int,
    udpipe_model: str | None = None,
    peer_beam: int | None = None,
) -> dict[str, Any]:
    """Ours from rows in memory to lists of arcs; the peer from its own sentences, read before the clock starts.

    With every beam in turn, on dev and test data; the peer with the same one, or with `peer_beam`. Scores are those of
    dev alone: nothing is chosen here, but test data are not looked at without need.
    """
    parser, first, rows = structron.load(model), read_rows(dev), read_rows(dev, test)
    peer = Udpipe(udpipe_model) if udpipe_model else None
    theirs = [Udpipe.read(file) for file in (dev, test)] if peer else []
    seconds: dict[str, dict[int, list[float]]] = {"structron": {beam: [] for beam in beams}}
    tokens, las = {"structron": count(rows)}, {}
    if peer:
        seconds[peer.name] = {beam: [] for beam in beams}
    for number in range(-1, repeat):  # the first time to warm up
        for beam in beams:
            parser.beam = beam
            if number < 0:
                parser.predict(rows[:WARM_UP])
                continue
            if peer:
                spent, words = timed(lambda beam=beam: sum(peer.parse(part, peer_beam or beam) for part in theirs))
                seconds[peer.name][beam].append(spent)
                tokens[peer.name] = words
            spent, trees = timed(lambda: parser.predict(rows))
            seconds["structron"][beam].append(spent)
            las[beam] = parser.evaluate(first, guess=trees[: len(first)]).las
    return {"tokens": tokens, "seconds": seconds, "dev_las": las}


class _Paired(Progress):
    """After every pass of training another piece of work is timed, so that both meet the machine in the same state."""

    def __init__(self, works: dict[str, Callable[[], Any]]):
        super().__init__()
        self.works = works
        self.seconds: dict[str, list[float]] = {name: [] for name in ("learning", *works)}
        self.tokens: list[int] = []

    def pass_done(self, record: dict[str, Any], passes: int, best: bool) -> None:
        self.seconds["learning"].append(record["seconds"])
        self.tokens.append(record["tokens"])
        for name, work in self.works.items():
            self.seconds[name].append(timed(work)[0])


def passes(train: str, model: str, passes: int) -> dict[str, Any]:
    """Passes of a training from its beginning; after each, the finished model parses the same data."""
    final, rows = structron.load(model), read_rows(train)
    _, x, starts = final._encode(rows)
    inputs = make_inputs(final.problem_, x, starts)
    final.predict(rows[:WARM_UP])
    works = {
        "search": lambda: final.model_.decode(inputs, final.search().beam, final.merge),
        "parsing": lambda: final.predict(rows),
    }
    paired = _Paired(works)
    learner = Parser(pos="xpos", passes=passes)
    if final.search() != learner.search():
        raise Failed(f"{model}: trained with {final.search().rule}, {final.search()}; expected the defaults")
    learner.fit(rows, progress=paired)
    return {"tokens": count(rows), "learned_tokens": paired.tokens, "seconds": paired.seconds}


def _exact_search(tagger: Tagger, prepared: Any) -> Callable[[], np.ndarray]:
    """Viterbi alone: the features of every token are numbers already."""
    model, starts = tagger.model_, prepared.starts
    parts = [(lo, hi, model.chains(prepared, lo, hi)) for lo, hi in batches(starts)]
    out, scores = np.zeros(int(starts[-1]), np.int64), np.zeros(len(starts) - 1, np.float32)
    no_margins = np.zeros(0, np.float32)

    def search() -> np.ndarray:
        for lo, hi, chains in parts:
            results = (out[starts[lo] : starts[hi]], scores[lo:hi], no_margins, no_margins)
            model._search(chains, 0, hi - lo, np.float32, *results)
        return out

    return search


def _beam_search(tagger: Tagger, prepared: Any) -> Callable[[], np.ndarray]:
    """The beam engine alone, from the same kind of numbers."""
    model, starts = tagger.model_, prepared.starts
    base, search = model.base, tagger.search()
    engine = base.engine(search.beam, search.merge)
    parts = [(lo, hi, *model.look(prepared, lo, hi)) for lo, hi in batches(starts)]
    out = np.zeros(int(starts[-1]), np.int64)

    def run() -> np.ndarray:
        for lo, hi, inputs, anchored in parts:
            engine.scratch(inputs).memory.clock[CLOCK] += 1  # its tokens are not those of the batch before
            found, ptr, _, _ = engine.decode(inputs, base.sparse, anchored)
            own = np.arange(int(inputs.starts[-1])) + np.repeat(ptr[:-1] - inputs.starts[:-1], inputs.limit)
            out[starts[lo] : starts[hi]] = found[own]
        return out

    return run


def history(train: str, dev: str, passes: int, repeat: int) -> dict[str, Any]:
    """Order 2 with exact search and with a beam: training, search alone, and from words to tags, in turn."""
    how = {"order": 2, "runs": 1, "cutoff": 2, "passes": passes, "columns": TAG_COLUMNS}
    taggers = {EXACT: Tagger(**how), BEAM: Tagger(**how, beam=HISTORY_BEAM, update="max-violation")}
    sentences, gold = read_tags(train), read_tags(dev)
    words = [[word for word, _ in sentence] for sentence in gold]
    searches, found = {}, {}
    for name, make in ((EXACT, _exact_search), (BEAM, _beam_search)):
        tagger = taggers[name].fit(sentences)
        searches[name] = make(tagger, tagger.extractor_.prepare(words))
        found[name] = {"learning": sum(record["seconds"] for record in tagger.history_), "search": [], "tokens": []}
        labels = tagger.predict(words)
        flat = [label for line in labels for label in line]
        if [tagger.model_.labels[y] for y in searches[name]().tolist()] != flat:
            raise Failed(f"{name}: search alone gives other labels than the tagger")
        right = sum(a == tag for a, (_, tag) in zip(flat, (pair for line in gold for pair in line), strict=True))
        found[name]["accuracy"] = 100 * right / len(flat)
    for _ in range(repeat):
        for name, tagger in taggers.items():
            found[name]["search"].append(timed(searches[name])[0])
            found[name]["tokens"].append(timed(lambda tagger=tagger: tagger.predict(words))[0])
    return {"tokens": count(words), "sides": found}


if __name__ == "__main__":
    answer({function.__name__: function for function in (train_udpipe, parse, passes, history)})
