"""Exact search over label sequences: Viterbi, max-marginals, n-best."""
