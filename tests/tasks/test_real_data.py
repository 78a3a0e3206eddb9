"""A little training on real corpora is enough for most of what there is to learn."""

from itertools import islice

import pytest

from structron import Document, EntityRecognizer, GraphParser, JointTagger, Parser, SegmentChunker
from structron.cli.files import Source, groups
from structron.data.corpora import find
from structron.io import read

pytestmark = pytest.mark.corpora


@pytest.mark.parametrize(
    ("estimator", "corpus", "score"),
    [
        (SegmentChunker(passes=2, columns=["word", "pos", "chunk"]), "conll2000", 80),
        (JointTagger(passes=2), "conll2000", 70),
        (Parser(passes=1, templates="huang"), "wsj-sample-dep", 60),
        (GraphParser(passes=1, order=1, bits=20), "wsj-sample-dep", 60),
    ],
    ids=["segments", "joint", "parser", "graph-parser"],
)
def test_sentences(estimator, corpus, score, corpora):
    rows = [sentence.rows for sentence in islice(read(find(corpora, corpus, "train")), 700)]
    assert estimator.fit(rows[:600]).score(rows[600:]) > score
    assert estimator.metric == ("uas" if corpus == "wsj-sample-dep" else "f1")


def test_documents(corpora):
    """Labels come as they are written."""
    sources = [Source(find(corpora, "conll2002-dutch", split)) for split in ("train", "dev")]
    train, dev = ([Document(s.rows for s in group) for group in groups(source, True)] for source in sources)
    assert (len(train), len(dev)) == (287, 74)
    model = EntityRecognizer(passes=2, non_local=()).fit(train)
    assert model.written_ == "iob2"
    assert model.score(dev) > 64
