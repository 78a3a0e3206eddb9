"""Scores of predictions, and whether one model is better than another."""
