"""What the marks of a run without spaces tell about the ends of sentences.

T. S. Eliot …      initial initial _ _         1. Fruit 2) Bread     item _ item _
"""

import re

NOTHING = "_"
INITIAL = r"[(\[\"'“‘«„]?(?:[^\W\d_][^\w\s.,:;!?)\]]?\.-?){1,4}[,;:)\]'’s]{0,3}"
"""T. or J.R.R., also with a vowel sign after the letter."""
ITEM = r"[(\[]?(?:\d{1,3}|[^\W\d_]|[ivxIVX]{1,5})(?:\.?[)\]]|[.:])-?"
"""1. or (a) or iv):"""
BULLET = r"[-–—*•·►▪●○■□◦>+#~](?:[-–—>]?)"
RULE = r"(?P<same>[-–—=_*~#•])(?P=same){2,}"
_MARK = re.compile(rf"(?P<initial>{INITIAL}$)|(?P<item>{ITEM}$)|(?P<bullet>{BULLET}$)|(?P<rule>{RULE}$)")
_LONGEST_MARK = 24


def mark_of(run: str) -> str:
    """What a run is by its marks: initials, the number of an item, a bullet or a rule."""
    found = _MARK.match(run) if len(run) <= _LONGEST_MARK else None
    return found.lastgroup or NOTHING if found else NOTHING
