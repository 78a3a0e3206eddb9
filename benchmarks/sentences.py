"""What endings and marks before a space gain the tokenizer: `python -m benchmarks.sentences --data DIR [--seeds N]`.

Every treebank's tokenizer is trained with the default templates and without those over endings of words, initials and
numbers of items; F1 of sentences and tokens on dev and test data, means of all seeds. The table is Markdown.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean

import structron
from structron.features.templates import template_lines
from structron.io.doc import Doc, read_docs
from structron.runtime.threads import cores

TREEBANKS = ("english-ewt", "greek-gdt", "hungarian-szeged", "italian-partut", "turkish-imst")
NEW = ("word.suffix", "mark[")
"""How the templates begin that are left out."""


def template_sets() -> dict[str, list[str]]:
    """The templates without the new ones, and with them."""
    every = [line for line in template_lines("tokenizer") if line and not line.startswith("#")]
    return {"without": [line for line in every if not line.startswith(NEW)], "with": every}


def scores(train: Sequence[Doc], tests: Sequence[Sequence[Doc]], templates: list[str], seeds: int) -> Iterator[str]:
    """Sentences and tokens on each test set, the means of some seeds."""
    found = []
    for seed in range(1, seeds + 1):
        model = structron.Tokenizer(templates=templates, seed=seed, jobs=cores()).fit(train)
        found.append([model.evaluate(test) for test in tests])
    for own in zip(*found, strict=True):
        yield f"{mean(score.sentence_f1 for score in own):.2f} / {mean(score.token_f1 for score in own):.2f}"


def main() -> None:
    """Train, and print the table row by row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--treebank", action="append")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print("| sentences / tokens, F1 | dev without | dev with | test without | test with |")
    print("| --- | --- | --- | --- | --- |")
    for name in given.treebank or TREEBANKS:
        folder = given.data / f"ud-{name}"
        train, *tests = (list(read_docs(folder / f"{part}.conllu.gz")) for part in ("train", "dev", "test"))
        cells = [list(scores(train, tests, own, given.seeds)) for own in template_sets().values()]
        (dev, test), (new_dev, new_test) = cells
        print(f"| {name} | {dev} | {new_dev} | {test} | {new_test} |", flush=True)


if __name__ == "__main__":
    main()
