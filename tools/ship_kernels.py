"""Compile all kernels for the baseline of this platform and put them into the package, for a wheel to bring along.

    python tools/ship_kernels.py        # then: python -m build --wheel

Entries that are there are made anew. Nothing of this is committed; a wheel without them compiles on first use.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "structron"
sys.path.insert(0, str(PACKAGE.parent))

from llvmlite import binding  # noqa: E402

from structron.kernels import shipped  # noqa: E402


def compile_all(folder: Path, cpu: str) -> None:
    """Compile in a copy of the package, on all cores."""
    from structron.cli.precompile import PARTS

    ignore = shutil.ignore_patterns("__pycache__", "binary")
    shutil.copytree(PACKAGE, folder / "structron", ignore=ignore)
    target = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": "", "PYTHONPATH": str(folder)}
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | target
    orders = [PARTS, PARTS[::-1]][: os.cpu_count() or 1]
    command = [sys.executable, "-m", "structron.cli.precompile"]
    started = [subprocess.Popen([*command, *order], env=environment, cwd=folder) for order in orders]
    if any(process.wait() for process in started):
        raise SystemExit("kernels could not be compiled")


def ship(folder: Path, cpu: str) -> tuple[int, int]:
    """Copy the entries compiled in a folder; returns how many kernels, and their bytes."""
    shutil.rmtree(shipped.SHIPPED, ignore_errors=True)
    kernels = size = 0
    target = (binding.get_process_triple(), cpu, "")
    for path in sorted(folder.rglob("*.nbi")):
        place = shipped.SHIPPED / path.parent.parent.relative_to(folder / "structron")
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place / path.name)
        overloads = shipped.WheelFile(str(place), path.stem, None)._load_index()
        wrong = {key[1] for key in overloads} - {target}
        if wrong:
            raise SystemExit(f"{path.name}: compiled for {wrong}, not for {target}")
        for name in overloads.values():
            size += shutil.copyfile(path.parent / name, place / name).stat().st_size
            kernels += 1
    about = {"target": target, "versions": shipped.versions(), "contents": shipped.contents()}
    (shipped.SHIPPED / shipped.ABOUT).write_text(json.dumps(about, indent=1) + "\n")
    return kernels, size


def main() -> None:
    """Compile and ship."""
    cpu = shipped.BASELINES.get(platform.machine())
    if cpu is None:
        raise SystemExit(f"no baseline is known for {platform.machine()}")
    with tempfile.TemporaryDirectory(prefix="structron-ship-") as folder:
        compile_all(Path(folder), cpu)
        kernels, size = ship(Path(folder), cpu)
    print(f"{kernels} kernels for {cpu}, {size / 1e6:.1f} MB in {shipped.SHIPPED}")


if __name__ == "__main__":
    main()
