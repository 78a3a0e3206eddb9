"""Trees: checked against enumeration, lifted as a slow reading of Nivre & Nilsson (2005) does, and taken back."""

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import brute_trees
from structron.errors import StructronError
from structron.io import read
from structron.text.trees import MARK, check_tree, is_projective, lift, unlift

# Figure 1 of the paper, with the full stop below the verb so that there is one root:
# Z nich je jen jedna na kvalitu . ("Out of them is only one to quality.")
CZECH = [5, 1, 0, 5, 3, 3, 6, 3]
CZECH_RELATIONS = ["AuxP", "Atr", "Pred", "AuxZ", "Sb", "AuxP", "Adv", "AuxK"]


def ancestors(heads, word):
    found = []
    while word:
        word = heads[word - 1]
        found.append(word)
    return found


def crossed_arcs(heads):
    """The definition: an arc is projective when every word between its ends descends from the head."""
    return [
        (abs(head - word), word)
        for word, head in enumerate(heads, 1)
        if any(head not in ancestors(heads, k) for k in range(min(head, word) + 1, max(head, word)))
    ]


def slowly_lifted(heads):
    """The paper's algorithm word for word: lift the smallest non-projective arc until there is none."""
    heads = list(heads)
    while crossed := crossed_arcs(heads):
        _, word = min(crossed)
        heads[word - 1] = heads[heads[word - 1] - 1]
    return heads


def is_tree(heads):
    """One word has head 0, and so many steps as there are words lead everyone there."""
    if heads.count(0) != 1 or not all(0 <= head <= len(heads) for head in heads):
        return False
    at = list(range(1, len(heads) + 1))
    for _ in heads:
        at = [word and heads[word - 1] for word in at]
    return not any(at)


@st.composite
def trees(draw, relations=("a", "b", "c")):
    heads = draw(brute_trees.any_trees(14))
    return heads, draw(st.lists(st.sampled_from(relations), min_size=len(heads), max_size=len(heads)))


LONG = "2 → 3 → 4 → 5 → 6 → 7 → 8 → 9"


@pytest.mark.parametrize(
    ("heads", "index", "message"),
    [
        ([], 0, "no words; expected at least one"),
        ([2, 0, 9, 2, 2], 2, "head 9 out of range; expected 0 … 5"),
        ([2, 0, -1], 2, "head -1 out of range; expected 0 … 3"),
        ([2, 0, 3], 2, "is its own head; expected another word, or 0 for the root"),
        ([1], 0, "is its own head; expected another word, or 0 for the root"),
        ([2, 0, 2, 0], 3, "second root (the first is word 2); expected one"),
        ([2, 3, 1], 0, "no root; expected one word with head 0"),
        ([2, 0, 5, 3, 3], 2, "is in a cycle: 3 → 5 → 3; expected heads that lead to the root"),
        ([4, 0, 4, 5, 3], 2, "is in a cycle: 3 → 4 → 5 → 3; expected heads that lead to the root"),
        ([0, *range(3, 31), 2], 1, f"is in a cycle: {LONG} → … → 2; expected heads that lead to the root"),
    ],
)
def test_what_is_wrong_with_heads(heads, index, message):
    assert check_tree(heads) == (index, message)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_check_accepts_trees_and_nothing_else(size):
    accepted = [list(heads) for heads in product(range(-1, size + 2), repeat=size) if check_tree(heads) is None]
    assert accepted == brute_trees.trees(size, False, True).tolist()
    assert len(accepted) == size ** (size - 1)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_projectivity_and_lifting_by_enumeration(size):
    projective = 0
    for heads in brute_trees.trees(size, False, True).tolist():
        assert is_projective(heads) == (not crossed_arcs(heads))
        assert lift(heads, None)[0] == slowly_lifted(heads)
        projective += is_projective(heads)
    assert projective == {1: 1, 2: 2, 3: 7, 4: 30, 5: 143}[size]


@given(trees())
def test_lifting_follows_the_paper(tree):
    heads, relations = tree
    lifted, marked, count = lift(heads, relations)
    assert lifted == slowly_lifted(heads)
    assert is_projective(lifted)
    assert is_tree(lifted)
    assert count == sum(a != b for a, b in zip(heads, lifted, strict=True))
    assert (count == 0) == is_projective(heads)
    for head, new, relation, label in zip(heads, lifted, relations, marked, strict=True):
        assert label == (relation if head == new else relation + MARK + relations[head - 1])


@given(trees())
def test_unlifting_undoes_lifting(tree):
    heads, relations = tree
    lifted, marked, count = lift(heads, relations)
    back, names = unlift(lifted, marked)
    assert is_tree(back)
    assert names == relations
    assert count or back == heads
    for head, new, found in zip(heads, lifted, back, strict=True):
        assert found == head or head != new, "a word that was not lifted must not move"


@given(trees())
@example(([0, 1, 8, 7, 1, 1, 3, 1], ["a"] * 8))  # the head of a lifted word is lifted too, and comes down after it
def test_words_of_distinct_relations_all_come_back(tree):
    heads, _ = tree
    relations = [f"r{word}" for word in range(len(heads))]
    lifted, marked, _ = lift(heads, relations)
    assert unlift(lifted, marked) == (heads, relations)


@given(trees(relations=("a", "b", f"a{MARK}b", f"b{MARK}a", f"a{MARK}a", f"b{MARK}")))
def test_whatever_is_predicted_unlifting_gives_a_tree(tree):
    heads, relations = tree
    back, names = unlift(heads, relations)
    assert is_tree(back)
    assert back.index(0) == heads.index(0)
    assert names == [relation.split(MARK)[0] for relation in relations]
    for head, found, relation in zip(heads, back, relations, strict=True):
        if head != found:
            assert relation.split(MARK)[1] == names[found - 1]
            assert head in ancestors(back, found)


@pytest.mark.parametrize("relations", [None, ["_"] * 8], ids=["none", "underscores"])
def test_unlabelled_trees_change_heads_only(relations):
    lifted, marked, count = lift(CZECH, relations)
    assert (lifted, marked, count) == ([3, *CZECH[1:]], relations, 1)
    assert unlift(lifted, marked) == (lifted, relations)


HEARING = ["det", "nsubj:pass", "aux:pass", "root", "prep", "det", "pobj", "advmod"]


@pytest.mark.parametrize(
    ("heads", "relations", "word", "head", "marked"),
    [
        (CZECH, CZECH_RELATIONS, 1, 3, "AuxP↑Sb"),
        ([2, 4, 4, 0, 2, 7, 5, 4], HEARING, 5, 4, "prep↑nsubj:pass"),
        ([6, 3, 0, 3, 3, 5], ["x", "p", "root", "q", "a", "b"], 1, 3, "x↑b"),
        ([5, 3, 0, 3, 3], ["x", "a", "root", "p", "a"], 1, 3, "x↑a"),
    ],
    ids=["the paper's", "a hearing is scheduled on the issue today", "lifted twice", "the head that explains it"],
)
def test_one_word_is_lifted_and_comes_back(heads, relations, word, head, marked):
    """Lifted twice, a word notes its first head; of two heads with the relation, the one that explains the lifting
    comes first."""
    assert not is_projective(heads)
    lifted, names = list(heads), list(relations)
    lifted[word - 1], names[word - 1] = head, marked
    assert lift(heads, relations) == (lifted, names, 1)
    assert unlift(lifted, names) == (heads, relations)


@pytest.mark.parametrize(
    ("heads", "relations", "expected"),
    [
        ([3, 3, 0], ["x↑a", "a", "root"], [2, 3, 0]),
        ([3, 3, 0], ["x↑b", "a", "root"], [3, 3, 0]),
        ([2, 3, 0], ["a", "x↑a", "root"], [2, 3, 0]),
        ([2, 0, 2], ["a", "root↑a", "b"], [2, 0, 2]),
        ([0, 1, 1, 2, 3], ["root", "p", "q", "a", "x↑a"], [0, 1, 1, 2, 3]),
        ([0, 1, 1, 1], ["root", "a", "a", "x↑a"], [0, 1, 1, 2]),
    ],
    ids=["short arc", "no such relation", "own dependent", "root", "not below the head", "leftmost"],
)
def test_where_unlifting_takes_a_word(heads, relations, expected):
    assert unlift(heads, relations)[0] == expected


def test_relations_with_the_mark_are_refused():
    with pytest.raises(StructronError, match="relation 'a↑b' contains ↑"):
        lift([0, 1], ["root", "a↑b"])


@pytest.mark.corpora
def test_treebanks_come_back(corpora):
    """Nine in ten lifted words of all dev parts together: one treebank alone has too few of them, or ambiguous ones."""
    lifted_words = lost_words = 0
    for path in sorted(corpora.glob("ud-*/dev.conllu.gz")):
        for sentence in read(path):
            heads, relations = [int(row[6]) for row in sentence.rows], [row[7] for row in sentence.rows]
            lifted, marked, count = lift(heads, relations)
            back, names = unlift(lifted, marked)
            assert check_tree(heads) is check_tree(lifted) is check_tree(back) is None
            assert is_projective(lifted)
            assert names == relations
            lifted_words += count
            lost_words += sum(a != b for a, b in zip(heads, back, strict=True))
    if not lifted_words:
        pytest.skip("no treebanks")
    assert lost_words < 0.1 * lifted_words, f"{lost_words} of {lifted_words} words did not come back"


@given(st.integers(1, 7).flatmap(lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n)))
def test_several_roots_are_lifted_too(heads):
    """Forests are checked, and become projective ones."""
    rooted = check_tree(heads, many_roots=True) is None
    assert rooted or check_tree(heads) is not None
    if rooted:
        lifted, _, _ = lift(heads, None)
        assert is_projective(lifted)
        assert check_tree(lifted, many_roots=True) is None
