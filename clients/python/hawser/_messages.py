"""What the server says, as JSON; docs/protocol.md explains every field. Answers may gain fields."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

SessionState = Literal["running", "exited", "closed", "lost"]
Mode = Literal["pty", "pipe"]


class Exit(TypedDict):
    """How a program ended: exactly one of `code` and `signal` is set."""

    code: int | None
    signal: str | None
    reason: NotRequired[str]
    by: NotRequired[str]


class Size(TypedDict):
    cols: int
    rows: int


class Offsets(TypedDict):
    """The oldest output byte that can be read, and how many there have been."""

    oldest: int
    end: int


class Lease(TypedDict):
    """Who has control; `mine` is told to attachments only."""

    fence: int
    holder: str | None
    exclusive: bool
    mine: NotRequired[bool]


class Retain(TypedDict, total=False):
    memoryBytes: int
    journalBytes: int


class SessionInfo(TypedDict):
    id: str
    name: str | None
    state: SessionState
    argv: list[str]
    cwd: str
    mode: Mode
    size: Size
    pid: int | None
    offsets: Offsets
    exit: Exit | None
    createdAt: int
    endedAt: int | None
    attachments: int
    unreachable: NotRequired[bool]
    lease: Lease
    labels: dict[str, str]
    workspace: str
    durable: bool
    retain: Retain
    timeoutMs: int
    idleTimeoutMs: int


class Receipt(TypedDict):
    """How far an input stream has come: the position wanted next, and what the program's side took."""

    next: int
    written: int


class TokenInfo(TypedDict):
    id: str
    name: str | None
    scopes: list[str]
    createdAt: int
    expiresAt: int | None
    lastUsedAt: int | None
    parent: str | None


class NewToken(TokenInfo):
    """The only answer that ever has a token's secret in it."""

    token: str


class Ticket(TypedDict):
    """Good for one WebSocket, within 30 seconds."""

    ticket: str
    expiresAt: int


class SignInLink(TypedDict):
    """Signs in one browser, within five minutes."""

    url: str
    expiresAt: int


class SandboxState(TypedDict):
    enforced: bool
    by: NotRequired[str]
    reason: NotRequired[str]


class ServerInfo(TypedDict):
    version: str
    platform: str
    sandbox: SandboxState


class FeedSession(TypedDict):
    id: str
    name: str | None
    workspace: str


class Welcome(TypedDict):
    """The server's first message on an attachment's connection."""

    session: SessionInfo
    output: dict[str, int]
    input: dict[str, int]
    lease: Lease
