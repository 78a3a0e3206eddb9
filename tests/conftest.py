"""What all tests share: where the real corpora are, patience with kernels that compile on their first call, and the
check that every update of a valid rule is a violation."""

import gc
import os
import shutil
import signal
import sys
import threading
from collections.abc import Generator
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # tests share the cores; its threads would wait for each other at full speed

import pytest
from hypothesis import HealthCheck, settings

from helpers import CORPORA

EXPERIMENTS = "tests/experiments"
LONGEST = (
    EXPERIMENTS,
    *("tests/test_docs.py", "tests/learn/test_cluster.py", "tests/test_benchmarks.py", "tests/serve/test_browser.py"),
    *("tests/test_contract.py", "tests/runtime/test_ray.py", "tests/tasks/test_pipeline.py"),
    *("tests/cli/test_cli_bulk.py", "tests/learn/test_shards.py", "tests/test_smoke.py"),
)
"""Groups of tests that take longest, roughly the longest first; between those that compute stand those that wait."""
os.environ["STRUCTRON_CHECK"] = "1"
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # tests start hundreds of programs: each would compile the package's files
sys.dont_write_bytecode = False
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs, and what they start, are deaf

settings.register_profile("structron", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("structron")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels that tests need on all cores before several processes begin; a part of the tests compiles
    what it calls."""
    config = session.config
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        return
    from structron.kernels.listed import every_kernel
    from structron.kernels.progress import prepare

    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        prepare(*sorted({need for own in every_kernel() for need in own.needs}))


def group_of(nodeid: str) -> str:
    """The tests that one process runs together: a file, or all that look at the same runs of experiments."""
    file = nodeid.partition("::")[0]
    return EXPERIMENTS if file.startswith(f"{EXPERIMENTS}/") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Groups go to the processes in the order in which they were collected."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False
    return Groups(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported meanwhile lives to the end: the collector need not go through it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests, the longest groups come first, so that none is left over at the end."""
    if hasattr(config, "workerinput"):
        place = {group: k for k, group in enumerate(LONGEST)}
        items.sort(key=lambda item: place.get(group_of(item.nodeid), len(LONGEST)))
    if CORPORA.is_dir():
        return
    absent = pytest.mark.skip(reason=f"no corpora in {CORPORA}; set STRUCTRON_DATA")
    for item in items:
        if item.get_closest_marker("corpora"):
            item.add_marker(absent)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of the real corpora; for tests marked `corpora`."""
    return CORPORA


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What is expected to fail is reported without its source, which pytest would parse each time: that of
    scikit-learn's checks has thousands of lines."""
    style = item.config.option.tbstyle
    if item.get_closest_marker("xfail"):
        item.config.option.tbstyle = "native"
    try:
        return (yield)
    finally:
        item.config.option.tbstyle = style


def chromium() -> str | None:
    """Where the browser is."""
    named = os.environ.get("STRUCTRON_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Generator[object, None, None]:
    """Chromium, if there is one."""
    path = chromium()
    if path is None:
        pytest.skip("no chromium: install it, or name it in STRUCTRON_CHROMIUM")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()
