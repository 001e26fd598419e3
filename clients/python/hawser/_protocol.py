"""The WebSocket protocol `hawser.v1`: frames, close codes, and checks that the server would make, too.

    server  0x01 | 0x02   u64be offset, bytes         stdout and terminal | stderr
    server  0x80          u64be next, u64be written   input receipt
    client  0x00          u64be position, bytes       input
    client  0x04          u64be consumed              output that was read, not just received
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from ._errors import HawserError

SUBPROTOCOL = "hawser.v1"

# Close codes of the server.
DONE = 1000
NO_CODE = 1006
PROTOCOL_ERROR = 4000
UNAUTHENTICATED = 4003
SESSION_REMOVED = 4004
TOO_SLOW = 4008
TOO_BIG = 4009
INTERNAL = 4500

Stream = Literal["stdout", "stderr"]

_HEAD = struct.Struct(">BQ")
_RECEIPT = struct.Struct(">BQQ")
_MAX_POSITION = 2**53 - 1
_MAX_SIZE = 65_535
_SIGNALS = frozenset(
    "HUP INT QUIT ILL TRAP ABRT IOT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM CHLD STKFLT CONT STOP TSTP TTIN "
    "TTOU URG XCPU XFSZ VTALRM PROF WINCH IO POLL PWR SYS".split()
)


@dataclass(frozen=True, slots=True)
class OutputFrame:
    stream: Stream
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ReceiptFrame:
    next: int
    written: int


def decode_frame(data: bytes) -> OutputFrame | ReceiptFrame:
    """Raises `internal` for an invalid frame."""
    try:
        kind, position = _HEAD.unpack_from(data)
        if kind in (0x01, 0x02) and position <= _MAX_POSITION:
            return OutputFrame("stderr" if kind == 0x02 else "stdout", position, data[_HEAD.size :])
        if kind == 0x80:
            _, next_, written = _RECEIPT.unpack(data)
            if max(next_, written) <= _MAX_POSITION:
                return ReceiptFrame(next_, written)
    except struct.error:
        pass
    raise HawserError("internal", f"invalid frame: {data[:20].hex()}")


def encode_input(position: int, data: bytes) -> bytes:
    return _HEAD.pack(0x00, position) + data


def encode_consumed(offset: int) -> bytes:
    return _HEAD.pack(0x04, offset)


def full_signal(name: str) -> str:
    """The full name of a signal given as ``TERM`` or ``SIGTERM``, in any case."""
    short = name.upper().removeprefix("SIG")
    if short not in _SIGNALS:
        raise HawserError("invalid_argument", f"unknown signal {name!r}; expected a name like SIGTERM")
    return f"SIG{short}"


def check_size(cols: int, rows: int) -> None:
    for name, value in (("cols", cols), ("rows", rows)):
        if not 1 <= value <= _MAX_SIZE:
            raise HawserError(
                "invalid_argument", f"{name} must be an integer from 1 to {_MAX_SIZE}, got {value}"
            )
