"""The experiment of Huang, Fayong & Guo (2012) on a few sentences."""

from structron.experiments.huang2012.methods import EWT, GREEK, HYBRID, THREE, WSJ, Scale

TINY = Scale(
    seeds=(1, 2),
    tagging_sentences=30,
    sentences=20,
    dev_sentences=10,
    tagging_beams=dict.fromkeys(THREE, (1, 2)) | {HYBRID: (2,)},
    tagging_once=(4,),
    tagging=(3, 2),
    parsing={WSJ: (3, 2), EWT: (2, 1), GREEK: (2, 1)},
    parsing_seeds=dict.fromkeys((WSJ, EWT, GREEK), (1, 2)),
    parsing_beams=(1, 2),
    parsing_sizes=(10,),
    authors=THREE,
    bounds=1,
)
