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


Span = TypedDict("Span", {"from": int, "to": int})
Running = TypedDict("Running", {"from": int, "to": int | None})
#: What somebody did who had control: the output of that time, and how many commands the shell began.
Takeover = TypedDict("Takeover", {"holder": str, "from": int, "to": int, "commands": int})


class Attached(TypedDict):
    """A connection that is attached: whose it is, and since when, in milliseconds since the epoch."""

    name: str
    since: int


class Cursor(TypedDict):
    """From zero."""

    row: int
    col: int
    visible: bool


class ScreenChange(TypedDict):
    row: int
    text: str


class Screen(TypedDict):
    """What a terminal shows. There is either `lines` or, for one that was asked for `since`, `changes`."""

    offset: int
    revision: int
    cols: int
    rows: int
    alternate: bool
    cursor: Cursor
    title: str
    lines: NotRequired[list[str]]
    changes: NotRequired[list[ScreenChange]]
    reset: NotRequired[bool]
    met: NotRequired[bool]
    state: SessionState


class Scrollback(TypedDict):
    """Rows that were scrolled away, the oldest first; `total` is how many there are, as far as it was looked."""

    offset: int
    total: int
    lines: list[str]


class SearchMatch(TypedDict):
    """A line in which something was found: where, when, and what of the `text` it is, in UTF-16 units."""

    offset: int
    end: int
    time: int
    line: int
    text: str
    at: list[int]


class ProgramState(TypedDict):
    """What a program does, and what it waits for."""

    state: str
    kind: str | None
    confidence: Literal["sure", "likely", "guess"]
    program: str | None
    pid: int | None
    cwd: str | None
    processes: NotRequired[int]
    lastLine: str
    offset: int
    episode: int
    since: int


class RunAnswer(TypedDict):
    """What became of a command in a living shell.

    It is not `exact` where the shell has no hooks: the command was typed, its echo and the next prompt are in
    the output, and its exit code is not known. `takeovers` tells who had control since the last call.
    """

    status: Literal["ended", "running", "waiting", "incomplete", "rejected", "busy"]
    exact: bool
    seq: int | None
    exitCode: int | None
    cwd: str | None
    output: Span
    text: str
    omitted: int
    front: ProgramState | None
    next: int
    takeovers: list[Takeover]
    fence: int


class SendAnswer(TypedDict):
    """What ended the wait after something was typed, and what was written since."""

    cause: Literal["match", "idle", "stable", "input", "end", "exit", "timeout"]
    output: Span
    text: str
    omitted: Span | None
    state: ProgramState
    exit: Exit | None
    next: int
    takeovers: list[Takeover]
    fence: int


class ShellCommand(TypedDict):
    seq: int
    command: str | None
    exitCode: int | None
    cwd: str | None
    output: Running
    startedAt: int
    endedAt: int | None


class CommandList(TypedDict):
    """Oldest first. Without `proven` anybody who wrote to the terminal may have said this."""

    commands: list[ShellCommand]
    proven: bool


class Gate(TypedDict, total=False):
    """What a token does only once somebody else has approved it; complete in what the server tells."""

    #: Expressions: a command, or a line that is typed, in which one of them matches is held.
    match: list[str]
    keys: Literal["enter", "all"]
    signals: bool
    stops: bool
    timeoutMs: int


class ApprovalSession(TypedDict):
    id: str
    name: str | None
    workspace: str


class Asker(TypedDict):
    id: str
    name: str


class Approval(TypedDict):
    """Something that a token with a gate wants to do, and that is held until somebody else decides."""

    id: str
    session: ApprovalSession
    by: Asker
    kind: Literal["start", "run", "input", "signal", "stop", "delete"]
    reason: Literal["match", "unreadable", "always"]
    preview: str
    sha256: str
    offset: int | None
    fence: int | None
    askedAt: int
    expiresAt: int
    state: Literal["asked", "granted", "denied", "expired", "withdrawn"]
    endedAt: NotRequired[int]
    decidedBy: NotRequired[str]
    note: NotRequired[str]


class TokenInfo(TypedDict):
    id: str
    name: str | None
    scopes: list[str]
    createdAt: int
    expiresAt: int | None
    lastUsedAt: int | None
    parent: str | None
    gate: Gate | None
    secrets: Literal["type", "request", "none"]


class SecretSource(TypedDict):
    """A source of the server's that was to give a secret; it has, if there is no fault."""

    name: str
    fault: str | None


class SecretRequest(TypedDict):
    """A secret that is asked for, for the question that the program asks at `offset` and for no other."""

    id: str
    session: FeedSession
    name: str | None
    reason: str | None
    prompt: str
    program: str | None
    offset: int
    askedBy: str
    createdAt: int
    expiresAt: int
    source: NotRequired[SecretSource]


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
