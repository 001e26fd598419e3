"""A session as if the connection never broke: output to read, input to send, each byte once.

Connections come and go underneath. Each begins where the reader stands and sends again what the server has
not accepted, so nothing has to be known about how the last one ended.
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
from ._http import Transport, session_path
from ._messages import Lease, Welcome
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

#: Close codes after which a further attempt would change nothing.
_FINAL = {
    PROTOCOL_ERROR: ("internal", "the server did not understand us"),
    UNAUTHENTICATED: ("unauthenticated", "the token is not valid any more"),
    SESSION_REMOVED: ("session_not_found", "the session was removed"),
    TOO_BIG: ("limit_exceeded", "a message was too large"),
    INTERNAL: ("internal", "the server failed"),
}


class Attachment:
    """An asynchronous iterator over a session's events, and a way to write to it.

    Asking for the next event says that the last one was dealt with, and lets the server send more: what is
    not read waits at the server, apart from a window of 256 KiB. It begins to connect at once. Use it with
    ``async with``, or call `detach`, or read it to its end.
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
        patience: float | None = None,
        on_connection: Callable[[ConnectionEvent], None] | None = None,
    ) -> None:
        self._transport = transport
        self._path = session_path(session_id)
        self._role = role
        self._hello: dict[str, Any] = {"type": "hello", "role": role, "flow": flow}
        if role == "writer":
            self._hello["stream"] = secrets.token_hex(16)
        self._patience = patience
        self._on_connection = on_connection
        self._reader = Reader(since)
        self._outbox = Outbox()
        self._input = InputFlow(self._outbox, self._end_input)
        self._control = Control(exclusive)
        self._connection: Connection | None = None
        #: The session had ended when this connection began.
        self._is_after_end = False
        #: Why nothing can be written any more.
        self._input_error: Exception | None = None
        #: Held by the writer that waits for room, so that those after it stay behind it.
        self._turn = asyncio.Lock()
        self._room = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def offset(self) -> int | None:
        """The offset of the first output byte that was not handed over; None while "end" is not known."""
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
            # Nothing follows, so nobody may come back to say so.
            self._reader.finish()
            self._end_input(session_over())
            self._reader.drop()
        return event

    async def chunks(self) -> AsyncIterator[bytes]:
        """All output as it comes, instead of events; a gap is an error here."""
        async for event in self:
            if isinstance(event, Output):
                yield event.data
            elif isinstance(event, Gap):
                await self.detach()
                raise gap_error(event)

    # Writing

    async def write(self, data: bytes | bytearray | memoryview | str) -> None:
        """Returns when the kernel took all of it, each byte exactly once: the program can read it now.

        Many writes may wait at a time, and arrive in the order in which they were asked for. While 1 MiB
        or 4096 of them wait for the program, a further one is not even kept but waits for room first.
        Cancelling takes back what was not sent yet; of what was, the rest may or may not arrive.
        """
        await self._add(data.encode() if isinstance(data, str) else bytes(data))

    async def resize(self, cols: int, rows: int) -> None:
        check_size(cols, rows)
        await self._add({"type": "resize", "cols": cols, "rows": rows})

    async def signal(self, name: str, *, urgent: bool = False) -> None:
        """In line with what was typed before it; `urgent` overtakes what the program has not read."""
        act: Act = {"type": "signal", "signal": full_signal(name)}
        await self._add({**act, "urgent": True} if urgent else act, is_urgent=urgent)

    async def eof(self) -> None:
        """The end of the program's input: a pipe is closed, a terminal gets Ctrl-D."""
        await self._add({"type": "eof"})

    async def take(self, *, exclusive: bool = True, force: bool = False) -> Lease:
        """Gets control; fails with ``not_writable`` when somebody has it exclusively and `force` is not given."""
        return await self._demand({"type": "take", "exclusive": exclusive, "force": force})

    async def release(self) -> Lease:
        return await self._demand({"type": "release"})

    # Leaving

    async def detach(self) -> None:
        """Leaves; the program runs on. What the kernel has not taken of our input may or may not arrive."""
        self._end_input(HawserError("session_closed", "detached before the program's side took it"))
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

    async def _demand(self, demand: dict[str, Any]) -> Lease:
        self._check_writable()
        answer = self._control.demand(demand)
        # Without a connection it is said at the beginning of the next.
        if self._connection is not None and self._input.is_open:
            self._connection.send(json.dumps(demand))
        return await answer

    def _check_writable(self) -> None:
        if self._input_error is not None:
            raise self._input_error
        if self._role == "viewer":
            raise HawserError("not_writable", "a viewer does not write")

    def _end_input(self, error: Exception) -> None:
        self._input_error = self._input_error or error
        self._outbox.fail(error)
        self._control.fail(error)
        self._room.set()

    # Connections: one after the other, until we are detached or nothing can follow

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
        """Returns when everything has arrived; raises when there can be no further connection."""
        now = asyncio.get_running_loop().time
        backoff = Backoff(self._transport.times)
        away_since: float | None = None
        while True:
            ending = await self._connect()
            if self._reader.is_complete or (ending.code == DONE and self._is_after_end):
                return
            if ending.was_welcome:
                backoff.reset()
                away_since = None
            self._transport.lost()
            if (final := await self._final_error(ending)) is not None:
                raise final
            # The server has not waited for our reader, and need not: what is missing is read when it is asked for.
            if ending.code == TOO_SLOW:
                await self._reader.demand()

            away_since = now() if away_since is None else away_since
            words = ending.reason or f"it was closed with code {ending.code}"
            error = HawserError("node_unavailable", f"not connected to the server: {words}")
            if self._patience is not None and now() - away_since >= self._patience:
                raise error
            pause = backoff.next()
            self._report(Disconnected(error, pause))
            await asyncio.sleep(pause)

    async def _connect(self) -> Ending:
        """One connection from its beginning to its end."""
        try:
            hello = {**self._hello, "since": self._reader.ask()}
            times = self._transport.times
            address = self._transport.address()
            self._connection = Connection(address, f"{self._path}/attach", hello, times, self._receive)
            return await self._connection.run()
        except HawserError as error:
            # The server was looked for and not found.
            return Ending(NO_CODE, error.message, error=error)
        finally:
            self._input.close()
            self._reader.close()
            self._connection = None

    async def _final_error(self, ending: Ending) -> HawserError | None:
        """Why there can be no further connection; None when it is worth trying."""
        if ending.error is not None:
            error = to_hawser_error(ending.error)
            return None if error.is_temporary else error
        if ending.code in _FINAL:
            code, words = _FINAL[ending.code]
            return HawserError(code, ending.reason or words)
        if ending.was_welcome:
            return None
        # What stood in for the server may have refused us in words that only a plain request brings out.
        try:
            async with asyncio.timeout(self._transport.times.connect):
                await self._transport.request("GET", self._path)
        except TimeoutError:
            return None
        except HawserError as refusal:
            return None if refusal.is_temporary else refusal
        return None

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
        # Before the input that is to be sent under it.
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
        f"the output from byte {gap.start} up to {gap.end} is gone ({gap.reason})",
        hint="read events to go on after a gap",
    )
