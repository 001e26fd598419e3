"""What an attachment tells its reader, in the order in which it happened."""

from __future__ import annotations

from dataclasses import dataclass

from ._errors import HawserError
from ._messages import Exit, Lease, SessionInfo
from ._protocol import Stream


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes that the program wrote; a terminal's are all of `stdout`."""

    stream: Stream
    offset: int
    data: bytes

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


@dataclass(frozen=True, slots=True)
class Gap:
    """The bytes from `start` up to `end` are gone: by ``retention``, from the ``journal``, or skipped ``live``."""

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
    """The program has ended; output of what it started may still follow."""

    offset: int
    exit: Exit


@dataclass(frozen=True, slots=True)
class Closed:
    """Always the last, after all output."""

    offset: int


@dataclass(frozen=True, slots=True)
class Lost:
    """Always the last: what became of the program is not known."""

    offset: int
    message: str


@dataclass(frozen=True, slots=True)
class LeaseChanged:
    lease: Lease


@dataclass(frozen=True, slots=True)
class Refused:
    """A demand of ours was refused, such as for control on a new connection."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Connected:
    session: SessionInfo


@dataclass(frozen=True, slots=True)
class Disconnected:
    """Why, and in how many seconds it is tried again."""

    error: HawserError
    retry_in: float


ConnectionEvent = Connected | Disconnected
Event = Output | Gap | Resized | Exited | Closed | Lost | LeaseChanged | Refused | ConnectionEvent
