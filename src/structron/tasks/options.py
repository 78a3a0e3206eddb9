"""The options of every task: which groups it takes, with which defaults, and what it lacks.

An estimator has an instance of the class of its task (`options_class`). The command line reads the same class without
importing the estimator, so this module needs neither numpy nor numba.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from structron.errors import StructronError
from structron.fields import DEFAULT, Options, free, options, options_of, real, switch
from structron.options import (
    NON_LOCAL,
    Chains,
    Chunks,
    Compact,
    Cutoff,
    Documents,
    Entities,
    Graphs,
    Lexical,
    LookUps,
    Margins,
    OwnAtoms,
    Partial,
    Passes,
    Pipelines,
    Queues,
    Search,
    Searching,
    Stepping,
    TagDictionary,
    Tags,
    TaskOptions,
    Templates,
    Texts,
    Tokens,
    Training,
    Transitions,
    Trees,
)

if TYPE_CHECKING:
    from structron.search.beam.problem import SearchProblem

EXACT_VOTES = {"average voted": "voting needs exact search over tokens"}
NO_TREES = {
    "forced": "heads in a file are not kept; in Python, `complete` of the shift-reduce parser keeps them",
    "tag_dictionary": "a parser does not label words",
    "non_local": "document features describe label sequences",
}
NO_CANDIDATES = "document features need the n best labellings of exact search over tokens"
NO_PREFIX = "the search compares whole trees: there are no prefixes, no beam and no states to merge"
ALONE = "each word's script is chosen independently: there is no search"
PIECES = "it labels pieces of text, not words"
TAGS_FIRST = "it reads tags; a lexicon helps to find them"
OWN_SETTINGS = "each part has its own settings"
ONE_PART = "only one part at a time, with --part"
ALL_KNOWN = "it learns only from complete analyses"
ALL = "all"
"""Value of `check` that has all examples of a user's problem walked through uncompiled first."""


@options()
class Learned(Training, Passes, TaskOptions):
    """A task that is learned in passes over the data."""


# -- labels ------------------------------------------------------------------------------------------------------------


@options()
class TokenOptions(Tokens, OwnAtoms, Searching, Learned):
    """Something for every token."""


class NoColumns:
    """What the options of columns come to where tokens are no rows."""

    columns = label = gazetteers = clusters = lexicon = None


class AllLabels:
    """What the options of lexicons and documents come to where all labels are looked at, a sentence at a time."""

    tag_dictionary, closed_classes, among = 0, False, "all"
    given = non_local = ()


@options({"beam": DEFAULT, "update": DEFAULT, "alma": None})
class ChainOptions(Chains, Searching, Learned):
    """Label sequences, with exact search or under a beam."""


@options()
class LabelOptions(ChainOptions, TagDictionary, Lexical, Documents, Partial, TokenOptions):
    """One label for every word."""


@options({"order": 2, "runs": 4, "cutoff": 2})
class TaggerOptions(LabelOptions):
    """Tagger."""

    task: ClassVar[str] = "tagger"
    about: ClassVar[str] = "One label per word: parts of speech, features, or anything else."
    flagless: ClassVar[Mapping[str, str]] = dict.fromkeys(
        options_of(Documents),
        "the built-in document features need chunk labels; your own functions work, in Python",
    )
    default_templates: ClassVar[Mapping[str, str]] = {"": "tagger"}

    non_local: Sequence[Callable] = free("Your own features of whole documents.", default=(), stored=False)

    def check_options(self) -> None:
        """Of the features of documents, the built-in ones go by names."""
        super().check_options()
        if any(isinstance(source, str) for source in self.non_local or ()):
            raise StructronError(f"non_local: not available for the {self.task} ({self.flagless['non_local']})")


@options({"order": 1, "runs": 4})
class ChunkerOptions(LabelOptions):
    """Chunker."""

    task: ClassVar[str] = "chunker"
    about: ClassVar[str] = "Chunks, written as B-NP, I-NP, O."
    default_templates: ClassVar[Mapping[str, str]] = {"pos": "chunker", "": "chunker-words"}


@options({"beam": DEFAULT, "update": DEFAULT, "alma": DEFAULT, "margin": DEFAULT, "cutoff": 2, "runs": 4})
class SegmentOptions(Chunks, Partial, TokenOptions):
    """Chunks as whole segments."""

    task: ClassVar[str] = "segments"
    about: ClassVar[str] = "Chunks as whole segments, with features of the segment."
    default_templates: ClassVar[Mapping[str, str]] = {"pos": "segments", "": "segments-words"}
    task_defaults: ClassVar[Mapping[str, Any]] = {"beam": 4, "update": "max-violation", "margin": 2.0}
    lacks: ClassVar[Mapping[str, str]] = EXACT_VOTES | {
        "confidence": "it labels chunks, not tokens",
        "forced": "it labels chunks, not tokens",
        "tag_dictionary": "it does not label words one by one",
        "non_local": NO_CANDIDATES,
    }


@options(
    {
        "beam": DEFAULT,
        "update": DEFAULT,
        "alma": DEFAULT,
        "margin": DEFAULT,
        "cutoff": 2,
        "runs": 4,
        "passes": 5,
        "tag_dictionary": 5,
    }
)
class JointOptions(Tags, TagDictionary, Partial, TokenOptions):
    """Tags and chunks together."""

    task: ClassVar[str] = "joint"
    about: ClassVar[str] = "Tags and chunks together, from just words."
    task_defaults: ClassVar[Mapping[str, Any]] = {"beam": 2, "update": "laso", "margin": 5.0}
    lacks: ClassVar[Mapping[str, str]] = EXACT_VOTES | {
        "confidence": "each word has two labels, so there is no single margin",
        "forced": "each word has two labels, and a file might give only one",
        "non_local": NO_CANDIDATES,
    }


@options(
    {
        "order": 1,
        "passes": 15,
        "cutoff": 2,
        "margin": DEFAULT,
        "non_local": DEFAULT,
        "local_update": "sentences",
        "test_candidates": 400,
    }
)
class EntityOptions(Entities, LabelOptions):
    """Named entities."""

    task: ClassVar[str] = "entities"
    about: ClassVar[str] = "Names of people, places and so on, consistent within a document."
    default_templates: ClassVar[Mapping[str, str]] = {"pos": "entities", "": "entities-words"}
    task_defaults: ClassVar[Mapping[str, Any]] = {"margin": 50.0, "non_local": NON_LOCAL}


@options()
class AttributeOptions(NoColumns, AllLabels, Cutoff, ChainOptions):
    """Labels from attributes that the user has worked out; only in Python."""

    task: ClassVar[str] = "sequence-labeler"
    former: ClassVar[Sequence[type[Options]]] = (Tokens, Documents, TagDictionary, Lexical)

    prune: float = real("Drop weights of at most W from the model.", default=0.0, least=0, metavar="W", flag=None)


# -- trees -------------------------------------------------------------------------------------------------------------


@options({"beam": DEFAULT, "update": DEFAULT, "margin": DEFAULT})
class ParserOptions(Templates, Transitions, Searching, Partial, Trees, Learned):
    """Dependency trees, by shift and reduce."""

    task: ClassVar[str] = "parser"
    about: ClassVar[str] = "Dependency trees, with a shift-reduce parser."
    task_defaults: ClassVar[Mapping[str, Any]] = {"beam": 4, "update": "laso", "margin": 5.0, "slack": 12.0}
    lacks: ClassVar[Mapping[str, str]] = EXACT_VOTES | {
        "confidence": "arcs result from actions; compare the n best trees instead",
        **NO_TREES,
        "gazetteers": "its templates over stack and buffer read only the columns of the file",
        "lexicon": TAGS_FIRST,
    }

    def search(self, learning: bool = False) -> Search:
        """With the slack that the options stand for. LaSO with a margin learns to keep the correct state in the
        beam at every step; other updates may count on later ones, and predict with all states of the beam."""
        found, slack = super().search(learning), self.slack
        if isinstance(slack, str):
            slack = self.task_defaults["slack"] if found.update == "laso" and found.margin else None
        return dataclasses.replace(found, slack=math.inf if slack is None else slack)


@options({"passes": 5, "runs": 2})
class GraphOptions(Graphs, Partial, Trees, Stepping, Learned):
    """Dependency trees, by searching all trees."""

    task: ClassVar[str] = "graph-parser"
    about: ClassVar[str] = "Dependency trees, with a search over all trees."
    lacks: ClassVar[Mapping[str, str]] = EXACT_VOTES | {
        **dict.fromkeys(("beam", "update", "merge", "count_merged"), NO_PREFIX),
        "templates": "its features of arcs are part of the compiled code",
        "confidence": "a tree is chosen as a whole; compare the n best trees instead",
        **NO_TREES,
        "gazetteers": "its features of arcs read only the columns of the file",
        "lexicon": TAGS_FIRST,
    }


# -- text --------------------------------------------------------------------------------------------------------------


@options({"order": 2, "passes": 30, "runs": 2, "cutoff": 2, "margin": DEFAULT})
class TokenizerOptions(NoColumns, AllLabels, Texts, Cutoff, Templates, OwnAtoms, ChainOptions):
    """Sentences and tokens."""

    task: ClassVar[str] = "tokenizer"
    about: ClassVar[str] = "Sentences and tokens from plain text."
    texts: ClassVar[bool] = True
    default_templates: ClassVar[Mapping[str, str]] = {"": "tokenizer"}
    task_defaults: ClassVar[Mapping[str, Any]] = {"margin": 200.0}
    former: ClassVar[Sequence[type[Options]]] = (Tokens, Documents, TagDictionary, Lexical)
    lacks: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "nbest",
            "confidence",
            "forced",
            "explain",
            "columns",
            "label",
            "tag_dictionary",
            "gazetteers",
            "clusters",
            "lexicon",
            "non_local",
        ),
        PIECES,
    ) | {
        "among": PIECES,
        "open_label": ALL_KNOWN,
        "partial_fit": "the pieces depend on all of the training data",
    }


@options({"cutoff": 2, "passes": 6})
class ScriptOptions(LookUps, Tokens, OwnAtoms, Learned):
    """One text made of another, for every token."""

    former: ClassVar[Sequence[type[Options]]] = (Searching, Documents, Chains, TagDictionary, Lexical)
    lacks: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            *("beam", "update", "merge", "count_merged", "alma", "margin", "swvp", "average voted"),
            *("tag_dictionary", "among"),
        ),
        ALONE,
    ) | {
        "non_local": "the built-in document features need chunk labels",
        "open_label": "leave the word out instead: each word's script is chosen independently",
        "partial_fit": "the lexicon is learned from all data at once",
        "forced": "a new lemma may not be among the known scripts",
    }

    def search(self, learning: bool = False) -> Search:
        """Word by word: there is nothing to search."""
        return Search()


@options()
class SplitterOptions(ScriptOptions):
    """Multiword tokens."""

    task: ClassVar[str] = "splitter"
    default_templates: ClassVar[Mapping[str, str]] = {"": "splitter"}


@options()
class LemmatizerOptions(ScriptOptions):
    """Lemmas."""

    task: ClassVar[str] = "lemmatizer"
    about: ClassVar[str] = "The lemma of every word."
    default_templates: ClassVar[Mapping[str, str]] = {"upos": "lemmatizer", "": "lemmatizer-words"}

    letters: bool = switch(
        "Spell the lemmas of unknown words letter by letter.", default=False, flag="--letters", section="search"
    )


@options()
class PipelineOptions(Pipelines, Texts, Compact, Training, TaskOptions):
    """From text to trees."""

    task: ClassVar[str] = "pipeline"
    about: ClassVar[str] = "Everything from plain text to trees and entities."
    texts: ClassVar[bool] = True
    former: ClassVar[Sequence[type[Options]]] = (Passes,)
    lacks: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            *("passes", "runs", "average", "average voted", "bpm", "shuffle", "patience", "stop_change", "templates"),
            *("beam", "update", "merge", "count_merged", "alma", "margin", "swvp"),
            *("tag_dictionary", "non_local"),
            *("nbest", "confidence", "forced"),
        ),
        OWN_SETTINGS,
    ) | {
        "open_label": OWN_SETTINGS,
        "partial_fit": "parts learn from the predictions of others, so all must be retrained",
        "inspect": ONE_PART,
        "explain": ONE_PART,
    }


# -- search problems of the user's own ---------------------------------------------------------------------------------


@options()
class ProblemOptions(Learned):
    """A search problem, which is given first."""

    problem: "SearchProblem" = dataclasses.field(kw_only=False)
    """What is searched; the first argument, and the only one by position."""

    debug: bool = switch(
        "Check every call of the problem's functions, which run uncompiled (slow).",
        default=False,
        flag=None,
        stored=False,
    )


@options()
class BeamLearnerOptions(Searching, ProblemOptions):
    """Beam search."""

    task: ClassVar[str] = "problem"

    check: Any = switch(
        "Check that every update is a violation; all: first run all examples uncompiled too (slow).",
        default=None,
        choices=(ALL,),
        flag=None,
        stored=False,
        none="none",
    )

    def search(self, learning: bool = False) -> Search:
        """The search that the options stand for."""
        found = super().search(learning)
        return dataclasses.replace(found, check=True) if self.check == ALL else found


@options()
class QueueLearnerOptions(Queues, Margins, ProblemOptions):
    """Any search with a queue."""

    task: ClassVar[str] = "queue problem"
    lacks: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("merge", "count_merged"), "each node in a queue is a single derivation"),
        "swvp": "LaSO updates with the mean of the queue, not with a single derivation",
    }

    def search(self, learning: bool = False) -> Search:
        """The search that the options stand for."""
        steps = self.steps()
        return Search(1, self.update, False, self.check == ALL or self.check, steps.alma, steps.margin)


TASKS: dict[str, type[TaskOptions]] = {
    kind.task: kind
    for kind in (
        TaggerOptions,
        ChunkerOptions,
        SegmentOptions,
        JointOptions,
        EntityOptions,
        ParserOptions,
        GraphOptions,
        TokenizerOptions,
        LemmatizerOptions,
        PipelineOptions,
    )
}
"""Those that the command line trains, by name."""
