"""Search among a few labels for each token against a list of all labellings."""

import numpy as np
import pytest
from hypothesis import given

from lattices import problems, random_problem
from structron.search.chain.choices import decode, decode_with_margins, make_room, search, through

ROUNDING = 1e-4


@given(problems())
def test_the_best_labelling_and_its_score(problem):
    """Among equals the label that stands first, from the last token backwards."""
    lattice, cells, room = problem.lattice, problem.cells, make_room(problem.lattice)
    for s in range(len(lattice.starts) - 1):
        score = search(lattice, cells, *problem.how, s, room)
        found = tuple(room.z[: lattice.starts[s + 1] - lattice.starts[s]].tolist())
        every = problem.scores(s)
        assert score == pytest.approx(max(every.values()), abs=ROUNDING)
        assert every[found] == pytest.approx(score, abs=ROUNDING)
        if all(w == int(w) for w in problem.w.values()):
            assert found == problem.best(s)


@given(problems())
def test_the_best_labelling_through_every_choice(problem):
    lattice, cells, room = problem.lattice, problem.cells, make_room(problem.lattice)
    out = np.zeros(len(lattice.choice), np.float32)
    for s in range(len(lattice.starts) - 1):
        if lattice.starts[s] == lattice.starts[s + 1]:
            continue
        through(lattice, cells, *problem.how, s, room, out)
        every, place = problem.scores(s), int(lattice.first[lattice.starts[s]])
        for i, own in enumerate(problem.choices(s)):
            for label in own:
                expected = max(score for y, score in every.items() if y[i] == label)
                assert out[place] == pytest.approx(expected, abs=ROUNDING)
                place += 1


@given(problems())
def test_margins(problem):
    lattice, room = problem.lattice, make_room(problem.lattice)
    tokens, sentences = int(lattice.starts[-1]), len(lattice.starts) - 1
    plain, out, sure = np.zeros(tokens, np.int64), np.zeros(tokens, np.int64), np.zeros(tokens, np.float32)
    scores, every = np.zeros(sentences, np.float32), np.zeros(len(lattice.choice), np.float32)
    decode(lattice, problem.cells, *problem.how, room, plain, scores)
    decode_with_margins(lattice, problem.cells, *problem.how, room, out, scores, every, sure)
    assert (plain == out).all()
    for s in range(sentences):
        start, found = int(lattice.starts[s]), problem.scores(s)
        for i in range(start, int(lattice.starts[s + 1])):
            others = [score for y, score in found.items() if y[i - start] != out[i]]
            expected = scores[s] - max(others) if others else np.inf
            assert sure[i] == pytest.approx(expected, abs=ROUNDING)


def test_weights_beyond_reason_lead_nowhere_else():
    """A file may hold any finite weight: there is always a choice before."""
    problem = random_problem(3, 3, [4, 4], True)
    problem.w = dict.fromkeys(problem.w, -3e38)
    lattice, room = problem.lattice, make_room(problem.lattice)
    out, scores = np.full(8, -1), np.zeros(2, np.float32)
    decode(lattice, problem.cells, *problem.how, room, out, scores)
    choices = [own for s in range(2) for own in problem.choices(s)]
    assert all(label in own for label, own in zip(out.tolist(), choices, strict=True))


def test_no_sentences():
    problem = random_problem(0, 3, [], True)
    out, scores = np.zeros(0, np.int64), np.zeros(0, np.float32)
    decode(problem.lattice, problem.cells, *problem.how, make_room(problem.lattice), out, scores)
