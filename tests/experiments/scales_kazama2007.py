"""The tiny scale of Kazama & Torisawa (2007) for tests."""

from structron.experiments.kazama2007.plan import Scale

TINY = Scale(
    documents=8,
    passes=3,
    bpm=2,
    seeds=(1, 2),
    fewer=(1, 2),
    margins=(10, 100),
    variances=(10,),
    iterations=10,
    test_candidates=(20, 100),
    second_margins=(1, 100),
    second_passes=5,
    n_large=60,
    part=4,
    long_part=2,
    long=3,
    walk=False,
)
