"""`structron cluster`: texts and vectors in, clusters out that training takes."""

import gzip

import numpy as np
import pytest
from cli_helpers import write

from structron.cli import cluster
from structron.data.toy_english import toy_english, write_conllu
from structron.features.clusters import Clusters
from structron.text.words import words_in


@pytest.fixture
def text(tmp_path):
    sentences = [" ".join(sentence.words) for sentence in toy_english(120, seed=3)]
    write(tmp_path / "text.txt", "\n".join(sentences) + "\n")
    return tmp_path / "text.txt"


def table(path) -> dict[str, tuple[str, int]]:
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return {word: (bits, int(number)) for bits, word, number in rows}


def test_a_text_in_every_form(run, text, tmp_path, monkeypatch):
    packed, annotated = tmp_path / "packed", tmp_path / "a.conllu"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    write_conllu(annotated, toy_english(120, seed=3))
    options = ["--classes", "16", "--tokenized", "--quiet"]
    asked = []
    monkeypatch.setattr(cluster, "prepare", asked.append)
    found = run("cluster", text, *options, "-o", tmp_path / "c")
    assert (found.status, found.out, found.err) == (0, "", "")
    assert asked == ["train clusters"]
    words = [word for line in text.read_text().splitlines() for word in line.split()]
    rows = table(tmp_path / "c")
    assert {word: number for word, (_, number) in rows.items()} == {
        word: words.count(word) for word in set(words) if words.count(word) > 1
    }
    assert len({bits for bits, _ in rows.values()}) == 16
    assert list(rows.values()) == sorted(rows.values(), key=lambda own: own[0])
    assert run("cluster", packed, *options, "--jobs", "1").out == (tmp_path / "c").read_text()
    assert run("cluster", annotated, *options[:2], "--annotated").out == (tmp_path / "c").read_text()
    told = run("cluster", text, text, *options[:3], "--passes", "1").err
    assert f"{2 * len(words):,} tokens" in told
    assert "pass 1: " in told
    assert "pass 2" not in told
    assert Clusters.from_file(tmp_path / "c").texts([words[0]], [0]) == [[rows[words[0]][0]]]


def test_mistakes(refuses, text, tmp_path):
    refuses("cluster", text, "--annotated", "--vectors", says="--tokenized, --vectors: expected only one of them")
    refuses("cluster", says="Missing argument 'FILE …'")
    refuses("cluster", "-", says="-: the text is read twice, for words and for pairs; expected a file")
    refuses("cluster", tmp_path / "none", says="none: cannot be read (no such file or directory)")
    refuses("cluster", text, "-o", text, says=f"--output {text}: is also the input")
    refuses("cluster", text, "--min-count", "99999", says="0 words seen 99999 times or more; expected two, or a lower")
    write(tmp_path / "v", "2 3\na 1 2 3\nb 1 x 3\n")
    refuses("cluster", "--vectors", tmp_path / "v", says="v:3: 'b 1 x 3'; expected a word and 3 numbers")
    refuses("cluster", "--vectors", text, text, says="--vectors: 2 files; expected one")
    write(tmp_path / "v", "a\tb 1 2\nc 1 3\n")
    refuses("cluster", "--vectors", tmp_path / "v", says="v:1: 'a\\tb 1 2'; expected a word and 2 numbers")


def test_vectors_of_any_length(run, tmp_path):
    """Only their directions count, though the squares of some are no numbers any more."""
    rows = {"a": (3, 3), "b": (3, 2.9), "x": (3, -3), "y": (2.9, -3)}
    for unit in ("1", "1e38", "1e-44"):
        vectors = [f"{word} {' '.join(f'{x * float(unit):.6g}' for x in row)}" for word, row in rows.items()]
        write(tmp_path / "v", "\n".join(vectors) + "\n")
        found = run("cluster", "--vectors", tmp_path / "v", "--classes", "2", "--quiet")
        assert (found.status, found.err) == (0, "")
        path = dict(line.split("\t") for line in found.out.splitlines())
        assert path["a"] == path["b"] != path["x"] == path["y"]


@pytest.mark.parametrize("head", ["", "60 8\n"])
def test_vectors_of_a_kind_are_in_one_cluster(run, tmp_path, head):
    random = np.random.default_rng(2)
    ways = np.linalg.qr(random.normal(size=(8, 8)))[0]
    # four kinds in two pairs: the first bit tells the pairs apart, all bits the kinds
    centres = [ways[0] + 0.5 * ways[1], ways[0] - 0.5 * ways[1], ways[2] + 0.5 * ways[3], ways[2] - 0.5 * ways[3]]
    rows = [centres[k % 4] + 0.02 * random.normal(size=8) for k in range(60)]
    lines = [f"w{k} {' '.join(f'{x:.5f}' for x in row)}\n" for k, row in enumerate(rows)]
    write(tmp_path / "v", head + "".join(lines) + "none 0 0 0 0 0 0 0 0\n")
    found = run("cluster", "--vectors", tmp_path / "v", "--classes", "4")
    assert found.status == 0
    place = dict(line.split("\t") for line in found.out.splitlines())
    assert place.keys() == {f"w{k}" for k in range(60)}
    kinds = [{place[f"w{k}"] for k in range(kind, 60, 4)} for kind in range(4)]
    assert all(len(kind) == 1 for kind in kinds)
    paths = [min(kind) for kind in kinds]
    assert sorted(paths) == ["00", "01", "10", "11"]
    assert paths[0][0] == paths[1][0] != paths[2][0] == paths[3][0]
    few = run("cluster", "--vectors", tmp_path / "v", "--classes", "4", "--most-words", "6")
    assert len(few.out.splitlines()) == 6


def test_words_of_text():
    text = "Dr. Smith's well-known U.S. cat didn't pay 3,500.50 at 12:30 – не́ could_have!"
    assert words_in(text)[:8] == ["Dr", ".", "Smith's", "well-known", "U", ".", "S", "."]
    assert words_in(text)[8:14] == ["cat", "didn't", "pay", "3,500.50", "at", "12:30"]
    assert "".join(words_in(text)) == text.replace(" ", "")
