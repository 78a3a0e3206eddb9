"""The model learns from answers, forgets what is undone, and is the same after a restart."""

import math
import time

import pytest
from projects import Person, doc_for, gold, project

import structron
from structron.cli import main
from structron.data.toy_english import toy_english
from structron.errors import StructronError
from structron.tasks.choosing import doubts
from structron.teach.command import _labels_of, run
from structron.teach.project import Project
from structron.teach.tasks import TASKS
from structron.teach.teacher import ANEW, Teacher, _doubtful, load_start
from structron.text.trees import MARK


def rested(teacher: Teacher) -> None:
    """Wait until everything is learned."""
    end = time.monotonic() + 120
    while teacher.is_learning:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("task", TASKS)
def test_corrections_become_fewer(task, tmp_path):
    teacher = Teacher(project(tmp_path / "p.teach", task, 60))
    person = Person(teacher, count=60)
    while person.work(1):
        rested(teacher)  # people take longer
    assert person.ask() is None
    found = teacher.project.corrections()
    first, last = (sum(c for _, c in part) / sum(w for w, _ in part) for part in (found[:10], found[-15:]))
    assert last < 0.6 * first
    rested(teacher)
    assert teacher.task.score(teacher.model, teacher.project.known()) > 80
    teacher.close()


def test_all_is_there_after_a_restart(tmp_path):
    teacher = Teacher(project(tmp_path / "p.teach", count=60))
    Person(teacher, count=60).work(ANEW + 5)
    rested(teacher)
    before = teacher.status()
    teacher.close()
    again = Teacher(Project(tmp_path / "p.teach"))
    rested(again)
    assert {**again.status(), "learning": 0, "scores": 0} == {**before, "learning": 0, "scores": 0}
    assert again.model is not None
    again.close()


def test_what_is_undone_is_asked_again_and_forgotten(tmp_path):
    teacher = Teacher(project(tmp_path / "p.teach", "entities", 12))
    person = Person(teacher, count=12)
    question = person.ask()
    wrong = {"labels": ["B-PER"] * len(question["words"])}
    teacher.answer(person.window, person.name, question["sentence"], wrong, question["predicted"])
    rested(teacher)
    back = teacher.undo(person.window, person.name)
    assert (back["sentence"], back["said"]) == (question["sentence"], wrong)
    assert person.ask()["sentence"] == question["sentence"]
    teacher.answer(person.window, person.name, question["sentence"], person.knows(question), question["predicted"])
    rested(teacher)
    assert teacher.project.answers() == 1
    teacher.close()


def every_second(values: list) -> list:
    return [value if k % 2 else None for k, value in enumerate(values)]


@pytest.mark.parametrize("task", TASKS)
def test_a_half_annotated_file_is_a_beginning(task, tmp_path):
    """It is learned from at once; what it says of a sentence stays, and the rest is predicted around it."""
    made, toy = project(tmp_path / "p.teach", task, 1), toy_english(30, seed=8)
    half = [
        {name: [v if k % 2 else None for k, v in enumerate(vs)] for name, vs in gold(task, own).items()} for own in toy
    ]
    made.add("half", doc_for(toy), half)
    made.add_labels(sorted({own for one in toy for own in TASKS[task].labels_in(gold(task, one))}))
    made.base.execute("UPDATE sentences SET done = 2 WHERE id = 1")
    teacher = Teacher(made)
    rested(teacher)
    wrong = free = 0
    for _ in range(5):
        question = teacher.ask("w", "ann")
        k = question["sentence"] - 2
        right = gold(task, toy[k])
        assert question["known"] == half[k]
        known, predicted = (list(zip(*question[name].values(), strict=True)) for name in ("known", "predicted"))
        for told, found in zip(known, predicted, strict=True):
            assert all(a in (None, b) for a, b in zip(told, found, strict=True))
        ((alone, _),) = teacher.task.predict(teacher.model, [teacher.project.item(question["sentence"])])
        wrong += teacher.task.corrected(question["predicted"], right)
        free += teacher.task.corrected(alone, right)
        teacher.answer("w", "ann", question["sentence"], right, question["predicted"])
    assert wrong < free
    teacher.close()


def test_nobody_is_shown_what_another_has_answered(tmp_path):
    teacher = Teacher(project(tmp_path / "p.teach", "entities", 6, overlap=100))
    ann, bob = Person(teacher, "ann", 6), Person(teacher, "bob", 6)
    (sentence,) = ann.work(1)
    question = bob.ask()
    assert (question["sentence"], question["known"], question["said"]) == (sentence, None, None)
    teacher.close()


def test_a_parser_doubts_heads_that_other_searches_find_elsewhere(tmp_path):
    teacher = Teacher(project(tmp_path / "p.teach", "parser", 40))
    Person(teacher, count=40).work(6)
    rested(teacher)
    items, task, seen = teacher.project.items("done = 0"), teacher.task, 0
    for item, (tree, margins) in zip(items, task.predict(teacher.model, items), strict=True):
        rows = [task.inputs(teacher.model, item)]
        others = [[head for head, _ in teacher.model.predict(rows, beam=beam)[0]] for beam in (1, 16)]
        differ = [any(own[k] != head for own in others) for k, head in enumerate(tree["heads"])]
        assert [margin == 0 for margin in margins] == differ == teacher.shown(item)["doubt"]
        seen += any(differ)
    assert seen
    teacher.close()


def test_labels_are_added_on_the_way(tmp_path):
    teacher = Teacher(project(tmp_path / "p.teach", "entities", 12))
    person = Person(teacher, count=12)
    question = person.ask()
    new = {"labels": ["B-DISH", *["O"] * (len(question["words"]) - 1)]}
    with pytest.raises(StructronError, match="no label 'B-DISH'"):
        teacher.answer(person.window, person.name, question["sentence"], new)
    assert teacher.add_label(" DISH ")[-1] == "DISH"
    for bad in ("", " ", "a b", "O", "x" * 41, "a\nb"):
        with pytest.raises(StructronError, match="label"):
            teacher.add_label(bad)
    teacher.answer(person.window, person.name, question["sentence"], new)
    rested(teacher)
    assert "B-DISH" in (teacher.model.model_.labels if teacher.model is not None else ["B-DISH"])
    teacher.close()


def test_a_project_starts_from_the_bundled_model(tmp_path):
    made = project(tmp_path / "p.teach", "entities", 12, start="english")
    before = load_start("english", "entities")
    teacher = Teacher(made)
    person = Person(teacher, count=12)
    question = person.ask()
    assert question["margins"] is not None
    person.work(6)
    rested(teacher)
    assert before.predict([structron.Document([[("Paris", "NNP")]])]) == load_start("english", "entities").predict(
        [structron.Document([[("Paris", "NNP")]])]
    )
    teacher.close()
    with pytest.raises(StructronError, match="no chunker in this pipeline"):
        load_start("english", "chunker")
    relations = _labels_of(load_start("english", "parser"), "parser")
    assert relations[:2] == ["nsubj", "obj"]
    assert "acl:relcl" in relations
    assert not any(MARK in relation for relation in relations)  # those of the parser's own, for lifted words


def test_skipped_sentences_are_not_learned_from(tmp_path):
    teacher = Teacher(project(tmp_path / "p.teach", count=3))
    person = Person(teacher, count=3)
    for _ in range(3):
        teacher.answer(person.window, person.name, person.ask()["sentence"], None)
    assert person.ask() is None
    assert teacher.project.known() == []
    assert teacher.status()["skipped"] == 3
    teacher.close()


def test_a_model_that_cannot_learn_is_told_and_stops_nothing(tmp_path, monkeypatch):
    teacher = Teacher(project(tmp_path / "p.teach", count=6))

    def fails(*_):
        raise RuntimeError("no room")

    monkeypatch.setattr(teacher, "_trained", fails)
    assert len(Person(teacher, count=6).work(4)) == 4
    rested(teacher)
    assert "no room" in teacher.status()["advice"]
    assert teacher.project.answers() == 4
    monkeypatch.undo()
    Person(teacher, count=6).work(1)
    rested(teacher)
    assert teacher.status()["advice"] == ""
    teacher.close()


def test_of_a_large_pool_a_sample_is_ranked_and_comes_first(tmp_path, monkeypatch):
    monkeypatch.setattr("structron.teach.teacher.RANKED", 40)
    monkeypatch.setattr("structron.teach.teacher.RANDOM", 0)
    teacher = Teacher(project(tmp_path / "p.teach", "chunker", 90))
    person = Person(teacher, count=90)
    person.work(5)
    rested(teacher)
    teacher.rank_pool()
    pool = teacher.project.items("done = 0 AND rank < 0")
    assert len(pool) == 40
    rows = [teacher.task.inputs(teacher.model, item) for item in pool]
    found = doubts([teacher.model], rows, "doubt-per-word")
    values = {item.id: doubt.value for item, doubt in zip(pool, found, strict=True)}
    assert values[person.ask()["sentence"]] == min(values.values())
    teacher.close()


def test_doubt():
    assert _doubtful([10, 10, 1, 10, 10, 10]) == [False, False, True, False, False, False]
    assert not any(_doubtful([10, 10, 10]))
    assert _doubtful([0, math.inf, 0, 0]) == [True, False, True, True]
    assert _doubtful(None) is None


def test_train_and_export_from_the_command_line(tmp_path, capsys):
    teacher = Teacher(project(tmp_path / "p.teach", "chunker", 30))
    Person(teacher).work(30)
    teacher.close()
    model, out = tmp_path / "m.structron", tmp_path / "o.conll"
    assert main(["teach", str(tmp_path / "p.teach"), "--export", str(out), "--train", str(model)]) == 0
    assert out.read_text().count("\n\n") == 30
    assert structron.load(model).predict([["the", "old", "man"]])[0][0] == "B-NP"


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"texts": ["t.txt"], "task": "entities", "export": "t.txt", "format": "conll"}, "t.txt"),
        ({"texts": ["t.txt"], "task": "entities", "export": "p.teach", "format": "conll"}, "p.teach"),
        ({"texts": ["t.txt"], "task": "entities", "train": "t.txt"}, "t.txt"),
        ({}, "no such project"),
        ({"texts": ["t.txt"]}, "--task: missing"),
        ({"texts": ["t.txt"], "task": "entitys"}, "did you mean"),
        ({"texts": ["nothing.conll"], "task": "entities"}, "nothing.conll"),
        ({"texts": ["t.txt"], "task": "entities", "start": "nothing.structron"}, "nothing.structron"),
    ],
)
def test_mistakes_make_no_project(given, wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("Ann came.")
    with pytest.raises(StructronError, match=wrong):
        run("p.teach", **given)
    assert [path.name for path in tmp_path.iterdir()] == ["t.txt"]
    assert (tmp_path / "t.txt").read_text() == "Ann came."


def test_no_file_of_another_kind_is_replaced(tmp_path):
    project(tmp_path / "p.teach").close()
    mine = tmp_path / "mine.structron"
    mine.write_text("not a model")
    for given in ({"train": str(mine)}, {"export": str(tmp_path / "p.teach"), "format": "conll"}):
        with pytest.raises(StructronError, match=r"mine\.structron|p\.teach"):
            run(str(tmp_path / "p.teach"), **given)
    assert mine.read_text() == "not a model"
    assert Project(tmp_path / "p.teach").counts()["sentences"] == 30
