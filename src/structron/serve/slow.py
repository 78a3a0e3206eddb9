"""HTTP with limits on time and on the number of pieces: for headers, bodies, and answers that nobody reads.

A body of many small chunks is read a little at a time, and not again before others had as much time as it took, so that
it keeps nobody waiting. Of too many chunks the rest is thrown away unread.
Bodies have limits of their own (limits.py); idle connections between requests that of uvicorn.
"""

import asyncio
import json
import time
from typing import Any

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 15.0
"""For the first line and the headers of a request."""
UNREAD_SECONDS = 30.0
"""A client that reads nothing of an answer for so long is disconnected."""
MAX_HEAD = 32_768
"""Bytes of the first line and the headers."""
MAX_CHUNKS = 10_000
"""Chunks, or pieces as they arrive, of a body, where they are short."""
SHORT = 256
"""Bytes of a short chunk."""
HEAD_READ, BODY_READ = 1_024, 262_144
"""Bytes that are taken from a connection before it is another's turn: of a head, of a body with a length."""
CHUNKED_READS = (256, 16_384)
"""At least and at most, of a body in chunks: as many as about CHUNKS_READ chunks have."""
CHUNKS_READ = 64
REST = 2.0
"""After such a read a connection is not read for so many times the seconds that it took."""
MOST_DISCARDED, DISCARD_SECONDS = 8_000_000, 5.0
"""What is thrown away of a body in too many pieces, so that its sender comes to read the answer."""


def config(app: Any, http: type[asyncio.Protocol] | None = None, **more: Any) -> Config:
    """How uvicorn serves the application."""
    return Config(
        app,
        http=http or Impatient,
        ws="none",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_HEAD,
        **more,
    )


class CountedConnection(h11.Connection):
    """Refuses bodies in too many pieces."""

    pieces = size = 0
    chunked = too_many = False
    most = MAX_CHUNKS

    def next_event(self) -> Any:
        """The next event of the client."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.pieces = self.size = 0
            self.chunked = any(name == b"transfer-encoding" for name, _ in event.headers)
        elif isinstance(event, h11.Data) and self.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY):
            self.pieces += 1
            self.size += len(event.data)
            if self.pieces > self.most and self.is_in_pieces:
                self.too_many = True
                raise h11.RemoteProtocolError(f"a body in more than {self.most:,} short chunks")
        return event

    @property
    def is_in_pieces(self) -> bool:
        """Whether the body comes in short chunks."""
        return self.chunked and self.size < SHORT * self.pieces

    @property
    def read_size(self) -> int:
        """How many bytes to take next."""
        if self.their_state is not h11.SEND_BODY:
            return HEAD_READ
        if not self.chunked:
            return BODY_READ
        least, most = CHUNKED_READS
        return min(most, max(least, CHUNKS_READ * self.size // max(1, self.pieces)))


class Impatient(H11Protocol, asyncio.BufferedProtocol):
    """Closes connections that take too long to ask for something, or to read what is answered."""

    conn: CountedConnection
    seconds = SECONDS
    unread_seconds = UNREAD_SECONDS
    timer: asyncio.TimerHandle | None = None
    write_timer: asyncio.TimerHandle | None = None
    rest_timer: asyncio.TimerHandle | None = None
    discarded: int | None = None
    """Bytes that were thrown away since a request was refused."""

    def __init__(self, config: Config, *args: Any, **more: Any):
        super().__init__(config, *args, **more)
        self.conn = CountedConnection(h11.SERVER, MAX_HEAD)
        self.buffer = bytearray()

    def connection_made(self, transport: Any) -> None:
        """Wait for a request."""
        super().connection_made(transport)
        self.timer = self.loop.call_later(self.seconds, self._give_up)

    def get_buffer(self, sizehint: int) -> bytearray:
        """Where the next bytes go."""
        size = self.conn.read_size
        if len(self.buffer) != size and self.discarded is None:
            self.buffer = bytearray(size)
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take the bytes that have arrived."""
        if self.discarded is not None:
            self.discarded += nbytes
            if self.discarded > MOST_DISCARDED:
                self.transport.close()
            return
        begin = time.perf_counter()
        self.data_received(bytes(memoryview(self.buffer)[:nbytes]))
        if self.conn.is_in_pieces and self.discarded is None and self._pause():
            seconds = REST * (time.perf_counter() - begin)
            self.rest_timer = self.loop.call_later(seconds, self._go_on)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; a body in too many pieces by its own name, however much more of it is sent."""
        if not self.conn.too_many:
            super().send_400_response(msg)
            return
        why = f"the request is in too many pieces; expected at most {self.conn.most:,}"
        body = json.dumps({"detail": why}).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        for event in (h11.Response(status_code=413, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.write_eof()
        self.discarded, self.buffer = 0, bytearray(BODY_READ)
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        self.timer = self.loop.call_later(DISCARD_SECONDS, self.transport.close)

    def data_received(self, data: bytes) -> None:
        """Take some of a request; one that has all of its headers is waited for no more."""
        if self.timer is None and not self._asked():
            self.timer = self.loop.call_later(self.seconds, self._give_up)
        super().data_received(data)
        if self._asked() and self.discarded is None:
            self._stop()

    def pause_writing(self) -> None:
        """The client reads slower than the server writes: look later whether it reads at all."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._stop_watching()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for."""
        self._stop()
        self._stop_resting()
        self._stop_watching()
        super().connection_lost(exc)

    def _asked(self) -> bool:
        """Whether there is a request that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _give_up(self) -> None:
        self.timer = None
        if not self._asked() and not self.transport.is_closing():
            self.transport.close()

    def _pause(self) -> bool:
        """Read no more for a while, unless others say already when to read."""
        if self.flow.read_paused or self.transport.is_closing():
            return False
        self._stop_resting()
        self.transport.pause_reading()
        return True

    def _go_on(self) -> None:
        self.rest_timer = None
        if not self.flow.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def _stop_resting(self) -> None:
        if self.rest_timer is not None:
            self.rest_timer.cancel()
            self.rest_timer = None

    def _watch_reader(self) -> None:
        self._stop_watching()
        unread = self.transport.get_write_buffer_size()
        self.write_timer = self.loop.call_later(self.unread_seconds, self._check_reader, unread)

    def _stop_watching(self) -> None:
        if self.write_timer is not None:
            self.write_timer.cancel()
            self.write_timer = None

    def _check_reader(self, before: int) -> None:
        """Disconnect a client that has read nothing since the last look."""
        self.write_timer = None
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._watch_reader()
