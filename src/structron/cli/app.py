"""The command line. Here commands are only parsed, so that help needs neither numpy nor numba.

    structron train TASK …  ──typer──▶  Job(module, options)  ──▶  structron.cli.train.run(**options)

A job runs outside of the parser: what becomes of mistakes, Ctrl-C and closed pipes is decided in one place, `main`.
"""

import contextlib
import gc
import io
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from structron._version import __version__
from structron.cli.options import (
    Average,
    Beta,
    Bpm,
    Candidates,
    Columns,
    Encoding,
    Format,
    Grandparents,
    InnerScheme,
    Jobs,
    Json,
    KeepHeads,
    LabelColumn,
    LocalMargin,
    LocalUpdates,
    Margin,
    Model,
    ModelBeam,
    NBest,
    NonLocal,
    NonProjective,
    Projective,
    SingleRoot,
    SkipInvalid,
    StopChange,
    Swvp,
    TestCandidates,
    Update,
    Verbose,
    names,
)
from structron.errors import StructronError

INTERRUPTED, PIPE_CLOSED = 130, 141
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="structron",
    help="Structured perceptrons: taggers, chunkers, parsers and more, from a file to a model and back.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@dataclass(frozen=True, slots=True)
class Job:
    """The module whose `run` does a command's work, and the options for it."""

    module: str
    options: dict[str, Any]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"structron {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    task: Annotated[str | None, typer.Option(metavar="TASK", help="One task only, for instance tagger.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the corpora and models in this folder.", show_default=False)
    ] = None,
    verbose: Verbose = False,
) -> Job:
    """Train and apply every task on generated toy English."""
    return Job("structron.cli.demo", locals())


@app.command()
def train(
    task: Annotated[str, typer.Argument(metavar="TASK", help="What to learn, for instance tagger, chunker or parser.")],
    train: Annotated[str, typer.Option(metavar="FILE", help="Labelled sentences to learn from.", show_default=False)],
    model: Annotated[Path, typer.Option(metavar="OUT", help="The model file to write.", show_default=False)],
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="Labelled sentences that choose the best pass.")
    ] = None,
    format: Format = None,
    columns: Columns = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column to learn: the last one; CoNLL-U: upos, xpos, feats …"),
    ] = None,
    encoding: Encoding = "utf-8",
    pos: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Parts of speech (parser, joint): pos; CoNLL-U: upos (default) or xpos."),
    ] = None,
    unlabelled: Annotated[bool, typer.Option("--unlabelled", help="Parse without relations: heads only.")] = False,
    nonprojective: Annotated[
        NonProjective | None, typer.Option(help="Trees with crossing arcs: lift the arcs, or skip the sentences.")
    ] = None,
    skip_invalid: SkipInvalid = False,
    order: Annotated[
        int | None,
        typer.Option(metavar="1|2", min=1, max=2, help="How many labels, or arcs, one looks at."),
    ] = None,
    beam: Annotated[
        str | None, typer.Option(metavar="N|inf", help="How many hypotheses the search keeps; inf: all of them.")
    ] = None,
    update: Annotated[
        Update | None, typer.Option(help="Which violation of a search with errors to learn from.")
    ] = None,
    alma: Annotated[
        str | None,
        typer.Option(metavar="ALPHA|none", help="Large margin updates that aim at ALPHA of the margin."),
    ] = None,
    margin: Margin = None,
    swvp: Swvp = None,
    beta: Beta = None,
    merge: Annotated[
        bool | None, typer.Option("--merge/--no-merge", help="Let equal hypotheses of the beam share one place.")
    ] = None,
    check_violations: Annotated[
        bool, typer.Option("--check-violations", help="Check that every update fixes a violation (slow).")
    ] = False,
    passes: Annotated[int | None, typer.Option(metavar="N", min=1, help="Passes over the training data.")] = None,
    runs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Mean of N runs that see the data in different orders.")
    ] = None,
    average: Annotated[
        Average | None, typer.Option(help="Average the weights, or let all of them vote (exact, for small data).")
    ] = None,
    cutoff: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Leave out features seen less than N times.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", min=0, help="Of the order of the sentences.")] = None,
    templates: Annotated[
        str | None, typer.Option(metavar="FILE|PRESET", help="Feature templates, one a line, or a preset's name.")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Stop after N passes without gain on dev (0: never).")
    ] = None,
    stop_change: StopChange = None,
    bpm: Bpm = None,
    prune: Annotated[
        float | None, typer.Option(metavar="W", min=0, help="Leave weights of at most W out of the model (parser).")
    ] = None,
    tag_dictionary: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Words seen N times get labels seen with them only.")
    ] = None,
    longest: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Longest chunk, in words (segments); otherwise learned.")
    ] = None,
    forbid: Annotated[
        list[str] | None, typer.Option(metavar='"A B"', help="Never let label B follow label A (repeatable).")
    ] = None,
    constrain: Annotated[
        bool | None, typer.Option("--constrain/--no-constrain", help="Keep chunk labels in a legal order.")
    ] = None,
    gazetteer: Annotated[
        list[str] | None, typer.Option(metavar="TYPE=FILE", help="Phrases to mark, one a line (repeatable).")
    ] = None,
    inner: InnerScheme = None,
    non_local: NonLocal = None,
    candidates: Candidates = None,
    test_candidates: TestCandidates = None,
    local_update: LocalUpdates = None,
    local_margin: LocalMargin = None,
    projective: Projective = None,
    single_root: SingleRoot = None,
    grandparents: Grandparents = None,
    keep_heads: KeepHeads = None,
    warm_start: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Go on from a model; new labels and features are welcome.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the state of training here after every pass.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every pass as a line of JSON.")] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Score dev data on N threads.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    verbose: Verbose = False,
) -> Job:
    """Learn a model from labelled sentences."""
    return Job("structron.cli.train", locals() | {"non_local": names(non_local)})


@app.command()
def predict(
    model: Model,
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="Sentences; standard input by default.")] = "-",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here, not to standard output.")
    ] = None,
    format: Format = None,
    columns: Columns = None,
    label: LabelColumn = None,
    encoding: Encoding = "utf-8",
    beam: ModelBeam = None,
    test_candidates: TestCandidates = None,
    nbest: NBest = None,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Add each label's margin: a last column; CoNLL-U: in MISC.")
    ] = False,
    forced: Annotated[
        bool, typer.Option("--forced", help="Keep the labels in the file; predict only where it has _.")
    ] = False,
    jobs: Jobs = 1,
    verbose: Verbose = False,
) -> Job:
    """Label sentences; every other byte of the input is kept."""
    return Job("structron.cli.predict", locals())


@app.command()
def evaluate(
    model: Model,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Labelled sentences.", show_default=False)],
    format: Format = None,
    columns: Columns = None,
    label: LabelColumn = None,
    encoding: Encoding = "utf-8",
    beam: ModelBeam = None,
    test_candidates: TestCandidates = None,
    skip_invalid: SkipInvalid = False,
    jobs: Jobs = 1,
    as_json: Json = False,
    verbose: Verbose = False,
) -> Job:
    """Score a model on labelled sentences."""
    return Job("structron.cli.evaluate", locals())


@app.command()
def inspect(
    model: Model,
    label: Annotated[str | None, typer.Option(metavar="L", help="What speaks for and against this label only.")] = None,
    top: Annotated[int | None, typer.Option(metavar="N", min=1, help="How many features to show of each kind.")] = None,
    sentence: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help='Explain the labels of a sentence: "The dog", or "The/DT dog/NN".'),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> Job:
    """Show what a model has learned, or why it labels so."""
    return Job("structron.cli.inspect", locals())


@app.command()
def experiment(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Author and year, for instance collins2002.")],
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of the corpora; without it, STRUCTRON_DATA names it."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Less data, fewer passes.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to put tables and figures.")] = None,
    verbose: Verbose = False,
) -> Job:
    """Run a paper's experiment; figures beside the paper's."""
    return Job("structron.cli.experiment", locals())


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run a command; returns the exit status: 0, 1 a bug, 2 a user's mistake, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        job = typer.main.get_command(app).main(arguments, prog_name="structron", standalone_mode=False)
    except USAGE_ERROR as error:
        return _fail(f"error: {_usage(error)}", 2)
    return _run(job) if isinstance(job, Job) else int(job or 0)


def _usage(error: Any) -> str:
    """What is wrong with the arguments, and where to read about them."""
    command = error.ctx.command_path if error.ctx else "structron"
    return f"{error.format_message().rstrip('.')}; see {command} --help"


def _run(job: Job) -> int:
    options = {name: value for name, value in job.options.items() if value is not None}
    verbose = options.pop("verbose")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _uncollected():
            _load_kernels()
            status = import_module(job.module).run(**options)
            sys.stdout.flush()
            return status or 0
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _discard_output()
        return PIPE_CLOSED
    except Exception as error:
        if verbose:
            traceback.print_exc()
        if isinstance(error, OSError):
            _discard_output()
        if isinstance(error, StructronError | OSError):
            return _fail(f"error: {error}", 2)
        return _fail(f"error: {type(error).__name__}: {error} (a bug? -v shows the traceback)", 1)


def _fail(text: str, status: int) -> int:
    """One line, whatever the text."""
    print("structron:", " ".join(text.split("\n")), file=sys.stderr, flush=True)
    return status


def _load_kernels() -> None:
    """Load Numba without SciPy: it would look for a BLAS there, which no kernel of ours uses, for a third of the time.

    Only here, where the process is ours; a program that imports structron may have other kernels.
    """
    hide = "scipy" not in sys.modules
    if hide:
        sys.modules["scipy"] = None  # type: ignore[assignment]
    try:
        import_module("structron.kernels.table").hash_list([""])
    finally:
        if hide:
            del sys.modules["scipy"]


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without the cyclic garbage collector, which would look at millions of strings again and again, for nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _discard_output() -> None:
    """Let Python's last flush of standard output go nowhere instead of failing once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
