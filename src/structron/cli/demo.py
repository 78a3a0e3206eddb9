"""`structron demo`: a text and the bundled model; then every task on toy English, from generated files to analysed
sentences, and how to do it again."""

import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from structron.cli import train
from structron.cli.corpus import Corpus, View
from structron.cli.files import Source
from structron.cli.pictures import Labels, show_tree
from structron.cli.showcase import PARAGRAPH, show_text
from structron.cli.texts import read_treebank
from structron.data.toy_english import ToySentence, toy_english, write_conll, write_conllu
from structron.errors import StructronError, unknown
from structron.io.doc import Doc
from structron.kernels.ahead import meanwhile
from structron.tasks.registry import TASKS, TRAINABLE, load
from structron.text import schemes
from structron.text.sentences import sentences_of

SPLITS = {"train": (0, 1500), "dev": (1500, 1800), "test": (1800, 2300)}
LENGTHS = range(7, 15)
"""Of the sentences to show: long enough to be of interest, short enough for a line."""
SENTENCES = 4
"""Of a text to show."""
PIPELINE_SENTENCES = 400
"""Sentences that a pipeline, which has many parts, learns from."""
SCORES = (
    *("f1", "precision", "recall", "accuracy", "chunk_accuracy", "joint_accuracy"),
    *("known_accuracy", "unknown_accuracy", "token_f1", "sentence_f1", "upos", "lemmas", "las", "uas"),
)


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


def show_both(words: Labels, gold: Sequence[tuple[str, str]], guess: Sequence[tuple[str, str]]) -> Text:
    """`[NP The/DET dog/NOUN] [VP barks/VERB]`: chunks as above, of words with their tags."""
    tagged = []
    for word, (right, _), (found, _) in zip(words, gold, guess, strict=True):
        tagged.append(f"{word}/{found}" if found == right else f"{word}/{found}(not {right})")
    return show_chunks(tagged, [chunk for _, chunk in gold], [chunk for _, chunk in guess])


def show_cut(text: str, gold: Doc, guess: Doc) -> Text:
    """The tokens of a text, a sentence a line; those that end where none ends in the gold text are marked."""
    tokens = {(token.start, token.end) for token in gold.tokens}
    picture = Text()
    for sentence in guess.sentences[:SENTENCES]:
        picture.append("\n      ")
        for token in sentence.tokens:
            right = (token.start, token.end) in tokens
            picture.append(f"{token.form}{'' if right else '?'} ", "" if right else "red")
    return picture


def show_analysis(text: str, gold: Doc, guess: Doc) -> Text:
    """The first short sentence of a text as a tree, with tags and lemmas."""
    right = {(sentence.start, sentence.end): sentence.words for sentence in gold.sentences}
    for sentence in guess.sentences:
        words, known = sentence.words, right.get((sentence.start, sentence.end), [])
        if len(words) in LENGTHS and len(known) == len(words):
            trees = [[(word.head or 0, word.deprel) for word in own] for own in (known, words)]
            named = [f"{word.form} ({word.lemma}, {word.upos})" for word in words]
            return Text(" ".join(sentence.text.split())) + show_tree(named, *trees)
    return Text(text[:80])


def write_lemmas(path: Path, sentences: Sequence[ToySentence]) -> None:
    """CoNLL-U with lemmas."""
    write_conllu(path, sentences, lemmas=True)


def write_entities(path: Path, sentences: Sequence[ToySentence]) -> None:
    """Documents that name the same people, places and firms again and again, in some sentences without a hint."""
    write_conll(path, sentences, ("word", "pos", "entity"))


@dataclass(frozen=True, slots=True)
class Demo:
    """The files that a task is shown on, how its analyses look, and options that make it quick: toy English is easy.
    Files of the same ending are the same for all tasks."""

    ending: str
    write: Callable[[Path, Sequence[ToySentence]], None]
    show: Callable[[Any, Any, Any], Text]
    options: Mapping[str, Any] = field(default_factory=dict)
    most: int | None = None  # of the sentences to learn from


DEMOS = {
    "tagger": Demo("conllu", write_conllu, show_tags),
    "chunker": Demo("conll", write_conll, show_chunks),
    "segments": Demo("conll", write_conll, show_chunks, {"passes": 4}),
    "joint": Demo("conll", write_conll, show_both, {"passes": 4}),
    "entities": Demo("entities.conll", write_entities, show_chunks, {"passes": 8}),
    "parser": Demo("conllu", write_conllu, show_tree, {"passes": 4}),
    "graph-parser": Demo("conllu", write_conllu, show_tree, {"order": 1, "passes": 3}),
    "tokenizer": Demo("conllu", write_conllu, show_cut, {"passes": 3, "runs": 1}),
    "lemmatizer": Demo("lemmas.conllu", write_lemmas, show_tags, {"passes": 4}),
    "pipeline": Demo("pipeline.conllu", write_lemmas, show_analysis, {}, PIPELINE_SENTENCES),
}


MARK = ".structron-demo"
"""A folder with this file in it is the demo's own."""


def run(task: str | None = None, text: str | None = None, out: Path | None = None) -> int:
    """Analyse a text, then train, score and show every task that has a demonstration; returns the exit status.

    With a task named it is that task alone, unless there is a text of the user's too.
    """
    if task is not None and task not in DEMOS:
        raise unknown("task", task, DEMOS)
    console = Console(highlight=False, soft_wrap=True)
    if text is not None or task is None:
        show_text(console, PARAGRAPH if text is None else text)
    corpus = toy_english(SPLITS["test"][1])
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="structron-demo-")))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StructronError(f"{folder}: cannot be created ({error.strerror}); expected a folder") from None
        if any(folder.iterdir()) and not (folder / MARK).exists():
            raise StructronError(f"{folder}: contains other files; expected a new folder, or that of an earlier demo")
        (folder / MARK).touch()
        names = [task] if task else list(TRAINABLE)
        stack.enter_context(meanwhile(_kernels(names)))
        for name in names:
            status = _show(name, DEMOS[name], corpus, folder, console, kept=out is not None)
            if status:
                return status
    if out is None:
        console.print("The files have been deleted; [bold]structron demo --out DIR[/bold] keeps them.")
    return 0


def _kernels(names: Sequence[str]) -> list[str]:
    """What the demonstrations of tasks need of the list of kernels, in their order."""
    made = [TASKS[name](**DEMOS[name].options) for name in names]
    return [f"{phase} {own.kernels_of(own.get_params())}" for own in made for phase in ("train", "use")]


def _show(
    task: str, demo: Demo, corpus: Sequence[ToySentence], folder: Path, console: Console, kept: bool = False
) -> int:
    """kept: the files stay, and the commands name them where they are."""
    files = {split: folder / f"{split}.{demo.ending}" for split in SPLITS}
    parts = {split: corpus[lo:hi][: demo.most] for split, (lo, hi) in SPLITS.items()}
    for split, own in parts.items():
        demo.write(files[split], own)
    size = sum(map(len, parts.values()))
    model = folder / f"{task}.structron"
    console.print(
        f"[bold]{task}[/bold]: {size:,} sentences of toy English, in {', '.join(file.name for file in files.values())}"
    )
    status = train.run(task, files["train"], model, dev=files["dev"], settings=demo.options)
    if status:
        return status
    estimator = load(model)
    if estimator.texts:
        _show_texts(estimator, demo, files, console)
    else:
        _show_sentences(estimator, demo, files, console)
    console.print("to run it yourself:", style="dim")
    options = "".join(f" --{name} {value}" for name, value in demo.options.items())
    named = {split: shlex.quote(str(file) if kept else file.name) for split, file in files.items()}
    model_, text, labelled = (
        shlex.quote(str(file) if kept else file.name)
        for file in (model, files["test"].with_suffix(".txt"), folder / f"labelled.{demo.ending}")
    )
    use = f"annotate {text} --model {model_}" if estimator.texts else f"predict {model_} {named['test']}"
    commands = [
        f"train {task} --train {named['train']} --dev {named['dev']} --model {model_}{options}",
        f"evaluate {model_} {named['test']}",
        f"{use} --output {labelled}",
    ]
    if "inspect" not in estimator.lacks:
        commands.append(f"inspect {model_} --top 3")
    for command in commands:
        console.print(f"   structron {command}", style="cyan", markup=False)
    console.print()
    return 0


def _show_texts(estimator: Any, demo: Demo, files: Mapping[str, Path], console: Console) -> None:
    """What becomes of plain text."""
    docs = read_treebank(files["test"])
    files["test"].with_suffix(".txt").write_text("\n\n".join(doc.text for doc in docs) + "\n", encoding="utf-8")
    guess = estimator.predict([doc.text for doc in docs])
    _tell(estimator.evaluate(docs, guess=guess).as_dict(), console)
    console.print("  ", demo.show(docs[0].text, docs[0], guess[0]))


def _tell(scores: Mapping[str, Any], console: Console) -> None:
    told = [f"{name.replace('_', ' ')} [bold]{scores[name]:.2f}[/bold]" for name in SCORES if scores.get(name)]
    console.print("test:", ", ".join(told))


def _show_sentences(estimator: Any, demo: Demo, files: Mapping[str, Path], console: Console) -> None:
    """What becomes of sentences of the test data."""
    view = View.of(estimator)
    items = list(Corpus(Source(files["test"]), view, labelled=True).labelled())
    found = estimator.predict(items)
    _tell(estimator.evaluate(items, guess=found).as_dict(), console)
    place = view.roles.names.index(view.roles.word)
    words = [[row[place] for row in rows] for rows in sentences_of(items)]
    gold, guess = estimator._gold(items), [x for group in found for x in group] if view.documents else found
    chosen = _worth_showing(gold, guess)
    for k in chosen:
        console.print("  ", demo.show(words[k], gold[k], guess[k]))
    if demo.show in (show_chunks, show_both) and any(gold[k] != guess[k] for k in chosen):
        console.print("   (?: a mistake)", style="dim")


def _worth_showing(gold: Sequence[Sequence], guess: Sequence[Sequence]) -> list[int]:
    """Two sentences that the model gets right and one, if any, with a mistake in it; none with nothing in it."""
    right: list[int] = []
    wrong: list[int] = []
    for k, labels in enumerate(gold):
        if len(labels) in LENGTHS and len({*labels, *guess[k]}) > 1:
            (right if labels == guess[k] else wrong).append(k)
    return right[:2] + wrong[:1]
