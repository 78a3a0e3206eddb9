"""Non-local features on documents worked by hand, against a slow count, and what they do to learning."""

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
import structron
from helpers import PreparedExamples, learn_passes, make_learner, random_examples, weights_of
from structron import Chunker, Document, StructronError
from structron.features.documents import NonLocalFeatures, Opened
from structron.features.phrases import CONJUNCTIONS, FAMILIES, MAX_PHRASE_WORDS
from structron.learn.bpm import bpm_start
from structron.learn.chain import Chain
from structron.learn.documents import DocumentLearner, NBest
from structron.tasks.chain.constraints import make_dictionary
from structron.text import schemes
from structron.update.nbest import LOCAL_UPDATES, NBestStep, find_update

LABELS = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


class Words:
    """Sentences of words as an extractor prepares them, as far as non-local features look."""

    def __init__(self, documents):
        sentences = [sentence for document in documents for sentence in document]
        self.word_types = sorted({w for s in sentences for w in s}) or ["x"]
        self.word_ids = np.array([self.word_types.index(w) for s in sentences for w in s], np.int64)
        self.starts = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
        self.units = np.cumsum([0, *map(len, documents)]).astype(np.int64)


def counted(document, labellings, labels=LABELS, families=FAMILIES) -> list[dict[str, float]]:
    """The features of labellings (each a list of lists of labels), by name, those that are not 0."""
    features = NonLocalFeatures(labels, families)
    rows = np.array([[labels.index(y) for s in labelling for y in s] for labelling in labellings], np.int16)
    found = features.of(Opened(Words([document])), 0, rows)
    return [{n: v for n, v in zip(features.names, row.tolist(), strict=True) if v} for row in found]


def one(text: str) -> tuple[list[list[str]], list[list[str]]]:
    """Words and IOB2 labels of a document written as `Paris/LOC is big | in Paris`; `New_York/LOC` is two words."""
    words, labels = [], []
    for sentence in text.split("|"):
        words.append([])
        labels.append([])
        for token in sentence.split():
            phrase, _, kind = token.rpartition("/") if "/" in token else (token, "", "")
            parts = phrase.split("_")
            words[-1] += parts
            labels[-1] += [f"{'BI'[k > 0]}-{kind}" if kind else "O" for k in range(len(parts))]
    return words, labels


# -- worked documents ----------------------------------------------------------------------------------------------


WORKED = {
    "phrase": [
        # two of three occurrences are LOC, one is outside: pairs LOC-LOC 1, O-LOC 2, both ways, over 2 others
        ("Paris/LOC is | Paris was | in Paris/LOC", {"LOC,LOC": 1.0, "O,LOC": 2.0}),
        ("Paris/LOC is | Paris/PER was", {"LOC,PER": 2.0}),
        ("New_York/LOC is | New_York/LOC was", {"LOC,LOC": 2.0}),
        # no occurrence is an entity, or there is one only: nothing
        ("Paris is | Paris was", {}),
        ("Paris/LOC is", {}),
        # an occurrence within a longer entity is a matter of sub-phrases
        ("Paris/LOC is | Paris_Hilton/PER was", {}),
        # lower case is no phrase
        ("de/LOC is | de was", {}),
    ],
    "phrase-majority": [
        ("Paris/LOC is | Paris was | in Paris/LOC", {"LOC,LOC": 2.0, "O,LOC": 1.0}),
        ("Paris/LOC | Paris | Paris", {"LOC,O": 1.0, "O,O": 2.0}),
        ("Paris/LOC | Paris", {"LOC,LOC": 1.0, "O,LOC": 1.0}),  # of equals, a class
    ],
    "sub-phrase": [
        ("Bill_Clinton/PER said | Clinton/PER too", {"PER,PER": 1.0}),
        ("Bill_Clinton/PER said | Clinton/LOC too", {"PER,LOC": 1.0}),
        ("Bill_Clinton/PER said | Clinton too", {"PER,O": 1.0}),
        # Clinton is in one PER and one LOC: half of each; Bill and Bill Clinton do not occur elsewhere
        ("Bill_Clinton/PER | Clinton_County/LOC | Clinton/PER", {"PER,PER": 0.5, "LOC,PER": 0.5}),
        ("Bill_Clinton/PER said", {}),
    ],
    "sub-phrase-majority": [
        (
            "Bill_Clinton/PER | Hillary_Clinton/PER | Clinton_County/LOC | Clinton/LOC | Clinton",
            {"PER,LOC": 1.0, "PER,O": 1.0},
        ),
    ],
    "conjunction": [
        ("in Paris/LOC and Rome/LOC", {"LOC,LOC": 1.0}),
        ("in Paris/LOC , Rome/PER , and Bonn/LOC", {"LOC,PER": 1.0, "PER,LOC": 1.0}),
        ("in Paris/LOC or Rome", {"LOC,O": 1.0}),
        ("in Paris/LOC and left", {}),  # not a name at all
        ("Rome and Paris/LOC", {"O,LOC": 1.0}),
        ("in Paris/LOC | and Rome/LOC", {}),  # another sentence
        ("New_York/LOC and San_Jose/LOC", {"LOC,LOC": 1.0}),
    ],
}


@pytest.mark.parametrize(
    ("family", "text", "expected"), [(family, *case) for family, cases in WORKED.items() for case in cases]
)
def test_features_by_hand(family, text, expected):
    words, labels = one(text)
    assert counted(words, [labels], families=[family]) == [{f"{family}={name}": n for name, n in expected.items()}]


def test_a_family_that_is_not_asked_for_does_not_count():
    words, labels = one("Paris/LOC and Paris/PER")
    assert set(counted(words, [labels])[0]) == {
        "phrase=LOC,PER",
        "phrase-majority=LOC,LOC",
        "phrase-majority=PER,LOC",
    } | {"conjunction=LOC,PER"}
    assert counted(words, [labels], families=[]) == [{}]


# -- a slow count --------------------------------------------------------------------------------------------------


def is_proper(word: str) -> bool:
    return not word.islower() and any(c.isalpha() for c in word)


def slow(document, labels, classes) -> dict[str, float]:
    """The definitions in the module, phrase by phrase, for one labelling."""
    out: Counter = Counter()
    occurrences: dict = {}
    for s, words in enumerate(document):
        for n in range(1, MAX_PHRASE_WORDS + 1):
            for i in range(len(words) - n + 1):
                if is_proper(words[i]) and is_proper(words[i + n - 1]):
                    occurrences.setdefault(tuple(words[i : i + n]), []).append((s, i, i + n))
    entities = {(s, a, b): kind for s, row in enumerate(labels) for kind, a, b in schemes.spans(row)}
    order = ["O", *classes]

    def top(counts):
        best = max(classes, key=lambda k: (counts[k], -order.index(k)))
        return "O" if counts["O"] > counts[best] else best

    for places in occurrences.values():
        if len(places) < 2:
            continue
        own, longer = Counter(), Counter()
        for s, a, b in places:
            around = [kind for (t, x, y), kind in entities.items() if t == s and x <= a and b <= y and (x, y) != (a, b)]
            if (s, a, b) in entities:
                own[entities[s, a, b]] += 1
            elif all(label == "O" for label in labels[s][a:b]):
                own["O"] += 1
            elif around:
                longer[around[0]] += 1
        total, inside = sum(own.values()), sum(longer.values())
        if total > 1 and own["O"] < total:
            for x, y in product(order, order):
                if order.index(x) <= order.index(y):
                    pairs = own[x] * (own[x] - 1) if x == y else 2 * own[x] * own[y]
                    out[f"phrase={x},{y}"] += pairs / (total - 1)
                out[f"phrase-majority={x},{y}"] += own[x] if y == top(own) else 0
        if total and inside:
            for x, y in product(classes, order):
                out[f"sub-phrase={x},{y}"] += own[y] * longer[x] / inside
                out[f"sub-phrase-majority={x},{y}"] += own[y] if x == top(longer) else 0
    for s, words in enumerate(document):
        joins = [w.lower() in CONJUNCTIONS for w in words]
        for i in range(1, len(words)):
            if joins[i] and not joins[i - 1]:
                after = i + 2 if i + 1 < len(words) and joins[i + 1] else i + 1
                if after < len(words):
                    left = next((k for (t, _, b), k in entities.items() if t == s and b == i), "O")
                    right = next((k for (t, a, _), k in entities.items() if t == s and a == after), "O")
                    both = left != "O" and right != "O"
                    if both or (left != "O" and is_proper(words[after])) or (right != "O" and is_proper(words[i - 1])):
                        out[f"conjunction={left},{right}"] += 1
    return {name: value for name, value in out.items() if value}


@st.composite
def labelled(draw):
    words = st.sampled_from(["A", "B", "Cd", "and", ",", "x"])
    document = draw(st.lists(st.lists(words, max_size=6), min_size=1, max_size=4))
    scheme = draw(st.sampled_from(["iob2", "iobes"]))
    letters = {"iob2": "BI", "iobes": "BIES"}[scheme]
    labels = ["O", *(f"{letter}-{kind}" for letter in letters for kind in ("LOC", "PER"))]
    labelling = st.tuples(*(st.lists(st.sampled_from(labels), min_size=len(s), max_size=len(s)) for s in document))
    return document, labels, draw(st.lists(labelling, min_size=1, max_size=5))


@given(labelled())
@settings(max_examples=300)
def test_features_agree_with_a_slow_count(problem):
    """Any labels, legal or not, and candidates that differ anywhere from the first."""
    document, labels, labellings = problem
    found = counted(document, labellings, labels)
    for got, labelling in zip(found, labellings, strict=True):
        expected = slow(document, labelling, ["LOC", "PER"])
        every = sorted({*got, *expected})
        assert [got.get(n, 0.0) for n in every] == pytest.approx([expected.get(n, 0.0) for n in every], abs=1e-9)


# -- the algorithms ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("local", "total", "correct", "how", "expected"),
    [
        # y' is wrong and close enough: (A) away from it
        ([0, -1], [0, 5], (0, 0.0, 0.0), "aggressive", NBestStep(1, False)),
        # y' is right, the second too close: (A) away from that
        ([0, -1], [8, 5], (0, 0.0, 8.0), "aggressive", NBestStep(1, False)),
        # total model right by more than C, local one wrong: (B), not with 4.1, and not conservatively if y* is there
        ([0, -1], [0, 50], (1, -1.0, 50.0), "aggressive", NBestStep(0, True)),
        ([0, -1], [0, 50], (1, -1.0, 50.0), "conservative", None),
        ([0, -1], [0, 50], (1, -1.0, 50.0), "none", None),
        ([0, -1], [0, 50], (1, -1.0, 50.0), "sentences", None),
        # not among the candidates, but better than all of them by more than C: (B), conservatively too
        ([0, -1], [0, 5], (-1, -3.0, 50.0), "aggressive", NBestStep(0, True)),
        ([0, -1], [0, 5], (-1, -3.0, 50.0), "conservative", NBestStep(0, True)),
        # both right; the local second best too close: (B) away from it
        ([0, -1], [50, 5], (0, 0.0, 50.0), "aggressive", NBestStep(1, True)),
        ([0, -11], [50, 5], (0, 0.0, 50.0), "aggressive", None),
        # one candidate only
        ([0], [0], (0, 0.0, 0.0), "aggressive", None),
        ([0], [3], (-1, -2.0, 1.0), "none", NBestStep(0, False)),
    ],
)
def test_updates_of_algorithms_4_1_and_4_2(local, total, correct, how, expected):
    assert find_update(np.array(local, float), np.array(total, float), correct, 10.0, 10.0, how) == expected


def test_separate_margins():
    scores = np.array([0.0, -1.0]), np.array([50.0, 5.0])
    assert find_update(*scores, (0, 0.0, 50.0), 10.0, 0.5) is None
    assert find_update(*scores, (0, 0.0, 50.0), 45.0, 0.5) == NBestStep(1, False)


def non_local_learner(examples, labels, order, margin, sources=(), units=None, average="none", values=False, **options):
    prepared = PreparedExamples(examples, values)
    if units is not None:
        prepared.units = np.array(units)
    gold = np.array([labels.index(label) for x in examples for label in x.y], np.int64)
    everything = np.ones((len(labels) + 1, len(labels)), bool)
    chain = Chain(labels, order, everything, everything, make_dictionary(prepared, gold, len(labels), 0), 0, average)
    return DocumentLearner(prepared, gold, chain, margin, NBest(tuple(sources), **options), None)


@pytest.mark.parametrize("average", ["none", "mean"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("how", ["aggressive", "conservative", "none"])
def test_without_non_local_features_and_two_candidates_it_is_the_margin_perceptron(order, how, average):
    rng = np.random.default_rng(3)
    labels = ["A", "B", "C"]
    examples = random_examples(rng, labels, sentences=8, longest=4, shortest=1)
    units = [0, 2, 3, 5, 8]
    passes = [rng.permutation(4).tolist() for _ in range(6)]
    one = make_learner(examples, labels, order, average=average, margin=5.0, units=units)
    two = non_local_learner(examples, labels, order, 5.0, units=units, average=average, candidates=2, local_update=how)
    assert learn_passes(one, passes) == learn_passes(two, passes)
    assert weights_of(one.finish(one.snapshot())) == weights_of(two.finish(two.snapshot()))


def same_first(document, labels):
    """A user's feature: how many sentences begin with the same label as the first."""
    firsts = [row[0] for row in labels if row]
    return {"same": sum(y == firsts[0] for y in firsts)}


@pytest.mark.parametrize("how", ["aggressive", "none"])
@pytest.mark.parametrize("average", ["none", "mean"])
def test_a_step_with_all_candidates_is_that_of_the_paper(how, average):
    """With n large enough the candidates are all labellings: the steps follow from a list of them."""
    rng = np.random.default_rng(5)
    labels = ["A", "B"]
    examples = random_examples(rng, labels, sentences=6, longest=2, shortest=1)
    units, margin = [0, 2, 4, 6], 3.0
    learner = non_local_learner(
        examples, labels, 1, margin, [same_first], units, average, candidates=64, local_update=how
    )
    w, g, sums, checked = {}, 0.0, Counter(), 0
    before = [brute.START, *labels]
    for (p, name), (y, label) in product(enumerate(before), enumerate(labels)):  # no ties at the start
        w["label", name, label] = learner.store.w[p, y] = float(rng.integers(1, 10**6)) / 2**20
    for clock, e in enumerate(rng.integers(3, size=30).tolist(), 1):
        learn_passes(learner, [[e]])
        document = examples[units[e] : units[e + 1]]
        gold = tuple(x.y for x in document)
        scored = []
        for z in product(*(brute.labellings(labels, len(x)) for x in document)):
            phi = sum((brute.phi(x, y, 1) for x, y in zip(document, z, strict=True)), Counter())
            scored.append((brute.dot(w, phi), same_first(None, z)["same"], z, phi))
        right = next(s for s in scored if s[2] == gold)

        def total(s, g=g):
            return s[0] + g * s[1]

        ranked = sorted((s for s in scored if s[2] != gold), key=total, reverse=True)
        step, local = None, False
        if total(right) - total(ranked[0]) <= margin:
            step = ranked[0]
        elif how == "aggressive":
            near = max((s for s in scored if s[2] != gold), key=lambda s: s[0])
            if right[0] - near[0] <= margin:
                step, local = near, True
        if step is not None:
            key = total if not local else lambda s: s[0]
            if sum(key(s) == key(step) for s in scored if s[2] != gold) > 1:
                break  # a tie: which one is taken is a matter of the search
            change = Counter(right[3])
            change.subtract(step[3])
            for name, amount in change.items():
                w[name] = w.get(name, 0.0) + amount
            g += 0 if local else right[1] - step[1]
        for name, amount in w.items():
            sums[name] += amount
        sums["g"] += g
        model = learner.finish(learner.snapshot())
        share = clock if average == "mean" else 1
        expected = {n: v / share for n, v in (sums.items() if average == "mean" else w.items()) if n != "g"}
        assert weights_of(model) == pytest.approx(brute.clean(expected), abs=1e-5)
        assert dict(zip(model.features.names, model.g, strict=True))["same_first=same"] == pytest.approx(
            sums["g"] / clock if average == "mean" else g
        )
        checked += step is not None
    assert checked >= 5


NEAR = 1e-4
"""Scores as near as this are taken for equal: which of them is taken is a matter of the search."""


def print_of_algorithm_4(document, w, g, labels, order, n, margins, proposed):
    """Algorithm 4.1, or 4.2 (proposed), as they are printed, over the list of all labellings.

    Gives the line that makes the update, and the update, local and non-local; None where scores are too near.
    """
    (c_total, c_local), gold = margins, tuple(x.y for x in document)
    local, total, phi_l, phi_g = {}, {}, {}, {}
    for z in product(*(brute.labellings(labels, len(x)) for x in document)):
        phi_l[z] = sum((brute.phi(x, y, order) for x, y in zip(document, z, strict=True)), Counter())
        phi_g[z] = Counter({f"two_features={name}": v for name, v in two_features(None, z).items()})
        local[z], total[z] = brute.dot(w, phi_l[z]), brute.dot(w, phi_l[z]) + brute.dot(g, phi_g[z])
    ranked = sorted(local, key=lambda z: -local[z])
    n_best = ranked[:n]
    by_total = sorted(n_best, key=lambda z: -total[z])
    if any(local[a] - local[b] < NEAR for a, b in pairwise(ranked[: n + 1])):
        return None
    if any(total[a] - total[b] < NEAR for a, b in pairwise(by_total[:3])):
        return None
    if any(abs(s[gold] - s[z] - c) < NEAR for s, c in ((total, c_total), (local, c_local)) for z in n_best):
        return None
    first, second = by_total[0], (by_total[1] if len(by_total) > 1 else None)

    def away_from(z, non_local=True):
        changes = [Counter(phi_l[gold]), Counter(phi_g[gold]) if non_local else Counter()]
        changes[0].subtract(phi_l[z])
        changes[1].subtract(phi_g[z] if non_local else ())
        return changes

    if first != gold and total[gold] - total[first] <= c_total:
        return "A best", away_from(first)
    if second is not None and total[gold] - total[second] <= c_total:
        return "A second", away_from(second)
    if proposed and n_best[0] != gold:
        return ("B best" if gold in n_best else "B missing"), away_from(n_best[0], False)
    if proposed and len(n_best) > 1 and local[gold] - local[n_best[1]] <= c_local:
        return "B second", away_from(n_best[1], False)
    return "none", [Counter(), Counter()]


def two_features(document, labels):
    """A user's features: how many sentences begin as the first one, and how many labels are a B."""
    return {**same_first(document, labels), "b": 1.5 * sum(row.count("B") for row in map(tuple, labels))}


@pytest.mark.parametrize("proposed", [True, False], ids=["algorithm 4.2", "algorithm 4.1"])
def test_every_step_is_that_of_the_printed_algorithm(proposed):
    """For several n, smaller than the number of labellings or not, and Cᵃ ≠ Cˡ: every line of the algorithm is met."""
    lines: Counter = Counter()
    for seed, (n, order, margins) in enumerate(product((1, 2, 3, 99), (1, 2), ((0.5, 4.0), (6.0, 2.0)))):
        rng = np.random.default_rng(seed)
        examples = random_examples(rng, ["A", "B"], sentences=8, longest=2, vocabulary=4)
        for x in examples:  # values of their own, so that few scores are equal
            x.plain = [[(f, float(rng.integers(1, 4096)) / 1024) for f, _ in token] for token in x.plain]
        units, how = [0, 2, 4, 6, 8], "aggressive" if proposed else "none"
        more = {"values": True, "candidates": n, "local_update": how, "local_margin": margins[1]}
        learner = non_local_learner(examples, ["A", "B"], order, margins[0], [two_features], units, **more)
        learner.store.w[:3, :2] = rng.integers(-4096, 4096, (3, 2)) / 1024
        for e in rng.integers(4, size=60).tolist():
            states = []
            for _ in range(2):
                model = learner.finish(learner.snapshot())
                states.append((weights_of(model), dict(zip(model.features.names, model.g.tolist(), strict=True))))
                if len(states) == 1:
                    (updates,) = learn_passes(learner, [[e]])
            (w, g), after = states
            document = examples[units[e] : units[e + 1]]
            found = print_of_algorithm_4(document, w, g, ["A", "B"], order, n, margins, proposed)
            if found is not None:
                line, changes = found
                lines[line] += 1
                assert updates == (line != "none")
                for before, now, change in zip((w, g), after, changes, strict=True):
                    for name in before.keys() | now.keys() | change.keys():
                        expected = before.get(name, 0.0) + change[name]
                        assert now.get(name, 0.0) == pytest.approx(expected, abs=1e-4), (line, name)
    met = {"A best", "A second", "none"} | ({"B best", "B missing", "B second"} if proposed else set())
    assert lines.keys() == met, lines


def test_bpm_start_is_the_mean_of_one_pass_runs():
    labels = ["A", "B", "C"]
    examples = random_examples(np.random.default_rng(9), labels, pairs=True)
    learner = make_learner(examples, labels, 2, pairs=True, margin=2.0)
    bpm_start(learner, 4, seed=3)
    expected: Counter = Counter()
    for run in range(4):
        member = make_learner(examples, labels, 2, pairs=True, average="none", margin=2.0)
        learn_passes(member, [np.random.default_rng([3, 0, run]).permutation(len(examples))])
        for name, amount in weights_of(member.finish(member.snapshot())).items():
            expected[name] += amount / 4
    assert weights_of(learner.finish(learner.snapshot())) == pytest.approx(brute.clean(expected))
    assert learner.stats.tolist() == [0] * len(learner.stats)


# -- as users see it -----------------------------------------------------------------------------------------------


def toy_documents(count: int, seed: int = 1) -> list[Document]:
    """Names whose class shows in one sentence of two: the other sentence needs the document."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        name = f"N{rng.integers(10**6)}"
        kind = ["PER", "LOC"][rng.integers(2)]
        clear = [(["he"] if kind == "PER" else ["near"])[0], "O"]
        found.append(Document([[clear, [name, f"B-{kind}"], ["."] + ["O"]], [["see", "O"], [name, f"B-{kind}"]]]))
    return found


OPTIONS = {"templates": ["w[-1]", "w[0]"], "margin": 5.0, "passes": 6, "runs": 1}


@pytest.mark.parametrize("how", LOCAL_UPDATES)
def test_what_one_sentence_shows_helps_another(how):
    train, test = toy_documents(80), toy_documents(40, 2)
    local = Chunker(**OPTIONS).fit(train)
    both = Chunker(**OPTIONS, non_local=["phrase"], local_update=how).fit(train)
    assert local.score(test) < 90
    assert both.score(test) > 97
    assert both.predict(test[:1]) == [[[y for _, y in s] for s in test[0]]]


def agree(document, labels):
    """Whether all entities of the document are of one class."""
    kinds = {kind for row in labels for kind, _, _ in schemes.spans(row)}
    return ["one"] if len(kinds) == 1 else ["several"]


def test_a_function_of_the_user_is_learned_saved_and_given_again(tmp_path):
    train, test = toy_documents(80), toy_documents(40, 2)
    model = Chunker(**OPTIONS, non_local=[agree]).fit(train)
    assert model.score(test) > 97
    model.save(tmp_path / "m")
    with pytest.raises(StructronError, match=r"non_local=\[agree"):
        structron.load(tmp_path / "m")
    again = structron.load(tmp_path / "m", non_local=[agree])
    assert again.predict(test) == model.predict(test)
    assert again.nbest(test[:2], 3) == model.nbest(test[:2], 3)


def test_a_function_that_fails_is_named_with_the_document():
    def broken(document, labels):
        raise KeyError("oh")

    with pytest.raises(StructronError, match=r"non-local feature 'broken': document \d+ .*KeyError"):
        Chunker(**OPTIONS, non_local=[broken]).fit(toy_documents(3))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_function_that_returns_no_number_is_named(value):
    def odd(document, labels):
        return {"x": value}

    with pytest.raises(StructronError, match=r"non-local feature 'odd': document \d+ .*odd=x is (nan|inf)"):
        Chunker(**OPTIONS, non_local=[odd]).fit(toy_documents(3))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"non_local": ["frase"]}, "unknown non-local feature 'frase'"),
        ({"non_local": ["phrase", "phrase"]}, "occurs twice"),
        ({"non_local": [3]}, "expected a name or a function"),
        ({"non_local": ["phrase"], "beam": 4}, "needs exact search"),
        ({"non_local": ["phrase"], "average": "voted"}, "voted"),
    ],
)
def test_bad_parameters(options, expected):
    with pytest.raises(StructronError, match=expected):
        Chunker(**(OPTIONS | options)).fit(toy_documents(5))


def test_built_in_features_need_chunk_labels():
    data = [[["a", "X"], ["b", "Y"]]]
    with pytest.raises(StructronError, match="expected labels such as B-PER"):
        Chunker(**OPTIONS, non_local=["phrase"]).fit(data)


def test_training_goes_on_with_new_classes():
    model = Chunker(**OPTIONS, non_local=["phrase", agree]).fit(toy_documents(40))
    more = [
        Document([[word, label.replace("LOC", "ORG")] for word, label in sentence] for sentence in document)
        for document in toy_documents(40, 5)
    ]
    assert model.partial_fit(more).score(more) > 90
    assert {"phrase=ORG,ORG", "phrase=LOC,LOC", "agree=one"} <= set(model.model_.features.names)


def test_what_documents_weigh_is_shown():
    model = Chunker(**OPTIONS, non_local=["phrase"]).fit(toy_documents(40))
    found = dict(model.inspect(top=50).non_local)
    assert found["phrase=PER,PER"] > 0 > found["phrase=LOC,PER"]
    twice = ["he", "N1", "see", "N1"]
    decision = model.explain(twice, top=10**6)[3]
    assert any(c.feature.startswith("phrase=") for c in decision.because)
    assert decision.margin == pytest.approx(sum(c.weight for c in decision.because), abs=1e-3)
