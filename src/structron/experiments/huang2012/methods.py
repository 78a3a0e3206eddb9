"""Huang, Fayong & Guo (2012): the methods, how much of everything is done, and what tagging and parsing share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from structron.experiments import frame
from structron.experiments.frame import Claim, Curve, Drawing, Job, Ledger, Sample, Table, Trial, Verdict, mean

PAPER = frame.paper_of("huang2012")
STANDARD, EARLY, HYBRID, LATEST, MAX_VIOLATION = "standard", "early", "hybrid", "latest", "max-violation"
METHODS = (STANDARD, EARLY, HYBRID, LATEST, MAX_VIOLATION, "laso")
THREE = (STANDARD, EARLY, MAX_VIOLATION)
"""The methods of Table 1."""
WSJ, EWT = "wsj-sample-dep", "ud-english-ewt"
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done. Sentences to learn from and of dev: None is all. (passes, patience): training ends when dev has
    not been better for `patience` passes, by the same rule for every method, and after so many passes in any case.

    FULL saves in these places: in tagging, hybrid and latest have two beams and beam 10 has one seed; parsers at beams
    below 8 are those of standard and max-violation alone, and EWT has three methods, at beam 8.
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
    parsing: dict[str, tuple[int, int]] = field(default_factory=lambda: {WSJ: (60, 10), EWT: (40, 5)})
    parsing_beams: tuple[int, ...] = (1, 2, 4)
    other_treebanks: tuple[str, ...] = ("ud-chinese-gsd", "ud-greek-gdt")
    bounds: int = 10
    """Generated data sets for the theorems."""


def job(work: str, cost: float, **options: Any) -> Job:
    """A job of this paper; what is None is left to its default."""
    return Job(f"huang2012.{work}", {name: value for name, value in options.items() if value is not None}, cost)


def by_seed(trials: Sequence[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: trial["seed"])


def means(trials: Sequence[Trial], *names: str) -> list[float]:
    return [mean([trial[name] for trial in trials]) for name in names]


def as_early(early: Sequence[Trial], other: Sequence[Trial]) -> tuple[float, float]:
    """(passes, time) in which another method is where early update is at its best, of those that early needs.

    In the mean over seeds; infinite if it does not get there with one of them.
    """
    passes, shares = [], []
    for old, new in zip(by_seed(early), by_seed(other), strict=False):
        needed = frame.first_pass(new, old["dev"])
        passes.append(NEVER if needed is None else needed / old["best_pass"])
        shares.append(NEVER if needed is None else frame.seconds_until(new, needed) / max(old["seconds"], 1e-9))
    return (mean(passes), mean(shares)) if passes else (NEVER, NEVER)


def shown(share: float) -> str:
    return "never" if share == NEVER else f"{share:.2f}"


def claim(key: str, ours: str, verdict: Verdict, **names: Any) -> Claim:
    """A claim whose text and figures stand in `paper.toml`."""
    entry = PAPER["claims"][key]
    return Claim(entry["where"], entry["text"].format(**names), entry["paper"].format(**names), ours, verdict)


def versus(key: str, pair: Sequence[Sequence[Trial]], part: str = "test", **names: Any) -> Claim:
    """A claim that the first of two is ahead of the second."""
    a, b = (Sample.of(own, part) for own in pair)
    return claim(key, f"{a} against {b}" if a and b else "", frame.ahead(a, b), **names)


def at_most(key: str, pair: Sequence[Sequence[Trial]], name: str, share: float, **names: Any) -> Claim:
    """A claim that the first of two takes at most a share of what the second takes, in the mean over seeds."""
    if not all(pair):
        return claim(key, "", frame.within(None), share=share, **names)
    a, b = (means(own, name)[0] for own in pair)
    unit = " s" if name == "seconds" else ""
    return claim(
        key, f"{a:.1f}{unit} against {b:.1f}{unit}", frame.within(a / max(b, 1e-9), high=share), share=share, **names
    )


def late(trials: Sequence[Trial]) -> float:
    """Invalid updates of late passes, in per cent."""
    return mean([frame.late_invalid(trial) for trial in trials])


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
    return f"Trainings that ended at the cap of passes, before dev was sure to have peaked: {many} of {len(trials)}."
