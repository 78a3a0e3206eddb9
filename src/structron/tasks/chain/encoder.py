"""Labels under a beam: an encoder (model/encoded.py). What tokens say is numbered before; labels before are atoms."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.features.extract import PreparedTemplates
from structron.features.index import number_features
from structron.io.tensors import Sizes, Tensor, Tensors, texts, whole
from structron.learn.beam import Known
from structron.learn.chain import Chain
from structron.learn.encoded import Encoded
from structron.learn.partial import Knowledge
from structron.model.dictionary import Dictionary, allowed_of
from structron.model.encoded import EncodedModel, Encoder, expanded
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import Anchored, Inputs
from structron.search.beam.problem import SearchProblem
from structron.tasks.chain import problem as labelling
from structron.tasks.chain.extras import Extras, number_extras
from structron.tasks.chain.problem import FIRST_X, FORCED, MASK, MASKS, can_be_legal, look_ahead

START = "<s>"
"""What stands before the first label of a sentence."""


@dataclass
class LabelEncoder(Encoder):
    """Labels, the templates over labels before, and constraints."""

    labels: list[str]
    order: int
    templates: list[str]  # over labels before, see problem.label_templates
    allowed: np.ndarray  # bool[P, labels]
    dictionary: Dictionary
    extras: Extras

    kind: ClassVar[str] = "labels"

    @cached_property
    def problem(self) -> SearchProblem:
        return labelling.make_problem(self.labels, self.templates, self.extras.sizes, self.allowed)

    def inputs(self, prepared: PreparedTemplates, lo: int, hi: int, forced: np.ndarray | None = None) -> Inputs:
        tokens = slice(int(prepared.starts[lo]), int(prepared.starts[hi]))
        masks, mask_of = self.dictionary.masks, self.dictionary.masks_of(prepared, tokens)
        here = None
        if forced is not None:
            here = forced[tokens]
            mask_of = np.where(here < 0, mask_of, here + len(masks))
            masks = np.concatenate([masks, np.eye(len(self.labels), dtype=bool)])
        starts = prepared.starts[lo : hi + 1] - prepared.starts[lo]
        extras = self.extras.columns(prepared, lo, hi)
        return _inputs(self.problem, starts, (masks, mask_of), extras, self.allowed, here)

    def without(
        self,
        model: EncodedModel,
        prepared: PreparedTemplates,
        tokens: np.ndarray,
        labels: np.ndarray,
        forced: np.ndarray | None,
    ) -> tuple[Inputs, Anchored, np.ndarray]:
        """For each of these tokens a copy of its sentence that rules out its label there; False: no other is possible.

        Tokens that can have no other label in a legal labelling have no copy.
        """
        sentences = np.searchsorted(prepared.starts, tokens, "right") - 1
        lo, hi = int(sentences[0]), int(sentences[-1]) + 1
        inputs, anchored = model.look(prepared, lo, hi, forced)
        count, masks_at = len(self.labels), int(inputs.table[MASKS])
        masks = inputs.table[masks_at:].reshape(-1, count).astype(bool)
        rest = masks[inputs.x[tokens - int(prepared.starts[lo]), MASK]]
        rest[np.arange(len(tokens)), labels] = False
        possible = rest.any(axis=1)
        own = sentences[possible] - lo
        copies, anchored = expanded(inputs, anchored, own)
        banned = copies.starts[:-1] + (tokens - prepared.starts[sentences])[possible]
        copies.x[banned, MASK] = len(masks) + np.arange(len(banned))
        more = np.concatenate([masks, rest[possible]])
        lost = ~can_be_legal(more, copies.x[:, MASK], self.allowed, copies.starts)
        lost &= can_be_legal(masks, inputs.x[:, MASK], self.allowed, inputs.starts)[own]
        possible[possible] = ~lost
        copies, anchored = expanded(copies, anchored, np.flatnonzero(~lost))
        more, copies.x[:, MASK] = look_ahead(more, copies.x[:, MASK], self.allowed, copies.starts)
        table = np.concatenate([inputs.table[:masks_at], more.reshape(-1)])
        return copies._replace(table=table), anchored, possible

    def describe(self, key: int) -> str:
        """The name of a feature of labels before: `w[0]=dog,y[-2]=DT,y[-1]=JJ`."""
        template, values = self.problem.composition.values_of(key)
        if values is None:
            return f"{template}=#{key:x}"
        before = [START, *self.labels]
        named = [f"{atom}={before[value]}" for atom, value in values.items() if atom.startswith("y")]
        extra = [self.extras.text(int(atom[2:-1]), value) for atom, value in values.items() if atom.startswith("x")]
        return ",".join([*extra, *reversed(named)])

    # -- files ---------------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        found = {"labels": self.labels, "order": self.order, "label_templates": self.templates}
        return found | {"extra_name_heads": self.extras.heads()}

    def tensors(self) -> Tensors:
        return {"allowed": self.allowed} | self.dictionary.tensors() | self.extras.tensors()

    @classmethod
    def declared(cls, header: dict[str, Any]) -> tuple[dict[str, Tensor], Sizes]:
        labels = len(texts(header["labels"], "labels", 2))
        declared = {"allowed": Tensor("bool", "contexts", "labels")} | Dictionary.declared()
        return declared | Extras.declared(header["extra_name_heads"]), {"labels": labels, "contexts": labels + 1}

    @classmethod
    def from_file(cls, header: dict[str, Any], tensors: Tensors) -> "LabelEncoder":
        templates = texts(header["label_templates"], "templates over labels")
        if "y[-1]" not in templates:
            raise ValueError("templates over labels do not fit")
        extras = Extras.from_file(header["extra_name_heads"], tensors)
        order, dictionary = whole(header["order"], "order", 1, 2), Dictionary.from_tensors(tensors)
        return cls(header["labels"], order, templates, allowed_of(tensors), dictionary, extras)


def _inputs(
    problem: SearchProblem,
    starts: np.ndarray,
    open_to: tuple[np.ndarray, np.ndarray],
    extras: list[np.ndarray],
    allowed: np.ndarray,
    forced: np.ndarray | None = None,
) -> Inputs:
    """Sentences as the engine reads them; open_to: masks of labels, and which of them each token has."""
    masks, mask_of = look_ahead(*open_to, allowed, starts)
    x = np.zeros((len(mask_of), FIRST_X + len(extras)), np.int64)
    x[:, MASK] = mask_of
    if forced is not None:
        x[:, FORCED] = forced >= 0
    for c, column in enumerate(extras):
        x[:, FIRST_X + c] = column
    history = problem.width - FIRST_X
    return make_inputs(problem, x, starts)._replace(table=labelling.make_table(history, len(extras), allowed, masks))


def encode_labels(
    prepared: PreparedTemplates,
    gold: np.ndarray,
    chain: Chain,
    templates: list[str],
    start: EncodedModel | None,
    knowledge: Knowledge | None = None,
) -> Encoded:
    """Training data for the engine. gold: the number of each token's label; knowledge: of them, if some are open."""
    known = None if start is None else start.encoder.extras
    extras, columns = number_extras(prepared, chain.cutoff, known)
    encoder = LabelEncoder(chain.labels, chain.order, templates, chain.allowed, chain.dictionary, extras)
    keys = None if start is None else start.base.anchored_keys
    numbered = number_features(prepared.hashes, prepared.starts, chain.cutoff, keys, prepared.jobs)
    tokens = slice(0, int(prepared.starts[-1]))
    open_to = (chain.dictionary.masks, chain.dictionary.masks_of(prepared, tokens))
    problem = labelling.make_problem(chain.labels, templates, extras.sizes, chain.allowed_learning)
    inputs = _inputs(problem, prepared.starts, open_to, columns, chain.allowed_learning)
    inputs = inputs._replace(gold=np.maximum(gold, 0), gold_ptr=prepared.starts)
    known = None
    if knowledge is not None:
        masks, mask_of = open_to
        masks = np.concatenate([masks, knowledge.masks])
        mask_of = np.where(knowledge.mask_of == 0, mask_of, knowledge.mask_of + len(open_to[0]))
        agreeing = _inputs(problem, prepared.starts, (masks, mask_of), columns, chain.allowed_learning)
        known = Known(agreeing, knowledge.open_units(prepared.starts))
    names = partial(prepared.names, paired=False)
    return Encoded(encoder, problem, inputs, numbered, names, known)


def columns_of(old: list[str], new: list[str], what: str = "labels") -> np.ndarray:
    """Where the columns of older labels stand among the present ones."""
    missing = [label for label in old if label not in new]
    if missing:
        raise StructronError(f"{what}: {missing[0]!r} is missing; expected all those of the model to continue from")
    return np.array([new.index(label) for label in old], np.int64)
