"""The estimators as editors and type checkers see them: with the options that they take.

An estimator has its options and does not inherit them, so its class alone does not tell what `Tagger(` may be given.
Nothing imports this module when a program runs.
"""

from structron.tasks import entities, options, scripts, tokenizer
from structron.tasks.chain import labeler
from structron.tasks.graph import parser as graph_parser
from structron.tasks.joint import tagger
from structron.tasks.own import beam, queue
from structron.tasks.pipeline import pipeline
from structron.tasks.segments import chunker
from structron.tasks.shift_reduce import parser as shift_reduce_parser


class Tagger(options.TaggerOptions, labeler.Tagger): ...  # type: ignore[misc]


class Chunker(options.ChunkerOptions, labeler.Chunker): ...  # type: ignore[misc]


class EntityRecognizer(options.EntityOptions, entities.EntityRecognizer): ...  # type: ignore[misc]


class GraphParser(options.GraphOptions, graph_parser.GraphParser): ...  # type: ignore[misc]


class JointTagger(options.JointOptions, tagger.JointTagger): ...  # type: ignore[misc]


class BeamLearner(options.BeamLearnerOptions, beam.BeamLearner): ...  # type: ignore[misc]


class QueueLearner(options.QueueLearnerOptions, queue.QueueLearner): ...  # type: ignore[misc]


class Pipeline(options.PipelineOptions, pipeline.Pipeline): ...  # type: ignore[misc]


class Lemmatizer(options.LemmatizerOptions, scripts.Lemmatizer): ...  # type: ignore[misc]


class SegmentChunker(options.SegmentOptions, chunker.SegmentChunker): ...  # type: ignore[misc]


class Parser(options.ParserOptions, shift_reduce_parser.Parser): ...  # type: ignore[misc]


class Tokenizer(options.TokenizerOptions, tokenizer.Tokenizer): ...  # type: ignore[misc]
