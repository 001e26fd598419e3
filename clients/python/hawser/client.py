"""A server's sessions, for asyncio; `hawser.sync` is the same without."""

from __future__ import annotations

import asyncio
import json as json_
import os
import re
import secrets
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, TypeVar, cast
from weakref import WeakSet

from ._attachment import Attachment, Flow, Role, gap_error
from ._errors import HawserError
from ._events import ConnectionEvent, Exited, Gap, Lost, Output
from ._http import Address, Answer, Transport, session_path
from ._locate import find_server
from ._messages import (
    Exit,
    FeedSession,
    Mode,
    NewToken,
    Receipt,
    Retain,
    ServerInfo,
    SessionInfo,
    SessionState,
    TokenInfo,
)
from ._protocol import check_size, full_signal
from ._reader import Since
from ._times import Backoff, Times
from ._wait import WaitResult, wait_for

T = TypeVar("T")
#: `Client.list` takes the name of the built-in inside of its class.
_Sessions = list[SessionInfo]
_Tokens = list[TokenInfo]

#: How much input goes into one request: half of a server's limit.
_PIECE_BYTES = 512 * 1024
#: After a rest as long as this, in seconds, writes begin a new stream: a server may forget an old one after an hour.
_STREAM_REST_S = 30 * 60.0
#: How long, in seconds, a server may be away while something is asked of it that is safe to repeat.
_PATIENCE_S = 10.0
#: How long one request waits for output, in seconds: half of what a server allows.
_POLL_S = 30.0
#: How much output `run` takes before it ends the program, unless told otherwise: 16 MiB.
_RUN_BYTES = 16 * 1024 * 1024


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


@dataclass(frozen=True)
class RunResult:
    stdout: bytes
    stderr: bytes
    exit: Exit


@dataclass(frozen=True)
class FeedEvent:
    """What happened to a session; `cursor` is where to go on.

    ``ready`` says that everything from here on will be told, ``gap`` that something was missed and the
    sessions must be listed anew; both have no session.
    """

    type: str
    cursor: str
    session: FeedSession | None = None
    #: Milliseconds since the epoch.
    time: int | None = None
    exit: Exit | None = None


def connect(
    url: str, token: str | None = None, *, tls: ssl.SSLContext | None = None, times: Times = Times()
) -> Client:
    """Makes no request yet: the first one shows whether the server is there.

    `tls` is for certificates that the system does not know. Token and address are taken as they are given.
    """
    address = Address(url.rstrip("/"), token, tls=tls)
    return Client(Transport(lambda: address, times))


def locate(
    url: str | None = None,
    token: str | None = None,
    *,
    state_dir: str | os.PathLike[str] | None = None,
    times: Times = Times(),
) -> Client:
    """The server as the command line finds it: where HAWSER_URL says, else the one of this account.

    That one is found by its state directory and asked over its Unix socket, where nobody else can answer;
    it is looked for again whenever it went away. Without HAWSER_TOKEN the operator's own token is shown.
    """
    return Client(Transport(lambda: find_server(url, token, state_dir), times))


class Client:
    """Use it with ``async with``, which detaches what is still attached at the end."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._attachments: WeakSet[Attachment] = WeakSet()

    async def info(self) -> ServerInfo:
        """What the server is and can do on its machine."""
        return cast(ServerInfo, (await self._transport.request("GET", "/v1/info")).json())

    async def create(
        self,
        argv: Sequence[str] | None = None,
        *,
        command: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str | None] | None = None,
        mode: Mode | None = None,
        cols: int | None = None,
        rows: int | None = None,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        workspace: str | None = None,
        timeout: float | None = None,
        idle_timeout: float | None = None,
        durable: bool | None = None,
        retain: Retain | None = None,
        stdin: Literal["open", "closed"] | None = None,
        sandbox: Mapping[str, object] | None = None,
    ) -> Session:
        """Starts a program: `argv`, or a `command` line for ``/bin/sh -c``.

        Times are in seconds. What is left out is as the server has it. When no answer comes, with
        ``node_unavailable``, the program may have been started or not.
        """
        wanted = {
            "argv": None if argv is None else list(argv),
            "command": command,
            "cwd": cwd,
            "env": env,
            "mode": mode,
            "cols": cols,
            "rows": rows,
            "name": name,
            "labels": labels,
            "workspace": workspace,
            "timeoutMs": _milliseconds(timeout),
            "idleTimeoutMs": _milliseconds(idle_timeout),
            "durable": durable,
            "retain": retain,
            "stdin": stdin,
            "sandbox": sandbox,
        }
        body = {field: value for field, value in wanted.items() if value is not None}
        answer = await self._transport.request("POST", "/v1/sessions", json=body)
        return Session(self, answer.json()["id"])

    async def list(
        self,
        *,
        state: Sequence[SessionState] | None = None,
        workspace: str | None = None,
        label: Sequence[str] | None = None,
    ) -> _Sessions:
        """Every session, oldest first; of the labels, each ``key`` or ``key=value``, all must hold."""
        sessions: _Sessions = []
        after: str | None = None
        while True:
            query = {"state": state, "workspace": workspace, "label": label, "after": after, "limit": 1000}
            page = (await self._transport.request("GET", "/v1/sessions", query=query)).json()
            sessions += page["sessions"]
            after = page["next"]
            if after is None:
                return sessions

    async def get(self, session_id: str) -> Session:
        """Fails with ``session_not_found`` when there is none."""
        session = self.at(session_id)
        await session.info()
        return session

    def at(self, session_id: str) -> Session:
        """The session of this id, without asking whether it exists."""
        return Session(self, session_id)

    async def run(
        self,
        argv: Sequence[str] | None = None,
        *,
        command: str | None = None,
        input: bytes | str = b"",
        cwd: str | None = None,
        env: Mapping[str, str | None] | None = None,
        workspace: str | None = None,
        timeout: float | None = None,
        limit: int = _RUN_BYTES,
        sandbox: Mapping[str, object] | None = None,
    ) -> RunResult:
        """Runs a program on pipes to its end, and forgets it.

        After `timeout` seconds the server ends it, and ``exit["reason"]`` says so. When it has written more
        than `limit` bytes it is ended, with ``limit_exceeded``. Cancelling ends it as well. Input that it does
        not read is not an error.
        """
        start = self.create(
            argv,
            command=command,
            cwd=cwd,
            env=env,
            mode="pipe",
            workspace=workspace,
            timeout=timeout,
            stdin="open" if input else "closed",
            sandbox=sandbox,
        )
        # Not cancelled with us: a program that runs already must be known to be ended.
        starting = asyncio.create_task(start)
        try:
            await asyncio.wait({starting})
            async with starting.result().attach() as attachment:
                feeding = asyncio.create_task(_feed(attachment, input)) if input else None
                try:
                    return await _collect(attachment, limit)
                finally:
                    if feeding is not None:
                        feeding.cancel()
        finally:
            await (await starting).remove()

    async def events(self, since: str | None = None) -> AsyncIterator[FeedEvent]:
        """What happens to all sessions that we may read, from a cursor on, or from now on with ``ready`` first.

        It goes on across lost connections, for as long as it is read.
        """
        backoff = Backoff(self._transport.times)
        while True:
            try:
                query = {"since": since}
                async for cursor, kind, data in self._transport.events("/v1/events", query=query):
                    backoff.reset()
                    since = cursor or since
                    told = json_.loads(data) if data else {}
                    yield FeedEvent(kind, since or "", told.get("session"), told.get("time"), told.get("exit"))
            except HawserError as error:
                if not error.is_temporary:
                    raise
            self._transport.lost()
            await asyncio.sleep(backoff.next())

    async def create_token(
        self, scopes: Sequence[str], *, name: str | None = None, expires_in: float | None = None
    ) -> NewToken:
        """Makes a token that may do no more and live no longer than ours; `expires_in` is in seconds."""
        wanted = {"scopes": list(scopes), "name": name, "expiresInMs": _milliseconds(expires_in)}
        body = {field: value for field, value in wanted.items() if value is not None}
        return cast(NewToken, (await self._transport.request("POST", "/v1/tokens", json=body)).json())

    async def list_tokens(self) -> _Tokens:
        """Those that we may revoke."""
        return cast(_Tokens, (await self._transport.request("GET", "/v1/tokens")).json()["tokens"])

    async def revoke_token(self, token_id: str) -> None:
        """Ends a token, those it made, and everything they have open."""
        await self._transport.request("DELETE", f"/v1/tokens/{token_id}")

    async def close(self) -> None:
        """Detaches everything; the programs run on."""
        await asyncio.gather(*(attachment.detach() for attachment in [*self._attachments]))

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Session:
    """One session on a server. It is remembered by its id alone, so it can be had again at any time."""

    def __init__(self, client: Client, session_id: str) -> None:
        self.id = session_id
        self._client = client
        self._transport = client._transport
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
        self._client._attachments.add(attachment)
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
        query = {"since": since, "wait": _milliseconds(wait), "max": max}
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

    async def write(self, data: bytes | bytearray | memoryview | str, *, until_written: bool = False) -> Receipt:
        """Writes exactly once, in the order of the calls, also when a request has to be repeated.

        Returns when the server has all of it, which may take until the program reads; with
        `until_written` when the kernel took it. When the server is away for longer than 10 s it fails with
        ``node_unavailable``, and of what was not acknowledged some may have arrived.
        """
        rest = memoryview(data.encode() if isinstance(data, str) else bytes(data))
        query = {"wait": "written" if until_written else None}
        async with self._turn:
            while True:
                receipt = await self._act("/input", query=query, data=bytes(rest[:_PIECE_BYTES]))
                rest = rest[_PIECE_BYTES:]
                if not rest:
                    return receipt

    async def keys(self, *keys: str) -> Receipt:
        """Presses keys by name, such as ``Enter``, ``C-c`` or ``Up``; ``text:…`` types that as it is."""
        async with self._turn:
            return await self._act("/keys", json={"keys": list(keys)})

    async def resize(self, cols: int, rows: int) -> Receipt:
        check_size(cols, rows)
        async with self._turn:
            return await self._act("/resize", json={"cols": cols, "rows": rows})

    async def signal(self, name: str, *, urgent: bool = False) -> Receipt:
        """As a key press would, to the program in the foreground; `urgent` overtakes input that it has not read."""
        body = {"signal": full_signal(name), "urgent": urgent}
        if urgent:
            # In a stream of its own, in which nothing stands before it.
            return await self._post("/signal", f"{_new_stream()}:0", json=body)
        async with self._turn:
            return await self._act("/signal", json=body)

    async def eof(self) -> Receipt:
        """The end of the program's input: a pipe is closed, a terminal gets Ctrl-D."""
        async with self._turn:
            return await self._act("/eof")

    async def kill(self, *, signal: str | None = None, grace: float | None = None) -> SessionInfo:
        """Ends the program and everything it started, and keeps the session's record.

        `signal` is what is sent first; after `grace` seconds it is SIGKILL.
        """
        query = {"keep": 1, "signal": signal, "graceMs": _milliseconds(grace)}
        answer = await self._transport.request("DELETE", session_path(self.id), query=query, patience=grace or 0.0)
        return cast(SessionInfo, answer.json())

    async def remove(self, *, force: bool = False) -> None:
        """Ends the program if it runs, and forgets the session; with `force` also if its keeper does not answer."""
        query = {"force": 1 if force else None}
        await self._transport.request("DELETE", session_path(self.id), query=query)

    async def _act(self, path: str, **request: Any) -> Receipt:
        """Does something at our place in the stream."""
        now = asyncio.get_running_loop().time()
        stream, position = self._stream, self._position
        if now - self._written_at > _STREAM_REST_S:
            stream, position = _new_stream(), 0
        # Until it is known to have arrived, what follows must not count on it: a failure starts a new stream.
        self._stream, self._position = _new_stream(), 0
        receipt = await self._post(path, f"{stream}:{position}", **request)
        self._stream, self._position = stream, receipt["next"]
        self._written_at = now
        return receipt

    async def _post(self, path: str, key: str, **request: Any) -> Receipt:
        target = session_path(self.id, path)
        headers = {"Idempotency-Key": key}

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


async def _feed(attachment: Attachment, input: bytes | str) -> None:
    """Gives a program its input, as far as it takes it."""
    try:
        await attachment.write(input)
        await attachment.eof()
    except HawserError:
        # It has ended, or whoever reads it will say what is wrong.
        pass


async def _collect(attachment: Attachment, limit: int) -> RunResult:
    """Everything that a program writes until its end."""
    parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    exit_: Exit | None = None
    async for event in attachment:
        match event:
            case Output():
                parts[event.stream].append(event.data)
                if event.end > limit:
                    raise HawserError("limit_exceeded", f"the program wrote more than {limit} bytes, and was ended")
            case Gap():
                raise gap_error(event)
            case Exited():
                exit_ = event.exit
            case Lost():
                raise HawserError("node_unavailable", f"what became of the program is not known: {event.message}")
    if exit_ is None:
        raise HawserError("internal", "the session ended without an exit")
    return RunResult(b"".join(parts["stdout"]), b"".join(parts["stderr"]), exit_)


def _new_stream() -> str:
    return secrets.token_hex(16)


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
