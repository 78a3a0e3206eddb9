"""The types of the command line's options: what several commands share, and what their values can be.

Like cli.py this is loaded for every help text, so it needs neither numpy nor numba.
"""

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Average(StrEnum):
    none = "none"
    mean = "mean"
    voted = "voted"


class Update(StrEnum):
    standard = "standard"
    early = "early"
    max_violation = "max-violation"
    latest = "latest"
    hybrid = "hybrid"
    laso = "laso"


class LocalUpdate(StrEnum):
    aggressive = "aggressive"
    conservative = "conservative"
    none = "none"
    sentences = "sentences"


class Inner(StrEnum):
    iob1 = "iob1"
    iob2 = "iob2"
    iobes = "iobes"
    bilou = "bilou"


class SwvpVariant(StrEnum):
    none = "none"
    a_wm = "a-wm"
    b_wm = "b-wm"
    a_wmr = "a-wmr"
    b_wmr = "b-wmr"


class NonProjective(StrEnum):
    lift = "lift"
    skip = "skip"


def _number(zero: bool, none: bool = False) -> Callable[[str], float | str]:
    """Reads a number above 0, or from 0 on, or `none`: no default. The parser would take `nan` and `inf` too."""

    def read(text: str) -> float | str:
        if none and text == "none":
            return text
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (0 < value < math.inf or (zero and value == 0)):
            more = ", or none" if none else ""
            raise typer.BadParameter(f"{text}: expected a number {'of at least' if zero else 'above'} 0{more}")
        return value

    return read


def names(given: Sequence[str] | None) -> list[str] | None:
    """The names of a repeatable option, each of which may be several with commas; `none` alone stands for no name."""
    if not given:
        return None
    found = [name.strip() for text in given for name in text.split(",")]
    if found == ["none"]:
        return []
    if "" in found or "none" in found:
        wrong = ",".join(given)
        raise typer.BadParameter(f"{wrong!r}: expected names, for instance phrase,conjunction; or none")
    return list(dict.fromkeys(found))


def _checked(given: list[str] | None) -> list[str] | None:
    """What `names` can read; typer would make None of an empty list, so reading is left to the command."""
    names(given)
    return given


Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show the traceback of an error.")]
Jobs = Annotated[int, typer.Option(metavar="N", min=1, help="Predict on N threads; the output is that of one.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
Format = Annotated[
    str | None, typer.Option(metavar="conll|conllu", help="The files' format; otherwise their names tell.")
]
Columns = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="Names of the files' columns, for instance word,pos,chunk.")
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="The files' encoding.")]
LabelColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column that holds the labels, if not named as in training.")
]
ModelBeam = Annotated[
    str | None, typer.Option(metavar="N|inf", help="Search with another beam than the model was trained with.")
]
SkipInvalid = Annotated[
    bool, typer.Option("--skip-invalid", help="Leave out and count sentences whose heads are no tree.")
]
Margin = Annotated[
    float | None,
    typer.Option(metavar="C|none", parser=_number(True, True), help="Learn until what is correct wins by more than C."),
]
Swvp = Annotated[
    SwvpVariant | None,
    typer.Option(help="Weigh mistakes one by one, by margin (wm) or rank (wmr): violations only (a), or all (b)."),
]
Beta = Annotated[
    float | None, typer.Option(metavar="B", parser=_number(False), help="How steep the weights of --swvp are: 1.")
]
LocalMargin = Annotated[
    float | None,
    typer.Option(metavar="C", parser=_number(True), help="The margin of the local model: that of --margin."),
]
StopChange = Annotated[
    float | None,
    typer.Option(metavar="X", parser=_number(False), help="Stop when the error changes by less than this share."),
]
Bpm = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="Start from the mean of N runs of one pass (0: from nothing).")
]
NonLocal = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        callback=_checked,
        help="Features of whole documents: phrase, phrase-majority, sub-phrase, sub-phrase-majority, conjunction "
        "(repeatable, or with commas), or none.",
    ),
]
Candidates = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Best labellings that features of documents choose from.")
]
TestCandidates = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="The same when predicting: more cost time and find more.")
]
LocalUpdates = Annotated[
    LocalUpdate | None, typer.Option(help="When to update the local model that finds the candidates.")
]
InnerScheme = Annotated[
    Inner | None, typer.Option(help="How chunks are written while learning; the files' scheme is kept outside.")
]
Projective = Annotated[
    bool | None,
    typer.Option("--projective/--no-projective", help="Search trees without crossing arcs only (graph-parser)."),
]
SingleRoot = Annotated[
    bool | None, typer.Option("--single-root/--many-roots", help="Let one word, or any number, have no head.")
]
Grandparents = Annotated[
    bool | None, typer.Option("--grandparents/--no-grandparents", help="At order 2: also look at the head's head.")
]
KeepHeads = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="Heads a word can choose from after a fast model; 0: all."),
]
NBest = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Write the N best labellings of each sentence, best first.")
]
