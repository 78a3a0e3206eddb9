"""Trees in files: a look at every gold tree while its line is known."""

import re
from collections.abc import Iterable, Iterator

from structron.cli.corpus import Layout, Rows, Source, View, empty_column, say
from structron.errors import StructronError
from structron.io import Sentence
from structron.io.columns import EMPTY
from structron.trees import check_tree

_NUMBER = re.compile("-?[0-9]{1,18}")


def check_trees(source: Source, view: View, fits: Layout, skip: bool = False, quiet: bool = False) -> None:
    """Let a parser's source give only sentences whose heads form a tree: others are an error, or skipped and counted."""
    if view.roles.pos is not None:
        head, word = (_place(view, fits, name) for name in (view.roles.outputs[0], view.roles.word))
        source.sentences = _valid(source, source.sentences, head, word, view.many_roots, skip, quiet)


def _valid(
    source: Source, sentences: Iterable[Sentence], head: int, word: int, many_roots: bool, skip: bool, quiet: bool
) -> Iterator[Sentence]:
    skipped = total = 0
    for sentence in sentences:
        total += 1
        heads, words = ([row[place] for row in sentence.rows] for place in (head, word))
        problem = tree_problem(heads, words, many_roots)
        if problem is None:
            yield sentence
        elif skip:
            skipped += 1
        else:
            index, text = problem
            raise StructronError(f"{source.name}:{sentence.line_number + sentence.token_lines[index]}: {text}")
    if skipped == total:
        raise StructronError(f"{source.name}: no sentence has a valid tree ({total} skipped); expected heads of words")
    if skipped and not quiet:
        say(f"{source.name}: skipped {skipped} of {total} sentences with invalid trees")


def _place(view: View, fits: Layout, name: str) -> int:
    """The file's column of a model's column that it is known to have."""
    place = view.roles.names.index(name)
    found = place if fits.places is None else fits.places[place]
    assert found is not None
    return found


def tree_problem(heads: list[str], words: list[str], many_roots: bool = False) -> tuple[int, str] | None:
    """The word (from 0) that keeps these heads from being a tree, and what is wrong with it."""
    for index, text in enumerate(heads):
        if not _NUMBER.fullmatch(text):
            return index, f"head {text!r} is no number; expected 0 … {len(heads)}"
    found = check_tree([int(text) for text in heads], many_roots)
    return None if found is None else (found[0], f"word {words[found[0]]!r}: {found[1]}")


def check_tags(source: Source, view: View, sentences: Iterable[Rows]) -> None:
    """Refuse to parse sentences without parts of speech: a model that reads them would give nonsense."""
    tags = view.roles.pos
    if tags is not None and tags in view.needed:
        place = view.roles.names.index(tags)
        if all(row[place] == EMPTY for rows in sentences for row in rows):
            raise empty_column(source, tags, "parts of speech")
