"""HTTP with limits on time and on the number of pieces: for headers, bodies, and answers that nobody reads.

A body of many small chunks is read a kilobyte at a time, so that it takes its turn with other requests.
Bodies have limits of their own (limits.py); idle connections between requests that of uvicorn.
"""

import asyncio
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
HEAD_READ, BODY_READ = 4_096, 262_144
"""Bytes that are taken from a connection before it is another's turn: of a head, of a body with a length."""
CHUNKED_READS = (1_024, 16_384)
"""At least and at most, of a body in chunks: as many as about CHUNKS_READ chunks have."""
CHUNKS_READ = 64


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
    chunked = False
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
            if self.pieces > self.most and self.size < SHORT * self.pieces:
                raise h11.RemoteProtocolError(f"a body in more than {self.most:,} short chunks")
        return event

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
        if len(self.buffer) != size:
            self.buffer = bytearray(size)
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take the bytes that have arrived."""
        self.data_received(bytes(memoryview(self.buffer)[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Take some of a request; one that has all of its headers is waited for no more."""
        if self.timer is None and not self._asked():
            self.timer = self.loop.call_later(self.seconds, self._give_up)
        super().data_received(data)
        if self._asked():
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
