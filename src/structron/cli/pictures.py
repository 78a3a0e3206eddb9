"""Analyses as they look in a terminal."""

from collections.abc import Iterator, Sequence

from rich.text import Text

Labels = Sequence[str]
Arcs = Sequence[tuple[int, str | None]]


def show_tree(words: Labels, gold: Arcs, guess: Arcs) -> Text:
    """The words from top to bottom, hung on their heads; what is wrong is followed by what is right."""
    picture = Text()
    for word, branches in _hung(guess, 0, "", ""):
        (head, relation), (right_head, right) = guess[word - 1], gold[word - 1]
        picture.append(f"\n      {branches}", "dim")
        picture.append(f"{words[word - 1]} ")
        picture.append(str(relation), "green" if (head, relation) == (right_head, right) else "red")
        if head != right_head:
            picture.append(f" (not {right} of {words[right_head - 1] if right_head else 'nothing'})", "dim")
        elif relation != right:
            picture.append(f" (not {right})", "dim")
    return picture


def _hung(tree: Arcs, head: int, above: str, below: str) -> Iterator[tuple[int, str]]:
    """The words below a head with the branches that they hang on: those before it, then it, then those after it.

    `above` and `below` are the branches of others that go on past the words before the head and after it.
    """
    children = [word for word, (parent, _) in enumerate(tree, 1) if parent == head]
    left = [word for word in children if word < head]
    right = [word for word in children if word > head]
    for word in left:
        own = "┌─" if word == left[0] else "├─"
        yield from _branch(tree, word, above + own, above + ("  " if word == left[0] else "│ "), above + "│ ")
    if head:
        yield head, ""
    for word in right:
        own = ("└─" if word == right[-1] else "├─") if head else ""
        past = ("  " if word == right[-1] else "│ ") if head else ""
        yield from _branch(tree, word, below + own, below + ("│ " if head else ""), below + past)


def _branch(tree: Arcs, word: int, own: str, above: str, below: str) -> Iterator[tuple[int, str]]:
    """A word on its branch, with what hangs on it."""
    for found, branches in _hung(tree, word, above, below):
        yield found, own if found == word else branches
