"""The experiment of Huang, Fayong & Guo (2012) on a few sentences."""

from structron.experiments.huang2012.methods import EARLY, EWT, HYBRID, MAX_VIOLATION, STANDARD, WSJ, Scale

TINY = Scale(
    seeds=(1, 2),
    tagging_sentences=60,
    sentences=40,
    dev_sentences=20,
    tagging_beams=(1, 2),
    tagging_once={STANDARD: (4,), EARLY: (4,), MAX_VIOLATION: (4,), HYBRID: (4,)},
    tagging=(3, 2),
    parsing={WSJ: (3, 2), EWT: (2, 1)},
    parsing_beams=(1, 2),
    other_treebanks=("ud-basque-bdt", "ud-greek-gdt"),
    bounds=1,
)
