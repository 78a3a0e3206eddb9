"""The template language: which atoms, at which offsets, are combined into one feature.

One template a line: atoms joined by `|`, each `name[offset]`; `&y` at the end pairs the feature with the previous
label as well as the current one; `#` starts a comment. `y[-1]` … `y[-8]` are the labels before.

    w[0]
    w[-1]|w[0]
    pos[0]|pos[1] &y
    y[-1]|y[-2]|y[-3]
    y[-2]|w[0]
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from structron.errors import StructronError

ATOM = re.compile(r"\s*(?P<name>[^\s\[\]|&#]+)\s*\[\s*(?P<offset>[+-]?\d+)\s*\]\s*$")
MAX_ATOMS = 8
MAX_OFFSET = 99
LABEL = "y"
MAX_HISTORY = 8
"""How far back a template can look at labels."""
KINDS = ("parser-", "joint-", "clusters-", "lexicon-")
"""Prefixes of presets that are not for chains."""


@dataclass(frozen=True, slots=True)
class Template:
    """Atoms by name and offset; labels: how far back the labels before are that go with them (1: the previous one)."""

    parts: tuple[tuple[str, int], ...]
    labels: tuple[int, ...] = ()

    @property
    def pair(self) -> bool:
        """Whether atoms go with the previous label alone."""
        return bool(self.parts) and self.labels == (1,)

    def __str__(self) -> str:
        atoms = [f"{name}[{offset}]" for name, offset in self.parts]
        pair = self.pair
        return "|".join([*atoms, *(f"{LABEL}[-{k}]" for k in self.labels if not pair)]) + ("&y" if pair else "")


def template_texts(templates: Iterable[Template]) -> list[str]:
    """Templates as they are written."""
    return [str(template) for template in templates]


def parse_template(text: str, where: str = "template") -> Template:
    """Read one template; the error says which one is wrong and what was expected."""
    body, amp, tail = text.partition("&")
    if amp and tail.strip() != "y":
        raise StructronError(f"{where}: {text.strip()!r}: only '&y' may follow the atoms")
    parts: list[tuple[str, int]] = []
    before: set[int] = {1} if amp else set()
    for piece in body.split("|"):
        found = ATOM.match(piece)
        if not found:
            expected = "expected name[offset] joined by '|', for instance w[-1]|w[0]"
            raise StructronError(f"{where}: {text.strip()!r}: {piece.strip()!r} is not an atom; {expected}")
        name, offset = found["name"], int(found["offset"])
        is_label = name == LABEL and offset < 0
        farthest = MAX_HISTORY if is_label else MAX_OFFSET
        if abs(offset) > farthest:
            raise StructronError(f"{where}: {text.strip()!r}: offset {found['offset']}; at most {farthest} is possible")
        if is_label:
            before.add(-offset)
        else:
            parts.append((name, offset))
    if len(parts) > MAX_ATOMS:
        raise StructronError(f"{where}: {text.strip()!r}: {len(parts)} atoms; at most {MAX_ATOMS} are possible")
    return Template(tuple(parts), tuple(sorted(before)))


def parse_templates(lines: Iterable[str], where: str = "templates") -> list[Template]:
    """Read a template file's lines; duplicates count once."""
    found: dict[Template, None] = {}
    for number, line in enumerate(lines, 1):
        text = line.split("#", 1)[0].strip()
        if text:
            found[parse_template(text, f"{where}:{number}")] = None
    if not found:
        raise StructronError(f"{where}: no templates; expected one per line, for instance w[-1]|w[0]")
    return list(found)


def presets(kind: str = "") -> list[str]:
    """The names of the template sets that come with the package: for chains, or for another kind ("parser")."""
    folder = resources.files("structron.features") / "presets"
    names = sorted(entry.name.removesuffix(".txt") for entry in folder.iterdir() if entry.name.endswith(".txt"))
    if kind:
        return [name.removeprefix(f"{kind}-") for name in names if name.startswith(f"{kind}-")]
    return [name for name in names if not name.startswith(KINDS)]


def _preset(name: str) -> list[str]:
    return (resources.files("structron.features") / "presets" / f"{name}.txt").read_text("utf-8").splitlines()


def more_lines(table: str, name: str) -> list[str]:
    """What a preset, or all presets of a kind, have in addition where there are "clusters", or a "lexicon"."""
    known, own = presets(table), name.removesuffix("-words")
    return _preset(f"{table}-{own if own in known else 'default'}")


def template_lines(source: str | Path, kind: str = "", tables: Iterable[str] = ()) -> list[str]:
    """The lines of a preset or of a file; tables: with those of presets over "clusters", or a "lexicon"."""
    name = str(source)
    if name in presets(kind):
        more = [line for table in tables for line in more_lines(table, kind or name)]
        return _preset(f"{kind}-{name}" if kind else name) + more
    try:
        return Path(source).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(presets(kind))
        raise StructronError(f"templates {name!r}: neither a preset ({known}) nor a readable file: {error}") from None


def load_templates(source: str | Path | Sequence[str | Template], tables: Iterable[str] = ()) -> list[Template]:
    """Templates from a preset's name, a file, or a list of template texts. tables: see `template_lines`."""
    if isinstance(source, str | Path):
        return parse_templates(template_lines(source, tables=tables), str(source))
    texts = [str(t) for t in source]
    return parse_templates(texts)
