"""`structron check`: what is wrong with annotated files, by rule; exit status 1 if anything is."""

import json
from collections.abc import Sequence

from structron.cli.places import check_places
from structron.errors import counted, shown
from structron.eval.checks import AGAINST, RULES, Attested, Report
from structron.io import read
from structron.io.text import display_name, read_lines

FOUND = 1
"""Exit status where something is wrong."""


def run(
    files: Sequence[str],
    against: str | None = None,
    top: int = 3,
    encoding: str = "utf-8",
    as_json: bool = False,
) -> int:
    """Print how often each rule is broken, and examples."""
    check_places({"FILE": files, "--against": against}, {})
    opened = [read_lines(path, encoding) for path in files]
    known = None
    if against is not None:
        known = Attested.of(sentence.rows for sentence in read(against, "conllu", encoding))
    report = Report()
    for path, lines in zip(files, opened, strict=True):
        report.add(display_name(path), lines, known, top)
    rules = [rule for rule in RULES if known is not None or rule not in AGAINST]
    print(_as_json(report, rules) if as_json else _as_text(report, rules))
    return FOUND if report.counts else 0


def _as_json(report: Report, rules: Sequence[str]) -> str:
    found = {
        rule: {
            "count": report.counts[rule],
            "expected": RULES[rule],
            "examples": [{"file": name, "line": p.line, "text": p.text} for name, p in report.first[rule]],
        }
        for rule in rules
    }
    about = {"sentences": report.sentences, "words": report.words, "problems": report.counts.total()}
    return json.dumps(about | {"rules": found}, ensure_ascii=False)


def _as_text(report: Report, rules: Sequence[str]) -> str:
    sizes = {"sentence": report.sentences, "word": report.words, "problem": report.counts.total()}
    lines = [", ".join(counted(number, kind) for kind, number in sizes.items())]
    for rule in rules:
        if report.counts[rule]:
            lines.append(f"{report.counts[rule]:7}  {rule:12}  {RULES[rule]}")
            lines += [shown(f"{'':9}{name}:{p.line}: {p.text}") for name, p in report.first[rule]]
    return "\n".join(lines)
