"""The way to a Ray cluster, for whatever can use one; Ray itself is imported when it is asked for."""

import logging
import os
import socket
from typing import Any

from structron.errors import StructronError

PATIENCE = 5.0
"""Seconds in which a cluster has to answer: Ray itself would try for minutes."""


def connect(address: str) -> Any:
    """The module `ray`, connected to a cluster: HOST:PORT, "auto" (RAY_ADDRESS, this machine's), or a new one: "local".

    A process that is connected already stays where it is.
    """
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of what it will do one day
    try:
        import ray
    except ImportError:
        raise StructronError("--ray: Ray is not installed; expected it: pip install 'structron[ray]'") from None
    if ray.is_initialized():
        return ray
    try:
        _knock(os.environ.get("RAY_ADDRESS", address) if address == "auto" else address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        reason = " ".join(str(error).split("\n")[0].split())[:200] or type(error).__name__
        raise StructronError(
            f"--ray {address}: the cluster cannot be reached ({reason}); expected one that runs ('ray start --head' "
            "begins one): auto, local or HOST:PORT"
        ) from None
    return ray


def _knock(address: str) -> None:
    """Raise OSError when nobody listens at HOST:PORT."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
