"""`structron serve`: the page and the API for some models, until Ctrl-C."""

import contextlib
import gc
import socket
import sys
import threading
from collections.abc import Sequence
from typing import Any

from structron.cli.files import say
from structron.errors import StructronError
from structron.serve.library import Library, watch_beam


def run(
    models: Sequence[str] | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    data: Sequence[str] | None = None,
    log: Sequence[str] | None = None,
    origin: Sequence[str] | None = None,
    workers: int | None = None,
) -> int:
    """Serve until Ctrl-C, which lets requests under way end."""
    try:
        import uvicorn

        from structron.serve.app import make_app
        from structron.serve.limits import LOCAL, Limits
        from structron.serve.requests import RequestThreads
        from structron.serve.slow import Impatient
    except ImportError as error:
        raise StructronError(f"serve needs {error.name}; expected: pip install 'structron[serve]'") from None
    listening = _listen(host, port)
    library = Library.open(models or ["english"], data or (), log or ())
    limits = Limits(origins=tuple(origin or ()), hosts=LOCAL if host in LOCAL else None)
    address, number = listening.getsockname()[:2]
    warm_up(library)
    gc.enable()
    gc.freeze()
    threading.Thread(target=warm_up_beams, args=[library], daemon=True).start()
    app = make_app(library, limits, RequestThreads(workers, seconds=limits.seconds))
    name = f"[{address}]" if ":" in address else address
    listening.listen(1024)
    say(f"{', '.join(library.models)}: http://{name}:{number}  (Ctrl-C to stop)")
    config = uvicorn.Config(
        app,
        http=Impatient,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
    )
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run([listening])
    say("stopped")
    return 0


def _listen(host: str, port: int) -> socket.socket:
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
    """Load what the view Beam needs, beside the first requests: compiled for the first time, it takes a minute."""
    for model in library.models.values():
        for part in (part for part in model.parts.values() if part.has_beam()):
            with contextlib.suppress(Exception):
                watch_beam(part)
