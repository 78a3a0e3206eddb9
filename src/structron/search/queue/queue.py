"""Search with any queue, and learning in it: Figures 1 and 2 of Daumé & Marcu (2005), LaSO.

A search problem has an initial node, operators that make successors of a node, and a goal test; a queue says which node
is next. What differs between greedy, beam, best-first, A* and exhaustive search is the queue alone. Learning is the
same search, watched: when no y-good node is left, or a wrong goal is first, the weights are corrected, and the search
goes on from the nodes that would have been right.

    greedy       one node: the best successor of the last
    beam         the k best of each depth; goals wait until there are only goals
    best-first   all nodes, by score g; with a heuristic by g + h
    a-star       all nodes, by score and heuristic, g + h
    exhaustive   all nodes, depth by depth, goals last: the first goal is the best of all

For chains, parsers and everything step by step the compiled engine (search/beam) does the same, much faster.
"""

import math
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Protocol

from structron.search.queue.nodes import SearchNode, Space


class Queue(Protocol):
    """Nodes in the order of a discipline; among equals the one that was made first."""

    good: int
    """How many of the nodes are y-good."""

    def __bool__(self) -> bool: ...
    def __iter__(self) -> Iterator[SearchNode]: ...
    def remove_front(self) -> SearchNode: ...
    def enqueue(self, nodes: Sequence[SearchNode]) -> None: ...


MakeQueue = Callable[[Space, Sequence[SearchNode]], Queue]
Update = Callable[[Sequence[SearchNode], Sequence[SearchNode], bool], None]


def search(space: Space, make_queue: MakeQueue) -> SearchNode:
    """Figure 1: the first goal that is removed from the queue."""
    return search_n(space, make_queue, 1)[0]


def search_n(space: Space, make_queue: MakeQueue, n: int) -> list[SearchNode]:
    """Figure 1, not ended by the first goal: up to n goals, in the order in which they are removed from the queue.

    For an exhaustive search, or one whose heuristic never says too little, the best is first; a beam gives the goals
    that are left in it. The queue has to be made for n. Fewer are found if there are no more, or if the limit of nodes
    is reached.
    """
    nodes, goals = make_queue(space, [space.initial()]), list[SearchNode]()
    while nodes and len(goals) < n:
        node = nodes.remove_front()
        if node.goal:
            goals.append(node)
        elif goals and space.expanded >= space.limit:
            break
        else:
            nodes.enqueue(space.operators(node))
    if not goals:
        raise space.fail("no goal can be reached; expected `legal` to return 0 in a final state")
    return goals


def learn(space: Space, make_queue: MakeQueue, update: Update) -> None:
    """Figure 2. update(sibs, nodes, fell) corrects the weights; fell: no node was y-good.

    Every update is followed by siblings that are deeper than those before, so that there are at most as many updates
    as correct steps.
    """
    node = space.initial()
    nodes = make_queue(space, [node])
    while nodes:
        node = nodes.remove_front()
        fell = not (node.good or nodes.good)
        if fell or (node.goal and not node.good):
            update(space.siblings(node), [node, *nodes], fell)
            space.forget()
            nodes = make_queue(space, space.siblings(node))
        elif node.goal:
            return
        else:
            nodes.enqueue(space.operators(node))
    space.siblings(node._replace(depth=node.depth + 1))


def wrong_nodes(sibs: Sequence[SearchNode], nodes: Sequence[SearchNode]) -> list[SearchNode]:
    """The nodes of the second sum of eq. (2) that are mistakes; nodes[0] is the one that was removed from the queue.

    Those that are y-good or rank below all siblings are none: with them the update need not be a violation. If nothing
    else is left, the node itself. (`laso-literal` takes all nodes, as the equation is printed.)
    """
    lowest = min(sib.rank for sib in sibs)
    return [node for node in nodes if not node.good and node.rank >= lowest] or [nodes[0]]


class Beam:
    """The k best nodes of each depth; None: all. wait: goals that leave the queue before others of their depth are
    finished wait for these; else the first one ends the search, as in Figure 2."""

    def __init__(self, nodes: Sequence[SearchNode], k: int | None, wait: bool = True):
        self.k, self.wait, self.layer, self.next = k, wait, deque(nodes), list[SearchNode]()
        self._begin_layer()

    def _begin_layer(self) -> None:
        self.good = sum(node.good > 0 for node in self.layer)
        self.finished = all(node.goal for node in self.layer)

    def __bool__(self) -> bool:
        return bool(self.layer or self.next)

    def __iter__(self) -> Iterator[SearchNode]:
        yield from self.layer
        yield from self.next

    def remove_front(self) -> SearchNode:
        while True:
            if not self.layer:
                best = sorted(self.next, key=lambda node: -node.rank)
                self.layer, self.next = deque(best[: self.k]), []
                self._begin_layer()
            node = self.layer.popleft()
            if self.finished or not node.goal or not self.wait:
                self.good -= node.good > 0
                return node
            self.next.append(node._replace(depth=node.depth + 1))

    def enqueue(self, nodes: Sequence[SearchNode]) -> None:
        self.next += nodes
        self.good += sum(node.good > 0 for node in nodes)


class Cut:
    """One queue for nodes of all depths, of which the k best are kept after every expansion; None: all."""

    def __init__(self, nodes: Sequence[SearchNode], k: int | None):
        self.k, self.nodes, self.good = k, list[SearchNode](), 0
        self.enqueue(nodes)

    def __bool__(self) -> bool:
        return bool(self.nodes)

    def __iter__(self) -> Iterator[SearchNode]:
        return iter(self.nodes)

    def remove_front(self) -> SearchNode:
        node = self.nodes.pop(0)
        self.good -= node.good > 0
        return node

    def enqueue(self, nodes: Sequence[SearchNode]) -> None:
        self.nodes = sorted([*self.nodes, *nodes], key=lambda node: -node.rank)[: self.k]
        self.good = sum(node.good > 0 for node in self.nodes)


class Ordered:
    """All nodes, by rank. Without a stack, states are remembered, so that cycles end.

    A state that was reached n times with at least the same score, or that is one of its own ancestors, is not expanded
    again: where there are no cycles, the n best derivations lose nothing by that. Only y-good nodes always are: else a
    wrong node in the same state would hide them.
    """

    def __init__(self, space: Space, nodes: Sequence[SearchNode], exhaustive: bool = False, n: int = 1):
        self.space, self.exhaustive, self.n = space, exhaustive, n
        self.heap: list[tuple[float, float, int, bytes, SearchNode]] = []
        self.reached: dict[bytes, list[float]] = {}
        """The n best scores that each state was reached with, the lowest first."""
        self.good = self.made = 0
        self.enqueue(nodes)

    def _is_known(self, state: bytes, node: SearchNode) -> bool:
        scores = self.reached.get(state)
        if node.good or scores is None or not self.space.remembers:
            return False
        if len(scores) == self.n and scores[0] >= node.score:
            return True
        above = node.parent
        while above is not None and self.space.state(above.row) != state:
            above = above.parent
        return above is not None

    def enqueue(self, nodes: Sequence[SearchNode]) -> None:
        for node in nodes:
            state = self.space.state(node.row) if self.space.remembers else b""
            if self._is_known(state, node):
                continue
            if self.space.remembers:
                scores = self.reached.setdefault(state, [])
                insort(scores, node.score)
                del scores[: -self.n]
            turn = 0.0 if not self.exhaustive else math.inf if node.goal else node.depth
            heappush(self.heap, (turn, -node.rank, self.made, state, node))
            self.made += 1
            self.good += node.good > 0

    def _is_stale(self, state: bytes, node: SearchNode) -> bool:
        """Whether n better ways to the state were found since."""
        if node.good or not self.space.remembers:
            return False
        scores = self.reached[state]
        return len(scores) == self.n and scores[0] > node.score

    def __bool__(self) -> bool:
        while self.heap and self._is_stale(*self.heap[0][3:]):
            heappop(self.heap)
        return bool(self.heap)

    def __iter__(self) -> Iterator[SearchNode]:
        return (node for *_, state, node in self.heap if not self._is_stale(state, node))

    def remove_front(self) -> SearchNode:
        turn, *_, node = heappop(self.heap)
        self.good -= node.good > 0
        if turn == math.inf:
            return node._replace(depth=max([node.depth, *(other.depth for other in self)]))
        return node


def queue_maker(discipline: str, beam: int | None = 8, n: int = 1) -> MakeQueue:
    """MakeQueue of a discipline. n: how many goals will be asked for; a beam keeps as many nodes as it would anyway."""
    if discipline in ("greedy", "beam", "first-goal"):
        return lambda space, nodes: Beam(nodes, 1 if discipline == "greedy" else beam, discipline != "first-goal")
    if discipline == "cut":
        return lambda space, nodes: Cut(nodes, beam)
    return lambda space, nodes: Ordered(space, nodes, discipline == "exhaustive", n)
