import bz2
import errno
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import conllu
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structron.io
from helpers import CORPORA
from structron.errors import StructronError
from structron.io import (
    CONLLU_COLUMNS,
    FORMATS,
    atomic_write_bytes,
    check_writable,
    detect_format,
    open_output,
    read,
    read_lines,
    replace_fields,
)

FILES = sorted(CORPORA.glob("*/*.conll*"))

WORD = "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n"
NOUN = "2\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="f.conll"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def failing(code, text):
    """A function that fails as the system does."""

    def fail(*_, **__):
        raise OSError(code, text)

    return fail


def text_of(sentences):
    return "".join(line for sentence in sentences for line in sentence.lines)


def words(sentences, column=0):
    return [[row[column] for row in sentence.rows] for sentence in sentences]


def problem(path, **options):
    """The message of the error that reading a file raises, without the folder."""
    with pytest.raises(StructronError) as caught:
        list(read(path, **options))
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(path), path.name)


# --- column files ---------------------------------------------------------------------------------


def test_sentence_keeps_fields_lines_and_place(write):
    content = "\n# intro\nthe DT O\ndog NN B\n\n\nit PRP O\n"
    first, second = read(write(content))
    assert first.rows == [["the", "DT", "O"], ["dog", "NN", "B"]]
    assert first.lines == ["\n", "# intro\n", "the DT O\n", "dog NN B\n", "\n", "\n"]
    assert (first.token_lines, first.line_number, first.new_document) == ([2, 3], 1, False)
    assert (second.rows, second.token_lines, second.line_number) == ([["it", "PRP", "O"]], [0], 7)
    assert text_of([first, second]) == content


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        *[(text, [["a", "X"]]) for text in ("a X", "a X\n", "a X\r\n\r\n", "\n\n a X  \n \n\t\r\n", "a\tX\n\n\n\n")],
        ("a X\n\n# good bye\n-DOCSTART- X\n \t\n", [["a", "X"]]),
        # only \n ends a line, and fields stand between tabs or runs of ASCII spaces
        ("a\u0085b\u2028c\rd\x0be\x0cf\x1cg\u2029 X\r\n", [["a\u0085b\u2028c\rd\x0be\x0cf\x1cg\u2029", "X"]]),
        ("1 000\t\tX\n New York\tNN\tY \n", [["1 000", "", "X"], [" New York", "NN", "Y "]]),
        ("1\u00a0000   NN X  \n  a\u3000b NN   Y\n", [["1\u00a0000", "NN", "X"], ["a\u3000b", "NN", "Y"]]),
        ("a\n\u00a0\n\u3000\nb\n", [["a"], ["\u00a0"], ["\u3000"], ["b"]]),
        # byte order marks
        ("\ufeffa X\n", [["a", "X"]]),
        ("\ufeff\na X\n", [["a", "X"]]),
        ("\ufeff# hello there you\na X\n", [["a", "X"]]),
        ("\ufeff# X\na X\n", [["#", "X"], ["a", "X"]]),
        ("\ufeff#\tX\na\tX\n", [["#", "X"], ["a", "X"]]),
        ("a X\n\ufeff X\n", [["a", "X"], ["\ufeff", "X"]]),
        # what is no start of a document, and no metadata
        ("-DOCSTART X\n- X\n-- X\n", [["-DOCSTART", "X"], ["-", "X"], ["--", "X"]]),
        ("a Number=Sing\n# Type=Sign\n", [["a", "Number=Sing"], ["#", "Type=Sign"]]),
    ],
)
def test_one_sentence(write, content, rows):
    """What stands before and after it stays with it."""
    (sentence,) = read(write(content))
    assert sentence.rows == rows
    assert text_of([sentence]) == content
    assert sentence.new_document is False


def test_byte_order_mark_before_docstart(write):
    (sentence,) = read(write("\ufeff-DOCSTART- O\na O\n"))
    assert (sentence.rows, sentence.new_document) == ([["a", "O"]], True)


def test_docstart_is_a_boundary_with_or_without_a_blank_line(write):
    content = "-DOCSTART- -X- O\n\na NN O\n\nb NN O\n\n-DOCSTART- -X- O\nc NN O\n-DOCSTART-\nd NN O\n"
    sentences = list(read(write(content)))
    assert words(sentences) == [["a"], ["b"], ["c"], ["d"]]
    assert [s.new_document for s in sentences] == [True, False, True, True]
    assert [s.line_number for s in sentences] == [1, 5, 7, 9]
    assert sentences[2].lines == ["-DOCSTART- -X- O\n", "c NN O\n"]
    assert text_of(sentences) == content


def test_comments_of_a_tab_separated_file(write):
    content = "# newdoc id = d1\n# a b\n#\t#\tO\n#\na\tNN\tO\n# text = with\ta tab\n\n# newdoc\nb\tNN\tO\n"
    sentences = list(read(write(content)))
    assert words(sentences) == [["#", "a"], ["b"]]
    assert [s.token_lines for s in sentences] == [[2, 4], [1]]
    assert [s.new_document for s in sentences] == [True, True]


def test_hash_is_a_word_when_the_columns_fit(write):
    content = "# # B-NP\n# five words are a comment\n#1 CD I-NP\na NN O\n\n# # O\n# no\n"
    assert words(read(write(content))) == [["#", "#1", "a"], ["#"]]


@pytest.mark.parametrize("comment", ["# newdoc", "# sent_id = 7", "# text = x", "# newpar id = 3", "# a.b ="])
def test_metadata_is_a_comment_even_when_the_columns_fit(write, comment):
    row = " ".join("abcdefghi"[: len(comment.split())])
    sentences = list(read(write(f"{row}\n\n{comment}\n{row}\n")))
    assert [len(s.rows) for s in sentences] == [1, 1]
    assert sentences[1].new_document == comment.startswith("# newdoc")


def test_sentences_before_an_error_are_delivered(write):
    sentences = read(write("a X\n\nb X\n\nc\n"))
    assert next(sentences).rows == [["a", "X"]]
    with pytest.raises(StructronError, match=":5: 1 column"):
        list(sentences)


BAD_LINES = {
    "a NN O\n\nb NN O X\n": ":3: 4 columns where 3 were expected",
    "# # O\n\n\na\tNN\n\tNN\nb\n": ":6: 1 column where 2 were expected",
    "a\nb c\n": ":2: 2 columns where 1 was expected",
    **dict.fromkeys(["", gzip.compress(b"", mtime=0)], ": the file is empty"),
    **dict.fromkeys(["\n", "# only\n# comments\n", "# # B-NP", "-DOCSTART- O\n\n", "\ufeff", " \t"], ": no sentences"),
    b"a X\n\xc3": ":2: not valid utf-8 (byte 0xc3)",
    b"PK\x03\x04\x14\0": ": a zip archive, as Word and LibreOffice write them; expected plain text",
    b"%PDF-1.7\n": ": a PDF file; expected plain text",
}
BAD_CONLLU = {
    f"{WORD}2\tdog\tdog\n": ":2: 3 columns separated by tabs where 10 were expected",
    "1 the the\n": ":1: 1 column separated by tabs where 10 were expected",
    f"# x\n{WORD}{WORD}": ":3: word id 1 where 2 was expected",
    f"{WORD}\n{NOUN}": ":3: word id 2 where 1 was expected",
    f"{WORD}{NOUN.replace('2', '2-1', 1)}": ":2: malformed id '2-1'; expected a word id",
    **{WORD.replace("1", id, 1): f":1: malformed id '{id}'; expected a word id" for id in ("x", "\u0661", "1.0", "")},
    f"{WORD}{NOUN.replace('dog', '', 1)}": ":2: FORM is empty; expected a value, or _ for none",
    "1\tthe\t\tDET\tDT\t_\t2\tdet\t_\t_\n": ":1: LEMMA is empty; expected a value, or _ for none",
    "# x\n\n": ": no sentences",
}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        *(("f.conll", content, message) for content, message in BAD_LINES.items()),
        *(("f.conllu", content, message) for content, message in BAD_CONLLU.items()),
    ],
)
def test_files_that_cannot_be_read(write, name, content, message):
    assert problem(write(content, name)).startswith(f"{name}{message}")


# --- CoNLL-U --------------------------------------------------------------------------------------


def test_conllu_words_only(write):
    span, empty = WORD.replace("1", "1-2", 1), NOUN.replace("2", "2.1", 1)
    zero = WORD.replace("1", "0.1", 1)
    content = f"# newdoc id = x\n# text = the dog\n{zero}{span}{WORD}{NOUN}{empty}\n\n{span}{WORD}# inside\n{NOUN}"
    first, second = read(write(content, "f.conllu"))
    assert [len(row) for row in first.rows] == [len(CONLLU_COLUMNS)] * 2
    assert (words([first], 1), first.token_lines) == ([["the", "dog"]], [4, 5])
    assert (second.token_lines, second.line_number) == ([1, 3], 10)
    assert (first.new_document, second.new_document) == (True, False)
    assert text_of([first, second]) == content


def test_conllu_newdoc_spaces_and_crlf(write):
    sentences = list(read(write(f"{WORD}\n# newdoc\n{WORD}\n# newdocs\n{WORD}# newdoc\n{WORD}", "f.conllu")))
    assert [s.new_document for s in sentences] == [False, True, False, True]
    content = f"\ufeff# x\r\n{WORD.replace('the', 'more than', 1)}".replace("_\n", "_\r\n")
    (sentence,) = read(write(content, "f.conllu"))
    assert (sentence.rows[0][1], sentence.rows[0][9]) == ("more than", "_")
    assert text_of([sentence]) == content


# --- formats, files and encodings -----------------------------------------------------------------


def test_detect_format():
    assert FORMATS == ("conll", "conllu")
    assert [detect_format(p) for p in ("a.conllu", "a.CONLLU.gz", Path("b.conllu"))] == ["conllu"] * 3
    assert [detect_format(p) for p in ("a.conll", "a.txt", "-", "conllu", "a.gz")] == ["conll"] * 5
    assert detect_format("a.conll", "conllu") == "conllu"
    with pytest.raises(StructronError, match="unknown format 'xml'; expected one of: conll, conllu"):
        detect_format("a.conll", "xml")


def test_format_can_be_forced(write):
    path = write(f"{WORD.replace('1', '1-2', 1)}{WORD}")
    assert [len(next(read(path, format)).rows) for format in ("conll", "conllu")] == [2, 1]


def test_gzip_is_known_by_its_content(write):
    members = gzip.compress(b"a X\n\nb") + b"\0\0" + gzip.compress(b" X\n") + b"\0"
    assert words(read(write(members))) == [["a"], ["b"]]
    assert words(read(write("a X\n", "plain.gz"))) == [["a"]]
    assert words(read(write("a", "one-byte"))) == [["a"]]


def test_damaged_gzip(write):
    whole = gzip.compress(os.urandom(1000).hex().encode())
    for damaged in (whole[:-4], whole[:2], whole[:30] + b"\0\0\0\0" + whole[34:], whole + b"garbage"):
        assert problem(write(damaged, "f.gz")).startswith("f.gz: damaged gzip file")


zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress, zstd.compress], ids=["bzip2", "xz", "zstd"])
def test_other_packed_files_are_known_by_their_content(write, pack):
    assert words(read(write(pack(b"a X\n\nb") + pack(b" X\n"), "plain"))) == [["a"], ["b"]]
    text = "".join(f"w{k} X\n\n" for k in range(20_000))
    assert len(list(read(write(pack(text.encode()), "long")))) == 20_000
    whole = pack(os.urandom(1000).hex().encode())
    for damaged in (whole[:-9], whole[:20], whole + b"garbage"):
        assert re.search(r"f: damaged (bzip2|xz|zstd) file", problem(write(damaged, "f")))


def test_reading_streams(monkeypatch):
    class Endless(io.RawIOBase):
        served = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            block = b"a X\n\nb X\n\n"
            buffer[: len(block)] = block
            self.served += 1
            return len(block)

    endless = Endless()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(endless)))
    sentences = read("-")
    assert words([next(sentences), next(sentences)]) == [["a"], ["b"]]
    assert endless.served < 5


def test_standard_input(monkeypatch):
    def given(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="ascii"))

    given(gzip.compress("é X\r\n".encode()))
    assert [s.lines for s in read("-")] == [["é X\r\n"]]
    assert not sys.stdin.buffer.closed
    given(b"a X\nb\n")
    with pytest.raises(StructronError, match=r"^<stdin>:2: 1 column"):
        list(read(Path("-")))


def test_unreadable_paths(tmp_path):
    for path, reason in ((tmp_path / "none", "no such file"), (tmp_path, "is a directory")):
        with pytest.raises(StructronError, match=rf"{path.name}: cannot be read \({reason}"):
            read(path)


def test_unreadable_permission(write, monkeypatch):
    path = write("a X\n")
    monkeypatch.setattr("builtins.open", failing(errno.EACCES, "Permission denied"))
    with pytest.raises(StructronError, match=r"f.conll: cannot be read \(permission denied\)"):
        read(path)


def test_read_error_in_the_middle(monkeypatch):
    class Failing(io.BytesIO):
        read1 = failing(errno.EIO, "Input/output error")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Failing(b"a X\n")))
    with pytest.raises(StructronError, match=r"<stdin>: cannot be read \(input/output error\)"):
        list(read("-"))


@pytest.mark.parametrize("before", [0, 1, 7, 20_000, 100_000])
def test_invalid_bytes_name_their_line(write, before):
    content = "é X\n".encode() * before + b"caf\xe9 X\n"
    expected = f"f.conll:{before + 1}: not valid utf-8 (byte 0xe9); give --encoding (for instance iso-8859-1)"
    assert problem(write(content)) == expected


def test_files_in_another_encoding_than_said(write):
    said = "f.conll:2: not valid ascii (byte 0xc3); give --encoding (for instance utf-8)"
    assert problem(write("a X\né X\n"), encoding="ascii") == said
    assert problem(write("a X\n"), encoding="utf-16").startswith("f.conll:1: not valid utf-16")


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "utf-16-le", "utf-8-sig", "shift_jis", "gb18030"])
def test_encodings(write, encoding):
    content = ("café X\r\n\n" if encoding == "iso-8859-1" else "日本 X\r\n\n") * 20_000
    sentences = list(read(write(content.encode(encoding)), encoding=encoding))
    assert text_of(sentences) == content


@pytest.mark.parametrize("encoding", ["no-such", "rot13", "hex", ""])
def test_unknown_encoding(write, encoding):
    path = write("a X\n")
    for action in (lambda: read(path, encoding=encoding), open_output("-", encoding).__enter__):
        with pytest.raises(StructronError, match=f"unknown encoding '{encoding}'; expected a name such as"):
            action()


def test_long_lines_and_chunk_borders(write):
    content = "".join("é" * size + " X\n" for size in (1, 65_535, 65_536, 300_000, 2))
    assert "".join(read_lines(write(content))) == content
    assert [len(line) for line in read_lines(write(content))] == [4, 65_538, 65_539, 300_003, 5]


def test_io_needs_no_numeric_library():
    code = (
        "import sys, types; package = types.ModuleType('structron'); "
        f"package.__path__ = [{str(Path(structron.io.__file__).parents[1])!r}]; "
        "sys.modules['structron'] = package; import structron.io; "
        "sys.exit(bool({'numpy', 'numba'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- replacing fields -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "changes", "expected"),
    [
        ("a NN O\nb NN O\n\n", {2: ["B", "I"]}, "a NN B\nb NN I\n\n"),
        ("# c\na NN O\r\n\r\n", {1: ["X"]}, "# c\na X O\r\n\r\n"),
        ("a\tNN\tO", {2: ["B"]}, "a\tNN\tB"),
        ("a\tNN\t\r\n", {2: ["B"]}, "a\tNN\tB\r\n"),
        ("a\tNN\tO\r\n", {0: ["x y"], 1: [""]}, "x y\t\tO\r\n"),
        ("  a   NN O  \r\n", {0: ["longer"], 2: ["B"]}, "  longer   NN B  \r\n"),
        ("\ufeffa O\n", {0: ["b"]}, "\ufeffb O\n"),
        ("\ufeff# x y z\na O\n", {0: ["b"]}, "\ufeff# x y z\nb O\n"),
        ("a O\n", {2: ["X"]}, "a O X\n"),
        ("a   O  \n", {2: ["X"]}, "a   O   X  \n"),
        ("a\tO", {2: ["X"]}, "a\tO\tX"),
        ("a\r\n", {1: ["X"]}, "a\tX\r\n"),
        ("a\n", {0: ["b"]}, "b\n"),
        ("a\n", {1: ["X Y"]}, "a\tX Y\n"),
        ("a O\n", {3: ["Y"], 2: ["X"], 0: ["b"]}, "b O X Y\n"),
        ("a O\n", {}, "a O\n"),
    ],
)
def test_replace_fields(write, content, changes, expected):
    (sentence,) = read(write(content))
    assert replace_fields(sentence, changes) == expected
    assert text_of([sentence]) == content


def test_replace_fields_of_conllu_leaves_other_lines(write):
    span = WORD.replace("1", "1-2", 1)
    (sentence,) = read(write(f"# t\n{span}{WORD}{NOUN}\n", "f.conllu"))
    changed = replace_fields(sentence, {3: ["X", "Y"]})
    assert changed == f"# t\n{span}{WORD.replace('DET', 'X')}{NOUN.replace('NOUN', 'Y')}\n"


@pytest.mark.parametrize("value", ["a b", "", "a\tb", "a\nb"])
def test_values_that_would_change_the_columns(write, value):
    (sentence,) = read(write("a  O\n"))
    for column in (0, 1, 2):
        with pytest.raises(StructronError, match="; expected"):
            replace_fields(sentence, {column: [value]})


@pytest.mark.parametrize("changes", [{3: ["X"]}, {-1: ["X"]}, {0: ["X", "Y"]}, {1: []}])
def test_changes_that_do_not_fit(write, changes):
    (sentence,) = read(write("a O\n"))
    with pytest.raises(ValueError, match="column"):
        replace_fields(sentence, changes)


# --- properties -----------------------------------------------------------------------------------

ODD = [*"ab#- =\t\r\n\n\n\ufeff\u0085\u2028\u00a0\u3000é", "-DOCSTART-", "# newdoc", "\r\n", "a X\n", "# a X\n", "1-2"]
fragments = st.sampled_from(ODD)


def read_text(content, name="f.conll"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content.encode())
        return list(read(path))


@given(st.lists(fragments, max_size=40).map("".join), st.sampled_from(["f.conll", "f.conllu"]))
def test_any_text_is_kept_or_refused(content, name):
    try:
        sentences = read_text(content, name)
    except StructronError:
        return
    assert text_of(sentences) == content
    place = 1
    for sentence in sentences:
        assert sentence.line_number == place
        assert len(sentence.rows) == len(sentence.token_lines) > 0
        place += len(sentence.lines)
        again = replace_fields(sentence, dict(enumerate(map(list, zip(*sentence.rows, strict=True)))))
        assert again == "".join(sentence.lines)


field = st.text(st.sampled_from("abc#-é\u00a0\u3000\u2028日"), min_size=1, max_size=4)


@st.composite
def column_files(draw):
    """Text of a column file with the fields its reader must find."""
    tabs, width = draw(st.booleans()), draw(st.integers(2, 4))
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]]))
    gap = st.just("\t") if tabs else st.sampled_from([" ", " ", "  ", "     "])
    pad = st.just("") if tabs else st.sampled_from(["", "", " ", "   "])
    extra = st.sampled_from(["# text = a b c d e f\n", "# newdoc id = 1\r\n", "-DOCSTART- X\n", "\n", " \r\n"])
    content, sentences = "", []
    for _ in range(draw(st.integers(1, 4))):
        content += "".join(draw(st.lists(extra, max_size=3)))
        rows = draw(st.lists(st.lists(field, min_size=width, max_size=width), min_size=1, max_size=5))
        for row in rows:
            separated = row[0] + "".join(draw(gap) + value for value in row[1:])
            content += draw(pad) + separated + draw(pad) + draw(st.sampled_from(ends))
        content += "".join(draw(st.lists(st.sampled_from(["\n", "\r\n", "\t \n"]), min_size=1, max_size=3)))
        sentences.append(rows)
    content += "".join(draw(st.lists(extra, max_size=3)))
    return content if draw(st.booleans()) else content.rstrip("\r\n"), sentences


def is_readable_alone(rows):
    """Whether the file's first row shows the columns: a ``#`` line can only follow another row's example."""
    return any(not row[0].startswith("#") for sentence in rows for row in sentence)


@given(column_files().filter(lambda made: is_readable_alone(made[1])), st.data())
def test_replacing_changes_the_column_and_nothing_else(made, data):
    """And the reader finds what was written."""
    content, expected = made
    sentences, width = read_text(content), len(expected[0][0])
    assert [s.rows for s in sentences] == expected
    assert text_of(sentences) == content
    column = data.draw(st.integers(1, width))
    changed, values = "", []
    for sentence in sentences:
        values.append([data.draw(field) for _ in sentence.rows])
        changed += replace_fields(sentence, {column: values[-1]})
    again = read_text(changed)
    for sentence, rows, new in zip(again, expected, values, strict=True):
        assert sentence.rows == [[*r[:column], v, *r[column + 1 :]] for r, v in zip(rows, new, strict=True)]
    if column < width:
        restored = "".join(
            replace_fields(sentence, {column: [row[column] for row in rows]})
            for sentence, rows in zip(again, expected, strict=True)
        )
        assert restored == content


# --- writing --------------------------------------------------------------------------------------


def test_output_is_written_as_it_is(tmp_path):
    path = tmp_path / "out.conll"
    with open_output(path) as out:
        out.write("é\r\n\n")
        out.write("x\u2028\r")
        assert not path.exists()
    assert path.read_bytes() == "é\r\n\nx\u2028\r".encode()
    assert os.listdir(tmp_path) == ["out.conll"]
    for name in ("a.gz", "b.gz"):
        with open_output(str(tmp_path / name), "iso-8859-1") as out:
            out.write("é\n" * 1000)
    packed = (tmp_path / "a.gz").read_bytes()
    assert gzip.decompress(packed) == b"\xe9\n" * 1000
    assert packed == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("path", [None, "-", Path("-")])
def test_standard_output_stays_open(capfdbinary, path):
    with open_output(path) as out:
        out.write("é\r\n")
    with open_output(path, "iso-8859-1") as out:
        out.write("é\r\n")
    assert capfdbinary.readouterr().out == "é\r\n".encode() + b"\xe9\r\n"


def test_standard_output_without_bytes(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with open_output("-") as out:
        out.write("é")
    assert sys.stdout.getvalue() == "é"


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
@pytest.mark.parametrize("exception", [RuntimeError, KeyboardInterrupt, SystemExit, StructronError])
def test_an_interrupted_output_leaves_the_old_file(tmp_path, name, exception):
    path = tmp_path / name
    path.write_bytes(b"old")

    def interrupted():
        with open_output(path) as out:
            out.write("new" * 100_000)
            raise exception

    with pytest.raises(exception):
        interrupted()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [name]


def test_unwritable_character(tmp_path, capfdbinary):
    path = tmp_path / "out"
    message = r"out: '日' \(U\+65E5\) cannot be written as ascii; give --encoding"
    with pytest.raises(StructronError, match=message), open_output(path, "ascii") as out:
        out.write("日")
    assert os.listdir(tmp_path) == []
    with pytest.raises(StructronError, match=r"^<stdout>: "), open_output(None, "ascii") as out:
        out.write("日")


def test_permissions_and_links_are_kept(tmp_path):
    """New files follow the umask."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    atomic_write_bytes(link, b"new")
    assert link.is_symlink()
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"new", 0o640)
    atomic_write_bytes(tmp_path / "atomic", b"")
    (tmp_path / "plain").touch()
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_devices_are_written_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_output(pipe) as out:
        out.write("x")
    assert os.read(reader, 10) == b"x"
    os.close(reader)
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


def test_check_writable(tmp_path, monkeypatch):
    old = tmp_path / "old"
    old.touch()
    for good in (None, "-", tmp_path / "new", old, os.devnull):
        check_writable(good)
    monkeypatch.chdir(tmp_path)
    check_writable("new")
    for bad, message in (
        (tmp_path, "is a folder"),
        ("none/new", "none/new: no folder none; create"),
    ):
        with pytest.raises(StructronError, match=message):
            check_writable(bad)
        with pytest.raises(StructronError, match=message), open_output(bad):
            pytest.fail("the block must not begin")
    monkeypatch.setattr(os, "access", lambda place, _: str(place) != str(tmp_path))
    for denied in (tmp_path / "new", old):
        with pytest.raises(StructronError, match="no permission to write"):
            check_writable(denied)
    assert os.listdir(tmp_path) == ["old"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_real_permissions(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(StructronError, match="no permission to write"):
        check_writable(tmp_path / "new")


@pytest.fixture
def old(tmp_path):
    """A file that must not be lost."""
    path = tmp_path / "model"
    path.write_bytes(b"old")
    yield path
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("content", [b"abc", bytearray(b"abc"), memoryview(b"abc"), [b"a", b"bc"], iter([b"abc"])])
def test_atomic_write_bytes(old, content):
    atomic_write_bytes(old, content)
    assert old.read_bytes() == b"abc"


def test_failing_chunks_leave_the_old_file(old):
    def chunks():
        yield b"new"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        atomic_write_bytes(old, chunks())
    assert old.read_bytes() == b"old"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(old, monkeypatch, step):
    monkeypatch.setattr(os, step, failing(errno.ENOSPC, "No space left on device"))
    with pytest.raises(StructronError, match=r"model: could not be written \(no space left on device\)"):
        atomic_write_bytes(old, b"new")
    with pytest.raises(StructronError, match="no space left"), open_output(old) as out:
        out.write("new")
    assert old.read_bytes() == b"old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device_is_reported():
    with pytest.raises(StructronError, match=r"/dev/full: could not be written \(no space left"):
        atomic_write_bytes("/dev/full", b"x" * 100_000)


def test_errors_of_the_block_are_not_the_output_s(tmp_path):
    with pytest.raises(FileNotFoundError), open_output(tmp_path / "out"):
        (tmp_path / "missing").read_bytes()
    assert os.listdir(tmp_path) == []


def test_a_file_can_be_rewritten_while_it_is_read(write):
    path = write("a O\n\nb O\n" * 50_000)
    with open_output(path) as out:
        for sentence in read(path):
            out.write(replace_fields(sentence, {1: ["X"] * len(sentence.rows)}))
    assert path.read_text() == "a X\n\nb X\n" * 50_000


# --- real corpora ---------------------------------------------------------------------------------


@pytest.mark.corpora
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_corpora_round_trip(path):
    encoding = "iso-8859-1" if path.parent.name == "conll2007-basque" else "utf-8"
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    same, rewritten = [], []
    for sentence in read(path, encoding=encoding):
        same += sentence.lines
        last = len(sentence.rows[0]) - 1
        rewritten.append(replace_fields(sentence, {last: [row[last] for row in sentence.rows]}))
    assert "".join(same).encode(encoding) == raw
    assert "".join(rewritten).encode(encoding) == raw


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "sentences", "tokens", "documents"),
    [
        ("conll2000/train.conll.gz", 8936, 211727, 0),
        ("conll2002-dutch/train.conll.gz", 15806, 202644, 287),
        ("ud-english-ewt/dev.conllu.gz", 2001, 25147, 318),
        ("uner-english-ewt/dev.conll.gz", 2001, 25149, 318),
        ("wsj-sample-dep/train.conll.gz", 3396, 81793, 0),
    ],
)
def test_corpora_counts(name, sentences, tokens, documents):
    if not (CORPORA / name).exists():
        pytest.skip(f"{name} is not here")
    counts = [0, 0, 0]
    for sentence in read(CORPORA / name):
        counts = [counts[0] + 1, counts[1] + len(sentence.rows), counts[2] + sentence.new_document]
    assert counts == [sentences, tokens, documents]


@pytest.mark.corpora
def test_conllu_fields_agree_with_the_conllu_package():
    path = CORPORA / "ud-english-ewt" / "dev.conllu.gz"
    if not path.exists():
        pytest.skip("the treebank is not here")
    as_text = {name: (lambda line, i: line[i]) for name in CONLLU_COLUMNS if name != "id"}
    theirs = conllu.parse(gzip.decompress(path.read_bytes()).decode(), field_parsers=as_text)
    ours = list(read(path))
    assert len(ours) == len(theirs)
    for sentence, other in zip(ours, theirs, strict=True):
        tokens = [token for token in other if isinstance(token["id"], int)]
        assert sentence.rows == [[str(token[name]) for name in CONLLU_COLUMNS] for token in tokens]
