"""Kazama & Torisawa (2007): the methods that are compared, and the paper's settings."""

from structron.experiments.frame import paper_of

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
TABLES = paper_of("kazama2007")

NO_BPM, SAME_C = "{}, no BPM".format, "{}, same C".format
"""Names of methods without the BPM start, and with the margin perceptron's C."""
