"""Generated from src/api/schema by `node scripts/generate.js`. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

#: A terminal, or pipes for stdin, stdout and stderr.
Mode = Literal["pty", "pipe"]


#: The rule for a terminal's size while several clients are attached.
SizePolicy = Literal["latest", "smallest", "fixed", "manual"]


class NoSandbox(TypedDict):
    """The program can access everything that the server's user can."""

    type: Literal["dangerFullAccess"]


class ExternalSandbox(TypedDict):
    """The program is already in a sandbox of its caller."""

    type: Literal["externalSandbox"]
    networkAccess: NotRequired[Literal["restricted", "enabled"]]


class SandboxLimits(TypedDict):
    """Limits of each process in a sandbox. `processes`, and `memoryBytes` where a control group enforces it, limit
    all of them together.
    """

    cpuSeconds: NotRequired[int]
    memoryBytes: NotRequired[int]
    processes: NotRequired[int]
    fileBytes: NotRequired[int]


class ReadOnlySandbox(TypedDict):
    """The program can read everything and write nothing."""

    type: Literal["readOnly"]
    #: False if left out.
    networkAccess: NotRequired[bool]
    limits: NotRequired[SandboxLimits]


class WorkspaceWriteSandbox(TypedDict):
    """The program can write below some directories only."""

    type: Literal["workspaceWrite"]
    #: The program's own directory if left out.
    writableRoots: NotRequired[list[str]]
    excludeSlashTmp: NotRequired[bool]
    #: False if left out.
    networkAccess: NotRequired[bool]
    limits: NotRequired[SandboxLimits]
    excludeTmpdirEnvVar: NotRequired[bool]


class PathsSandboxPaths(TypedDict):
    path: str
    access: Literal["read", "write", "none"]


class PathsSandbox(TypedDict):
    """Each path has its own access."""

    type: Literal["paths"]
    #: The longest matching path counts. A path that matches none is readable.
    paths: list[PathsSandboxPaths]
    #: False if left out.
    networkAccess: NotRequired[bool]
    limits: NotRequired[SandboxLimits]


#: The files and network that a program can access; `docs/sandbox.md` explains each policy.
SandboxMessage = NoSandbox | ExternalSandbox | ReadOnlySandbox | WorkspaceWriteSandbox | PathsSandbox


class CreateSessionColors(TypedDict):
    foreground: NotRequired[str]
    background: NotRequired[str]


class CreateSessionRetain(TypedDict):
    memoryBytes: NotRequired[int]
    journalBytes: NotRequired[int]


class CreateSession(TypedDict):
    """A session to start. Exactly one of `argv` and `command` is required."""

    #: The program and its arguments. A name without a slash is searched in its `PATH`.
    argv: NotRequired[list[str]]
    #: A line for `/bin/sh -c`.
    command: NotRequired[str]
    #: In a workspace with roots: one of them or below; the session then reports its real path. By default the task's
    #: directory, or the server's `--cwd`.
    cwd: NotRequired[str]
    #: Variables to set, or with null to remove.
    env: NotRequired[dict[str, str | None]]
    #: The initial environment, instead of the server's variables.
    baseEnv: NotRequired[dict[str, str]]
    #: `pty` (a terminal) if left out; `pipe` for pipes.
    mode: NotRequired[Mode]
    #: 80 if left out.
    cols: NotRequired[int]
    #: 24 if left out.
    rows: NotRequired[int]
    #: `latest` if left out.
    sizePolicy: NotRequired[SizePolicy]
    #: `foreground` and `background` as `#rrggbb`: what the session reports to the program while no attached terminal
    #: answers. By default `#d0d0d0` on `#000000`.
    colors: NotRequired[CreateSessionColors]
    #: The caller attaches a terminal at once, which answers the program from the first byte on. Without one the session
    #: answers after a second.
    awaitsTerminal: NotRequired[bool]
    #: Unique among running sessions of the workspace. Invisible characters are refused, except in emoji.
    name: NotRequired[str]
    #: At most 32. Keys of 1 to 64 of `A-Z a-z 0-9 _ . / -`, values of at most 256 printable characters.
    labels: NotRequired[dict[str, str]]
    #: `default` if left out. It need not be declared.
    workspace: NotRequired[str]
    #: A task of the workspace: its directory is the default `cwd`, and its variables come before `env`.
    task: NotRequired[str]
    #: End the program after this time; 0 (the default) is never.
    timeoutMs: NotRequired[int]
    #: End it after this time without output or accepted input; 0 (the default) is never. A repeat and a new size do not
    #: count. It works without a server too.
    idleTimeoutMs: NotRequired[int]
    #: A terminal is not idle while a job of its shell is in the foreground. Checked when the time is over, which then
    #: restarts. The session's own program is no job, nor is a child of a shell without job control.
    idleExemptJobs: NotRequired[bool]
    #: The session outlives the server. True by default.
    durable: NotRequired[bool]
    #: Lose no output before a client with the right to operate attaches losslessly at the beginning. A program that
    #: writes more than is kept waits for it, for at most 10 s.
    holdOutput: NotRequired[bool]
    #: Output kept in memory and on disk (`memoryBytes`, `journalBytes`): at most 64 MiB and 4 GiB, or the server's
    #: default if that is more.
    retain: NotRequired[CreateSessionRetain]
    #: `closed` gives a program on pipes an empty input. `open` by default.
    stdin: NotRequired[Literal["open", "closed"]]
    #: Let bash, zsh or fish, started interactively or as a login shell, mark its prompts and commands, for `run` and
    #: `commands`. Not in a sandbox. True by default.
    shellHooks: NotRequired[bool]
    #: The sandbox of the program. By default the one that the workspace requires, else none.
    sandbox: NotRequired[SandboxMessage]


#: The state of a session.
SessionState = Literal["running", "exited", "closed", "lost"]


class Size(TypedDict):
    """The size of a terminal."""

    cols: int
    rows: int


class Offsets(TypedDict):
    """The output that can be read."""

    oldest: int
    end: int


class ExitMessage(TypedDict):
    """How a program ended. Exactly one of `code` and `signal` is set."""

    code: int | None
    signal: str | None
    #: Why the server ended the program.
    reason: NotRequired[Literal["timeout", "idle", "killed", "oom"]]
    #: The caller that ended it.
    by: NotRequired[str]


class SessionLease(TypedDict):
    """The client that controls a session."""

    #: Increases with each change of control. A write that names an old one is refused.
    fence: int
    holder: str | None
    exclusive: bool


class Retain(TypedDict):
    """How much output is kept."""

    memoryBytes: int
    journalBytes: int


#: The state of a coding agent.
AgentState = Literal["working", "blocked", "done", "idle", "error"]


#: The kind of a dialog.
AgentKind = Literal["permission", "question", "trust", "login"]


class AgentChild(TypedDict):
    """A subagent or background task."""

    #: The name that the agent gave it, with `/` between levels.
    id: str
    app: str | None
    state: AgentState
    #: With `blocked`.
    kind: AgentKind | None
    title: str | None
    #: The child's own description of its state.
    details: str | None
    #: Percent, if the agent reports it.
    progress: int | None
    since: int


#: The source of a state.
AgentSignal = Literal["osc7501", "title", "notification", "hook", "screen"]


#: How far a state can be trusted.
AgentConfidence = Literal["sure", "likely"]


class AgentMessageChoices(TypedDict):
    #: Names the choice in an answer.
    id: str
    label: str
    #: It opens a text field: answer with `text`.
    takesText: NotRequired[Literal[True]]


class AgentMessage(TypedDict):
    """The coding agent that a session runs, or another program that reports its state by OSC 7501."""

    #: The agent, such as `codex`, `claude-code`, `gemini`, `opencode` or `copilot`.
    app: str
    state: AgentState
    #: With `blocked`: the dialog's kind; null if unknown.
    kind: AgentKind | None
    #: The question of the dialog.
    question: str | None
    #: The subject of the question, such as a command or a diff; or the agent's own description of its state.
    details: str | None
    #: The answers that the dialog offers, in its order. Empty until its screen has been read.
    choices: list[AgentMessageChoices]
    #: Percent, if the agent reports it.
    progress: int | None
    #: The title that the agent gave its work by OSC 7501.
    title: str | None
    #: Subagents and background tasks. One that is blocked blocks the session.
    children: list[AgentChild]
    #: Number of this state or dialog. It increases. An answer names it.
    episode: int
    #: The end of the output at that time.
    offset: int
    #: When the state or dialog began.
    since: int
    signal: AgentSignal
    confidence: AgentConfidence


class Waiting(TypedDict):
    """A program that waits for input."""

    #: `prompt` is a shell that waits for a command, `tui` a program that has the whole screen.
    kind: Literal["line", "secret", "key", "tui", "prompt"]
    #: The text before the cursor.
    prompt: str
    #: The answers that the prompt names, such as `y` and `N`.
    choices: NotRequired[list[str]]
    #: Time of the last byte in either direction before the wait.
    since: int
    #: The end of the output. An answer names it as `ifWaiting`.
    offset: int
    #: Number of this wait. A secret names it together with `offset`.
    episode: int
    program: str | None


class Overview(TypedDict):
    """Details of a session for lists."""

    #: The line of the cursor, or the last line that is not empty; null while a program has the whole screen. With an
    #: agent: the last row of its screen above its input.
    lastLine: str | None
    lastOutputAt: int | None
    #: Time of the last byte in either direction; null if that is unknown.
    activeAt: int | None
    #: Output bytes in each of the last 30 intervals of 10 s, oldest first. The last interval has not ended.
    activity: list[int]
    #: The usual pause between outputs; null while unknown.
    usualIntervalMs: int | None
    #: Number of attached WebSocket clients.
    watchers: int
    #: Number of actions that wait for approval.
    approvals: int
    #: Number of prompts that wait until the agent is idle.
    prompts: int
    #: The coding agent, or another program that reports its state; null without one.
    agent: AgentMessage | None
    #: Null if the program does not wait for input, or if its agent works. Left out while that is unknown.
    waiting: NotRequired[Waiting | None]


class SessionMessage(TypedDict):
    """A session."""

    id: str
    name: str | None
    state: SessionState
    argv: list[str]
    cwd: str
    mode: Mode
    size: Size
    sizePolicy: SizePolicy
    pid: int | None
    #: The oldest output byte that can be read, and the number of bytes so far. Null while only an unreachable keeper
    #: knows them.
    offsets: Offsets | None
    exit: ExitMessage | None
    #: Milliseconds since the epoch.
    createdAt: int
    endedAt: int | None
    #: Number of readers that follow the session.
    attachments: int
    #: The keeper is not responding. The other fields are the last known values.
    unreachable: NotRequired[Literal[True]]
    lease: SessionLease
    #: Time of the last byte in either direction; null if that is unknown.
    activeAt: int | None
    labels: dict[str, str]
    workspace: str
    #: The task that it was started for.
    task: str | None
    durable: bool
    retain: Retain
    timeoutMs: int
    idleTimeoutMs: int
    idleExemptJobs: bool
    #: Only if the request asks for it.
    overview: NotRequired[Overview]


class SessionList(TypedDict):
    """A page of sessions."""

    sessions: list[SessionMessage]
    #: `after` of the next page; null if this is the last.
    next: str | None


class UpdateSession(TypedDict):
    """Changes to a session, at least one."""

    #: Null removes the name.
    name: NotRequired[str | None]
    sizePolicy: NotRequired[SizePolicy]


class KillSession(TypedDict):
    """How to end a program and all processes that it started."""

    #: The first signal, such as `TERM` or `SIGINT`; by default a hang-up for a terminal, TERM for pipes.
    signal: NotRequired[str]
    #: Time until SIGKILL.
    graceMs: NotRequired[int]


class AttachedMessage(TypedDict):
    """An attached client."""

    #: The name of its caller.
    name: str
    #: Milliseconds since the epoch.
    since: int


class AttachedList(TypedDict):
    """Clients attached by WebSocket, in the order in which they attached."""

    attached: list[AttachedMessage]


class DetachSession(TypedDict):
    """Which clients to detach."""

    #: Keep the client that typed last.
    keepWriter: NotRequired[bool]


class Detached(TypedDict):
    """The result of detaching clients."""

    #: Number of clients that were detached.
    detached: int


class OutputEvent(TypedDict):
    """A part of the output."""

    offset: int
    stream: Literal["stdout", "stderr", "pty"]
    #: Base64.
    data: str


#: Output that the reader does not get.
GapEvent = TypedDict(
    "GapEvent",
    {
        "from": int,
        "to": int,
        #: `retention`: the log does not keep it any more; `live`: skipped for this reader; `journal`: damaged on disk.
        "reason": Literal["retention", "live", "journal"],
    },
)


class ResizedEvent(TypedDict):
    """The terminal has a new size."""

    offset: int
    cols: int
    rows: int


class ExitedEvent(TypedDict):
    """The program has ended."""

    offset: int
    exit: ExitMessage


class ClosedEvent(TypedDict):
    """The output is complete."""

    offset: int


class LostEvent(TypedDict):
    """The keeper ended without reporting the exit."""

    offset: int
    message: str


class SearchMatch(TypedDict):
    """The first match in a line of output."""

    #: The first byte of the match.
    offset: int
    #: The first byte after the match.
    end: int
    #: When it was written, in milliseconds since the epoch.
    time: int
    #: The first byte of the line.
    line: int
    #: The line; of a long one, 1024 UTF-16 units around the match.
    text: str
    #: Start and end of the match in `text`, in UTF-16 units.
    at: tuple[int, int]


#: Output from one offset to another.
Span = TypedDict(
    "Span",
    {
        "from": int,
        "to": int,
    },
)


class SearchResult(TypedDict):
    """Lines that match."""

    matches: list[SearchMatch]
    #: The output that was searched. Earlier output that was asked for is gone.
    searched: Span
    #: `after` of the next request; null if everything was searched.
    next: int | None


#: The state of a session's program.
Activity = Literal[
    "busy",
    "running",
    "flow-stopped",
    "waiting",
    "prompt",
    "tui",
    "listening",
    "disk",
    "stopped",
    "sleeping",
    "unknown",
    "ended",
]


class AgentSignalState(TypedDict):
    """The state of an agent as one signal reports it."""

    signal: AgentSignal
    state: AgentState
    #: The record, title or rule that it comes from.
    source: str
    #: Offset in the output at which the state began.
    offset: int
    since: int


class AgentExplanationRules(TypedDict):
    rule: str
    #: Why it does not match; null for the one that matches.
    reason: str | None


class AgentExplanation(TypedDict):
    """Why an agent has its state, or why a program is no agent."""

    #: The signal that decided; null without an agent.
    decisive: AgentSignalState | None
    #: Signals that say something else, by rank.
    others: list[AgentSignalState]
    #: The screen rules that were tried, in order; null if no agent with rules is in front.
    rules: list[AgentExplanationRules] | None


class ProgramState(TypedDict):
    """The state of a session's program, and the input that it waits for."""

    state: Activity
    #: Details of the state.
    kind: str | None
    #: `likely` is wrong only for unusual programs. `guess` is based on the last line.
    confidence: Literal["sure", "likely", "guess"]
    #: The process that the state describes.
    program: str | None
    pid: int | None
    cwd: str | None
    #: Processes of the session, at most 256. Left out once the program has ended.
    processes: NotRequired[int]
    #: The text before the cursor. If the program has asked a question, it is here.
    lastLine: str
    #: The end of the output at that time.
    offset: int
    #: Number of the latest wait for input. With `offset` it identifies the question that a secret answers.
    episode: int
    #: Time of the last byte in either direction, or of the program's end.
    since: int
    #: The coding agent, or another program that reports its state; null without one. Left out of the answers about
    #: commands in a shell.
    agent: NotRequired[AgentMessage | None]
    #: If the request asks for it.
    explanation: NotRequired[AgentExplanation]


class Cursor(TypedDict):
    """The position of a cursor."""

    row: int
    col: int
    visible: bool


class ScreenMessageChanges(TypedDict):
    row: int
    text: str


class ScreenMessage(TypedDict):
    """The screen of a session's terminal."""

    #: The screen shows the output before this byte.
    offset: int
    #: Increases with everything that can change the screen.
    revision: int
    cols: int
    rows: int
    #: The alternate screen, which full-screen programs use.
    alternate: bool
    #: From zero.
    cursor: Cursor
    title: str
    #: The text of each row, without trailing blanks and trailing empty rows.
    lines: NotRequired[list[str]]
    #: With `since`, instead of `lines`: the rows that have changed.
    changes: NotRequired[list[ScreenMessageChanges]]
    #: The revision in `since` is no longer known: these are all rows.
    reset: NotRequired[Literal[True]]
    #: The condition was met: the text was displayed, or the screen was stable.
    met: NotRequired[bool]
    #: The state of the session. After its end the screen does not change.
    state: SessionState


class ScrollbackMessage(TypedDict):
    """Rows that were scrolled off the screen."""

    #: The output before this byte produced them. As `at` it requests more of the same.
    offset: int
    #: Number of rows above the screen, as far as it was replayed.
    total: int
    #: Oldest first.
    lines: list[str]


class ScreensBegin(TypedDict):
    """The first event of a stream of screens."""

    #: The id of the stream.
    stream: str
    #: The number of sessions that it can show.
    most: int


class ScreenStyleMessage(TypedDict):
    """The style of text. Colors are a palette number or `#rrggbb`."""

    fg: NotRequired[int | str]
    bg: NotRequired[int | str]
    bold: NotRequired[Literal[True]]
    dim: NotRequired[Literal[True]]
    italic: NotRequired[Literal[True]]
    #: Single, double, curly, dotted or dashed.
    underline: NotRequired[Literal[1, 2, 3, 4, 5]]
    blink: NotRequired[Literal[True]]
    inverse: NotRequired[Literal[True]]
    invisible: NotRequired[Literal[True]]
    strikethrough: NotRequired[Literal[True]]
    overline: NotRequired[Literal[True]]


class ScreenRunMessage(TypedDict):
    """Text of one style."""

    text: str
    #: Columns: one per UTF-16 unit, except for a single character, which may be wide.
    cols: int
    style: NotRequired[ScreenStyleMessage]


class ScreenUpdateChanges(TypedDict):
    row: int
    runs: list[ScreenRunMessage]


class ScreenUpdate(TypedDict):
    """How a screen differs from the previous update."""

    session: str
    #: The screen shows the output before this byte.
    offset: int
    #: Increases with everything that can change the screen.
    revision: int
    cols: int
    rows: int
    #: The alternate screen, which full-screen programs use.
    alternate: bool
    #: From zero.
    cursor: Cursor
    title: str
    #: The state of the session. After its end the screen does not change.
    state: SessionState
    #: Forget earlier updates: rows that are not in `changes` are empty.
    reset: NotRequired[Literal[True]]
    #: Whole rows, without trailing blanks.
    changes: list[ScreenUpdateChanges]


#: The kind of an error. Later versions may add codes; a client treats unknown ones as `internal`.
ErrorCode = Literal[
    "invalid_argument",
    "unauthenticated",
    "token_ended",
    "permission_denied",
    "not_found",
    "session_not_found",
    "conflict",
    "session_exists",
    "session_closed",
    "not_writable",
    "not_waiting",
    "stale",
    "blocked",
    "invalid_choice",
    "not_approved",
    "limit_exceeded",
    "spawn_failed",
    "unsupported",
    "node_unavailable",
    "internal",
]


class ScreensError(TypedDict):
    """A session whose screen can't be shown. The server does not retry."""

    session: str
    code: ErrorCode
    message: str


class ShowScreens(TypedDict):
    """The sessions that a stream of screens shows from now on."""

    sessions: list[str]


#: A file format of recordings.
RecordingFormat = Literal["asciicast-v2", "asciicast-v3"]


#: Output bytes in equal intervals of time.
ActivityMessage = TypedDict(
    "ActivityMessage",
    {
        "from": int,
        "to": int,
        #: Oldest first.
        "bytes": list[int],
        #: The time up to which the log was read; null if all of it was.
        "until": int | None,
    },
)


#: How far an input stream has come.
InputReceipt = TypedDict(
    "InputReceipt",
    {
        #: The position that is expected next.
        "next": int,
        #: The position up to which the program's side has taken the input.
        "written": int,
        #: The end of the output before this input was accepted. Left out if unknown, as for a large write.
        "from": NotRequired[int],
    },
)


class SendKeys(TypedDict):
    """Keys to press."""

    #: Key names (`Enter`, `C-c`, `ctrl+c`, `Up`), and text to type: `text:ls -l`.
    keys: list[str]


class Resize(TypedDict):
    """The new size of a terminal."""

    cols: int
    rows: int


class SendSignal(TypedDict):
    """A signal to send."""

    #: A name such as `INT` or `SIGTERM`.
    signal: str
    #: Send it before input that the program has not read.
    urgent: NotRequired[bool]


class SendInputUntil(TypedDict):
    #: The new output contains this text, as displayed.
    match: NotRequired[str]
    #: `match` is a regular expression, which matches within a line.
    regex: NotRequired[bool]
    ignoreCase: NotRequired[bool]
    #: `match` may also be in the echo of the typed lines.
    includeEcho: NotRequired[bool]
    #: No output for this time.
    idleMs: NotRequired[int]
    #: The screen has not changed for this time.
    stableMs: NotRequired[int]
    #: The program waits for input.
    input: NotRequired[bool]
    #: The shell is at its prompt.
    end: NotRequired[bool]


class SendInput(TypedDict):
    """Text and keys to type, and conditions that end the wait. The wait also ends when the program ends."""

    #: Text to type before the keys.
    text: NotRequired[str]
    #: Paste the text as a terminal does: Enter for newlines, in brackets if the program asks for them.
    paste: NotRequired[bool]
    #: As in `SendKeys`.
    keys: NotRequired[list[str]]
    until: NotRequired[SendInputUntil]
    #: 30 s if left out, a minute at most. A timeout is not an error.
    timeoutMs: NotRequired[int]
    #: The length of the text in the answer, in bytes.
    limit: NotRequired[int]


#: Actions of a client that had exclusive control.
TakeoverMessage = TypedDict(
    "TakeoverMessage",
    {
        "holder": str,
        #: The output of that time.
        "from": int,
        "to": int,
        #: Number of commands that the shell began.
        "commands": int,
    },
)


class SendAnswer(TypedDict):
    """The output that followed what was typed."""

    #: The condition that ended the wait.
    cause: Literal["match", "idle", "stable", "input", "end", "exit", "timeout"]
    #: The output since before the first byte was typed.
    output: Span
    #: The same output as short text, as with `?as=text`.
    text: str
    #: Bytes in the middle that the text leaves out.
    omitted: Span | None
    #: The program's state after the wait.
    state: ProgramState
    exit: ExitMessage | None
    #: The next position of the input stream.
    next: int
    #: Clients that had exclusive control since the caller's last call, oldest first.
    takeovers: list[TakeoverMessage]
    #: The current fence. A write that names it is refused once control has changed.
    fence: int


class AnswerAgent(TypedDict):
    """An answer to the open dialog: exactly one of `choice` and `text`."""

    #: The `episode` of the dialog.
    episode: int
    #: The `id` of a choice.
    choice: NotRequired[str]
    #: An answer in the caller's own words.
    text: NotRequired[str]


class AnsweredAgent(TypedDict):
    """The dialog is gone."""

    accepted: Literal[True]


class PromptAgent(TypedDict):
    """A prompt for the agent."""

    text: str
    #: Keep it until the agent is idle, instead of refusing it.
    whenIdle: NotRequired[bool]


class QueuedPrompt(TypedDict):
    """A prompt that waits until the agent is idle."""

    id: str
    text: str
    #: The caller that queued it.
    by: str
    queuedAt: int


class PromptedAgent(TypedDict):
    """The prompt was submitted, or is queued."""

    #: False if it is queued.
    submitted: bool
    #: The prompt in the queue; null if it was submitted.
    queued: QueuedPrompt | None


class QueuedPrompts(TypedDict):
    """Prompts that wait until the agent is idle, oldest first."""

    prompts: list[QueuedPrompt]


class TakeLease(TypedDict):
    """Asks for control of a session for a limited time."""

    #: Other clients can't write meanwhile. True if left out.
    exclusive: NotRequired[bool]
    #: Take it from a client that has exclusive control.
    force: NotRequired[bool]
    #: A minute if left out.
    ttlMs: NotRequired[int]
    #: Extend the caller's own lease with this fence.
    fence: NotRequired[int]


class AskSecret(TypedDict):
    """Requests a secret from a user."""

    name: NotRequired[str]
    #: A sentence: what it is for.
    reason: NotRequired[str]


class SessionName(TypedDict):
    """A session, by name."""

    id: str
    name: str | None
    workspace: str


class SecretRequestMessageSource(TypedDict):
    name: str
    fault: str | None


class SecretRequestMessage(TypedDict):
    """A request for a secret. It is for the question that the program asks at `offset`, and no other."""

    id: str
    session: SessionName
    name: str | None
    reason: str | None
    #: The line before the cursor.
    prompt: str
    program: str | None
    offset: int
    #: The name of the caller that asked.
    askedBy: str
    createdAt: int
    expiresAt: int
    #: The secret source of the server that should supply it. Without a `fault` it has.
    source: NotRequired[SecretRequestMessageSource]


class SecretRequestList(TypedDict):
    """Requests for secrets, oldest first."""

    requests: list[SecretRequestMessage]


class RunCommand(TypedDict):
    """A command to run, or to keep waiting for: exactly one of `command` and `resume`."""

    #: The command, also of several lines; any characters except NUL.
    command: NotRequired[str]
    #: The `seq` of a command that runs: keep waiting for it.
    resume: NotRequired[int]
    #: How long to wait for its end, at most a minute; 30000 by default.
    timeoutMs: NotRequired[int]
    #: Length of `text`; 65536 by default.
    limit: NotRequired[int]
    #: `text` begins at this output offset, if that is after the beginning of the command.
    since: NotRequired[int]
    #: Include a part of the output as bytes, from this offset on, at most 1 MiB; 0 for the first part.
    partFrom: NotRequired[int]


#: A part of a command's output. All parts in order are the whole output.
RunPart = TypedDict(
    "RunPart",
    {
        #: The output bytes of the session that it consists of.
        "from": int,
        #: The start of the next part.
        "to": int,
        #: Base64: the bytes that the command wrote, without the marks of the shell and with \n for \r\n.
        "bytes": str,
        #: Number of bytes before it that are no longer in the session's log.
        "omitted": int,
        #: More output is available already.
        "more": bool,
    },
)


class RunAnswer(TypedDict):
    """The state of a command and its output so far."""

    #: `ended`; `running` after the timeout, or `waiting` for input: `resume` waits on. `incomplete` or `rejected` by
    #: the shell. `busy`: nothing was sent.
    status: Literal["ended", "running", "waiting", "incomplete", "rejected", "busy"]
    #: Why it is `busy`: another `command` runs, unfinished text is `typed` at the prompt, or the shell is still
    #: `starting` and may be asked again.
    why: Literal["command"] | Literal["typed"] | Literal["starting"] | None
    #: The shell reported all of this. Otherwise it has no hooks: the output contains the echo and the next prompt, and
    #: the exit code is unknown.
    exact: bool
    #: Why a shell that supports hooks has none: its version, such as `bash 5.1`, or `readonly` for its `PS1` or `PS0`.
    unhookedBy: str | None
    #: The number of the command; null if none began, and without hooks.
    seq: int | None
    #: Null until it has ended, after a signal, and without hooks.
    exitCode: int | None
    #: The shell's directory afterwards.
    cwd: str | None
    #: The output of the command, or the message of the shell. While it runs, up to the last whole character.
    output: Span
    #: The output as UTF-8, with the newlines of the program and without the marks of the shell.
    text: str
    #: Number of bytes before the text that neither this answer nor `since` covers.
    omitted: int
    #: Null without `partFrom`.
    part: RunPart | None
    #: The program in the foreground, unless the command has ended.
    front: ProgramState | None
    #: The position of the input stream where the next command begins.
    next: int
    #: Clients that had exclusive control since the caller's last call, oldest first.
    takeovers: list[TakeoverMessage]
    #: The current fence. A write that names it is refused once control has changed.
    fence: int


ShellCommandOutput = TypedDict(
    "ShellCommandOutput",
    {
        "from": int,
        "to": int | None,
    },
)


class ShellCommand(TypedDict):
    """A command that a shell has run."""

    #: Counts the commands of the session from 1.
    seq: int
    #: Its first 1,000 characters; null if the shell did not report it.
    command: str | None
    exitCode: int | None
    cwd: str | None
    #: `to` is null while it runs.
    output: ShellCommandOutput
    startedAt: int
    endedAt: int | None


class CommandList(TypedDict):
    """Commands of a shell, oldest first."""

    commands: list[ShellCommand]
    #: False if any program that writes to the terminal could have reported them.
    proven: bool


#: A type of event to select. `failed` selects `lost`, and `exited` after a failure.
FeedType = Literal[
    "created",
    "exited",
    "closed",
    "lost",
    "removed",
    "waiting",
    "ready",
    "command",
    "quiet",
    "approval",
    "changed",
    "secret",
    "agent",
    "failed",
]


class NothingMore(TypedDict):
    """No data."""


#: `waiting`: a program waits for input; `ready`: a shell waits for a command; `command`: a command of a shell has
#: ended; `agent`: the state of a coding agent, or its dialog, has changed. `quiet` and `changed` are sent only if the
#: request asks for them.
FeedEventType = Literal[
    "created",
    "exited",
    "closed",
    "lost",
    "removed",
    "waiting",
    "ready",
    "command",
    "quiet",
    "approval",
    "changed",
    "secret",
    "agent",
]


class FeedSession(TypedDict):
    """The session of an event."""

    id: str
    name: str | None
    workspace: str
    task: NotRequired[str]
    #: Left out if there are none.
    labels: NotRequired[dict[str, str]]


class ApprovalMessageBy(TypedDict):
    id: str
    name: str


class ApprovalMessage(TypedDict):
    """An action of a token with a gate, or a permission dialog of a coding agent, held until another caller decides."""

    id: str
    #: The session that it affects. For `start`, the future session; for `store`, `task:ID`, `pty:ID` or `session:ID`.
    session: SessionName
    #: The caller that wants it; for `permission`, `agent:` and the name of the agent.
    by: ApprovalMessageBy
    kind: Literal["start", "store", "run", "input", "signal", "stop", "delete", "permission"]
    #: Why it is held: it matches, its keys or its command can't be read as text, or such actions are always held.
    reason: Literal["match", "unreadable", "always"]
    #: The action as printable text; the middle of a long one is left out.
    preview: str
    #: Hash of the exact bytes, in hex; for `permission`, of the text of the dialog.
    sha256: str
    #: The end of the output at the time of the request; null without a session.
    offset: int | None
    #: The fence of the lease at the time of the request; null without a session.
    fence: int | None
    askedAt: int
    expiresAt: int
    state: Literal["asked", "granted", "denied", "expired", "withdrawn"]
    #: Unless it is `asked`.
    endedAt: NotRequired[int]
    #: The name of the caller that decided.
    decidedBy: NotRequired[str]
    #: The note of that caller, or why the action expired.
    note: NotRequired[str]


class FeedEventSecret(TypedDict):
    id: str
    status: Literal["asked", "given", "refused", "expired"]
    name: str | None
    #: The caller that answered it.
    by: str | None


class FeedEvent(TypedDict):
    """Something that happened to a session."""

    type: FeedEventType
    time: int
    session: FeedSession
    #: With `exited`.
    exit: NotRequired[ExitMessage]
    #: With `exited`: the program failed. It was not ended by a caller, and it is not a shell that a user left.
    failed: NotRequired[Literal[True]]
    #: With `waiting`, `ready` and `quiet`: the end of the output.
    offset: NotRequired[int]
    #: With `waiting` and `ready`: the awaited input, `line`, `secret`, `key` or `tui`.
    kind: NotRequired[str]
    #: With `waiting` and `ready`: the line before the cursor.
    prompt: NotRequired[str]
    #: With `waiting` and `ready`: the program that waits.
    program: NotRequired[str]
    #: With `command`.
    command: NotRequired[ShellCommand]
    #: With `quiet`: the time without output.
    quietMs: NotRequired[int]
    #: With `approval`: an action that is held or was decided. Reported to callers that may operate the session, and to
    #: the one that wants it.
    approval: NotRequired[ApprovalMessage]
    #: With `changed`.
    overview: NotRequired[Overview]
    #: With `agent`. Null once there is none.
    agent: NotRequired[AgentMessage | None]
    #: With `secret`: a request and its status.
    secret: NotRequired[FeedEventSecret]


#: An event that a webhook can report. `waiting` is a program that asks a question; `secret` one that reads a secret
#: (also `waiting`), or a request for one; `failed` a program that failed or was lost (also `exited` or `lost`); `agent`
#: a change of a coding agent's state, of which one that waits for an answer is also `waiting`. A webhook for both
#: reports the narrower one.
WebhookEvent = Literal[
    "waiting",
    "secret",
    "approval",
    "failed",
    "ready",
    "quiet",
    "agent",
    "created",
    "exited",
    "closed",
    "lost",
    "removed",
]


class CreateWebhook(TypedDict):
    """A webhook to create."""

    #: The receiver: `https`, or `http` on this machine.
    url: str
    #: By default `waiting`, `secret`, `approval` and `failed`.
    events: NotRequired[list[WebhookEvent]]
    #: Only sessions of this workspace. All workspaces if left out, which takes the operator.
    workspace: NotRequired[str]
    #: Only sessions with these labels: `key` or `key=value`. All must match.
    labels: NotRequired[list[str]]
    #: Allow a receiver without TLS anywhere.
    allowHttp: NotRequired[bool]


class CreatedWebhook(TypedDict):
    """A new webhook. No other answer contains its secret."""

    id: str
    url: str
    events: list[WebhookEvent]
    workspace: str | None
    labels: list[str]
    allowHttp: bool
    #: The id of the token that created or adopted it, or `admin`; null for the operator's webhooks of older servers.
    owner: str | None
    createdAt: int
    #: When that token ended. Nothing is sent since, until the operator adopts the webhook. Null while it is active.
    stoppedAt: int | None
    #: Number of notices that are being sent.
    waiting: int
    #: Number of failed notices that can be sent again.
    failed: int
    #: Number of older failed notices that were dropped.
    dropped: int
    #: Why the last attempt failed; null after a success and before the first. Only the operator sees it for a private
    #: address.
    problem: str | None
    #: Signs the notices.
    secret: str


class WebhookMessage(TypedDict):
    """A webhook."""

    id: str
    url: str
    events: list[WebhookEvent]
    workspace: str | None
    labels: list[str]
    allowHttp: bool
    #: The id of the token that created or adopted it, or `admin`; null for the operator's webhooks of older servers.
    owner: str | None
    createdAt: int
    #: When that token ended. Nothing is sent since, until the operator adopts the webhook. Null while it is active.
    stoppedAt: int | None
    #: Number of notices that are being sent.
    waiting: int
    #: Number of failed notices that can be sent again.
    failed: int
    #: Number of older failed notices that were dropped.
    dropped: int
    #: Why the last attempt failed; null after a success and before the first. Only the operator sees it for a private
    #: address.
    problem: str | None


class WebhookList(TypedDict):
    """The webhooks that the caller may manage, oldest first."""

    webhooks: list[WebhookMessage]


class WebhookTest(TypedDict):
    """The result of a test notice."""

    #: Null if the address is private and the caller is not the operator.
    delivered: bool | None
    #: The status of the receiver's answer; null without one.
    status: int | None
    #: Why it failed, or why the result is not reported.
    reason: str | None


#: The event; `test` for a test, `missed` for an unknown number of lost notices.
NoticeType = Literal[
    "waiting",
    "secret",
    "approval",
    "failed",
    "ready",
    "quiet",
    "agent",
    "created",
    "exited",
    "closed",
    "lost",
    "removed",
    "test",
    "missed",
]


class WebhookNoticeSession(TypedDict):
    id: str
    name: str | None
    workspace: str
    labels: dict[str, str]
    #: Its page, if the server has a name for browsers.
    url: NotRequired[str]


class WebhookNoticeQuestion(TypedDict):
    #: `line`, `secret`, `key`, `tui`, or `prompt` of a shell.
    kind: str
    prompt: str
    choices: NotRequired[list[str]]
    program: NotRequired[str]


class WebhookNoticeApproval(TypedDict):
    id: str
    by: str
    kind: Literal["start", "store", "run", "input", "signal", "stop", "delete", "permission"]
    preview: str
    expiresAt: int


class WebhookNoticeSecret(TypedDict):
    id: str
    name: str | None


class WebhookNotice(TypedDict):
    """The body that a receiver gets."""

    type: NoticeType
    #: Milliseconds since the epoch.
    time: int
    #: The id of the webhook.
    webhook: str
    #: Not with `test` and `missed`.
    session: NotRequired[WebhookNoticeSession]
    #: The program's question, without keys and tokens.
    question: NotRequired[WebhookNoticeQuestion]
    #: With `approval`: the action, without keys and tokens.
    approval: NotRequired[WebhookNoticeApproval]
    #: With `secret`, if it was requested.
    secret: NotRequired[WebhookNoticeSecret]
    #: How the program ended.
    exit: NotRequired[ExitMessage]
    #: With `quiet`: the time without output.
    quietMs: NotRequired[int]
    #: The coding agent that the event is about, without keys and tokens.
    agent: NotRequired[AgentMessage]


class FailedNotice(TypedDict):
    """A notice that the server has stopped sending."""

    #: The `webhook-id` that the receiver gets.
    id: str
    attempts: int
    #: Why the last attempt failed.
    reason: str | None
    notice: WebhookNotice


class FailedList(TypedDict):
    """Failed notices, oldest first."""

    failed: list[FailedNotice]
    dropped: int


class RetryWebhook(TypedDict):
    """The failed notice to send again; all if left out."""

    id: NotRequired[str]


class RetriedWebhook(TypedDict):
    """The result of a retry."""

    #: Number of notices that are sent again.
    retried: int
    #: Number of notices for which there was no room.
    left: int


class WorkspaceLimits(TypedDict):
    """Limits of all sessions of a workspace together. Those left out are the server's."""

    #: Running sessions.
    sessions: NotRequired[int]
    #: Bytes of all journals.
    journalBytes: NotRequired[int]
    startsPerSecond: NotRequired[int]


class RequiredWorkspaceWriteSandbox(TypedDict):
    """Programs can write below some directories only, and not in `TMPDIR`."""

    type: Literal["workspaceWrite"]
    #: The program's own directory if left out.
    writableRoots: NotRequired[list[str]]
    excludeSlashTmp: NotRequired[bool]
    #: False if left out.
    networkAccess: NotRequired[bool]
    limits: NotRequired[SandboxLimits]
    excludeTmpdirEnvVar: NotRequired[Literal[True]]


#: A sandbox that a workspace requires.
RequiredSandbox = ReadOnlySandbox | RequiredWorkspaceWriteSandbox | PathsSandbox


class WorkspaceMessage(TypedDict):
    """A workspace."""

    id: str
    name: str | None
    roots: list[str]
    limits: WorkspaceLimits
    #: Null if none is required.
    sandbox: RequiredSandbox | None
    createdAt: int
    #: Only in the answer to its declaration: roots in which no program can be started now, and running programs without
    #: the new sandbox.
    warnings: NotRequired[list[str]]


class WorkspaceList(TypedDict):
    """The workspaces that the caller may read, by id."""

    workspaces: list[WorkspaceMessage]


class PutWorkspace(TypedDict):
    """A workspace to declare. It replaces an existing one."""

    name: NotRequired[str]
    #: Programs start in one of these directories or below; an empty list means anywhere.
    roots: list[str]
    #: `sessions` (running ones), `journalBytes` (all journals) and `startsPerSecond` (on average; five seconds' worth
    #: at once). By default the server's.
    limits: NotRequired[WorkspaceLimits]
    #: Every program runs in this sandbox, or in a stricter one. For `workspaceWrite` the writable roots are the roots
    #: by default. None by default.
    sandbox: NotRequired[RequiredSandbox]


class TaskMessage(TypedDict):
    """A task."""

    id: str
    workspace: str
    workDir: str
    issueId: str | None
    issueKey: str | None
    priorSessionId: str | None
    #: Only for callers that may manage the workspace.
    env: NotRequired[dict[str, str]]
    createdAt: int
    #: Only in the answer to its creation: why no program can be started for it now.
    warnings: NotRequired[list[str]]


class TaskList(TypedDict):
    """Tasks, newest first."""

    tasks: list[TaskMessage]


class PutTask(TypedDict):
    """A task to create. It replaces an existing one."""

    workDir: str
    issueId: NotRequired[str]
    #: The key by which users know the issue.
    issueKey: NotRequired[str]
    #: The session of the agent that worked on it before.
    priorSessionId: NotRequired[str]
    env: NotRequired[dict[str, str]]


class ApprovalList(TypedDict):
    """Actions that wait for approval, oldest first."""

    approvals: list[ApprovalMessage]


class DecideApproval(TypedDict):
    """A decision."""

    decision: Literal["grant", "deny"]
    #: For the caller that wants the action.
    note: NotRequired[str]
    #: Grant it even if there was output since the request.
    evenIfChanged: NotRequired[bool]


#: Rights of a token when a program reads a secret: type it, request it from a user, or neither.
SecretRight = Literal["type", "request", "none"]


class CreateGate(TypedDict):
    """The gate of a token to create."""

    #: Regular expressions. A command or typed line that matches one of them is held for approval.
    match: NotRequired[list[str]]
    #: When typed lines are matched: at Enter, or at each key.
    keys: NotRequired[Literal["enter", "all"]]
    #: Hold signals, including those that keys send.
    signals: NotRequired[bool]
    #: Hold requests that end a program or delete a session.
    stops: NotRequired[bool]
    #: An action that has been held for this long is refused.
    timeoutMs: NotRequired[int]


class CreateToken(TypedDict):
    """A token to create. It can't have more rights than its creator, or live longer."""

    #: `admin`, `metrics`, `workspace:ID:read|operate|manage` or `session:ID:view|control`.
    scopes: list[str]
    name: NotRequired[str]
    #: By default the token expires with its creator.
    expiresInMs: NotRequired[int]
    #: By default as for its creator.
    secrets: NotRequired[SecretRight]
    #: Added to the gate of its creator. Defaults: `[]`, `enter`, false and five minutes.
    gate: NotRequired[CreateGate]


class GateMessage(TypedDict):
    """Actions of a token that wait for another caller's approval."""

    #: Regular expressions. A command or typed line that matches one of them is held for approval.
    match: list[str]
    #: When typed lines are matched: at Enter, or at each key.
    keys: Literal["enter", "all"]
    #: Hold signals, including those that keys send.
    signals: bool
    #: Hold requests that end a program or delete a session.
    stops: bool
    #: An action that has been held for this long is refused.
    timeoutMs: int


class CreatedToken(TypedDict):
    """A new token. No other answer contains its secret."""

    id: str
    name: str | None
    scopes: list[str]
    #: Milliseconds since the epoch.
    createdAt: int
    #: Milliseconds since the epoch; null if it does not expire.
    expiresAt: int | None
    #: Milliseconds since the epoch; null if it was never used.
    lastUsedAt: int | None
    #: The token that created it; null for the operator's.
    parent: str | None
    #: Number of browsers that it has signed in.
    opened: int
    secrets: SecretRight
    #: Null if its actions need no approval.
    gate: GateMessage | None
    token: str


class TokenMessage(TypedDict):
    """A token, without its secret."""

    id: str
    name: str | None
    scopes: list[str]
    #: Milliseconds since the epoch.
    createdAt: int
    #: Milliseconds since the epoch; null if it does not expire.
    expiresAt: int | None
    #: Milliseconds since the epoch; null if it was never used.
    lastUsedAt: int | None
    #: The token that created it; null for the operator's.
    parent: str | None
    #: Number of browsers that it has signed in.
    opened: int
    secrets: SecretRight
    #: Null if its actions need no approval.
    gate: GateMessage | None


class TokenList(TypedDict):
    """The tokens that the caller may revoke."""

    tokens: list[TokenMessage]


class NotDurable(TypedDict):
    """The credential is revoked, but the disk has not stored that yet. After a crash it would be valid again."""

    durable: Literal[False]
    message: str


class CreateTicket(TypedDict):
    """A ticket to create."""

    session: str
    #: `read` if left out.
    right: NotRequired[Literal["read", "operate"]]


class CreatedTicket(TypedDict):
    """Opens one WebSocket, within 30 seconds."""

    #: The audit names a connection opened with it `ticket:ID`.
    id: str
    ticket: str
    #: Milliseconds since the epoch.
    expiresAt: int


class ProofRequest(TypedDict):
    """Asks a server to prove that it knows a token."""

    #: The id of the token, or `admin` for the operator's.
    token: str
    #: A value that was never used before.
    nonce: str


class ProofMessage(TypedDict):
    """Proof that the server knows a token."""

    #: HMAC-SHA256 of `proofText` in hex. Its key is the SHA-256 of the token's secret.
    proof: str


class SignInLink(TypedDict):
    """Signs in one browser, within five minutes."""

    url: str
    #: Milliseconds since the epoch.
    expiresAt: int


class SignIn(TypedDict):
    """How a browser signs in: exactly one of the two."""

    #: A token, or the key of a guest link.
    token: NotRequired[str]
    #: The code of a sign-in link.
    code: NotRequired[str]


class SignedIn(TypedDict):
    """The answer to a sign-in, in addition to the cookie."""

    #: Pages send it with every request.
    pageKey: str
    #: The caller that the browser is signed in as.
    name: str


class CreateLink(TypedDict):
    """A guest link to create."""

    #: Watch the session, or also type into it; `view` if left out.
    right: NotRequired[Literal["view", "control"]]
    #: An hour if left out, and never longer than its creator's token.
    expiresInMs: NotRequired[int]
    name: NotRequired[str]


class CreatedLink(TypedDict):
    """A new guest link. No other answer contains its key."""

    id: str
    name: str | None
    right: Literal["view", "control"]
    #: Milliseconds since the epoch.
    createdAt: int
    #: Milliseconds since the epoch; null if it does not expire.
    expiresAt: int | None
    #: Milliseconds since the epoch; null if it was never used.
    lastUsedAt: int | None
    #: Number of browsers that it has signed in.
    opened: int
    #: The key is in the fragment, which browsers do not send.
    url: str


class LinkMessage(TypedDict):
    """A guest link: a token for one session."""

    id: str
    name: str | None
    right: Literal["view", "control"]
    #: Milliseconds since the epoch.
    createdAt: int
    #: Milliseconds since the epoch; null if it does not expire.
    expiresAt: int | None
    #: Milliseconds since the epoch; null if it was never used.
    lastUsedAt: int | None
    #: Number of browsers that it has signed in.
    opened: int


class LinkList(TypedDict):
    """Guest links, oldest first."""

    links: list[LinkMessage]


class Health(TypedDict):
    """The server runs."""

    status: Literal["ok"]
    version: str


class Ready(TypedDict):
    """The server accepts requests."""

    status: Literal["ready"]


class SandboxEnforced(TypedDict):
    """Sandboxes are available."""

    enforced: Literal[True]
    by: str
    limits: Literal["cgroup", "rlimits"]


class SandboxMissing(TypedDict):
    """Sandboxes are not available."""

    enforced: Literal[False]
    reason: str


class AuditKept(TypedDict):
    """The server keeps an audit."""

    kept: Literal[True]
    #: Entries can be written now.
    healthy: bool
    #: Number of entries that could not be written.
    lost: int


class AuditNotKept(TypedDict):
    """The server keeps no audit."""

    kept: Literal[False]


class Info(TypedDict):
    """The server and its features on this machine."""

    version: str
    platform: str
    sandbox: SandboxEnforced | SandboxMissing
    audit: AuditKept | AuditNotKept


class ServerLimitsRetain(TypedDict):
    memoryBytes: int
    journalBytes: int


class ServerLimits(TypedDict):
    """Limits of the server, and what a session gets by default."""

    #: Running sessions.
    sessions: int
    #: Running sessions of one workspace.
    workspaceSessions: int
    #: Bytes of all journals.
    journalBytes: int
    #: Starts of one caller, on average; 0 is no limit.
    startsPerSecond: int
    #: Output that a session keeps by default.
    retain: ServerLimitsRetain


class MeWorkspaces(TypedDict):
    id: str
    right: Literal["read", "operate", "manage"]


class MeGuest(TypedDict):
    session: str
    right: Literal["view", "control"]


class MeServer(TypedDict):
    #: The name of its machine.
    name: str
    version: str


class Me(TypedDict):
    """The caller, and the server that it calls."""

    #: The id of the token; `admin` for the operator, `jwt:USER` for a JWT.
    id: str
    #: The name that other callers see.
    name: str
    #: The caller may do everything.
    admin: bool
    scopes: list[str]
    #: When its credential expires.
    expiresAt: int | None
    #: The workspaces in which it has a right, with the largest right, by id.
    workspaces: list[MeWorkspaces]
    #: For a guest: the only session that it can access.
    guest: MeGuest | None
    server: MeServer
    limits: ServerLimits


AuditMessageBy = TypedDict(
    "AuditMessageBy",
    {
        "id": str | None,
        "name": str | None,
        "from": str,
        "front": str,
    },
)


class AuditMessage(TypedDict):
    """An entry of the audit. Each action has members of its own in addition."""

    seq: int
    #: Milliseconds since the epoch.
    time: int
    action: str
    #: The caller; null for the server.
    by: NotRequired[AuditMessageBy | None]
    session: NotRequired[str]
    workspace: NotRequired[str]
    #: The hash of the previous entry.
    prev: str
    #: The hash of this entry.
    hash: str


class AuditListHead(TypedDict):
    seq: int
    hash: str


class AuditList(TypedDict):
    """A page of the audit, oldest first."""

    entries: list[AuditMessage]
    #: `after` of the next page; null if this is the last.
    next: int | None
    #: The newest entry.
    head: AuditListHead


class ErrorMessageError(TypedDict):
    code: ErrorCode
    message: str
    hint: NotRequired[str]
    #: When the same request may succeed, if a rate limit refused it.
    retryAfterMs: NotRequired[int]
    #: With `blocked`: the agent, and the dialog that is open.
    agent: NotRequired[AgentMessage]
    #: Set together with `retryAfterMs`: the request did nothing and may be repeated.
    isTemporary: NotRequired[Literal[True]]


class ErrorMessage(TypedDict):
    """The body of every answer that is not a success."""

    error: ErrorMessageError


class HelloSize(TypedDict):
    cols: int
    rows: int


#: The first message, within five seconds. `since` also acknowledges everything before it.
Hello = TypedDict(
    "Hello",
    {
        "type": Literal["hello"],
        #: The first output byte to send, or `end` for new output only.
        "since": int | Literal["end"],
        "role": Literal["writer", "viewer"],
        #: The client's input stream, the same on all its connections. Required for a writer.
        "stream": NotRequired[str],
        #: `lossless` may make the program wait for this client; `live` may skip output.
        "flow": Literal["lossless", "live"],
        #: The writer's own terminal answers the program's queries when a `replies` message says so.
        "replies": NotRequired[bool],
        #: The size of the writer's own terminal, for the size policy of the session.
        "size": NotRequired[HelloSize],
        #: Begin with the screen as escape sequences, if there is one, instead of the output from `since` on.
        "from": NotRequired[Literal["screen"]],
        #: Report when the program waits for input, and the commands of its shell.
        "activity": NotRequired[bool],
        #: With `from`: rows of scrollback before the screen.
        "scrollback": NotRequired[int],
    },
)


class ResizeMessage(TypedDict):
    """Resizes the session."""

    type: Literal["resize"]
    #: The position in the client's input stream. The action takes one unit of it.
    position: int
    cols: int
    rows: int


class SizeMessage(TypedDict):
    """The client's own terminal has a new size. It takes no unit of input."""

    type: Literal["size"]
    cols: int
    rows: int


class SignalMessage(TypedDict):
    """Sends a signal."""

    type: Literal["signal"]
    #: The position in the client's input stream. The action takes one unit of it.
    position: int
    signal: str
    urgent: NotRequired[bool]


class EofMessage(TypedDict):
    """Ends the program's input."""

    type: Literal["eof"]
    #: The position in the client's input stream. The action takes one unit of it.
    position: int


class TakeMessage(TypedDict):
    """Takes control."""

    type: Literal["take"]
    exclusive: bool
    #: Also from a client that has exclusive control.
    force: bool


class ReleaseMessage(TypedDict):
    """Gives back control."""

    type: Literal["release"]


class SendMessage(TypedDict):
    """Types, waits and reads, as `sendInput`. A repetition at the same position of a stream of its own types nothing
    again.
    """

    type: Literal["send"]
    id: str
    stream: str
    position: int
    input: SendInput


class PingMessage(TypedDict):
    """Asks for a `pong`."""

    type: Literal["ping"]
    nonce: NotRequired[str]


#: A message from a client.
ClientMessage = (
    Hello
    | ResizeMessage
    | SizeMessage
    | SignalMessage
    | EofMessage
    | TakeMessage
    | ReleaseMessage
    | SendMessage
    | PingMessage
)


class LeaseMessage(TypedDict):
    """The client that controls the session."""

    fence: int
    holder: str | None
    exclusive: bool
    #: This connection has control.
    mine: bool


WelcomeOutput = TypedDict(
    "WelcomeOutput",
    {
        "from": int,
        "oldest": int,
        "end": int,
    },
)


class WelcomeInput(TypedDict):
    next: int
    written: int
    window: int


class WelcomeScreen(TypedDict):
    cols: int
    rows: int
    bytes: int


class Welcome(TypedDict):
    """The answer to `hello`."""

    type: Literal["welcome"]
    session: SessionMessage
    #: The output of this connection begins at `from`: `since`, unless that is gone or beyond the end.
    output: WelcomeOutput
    input: WelcomeInput
    lease: LeaseMessage
    #: Frames with a screen of this size follow, and then the output after it.
    screen: NotRequired[WelcomeScreen]


#: Output that the client does not get.
GapMessage = TypedDict(
    "GapMessage",
    {
        "type": Literal["gap"],
        "from": int,
        "to": int,
        #: `retention`: the log does not keep it any more; `live`: skipped for this reader; `journal`: damaged on disk.
        "reason": Literal["retention", "live", "journal"],
    },
)


class ResizedMessage(TypedDict):
    """The terminal has a new size."""

    type: Literal["resized"]
    offset: int
    cols: int
    rows: int


class ExitedMessage(TypedDict):
    """The program has ended."""

    type: Literal["exited"]
    offset: int
    exit: ExitMessage


class ClosedMessage(TypedDict):
    """The output is complete."""

    type: Literal["closed"]
    offset: int


class LostMessage(TypedDict):
    """The keeper ended without reporting the exit."""

    type: Literal["lost"]
    offset: int
    message: str


class LeaseChanged(TypedDict):
    """Control has changed."""

    type: Literal["lease"]
    lease: LeaseMessage


#: With `replies`: whether this client answers the program's queries, in output from this offset on. Until the first,
#: another terminal does.
RepliesMessage = TypedDict(
    "RepliesMessage",
    {
        "type": Literal["replies"],
        "mine": bool,
        "from": int,
    },
)


class WaitingMessage(TypedDict):
    """With `activity`: the program waits for input."""

    type: Literal["waiting"]
    offset: int
    prompt: str
    program: str | None
    #: `line`, `secret`, `key` or `tui`.
    awaited: str


class ReadyMessage(TypedDict):
    """With `activity`: a shell waits for a command."""

    type: Literal["ready"]
    offset: int
    prompt: str
    program: str | None


class CommandMessage(TypedDict):
    """With `activity`: a command of the shell."""

    type: Literal["command"]
    phase: Literal["begin", "end"]
    command: ShellCommand


class ApprovalChanged(TypedDict):
    """With `activity`: an action is held or was decided. For clients that may operate the session, and the one that
    wants it.
    """

    type: Literal["approval"]
    approval: ApprovalMessage


class SentMessage(TypedDict):
    """The answer to `send`."""

    type: Literal["sent"]
    id: str
    answer: SendAnswer


class RefusedMessage(TypedDict):
    """A request was refused. The connection stays open."""

    type: Literal["error"]
    code: ErrorCode
    message: str
    hint: NotRequired[str]
    #: The action, or where input must continue.
    position: NotRequired[int]
    #: The `send`.
    id: NotRequired[str]


class PongMessage(TypedDict):
    """The answer to `ping`."""

    type: Literal["pong"]
    nonce: NotRequired[str]


#: A message from the server.
ServerMessage = (
    Welcome
    | GapMessage
    | ResizedMessage
    | ExitedMessage
    | ClosedMessage
    | LostMessage
    | LeaseChanged
    | RepliesMessage
    | WaitingMessage
    | ReadyMessage
    | CommandMessage
    | ApprovalChanged
    | SentMessage
    | RefusedMessage
    | PongMessage
)
