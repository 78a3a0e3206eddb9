"""What kernels compute, as one line each: to compare compiled code with the same code as plain Python, to the bit."""

import hashlib

import numpy as np

import problems
import structron
from helpers import random_chain
from structron.features.atoms import parse_atoms, values_of
from structron.kernels.table import hash_list
from structron.learn.beam import BeamTraining
from structron.search.chain.kbest import GrowingScratch, make_trellis, n_best_of
from structron.search.chain.margins import decode_with_margins
from structron.search.chain.scores import make_work
from structron.update.swvp import FAMILIES, VARIANTS, Swvp
from structron.update.violation import RULES
from toy import chunk_rows, entity_documents, tree_rows

FUNCTIONS = ["w", "lower", "norm", "shape", "class", "digit", "upper", "hyphen"]
FUNCTIONS += ["prefix2", "suffix3", "lprefix2", "lsuffix1"]
LENGTHS = [1, 2, 5, 0, 3]


def digest(*arrays: np.ndarray) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def halves_and_ends(y: list, z: list) -> list:
    """A user's JJ."""
    return [range(len(y) // 2), [len(y) - 1]]


WEIGHTED = [*zip(VARIANTS, FAMILIES, strict=True), ("a-wm", halves_and_ends), ("b-wmr", "errors")]
"""Kinds of weighted violations: every family, and the one variant that counts all positions."""


def chain_problems(count: int):
    """Orders and random chains of both, with and without pairs, constraints and values."""
    for k in range(count):
        order, options = 1 + k % 2, {"pairs": k & 2 > 0, "masks": k & 4 > 0, "values": k & 8 > 0, "forbid": 0.2}
        yield order, *random_chain(np.random.default_rng(k), 3, order, LENGTHS, whole=False, **options)


def learned(learner: BeamTraining) -> list[np.ndarray]:
    """Two passes: keys, columns and weights in the order of the keys, and the counts."""
    counts = [list(problems.learn_pass(learner, order).values()) for order in ([0, 1, 2], [2, 0, 1])]
    keys, rows = learner.rows()
    order = np.lexsort((rows.column, keys[rows.place]))
    return [keys[rows.place][order], rows.column[order], rows.weight[order], np.array(counts, np.float64)]


def hashes() -> str:
    return digest(hash_list(["", "a", "Straße", "𝒳", "x" * 50]))


def atoms() -> str:
    types = {"word": ["", "Ab-1", "ß", "İ9", "٣", "xyz", "𝒳y-"]}
    found = values_of(list(parse_atoms(FUNCTIONS, ["word"], "word").values()), types)
    return digest(*found)


def searches() -> str:
    """Labels, scores and margins."""
    found = []
    for order, chains, weights in chain_problems(16):
        work = make_work(5, 3, weights.w.shape[1], order)
        out, scores, margins = np.zeros(11, np.int64), np.zeros(5, np.float32), np.zeros(11, np.float32)
        decode_with_margins(chains, weights, order, 0, 5, 3, work, out, scores, margins, np.empty((0, 0), np.float32))
        found += [out, np.round(scores, 3), np.round(np.minimum(margins, 1e6), 2)]
    return digest(*found)


def candidates() -> str:
    """The ten best of a document of five sentences."""
    found = []
    for order, chains, weights in chain_problems(8):
        stride = weights.w.shape[1]
        work, trellis = make_work(5, 3, stride, order), make_trellis(11, 3, stride, order)
        ((rows, losses, _),) = n_best_of(chains, weights, np.array([0, 5]), 10, GrowingScratch(trellis, work, 3, order))
        found += [rows, np.round(losses, 3)]
    return digest(*found)


def learning() -> str:
    """From words to a model: extraction, numbering, passes, the mean, names, decoding."""
    rows, found = chunk_rows(6, 1), []
    for options in ({}, {"order": 2, "average": "none"}, {"templates": ["w[0]", "shape[0]|pos[1]", "pos[0]&y"]}):
        labeler = structron.Chunker(passes=2, runs=2, **options).fit(rows)
        model = labeler.model_
        predicted = [label for labels in labeler.predict(rows) for label in labels]
        found += [model.w, model.keys, model.block_keys, model.block_rows]
        found.append(hash_list([*model.names.all(), *model.pair_names.all(), *predicted]))
    return digest(*found)


def choices() -> str:
    """Labels chosen among those seen with a word, with its tag and without, whole and in pieces: weights, lists,
    margins."""
    rows, found = chunk_rows(6, 1), []
    pieces = [[(word, tag, label.replace("-", "|")) for word, tag, label in sentence] for sentence in rows]
    for data, options in ((rows, {}), (rows, {"given": ["pos"], "rare": 2}), (pieces, {})):
        labeler = structron.Tagger(among="seen", passes=2, runs=1, columns=["w", "pos", "chunk"], **options).fit(data)
        model, (labels, margins) = labeler.model_, labeler.predict_with_margins(chunk_rows(6, 4))
        found += [model.row, model.column, model.weight, model.lexicon.keys, model.lexicon.label]
        found.append(np.round(np.minimum([x for own in margins for x in own], 1e6), 3))
        lists = [y for own in labeler.nbest(chunk_rows(6, 4), 3) for y, _ in own]
        found.append(hash_list([y for own in (*labels, *lists) for y in own]))
    return digest(*found)


def documents() -> str:
    """The margin perceptron and non-local features on documents: weights and what is predicted."""
    found, rows = [], entity_documents(8, 1)
    for options in ({}, {"local_update": "aggressive"}, {"non_local": []}, {"bpm": 2, "order": 2}):
        labeler = structron.EntityRecognizer(passes=2, margin=5.0, **options).fit(rows)
        model = labeler.model_
        found += [model.w, np.round(getattr(model, "g", np.zeros(1)), 6)]
        found.append(hash_list([y for document in labeler.predict(rows) for labels in document for y in labels]))
    return digest(*found)


def weighted() -> str:
    """Weighted violations, every family, both orders, with and without pairs."""
    found = []
    for k, (variant, jj) in enumerate(WEIGHTED):
        how = {"swvp": variant, "beta": 0.5 + k, "jj": jj, "enforce": k % 2 == 0}
        templates = ["w[0]", "pos[0]|pos[1]", *(["pos[0]&y"] if k % 2 else [])]
        labeler = structron.Chunker(passes=2, runs=1, order=1 + k % 2, templates=templates, **how).fit(chunk_rows(8, 2))
        found.append(np.round(labeler.model_.w, 3))
    return digest(*found)


def graphs() -> str:
    """Trees by every search, with and without relations, margins and weighted violations."""
    rows, found = tree_rows(3, 3), []
    for options in (
        {},
        {"order": 1, "keep_heads": 0, "margin": 1.0},
        {"order": 1, "projective": False, "swvp": "b-wm"},
        {"projective": False, "labelled": False, "swvp": "a-wmr", "jj": "spans"},
        {"grandparents": False, "single_root": False, "average": "none"},
        {"grandparents": False, "projective": False, "keep_heads": 2, "runs": 2},
    ):
        parser = structron.GraphParser(passes=2, bits=14, **{"runs": 1} | options).fit(rows)
        found += [np.round(parser.model_.w, 3), np.array([head for tree in parser.predict(rows) for head, _ in tree])]
    return digest(*found)


def beams() -> str:
    """A chain and a stack under several beams, with merging and without: actions and scores."""
    found = []
    for name in ("chain2", "parser"):
        rng, (problem, columns) = np.random.default_rng(2), problems.named(name)
        model = problems.model_of(problem, problems.random_weights(problem, rng))
        inputs = problems.inputs_of(problem, problems.random_corpus(rng, problem, 3, 4, columns)[0])
        for beam, merge in ((1, True), (3, True), (3, False), (None, True)):
            actions, scores = model.decode(inputs, beam, merge)
            found += [np.concatenate(actions), np.array(scores)]
    return digest(*found)


def fixing() -> str:
    """Every update rule."""
    found = []
    for name in ("chain1", "parser"):
        problem, columns = problems.named(name)
        inputs = problems.inputs_of(problem, *problems.random_corpus(np.random.default_rng(3), problem, 3, 4, columns))
        for rule in RULES:
            found += learned(problems.training(problem, inputs, 2, rule, check=True))
    return digest(*found)


def weighted_beams() -> str:
    """Weighted violations under beams: actions exchanged in a chain, steps in a parser."""
    found = []
    for name in ("exchanged1", "parser"):
        rng, (problem, columns) = np.random.default_rng(3), problems.named(name)
        inputs = problems.inputs_of(problem, *problems.random_corpus(rng, problem, 3, 4, columns))
        start = problems.uneven_weights(problem, rng)
        for k, (variant, jj) in enumerate(WEIGHTED):
            swvp = Swvp(variant, 0.5 + k, jj, k % 2 == 0)
            learner = problems.training(problem, inputs, 2, "early", check=True, swvp=swvp)
            problems.begin_with(learner, start)
            keys, columns, weights, counts = learned(learner)
            found += [keys, columns, np.round(weights, 4), counts]
    return digest(*found)


def queues() -> str:
    """Two passes in queues: weights and what they predict."""
    problem, columns = problems.named("chain1")
    xs, golds = problems.random_corpus(np.random.default_rng(2), problem, 4, 4, columns)
    found = []
    for queue, update in (("beam", "laso"), ("best-first", "laso"), ("best-first", "laso-literal")):
        learner = structron.QueueLearner(problem, queue=queue, update=update, beam=2, passes=2)
        learner.fit(list(zip(xs, golds, strict=True)))
        rows = learner.model_.rows
        found += [learner.model_.keys[rows.place], rows.column, np.round(rows.weight, 4)]
        found.append(hash_list([action for actions in learner.predict(xs) for action in actions]))
    return digest(*found)


PARTS = {
    part.__name__: part
    for part in (hashes, atoms, searches, candidates, learning, choices, documents, weighted)
    + (graphs, beams, fixing, weighted_beams, queues)
}
