"""structron: structured perceptrons that stay sound under inexact search.

Names are loaded on first use, so that importing the package costs nothing and pulls in neither numpy nor numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from structron._version import __version__
from structron.errors import StructronError

if TYPE_CHECKING:
    from structron.eval.compare import compare as compare
    from structron.features.alphabets import Alphabet as Alphabet
    from structron.io import read as read
    from structron.io.doc import Doc as Doc
    from structron.io.doc import read_docs as read_docs
    from structron.search.beam.frontier import TAIL as TAIL
    from structron.search.beam.problem import SearchProblem as SearchProblem
    from structron.tasks.registry import load as load
    from structron.tasks.typed import BeamLearner as BeamLearner
    from structron.tasks.typed import Chunker as Chunker
    from structron.tasks.typed import EntityRecognizer as EntityRecognizer
    from structron.tasks.typed import GraphParser as GraphParser
    from structron.tasks.typed import JointTagger as JointTagger
    from structron.tasks.typed import Lemmatizer as Lemmatizer
    from structron.tasks.typed import Parser as Parser
    from structron.tasks.typed import Pipeline as Pipeline
    from structron.tasks.typed import QueueLearner as QueueLearner
    from structron.tasks.typed import SegmentChunker as SegmentChunker
    from structron.tasks.typed import Tagger as Tagger
    from structron.tasks.typed import Tokenizer as Tokenizer
    from structron.text.sentences import Document as Document

_WHERE = {
    "Alphabet": "structron.features.alphabets",
    "BeamLearner": "structron.tasks.own.beam",
    "Doc": "structron.io.doc",
    "Document": "structron.text.sentences",
    "QueueLearner": "structron.tasks.own.queue",
    "SearchProblem": "structron.search.beam.problem",
    "TAIL": "structron.search.beam.frontier",
    "Tagger": "structron.tasks.chain.labeler",
    "Chunker": "structron.tasks.chain.labeler",
    "EntityRecognizer": "structron.tasks.entities",
    "GraphParser": "structron.tasks.graph.parser",
    "JointTagger": "structron.tasks.joint.tagger",
    "Lemmatizer": "structron.tasks.scripts",
    "Parser": "structron.tasks.shift_reduce.parser",
    "Pipeline": "structron.tasks.pipeline.pipeline",
    "SegmentChunker": "structron.tasks.segments.chunker",
    "Tokenizer": "structron.tasks.tokenizer",
    "compare": "structron.eval.compare",
    "load": "structron.tasks.registry",
    "read": "structron.io",
    "read_docs": "structron.io.doc",
}

__all__ = ["StructronError", "__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'structron' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
