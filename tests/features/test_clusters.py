"""Word clusters: reading files, looking words up, and the features of models that have them."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structron
from structron.errors import StructronError
from structron.features.clusters import Clusters, make_clusters, prefix_length
from structron.features.encode import Column
from structron.features.extract import TemplateExtractor
from structron.features.templates import load_templates, parse_templates, template_lines

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
paths = st.text("01", min_size=1, max_size=12)
tables = st.dictionaries(words, paths, min_size=1, max_size=12)


@given(tables, st.lists(words, max_size=12), st.integers(0, 12))
def test_words_have_the_first_bits_of_their_class(table, others, length):
    clusters, asked = Clusters.of(table), [*table, *others]
    expected = [table.get(word, "")[: length or None] for word in asked]
    assert clusters.texts(asked, [length])[0] == expected
    name = f"c{length or ''}"
    column = clusters.columns(Column.of(asked), [name])[name]
    assert column.texts() == expected
    values = column.known[0, 0][column.ids]
    assert [bool(value) for value in values] == [bool(text) for text in expected]
    again = Clusters.take(clusters.about, dict(clusters.tensors))
    assert again.texts(asked, [length])[0] == expected
    assert again.summary == clusters.summary


def test_the_same_classes_in_every_format(tmp_path):
    table = {"the": "0010", "a": "0011", "dog": "10", "#1": "0100"}
    rows = list(table.items())
    files = {
        "bits": "".join(f"{word}\t{bits}\n" for word, bits in rows),
        "spaces": "".join(f"{word} {bits}\r\n" for word, bits in rows),
        "paths": "".join(f"{bits}\t{word}\t7\n" for word, bits in rows),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, newline="")
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        for file in (name, f"{name}.gz"):
            clusters = Clusters.from_file(tmp_path / file)
            assert clusters.tree
            assert clusters.texts([*table, "cat"], [0])[0] == [*table.values(), ""]
            assert clusters.texts(["the", "a", "dog"], [3])[0] == ["001", "001", "10"]


def test_numbers_have_no_prefixes(tmp_path):
    file = tmp_path / "classes"
    file.write_text("the\t12\na\t12\ndog\t7\n")
    clusters = Clusters.from_file(file)
    assert not clusters.tree
    assert clusters.texts(["a", "the", "dog", "cat"], [0])[0] == ["12", "12", "7", ""]
    assert clusters.texts(["a", "the", "dog", "cat"], [4])[0] == [""] * 4
    again = Clusters.take(clusters.about, dict(clusters.tensors))
    assert again.texts(["a", "cat"], [4])[0] == ["", ""]
    assert again.texts(["a", "cat"], [0])[0] == ["12", ""]


def test_tables_of_spacy_have_the_lowest_bit_first(tmp_path):
    file = tmp_path / "en_lexeme_cluster.json.gz"
    table = {"the": 0b1011, "a": 0b0010, "dog": 0b10000, "odd": 0}
    file.write_bytes(gzip.compress(json.dumps(table, indent=1).encode()))
    clusters = Clusters.from_file(file)
    assert len(clusters) == 3
    assert clusters.texts([*table], [0])[0] == ["11010", "01000", "00001", ""]
    for word, number in table.items():
        if number:
            assert int(clusters.texts([word], [4])[0][0][::-1], 2) == number & 15


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "file: no words; expected lines of a word, a tab and its class"),
        ("the\t01\n\tx\n", "file:2: '\\tx'; expected a word, a tab and its class (bits such as 0110, or a number)"),
        ("the\t01\nword\n", "file:2: 'word'; expected a word"),
        ("the\tDT\n", "file:1: 'the\\tDT'; expected a word"),
        ("01\tthe\t3\nthe\t01\n", "file:2: 'the\\t01'; expected bits, word and count"),
        ("{", "file: not JSON"),
        ('{"a": "b"}', "file: 'a': 'b'; expected a number"),
        ('{"a":' * 100_000, "file: not JSON"),
        ('{"a": -1}', "file: 'a': -1; expected a number"),
    ],
)
def test_mistakes_in_files(tmp_path, content, message):
    file = tmp_path / "file"
    file.write_text(content)
    with pytest.raises(StructronError) as error:
        Clusters.from_file(file)
    assert str(error.value).replace(f"{tmp_path}/", "").startswith(message)


@pytest.mark.parametrize("given", [{}, {"a": "012"}, {"a": ""}, {1: "01"}, ["a"], 3])
def test_what_are_no_clusters(given):
    with pytest.raises(StructronError, match=r"clusters: .*; expected"):
        make_clusters(given)


def test_names_of_atoms():
    lengths = {"c": 0, "c1": 1, "c4": 4, "c64": 64, "c0": None, "c04": None, "c100": None, "w": None, "cc": None}
    assert {name: prefix_length(name) for name in lengths} == lengths


def test_unknown_words_have_no_feature():
    clusters = Clusters.of({"the": "00", "dog": "10", "cat": "11"})
    templates = parse_templates(["c[0]", "c1[0]|c1[1]", "w[0]"])
    prepared = TemplateExtractor(["w", "y"], "y", templates, tables=[clusters]).prepare([["the", "dog", "runs"]])
    names = [[name for _, name, _ in prepared.describe(0, token, False)] for token in range(3)]
    edge = "c1[0]|c1[1]=0|1"
    assert names == [["c[0]=00", edge, "w[0]=the"], ["c[0]=10", "w[0]=dog"], ["w[0]=runs"]]
    ptr, hashes, _ = prepared.hashes(0, 1)
    described = [key for token in range(3) for key, _, _ in prepared.describe(0, token, False)]
    assert hashes.tolist() == described
    assert ptr.tolist() == [0, 3, 5, 6]


def test_templates_without_classes_get_the_usual_ones():
    clusters = Clusters.of({"the": "00"})
    extractor = TemplateExtractor(["w", "y"], "y", parse_templates(["w[0]"]), tables=[clusters])
    assert [str(t) for t in extractor.templates] == ["w[0]", "c4[0]", "c6[0]", "c10[0]", "c[0]"]


def test_presets_are_as_they_were_without_clusters():
    for preset in ("tagger", "entities", "entities-words", "chunker"):
        without, with_them = load_templates(preset), load_templates(preset, ["clusters"])
        assert with_them[: len(without)] == without
        assert any(name == "c6" for t in with_them for name, _ in t.parts)
        assert not any(prefix_length(name) is not None for t in without for name, _ in t.parts)
    assert "s0.c6|s1.c6" in template_lines("default", "parser", ["clusters"])
    assert not any(".c6" in line for line in template_lines("default", "parser"))


def test_a_column_that_is_called_like_a_class():
    clusters = Clusters.of({"the": "00"})
    for names in (["w", "c4", "y"], ["w", "c"]):
        with pytest.raises(
            StructronError, match=r"column 'c4?': with clusters, templates use this name for classes of words"
        ):
            TemplateExtractor(names, names[-1], parse_templates(["w[0]"]), tables=[clusters])
    with pytest.raises(StructronError, match=r"unknown atom 'c6'.*with clusters: c, c1 … c64"):
        TemplateExtractor(["w", "y"], "y", parse_templates(["c6[0]"]))


def _classed(first: int, count: int) -> list:
    """Sentences of words that are seen once: their class alone says what they are."""
    return [[(f"w{first + 4 * s + k}", "AB"[(first + 4 * s + k) % 3 == 0]) for k in range(4)] for s in range(count)]


CLASSES = {f"w{k}": "0" if k % 3 == 0 else "1" for k in range(400)}


@pytest.mark.parametrize("kind", [structron.Tagger, structron.Chunker])
def test_classes_tell_what_unknown_words_are(kind, tmp_path):
    train, test = _classed(0, 40), _classed(200, 40)
    options = {"passes": 3, "runs": 1, "cutoff": 0, "templates": ["w[0]"]}
    model = kind(**options, clusters=CLASSES).fit(train)
    bare = [[row[:1] for row in sentence] for sentence in test]
    correct = [[label for _, label in sentence] for sentence in test]
    assert model.predict(bare) == correct
    assert kind(**options).fit(train).predict(bare) != correct
    model.save(tmp_path / "model")
    again = structron.load(tmp_path / "model")
    assert again.predict(bare) == correct
    assert again.clusters_.summary == model.clusters_.summary
    assert f"clusters clusters {model.clusters_.about['digest']}" in again.signature_
    assert model.clusters == CLASSES
    more = [[(f"w{k}", "C")] for k in range(399, 340, -2)]  # going on, the words have the classes that they had
    assert again.partial_fit(more * 3).clusters_.summary == model.clusters_.summary
    again = structron.load(tmp_path / "model")
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_damaged_tables_are_refused():
    clusters = Clusters.of(CLASSES)
    about = clusters.about
    for own in (None, {}, about | {"words": 0}, about | {"words": 10**9}, about | {"tree": 1}):
        with pytest.raises(ValueError, match="cluster"):
            Clusters.take(own, dict(clusters.tensors))
    for name in clusters.tensors:
        with pytest.raises((ValueError, KeyError)):
            Clusters.take(clusters.about, clusters.tensors | {name: np.zeros(9, np.uint8)})
