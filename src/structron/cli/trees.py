"""Trees in files: a look at every gold tree while its line is known."""

import re
from collections.abc import Iterable, Iterator

from structron.cli.files import Source
from structron.errors import StructronError
from structron.io import ColumnSentence
from structron.runtime.progress import say
from structron.text.trees import check_partial_tree

_NUMBER = re.compile("-?[0-9]{1,18}")


def valid_trees(
    source: Source,
    sentences: Iterable[ColumnSentence],
    head: int,
    word: int,
    open_label: str | None = None,
    *,
    many_roots: bool,
    skip: bool,
    quiet: bool,
) -> Iterator[ColumnSentence]:
    """The sentences whose heads form a tree; others are an error, or skipped and counted. head, word: columns.

    open_label: what stands for a head that is not known.
    """
    skipped = total = 0
    for sentence in sentences:
        total += 1
        heads, words = ([row[place] for row in sentence.rows] for place in (head, word))
        problem = tree_problem(heads, words, many_roots, open_label)
        if problem is None:
            yield sentence
        elif skip:
            skipped += 1
        else:
            raise StructronError(f"{source.line(sentence, problem[0])}: {problem[1]}")
    if skipped == total:
        raise StructronError(f"{source.name}: no sentence has a valid tree ({total} skipped); expected heads of words")
    if skipped and not quiet:
        say(f"{source.name}: skipped {skipped} of {total} sentences with invalid trees")


def tree_problem(
    heads: list[str], words: list[str], many_roots: bool = False, open_label: str | None = None
) -> tuple[int, str] | None:
    """The word (from 0) that keeps these heads from being a tree, and what is wrong with it."""
    for index, text in enumerate(heads):
        if text != open_label and not _NUMBER.fullmatch(text):
            return index, f"head {text!r} is not a number; expected 0 … {len(heads)}"
    found = check_partial_tree([-1 if text == open_label else int(text) for text in heads], many_roots)
    return None if found is None else (found[0], f"word {words[found[0]]!r}: {found[1]}")
