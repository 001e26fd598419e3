"""A server's sessions, for asyncio; `hawser.sync` is the same without."""

from __future__ import annotations

import asyncio
import json as json_
import os
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, cast
from urllib.parse import quote
from weakref import WeakSet

from ._attachment import Attachment, gap_error
from ._errors import HawserError
from ._events import Exited, Gap, Lost, Output
from ._http import Address, Query, Transport
from ._locate import find_server
from ._messages import (
    Approval,
    Exit,
    FeedSession,
    Gate,
    Mode,
    NewToken,
    Receipt,
    Retain,
    SecretRequest,
    ServerInfo,
    SessionInfo,
    SessionState,
    SignInLink,
    Ticket,
    TokenInfo,
)
from ._session import Session
from ._times import Backoff, Times, milliseconds

#: `Client.list` takes the name of the built-in inside of its class.
_Sessions = list[SessionInfo]
_Tokens = list[TokenInfo]
_Approvals = list[Approval]
_SecretRequests = list[SecretRequest]

#: How much output `run` takes before it ends the program, unless told otherwise: 16 MiB.
_RUN_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class RunResult:
    stdout: bytes
    stderr: bytes
    exit: Exit


@dataclass(frozen=True)
class FeedEvent:
    """What happened to a session; `cursor` is where to go on.

    ``begin`` says that everything from here on will be told, ``gap`` that something was missed and the
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
        task: str | None = None,
        timeout: float | None = None,
        idle_timeout: float | None = None,
        durable: bool | None = None,
        hold_output: bool | None = None,
        retain: Retain | None = None,
        stdin: Literal["open", "closed"] | None = None,
        sandbox: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
    ) -> Session:
        """Starts a program: `argv`, or a `command` line for ``/bin/sh -c``.

        Times are in seconds. What is left out is as the server has it. When no answer comes, with
        ``node_unavailable``, the program may have been started or not; with an `idempotency_key` the same call
        may then be made again, and starts nothing twice.
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
        answer = await self._transport.request("POST", "/v1/sessions", json=body, headers=headers)
        return self.at(answer.json()["id"])

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
        """Every session, the oldest first unless `order` says otherwise.

        A `name` is that of one session that runs, and of any number that have ended. Of the labels, each
        ``key`` or ``key=value``, all must hold.
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
            hold_output=True,
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

    async def events(
        self,
        since: str | None = None,
        *,
        types: Sequence[str] | None = None,
        workspace: str | None = None,
        labels: Sequence[str] | None = None,
        quiet: float | None = None,
    ) -> AsyncIterator[FeedEvent]:
        """What happens to all sessions that we may read, from a cursor on, or from now on with ``begin`` first.

        `types` are those to be told, where ``failed`` is an ``exited`` that is a failure and ``lost``; each of
        `labels` is ``key`` or ``key=value``. `quiet`, in seconds, asks for programs that have written nothing for so
        long. It goes on across lost connections and restarts of the server, for as long as it is read.
        """
        backoff = Backoff(self._transport.times)
        wanted: Query = {"type": types, "workspace": workspace, "label": labels, "quietMs": milliseconds(quiet)}
        while True:
            try:
                query: Query = {**wanted, "since": since}
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
        self,
        scopes: Sequence[str],
        *,
        name: str | None = None,
        expires_in: float | None = None,
        gate: Gate | None = None,
        secrets: Literal["type", "request", "none"] | None = None,
    ) -> NewToken:
        """Makes a token that may do no more and live no longer than ours; `expires_in` is in seconds.

        Without `expires_in` it ends when ours does, and never if ours never does.
        With a `gate`, what matches is done only once somebody else has approved it. With `secrets` it may only request
        what programs read without showing it, or not even that.
        """
        wanted = {
            "scopes": list(scopes),
            "name": name,
            "expiresInMs": milliseconds(expires_in),
            "gate": gate,
            "secrets": secrets,
        }
        body = {field: value for field, value in wanted.items() if value is not None}
        return cast(NewToken, (await self._transport.request("POST", "/v1/tokens", json=body)).json())

    async def list_tokens(self) -> _Tokens:
        """Those that we may revoke."""
        return cast(_Tokens, (await self._transport.request("GET", "/v1/tokens")).json()["tokens"])

    async def revoke_token(self, token_id: str) -> None:
        """Ends a token, those it made, and everything they have open."""
        await self._transport.request("DELETE", f"/v1/tokens/{quote(token_id, safe='')}")

    async def list_approvals(self) -> _Approvals:
        """What waits to be approved, oldest first."""
        return cast(_Approvals, (await self._transport.request("GET", "/v1/approvals")).json()["approvals"])

    async def get_approval(self, approval_id: str) -> Approval:
        """One that waits, or has been decided not long ago."""
        path = f"/v1/approvals/{quote(approval_id, safe='')}"
        return cast(Approval, (await self._transport.request("GET", path)).json())

    async def decide_approval(
        self,
        approval_id: str,
        decision: Literal["grant", "deny"],
        *,
        note: str | None = None,
        even_if_changed: bool = False,
    ) -> Approval:
        """Grants or denies one; what became of it is its ``state``, for a grant may come too late."""
        body: dict[str, object] = {"decision": decision, "evenIfChanged": even_if_changed}
        if note is not None:
            body["note"] = note
        path = f"/v1/approvals/{quote(approval_id, safe='')}"
        return cast(Approval, (await self._transport.request("POST", path, json=body)).json())

    async def secret_requests(self) -> _SecretRequests:
        """The secrets that are asked for, oldest first."""
        return cast(_SecretRequests, (await self._transport.request("GET", "/v1/secret-requests")).json()["requests"])

    async def give_secret(self, request_id: str, secret: bytes | str) -> Receipt:
        """Types a secret that was asked for, and Enter; ``not_waiting`` if its program asks something else by now."""
        data = secret.encode() if isinstance(secret, str) else bytes(secret)
        path = f"/v1/secret-requests/{quote(request_id, safe='')}"
        return cast(Receipt, (await self._transport.request("POST", path, data=data)).json())

    async def refuse_secret(self, request_id: str) -> None:
        await self._transport.request("DELETE", f"/v1/secret-requests/{quote(request_id, safe='')}")

    async def create_ticket(self, session_id: str, *, right: Literal["read", "operate"] | None = None) -> Ticket:
        """Makes a ticket for one attachment to a session, for a page that has no token; to read unless asked otherwise."""
        wanted = {"session": session_id, "right": right}
        body = {field: value for field, value in wanted.items() if value is not None}
        return cast(Ticket, (await self._transport.request("POST", "/v1/tickets", json=body)).json())

    async def create_sign_in_link(self) -> SignInLink:
        """Makes a link that signs in one browser as us."""
        return cast(SignInLink, (await self._transport.request("POST", "/v1/signin-links")).json())

    async def close(self) -> None:
        """Detaches everything; the programs run on."""
        await asyncio.gather(*(attachment.detach() for attachment in [*self._attachments]))

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


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
