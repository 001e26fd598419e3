"""Requests that do something once and wait for what comes of it, for longer than one request may.

They are repeated under the same key, which the session recognises, across lost connections and restarts of
the server.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from ._errors import HawserError
from ._http import Transport
from ._times import Backoff, milliseconds

#: How long one request waits, in seconds: as long as a server allows.
_WAIT_S = 60.0
#: After a rest as long as this, in seconds, a new stream is begun: a server may forget an old one after an hour.
_STREAM_REST_S = 30 * 60.0


def new_stream() -> str:
    return secrets.token_hex(16)


class LastingCall:
    """One kind of such requests to one session, in an input stream of their own."""

    def __init__(self, transport: Transport, path: str, is_timeout: Callable[[Any], bool]) -> None:
        self._transport = transport
        self._path = path
        #: Whether an answer says no more than that the time was over.
        self._is_timeout = is_timeout
        #: Where the next one goes: a stream and the next position in it; and when the last one was.
        self._origin = (new_stream(), 0)
        self._used_at = 0.0

    async def make(
        self, body: Mapping[str, Any], *, timeout: float | None, patience: float, fence: int | None
    ) -> Any:
        """Its answer, after `timeout` seconds at the latest; the server may be away for `patience` seconds."""
        now = asyncio.get_running_loop().time
        is_rested = now() - self._used_at > _STREAM_REST_S
        stream, position = (new_stream(), 0) if is_rested else self._origin
        # What fails may have come to its place or not, and what is made meanwhile must not go there either.
        self._origin = (new_stream(), 0)
        headers = {"Idempotency-Key": f"{stream}:{position}", **({} if fence is None else {"Hawser-Fence": str(fence)})}
        answer = await self._outcome(body, headers, timeout, patience)
        self._origin = (stream, answer["next"])
        self._used_at = now()
        return answer

    async def _outcome(
        self, body: Mapping[str, Any], headers: Mapping[str, str], timeout: float | None, patience: float
    ) -> Any:
        now = asyncio.get_running_loop().time
        until = float("inf") if timeout is None else now() + timeout
        backoff = Backoff(self._transport.times)
        away_since: float | None = None
        while True:
            left = max(0.0, until - now())
            wait = min(left, _WAIT_S)
            try:
                asked = {**body, "timeoutMs": milliseconds(wait)}
                request = self._transport.request("POST", self._path, json=asked, headers=headers, patience=wait)
                answer = (await request).json()
                if not self._is_timeout(answer) or left <= _WAIT_S:
                    return answer
                away_since = None
                backoff = Backoff(self._transport.times)
            except HawserError as error:
                away_since = now() if away_since is None else away_since
                if error.code != "node_unavailable" or now() - away_since >= patience:
                    raise
                await asyncio.sleep(backoff.next())
