"""One session on a server, as a program sees it."""

from __future__ import annotations

import asyncio
import json as json_
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from weakref import WeakSet

from ._attachment import Attachment, Flow, Role
from ._errors import HawserError
from ._events import ConnectionEvent, Gap
from ._http import Answer, Transport, session_path
from ._messages import Exit, Lease, Receipt, SessionInfo, SessionState
from ._protocol import check_size, full_signal
from ._reader import Since
from ._times import Backoff, milliseconds
from ._wait import WaitResult, wait_for

T = TypeVar("T")

#: How much input goes into one request: half of a server's limit.
_PIECE_BYTES = 512 * 1024
#: After a rest as long as this, in seconds, writes begin a new stream: a server may forget an old one after an hour.
_STREAM_REST_S = 30 * 60.0
#: How long, in seconds, a server may be away while something is asked of it that is safe to repeat.
_PATIENCE_S = 10.0
#: How long one request waits for output, in seconds: half of what a server allows.
_POLL_S = 30.0


@dataclass(frozen=True)
class OutputPart:
    """Output from an offset on, and how the session stood after it."""

    offset: int
    data: bytes
    #: Where to go on reading, and how many bytes there have been.
    next: int
    end: int
    state: SessionState
    exit: Exit | None
    #: Bytes that were asked for and are gone.
    gap: Gap | None

    @property
    def is_last(self) -> bool:
        """Nothing can follow."""
        return self.state in ("closed", "lost") and self.next >= self.end


class Session:
    """One session on a server. It is remembered by its id alone, so it can be had again at any time."""

    def __init__(self, transport: Transport, session_id: str, attachments: WeakSet[Attachment]) -> None:
        self.id = session_id
        self._transport = transport
        #: Where whoever made us finds what it has to detach at the end.
        self._attachments = attachments
        #: Where our own writes go: a stream and the next position in it; and when the last one was.
        self._stream = _new_stream()
        self._position = 0
        self._written_at = 0.0
        self._turn = asyncio.Lock()

    def attach(
        self,
        *,
        since: Since = 0,
        role: Role = "writer",
        flow: Flow = "lossless",
        exclusive: bool = False,
        patience: float | None = None,
        on_connection: Callable[[ConnectionEvent], None] | None = None,
    ) -> Attachment:
        """Joins it: events to read, input to send, across lost connections and restarts of the server.

        `since` is the first output byte wanted, or ``"end"``. A ``viewer`` only reads. ``lossless`` may make
        the program wait for this reader, ``live`` may skip output, with a gap. `exclusive` demands on every
        connection that nobody else may write, but not by force. `patience` is for how many seconds the
        server may be away before we give up with ``node_unavailable``; for ever by default.
        `on_connection` is told at once, whether or not anybody reads events.
        """
        attachment = Attachment(
            self._transport,
            self.id,
            since=since,
            role=role,
            flow=flow,
            exclusive=exclusive,
            patience=patience,
            on_connection=on_connection,
        )
        self._attachments.add(attachment)
        return attachment

    async def wait(
        self,
        *,
        match: str | re.Pattern[str] | None = None,
        idle: float | None = None,
        timeout: float | None = None,
        since: Since = 0,
    ) -> WaitResult:
        """Returns when the program has ended; or before, when its output matches or it was `idle` so long.

        A match is looked for from the byte `since` on, in the last 64 KiB of the output as text, without
        colours and cursor movements. Times are in seconds; those without a connection are not idle.
        """
        pattern = re.compile(match, re.MULTILINE) if isinstance(match, str) else match
        attachment = self.attach(
            since=since if pattern else "end", role="viewer", flow="lossless" if pattern else "live"
        )
        return await wait_for(attachment, pattern, idle, timeout)

    async def info(self) -> SessionInfo:
        return cast(SessionInfo, (await self._transport.request("GET", session_path(self.id))).json())

    async def output(self, since: int = 0, *, wait: float = 0.0, max: int | None = None) -> OutputPart:
        """What there is from `since` on; when there is nothing yet, after at most `wait` seconds.

        The server caps `wait` at a minute, and `max` at 4 MiB.
        """
        query = {"since": since, "wait": milliseconds(wait), "max": max}
        path = session_path(self.id, "/output")
        answer = await self._transport.request("GET", path, query=query, patience=wait)
        headers = answer.headers
        exit_ = headers.get("hawser-exit")
        gap = re.search(r"from=(\d+), to=(\d+), reason=(\w+)", headers.get("hawser-gap", ""))
        return OutputPart(
            offset=int(headers["hawser-offset"]),
            data=answer.body,
            next=int(headers["hawser-next"]),
            end=int(headers["hawser-end"]),
            state=cast(SessionState, headers["hawser-status"]),
            exit=None if exit_ is None else json_.loads(exit_),
            gap=None if gap is None else Gap(int(gap[1]), int(gap[2]), gap[3]),
        )

    async def follow(self, since: int = 0, *, patience: float = _PATIENCE_S) -> AsyncIterator[OutputPart]:
        """Everything from `since` on until nothing can follow, by plain requests.

        The server may be away for `patience` seconds at a time. What the program never waits for may be
        gone when it is asked for: that is a `gap` of its part.
        """
        while True:
            part = await self._patiently(lambda: self.output(since, wait=_POLL_S), patience)
            since = part.next
            if part.data or part.gap or part.is_last:
                yield part
            if part.is_last:
                return

    async def logs(self, since: int = 0) -> bytes:
        """What is kept of the output so far, from `since` on, in one piece."""
        parts: list[bytes] = []
        while True:
            part = await self.output(since)
            parts.append(part.data)
            since = part.next
            if part.next >= part.end:
                return b"".join(parts)

    async def write(
        self,
        data: bytes | bytearray | memoryview | str,
        *,
        until_written: bool = False,
        fence: int | None = None,
    ) -> Receipt:
        """Writes exactly once, in the order of the calls, also when a request has to be repeated.

        Returns when the server has all of it, which may take until the program reads; with
        `until_written` when the kernel took it. When the server is away for longer than 10 s it fails with
        ``node_unavailable``, and of what was not acknowledged some may have arrived. `fence` is that of the
        control that `take_lease` gave.
        """
        rest = memoryview(data.encode() if isinstance(data, str) else bytes(data))
        query = {"wait": "written" if until_written else None}
        async with self._turn:
            while True:
                receipt = await self._act("/input", fence, query=query, data=bytes(rest[:_PIECE_BYTES]))
                rest = rest[_PIECE_BYTES:]
                if not rest:
                    return receipt

    async def keys(self, *keys: str, fence: int | None = None) -> Receipt:
        """Presses keys by name, such as ``Enter``, ``C-c`` or ``Up``; ``text:…`` types that as it is."""
        async with self._turn:
            return await self._act("/keys", fence, json={"keys": list(keys)})

    async def resize(self, cols: int, rows: int, *, fence: int | None = None) -> Receipt:
        check_size(cols, rows)
        async with self._turn:
            return await self._act("/resize", fence, json={"cols": cols, "rows": rows})

    async def signal(self, name: str, *, urgent: bool = False, fence: int | None = None) -> Receipt:
        """As a key press would, to the program in the foreground; `urgent` overtakes input that it has not read."""
        body = {"signal": full_signal(name), "urgent": urgent}
        if urgent:
            # In a stream of its own, in which nothing stands before it.
            return await self._post("/signal", f"{_new_stream()}:0", fence, json=body)
        async with self._turn:
            return await self._act("/signal", fence, json=body)

    async def eof(self, *, fence: int | None = None) -> Receipt:
        """The end of the program's input: a pipe is closed, a terminal gets Ctrl-D."""
        async with self._turn:
            return await self._act("/eof", fence)

    async def take_lease(
        self,
        *,
        exclusive: bool | None = None,
        force: bool | None = None,
        ttl: float | None = None,
        fence: int | None = None,
    ) -> Lease:
        """Gets control for `ttl` seconds, or a minute; what is written then shows the `fence` of the answer.

        It is exclusive unless asked otherwise, and with `force` also taken from whoever has it. With the `fence` of
        control that we have, it is held for longer. An attachment holds it for as long as it is attached:
        `Attachment.take`.
        """
        wanted = {"exclusive": exclusive, "force": force, "ttlMs": milliseconds(ttl), "fence": fence}
        body = {field: value for field, value in wanted.items() if value is not None}
        return cast(Lease, (await self._transport.request("POST", session_path(self.id, "/lease"), json=body)).json())

    async def release_lease(self, *, fence: int | None = None) -> Lease:
        """Gives our control back, with `fence` only if that is still the current one."""
        path = session_path(self.id, "/lease")
        return cast(Lease, (await self._transport.request("DELETE", path, query={"fence": fence})).json())

    async def rename(self, name: str | None) -> SessionInfo:
        """Gives it another name, or none."""
        answer = await self._transport.request("PATCH", session_path(self.id), json={"name": name})
        return cast(SessionInfo, answer.json())

    async def detach_all(self, *, keep_writer: bool = False) -> int:
        """Ends every attachment to it, by whomever, with `keep_writer` but for the one that typed last; how many."""
        body = {"keepWriter": keep_writer}
        answer = await self._transport.request("POST", session_path(self.id, "/detach"), json=body)
        return cast(int, answer.json()["detached"])

    async def kill(self, *, signal: str | None = None, grace: float | None = None) -> SessionInfo:
        """Ends the program and everything it started, and keeps the session's record.

        `signal` is what is sent first; after `grace` seconds it is SIGKILL.
        """
        wanted = {"signal": signal, "graceMs": milliseconds(grace)}
        body = {field: value for field, value in wanted.items() if value is not None}
        answer = await self._transport.request(
            "POST", session_path(self.id, "/kill"), json=body, patience=grace or 0.0
        )
        return cast(SessionInfo, answer.json())

    async def remove(self, *, force: bool = False) -> None:
        """Ends the program if it runs, and forgets the session; with `force` also if its keeper does not answer."""
        query = {"force": 1 if force else None}
        await self._transport.request("DELETE", session_path(self.id), query=query)

    async def _act(self, path: str, fence: int | None, **request: Any) -> Receipt:
        """Does something at our place in the stream."""
        now = asyncio.get_running_loop().time()
        stream, position = self._stream, self._position
        if now - self._written_at > _STREAM_REST_S:
            stream, position = _new_stream(), 0
        # Until it is known to have arrived, what follows must not count on it: a failure starts a new stream.
        self._stream, self._position = _new_stream(), 0
        receipt = await self._post(path, f"{stream}:{position}", fence, **request)
        self._stream, self._position = stream, receipt["next"]
        self._written_at = now
        return receipt

    async def _post(self, path: str, key: str, fence: int | None, **request: Any) -> Receipt:
        target = session_path(self.id, path)
        headers = {"Idempotency-Key": key, **({} if fence is None else {"Hawser-Fence": str(fence)})}

        def send() -> Awaitable[Answer]:
            return self._transport.request("POST", target, headers=headers, patience=None, **request)

        return cast(Receipt, (await self._patiently(send, _PATIENCE_S)).json())

    async def _patiently(self, ask: Callable[[], Awaitable[T]], patience: float) -> T:
        """Asks again while the server is away, for at most so many seconds."""
        now = asyncio.get_running_loop().time
        backoff = Backoff(self._transport.times)
        away_since: float | None = None
        while True:
            try:
                return await ask()
            except HawserError as error:
                away_since = now() if away_since is None else away_since
                if error.code != "node_unavailable" or now() - away_since >= patience:
                    raise
            await asyncio.sleep(backoff.next())


def _new_stream() -> str:
    return secrets.token_hex(16)
