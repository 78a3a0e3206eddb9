"""What users give: sentences, documents, rows; and giving back a list per sentence."""

from collections import deque

import numpy as np
import pytest

import structron
from helpers import run_python
from structron.errors import StructronError
from structron.text.sentences import (
    Document,
    check_sentences,
    decode_labels,
    is_row,
    regroup,
    sentences_of,
    sharing_texts,
    split,
    starts_of,
)

ITEMS = [["a"], Document([["b", "c"], []]), ["d"]]


def test_documents_are_taken_apart_and_put_together_again():
    assert sentences_of(ITEMS) == [["a"], ["b", "c"], [], ["d"]]
    assert regroup(ITEMS, [1, 2, 3, 4]) == [1, [2, 3], 4]
    assert regroup([["a"], ["b"]], (1, 2)) == [1, 2]
    assert structron.Document is Document


def test_equal_texts_of_sentences_that_are_read_are_kept_once():
    rows = [[["".join("ab"), "".join("ab")], ["c"]], "no sentence", [("".join("ab"),), 3]]
    found = sharing_texts(iter(rows))
    assert found == rows
    assert found[0][0][0] is found[0][0][1]
    assert sharing_texts(rows) is rows


@pytest.mark.parametrize("odd", ["a sentence", 3, None])
def test_what_is_no_sentence_is_named(odd):
    with pytest.raises(StructronError, match=f"data: sentence 12 is {odd!r}; expected a list of tokens"):
        check_sentences([["a"], odd], "data", before=10)
    check_sentences([["a"], (), np.array(["a"])], "data")


@pytest.mark.parametrize("row", [["a"], ("a", "b"), np.array(["a"]), deque(["a"])])
def test_rows(row):
    assert is_row(type(row))


@pytest.mark.parametrize("token", ["a", b"a", {"a": 1}, {"a"}, 3, None])
def test_tokens_that_are_no_rows(token):
    assert not is_row(type(token))


def test_flat_values_become_lists_per_sentence():
    starts = starts_of([["a", "b"], [], ["c"]])
    assert starts.tolist() == [0, 2, 2, 3]
    assert starts_of([]).tolist() == [0]
    assert split(np.array([5, 6, 7]), starts) == [[5, 6], [], [7]]
    assert decode_labels(np.array([1, -1, 0]), ["X", "Y"], starts) == [["Y", None], [], ["X"]]


def test_importing_is_cheap():
    assert run_python("import sys, structron.text.sentences; print('numba' in sys.modules)").stdout == "False\n"
