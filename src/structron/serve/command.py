"""`structron serve`: the page and the API for some models, until Ctrl-C."""

import asyncio
import contextlib
import gc
import logging
import socket
import sys
import threading
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

from structron.cli.files import say
from structron.errors import StructronError
from structron.kernels.progress import prepare
from structron.serve.library import Library, watch_beam

MAX_MODEL = 100_000_000
"""Bytes of a model that the page may send to a server that nobody else reaches."""


def run(
    models: Sequence[str] | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    data: Sequence[str] | None = None,
    log: Sequence[str] | None = None,
    origin: Sequence[str] | None = None,
    allow_host: Sequence[str] | None = None,
    workers: int | None = None,
) -> int:
    """Serve until Ctrl-C, which lets requests under way end."""
    try:
        from structron.serve.app import make_app
        from structron.serve.limits import Limits, is_loopback
        from structron.serve.requests import RequestThreads
    except ImportError as error:
        raise missing("serve", error) from None
    listening = listen(host, port)
    given = models or data or log
    library = Library.open(models or ["english"], data or (), log or ()) if given else Library.example()
    private = is_loopback(host) and not origin and not allow_host
    names = hosts(host, allow_host or ())
    limits = Limits(model=MAX_MODEL if private else 0, origins=tuple(origin or ()), hosts=names)
    warm_up(library)
    threading.Thread(target=warm_up_beams, args=[library], daemon=True).start()
    app = make_app(library, limits, RequestThreads(workers, seconds=limits.seconds))
    return serve_until_stopped(app, listening, limits.seconds, ", ".join(library.models))


def missing(command: str, error: ImportError) -> StructronError:
    """What is said where the extra is not installed."""
    return StructronError(f"{command} needs {error.name}; expected: pip install 'structron[serve]'")


def serve_until_stopped(app: Any, listening: socket.socket, seconds: float, name: str) -> int:
    """Answer requests until Ctrl-C, which lets those under way end; once more, and they are given up."""
    import uvicorn

    from structron.serve.slow import config

    gc.enable()
    gc.freeze()
    address, number = listening.getsockname()[:2]
    host = "localhost" if ip_address(address).is_unspecified else f"[{address}]" if ":" in address else address
    listening.listen(1024)
    say(f"{name}: http://{host}:{number}  (Ctrl-C to stop)")
    served = config(
        app,
        log_level="error",  # requests that are no HTTP are answered, not logged
        timeout_keep_alive=15,
        timeout_graceful_shutdown=int(seconds) + 1,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancellation)
    server = uvicorn.Server(served)
    with contextlib.suppress(KeyboardInterrupt):
        server.run([listening])
    say("stopped at once" if server.force_exit else "stopped")
    return 0


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Whether something is worth telling: requests that are given up at the end are not."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def hosts(host: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """Names that the server answers to: its own address, where that is one, and those that were allowed."""
    names = [name.lower().removeprefix("[").removesuffix("]").removesuffix(".") for name in (host, *allowed)]
    for name, given in zip(names, (host, *allowed), strict=True):
        if not name or "/" in name or (":" in name and not _is_address(name)):
            raise StructronError(f"--allow-host {given}: expected a name or an address, without scheme and port")
    return tuple(name for name in names if not _is_address(name) or not ip_address(name).is_unspecified)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address, before anything is read that takes time."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind)
        if sys.platform != "win32":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        expected = "expected an address of this machine and a free port (--port)"
        raise StructronError(f"{host}:{port}: {why}; {expected}") from None
    return found


def warm_up(library: Library) -> None:
    """Let kernels load before the first request, not in it."""
    for model in library.models.values():
        estimator: Any = model.estimator
        if estimator.task == "pipeline" and "tokenizer" in model.parts:
            estimator.predict(["A dog barks."], jobs=1)


def warm_up_beams(library: Library) -> None:
    """Load what margins, explanations and the view Beam need, beside the first requests: where it has to be compiled,
    it takes a minute."""
    parts = [part for model in library.models.values() for part in model.parts.values()]
    every = [*(model.estimator for model in library.models.values()), *parts]
    prepare(*dict.fromkeys(f"more {own.kernels_of(own.get_params())}" for own in every), show=False)
    for part in (part for part in parts if part.has_beam()):
        with contextlib.suppress(Exception):
            watch_beam(part)
