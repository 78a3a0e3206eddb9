"""The tiny scale of Daumé & Marcu (2005) for tests."""

from structron.experiments.daume2005 import Scale
from structron.experiments.daume2005.tasks import EXPECTED, PART

TINY = Scale(
    sentences=25,
    scored=15,
    segment_beams=(1, 5, None),
    joint_beams=(1, 5, 10),
    own_beams=(1, 5),
    passes=2,
    patience=1,
    seeds=1,
    unmerged=(("joint", "LaSO-A", 10), ("joint", "LaSO-P", 10), ("joint", "early", 10)),
    unmerged_seeds=(1,),
    unmerged_once=(("joint", "LaSO-A", 5),),
    expected=(EXPECTED,),
    part=(*PART[:3], PART[5], PART[-4]),
    part_sentences=20,
    variances=(10.0,),
    iterations=5,
    goal_sentences=10,
    goal_passes=1,
    goal_queues=(("cut", 2),),
    sweep_sentences=15,
    sweep_seeds=1,
    alphas=(0.5, 0.9),
    factors=(2,),
    theorem_sentences=12,
    theorem_passes=60,
)
