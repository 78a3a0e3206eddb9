"""`structron new-problem`: a search problem that runs as it is, with its test, to be changed into one's own."""

import keyword
from importlib import resources
from pathlib import Path

from structron.errors import StructronError
from structron.io import atomic_write_bytes

FILES = {"{name}.py": "problem.txt", "test_{name}.py": "test.txt"}
NAME = "NAME"
"""What stands for the problem's name in the files to copy."""


def run(name: str, output_dir: Path = Path()) -> None:
    """Write the two files, unless one of them is there already."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise StructronError(f"{name!r}: not a name of a Python module; expected one like word_order")
    folder = resources.files("structron.cli.new")
    texts = {output_dir / own.format(name=name): (folder / file).read_text("utf-8") for own, file in FILES.items()}
    for path in texts:
        if path.exists():
            raise StructronError(f"{path}: exists already; expected another name, or another --output-dir")
    output_dir.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        atomic_write_bytes(path, text.replace(NAME, name).encode())
    first, second = texts
    print(f"{first}: python {first}\n{second}: python -m pytest {second}")
