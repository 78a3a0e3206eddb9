"""Lemmas letter by letter: alignment, legal actions, what is learned beyond scripts that were seen, files."""

from functools import cache
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structron
from structron import Lemmatizer, StructronError
from structron.io import modelfile
from structron.io.tensors import pack_json, unpack_json
from structron.search.beam.problem import Walk
from structron.tasks import transducer
from structron.tasks.transducer import Speller, aligned, make_letters, settle, spelled
from structron.text.scripts import apply_lemma

WORDS = st.text("abÉéç", min_size=1, max_size=6)
STEMS = [f"{a}{b}{c}" for a in "kmst" for b in "aeiou" for c in "lnrsp"]
ENDINGS = ("ler", "im", "de", "ki")


def price(form, lemma):
    """The least price of all ways, by trying them."""

    @cache
    def least(i, j):
        found = [0.0] if (i, j) == (len(form), len(lemma)) else []
        if i < len(form) and j < len(lemma):
            same = form[i] == lemma[j] or form[i].lower() == lemma[j]
            found.append(least(i + 1, j + 1) + (0.0 if same else 1.5))
        found += [1 + least(i + 1, j)] if i < len(form) else []
        found += [1 + least(i, j + 1)] if j < len(lemma) else []
        return min(found)

    return least(0, 0)


def made(form, steps):
    """What steps make of a form, by hand."""
    i, found = 0, ""
    for kind, letter in steps:
        found += {"copy": form[i : i + 1], "lower": form[i : i + 1].lower()}.get(kind, letter)
        i += kind not in ("add", "end")
    assert i == len(form)
    return found


@given(WORDS, WORDS)
def test_the_cheapest_way(form, lemma):
    steps = aligned(form, lemma)
    assert steps[-1] == ("end", "")
    assert made(form, steps[:-1]) == lemma
    assert sum({"put": 1.5, "add": 1.0, "delete": 1.0}.get(kind, 0.0) for kind, _ in steps) == price(form, lemma)
    kinds = [kind for kind, _ in steps]
    assert ("delete", "add") not in pairwise(kinds)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_what_training_shows_is_legal_and_spells_the_lemma(pairs):
    pairs = [*pairs, *pairs]  # each change twice, so that it counts
    steps = [aligned(*pair) for pair in pairs]
    letters = settle((form, own) for (form, _), own in zip(pairs, steps, strict=True))
    nothing = np.empty(0, np.int64)
    speller = Speller(letters, [("N",)], nothing, nothing)
    for (form, lemma), own in zip(pairs, steps, strict=True):
        actions = letters.derivation(form, own)
        added = max(map(len, "".join("a" if kind == "add" else " " for kind, _ in own).split()), default=0)
        assert (actions is None) == (added > transducer.MOST_ADDED or not any(kind != "delete" for kind, _ in own[:-1]))
        if actions is not None:
            Walk(speller.problem, speller.encode([(form, ("N",))])[0], 0).run(actions)
            assert letters.written(form, actions) == lemma


@given(st.lists(st.text("abÉc\u0130z", max_size=12), max_size=4))
def test_letters_as_numbers(forms):
    """As one would write them down, form by form."""
    letters = make_letters(list("abcé"), [], [])
    speller = Speller(letters, [("N", "x"), ()], np.empty(0, np.int64), np.empty(0, np.int64))
    rows = [(form, (("N", "x"), ("V",), ())[k % 3]) for k, form in enumerate(forms)]
    x, starts = speller.encode(rows, range(len(rows)))
    assert starts.tolist() == [0, *np.cumsum([len(form) + 1 for form in forms]).tolist()]
    for k, (form, tags) in enumerate(rows):
        own, small = x[starts[k] : starts[k + 1]], letters.of(letter.lower()[0] for letter in form)
        assert own[:, transducer.LETTER].tolist() == [*letters.of(form), transducer.STOP]
        assert own[:, transducer.SMALL].tolist() == [*small, transducer.STOP]
        long = [0] * (len(form) - transducer.LONGEST_REST)
        assert own[:, transducer.REST].tolist() == long + [
            1 + spelled(small[i:]) for i in range(len(long), len(form) + 1)
        ]
        assert (own[:, transducer.TAG] == {("N", "x"): 1, (): 2}.get(tags, 0)).all()
        assert (own[:, transducer.POS] == (tags[:1] == ("N",))).all()
        assert (own[:, transducer.OWN] == k).all()


def test_actions_by_hand():
    letters = make_letters(list("abkpt"), [("b", "p")], [("", "k")])
    assert letters.actions == ["copy", "lower", "delete", "end", "put p", "add k"]
    known = np.array([spelled(letters.of("kap"))])
    speller = Speller(letters, [("N", "Acc")], known, np.empty(0, np.int64))
    walk = Walk(speller.problem, speller.encode([("Kabı", ("N", "Acc"))])[0], 0)
    row = walk.begin()
    assert walk.legal(row) == [0, 2, 1]  # K: copy, delete, lower
    row = walk.step(row, 1)
    assert walk.legal(row) == [0, 2]
    row = walk.step(walk.step(row, 0), 4)
    out = np.zeros(len(speller.problem.composition.atoms), np.int64)
    transducer.atoms(walk.x, speller.problem.table, walk.states, row, out)
    named = dict(zip(speller.problem.composition.atoms, out.tolist(), strict=True))
    assert (named["known"], named["kind"], named["o1"]) == (1, transducer.PUT, letters.number["p"])
    row = walk.step(row, 2)
    assert walk.legal(row) == [3]  # after a letter that is deleted none is added
    assert letters.written("Kabı", [1, 0, 4, 2, 3]) == "kap"


@pytest.fixture(scope="module")
def data():
    """To learn from: each stem with two or three endings that follow each other in ENDINGS. To test: other stems with
    two that do not, or with all."""
    rng = Random(1)
    stems = rng.sample(STEMS, len(STEMS))
    seen = [(0, 1), (1, 2), (2, 3), (0, 1, 2), (1, 2, 3)]
    new = [(0, 2), (0, 3), (1, 3), (0, 1, 2, 3)]
    learned, test = (
        [(stem + "".join(ENDINGS[k] for k in own), "NOUN", stem) for stem in some for own in combinations]
        for some, combinations in ((stems[:70], seen), (stems[70:], new))
    )
    return learned, test


@pytest.fixture(scope="module")
def lemmatizer(data):
    return Lemmatizer(columns=["form", "upos", "lemma"], letters=True, cutoff=0).fit([[row] for row in data[0]])


def test_endings_in_new_combinations(data, lemmatizer, tmp_path):
    test = [[row[:2]] for row in data[1]]
    plain = Lemmatizer(columns=["form", "upos", "lemma"], cutoff=0).fit([[row] for row in data[0]])
    right = [
        sum(a == [row[2]] for a, row in zip(own.predict(test), data[1], strict=True)) for own in (plain, lemmatizer)
    ]
    assert 4 * right[0] < 0.75 * len(test) < right[1]
    known = [[row[:2]] for row in data[0]]
    assert lemmatizer.predict(known) == plain.predict(known)  # words of training data have their scripts
    assert lemmatizer.predict(test, jobs=2) == lemmatizer.predict(test)
    lemmatizer.save(tmp_path / "m")
    again = structron.load(tmp_path / "m")
    assert again.predict_with_margins(test) == lemmatizer.predict_with_margins(test)
    again.save(tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


def test_tags_of_a_word_that_are_the_same_come_back():
    """Many treebanks write UPOS into XPOS too, or `_` for both."""
    tags = ("N", "N", "_")
    learned = Speller.learn([(f"{stem}im", tags, stem) for stem in STEMS[:6]], 1)
    again = Speller.take(learned.tensors())
    assert again([("tonim", tags), ("lim", ("_", "_", "_"))]) == learned([("tonim", tags), ("lim", ("_", "_", "_"))])
    letters = unpack_json(learned.tensors()["letters"])[:3]
    for odd in ([["N", 1]], ["NN"], [["N", []]]):
        with pytest.raises(ValueError, match="tags do not fit"):
            Speller.take(learned.tensors() | {"letters": pack_json([*letters, odd])})


def test_why_a_lemma_was_spelled(lemmatizer, data):
    row = data[1][0]
    decision, known = lemmatizer.explain([row[:2], data[0][0][:2]], top=10_000)
    ((lemma, margin),) = lemmatizer.speller_([(row[0], ("NOUN",))])
    assert lemmatizer.predict_with_margins([[row[:2]]]) == ([[lemma]], [[np.float32(margin)]])
    assert apply_lemma(decision.label, row[0]) == lemma != apply_lemma(decision.runner_up, row[0])
    assert sum(reason.weight for reason in decision.because) == pytest.approx(decision.margin, rel=1e-4)
    assert decision.margin == pytest.approx(margin)
    assert any("pos=NOUN" in reason.feature or "NOUN" in reason.feature for reason in decision.because)
    assert apply_lemma(known.label, data[0][0][0]) == data[0][0][2]


@pytest.mark.parametrize("odd", ["", "a", "É", "1,5", "İstanbul", "\U0001d538b"])
def test_any_word_has_a_lemma(lemmatizer, odd):
    (found,) = lemmatizer.predict([[(odd, "NOUN"), (odd + "ler", "XYZ")]])
    assert all(isinstance(lemma, str) for lemma in found)


def test_tags_may_be_alike(tmp_path):
    """An XPOS that is the UPOS, as in Greek, does not make a file that cannot be read."""
    rows = [[(stem + ending, "NOUN", "NOUN", stem)] for stem in STEMS[:20] for ending in ENDINGS[:2]]
    model = Lemmatizer(columns=["form", "upos", "xpos", "lemma"], letters=True, cutoff=0).fit(rows)
    assert ("NOUN", "NOUN") in model.speller_.tags
    model.save(tmp_path / "m")
    assert structron.load(tmp_path / "m").predict(rows) == model.predict(rows)


def test_damaged_files_are_refused(lemmatizer, tmp_path):
    lemmatizer.save(tmp_path / "m")

    def damaged(name, value):
        header, tensors = modelfile.load(tmp_path / "m")
        assert f"speller.{name}" in tensors
        modelfile.save(tmp_path / "odd", header, {**tensors, f"speller.{name}": value(tensors[f"speller.{name}"])})
        with pytest.raises(StructronError, match="odd: damaged model file"):
            structron.load(tmp_path / "odd")

    damaged("letters", lambda array: array[: len(array) // 2])
    damaged("lemmas", lambda array: array.astype(np.float32))
    damaged("keys", lambda array: array[1:])
    damaged("weight", lambda array: array[1:])
