"""What a chain labeller settles before it learns: its columns and features, its search, its labels and constraints."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structron.errors import StructronError, unknown
from structron.features.documents import check_sources, name_of
from structron.features.extract import PreparedTemplates, TemplateExtractor
from structron.features.gazetteer import Gazetteer
from structron.features.templates import Template, load_templates
from structron.learn import committee
from structron.learn.beam import check_swvp, rule_of
from structron.learn.bpm import bpm_start
from structron.learn.chain import ChainLearner, Start
from structron.learn.chain_committee import Committee
from structron.learn.documents import NBest, NonLocalLearner
from structron.progress import Progress
from structron.sentences import check_sentences, is_row, sentences_of
from structron.tasks.chain.beam import BeamChainModel
from structron.tasks.chain.beam_learner import BeamChainLearner, Search
from structron.tasks.chain.constraints import Neighbours, legal_transitions, make_dictionary
from structron.tasks.chain.problem import label_templates, looks_further
from structron.update.alma import checked_margin, make_alma
from structron.update.nbest import check_nbest
from structron.update.swvp import make_swvp

if TYPE_CHECKING:
    from structron.tasks.chain.labeler import ChainLabeler

AVERAGES = ("mean", "none", "voted")
WORD_COLUMNS = ("word", "form", "w")
BEAM = 8
"""The beam for an update rule that is given without one."""
UPDATE = "max-violation"
"""The update rule for a beam that is given without one."""
FURTHER = "templates look at labels as Viterbi cannot: exact search by dynamic programming; --beam N is faster"


def default_columns(width: int) -> list[str]:
    """Names for the columns of a file that nobody named: word, pos, …, label."""
    middle = ["pos", *(f"column{k}" for k in range(3, width))]
    return ["word", *middle[: max(width - 2, 0)], "label"][: max(width, 1)]


def make_extractor(
    labeler: "ChainLabeler", sentences: Iterator[Sequence]
) -> tuple[Iterator[Sequence], TemplateExtractor]:
    """An extractor for tokens like the first one, and the sentences again from the first on."""
    head: list[Sequence] = []
    first: Any = None
    for item in sentences:
        head.append(item)
        found = sentences_of([item])
        check_sentences(found, "training data", len(head) - 1)
        first = next((sentence[0] for sentence in found if len(sentence)), None)
        if first is not None:
            break
    else:
        raise StructronError("training data: no sentences; expected at least one with words")
    if not is_row(type(first)):
        raise StructronError(f"training data: a token is {first!r}; expected rows that end in the label")
    names = list(labeler.columns) if labeler.columns else default_columns(len(first))
    if len(set(names)) < len(names):
        raise StructronError(f"columns: {', '.join(names)}: a name stands twice")
    label = labeler.label or names[-1]
    if label not in names:
        raise unknown("label column", label, names)
    word = next((c for c in WORD_COLUMNS if c in names), names[0])
    if word == label:
        raise StructronError(f"columns: {', '.join(names)}: the label cannot be the word; expected word,…,label")
    source = labeler.templates
    if source == "default":  # the preset for these columns: richer where the file has more
        source = next(preset for column, preset in labeler.default_templates.items() if column in (*names, ""))
    gazetteers = [make_gazetteer(name, given) for name, given in (labeler.gazetteers or {}).items()]
    extractor = TemplateExtractor(names, label, load_templates(source), word, gazetteers, labeler.atoms)
    return chain(head, sentences), extractor


def make_gazetteer(name: str, given: Any) -> Gazetteer:
    if isinstance(given, Gazetteer):
        return given
    return Gazetteer.from_files(name, [given] if isinstance(given, str | Path) else list(given))


def check_parameters(labeler: "ChainLabeler") -> None:
    """Refuse parameters that cannot be, before any data are looked at."""
    if labeler.order not in (1, 2):
        raise unknown("order", labeler.order, (1, 2))
    if labeler.average not in AVERAGES:
        raise unknown("average", labeler.average, AVERAGES)
    for name in ("cutoff", "tag_dictionary"):
        if getattr(labeler, name) < 0:
            raise StructronError(f"{name}: {getattr(labeler, name)}; expected 0 or more")
    labeler._check_counts(jobs=1, runs=1, bpm=0)
    check_nbest(labeler.candidates, labeler.test_candidates, labeler.local_update)
    if labeler.local_margin is not None:
        checked_margin(labeler.local_margin, "local_margin")
    check_sources(labeler.non_local)
    learning(labeler)


def learning(estimator: Any) -> Search:
    """How an estimator searches while it learns, weighted violations included; they do not go with everything."""
    search, swvp = estimator._search(), make_swvp(estimator)
    sources = " ".join(map(name_of, getattr(estimator, "non_local", ())))
    check_swvp(swvp, search.update, alma=search.alma, margin=search.margin, non_local=sources or None)
    return replace(search, swvp=swvp)


def settle_search(
    beam: int | str | None,
    update: str | None,
    merge: bool = True,
    check: bool | None = None,
    alma: float | None = None,
    margin: float | None = None,
) -> Search:
    """The search that beam and update stand for; each has a default that depends on the other."""
    make_alma(alma, margin)
    if isinstance(beam, str) and beam != "default":
        raise StructronError(f"beam: {beam!r}; expected a whole number of at least 1, or None for no limit")
    if isinstance(beam, int) and beam < 1:
        raise StructronError(f"beam: {beam}; expected at least 1, or None for no limit")
    if update is None:
        update = "laso" if alma is not None else UPDATE if isinstance(beam, int) else "standard"
    rule_of(update)
    width = beam if not isinstance(beam, str) else None if update == "standard" and alma is None else BEAM
    if width is None and not merge:
        raise StructronError("merge: off without a beam; expected a beam: else every labelling would be a state")
    return Search(width, update, merge, check, alma, margin)


def searched_exactly(search: Search, templates: Sequence[Template], order: int) -> bool:
    """Whether this is Collins' perceptron with Viterbi; all else is for the beam engine."""
    plain = search.beam is None and search.update == "standard" and search.alma is None
    return plain and not looks_further(templates, order)


def make_learner(
    labeler: "ChainLabeler", prepared: PreparedTemplates, start: Start | BeamChainModel | None
) -> ChainLearner | committee.Committee | BeamChainLearner:
    """Number the labels, settle the constraints, number the features; a labeller may do so in a way of its own."""
    if hasattr(labeler, "_own_learner"):
        return labeler._own_learner(prepared)
    old = start.labels if start else []
    labels = [*old, *sorted(set(prepared.label_types) - set(old))]
    if len(labels) < 2:
        raise StructronError(f"training data: one label only ({labels[0]}); expected two or more")
    index = {label: y for y, label in enumerate(labels)}
    number = np.array([index[label] for label in prepared.label_types], np.int64)
    gold = number[prepared.label_ids]
    neighbours = Neighbours(labels, gold, prepared.starts)
    labeler.scheme_ = neighbours.scheme(labeler.scheme_ if start else None) if labeler._chunks() else None
    allowed = legal_transitions(labels, labeler.scheme_ if labeler.constrain else None, labeler.forbid)
    labeler.notes_ = []
    if illegal := neighbours.illegal(allowed):
        labeler.notes_.append(f"{illegal} forbidden transitions in the training labels, learned from as they are")
    dictionary = make_dictionary(prepared, gold, len(labels), labeler.tag_dictionary)
    if start is not None:
        dictionary = labeler.model_.dictionary.merged(dictionary, len(labels))
    seen = neighbours.seen(allowed)
    search, templates = learning(labeler), getattr(labeler.extractor_, "templates", [])
    exact = searched_exactly(search, templates, labeler.order)
    if start is not None and exact == isinstance(start, BeamChainModel):
        has = "no beam" if exact is False else "a beam"
        raise StructronError(f"the model to go on from was trained with {has}; expected the same beam and update")
    if exact:
        given = (labeler.order, allowed, seen, dictionary, labeler.cutoff, labeler.average)
        begin = start if isinstance(start, Start) else None
        learner = _exact_learner(labeler, prepared, gold, labels, *given, begin, labeler.margin)
        return learner if labeler._runs() == 1 else Committee(learner, labeler.runs)
    for name in ("non_local", "bpm"):
        if getattr(labeler, name):
            raise StructronError(f"{name}: needs exact search; expected neither a beam, nor an update rule, nor alma")
    if labeler.average == "voted":
        raise StructronError("average: voted needs exact search; expected mean or none with a beam or an update rule")
    if search.beam is None and search.update == "standard":
        labeler.notes_.append(FURTHER)
    texts = label_templates(templates, labeler.order)
    beamed = BeamChainLearner(
        prepared,
        gold,
        labels,
        labeler.order,
        texts,
        allowed,
        seen,
        dictionary,
        search,
        labeler.cutoff,
        labeler.average,
        start if isinstance(start, BeamChainModel) else None,
    )
    return beamed if labeler.runs == 1 else committee.Committee(beamed, labeler.runs)


def _exact_learner(labeler: "ChainLabeler", prepared: PreparedTemplates, gold: np.ndarray, *given: Any) -> ChainLearner:
    """Viterbi's learner: Collins' perceptron, with a margin or weighted violations, or with non-local features too."""
    if not labeler.non_local:
        return ChainLearner(prepared, gold, *(*given, make_swvp(labeler)))
    if labeler.average == "voted":
        raise StructronError("average: voted: not with non-local features; expected mean or none")
    if labeler.scheme_ is None and any(isinstance(source, str) for source in labeler.non_local):
        raise StructronError("non_local: the built-in features are of entities; expected chunk labels such as B-PER, O")
    nbest = NBest(
        tuple(check_sources(labeler.non_local)),
        labeler.candidates,
        labeler.test_candidates,
        labeler.local_update,
        labeler.local_margin,
    )
    return NonLocalLearner(prepared, gold, *given, nbest=nbest)


def start_weights(labeler: "ChainLabeler", learner: Any, progress: Progress, fresh: bool) -> None:
    """BPM initialisation, if asked for, of a learner or of each in a committee."""
    if not labeler.bpm or not fresh:
        return
    if learner.is_cold():
        progress.note("compiling (first run only) …")
    progress.note(f"starting from the mean of {labeler.bpm} one-pass runs")
    for number, member in enumerate(getattr(learner, "members", [learner])):
        bpm_start(member, labeler.bpm, labeler.seed + number)


def known_labels(labels: Sequence[str], sentences: Sequence, forced: Iterable[Sequence[str | None]]) -> list[list[int]]:
    """The numbers of the forced labels, -1 for free."""
    forced = list(forced)
    index: dict[str | None, int] = {label: y for y, label in enumerate(labels)}
    index[None] = -1
    if [len(given) for given in forced] != [len(sentence) for sentence in sentences]:
        raise StructronError("forced labels: lengths differ from the sentences'; expected one (or None) per token")
    try:
        return [[index[label] for label in given] for given in forced]
    except KeyError as error:
        raise unknown("forced label", error.args[0], labels) from None
