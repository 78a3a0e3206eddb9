"""`structron choose`: which sentences of a pool a person should label next, and why; or a simulation with gold data."""

import dataclasses
import io
from collections.abc import Iterator
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any

from structron.cli.corpus import Corpus, View
from structron.cli.files import Source, batches
from structron.cli.places import check_output, check_picture_place, check_places, check_text_place
from structron.errors import StructronError
from structron.io import CONLLU_COLUMNS, ColumnSentence, atomic_write_bytes, open_output
from structron.io.columns import Columns
from structron.io.conllu import read_conllu
from structron.io.text import check_writable, read_lines, unpacked_name
from structron.runtime.progress import say
from structron.runtime.threads import cores
from structron.show.charts import panels
from structron.tasks.choosing import Choice, Doubter, Plan, check_criterion, simulate
from structron.tasks.registry import load, path_of
from structron.text.numbers import to_json

BATCH_TOKENS = 50_000
"""Words that are looked at together."""
FORM = CONLLU_COLUMNS.index("form")
BLOCK_LINES = 500
"""Lines of plain text that are analysed together; a block goes on to the next blank line."""


def run(
    pool: str,
    models: list[str] | None = None,
    number: int = 50,
    by: str | None = None,
    at_random: float | None = None,
    diverse: bool = False,
    seed: int = 1,
    output: Path | None = None,
    format: str | None = None,
    columns: str | None = None,
    encoding: str = "utf-8",
    analyser: str = "english",
    as_json: bool = False,
    simulated: bool = False,
    dev: str | None = None,
    start: int = 50,
    rounds: int = 10,
    plot: Path | None = None,
    jobs: int | None = None,
    quiet: bool = False,
) -> None:
    """Print a line for each sentence, the one to be labelled first at the top; --output: the sentences themselves."""
    if not models:
        raise StructronError("--model: missing; expected the model to train further")
    inputs = {"POOL": pool, "--dev": dev, "--model": [path_of(model) for model in models]}
    check_places(inputs, {"--output": output, "--plot": plot})
    loaded = [load(model) for model in models]
    for name, model in zip(models, loaded, strict=True):
        if model.texts or model.python_only or not hasattr(model, "roles_"):
            raise StructronError(f"{name}: a {model.task} model; expected one that labels or parses words")
        model.options.jobs = jobs or cores()
    if at_random is not None and isnan(at_random):  # which is no less than 0 and no more than 1
        raise StructronError("--random: nan; expected a number from 0 to 1")
    plan = Plan(start, number, rounds, at_random or 0.0, diverse, seed)
    if simulated:
        _check_plot(plot)
        check_text_place("--output", output)
        _simulate(loaded[0], pool, dev, by, plan, output, plot, (format, columns, encoding), quiet)
        return
    if dev is not None or plot is not None:
        raise StructronError(f"{'--dev' if dev else '--plot'}: expected --simulate too")
    by = by or ("margin" if len(models) == 1 else "disagreement")
    check_criterion(by, loaded)
    check_text_place("--output", output)
    check_output(output)
    choice = Choice(number, 0.1 if at_random is None else at_random, diverse, seed)
    doubter = Doubter(loaded, by, jobs or cores())
    reader = _text if _is_text(pool, format) else _sentences
    for corpus, batch in reader(pool, loaded, (format, columns, encoding), analyser):
        items = [corpus.item([sentence]) for sentence in batch]
        word = loaded[0].roles_.names.index(loaded[0].roles_.word)
        corpus.check_tags(items)
        found = [None] * len(items) if by == "random" else doubter(items)
        for sentence, item, doubt in zip(batch, items, found, strict=True):
            choice.add([row[word] for row in item], doubt, (sentence, [row[word] for row in item]))
    chosen = choice.chosen()
    _print(chosen, pool, as_json)
    if output is not None:
        with open_output(output, encoding) as out:
            for rank, (doubt, (sentence, words)) in enumerate(chosen, 1):
                out.write(_written(rank, doubt, sentence, words, reader is _text))
    if not quiet:
        say(f"{pool}: {len(chosen)} of {choice.seen} sentences chosen")


def _print(chosen: list[Any], pool: str, as_json: bool) -> None:
    """A line for each sentence: its rank, where it stands, why, and its words."""
    for rank, (doubt, (sentence, words)) in enumerate(chosen, 1):
        line = sentence.line_number + (sentence.token_lines[0] if sentence.token_lines else 0)
        if as_json:
            own = {"rank": rank, "file": pool, "line": line, **doubt.to_json(), "words": words}
            print(to_json(own))
        else:
            print(f"{rank}\t{pool}:{line}\t{doubt.reason}\t{' '.join(words)}")


def _written(rank: int, doubt: Any, sentence: ColumnSentence, words: list[str], text: bool) -> str:
    """A sentence as it stands in the pool, with a comment that says why; of plain text its words."""
    if text:
        return f"{' '.join(words)}\n"
    first, last = sentence.token_lines[0], sentence.token_lines[-1]
    lines = [line if line.endswith("\n") else f"{line}\n" for line in sentence.lines[: last + 1]]
    comments = [line for line in lines[:first] if line.startswith("#") and not line.startswith("# choose =")]
    return "".join([*comments, f"# choose = {rank}, {doubt.reason}\n", *lines[first:], "\n"])


# -- pools -------------------------------------------------------------------------------------------------------------


def _is_text(pool: str, format: str | None) -> bool:
    return format == "text" or (format is None and unpacked_name(pool).lower().endswith(".txt"))


def _plain_view(model: Any) -> View:
    """That of a model, sentence by sentence."""
    return dataclasses.replace(View.of(model), documents=False)


def _sentences(
    pool: str, models: list[Any], how: tuple[str | None, str | None, str], analyser: str
) -> Iterator[tuple[Corpus, list[ColumnSentence]]]:
    """The sentences of a column file or CoNLL-U, batch by batch."""
    format, columns, encoding = how
    source = Source(pool, format, encoding, columns, models[0])
    source.columns = _renamed(source.columns, models[0].roles_) if source.format == "conllu" else source.columns
    corpus = Corpus(source, _plain_view(models[0]))
    corpus.tell_header()
    for batch in batches(([sentence] for sentence in source.sentences), BATCH_TOKENS):
        yield corpus, [sentence for group in batch for sentence in group]


def _text(
    pool: str, models: list[Any], how: tuple[str | None, str | None, str], analyser: str
) -> Iterator[tuple[Corpus, list[ColumnSentence]]]:
    """The sentences of plain text, which a pipeline cuts into words and tags."""
    nlp: Any = load(analyser)
    if not nlp.texts or nlp.task != "pipeline":
        raise StructronError(f"--analyser {analyser}: a {nlp.task} model; expected a pipeline, for plain text")
    start = 1
    for lines in _blocks(read_lines(pool, how[2], plain=True)):
        text = "".join(lines)
        if text.strip():
            conllu = nlp(text).to_conllu()
            source = Source(pool, "conllu", text=conllu)
            source.columns = _renamed(source.columns, models[0].roles_)
            found = list(read_conllu(io.StringIO(conllu, newline="\n"), pool))
            yield Corpus(source, _plain_view(models[0])), list(_placed(found, text, start))
        start += len(lines)


def _renamed(names: list[str] | None, roles: Columns) -> list[str]:
    """The columns of CoNLL-U by the names that a model has for them; MISC is where a label of its own would go."""
    found = list(names or CONLLU_COLUMNS)
    for name, own in (("pos", "upos"), ("tag", "xpos"), (roles.outputs[-1], "misc")):
        if name in roles.names and name not in found and own not in roles.names:
            found[found.index(own)] = name
    return found


def _placed(sentences: list[ColumnSentence], text: str, start: int) -> Iterator[ColumnSentence]:
    """The sentences of a text whose first line has the number `start`, each with that of the line it begins in."""
    place = 0
    for sentence in sentences:
        line = None
        for row in sentence.rows:
            found = text.find(row[FORM], place)
            if found >= 0:
                line = start + text.count("\n", 0, found) if line is None else line
                place = found + len(row[FORM])
        yield dataclasses.replace(sentence, line_number=line or start, token_lines=[])


def _blocks(lines: Iterator[str]) -> Iterator[list[str]]:
    """Lines of plain text in blocks that end with a paragraph."""
    while block := list(islice(lines, BLOCK_LINES)):
        for line in lines:
            block.append(line)
            if not line.strip() or len(block) >= 2 * BLOCK_LINES:
                break
        yield block


# -- a person simulated ------------------------------------------------------------------------------------------------


def _check_plot(plot: Path | None) -> None:
    if plot is None:
        return
    if plot.suffix.lower() != ".svg":
        raise StructronError(f"--plot: {plot}; expected a file that ends in .svg")
    check_picture_place("--plot", plot)
    check_writable(plot)


def _simulate(
    model: Any,
    pool: str,
    dev: str | None,
    by: str | None,
    plan: Plan,
    output: Path | None,
    plot: Path | None,
    how: tuple[str | None, str | None, str],
    quiet: bool,
) -> None:
    if dev is None:
        raise StructronError("--simulate: expected --dev FILE, labelled sentences to score")
    criteria = ["margin", "random"] if by is None else by.split(",")
    for one in criteria:
        check_criterion(one, [model, model] if one == "disagreement" else [model])
    rows, gold = (_labelled(model, file, how) for file in (pool, dev))
    if len(rows) <= plan.start:
        raise StructronError(f"{pool}: {len(rows)} sentences; expected more than the {plan.start} to start with")
    found = simulate(model, rows, gold, criteria, plan, (lambda text: None) if quiet else say)
    text = to_json(found.to_json(), indent=1) + "\n"
    with open_output(output) as out:
        out.write(text)
    if plot is not None:
        atomic_write_bytes(plot, panels(found.panels()).encode())


def _labelled(model: Any, file: str, how: tuple[str | None, str | None, str]) -> list[Any]:
    """The labelled sentences of a file."""
    format, columns, encoding = how
    source = Source(file, format, encoding, columns, model)
    return list(Corpus(source, _plain_view(model), labelled=True).labelled(quiet=True))
