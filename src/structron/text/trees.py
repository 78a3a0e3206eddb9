"""Dependency trees: what makes heads a tree, and a projective stand-in for trees that are not projective.

A shift-reduce parser builds projective trees only: those whose arcs, drawn above the words, do not cross. The
pseudo-projective transformation of Nivre & Nilsson (2005, "Pseudo-Projective Dependency Parsing") lets it learn from
all the others: `lift` moves the dependents in question up until nothing crosses and notes in their relations where
they came from, `unlift` takes them back there after parsing. The notes follow the paper's "Head" scheme.

Everywhere `heads[i]` is the head of word i + 1, and 0 is the head of the root.
"""

from bisect import insort
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from structron.errors import StructronError

MARK = "↑"
"""Stands between the relation of a lifted word and that of the head it had: no relation of a treebank has it."""

UNLABELLED = "_"
"""The relation of words in data without relations, as CoNLL-U writes it."""

_LONGEST_CYCLE_SHOWN = 8


def check_tree(heads: Sequence[int], many_roots: bool = False) -> tuple[int, str] | None:
    """What keeps heads from being one tree with one root, or many: a word's index (from 0) and a message, or None.

    The index lets a caller name the line of the file, and the word; the message numbers words from 1, as files do.
    """
    if not heads:
        return 0, "no words; expected at least one"
    root = 0
    for index, head in enumerate(heads):
        if not 0 <= head <= len(heads):
            return index, f"head {head} out of range; expected 0 … {len(heads)}"
        if head == index + 1:
            return index, "is its own head; expected another word, or 0 for the root"
        if head == 0 and root and not many_roots:
            return index, f"second root (the first is word {root}); expected one"
        if head == 0:
            root = index + 1
    if not root:
        return 0, "no root; expected one word with head 0"
    cycle = _find_cycle(heads)
    if cycle:
        shown = [*map(str, cycle[:_LONGEST_CYCLE_SHOWN]), *["…"] * (len(cycle) > _LONGEST_CYCLE_SHOWN), str(cycle[0])]
        return cycle[0] - 1, f"is in a cycle: {' → '.join(shown)}; expected heads that lead to the root"
    return None


def check_partial_tree(heads: Sequence[int], many_roots: bool = False) -> tuple[int, str] | None:
    """What keeps known heads (-1: open) from being part of a tree, as `check_tree` says it."""
    if -1 not in heads:
        return check_tree(heads, many_roots)
    for index, head in enumerate(heads):
        if head < -1:
            return index, f"head {head} out of range; expected 0 … {len(heads)}"
    known = [head for head in heads if head >= 0]
    open_as_root = [max(head, 0) for head in heads]
    found = check_tree(open_as_root, many_roots=True)
    if found is not None or many_roots or known.count(0) < 2:
        return found
    first, second = [index for index, head in enumerate(heads) if head == 0][:2]
    return second, f"second root (the first is word {first + 1}); expected one"


def fits_projective(heads: Sequence[int], many_roots: bool = False) -> bool:
    """Whether known heads (-1: open) are those of some projective tree; of known ones no word may be its own head.

    A shift-reduce parser ties the two topmost words as soon as no known head stands against it: a known head is
    another word, or a known dependent is still to come. This never makes a tree impossible, so it succeeds if there is
    one.
    """
    first, last = outermost(heads)
    above, stack, word = [-2, *heads], [0] if many_roots else [], 1
    while True:
        if len(stack) > 1:
            top, second, third = stack[-1], stack[-2], stack[-3] if len(stack) > 2 else -1
            if above[second] in (-1, top) and last[second] < top and first[second] > third:
                del stack[-2]
                continue
            if above[top] in (-1, second) and last[top] < word and first[top] > second:
                stack.pop()
                continue
        if word > len(heads):
            return len(stack) == 1 and (many_roots or above[stack[0]] in (-1, 0))
        stack.append(word)
        word += 1


def outermost(heads: Sequence[int]) -> tuple[list[int], list[int]]:
    """For position 0 and every word the first and the last of its known dependents; without any one more than there
    are words, and -1."""
    first, last = [len(heads) + 1] * (len(heads) + 1), [-1] * (len(heads) + 1)
    for word, head in enumerate(heads, 1):
        if head >= 0:
            first[head], last[head] = min(first[head], word), word
    return first, last


def opened(heads: Sequence[int], many_roots: bool = False) -> list[int]:
    """Known heads without those that keep them from being heads of a projective tree: longer arcs go first."""
    found = [-1] * len(heads)
    for index in sorted(range(len(heads)), key=lambda k: (abs(heads[k] - k - 1) if heads[k] else 0, k)):
        found[index] = heads[index]
        if not fits_projective(found, many_roots):
            found[index] = -1
    return found


def _find_cycle(heads: Sequence[int]) -> list[int]:
    """The words of a cycle from its first word on, head after head; nothing when all words lead to the root."""
    seen_from = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        word = start
        while word and not seen_from[word]:
            seen_from[word] = start
            word = heads[word - 1]
        if word and seen_from[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            first = cycle.index(min(cycle))
            return cycle[first:] + cycle[:first]
    return []


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no two arcs cross, the one from position 0 to the root included.

    For a tree that is the same as the usual definition, that a head's arc spans none but the head's descendants.
    """
    arcs = sorted((head, -word) if head < word else (word, -head) for word, head in enumerate(heads, 1))
    open_ends: list[int] = []
    for left, negative_right in arcs:
        while open_ends and open_ends[-1] <= left:
            open_ends.pop()
        if open_ends and open_ends[-1] < -negative_right:
            return False
        open_ends.append(-negative_right)
    return True


def lift(heads: Sequence[int], relations: Sequence[str] | None) -> tuple[list[int], list[str] | None, int]:
    """A projective tree in place of a tree, its relations, and how many words were lifted.

    The shortest non-projective arc (the leftmost of equals) is lifted to the head's own head until none is left. A
    lifted word's relation becomes ``relation↑headrelation``, the second being that of the head it had at first; where
    there are no relations (None, or all "_") there is nothing to note it in, and heads alone change. The heads must be
    such that `check_tree` finds nothing wrong.
    """
    if relations is not None and MARK in "".join(relations):
        bad = next(relation for relation in relations if MARK in relation)
        raise StructronError(f"relation {bad!r} contains {MARK}, the mark of lifted words; expected another name")
    if is_projective(heads):
        return list(heads), None if relations is None else list(relations), 0
    lifted = _lifted_heads(heads)
    moved = [index for index, head in enumerate(heads) if head != lifted[index]]
    if relations is None:
        return lifted, None, len(moved)
    marked = list(relations)
    if any(relation != UNLABELLED for relation in relations):
        for index in moved:
            marked[index] += MARK + relations[heads[index] - 1]
    return lifted, marked, len(moved)


def _lifted_heads(heads: Sequence[int]) -> list[int]:
    """The heads after lifting.

    When a word goes from its head to the head's head, only the old head loses descendants. So an arc stays
    non-projective until it is lifted, and only the arcs of these two heads have to be looked at again.
    """
    above = [0, *heads]
    dependents = _dependents(above)
    queue: list[tuple[int, int]] = []
    waiting: set[int] = set()

    def look_at(head: int) -> None:
        for word in _crossed(above, head, dependents[head]):
            if word not in waiting:
                waiting.add(word)
                heappush(queue, (abs(word - head), word))

    for head in range(1, len(above)):
        look_at(head)
    while queue:
        _, word = heappop(queue)
        waiting.remove(word)
        old = above[word]
        above[word] = new = above[old]
        dependents[old].remove(word)
        insort(dependents[new], word)
        look_at(old)
        look_at(new)
    return above[1:]


def unlift(heads: Sequence[int], relations: Sequence[str] | None) -> tuple[list[int], list[str] | None]:
    """The tree that `lift` may have made this one from: marked words go back down, and all marks come off.

    A marked word goes to the first word below its present head, breadth first and from left to right, that has the
    relation noted; words higher in the tree go first. One thing is added to the paper's search: of the words with that
    relation those come first whose arc to the marked word would not be projective, since no other arc is ever lifted.
    A word stays where it is when there is none, not even after others have come down. Whatever a parser has predicted,
    a tree stays a tree and keeps its root: no word goes below itself, and none comes to stand beside the root.
    """
    if relations is None or MARK not in "".join(relations):
        return list(heads), None if relations is None else list(relations)
    given = [0, *heads]
    above = given.copy()
    dependents = _dependents(above)
    parts = [("", "", ""), *(relation.partition(MARK) for relation in relations)]
    names = [name for name, _, _ in parts]
    top_down = [0]
    for word in top_down:
        top_down.extend(dependents[word])
    waiting, before = [word for word in top_down if parts[word][1]], -1
    while len(waiting) != before:  # a head may itself have to come down first
        waiting, before, left = [], len(waiting), waiting
        for word in left:
            target = _former_head(word, parts[word][2], given, dependents[above[word]], dependents, names)
            if not target:
                waiting.append(word)
                continue
            dependents[above[word]].remove(word)
            insort(dependents[target], word)
            above[word] = target
    return above[1:], names[1:]


def _former_head(
    word: int, noted: str, given: list[int], start: list[int], dependents: list[list[int]], names: list[str]
) -> int:
    """The word that `unlift` takes a marked word to, searched from `start` downwards; 0 when there is none."""
    best_guess = 0
    queue = start.copy()
    for candidate in queue:
        if candidate == word:
            continue
        if names[candidate] == noted:
            if any(_crossed(given, candidate, [word])):
                return candidate
            best_guess = best_guess or candidate
        queue.extend(dependents[candidate])
    return best_guess


def _crossed(above: list[int], head: int, dependents: list[int]) -> Iterator[int]:
    """The dependents with a word between them and their head that does not descend from it.

    On each side these are the ones beyond the first such word: a walk outwards finds it.
    """
    left = right = head
    for word in dependents:
        if word > head:
            while right + 1 < word and _descends(above, right + 1, head):
                right += 1
            if right + 1 < word:
                yield word
    for word in reversed(dependents):
        if word < head:
            while left - 1 > word and _descends(above, left - 1, head):
                left -= 1
            if left - 1 > word:
                yield word


def _descends(above: list[int], word: int, ancestor: int) -> bool:
    """Whether a word is the ancestor or below it."""
    while word and word != ancestor:
        word = above[word]
    return word == ancestor


def _dependents(above: list[int]) -> list[list[int]]:
    """The dependents of every word, from left to right; `above` begins with the head of position 0, which has none."""
    dependents: list[list[int]] = [[] for _ in above]
    for word in range(1, len(above)):
        dependents[above[word]].append(word)
    return dependents
