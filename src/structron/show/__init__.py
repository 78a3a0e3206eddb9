"""Analyses and training drawn as HTML and SVG."""
