"""The wheel is for one platform, one Python and the very Numba that its kernels were compiled with, if it brings
compiled kernels along (tools/ship_kernels.py). Without them it is pure, and kernels are compiled on first use."""

import json
import platform
import re
import sys
from pathlib import Path
from typing import Any

from setuptools import Distribution, setup

ABOUT = Path(__file__).parent / "src" / "structron" / "kernels" / "binary" / "about.json"
PINNED = ("numba", "llvmlite")


def platform_tag(system: str = sys.platform, machine: str | None = None) -> str:
    """The platform, in a word that an index accepts.

    Kernels are no shared libraries, so auditwheel has nothing to look at: llvmlite loads their object code. What that
    asks for comes from Python, Numba, libc or libm, by names without versions (tools/ship_kernels.py looks). The oldest
    system that Numba's own wheels were ever for is low enough: where Numba can be installed, kernels run.
    """
    machine = machine or platform.machine()
    if system == "darwin":
        return "macosx_11_0_arm64" if machine == "arm64" else "macosx_10_15_x86_64"
    if system == "win32":
        return {"amd64": "win_amd64", "arm64": "win_arm64"}[machine.lower()]
    return f"manylinux_2_17_{machine}"


def pinned(requirements: list[str], versions: dict[str, str]) -> list[str]:
    """Requirements with the versions that kernels go with: others would leave them unused."""
    others = [text for text in requirements if re.split(r"[^\w.-]", text)[0] not in PINNED]
    return others + [f"{name}=={versions[name]}" for name in PINNED]


class Built(Distribution):
    """A distribution that knows whether it has kernels."""

    def has_ext_modules(self) -> bool:
        return ABOUT.exists()

    def parse_config_files(self, *given: Any, **options: Any) -> None:
        super().parse_config_files(*given, **options)
        if ABOUT.exists():
            versions = json.loads(ABOUT.read_text(encoding="utf-8"))["versions"]
            found = pinned([str(own) for own in self.install_requires], versions)
            self.install_requires = self.metadata.install_requires = found


if __name__ == "__main__":
    setup(distclass=Built, options={"bdist_wheel": {"plat_name": platform_tag()}} if ABOUT.exists() else {})
