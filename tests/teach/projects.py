"""Projects for tests: generated sentences, and a person who knows the right answers."""

from pathlib import Path
from typing import Any

from structron.data.toy_english import ToySentence, toy_english
from structron.io.tokenized import TokenizedSentence, doc_of
from structron.teach.project import Project
from structron.teach.tasks import TASKS
from structron.teach.teacher import Teacher

LABELS = ["PER", "LOC", "ORG"]


def doc_for(corpus: list[ToySentence]) -> Any:
    doc = doc_of(TokenizedSentence(list(s.words)) for s in corpus)
    for sentence, toy in zip(doc.sentences, corpus, strict=True):
        for word, tag in zip(sentence.words, toy.pos, strict=True):
            word.upos = word.xpos = tag
    return doc


def gold(task: str, sentence: ToySentence) -> dict[str, list]:
    """The right answer."""
    if task == "parser":
        return {"heads": [int(head) for head in sentence.heads], "relations": list(sentence.relations)}
    return {"labels": list({"tagger": sentence.pos, "chunker": sentence.chunks, "entities": sentence.entities}[task])}


def project(path: Path, task: str = "entities", count: int = 30, **settings: Any) -> Project:
    """A new project with some sentences, and all labels that occur in them."""
    corpus = toy_english(count, seed=4)
    labels = [own for s in corpus for own in TASKS[task].labels_in(gold(task, s))]
    made = Project.create(
        path, task=task, labels=sorted(set(labels)), seed=1, **({"overlap": 0, "start": None} | settings)
    )
    made.add("toy", doc_for(corpus))
    return made


class Person:
    """Answers every question rightly; one for each window."""

    def __init__(self, teacher: Teacher, name: str = "ann", count: int = 30):
        self.teacher, self.name, self.window = teacher, name, f"window of {name}"
        self.right = {tuple(s.words): s for s in toy_english(count, seed=4)}

    def ask(self) -> Any:
        return self.teacher.ask(self.window, self.name)

    def knows(self, question: dict) -> dict[str, list]:
        forms = tuple(word["form"] for word in question["words"])
        return gold(self.teacher.task.name, self.right[forms])

    def work(self, answers: int) -> list[int]:
        """Answer some questions; returns which sentences."""
        done = []
        for _ in range(answers):
            question = self.ask()
            if question is None:
                break
            self.teacher.answer(
                self.window, self.name, question["sentence"], self.knows(question), question["predicted"]
            )
            done.append(question["sentence"])
        return done
