"""What everything else here uses: optional modules, and lines that tell how far the work has come."""

import sys
from importlib import import_module
from typing import Any

from structron.errors import StructronError

Rows = list[list[list[str]]]
"""Sentences of tokens of columns."""


def need(module: str, extra: str) -> Any:
    """A module that only an extra installs."""
    try:
        return import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise StructronError(f"this needs {name}, which is not installed: pip install 'structron[{extra}]'") from None


def say(text: str) -> None:
    """Tell how far the experiment has come, on standard error: standard output is for tables."""
    print(text, file=sys.stderr, flush=True)
