"""Kazama & Torisawa (2007): the methods that are compared, and the paper's figures on CoNLL-2003."""

CRF, PERCEPTRON, AVERAGED, MARGIN = "CRF", "perceptron", "averaged perceptron", "margin perceptron"
CANDIDATE, PROPOSED = "candidate", "proposed"
AVERAGED_MARGIN, AVERAGED_PROPOSED = "averaged margin perceptron", "averaged proposed"
SENTENCES, SENTENCES_C = "sentence by sentence (ours)", 50
"""Local features learned from sentences (update/nbest.py), with the C that `train entities` has."""
RERANKING_1, RERANKING_2 = "re-ranking 1", "re-ranking 2"

GRID = (500, 1000, 1414, 2000, 2828, 4000, 5657, 8000, 11313, 16000, 32000)
"""The values of C that the paper tries."""
N, N_TEST = 20, 100
"""n, candidates in training, and n', candidates in testing while C is tuned."""
N_LARGE = 800
"""The larger n' of re-ranking 2 in Table 6."""
BPM = 10
STOP = 1e-4
FOLDS = 5
CUTOFF = 2

TABLE2: dict[str, tuple[float, float, float | None]] = {
    CRF: (91.10, 86.26, 100),
    PERCEPTRON: (89.01, 84.03, None),
    AVERAGED: (89.32, 84.08, None),
    MARGIN: (90.98, 85.64, 11313),
    CANDIDATE: (90.71, 84.90, 4000),
    PROPOSED: (91.95, 86.30, 5657),
}
"""Dev F1, test F1, and C (CRF: the variance of the prior)."""
TABLE3 = {
    20: (91.76, 86.19),
    100: (91.95, 86.30),
    400: (92.13, 86.39),
    800: (92.09, 86.39),
    1600: (92.13, 86.46),
    6400: (92.19, 86.38),
}
"""By n': dev and test F1 of the proposed algorithm."""
TABLE6: dict[tuple[str, int | None], tuple[float, float, float]] = {
    (MARGIN, None): (91.06, 86.24, 32000),
    (RERANKING_1, 100): (91.62, 86.57, 4000),
    (RERANKING_2, 100): (92.08, 86.86, 16000),
    (RERANKING_2, 800): (92.26, 86.95, 16000),
    (PROPOSED, 100): (92.23, 87.04, 5657),
    (PROPOSED, 6400): (92.54, 87.17, 5657),
}
"""By method and n': dev F1, test F1 and C, with the tags of TagChunk."""
TABLE7 = {
    MARGIN: (91.04, 86.28, 15_977),
    RERANKING_1: (91.48, 86.53, 86_742),
    RERANKING_2: (92.02, 86.85, 112_138),
    PROPOSED: (92.23, 87.04, 28_880),
}
"""Dev F1, test F1 and seconds of training, all with C = 5657."""
BPM_EFFECT = {MARGIN: ((90.98, 85.64), (90.98, 85.90)), PROPOSED: ((91.95, 86.30), (91.89, 86.03))}
"""Dev and test F1 with the BPM start and without it (section 6.2)."""
NO_BPM, SAME_C = "{}, no BPM".format, "{}, same C".format
"""Names of methods without the BPM start, and with the margin perceptron's C."""
