"""Makes the example that `structron serve` shows when it is given no files: `python tools/page_example.py`.

Two taggers of generated English, one of 10 sentences and one of 100, sentences to compare them on, and the log of a
training under a beam.
"""

import json
from pathlib import Path

from structron import Tagger
from structron.data.toy_english import toy_english, write_conll
from structron.learn.loop import timeless

FOLDER = Path(__file__).resolve().parents[1] / "src" / "structron" / "serve" / "example"


def make(folder: Path) -> None:
    """Write the files into a folder."""
    folder.mkdir(exist_ok=True)
    corpus = toy_english(400, seed=11)
    rows = [list(zip(s.words, s.pos, strict=True)) for s in corpus]
    train, dev, test = rows[:300], rows[300:340], corpus[340:]
    for count in (10, 100):
        tagger = Tagger(columns=["word", "pos"], passes=4, runs=1, jobs=1, seed=1)
        tagger.fit(train[:count], dev=dev).save(folder / f"tagger-{count}-sentences.structron")
    beamed = Tagger(columns=["word", "pos"], beam=1, update="early", passes=12, patience=12, runs=1, jobs=1, seed=1)
    beamed.fit(train[:100], dev=dev)
    records = timeless(beamed.history_)
    (folder / "training-example.log").write_text("".join(json.dumps(own) + "\n" for own in records), "utf-8")
    write_conll(folder / "generated-english.conll", test, ("word", "pos"))


if __name__ == "__main__":
    make(FOLDER)
