"""The options of every task: which groups it takes, with which defaults, and what it lacks.

An estimator has an instance of the class of its task (`options_class`). The command line reads the same class without
importing the estimator, so this module needs neither numpy nor numba.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from structron.fields import DEFAULT, Options, options, options_of, real, switch
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
    Task,
    Templates,
    Texts,
    Tokens,
    Training,
    Transitions,
    Trees,
)

if TYPE_CHECKING:
    from structron.search.beam.problem import SearchProblem

EXACT_VOTES = {"average voted": "votes need exact search over tokens"}
NO_TREES = {
    "forced": "heads cannot be given",
    "tag_dictionary": "words are not labelled",
    "non_local": "document features are of label sequences",
}
NO_CANDIDATES = "document features need n-best labellings of exact search over tokens"
NO_PREFIX = "the search looks at whole trees: there is no prefix, no beam and no state to merge"
ALONE = "a word's script does not depend on those of others: there is nothing to search"
PIECES = "its labels are of pieces of text, not of words"
OWN_SETTINGS = "every part has settings of its own"
ONE_PART = "one part at a time, with --part"
ALL_KNOWN = "it learns from full analyses only"
ALL = "all"
"""Value of `check` that has all examples of a user's problem walked through uncompiled first."""


@options()
class Learned(Training, Passes, Task):
    """A task that is learned in passes over the data."""


# -- labels ------------------------------------------------------------------------------------------------------------


@options()
class TokenOptions(Tokens, OwnAtoms, Searching, Learned):
    """Something for every token."""


class NoColumns:
    """What the options of columns come to where tokens are no rows."""

    columns = label = gazetteers = clusters = None


class AllLabels:
    """What the options of lexicons and documents come to where all labels are looked at, a sentence at a time."""

    tag_dictionary, among = 0, "all"
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
    lacks: ClassVar[Mapping[str, str]] = dict.fromkeys(
        options_of(Documents),
        "the built-in document features are of chunk labels; functions of your own work in Python",
    )
    default_templates: ClassVar[Mapping[str, str]] = {"": "tagger"}


@options({"order": 1, "runs": 4})
class ChunkerOptions(LabelOptions):
    """Chunker."""

    task: ClassVar[str] = "chunker"
    about: ClassVar[str] = "Chunks, written as B-NP, I-NP, O."
    default_templates: ClassVar[Mapping[str, str]] = {"pos": "chunker", "": "chunker-words"}


@options({"beam": DEFAULT, "update": DEFAULT, "alma": DEFAULT, "margin": DEFAULT, "cutoff": 2, "runs": 4})
class SegmentOptions(Chunks, TokenOptions):
    """Chunks as whole segments."""

    task: ClassVar[str] = "segments"
    about: ClassVar[str] = "Chunks as whole segments, with features of the segment."
    default_templates: ClassVar[Mapping[str, str]] = {"pos": "segments", "": "segments-words"}
    task_defaults: ClassVar[Mapping[str, Any]] = {"beam": 4, "update": "max-violation", "margin": 2.0}
    lacks: ClassVar[Mapping[str, str]] = EXACT_VOTES | {
        "open_label": ALL_KNOWN,
        "confidence": "chunks are labelled, not tokens",
        "forced": "chunks are labelled, not tokens",
        "tag_dictionary": "words are not labelled one by one",
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
class JointOptions(Tags, TagDictionary, TokenOptions):
    """Tags and chunks together."""

    task: ClassVar[str] = "joint"
    about: ClassVar[str] = "Tags and chunks together, from words alone."
    task_defaults: ClassVar[Mapping[str, Any]] = {"beam": 2, "update": "laso", "margin": 5.0}
    lacks: ClassVar[Mapping[str, str]] = EXACT_VOTES | {
        "open_label": ALL_KNOWN,
        "confidence": "a word has two labels, and no single margin",
        "forced": "a word has two labels, of which a file may give one",
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
    about: ClassVar[str] = "Names of people, places and so on, consistent throughout a document."
    default_templates: ClassVar[Mapping[str, str]] = {"pos": "entities", "": "entities-words"}
    task_defaults: ClassVar[Mapping[str, Any]] = {"margin": 50.0, "non_local": NON_LOCAL}


@options()
class AttributeOptions(NoColumns, AllLabels, Cutoff, ChainOptions):
    """Labels from attributes that the user has worked out; only in Python."""

    task: ClassVar[str] = "sequence-labeler"
    former: ClassVar[Sequence[type[Options]]] = (Tokens, Documents, TagDictionary, Lexical)

    prune: float = real("Leave weights of at most W out of the model.", default=0.0, least=0, metavar="W", flag=None)


# -- trees -------------------------------------------------------------------------------------------------------------


@options({"beam": DEFAULT, "update": DEFAULT, "margin": DEFAULT})
class ParserOptions(Templates, Transitions, Searching, Trees, Learned):
    """Dependency trees, by shift and reduce."""

    task: ClassVar[str] = "parser"
    about: ClassVar[str] = "Dependency trees, by shift and reduce."
    task_defaults: ClassVar[Mapping[str, Any]] = {"beam": 4, "update": "laso", "margin": 5.0, "slack": 12.0}
    lacks: ClassVar[Mapping[str, str]] = EXACT_VOTES | {
        "open_label": ALL_KNOWN,
        "confidence": "arcs are built by actions; compare the n best trees instead",
        **NO_TREES,
        "gazetteers": "templates over stack and buffer read the columns of the file",
    }

    def search(self, learning: bool = False) -> Search:
        """With the slack that the options stand for. LaSO with a margin learns to keep the correct state in the
        beam at every step; other updates may count on later ones, and predict with all states of the beam."""
        found, slack = super().search(learning), self.slack
        if isinstance(slack, str):
            slack = self.task_defaults["slack"] if found.update == "laso" and found.margin else None
        return dataclasses.replace(found, slack=math.inf if slack is None else slack)


@options({"passes": 5, "runs": 2})
class GraphOptions(Graphs, Trees, Stepping, Learned):
    """Dependency trees, by searching all trees."""

    task: ClassVar[str] = "graph-parser"
    about: ClassVar[str] = "Dependency trees, by searching all trees."
    lacks: ClassVar[Mapping[str, str]] = EXACT_VOTES | {
        "open_label": ALL_KNOWN,
        **dict.fromkeys(("beam", "update", "merge"), NO_PREFIX),
        "templates": "features of arcs are hashed by compiled code; their templates are part of it",
        "confidence": "arcs are chosen as one tree; compare the n best trees instead",
        **NO_TREES,
        "gazetteers": "features of arcs read the columns of the file",
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
            "non_local",
        ),
        PIECES,
    ) | {
        "among": PIECES,
        "open_label": ALL_KNOWN,
        "partial_fit": "what a piece is depends on all of the training data",
    }


@options({"cutoff": 2, "passes": 6})
class ScriptOptions(LookUps, Tokens, OwnAtoms, Learned):
    """One text made of another, for every token."""

    former: ClassVar[Sequence[type[Options]]] = (Searching, Documents, Chains, TagDictionary, Lexical)
    lacks: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("beam", "update", "merge", "alma", "margin", "swvp", "average voted", "tag_dictionary", "among"), ALONE
    ) | {
        "non_local": "the built-in document features are of chunk labels",
        "open_label": "leave the row out: a word's script does not depend on those of others",
        "partial_fit": "the lexicon is learned from all data at once",
        "forced": "a text that was never seen is none of the scripts to choose from",
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


@options()
class PipelineOptions(Pipelines, Texts, Compact, Training, Task):
    """From text to trees."""

    task: ClassVar[str] = "pipeline"
    about: ClassVar[str] = "All of it, from plain text to trees and entities."
    texts: ClassVar[bool] = True
    former: ClassVar[Sequence[type[Options]]] = (Passes,)
    lacks: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            *("passes", "runs", "average", "average voted", "bpm", "shuffle", "patience", "stop_change", "templates"),
            *("beam", "update", "merge", "alma", "margin", "swvp", "gazetteers", "tag_dictionary", "non_local"),
            *("nbest", "confidence", "forced"),
        ),
        OWN_SETTINGS,
    ) | {
        "open_label": OWN_SETTINGS,
        "partial_fit": "parts learn from what others predict: train all of them anew",
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
        "Guard every call of the problem's functions; they run uncompiled (slow).",
        default=False,
        flag=None,
        stored=False,
    )


@options()
class BeamLearnerOptions(Searching, ProblemOptions):
    """Beam search."""

    task: ClassVar[str] = "problem"

    check: Any = switch(
        "Check that every update fixes a violation; all: also walk through all examples uncompiled first (slow).",
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
        "merge": "nodes of a queue are single derivations",
        "swvp": "LaSO's update takes the mean of the queue, not one derivation to mix",
    }

    def search(self, learning: bool = False) -> Search:
        """The search that the options stand for."""
        steps = self.steps()
        return Search(1, self.update, False, self.check == ALL or self.check, steps.alma, steps.margin)


TASKS: dict[str, type[Task]] = {
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
