"""What lexicons gain: `python -m benchmarks.lexicons --data DIR [--lexicon TREEBANK=FILE] [--half TREEBANK]`.

Tagger, morphology and lemmatizer are trained with and without a lexicon and scored on dev and test data, all words and
those that training did not see. With --half, training is on every second batch of sentences, and the words of the
others are the lexicon. The table is Markdown; with --keep, scores are kept, and a run that was interrupted goes on.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import structron
from structron.features.templates import template_lines
from structron.features.wordforms import WordForms
from structron.io import read
from structron.io.text import atomic_write_bytes
from structron.runtime.progress import say
from structron.runtime.threads import cores
from structron.tasks.pipeline.training import readable
from structron.tasks.tokens import telling

BATCH = 100
"""Sentences that stay together when training data are halved."""
SCORES = ("UPOS", "FEATS", "lemmas", "lemmas, gold UPOS")
Row = tuple[str, str, str, str, str]
"""Form, lemma, UPOS, XPOS, FEATS."""


def words(path: Path) -> list[list[Row]]:
    """The words of a treebank."""
    return [[(row[1], row[2], row[3], row[4], row[5]) for row in own.rows] for own in read(path, "conllu")]


def train(sentences: list[list[Row]], lexicon: WordForms | None, seed: int, runs: int) -> list[Any]:
    """Tagger, morphology and lemmatizer, with the settings that they have in pipelines."""
    how: dict[str, Any] = {"lexicon": lexicon, "seed": seed, "runs": runs, "jobs": cores()}
    tagger = structron.Tagger(columns=["form", "upos"], passes=8, closed_classes=True, **how)
    lines = readable(
        template_lines("morphology", tables=[] if lexicon is None else telling({"lexicon": lexicon})), ["form", "upos"]
    )
    seen: dict[str, Any] = {"among": "seen", "given": ["upos"], "templates": lines}
    morphology = structron.Tagger(columns=["form", "upos", "feats"], passes=3, **seen, **how)
    lemmatizer = structron.Lemmatizer(columns=["form", "upos", "lemma"], passes=3, rare=50, letters=True, **how)
    tagger.fit([[(form, upos) for form, _, upos, *_ in own] for own in sentences])
    morphology.fit([[(form, upos, feats) for form, _, upos, _, feats in own] for own in sentences])
    lemmatizer.fit([[(form, upos, lemma) for form, lemma, upos, *_ in own] for own in sentences])
    return [tagger, morphology, lemmatizer]


def score(models: list[Any], sentences: list[list[Row]], seen: set[str]) -> dict[str, float]:
    """Accuracies of all words, and of those that are not among those seen."""
    tagger, morphology, lemmatizer = models
    forms = [[row[0] for row in own] for own in sentences]
    gold = [[row[2] for row in own] for own in sentences]
    upos = tagger.predict(forms)

    def with_tags(tags: list[list[str]]) -> list[list[tuple[str, str]]]:
        return [list(zip(*own, strict=True)) for own in zip(forms, tags, strict=True)]

    found = {
        "UPOS": (2, upos),
        "FEATS": (4, morphology.predict(with_tags(upos))),
        "lemmas": (1, lemmatizer.predict(with_tags(upos))),
        "lemmas, gold UPOS": (1, lemmatizer.predict(with_tags(gold))),
    }
    flat = [row for own in sentences for row in own]
    new = [row[0] not in seen for row in flat]
    scores: dict[str, float] = {}
    for name, (column, guess) in found.items():
        texts = [text for own in guess for text in own]
        right = [row[column] == text for row, text in zip(flat, texts, strict=True)]
        scores[name] = 100 * sum(right) / len(right)
        scores[f"{name}, unknown words"] = 100 * sum(a for a, b in zip(right, new, strict=True) if b) / sum(new)
    return scores


def measure(data: Path, treebank: str, lexicon: WordForms | None, half: bool, given: Any) -> dict[str, Any]:
    """The scores on dev and test data."""
    sentences, dev, test = (words(data / treebank / f"{part}.conllu.gz") for part in ("train", "dev", "test"))
    if half:
        others = dict.fromkeys(row for k, own in enumerate(sentences) if k // BATCH % 2 for row in own)
        lexicon = None if lexicon is None else WordForms.of(others)
        sentences = [own for k, own in enumerate(sentences) if k // BATCH % 2 == 0]
    models = train(sentences, lexicon, given.seed, given.runs)
    seen = {row[0] for own in sentences for row in own}
    scores = {part: score(models, own, seen) for part, own in (("dev", dev), ("test", test))}
    return scores | {"trusted": models[-1].trusted_}


def table(found: dict[str, Any], titles: Sequence[str]) -> str:
    """Scores of all words and of unknown ones, without and with the lexicon."""
    lines = ["| | dev without | dev with | test without | test with |", "| --- | --- | --- | --- | --- |"]
    for title in titles:
        for name in (own for score in SCORES for own in (score, f"{score}, unknown words")):
            cells = [found[f"{title} {way}"][part][name] for part in ("dev", "test") for way in ("without", "with")]
            lines.append(f"| {title}: {name} | {' | '.join(f'{cell:.2f}' for cell in cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is not kept yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--lexicon", action="append", default=[], metavar="TREEBANK=FILE")
    parser.add_argument("--half", action="append", default=[], metavar="TREEBANK")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    found = json.loads(given.keep.read_text()) if given.keep and given.keep.exists() else {}
    files = dict(own.split("=", 1) for own in given.lexicon)
    titles = [*files, *(f"half of {name}" for name in given.half)]
    for title in titles:
        half, name = title.startswith("half of "), title.removeprefix("half of ")
        for way in ("without", "with"):
            key = f"{title} {way}"
            if key not in found:
                lexicon = None if way == "without" else WordForms.from_file(files[name]) if not half else EMPTY
                found[key] = measure(given.data, name, lexicon, half, given)
                say(f"{key}: {json.dumps(found[key]['dev'])}")
                if given.keep:
                    atomic_write_bytes(given.keep, json.dumps(found, indent=1).encode())
    print(table(found, titles))


EMPTY = WordForms.of([("-", "-", "PUNCT")])
"""The words of the other half take its place."""

if __name__ == "__main__":
    main()
