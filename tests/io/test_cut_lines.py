"""Column files cut into batches: the sentences are the same."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from structron.errors import StructronError
from structron.io.conll import cut_lines, read_conll, shows_columns

LINES = st.sampled_from(
    ["a b\n", "- b\n", "# # \n", "# x\n", "\n", " \n", "\r\n", "-DOCSTART- X\n", "# newdoc\n", "c\td\n"]
)


@given(st.lists(LINES, min_size=1, max_size=40), st.integers(1, 12))
def test_lines_that_are_cut_are_the_same_sentences(lines, most):
    """However a file is cut, its sentences are those of the whole file, but for where documents begin."""
    try:
        whole = list(read_conll(iter(lines), "f"))
    except StructronError:
        return
    like = next((line for line in whole[0].lines if shows_columns(line)), "")
    assume(like)
    found, start = [], 1
    for block in cut_lines(iter(lines), most):
        found += read_conll(iter(block), "f", like, start)
        start += len(block)
    assert start == len(lines) + 1
    for own, expected in zip(found, whole, strict=True):
        assert replace(own, new_document=False) == replace(expected, new_document=False)
