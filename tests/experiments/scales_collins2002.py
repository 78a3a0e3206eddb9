"""The tiny scale of Collins (2002) for tests."""

from structron.experiments.collins2002 import Scale

TINY = Scale(
    passes=4,
    gis=20,
    lbfgs=10,
    doublings=1,
    sentences=None,
    examples=60,
    draws=2,
    votes=(40, 20),
    close=(("np", "gis"),),
    mixed=(0,),
)
