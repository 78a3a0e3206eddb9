"""The demonstration runs, covers every task, and prints commands that work."""

import shlex
from contextlib import contextmanager

import pytest
from numba.core.config import DISABLE_JIT

from structron.cli import demo, main, precompile
from structron.kernels import ahead
from structron.tasks.registry import TASKS, TRAINABLE


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SPLITS", {"train": (0, 50), "dev": (50, 70), "test": (70, 100)})


def test_every_task_has_a_demonstration():
    assert tuple(demo.DEMOS) == TRAINABLE
    files = {own.ending: (own.write, own.most) for own in demo.DEMOS.values()}
    for own in demo.DEMOS.values():
        assert files[own.ending] == (own.write, own.most), "no task replaces the data of another"


@pytest.mark.usefixtures("small")
def test_demo(capsys):
    assert main(["demo"]) == 0
    found = capsys.readouterr()
    for task in TRAINABLE:
        assert f"\n{task}: " in f"\n{found.out}"
        assert f"{task}.structron" in found.err
    assert "test: accuracy " in found.out
    assert "test: f1 " in found.out
    assert "[NP " in found.out
    assert "/NOUN" in found.out
    assert "\x1b" not in found.out
    assert "pass  1/10" in found.err


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("task", TRAINABLE)
def test_printed_commands_work(task, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--task", task, "--out", "toy"]) == 0
    commands = [
        shlex.split(line)[1:] for line in capsys.readouterr().out.splitlines() if line.startswith("   structron")
    ]
    expected = ["train", "evaluate", "annotate" if TASKS[task].texts else "predict", "inspect"]
    assert [command[0] for command in commands] == [what for what in expected if what not in TASKS[task].lacks]
    for command in commands:
        assert main(command) == 0
    assert list((tmp_path / "toy").glob("labelled.*"))


def test_unknown_task(capsys):
    assert main(["demo", "--task", "poet"]) == 2
    known = ", ".join(TRAINABLE)
    assert capsys.readouterr().err == f"structron: error: unknown task 'poet'; expected one of: {known}\n"


def test_folder_that_cannot_be(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "expected a folder" in capsys.readouterr().err


def test_mistakes_are_marked():
    words, gold = ["the", "dog", "barks"], ["B-NP", "I-NP", "B-VP"]
    assert demo.show_chunks(words, gold, gold).plain == "[NP the dog] [VP barks] "
    assert demo.show_chunks(words, gold, ["B-NP", "B-VP", "O"]).plain == "[NP? the] [VP? dog] barks "
    assert demo.show_tags(words, ["D", "N", "V"], ["D", "N", "N"]).plain == "the/D dog/N barks/N(not V) "


def test_kernels_can_be_compiled_beforehand(capsys):
    precompile.run(["tokenizer", "chunker"])
    assert capsys.readouterr().out.split() == ["tokenizer", "chunker"]
    if not DISABLE_JIT:
        assert ahead.cold(["train tokenizer", "use tokenizer", "train chunker", "use chunker"]) == []


def test_kernels_are_compiled_while_tasks_are_shown(monkeypatch, tmp_path):
    """Those of the first task first; a failure ends that, too."""
    asked, over = [], []

    @contextmanager
    def meanwhile(wanted):
        asked.extend(wanted)
        try:
            yield
        finally:
            over.append(True)

    def fail(*given, **options):
        raise KeyError

    monkeypatch.setattr(demo, "meanwhile", meanwhile)
    monkeypatch.setattr(demo, "show_text", lambda *given: None)
    monkeypatch.setattr(demo.train, "run", fail)
    with pytest.raises(KeyError):
        demo.run(out=tmp_path)
    expected = [f"{phase} {task}" for task in TRAINABLE for phase in ("train", "use")]
    assert asked == [need.replace("graph-parser", "graph-parser first-order") for need in expected]
    assert over == [True]
