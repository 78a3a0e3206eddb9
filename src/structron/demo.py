"""`structron demo`: every task on toy English, from generated files to analysed sentences, and how to do it again."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from structron import schemes
from structron.commands import train
from structron.commands.corpus import Source, View, labelled_rows, layout
from structron.data.toy_english import ToySentence, toy_english, write_conll, write_conllu
from structron.errors import StructronError, unknown
from structron.tasks.storage import TASKS, load

SPLITS = {"train": (0, 1500), "dev": (1500, 1800), "test": (1800, 2300)}
LENGTHS = range(7, 15)
"""Of the sentences to show: long enough to be of interest, short enough for a line."""
SCORES = ("f1", "precision", "recall", "accuracy", "known_accuracy", "unknown_accuracy")

Labels = Sequence[str]


def show_tags(words: Labels, gold: Labels, guess: Labels) -> Text:
    """`The/DET dog/NOUN`; a wrong tag is followed by the right one."""
    line = Text()
    for word, right, found in zip(words, gold, guess, strict=True):
        line.append(f"{word}/")
        line.append(found, "green" if found == right else "red")
        line.append("" if found == right else f"(not {right})", "dim")
        line.append(" ")
    return line


def show_chunks(words: Labels, gold: Labels, guess: Labels) -> Text:
    """`[NP The dog] [VP barks] .`; brackets that are not in the gold labels are marked."""
    line = Text()
    right = set(schemes.spans(gold))
    found = schemes.spans(guess)
    opens, closes = {start: (kind, start, end) for kind, start, end in found}, {end - 1 for _, _, end in found}
    style = ""
    for i, word in enumerate(words):
        if i in opens:
            style = "green" if opens[i] in right else "red"
            line.append(f"[{opens[i][0]}{'' if opens[i] in right else '?'} ", style)
        line.append(word)
        line.append("]" if i in closes else "", style)
        line.append(" ")
    return line


@dataclass(frozen=True, slots=True)
class Demo:
    """The files that a task is shown on, and how its analyses look."""

    ending: str
    write: Callable[[Path, Sequence[ToySentence]], None]
    show: Callable[[Labels, Labels, Labels], Text]


DEMOS = {
    "tagger": Demo("conllu", write_conllu, show_tags),
    "chunker": Demo("conll", write_conll, show_chunks),
}


def run(task: str | None = None, out: Path | None = None) -> int:
    """Train, score and show every task that has a demonstration, or one; returns the exit status."""
    if task is not None and task not in DEMOS:
        raise unknown("task", task, DEMOS)
    console = Console(highlight=False, soft_wrap=True)
    corpus = toy_english(SPLITS["test"][1])
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="structron-demo-")))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StructronError(f"{folder}: cannot be made ({error.strerror}); expected a folder") from None
        for name in [task] if task else [name for name in TASKS if name in DEMOS]:
            status = _show(name, DEMOS[name], corpus, folder, console)
            if status:
                return status
    if out is None:
        console.print("The files are gone; [bold]structron demo --out DIR[/bold] keeps them.")
    return 0


def _show(task: str, demo: Demo, corpus: Sequence[ToySentence], folder: Path, console: Console) -> int:
    files = {split: folder / f"{split}.{demo.ending}" for split in SPLITS}
    for split, (lo, hi) in SPLITS.items():
        demo.write(files[split], corpus[lo:hi])
    model = folder / f"{task}.structron"
    console.print(f"[bold]{task}[/bold]: {len(corpus)} sentences of toy English in {files['train'].name} and others")
    status = train.run(task, files["train"], model, dev=files["dev"])
    if status:
        return status
    labeler = load(model)
    source = Source(files["test"])
    view = View.of(labeler)
    wanted = (view.word, view.outputs[0])
    sentences = list(labelled_rows(source, view, layout(source, view, labelled=True)))
    guess = labeler.predict(sentences)
    scores = labeler.evaluate(sentences, guess=guess).as_dict()
    found = [f"{name.replace('_', ' ')} [bold]{scores[name]:.2f}[/bold]" for name in SCORES if scores.get(name)]
    console.print("test:", ", ".join(found))
    words, gold = ([[row[k] for row in rows] for rows in sentences] for k in map(view.columns.index, wanted))
    for k in _worth_showing(gold, guess):
        console.print("  ", demo.show(words[k], gold[k], guess[k]))
    console.print("the same by hand:", style="dim")
    for command in (
        f"train {task} --train {files['train'].name} --dev {files['dev'].name} --model {model.name}",
        f"evaluate {model.name} {files['test'].name}",
        f"predict {model.name} {files['test'].name} --output labelled.{demo.ending}",
        f"inspect {model.name} --top 3",
    ):
        console.print(f"   structron {command}", style="cyan", markup=False)
    console.print()
    return 0


def _worth_showing(gold: Sequence[Labels], guess: Sequence[Labels]) -> list[int]:
    """Two sentences that the model gets right and one, if any, with a mistake in it."""
    right: list[int] = []
    wrong: list[int] = []
    for k, labels in enumerate(gold):
        if len(labels) in LENGTHS:
            (right if labels == guess[k] else wrong).append(k)
    return right[:2] + wrong[:1]
