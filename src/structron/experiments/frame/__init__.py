"""What every experiment stands on: corpora, jobs and the ledger of trials, statistics, verdicts, tables, figures."""
# ruff: noqa: F401

from structron.experiments.frame.figures import Curve, draw_grid, draw_lines
from structron.experiments.frame.ledger import Job, Ledger, Trial
from structron.experiments.frame.pictures import Curves, Picture
from structron.experiments.frame.report import Drawing, Experiment, Table
from structron.experiments.frame.statistics import block_counts, comparison, mean, sign_flip_test
from structron.experiments.frame.tools import SPLITS, Rows, has, last_tenth, load_rows, need, paper_of, timed
from structron.experiments.frame.training import (
    first_pass,
    invalid_share,
    late_counts,
    late_invalid,
    learn,
    learn_once,
    searched,
    shown_beam,
    spent,
    tested,
)
from structron.experiments.frame.verdict import Claim, Sample, Verdict, ahead, effects_of, level, together, within
