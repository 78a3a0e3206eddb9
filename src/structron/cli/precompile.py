"""Compile kernels into the cache, beside other work or after an install: `python -m structron.cli.precompile [PART …]`.

The name of each part is printed when it is done.
"""

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from structron.data.toy_english import toy_english
from structron.tasks.graph.parser import GraphParser
from structron.tasks.shift_reduce.parser import Parser

SENTENCES = 20
PARTS: dict[str, Callable[..., Any]] = {"beam": Parser, "graph": partial(GraphParser, order=1)}
"""Parsers that need the kernels of a part once: those of the beam engine, and of graph-based parsing but for the search
at order 2, which is compiled by itself."""


def run(parts: Iterable[str] = tuple(PARTS)) -> None:
    """Train and use a tiny parser for each part."""
    rows = [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in toy_english(SENTENCES)]
    for part in parts:
        PARTS[part](passes=1, columns=["word", "pos", "head", "deprel"]).fit(rows).predict(rows[:1])
        print(part, flush=True)


if __name__ == "__main__":
    run(sys.argv[1:] or PARTS)
