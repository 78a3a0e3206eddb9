"""Kazama & Torisawa (2007): margins, and features of whole documents.

Tables 2, 3, 5, 6 and 7 beside the paper's on Dutch newspapers and English web text, and on the paper's own corpus if it
is there; the effect of the BPM start, and the bounds executed. C is chosen on development data, for every method until
the best value has a worse one on each side.
"""

from structron.experiments.frame import Experiment
from structron.experiments.kazama2007 import plan, tables

QUICK = plan.Scale(
    documents=25,
    passes=4,
    bpm=2,
    seeds=(1, 2),
    margins=(50, 500),
    variances=(1,),
    iterations=15,
    test_candidates=(20, 100, 400),
    second_margins=(8, 500),
    second_passes=5,
    part=10,
    long_part=5,
    long=8,
    walk=False,
)

EXPERIMENT = Experiment(
    name="kazama2007",
    title="Kazama & Torisawa (2007)",
    plan=plan.plan,
    tables=tables.tables,
    claims=tables.claims,
    full=plan.Scale(),
    quick=QUICK,
    code="src/structron/update/nbest.py",
    picture=tables.picture,
    page=tables.PAPER,
    needs={"pycrfsuite": "bench", "scipy": "sklearn"},
)
