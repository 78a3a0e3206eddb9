"""Trees of which some heads and relations are known: the target is the best tree that agrees."""

from itertools import product

import numpy as np
import pytest

import structron
from brute_trees import trees
from separable import bound_of
from structron import StructronError
from structron.text.trees import check_partial_tree, check_tree, fits_projective, is_projective, opened
from tree_updates import features

OPTIONS = {"runs": 1, "passes": 2, "average": "none", "bits": 16, "order": 1, "keep_heads": 0}
TREES = [[2, 0, 2], [0, 1, 2], [3, 3, 0], [2, 0], [0, 1], [2, 3, 0]]


def partial_rows(seed: int, labelled: bool, sentences: int = 10) -> list:
    """Small sentences with trees at random, of which every second head and relation is open."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(sentences):
        heads = TREES[rng.integers(len(TREES))]
        rows = []
        for k, head in enumerate(heads):
            own = [str(rng.choice([*"abc"])), str(rng.choice([*"NV"])), head if k == 0 or rng.random() < 0.5 else None]
            rows.append([*own, str(rng.choice(["x", "y"])) if rng.random() < 0.5 else None] if labelled else own)
        found.append(rows)
    return found


def agrees(tree, rows) -> bool:
    return all(row[2] in (None, head) for (head, _), row in zip(tree, rows, strict=True))


@pytest.mark.parametrize("kind", [{}, {"projective": False}, {"margin": 1.0}])
def test_targets_are_those_of_enumeration(kind):
    """All trees of a sentence with their scores are its n best; a wrong head costs the margin."""
    rows = partial_rows(1, labelled=False)
    parser = structron.GraphParser(**OPTIONS | kind, labelled=False).fit(rows)
    learner, updates = parser.learner_, 0
    for e, sentence in enumerate(rows):
        parser.model_ = learner.assemble([learner])
        start, n = int(learner.trees.starts[e]), len(sentence)
        scores = {
            tuple(head for head, _ in tree): score
            for tree, score in parser.nbest([[row[:2] for row in sentence]], 100)[0]
        }
        cost = kind.get("margin", 0.0)

        def worth(heads, sentence=sentence, scores=scores, cost=cost):
            return scores[heads] + cost * sum(row[2] not in (None, h) for h, row in zip(heads, sentence, strict=True))

        good = [heads for heads in scores if agrees([(h, None) for h in heads], sentence)]
        before = learner.stats[1]
        learner.learn_from(np.array([e]), 0, 1)
        z = tuple(learner.found[start : start + n].tolist())
        assert worth(z) == pytest.approx(max(map(worth, scores)), abs=1e-3)
        updated = learner.stats[1] > before
        assert updated == (z not in good)
        if updated:
            target = tuple(learner.scratch.gold.heads[1 : n + 1].tolist())
            assert target in good
            assert scores[target] == pytest.approx(max(scores[heads] for heads in good), abs=1e-3)
            updates += 1
    assert updates


@pytest.mark.parametrize("kind", [{}, {"projective": False}])
def test_as_many_updates_as_the_theorem_allows(kind):
    """R²/δ², where δ is the margin by which all trees that agree are ahead of all others."""
    rows = [
        [[f"{s}{k}", "NV"[k % 2], head] for k, head in enumerate(heads)]
        for s, heads in enumerate([[2, None, 2], [None, 1, None], [2, None], [None, 3, None]])
    ]
    parser = structron.GraphParser(**OPTIONS | kind | {"passes": 100, "margin": None}, labelled=False).fit(rows)
    learner, every = parser.learner_, []
    for e, sentence in enumerate(rows):
        both: tuple[list, list] = ([], [])
        for heads in trees(len(sentence), kind.get("projective", True), True).tolist():
            both[agrees([(head, None) for head in heads], sentence)].append(features(learner, e, heads))
        every += [right - wrong for wrong, right in product(*both)]
    matrix = np.array(every)
    assert parser.stopped_ == "converged"
    assert 0 < sum(record["updates"] for record in parser.history_) <= bound_of(matrix[:, matrix.any(axis=0)])


def test_learning_goes_on_from_parts_of_trees():
    """What is new in them is learned where it is known; a sentence of which nothing is known counts for nothing."""
    first = [[["a", "N", 2, "x"], ["b", "V", 0, "root"]], [["b", "V", 0, "root"], ["c", "N", 1, "y"]]] * 3
    more = [[["a", "N", None, None], ["z", "N", 1, "y"], ["b", "V", None, "root"]]] * 4
    parser, other = (structron.GraphParser(**OPTIONS | {"passes": 5}).fit(first) for _ in range(2))
    sentence = [[row[:2] for row in more[0]]]
    assert parser.predict(sentence)[0][1] != (1, "y")
    parser.partial_fit(more)
    assert parser.predict(sentence)[0][1] == (1, "y")
    assert {relation for _, relation in parser.predict(sentence)[0]} <= {"x", "y", "root"}
    other.partial_fit([*more, [["z", "N", None, None]]])
    assert np.array_equal(parser.model_.w, other.model_.w)
    assert any("skipped sentences without a known label: 1" in note for note in other.notes_)


@pytest.mark.parametrize("kind", [{}, {"order": 2, "keep_heads": 2}, {"alma": 0.5}])
def test_relations_may_be_open_too(kind):
    """What is learned agrees with all that is known; shards and runs learn the same on two threads."""
    rows = partial_rows(2, labelled=True)
    parser = structron.GraphParser(**OPTIONS | kind).fit(rows)
    learner = parser.learner_
    for e, sentence in enumerate(rows):
        learner.learn_from(np.array([e]), 0, 1)
        gold, relations = learner.scratch.gold, parser.relations_
        for k, (*_, head, relation) in enumerate(sentence, 1):
            assert head in (None, int(gold.heads[k]))
            assert relation in (None, relations[int(gold.relation[k])])
    several = [structron.GraphParser(**OPTIONS | kind | {"shards": 2, "jobs": jobs}).fit(rows) for jobs in (1, 2)]
    assert np.array_equal(several[0].model_.w, several[1].model_.w)


def test_with_everything_known_nothing_changes():
    rows = [[[w, p, h or 0, "x"] for w, p, h in (("a", "N", 2), ("b", "V", 0), ("c", "N", 2))]] * 3
    first, second = (structron.GraphParser(**OPTIONS | own).fit(rows) for own in ({}, {"open_label": "?"}))
    assert np.array_equal(first.model_.w, second.model_.w)
    assert not second.learner_.open.any()


def test_sentences_without_a_known_arc_are_left_out():
    rows = [*partial_rows(3, labelled=False), [["a", "N", None], ["b", "V", None]]]
    parser = structron.GraphParser(**OPTIONS, labelled=False).fit(rows)
    assert parser.notes_[0].endswith("; skipped sentences without a known label: 1")


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, None, 0], "word 3 (c): second root (the first is word 1); expected one"),
        ([2, 1, None], "word 1 (a): is in a cycle: 1 → 2 → 1; expected heads that lead to the root"),
        ([4, None, None], "word 1 (a): head 4 out of range; expected 0 … 3"),
        ([None, 2, None], "word 2 (b): is its own head; expected another word, or 0 for the root"),
    ],
)
def test_what_cannot_be_a_tree_names_the_place(heads, message):
    rows = [["abc"[k], "N", head] for k, head in enumerate(heads)]
    empty = [["a", "N", None], ["b", "N", None]]
    with pytest.raises(StructronError) as error:
        structron.GraphParser(labelled=False).fit([empty, rows])
    assert str(error.value) == f"training data: sentence 2: {message}"


def test_parts_of_trees_by_hand():
    assert check_partial_tree([-1, -1]) is None
    assert check_partial_tree([2, -1, -1]) is None
    assert check_partial_tree([0, 0, -1], many_roots=True) is None
    assert check_partial_tree([2, 3]) == (1, "head 3 out of range; expected 0 … 2")
    assert opened([3, 4, -1, -1]) == [3, -1, -1, -1]
    assert opened([4, 3, -1, -1]) == [4, 3, -1, -1]


@pytest.mark.parametrize("many_roots", [False, True])
def test_known_heads_fit_a_projective_tree_if_one_has_them(many_roots):
    """Against all trees of up to four words."""
    for n in range(1, 5):
        every = [heads for heads in product(range(n + 1), repeat=n) if check_tree(heads, many_roots) is None]
        projective = [heads for heads in every if is_projective(heads)]
        for known in product(range(-1, n + 1), repeat=n):
            if any(head == word for word, head in enumerate(known, 1)):
                continue
            fits = any(all(a in (-1, b) for a, b in zip(known, heads, strict=True)) for heads in projective)
            assert fits_projective(known, many_roots) == fits


def test_crossing_arcs_are_left_open_where_heads_are():
    crossing = [["a", "N", 3], ["b", "V", 4], ["c", "N", 0], ["d", "N", None]]
    parser = structron.GraphParser(**OPTIONS, labelled=False).fit([*partial_rows(3, labelled=False), crossing])
    assert parser.learner_.trees.heads[-4:].tolist() == [3, -1, 0, -1]
    assert parser.notes_[-1] == (
        "heads of crossing arcs in sentences with open heads: 1, left open (first: sentence 11, word 2)"
    )


def arc_agrees(arc, row) -> bool:
    return all(told in (None, found) for told, found in zip(row[2:], arc, strict=False))


@pytest.mark.parametrize("kind", [{}, {"right_to_left": True}, {"labelled": False}])
def test_trees_are_completed_by_the_best_of_all_that_agree(kind):
    """All trees of three words with their scores are the n best."""
    rng = np.random.default_rng(3)
    bank = [
        [[str(rng.choice([*"abc"])), str(rng.choice([*"NV"])), head, str(rng.choice(["x", "y"])) if head else "root"]
         for head in TREES[rng.integers(3)]]
        for _ in range(10)
    ]  # fmt: skip
    options = {"beam": 64, "runs": 1, "passes": 2, "cutoff": 0, "limit_relations": False, "merge": False, "slack": None}
    width = 3 if "labelled" in kind else 4
    parser = structron.Parser(**options | kind).fit([[row[:width] for row in own] for own in bank])
    lists = parser.nbest([[row[:2] for row in own] for own in bank], 60)
    changed = 0
    for own, every in zip(bank, lists, strict=True):
        known = [[*row[:2], *([None] * (width - 2) if rng.random() < 0.6 else row[2:width])] for row in own]
        known = [[*row[:3], *(None if rng.random() < 0.3 else label for label in row[3:])] for row in known]
        (found,) = parser.complete([known])
        agree = [
            (tree, score)
            for tree, score in every
            if all(
                w in (None, g) for row, arc in zip(known, tree, strict=True) for w, g in zip(row[2:], arc, strict=False)
            )
        ]
        assert any(tree == found and score == pytest.approx(agree[0][1]) for tree, score in agree)
        changed += found != every[0][0]
    assert changed
    assert parser.complete([[], [row[:width] for row in bank[0]]])[0] == []
    if not kind:
        whole = [[(head, relation) for *_, head, relation in own] for own in bank]
        assert parser.complete(bank) == whole
        assert parser.complete([[["a", "N", None, "new"], ["b", "V", None, "root"]]]) == [[(2, "new"), (0, "root")]]


def test_known_arcs_that_cross_are_put_back():
    bank = [[["a", "N", 2, "x"], ["b", "V", 0, "root"], ["c", "N", 2, "y"], ["d", "N", 3, "x"]]] * 5
    parser = structron.Parser(runs=1, passes=2, cutoff=0).fit(bank)
    crossing = [["a", "N", 3, None], ["b", "V", 0, None], ["c", "N", None, None], ["d", "N", 1, None]]
    (found,) = parser.complete([crossing])
    heads = [head for head, _ in found]
    assert (heads[0], heads[1], heads[3]) == (3, 0, 1)
    assert check_tree(heads) is None
    with pytest.raises(StructronError, match=r"data: sentence 1: word 2 \(b\): second root"):
        parser.complete([[["a", "N", 0, None], ["b", "V", 0, None]]])


def test_open_heads_are_not_scored():
    rows = partial_rows(4, labelled=False)
    parser = structron.GraphParser(**OPTIONS, labelled=False).fit(rows)
    with pytest.raises(StructronError, match="an open head; expected known heads"):
        parser.score([[["a", "N", 0], ["b", "N", None]]])


def test_files(tmp_path):
    """`_` with --partial; two roots are told with the line."""
    from structron.cli.app import main

    train = ["--train", str(tmp_path / "t.conllu"), "--model", str(tmp_path / "m"), "--quiet", "--passes", "1"]
    words = ((1, 2, "x"), (2, "_", "_"), (3, 2, "y"))
    text = "".join(f"{i}\tw\t_\tN\t_\t_\t{h}\t{r}\t_\t_\n" for i, h, r in words) + "\n"
    (tmp_path / "t.conllu").write_text(text)
    assert main(["train", "graph-parser", *train, "--partial", "--order", "1"]) == 0
    assert main(["train", "graph-parser", *train, "--order", "1", "--force"]) == 2
    (tmp_path / "t.conllu").write_text(text + text.replace("\t2\tx", "\t0\tx").replace("\t2\ty", "\t0\ty"))
    assert main(["train", "graph-parser", *train, "--partial", "--order", "1"]) == 2
