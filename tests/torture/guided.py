"""Inputs that coverage leads to: atheris keeps those that reach new lines of the readers, and mutates them further.

Three targets: headers of model files, with a valid checksum; CoNLL-U; requests to the page's API. What it keeps stands
beside the ledger, so that a later run goes on from there. Without atheris (pip install 'structron[torture]') nothing is
tried.
"""

import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from structron.errors import StructronError
from torture.frame import Found, Job, chunks, environment

FULL = 60_000
PART = 5_000
PATIENCE = 3600
LONGEST = {"models": 20_000, "conllu": 4_000, "api": 4_000}
"""Bytes of an input, by target."""
WATCHED = ("structron.io", "structron.serve", "structron.text", "structron.estimator", "structron.fields")
"""Modules whose coverage counts: none has a kernel, which could not be compiled any more."""
ROUTES = ("/api/annotate", "/api/explain", "/api/beam", "/api/compare", "/process")
BODIES: tuple[tuple[int, Any], ...] = (
    (0, {"text": "He slept.", "model": "tagger", "margins": True}),
    (1, {"words": [{"word": "The", "pos": "DT"}], "top": 4}),
    (2, {"model": "tagger", "sentence": "The\tDT\ndog\tNN\n", "beam": 2}),
    (3, {"a": "tagger", "b": "tagger", "text": "The\tDT\ndog\tNN\n"}),
    (4, "data=He+slept.&tokenizer=&tagger=&model=tagger&output=conllu&input=conllu"),
)
TASKS = ("tagger", "chunker", "segments", "parser", "graph-parser", "lemmatizer", "tokenizer")
TRICKY = """# newdoc id = a
# text = I can't
1\tI\tI\tPRON\t_\tCase=Nom\t2\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t0\troot\t2:root\tEntity=B
2.1\tx\tx\tX\t_\t_\t_\t_\t2:dep\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\tSpaceAfter=No

"""
Target = Callable[[bytes], None]


def jobs(trials: int, seed: int, folder: Path) -> Iterator[Job]:
    """So many inputs, a third for each target."""
    if importlib.util.find_spec("atheris") is None:
        print("guided: atheris is not installed (pip install 'structron[torture]'); nothing is tried")
        return
    place = Path(os.environ["CHECKED_KERNELS"]).parent
    for first, last in chunks(seed * 1_000_000, -(-trials // len(TARGETS)), PART):
        for target in TARGETS:
            yield Job(f"guided {target} {first}–{last - 1}", partial(guided, target, first, last, place))


def guided(target: str, first: int, last: int, place: Path) -> Found:
    """Some inputs of a target in a process of their own, which ends with the first that fails."""
    corpus = place / f"corpus-{target}"
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="torture-guided-") as folder:
        argv = [sys.executable, "-m", "torture.guided", target, f"-runs={last - first}", f"-seed={first}"]
        argv += [
            "-print_final_stats=1",
            f"-max_len={LONGEST[target]}",
            "-timeout=30",
            "-rss_limit_mb=4096",
            str(corpus),
        ]
        try:
            done = subprocess.run(
                argv, env=environment(), cwd=folder, capture_output=True, check=False, timeout=PATIENCE
            )
            status, said = done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")
        except subprocess.TimeoutExpired as hung:
            status, said = -1, f"it hung: {(hung.stderr or b'')[-400:]!r}"
        bad = b"".join(path.read_bytes()[:300] for path in sorted(Path(folder).glob("crash-*")))
    count = re.search(r"number_of_executed_units:\s*(\d+)", said) or re.search(r"Done (\d+) runs", said)
    found, reached = Found(), re.findall(r"cov: (\d+)", said)
    found.counts[f"{target}/taken or refused"] += int(count[1]) if count else 0
    found.compared[f"lines reached by {target}"] = int(reached[-1]) if reached and first % 1_000_000 == 0 else 0
    if status:
        trace = said[said.find("Uncaught Python exception") :] if "Uncaught" in said else said[-600:]
        found.add("", f"failed: guided {target} {first}: status {status}: {bad!r}: {trace[:900]}")
    return found


# -- targets, in a process of their own --------------------------------------------------------------------------------


def one_line(use: Callable[[], Any]) -> Any:
    """What is found; a StructronError of one line is as good."""
    try:
        return use()
    except StructronError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error}") from error
        return None


def models(folder: Path) -> tuple[Target, list[bytes]]:
    """Headers of model files: the first byte says of which task, JSON follows."""
    from mutations import craft, make_model, raw
    from structron.tasks.registry import load

    made = [make_model(task, folder) for task in TASKS]
    known = [raw(path) for path, _ in made]
    target = folder / "crafted.structron"

    def read(data: bytes) -> None:
        task = data[0] % len(TASKS) if data else 0
        try:
            header = json.loads(data[1:])
            craft(target, header, known[task][1])
        except (ValueError, TypeError, RecursionError, OverflowError):
            return
        estimator = one_line(lambda: load(target))
        if estimator is not None:
            one_line(lambda: estimator.predict(made[task][1]))

    return read, [bytes([k]) + json.dumps(header).encode() for k, (header, _) in enumerate(known)]


def conllu(folder: Path) -> tuple[Target, list[bytes]]:
    """CoNLL-U: what is read can be written, and is read again as the same."""
    from structron import Doc
    from structron.io.doc import read_docs
    from toy import toy_docs

    path = folder / "input.conllu"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        docs = one_line(lambda: list(read_docs(path)))
        for doc in docs or ():
            text = doc.to_conllu()
            if Doc.from_conllu(text).to_conllu() != text:
                raise AssertionError(f"not the same again: {text!r}")

    return read, [TRICKY.encode(), *(doc.to_conllu().encode() for doc in toy_docs(8, 1))]


def api(folder: Path) -> tuple[Target, list[bytes]]:
    """Bodies of requests: the first byte says to which address."""
    sys.path.append(str(Path(__file__).parents[1] / "serve"))
    from attacks import FINE
    from httpx import ASGITransport, AsyncClient

    from mutations import make_model
    from structron.serve.app import make_app
    from structron.serve.library import Library

    path, _ = make_model("tagger", folder)
    loop = asyncio.new_event_loop()
    app: Any = make_app(Library.open([str(path)], [], []))
    client = AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1:8000", timeout=60)

    def ask(data: bytes) -> None:
        route = data[0] % len(ROUTES) if data else 0
        kind = "application/x-www-form-urlencoded" if route == 4 else "application/json"
        answer = loop.run_until_complete(client.post(ROUTES[route], content=data[1:], headers={"Content-Type": kind}))
        if answer.status_code not in FINE or b"Traceback" in answer.content:
            raise AssertionError(f"{ROUTES[route]} was answered {answer.status_code}: {answer.content[:300]!r}")

    seeds = [bytes([k]) + (body if isinstance(body, str) else json.dumps(body)).encode() for k, body in BODIES]
    return ask, seeds


TARGETS = {"models": models, "conllu": conllu, "api": api}


def mutator(target: str) -> Callable[[bytes, int, int], bytes]:
    """Changes of atheris, and half of the time of what an input means: values in JSON, lines and columns."""
    import atheris

    from mutations import mutate_header
    from torture.inputs import mutated

    def change(data: bytes, most: int, seed: int) -> bytes:
        random = np.random.default_rng(seed)
        if random.random() < 0.5:
            return atheris.Mutate(data, most)
        if target == "conllu":
            return mutated(data, random)[:most]
        try:
            known = json.loads(data[1:])
            mutate_header(known, random)
            return data[:1] + json.dumps(known).encode()[: most - 1]
        except (ValueError, RecursionError, IndexError, TypeError):
            return atheris.Mutate(data, most)

    return change


def main() -> None:
    """Run libFuzzer on a target, with its own options."""
    import atheris

    name, options = sys.argv[1], sys.argv[2:]
    with atheris.instrument_imports(include=list(WATCHED), enable_loader_override=False):
        target, seeds = TARGETS[name](Path.cwd())
    corpus = Path(options[-1])
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], *options], target, custom_mutator=mutator(name))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
