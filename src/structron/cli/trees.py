"""Trees in files: the columns that a parser learns from, and a look at every gold tree while its line is known."""

import re
from collections.abc import Iterable, Iterator

from structron.cli.corpus import EMPTY, Layout, Rows, Source, View, pos_column, say, word_column
from structron.errors import StructronError
from structron.io import Sentence
from structron.trees import check_tree

HEAD, RELATION = "head", "deprel"
PLAIN_COLUMNS = ["word", "pos", HEAD, RELATION]
"""The columns of a file that is not CoNLL-U and that nobody named the columns of."""

_NUMBER = re.compile("-?[0-9]{1,18}")


def parser_view(source: Source, pos: str | None = None, labelled: bool = True, many_roots: bool = False) -> View:
    """Names for the columns of a treebank; heads are learned, and relations where the file has them."""
    names = source.columns
    if names is None:
        if source.width not in (3, 4):
            raise StructronError(
                f"{source.place}: {source.width} columns; expected {', '.join(PLAIN_COLUMNS[:3])} and perhaps "
                f"{RELATION}; name others with --columns, or give --format conllu"
            )
        names = PLAIN_COLUMNS[: source.width]
    if len(set(names)) < len(names):
        raise StructronError(f"--columns {','.join(names)}: a name stands twice; expected different ones")
    outputs = [HEAD, RELATION] if labelled and RELATION in names else [HEAD]
    tags = pos_column(names, pos)
    for name, option in ((HEAD, "--columns"), (tags, "--pos")):
        if name not in names:
            raise StructronError(f"{source.name}: no column {name!r} among {', '.join(names)}; name it with {option}")
    word = word_column(names)
    if tags in (word, HEAD, RELATION):
        raise StructronError(f"--pos {tags}: not a column of parts of speech; expected for instance upos or xpos")
    return View(names, outputs, word, set(names), tags, many_roots=many_roots)


def check_trees(source: Source, view: View, fits: Layout, skip: bool = False, quiet: bool = False) -> None:
    """Let the source give sentences whose heads make one tree only: others are an error, or left out and counted."""
    head, word = (_place(view, fits, name) for name in (HEAD, view.word))
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
    place = view.columns.index(name)
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
    if view.pos in view.needed:
        place = view.columns.index(view.pos)
        if all(row[place] == EMPTY for rows in sentences for row in rows):
            raise StructronError(
                f"{source.name}: column {view.pos!r} is empty ({EMPTY} everywhere); expected parts of speech"
            )
