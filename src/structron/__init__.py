"""structron: structured perceptrons that stay sound under inexact search.

Names are loaded on first use, so that importing the package costs nothing and pulls in neither numpy nor numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from structron._version import __version__
from structron.errors import StructronError

if TYPE_CHECKING:
    from structron.beam_learner import BeamLearner
    from structron.documents import Document
    from structron.problem import SearchProblem
    from structron.queue_learner import QueueLearner
    from structron.search.frontier import TAIL
    from structron.tasks.chunker import Chunker
    from structron.tasks.entities import EntityRecognizer
    from structron.tasks.graph_parser import GraphParser
    from structron.tasks.joint import JointTagger
    from structron.tasks.parser import Parser
    from structron.tasks.parser_input import Alphabet
    from structron.tasks.segments import SegmentChunker
    from structron.tasks.storage import load
    from structron.tasks.tagger import Tagger

_WHERE = {
    "Alphabet": "structron.tasks.parser_input",
    "BeamLearner": "structron.beam_learner",
    "Document": "structron.documents",
    "QueueLearner": "structron.queue_learner",
    "SearchProblem": "structron.problem",
    "TAIL": "structron.search.frontier",
    "Tagger": "structron.tasks.tagger",
    "Chunker": "structron.tasks.chunker",
    "EntityRecognizer": "structron.tasks.entities",
    "GraphParser": "structron.tasks.graph_parser",
    "JointTagger": "structron.tasks.joint",
    "Parser": "structron.tasks.parser",
    "SegmentChunker": "structron.tasks.segments",
    "load": "structron.tasks.storage",
}

__all__ = [
    "TAIL",
    "Alphabet",
    "BeamLearner",
    "Chunker",
    "Document",
    "EntityRecognizer",
    "GraphParser",
    "JointTagger",
    "Parser",
    "QueueLearner",
    "SearchProblem",
    "SegmentChunker",
    "StructronError",
    "Tagger",
    "__version__",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'structron' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
