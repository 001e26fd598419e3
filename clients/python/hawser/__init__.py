"""A client for Hawser: interactive processes over HTTP, from which nothing is lost.

`connect` and `locate` give a client for asyncio; those of `hawser.sync` give one that blocks.
"""

from ._attachment import Attachment
from ._errors import HawserError
from ._events import (
    Closed,
    Connected,
    ConnectionEvent,
    Disconnected,
    Event,
    Exited,
    Gap,
    LeaseChanged,
    Lost,
    Output,
    Refused,
    Resized,
)
from ._messages import (
    Attached,
    CommandList,
    Exit,
    Lease,
    NewToken,
    ProgramState,
    Receipt,
    Retain,
    RunAnswer,
    Screen,
    Scrollback,
    SearchMatch,
    SendAnswer,
    ServerInfo,
    SessionInfo,
    SessionState,
    ShellCommand,
    SignInLink,
    Ticket,
    TokenInfo,
)
from ._session import OutputPart, OutputText, Session
from ._times import Times
from ._wait import WaitResult
from .client import Client, FeedEvent, RunResult, connect, locate

__all__ = [
    "Attached",
    "Attachment",
    "Client",
    "Closed",
    "CommandList",
    "Connected",
    "ConnectionEvent",
    "Disconnected",
    "Event",
    "Exit",
    "Exited",
    "FeedEvent",
    "Gap",
    "HawserError",
    "Lease",
    "LeaseChanged",
    "Lost",
    "NewToken",
    "Output",
    "OutputPart",
    "OutputText",
    "ProgramState",
    "Receipt",
    "Refused",
    "Resized",
    "Retain",
    "RunAnswer",
    "RunResult",
    "Screen",
    "Scrollback",
    "SearchMatch",
    "SendAnswer",
    "ServerInfo",
    "Session",
    "SessionInfo",
    "SessionState",
    "ShellCommand",
    "SignInLink",
    "Ticket",
    "Times",
    "TokenInfo",
    "WaitResult",
    "connect",
    "locate",
]
