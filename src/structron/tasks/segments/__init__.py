"""Chunking by whole chunks."""
