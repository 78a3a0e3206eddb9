"""`structron import-templates`: template files of CRF++ and Wapiti in our own language.

    U01:%x[-1,0]/%x[0,0]          w[-1]|w[0]              the previous word and this one
    B02:%x[0,1]                   pos[0] &y               … with the previous label
    B                             nothing: pairs of labels have weights always
    *:%x[0,0]                     both                    (Wapiti)
    u:%m[0,0,"^.?.?.?"]           prefix3[0]              (Wapiti; the same of the end: suffix3)
    u:%X[0,0], %M…                lower[0], lprefix3[0]   (Wapiti; without regard to case)
    u:%t[0,0,"\\d"]                digit[0]                (Wapiti; also "\\u": upper, "-": hyphen)

What cannot be said is kept as a comment, and counted on standard error.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from structron.cli.places import check_places, check_text_place
from structron.errors import StructronError
from structron.features.templates import parse_template
from structron.io import open_output, read_lines
from structron.io.columns import default_columns

MAX_COLUMNS = 100
MACRO = re.compile(
    r'%(?P<kind>[xXtTmM])\[\s*(?P<offset>[+-]?\d+)\s*,\s*(?P<column>\d+)\s*(?:,\s*"(?P<regex>[^"]*)"\s*)?\]'
)
PREFIX, SUFFIX = re.compile(r"\^((?:\.\??)+)$"), re.compile(r"((?:\.\??)+)\$$")
TESTS = {r"\d": "digit", r"\u": "upper", "-": "hyphen"}
LONGEST_AFFIX = 9


class Unsaid(Exception):
    """A template has no equal in our language; the text says why."""


def run(file: str, columns: str | None = None, output: Path | None = None) -> None:
    """Write the templates of a file in our language."""
    check_places({"FILE": file}, {"--output": output})
    check_text_place("--output", output)
    names = [name.strip() for name in columns.split(",")] if columns else None
    lines, unsaid = [], 0
    for line in translate(read_lines(file), names, file):
        lines.append(line)
        unsaid += line.startswith("# not possible")
    with open_output(output) as out:
        out.write("\n".join(lines) + "\n")
    if unsaid:
        print(f"structron: {unsaid} templates cannot be converted; they are comments in the output", file=sys.stderr)


def translate(lines: Iterable[str], columns: Sequence[str] | None = None, where: str = "templates") -> Iterator[str]:
    """Our lines for those of a file. columns: the names of its columns; by default word, pos, column3 …"""
    names = list(columns) if columns else default_columns(MAX_COLUMNS)[:-1]
    found = False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            yield text
            continue
        if text[0] not in "UBub*":
            expected = "expected U…, B…, u…, b… or *… of CRF++ or Wapiti"
            raise StructronError(f"{where}:{number}: {text!r}: {expected}")
        try:
            body = _atoms(text, names)
            if not body:
                yield f"# {text}: {_without_atoms(text)}"
                continue
            ours = [body] * (text[0] in "Uu*") + [f"{body} &y"] * (text[0] in "Bb*")
            for template in ours:
                parse_template(template, f"{where}:{number}")
            yield from ours
            found = True
        except Unsaid as reason:
            yield f"# not possible: {text} ({reason})"
    if not found:
        raise StructronError(f"{where}: no templates; expected lines like U01:%x[-1,0]/%x[0,0]")


def _without_atoms(text: str) -> str:
    """What becomes of a template that looks at no token."""
    return (
        "pairs of labels always have weights" if text[0] in "Bb*" else "labels always have weights with every feature"
    )


def _atoms(text: str, names: Sequence[str]) -> str:
    """The atoms of a template, joined as we do."""
    left = MACRO.sub("", text)
    if "%" in left:
        raise Unsaid(f"{left[left.index('%') :].split('/')[0]!r} is not understood")
    return "|".join(_atom(found, names) for found in MACRO.finditer(text))


def _atom(found: re.Match, names: Sequence[str]) -> str:
    """One %x[…], %t[…] or %m[…] as an atom."""
    column = int(found["column"])
    if column >= len(names):
        raise Unsaid(f"column {column}; expected 0 to {len(names) - 1}, or more names in --columns")
    kind, regex = found["kind"], found["regex"]
    own = "" if column == 0 else f"{names[column]}."
    if kind == "x":
        name = "w" if column == 0 else names[column]
    elif kind == "X":
        name = f"{own}lower"
    else:
        name = own + _of_regex(kind, regex or "")
    return f"{name}[{int(found['offset'])}]"


def _of_regex(kind: str, regex: str) -> str:
    """The built-in atom that says what a regular expression does."""
    if kind in "tT":
        if regex in TESTS:
            return TESTS[regex]
        raise Unsaid(f"no atom for this test; expected one of {', '.join(TESTS)}; shape may serve instead")
    for name, pattern in (("prefix", PREFIX), ("suffix", SUFFIX)):
        if match := pattern.match(regex):
            length = match[1].count(".")
            if length <= LONGEST_AFFIX:
                return f"{'l' if kind == 'M' else ''}{name}{length}"
    raise Unsaid("no atom for this expression; expected a beginning like ^.?.? or an end like .?.?$")
