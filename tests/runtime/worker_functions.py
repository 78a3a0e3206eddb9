"""What workers are made of in tests of them: another process imports this module, and nothing else of the tests."""

import os
import signal
import time
from typing import Any

from structron.errors import StructronError


def adder(first: int):
    """Adds, after it was made with the first number; `None` is the end of it."""
    made = os.getpid()

    def add(number):
        if number is None:
            os.kill(os.getpid(), signal.SIGKILL)
        if isinstance(number, Exception):
            raise number
        print("this is not an answer")
        return first + number, made

    return add


def failing():
    raise StructronError("it cannot be made")


class Odd(Exception):
    """Cannot be put together again from what it says."""

    def __init__(self, one: int, two: int):
        super().__init__(f"{one} {two}")


def repeated(times: int):
    return lambda text: times * text


def odd():
    def run(what: str):
        if what == "odd":
            raise Odd(1, 2)
        return run if what == "a function" else what

    return run


def sleeper():
    return time.sleep


def mortal(folder: str):
    """Dies the first two times that it is asked for a name."""

    def run(name: str) -> str:
        path = os.path.join(folder, name)
        with open(path, "a", encoding="ascii") as stream:
            stream.write("x")
        if os.path.getsize(path) < 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return name

    return run


class Adder:
    """Adds to the number that it was made with; "die" is the end of it."""

    def __init__(self, first: int):
        self.first = first

    def __call__(self, number: Any) -> tuple[int, int]:
        if number == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if number == "fail":
            raise KeyError("what")
        return self.first + number, os.getpid()
