"""Options of margins, stopping, n-best and non-local features: what commands get, and what is refused in one line."""

import pytest

from structron.cli import evaluate, main, predict, train
from structron.data.toy_english import toy_english, write_conll

TRAIN = ["train", "tagger", "--train", "t", "--model", "m"]


@pytest.fixture
def given(monkeypatch):
    """Run a command whose work is only to say what it was given."""

    def command(*argv: str) -> dict:
        found: dict = {}
        for module in (train, predict, evaluate):
            monkeypatch.setattr(module, "run", lambda **options: found.update(options))
        assert main(list(argv)) == 0
        return found

    return command


def test_what_train_gets(given):
    options = ["--margin", "500", "--bpm", "3", "--stop-change", "1e-4", "--candidates", "20", "--inner", "bilou"]
    options += ["--test-candidates", "100", "--local-update", "conservative", "--local-margin", "0"]
    found = given(*TRAIN, *options, "--non-local", "phrase,conjunction", "--non-local", "sub-phrase, phrase")
    expected = {"margin": 500.0, "bpm": 3, "stop_change": 1e-4, "candidates": 20, "test_candidates": 100}
    expected |= {"local_update": "conservative", "local_margin": 0.0, "inner": "bilou"}
    expected |= {"non_local": ["phrase", "conjunction", "sub-phrase"]}
    assert {name: found[name] for name in expected} == expected


def test_what_is_not_given_is_left_to_the_task(given):
    names = ("margin", "bpm", "stop_change", "non_local", "candidates", "test_candidates", "local_update", "inner")
    found = given(*TRAIN)
    assert not set(names) & found.keys()
    assert (found["task"], found["quiet"]) == ("tagger", False)


def test_none_switches_non_local_features_off(given):
    assert given(*TRAIN, "--non-local", "none")["non_local"] == []


def test_what_predict_and_evaluate_get(given):
    assert given("predict", "m", "f", "--nbest", "5", "--test-candidates", "400") == {
        "model": given("predict", "m")["model"],
        "file": "f",
        "nbest": 5,
        "test_candidates": 400,
        "encoding": "utf-8",
        "confidence": False,
        "forced": False,
        "jobs": 1,
    }
    assert given("evaluate", "m", "f", "--test-candidates", "7")["test_candidates"] == 7
    assert "test_candidates" not in given("evaluate", "m", "f")


def refusal(capfd, *argv: str) -> str:
    assert main(list(argv)) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("structron: error: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "-inf", "much", ""])
@pytest.mark.parametrize("option", ["--margin", "--local-margin", "--stop-change"])
def test_numbers_that_cannot_be(capfd, option, value):
    least = "above 0" if option == "--stop-change" else "of at least 0"
    assert f"'{option}': {value}: expected a number {least}" in refusal(capfd, *TRAIN, option, value)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--stop-change", "0"),
        ("--bpm", "-1"),
        ("--candidates", "0"),
        ("--test-candidates", "0"),
        ("--local-update", "bold"),
        ("--inner", "iob"),
        ("--non-local", "none,phrase"),
        ("--non-local", "phrase,"),
    ],
)
def test_values_that_cannot_be(capfd, option, value):
    assert f"'{option}'" in refusal(capfd, *TRAIN, option, value)


@pytest.mark.parametrize("argv", [["predict", "m", "--nbest", "0"], ["evaluate", "m", "f", "--test-candidates", "0"]])
def test_other_commands_refuse_too(capfd, argv):
    assert f"'{argv[-2]}'" in refusal(capfd, *argv)


@pytest.mark.parametrize("task", ["parser", "joint", "segments"])
def test_tasks_that_have_no_such_thing(capfd, task):
    said = refusal(capfd, "train", task, "--train", "t", "--model", "m", "--candidates", "5")
    assert f"--candidates: not an option of the {task}" in said


def test_a_margin_and_its_signature(capfd, tmp_path):
    """The joint tagger's own default is ALMA, so both options are needed; one of them alone says so."""
    file, model = str(tmp_path / "t.conll"), str(tmp_path / "m")
    write_conll(file, toy_english(60, seed=3))
    argv = ["train", "joint", "--train", file, "--model", model, "--passes", "2", "--margin", "10"]
    assert "margin 10 and alma 0.9: expected one of the two (alma None; --alma none)" in refusal(capfd, *argv, "-q")
    assert main([*argv, "--alma", "none", "--stop-change", "0.5"]) == 0
    assert "| joint | update laso-margin-10 | search beam-10-dp |" in capfd.readouterr().err
