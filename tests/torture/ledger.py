"""What has been tried: a line of JSON for each job that is done, so that an interrupted run goes on where it was.

Of all that a run did of a part one line is kept in the repository, where runs of several days stand side by side.
"""

import json
import platform
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structron
from torture.frame import Found

COMMENT = "<!-- made by `make torture` from the .jsonl beside it: write nothing in here -->"
ABOUT = "A line for each run of a part, of several days and commits. `make torture` tries the same."
SHOWN = 400
"""Characters of a failure that the report shows."""


@dataclass(slots=True)
class Entry:
    """A job that was done."""

    part: str
    name: str
    found: Found
    seconds: float
    version: str
    day: str
    seed: int


@dataclass
class Ledger:
    """The jobs that were done, in a file that grows; the last entry of a job counts."""

    path: Path
    entries: dict[str, Entry] = field(default_factory=dict)
    begun: str = ""
    mended: Counter = field(default_factory=Counter)
    """Failures that were tried again and are gone, by part."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        if text and not text.endswith("\n"):  # a run was killed while it wrote
            self.path.write_text(text + "\n", "utf-8")
        for line in text.splitlines():
            try:
                known = json.loads(line)
                self.begun = known.pop("begun", self.begun)
                self._enter(Entry(**known | {"found": Found.from_json(known["found"])}))
            except (ValueError, TypeError, KeyError, AttributeError):
                continue

    def _write(self, line: dict) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")

    def _enter(self, entry: Entry) -> None:
        before = self.entries.get(entry.name)
        self.mended[entry.part] += len(before.found.failures) if before is not None else 0
        self.entries[entry.name] = entry

    def has(self, name: str) -> bool:
        """Whether a job was done and nothing failed: what failed is tried again."""
        return name in self.entries and not self.entries[name].found.failures

    def add(self, part: str, name: str, found: Found, seconds: float, seed: int) -> None:
        """Write down what a job found."""
        entry = Entry(part, name, found, round(seconds, 1), version(), time.strftime("%Y-%m-%d", time.gmtime()), seed)
        with self._lock:
            if not self.begun:
                self.begun = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
                self._write({"begun": self.begun})
            self._write({**{key: getattr(entry, key) for key in Entry.__slots__}, "found": found.to_json()})
            self._enter(entry)

    def of(self, part: str) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.part == part]

    def lines(self) -> list[dict]:
        """What this run found, a line for each part: without the names of its jobs."""
        found = []
        for part in dict.fromkeys(entry.part for entry in self.entries.values()):
            own, every = self.of(part), Found()
            for entry in own:
                every += entry.found
            failures = Counter(kind_of(failure) for failure in every.failures)
            days = sorted({entry.day for entry in own})
            found.append(
                {
                    "part": part,
                    "begun": self.begun,
                    "day": days[-1],
                    "system": system(),
                    "versions": list(dict.fromkeys(entry.version for entry in own)),
                    "seeds": sorted({entry.seed for entry in own}),
                    "counts": dict(sorted(every.counts.items())),
                    "compared": dict(sorted(every.compared.items())),
                    "failures": dict(failures.most_common()),
                    "mended": self.mended[part],
                    "minutes": round(sum(entry.seconds for entry in own) / 60, 1),
                }
            )
        return found


# -- all runs ----------------------------------------------------------------------------------------------------------


def merged(known: list[dict], new: list[dict]) -> list[dict]:
    """The lines of earlier runs and those of this one, which replace what was known of it; a part after the other."""
    mine = {(line["part"], line["begun"]) for line in new}
    every = [line for line in known if (line["part"], line["begun"]) not in mine] + new
    return sorted(every, key=lambda line: (line["part"], line["begun"]))


def read_lines(path: Path) -> list[dict]:
    """The lines of a file, which may not be there yet."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def report(lines: list[dict]) -> str:
    """All that was tried, as Markdown."""
    found = [COMMENT, "# Torture", "", ABOUT, ""]
    found += ["| part | day | version | seed | trials | what became of them | failed | minutes |"]
    found += ["| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for line in lines:
        counts, failed = Counter(line["counts"]), sum(line["failures"].values())
        commits, seeds = ", ".join(line["versions"]), ", ".join(map(str, line["seeds"]))
        cells = [line["part"], line["day"], commits, seeds, f"{counts.total():,}", listed(counts, line["compared"])]
        found += [f"| {' | '.join(cells)} | {failed} | {line['minutes']:.0f} |"]
    for part in dict.fromkeys(line["part"] for line in lines):
        found += kinds(part, [line for line in lines if line["part"] == part])
    failures: Counter = Counter()
    for line in lines:
        failures.update(line["failures"])
    found += ["", "## Failures", "", *(f"- {count} ×: `{own}`" for own, count in failures.most_common())]
    found += [] if failures else ["None is left."]
    if mended := sum(line["mended"] for line in lines):
        found += ["", f"{mended} trials failed before, and do not now."]
    found += ["", *(f"{system}." for system in sorted({line["system"] for line in lines}))]
    return "\n".join(found) + "\n"


def kinds(part: str, lines: list[dict]) -> list[str]:
    """A table of the trials of a part by kind, where there are several."""
    table: dict[str, Counter] = {}
    for line in lines:
        for outcome, count in line["counts"].items():
            kind, _, what = outcome.rpartition("/")
            if kind:
                table.setdefault(kind, Counter())[what] += count
    if len(table) < 2:
        return []
    names = sorted({name for own in table.values() for name in own})
    found = ["", f"## {part}", "", f"| | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    return found + [f"| {kind} | {' | '.join(str(own[name]) for name in names)} |" for kind, own in table.items()]


def kind_of(failure: str) -> str:
    """A failure without the trial and its files: from the status on, where it has one."""
    text = " ".join(failure.split())
    return text[max(text.find("status "), 0) :][:SHOWN]


def listed(*found: Mapping[str, int]) -> str:
    """Outcomes and how many there were."""
    counts: Counter = Counter()
    for own in found:
        for outcome, count in own.items():
            counts[outcome.rpartition("/")[2]] += count
    return ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()) if count)


def system() -> str:
    """What it ran on."""
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def version() -> str:
    """That of the package, and of the sources if they stand in a repository."""
    folder = Path(structron.__file__).parent
    git = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(git, capture_output=True, text=True, check=False)
    except OSError:
        return structron.__version__
    return f"{structron.__version__} {done.stdout.strip()}".strip()
