"""Wheels with compiled kernels, for every Python from 3.11 on that is here.

    python tools/wheels.py                       into dist/, each tested in a bare environment
    python tools/wheels.py 3.12 3.13             these only
    python tools/wheels.py --no-smoke 3.12       without the test

For each Python: a copy of the sources, an environment with the newest Numba that pyproject.toml allows, the kernels
(tools/ship_kernels.py), a wheel that asks for that very Numba (setup.py), and the test (tools/smoke_wheel.py). The work
tree stays as it is.
"""

import argparse
import base64
import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pythons import ROOT, dependencies, install, make_venv, pythons
from smoke_wheel import smoke

ACCEPTED = re.compile(
    r"manylinux_\d+_\d+_\w+|manylinux(1|2010|2014)_\w+|macosx_\d+_\d+_(x86_64|arm64|universal2)|win_\w+"
)
"""Platforms that an index takes binary wheels for."""
BINARY = "structron/kernels/binary/"


class Unsupported(Exception):
    """Numba, or something else, has no wheel for a Python."""


def copy_sources(to: Path) -> Path:
    """The files that belong to the project, as they are now."""
    try:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):  # from an archive of the sources
        listed = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
    for name in filter(None, listed):
        path = ROOT / name
        if path.is_file() and "__pycache__" not in name and not name.startswith((".venv", f"src/{BINARY}")):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to / name)
    return to


def build(python: Path, folder: Path, out: Path) -> Path:
    """A wheel with kernels; returns where it is."""
    source, own = copy_sources(folder / "source"), make_venv(python, folder / "venv")
    try:
        install(own, *dependencies(source))
    except subprocess.CalledProcessError:
        raise Unsupported("what structron needs cannot be installed") from None
    if subprocess.run([own, source / "tools" / "ship_kernels.py"], cwd=source).returncode:
        raise SystemExit("no kernels, no wheel")
    made = folder / "made"
    command = [own, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--wheel-dir", made, source], check=True)
    (wheel,) = made.glob("*.whl")
    check(wheel)
    out.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy2(wheel, out / wheel.name))


def check(wheel: Path) -> None:
    """Whether an index takes it, and a user gets what its kernels go with. ValueError: no."""
    *_, python, abi, system = wheel.stem.split("-")
    with zipfile.ZipFile(wheel) as archive:
        about = json.loads(archive.read(f"{BINARY}about.json"))
        names = archive.namelist()
        (info,) = {name.split("/")[0] for name in names if name.split("/")[0].endswith(".dist-info")}
        metadata, tags = (archive.read(f"{info}/{name}").decode() for name in ("METADATA", "WHEEL"))
        record = list(csv.reader(io.StringIO(archive.read(f"{info}/RECORD").decode())))
        if {name for name, *_ in record} != {name for name in names if not name.endswith("/")}:
            raise ValueError(f"{wheel.name}: RECORD has other files")
        for name, digest, _ in record:
            found = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
            if digest and digest != f"sha256={found}":
                raise ValueError(f"{wheel.name}: {name} is not what RECORD says")
    if not all(ACCEPTED.fullmatch(own) for own in system.split(".")):
        raise ValueError(f"{wheel.name}: no index accepts {system}")
    built = about["versions"]["python"].replace("cpython-", "cp")
    if (python, abi) != (built, built) or f"Tag: {python}-{abi}-{system}" not in tags:
        raise ValueError(f"{wheel.name}: its kernels are for {built}")
    if "Root-Is-Purelib: false" not in tags:
        raise ValueError(f"{wheel.name}: it says that it is pure")
    asked = re.findall(r"^Requires-Dist: ((?:numba|llvmlite)\b[^;\n]*)$", metadata, re.MULTILINE)
    if sorted(asked) != [f"{name}=={about['versions'][name]}" for name in ("llvmlite", "numba")]:
        raise ValueError(f"{wheel.name}: asks for {asked}, its kernels for {about['versions']}")


def make(version: str, python: Path, out: Path, tested: bool) -> Path:
    """One wheel, and what it took."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="structron-wheel-", ignore_cleanup_errors=True) as name:
        print(f"Python {version}", flush=True)
        wheel = build(python, Path(name), out)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {time.monotonic() - begin:.0f} s", flush=True)
        if tested:
            smoke(wheel, python, Path(name) / "smoke")
    return wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", metavar="3.N")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--no-smoke", action="store_true")
    given = parser.parse_args()
    found = {f"{major}.{minor}": python for (major, minor), python in pythons().items()}
    if absent := [version for version in given.versions if version not in found]:
        raise SystemExit(f"no Python {', '.join(absent)} here; found: {', '.join(found)}")
    made = []
    for version in given.versions or found:
        try:
            made.append(make(version, found[version], given.out, not given.no_smoke))
        except Unsupported as error:
            if given.versions:
                raise SystemExit(f"Python {version}: {error}") from None
            print(f"Python {version}: {error}; no wheel for it", flush=True)
    if not made:
        raise SystemExit("no wheel was made")


if __name__ == "__main__":
    main()
