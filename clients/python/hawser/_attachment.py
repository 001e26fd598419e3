"""Reads and writes a session as if the connection never broke: each byte of output arrives once, each byte of input
is delivered once.

Connections come and go underneath. Each starts at the reader's position and resends what the server has not accepted,
so it does not matter how the last one ended.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Literal, cast

from ._control import Control
from ._errors import HawserError, session_over, to_hawser_error
from ._events import Closed, Connected, ConnectionEvent, Disconnected, Event, Gap, LeaseChanged, Lost, Output, Refused
from ._http import Transport, path_of
from ._messages import LeaseMessage, Welcome
from ._outbox import Act, InputFlow, Outbox
from ._protocol import (
    DONE,
    INTERNAL,
    NO_CODE,
    PROTOCOL_ERROR,
    SESSION_REMOVED,
    TOO_BIG,
    TOO_SLOW,
    UNAUTHENTICATED,
    OutputFrame,
    ReceiptFrame,
    check_size,
    encode_consumed,
    full_signal,
)
from ._reader import Reader, Since
from ._socket import Connection, Ending, Received
from ._times import Backoff

Role = Literal["writer", "viewer"]
Flow = Literal["lossless", "live"]

#: How long to try the first connection, in seconds, by default.
_FIRST_CONNECTION_S = 60.0

#: Close codes after which retrying is pointless.
_FINAL = {
    PROTOCOL_ERROR: ("internal", "protocol error"),
    UNAUTHENTICATED: ("unauthenticated", "the token is no longer valid"),
    SESSION_REMOVED: ("session_not_found", "the session was removed"),
    TOO_BIG: ("limit_exceeded", "a message was too large"),
    INTERNAL: ("internal", "the server failed"),
}


class Attachment:
    """An asynchronous iterator over a session's events, and methods to write to it.

    Requesting the next event acknowledges the previous one, and lets the server send more. Unread events wait at the
    server, except for a window of 256 KiB. It starts to connect at once. Use it with ``async with``, call `detach`,
    or read it to its end.
    """

    def __init__(
        self,
        transport: Transport,
        session_id: str,
        *,
        since: Since = 0,
        role: Role = "writer",
        flow: Flow = "lossless",
        exclusive: bool = False,
        reconnect_timeout: float | None = None,
        on_connection: Callable[[ConnectionEvent], None] | None = None,
    ) -> None:
        self._transport = transport
        self._params = {"id": session_id}
        self._role = role
        self._hello: dict[str, Any] = {"type": "hello", "role": role, "flow": flow}
        if role == "writer":
            self._hello["stream"] = secrets.token_hex(16)
        self._reconnect_timeout = reconnect_timeout
        self._on_connection = on_connection
        self._reader = Reader(since)
        self._outbox = Outbox()
        self._input = InputFlow(self._outbox, self._end_input)
        self._control = Control(exclusive)
        self._connection: Connection | None = None
        #: Whether the session had ended when this connection started.
        self._is_after_end = False
        #: Why nothing can be written any more.
        self._input_error: Exception | None = None
        #: Held by the writer that waits for space, so that later writers stay behind it.
        self._turn = asyncio.Lock()
        self._room = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def offset(self) -> int | None:
        """Offset of the first output byte not returned yet; None while "end" is unknown."""
        return None if self._reader.since == "end" else self._reader.since

    # Reading

    def __aiter__(self) -> Attachment:
        return self

    async def __anext__(self) -> Event:
        event = await self._reader.next()
        if event is None:
            await self.detach()
            raise StopAsyncIteration
        if isinstance(event, (Closed, Lost)):
            # No event follows, so no further call would acknowledge this one.
            self._reader.finish()
            self._end_input(session_over())
            self._reader.drop()
        return event

    async def chunks(self) -> AsyncIterator[bytes]:
        """All output instead of events; a gap is an error."""
        async for event in self:
            if isinstance(event, Output):
                yield event.data
            elif isinstance(event, Gap):
                await self.detach()
                raise gap_error(event)

    # Writing

    async def write(self, data: bytes | bytearray | memoryview | str) -> None:
        """Returns when the kernel has all of it, each byte exactly once, so that the program can read it.

        Several writes may wait at a time; they arrive in the order of the calls. While 1 MiB or 4096 writes wait for
        the program, further ones wait for space. Canceling removes what was not sent yet; the rest may or may not
        arrive.
        """
        await self._add(data.encode() if isinstance(data, str) else bytes(data))

    async def resize(self, cols: int, rows: int) -> None:
        check_size(cols, rows)
        await self._add({"type": "resize", "cols": cols, "rows": rows})

    async def signal(self, name: str, *, urgent: bool = False) -> None:
        """Delivered after earlier input; `urgent` overtakes input that the program has not read."""
        act: Act = {"type": "signal", "signal": full_signal(name)}
        await self._add({**act, "urgent": True} if urgent else act, is_urgent=urgent)

    async def eof(self) -> None:
        """End of input: closes a pipe, sends Ctrl-D to a terminal."""
        await self._add({"type": "eof"})

    async def take(self, *, exclusive: bool = True, force: bool = False) -> LeaseMessage:
        """Takes control. Fails with ``not_writable`` if another client has exclusive control and `force` is not set.
        """
        return await self._demand({"type": "take", "exclusive": exclusive, "force": force})

    async def release(self) -> LeaseMessage:
        return await self._demand({"type": "release"})

    # Leaving

    async def detach(self) -> None:
        """Detaches; the program keeps running. Input that the kernel has not taken may or may not arrive."""
        self._end_input(HawserError("session_closed", "detached before the input was delivered"))
        self._reader.drop()
        connection = self._connection
        if connection is not None:
            connection.close(DONE)
        self._task.cancel()
        await asyncio.wait({self._task})
        if connection is not None:
            await connection.gone()

    async def __aenter__(self) -> Attachment:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.detach()

    # Input

    async def _add(self, input: bytes | Act, *, is_urgent: bool = False) -> None:
        if not is_urgent:
            async with self._turn:
                while self._outbox.is_full and self._input_error is None:
                    self._room.clear()
                    await self._room.wait()
        self._check_writable()
        if (obstacle := self._control.obstacle) is not None:
            raise obstacle
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def settle(error: Exception | None) -> None:
            self._room.set()
            if done.done():
                return
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

        self._outbox.add(input, settle)
        self._input.pump()
        try:
            await done
        except asyncio.CancelledError:
            self._outbox.cancel(settle)
            self._room.set()
            raise

    async def _demand(self, demand: dict[str, Any]) -> LeaseMessage:
        self._check_writable()
        answer = self._control.demand(demand)
        # Without a connection, the next one starts with it.
        if self._connection is not None and self._input.is_open:
            self._connection.send(json.dumps(demand))
        return await answer

    def _check_writable(self) -> None:
        if self._input_error is not None:
            raise self._input_error
        if self._role == "viewer":
            raise HawserError("not_writable", "viewers cannot write")

    def _end_input(self, error: Exception) -> None:
        self._input_error = self._input_error or error
        self._outbox.fail(error)
        self._control.fail(error)
        self._room.set()

    # Connections: one after the other, until detached or complete

    async def _run(self) -> None:
        try:
            await self._stay_connected()
            self._reader.end()
            self._end_input(session_over())
        except asyncio.CancelledError:
            raise
        except Exception as failure:
            error = to_hawser_error(failure)
            self._end_input(error)
            self._reader.end(error)

    async def _stay_connected(self) -> None:
        """Returns when complete; raises when retrying is pointless."""
        now = asyncio.get_running_loop().time
        backoff = Backoff(self._transport.times)
        away_since: float | None = None
        was_connected = False
        while True:
            ending = await self._connect()
            if self._reader.is_complete or (ending.code == DONE and self._is_after_end):
                return
            if ending.was_welcome:
                backoff.reset()
                away_since = None
                was_connected = True
            self._transport.lost()
            error, is_final = await self._reason(ending)
            if is_final:
                raise error
            # The server did not wait for our reader. The missing output is read when the reader asks for it.
            if ending.code == TOO_SLOW:
                await self._reader.demand()

            away_since = now() if away_since is None else away_since
            limit = self._reconnect_timeout
            if limit is None:
                limit = float("inf") if was_connected else _FIRST_CONNECTION_S
            if now() - away_since >= limit:
                raise error
            pause = backoff.next()
            self._report(Disconnected(error, pause))
            await asyncio.sleep(pause)

    async def _connect(self) -> Ending:
        """One connection from start to end."""
        try:
            hello = {**self._hello, "since": self._reader.ask()}
            times = self._transport.times
            address = self._transport.address()
            path = path_of("attachSession", self._params)
            self._connection = Connection(address, path, hello, times, self._receive)
            return await self._connection.run()
        except HawserError as error:
            # The server could not be located.
            return Ending(NO_CODE, error.message, error=error)
        finally:
            self._input.close()
            self._reader.close()
            self._connection = None

    async def _reason(self, ending: Ending) -> tuple[HawserError, bool]:
        """Why a connection ended, as far as known, and whether retrying is pointless."""
        if ending.error is not None:
            error = to_hawser_error(ending.error)
            return error, not error.is_temporary
        if ending.code in _FINAL:
            code, words = _FINAL[ending.code]
            return HawserError(code, ending.reason or words), True
        words = ending.reason or f"closed with code {ending.code}"
        broken = HawserError("node_unavailable", f"not connected to the server: {words}")
        if ending.was_welcome:
            return broken, False
        # A proxy may have refused the upgrade; a plain request gets its error.
        try:
            async with asyncio.timeout(self._transport.times.connect):
                await self._transport.request("getSession", params=self._params)
        except TimeoutError:
            return broken, False
        except HawserError as refusal:
            return refusal, not refusal.is_temporary
        return broken, False

    def _receive(self, received: Received) -> None:
        if isinstance(received, OutputFrame):
            self._reader.output(received)
        elif isinstance(received, ReceiptFrame):
            self._input.receipt(received.next, received.written)
        else:
            match received.get("type"):
                case "welcome":
                    self._welcome(cast(Welcome, received))
                case "lease":
                    self._control.granted(received["lease"])
                    self._reader.push(LeaseChanged(received["lease"]))
                case "error":
                    self._refused(received)
                case "closed" | "lost":
                    self._end_input(session_over())
                    self._reader.message(received)
                case _:
                    self._reader.message(received)

    def _welcome(self, welcome: Welcome) -> None:
        connection, session, input = self._connection, welcome["session"], welcome["input"]
        if connection is None:
            return
        send = connection.send
        self._is_after_end = session["state"] in ("closed", "lost")
        self._reader.open(
            welcome["output"]["from"], self._is_after_end, lambda offset: send(encode_consumed(offset))
        )
        self._report(Connected(session))
        if self._role == "viewer":
            return
        # Before the input, which needs the lease.
        for demand in self._control.open(welcome["lease"]):
            send(json.dumps(demand))
        self._input.open(input["next"], input["written"], input["window"], send)

    def _refused(self, message: dict[str, Any]) -> None:
        error = HawserError(message["code"], message["message"], hint=message.get("hint"))
        if "position" in message:
            self._input.refused(error, message["position"])
        elif not self._control.refused(error):
            self._reader.push(Refused(error.code, error.message))

    def _report(self, event: ConnectionEvent) -> None:
        self._reader.push(event)
        if self._on_connection is not None:
            self._on_connection(event)


def gap_error(gap: Gap) -> HawserError:
    return HawserError(
        "limit_exceeded",
        f"output bytes {gap.start} to {gap.end} are no longer available ({gap.reason})",
        hint="read events instead of chunks to continue after a gap",
    )
