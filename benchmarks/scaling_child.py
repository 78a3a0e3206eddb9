"""What runs in processes of its own for the parts about several cores: see child.py."""

from typing import Any

import structron
from benchmarks.child import answer, apart
from benchmarks.measure import Failed
from structron.io import read

TREES = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"]
COLUMNS = {"chunker": ["word", "pos", "chunk"], "parser": TREES, "graph-parser": TREES}
KINDS: dict[str, Any] = {
    "chunker": structron.Chunker,
    "parser": structron.Parser,
    "graph-parser": structron.GraphParser,
}
WARM = 60


def rows_of(file: str) -> list[list[list[str]]]:
    return [sentence.rows for sentence in read(file)]


def make(task: str, **options: Any) -> Any:
    return KINDS[task](columns=COLUMNS[task], **options)


def seconds_of(estimator: Any) -> list[float]:
    return [record["seconds"] for record in estimator.history_]


def shards(task: str, train: str, passes: int) -> dict[str, Any]:
    """One shard, and two on two threads."""
    rows, found = rows_of(train), {}
    for number in (1, 2):
        make(task, runs=1, passes=1, shards=number, jobs=number).fit(rows[:WARM])
    for number in (1, 2):
        trained = make(task, runs=1, passes=passes, shards=number, jobs=number).fit(rows)
        found[number] = {"seconds": seconds_of(trained), "tokens": trained.history_[0]["tokens"]}
    half = make(task, runs=1, passes=passes, jobs=1)
    return found | {"apart": apart(lambda: half.fit(rows[::2]), 1)}


def scores(task: str, train: str, test: str, passes: int, shards: int) -> dict[str, Any]:
    """The score after all passes, and that of every pass."""
    gold = rows_of(test)
    trained = make(task, passes=passes, shards=shards, jobs=2).fit(rows_of(train), dev=gold)
    return {"score": trained.history_[-1]["dev"], "scores": [record["dev"] for record in trained.history_]}


def on_ray(train: str, passes: int) -> dict[str, Any]:
    """Two threads, then two workers of a Ray on this machine; they must learn the same."""
    import ray

    rows = rows_of(train)
    make("parser", passes=1, shards=2, jobs=2).fit(rows[:WARM])
    threads = make("parser", passes=passes, shards=2, jobs=2).fit(rows)
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    workers = make("parser", passes=passes, shards=2, ray="auto").fit(rows)
    ray.shutdown()
    if (threads.model_.keys != workers.model_.keys).any():
        raise Failed("two workers learned something else than two threads")
    history = workers.history_
    return {
        "threads": seconds_of(threads),
        "workers": seconds_of(workers),
        "changed": [2 * record["changed_in_all"] for record in history],
        "bytes": [record["bytes_to_workers"] + record["bytes_from_workers"] for record in history],
        "history": history,
    }


if __name__ == "__main__":
    answer({function.__name__: function for function in (shards, scores, on_ray)})
