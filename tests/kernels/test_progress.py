"""What is shown while kernels are compiled: a bar or lines, how many, and about how long."""

import io
import re
import time

import numba
import pytest

from structron.kernels import ahead
from structron.kernels import progress as compiling
from structron.kernels.listed import ListedKernel
from structron.kernels.progress import Compiling, Display, prepare, shown, text_of
from structron.runtime.progress import SHOWN, Progress, quiet

needs_jit = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def inner(x):
    return x + 1


def kernel():
    """One that has to be compiled, with another inside."""
    helper = numba.njit(inner)

    @numba.njit
    def outer(x):
        return helper(x) * 2

    return outer


def listed(seconds: float) -> ListedKernel:
    return ListedKernel("structron.nowhere.kernel", "()", "", False, seconds, ("use tagger",))


def progress(*seconds: float, workers: int = 2) -> ahead.CompileProgress:
    return ahead.CompileProgress(len(seconds), sum(seconds), workers)


def test_time_that_is_left_follows_the_pace_of_the_machine():
    own = progress(8.0, 4.0, 4.0, 4.0)
    assert own.left() == pytest.approx(10.0)
    own.first = 2.0
    assert own.left() == pytest.approx(20.0)
    own.compiled, own.spent = 16.0, 32.0
    assert own.left() == pytest.approx(4.0)


def test_what_was_seen_counts_more_and_more():
    own = progress(40.0, 40.0, workers=1)
    own.first = 1.0
    own.compiled, own.spent = ahead.TRUST, 2 * ahead.TRUST
    assert own.pace == pytest.approx(1.5)
    own.compiled, own.spent = 40.0, 80.0
    assert 1.5 < own.pace < 2.0


def test_a_kernel_that_takes_longer_than_thought_counts_before_it_is_done():
    own = progress(4.0, 10.0, workers=1)
    own.first = 1.0
    own.running[0] = listed(4.0), time.monotonic() - 2.0
    assert own.pace == 1.0
    own.running[0] = listed(4.0), time.monotonic() - 40.0
    assert own.pace == pytest.approx((ahead.TRUST + 40.0) / (ahead.TRUST + 4.0), rel=0.01)
    assert own.left() == pytest.approx(own.pace * (14.0 - 0.9 * 4.0), rel=0.01)


def test_time_that_is_left_is_that_of_the_longest():
    """When one process is at a long kernel and the others have nothing to do."""
    own = progress(8.0, 1.0, workers=4)
    own.first = 1.0
    own.running[0] = listed(8.0), time.monotonic()
    own.compiled = own.spent = 1.0
    assert own.left() == pytest.approx(8.0, abs=0.1)


def test_the_total_never_moves():
    own = progress(8.0, 4.0)
    texts = []
    for done in range(3):
        own.done = done
        texts.append(text_of(own))
    assert all(re.match(rf"compiling on 2 cores \(first run only\): {k} of 2 kernels", t) for k, t in enumerate(texts))
    assert text_of(progress(1.0, workers=1)).startswith("compiling on 1 core (first run only): 0 of 1 kernels")


@needs_jit
def test_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    with Compiling(stream=stream) as found:
        assert kernel()(1) == 4
    first = stream.getvalue().splitlines()[0]
    assert re.fullmatch(r"compiling test_progress\.kernel\.<locals>\.outer \(first run only\), \d+ s so far", first)
    assert found.kernels == 2
    assert not found.stack


@needs_jit
def test_what_is_compiled_again_shows_nothing():
    stream, function = io.StringIO(), kernel()
    function(1)
    with Compiling(stream=stream):
        function(2)
    assert stream.getvalue() == ""


def test_lines_go_on_as_long_as_it_takes(monkeypatch):
    monkeypatch.setattr(compiling, "LINE_SECONDS", 0.01)
    stream = io.StringIO()
    with Compiling(stream=stream) as found:
        found.start("structron.search.slow")
        deadline = time.monotonic() + 300
        while stream.getvalue().count("\n") < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        found.end()
    assert len(re.findall(r"compiling search\.slow \(first run only\), \d+ s so far", stream.getvalue())) >= 3


@pytest.mark.parametrize("color", [True, False])
def test_a_bar_on_a_terminal_and_no_colour_if_unwanted(monkeypatch, color):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False) if color else monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    display = Display(stream)
    display.update("compiling on 2 cores (first run only): 1 of 2 kernels, about 2 s left", 0.5)
    display.bar.refresh()
    display.hide()
    assert display.bar is None
    text = stream.getvalue()
    assert "compiling on 2 cores (first run only): 1 of 2 kernels, about 2 s left" in text
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9](;[0-9]+)*m", text)) == color


def test_there_is_one_bar_at_a_time(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    bar = Progress(show=True, stream=stream)
    bar.begin_pass(1, 2, 10)
    assert [bar] == SHOWN
    with Compiling(stream=stream) as found:
        found.start("structron.search.slow")
        assert found.display.bar is None
        found.end()
    bar.close()
    assert SHOWN == []


def test_nested_displays_are_one():
    with Compiling(stream=io.StringIO()), shown() as within:
        assert within is None
    with shown(False) as nothing:
        assert nothing is None


def test_what_is_compiled_ahead_is_shown_unless_nobody_wants_to_know(monkeypatch, capsys):
    def fake(wanted, show, workers):
        own = progress(8.0, 4.0)
        show(own)  # before a process has told how fast the machine is, there is nothing to say
        own.first = 1.0
        show(own)
        return 2

    monkeypatch.setattr(ahead, "prepare", fake)
    monkeypatch.setattr(ahead, "complete", set())
    assert prepare("use tagger") == 2
    assert re.fullmatch(
        r"compiling on 2 cores \(first run only\): 0 of 2 kernels, about \d+ s left\n", capsys.readouterr().err
    )
    prepare("use tagger", show=False)
    assert capsys.readouterr().err == ""
    with quiet():
        prepare("use tagger")
    assert capsys.readouterr().err == ""
