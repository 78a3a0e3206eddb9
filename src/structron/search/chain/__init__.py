"""Exact search over label sequences: Viterbi of order 1 and 2, max-marginals, n-best."""
