"""A server's client for asyncio; `hawser.sync` is the same without."""

from __future__ import annotations

import asyncio
import json as json_
import os
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, cast
from weakref import WeakSet

from ._attachment import Attachment, gap_error
from ._errors import HawserError
from ._events import Exited, Gap, Lost, Output
from ._http import Address, Query, Transport
from ._locate import find_server
from ._messages import (
    ApprovalMessage,
    CreateGate,
    CreatedTicket,
    CreatedToken,
    ExitMessage,
    FeedSession,
    Info,
    InputReceipt,
    Mode,
    Retain,
    SecretRequestMessage,
    SessionMessage,
    SessionState,
    SignInLink,
    TokenMessage,
)
from ._session import Session
from ._times import Backoff, Times, milliseconds

#: Inside of its class, `Client.list` hides the built-in.
_Sessions = list[SessionMessage]
_Tokens = list[TokenMessage]
_Approvals = list[ApprovalMessage]
_SecretRequests = list[SecretRequestMessage]

#: Default output limit of `run`: 16 MiB.
_RUN_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class RunResult:
    stdout: bytes
    stderr: bytes
    exit: ExitMessage


@dataclass(frozen=True)
class FeedEvent:
    """An event of a session.

    `cursor` is where to continue. ``begin`` says that all events from here on follow; ``gap`` says that events were
    missed and the sessions must be listed again. Both have no session.
    """

    type: str
    cursor: str
    session: FeedSession | None = None
    #: Milliseconds since the epoch.
    time: int | None = None
    exit: ExitMessage | None = None


def connect(
    url: str, token: str | None = None, *, tls: ssl.SSLContext | None = None, times: Times = Times()
) -> Client:
    """Makes no request; the first one shows whether the server is reachable.

    `tls` is for certificates that the system does not trust. Token and address are used as given.
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
    """Finds the server as the command line does: at HAWSER_URL, else the local one of this account.

    The local one is found by its state directory and used over its Unix socket, where no other account can answer; it
    is located again after each lost connection. Without HAWSER_TOKEN the admin token is used.
    """
    return Client(Transport(lambda: find_server(url, token, state_dir), times))


class Client:
    """Use it with ``async with``, which detaches all attachments at the end."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._attachments: WeakSet[Attachment] = WeakSet()

    async def info(self) -> Info:
        """The server's version, limits and features."""
        return cast(Info, (await self._transport.request("getInfo")).json())

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
        task: str | None = None,
        timeout: float | None = None,
        idle_timeout: float | None = None,
        durable: bool | None = None,
        hold_output: bool | None = None,
        retain: Retain | None = None,
        stdin: Literal["open", "closed"] | None = None,
        sandbox: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
        retry_timeout: float = 60.0,
    ) -> Session:
        """Starts a program: `argv`, or a `command` line for ``/bin/sh -c``.

        Times are in seconds. Omitted settings use the server's defaults. After ``node_unavailable`` the program may
        or may not have been started; with an `idempotency_key` the call can be repeated and starts nothing twice.
        While the server's start rate refuses the request, the call retries for at most `retry_timeout` seconds.
        """
        wanted = {
            "argv": None if argv is None else _arguments(argv),
            "command": command,
            "cwd": cwd,
            "env": env,
            "mode": mode,
            "cols": cols,
            "rows": rows,
            "name": name,
            "labels": labels,
            "workspace": workspace,
            "task": task,
            "timeoutMs": milliseconds(timeout),
            "idleTimeoutMs": milliseconds(idle_timeout),
            "durable": durable,
            "holdOutput": hold_output,
            "retain": retain,
            "stdin": stdin,
            "sandbox": sandbox,
        }
        body = {field: value for field, value in wanted.items() if value is not None}
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        begin = asyncio.get_running_loop().time()
        while True:
            try:
                answer = await self._transport.request("createSession", json=body, headers=headers)
                return self.at(answer.json()["id"])
            except HawserError as error:
                waited = asyncio.get_running_loop().time() - begin
                if error.retry_after is None or waited + error.retry_after > retry_timeout:
                    raise
                await asyncio.sleep(error.retry_after)

    async def list(
        self,
        *,
        state: Sequence[SessionState] | None = None,
        workspace: str | None = None,
        task: str | None = None,
        name: str | None = None,
        label: Sequence[str] | None = None,
        order: Literal["oldest", "newest"] | None = None,
    ) -> _Sessions:
        """All sessions, oldest first unless `order` says otherwise.

        A `name` belongs to at most one running session, and any number of ended ones. Each label is ``key`` or
        ``key=value``; all must match.
        """
        wanted: Query = {
            "state": state,
            "workspace": workspace,
            "task": task,
            "name": name,
            "label": label,
            "order": order,
        }
        sessions: _Sessions = []
        after: str | None = None
        while True:
            query: Query = {**wanted, "after": after, "limit": 1000}
            page = (await self._transport.request("listSessions", query=query)).json()
            sessions += page["sessions"]
            after = page["next"]
            if after is None:
                return sessions

    async def get(self, session_id: str) -> Session:
        """Fails with ``session_not_found`` if it does not exist."""
        session = self.at(session_id)
        await session.info()
        return session

    def at(self, session_id: str) -> Session:
        """The session with this ID. Makes no request."""
        return Session(self._transport, session_id, self._attachments)

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
        """Runs a program on pipes until it ends, and deletes its session.

        After `timeout` seconds the server kills it, and ``exit["reason"]`` says so. After more than `limit` bytes of
        output it is killed, with ``limit_exceeded``. Canceling kills it, too. Input that it does not read is not an
        error.
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
            hold_output=True,
        )
        # Not canceled with this call: a program that was started must also be killed.
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

    async def events(
        self,
        since: str | None = None,
        *,
        types: Sequence[str] | None = None,
        workspace: str | None = None,
        labels: Sequence[str] | None = None,
        quiet: float | None = None,
    ) -> AsyncIterator[FeedEvent]:
        """Events of all sessions that the caller may read, from a cursor on, or from now on with ``begin`` first.

        `types` selects events, where ``failed`` matches ``lost`` and an ``exited`` with a failure; each of `labels`
        is ``key`` or ``key=value``. `quiet`, in seconds, adds events for programs without output for this long. It
        continues across lost connections and server restarts until the caller stops reading.
        """
        backoff = Backoff(self._transport.times)
        wanted: Query = {"type": types, "workspace": workspace, "label": labels, "quietMs": milliseconds(quiet)}
        while True:
            try:
                query: Query = {**wanted, "since": since}
                async for cursor, kind, data in self._transport.events("followEvents", query=query):
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
        self,
        scopes: Sequence[str],
        *,
        name: str | None = None,
        expires_in: float | None = None,
        gate: CreateGate | None = None,
        secrets: Literal["type", "request", "none"] | None = None,
    ) -> CreatedToken:
        """Creates a token with at most the caller's rights and lifetime; `expires_in` is in seconds.

        Without `expires_in` it expires with the caller's token. With a `gate`, matching actions wait for another
        caller's approval. `secrets` restricts it to requesting secrets, or to not even that.
        """
        wanted = {
            "scopes": list(scopes),
            "name": name,
            "expiresInMs": milliseconds(expires_in),
            "gate": gate,
            "secrets": secrets,
        }
        body = {field: value for field, value in wanted.items() if value is not None}
        return cast(CreatedToken, (await self._transport.request("createToken", json=body)).json())

    async def list_tokens(self) -> _Tokens:
        """Tokens that the caller may revoke."""
        return cast(_Tokens, (await self._transport.request("listTokens")).json()["tokens"])

    async def revoke_token(self, token_id: str) -> None:
        """Revokes a token and those it created, and closes everything they have open."""
        await self._transport.request("revokeToken", params={"id": token_id})

    async def list_approvals(self) -> _Approvals:
        """Pending approvals, oldest first."""
        return cast(_Approvals, (await self._transport.request("listApprovals")).json()["approvals"])

    async def get_approval(self, approval_id: str) -> ApprovalMessage:
        """A pending or recently decided approval."""
        answer = await self._transport.request("getApproval", params={"id": approval_id})
        return cast(ApprovalMessage, answer.json())

    async def decide_approval(
        self,
        approval_id: str,
        decision: Literal["grant", "deny"],
        *,
        note: str | None = None,
        even_if_changed: bool = False,
    ) -> ApprovalMessage:
        """Approves or denies an action. Check ``state`` of the result, because an approval may come too late."""
        body: dict[str, object] = {"decision": decision, "evenIfChanged": even_if_changed}
        if note is not None:
            body["note"] = note
        answer = await self._transport.request("decideApproval", params={"id": approval_id}, json=body)
        return cast(ApprovalMessage, answer.json())

    async def secret_requests(self) -> _SecretRequests:
        """Pending secret requests, oldest first."""
        return cast(_SecretRequests, (await self._transport.request("listSecretRequests")).json()["requests"])

    async def give_secret(self, request_id: str, secret: bytes | str) -> InputReceipt:
        """Sends a requested secret and Enter. Fails with ``not_waiting`` if the prompt has changed."""
        data = secret.encode() if isinstance(secret, str) else bytes(secret)
        answer = await self._transport.request("giveSecret", params={"id": request_id}, data=data)
        return cast(InputReceipt, answer.json())

    async def refuse_secret(self, request_id: str) -> None:
        await self._transport.request("refuseSecret", params={"id": request_id})

    async def create_ticket(self, session_id: str, *, right: Literal["read", "operate"] | None = None) -> CreatedTicket:
        """Creates a ticket for one attachment to a session, for a page without a token. The default right is to read.
        """
        wanted = {"session": session_id, "right": right}
        body = {field: value for field, value in wanted.items() if value is not None}
        return cast(CreatedTicket, (await self._transport.request("createTicket", json=body)).json())

    async def create_sign_in_link(self) -> SignInLink:
        """Creates a link that signs in one browser as the caller."""
        return cast(SignInLink, (await self._transport.request("createSignInLink")).json())

    async def close(self) -> None:
        """Detaches everything; programs keep running."""
        await asyncio.gather(*(attachment.detach() for attachment in [*self._attachments]))

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _feed(attachment: Attachment, input: bytes | str) -> None:
    """Sends input to a program, as far as it reads it."""
    try:
        await attachment.write(input)
        await attachment.eof()
    except HawserError:
        # The program has ended, or the reader reports the error.
        pass


async def _collect(attachment: Attachment, limit: int) -> RunResult:
    """All output of a program until its end."""
    parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    exit_: ExitMessage | None = None
    async for event in attachment:
        match event:
            case Output():
                parts[event.stream].append(event.data)
                if event.end > limit:
                    raise HawserError("limit_exceeded", f"the program wrote more than {limit} bytes and was killed")
            case Gap():
                raise gap_error(event)
            case Exited():
                exit_ = event.exit
            case Lost():
                raise HawserError("node_unavailable", f"the exit status is unknown: {event.message}")
    if exit_ is None:
        raise HawserError("internal", "the session ended without an exit")
    return RunResult(b"".join(parts["stdout"]), b"".join(parts["stderr"]), exit_)


def _arguments(argv: Sequence[str]) -> list[str]:
    # A string is a sequence of strings, so neither a type checker nor the server would notice.
    if isinstance(argv, str):
        raise TypeError('argv takes a list of arguments, not a string; use command="…" for a line of shell')
    return list(argv)
