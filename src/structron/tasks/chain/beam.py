"""A chain model that is searched with a beam: what the tokens say is numbered before, labels before are atoms.

It has the face of `ChainModel`, so a labeller need not know which of the two it has. See tasks/chain_problem.py.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from structron.errors import StructronError
from structron.features.extract import Hashes, PreparedTemplates
from structron.features.index import look_up
from structron.features.names import Names
from structron.kernels.table import build_table
from structron.model.beam import BeamModel
from structron.model.chain import TENSORS, Dictionary, check_kinds
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.problem import SearchProblem
from structron.search.beam.states import VALUE_BITS
from structron.tasks.chain.problem import FIRST_X, FORCED, MASK, look_ahead, make_problem, make_table

START = "<s>"
LABEL_PART = re.compile(r"(\|?y\[-\d\])+(?==)|&y(?==)")
"""Where the name of a feature says that it is combined with labels before."""


@dataclass
class BeamChainModel:
    """Weights, features and constraints of a labeller with a beam."""

    labels: list[str]
    order: int
    templates: list[str]  # over labels before, see `label_templates`
    base: BeamModel
    allowed: np.ndarray  # bool[P, labels]
    dictionary: Dictionary
    extra_keys: list[np.ndarray]  # uint64: for each x[…] what its values stand for
    names: Names  # of base.anchored_keys
    extra_names: list[Names]
    votes: None = None

    @property
    def keys(self) -> np.ndarray:
        return self.base.anchored_keys

    @property
    def block_keys(self) -> np.ndarray:
        return self.base.keys

    @cached_property
    def extra_tables(self) -> list[np.ndarray]:
        return [build_table(keys) for keys in self.extra_keys]

    # -- searching -----------------------------------------------------------------------------------------------

    def decode(
        self,
        prepared: PreparedTemplates,
        jobs: int = 1,
        forced: np.ndarray | None = None,
        margins: bool = False,
        beam: int | None = 8,
        merge: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(label per token, score per sentence, nothing), on several threads if wanted."""
        if margins:
            raise StructronError("a model with a beam has no margins: it does not look at every labelling")

        def look(lo: int, hi: int) -> tuple[Inputs, Anchored]:
            return self.inputs(prepared, lo, hi, forced), self.base.anchor(prepared.hashes(lo, hi))

        out, scores = self.base.decode_tokens(prepared.starts, look, beam, merge, jobs)
        return out, scores, np.zeros(0, np.float32)

    def inputs(self, prepared: PreparedTemplates, lo: int, hi: int, forced: np.ndarray | None = None) -> Inputs:
        """Sentences lo … hi - 1 for the engine. forced: int[tokens of all sentences], -1 = free."""
        tokens = slice(int(prepared.starts[lo]), int(prepared.starts[hi]))
        mask_of = np.zeros(tokens.stop - tokens.start, np.int64)
        masks, here = self.dictionary.masks, None
        if self.dictionary.mask.any():
            place = self.dictionary.find(prepared.word_types)
            mask_of = np.where(place < 0, 0, self.dictionary.mask[place]).astype(np.int64)[prepared.word_ids[tokens]]
        if forced is not None:
            here = forced[tokens]
            mask_of = np.where(here < 0, mask_of, here + len(masks))
            masks = np.concatenate([masks, np.eye(len(self.labels), dtype=bool)])
        starts = prepared.starts[lo : hi + 1] - prepared.starts[lo]
        tables = enumerate(self.extra_tables)
        extras = [as_column(look_up(table, prepared.pair_column(c, lo, hi))) for c, table in tables]
        return encoded(self.base.problem, starts, masks, mask_of, extras, self.allowed, here)

    # -- looking in ----------------------------------------------------------------------------------------------

    def heaviest(self, label: int, top: int) -> dict[str, list[tuple[str, float]]]:
        """The features with the largest weights for a label: "" those of the tokens alone, others by their template."""
        rows, first = self.base.rows, len(self.keys)
        cells = np.flatnonzero(rows.column == label)
        cells = cells[np.lexsort((cells, -np.abs(rows.weight[cells])))]
        place = rows.place[cells]
        plain = cells[place < first][:top]
        texts = self.names.take(rows.place[plain]).all()
        found = {"": list(zip(texts, rows.weight[plain].tolist(), strict=True))}
        others = cells[place >= first]
        keys = self.block_keys[rows.place[others] - first]
        number = (keys >> np.uint64(VALUE_BITS)).astype(np.int64) - 1
        for t, template in enumerate(self.base.problem.composition.texts):
            best = np.flatnonzero(number == t)[:top]
            names = map(self.describe, keys[best].tolist())
            found[template] = list(zip(names, rows.weight[others[best]].tolist(), strict=True))
        return found

    def describe(self, key: int) -> str:
        """The name of a feature of labels before: `w[0]=dog,y[-2]=DT,y[-1]=JJ`."""
        template, values = self.base.problem.composition.values_of(key)
        if values is None:
            return f"{template}=#{key:x}"
        before = [START, *self.labels]
        named = [f"{atom}={before[value]}" for atom, value in values.items() if atom.startswith("y")]
        extra = [(int(atom[2:-1]), value) for atom, value in values.items() if atom.startswith("x")]
        texts = [LABEL_PART.sub("", self.extra_names[c].take(np.array([value])).all()[0], 1) for c, value in extra]
        return ",".join([*texts, *reversed(named)])

    # -- files ---------------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        return {
            "search": "beam",
            "labels": self.labels,
            "order": self.order,
            "label_templates": self.templates,
            "name_heads": self.names.heads,
            "extra_name_heads": [names.heads for names in self.extra_names],
        }

    def tensors(self) -> dict[str, np.ndarray]:
        tensors = self.base.tensors() | self.names.tensors()
        tensors |= {"allowed": self.allowed, "words": self.dictionary.words}
        tensors |= {"word_mask": self.dictionary.mask, "masks": self.dictionary.masks}
        for c, (keys, names) in enumerate(zip(self.extra_keys, self.extra_names, strict=True)):
            tensors[f"extra_{c}_keys"] = keys
            tensors |= {f"extra_{c}_{name}": tensor for name, tensor in names.tensors().items()}
        return tensors

    @classmethod
    def from_file(cls, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> "BeamChainModel":
        """Rebuild a model; raises KeyError or ValueError when the parts do not fit together."""
        labels, order, templates = list(header["labels"]), header["order"], list(header["label_templates"])
        if order not in (1, 2) or not labels or len(set(labels)) < len(labels) or "y[-1]" not in templates:
            raise ValueError("labels or order cannot be used")
        allowed, dictionary = constraints_of(tensors, len(labels), len(labels))
        extra_keys, extra_names = extras_of(header, tensors)
        try:
            problem = make_problem(labels, templates, list(map(len, extra_keys)), allowed)
        except StructronError as error:
            raise ValueError(error) from None
        base, names = weights_of(problem, header, tensors, extra_keys, extra_names)
        return cls(labels, order, templates, base, allowed, dictionary, extra_keys, names, extra_names)


def constraints_of(tensors: dict[str, np.ndarray], chained: int, masked: int) -> tuple[np.ndarray, Dictionary]:
    """What may follow what, of so many labels, and which of so many labels words may have; ValueError: no fit."""
    check_kinds(tensors, {name: TENSORS[name] for name in ("allowed", "words", "word_mask", "masks")})
    allowed, dictionary = tensors["allowed"], Dictionary(tensors["words"], tensors["word_mask"], tensors["masks"])
    fits = (
        allowed.shape == (chained + 1, chained)
        and allowed.any(axis=1).all()
        and dictionary.masks.shape[1:] == (masked,)
        and len(dictionary.masks) > 0
        and dictionary.masks.any(axis=1).all()
        and len(dictionary.mask) == len(dictionary.words)
        and 0 <= dictionary.mask.min(initial=0) <= dictionary.mask.max(initial=0) < len(dictionary.masks)
    )
    if not fits:
        raise ValueError("parts do not fit together")
    return allowed, dictionary


def extras_of(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> tuple[list[np.ndarray], list[Names]]:
    """What the templates combine with labels before: keys and names of each."""
    keys, names = [], []
    for c, heads in enumerate(header["extra_name_heads"]):
        start = f"extra_{c}_"
        part = {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
        check_kinds(part, {"keys": (np.uint64, 1)})
        keys.append(part["keys"])
        names.append(Names.from_tensors(heads, part))
    return keys, names


def weights_of(
    problem: SearchProblem,
    header: dict[str, Any],
    tensors: dict[str, np.ndarray],
    extra_keys: Sequence[np.ndarray],
    extra_names: Sequence[Names],
) -> tuple[BeamModel, Names]:
    """Weights of a problem and the names of what tokens say; ValueError: they do not fit each other."""
    base = BeamModel.from_tensors(problem, tensors)
    names = Names.from_tensors(header["name_heads"], tensors)
    if [len(names), *map(len, extra_names)] != [len(base.anchored_keys), *map(len, extra_keys)]:
        raise ValueError("names do not fit the features")
    template = (base.keys >> np.uint64(VALUE_BITS)).astype(np.int64)
    if (template < 1).any() or (template > len(problem.composition.texts)).any():
        raise ValueError("features do not fit the templates")
    return base, names


def as_column(hashes: Hashes) -> np.ndarray:
    """What a template says of each token, as numbers: -1 where it says nothing that is known."""
    ptr, numbers, _ = hashes
    column = np.full(len(ptr) - 1, -1, np.int64)
    column[np.diff(ptr) > 0] = numbers
    return column


def encoded(
    problem: SearchProblem,
    starts: np.ndarray,
    masks: np.ndarray,
    mask_of: np.ndarray,
    extras: Sequence[np.ndarray],
    allowed: np.ndarray,
    forced: np.ndarray | None = None,
) -> Inputs:
    """Sentences as the engine reads them; what labels tokens may have is part of the table."""
    masks, mask_of = look_ahead(masks, mask_of, allowed, starts)
    x = np.zeros((len(mask_of), FIRST_X + len(extras)), np.int64)
    x[:, MASK] = mask_of
    if forced is not None:
        x[:, FORCED] = forced >= 0
    for c, column in enumerate(extras):
        x[:, FIRST_X + c] = column
    history = problem.width - FIRST_X
    return make_inputs(problem, x, starts)._replace(table=make_table(history, len(extras), allowed, masks))
