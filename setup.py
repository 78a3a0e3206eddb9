"""The wheel is for one platform and one Python if it brings compiled kernels along (tools/ship_kernels.py)."""

from pathlib import Path

from setuptools import Distribution, setup

SHIPPED = Path(__file__).parent / "src" / "structron" / "kernels" / "binary"


class Built(Distribution):
    """A distribution that knows whether it is pure."""

    def has_ext_modules(self) -> bool:
        return (SHIPPED / "about.json").exists()


setup(distclass=Built)
