"""The template language: what can be written, what cannot, and the sets that come with the package."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structron.errors import StructronError
from structron.features.templates import (
    MAX_ATOMS,
    MAX_OFFSET,
    Template,
    load_templates,
    parse_template,
    parse_templates,
)
from structron.features.templates import presets as names

parts = st.tuples(
    st.sampled_from(["w", "pos", "lemma.suffix3", "gaz_LOC", "été"]), st.integers(-MAX_OFFSET, MAX_OFFSET)
)
templates = st.builds(
    Template, st.lists(parts, min_size=1, max_size=MAX_ATOMS).map(tuple), st.sampled_from([(), (1,), (2,), (1, 3)])
)


@given(templates)
def test_a_template_can_be_read_back_from_its_text(template):
    assert parse_template(str(template)) == template


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w[0]", Template((("w", 0),))),
        ("  w[ -1 ] | w[+0]\t", Template((("w", -1), ("w", 0)))),
        ("pos[0]|pos[1] &y", Template((("pos", 0), ("pos", 1)), (1,))),
        ("pos[0]&y", Template((("pos", 0),), (1,))),
        ("pos[0] & y ", Template((("pos", 0),), (1,))),
    ],
)
def test_white_space_does_not_matter(text, expected):
    assert parse_template(text) == expected


@pytest.mark.parametrize(
    "text",
    ["w", "w[]", "w[x]", "w[0", "w0]", "[0]", "w[0]|", "|w[0]", "w[0]||w[1]", "w[0] w[1]", "w[1.5]", "a b[0]", "w[0]]"],
)
def test_what_is_not_an_atom_is_named(text):
    message = r"templates:3: .* is not an atom; expected name\[offset\] joined by"
    with pytest.raises(StructronError, match=message) as error:
        parse_templates(["w[0]", "", text])
    assert repr(text) in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *[(f"w[0]&{rest}", "only '&y' may follow the atoms") for rest in ("", "x", "yy", "y&y", "y|w[1]")],
        *[(f"w[{far}]", f"offset {far}; at most 99 is possible") for far in (100, -100, 10**30)],
        ("|".join(["w[0]"] * 9), f"9 atoms; at most {MAX_ATOMS} are possible"),
    ],
)
def test_what_cannot_be_a_template(text, message):
    with pytest.raises(StructronError, match=message):
        parse_template(text)


def test_comments_blank_lines_and_doubles():
    lines = ["# a comment", "", "w[0] # the word", "   ", "w[0]", "w[-1]|w[0]", "w[0]&y", " w[ 0 ] "]
    assert [str(t) for t in parse_templates(lines)] == ["w[0]", "w[-1]|w[0]", "w[0]&y"]


@pytest.mark.parametrize("lines", [[], ["", "# nothing"]])
def test_no_templates(lines):
    with pytest.raises(StructronError, match="no templates; expected one per line"):
        parse_templates(lines, "file.txt")


def test_every_preset_loads():
    assert {"collins-pos", "collins-np", "tagger", "chunker", "chunker-words", "chunk19"} <= set(names())
    for name in names():
        assert len(load_templates(name)) >= 5


def test_the_presets_of_the_paper():
    """Collins (2002), Figure 3 has 21 templates; Ratnaparkhi's set without the tag features has 16."""
    chunking = {str(t) for t in load_templates("collins-np")}
    words = {f"w[{k}]" for k in (-2, -1, 0, 1, 2)} | {f"w[{k}]|w[{k + 1}]" for k in (-2, -1, 0, 1)}
    tags = {text.replace("w", "pos") for text in words}
    tags |= {f"pos[{k}]|pos[{k + 1}]|pos[{k + 2}]" for k in (-2, -1, 0)}
    assert chunking == words | tags
    affixes = {f"{side}{k}[0]" for side in ("prefix", "suffix") for k in (1, 2, 3, 4)}
    around = {f"w[{k}]" for k in (-2, -1, 0, 1, 2)}
    assert {str(t) for t in load_templates("collins-pos")} == affixes | around | {"digit[0]", "upper[0]", "hyphen[0]"}


def test_a_file_of_templates(tmp_path):
    """A mistake in it is told by its line."""
    path = tmp_path / "own.txt"
    path.write_bytes("\ufeffw[0]\r\npos[0]&y # paired\r\n".encode())
    assert [str(t) for t in load_templates(path)] == ["w[0]", "pos[0]&y"]
    assert load_templates(str(path)) == load_templates(path)
    path.write_text("w[0]\n\nw[x]\n")
    with pytest.raises(StructronError, match=r"own\.txt:3: 'w\[x\]'"):
        load_templates(path)


def test_neither_a_preset_nor_a_file(tmp_path):
    with pytest.raises(StructronError, match=r"'tager': neither a preset \(.*collins-np.*\) nor a readable file"):
        load_templates("tager")
    broken = tmp_path / "latin.txt"
    broken.write_bytes(b"w[0] # \xe9\n")
    for path in (tmp_path, broken):
        with pytest.raises(StructronError, match="nor a readable file"):
            load_templates(path)


def test_a_list_of_templates():
    template = parse_template("w[0]&y")
    assert load_templates(["w[-1]", template]) == [parse_template("w[-1]"), template]
