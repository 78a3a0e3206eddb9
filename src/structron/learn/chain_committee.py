"""Several chain learners as one (see structron/committee.py), from whose mean training can go on."""

from structron.learn import committee
from structron.learn.chain import Start


class Committee(committee.Committee):
    """A committee of chain learners."""

    def as_start(self) -> Start:
        """The mean of the members is the first vector of what comes next."""
        return Start.of_model(self.finish(self.snapshot()))
