"""The command line: one module for each command, its options derived from those of the estimators."""

from structron.cli.app import main

__all__ = ["main"]
