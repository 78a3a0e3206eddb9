"""Beam search with dynamic programming for any search problem."""
