"""One session on a server."""

from __future__ import annotations

import asyncio
import base64
import json as json_
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar, cast
from weakref import WeakSet

from ._attachment import Attachment, Flow, Role
from ._echo import typed_lines
from ._errors import HawserError
from ._events import ConnectionEvent, Gap
from ._http import Answer, Query, Transport
from ._lasting import LastingCall, Meanwhile, new_stream
from ._messages import (
    AgentState,
    AttachedMessage,
    CommandList,
    ExitMessage,
    InputReceipt,
    ProgramState,
    PromptedAgent,
    QueuedPrompt,
    RunAnswer,
    ScreenMessage,
    ScrollbackMessage,
    SearchMatch,
    SecretRequestMessage,
    SendAnswer,
    SessionLease,
    SessionMessage,
    SessionState,
    Span,
)
from ._operations import OperationName
from ._protocol import check_size, full_signal
from ._reader import Since
from ._screen import screen_changes
from ._times import Backoff, milliseconds
from ._wait import WaitResult, wait_for

T = TypeVar("T")
#: An output offset, or a time.
LogPosition = int | datetime

#: Input per request; half of the server's limit.
_PIECE_BYTES = 512 * 1024
#: After this much idle time, in seconds, writes start a new stream, because the server may forget one after an hour.
_STREAM_REST_S = 30 * 60.0
#: How long a server may be unreachable, in seconds, during requests that are safe to repeat.
_RECONNECT_TIMEOUT_S = 10.0
#: The same for requests that wait.
_LASTING_RECONNECT_TIMEOUT_S = 60.0
#: Polling interval for `on_output`, in seconds.
_OUTPUT_S = 0.25
#: Default time to wait for the result of `send`, in seconds.
_SEND_S = 30.0
#: Long-poll time of one output request, in seconds; half of the server's maximum.
_POLL_S = 30.0


@dataclass(frozen=True)
class OutputPart:
    """Output from an offset on, and the session's state after it."""

    offset: int
    data: bytes
    #: Offset to continue at, and end of the output.
    next: int
    end: int
    state: SessionState
    exit: ExitMessage | None
    #: Requested bytes that are no longer available.
    gap: Gap | None

    @property
    def is_last(self) -> bool:
        """Whether no output can follow."""
        return self.state in ("closed", "lost") and self.next >= self.end


@dataclass(frozen=True)
class OutputText:
    """Output from an offset on as text, and the session's state after it."""

    offset: int
    text: str
    #: Offset to continue at, and end of the output.
    next: int
    end: int
    state: SessionState
    #: The bytes left out of the text.
    omitted: Span | None


@dataclass(frozen=True)
class ExecOutput:
    """A chunk of a command's output."""

    #: Offset in the session's output.
    offset: int
    #: The bytes as the command wrote them.
    data: bytes
    #: Bytes before this chunk that the session's log no longer has.
    omitted: int

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


class Session:
    """One session on a server. It holds only the ID, so `Client.at` can create it at any time."""

    def __init__(self, transport: Transport, session_id: str, attachments: WeakSet[Attachment]) -> None:
        self.id = session_id
        self._transport = transport
        #: The client's attachments, which it detaches when it is closed.
        self._attachments = attachments
        #: Position of our own writes: a stream and an offset in it; and the time of the last write.
        self._stream = new_stream()
        self._position = 0
        self._written_at = 0.0
        #: Output offset before the newest input that the server accepted; 0 before any.
        self._typed_at = 0
        self._typed_lines: list[str] = []
        self._turn = asyncio.Lock()
        self._runs = LastingCall(
            transport,
            "runCommand",
            session_id,
            # Older servers don't report why.
            lambda answer: bool(answer["status"] == "running" or answer.get("why") == "starting"),
        )
        self._sends = LastingCall(
            transport, "sendInput", session_id, lambda answer: bool(answer["cause"] == "timeout")
        )

    def attach(
        self,
        *,
        since: Since = 0,
        role: Role = "writer",
        flow: Flow = "lossless",
        exclusive: bool = False,
        reconnect_timeout: float | None = None,
        on_connection: Callable[[ConnectionEvent], None] | None = None,
    ) -> Attachment:
        """Attaches over a WebSocket: events to read, input to send, across lost connections and server restarts.

        `since` is the first output byte, or ``"end"``. A ``viewer`` only reads. ``lossless`` may make the program
        wait for this reader; ``live`` may skip output, with a gap. `exclusive` requests the exclusive right to write
        on every connection, without force. `reconnect_timeout` is how many seconds the server may be unreachable
        before the attachment fails with ``node_unavailable``; the default is no limit. `on_connection` is called at
        once, even if no events are read.
        """
        attachment = Attachment(
            self._transport,
            self.id,
            since=since,
            role=role,
            flow=flow,
            exclusive=exclusive,
            reconnect_timeout=reconnect_timeout,
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
        since: Since | None = None,
        include_echo: bool = False,
        reconnect_timeout: float | None = None,
    ) -> WaitResult:
        """Returns when the program has exited; or earlier, when its output matches or it was `idle` for this long.

        A match is a string, or a compiled expression. It is searched from the byte `since` on, in the last 64 KiB of
        the output as text, without colors and cursor movement; by default from the end of the output before the
        newest input through this `Session`, without the echo of that line unless `include_echo` is set, and from 0
        before any input. Times are in seconds; time without a
        connection is not idle. `reconnect_timeout` is how many seconds the server may be unreachable, as for an
        attachment.
        """
        pattern = re.compile(re.escape(match)) if isinstance(match, str) else match
        attachment = self.attach(
            since=(self._typed_at if since is None else since) if pattern else "end",
            role="viewer",
            flow="lossless" if pattern else "live",
            reconnect_timeout=reconnect_timeout,
        )
        typed = self._typed_lines if since is None and not include_echo else ()
        return await wait_for(attachment, pattern, idle, timeout, typed)

    async def info(self) -> SessionMessage:
        return cast(SessionMessage, (await self._request("getSession")).json())

    async def output(self, since: int = 0, *, wait: float = 0.0, max: int | None = None) -> OutputPart:
        """Output from `since` on; if there is none, waits for at most `wait` seconds.

        The server caps `wait` at a minute, and `max` at 4 MiB.
        """
        query = {"since": since, "wait": milliseconds(wait), "max": max}
        answer = await self._request("readOutput", query=query, extra_time=wait)
        headers = answer.headers
        exit_ = headers.get("hawser-exit")
        gap = re.search(r"from=(\d+), to=(\d+), reason=(\w+)", headers.get("hawser-gap", ""))
        return OutputPart(
            offset=int(headers["hawser-offset"]),
            data=answer.body,
            next=int(headers["hawser-next"]),
            end=int(headers["hawser-end"]),
            state=cast(SessionState, headers["hawser-state"]),
            exit=None if exit_ is None else json_.loads(exit_),
            gap=None if gap is None else Gap(int(gap[1]), int(gap[2]), gap[3]),
        )

    async def follow(
        self, since: int = 0, *, reconnect_timeout: float = _RECONNECT_TIMEOUT_S
    ) -> AsyncIterator[OutputPart]:
        """Yields output from `since` on until the session ends, by plain requests.

        The server may be unreachable for `reconnect_timeout` seconds at a time. The program does not wait for this
        reader, so output may be gone when it is requested: the part then has a `gap`.
        """
        while True:
            part = await self._retry(lambda: self.output(since, wait=_POLL_S), reconnect_timeout)
            since = part.next
            if part.data or part.gap or part.is_last:
                yield part
            if part.is_last:
                return

    async def logs(self, since: int = 0) -> bytes:
        """All retained output from `since` on, in one piece."""
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
        """The output as compact text for a model, within `max` bytes: 9,600 by default, 80,000 at most.

        It has no escape sequences, no overwritten or repeated lines, and notes what was left out; with `redact`, no
        keys and tokens of known formats either.
        """
        query: Query = {"as": "text", "since": since, "wait": milliseconds(wait), "max": max, "redact": "1" if redact else None}
        answer = await self._request("readOutput", query=query, extra_time=wait)
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
        """Lines that match, in all retained output so far, oldest first.

        A string is literal; an expression follows JavaScript's rules, and of its flags only `re.IGNORECASE` applies.
        Escape sequences are ignored.
        """
        query = _wanted("q", wanted, ignore_case)
        after: int | None = since
        while after is not None:
            query["after"] = after
            page = (await self._request("searchOutput", query=query)).json()
            for match in page["matches"]:
                yield match
            after = page["next"]

    async def screen(
        self,
        *,
        since: int | None = None,
        at: LogPosition | None = None,
        wait: float = 0.0,
        text: str | re.Pattern[str] | None = None,
        ignore_case: bool = False,
        stable: float | None = None,
        region: tuple[int, int] | None = None,
    ) -> ScreenMessage:
        """The screen: text rows, cursor and title; or an earlier screen, with `at`.

        With `wait`, waits for that many seconds, a minute at most, until one of the rows has a `text` or the text was
        `stable` for so long, which `met` reports; without these, for a change since a `revision`. `region` is the
        first and last row to consider, from zero.
        """
        query = {
            "since": since,
            "at": _position(at),
            "wait": milliseconds(wait or None),
            **_wanted("text", text, ignore_case),
            "stable": milliseconds(stable),
            "region": None if region is None else f"{region[0]}-{region[1]}",
        }
        return cast(ScreenMessage, (await self._request("readScreen", query=query, extra_time=wait)).json())

    async def screen_text(self, *, at: LogPosition | None = None, colors: bool = False) -> str:
        """The screen as text, optionally with colors."""
        query = {"format": "ansi" if colors else "text", "at": _position(at)}
        return (await self._request("readScreen", query=query)).body.decode()

    async def screen_picture(self, format: Literal["svg", "html"] = "svg", *, at: LogPosition | None = None) -> str:
        """The screen as a self-contained picture."""
        return (await self._request("readScreen", query={"format": format, "at": _position(at)})).body.decode()

    def screen_changes(self, *, reconnect_timeout: float = _RECONNECT_TIMEOUT_S) -> AsyncIterator[ScreenMessage]:
        """Yields the full screen now, and after every change until the session ends."""

        async def read(since: int | None, wait: float) -> ScreenMessage:
            wait = 0.0 if since is None else wait
            return await self._retry(lambda: self.screen(since=since, wait=wait), reconnect_timeout)

        return screen_changes(read)

    async def scrollback(
        self, *, at: LogPosition | None = None, skip: int = 0, limit: int | None = None
    ) -> ScrollbackMessage:
        """Rows above the screen: `limit` of them, 100 by default, after skipping `skip`."""
        query = {"at": _position(at), "skip": skip, "limit": limit}
        return cast(ScrollbackMessage, (await self._request("readScrollback", query=query)).json())

    async def recording(
        self,
        *,
        format: Literal["asciicast-v2", "asciicast-v3"] | None = None,
        idle_limit: float | None = None,
        start: LogPosition | None = None,
        end: LogPosition | None = None,
    ) -> bytes:
        """The output so far with its timing, as an asciicast. Players shorten pauses to `idle_limit`."""
        query = {
            "format": format,
            "idleLimitMs": milliseconds(idle_limit),
            "from": _position(start),
            "to": _position(end),
        }
        return (await self._request("recordSession", query=query, extra_time=None)).body

    async def inspect(
        self,
        *,
        agent: Sequence[AgentState] | None = None,
        wait: float | None = None,
        explain: bool = False,
    ) -> ProgramState:
        """The program's current state, and what it waits for.

        With `agent` it returns once the coding agent is in one of these states, the program has ended, or `wait` seconds
        are over. With `explain` it includes the agent's signals.
        """
        query: Query = {"agent": agent, "wait": milliseconds(wait), "explain": 1 if explain else None}
        return cast(ProgramState, (await self._request("inspectSession", query=query, extra_time=wait)).json())

    async def answer(
        self, episode: int, choice: str | None = None, *, text: str | None = None, fence: int | None = None
    ) -> None:
        """Answers the dialog of the session's agent with one of its choices, or with a text.

        Returns once the dialog is gone. `episode` and the choices are in ``agent`` of `inspect`.
        """
        body = {"episode": episode, "choice": choice, "text": text}
        await self._request("answerAgent", headers=_fence(fence), json=_given(body))

    async def prompt(self, text: str, *, when_idle: bool = False, fence: int | None = None) -> PromptedAgent:
        """Types a prompt into the session's agent and submits it.

        With `when_idle` it is queued while the agent works or a dialog is open; otherwise a dialog is the error
        ``blocked``.
        """
        body = {"text": text, "whenIdle": when_idle}
        return cast(PromptedAgent, (await self._request("promptAgent", headers=_fence(fence), json=body)).json())

    async def prompts(self) -> list[QueuedPrompt]:
        """Prompts that wait until the agent is idle, oldest first."""
        return cast(list[QueuedPrompt], (await self._request("listPrompts")).json()["prompts"])

    async def cancel_prompt(self, prompt: str) -> None:
        """Removes a prompt from the queue; ``not_found`` once it was submitted."""
        await self._request("cancelPrompt", params={"prompt": prompt})

    async def commands(self, *, after: int | None = None, limit: int | None = None) -> CommandList:
        """The most recent commands of the shell, oldest first."""
        return cast(CommandList, (await self._request("listCommands", query={"after": after, "limit": limit})).json())

    async def attached(self) -> list[AttachedMessage]:
        """Clients attached by WebSocket, in the order of attaching."""
        return cast(list[AttachedMessage], (await self._request("listAttached")).json()["attached"])

    async def exec(
        self,
        command: str | int,
        *,
        timeout: float | None = None,
        limit: int | None = None,
        on_output: Callable[[ExecOutput], Awaitable[None] | None] | None = None,
        reconnect_timeout: float = _LASTING_RECONNECT_TIMEOUT_S,
        fence: int | None = None,
    ) -> RunAnswer:
        """Runs a command in the session's bash, zsh or fish, and returns its output and exit code.

        With the number of a command, resumes waiting for it. It runs once, whatever happens to connections and the
        server, which may be unreachable for `reconnect_timeout` seconds. `limit` is how many bytes of output the
        result's text has, from the end; 64 KiB by default. `on_output` is called with all output of the command, in
        order, as it arrives; in the client without asyncio it runs on the client's loop.
        """
        body: dict[str, Any] = {"command" if isinstance(command, str) else "resume": command}
        if limit is not None:
            body["limit"] = limit
        if on_output is None:
            answer = await self._runs.make(body, timeout=timeout, reconnect_timeout=reconnect_timeout, fence=fence)
            return cast(RunAnswer, answer)
        part_from, hand_on = 0, on_output

        async def take(answer: RunAnswer) -> Mapping[str, Any]:
            nonlocal part_from
            part = answer["part"]
            if part is not None:
                part_from = part["to"]
                data = base64.b64decode(part["bytes"])
                if data or part["omitted"] > 0:
                    called = hand_on(ExecOutput(part["from"], data, part["omitted"]))
                    if called is not None:
                        await called
            return {**body, "partFrom": part_from}

        meanwhile = Meanwhile(_OUTPUT_S, lambda answer: bool(answer["part"] and answer["part"]["more"]), take)
        first = {**body, "partFrom": 0}
        answer = await self._runs.make(
            first, timeout=timeout, reconnect_timeout=reconnect_timeout, fence=fence, meanwhile=meanwhile
        )
        await take(answer)
        return cast(RunAnswer, {**answer, "part": None})

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
        reconnect_timeout: float = _LASTING_RECONNECT_TIMEOUT_S,
        fence: int | None = None,
    ) -> SendAnswer:
        """Sends text (with `paste`, as a bracketed paste) and then keys, waits for the first of several conditions,
        and returns the output since.

        Conditions: a `match` in new output (a string, or an expression within a line), no output for `idle` seconds,
        an unchanged screen for `stable` seconds, the program waits for `input`, its shell is at its prompt again
        (`end`); and always its end. The input is sent once, whatever happens to connections and the server.
        """
        until: dict[str, Any] = {"idleMs": milliseconds(idle), "stableMs": milliseconds(stable)}
        until.update(input=input, end=end, match=match if isinstance(match, str) else None)
        if isinstance(match, re.Pattern):
            is_any_case = bool(match.flags & re.IGNORECASE)
            until.update(match=match.pattern, regex=True, ignoreCase=is_any_case)
        typed: dict[str, Any] = {"text": text, "paste": paste, "keys": list(keys) or None}
        wanted = {**typed, "until": _given(until) or None, "limit": limit}
        answer = await self._sends.make(
            _given(wanted), timeout=timeout, reconnect_timeout=reconnect_timeout, fence=fence
        )
        return cast(SendAnswer, answer)

    async def write(
        self,
        data: bytes | bytearray | memoryview | str,
        *,
        until_written: bool = False,
        fence: int | None = None,
    ) -> InputReceipt:
        """Writes exactly once, in the order of the calls, even if a request has to be repeated.

        Returns when the server has all of it, which may take until the program reads; with `until_written`, when the
        kernel has it. If the server is unreachable for more than 10 s, it fails with ``node_unavailable``, and
        unacknowledged input may have arrived. `fence` is that of `take_lease`.
        """
        rest = memoryview(data.encode() if isinstance(data, str) else bytes(data))
        query = {"wait": "written" if until_written else None}
        async with self._turn:
            is_first = True
            while True:
                receipt = await self._act("writeInput", fence, query=query, data=bytes(rest[:_PIECE_BYTES]))
                # The program's response may start with the first chunk.
                if is_first:
                    self._typed_at = receipt.get("from", self._typed_at)
                    self._typed_lines = typed_lines(bytes(rest))
                is_first = False
                rest = rest[_PIECE_BYTES:]
                if not rest:
                    return receipt

    async def keys(self, *keys: str, fence: int | None = None) -> InputReceipt:
        """Sends keys by name, such as ``Enter``, ``C-c`` or ``Up``; ``text:…`` sends text."""
        async with self._turn:
            receipt = await self._act("pressKeys", fence, json={"keys": list(keys)})
            self._typed_at = receipt.get("from", self._typed_at)
            self._typed_lines = []
            return receipt

    async def secret(
        self,
        secret: bytes | str,
        *,
        if_waiting: int | None = None,
        episode: int | None = None,
        fence: int | None = None,
    ) -> InputReceipt:
        """Sends a secret line, such as a password, and Enter.

        Fails with ``not_waiting`` unless the program reads a line without echo. `if_waiting` and `episode` are the
        prompt's offset and episode from `inspect`.
        """
        data = secret.encode() if isinstance(secret, str) else bytes(secret)
        query = {"ifWaiting": if_waiting, "episode": episode}
        return await self._post("typeSecret", f"{new_stream()}:0", fence, query=query, data=data)

    async def request_secret(self, *, name: str | None = None, reason: str | None = None) -> SecretRequestMessage:
        """Requests that a user types the secret that the program reads now. Fails with ``not_waiting`` if it reads
        none.
        """
        wanted = {"name": name, "reason": reason}
        body = {field: value for field, value in wanted.items() if value is not None}
        return cast(SecretRequestMessage, (await self._request("requestSecret", json=body)).json())

    async def resize(self, cols: int, rows: int, *, fence: int | None = None) -> InputReceipt:
        check_size(cols, rows)
        async with self._turn:
            return await self._act("resizeTerminal", fence, json={"cols": cols, "rows": rows})

    async def signal(self, name: str, *, urgent: bool = False, fence: int | None = None) -> InputReceipt:
        """Sent to the foreground process group, like a key press; `urgent` overtakes input that the program has not
        read.
        """
        body = {"signal": full_signal(name), "urgent": urgent}
        if urgent:
            # A new stream, so that nothing is queued before it.
            return await self._post("signalProgram", f"{new_stream()}:0", fence, json=body)
        async with self._turn:
            return await self._act("signalProgram", fence, json=body)

    async def eof(self, *, fence: int | None = None) -> InputReceipt:
        """End of input: closes a pipe, sends Ctrl-D to a terminal."""
        async with self._turn:
            return await self._act("endInput", fence)

    async def take_lease(
        self,
        *,
        exclusive: bool | None = None,
        force: bool | None = None,
        ttl: float | None = None,
        fence: int | None = None,
    ) -> SessionLease:
        """Takes control for `ttl` seconds, or a minute; later writes pass the `fence` of the result.

        It is exclusive by default, and with `force` also taken from another holder. With the `fence` of our own
        control, it is extended. An attachment keeps control while attached: `Attachment.take`.
        """
        wanted = {"exclusive": exclusive, "force": force, "ttlMs": milliseconds(ttl), "fence": fence}
        body = {field: value for field, value in wanted.items() if value is not None}
        return cast(SessionLease, (await self._request("takeLease", json=body)).json())

    async def release_lease(self, *, fence: int | None = None) -> SessionLease:
        """Releases our control; with `fence`, only if that is still the current one."""
        return cast(SessionLease, (await self._request("releaseLease", query={"fence": fence})).json())

    async def rename(self, name: str | None) -> SessionMessage:
        """Renames the session; None removes the name."""
        answer = await self._request("updateSession", json={"name": name})
        return cast(SessionMessage, answer.json())

    async def detach_all(self, *, keep_writer: bool = False) -> int:
        """Detaches all clients, of any caller; with `keep_writer`, all except the last writer. Returns the number of
        detached clients.
        """
        body = {"keepWriter": keep_writer}
        answer = await self._request("detachAll", json=body)
        return cast(int, answer.json()["detached"])

    async def kill(self, *, signal: str | None = None, grace: float | None = None) -> SessionMessage:
        """Kills the program and all processes it started, and keeps the session's record.

        `signal` is sent first; SIGKILL follows after `grace` seconds.
        """
        wanted = {"signal": signal, "graceMs": milliseconds(grace)}
        body = {field: value for field, value in wanted.items() if value is not None}
        answer = await self._request("killSession", json=body, extra_time=grace or 0.0)
        return cast(SessionMessage, answer.json())

    async def remove(self, *, force: bool = False) -> None:
        """Deletes the session; kills it first if it is running. `force` works even if the keeper does not respond."""
        query = {"force": 1 if force else None}
        await self._request("deleteSession", query=query)

    async def _act(self, operation: OperationName, fence: int | None, **request: Any) -> InputReceipt:
        """Executes an action at our position in the stream."""
        now = asyncio.get_running_loop().time()
        stream, position = self._stream, self._position
        if now - self._written_at > _STREAM_REST_S:
            stream, position = new_stream(), 0
        # Until the request has succeeded, later ones must not rely on it: a failure starts a new stream.
        self._stream, self._position = new_stream(), 0
        receipt = await self._post(operation, f"{stream}:{position}", fence, **request)
        self._stream, self._position = stream, receipt["next"]
        self._written_at = now
        return receipt

    async def _post(self, operation: OperationName, key: str, fence: int | None, **request: Any) -> InputReceipt:
        headers = {"Idempotency-Key": key, **_fence(fence)}

        def send() -> Awaitable[Answer]:
            return self._request(operation, headers=headers, extra_time=None, **request)

        return cast(InputReceipt, (await self._retry(send, _RECONNECT_TIMEOUT_S)).json())

    async def _request(
        self, operation: OperationName, *, params: Mapping[str, str] | None = None, **request: Any
    ) -> Answer:
        return await self._transport.request(operation, params={"id": self.id, **(params or {})}, **request)

    async def _retry(self, ask: Callable[[], Awaitable[T]], reconnect_timeout: float) -> T:
        """Retries while the server is unreachable, for at most this many seconds."""
        now = asyncio.get_running_loop().time
        backoff = Backoff(self._transport.times)
        away_since: float | None = None
        while True:
            try:
                return await ask()
            except HawserError as error:
                away_since = now() if away_since is None else away_since
                if error.code != "node_unavailable" or now() - away_since >= reconnect_timeout:
                    raise
            await asyncio.sleep(backoff.next())


def _fence(fence: int | None) -> dict[str, str]:
    return {} if fence is None else {"Hawser-Fence": str(fence)}


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _position(place: LogPosition | None) -> str | int | None:
    return place.astimezone().isoformat() if isinstance(place, datetime) else place


def _wanted(name: str, wanted: str | re.Pattern[str] | None, ignore_case: bool) -> dict[str, str | int | None]:
    """A string or expression as query fields."""
    if wanted is None:
        return {}
    if isinstance(wanted, str):
        return {name: wanted, "ignoreCase": 1 if ignore_case else None}
    is_any_case = ignore_case or bool(wanted.flags & re.IGNORECASE)
    return {name: wanted.pattern, "regex": 1, "ignoreCase": 1 if is_any_case else None}
