"""Estimators for a search problem of the user's own."""
