"""Bodies of requests: what is read of them, and what is refused before it costs anything."""

import json
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from structron.errors import StructronError
from structron.serve.bodies import MAX_WORDS, read_form, read_json, read_query, to_json
from structron.serve.schemas import AnnotateRequest, ExplainRequest

WHOLE = {"words": [{"form": 'He said: "C:\\\\"', "upos": "[{,"}], "model": None, "part": "tagger", "top": 3}
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(VALUES)
def test_an_answer_in_pieces_is_the_answer(value):
    assert to_json(value) == json.dumps(value, separators=(",", ":"))


def test_keys_are_written_as_json_writes_them():
    assert json.loads(to_json({1: [2], None: (3,)})) == {"1": [2], "null": [3]}
    with pytest.raises(ValueError):
        to_json([float("nan")])


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/x+json"])
@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_read(kind, indent):
    body = json.dumps(WHOLE, indent=indent).encode()
    assert read_json(body, kind, ExplainRequest).model_dump() == WHOLE
    assert read_json(b"\xef\xbb\xbf" + body, kind, ExplainRequest).words == WHOLE["words"]


@given(st.text(max_size=50))
def test_structure_inside_a_string_is_text(text):
    body = json.dumps({"text": text * 3_000}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert read_json(body, "application/json", AnnotateRequest).text == text * 3_000


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "body: expected JSON"),
        (b"[]", "body: "),
        (b'{"text": 3}', "text: "),
        (b'{"text": "a", "x": 1}', "x: "),
        (b"\xff", "expected UTF-8"),
        (b'{"text": ' + b"9" * 5000 + b"}", "body: expected JSON"),
        (json.dumps({"text": "a", "words": ["a"] * (MAX_WORDS + 1)}).encode(), "1,001 values in a list"),
    ],
)
def test_what_is_no_request_is_refused_in_a_line(body, says):
    with pytest.raises(StructronError, match=says) as found:
        read_json(body, "application/json", AnnotateRequest)
    assert "\n" not in str(found.value)


def test_only_json_is_read_as_json():
    with pytest.raises(HTTPException) as found:
        read_json(b'{"text": "a"}', "text/plain", AnnotateRequest)
    assert found.value.status_code == 415


FIELDS = st.dictionaries(st.text(), st.text(), max_size=8)


@given(FIELDS)
def test_forms_are_read_as_they_were_written(fields):
    try:
        encoded = urlencode(fields).encode()
    except UnicodeEncodeError:
        return
    assert read_form(encoded, "application/x-www-form-urlencoded; charset=utf-8") == fields
    assert read_query(encoded) == fields
    assert read_form(encoded, "text/plain") == {}


PART = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'


def test_parts_and_files_are_fields():
    body = PART % (b"data", b'; filename="a.txt"', "Où?\r\n".encode()) + PART % (b"tokenizer", b"", b"") + b"--x--\r\n"
    assert read_form(body, "multipart/form-data; boundary=x") == {"data": "Où?\r\n", "tokenizer": ""}


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        (PART % (b"data", b"", b"\xff") + b"--x--\r\n", "multipart/form-data; boundary=x", "expected UTF-8"),
        (b"data=%ff", "application/x-www-form-urlencoded", "expected UTF-8"),
        (b"a&" * 40, "application/x-www-form-urlencoded", "41 fields; expected at most 32"),
        (b"--x", "multipart/form-data", "form: "),
        (b"--y\r\n", "multipart/form-data; boundary=x", "form: "),
        (PART % (b"a", b"", b"b") * 33 + b"--x--\r\n", "multipart/form-data; boundary=x", "too many fields"),
    ],
)
def test_what_is_no_form_is_refused_in_a_line(body, kind, says):
    with pytest.raises(StructronError, match=says):
        read_form(body, kind)
