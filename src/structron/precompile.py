"""Compile the beam engine into the cache, beside other work or after an install: `python -m structron.precompile`."""

from structron.data.toy_english import toy_english
from structron.tasks.parser import Parser

SENTENCES = 20


def run() -> None:
    """Train and use a tiny parser: that needs every kernel of the engine once."""
    rows = [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in toy_english(SENTENCES)]
    Parser(passes=1, columns=["word", "pos", "head", "deprel"]).fit(rows).predict(rows[:1])


if __name__ == "__main__":
    run()
