"""What runs in processes of its own, with this release or an earlier one: only what both have is used."""

from itertools import groupby
from typing import Any

import structron
from benchmarks.child import answer, count, timed
from benchmarks.peers import DOCUMENT, read_columns, read_words


def documents_of(sentences: list) -> list:
    """Documents begin where a line says so."""
    found = [list(group) for mark, group in groupby(sentences, lambda rows: rows[0][0] == DOCUMENT) if not mark]
    return [structron.Document(sentences) for sentences in found]


def predict(
    model: str, held: str, beams: list[int | None], repeat: int, documents: bool | None, trees: bool
) -> dict[str, Any]:
    """From rows in memory to what is predicted, with every beam in turn; the score of the same rows."""
    estimator = structron.load(model)
    sentences = read_words(held) if trees else read_columns(held)
    words = [rows for rows in sentences if rows[0][0] != DOCUMENT]
    rows: list = documents_of(sentences) if documents else words
    found: dict[str, Any] = {"tokens": count(words), "seconds": {}, "score": {}}
    for beam in beams:
        if beam is not None:
            estimator.beam = beam
        estimator.predict(rows[:3])
        found["seconds"][str(beam)] = [timed(lambda: estimator.predict(rows, jobs=1))[0] for _ in range(repeat)]
        found["score"][str(beam)] = estimator.score(rows)
    return found


if __name__ == "__main__":
    answer({"predict": predict})
