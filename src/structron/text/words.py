"""Words of plain text by a simple rule, where no tokenizer has been learned: runs of letters and digits, and marks."""

import re

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*|\d+(?:[.,:]\d+)*|[^\w\s]|\w+")


def words_in(text: str) -> list[str]:
    """The words of a text: letters with hyphens and apostrophes inside, numbers, single marks."""
    return _WORD.findall(text)
