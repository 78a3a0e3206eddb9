"""The server itself is killed (-9) after each kind of step: what it has called saved is in the project's file."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest
from projects import project

from helpers import SOURCE
from structron.teach.project import Project

ME = {"window": "w", "who": "ann"}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")


@contextmanager
def killed(path, *more):
    """A client of a server that is killed when the block ends."""
    command = [sys.executable, "-m", "structron", "teach", str(path), *more, "--port", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(SOURCE)}
    ) as process:
        try:
            address = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))
            with httpx.Client(base_url=address, timeout=60) as http:
                yield lambda name, **given: http.post(f"/api/teach/{name}", json=given).raise_for_status().json()
        finally:
            process.send_signal(signal.SIGKILL)


def test_what_was_called_saved_is_there_after_each_kind_of_step(tmp_path):
    path, more = tmp_path / "p.teach", tmp_path / "more.conll"
    project(path, count=3).close()
    more.write_text("Ann\tB-NEW\ncame\tO\n\n")
    with killed(path) as post:
        item = post("ask", **ME)["item"]
        known = {"labels": ["O"] * len(item["words"])}
        assert post("answer", **ME, sentence=item["sentence"], known=known)["saved"] == 1
    assert look(path, "known") == [(item["sentence"], known, 1)]
    with killed(path) as post:
        assert post("undo", **ME)["item"]["said"] == known
    assert look(path, "known") == []
    with killed(path) as post:
        assert post("ask", **ME)["item"]["sentence"] == item["sentence"]
        assert post("answer", **ME, sentence=item["sentence"])["saved"] == 2
    assert look(path, "skipped") == [(item["sentence"], None, 2)]
    with killed(path) as post:
        assert post("label", label="DISH")["labels"][-1] == "DISH"
    assert look(path, "labels")[-1] == "DISH"
    with killed(path, "--texts", str(more)):
        pass  # it has said where it listens, and before that, that the text is added
    assert look(path, "known") == [(4, {"labels": ["B-NEW", "O"]}, 1)]
    assert look(path, "labels")[-2:] == ["DISH", "NEW"]


def look(path, what):
    """What the project's file has."""
    opened = Project(path)
    try:
        assert opened.one("PRAGMA integrity_check") == "ok"
        if what == "labels":
            return opened.labels()
        where = "done = 2" if what == "skipped" else "known IS NOT NULL"
        return [(own.id, own.known, own.done) for own in opened.items(where)]
    finally:
        opened.close()
