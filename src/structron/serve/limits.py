"""What stands before every request: how large and how slow it may be, where it may come from, what every answer says.

A body is read whole, and within the time that work has, before anything looks at it. An answer never has a traceback.
"""

import asyncio
import ipaddress
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

PAGES = frozenset({"/", "/docs"})
"""What links of other sites may lead to."""
MODELS = "/api/models"
MAX_QUERY_FIELDS = 32
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
MAX_DISCARDED = 8_000_000
"""Bytes of a body that is too long."""
FOREIGN = "requests from other sites are not allowed; see serve --origin"
log = logging.getLogger("structron.serve")


@dataclass(frozen=True, slots=True)
class Limits:
    """body: bytes of one.   model: bytes of a model that a page may send, 0: none.   seconds: for a body to arrive, and
    for the work to be done.   origins: other sites that browsers may ask from.   hosts: names that the server answers
    to besides those of this machine itself."""

    body: int = 1_000_000
    model: int = 0
    seconds: float = 30.0
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class Refused(Exception):
    """A request that is not looked at: the status, and why."""

    def __init__(self, status: int, why: str):
        super().__init__(why)
        self.status, self.why = status, why


class RequestGuard:
    """The first and the last to see a request and its answer."""

    def __init__(self, app: App, limits: Limits):
        self.app, self.limits = app, limits

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Check the request, hand it on with its body, add headers to the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False
        origin = _header(scope, b"origin")

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", []), *self._headers(origin)]
            await send(message)

        try:
            self._check(scope, origin)
            if scope["method"] == "OPTIONS" and origin in self.limits.origins:
                allowed = (b"access-control-allow-methods", b"GET, POST")
                await answer({"type": "http.response.start", "status": 204, "headers": [allowed]})
                await answer({"type": "http.response.body", "body": b""})
                return
            body = await asyncio.wait_for(self._body(scope, receive), self.limits.seconds)
            await self.app(scope, _given(body, receive), answer)
        except Refused as error:
            await _respond(answer, error.status, error.why)
        except TimeoutError:
            await _respond(answer, 408, "the request did not arrive in time")
        except ConnectionError:
            return
        except Exception:
            log.exception("%s %s failed", scope.get("method"), scope.get("path", "")[:200])
            if not begun:
                await _respond(answer, 500, "an error in the server; see its log")

    def _check(self, scope: Message, origin: str) -> None:
        given = _header(scope, b"host")
        host = _host(given)
        if not is_loopback(host) and host not in self.limits.hosts:
            raise Refused(400, f"unknown host {host[:200]!r}; see serve --allow-host")
        allowed = origin in self.limits.origins
        if origin and not allowed and _netloc(origin) != given:
            raise Refused(403, FOREIGN)
        if not origin and _header(scope, b"sec-fetch-site") in ("cross-site", "same-site"):
            visit = scope["path"] in PAGES and _header(scope, b"sec-fetch-mode") == "navigate"
            if not visit:
                raise Refused(403, FOREIGN)
        if scope["query_string"].count(b"&") >= MAX_QUERY_FIELDS:
            raise Refused(400, f"too many fields in the address; expected at most {MAX_QUERY_FIELDS}")

    def _headers(self, origin: str) -> list[tuple[bytes, bytes]]:
        found = dict(HEADERS)
        if origin and origin in self.limits.origins:
            found |= {"access-control-allow-origin": origin, "vary": "Origin"}
            found |= {"access-control-allow-headers": "content-type", "cross-origin-resource-policy": "cross-origin"}
        return [(name.encode(), value.encode()) for name, value in found.items()]

    async def _body(self, scope: Message, receive: Receive) -> bytes:
        """The whole body. What is too long is read on for a while but not kept: else clients that send before they
        read would find the connection closed, and no answer."""
        sends_model = scope["method"] == "POST" and scope["path"] == MODELS
        length, most = _header(scope, b"content-length"), self.limits.body
        if sends_model:
            if not self.limits.model:
                raise Refused(403, "this server takes no models; name them when it starts")
            most = self.limits.model
        discarded = max(most, MAX_DISCARDED)
        too_long = Refused(413, f"the request is too long; expected at most {most:,} bytes")
        declared = int(length) if length.isdigit() else 0
        if declared > discarded or (declared > most and _header(scope, b"expect")):
            raise too_long
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            part = message.get("body", b"")
            size += len(part)
            if size > discarded:
                raise too_long
            if size > most:
                parts.clear()
            else:
                parts.append(part)
            more = message.get("more_body", False)
        if size > most:
            raise too_long
        return b"".join(parts)


def _given(body: bytes, receive: Receive) -> Receive:
    """A body that is there, and then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _header(scope: Message, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def _host(text: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return (urlsplit(f"//{text}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _netloc(origin: str) -> str:
    """Host and port of an origin; empty where it has none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a name or an address is that of the machine itself."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


async def _respond(send: Send, status: int, why: str) -> None:
    body = json.dumps({"detail": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
