"""HTTP that waits for nobody for ever: connections on which no request begins, or whose headers do not end, are closed.

Bodies have a limit of their own (limits.py); idle connections between requests that of uvicorn.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 15.0
"""For the first line and the headers of a request."""


class Impatient(H11Protocol):
    """Closes connections that take too long to ask for something."""

    seconds = SECONDS
    timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request."""
        super().connection_made(transport)
        self.timer = self.loop.call_later(self.seconds, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Take some of a request; one that has all of its headers is waited for no more."""
        if self.timer is None and not self._asked():
            self.timer = self.loop.call_later(self.seconds, self._give_up)
        super().data_received(data)
        if self._asked():
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for."""
        self._stop()
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
