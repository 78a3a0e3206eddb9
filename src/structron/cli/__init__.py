"""The command line: one module for each command, its options derived from those of the estimators."""

from structron.cli.app import main, script

__all__ = ["main", "script"]
