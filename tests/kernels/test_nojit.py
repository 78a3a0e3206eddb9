"""The kernels as plain Python (NUMBA_DISABLE_JIT=1) do what they do compiled: for debugging and for coverage."""

import functools
import hashlib
import json
import operator

import numpy as np
import pytest

import problems
import structron
from brute_trees import Scores, some_arcs
from helpers import random_chain, run_python
from structron.data.toy_english import toy_english
from structron.features.atoms import atom_values, pack_types, parse_atom
from structron.kernels.jit import Pointed
from structron.kernels.table import hash_list
from structron.learn.beam import BeamTraining
from structron.search.chain.kbest import make_trellis, n_best_of
from structron.search.chain.margins import decode_with_margins
from structron.search.chain.scores import make_work
from structron.search.trees.kbest import k_best
from structron.search.trees.parts import index_arcs
from structron.search.trees.search import SIGNATURE, compiled_search
from structron.update.swvp import FAMILIES, VARIANTS, Swvp
from structron.update.violation import RULES

FUNCTIONS = [
    "w",
    "lower",
    "norm",
    "shape",
    "class",
    "digit",
    "upper",
    "hyphen",
    "prefix2",
    "suffix3",
    "lprefix2",
    "lsuffix1",
]


def digest(*arrays: np.ndarray) -> str:
    """One line for any number of arrays, to the last bit."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def hashes() -> str:
    return digest(hash_list(["", "a", "Straße", "𝒳", "x" * 50]))


def atoms() -> str:
    packed = pack_types(["", "Ab-1", "ß", "İ9", "٣", "xyz", "𝒳y-"])
    found = [np.zeros(7, np.uint64) for _ in FUNCTIONS]
    for function, out in zip(FUNCTIONS, found, strict=True):
        atom = parse_atom(function, ["word"], "word")
        atom_values(atom.kind, atom.length, packed, out)
    return digest(*found)


def searches() -> str:
    """Both orders, with and without pairs, values and constraints: labels, scores and margins."""
    found = []
    for k in range(16):
        order, options = 1 + k % 2, {"pairs": k & 2 > 0, "values": k & 4 > 0, "masks": k & 8 > 0, "forbid": 0.2}
        lengths = [1, 2, 5, 0, 3]
        chains, weights = random_chain(np.random.default_rng(k), 3, order, lengths, whole=False, **options)
        work = make_work(5, 3, weights.w.shape[1], order)
        out, scores, margins = np.zeros(11, np.int64), np.zeros(5, np.float32), np.zeros(11, np.float32)
        decode_with_margins(chains, weights, order, 0, 5, 3, work, out, scores, margins)
        found += [out, np.round(scores, 3), np.round(np.minimum(margins, 1e6), 2)]
    return digest(*found)


def learning() -> str:
    """From words to a model: extraction, numbering, passes, the mean, names, decoding."""
    rows = [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in toy_english(12, 1)]
    found = []
    for options in ({}, {"order": 2, "average": "none"}, {"templates": ["w[0]", "shape[0]|pos[1]", "pos[0]&y"]}):
        labeler = structron.Chunker(passes=2, **options).fit(rows)
        model = labeler.model_
        found += [model.w, model.keys, model.block_keys, model.block_rows]
        names = [
            *model.names.all(),
            *model.pair_names.all(),
            *functools.reduce(operator.iadd, labeler.predict(rows), []),
        ]
        found.append(hash_list(names))
    return digest(*found)


def beams() -> str:
    """A chain and a stack under several beams, with merging and without: actions and scores."""
    found = []
    chain = problems.chain_problem(templates=problems.CHAIN_2)
    for problem, columns in ((chain, [4]), (problems.parser_problem(), [4, 4])):
        rng = np.random.default_rng(2)
        model = problems.model_of(problem, problems.random_weights(problem, rng))
        inputs = problems.inputs_of(problem, problems.random_corpus(rng, problem, 3, 4, columns)[0])
        for beam, merge in ((1, True), (3, True), (3, False), (None, True)):
            actions, scores = model.decode(inputs, beam, merge)
            found += [np.concatenate(actions), np.array(scores)]
    return digest(*found)


def fixing() -> str:
    """Two passes under every update rule: means and counts."""
    found = []
    for problem, columns in ((problems.chain_problem(), [4]), (problems.parser_problem(), [4, 4])):
        xs, golds = problems.random_corpus(np.random.default_rng(3), problem, 3, 4, columns)
        for rule in RULES:
            learner = BeamTraining(problem, problems.inputs_of(problem, xs, golds), 2, rule, check=True)
            counts = [list(problems.learn_pass(learner, order).values()) for order in ([0, 1, 2], [2, 0, 1])]
            keys, rows = learner.rows()
            order = np.lexsort((rows.column, keys[rows.place]))
            found += [keys[rows.place][order], rows.column[order], rows.weight[order]]
            found.append(np.array(counts, np.float64))
    return digest(*found)


def candidates() -> str:
    """The ten best of a document of five sentences, both orders."""
    found = []
    for k in range(8):
        order, options = 1 + k % 2, {"pairs": k & 2 > 0, "masks": k & 4 > 0, "forbid": 0.2}
        chains, weights = random_chain(np.random.default_rng(k), 3, order, [1, 2, 5, 0, 3], whole=False, **options)
        work, trellis = (
            make(rows, 3, weights.w.shape[1], order) for make, rows in ((make_work, 5), (make_trellis, 11))
        )
        rows, losses = np.zeros((10, 11), np.int16), np.zeros(10)
        count, _ = n_best_of(chains, weights, order, 0, 5, 3, 10, work, trellis, rows, losses)
        found += [rows[:count], np.round(losses[:count], 3)]
    return digest(*found)


def documents() -> str:
    """The margin perceptron and non-local features on documents: weights and what is predicted."""
    found, rows = [], []
    for s in toy_english(20, 1):
        if s.new_document:
            rows.append(structron.Document())
        rows[-1].append(list(zip(s.words, s.pos, s.entities, strict=True)))
    for options in ({}, {"local_update": "aggressive"}, {"non_local": []}, {"bpm": 2, "order": 2}):
        labeler = structron.EntityRecognizer(passes=2, margin=5.0, **options).fit(rows)
        model = labeler.model_
        found += [model.w, np.round(getattr(model, "g", np.zeros(1)), 6)]
        found.append(hash_list([y for document in labeler.predict(rows) for labels in document for y in labels]))
    return digest(*found)


def weighted() -> str:
    """Weighted violations, every family, both orders, with and without pairs."""
    examples, found = [list(zip(s.words, s.pos, s.chunks, strict=True)) for s in toy_english(12, 2)], []
    for k, jj in enumerate([*FAMILIES, lambda y, z: [range(len(y) // 2), [len(y) - 1]]]):
        how = {"swvp": VARIANTS[k % 4], "beta": 0.5 + k, "jj": jj, "enforce": k % 2 == 0}
        templates = ["w[0]", "pos[0]|pos[1]", *(["pos[0]&y"] if k % 2 else [])]
        labeler = structron.Chunker(passes=2, order=1 + k % 2, templates=templates, **how).fit(examples)
        found.append(np.round(labeler.model_.w, 3))
    return digest(*found)


def graphs() -> str:
    """Trees by every search, with and without relations, margins and weighted violations."""
    rows, found = (
        [list(zip(s.words, s.pos, map(str, s.heads), s.relations, strict=True)) for s in toy_english(5, 3)],
        [],
    )
    for options in (
        {},
        {"order": 1, "keep_heads": 0, "cost": 1.0},
        {"order": 1, "projective": False, "swvp": "b-wm"},
        {"projective": False, "labelled": False, "swvp": "a-wmr", "jj": "spans"},
        {"grandparents": False, "single_root": False, "average": "none"},
        {"grandparents": False, "projective": False, "keep_heads": 2, "runs": 2},
    ):
        parser = structron.GraphParser(passes=2, bits=14, **{"runs": 1} | options).fit(rows)
        found += [np.round(parser.model_.w, 3), np.array([head for tree in parser.predict(rows) for head, _ in tree])]
    return digest(*found)


def tree_candidates() -> str:
    """The twenty best trees of five words under every search."""
    best, found = Pointed(getattr(k_best, "py_func", k_best), SIGNATURE), []
    arcs = index_arcs(some_arcs(1, 5, 0.8), 5)
    for k in range(8):
        order, grand, projective = 1 + (k & 1), k & 2 > 0, k & 4 > 0
        parts = Scores(k, 5, False, order == 2 and grand, order == 2 and grand, sibling=order == 2).parts(arcs)
        heads, scores = best(compiled_search(order, grand, projective), arcs, parts, 5, projective, k % 3 > 0, 20)
        found += [heads, np.round(scores, 3)]
    return digest(*found)


def weighted_beams() -> str:
    """The same under beams: actions exchanged in a chain, steps in a parser."""
    found = []
    for problem, columns in ((problems.chain_problem(exchangeable=True), [4]), (problems.parser_problem(), [4, 4])):
        rng = np.random.default_rng(3)
        xs, golds = problems.random_corpus(rng, problem, 3, 4, columns)
        start = problems.uneven_weights(problem, rng)
        for k, jj in enumerate([*FAMILIES, lambda y, z: [range(len(y) // 2), [len(y) - 1]]]):
            swvp = Swvp(VARIANTS[k % 4], 0.5 + k, jj, k % 2 == 0)
            learner = BeamTraining(problem, problems.inputs_of(problem, xs, golds), 2, "early", check=True, swvp=swvp)
            problems.begin_with(learner, start)
            counts = [list(problems.learn_pass(learner, order).values()) for order in ([0, 1, 2], [2, 0, 1])]
            keys, rows = learner.rows()
            order = np.lexsort((rows.column, keys[rows.place]))
            found += [keys[rows.place][order], rows.column[order], np.round(rows.weight[order], 4)]
            found.append(np.array(counts, np.float64))
    return digest(*found)


PARTS = {
    "graphs": graphs,
    "weighted": weighted,
    "weighted_beams": weighted_beams,
    "candidates": candidates,
    "tree_candidates": tree_candidates,
    "documents": documents,
    "hashes": hashes,
    "atoms": atoms,
    "searches": searches,
    "learning": learning,
    "beams": beams,
    "fixing": fixing,
}


@pytest.fixture(scope="module")
def plain() -> dict:
    """The same, worked out by another process without the compiler. Whole numbers wrap around there with a warning."""
    code = """
import json
import numpy as np
import numba
import test_nojit
from structron.kernels.table import mix

assert numba.config.DISABLE_JIT and not hasattr(mix, "signatures")
with np.errstate(over="ignore"):
    print(json.dumps({name: part() for name, part in test_nojit.PARTS.items()}))
"""
    done = run_python(code, NUMBA_DISABLE_JIT="1", PYTHONWARNINGS="ignore")
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("part", PARTS)
def test_plain_python_agrees(part, plain):
    assert plain[part] == PARTS[part]()
