"""The arc-standard system against enumeration and against a parser with a list for a stack; trees there and back."""

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib import resources
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import int64, njit, void

import brute_trees
from structron.errors import StructronError
from structron.io import read
from structron.tasks.shift_reduce import system as sr
from structron.tasks.shift_reduce.building import trees_of
from structron.tasks.shift_reduce.oracle import moves, oracle_all, seen_relations
from structron.text.trees import is_projective, lift
from transitions import oracle, tree_of

COLUMNS = ["word", "tag", "lemma", "suffix3"]
STACK = ["s0", "s1", "s2", "s3"]
CHILDREN = ["s0l", "s0r", "s0l2", "s0r2", "s1l", "s1r", "s1l2", "s1r2", "s2l", "s2r"]
GRANDCHILDREN = ["s0ll", "s0lr", "s0rl", "s0rr", "s1ll", "s1lr", "s1rl", "s1rr"]
BUFFER = ["q0", "q1", "q2", "q3"]
ALL_ATOMS = [
    *(f"{node}.{a}" for node in STACK + CHILDREN + GRANDCHILDREN + BUFFER for a in ("w", "t", "lemma", "suffix3", "l")),
    *(f"{node}.{a}" for node in STACK for a in ("vl", "vr", "v", "sl", "sr")),
    *("d", "dq", "left"),
]


@cache
def compiled_functions() -> tuple:
    matrix, array = int64[:, ::1], int64[::1]
    return (
        njit(void(matrix, array, matrix, int64))(sr.start),
        njit(int64(matrix, array, matrix, int64, array))(sr.legal),
        njit(void(matrix, array, matrix, int64, int64, int64))(sr.advance),
        njit(void(matrix, array, matrix, int64, array))(sr.atoms),
    )


class Engine:
    """Does what the search does: keeps the rows and fills the column of tails."""

    def __init__(self, x, table, layout=None, compile=False, rows=400):
        plain = (sr.start, sr.legal, sr.advance, sr.atoms)
        self.start, self.legal_actions, self.advance, self.write_atoms = compiled_functions() if compile else plain
        self.x, self.table, self.layout, self.used = x, table, layout, 1
        self.states = np.full((rows, sr.WIDTH), -7, np.int64)
        self.start(x, table, self.states, 0)
        self.states[0, sr.TAIL] = -1

    def legal(self, s: int) -> list[int]:
        out = np.full(2 + 2 * self.table[sr.LABELS], -9, np.int64)
        count = self.legal_actions(self.x, self.table, self.states, s, out)
        assert out[count] == -9
        return out[:count].tolist()

    def go(self, s: int, action: int) -> int:
        t, states = self.used, self.states
        self.used += 1
        states[t, sr.TAIL] = -5
        self.advance(self.x, self.table, states, s, action, t)
        assert states[t, sr.TAIL] == -5
        states[t, sr.TAIL] = s if moves(int(self.table[sr.LABELS]))[action] > 0 else states[states[s, 0], 0]
        return t

    def atoms(self, s: int) -> dict[str, int]:
        size = self.layout.size
        out = np.full(size + 1, -9, np.int64)
        self.write_atoms(self.x, self.table, self.states, s, out)
        assert out[size] == -9
        assert (out[:size] >= 0).all()
        return dict(zip(self.layout.hidden + self.layout.names, out[:size].tolist(), strict=True))


def unlabelled(n: int) -> Engine:
    return Engine(np.ones((n, 2), np.int64), sr.make_table(sr.atom_layout(["s0.w"], COLUMNS[:2]), 1), rows=4000)


# -- a slow parser with a list for a stack -------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A word, its relation and all that hangs on it."""

    word: int
    relation: int = 0
    children: tuple["Node", ...] = ()

    def with_child(self, child: "Node", relation: int) -> "Node":
        child = Node(child.word, relation, child.children)
        return Node(self.word, self.relation, (*self.children, child))

    def side(self, side: str) -> list["Node"]:
        """Children on one side, from the outermost in."""
        if side == "l":
            return sorted((c for c in self.children if c.word < self.word), key=lambda c: c.word)
        return sorted((c for c in self.children if c.word > self.word), key=lambda c: -c.word)


@dataclass(frozen=True)
class Reference:
    """A state as the definition has it."""

    stack: tuple[Node, ...] = ()
    next: int = 0

    def after(self, action: int, labels: int) -> "Reference":
        if action == 0:
            return Reference((*self.stack, Node(self.next)), self.next + 1)
        *rest, s1, s0 = self.stack
        if action <= labels:
            return Reference((*rest, s0.with_child(s1, action + 1)), self.next)
        return Reference((*rest, s1.with_child(s0, action - labels + 1)), self.next)

    def node(self, name: str, n: int) -> Node | None:
        kind, place, path = re.fullmatch(r"([sq])(\d)(.*)", name).groups()
        if kind == "q":
            return Node(self.next + int(place)) if self.next + int(place) < n else None
        found = self.stack[-1 - int(place)] if int(place) < len(self.stack) else None
        for side, rank in re.findall("([lr])(2?)", path):
            children = found.side(side) if found else []
            found = children[int(rank or 1) - 1] if len(children) >= int(rank or 1) else None
        return found

    def distance(self, far: int | None, near: int | None) -> int:
        if far is None or near is None:
            return 0
        d = far - near
        return next(bucket for bucket, most in enumerate([0, 1, 2, 3, 4, 6, 10, 10**9]) if d <= most)

    def value(self, name: str, x: np.ndarray) -> int:
        tops = [node.word for node in reversed(self.stack)] + [None, None]
        if name == "left":
            return min(len(x) - self.next, 3)
        if name == "d":
            return self.distance(tops[0], tops[1])
        if name == "dq":
            return self.distance(self.next if self.next < len(x) else None, tops[0])
        node_name, attribute = name.split(".")
        node = self.node(node_name, len(x))
        if node is None:
            return 0
        if attribute == "l":
            return node.relation
        if attribute[0] == "v":
            sides = {"vl": "l", "vr": "r", "v": "lr"}[attribute]
            return min(sum(len(node.side(side)) for side in sides), 7 if attribute == "v" else 5) + 1
        if attribute in ("sl", "sr"):
            return sum(1 << bit for bit in {child.relation % 60 for child in node.side(attribute[1])})
        return int(x[node.word, ["w", "t", "lemma", "suffix3"].index(attribute)])

    def legal(self, n: int, labels: int) -> list[int]:
        reduce = range(1, 2 * labels + 1) if len(self.stack) > 1 else []
        return [0] * (self.next < n) + list(reduce)


# -- states, actions and atoms -------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 10**9), st.integers(1, 16), st.sampled_from([1, 2, 5, 70]))
def test_every_atom_of_every_state(seed, n, labels):
    """A tree of random states, as a beam grows it; plain and compiled functions agree with the slow parser."""
    random, rng = Random(seed), np.random.default_rng(seed)
    x = rng.integers(1, 40, (n, 4))
    layout = sr.atom_layout(ALL_ATOMS, COLUMNS)
    table = sr.make_table(layout, labels)
    sizes = sr.sizes(layout, dict.fromkeys(COLUMNS, 40), labels)
    plain, fast = Engine(x, table, layout), Engine(x, table, layout, compile=True)
    references = {0: Reference()}
    row = 0
    for _ in range(3 * n):
        row = row if random.random() < 0.8 else random.choice(list(references))
        legal = plain.legal(row)
        assert legal == fast.legal(row) == references[row].legal(n, labels)
        if not legal:
            row = random.choice(list(references))
            continue
        action = 0 if legal[0] == 0 and random.random() < 0.3 else random.choice(legal)
        old, row = row, plain.go(row, action)
        assert fast.go(old, action) == row
        references[row] = references[old].after(action, labels)
        found = plain.atoms(row)
        assert found == fast.atoms(row)
        assert {name: found[name] for name in ALL_ATOMS} == {a: references[row].value(a, x) for a in ALL_ATOMS}
        assert all(value < sizes[name] or sizes[name] == 0 for name, value in found.items())
    assert (plain.states == fast.states).all()


@pytest.mark.parametrize("compile", [False, True], ids=["plain", "compiled"])
def test_the_start_state_has_a_buffer_only(compile):
    layout = sr.atom_layout(ALL_ATOMS, COLUMNS)
    x = np.arange(10, 18).reshape(2, 4)
    found = Engine(x, sr.make_table(layout, 3), layout, compile).atoms(0)
    expected = {"q0.w": 10, "q0.t": 11, "q0.lemma": 12, "q0.suffix3": 13}
    expected |= {"q1.w": 14, "q1.t": 15, "q1.lemma": 16, "q1.suffix3": 17, "left": 2}
    assert {name: found[name] for name in ALL_ATOMS if found[name]} == expected


def test_distances_are_told_apart_by_seven_classes():
    layout = sr.atom_layout(["d|dq"], COLUMNS)
    engine = Engine(np.ones((15, 4), np.int64), sr.make_table(layout, 1), layout)
    row = engine.go(0, 0)
    near, far = [], []
    for _ in range(13):
        row = engine.go(row, 0)
        row = row if not near else engine.go(row, 1)
        near.append(engine.atoms(row)["d"])
    row = engine.go(engine.go(0, 0), 0)
    for _ in range(13):
        row = engine.go(row, 2)
        far.append(engine.atoms(row)["dq"])
        row = engine.go(row, 0)
    assert near == [1, 2, 3, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7]
    assert far == [2, 3, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7]


def test_only_what_the_templates_use_is_worked_out():
    layout = sr.atom_layout(["s1rr.t|s0.w # a grandchild", "", "q2.lemma", "q2.lemma"], COLUMNS)
    assert layout.hidden == (
        "none",
        *(f"row of {node}" for node in ("s0", "s1", "s1r", "s1rr")),
        *(f"word of {node}" for node in ("s0", "s1", "s1r", "s1rr", "q0", "q2")),
    )
    assert layout.names == ("s1rr.t", "s0.w", "q2.lemma")
    assert layout.templates == ((11, 12), (13,))
    assert layout.size == 14


def test_how_many_values_an_atom_has():
    names = ["s0.w", "q0.t", "s1.lemma", "s0l.l", "s0.vl", "s1.vr", "s0.v", "s0.sl", "d", "dq", "left"]
    layout = sr.atom_layout(names, COLUMNS)
    found = sr.sizes(layout, {"word": 100, "tag": 20, "lemma": 50, "suffix3": 30}, 7)
    assert list(found) == [*layout.hidden, *layout.names]
    assert [found[name] for name in names] == [100, 20, 50, 9, 7, 7, 9, 0, 8, 8, 4]


# -- which actions are legal ---------------------------------------------------------------------------------------


def test_no_words_are_a_final_state():
    assert unlabelled(0).legal(0) == []


def derivations(n: int) -> list[tuple[list[int], list[int]]]:
    """Every unlabelled derivation: its actions and the heights of its stacks."""
    engine, found = unlabelled(n), []
    paths: list[tuple[int, list[int]]] = [(0, [])]
    while paths:
        row, actions = paths.pop()
        legal = engine.legal(row)
        if not legal:
            found.append((actions, np.cumsum(moves(1)[actions]).tolist()))
        paths += [(engine.go(row, action), [*actions, action]) for action in legal]
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_actions_build_every_projective_tree_and_no_other(n):
    by_tree = defaultdict(list)
    for actions, heights in derivations(n):
        assert len(actions) == 2 * n - 1
        assert heights[-1] == 1
        by_tree[tuple(tree_of(actions, n)[0])].append((sum(heights), actions))
    assert set(by_tree) == set(map(tuple, brute_trees.trees(n, True, True).tolist()))
    assert len(by_tree) == [1, 2, 7, 30, 143][n - 1]  # C(3n - 2, n - 1) / n
    assert sum(map(len, by_tree.values())) == [1, 2, 8, 40, 224][n - 1]  # Catalan(n - 1) * 2 ** (n - 1)
    for heads, ways in by_tree.items():
        shortest = min(ways)[0]
        assert [actions for height, actions in ways if height == shortest] == [oracle(heads)]


def test_relations_keep_to_pairs_of_tags_seen_in_training():
    """Head tag 2 with child tag 3: relation 1 to the left, 0 and 2 to the right; all other pairs are free."""
    starts, heads = np.array([0, 2, 5]), np.array([2, 0, 0, 1, 1])
    relations, tags = np.array([1, 0, 0, 2, 0]), np.array([3, 2, 2, 3, 3])
    seen = seen_relations(starts, heads, relations, tags, 4, 3)
    assert np.argwhere(seen).tolist() == [[0, 2, 3, 1], [1, 2, 3, 0], [1, 2, 3, 2]]
    layout = sr.atom_layout(["s0.w"], COLUMNS[:2])
    left, right = [1, 2, 3], [4, 5, 6]
    for compile, (s1, s0), expected in [
        *((c, (3, 2), [2, *right]) for c in (False, True)),
        *((c, (2, 3), [*left, 4, 6]) for c in (False, True)),
        *((c, (3, 3), left + right) for c in (False, True)),
        *((c, (1, 2), left + right) for c in (False, True)),
    ]:
        engine = Engine(np.array([[5, s1], [6, s0], [7, 3]]), sr.make_table(layout, 3, seen), layout, compile)
        assert engine.legal(0) == [0]
        row = engine.go(engine.go(0, 0), 0)
        assert engine.legal(row) == [0, *expected]
        assert engine.legal(engine.go(row, 0))[0] != 0


def labelled_trees(table: np.ndarray, tags: list[int], labels: int) -> set[tuple]:
    """The trees of all derivations: heads and relations."""
    engine = Engine(np.array([[1, tag] for tag in tags]), table, rows=20_000)
    paths: list[tuple[int, list[int]]] = [(0, [])]
    found = set()
    while paths:
        row, actions = paths.pop()
        legal = engine.legal(row)
        if not legal:
            heads, relations = tree_of(actions, len(tags), labels)
            found.add((tuple(heads), tuple(relations)))
        paths += [(engine.go(row, action), [*actions, action]) for action in legal]
    return found


def test_relations_that_a_head_has_once():
    """Relations 0 and 1 are a group: no head has two of them, and nothing else is lost."""
    layout = sr.atom_layout(["s0.w"], COLUMNS[:2])
    tags = [1, 2, 1, 2]
    free = labelled_trees(sr.make_table(layout, 3), tags, 3)
    kept = labelled_trees(sr.make_table(layout, 3, None, sr.exclusions([0, 0, -1])), tags, 3)

    def twice(tree):
        pairs = [head for head, relation in zip(*tree, strict=True) if relation in (0, 1)]
        return len(set(pairs)) < len(pairs)

    assert kept == {tree for tree in free if not twice(tree)}
    assert 0 < len(kept) < len(free)


def test_tags_that_roots_do_not_have():
    """Tag 2 is that of no root where the last two words leave a choice; sentences of it alone have one all the same."""
    layout = sr.atom_layout(["s0.w"], COLUMNS[:2])
    rootless = np.array([False, False, True, False])
    table = sr.make_table(layout, 1, None, None, rootless)
    for tags in ([1, 2], [2, 1], [2, 2]):
        roots = {tags[tree[0].index(0)] for tree in labelled_trees(table, tags, 1)}
        assert roots == ({2} if set(tags) == {2} else {1})
    assert labelled_trees(table, [2], 1) == {((0,), (-1,))}


def test_where_nothing_else_is_left_all_is_allowed():
    """Of the last two words each has its only child already."""
    layout = sr.atom_layout(["s0.w"], COLUMNS[:2])
    found = {heads for heads, _ in labelled_trees(sr.make_table(layout, 1, None, sr.exclusions([0])), [1] * 4, 1)}
    assert {(2, 0, 2, 3), (2, 3, 0, 3)} <= found
    assert (2, 0, 2, 2) not in found


def test_groups_that_share_a_bit_exclude_nothing():
    assert sr.exclusions([-1, 0, 0]).tolist() == [0, 24, 24]
    groups = [-1] * 62
    groups[0] = groups[1] = 0
    assert not sr.exclusions(groups).any(), "relations 60 and 61 have the bits of 0 and 1"
    assert sr.exclusions(groups[:60]).any()


def test_bits_of_relations():
    """Few relations have the bits of their numbers; of many those in groups have their own, and lifted ones share."""
    assert sr.relation_bits([-1] * 60, [True] * 60) == sr.usual_bits(60)
    groups, lifted = [-1] * 80, [k % 2 == 0 for k in range(80)]
    groups[61] = groups[79] = 0
    bits = sr.relation_bits(groups, lifted)
    own = [bit for bit, is_lifted in zip(bits, lifted, strict=True) if not is_lifted]
    assert len(set(own)) == 40
    assert set(bits) == set(range(60))
    assert not {bits[k] for k in range(80) if lifted[k]} & set(own)
    assert sr.exclusions(groups, bits).nonzero()[0].tolist() == [61, 79]
    many = sr.relation_bits([0, 0, *[-1] * 98], [False] * 100)
    assert sr.exclusions([0, 0, *[-1] * 98], many)[:2].tolist() == [(1 << many[0]) + (1 << many[1])] * 2
    assert sr.relation_bits([-1] * 62, [False] * 62, sr.usual_bits(60)) == [*sr.usual_bits(60), 1, 1]
    assert sr.relation_bits([-1] * 5, [False] * 5, [7, 3, 9]) == [7, 3, 9, 2, 4]
    assert sr.relation_bits([0] * 61, [False] * 61)[:60] == sr.usual_bits(60)


# -- templates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        (
            ["s0.w", "s0.t|s4.w"],
            r"^t\.txt:2: unknown atom 's4\.w'; expected a node \(s0 s1 .* q3\) and .* or d dq left$",
        ),
        (["w[0]"], r"^t\.txt:1: unknown atom 'w\[0\]'; expected a node"),
        (["s0.w|"], "^t.txt:1: unknown atom ''"),
        (
            ["s0"],
            r"^t\.txt:1: unknown atom 's0'; expected one of: s0\.w, s0\.t, s0\.lemma, s0\.suffix3, s0\.l, s0\.vl,",
        ),
        (["q0.word"], r"unknown atom 'q0\.word'; expected one of: q0\.w, q0\.t, q0\.lemma, q0\.suffix3, q0\.l$"),
        (["s0l.vl"], r"unknown atom 's0l\.vl'; expected one of: .* s0l\.l$"),
        (["# nothing", ""], "^t.txt: no templates"),
    ],
    ids=["node", "chain", "empty", "no attribute", "attribute", "valency of a child", "no templates"],
)
def test_unknown_atoms(templates, message):
    with pytest.raises(StructronError, match=message):
        sr.atom_layout(templates, COLUMNS, "t.txt")


def test_a_column_may_not_take_the_name_of_an_atom():
    with pytest.raises(StructronError, match=r"^column 'vl': templates use this name for something else; expected"):
        sr.atom_layout(["s0.w"], ["word", "tag", "vl"])


def preset(name: str) -> list[str]:
    return (resources.files("structron.features") / "presets" / f"{name}.txt").read_text("utf-8").splitlines()


def test_the_templates_of_the_paper():
    """As the authors' program writes them: `s0w-s0t` is word and tag, `s0lct` the tag of the leftmost child."""
    paper = """s0t s1t s2t q0t q1t q2t s0w s1w q0w q1w s0lct s0rct s1lct s1rct s2t-s1t s1t-s0t s0t-q0t q0t-q1t q1t-q2t
        s0t-q1t s2t-s1t-s0t s1t-s0t-q0t s0t-q0t-q1t q0t-q1t-q2t s0w-s0t s1w-s1t q0w-q0t q1w-q1t s1w-s0w s0w-q0w q0w-q1w
        s1rct-s0lct s2t-s1lct s1rct-s0t s1t-s0lct s0rct-q0t s0t-s1w-s1t s0w-q0t-q1t s0w-s0t-s1w-s1t s0w-s0t-s1w
        s0w-s1w-s1t s0w-s0t-s1t s1t-s0t-s0lct s1t-s0t-s0rct s1t-s0w-q0t s1t-s0w-s0lct s1t-s1lct-s0t s1t-s1lct-s0w
        s1t-s1rct-s0t s1t-s1rct-s0w"""
    expected = [{re.sub(r"(..)([lr]?)c?(.)", r"\1\2.\3", atom) for atom in text.split("-")} for text in paper.split()]
    assert len(expected) == 50
    found = list(map(set, sr.read_templates(preset("parser-huang"))))
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    kernel = "s0.w s0.t s1.w s1.t s2.t s0l.t s0r.t s1l.t s1r.t q0.w q0.t q1.w q1.t q2.t"
    assert set(sr.atom_layout(preset("parser-huang"), COLUMNS).names) == set(kernel.split())


def test_the_default_templates():
    columns = ["word", "tag", "lemma", "feats", "upos", "suffix3", "prefix2", "shape"]
    lines = preset("parser-default")
    templates = set(map(frozenset, sr.read_templates(lines)))
    papers = set(map(frozenset, sr.read_templates(preset("parser-huang"))))
    assert len(templates & papers) > len(papers) / 2
    written = [line for line in lines if line.split("#")[0].strip()]
    assert len(written) == len(templates) == len(sr.atom_layout(lines, columns).templates)
    assert 80 <= len(templates) <= 120
    assert templates > set(map(frozenset, sr.read_templates(preset("parser-fast"))))
    bare = sr.usable_templates(lines, columns[:2])
    assert len(sr.atom_layout(bare, columns[:2]).templates) == len(bare) < len(templates)
    assert sr.usable_templates(lines, columns) == ["|".join(names) for names in sr.read_templates(lines)]


# -- trees there and back ------------------------------------------------------------------------------------------


@given(
    st.randoms(use_true_random=False), st.lists(brute_trees.any_trees(30), min_size=1, max_size=5), st.integers(1, 4)
)
def test_actions_give_the_tree_back(random, trees, labels):
    corpus = [lift(heads, None)[0] for heads in trees]
    lengths = list(map(len, corpus))
    relations = [[random.randrange(labels) if head else -1 for head in heads] for heads in corpus]
    starts = np.cumsum([0, *lengths])
    flat_heads, flat_relations = np.concatenate(corpus), np.concatenate(relations)
    actions = oracle_all(starts, flat_heads, flat_relations, labels)
    found = trees_of(starts, actions, labels)
    assert (found[0] == flat_heads).all()
    assert (found[1] == flat_relations).all()
    for k, heads in enumerate(corpus):
        first = 2 * starts[k] - k
        own = actions[first : first + 2 * lengths[k] - 1].tolist()
        assert own == oracle(heads, relations[k], labels)
        assert tree_of(own, lengths[k], labels) == (heads, relations[k])


def test_actions_by_hand():
    assert oracle([0]) == [0]
    assert oracle([2, 0, 2]) == [0, 0, 1, 0, 2]
    assert oracle([2, 0, 2], [2, 0, 1], 3) == [0, 0, 3, 0, 5]
    assert oracle([0, 1, 2]) == [0, 0, 0, 2, 2]
    assert tree_of([0, 0, 3, 0, 5], 3, 3) == ([2, 0, 2], [2, -1, 1])
    assert moves(2).tolist() == [1, -1, -1, -1, -1]


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([], "no words"),
        ([3, 4, 0, 3], "^sentence 1: arcs cross; expected a projective tree$"),
        ([0, 3, 2], "^sentence 1: word 2: is in a cycle"),
    ],
    ids=["no words", "crossing", "no tree"],
)
def test_what_has_no_actions(heads, message):
    with pytest.raises(StructronError, match=message):
        oracle(heads)


def test_the_sentence_that_is_wrong_is_named():
    starts, heads = np.array([0, 2, 4]), np.array([0, 1, 2, 0])
    with pytest.raises(StructronError, match=r"^sentence 2, word 1: relation 3; expected 0 … 2$"):
        oracle_all(starts, heads, np.array([9, 2, 3, 9]), 3)
    with pytest.raises(StructronError, match=r"^sentence 2: word 2: second root"):
        oracle_all(starts, np.array([0, 1, 0, 0]), None, 1)


@pytest.mark.parametrize(
    "actions",
    [[0, 0, 0], [0, 1, 0], [0, 0, 3], [0, 0, -1], [0, 0]],
    ids=["shifts", "early", "large", "negative", "few"],
)
def test_what_is_no_derivation(actions):
    with pytest.raises(StructronError, match="expected"):
        tree_of(actions, 2)


TREEBANKS = [
    *("conll2007-basque", "conll2007-spanish", "ud-arabic-padt", "ud-basque-bdt", "ud-catalan-ancora"),
    *("ud-chinese-gsd", "ud-english-ewt", "ud-greek-gdt", "ud-hungarian-szeged", "ud-italian-partut"),
    *("ud-turkish-imst", "wsj-sample-dep"),
]


@pytest.mark.corpora
@pytest.mark.parametrize("name", TREEBANKS)
def test_real_trees_there_and_back(name, corpora):
    """All that is projective with one root; what crosses is refused."""
    encoding = "iso-8859-1" if name == "conll2007-basque" else "utf-8"
    trees, crossing = [], 0
    for path in sorted(corpora.glob(f"{name}/*.conll*.gz")):
        for sentence in read(path, encoding=encoding):
            wide = len(sentence.rows[0]) == 10
            heads = [int(row[6 if wide else 2]) for row in sentence.rows]
            if heads.count(0) != 1:
                continue
            if not is_projective(heads):
                crossing += 1
                with pytest.raises(StructronError, match="arcs cross"):
                    oracle(heads)
            else:
                trees.append((heads, [row[7] if wide else "_" for row in sentence.rows]))
    assert len(trees) > crossing
    assert crossing > 0 or name == "wsj-sample-dep"
    numbers = {relation: k for k, relation in enumerate(sorted({r for _, relations in trees for r in relations}))}
    starts = np.cumsum([0, *(len(heads) for heads, _ in trees)])
    heads = np.concatenate([heads for heads, _ in trees])
    relations = np.array([numbers[r] for _, words in trees for r in words])
    found = trees_of(starts, oracle_all(starts, heads, relations, len(numbers)), len(numbers))
    assert (found[0] == heads).all()
    assert (found[1] == np.where(heads > 0, relations, -1)).all()
