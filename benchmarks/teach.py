"""How fast `structron teach` learns, played by a person who knows all answers: `python -m benchmarks.teach`.

The recipes of examples/recipes.py, from nothing; then, for each task, how long it takes from an answer until the next
sentence is there, predicted anew (saving included). Times hold for the machine at hand.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "teach"), str(ROOT / "tests")]

# ruff: noqa: E402
from projects import Person, project

from recipes import recipes
from structron.io.tokenized import Given, doc_of
from structron.teach.project import Project
from structron.teach.tasks import TASKS
from structron.teach.teacher import Teacher
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
    opened.add("recipes", doc_of(Given([word for word, _ in rows]) for rows in made))
    teacher = Teacher(opened)
    print("| answers | words | corrected | F1 on 300 other recipes |\n| --- | --- | --- | --- |")
    for done in range(1, answers + 1):
        question = teacher.ask("window", "person")
        assert question is not None
        known = {"labels": right[tuple(word["form"] for word in question["words"])]}
        teacher.answer("window", "person", question["sentence"], known, question["predicted"])
        if done in MARKS:
            counts = opened.counts()
            with teacher.changed:
                teacher.changed.wait_for(lambda: not teacher.waiting and not teacher.anew, 60)
            print(f"| {done} | {counts['words']} | {counts['corrected']} | {f1(teacher.model, new):.1f} |", flush=True)
    teacher.close()


def steps(folder: Path, answers: int) -> None:
    """Milliseconds from an answer to the next sentence."""
    print("\n| task | median ms | 95 % | \n| --- | --- | --- |")
    for task in TASKS:
        teacher = Teacher(project(folder / f"{task}.teach", task, answers))
        person, taken = Person(teacher, count=answers), []
        while (question := person.ask()) is not None:
            begin = time.perf_counter()
            known, predicted = person.knows(question), question["predicted"]
            teacher.answer(person.window, person.name, question["sentence"], known, predicted)
            person.ask()
            taken.append(1000 * (time.perf_counter() - begin))
        teacher.close()
        late = sorted(taken)[int(0.95 * len(taken))]
        print(f"| {task} | {statistics.median(taken):.0f} | {late:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=150)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dishes(Path(folder), given.answers)
        steps(Path(folder), min(given.answers, 100))


if __name__ == "__main__":
    main()
