"""Files that unpack to more than memory holds: a sentence has a limit, and memory follows the longest one."""

import gzip
import tracemalloc

import pytest

from structron.cli.app import main
from structron.errors import StructronError
from structron.io import read
from structron.io.limits import DEFAULT_CHARACTERS, VARIABLE, Measure, longest_sentence, sentences_of
from structron.io.text import read_lines

LINE = "word NN O\n"


def gzipped(path, text: str, times: int):
    """A file that says a text many times, in few bytes."""
    path.write_bytes(gzip.compress(text.encode() * 1000) * (times // 1000))
    return path


@pytest.mark.parametrize(
    "text", [LINE, "x", "\n", " \t\n", "# comment\n"], ids=["sentence", "line", "blank", "spaces", "comments"]
)
def test_a_file_without_end_is_refused_before_it_fills_the_memory(tmp_path, text):
    path = gzipped(tmp_path / "bomb.conll.gz", text, 100_000_000 // len(text))
    tracemalloc.start()
    try:
        with pytest.raises(
            StructronError, match=r"bomb.conll.gz:\d+: a sentence of more than 1000000 characters; .*--max-sentence"
        ):
            list(read(path))
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("blank", ["\n", " \n", "\r\n"])
def test_many_short_sentences_are_no_long_one(tmp_path, blank):
    path = tmp_path / "many.conll"
    path.write_text((LINE * 3 + blank) * 100_000, newline="")
    assert sum(1 for _ in read(path)) == 100_000


def test_the_limit_counts_to_the_character(monkeypatch):
    monkeypatch.setenv(VARIABLE, "30")
    measure = Measure("f")
    measure.see(LINE * 2 + "\n" + LINE * 2 + "\n", 1)
    measure.see(LINE * 2, 7)
    with pytest.raises(StructronError, match=r"^f:10: a sentence of more than 30 characters"):
        measure.see(LINE * 2, 9)


def test_the_limit_can_be_raised_and_lowered(tmp_path, monkeypatch):
    path = tmp_path / "long.conll"
    path.write_text(LINE * (DEFAULT_CHARACTERS // len(LINE) + 1))
    with pytest.raises(StructronError, match="a sentence of more than"):
        list(read(path))
    with sentences_of(2 * DEFAULT_CHARACTERS):
        assert len(next(iter(read(path))).rows) == DEFAULT_CHARACTERS // len(LINE) + 1
    assert longest_sentence() == DEFAULT_CHARACTERS
    monkeypatch.setenv(VARIABLE, "many")
    with pytest.raises(StructronError, match="STRUCTRON_MAX_SENTENCE: many; expected a number of characters"):
        longest_sentence()


def test_a_command_takes_the_limit(tmp_path, capsys):
    path = tmp_path / "long.conll"
    path.write_text("".join(f"w{k} {'AB'[k % 2]}\n" for k in range(200)))
    argv = ["train", "tagger", "--train", str(path), "--model", str(tmp_path / "m"), "--passes", "1", "-q"]
    assert main([*argv, "--max-sentence", "1000"]) == 2
    assert capsys.readouterr().err.startswith(f"structron: error: {path}:")
    assert not (tmp_path / "m").exists()
    assert main([*argv, "--max-sentence", "10000"]) == 0


def test_long_lines_of_plain_text_come_in_pieces(tmp_path):
    path = gzipped(tmp_path / "text.txt.gz", "One sentence. ", 1_000_000)
    pieces = list(read_lines(path, plain=True))
    assert "".join(pieces) == "One sentence. " * 1_000_000
    assert max(map(len, pieces)) < 3_000_000


def test_a_long_line_takes_no_longer_than_its_length():
    """Half a million characters in a line, looked at once; a search from each of them would take hours."""
    measure = Measure("f")
    measure.see("x" * 500_000 + "\n" + LINE, 1)
    assert (measure.open, measure.begun) == (500_001 + len(LINE), True)
    measure.see("\n \n" + LINE, 3)
    assert (measure.open, measure.begun) == (2 + len(LINE), True)
    measure.see(LINE + "\n\n\n", 6)
    assert (measure.open, measure.begun) == (2, False)
    measure.see("\n\n", 9)
    assert (measure.open, measure.begun) == (4, False)
