"""The project's file: nothing that was saved is lost, nobody is asked what another is asked, steps are undone."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from projects import project

from helpers import SOURCE
from structron.cli import main
from structron.errors import StructronError
from structron.io.tokenized import TokenizedSentence, doc_of
from structron.teach.project import LEASE_SECONDS, TAUGHT, VERSION, Answer, Project, is_project

O = {"labels": ["O"]}


def said(item, who="ann", corrected=0):
    return Answer(who, "answer", {"labels": ["O"] * sum(len(t["words"]) for t in item.data["tokens"])}, None, corrected)


@pytest.fixture
def made(tmp_path):
    found = project(tmp_path / "p.teach", count=12)
    yield found
    found.close()


def test_nobody_is_asked_what_another_is_asked(made):
    asked = [made.ask(f"w{k}", "ann").id for k in range(12)]
    assert sorted(asked) == list(range(1, 13))
    assert made.ask("one more", "ann") is None
    assert made.ask("w3", "ann").id == asked[3]


def test_a_window_that_says_nothing_loses_its_sentence(made):
    first = made.ask("a", "ann", now=0.0)
    assert made.ask("b", "ben", now=1.0).id != first.id
    assert made.ask("c", "cy", now=2.0 + LEASE_SECONDS).id == first.id
    with pytest.raises(StructronError, match="another window"):
        made.answer(first.id, "a", said(first))


def test_answers_are_undone_in_order_also_after_a_restart(made):
    ids = []
    for _ in range(3):
        item = made.ask("w", "ann")
        made.answer(item.id, "w", said(item))
        ids.append(item.id)
    made.close()
    again = Project(made.path)
    for wanted in reversed(ids):
        item, answer = again.undo("new window", "ann")
        assert (item.id, item.known, item.done) == (wanted, None, 0)
        assert answer.known == said(item).known
    assert again.undo("new window", "ann") is None
    assert again.counts()["answered"] == again.answers() == 0
    again.close()


def test_somebody_elses_answer_is_not_undone(made):
    item = made.ask("w", "ann")
    made.answer(item.id, "w", said(item))
    assert made.undo("x", "ben") is None


def test_two_are_asked_the_same_on_purpose(tmp_path):
    made = project(tmp_path / "p.teach", count=12, overlap=100)
    item = made.ask("a", "ann")
    made.answer(item.id, "a", said(item))
    assert made.ask("b", "ben").id == item.id
    made.answer(item.id, "b", Answer("ben", "answer", {"labels": ["B-PER"]}, None, 1))
    assert made.item(item.id).known == said(item).known  # the first answer counts
    assert len(made.pairs()) == 1
    assert made.ask("b", "ben").id != item.id
    made.close()


def test_other_files_are_not_projects(tmp_path, made):
    for name, content in (("text", b"hello"), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StructronError, match="not a project"):
            Project(tmp_path / name)
        assert (tmp_path / name).read_bytes() == content
        assert not is_project(tmp_path / name)
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (x)")
    other.commit()
    other.close()
    with pytest.raises(StructronError, match="not a project"):
        Project(tmp_path / "other.db")
    assert is_project(made.path)
    with pytest.raises(StructronError, match="exists already"):
        Project.create(made.path, task="tagger")
    with pytest.raises(StructronError, match="no such project"):
        Project(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("labels", "7", "damaged settings"),
        ("labels", "[1]", "damaged settings"),
        ("labels", "[", "damaged settings"),
        ("overlap", '"x"', "damaged settings"),
        ("task", '"none"', "of the task 'none'"),
        ("task", "[]", "of the task"),
    ],
)
def test_damaged_settings(name, value, wrong, made, capsys):
    made.base.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))
    made.close()
    out = made.path.with_name("out.conll")
    assert main(["teach", str(made.path), "--export", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert wrong in line
    assert not out.exists()


@pytest.mark.parametrize("column", ["data", "known"])
def test_damaged_sentences(column, made):
    made.base.execute(f"UPDATE sentences SET {column} = '[' WHERE id = 2")
    with pytest.raises(StructronError, match="a damaged sentence"):
        made.item(2)
    assert made.item(1).id == 1


def test_an_answer_is_checked_and_saved_in_one_step(made, monkeypatch):
    """No other window can be given the sentence between the two."""
    item, changed = made.ask("a", "ann"), []
    other, find = Project(made.path), made.item
    other.base.execute("PRAGMA busy_timeout = 0")

    def meanwhile(sentence):
        with suppress(StructronError):
            other.set("note", 1)
            changed.append(sentence)
        return find(sentence)

    monkeypatch.setattr(made, "item", meanwhile)
    made.answer(item.id, "a", said(item))
    assert not changed
    other.set("note", 1)
    other.close()


def test_what_the_disk_refuses_is_told_in_a_line(made):
    made.close()
    made.path.with_name(f"{made.path.name}-wal").mkdir()
    with pytest.raises(StructronError, match=r"p\.teach: cannot be opened: "):
        Project(made.path)
    made.path.with_name(f"{made.path.name}-wal").rmdir()
    assert Project(made.path).counts()["sentences"] == 12


def test_a_newer_version_is_refused_and_an_older_one_upgraded(made, monkeypatch):
    made.close()
    base = sqlite3.connect(made.path)
    base.execute(f"PRAGMA user_version = {VERSION + 1}")
    base.close()
    with pytest.raises(StructronError, match=f"versions up to {VERSION}"):
        Project(made.path)
    monkeypatch.setattr("structron.teach.project.VERSION", VERSION + 2)
    monkeypatch.setattr(
        "structron.teach.project.UPGRADES", {VERSION + 1: "CREATE TABLE later (x); INSERT INTO later VALUES (7)"}
    )
    upgraded = Project(made.path)
    assert upgraded.one("SELECT x FROM later") == 7
    assert upgraded.one("PRAGMA user_version") == VERSION + 2
    assert upgraded.counts()["sentences"] == 12
    upgraded.close()


def test_a_project_of_the_first_version(made):
    """There, a sentence of which a file said something counted as answered."""
    item = made.ask("w", "ann")
    made.answer(item.id, "w", Answer("ann", "answer", {"labels": ["O", None]}, None, 0))
    for number, known in ((11, '{"labels":["O",null]}'), (12, '{"labels":["O","B-PER"]}')):
        made.base.execute("UPDATE sentences SET known = ?, done = 1 WHERE id = ?", (known, number))
    made.base.execute("DROP INDEX in_part")
    made.base.execute("PRAGMA user_version = 1")
    made.close()
    again = Project(made.path)
    assert again.one("PRAGMA user_version") == VERSION
    assert again.ids(1) == [item.id, 12]
    assert again.item(11).known == {"labels": ["O", None]}
    assert again.taught() == [item.id, 11, 12]
    again.close()


def test_what_is_known_in_part_is_asked_and_taught(made):
    made.add(
        "half",
        doc_of([TokenizedSentence(["Ann", "came"])] * 3),
        [{"labels": [None, "O"]}, {"labels": ["O", "O"]}, None],
    )
    assert [made.item(number).done for number in (13, 14, 15)] == [0, 1, 0]
    assert [item.id for item in made.known()] == [13, 14]
    made.base.execute("UPDATE sentences SET rank = -1 WHERE id = 13")
    assert made.ask("w", "ann").known == {"labels": [None, "O"]}
    made.answer(13, "w", Answer("ann", "skip", None, None, 0))
    assert made.taught() == [14]
    item, _ = made.undo("w", "ann")
    assert (item.known, item.done, made.taught()) == ({"labels": [None, "O"]}, 0, [13, 14])
    # what is read at every answer is found without going through all sentences
    plan = " ".join(str(row) for row in made.rows("EXPLAIN QUERY PLAN " + TAUGHT))
    assert "in_part" in plan
    assert "asked" in plan


def test_a_full_disk_saves_nothing_and_loses_nothing(made):
    item = made.ask("w", "ann")
    made.answer(item.id, "w", said(item))
    pages = made.one("PRAGMA page_count")
    made.base.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StructronError, match=r"not saved: .*full"):
        made.save_model(b"x" * 4_000_000, None)
    assert made.model() is None
    assert made.answers() == 1
    made.base.execute("PRAGMA max_page_count = 1000000")
    other = made.ask("w", "ann")
    made.answer(other.id, "w", said(other))
    assert made.answers() == 2


KILLED = """
import sys
from structron.teach.project import Answer, Project
project = Project(sys.argv[1])
while (item := project.ask("w", "ann")) is not None:
    project.answer(item.id, "w", Answer("ann", "answer", {"labels": ["O"]}, None, 0))
    print(item.id, flush=True)
"""


def test_what_was_called_saved_survives_a_kill(tmp_path):
    made = project(tmp_path / "p.teach", count=300)
    made.close()
    saved: list[int] = []
    for stop in (1, 2, 5, 9):
        running = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(made.path)],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
        )
        saved += [int(running.stdout.readline()) for _ in range(stop)]
        time.sleep(0.003 * stop)
        running.send_signal(signal.SIGKILL)
        saved += [int(line) for line in running.stdout.read().split()]
        running.wait()
        again = Project(made.path)
        known = {item.id for item in again.items("done = 1")}
        assert set(saved) <= known
        assert len(known - set(saved)) <= 1  # killed between saving and saying so
        saved = sorted(known)
        assert again.one("PRAGMA integrity_check") == "ok"
        again.close()


def test_two_processes_share_a_project(made):
    other = Project(made.path)
    first, second = made.ask("a", "ann"), other.ask("b", "ben")
    assert first.id != second.id
    made.answer(first.id, "a", said(first))
    other.answer(second.id, "b", said(second))
    assert made.counts() == other.counts()
    other.close()
