"""The core suite with the oldest and the newest versions that pyproject.toml allows.

    python tools/versions.py oldest                         all of CORE, on the oldest Python that is here
    python tools/versions.py newest tests/io -x             something else, on the newest

Each has an environment of its own (`.venv-oldest`, `.venv-newest`) with the kernels that it compiles.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pythons import ROOT, dependencies, in_venv, install, lowest, make_venv, name_of, pythons

CORE = (
    "tests/cli",
    "tests/data",
    "tests/eval",
    "tests/features",
    "tests/io",
    "tests/kernels",
    "tests/learn",
    "tests/model",
    "tests/runtime",
    "tests/search",
    "tests/show",
    "tests/tasks",
    "tests/text",
    "tests/update",
    "tests/weights",
    "tests/test_errors.py",
    "tests/test_options.py",
    "tests/test_processes.py",
    "tests/test_smoke.py",
)
"""Tests of the package itself: none of browsers, servers, papers, documents, or what extras bring."""
APART = ("tests/learn/test_cluster.py", "tests/learn/test_cluster_nodes.py")
"""Files in there that need Ray."""
ZSTD = "backports.zstd>=1; python_version < '3.14'"
TOOLS = ("pytest>=8", "pytest-xdist>=3.7", "hypothesis>=6.100", "conllu>=5", "build>=1.2", ZSTD)
"""What the core suite needs beside the package."""


def wanted(which: str) -> list[str]:
    """What is installed: "oldest" or "newest"."""
    return lowest(dependencies()) if which == "oldest" else dependencies()


def prepared(which: str) -> Path:
    """The Python of the environment, made anew if other versions are wanted than it was made for."""
    folder, found = ROOT / f".venv-{which}", pythons()
    version, python = next(iter(found.items())) if which == "oldest" else list(found.items())[-1]
    made, asked = folder / "made.json", json.dumps([version, *wanted(which), *TOOLS])
    if which == "newest" or not made.is_file() or made.read_text() != asked:
        own = in_venv(folder) if made.is_file() and made.read_text() == asked else make_venv(python, folder)
        install(own, "--upgrade", "--upgrade-strategy", "eager", *wanted(which), *TOOLS)
        install(own, "--no-deps", "--editable", ROOT)
        made.write_text(asked)
    return in_venv(folder)


def main(which: str, tests: list[str]) -> int:
    """Run tests; returns the exit status."""
    python = prepared(which)
    names = [name_of(requirement) for requirement in dependencies()]
    look = "import sys; from importlib.metadata import version; print(*(f'{n} {version(n)}' for n in sys.argv[1:]))"
    subprocess.run([python, "-c", look, *names, "llvmlite"], check=True)
    apart = [] if tests else [f"--ignore={path}" for path in APART]
    command = [
        python,
        "-m",
        "pytest",
        *(tests or CORE),
        *apart,
        "-n",
        "2",
        "--dist",
        "loadfile",
        "-p",
        "no:cacheprovider",
    ]
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
    kernels = {"STRUCTRON_CACHE": str(python.parent.parent / "kernels")}
    return subprocess.run(command, cwd=ROOT, env=environment | kernels).returncode


if __name__ == "__main__":
    if sys.argv[1:2] not in (["oldest"], ["newest"]):
        sys.exit(f"expected oldest or newest, and maybe tests\n\n{__doc__}")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
