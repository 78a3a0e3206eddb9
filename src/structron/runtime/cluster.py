"""The way to a Ray cluster, for whatever can use one; Ray itself is imported when it is asked for."""

import logging
import os
import socket
from typing import Any

from structron.errors import StructronError

AUTO, LOCAL = "auto", "local"
PATIENCE = 5.0
"""Seconds in which a cluster has to answer: Ray itself would try for minutes."""


def connect(address: str) -> Any:
    """The module `ray`, connected to a cluster: HOST:PORT; "auto": RAY_ADDRESS, or the one of this machine, or this
    machine alone; "local": this machine alone. A process that is connected already stays where it is.
    """
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of what it will do one day
    os.environ.setdefault("RAY_worker_niceness", "0")  # workers are the work itself
    try:
        import ray
    except ImportError:
        raise StructronError("ray: not installed; expected it beside structron: pip install 'structron[ray]'") from None
    if ray.is_initialized():
        return ray
    found = os.environ.get("RAY_ADDRESS") or AUTO if address == AUTO else address
    found = _noted() if found == AUTO else found
    where: dict[str, Any] = {"include_dashboard": False} if found == LOCAL else {}
    try:
        if found != LOCAL:
            _knock(found)
        ray.init(found, **where, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:200]
        raise StructronError(
            f"ray: {address}: the cluster cannot be reached ({reason}); expected auto, local, or the HOST:PORT of one"
        ) from None
    return ray


def _noted() -> str:
    """The cluster of this machine that Ray has a note of, if it answers: a note may outlive its cluster."""
    try:
        from ray._private.utils import read_ray_address

        note = read_ray_address() or ""
        _knock(note)
    except (ImportError, OSError, ValueError):  # a Ray that keeps its notes elsewhere has none for us
        return LOCAL
    return note


def _knock(address: str) -> None:
    """Raise an error when nobody listens at HOST:PORT."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("no host and port")
    socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
