"""What every experiment stands on: corpora, trainings, statistics, tables, figures, and a report that writes itself."""
# ruff: noqa: F401

from structron.experiments.frame.figures import Line, draw_grid, draw_lines
from structron.experiments.frame.report import Report, Table, reporting, write_json
from structron.experiments.frame.statistics import comparison, mean, sign_flip_test
from structron.experiments.frame.tools import SPLITS, Rows, has, last_tenth, load_rows, need, paper_of, say, timed
from structron.experiments.frame.trials import Trial, invalid_share, learn, learn_once, shown_beam
