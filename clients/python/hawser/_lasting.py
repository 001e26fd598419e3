"""Requests with one effect whose result may take longer than one HTTP request.

Each retry has the same key, so the session recognizes it, across lost connections and server restarts.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ._errors import HawserError
from ._http import Transport
from ._operations import OperationName
from ._times import Backoff, milliseconds

#: How long one request waits, in seconds; the server's maximum.
_WAIT_S = 60.0
#: After this much idle time, in seconds, a new stream starts, because the server may forget one after an hour.
_STREAM_REST_S = 30 * 60.0


def new_stream() -> str:
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Meanwhile:
    """Handles the answers before the final one."""

    #: Seconds between answers.
    every: float
    #: Whether there is more to read at once, even from a finished request.
    has_more: Callable[[Any], bool]
    #: Returns what to request next.
    next: Callable[[Any], Awaitable[Mapping[str, Any]]]


class LastingCall:
    """Requests of one kind to one session, in their own input stream."""

    def __init__(
        self, transport: Transport, operation: OperationName, session_id: str, is_timeout: Callable[[Any], bool]
    ) -> None:
        self._transport = transport
        self._operation = operation
        self._params = {"id": session_id}
        #: Whether an answer only reports a timeout.
        self._is_timeout = is_timeout
        #: Position of the next request: a stream and an offset in it; and the time of the last request.
        self._origin = (new_stream(), 0)
        self._used_at = 0.0

    async def make(
        self,
        body: Mapping[str, Any],
        *,
        timeout: float | None,
        reconnect_timeout: float,
        fence: int | None,
        meanwhile: Meanwhile | None = None,
    ) -> Any:
        """Sends a request and returns its answer, after `timeout` seconds at the latest. The server may be
        unreachable for `reconnect_timeout` seconds.

        `meanwhile` gets intermediate answers, and decides what to request next.
        """
        now = asyncio.get_running_loop().time
        is_rested = now() - self._used_at > _STREAM_REST_S
        stream, position = (new_stream(), 0) if is_rested else self._origin
        # A failed request may or may not have arrived, so neither it nor a concurrent request may use this stream
        # again.
        self._origin = (new_stream(), 0)
        headers = {"Idempotency-Key": f"{stream}:{position}", **({} if fence is None else {"Hawser-Fence": str(fence)})}
        answer = await self._outcome(body, headers, timeout, reconnect_timeout, meanwhile)
        # A resumed command sends no input; older servers then report the start of the stream.
        self._origin = (stream, max(position, answer["next"]))
        self._used_at = now()
        return answer

    async def _outcome(
        self,
        body: Mapping[str, Any],
        headers: Mapping[str, str],
        timeout: float | None,
        reconnect_timeout: float,
        meanwhile: Meanwhile | None,
    ) -> Any:
        now = asyncio.get_running_loop().time
        until = float("inf") if timeout is None else now() + timeout
        backoff = Backoff(self._transport.times)
        away_since: float | None = None
        longest = _WAIT_S if meanwhile is None else meanwhile.every
        has_more = False
        while True:
            left = max(0.0, until - now())
            wait = 0.0 if has_more else min(left, longest)
            try:
                asked = {**body, "timeoutMs": milliseconds(wait)}
                request = self._transport.request(
                    self._operation, params=self._params, json=asked, headers=headers, extra_time=wait
                )
                answer = (await request).json()
                has_more = meanwhile is not None and meanwhile.has_more(answer)
                if not has_more and (not self._is_timeout(answer) or left <= longest):
                    return answer
                if meanwhile is not None:
                    body = await meanwhile.next(answer)
                away_since = None
                backoff = Backoff(self._transport.times)
            except HawserError as error:
                away_since = now() if away_since is None else away_since
                if error.code != "node_unavailable" or now() - away_since >= reconnect_timeout:
                    raise
                await asyncio.sleep(backoff.next())
