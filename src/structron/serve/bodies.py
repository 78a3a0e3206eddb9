"""Bodies of requests: JSON and forms, read by the threads that do the work.

Sizes are counted before anything is built, so that no single call of the parser takes long: it would hold the
interpreter's lock, and every other request would wait for it.
"""

import io
import json
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, parse_form, parse_options_header
from starlette.exceptions import HTTPException

from structron.errors import StructronError

MAX_FIELDS = 32
"""Fields of a body or an address, columns of a word."""
MAX_WORDS = 1_000
"""Values in a list."""
MAX_DEPTH = 3
"""A body is an object; in it are lists; in these are objects."""
MAX_STRINGS = 20_000
MAX_STRUCTURE = 100_000
"""Bytes of JSON outside strings."""

Given = TypeVar("Given", bound=BaseModel)


def read_json(body: bytes, content_type: str, kind: type[Given]) -> Given:
    """The request that a body of JSON is."""
    media = content_type.partition(";")[0].strip().lower()
    if media != "application/json" and not media.endswith("+json"):
        raise HTTPException(415, f"content type {media[:100]!r}; expected application/json")
    _check_size(body)
    try:
        value = json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise StructronError("body: expected UTF-8") from None
    except RecursionError:
        raise StructronError(f"body: nested too deep; expected at most {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise StructronError(f"body: expected JSON: {error}") from None
    _check_counts(value, MAX_DEPTH)
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise StructronError(describe(error.errors(include_url=False, include_context=False))) from None


def describe(mistakes: Any) -> str:
    """The first mistakes of a validation in a line."""
    texts = [f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in mistakes[:5]]
    return "; ".join(texts)[:2000]


def _check_size(body: bytes) -> None:
    """Count strings, and the bytes outside them."""
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = unescaped.count(b'"') // 2
    if strings > MAX_STRINGS:
        raise StructronError(f"body: {strings:,} strings; expected at most {MAX_STRINGS:,}")
    structure = sum(map(len, unescaped.split(b'"')[::2]))
    if structure > MAX_STRUCTURE:
        raise StructronError(f"body: {structure:,} bytes outside strings; expected at most {MAX_STRUCTURE:,}")


def _check_counts(value: Any, depth: int) -> None:
    if isinstance(value, str) and not _is_whole(value):
        raise StructronError("body: an incomplete surrogate pair; expected valid Unicode")
    if not isinstance(value, dict | list):
        return
    if not depth:
        raise StructronError(f"body: nested too deep; expected at most {MAX_DEPTH} levels")
    most, what = (MAX_FIELDS, "fields") if isinstance(value, dict) else (MAX_WORDS, "values in a list")
    if len(value) > most:
        raise StructronError(f"body: {len(value):,} {what}; expected at most {most:,}")
    for own in value.values() if isinstance(value, dict) else value:
        _check_counts(own, depth - 1)


def _is_whole(text: str) -> bool:
    """Whether a text has no halves of pairs, which JSON can spell."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def read_form(body: bytes, content_type: str) -> dict[str, str]:
    """The fields of a form, encoded as in an address or in parts; no fields where it is neither."""
    media, _ = parse_options_header(content_type)
    if media == b"application/x-www-form-urlencoded":
        return read_query(body)
    return _read_parts(body, content_type) if media == b"multipart/form-data" else {}


def read_query(text: bytes) -> dict[str, str]:
    """The fields of an address, or of a form encoded like one."""
    count = text.count(b"&") + 1
    if count > MAX_FIELDS:
        raise StructronError(f"form: {count:,} fields; expected at most {MAX_FIELDS}")
    try:
        return dict(parse_qsl(text.decode(), keep_blank_values=True, errors="strict"))
    except UnicodeDecodeError:
        raise StructronError("form: expected UTF-8") from None


def _read_parts(body: bytes, content_type: str) -> dict[str, str]:
    """The fields of a multipart form; files are fields like others."""
    found: dict[str, str] = {}
    count = 0

    def add(name: bytes | None, value: bytes) -> None:
        nonlocal count
        count += 1
        if count > MAX_FIELDS:
            raise StructronError(f"form: too many fields; expected at most {MAX_FIELDS}")
        if name is None:
            raise StructronError("form: a part without a name")
        found[name.decode()] = value.decode()

    def file(own: File) -> None:
        own.file_object.seek(0)
        add(own.field_name, own.file_object.read())

    def field(own: Field) -> None:
        add(own.field_name, own.value or b"")

    try:
        parse_form({"Content-Type": content_type.encode("latin-1")}, io.BytesIO(body), field, file)
    except UnicodeDecodeError:
        raise StructronError("form: expected UTF-8") from None
    except FormParserError as error:
        raise StructronError(f"form: {error}") from None
    return found


def to_json(value: Any, depth: int = 2) -> str:
    """JSON in ASCII, made in pieces: of one large value it is a single call, which holds the interpreter's lock."""
    encode: Callable[[Any], str] = _ENCODER.encode
    if depth and isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return "{" + ",".join(f"{encode(key)}:{to_json(own, depth - 1)}" for key, own in value.items()) + "}"
    if depth and isinstance(value, list | tuple):
        return "[" + ",".join(to_json(own, depth - 1) for own in value) + "]"
    return encode(value)


_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
