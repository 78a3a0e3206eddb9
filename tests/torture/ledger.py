"""What has been tried: a line of JSON for each job that is done, so that an interrupted run goes on where it was."""

import json
import platform
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import structron
from torture.frame import Found

COMMENT = "<!-- made by `python -m torture --report FILE`: write nothing in here -->"
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


@dataclass
class Ledger:
    """The jobs that were done, in a file that grows; the last entry of a job counts."""

    path: Path
    entries: dict[str, Entry] = field(default_factory=dict)
    mended: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        if not self.path.exists():
            return
        text = self.path.read_text("utf-8")
        if not text.endswith("\n"):  # a run was killed while it wrote
            self.path.write_text(text + "\n", "utf-8")
        for line in text.splitlines():
            try:
                known = json.loads(line)
                known["found"] = Found.from_json(known["found"])
                self._enter(Entry(**known))
            except (ValueError, TypeError, KeyError):
                continue

    def _enter(self, entry: Entry) -> None:
        before = self.entries.get(entry.name)
        self.mended += len(before.found.failures) if before is not None else 0
        self.entries[entry.name] = entry

    def has(self, name: str) -> bool:
        """Whether a job was done and nothing failed: what failed is tried again."""
        return name in self.entries and not self.entries[name].found.failures

    def add(self, part: str, name: str, found: Found, seconds: float) -> None:
        """Write down what a job found."""
        entry = Entry(part, name, found, round(seconds, 1), version(), time.strftime("%Y-%m-%d", time.gmtime()))
        line = json.dumps({**{key: getattr(entry, key) for key in Entry.__slots__}, "found": found.to_json()})
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")
            self._enter(entry)

    def of(self, part: str) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.part == part]

    # -- the report ------------------------------------------------------------------------------------------------

    def report(self) -> str:
        """All that was tried, as Markdown."""
        every = list(self.entries.values())
        days, versions = sorted({entry.day for entry in every}), sorted({entry.version for entry in every})
        system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
        about = f"{', '.join(days)}; structron {', '.join(versions)}; {system}. `make torture` tries the same."
        lines = [COMMENT, "# Torture", "", about, ""]
        parts = list(dict.fromkeys(entry.part for entry in every))
        lines += ["| part | trials | what became of them | failed | minutes |", "| --- | --- | --- | --- | --- |"]
        for part in parts:
            own, found = self.of(part), Found()
            for entry in own:
                found += entry.found
            minutes = sum(entry.seconds for entry in own) / 60
            lines += [f"| {part} | {found.trials:,} | {listed(found)} | {len(found.failures)} | {minutes:.0f} |"]
        for part in parts:
            lines += self._kinds(part)
        failures = Counter(kind_of(failure) for entry in every for failure in entry.found.failures)
        lines += ["", "## Failures", "", *(f"- {count} ×: `{own}`" for own, count in failures.most_common())]
        lines += [] if failures else ["None is left."]
        if self.mended:
            lines += ["", f"{self.mended} trials failed before, and do not now."]
        return "\n".join(lines) + "\n"

    def _kinds(self, part: str) -> list[str]:
        """A table of the trials of a part by kind, where there are several."""
        kinds: dict[str, Counter] = {}
        for entry in self.of(part):
            for outcome, count in entry.found.counts.items():
                kind, _, what = outcome.rpartition("/")
                if kind:
                    kinds.setdefault(kind, Counter())[what] += count
        if len(kinds) < 2:
            return []
        names = sorted({name for own in kinds.values() for name in own})
        lines = ["", f"## {part}", "", f"| | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
        return lines + [f"| {kind} | {' | '.join(str(own[name]) for name in names)} |" for kind, own in kinds.items()]


def kind_of(failure: str) -> str:
    """A failure without the trial and its files: from the status on, where it has one."""
    text = " ".join(failure.split())
    return text[max(text.find("status "), 0) :][:SHOWN]


def listed(found: Found) -> str:
    """Outcomes and how many there were."""
    counts: Counter = Counter()
    for outcome, count in [*found.counts.items(), *found.compared.items()]:
        counts[outcome.rpartition("/")[2]] += count
    return ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))


def version() -> str:
    """That of the package, and of the sources if they stand in a repository."""
    folder = Path(structron.__file__).parent
    git = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(git, capture_output=True, text=True, check=False)
    except OSError:
        return structron.__version__
    return f"{structron.__version__} {done.stdout.strip()}".strip()
