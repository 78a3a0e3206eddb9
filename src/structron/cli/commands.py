"""The commands with their arguments and options. Help texts import this module, so it needs neither numpy nor numba."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from structron._version import __version__
from structron.cli.command import CONTEXT, Command, Train
from structron.cli.options import Argument, common
from structron.errors import meant
from structron.tasks.options import TASKS

TEXT = click.STRING


class _Path(click.Path):
    """A path that has a name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("an empty name; expected a file or folder", param, ctx)
        return super().convert(value, param, ctx)


FILE = _Path(readable=False)
"""A file that may be `-`, or one of a package by name; whether it can be read, its reader says."""
PATH = _Path(readable=False, path_type=Path)
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
        click.echo(f"{shell} completion installed in {place}; it works in new shells")
    ctx.exit()


def _tasks(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [task for task in TASKS if task.startswith(incomplete)]


def _papers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from structron.cli.experiment import OTHERS, papers

    return [paper for paper in (*papers(), *OTHERS) if paper.startswith(incomplete)]


class Program(click.Group):
    """All commands, in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing and args[0] not in self.commands:
            raise click.UsageError(f"No such command {args[0]!r}{meant(args[0], self.commands)}", ctx)
        return super().resolve_command(ctx, args)


of_root = partial(option, is_eager=True, expose_value=False)
app = Program(
    "structron",
    help="Structured perceptrons: train and use taggers, chunkers, parsers and more.",
    context_settings=dict(CONTEXT),
    no_args_is_help=False,
    params=[
        of_root("--version", help="Print the version.", callback=_tell_version),
        of_root("--install-completion", help="Install completion for your shell.", callback=_set_up_completion),
        of_root("--show-completion", help="Print the completion script.", callback=_set_up_completion),
    ],
)

VERBOSE = option("--verbose", "-v", help="Show the traceback of an error.")
QUIET = option("--quiet", "-q", help="Print only results and errors.")
JSON = option("--json", "as_json", help="Print one JSON object.")
MODEL = Argument("model", "MODEL", "A model file.", type=PATH)
LABELLED = Argument("file", "FILE", "Labelled sentences.", type=FILE)
FORMAT = option("--format", metavar="conll|conllu", help="Format of the files; by default determined by their names.")
COLUMNS = option("--columns", metavar="A,B,…", help="Names of the columns in the files, for instance word,pos,chunk.")
ENCODING = option("--encoding", metavar="NAME", default="utf-8", help="Encoding of the files.")
LABEL = option("--label", metavar="COLUMN", help="Column of the labels, if it is named differently than in training.")
OUTPUT = option("--output", "-o", metavar="FILE", type=PATH, help="Write to this file instead of standard output.")
OUTPUT_DIR = option(
    "--output-dir",
    metavar="DIR",
    type=PATH,
    help="Process many files (names or quoted patterns) and write the results here; resumes when run again.",
)
RAY = option("--ray", metavar="auto|ADDRESS", help="With --output-dir: use a Ray cluster.")
MAX_SENTENCE = option(
    "--max-sentence",
    metavar="N",
    type=POSITIVE,
    help="Largest number of characters in a sentence (1000000, or STRUCTRON_MAX_SENTENCE).",
)
PARTIAL = option("--partial", help="Treat _ as an unknown label (the same as --open-label _).")
SKIP_INVALID = option("--skip-invalid", help="Skip and count sentences whose heads do not form a tree.")

COMMANDS: list[click.Command] = [
    Command(
        "demo",
        "cli.demo",
        "Analyse a text with the bundled model, then train and apply every task on generated toy English.",
        option("--task", metavar="TASK", shell_complete=_tasks, help="Only this task, for instance tagger."),
        option("--text", metavar="TEXT", help="Analyse this English text first."),
        option("--out", metavar="DIR", type=PATH, help="Write the corpora and models to this folder."),
        QUIET,
        VERBOSE,
        short="Show what structron can do: a text, then every task.",
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
            help="A pipeline: a file, or the name of a bundled model.",
        ),
        option("--text", metavar="TEXT", help="Analyse this text instead of files."),
        option(
            "--format",
            "-f",
            metavar="conllu|json|jsonl|tsv|vertical|conll|brat|sentences|tokens|html|svg",
            default="conllu",
            help="Format of the output.",
        ),
        OUTPUT,
        OUTPUT_DIR,
        RAY,
        option(
            "--input",
            metavar="text|tokens|conll|vertical|conllu",
            help="Format of the input; by default determined by the name (.conllu, .conll, .vert), otherwise text.",
        ),
        option("--keep", metavar="tokens|tags", help="With CoNLL-U input: keep its tokens, or also its tags."),
        ENCODING,
        MAX_SENTENCE,
        *common("jobs", "fast", "lines"),
        QUIET,
        VERBOSE,
        short="Analyse plain text, from sentences to trees.",
    ),
    Train(
        option("--train", metavar="FILE", type=FILE, required=True, help="Labelled sentences to train on."),
        option("--dev", metavar="FILE", type=FILE, help="Labelled sentences for choosing the best pass."),
        FORMAT,
        COLUMNS,
        ENCODING,
        PARTIAL,
        SKIP_INVALID,
        option("--entities", metavar="FILE", type=FILE, help="For a pipeline: entities of the same sentences."),
        option("--dev-entities", metavar="FILE", type=FILE, help="For a pipeline: entities of the dev data."),
        option(
            "--warm-start",
            metavar="MODEL",
            type=PATH,
            help="Continue training from a model; new labels and features are added.",
        ),
        option("--model", metavar="OUT", type=PATH, required=True, help="The model file to write."),
        MAX_SENTENCE,
        option("--checkpoint", metavar="DIR", type=PATH, help="Save the state of training here after every pass."),
        option("--resume", help="Continue from the checkpoint."),
        option("--log", metavar="FILE", type=PATH, help="Write one line of JSON for every pass."),
        option("--force", help="Allow --model to overwrite a model of another task."),
        QUIET,
        VERBOSE,
    ),
    Command(
        "cluster",
        "cli.cluster",
        "Cluster the words of raw text, for train --clusters; writes a line of bits, word and count for every word.",
        Argument(
            "files", "FILE …", "Plain text, one sentence or paragraph per line.", type=TEXT, nargs=-1, required=True
        ),
        option("--classes", metavar="N", type=POSITIVE, default=512, help="Number of clusters."),
        option("--min-count", metavar="N", type=POSITIVE, default=2, help="Leave out words seen fewer than N times."),
        option("--most-words", metavar="N", type=POSITIVE, help="Cluster only the N most frequent words."),
        option("--passes", metavar="N", type=POSITIVE, default=20, help="Largest number of passes over the words."),
        option("--annotated", help="The files are CoNLL-U."),
        option("--tokenized", help="Words are separated by spaces."),
        option(
            "--vectors", help="The file has word vectors, in the text format of word2vec and fastText; uses k-means."
        ),
        OUTPUT,
        ENCODING,
        option("--jobs", metavar="N", type=POSITIVE, help="Threads; by default one per core."),
        QUIET,
        VERBOSE,
        short="Cluster the words of raw text, for training.",
    ),
    Command(
        "lexicon",
        "cli.lexicon",
        "Convert dictionaries to a lexicon, for train --lexicon: UDPipe's, UniMorph's, spaCy's, CoNLL-U.",
        Argument("files", "FILE …", "Dictionaries; together they are one.", type=TEXT, nargs=-1, required=True),
        option(
            "--format",
            metavar="udpipe|unimorph|spacy|conllu",
            help="Format of the files; by default determined by their first lines.",
        ),
        OUTPUT,
        ENCODING,
        QUIET,
        VERBOSE,
        short="Convert dictionaries to a lexicon, for training.",
    ),
    Command(
        "predict",
        "cli.predict",
        "Label sentences; the rest of the input stays the same, byte for byte.",
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
        option("--confidence", help="Add the margin of each label, in a last column; CoNLL-U: in MISC."),
        option("--forced", help="Keep the labels in the file; predict only where it has _."),
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
        option("--gold", metavar="tokens|tags", help="For a pipeline: use the gold tokens, or also the gold tags."),
        option("--entities", metavar="FILE", type=FILE, help="For a pipeline: gold entities of the same sentences."),
        option("--confusion", help="Show which labels or relations are confused."),
        option("--plot", metavar="FILE.svg", type=PATH, help="Draw the confusion matrix in this file."),
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
        "Count errors in annotated files: violations of UD's rules for CoNLL-U, and impossible analyses. Exit status 1 "
        "means that there are errors.",
        Argument(
            "files", "FILE …", "CoNLL-U, gold or predicted (-: standard input).", type=FILE, nargs=-1, required=True
        ),
        option(
            "--against",
            metavar="FILE",
            type=FILE,
            help="Also count tags, features, closed-class words and lemmas that contradict this file.",
        ),
        option(
            "--top",
            metavar="N",
            type=click.IntRange(min=0),
            default=3,
            help="Number of examples to show for each rule.",
        ),
        ENCODING,
        MAX_SENTENCE,
        JSON,
        VERBOSE,
        short="Count errors in annotated files.",
    ),
    Command(
        "choose",
        "cli.choose",
        "Choose the sentences to label next: those of which a model is least certain, or on which models disagree.",
        Argument("pool", "POOL", "Plain text (.txt), columns or CoNLL-U to choose from; -: standard input.", type=FILE),
        option(
            "--model",
            "-m",
            "models",
            metavar="MODEL",
            type=FILE,
            multiple=True,
            help="The model to train further; several with --by disagreement.",
        ),
        option("--number", "-n", metavar="N", type=POSITIVE, default=50, help="Number of sentences to choose."),
        option(
            "--by",
            metavar="margin|margin-per-word|doubt-per-word|words|disagreement|random",
            help="The criterion; by default margin, or disagreement if there are several models.",
        ),
        option(
            "--random",
            "at_random",
            metavar="SHARE",
            type=click.FloatRange(0, 1),
            help="Fraction to draw at random (0.1; in simulations 0).",
        ),
        option("--diverse", help="Leave out sentences with nearly the same words; duplicates are always left out."),
        option("--seed", metavar="N", type=click.IntRange(min=0), default=1, help="Random seed."),
        option(
            "--output",
            "-o",
            metavar="FILE",
            type=PATH,
            help="Write the sentences to this file, with the reasons in comments.",
        ),
        option("--format", metavar="text|conll|conllu", help="Format of the pool; by default determined by its name."),
        COLUMNS,
        ENCODING,
        option(
            "--analyser", metavar="MODEL", type=FILE, default="english", help="The pipeline that splits plain text."
        ),
        option("--simulate", "simulated", help="Simulate on a labelled pool: score the model after each round."),
        option("--dev", metavar="FILE", type=FILE, help="With --simulate: labelled sentences to score."),
        option(
            "--start",
            metavar="N",
            type=POSITIVE,
            default=50,
            help="With --simulate: number of sentences to begin with.",
        ),
        option("--rounds", metavar="N", type=POSITIVE, default=10, help="With --simulate: number of rounds."),
        option("--plot", metavar="FILE.svg", type=PATH, help="With --simulate: draw the curves here."),
        option("--jobs", metavar="N", type=POSITIVE, help="Threads; by default one per core."),
        JSON,
        QUIET,
        VERBOSE,
        short="Choose the sentences to label next.",
    ),
    Command(
        "compare",
        "cli.views.compare",
        "Compare two models on labelled sentences: scores, significance, where they differ.",
        Argument("first", "A", "A model file.", type=PATH),
        Argument("second", "B", "Another model of the same kind.", type=PATH),
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
            help="Number of sentences to show where they differ.",
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
        option("--label", metavar="L", help="Show only features for and against this label."),
        option("--top", metavar="N", type=POSITIVE, help="Number of features to show of each kind."),
        option(
            "--sentence",
            metavar="TEXT",
            help='Explain the analysis of a sentence: "The dog", or "The/DT dog/NN".',
        ),
        option("--beam", help="Show the beam search of the sentence, step by step."),
        option("--width", metavar="N|inf", help="With --beam: use this beam."),
        option(
            "--gold",
            metavar="FILE",
            type=FILE,
            help="With --beam: a file with the gold analysis of the sentence; by default of its first sentence.",
        ),
        option("--part", metavar="PART", help="Inspect this part of a pipeline, for instance parser."),
        option("--plot", metavar="FILE.svg", type=PATH, help="Draw the training history in this file."),
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
        "Write a template for your own search problem: NAME.py, which runs as it is, and test_NAME.py.",
        Argument("name", "NAME", "A Python name, for instance word_order."),
        option("--output-dir", metavar="DIR", type=PATH, default=Path(), help="Folder for the two files."),
        VERBOSE,
    ),
    Command(
        "serve",
        "serve.command",
        "Start a web page to annotate text, watch beam search, and inspect and compare models; with a JSON API.",
        Argument(
            "models",
            "[MODEL …]",
            "Model files; the bundled English one by default.",
            type=FILE,
            nargs=-1,
            required=False,
        ),
        option("--host", metavar="ADDRESS", default="127.0.0.1", help="Address to listen on."),
        option("--port", metavar="N", type=click.IntRange(0, 65535), default=8000, help="Port; 0: any free one."),
        option(
            "--data",
            metavar="FILE",
            type=FILE,
            multiple=True,
            help="An annotated file for the views Beam and Compare (repeatable).",
        ),
        option(
            "--log",
            metavar="FILE",
            type=FILE,
            multiple=True,
            help="A log written by train --log, for the view Training (repeatable).",
        ),
        option(
            "--origin",
            metavar="URL",
            multiple=True,
            help="Another web site that may use the API (repeatable).",
        ),
        option(
            "--allow-host",
            metavar="NAME",
            multiple=True,
            help="Another host name that requests may use for this machine (repeatable).",
        ),
        option("--workers", metavar="N", type=POSITIVE, help="Requests processed at a time; by default one per core."),
        QUIET,
        VERBOSE,
    ),
    Command(
        "teach",
        "teach.command",
        "Correct a model's predictions in the browser; it learns from every answer. A project is one file.",
        Argument("project", "PROJECT", "The project file; --texts and --task create a new one.", type=PATH),
        option(
            "--texts",
            metavar="FILE",
            type=FILE,
            multiple=True,
            help="Texts to add, with their labels: plain text, CoNLL, CoNLL-U, JSON lines, brat (.ann) (repeatable).",
        ),
        option("--task", metavar="tagger|chunker|entities|parser", help="Task of a new project."),
        option("--labels", metavar="A,B,…", help="Labels of a new project; you can add more on the page."),
        option(
            "--start",
            metavar="MODEL",
            help="Continue from this model or pipeline (english); by default from nothing.",
        ),
        option(
            "--tokenizer", metavar="MODEL", default="english", help="The pipeline or tokenizer that splits plain text."
        ),
        option(
            "--overlap",
            metavar="PERCENT",
            type=click.IntRange(0, 100),
            default=0,
            help="Share of the sentences that two people annotate, to measure their agreement.",
        ),
        option(
            "--export",
            metavar="FILE",
            type=PATH,
            help="Write the annotations here instead of opening the page.",
        ),
        option(
            "--format",
            "-f",
            metavar="conll|conllu|jsonl|brat",
            help="With --export: the format; by default determined by the name. brat is a folder.",
        ),
        option("--all", help="With --export: include sentences that are not annotated."),
        option(
            "--train",
            metavar="MODEL",
            type=PATH,
            help="Train a model on all annotations, with the defaults of the task, instead of opening the page.",
        ),
        option("--host", metavar="ADDRESS", default="127.0.0.1", help="Address to listen on."),
        option("--port", metavar="N", type=click.IntRange(0, 65535), default=8000, help="Port; 0: any free one."),
        option(
            "--allow-host",
            metavar="NAME",
            multiple=True,
            help="Another host name that requests may use for this machine (repeatable).",
        ),
        QUIET,
        VERBOSE,
        short="Correct predictions in the browser; the model learns at once.",
    ),
    Command(
        "capabilities",
        "cli.capabilities",
        "Show which options each task has, and why it lacks others.",
        option("--write", metavar="FILE", type=PATH, help="Update the table in this Markdown file."),
        VERBOSE,
    ),
    Command(
        "precompile",
        "cli.precompile",
        "Compile the inner loops of tasks now, so that no later command has to wait for the compiler.",
        Argument("parts", "[TASK …]", "Tasks; by default all.", nargs=-1, required=False, shell_complete=_tasks),
        option("--jobs", metavar="N", type=POSITIVE, help="Processes; by default one per core."),
        QUIET,
        VERBOSE,
        short="Compile now, so that no command has to wait later.",
    ),
    Command(
        "experiment",
        "cli.experiment",
        "Run the experiments of a paper and compare the results with its figures; resumes after an interruption.",
        Argument(
            "paper", "PAPER", "Author and year, for instance collins2002; or partial, choosing.", shell_complete=_papers
        ),
        option("--data", metavar="DIR", type=PATH, help="Folder of the corpora; by default STRUCTRON_DATA."),
        option("--quick", help="Use less data and fewer passes."),
        option("--out", metavar="DIR", type=PATH, help="Folder for the results; by default results, or results/quick."),
        option("--jobs", metavar="N", type=POSITIVE, help="Processes; by default one per core."),
        QUIET,
        VERBOSE,
        short="Run the experiments of a paper again.",
    ),
    Command(
        "papers",
        "cli.papers",
        "Show which claims of each paper hold up, from the results of its experiments.",
        option("--results", metavar="DIR", type=PATH, help="Folder of the results; by default results."),
        option("--write", metavar="DIR", type=PATH, help="Write results.md, papers.md and pictures to this folder."),
        VERBOSE,
        short="Show which claims of each paper hold up.",
    ),
]
for command in COMMANDS:
    app.add_command(command)
