"""The program: `main` parses a command line and runs the job, and decides what becomes of mistakes, Ctrl-C and closed
pipes. Numpy and Numba are imported once a job begins.
"""

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from structron.cli.command import Call
from structron.cli.commands import app
from structron.cli.completion import PROGRAM, VARIABLE, complete
from structron.errors import StructronError
from structron.runtime import streams
from structron.runtime.progress import GONE, discard, tell

INTERRUPTED, PIPE_CLOSED = 130, 141
READERS = ("structron.cli.annotate", "structron.cli.predict", "structron.cli.evaluate")
"""Commands that read one model and use it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Parse and run a command; returns the exit status: 0, 1 a bug, 2 a user's mistake, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    with streams.secured():
        try:
            if VARIABLE in os.environ:
                return complete(app)
            job = _parsed(arguments)
            sys.stdout.flush()
        except click.UsageError as error:
            return _fail(f"error: {_usage(error)}", 2)
        except StructronError as error:
            return _fail(f"error: {error}", 2)
        except streams.OutputError as error:
            return _failed_output(error)
        return _run(job) if isinstance(job, Call) else job


def script() -> None:
    """The command, as a process of its own."""
    streams.leave(main())


def _parsed(arguments: list[str]) -> Call | int:
    """What a command line asks for, or the exit status of what has been printed."""
    try:
        with app.make_context(PROGRAM, arguments) as context:
            return app.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code


def _usage(error: click.UsageError) -> str:
    """What is wrong with the arguments, what may be meant, and where to read about them."""
    command = error.ctx.command_path if error.ctx else PROGRAM
    near = getattr(error, "possibilities", None)  # the best one first
    text = f"{error.message.rstrip('.')}; did you mean {near[0]}?" if near else error.format_message().rstrip(".")
    return f"{text} See {command} --help" if text.endswith("?") else f"{text}; see {command} --help"


def _run(job: Call) -> int:
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
            stack.enter_context(import_module("structron.kernels.progress").Compiling(show=not silent))
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
        return _fail(f"error: {type(error).__name__}: {error} (perhaps a bug; -v shows the traceback)", 1)


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


def _begin_model(job: Call) -> None:
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
