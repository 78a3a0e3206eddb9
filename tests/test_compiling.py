"""What is shown while kernels are compiled: their names, a bar or lines, and about how long."""

import io
import re
import sys
import time

import numba
import pytest

from structron import compiling
from structron.cli.show import kernels
from structron.compiling import Compiling, Estimate, is_to_be_compiled, shown
from structron.progress import SHOWN, Progress
from structron.tasks.registry import TRAINABLE


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


def test_time_that_is_left_follows_the_pace():
    estimate = Estimate({"a": 2.0, "b": 4.0, "c": 1.0})
    for name in ("a", "b", "c"):
        estimate.add(name)
    assert (estimate.total, estimate.seconds_left()) == (7.0, 7.0)
    estimate.finish("a", 5.0)
    assert estimate.pace == 2.0
    assert estimate.seconds_left() == 10.0
    assert estimate.seconds_left("b", 3.0) == 2.0 + 5.0
    assert estimate.seconds_left("b", 40.0) == 2.0 + 20.0
    estimate.add("unknown")
    assert estimate.left["unknown"] == compiling.USUAL
    assert estimate.kernels == 1


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_lines_where_there_is_no_terminal():
    stream = io.StringIO()
    with Compiling({"structron.nowhere.kernel": 9.0}, stream=stream) as found:
        assert kernel()(1) == 4
    first = stream.getvalue().splitlines()[0]
    assert re.match(
        r"compiling test_compiling\.kernel\.<locals>\.outer \(1 of 2, first run only\), about \d+ s left", first
    )
    assert found.estimate.kernels == 2
    assert list(found.estimate.left) == ["structron.nowhere.kernel"]
    assert not found.stack


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_what_is_compiled_again_shows_nothing():
    stream, function = io.StringIO(), kernel()
    function(1)
    with Compiling(stream=stream):
        function(2)
    assert stream.getvalue() == ""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_lines_go_on_as_long_as_it_takes(monkeypatch):
    monkeypatch.setattr(compiling, "EVERY", 0.01)
    stream = io.StringIO()
    with Compiling(stream=stream) as found:
        found.start("structron.search.slow")
        deadline = time.monotonic() + 300
        while stream.getvalue().count("\n") < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        found.end()
    assert len(re.findall(r"compiling search\.slow \(first run only\), \d+ s so far", stream.getvalue())) >= 3
    found.lines.join(300)
    assert not found.lines.is_alive()


@pytest.mark.parametrize("color", [True, False])
def test_a_bar_on_a_terminal_and_no_colour_if_unwanted(monkeypatch, color):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False) if color else monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    with Compiling({"structron.search.slow": 2.0}, stream=stream) as found:
        found.start("structron.search.slow")
        found.bar.refresh()
        assert found.bar is not None
        found.end()
        assert found.bar is None
    text = stream.getvalue()
    assert "compiling search.slow (1 of 1, first run only), about 2 s left" in text
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9](;[0-9]+)*m", text)) == color


def test_there_is_one_bar_at_a_time(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = Progress(show=True, stream=stream)
    progress.begin_pass(1, 2, 10)
    assert [progress] == SHOWN
    with Compiling(stream=stream) as found:
        found.start("structron.search.slow")
        assert found.bar is None
        found.end()
    progress.close()
    assert SHOWN == []


def test_nested_displays_are_one():
    with Compiling(stream=io.StringIO()) as outer, shown() as inner:
        assert inner is None
        compiling.expect({"a": 1.0})
        assert outer.estimate.costs == {"a": 1.0}
    with shown(False) as nothing:
        assert nothing is None
    compiling.expect({"a": 1.0})


def test_kernels_by_name():
    assert is_to_be_compiled("structron.nowhere.kernel")
    assert not is_to_be_compiled("structron.compiling.a_kernel_that_is_gone")
    if not numba.config.DISABLE_JIT:
        from structron.kernels.table import hash_list

        hash_list(["a"])
        used = [
            name
            for name, value in vars(sys.modules["structron.kernels.table"]).items()
            if getattr(value, "signatures", None)
        ]
        assert used
        assert not is_to_be_compiled(f"structron.kernels.table.{used[0]}")


def test_measured_kernels_are_those_of_tasks():
    """`python -m benchmarks.kernels` measures again."""
    for task in TRAINABLE:
        trained, used = kernels.needs("train", task), kernels.needs("use", task)
        assert all(cost > 0 for cost in trained.values())
        assert used.items() <= trained.items()
        assert not any(name.startswith("structron.update.") for name in used)
        assert kernels.seconds("train", task) == pytest.approx(sum(trained.values()))
