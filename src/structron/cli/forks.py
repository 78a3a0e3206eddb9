"""Work on copies of this process: what it has loaded is theirs too, and none of them waits for another's Python lock.

For Linux: elsewhere a process cannot be copied (Windows), or should not (macOS).
"""

import contextlib
import multiprocessing
import traceback
from collections.abc import Callable, Generator, Iterable
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from structron.errors import StructronError
from structron.runtime.streams import leave_signals
from structron.runtime.threads import in_order


def forked(run: Callable[[Any], Any], work: Iterable[Any], jobs: int) -> Generator[Any, None, None]:
    """What `run` makes of each piece of endless work, in order, on `jobs` copies of this process (see `in_order`)."""
    context = multiprocessing.get_context("fork")
    idle: SimpleQueue[Connection] = SimpleQueue()
    links: list[Connection] = []
    members = []

    def ask(piece: Any) -> Any:
        link = idle.get()
        try:
            link.send(piece)
            found, error = link.recv()
        except (EOFError, OSError):
            raise StructronError("a process died while it worked; expected enough memory, or --jobs 1") from None
        finally:
            idle.put(link)
        if error is not None:
            raise error
        return found

    try:
        for _ in range(jobs):
            ours, theirs = context.Pipe()
            links.append(ours)
            member = context.Process(target=_serve, args=(run, theirs, list(links)), daemon=True)
            member.start()
            theirs.close()
            members.append(member)
            idle.put(ours)
        with contextlib.closing(in_order(ask, work, jobs)) as found:
            yield from found
    finally:
        for member, link in zip(members, links, strict=False):
            link.close()
            member.kill()
            member.join()


def _serve(run: Callable[[Any], Any], link: Connection, others: list[Connection]) -> None:
    """The life of a copy, which ends with the original: nobody else holds the other end of its link."""
    leave_signals()
    for other in others:
        other.close()
    with contextlib.suppress(EOFError, OSError):
        while True:
            link.send(_tried(run, link.recv()))


def _tried(run: Callable[[Any], Any], piece: Any) -> tuple[Any, Exception | None]:
    try:
        return run(piece), None
    except StructronError as error:
        return None, StructronError(str(error))
    except Exception:
        return None, RuntimeError(traceback.format_exc())
