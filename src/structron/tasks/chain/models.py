"""The kinds of models that a chain labeller can have, each with what differs by kind: decode, nbest, inspect, explain,
what further training starts from, the signature's words for the search, and reading a file.

    exact      a chain, Viterbi            documents  a chain and features of documents, over its n-best labellings
    choices    a few labels for each token            beam       an encoder and the beam engine

Which kind a model is of is decided here alone: `searching` for a model, `read_model` for a file. Models are imported
when they are asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError
from structron.io.tensors import Tensors, check
from structron.learn.chain import ChainLearner, Start
from structron.model.chain import ChainModel
from structron.model.heaviest import Heaviest
from structron.tasks.chain.explain import (
    explain,
    heaviest_in_chain,
    heaviest_of_choices,
    heaviest_of_documents,
    heaviest_under_beam,
)
from structron.tasks.tokens import LabelDecoder, nbest_under_beam


@dataclass(frozen=True, slots=True)
class Settled:
    """What a labeller knows before it reads its model."""

    extractor: Any
    given: list[str]  # columns that are looked up with the word
    demands: Callable[[list[str]], Any] | None = None  # what labels ask of a word's spelling
    choices: Callable[[list[str]], Any] | None = None  # labels that count as seen with words, from a user's lexicon
    functions: Sequence[Callable] = ()  # features of documents that are not in the file


@dataclass(frozen=True)
class ExactSearch:
    """A chain model, searched by Viterbi."""

    model: Any
    options: Any

    has_beam: ClassVar[bool] = False

    @property
    def known(self) -> Any:
        """What has order and dictionary."""
        return self.model

    def decode(self, prepared: Any, jobs: int, forced: Any, margins: bool, **how: Any) -> tuple[Any, Any]:
        """The number of a label for each token, and the margins if they are asked for."""
        beam = self.options.resolved.beam
        if beam is not None:
            raise StructronError(f"beam: {beam}; expected none: the model was trained with exact search")
        out, _, sure = self.model.decode(prepared, jobs, forced, margins, **how)
        return out, sure

    def nbest(
        self, prepared: Any, n: int, jobs: int, decode: LabelDecoder, **how: Any
    ) -> list[list[tuple[Any, float]]]:
        """The n best labellings of each sentence or document, as `decode` writes them, with their scores."""
        found = []
        for unit, (rows, scores) in enumerate(self.model.nbest(prepared, n, jobs, **how)):
            bounds = prepared.starts[prepared.units[unit] : prepared.units[unit + 1] + 1]
            found.append(list(zip([decode(row, bounds) for row in rows], scores.tolist(), strict=True)))
        return found

    def inspect(self, label: str | None, top: int) -> Heaviest:
        """The heaviest features of every label, and of label pairs and triples; only those for `label` if given."""
        return heaviest_in_chain(self.model, label, top)

    def explain(self, prepared: Any, top: int) -> list[Any]:
        """Why each token of the only sentence has its label."""
        return explain(self.model, prepared, top)

    def start(self, learner: Any) -> Any:
        """An exact learner's state with its sums, where it is still there; otherwise the model's weights."""
        return learner.as_start() if isinstance(learner, ChainLearner) else Start.of_model(self.model)

    def __str__(self) -> str:
        return f"viterbi-{self.options.order}"

    @property
    def sources(self) -> list[Any] | None:
        """The features of documents that it was learned with; None: those of the options."""
        return []

    @staticmethod
    def read(header: dict[str, Any], tensors: Tensors, settled: Settled) -> Any:
        """The model of a file, checked."""
        check(tensors, *ChainModel.declared(header))
        return ChainModel.from_file(header, tensors)


class DocumentSearch(ExactSearch):
    """The same with features of documents, which choose among n-best labellings."""

    def decode(self, prepared: Any, jobs: int, forced: Any, margins: bool, **how: Any) -> tuple[Any, Any]:
        return super().decode(prepared, jobs, forced, margins, candidates=self.options.test_candidates)

    def nbest(
        self, prepared: Any, n: int, jobs: int, decode: LabelDecoder, **how: Any
    ) -> list[list[tuple[Any, float]]]:
        return super().nbest(prepared, n, jobs, decode, candidates=self.options.test_candidates)

    def inspect(self, label: str | None, top: int) -> Heaviest:
        """Those of documents, too, which are of no label."""
        found = super().inspect(label, top)
        return found if label is not None else replace(found, non_local=heaviest_of_documents(self.model, top))

    def explain(self, prepared: Any, top: int) -> list[Any]:
        model = self.model
        return explain(model, prepared, top, model.document_scores, candidates=self.options.test_candidates)

    def start(self, learner: Any) -> Any:
        found = super().start(learner)
        return found if found.documents is not None else replace(found, documents=self.model.document_weights())

    @property
    def sources(self) -> list[Any]:
        features = self.model.features
        return [*features.inventory.families, *features.functions.values()]

    def __str__(self) -> str:
        options = self.options
        return f"{super().__str__()}-{options.candidates}-best-{options.local_update} test {options.test_candidates}"

    @staticmethod
    def read(header: dict[str, Any], tensors: Tensors, settled: Settled) -> Any:
        from structron.features.documents import name_of
        from structron.model.documents import DocumentModel

        check(tensors, *DocumentModel.declared(header))
        given = {name_of(function): function for function in settled.functions}
        functions = [given[name] for name in header["non_local_functions"]]
        return DocumentModel.from_file(header, tensors, functions)


class ChoiceSearch(ExactSearch):
    """A model whose tokens have a few labels to choose from, out of any number."""

    def inspect(self, label: str | None, top: int) -> Heaviest:
        return heaviest_of_choices(self.model, label, top)

    def start(self, learner: Any) -> Any:
        raise StructronError("among: training cannot continue from a model with seen; expected one with all")

    def __str__(self) -> str:
        return f"choices-{self.model.order}"

    @staticmethod
    def read(header: dict[str, Any], tensors: Tensors, settled: Settled) -> Any:
        from structron.features.lexicon import NO_DEMANDS
        from structron.model.choices import ChoiceModel

        check(tensors, *ChoiceModel.declared(header))
        if header["given"] != settled.given:
            raise ValueError("columns to look up do not fit")
        demands = settled.demands(header["labels"]) if settled.demands else NO_DEMANDS
        model = ChoiceModel.from_file(header, tensors, demands)
        model.lexicon.more = settled.choices(model.labels) if settled.choices else None
        return model


@dataclass(frozen=True)
class BeamSearch:
    """An encoder and the engine's own model, searched under a beam; what an `ExactSearch` does, done by the engine."""

    model: Any
    options: Any

    has_beam: ClassVar[bool] = True

    @property
    def known(self) -> Any:
        return self.model.encoder

    def decode(self, prepared: Any, jobs: int, forced: Any, margins: bool) -> tuple[Any, Any]:
        search = self.options.resolved
        out, scores = self.model.decode(prepared, search.beam, search.merge, jobs, forced)
        given = (prepared, out, scores, search.beam, search.merge, jobs, forced)
        return out, self.model.margins(*given) if margins else np.empty(0, np.float32)

    def nbest(self, prepared: Any, n: int, jobs: int, decode: LabelDecoder) -> list[list[tuple[Any, float]]]:
        return nbest_under_beam(self.model, self.options.resolved, prepared, n, jobs, decode)

    def inspect(self, label: str | None, top: int) -> Heaviest:
        return heaviest_under_beam(self.model, label, top)

    def explain(self, prepared: Any, top: int) -> list[Any]:
        search = self.options.resolved
        return self.model.explain(prepared, search.beam, search.merge, top)

    def start(self, learner: Any) -> Any:
        return self.model

    @property
    def sources(self) -> None:
        return None

    def __str__(self) -> str:
        return str(self.options.resolved)

    @staticmethod
    def read(header: dict[str, Any], tensors: Tensors, settled: Settled) -> Any:
        from structron.model.encoded import EncodedModel
        from structron.tasks.chain.encoder import LabelEncoder

        model = EncodedModel.read(LabelEncoder, header, tensors)
        if len(model.encoder.extras.keys) != len(settled.extractor.paired.templates):
            raise ValueError("features do not fit the templates")
        return model


KINDS: Mapping[str, type[ExactSearch] | type[BeamSearch]] = {
    "chain": ExactSearch,
    "documents": DocumentSearch,
    "choices": ChoiceSearch,
    "labels": BeamSearch,
}
"""By the kind of a model, as its file names it."""


def searching(model: Any, options: Any) -> ExactSearch | BeamSearch:
    """A model with the search of its kind."""
    return KINDS[model.kind](model, options)


def read_model(header: dict[str, Any], tensors: Tensors, settled: Settled) -> Any:
    """The model of a file, checked."""
    if header["kind"] not in KINDS:
        raise ValueError(f"a model of kind {header['kind']!r}")
    return KINDS[header["kind"]].read(header, tensors, settled)
