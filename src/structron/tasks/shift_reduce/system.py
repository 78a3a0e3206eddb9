"""The arc-standard transition system as a search problem: states, actions and atoms are whole numbers.

Words move from a buffer (q0 q1 …) to a stack (… s1 s0); each reduce action ties the two topmost words (Nivre 2004):

    SHIFT    q0 moves to the top of the stack
    LEFT_l   s1 becomes a left child of s0, with relation l
    RIGHT_l  s0 becomes a right child of s1, with relation l

The search is over when the buffer is empty and one word, the root, is left: after 2n - 1 actions for n words.

A state is a row of `states`, and the stack is a chain of rows, as in the dynamic programming of Huang & Sagae (2010):
column TAIL, which the search fills, is the row on which the top was pushed, whose own top is s1. A child is known by
the row in which it was a complete top, so its children can be reached from there.

    x       int64[words, columns]   a sentence: 0 stands for no word and never in x, 1 unknown, >= 2 values;
                                    column 0 the word, column 1 the tag
    table   int64[:]                the constants of a problem, see `make_table`
    states  int64[rows, WIDTH]

`start`, `legal`, `advance` and `atoms` allocate nothing and raise nothing: they run compiled and as they stand. Each
has one way out and uses the arrays to its end, or the compiler would count references to them, at 50 ns a call.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structron.errors import StructronError

TAIL, NEXT, TOP = 0, 1, 2
"""The row of s1 (filled by the search), the index of q0, the index of s0 or -1."""
L1, L2, R1, R2 = 3, 4, 5, 6
"""Rows of the leftmost, second leftmost, rightmost and second rightmost child of s0, or -1."""
L1REL, L2REL, R1REL, R2REL = 7, 8, 9, 10
"""Their relations as numbers (relation l is FIRST_RELATION + l), 0 for none."""
LVAL, RVAL, LSET, RSET = 11, 12, 13, 14
"""How many left and right children s0 has, and the sets of their relations as bits."""
WIDTH = 15

SHIFT = 0
FIRST_RELATION = 2
SET_BITS = 60
SIDE_CAP, BOTH_CAP, LEFT_CAP = 5, 7, 3
"""Where the valencies .vl and .vr, their sum .v, and the count of words left stop counting."""

LABELS, TAGS, LEFTS, RIGHTS, BITS, EXCLUDED, ROOTLESS = range(7)
ROWS, BUFFER, TOKENS, LINKS, VALENCIES, EXTRAS, HEADER = range(7, 14)
"""The head of a table: relations; tags (0: no lists) and where the lists begin; where the bits of relations stand, and
(0: nowhere) which relations of a head exclude each other, which tags roots do not have; how many steps of each kind
follow."""
DISTANCE, DISTANCE_TO_BUFFER, WORDS_LEFT = 0, 1, 2


def start(x, table, states, s):
    """Fill row s: nothing on the stack, all words in the buffer."""
    for k in range(TAIL + 1, WIDTH):
        states[s, k] = 0
    for k in range(TOP, R2 + 1):
        states[s, k] = -1


def legal(x, table, states, s, out):
    """Write the legal actions into out and return how many; 0 in a final state. There are no dead ends.

    A pair of tags that training showed on one side keeps to the relations it had there. A head does not get a relation
    that one of its children excludes, nor does a word become the root whose tag roots do not have, if the other one of
    the last two can; where nothing would be left, both are allowed.
    """
    count = 0
    if states[s, NEXT] < x.shape[0]:
        out[0] = SHIFT
        count = 1
    tail, labels, tags = states[s, TAIL], table[LABELS], table[TAGS]
    sides = 2 if tail >= 0 and states[tail, TOP] >= 0 else 0
    excluded, rootless, root = table[EXCLUDED], table[ROOTLESS], -1
    if sides > 0 and rootless > 0 and count == 0 and states[states[tail, TAIL], TOP] < 0:
        never0, never1 = table[rootless + x[states[s, TOP], 1]], table[rootless + x[states[tail, TOP], 1]]
        root = 0 if never1 > never0 else 1 if never0 > never1 else -1
    for free in range(2):
        for side in range(sides if free == 0 or count == 0 else 0):
            head = s if side == 0 else tail
            taken = states[head, LSET] | states[head, RSET] if excluded > 0 and free == 0 else 0
            lo, hi = 0, 0
            if tags > 0:
                s0, s1 = x[states[s, TOP], 1], x[states[tail, TOP], 1]
                pair = table[LEFTS] + s0 * tags + s1 if side == 0 else table[RIGHTS] + s1 * tags + s0
                lo, hi = table[pair], table[pair + 1]
            listed = hi - lo
            for k in range(labels if listed == 0 else listed):
                action = 1 + side * labels + k if listed == 0 else table[lo + k]
                allowed = free == 1 or root < 0 or side == root
                if taken > 0:
                    allowed = allowed and taken & table[excluded + action - 1 - side * labels] == 0
                if allowed:
                    out[count] = action
                    count += 1
    return count


def advance(x, table, states, s, action, t):
    """Fill row t, but for TAIL, with the state after a legal action in row s.

    Inner children are attached before outer ones, so the child attached last is the outermost.
    """
    labels, q0 = table[LABELS], states[s, NEXT]
    if action == SHIFT:
        states[t, NEXT] = q0 + 1
        states[t, TOP] = q0
        for k in range(L1, WIDTH):
            states[t, k] = -1 if k <= R2 else 0
    else:
        side = 0 if action <= labels else 1
        relation = FIRST_RELATION + action - 1 - side * labels
        head, child = (s, states[s, TAIL]) if side == 0 else (states[s, TAIL], s)
        for k in range(TOP, WIDTH):
            states[t, k] = states[head, k]
        states[t, NEXT] = q0
        outer, outer_relation = L1 + 2 * side, L1REL + 2 * side
        states[t, outer + 1] = states[head, outer]
        states[t, outer_relation + 1] = states[head, outer_relation]
        states[t, outer] = child
        states[t, outer_relation] = relation
        states[t, LVAL + side] += 1
        states[t, LSET + side] |= table[table[BITS] + relation - FIRST_RELATION]


def atoms(x, table, states, s, out):
    """Write the atom values of row s, all >= 0, as the steps in the table say; 0 wherever a node is missing.

    The front of out is scratch memory: out[0] = 0, then the rows of the nodes and their words, then the words of the
    buffer, all plus one so that 0 means missing. The row in which the stack is empty counts as missing.
    """
    n, rows = x.shape[0], table[ROWS]
    s0 = states[s, TOP] + 1
    out[0] = 0
    out[1] = s + 1 if s0 > 0 else 0
    out[1 + rows] = s0
    k = HEADER
    for j in range(2, rows + 1):
        source = out[table[k]]
        row = states[source - 1, table[k + 1]] + 1 if source > 0 else 0
        word = states[row - 1, TOP] + 1 if row > 0 else 0
        out[j] = row if word > 0 else 0
        out[rows + j] = word
        k += 2
    j = 1 + 2 * rows
    q0 = states[s, NEXT]
    for _ in range(table[BUFFER]):
        word = q0 + table[k]
        out[j] = word + 1 if word < n else 0
        j += 1
        k += 1
    for _ in range(table[TOKENS]):
        word = out[table[k]]
        out[j] = x[word - 1, table[k + 1]] if word > 0 else 0
        j += 1
        k += 2
    for _ in range(table[LINKS]):
        row = out[table[k]]
        out[j] = states[row - 1, table[k + 1]] if row > 0 else 0
        j += 1
        k += 2
    for _ in range(table[VALENCIES]):
        row = out[table[k]]
        if row > 0:
            valency = states[row - 1, LVAL] * table[k + 1] + states[row - 1, RVAL] * table[k + 2]
            out[j] = min(valency, table[k + 3]) + 1
        else:
            out[j] = 0
        j += 1
        k += 4
    for _ in range(table[EXTRAS]):
        s1 = states[states[s, TAIL], TOP] + 1 if s0 > 0 else 0
        value = 0
        if table[k] == DISTANCE and s1 > 0:
            value = s0 - s1
        elif table[k] == DISTANCE_TO_BUFFER and s0 > 0 and q0 < n:
            value = q0 + 1 - s0
        value = min(value, 4) + (value > 4) + (value > 6) + (value > 10)
        out[j] = min(n - q0, LEFT_CAP) if table[k] == WORDS_LEFT else value
        j += 1
        k += 1


# -- which atoms there are, and the table ---------------------------------------------------------------------------

CHILDREN = {"l": L1, "r": R1, "l2": L2, "r2": R2}
ROW_NODES: dict[str, tuple[str, int]] = {
    "s0": ("", 0),
    **{f"s{k}": (f"s{k - 1}", TAIL) for k in (1, 2, 3)},
    **{f"s{k}{child}": (f"s{k}", column) for k in (0, 1) for child, column in CHILDREN.items()},
    **{f"s2{child}": ("s2", CHILDREN[child]) for child in "lr"},
    **{f"s{k}{child}{grand}": (f"s{k}{child}", CHILDREN[grand]) for k in (0, 1) for child in "lr" for grand in "lr"},
}
"""The nodes that have rows: found from which other node's row, in which column. A node stands after its source."""
STACK_NODES = ("s0", "s1", "s2", "s3")
BUFFER_NODES = {f"q{k}": k for k in range(4)}
SETS = {"sl": LSET, "sr": RSET}
VALENCY = {"vl": (1, 0, SIDE_CAP), "vr": (0, 1, SIDE_CAP), "v": (1, 1, BOTH_CAP)}
EXTRA = {"d": DISTANCE, "dq": DISTANCE_TO_BUFFER, "left": WORDS_LEFT}
EXTRA_SIZES = {"d": 8, "dq": 8, "left": LEFT_CAP + 1}
RESERVED = ("w", "t", "l", *VALENCY, *SETS)


@dataclass(frozen=True, slots=True)
class Layout:
    """What `atoms` writes: first the hidden scratch memory, then the atoms that the templates use."""

    hidden: tuple[str, ...]
    names: tuple[str, ...]
    templates: tuple[tuple[int, ...], ...]  # places in what `atoms` writes, hidden ones counted
    columns: tuple[str, ...]
    steps: tuple[int, ...]  # how many of each kind (ROWS … EXTRAS), then the steps themselves

    @property
    def size(self) -> int:
        """How many numbers `atoms` writes."""
        return len(self.hidden) + len(self.names)


def read_templates(lines: Iterable[str], where: str = "templates") -> dict[tuple[str, ...], str]:
    """The templates as tuples of atom names, and where each stands; one that stands twice counts once."""
    found: dict[tuple[str, ...], str] = {}
    for number, line in enumerate(lines, 1):
        text = line.split("#", 1)[0].strip()
        if text:
            found.setdefault(tuple(name.strip() for name in text.split("|")), f"{where}:{number}")
    if not found:
        raise StructronError(f"{where}: no templates; expected one per line, for instance s0.w|s0.t|q0.t")
    return found


def usable_templates(lines: Iterable[str], columns: Sequence[str]) -> list[str]:
    """A preset's templates without those that ask for columns that the data lack."""
    known = {"", *RESERVED, *columns[2:]}
    found = read_templates(lines)
    return ["|".join(names) for names in found if all(name.partition(".")[2] in known for name in names)]


def atom_layout(templates: Iterable[str], columns: Sequence[str], where: str = "templates") -> Layout:
    """Which atoms the templates use and how they are found; the columns of x are `.w`, `.t`, then by their names."""
    for name in sorted(set(columns[2:]) & {*RESERVED, ""}):
        raise StructronError(f"column {name!r}: templates use this name for something else; expected another name")
    read = read_templates(templates, where)
    kinds: dict[int, dict[str, None]] = {TOKENS: {}, LINKS: {}, VALENCIES: {}, EXTRAS: {}}
    for names, place in read.items():
        for name in names:
            kinds[_kind(name, columns, place)][name] = None
    used = {name.partition(".")[0] for kind in kinds.values() for name in kind}
    rows = _with_sources(used)
    buffer = [node for node in BUFFER_NODES if node in used or node == "q0"]
    hidden = ("none", *(f"row of {node}" for node in rows), *(f"word of {node}" for node in [*rows, *buffer]))
    atom_names = tuple(name for kind in kinds.values() for name in kind)
    at = {name: k for k, name in enumerate(hidden + atom_names)}
    steps = [len(rows), len(buffer), *map(len, kinds.values())]
    for source, column in (ROW_NODES[node] for node in rows[1:]):
        steps += [at[f"row of {source}"], column]
    steps += [BUFFER_NODES[node] for node in buffer]
    for kind, members in kinds.items():
        for name in members:
            steps += _step(kind, name, columns, at)
    places = tuple(tuple(at[name] for name in names) for names in read)
    return Layout(hidden, atom_names, places, tuple(columns), tuple(steps))


def _attributes(columns: Sequence[str]) -> dict[str, int]:
    """The columns of x by the names they have in templates."""
    return {name: k for k, name in enumerate(["w", "t", *columns[2:]][: len(columns)])}


def _kind(name: str, columns: Sequence[str], place: str) -> int:
    """Which kind of step gives an atom; an error that lists what there is when there is no such atom."""
    node, _, attribute = name.partition(".")
    if name in EXTRA:
        return EXTRAS
    if node not in ROW_NODES and node not in BUFFER_NODES:
        known = f"a node ({' '.join([*ROW_NODES, *BUFFER_NODES])}) and an attribute, as in s0.w, or {' '.join(EXTRA)}"
        raise StructronError(f"{place}: unknown atom {name!r}; expected {known}")
    known_attributes = [*_attributes(columns), "l"] + [*VALENCY, *SETS] * (node in STACK_NODES)
    if attribute not in known_attributes:
        known = ", ".join(f"{node}.{attribute}" for attribute in known_attributes)
        raise StructronError(f"{place}: unknown atom {name!r}; expected one of: {known}")
    if attribute == "l" or attribute in SETS:
        return LINKS
    return VALENCIES if attribute in VALENCY else TOKENS


def _with_sources(used: set[str]) -> list[str]:
    """The nodes with rows, those included on the way to a used one; s0 always."""
    needed = {"s0", *used}
    for node in reversed(ROW_NODES):
        if node in needed:
            needed.add(ROW_NODES[node][0])
    return [node for node in ROW_NODES if node in needed]


def _step(kind: int, name: str, columns: Sequence[str], at: Mapping[str, int]) -> list[int]:
    """The numbers by which `atoms` finds one atom."""
    node, _, attribute = name.partition(".")
    if kind == EXTRAS:
        return [EXTRA[name]]
    if kind == TOKENS:
        return [at[f"word of {node}"], _attributes(columns)[attribute]]
    if kind == VALENCIES:
        return [at[f"row of {node}"], *VALENCY[attribute]]
    if attribute in SETS:
        return [at[f"row of {node}"], SETS[attribute]]
    source, column = ROW_NODES.get(node, ("", 0))
    if node in STACK_NODES or not source:
        return [at["none"], L1REL]
    return [at[f"row of {source}"], column - L1 + L1REL]


def sizes(layout: Layout, columns: Mapping[str, int], relations: int) -> dict[str, int]:
    """For each atom the number of its values (they stay below it), 0 where unbounded: relation sets, hidden ones."""
    found = dict.fromkeys(layout.hidden, 0)
    attributes = {name: columns[layout.columns[k]] for name, k in _attributes(layout.columns).items()}
    attributes["l"] = FIRST_RELATION + relations
    attributes |= {name: cap + 2 for name, (_, _, cap) in VALENCY.items()} | dict.fromkeys(SETS, 0)
    return found | {name: EXTRA_SIZES.get(name, attributes.get(name.partition(".")[2], 0)) for name in layout.names}


def usual_bits(relations: int) -> list[int]:
    """The number of each relation's bit in sets of relations, where there are no more relations than bits."""
    return [(FIRST_RELATION + k) % SET_BITS for k in range(relations)]


def relation_bits(groups: Sequence[int], lifted: Sequence[bool], known: Sequence[int] = ()) -> list[int]:
    """The number of each relation's bit; known: those of the first relations.

    Where there are more relations than bits, those in groups (others: -1) have bits of their own, lifted ones come
    last, and what is left over shares the bits of the last.
    """
    rest = list(range(len(known), len(groups)))
    free = [bit for bit in usual_bits(SET_BITS) if bit not in known]
    if len(rest) > len(free):
        rest.sort(key=lambda k: (groups[k] < 0, lifted[k], k))
        plain, grouped = sum(not lifted[k] for k in rest), sum(groups[k] >= 0 for k in rest)
        shared = free[plain:] or free[grouped:] or free[-1:] or [*known][-1:]
        free += [shared[k % len(shared)] for k in range(len(rest) - len(free))]
    found = dict(zip(rest, free, strict=False))
    return [*known, *(found[k] for k in range(len(known), len(groups)))]


def exclusions(groups: Sequence[int], numbers: Sequence[int] | None = None) -> np.ndarray:
    """int64[relations]: for each relation the bits of those that a head with it has not: those of its group (-1: none).

    numbers: of their bits, see `relation_bits`. A group that shares one with another relation excludes nothing.
    """
    numbers = usual_bits(len(groups)) if numbers is None else numbers
    masks = np.zeros(len(groups), np.int64)
    for group in {*groups} - {-1}:
        own = {bit for bit, other in zip(numbers, groups, strict=True) if other == group}
        if not any(bit in own for bit, other in zip(numbers, groups, strict=True) if other != group):
            masks[[k for k, other in enumerate(groups) if other == group]] = sum(1 << bit for bit in own)
    return masks


def make_table(
    layout: Layout,
    relations: int,
    seen: np.ndarray | None = None,
    excluded: np.ndarray | None = None,
    rootless: np.ndarray | None = None,
    numbers: Sequence[int] | None = None,
) -> np.ndarray:
    """The constants of a problem: the layout's steps and, where wanted, what training data show of relations and roots.

    `seen` is bool[2, tags, tags, relations]: child to the left or right, tag of the head, tag of the child (see
    `oracle.seen_relations`); every tag of x must be below `tags`. The lists follow the steps, one CSR matrix per
    side. `excluded`: see `exclusions`; `rootless` is bool[tags]; numbers: see `relation_bits`.
    """
    if relations < 1:
        raise StructronError(f"{relations} relations; expected at least 1 (without labels: 1)")
    head = np.zeros(ROWS, np.int64)
    head[LABELS] = relations
    parts = [head, np.array(layout.steps, np.int64)]
    if seen is not None:
        head[TAGS] = seen.shape[1]
        position = len(head) + len(layout.steps)
        for side in range(2):
            head[LEFTS + side] = position
            cells, found = np.nonzero(seen[side].reshape(-1, relations))
            first = np.searchsorted(cells, np.arange(seen.shape[1] ** 2 + 1))
            position += len(first)
            parts += [first + position, found + 1 + side * relations]
            position += len(found)
    bits = 1 << np.array(usual_bits(relations) if numbers is None else numbers, np.int64)
    for place, values in ((BITS, bits), (EXCLUDED, excluded), (ROOTLESS, rootless)):
        if values is not None and values.any():
            head[place] = sum(map(len, parts))
            parts.append(values.astype(np.int64))
    return np.concatenate(parts).astype(np.int64)


def looks_at(atom: str) -> tuple[str, ...]:
    """What of a state an atom looks at: a word of the stack, its left or right children, the buffer.

    An action changes the children of one side of one word: what is known of the others is remembered.
    """
    node, _, attribute = atom.partition(".")
    if node in EXTRA:
        return {"d": ("s0", "s1"), "dq": ("s0", "q"), "left": ("q",)}[node]
    if node in BUFFER_NODES:
        return ("q",)
    word, path = node[:2], node[2:3]
    sides = path or {"v": "lr"}.get(attribute, attribute[-1:] if attribute in VALENCY or attribute in SETS else "")
    return (word, *(word + side for side in sides))


def most_steps(n: int) -> int:
    """No derivation of n words is longer."""
    return 2 * n


LATER = {
    "l": ("",),
    "r": ("",),
    "l2": ("l", ""),
    "r2": ("r", ""),
    "ll": ("l",),
    "lr": ("r",),
    "rl": ("l",),
    "rr": ("r",),
}
"""As what a part of the top tree can be seen later: the top becomes a child itself, or a nearer child the second."""


def keep_learner_atoms(templates: Iterable[str], exclusive: bool = False) -> list[str]:
    """What of the top of the stack can matter later: states that are to be one must agree on it.

    What is asked of s1 is asked of s0 after a shift; what is asked of a child, of s0 when it becomes one. The tags of
    s0 and s1 decide which relations are legal, and where some of a head exclude others (exclusive), so do those that it
    has. Distances ask for the place of s0, hidden atom "word of s0".
    """
    found = dict.fromkeys(["s0.t", "s1.t", "word of q0", *["s0.sl", "s0.sr"] * exclusive])
    waiting = [name for names in read_templates(templates) for name in names]
    if {"d", "dq"} & set(waiting):
        found["word of s0"] = None
    done: set[tuple[str, str]] = set()
    while waiting:
        node, _, attribute = waiting.pop().partition(".")
        if node not in ROW_NODES or (node[2:], attribute) in done:
            continue
        path = node[2:]
        done.add((path, attribute))
        if path or attribute != "l":
            found[f"s0{path}.{attribute}"] = None
        waiting += [f"s0{seen}.{attribute}" for seen in LATER.get(path, ())]
    return list(found)
