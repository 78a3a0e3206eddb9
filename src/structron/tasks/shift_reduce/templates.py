"""The templates of the shift-reduce parser that a treebank can serve."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from structron.features.alphabets import ParserInput, Sentence, parse_input
from structron.features.clusters import prefix_length
from structron.features.templates import more_lines, presets, template_lines
from structron.io.columns import Columns
from structron.tasks.shift_reduce.system import RESERVED, atom_layout, read_templates, usable_templates
from structron.tasks.treebank import empty_columns


@dataclass(frozen=True, slots=True)
class ParserTemplates:
    """Templates as they were given; those of a preset are left out where the data lack a column."""

    lines: list[str]
    where: str
    preset: bool
    clusters: bool

    @classmethod
    def of(cls, given: Any, clusters: bool = False) -> "ParserTemplates":
        """From a preset's name, a file, or a list of texts; looked at before any data are."""
        if not isinstance(given, str | Path):
            found = cls([str(line) for line in given], "templates", False, clusters)
        else:
            preset = str(given) in presets("parser")
            found = cls(template_lines(given, "parser", ["clusters"] if clusters else []), str(given), preset, clusters)
        if clusters and all(prefix_length(name) is None for name in _attributes(found.lines)):
            found = replace(found, lines=[*found.lines, *more_lines("clusters", "parser")])
        read_templates(found.lines, found.where)
        return found

    def usable(self, roles: Columns, sentences: Sequence[Sentence]) -> tuple[list[str], list[str]]:
        """The templates that the data can serve, and the columns of x besides word and tag that they ask for."""
        inputs = roles.inputs
        possible = ParserInput.possible(inputs, roles.word, _attributes(self.lines), self.clusters)
        if self.preset:
            useless = {roles.pos, *empty_columns(roles.names, sentences)}
            read = {name: parse_input(name, inputs, roles.word, self.clusters).column for name in possible}
            possible = [name for name, column in read.items() if column not in useless]
            templates = usable_templates(self.lines, ["w", "t", *possible])
        else:
            atom_layout(self.lines, ["w", "t", *possible], self.where)
            templates = ["|".join(atoms) for atoms in read_templates(self.lines)]
        used = _attributes(templates)
        return templates, [name for name in possible if name in used]


def _attributes(lines: Iterable[str]) -> list[str]:
    """What templates ask of words besides word and tag, each once."""
    atoms = [atom for names in read_templates(lines) for atom in names if "." in atom]
    return list(dict.fromkeys(name for atom in atoms if (name := atom.partition(".")[2]) not in RESERVED))
