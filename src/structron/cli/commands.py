"""The commands with their arguments and options. Help texts import this module, so it needs neither numpy nor numba."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from structron._version import __version__
from structron.cli.command import CONTEXT, Command, Train
from structron.cli.options import Argument, common
from structron.tasks.options import TASKS

TEXT = click.STRING
FILE = click.Path(readable=False)
"""A file that may be `-`, or one of a package by name; whether it can be read, its reader says."""
PATH = click.Path(readable=False, path_type=Path)
POSITIVE = click.IntRange(min=1)


def option(*names: str, metavar: str = "", **known: Any) -> click.Option:
    """An option of commands; without a metavar a switch."""
    how: dict[str, Any] = {"metavar": metavar, "show_default": "default" in known} if metavar else {"is_flag": True}
    if values := [value for value in metavar.split("|") if value.islower()]:
        how["shell_complete"] = lambda ctx, param, begun: [value for value in values if value.startswith(begun)]
    return click.Option(names, **how, **known)


def _tell_version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"structron {__version__}")
        ctx.exit()


def _set_up_completion(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from structron.cli import completion

    shell = completion.shell_in_use()
    if param.name == "show_completion":
        click.echo(completion.script(app, shell))
    else:
        place = completion.install(app, shell, Path.home())
        click.echo(f"{shell} completion installed in {place}; it works once the shell is started again")
    ctx.exit()


def _tasks(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [task for task in TASKS if task.startswith(incomplete)]


class Program(click.Group):
    """All commands, in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


of_root = partial(option, is_eager=True, expose_value=False)
app = Program(
    "structron",
    help="Structured perceptrons: taggers, chunkers, parsers and more, from a file to a model and back.",
    context_settings=dict(CONTEXT),
    no_args_is_help=False,
    params=[
        of_root("--version", help="Print the version.", callback=_tell_version),
        of_root("--install-completion", help="Let your shell complete commands.", callback=_set_up_completion),
        of_root("--show-completion", help="Print what that would install.", callback=_set_up_completion),
    ],
)

VERBOSE = option("--verbose", "-v", help="Show the traceback of an error.")
QUIET = option("--quiet", "-q", help="Print only results and errors.")
JSON = option("--json", "as_json", help="Print one JSON object.")
MODEL = Argument("model", "MODEL", "A model file.", type=PATH)
LABELLED = Argument("file", "FILE", "Labelled sentences.", type=FILE)
FORMAT = option("--format", metavar="conll|conllu", help="Format of the files; by default, from their names.")
COLUMNS = option("--columns", metavar="A,B,…", help="Names of the files' columns, for instance word,pos,chunk.")
ENCODING = option("--encoding", metavar="NAME", default="utf-8", help="Encoding of the files.")
LABEL = option("--label", metavar="COLUMN", help="Column of the labels, if not named as in training.")
OUTPUT = option("--output", "-o", metavar="FILE", type=PATH, help="Write here, not to standard output.")
OUTPUT_DIR = option(
    "--output-dir",
    metavar="DIR",
    type=PATH,
    help="Write a file here for each of many (names, or quoted patterns); if restarted, it resumes.",
)
RAY = option("--ray", metavar="auto|ADDRESS", help="With --output-dir: work on a Ray cluster.")
MAX_SENTENCE = option(
    "--max-sentence",
    metavar="N",
    type=POSITIVE,
    help="Characters that a sentence may have (1000000 unless STRUCTRON_MAX_SENTENCE says otherwise).",
)
PARTIAL = option("--partial", help="Read _ as an unknown label, as in CoNLL-U (short for --open-label _).")
SKIP_INVALID = option("--skip-invalid", help="Skip and count sentences whose heads do not form a tree.")

COMMANDS: list[click.Command] = [
    Command(
        "demo",
        "cli.demo",
        "Analyse a text with the bundled model, then train and apply every task on generated toy English.",
        option("--task", metavar="TASK", shell_complete=_tasks, help="One task only, for instance tagger."),
        option("--text", metavar="TEXT", help="Begin with this English text."),
        option("--out", metavar="DIR", type=PATH, help="Keep the corpora and models in this folder."),
        QUIET,
        VERBOSE,
        short="Show what it can do: a text, then every task.",
    ),
    Command(
        "annotate",
        "cli.annotate",
        "Analyse plain text: sentences, words, tags, lemmas, trees, entities.",
        Argument("files", "[FILE …|-]", "Plain text; standard input by default.", type=FILE, nargs=-1, required=False),
        option(
            "--model",
            "-m",
            metavar="MODEL",
            type=FILE,
            default="english",
            help="A pipeline: a file, or the name of a bundled one.",
        ),
        option("--text", metavar="TEXT", help="Analyse this text, not a file."),
        option(
            "--format",
            "-f",
            metavar="conllu|json|jsonl|tsv|vertical|conll|brat|sentences|tokens|html|svg",
            default="conllu",
            help="What to write.",
        ),
        OUTPUT,
        OUTPUT_DIR,
        RAY,
        option("--input", metavar="text|tokens|conll|vertical|conllu", help="What the files are; text by default."),
        option("--keep", metavar="tokens|tags", help="The file is CoNLL-U: keep its tokens, or its tags as well."),
        ENCODING,
        MAX_SENTENCE,
        *common("jobs", "fast", "lines"),
        QUIET,
        VERBOSE,
        short="Analyse plain text, from sentences to trees.",
    ),
    Train(
        option("--train", metavar="FILE", type=FILE, required=True, help="Labelled sentences to learn from."),
        option("--dev", metavar="FILE", type=FILE, help="Labelled sentences that choose the best pass."),
        FORMAT,
        COLUMNS,
        ENCODING,
        PARTIAL,
        SKIP_INVALID,
        option(
            "--entities", metavar="FILE", type=FILE, help="Entities of the same sentences, for a pipeline to learn."
        ),
        option("--dev-entities", metavar="FILE", type=FILE, help="The same for the dev data."),
        option(
            "--warm-start",
            metavar="MODEL",
            type=PATH,
            help="Continue training from a model; new labels and features are added.",
        ),
        option("--model", metavar="OUT", type=PATH, required=True, help="The model file to write."),
        MAX_SENTENCE,
        option("--checkpoint", metavar="DIR", type=PATH, help="Write the state of training here after every pass."),
        option("--resume", help="Resume from the checkpoint."),
        option("--log", metavar="FILE", type=PATH, help="Write one line of JSON for every pass."),
        option("--force", help="Replace a model of another task."),
        QUIET,
        VERBOSE,
    ),
    Command(
        "cluster",
        "cli.cluster",
        "Cluster the words of raw text, for train --clusters: a line of bits, word and count for every word.",
        Argument(
            "files", "FILE …", "Plain text, a sentence or a paragraph a line.", type=TEXT, nargs=-1, required=True
        ),
        option("--classes", metavar="N", type=POSITIVE, default=512, help="How many clusters."),
        option("--min-count", metavar="N", type=POSITIVE, default=2, help="Leave out words seen less than N times."),
        option("--most-words", metavar="N", type=POSITIVE, help="Cluster the N most frequent words only."),
        option("--passes", metavar="N", type=POSITIVE, default=20, help="Passes over the words, at most."),
        option("--annotated", help="The files are CoNLL-U."),
        option("--tokenized", help="Words stand between spaces."),
        option("--vectors", help="The file has word vectors, in the text format of word2vec and fastText: k-means."),
        OUTPUT,
        ENCODING,
        option("--jobs", metavar="N", type=POSITIVE, help="Threads; as many as cores by default."),
        QUIET,
        VERBOSE,
        short="Cluster the words of raw text, for training.",
    ),
    Command(
        "predict",
        "cli.predict",
        "Label sentences; every other byte of the input is kept.",
        MODEL,
        Argument("files", "[FILE …|-]", "Sentences; standard input by default.", type=FILE, nargs=-1, required=False),
        OUTPUT,
        OUTPUT_DIR,
        RAY,
        FORMAT,
        COLUMNS,
        LABEL,
        ENCODING,
        option("--nbest", metavar="N", type=POSITIVE, help="Write the N best analyses of each sentence, best first."),
        option("--confidence", help="Add each label's margin: a last column; CoNLL-U: in MISC."),
        option("--forced", help="Keep the labels in the file; predict only those that are _."),
        MAX_SENTENCE,
        *common("beam", "slack", "test_candidates", "jobs"),
        QUIET,
        VERBOSE,
    ),
    Command(
        "evaluate",
        "cli.evaluate",
        "Score a model on labelled sentences.",
        MODEL,
        LABELLED,
        FORMAT,
        COLUMNS,
        LABEL,
        ENCODING,
        SKIP_INVALID,
        option("--gold", metavar="tokens|tags", help="Give a pipeline the file's tokens, or tags as well."),
        option("--entities", metavar="FILE", type=FILE, help="Entities of the same sentences, to score a pipeline's."),
        option("--confusion", help="Show which labels or relations are confused."),
        option("--plot", metavar="FILE.svg", type=PATH, help="Draw the confusions as a picture here."),
        MAX_SENTENCE,
        *common("beam", "slack", "test_candidates", "jobs", "fast"),
        option("--errors", metavar="N", type=POSITIVE, help="List the N most confident mistakes, in context."),
        JSON,
        QUIET,
        VERBOSE,
        short="Score a model, and list its mistakes.",
    ),
    Command(
        "check",
        "cli.check",
        "Count what is wrong with annotated files: UD's rules for CoNLL-U, and analyses that cannot be. Exit status 1: "
        "something is.",
        Argument(
            "files", "FILE …", "CoNLL-U, gold or predicted (-: standard input).", type=FILE, nargs=-1, required=True
        ),
        option(
            "--against",
            metavar="FILE",
            type=FILE,
            help="Also count tags, features, closed-class words and lemmas that do not fit those of this file.",
        ),
        option("--top", metavar="N", type=click.IntRange(min=0), default=3, help="Examples to show of each rule."),
        ENCODING,
        MAX_SENTENCE,
        JSON,
        VERBOSE,
        short="Count what is wrong with annotated files.",
    ),
    Command(
        "choose",
        "cli.choose",
        "Choose the sentences that a person should label next: those that a model doubts, or on which models differ.",
        Argument("pool", "POOL", "Plain text (.txt), columns or CoNLL-U to choose from; -: standard input.", type=FILE),
        option(
            "--model",
            "-m",
            "models",
            metavar="MODEL",
            type=FILE,
            multiple=True,
            help="The model that is taught; several, for --by disagreement.",
        ),
        option("--number", "-n", metavar="N", type=POSITIVE, default=50, help="Sentences to choose."),
        option(
            "--by",
            metavar="margin|margin-per-word|disagreement|random",
            help="What makes a sentence worth it; margin by default, disagreement of several models.",
        ),
        option(
            "--random",
            "at_random",
            metavar="SHARE",
            type=click.FloatRange(0, 1),
            help="Share of them drawn at random (0.1; in simulations 0).",
        ),
        option("--diverse", help="Leave out sentences with much the same words; equal ones are always left out."),
        option("--seed", metavar="N", type=click.IntRange(min=0), default=1, help="Random seed."),
        option("--output", "-o", metavar="FILE", type=PATH, help="Write the sentences here, reasons in comments."),
        option("--format", metavar="text|conll|conllu", help="Format of the pool; by default, from its name."),
        COLUMNS,
        ENCODING,
        option("--analyser", metavar="MODEL", type=FILE, default="english", help="The pipeline that cuts plain text."),
        option("--simulate", "simulated", help="The pool is labelled: play the person, and score rounds of training."),
        option("--dev", metavar="FILE", type=FILE, help="With --simulate: labelled sentences to score."),
        option("--start", metavar="N", type=POSITIVE, default=50, help="With --simulate: sentences to begin with."),
        option("--rounds", metavar="N", type=POSITIVE, default=10, help="With --simulate: how often to choose."),
        option("--plot", metavar="FILE.svg", type=PATH, help="With --simulate: draw the curves here."),
        option("--jobs", metavar="N", type=POSITIVE, help="Threads; all cores by default."),
        JSON,
        QUIET,
        VERBOSE,
        short="Choose what to label next.",
    ),
    Command(
        "compare",
        "cli.views.compare",
        "Compare two models on labelled sentences: scores, significance, where they differ.",
        Argument("first", "A", "A model file.", type=PATH),
        Argument("second", "B", "Another of the same task.", type=PATH),
        LABELLED,
        FORMAT,
        COLUMNS,
        LABEL,
        ENCODING,
        option(
            "--top",
            metavar="N",
            type=click.IntRange(min=0),
            default=10,
            help="Sentences to show on which they differ.",
        ),
        JSON,
        QUIET,
        VERBOSE,
    ),
    Command(
        "inspect",
        "cli.inspect",
        "Show what a model has learned, or why it decides as it does.",
        MODEL,
        option("--label", metavar="L", help="Features for and against this label only."),
        option("--top", metavar="N", type=POSITIVE, help="Features to show of each kind."),
        option(
            "--sentence",
            metavar="TEXT",
            help='Explain the analysis of a sentence: "The dog", or "The/DT dog/NN".',
        ),
        option("--beam", help="Show the beams of the sentence, step by step."),
        option("--width", metavar="N|inf", help="With --beam: a beam of this width."),
        option(
            "--gold",
            metavar="FILE",
            type=FILE,
            help="With --beam: follow the gold analysis of the file's sentence with these words, or of its first.",
        ),
        option("--part", metavar="PART", help="One part of a pipeline, for instance parser."),
        option("--plot", metavar="FILE.svg", type=PATH, help="Draw the history of training here."),
        JSON,
        QUIET,
        VERBOSE,
    ),
    Command(
        "import-templates",
        "cli.new.templates",
        "Convert templates of CRF++ or Wapiti, for --templates.",
        Argument("file", "FILE", "Templates of CRF++ or Wapiti (-: standard input).", type=FILE),
        COLUMNS,
        OUTPUT,
        VERBOSE,
    ),
    Command(
        "new-problem",
        "cli.new.problem",
        "Write a search problem of your own to start from: NAME.py, which runs as it is, and test_NAME.py.",
        Argument("name", "NAME", "A name for Python, for instance word_order."),
        option("--output-dir", metavar="DIR", type=PATH, default=Path(), help="Folder for the two files."),
        VERBOSE,
    ),
    Command(
        "serve",
        "serve.command",
        "Serve a page to annotate, watch the beam, look into models and compare them, and a JSON API.",
        Argument(
            "models",
            "[MODEL …]",
            "Model files; the bundled English one by default.",
            type=FILE,
            nargs=-1,
            required=False,
        ),
        option("--host", metavar="ADDRESS", default="127.0.0.1", help="Address to listen on."),
        option("--port", metavar="N", type=click.IntRange(0, 65535), default=8000, help="Port; 0: any that is free."),
        option(
            "--data",
            metavar="FILE",
            type=FILE,
            multiple=True,
            help="An annotated file for the views Beam and Compare; may be repeated.",
        ),
        option(
            "--log",
            metavar="FILE",
            type=FILE,
            multiple=True,
            help="A log that 'train --log' writes, for the view Training; may be repeated.",
        ),
        option(
            "--origin",
            metavar="URL",
            multiple=True,
            help="Another site whose pages may use the API; none by default.",
        ),
        option(
            "--allow-host",
            metavar="NAME",
            multiple=True,
            help="A further name of this machine that requests may be addressed to; may be repeated.",
        ),
        option(
            "--workers", metavar="N", type=POSITIVE, help="Requests worked on at a time; as many as cores by default."
        ),
        QUIET,
        VERBOSE,
    ),
    Command(
        "capabilities",
        "cli.capabilities",
        "Show which task takes which option, and why not.",
        option("--write", metavar="FILE", type=PATH, help="Put the table between the marks in this Markdown file."),
        VERBOSE,
    ),
    Command(
        "precompile",
        "cli.precompile",
        "Compile the kernels of tasks now, so that no later command has to wait for the compiler.",
        Argument("parts", "[TASK …]", "Tasks; all by default.", nargs=-1, required=False, shell_complete=_tasks),
        option("--jobs", metavar="N", type=POSITIVE, help="Processes; as many as cores by default."),
        QUIET,
        VERBOSE,
        short="Compile now, so that nothing has to wait later.",
    ),
    Command(
        "experiment",
        "cli.experiment",
        "Run the experiments of a paper and compare with its figures; resumes where it was interrupted.",
        Argument("paper", "PAPER", "Author and year, for instance collins2002; or partial."),
        option("--data", metavar="DIR", type=PATH, help="Folder of the corpora; STRUCTRON_DATA by default."),
        option("--quick", help="Less data, fewer passes."),
        option("--out", metavar="DIR", type=PATH, help="Folder for results; results or results/quick by default."),
        option("--jobs", metavar="N", type=POSITIVE, help="Processes; as many as cores by default."),
        QUIET,
        VERBOSE,
        short="Run the experiments of a paper again.",
    ),
    Command(
        "papers",
        "cli.papers",
        "Show what holds up of each paper, from the results of its experiments.",
        option("--results", metavar="DIR", type=PATH, help="Folder of results; results by default."),
        option("--write", metavar="DIR", type=PATH, help="Write results.md, papers.md and pictures in this folder."),
        VERBOSE,
        short="Show what holds up of each paper.",
    ),
]
for command in COMMANDS:
    app.add_command(command)
