"""Incremental dependency parsing."""
