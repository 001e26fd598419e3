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
    Exit,
    Lease,
    NewToken,
    Receipt,
    Retain,
    ServerInfo,
    SessionInfo,
    SessionState,
    SignInLink,
    Ticket,
    TokenInfo,
)
from ._session import OutputPart, Session
from ._times import Times
from ._wait import WaitResult
from .client import Client, FeedEvent, RunResult, connect, locate

__all__ = [
    "Attachment",
    "Client",
    "Closed",
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
    "Receipt",
    "Refused",
    "Resized",
    "Retain",
    "RunResult",
    "ServerInfo",
    "Session",
    "SessionInfo",
    "SessionState",
    "SignInLink",
    "Ticket",
    "Times",
    "TokenInfo",
    "WaitResult",
    "connect",
    "locate",
]
