"""What each task can do: a table of tasks and options, from the fields of the estimators and what they say they lack.

    able(kind, "nbest"), able(kind, "beam"), able(kind, "average voted")

The table is in the guide; `structron capabilities --write docs/guide.md` brings it up to date.
"""

from typing import Any

from structron.fields import options_of
from structron.tasks.options import TASKS

ABILITIES = ("nbest", "confidence", "forced", "inspect", "explain", "partial_fit")
"""Methods that are not behind an option of the estimator; all tasks have them but for what `lacks` names."""
ROWS = {
    "--beam": "beam",
    "--update": "update",
    "--merge": "merge",
    "--alma": "alma",
    "--margin": "margin",
    "--swvp": "swvp",
    "--runs": "runs",
    "--shards": "shards",
    "--average voted": "average voted",
    "--bpm": "bpm",
    "--warm-start": "partial_fit",
    "--open-label": "open_label",
    "--templates": "templates",
    "--gazetteer": "gazetteers",
    "--clusters": "clusters",
    "--lexicon": "lexicon",
    "--tag-dictionary": "tag_dictionary",
    "--non-local": "non_local",
    "predict --nbest": "nbest",
    "predict --confidence": "confidence",
    "predict --forced": "forced",
    "predict --jobs": "jobs",
    "inspect": "inspect",
    "inspect --sentence": "explain",
}
BEGIN, END = "<!-- capabilities: begin -->", "<!-- capabilities: end -->"


def able(kind: Any, what: str) -> bool:
    """Whether a task's class can do something: an ability, an option, or a value of an option."""
    name, _, value = what.partition(" ")
    if reason(kind, what):
        return False
    options = options_of(kind)
    return what in ABILITIES or (name in options and (not value or value in options[name].choices))


def reason(kind: Any, what: str) -> str:
    """Why not, or why not on the command line."""
    return kind.lacks.get(what, "") or kind.flagless.get(what, "")


def able_tasks(what: str) -> list[str]:
    """The tasks of the command line that can do something."""
    return [task for task in TASKS if able(TASKS[task], what)]


def rows() -> tuple[list[list[str]], list[str]]:
    """For each row of the table its title and a cell for every task, `yes` or `no (2)`; and the notes that say why."""
    notes: list[str] = []
    found = [[title, *(_cell(TASKS[task], what, notes) for task in TASKS)] for title, what in ROWS.items()]
    return found, [f"{number}. {note}" for number, note in enumerate(notes, 1)]


def table() -> str:
    """The table in Markdown."""
    found, notes = rows()
    lines = [f"| | {' | '.join(TASKS)} |", "| --- |" + " --- |" * len(TASKS)]
    lines += [f"| `{title}` | {' | '.join(cells)} |" for title, *cells in found]
    return "\n".join([*lines, "", *notes]).rstrip("\n")


def _cell(kind: Any, what: str, notes: list[str]) -> str:
    if able(kind, what):
        return "yes"
    why = reason(kind, what)
    if not why:
        return "–"
    if why not in notes:
        notes.append(why)
    return f"no ({notes.index(why) + 1})"
