"""What all dependency parsers share: how they take treebanks, and what they can be asked, however they search."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structron.errors import StructronError, unknown
from structron.estimator import AVERAGES, Estimator
from structron.evaluate import AttachmentScores, attachment_scores
from structron.features.alphabets import EMPTY, ParserInput, Sentence
from structron.tasks.treebank import Arc, Projective, Roles, make_projective, read_arcs, settle_columns
from structron.trees import unlift
from structron.update.swvp import Family

NONPROJECTIVE = ("lift", "skip")


class TreeParser(Estimator):
    """An estimator whose sentences are rows with a head and, unless it is unlabelled, a relation for every word."""

    checks_trees: ClassVar[bool] = True
    columns: Sequence[str] | None
    pos: str | None
    labelled: bool
    nonprojective: str
    single_root: bool = True
    jj: str | Family
    jobs: int
    source_: dict[str, str]
    notes_: list[str]
    roles_: Roles
    relations_: list[str]
    lifted_: bool
    input_: ParserInput

    @abstractmethod
    def _inputs(self, sentences: Sequence[Sentence]) -> Any:
        """Sentences as `_parse` takes them."""

    @abstractmethod
    def _parse(self, model: Any, inputs: Any, jobs: int) -> list[list[Arc]]:
        """The trees that a model finds."""

    # -- training ------------------------------------------------------------------------------------------------

    def _check_whole(self, **least: int) -> None:
        """Parameters that are counts: whole numbers, with the least value of each."""
        for name in least:
            if not isinstance(getattr(self, name), int | np.integer):
                raise StructronError(f"{name}: {getattr(self, name)!r}; expected a whole number")
        self._check_counts(**least)

    def _check_choices(self) -> None:
        if self.average not in AVERAGES:
            raise unknown("average", str(self.average), AVERAGES)
        if self.nonprojective not in NONPROJECTIVE:
            raise unknown("nonprojective", self.nonprojective, NONPROJECTIVE)

    def _treebank(self, sentences: Iterable[Sentence], crossing: bool = False) -> Projective:
        """Settle the columns and read the trees; those with crossing arcs are lifted or left out unless wanted."""
        given = [sentence for sentence in sentences if len(sentence)]
        if not given:
            raise StructronError("training data: no sentences; expected at least one with words")
        self.roles_ = settle_columns(given, self.columns, self.pos, self.labelled)
        arcs = self.arcs(given, "training data")
        if crossing:
            found = Projective(given, arcs, 0, "")
        else:
            found = make_projective(given, arcs, self.nonprojective == "skip", self.labelled_)
        self.lifted_, self.notes_ = found.lifted > 0 and self.labelled_, [found.note] if found.note else []
        return found

    def arcs(self, sentences: Sequence[Sentence], what: str = "data") -> list[list[Arc]]:
        """The trees that rows hold, checked."""
        return read_arcs(sentences, self.roles_, what, not self.single_root)

    def _dev_score(self, dev: Iterable[Sentence] | None) -> Callable[[Any], float] | None:
        """The function that scores a model on dev data, which are read and encoded once."""
        if dev is None:
            return None
        sentences = [sentence for sentence in dev if len(sentence)]
        gold = self.arcs(sentences, "dev data")
        if not gold:
            raise StructronError("dev data: no sentences; expected at least one with words")
        if self.labelled_ and all(relation == EMPTY for tree in gold for _, relation in tree):
            raise StructronError(f"dev data: no relations ({EMPTY} everywhere); expected some, as in the training data")
        inputs = self._inputs(sentences)

        def score(model: Any) -> float:
            return getattr(attachment_scores(gold, self._parse(model, inputs, self.jobs)), self.metric)

        return score

    # -- using ---------------------------------------------------------------------------------------------------

    def _trees(self, starts: np.ndarray, heads: np.ndarray, relations: np.ndarray) -> list[list[Arc]]:
        """Sentence by sentence the arcs that flat heads and names of relations make, lifted words taken back down."""
        head_list, relation_list = heads.tolist(), relations.tolist()
        found: list[list[Arc]] = []
        for lo, hi in pairwise(starts.tolist()):
            own, named = head_list[lo:hi], relation_list[lo:hi]
            if not self.labelled_:
                named = [None] * len(own)
            elif self.lifted_:
                own, named = unlift(own, named)
            found.append(list(zip(own, named, strict=True)))
        return found

    def predict(self, sentences: Iterable[Sentence], jobs: int | None = None) -> list[list[Arc]]:
        """For every word its head (from 1; 0: the root) and relation (None: unlabelled)."""
        model = self._check_fitted()
        given = list(sentences)
        wordy = [sentence for sentence in given if len(sentence)]
        trees = iter(self._parse(model, self._inputs(wordy), self.jobs if jobs is None else jobs) if wordy else [])
        return [next(trees) if len(sentence) else [] for sentence in given]

    def predict_columns(self, sentences: Iterable[Sentence], jobs: int | None = None) -> list[list[list[str]]]:
        """For every sentence a list per output column."""
        found = []
        for tree in self.predict(sentences, jobs):
            columns = [[str(head) for head, _ in tree]]
            found.append(columns + ([[relation or EMPTY for _, relation in tree]] if self.labelled_ else []))
        return found

    def evaluate(self, sentences: Iterable[Sentence], jobs: int | None = None, guess: Any = None) -> AttachmentScores:
        """All scores on sentences with trees, or of `guess` for them."""
        self._check_fitted()
        given = list(sentences)
        return attachment_scores(self.arcs(given), self.predict(given, jobs) if guess is None else guess)

    def score(self, sentences: Iterable[Sentence]) -> float:
        """LAS, or UAS of an unlabelled parser."""
        return getattr(self.evaluate(sentences), self.metric)

    # -- files ---------------------------------------------------------------------------------------------------

    def _load_model(self, path: Path) -> Any:
        from structron.tasks.storage import load

        return load(path).model_

    # -- columns -------------------------------------------------------------------------------------------------

    @property
    def labelled_(self) -> bool:
        return self.roles_.relation is not None

    @property
    def metric(self) -> str:
        return "las" if (self.labelled_ if hasattr(self, "roles_") else self.labelled) else "uas"

    @property
    def columns_(self) -> list[str]:
        return self.roles_.columns

    @property
    def word_(self) -> str:
        return self.roles_.word

    @property
    def tag_(self) -> str:
        return self.roles_.tag

    @property
    def outputs_(self) -> list[str]:
        return self.roles_.outputs

    @property
    def needed_(self) -> list[str]:
        """The columns that a sentence to be parsed must have."""
        return self.input_.read
