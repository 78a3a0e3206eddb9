"""Disks, streams, permissions and caches that fail: a model is saved wherever training could go on."""

import subprocess

from torture.frame import start

ENDLESS = ("--passes", "1000000", "--patience", "0", "--average", "none", "--margin", "1e9")
"""Passes that come to no end by themselves."""
LIMITED = ("--passes", "30", "--patience", "0")


def begun(*argv: object, **options) -> subprocess.Popen:
    """A training that has done its first pass."""
    running = start(*argv, **{"stderr": subprocess.PIPE, "text": True, **options})
    assert running.stderr is not None
    while line := running.stderr.readline():
        if line.startswith("pass "):
            return running
    raise AssertionError(f"{argv}: ended with {running.wait()} before its first pass")
