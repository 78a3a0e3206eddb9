"""Tags and chunk labels together in the beam engine: an encoder (model/encoded.py) whose labels are pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from structron.errors import unknown
from structron.features.extract import PreparedTemplates
from structron.features.index import number_features
from structron.io.tensors import Sizes, Tensor, Tensors, texts
from structron.learn.beam import Known
from structron.learn.encoded import Encoded
from structron.model.dictionary import Dictionary, allowed_of
from structron.model.encoded import EncodedModel, Encoder
from structron.search.beam.engine import make_inputs
from structron.search.beam.frontier import Inputs
from structron.search.beam.problem import SearchProblem
from structron.tasks.chain.extras import Extras, number_extras
from structron.tasks.chain.problem import look_ahead
from structron.tasks.joint.problem import FIRST_X, LIST, history_of, make_problem, make_table

START = "<s>"


@dataclass(frozen=True)
class Pairs:
    """The tags and chunk labels of the training data, and which of them were seen together."""

    tags: list[str]
    chunks: list[str]
    pairs: np.ndarray  # int64[pairs, 2]

    @classmethod
    def of(cls, seen: Sequence[tuple[str, str]], known: "Pairs | None" = None) -> "Pairs":
        """Those of the training data, after those known before."""
        old = cls([], [], np.zeros((0, 2), np.int64)) if known is None else known
        tags = [*old.tags, *sorted({tag for tag, _ in seen} - set(old.tags))]
        chunks = [*old.chunks, *sorted({chunk for _, chunk in seen} - set(old.chunks))]
        before = {(t, c) for t, c in old.pairs.tolist()}
        new = sorted({(tags.index(tag), chunks.index(chunk)) for tag, chunk in seen} - before)
        return cls(tags, chunks, np.concatenate([old.pairs, np.array(new, np.int64).reshape(-1, 2)]))

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """The tag and the chunk label of each pair."""
        return [(self.tags[t], self.chunks[c]) for t, c in self.pairs.tolist()]

    @property
    def together(self) -> np.ndarray:
        """bool[tags, chunks]"""
        seen = np.zeros((len(self.tags), len(self.chunks)), bool)
        seen[self.pairs[:, 0], self.pairs[:, 1]] = True
        return seen

    @property
    def numbers(self) -> np.ndarray:
        """int64[tags, chunks]: the number of each pair, -1: not seen."""
        found = np.full((len(self.tags), len(self.chunks)), -1, np.int64)
        found[self.pairs[:, 0], self.pairs[:, 1]] = np.arange(len(self.pairs))
        return found

    def columns_among(self, new: "Pairs") -> np.ndarray:
        """Where the columns of weights, of tags, chunk labels and pairs, stand among those of further pairs."""
        tags, chunks = np.arange(len(self.tags)), len(new.tags) + np.arange(len(self.chunks))
        return np.concatenate([tags, chunks, len(new.tags) + len(new.chunks) + np.arange(len(self.pairs))])


@dataclass(frozen=True)
class KnownLayers:
    """What is known of tokens where tags or chunk labels are open."""

    tags: np.ndarray  # int64[tokens], -1: open
    chunks: np.ndarray  # int64[tokens], -1: open
    open: np.ndarray  # bool[sentences]


@dataclass
class PairEncoder(Encoder):
    """Pairs, the templates over the history, and constraints: of chunk labels on each other, of words on tags."""

    pairs: Pairs
    templates: list[str]  # over the atoms of the problem
    allowed: np.ndarray  # bool[P, chunks]
    dictionary: Dictionary  # over tags
    extras: Extras

    kind: ClassVar[str] = "pairs"

    @cached_property
    def problem(self) -> SearchProblem:
        return self.make_problem(self.allowed)

    def make_problem(self, allowed: np.ndarray) -> SearchProblem:
        """The same under other constraints on chunk labels."""
        pairs = self.pairs
        return make_problem(pairs.tags, pairs.chunks, pairs.pairs, self.templates, self.extras.sizes, allowed)

    @property
    def labels(self) -> list[Any]:
        return self.pairs.names

    def inputs(self, prepared: PreparedTemplates, lo: int, hi: int, forced: np.ndarray | None = None) -> Inputs:
        return self.encode(self.problem, prepared, lo, hi, self.extras.columns(prepared, lo, hi), self.allowed)

    def encode(
        self,
        problem: SearchProblem,
        prepared: PreparedTemplates,
        lo: int,
        hi: int,
        extras: Sequence[np.ndarray],
        allowed: np.ndarray,
        known: KnownLayers | None = None,
    ) -> Inputs:
        """Sentences as the engine reads them; which pairs tokens may have is part of the table. known: of all tokens,
        where the pairs are to agree with it.

        A token's pairs are those of its tags, without chunk labels that lead nowhere.
        """
        pairs, starts = self.pairs, prepared.starts[lo : hi + 1] - prepared.starts[lo]
        tokens = slice(int(prepared.starts[lo]), int(prepared.starts[hi]))
        masks, mask_of, chunk_masks, chunk_mask_of = self.layers(prepared, tokens, known)
        chunk_masks, chunk_mask_of = look_ahead(chunk_masks, chunk_mask_of, allowed, starts)
        both, row = np.unique(mask_of * len(chunk_masks) + chunk_mask_of, return_inverse=True)
        tag_row, chunk_row = np.divmod(both, len(chunk_masks))
        open_to = masks[tag_row][:, pairs.pairs[:, 0]] & chunk_masks[chunk_row][:, pairs.pairs[:, 1]]
        lists = [np.arange(len(pairs.pairs)), *(np.flatnonzero(own) for own in open_to)]
        x = np.zeros((len(mask_of), FIRST_X + len(extras)), np.int64)
        x[:, LIST] = row.reshape(-1) + 1
        for c, column in enumerate(extras):
            x[:, FIRST_X + c] = column
        table = make_table(history_of(problem), len(extras), pairs.pairs, allowed, lists)
        return make_inputs(problem, x, starts)._replace(table=table)

    def layers(
        self, prepared: PreparedTemplates, tokens: slice, known: KnownLayers | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The tags that tokens may have, and the chunk labels: masks of each, and which of them is each token's.

        A token whose known chunk label goes with none of its word's tags may have any tag.
        """
        together, masks = self.pairs.together.astype(np.float32), self.dictionary.masks
        mask_of = self.dictionary.masks_of(prepared, tokens)
        if known is None:
            return masks, mask_of, masks.astype(np.float32) @ together > 0, mask_of
        tags, chunks, count = known.tags[tokens], known.chunks[tokens], len(self.pairs.chunks)
        mask_of = np.where(tags < 0, mask_of, tags + len(masks))
        masks = np.concatenate([masks, np.eye(len(self.pairs.tags), dtype=bool)])
        possible = masks.astype(np.float32) @ together > 0
        lost = (tags < 0) & (chunks >= 0) & ~possible[mask_of, chunks]
        mask_of[lost] = 0
        different, row = np.unique(mask_of * (count + 1) + chunks + 1, return_inverse=True)
        tag_row, chunk = np.divmod(different, count + 1)
        only = np.concatenate([np.ones((1, count), bool), np.eye(count, dtype=bool)])
        return masks, mask_of, possible[tag_row] & only[chunk], row.reshape(-1)

    def describe(self, key: int) -> str:
        """The name of a feature of the history: `w[0]=dog,t[-1]=DT,c[-1]=B-NP`."""
        template, values = self.problem.composition.values_of(key)
        if values is None:
            return f"{template}=#{key:x}"
        spell = {"t": [START, *self.pairs.tags], "c": [START, *self.pairs.chunks]}
        extra = [self.extras.text(int(atom[2:-1]), value) for atom, value in values.items() if atom.startswith("x")]
        named = [f"{atom}={spell[atom[0]][value]}" for atom, value in values.items() if not atom.startswith("x")]
        return ",".join([*extra, *named])

    def column_names(self) -> list[str]:
        return [*self.columns_named(None), *self.problem.actions]

    def columns_named(self, label: str | None) -> dict[str, list[int]]:
        """The columns of weights behind a tag, a chunk label or a pair, by name; None: of all tags and chunk labels."""
        tags, chunks, actions = self.pairs.tags, self.pairs.chunks, self.problem.actions
        found = {f"tag {tag}": [k] for k, tag in enumerate(tags) if label in (None, tag, f"tag {tag}")}
        found |= {f"chunk {c}": [len(tags) + k] for k, c in enumerate(chunks) if label in (None, c, f"chunk {c}")}
        if label is not None and label in actions:
            found[label] = self.problem.parts[actions.index(label)].tolist()
        if not found:
            raise unknown("tag, chunk label or pair", label, [*tags, *chunks, f"a pair such as {actions[0]}"])
        return found

    # -- files ---------------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        found = {"tags": self.pairs.tags, "chunks": self.pairs.chunks, "history_templates": self.templates}
        return found | {"extra_name_heads": self.extras.heads()}

    def tensors(self) -> Tensors:
        own = {"pairs": self.pairs.pairs, "allowed": self.allowed}
        return own | self.dictionary.tensors() | self.extras.tensors()

    @classmethod
    def declared(cls, header: dict[str, Any]) -> tuple[dict[str, Tensor], Sizes]:
        tags, chunks = (len(texts(header[name], name, 2)) for name in ("tags", "chunks"))
        declared = {
            "pairs": Tensor("int64", "pairs", 2, least=0),
            "allowed": Tensor("bool", "contexts", "chunks"),
        }
        declared |= Dictionary.declared("tags") | Extras.declared(header["extra_name_heads"])
        return declared, {"tags": tags, "chunks": chunks, "contexts": chunks + 1}

    @classmethod
    def from_file(cls, header: dict[str, Any], tensors: Tensors) -> "PairEncoder":
        """Every label is part of a pair."""
        found = tensors["pairs"]
        for k, labels in enumerate((header["tags"], header["chunks"])):
            if not np.array_equal(np.unique(found[:, k]), np.arange(len(labels))):
                raise ValueError("pairs do not fit")
        if len(np.unique(found, axis=0)) < len(found):
            raise ValueError("a pair stands twice")
        pairs, templates = (
            Pairs(header["tags"], header["chunks"], found),
            texts(header["history_templates"], "templates"),
        )
        extras = Extras.from_file(header["extra_name_heads"], tensors)
        return cls(pairs, templates, allowed_of(tensors), Dictionary.from_tensors(tensors), extras)


def encode_pairs(
    prepared: PreparedTemplates,
    gold: np.ndarray,
    encoder: PairEncoder,
    allowed_learning: np.ndarray,
    cutoff: int,
    start: EncodedModel | None,
    known: KnownLayers | None = None,
) -> Encoded:
    """Training data for the engine; the encoder gets its extras. gold: the number of each token's pair; known: of
    sentences with open labels."""
    encoder.extras, columns = number_extras(prepared, cutoff, start.encoder.extras if start else None)
    keys = None if start is None else start.base.anchored_keys
    numbered = number_features(prepared.hashes, prepared.starts, cutoff, keys, prepared.jobs)
    problem = encoder.make_problem(allowed_learning)
    given = (problem, prepared, 0, len(prepared.starts) - 1, columns, allowed_learning)
    inputs = encoder.encode(*given)._replace(gold=gold, gold_ptr=prepared.starts)
    agreeing = None if known is None else Known(encoder.encode(*given, known), known.open)
    return Encoded(
        *(encoder, problem, inputs, numbered, lambda keys, tokens: prepared.names(keys, tokens, False), agreeing)
    )
