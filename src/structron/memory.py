"""Giving memory back to the system."""

import ctypes
import sys
from functools import cache
from typing import Any


@cache
def _trim() -> Any:
    """glibc's function, None where there is another C library."""
    try:
        return ctypes.CDLL(None).malloc_trim if sys.platform == "linux" else None
    except (AttributeError, OSError):
        return None


def give_back() -> bool:
    """Have what was freed go back to the system now; whether there is a way.

    After arrays of some megabytes have come and gone the C library keeps their room: with a large model more than the
    model itself takes.
    """
    trim = _trim()
    if trim is not None:
        trim(0)
    return trim is not None
