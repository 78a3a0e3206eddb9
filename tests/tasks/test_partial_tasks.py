"""Open labels in tasks that search with actions: the derivations that agree are those of enumeration."""

import numpy as np
import pytest

import structron
from estimators import weights_of
from structron import StructronError
from structron.learn.beam import Known
from structron.search.beam.frontier import Inputs
from structron.search.beam.problem import SearchProblem
from structron.tasks.segments.partial import agreeing
from structron.tasks.shift_reduce import habits
from structron.tasks.shift_reduce.agreeing import agreeing as agreeing_transitions
from structron.tasks.shift_reduce.building import trees_of
from structron.text import schemes
from structron.text.trees import check_tree, is_projective

PLAIN = {"runs": 1, "cutoff": 0, "passes": 2}
CHUNKS = {"columns": ["word", "chunk"], "templates": ["w[0]"]}
PAIRS = {"columns": ["word", "pos", "chunk"], "templates": ["w[0]", "t[-1]|c[-1]"]}
OPEN = "?"


def derivations(problem: SearchProblem, inputs: Inputs, e: int, legal=None) -> set[tuple[int, ...]]:
    """All that the actions which a function gives build."""
    x, table = inputs.x[inputs.starts[e] : inputs.starts[e + 1]], inputs.table
    plain = {what: problem.plain(what) for what in problem.functions}
    states, found = np.zeros((5000, problem.width), np.int64), set()
    plain["start"](x, table, states, 0)
    states[0, 0] = -1

    def follow(row: int, new: int, actions: tuple[int, ...]) -> None:
        out = np.zeros(len(problem.actions), np.int64)
        number = (legal or plain["legal"])(x, table, states, row, out)
        if number == 0:
            found.add(actions)
        for action in out[: max(number, 0)].tolist():
            plain["advance"](x, table, states, row, action, new)
            below, move = states[row, 0], problem.moves[action]
            states[new, 0] = row if move > 0 else states[below, 0] if move < 0 else below
            follow(new, new + 1, (*actions, action))

    follow(0, 1, ())
    return found


def both(learner, e: int, legal=None) -> tuple[set, set]:
    """The derivations of an example, and those that agree with what is known."""
    known: Known = learner.knowledge
    return derivations(learner.problem, learner.inputs, e), derivations(learner.problem, known.inputs, e, legal)


def hidden(labels, rng, share: float = 0.5) -> list:
    return [None if rng.random() < share else label for label in labels]


# -- segments ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["iob2", "iobes", "bilou"])
def test_segmentations_that_agree(scheme):
    rng = np.random.default_rng(1)
    texts = [[("P", 0, 2), ("Q", 2, 3)], [("P", 1, 4)], [("Q", 0, 1), ("Q", 1, 2)], [], [("P", 0, 1), ("P", 1, 4)]]
    full = [schemes.encode(chunks, 4, scheme) for chunks in texts]
    data = full + [hidden(labels, rng) for labels in full * 3]
    rows = [[(f"w{i}", y) for i, y in enumerate(labels)] for labels in data if any(labels)]
    learner = structron.SegmentChunker(**PLAIN, **CHUNKS).fit(rows).learner_
    segments, seen = learner.data.encoder.segments, 0
    for e in np.flatnonzero(learner.knowledge.open).tolist():
        every, found = both(learner, e, agreeing)
        labels = [y for _, y in rows[e]]
        expected = set()
        for actions in every:
            written = [segments.bio[k] for k in segments.token_labels(np.array(actions)).tolist()]
            if all(a in (None, b) for a, b in zip(labels, schemes.convert(written, "iob2", scheme), strict=True)):
                expected.add(actions)
        assert found == expected
        seen += len(every) > len(found) > 1
    assert seen > 5


def test_a_known_chunk_that_is_too_long_is_cut():
    rows = [[("a", "B-P"), *[("b", "I-P")] * 4, ("c", None)], [("a", "B-P"), ("c", "O")]]
    chunker = structron.SegmentChunker(**PLAIN, **CHUNKS, longest=2).fit(rows)
    assert chunker.learner_.data.encoder.segments.longest == [1, 2]
    assert both(chunker.learner_, 0, agreeing)[1]


# -- tags and chunks together ------------------------------------------------------------------------------------------


def test_pairs_that_agree():
    rng = np.random.default_rng(2)
    full = [
        [("a", "D", "B-P"), ("b", "N", "I-P"), ("c", "V", "O")],
        [("b", "N", "B-P"), ("c", "V", "O"), ("d", "V", "O")],
    ]
    data = [*full]
    for sentence in full * 6:
        tags, chunks = (hidden([row[k] for row in sentence], rng) for k in (1, 2))
        data.append([(row[0], *own) for row, *own in zip(sentence, tags, chunks, strict=True)])
    rows = [own for own in data if any(label for _, *labels in own for label in labels)]
    learner = structron.JointTagger(**PLAIN, **PAIRS, tag_dictionary=0).fit(rows).learner_
    pairs, seen = learner.data.encoder.pairs.names, 0
    for e in np.flatnonzero(learner.knowledge.open).tolist():
        every, found = both(learner, e)
        expected = {
            actions
            for actions in every
            if all(
                label in (None, own)
                for row, action in zip(rows[e], actions, strict=True)
                for label, own in zip(row[1:], pairs[action], strict=True)
            )
        }
        assert found == expected
        seen += len(every) > len(found) > 1
    assert seen > 5


def test_pairs_that_nothing_shows_together():
    """Either layer alone: then a label may stand with all of the other layer."""
    rows = [
        [("a", "D", None), ("b", None, "I-P")],
        [("a", None, "O"), ("b", "N", None)],
        [("b", "N", "O"), ("a", "D", "O")],
    ]
    tagger = structron.JointTagger(**PLAIN, **PAIRS).fit(rows)
    pairs = tagger.learner_.data.encoder.pairs
    assert pairs.chunks == ["B-P", "I-P", "O"]
    names = [[pairs.names[action] for action in own] for own in both(tagger.learner_, 0)[1]]
    assert names
    assert all(own[0] == ("D", "B-P") and own[1][1] == "I-P" for own in names)


# -- both --------------------------------------------------------------------------------------------------------------


KINDS = {
    "segments": (structron.SegmentChunker, CHUNKS, lambda y: y),
    "joint": (structron.JointTagger, PAIRS, lambda y: y),
}


def rows_of(kind: str, labels: str) -> list:
    tags = [["D", "N", "V"][i % 3] for i in range(len(labels.split()))]
    words = [f"{y}{i}" for i, y in enumerate(labels.split())]
    chunks = [None if y == OPEN else y for y in labels.split()]
    return list(zip(words, tags, chunks, strict=True)) if kind == "joint" else list(zip(words, chunks, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("labels", "place"),
    [("O I-P ?", "token 2: 'I-P' after 'O'"), ("I-P ? O", "token 1: 'I-P' after the start of the sentence")],
)
def test_what_contradicts_itself_names_the_place(kind, labels, place):
    make, options, _ = KINDS[kind]
    rows = [rows_of(kind, text) for text in ["? ?", "B-P I-P O", "B-P O O", labels]]
    rows[0] = [(word, *[None] * (len(own))) for word, *own in rows[0]]
    with pytest.raises(StructronError) as error:
        make(**PLAIN, **options).fit(rows)
    assert str(error.value).startswith(f"training data: sentence 4, {place}; expected labels")


@pytest.mark.parametrize("kind", KINDS)
def test_a_contradiction_over_an_open_label(kind):
    make, options, _ = KINDS[kind]
    rows = [rows_of(kind, text) for text in ["B-P E-P O S-Q", "S-P B-Q I-Q E-Q", "B-P ? E-Q O"]]
    with pytest.raises(StructronError, match=r"training data: sentence 3, token 3: 'E-Q' (after|fits)"):
        make(**PLAIN, **options).fit(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_known_labels_are_learned(kind):
    """Every rule, two threads like one, and learning on; at the end what is known is predicted."""
    make, options, _ = KINDS[kind]
    rng = np.random.default_rng(3)
    full = [rows_of(kind, text) for text in ["B-P I-P O", "O B-P I-P", "B-P O B-P", "O O B-Q"]]
    part = [[(*row[:-1], row[-1] if rng.random() < 0.6 else None) for row in own] for own in full]
    part = [own for own in part if any(row[-1] for row in own)]
    for given in ({}, {"alma": 0.9}, {"merge": False, "update": "early"}):
        own = PLAIN | options | given | {"check": True}
        one, two = (make(**own | {"shards": 2, "jobs": jobs}).fit(part) for jobs in (1, 2))
        assert weights_of(one) == weights_of(two)
    learner = make(**PLAIN | options | {"passes": 10, "margin": None, "update": "early", "average": "none"}).fit(part)
    learner.partial_fit(part)
    words = [[row[:1] for row in own] for own in part]
    for own, labels in zip(part, learner.predict(words), strict=True):
        last = [label if isinstance(label, str) else label[-1] for label in labels]
        assert all(row[-1] in (None, label) for row, label in zip(own, last, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_with_all_labels_known_nothing_changes(kind):
    make, options, _ = KINDS[kind]
    rows = [rows_of(kind, text) for text in ["B-P I-P O", "O B-P I-P", "B-P O B-P"]]
    first, second = (make(**PLAIN, **options, **own).fit(rows) for own in ({}, {"open_label": OPEN}))
    assert second.learner_.knowledge is None
    assert weights_of(first) == weights_of(second)
    marked = [[(*row[:-1], OPEN if i == 1 else row[-1]) for i, row in enumerate(own)] for own in rows]
    with pytest.raises(StructronError, match="data: sentence 1, token 2: an open label"):
        second.score(marked)


# -- trees, by shift and reduce ----------------------------------------------------------------------------------------


def tree_rows(seed: int, sentences: int = 12, longest: int = 5) -> list:
    """Projective trees at random, of which some heads and relations are known."""
    rng = np.random.default_rng(seed)
    found: list = []
    while len(found) < sentences:
        n = int(rng.integers(2, longest + 1))
        heads = rng.integers(0, n + 1, n).tolist()
        if check_tree(heads) or not is_projective(heads):
            continue
        own = [
            [
                str(rng.choice([*"abc"])),
                str(rng.choice([*"NV"])),
                head,
                "root" if head == 0 else str(rng.choice([*"xy"])),
            ]
            for head in heads
        ]
        known = rng.random((n, 2)) < 0.5
        found.append(
            [
                [*row[:2], *(y if k else None for y, k in zip(row[2:], ks, strict=True))]
                for row, ks in zip(own, known, strict=True)
            ]
        )
    return [own for own in found if any(label is not None for row in own for label in row[2:])]


PARSER = {"runs": 1, "passes": 1, "cutoff": 0, "templates": ["s0.w|q0.w", "s1.t|s0.t"]}


@pytest.mark.parametrize("limited", [False, True, "habits"])
def test_transitions_that_agree(limited, monkeypatch):
    """habits: a relation that a head has once, and a tag that no root has, in the sentences where all is known."""
    rows, seen = tree_rows(4), 0
    if limited == "habits":
        monkeypatch.setattr(habits, "LEAST_HEADS", 1)
        monkeypatch.setattr(habits, "LEAST_SENTENCES", 1)
        rows += [[["a", "N", 2, "x"], ["b", "V", 0, "root"], ["c", "N", 2, "y"]]] * 3
    parser = structron.Parser(**PARSER, limit_relations=bool(limited)).fit(rows)
    assert limited != "habits" or (parser.single_ == ["x", "y"] and parser.rootless_.sum() == 1)
    learner, relations = parser.learner_, len(parser.relations_)
    starts, bank = learner.inputs.starts, parser._treebank(rows, None)
    for e in np.flatnonzero(learner.knowledge.open).tolist():
        n, tree = int(starts[e + 1] - starts[e]), bank.trees[e]
        every, found = both(learner, e, agreeing_transitions)
        expected = set()
        for actions in every:
            heads, kinds = trees_of(np.array([0, n]), np.array(actions), relations)
            pairs = zip(tree, heads.tolist(), kinds.tolist(), strict=True)
            if all(
                h in (-1, head) and (not head or r in (None, parser.relations_[kind])) for (h, r), head, kind in pairs
            ):
                expected.add(actions)
        assert found >= expected if limited else found == expected
        seen += len(every) > len(found) > 1
    assert seen > 3


def test_trees_are_learned_from_what_is_known():
    """Every rule; two threads like one; where all is known, the same as ever; what contradicts itself has its place."""
    rows = tree_rows(5, 8, 4)
    for given in ({}, {"update": "early", "margin": None}, {"update": "max-violation", "alma": 0.9}):
        own = PARSER | given | {"check": True}
        one, two = (structron.Parser(**own | {"shards": 2, "jobs": jobs}).fit(rows) for jobs in (1, 2))
        assert weights_of(one) == weights_of(two)
    one.partial_fit(rows)
    full = [[["a", "N", 2, "x"], ["b", "V", 0, "root"], ["c", "N", 2, "y"]]] * 3
    first, second = (structron.Parser(**PARSER, **own).fit(full) for own in ({}, {"open_label": OPEN}))
    assert second.learner_.knowledge is None
    assert weights_of(first) == weights_of(second)
    with pytest.raises(StructronError, match=r"sentence 4: word 3 \(c\): second root"):
        structron.Parser(**PARSER).fit([*full, [["a", "N", 0, "x"], ["b", "V", None, "x"], ["c", "N", 0, None]]])
    with pytest.raises(
        StructronError, match="beam: inf does not work with open heads or relations; expected a limited beam"
    ):
        structron.Parser(**PARSER, beam=None).fit(rows)


def test_a_relation_of_roots_tells_the_root():
    rows = [[["a", "N", None, "root"], ["b", "V", None, None]], [["a", "N", 2, "x"], ["b", "V", 0, "root"]]]
    learner = structron.Parser(**PARSER).fit(rows).learner_
    assert {actions[-1] for actions in both(learner, 0, agreeing_transitions)[1]} == {2}
