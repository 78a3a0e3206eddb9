"""How accurate pipelines are: `python -m benchmarks.accuracy --data DIR --models DIR [--treebank NAME]`.

For every treebank one pipeline is trained with `--best`, unless it is there already. Its first parser alone is the
default pipeline, part for part; all of them are `--best`. Both analyse raw text: scores, processor time, and how often
`structron check` finds what training data never have, beside the same counts of the gold files. With gold tags, lemmas
are scored with and without those that are spelled letter by letter.

results/accuracy.json keeps the figures of every treebank; with `--write`, the tables of docs/results.md are made from
it. A test compares the page with the file.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from statistics import mean, median
from typing import Any

import structron
from benchmarks.measure import MEGABYTE, our_command, run
from structron.eval.checks import AGAINST, Attested, problems
from structron.io import read
from structron.io.doc import Doc, read_docs
from structron.io.text import atomic_write_bytes
from structron.runtime.progress import say
from structron.runtime.threads import cores
from structron.tasks.pipeline.annotate import Annotator
from structron.tasks.pipeline.parts import VOTES

ROOT = Path(__file__).resolve().parent.parent
KEPT, PAGE = ROOT / "results" / "accuracy.json", ROOT / "docs" / "results.md"
BEGIN, END = "<!-- accuracy: python -m benchmarks.accuracy -->\n", "<!-- end of accuracy -->\n"
TREEBANKS = {
    "ud-english-ewt": "English-EWT",
    "ud-greek-gdt": "Greek-GDT",
    "ud-hungarian-szeged": "Hungarian-Szeged",
    "ud-italian-partut": "Italian-ParTUT",
    "ud-turkish-imst": "Turkish-IMST",
    "ud-basque-bdt": "Basque-BDT (UD 1.4)",
    "ud-chinese-gsd": "Chinese-GSD (UD 1.4)",
}
COMPARED = tuple(TREEBANKS)[:5]
"""The treebanks of docs/text.md, whose mean is given."""
WAYS = ("default", "best")
METRICS = ("words", "sentences", "upos", "xpos", "ufeats", "lemmas", "uas", "las")
IMPOSSIBLE = ("subjects", "punct-root", *AGAINST)
"""Rules whose counts are compared one by one; all others are rules of the format, of which there should be none."""
LEAST = 5
"""Counts up to this are too small for a ratio to mean anything."""


def trained(name: str, data: Path, models: Path, jobs: int, clusters: Path | None) -> dict[str, float]:
    """Train a pipeline in a process of its own: processor seconds, megabytes of memory at most, and of the file."""
    folder, model = data / name, models / f"{name}.structron"
    more = [] if clusters is None else ["--clusters", clusters]
    files = ["--train", folder / "train.conllu.gz", "--dev", folder / "dev.conllu.gz"]
    done = run(
        our_command(["train", "pipeline", "--best", *files, "--jobs", str(jobs), "--model", model, *more]), False
    )
    return {"cpu": round(done.cpu, 1), "peak_mb": round(done.peak_mb), "file_mb": model.stat().st_size / MEGABYTE}


def annotators(nlp: structron.Pipeline) -> dict[str, Annotator]:
    """The parts of the default pipeline and of the best one, both in the same file."""
    best = nlp.model_
    single = {name: part for name, part in best.trained.items() if name not in VOTES or name == "parser"}
    return {"default": Annotator(best.parts, single), "best": best}


def counts(docs: Sequence[Doc], known: Attested) -> dict[str, int]:
    """How often each rule of `structron check --against` is broken."""
    files = (doc.to_conllu().splitlines() for doc in docs)
    found = Counter(problem.rule for lines in files for problem in problems(lines, known))
    del found["sent-id"]  # files have numbers of sentences, texts do not
    return dict(found)


def lemmas(nlp: structron.Pipeline, docs: Sequence[Doc], forms: Set[str]) -> dict[str, float]:
    """Lemmas by edit scripts alone and spelled letter by letter too, of unknown words and of all, with gold tags."""
    part, own = nlp.parts_["lemmatizer"], nlp.part("lemmatizer")
    sentences = [sentence for doc in docs for sentence in doc.sentences]
    words, rows = [row for own in sentences for row in part.gold(own)], [part.rows(own) for own in sentences]
    unknown = [k for k, row in enumerate(words) if row[0] not in forms]
    found, speller = {"unknown": len(unknown)}, own.speller_
    for way, spells in (("scripts", None), ("letters", speller)):
        own.speller_ = spells
        guess = [lemma for sentence in own.predict(rows, jobs=1) for lemma in sentence]
        right = [lemma == row[-1] for lemma, row in zip(guess, words, strict=True)]
        found |= {f"{way} unknown": 100 * mean(right[k] for k in unknown), f"{way} all": 100 * mean(right)}
    return found


def measured(name: str, data: Path, model: Path, repeat: int) -> dict[str, Any]:
    """Scores, times and counts of a pipeline and of its default."""
    nlp = structron.load(model)
    folder = data / name
    known = Attested.of(sentence.rows for sentence in read(folder / "train.conllu.gz", "conllu"))
    forms = {word.form for doc in read_docs(folder / "train.conllu.gz") for word in doc.words}
    sets = {part: list(read_docs(folder / f"{part}.conllu.gz")) for part in ("dev", "test")}
    found: dict[str, Any] = {"counts": {"gold": counts(sets["dev"], known)}, "scores": {}, "seconds": {}}
    found["words"] = {part: sum(len(doc.words) for doc in docs) for part, docs in sets.items()}
    found["lemmas"] = {part: lemmas(nlp, docs, forms) for part, docs in sets.items()}
    ways = annotators(nlp)
    for part, docs in sets.items():
        texts = [doc.text for doc in docs]
        spent: dict[str, list[float]] = {way: [] for way in WAYS}
        for turn in range(repeat + 1):
            for way, nlp.model_ in ways.items():
                begin = time.process_time()
                guess = nlp.predict(texts, jobs=1)
                spent[way].append(time.process_time() - begin)
                if turn == 0:
                    scores = nlp.evaluate(docs, guess=guess)
                    found["scores"][f"{part} {way}"] = {metric: getattr(scores, metric) for metric in METRICS}
                    if part == "dev":
                        found["counts"][way] = counts(guess, known)
        found["seconds"][part] = {way: round(median(own[1:]), 3) for way, own in spent.items()}
    return found


# -- tables ------------------------------------------------------------------------------------------------------------


def scores_table(kept: Mapping[str, Any]) -> str:
    """LAS and time of both, and the mean of the treebanks that are compared."""
    lines = [
        "| raw text | dev LAS, default | `--best` | test LAS, default | `--best` | gain, test | its time, test |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows = {TREEBANKS[name]: _las(kept[name]) for name in TREEBANKS if name in kept}
    compared = [_las(kept[name]) for name in COMPARED if name in kept]
    if len(compared) == len(COMPARED):
        rows[f"mean of the first {len(COMPARED)}"] = [mean(own) for own in zip(*compared, strict=True)]
    for title, own in rows.items():
        *las, ratio = own
        lines.append(f"| {title} | {' | '.join(f'{x:.2f}' for x in las)} | {las[3] - las[2]:+.2f} | × {ratio:.1f} |")
    return "\n".join(lines)


def _las(own: Mapping[str, Any]) -> list[float]:
    seconds = own["seconds"]["test"]
    cells = [own["scores"][f"{part} {way}"]["las"] for part in ("dev", "test") for way in WAYS]
    return [*cells, seconds["best"] / seconds["default"]]


def counts_table(kept: Mapping[str, Any]) -> str:
    """What training data never have: gold, default, best."""
    lines = [f"| dev: gold, default, `--best` | {' | '.join(IMPOSSIBLE)} | all others |"]
    lines.append("| --- " * (len(IMPOSSIBLE) + 2) + "|")
    for name, title in TREEBANKS.items():
        if name in kept:
            cells = [_counted(kept[name]["counts"], [rule]) for rule in IMPOSSIBLE]
            rest = {rule for own in kept[name]["counts"].values() for rule in own} - {*IMPOSSIBLE}
            lines.append(f"| {title} | {' | '.join([*cells, _counted(kept[name]['counts'], sorted(rest))])} |")
    return "\n".join(lines)


def _counted(counted: Mapping[str, Mapping[str, int]], rules: Sequence[str]) -> str:
    """Counts of gold, default and best; in bold those above twice gold's."""
    gold, *ours = (sum(counted[side].get(rule, 0) for rule in rules) for side in ("gold", *WAYS))
    return ", ".join([str(gold), *(f"**{own}**" if own > max(2 * gold, LEAST) else str(own) for own in ours)])


def lemmas_table(kept: Mapping[str, Any]) -> str:
    """Lemmas of unknown words and of all words."""
    lines = ["| lemmas, gold tags | unknown words | scripts | letters too | all words, scripts | letters too |"]
    lines.append("| --- " * 6 + "|")
    for name, title in TREEBANKS.items():
        for part in ("dev", "test") if name in kept else ():
            own = kept[name]["lemmas"][part]
            cells = [f"{own[f'{way} {which}']:.2f}" for which in ("unknown", "all") for way in ("scripts", "letters")]
            lines.append(f"| {title}, {part} | {own['unknown']:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def tables(kept: Mapping[str, Any]) -> str:
    """All of them."""
    return "\n\n".join([scores_table(kept), counts_table(kept), lemmas_table(kept)])


def written(text: str, kept: Mapping[str, Any]) -> str:
    """A page with the tables in their place."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no place for the tables; expected {BEGIN.strip()} and {END.strip()}")
    return f"{before}{begin}\n{tables(kept)}\n\n{end}{after}"


def _kept() -> dict[str, Any]:
    return json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}


def _keep(name: str, found: dict[str, Any]) -> None:
    """Add figures of a treebank; those of others may have changed meanwhile."""
    kept = _kept()
    kept[name] = kept.get(name, {}) | found
    atomic_write_bytes(KEPT, json.dumps(kept, indent=1, sort_keys=True).encode() + b"\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Train and measure what is asked for; print the tables, or write them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--models", type=Path, help="where pipelines are kept")
    parser.add_argument("--treebank", action="append", default=[])
    parser.add_argument("--clusters", type=Path, help="word clusters of the language")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=cores())
    parser.add_argument("--write", action="store_true", help="write the tables into docs/results.md")
    given = parser.parse_args(argv)
    for name in given.treebank:
        model = given.models / f"{name}.structron"
        if not model.exists():
            say(f"{name}: training")
            _keep(name, {"training": trained(name, given.data, given.models, given.jobs, given.clusters)})
        say(f"{name}: annotating")
        _keep(name, measured(name, given.data, model, given.repeat))
    kept = _kept()
    if given.write:
        PAGE.write_text(written(PAGE.read_text("utf-8"), kept), "utf-8")
    else:
        print(tables(kept))


if __name__ == "__main__":
    main()
