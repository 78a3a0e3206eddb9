"""The smallest run of Dror & Reichart (2016)."""

from structron.experiments.dror2016 import ParsingScale, Scale

ITEMS = {"train": 80, "dev": 30, "test": 30}
PARSING = ParsingScale((400, 150, 200), 2, (1.0,), (1.0, 3.0), ("ud-english-ewt",))
TINY = Scale(2, (1.0, 2.0), 1, 1, PARSING, ITEMS)
