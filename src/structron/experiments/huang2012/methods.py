"""Huang, Fayong & Guo (2012): the methods, how much of everything is done, and what tagging and parsing share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, log
from typing import Any

from structron.experiments import frame
from structron.experiments.frame import Claim, Curve, Drawing, Job, Ledger, Sample, Table, Trial, Verdict, mean
from structron.experiments.frame.statistics import share_interval, student_interval
from structron.experiments.frame.verdict import NORMAL, PAPERS, UNDECIDED, interval_of

PAPER = frame.paper_of("huang2012")
STANDARD, EARLY, HYBRID, LATEST, MAX_VIOLATION = "standard", "early", "hybrid", "latest", "max-violation"
METHODS = (STANDARD, EARLY, HYBRID, LATEST, MAX_VIOLATION)
THREE = (STANDARD, EARLY, MAX_VIOLATION)
"""The methods of Table 1."""
FEWEST = 3
WSJ, EWT, GREEK = "wsj-sample-dep", "ud-english-ewt", "ud-greek-gdt"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done. Sentences to learn from and of dev: None is all. (passes, patience): training ends when dev has
    not been better for `patience` passes, by the same rule for every method, and after so many passes in any case.

    FULL saves in these places: in tagging, hybrid and latest have two beams and beam 10 has one seed. In parsing, other
    beams and other settings on the first treebank have one seed.
    """

    seeds: tuple[int, ...] = (1, 2, 3)
    tagging_sentences: int | None = None
    sentences: int | None = None
    dev_sentences: int | None = None
    tagging: tuple[int, int] = (40, 5)
    tagging_beams: dict[str, tuple[int, ...]] = field(
        default_factory=lambda: dict.fromkeys(THREE, (1, 2, 4, 7)) | dict.fromkeys((HYBRID, LATEST), (4, 7))
    )
    tagging_once: tuple[int, ...] = (10,)
    """Beams with the first seed alone, of the methods of Table 1."""
    parsing: dict[str, tuple[int, int]] = field(default_factory=lambda: {WSJ: (40, 6), EWT: (20, 4), GREEK: (40, 6)})
    parsing_seeds: dict[str, tuple[int, ...]] = field(
        default_factory=lambda: dict.fromkeys((WSJ, EWT, GREEK), (1, 2, 3))
    )
    """Of the methods of Table 1, and of greedy standard updates; by treebank."""
    speed_seeds: tuple[int, ...] = (1, 2, 3)
    """Of the smaller parts of the first treebank."""
    level_seeds: tuple[int, ...] = (1, 2, 3)
    """Of hybrid and latest updates."""
    parsing_beams: tuple[int, ...] = (1, 2)
    parsing_sizes: tuple[int, ...] = (850, 1700)
    """Sentences of the smaller parts of the first treebank that speed of learning is compared on."""
    authors: tuple[str, ...] = THREE
    """Methods that are also trained as the authors' program does by default."""
    bounds: int = 10
    """Generated data sets for the theorems."""


def job(work: str, cost: float, **options: Any) -> Job:
    """A job of this paper; what is None is left to its default."""
    return Job(f"huang2012.{work}", {name: value for name, value in options.items() if value is not None}, cost)


def by_seed(trials: Sequence[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: trial["seed"])


def means(trials: Sequence[Trial], *names: str) -> list[float]:
    return [mean([trial[name] for trial in trials]) for name in names]


def shared(pair: Sequence[Sequence[Trial]]) -> list[list[Trial]]:
    """The trials with the seeds that both have."""
    seeds = set.intersection(*({trial["seed"] for trial in own} for own in pair))
    return [[trial for trial in own if trial["seed"] in seeds] for own in pair]


@dataclass(frozen=True, slots=True)
class Speed:
    """What two methods need until both are at the same dev level: passes, and steps of search as passes searched to
    their ends; a figure for each seed. The level is the lower one of their best, less its standard error: what comes
    after that is chance."""

    passes: list[tuple[int, int]]
    steps: list[tuple[float, float]]

    @classmethod
    def of(cls, new: Sequence[Trial], old: Sequence[Trial]) -> "Speed":
        passes = []
        pairs = list(zip(*map(by_seed, shared([new, old])), strict=True))
        for pair in pairs:
            least = min(pair, key=lambda trial: trial["dev"])
            low, high = interval_of(Sample.of([least], "dev")) or (0.0, 0.0)
            level = least["dev"] - (high - low) / 2 / NORMAL
            one, other = (frame.first_pass(trial, level) or 0 for trial in pair)
            passes.append((one, other))
        steps = [
            (frame.searched(pair[0], own[0]), frame.searched(pair[1], own[1]))
            for pair, own in zip(pairs, passes, strict=True)
        ]
        return cls(passes, steps)

    @staticmethod
    def ratio(pairs: Sequence[tuple[float, float]]) -> float | None:
        """Of the means over seeds."""
        return mean([a for a, _ in pairs]) / mean([b for _, b in pairs]) if pairs else None

    @staticmethod
    def interval(pairs: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
        """95 %, of the geometric mean over seeds; of fewer than three seeds there is none that would say anything."""
        found = student_interval([log(a / b) for a, b in pairs]) if len(pairs) >= FEWEST else None
        return None if found is None else (exp(found[0]), exp(found[1]))

    def shown(self) -> str:
        a, b = (mean([pair[k] for pair in self.passes]) for k in (0, 1))
        return f"{a:.1f} against {b:.1f} passes" if self.passes else ""


def shown(share: float | None) -> str | None:
    return None if share is None else f"{share:.2f}"


def claim(key: str, ours: str, verdict: Verdict, part: str = "", **names: Any) -> Claim:
    """A claim whose text and figures stand in `paper.toml`. part: which one of those with this key it is."""
    entry = PAPER["claims"][key]
    where, text, paper = (entry[name].format(**names) for name in ("where", "text", "paper"))
    return Claim(where, text, paper, ours, verdict, entry.get("kind", PAPERS), f"{key} {part}".strip())


def versus(
    key: str, pair: Sequence[Sequence[Trial]], on: str = "test", paper: float | None = None, **more: Any
) -> Claim:
    """A claim that the first of two is ahead of the second, over the seeds that both have. paper: by how much there."""
    a, b = (Sample.of(own, on) for own in shared(pair))
    return claim(key, f"{a} against {b}" if a and b else "", frame.ahead(a, b, paper), **more)


def sooner(new: Sequence[Trial], old: Sequence[Trial], share: float, what: str = "passes", name: str = "") -> Verdict:
    """The first needs at most a share of the passes, or of the steps, of the second to an equal level."""
    return at_most(getattr(Speed.of(new, old), what), share, name)


def at_most(pairs: Sequence[tuple[float, float]], share: float, name: str = "") -> Verdict:
    """The first of each pair, one for a seed, is at most a share of the second."""
    ends = Speed.interval(pairs)
    verdict = frame.within(Speed.ratio(pairs), high=share, interval=ends, unit=" times", name=name)
    return Verdict(UNDECIDED, verdict.effects, "fewer than three seeds") if pairs and ends is None else verdict


def late(trials: Sequence[Trial]) -> float:
    """Invalid updates of late passes, in per cent."""
    return mean([frame.late_invalid(trial) for trial in trials])


def invalid(trials: Sequence[Trial], low: float, high: float, name: str) -> Verdict:
    """The share of late updates that are invalid lies within bounds; of fewer than three seeds the interval is that of
    the count."""
    shares = [frame.late_invalid(trial) for trial in trials]
    if len(shares) >= FEWEST:
        ends = student_interval(shares)
    else:
        counts = [frame.late_counts(trial) for trial in trials]
        bad, every = (sum(count[k] for count in counts) for k in (0, 1))
        ends = share_interval(bad, every) if every else None
    return frame.within(mean(shares), low, high, " %", ends, name)


def beams_of(trials: Sequence[Trial]) -> list[int]:
    return sorted({trial["beam"] for trial in trials if trial.options.get("beam")})


def standard_trials(ledger: Ledger, work: str, **options: Any) -> dict[int, list[Trial]]:
    """Standard updates by beam."""
    find = partial(ledger.of, work, update=STANDARD, **options)
    return {beam: by_seed(find(beam=beam)) for beam in beams_of(find())}


def invalid_table(what: str, found: dict[int, list[Trial]]) -> Iterator[Table]:
    """Figure 5 by figures: the share of standard updates that are no violations, a row per beam."""
    table = Table.of(PAPER["figure5"], what=what)
    for beam, trials in found.items():
        ends = [len(trial["passes"]["dev"]) for trial in trials]
        places = zip(*((0, min(1, end - 1), end // 2, end - 1) for end in ends), strict=True)
        cells = [mean([frame.invalid_share(t, k, k + 1) for t, k in zip(trials, own, strict=True)]) for own in places]
        table.add(str(beam), *cells, late(trials))
    if found:
        yield table


def invalid_drawing(what: str, name: str, found: dict[int, list[Trial]]) -> Iterator[Drawing]:
    """Figure 5 drawn, of the first seed."""
    lines = []
    for beam, (trial, *_) in found.items():
        passes = range(1, 1 + len(trial["passes"]["dev"]))
        lines.append(Curve(f"beam {beam}", passes, [frame.invalid_share(trial, k - 1, k) for k in passes]))
    if lines:
        axes = ("pass", "invalid standard updates/%")
        yield Drawing(f"figure5-{name}", frame.draw_lines, (f"{what}: invalid updates (Figure 5)", *axes, lines, 0.0))


def capped(trials: Sequence[Trial]) -> str:
    """How often training ended because there were no more passes, and not because dev had peaked."""
    many = sum(trial["best_pass"] + trial["patience"] > len(trial["passes"]["dev"]) for trial in trials)
    return f"Trainings that ended at the maximum number of passes, perhaps before the peak: {many} of {len(trials)}."
