"""Events of an attachment, in order."""

from __future__ import annotations

from dataclasses import dataclass

from ._errors import HawserError
from ._messages import ExitMessage, LeaseMessage, SessionMessage
from ._protocol import Stream


@dataclass(frozen=True, slots=True)
class Output:
    """Output of the program; a terminal's output is all ``stdout``."""

    stream: Stream
    offset: int
    data: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


@dataclass(frozen=True, slots=True)
class Gap:
    """The bytes from `start` to `end` are missing: dropped by ``retention``, damaged in the ``journal``, or skipped
    ``live``.
    """

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Resized:
    offset: int
    cols: int
    rows: int


@dataclass(frozen=True, slots=True)
class Exited:
    """The program exited; its children may still write output."""

    offset: int
    exit: ExitMessage


@dataclass(frozen=True, slots=True)
class Closed:
    """Always the last event, after all output."""

    offset: int


@dataclass(frozen=True, slots=True)
class Lost:
    """Always the last event; the program's exit status is unknown."""

    offset: int
    message: str


@dataclass(frozen=True, slots=True)
class LeaseChanged:
    lease: LeaseMessage


@dataclass(frozen=True, slots=True)
class Refused:
    """A request was refused, such as for control on a new connection."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Connected:
    session: SessionMessage


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The reason, and the seconds until the next attempt."""

    error: HawserError
    retry_in: float


ConnectionEvent = Connected | Disconnected
Event = Output | Gap | Resized | Exited | Closed | Lost | LeaseChanged | Refused | ConnectionEvent
