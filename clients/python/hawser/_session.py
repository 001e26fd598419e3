"""One session on a server, as a program sees it."""

from __future__ import annotations

import asyncio
import json as json_
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar, cast
from weakref import WeakSet

from ._attachment import Attachment, Flow, Role
from ._errors import HawserError
from ._events import ConnectionEvent, Gap
from ._http import Answer, Query, Transport, session_path
from ._lasting import LastingCall, new_stream
from ._messages import (
    Attached,
    CommandList,
    Exit,
    Lease,
    ProgramState,
    Receipt,
    RunAnswer,
    Screen,
    Scrollback,
    SearchMatch,
    SecretRequest,
    SendAnswer,
    SessionInfo,
    SessionState,
    Span,
)
from ._protocol import check_size, full_signal
from ._reader import Since
from ._screen import screen_changes
from ._times import Backoff, milliseconds
from ._wait import WaitResult, wait_for

T = TypeVar("T")
#: An offset of the output, or a moment.
LogPlace = int | datetime

#: How much input goes into one request: half of a server's limit.
_PIECE_BYTES = 512 * 1024
#: After a rest as long as this, in seconds, writes begin a new stream: a server may forget an old one after an hour.
_STREAM_REST_S = 30 * 60.0
#: How long, in seconds, a server may be away while something is asked of it that is safe to repeat.
_PATIENCE_S = 10.0
#: How long it may be away while something is done that lasts.
_LASTING_PATIENCE_S = 60.0
#: How long is waited, in seconds, for what follows something that was typed.
_SEND_S = 30.0
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


@dataclass(frozen=True)
class OutputText:
    """Output from an offset on as text, and how the session stood after it."""

    offset: int
    text: str
    #: Where to go on reading, and how many bytes there have been.
    next: int
    end: int
    state: SessionState
    #: Bytes that the text says nothing of.
    omitted: Span | None


class Session:
    """One session on a server. It is remembered by its id alone, so it can be had again at any time."""

    def __init__(self, transport: Transport, session_id: str, attachments: WeakSet[Attachment]) -> None:
        self.id = session_id
        self._transport = transport
        #: Where whoever made us finds what it has to detach at the end.
        self._attachments = attachments
        #: Where our own writes go: a stream and the next position in it; and when the last one was.
        self._stream = new_stream()
        self._position = 0
        self._written_at = 0.0
        self._turn = asyncio.Lock()
        self._runs = LastingCall(
            transport, session_path(session_id, "/run"), lambda answer: bool(answer["status"] == "running")
        )
        self._sends = LastingCall(
            transport, session_path(session_id, "/send"), lambda answer: bool(answer["cause"] == "timeout")
        )

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

    async def text(
        self, since: int = 0, *, wait: float = 0.0, max: int | None = None, redact: bool = False
    ) -> OutputText:
        """The same as text for reading by the token, within `max` bytes: 9,600 by default, and 80,000 at most.

        It is without escape sequences, drawn over and repeated lines, and says where something is left out; with
        `redact` without keys and tokens, too, as far as they are known by their form.
        """
        query: Query = {"as": "text", "since": since, "wait": milliseconds(wait), "max": max, "redact": "1" if redact else None}
        answer = await self._get("/output", query, patience=wait)
        headers = answer.headers
        omitted = re.search(r"from=(\d+), to=(\d+)", headers.get("hawser-omitted", ""))
        return OutputText(
            offset=int(headers["hawser-offset"]),
            text=answer.body.decode(),
            next=int(headers["hawser-next"]),
            end=int(headers["hawser-end"]),
            state=cast(SessionState, headers["hawser-state"]),
            omitted=None if omitted is None else {"from": int(omitted[1]), "to": int(omitted[2])},
        )

    async def search(
        self, wanted: str | re.Pattern[str], *, ignore_case: bool = False, since: int = 0
    ) -> AsyncIterator[SearchMatch]:
        """The lines in which something is, of everything that was written by now and is kept, oldest first.

        Text is looked for to the letter, an expression by the rules of JavaScript, of whose flags only
        `re.IGNORECASE` counts. Escape sequences are not in the way.
        """
        query = _wanted("q", wanted, ignore_case)
        after: int | None = since
        while after is not None:
            query["after"] = after
            page = (await self._get("/search", query)).json()
            for match in page["matches"]:
                yield match
            after = page["next"]

    async def screen(
        self,
        *,
        since: int | None = None,
        at: LogPlace | None = None,
        wait: float = 0.0,
        text: str | re.Pattern[str] | None = None,
        ignore_case: bool = False,
        stable: float | None = None,
        region: tuple[int, int] | None = None,
    ) -> Screen:
        """What its terminal shows: the text of its rows, the cursor, the title; or how it was `at` a place.

        With `wait` it is waited so many seconds, a minute at most, until it has a `text` in one of its rows or
        its text was `stable` for so long, which `met` tells; without these, until it has changed `since` a
        `revision`. `region` are the first and the last row that count, from zero on.
        """
        query = {
            "since": since,
            "at": _place(at),
            "wait": milliseconds(wait or None),
            **_wanted("text", text, ignore_case),
            "stable": milliseconds(stable),
            "region": None if region is None else f"{region[0]}-{region[1]}",
        }
        return cast(Screen, (await self._get("/screen", query, patience=wait)).json())

    async def screen_text(self, *, at: LogPlace | None = None, colors: bool = False) -> str:
        """The same as text, with colours if they are wanted, as any terminal prints it."""
        query = {"format": "ansi" if colors else "text", "at": _place(at)}
        return (await self._get("/screen", query)).body.decode()

    async def screen_picture(self, format: Literal["svg", "html"] = "svg", *, at: LogPlace | None = None) -> str:
        """The same as a picture that needs nothing but itself."""
        return (await self._get("/screen", {"format": format, "at": _place(at)})).body.decode()

    def screen_changes(self, *, patience: float = _PATIENCE_S) -> AsyncIterator[Screen]:
        """What it shows now, with all rows, and again whenever that looks otherwise, until the session has ended."""

        async def read(since: int | None, wait: float) -> Screen:
            wait = 0.0 if since is None else wait
            return await self._patiently(lambda: self.screen(since=since, wait=wait), patience)

        return screen_changes(read)

    async def scrollback(self, *, at: LogPlace | None = None, skip: int = 0, limit: int | None = None) -> Scrollback:
        """The rows above what it shows: `limit` of them, 100 by default, above `skip` others."""
        query = {"at": _place(at), "skip": skip, "limit": limit}
        return cast(Scrollback, (await self._get("/scrollback", query)).json())

    async def recording(
        self,
        *,
        format: Literal["asciicast-v2", "asciicast-v3"] | None = None,
        idle_limit: float | None = None,
        start: LogPlace | None = None,
        end: LogPlace | None = None,
    ) -> bytes:
        """What was shown by now, and when, as a file for players of terminals, who shorten pauses to `idle_limit`."""
        query = {
            "format": format,
            "idleLimitMs": milliseconds(idle_limit),
            "from": _place(start),
            "to": _place(end),
        }
        return (await self._get("/recording", query, patience=None)).body

    async def inspect(self) -> ProgramState:
        """What its program does now, and what it waits for."""
        return cast(ProgramState, (await self._get("/state")).json())

    async def commands(self, *, after: int | None = None, limit: int | None = None) -> CommandList:
        """What its shell has run: the newest, oldest first."""
        return cast(CommandList, (await self._get("/commands", {"after": after, "limit": limit})).json())

    async def attached(self) -> list[Attached]:
        """Who is attached to it by WebSocket, those who came first first."""
        return cast(list[Attached], (await self._get("/attachments")).json()["attached"])

    async def exec(
        self,
        command: str | int,
        *,
        timeout: float | None = None,
        limit: int | None = None,
        patience: float = _LASTING_PATIENCE_S,
        fence: int | None = None,
    ) -> RunAnswer:
        """Runs a command in the bash, zsh or fish that this session is, and tells what it wrote and how it ended.

        With the number of a command it goes on waiting for that one. It runs once, whatever happens to
        connections and to the server, which may be away for `patience` seconds. `limit` is how much of the
        output is told as text, in bytes: its end; 64 KiB by default.
        """
        body = {"command" if isinstance(command, str) else "resume": command}
        if limit is not None:
            body["limit"] = limit
        answer = await self._runs.make(body, timeout=timeout, patience=patience, fence=fence)
        return cast(RunAnswer, answer)

    async def send(
        self,
        text: str | None = None,
        *,
        paste: bool | None = None,
        keys: Sequence[str] = (),
        match: str | re.Pattern[str] | None = None,
        idle: float | None = None,
        stable: float | None = None,
        input: bool | None = None,
        end: bool | None = None,
        timeout: float = _SEND_S,
        limit: int | None = None,
        patience: float = _LASTING_PATIENCE_S,
        fence: int | None = None,
    ) -> SendAnswer:
        """Types text (or pastes it, as a terminal does) and then keys, waits for the first of several causes, and
        reads what was written since.

        What ends the wait: a `match` in what is new (a text, or an expression within a line), that nothing was
        written for `idle` seconds, that the screen is the same for `stable` seconds, that the program waits for
        `input`, that its shell is at its prompt again (`end`); its end, in any case. It is typed once, whatever
        happens to connections and to the server.
        """
        until: dict[str, Any] = {"idleMs": milliseconds(idle), "stableMs": milliseconds(stable)}
        until.update(input=input, end=end, match=match if isinstance(match, str) else None)
        if isinstance(match, re.Pattern):
            is_any_case = bool(match.flags & re.IGNORECASE)
            until.update(match=match.pattern, regex=True, ignoreCase=is_any_case)
        typed: dict[str, Any] = {"text": text, "paste": paste, "keys": list(keys) or None}
        wanted = {**typed, "until": _given(until) or None, "limit": limit}
        answer = await self._sends.make(_given(wanted), timeout=timeout, patience=patience, fence=fence)
        return cast(SendAnswer, answer)

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

    async def secret(
        self,
        secret: bytes | str,
        *,
        if_waiting: int | None = None,
        episode: int | None = None,
        fence: int | None = None,
    ) -> Receipt:
        """Types a line that nobody may see, such as a password, and Enter.

        Only while the program reads one without showing it, else it is refused with ``not_waiting``. `if_waiting` is
        the offset of the question, and `episode` its episode, as `inspect` tells them.
        """
        data = secret.encode() if isinstance(secret, str) else bytes(secret)
        query = {"ifWaiting": if_waiting, "episode": episode}
        return await self._post("/secret", f"{new_stream()}:0", fence, query=query, data=data)

    async def request_secret(self, *, name: str | None = None, reason: str | None = None) -> SecretRequest:
        """Asks for the secret that the program reads now to be typed by somebody who may; ``not_waiting`` if none."""
        wanted = {"name": name, "reason": reason}
        body = {field: value for field, value in wanted.items() if value is not None}
        path = session_path(self.id, "/secret-requests")
        return cast(SecretRequest, (await self._transport.request("POST", path, json=body)).json())

    async def resize(self, cols: int, rows: int, *, fence: int | None = None) -> Receipt:
        check_size(cols, rows)
        async with self._turn:
            return await self._act("/resize", fence, json={"cols": cols, "rows": rows})

    async def signal(self, name: str, *, urgent: bool = False, fence: int | None = None) -> Receipt:
        """As a key press would, to the program in the foreground; `urgent` overtakes input that it has not read."""
        body = {"signal": full_signal(name), "urgent": urgent}
        if urgent:
            # In a stream of its own, in which nothing stands before it.
            return await self._post("/signal", f"{new_stream()}:0", fence, json=body)
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
            stream, position = new_stream(), 0
        # Until it is known to have arrived, what follows must not count on it: a failure starts a new stream.
        self._stream, self._position = new_stream(), 0
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

    async def _get(self, path: str, query: Query = {}, *, patience: float | None = 0.0) -> Answer:
        return await self._transport.request("GET", session_path(self.id, path), query=query, patience=patience)

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


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _place(place: LogPlace | None) -> str | int | None:
    return place.astimezone().isoformat() if isinstance(place, datetime) else place


def _wanted(name: str, wanted: str | re.Pattern[str] | None, ignore_case: bool) -> dict[str, str | int | None]:
    """What is looked for, to the letter or as an expression, as the fields of a query."""
    if wanted is None:
        return {}
    if isinstance(wanted, str):
        return {name: wanted, "ignoreCase": 1 if ignore_case else None}
    is_any_case = ignore_case or bool(wanted.flags & re.IGNORECASE)
    return {name: wanted.pattern, "regex": 1, "ignoreCase": 1 if is_any_case else None}
