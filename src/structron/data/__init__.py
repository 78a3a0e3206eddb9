"""Data to learn from: a toy English corpus, the hidden Markov data of SWVP, and where real corpora are."""
