"""How fast `structron teach` learns, played by a person who knows all answers: `python -m benchmarks.teach`.

The recipes of examples/recipes.py, from nothing; for each task, how long it takes from an answer until the next
sentence is there, predicted anew (saving included); ranking a pool; a long text. Times hold for the machine at hand.
"""

import argparse
import os
import random
import resource
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "teach"), str(ROOT / "tests")]

# ruff: noqa: E402
from projects import Person, project

from recipes import recipes
from structron.data.toy_english import toy_english
from structron.io.tokenized import TokenizedSentence, doc_of
from structron.teach.exchange import add_files
from structron.teach.project import Project
from structron.teach.tasks import TASKS
from structron.teach.teacher import ANEW, RANKED, Teacher
from structron.text.schemes import spans
from structron.text.sentences import Document

MARKS = (10, 25, 50, 75, 100, 150)


def f1(model: Any, rows: list[list[tuple[str, str]]]) -> float:
    """F1 of dishes in recipes that nobody has seen."""
    if model is None:
        return 0.0
    found = model.predict([Document([[(word,) for word, _ in sentence]]) for sentence in rows])
    pairs = [
        ({*spans(label for _, label in sentence)}, {*spans(own[0])}) for sentence, own in zip(rows, found, strict=True)
    ]
    return 200.0 * sum(len(a & b) for a, b in pairs) / max(1, sum(len(a) + len(b) for a, b in pairs))


def dishes(folder: Path, answers: int) -> None:
    """Answers, words looked at, words corrected, F1."""
    made, new = recipes(400), recipes(300, seed=2)
    right = {tuple(word for word, _ in rows): [label for _, label in rows] for rows in made}
    opened = Project.create(folder / "recipes.teach", task="entities", labels=["DISH"], seed=1, overlap=0, start=None)
    opened.add("recipes", doc_of(TokenizedSentence([word for word, _ in rows]) for rows in made))
    teacher = Teacher(opened)
    print("| answers | words | corrected | F1 on 300 other recipes |\n| --- | --- | --- | --- |")
    for done in range(1, answers + 1):
        question = teacher.ask("window", "person")
        assert question is not None
        known = {"labels": right[tuple(word["form"] for word in question["words"])]}
        teacher.answer("window", "person", question["sentence"], known, question["predicted"])
        rest(teacher)  # people take longer: so the figures do not depend on the machine
        if done in MARKS:
            counts = opened.counts()
            print(f"| {done} | {counts['words']} | {counts['corrected']} | {f1(teacher.model, new):.1f} |", flush=True)
    teacher.close()


def steps(folder: Path, answers: int) -> None:
    """Milliseconds from an answer to the next sentence: of the processor, learning included, and by the clock."""
    print("\n| task | starts from | processor, median ms | 95 % | clock, median ms | 95 % |")
    print("| --- | --- | --- | --- | --- | --- |")
    for task, start in [*((task, None) for task in TASKS), *((task, "english") for task in TASKS if task != "chunker")]:
        count = answers // 5 if start else answers
        teacher = Teacher(project(folder / f"{task} {start}.teach", task, count, start=start))
        person, clock, processor = Person(teacher, count=count), [], []
        while (question := person.ask()) is not None:
            rest(teacher)
            begin, used = time.perf_counter(), time.process_time()
            known, predicted = person.knows(question), question["predicted"]
            teacher.answer(person.window, person.name, question["sentence"], known, predicted)
            person.ask()
            clock.append(1000 * (time.perf_counter() - begin))
            rest(teacher, anew=False)
            processor.append(1000 * (time.process_time() - used))
        teacher.close()
        print(f"| {task} | {start or 'nothing'} | {shares(processor)} | {shares(clock)} |", flush=True)


def shares(found: list[float]) -> str:
    """The median, and what one in twenty is above."""
    return f"{statistics.median(found):.0f} | {sorted(found)[int(0.95 * len(found))]:.0f}"


def said(found: list[float]) -> str:
    """The same in words."""
    return f"{shares(found).replace(' | ', ' ms, 95 % within ')} ms"


def rest(teacher: Teacher, anew: bool = True) -> None:
    """Wait until the model has learned. anew: also from all answers once more, and is kept."""
    with teacher.changed:
        teacher.changed.wait_for(lambda: not (teacher.is_learning if anew else teacher.waiting), 300)


def ranking(folder: Path, sentences: int) -> None:
    """Seconds to rank a pool again, and milliseconds that a window waits for its next sentence meanwhile."""
    teacher = Teacher(project(folder / "pool.teach", "entities", sentences))
    person, waited, begin = Person(teacher, count=sentences), [], 0.0
    person.work(ANEW - 1)
    rest(teacher)
    thread = threading.Thread(target=lambda: teacher.rank_pool())
    begin = time.perf_counter()
    thread.start()
    while thread.is_alive():
        asked = time.perf_counter()
        person.ask()
        waited.append(1000 * (time.perf_counter() - asked))
        time.sleep(0.02)
    seconds = time.perf_counter() - begin
    before = time.process_time()
    teacher.rank_pool()
    used = time.process_time() - before
    print(f"\nA pool of {sentences:,} sentences ({min(sentences, RANKED):,} drawn) is ranked in {seconds:.1f} s "
          f"({used:.1f} s of the processor); meanwhile a sentence is there in "
          f"{statistics.median(waited):.0f} ms (at most {max(waited):.0f}).", flush=True)  # fmt: skip
    teacher.close()


def long_text(folder: Path, words: int) -> None:
    """How long a text takes that is added to a project, how much memory, and what the page then waits for."""
    path, sentences = folder / "long.txt", toy_english(20_000, seed=9)
    dice, count = random.Random(1), 0
    with path.open("w", encoding="utf-8") as out:
        while count < words:
            some = [dice.choice(sentences).words for _ in range(6)]
            count += sum(map(len, some))
            out.write(" ".join(" ".join(own[:-1]) + own[-1] for own in some) + "\n\n")
    opened = Project.create(folder / "long.teach", task="entities", labels=["PER"], seed=1, overlap=0, start=None)
    before, begin = peak(), time.perf_counter()
    add_files(opened, [str(path)], "english")
    print(f"\n{count:,} words of plain text are added in {time.perf_counter() - begin:.0f} s, with "
          f"{peak() - before} MB more than before.", flush=True)  # fmt: skip
    teacher, waited, used = Teacher(opened), [], []
    for _ in range(2 * ANEW + 10):
        begin, before = time.perf_counter(), time.thread_time()
        question = teacher.ask("window", "person")
        assert question is not None
        known = {"labels": ["B-PER"] + ["O"] * (len(question["words"]) - 1)}
        teacher.answer("window", "person", question["sentence"], known, question["predicted"])
        teacher.status()
        waited.append(1000 * (time.perf_counter() - begin))
        used.append(1000 * (time.thread_time() - before))
        time.sleep(0.05)
    print(f"Question, answer and numbers beside it: {said(waited)} by the clock, {said(used)} of the processor.")
    in_browser(teacher, 30)
    teacher.close()


def in_browser(teacher: Teacher, answers: int) -> None:
    """From Enter until the next sentence stands on the page, in Chromium; and the server's processor time."""
    path = os.environ.get("STRUCTRON_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        print("No Chromium: the page itself is not measured.")
        return
    import uvicorn
    from playwright.sync_api import sync_playwright

    from structron.serve.slow import config
    from structron.teach.app import make_app

    server = uvicorn.Server(config(make_app(teacher), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    waited, used = [], []
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"]).new_page()
        page.goto(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
        page.wait_for_selector(".word")
        for _ in range(answers):
            count = page.locator(".counts b").first.text_content()
            begin, before = time.perf_counter(), time.process_time()
            page.keyboard.press("Enter")
            page.wait_for_function("(old) => document.querySelector('.counts b').textContent !== old", arg=count)
            waited.append(1000 * (time.perf_counter() - begin))
            used.append(1000 * (time.process_time() - before))
    server.should_exit = True
    thread.join()
    print(f"From Enter to the next sentence on the page: {said(waited)} by the clock, {said(used)} of the processor.")


def peak() -> int:
    """Megabytes that this process has taken at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=150)
    parser.add_argument("--pool", type=int, default=10_000, help="sentences to rank")
    parser.add_argument("--words", type=int, default=1_000_000, help="of a long text")
    parser.add_argument("--parts", default="dishes,steps,ranking,text", help="what to measure")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = {
            "dishes": lambda: dishes(Path(folder), given.answers),
            "steps": lambda: steps(Path(folder), min(given.answers, 100)),
            "ranking": lambda: ranking(Path(folder), given.pool),
            "text": lambda: long_text(Path(folder), given.words),
        }
        for part in given.parts.split(","):
            work[part]()


if __name__ == "__main__":
    main()
