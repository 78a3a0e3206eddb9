"""Tags and chunks together: the search against enumeration, chunk labels always in order, guesses and templates."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import problems
from structron import JointTagger, StructronError
from structron.eval.scores import joint_scores
from structron.io.columns import pair_columns
from structron.tasks.chain.constraints import legal_transitions
from structron.tasks.joint.encoder import PairEncoder, Pairs
from structron.tasks.joint.inputs import Guesser, JointTemplates
from structron.tasks.joint.problem import make_problem
from structron.text import schemes
from stubs import dictionary_of, extras_of, sentences_at
from toy import chunk_rows

TOY = [sentence for sentence in chunk_rows(170, 3) if sentence]
TRAIN, DEV = TOY[:120], TOY[120:]
COLUMNS = ["word", "pos", "chunk"]
SMALL = {"templates": ["w[0]", "suffix2[0]", "guess[1]", "t[-1]|c[-1]", "t[-1]|w[0]"], "passes": 2, "cutoff": 0}
CHUNKS = {
    "iob2": ["B-NP", "I-NP", "B-VP", "I-VP", "O"],
    "iob1": ["B-NP", "I-NP", "I-VP", "O"],
    "iobes": ["B-NP", "I-NP", "E-NP", "S-NP", "O"],
}


@pytest.fixture(scope="module")
def tagger() -> JointTagger:
    return JointTagger(columns=COLUMNS, passes=5).fit(TRAIN)


# -- the problem ---------------------------------------------------------------------------------------------------


def random_pairs(rng: np.random.Generator, chunks: list[str]) -> Pairs:
    """Some pairs of three tags and the chunk labels; every one of both is in some pair."""
    together = rng.random((3, len(chunks))) < 0.4
    together[rng.integers(3, size=len(chunks)), np.arange(len(chunks))] = True
    together[np.arange(3), rng.integers(len(chunks), size=3)] = True
    return Pairs(["D", "N", "V"], chunks, np.argwhere(together).astype(np.int64))


def in_order(allowed: np.ndarray, chunks: list[int]) -> bool:
    return all(allowed[p, c] for p, c in zip([0, *(c + 1 for c in chunks)], chunks, strict=False))


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(CHUNKS)), st.sampled_from([1, 2, None]))
@settings(max_examples=60)
def test_search_against_enumeration(seed, scheme, beam):
    """Whatever the weights: chunk labels in a legal order, pairs seen together; without a limit the best of them."""
    rng = np.random.default_rng(seed)
    chunks = CHUNKS[scheme]
    pairs = random_pairs(rng, chunks)
    allowed = legal_transitions(chunks, scheme, ())
    texts = ["c[-1]|t[-1]", "c[-1]|x[0]", "t[-1]|t[-2]", "c[-2]", "x[0]"]
    masks = np.concatenate([np.ones((1, 3), bool), np.eye(3, dtype=bool)])
    starts = np.cumsum([0, *rng.integers(1, 4, size=3)]).astype(np.int64)
    mask_of = rng.integers(4, size=int(starts[-1]))
    extra = rng.integers(-1, 3, size=int(starts[-1]))
    encoder = PairEncoder(pairs, texts, allowed, dictionary_of(masks, mask_of), extras_of([extra], [3]))
    inputs, problem = encoder.inputs(sentences_at(starts), 0, 3), encoder.problem
    weights = problems.random_weights(problem, rng)
    model = problems.model_of(problem, weights)
    nothing = model.anchor((np.zeros(int(starts[-1]) + 1, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.float32)))
    found, scores = model.decode(inputs, beam, anchored=nothing)
    seen = {tuple(pair) for pair in pairs.pairs.tolist()}
    for (lo, hi), actions, score in zip(pairwise(starts.tolist()), found, scores, strict=True):
        own = pairs.pairs[actions].tolist()
        assert in_order(allowed, [chunk for _, chunk in own])
        problem.table = inputs.table
        space = problems.Space(problem, inputs.x[lo:hi])
        assert score == space.score(weights, tuple(actions))
        legal = [
            way
            for way in product(range(len(pairs.pairs)), repeat=hi - lo)
            if all(masks[mask_of[lo + i], pairs.pairs[a, 0]] for i, a in enumerate(way))
            and in_order(allowed, pairs.pairs[list(way), 1].tolist())
        ]
        assert {tuple(pair) for pair in own} <= seen
        if legal:
            assert tuple(actions) in legal
            if beam is None:
                assert score == max(space.score(weights, way) for way in legal)


def test_a_pairs_score_is_that_of_tag_chunk_and_pair():
    pairs = np.array([[0, 0], [0, 1], [1, 1]])
    problem = make_problem(["D", "N"], ["B-NP", "O"], pairs, ["t[-1]"], [], np.ones((3, 2), bool))
    assert problem.actions == ["D/B-NP", "D/O", "N/O"]
    assert problem.parts.tolist() == [[0, 2, 4], [0, 3, 5], [1, 3, 6]]
    problem.check(np.ones((3, 1), np.int64) * 0, [0, 2, 1])


# -- learning and labelling ----------------------------------------------------------------------------------------


def test_it_learns(tagger):
    scores = tagger.evaluate(DEV)
    assert scores.f1 == tagger.score(DEV) > 75
    assert scores.accuracy > 80
    assert scores.joint_accuracy <= min(scores.accuracy, scores.chunk_accuracy)
    found = tagger.predict(DEV)
    assert scores == joint_scores([[(tag, chunk) for _, tag, chunk in s] for s in DEV], found)
    assert tagger.predict_columns(DEV[:2]) == [[[t for t, _ in s], [c for _, c in s]] for s in found[:2]]


def test_words_alone_are_the_input(tagger):
    """The output columns may be there, wrong or missing: nobody looks at them."""
    found = tagger.predict(DEV)
    assert found == tagger.predict([[word for word, _, _ in s] for s in DEV])
    assert found == tagger.predict([[[word] for word, _, _ in s] for s in DEV])
    assert found == tagger.predict([[(word, "X", "I-NP") for word, _, _ in s] for s in DEV])
    assert tagger.needed_ == {"word"}


@pytest.mark.parametrize("scheme", ["iob1", "iobes"])
def test_other_schemes(scheme):
    def converted(data):
        spelled = [schemes.convert([row[2] for row in s], "iob2", scheme) for s in data]
        return [[[*r[:2], c] for r, c in zip(s, own, strict=True)] for s, own in zip(data, spelled, strict=True)]

    tagger = JointTagger(**SMALL).fit(converted(TRAIN))
    assert tagger.scheme_ == scheme
    found = [[chunk for _, chunk in s] for s in tagger.predict(DEV)]
    steps = [step for labels in found for step in zip([None, *labels], labels, strict=False)]
    assert all(schemes.allowed(a, b, scheme) for a, b in steps)


# -- guesses and templates -----------------------------------------------------------------------------------------


def test_guesses_are_counts():
    words = ["dog"] * 10 + ["run"] * 4 + ["Abc", "Abd", "Abe"]
    tags = ["NN"] * 10 + ["VB", "VB", "NN", "VB"] + ["NNP", "NNP", "JJ"]
    chunks = ["I-NP"] * 9 + ["B-NP"] + ["B-VP"] * 4 + ["B-NP"] * 3
    guesser = Guesser.learn(words, tags, chunks, rare=1)
    assert guesser("dog") == ["NN", "NN", "I-NP"]
    assert guesser("run") == ["VB", "NN|VB", "B-VP"]
    # three words of a capital and small letters: two NNP, one JJ; all of them seen once, so by spelling
    assert guesser("Abc") == guesser("Xyz") == ["~NNP", "~JJ|NNP", "~B-NP"]
    assert guesser("12") == ["~", "~", "~"]
    assert Guesser.take(guesser.tensors())("Xyz") == guesser("Xyz")


def test_templates_are_taken_apart():
    roles = pair_columns(["w", "lemma", "pos", "chunk"])
    found = JointTemplates.of(["w[0]", "t[-1]", "c[-2]|t[-1]|lemma[0]", "w[0]|w[1]|y[-1]", "lemma[0] &y"], roles)
    assert [str(t) for t in found.tokens] == ["w[0]", "lemma[0]&y", "w[0]|w[1]&y"]
    assert found.history == ["t[-1]", "c[-2]|t[-1]|x[0]", "c[-1]|t[-1]|x[1]", "c[-1]|t[-1]|x[0]"]
    assert JointTemplates.of(["w[0]"], roles).history == ["t[-1]|c[-1]"]
    assert len(JointTemplates.of("default", roles).tokens) > 20


# -- looking in, and mistakes --------------------------------------------------------------------------------------


def test_heaviest_features(tagger):
    assert {"tag NN", "chunk B-NP"} <= tagger.inspect(top=3).labels.keys()
    (pair,) = tagger.inspect("NN/I-NP").labels
    assert pair == "NN/I-NP"
    heaviest = tagger.inspect("I-NP", top=50).labels["chunk I-NP"]
    assert any("t[-1]=" in weight.feature or "c[-1]=" in weight.feature for weight in heaviest)


BAD = {
    "strings": ([["dog"]], {}, "words without labels"),
    "two columns": ([[["dog", "B-NP"]]], {}, "2; expected the word, its tag and its chunk label"),
    "one tag": ([[["a", "N", "O"], ["b", "N", "B-NP"]]], {}, r"column 'pos': only one label \(N\)"),
    "one chunk": ([[["a", "N", "O"], ["b", "V", "O"]]], {}, r"column 'label': only one label \(O\)"),
    "ragged": ([[["a", "N", "O"], ["b", "V"]]], {}, "sentence 1, token 2: 2 columns; expected rows of 3 columns"),
    "pos": (TRAIN, {"pos": "tag"}, "unknown pos column 'tag'; expected one of: word, pos, label"),
    "label": (TRAIN, {"label": "np"}, "unknown label column 'np'"),
    "the same": (TRAIN, {"label": "pos", "pos": "pos"}, "expected three different columns"),
    "template": (TRAIN, {"templates": ["pos[0]"]}, "'pos' is predicted and cannot be an input"),
    "far": (TRAIN, {"templates": ["t[-9]"]}, "at most 8 labels back"),
    "column": (TRAIN, {"templates": ["t[-1]"], "columns": ["t", "pos", "chunk"]}, "column 't': templates use this"),
    "tab": ([[["a", "N\tN", "O"]]], {}, "a tab in a label"),
}


@pytest.mark.parametrize(("data", "options", "says"), BAD.values(), ids=BAD)
def test_bad_data_and_options(data, options, says):
    with pytest.raises(StructronError, match=says):
        JointTagger(passes=1, **options).fit(data)


def test_bad_sentences_to_label(tagger):
    with pytest.raises(StructronError, match="sentence 1, token 1: 2 columns; expected rows of 3 columns"):
        tagger.predict([[["a", "N"]]])
