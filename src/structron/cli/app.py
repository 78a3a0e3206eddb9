"""The command line. Here commands are only parsed, so that help needs neither numpy nor numba.

    structron train TASK …  ──typer──▶  Job(module, options)  ──▶  structron.cli.train.run(**options)

Options of estimators come from their fields (`takes`), as `settings`; the others are those of the commands themselves.

A job runs outside of the parser: what becomes of mistakes, Ctrl-C and closed pipes is decided in one place, `main`.
"""

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.completion

from structron._version import __version__
from structron.cli.help.train import TASK, TrainCommand, complete_tasks
from structron.cli.options import COMPLETING, OPTIONS, takes
from structron.cli.plain import taken_as_typed
from structron.errors import StructronError
from structron.runtime import streams
from structron.runtime.progress import GONE, discard, tell

INTERRUPTED, PIPE_CLOSED = 130, 141
READERS = ("structron.cli.annotate", "structron.cli.predict", "structron.cli.evaluate")
"""Commands that read one model and use it."""
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="structron",
    help="Structured perceptrons: taggers, chunkers, parsers and more, from a file to a model and back.",
    add_completion=False,  # typer's own options for it cost every command the import of pydantic
    context_settings={"help_option_names": ["-h", "--help"]},
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


def _completion(ctx: typer.Context, param: typer.CallbackParam, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        typer.completion.completion_init()
        installs = param.name == "install_completion"
        (typer.completion.install_callback if installs else typer.completion.show_callback)(ctx, param, True)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    install_completion: Annotated[
        bool, typer.Option("--install-completion", callback=_completion, help="Let your shell complete commands.")
    ] = False,
    show_completion: Annotated[
        bool, typer.Option("--show-completion", callback=_completion, help="Print what that would install.")
    ] = False,
) -> None:
    pass


Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors alone.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
Format = Annotated[
    str | None, typer.Option(metavar="conll|conllu", help="Format of the files; by default their names tell.")
]
Columns = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="Names of the files' columns, for instance word,pos,chunk.")
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of the files.")]
LabelColumn = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of the labels, if not named as in training.")
]
OutputDir = Annotated[
    Path | None,
    typer.Option(
        "--output-dir",
        metavar="DIR",
        help="Write a file here for each of many (names, or quoted patterns); started again, it goes on.",
        show_default=False,
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray", metavar="auto|ADDRESS", help="With --output-dir: work on a Ray cluster.", show_default=False),
]
MaxSentence = Annotated[
    int | None,
    typer.Option(
        "--max-sentence",
        metavar="N",
        min=1,
        help="Characters that a sentence may have (1000000 unless STRUCTRON_MAX_SENTENCE says otherwise).",
        show_default=False,
    ),
]
SkipInvalid = Annotated[
    bool, typer.Option("--skip-invalid", help="Skip and count sentences whose heads do not form a tree.")
]


@app.command(short_help="Show what it can do: a text, then every task.")
def demo(
    task: Annotated[str | None, typer.Option(metavar="TASK", help="One task only, for instance tagger.")] = None,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Begin with this English text.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the corpora and models in this folder.", show_default=False)
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Job:
    """Analyse a text with the bundled model, then train and apply every task on generated toy English."""
    return Job("structron.cli.demo", locals())


@app.command(short_help="Analyse plain text, from sentences to trees.")
@takes("jobs", "fast", "lines")
def annotate(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE …|-]", help="Plain text; standard input by default.", show_default=False),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="MODEL", help="A pipeline: a file, or the name of a bundled one.")
    ] = "english",
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="Analyse this text, not a file.")] = None,
    format: Annotated[
        str, typer.Option("--format", "-f", metavar="conllu|json|sentences|tokens|html|svg", help="What to write.")
    ] = "conllu",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here, not to standard output.")
    ] = None,
    output_dir: OutputDir = None,
    ray: RayAddress = None,
    keep: Annotated[
        str | None,
        typer.Option(metavar="tokens|tags", help="The file is CoNLL-U: keep its tokens, or its tags as well."),
    ] = None,
    encoding: Encoding = "utf-8",
    max_sentence: MaxSentence = None,
    settings: dict[str, Any],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Job:
    """Analyse plain text: sentences, words, tags, lemmas, trees, entities."""
    return Job("structron.cli.annotate", locals())


@app.command(cls=TrainCommand)
@takes(*OPTIONS)
def train(
    *,
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="What to learn, for instance tagger, chunker or parser.",
            autocompletion=complete_tasks,
        ),
    ],
    train: Annotated[str, typer.Option(metavar="FILE", help="Labelled sentences to learn from.", show_default=False)],
    model: Annotated[Path, typer.Option(metavar="OUT", help="The model file to write.", show_default=False)],
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="Labelled sentences that choose the best pass.")
    ] = None,
    format: Format = None,
    columns: Columns = None,
    encoding: Encoding = "utf-8",
    skip_invalid: SkipInvalid = False,
    entities: Annotated[
        str | None, typer.Option(metavar="FILE", help="Entities of the same sentences, for a pipeline to learn.")
    ] = None,
    dev_entities: Annotated[str | None, typer.Option(metavar="FILE", help="The same for the dev data.")] = None,
    max_sentence: MaxSentence = None,
    settings: dict[str, Any],
    warm_start: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Go on from a model; new labels and features are welcome.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the state of training here after every pass.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every pass as a line of JSON.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Job:
    """Learn a model from labelled sentences."""
    return Job("structron.cli.train", locals())


@app.command()
@takes("beam", "slack", "test_candidates", "jobs")
def predict(
    *,
    model: Model,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE …|-]", help="Sentences; standard input by default.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here, not to standard output.")
    ] = None,
    output_dir: OutputDir = None,
    ray: RayAddress = None,
    format: Format = None,
    columns: Columns = None,
    label: LabelColumn = None,
    encoding: Encoding = "utf-8",
    nbest: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Write the N best analyses of each sentence, best first.")
    ] = None,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Add each label's margin: a last column; CoNLL-U: in MISC.")
    ] = False,
    forced: Annotated[
        bool, typer.Option("--forced", help="Keep the labels in the file; predict only where it has _.")
    ] = False,
    max_sentence: MaxSentence = None,
    settings: dict[str, Any],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Job:
    """Label sentences; every other byte of the input is kept."""
    return Job("structron.cli.predict", locals())


@app.command(short_help="Score a model, and list its mistakes.")
@takes("beam", "slack", "test_candidates", "jobs", "fast")
def evaluate(
    *,
    model: Model,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Labelled sentences.", show_default=False)],
    format: Format = None,
    columns: Columns = None,
    label: LabelColumn = None,
    encoding: Encoding = "utf-8",
    skip_invalid: SkipInvalid = False,
    gold: Annotated[
        str | None, typer.Option(metavar="tokens|tags", help="Give a pipeline the file's tokens, or tags as well.")
    ] = None,
    entities: Annotated[
        str | None, typer.Option(metavar="FILE", help="Entities of the same sentences, to score a pipeline's.")
    ] = None,
    confusion: Annotated[
        bool, typer.Option("--confusion", help="Show which labels, or relations, are taken for which.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw that as a picture here.", show_default=False)
    ] = None,
    max_sentence: MaxSentence = None,
    settings: dict[str, Any],
    errors: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="List the N most confident mistakes, in context.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Job:
    """Score a model on labelled sentences."""
    return Job("structron.cli.evaluate", locals())


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A model file.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another of the same task.", show_default=False)],
    file: Annotated[str, typer.Argument(metavar="FILE", help="Labelled sentences.", show_default=False)],
    format: Format = None,
    columns: Columns = None,
    label: LabelColumn = None,
    encoding: Encoding = "utf-8",
    top: Annotated[int, typer.Option(metavar="N", min=0, help="Sentences to show on which they differ.")] = 10,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Job:
    """Compare two models on labelled sentences: scores, significance, where they differ."""
    return Job("structron.cli.views.compare", locals())


@app.command()
def inspect(
    model: Model,
    label: Annotated[str | None, typer.Option(metavar="L", help="Features for and against this label only.")] = None,
    top: Annotated[int | None, typer.Option(metavar="N", min=1, help="Features to show of each kind.")] = None,
    sentence: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help='Explain the analysis of a sentence: "The dog", or "The/DT dog/NN".'),
    ] = None,
    beam: Annotated[bool, typer.Option("--beam", help="Show the beams of the sentence, step by step.")] = False,
    width: Annotated[
        str | None, typer.Option(metavar="N|inf", help="With --beam: another width than the model's.")
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="With --beam: follow gold, the file's sentence with these words, or its first."
        ),
    ] = None,
    part: Annotated[str | None, typer.Option(metavar="PART", help="Of a pipeline: this part, say parser.")] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the history of training here.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Job:
    """Show what a model has learned, or why it decides as it does."""
    return Job("structron.cli.inspect", locals())


@app.command("import-templates")
def import_templates(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Templates of CRF++ or Wapiti (-: standard input).")],
    columns: Columns = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here, not to standard output.")
    ] = None,
    verbose: Verbose = False,
) -> Job:
    """Write the templates of CRF++ or Wapiti in our language, for --templates."""
    return Job("structron.cli.new.templates", locals())


@app.command("new-problem")
def new_problem(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for Python, for instance word_order.")],
    output_dir: Annotated[Path, typer.Option("--output-dir", metavar="DIR", help="Folder for the two files.")] = Path(),
    verbose: Verbose = False,
) -> Job:
    """Write a search problem of your own to start from: NAME.py, which runs as it is, and test_NAME.py."""
    return Job("structron.cli.new.problem", locals())


@app.command()
def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL …]", help="Model files; the bundled English one by default.", show_default=False
        ),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port; 0: any that is free.")] = 8000,
    data: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="An annotated file for the views Beam and Compare; may be repeated."),
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="A log that 'train --log' writes, for the view Training; may be repeated."),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Another site whose pages may use the API; none by default."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Requests worked on at a time; as many as cores by default.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Job:
    """Serve a page to annotate, watch the beam, look into models and compare them, and a JSON API."""
    return Job("structron.serve.command", locals())


@app.command()
def capabilities(
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Put the table between the marks in this Markdown file.")
    ] = None,
    verbose: Verbose = False,
) -> Job:
    """Show which task takes which option, and why not."""
    return Job("structron.cli.capabilities", locals())


@app.command(short_help="Compile now, so that nothing has to wait later.")
def precompile(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TASK …]", help="Tasks; all by default.", show_default=False, autocompletion=complete_tasks
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", min=1, help="Processes; as many as cores by default.", show_default=False),
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Job:
    """Compile the kernels of tasks now, so that no later command has to wait for the compiler."""
    return Job("structron.cli.precompile", locals())


@app.command(short_help="Run the experiments of a paper again.")
def experiment(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Author and year, for instance collins2002.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the corpora; STRUCTRON_DATA by default.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Less data, fewer passes.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for results; results or results/quick by default.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes; as many as cores by default.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Job:
    """Run the experiments of a paper and compare with its figures; goes on where it was interrupted."""
    return Job("structron.cli.experiment", locals())


@app.command(short_help="Show what holds up of each paper.")
def papers(
    results: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of results; results by default.")] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write results.md and papers.md in this folder.")
    ] = None,
    verbose: Verbose = False,
) -> Job:
    """Show what holds up of each paper, from the results of its experiments."""
    return Job("structron.cli.papers", locals())


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run a command; returns the exit status: 0, 1 a bug, 2 a user's mistake, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if COMPLETING in os.environ:
        typer.completion.completion_init()
    with streams.secured():
        try:
            command = taken_as_typed(typer.main.get_command(app))
            job = command.main(arguments, prog_name="structron", standalone_mode=False)
            sys.stdout.flush()
        except USAGE_ERROR as error:
            return _fail(f"error: {_usage(error)}", 2)
        except streams.OutputError as error:
            return _failed_output(error)
        return _run(job) if isinstance(job, Job) else int(job or 0)


def script() -> None:
    """The command, as a process of its own."""
    streams.leave(main())


def _usage(error: Any) -> str:
    """What is wrong with the arguments, and where to read about them."""
    command = error.ctx.command_path if error.ctx else "structron"
    if error.ctx and error.ctx.meta.get(TASK):
        command += f" {error.ctx.meta[TASK]}"
    return f"{error.format_message().rstrip('.')}; see {command} --help"


def _run(job: Job) -> int:
    options = {name: value for name, value in job.options.items() if value is not None}
    verbose, silent = options.pop("verbose"), options.get("quiet", False)
    if job.module != "structron.cli.train":
        options.pop("quiet", None)
    signals = streams.Signals()
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(signals.handled())
            stack.enter_context(import_module("structron.io.limits").sentences_of(options.pop("max_sentence", None)))
            stack.enter_context(import_module("structron.runtime.threads").uncollected())
            stack.enter_context(import_module("structron.runtime.progress").quiet(silent))
            _begin_model(job)
            _load_kernels()
            stack.enter_context(import_module("structron.compiling").Compiling(show=not silent))
            status = import_module(job.module).run(**options)
            sys.stdout.flush()
            return signals.status if status == INTERRUPTED else status or 0
    except KeyboardInterrupt:
        return _fail("interrupted", signals.status)
    except (BrokenPipeError, streams.OutputError) as error:
        return _failed_output(error)
    except Exception as error:
        if verbose:
            with contextlib.suppress(*GONE):
                traceback.print_exc()
        if isinstance(error, OSError):
            discard(sys.stdout)
        if isinstance(error, StructronError | OSError):
            return _fail(f"error: {error}", 2)
        return _fail(f"error: {type(error).__name__}: {error} (a bug? -v shows the traceback)", 1)


def _failed_output(error: OSError) -> int:
    """Standard output does not take any more; a reader that has seen enough is nobody's mistake."""
    discard(sys.stdout)
    if error.errno == errno.EPIPE:
        return PIPE_CLOSED
    reason = (error.strerror or str(error)).lower()
    return _fail(f"error: standard output: could not be written ({reason}); expected a file or a pipe", 2)


def _fail(text: str, status: int) -> int:
    """One line, whatever the text."""
    tell(f"structron: {' '.join(text.splitlines())}")
    return status


def _begin_model(job: Job) -> None:
    """Let a model be read while Numba is imported, if the command will read it here."""
    model = job.options.get("model")
    if model is not None and job.module in READERS and not job.options.get("output_dir") and not job.options.get("ray"):
        path = import_module("structron.tasks.registry").path_of(model)
        import_module("structron.io.modelfile").begin(path)


def _load_kernels() -> None:
    """Load Numba without SciPy: it would look for a BLAS there, which no kernel of ours uses, for a third of the time.

    Only here, where the process is ours; a program that imports structron may have other kernels.
    """
    hide = "scipy" not in sys.modules
    if hide:
        sys.modules["scipy"] = None  # type: ignore[assignment]
    try:
        table = import_module("structron.kernels.table")
        if not import_module("structron.kernels.jit").is_cold(table.hash_strings):
            table.hash_list([""])
    finally:
        if hide:
            del sys.modules["scipy"]
