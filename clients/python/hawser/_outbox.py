"""The input of one attachment, kept until the program's side took it, whatever happens to connections.

Every byte and every act has one position in the stream. A position is fixed when it is sent for the first
time; from then on it stands for the same byte on every connection, so sending again from where the server
wants to go on repeats nothing and leaves nothing out.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ._errors import HawserError
from ._protocol import encode_input

Act = dict[str, Any]
"""What is done to a program beside writing, as its message without a position; each takes one unit."""
Settle = Callable[[Exception | None], None]
"""Told once what became of an input."""

#: How much may wait before a writer has to: eight of the server's windows, and as many inputs as cost a megabyte
#: to keep even if each is one byte. One input may exceed it, since its caller has it in memory anyway.
OUTBOX_BYTES = 1024 * 1024
OUTBOX_INPUTS = 4096
#: How much input one frame carries at most: progress is seen, and a cut costs little.
_PIECE_BYTES = 32 * 1024
#: How long to wait, in seconds, with sending again what the server had no room for, and what it has not answered.
_CROWDED_S = 0.05
_UNANSWERED_S = 5.0


@dataclass(slots=True)
class _Entry:
    position: int
    input: bytes | Act
    #: None for the first part of an input that was split; `is_rest` says which is the second.
    settle: Settle | None
    is_rest: bool = False

    @property
    def units(self) -> int:
        return len(self.input) if isinstance(self.input, bytes) else 1

    @property
    def end(self) -> int:
        return self.position + self.units


class Outbox:
    def __init__(self) -> None:
        #: Everything from `_written` on, in order and without holes.
        self._entries: list[_Entry] = []
        self._end = 0
        self._written = 0
        #: The end of what was ever sent.
        self._fixed = 0
        #: What goes out next, and the entry it is in.
        self.sent = 0
        self._index = 0
        #: How far the server takes input; None while there is none.
        self._limit: int | None = None
        self._window = 0

    @property
    def is_full(self) -> bool:
        """Whether who has more to send should wait for the program's side first."""
        return self._end - self._written >= OUTBOX_BYTES or len(self._entries) >= OUTBOX_INPUTS

    def add(self, input: bytes | Act, settle: Settle) -> None:
        """Puts it at the end; `settle` is called when the program's side took all of it."""
        if input == b"":
            settle(None)
        elif _is_urgent(input):
            self._insert(_Entry(self._fixed, input, settle))
        else:
            entry = _Entry(self._end, input, settle)
            self._entries.append(entry)
            self._end = entry.end

    def cancel(self, settle: Settle) -> None:
        """Takes back an input of which nothing was sent yet; later it is too late."""
        for at, entry in enumerate(self._entries):
            if entry.settle is settle and entry.position >= self._fixed and not entry.is_rest:
                del self._entries[at]
                self._renumber(at, entry.position)
                return

    def open(self, next: int, written: int, window: int) -> None:
        """A connection begins: everything the server has not accepted goes out again."""
        if not self._written <= next <= self._fixed:
            raise HawserError(
                "internal",
                f"the server goes on at input position {next}, "
                f"which is not between {self._written} and {self._fixed}",
            )
        self._window = window
        self.receipt(written)
        self.rewind(next)

    def close(self) -> None:
        """Nothing can be sent until the next connection."""
        self._limit = None

    def receipt(self, written: int) -> None:
        """The server says how far it has come."""
        self._written = max(self._written, min(written, self._fixed))
        self._limit = self._written + self._window
        done = 0
        while done < len(self._entries) and self._entries[done].end <= self._written:
            done += 1
        settled = self._entries[:done]
        del self._entries[:done]
        self._index = max(0, self._index - done)
        self.sent = max(self.sent, self._written)
        for entry in settled:
            if entry.settle is not None:
                entry.settle(None)

    def rewind(self, position: int) -> None:
        """The server wants to go on from here."""
        self.sent = max(self._written, min(position, self._fixed))
        self._index = self._at(self.sent)

    def take(self) -> tuple[int, bytes | Act] | None:
        """A position and what to send there now; None when nothing is left that may be sent."""
        if self._limit is None or self._index == len(self._entries):
            return None
        entry = self._entries[self._index]
        position = self.sent
        room = self._limit - position
        # An urgent signal is for a program that reads nothing, when there is no room by nature; it takes no memory.
        if room <= 0 and not _is_urgent(entry.input):
            return None
        piece = entry.input
        if isinstance(piece, bytes):
            start = position - entry.position
            piece = piece[start : start + min(room, _PIECE_BYTES)]
        self.sent += len(piece) if isinstance(piece, bytes) else 1
        self._fixed = max(self._fixed, self.sent)
        if self.sent >= entry.end:
            self._index += 1
        return position, piece

    def refuse(self, position: int, error: Exception) -> None:
        """The server will not take what stands here, nor anything after it: positions begin anew from here."""
        kept = [entry for entry in self._entries if entry.end <= position]
        refused = self._entries[len(kept) :]
        if refused and refused[0].position < position and isinstance(refused[0].input, bytes):
            length = position - refused[0].position
            kept.append(replace(refused[0], input=refused[0].input[:length], settle=None))
        self._entries = kept
        self._end = max(position, self._written)
        self._fixed = min(self._fixed, self._end)
        self.rewind(self._end)
        _settle_all(refused, error)

    def fail(self, error: Exception) -> None:
        """Nothing of what is left will be written."""
        entries, self._entries = self._entries, []
        self._index = 0
        self._end = self._fixed
        _settle_all(entries, error)

    def _at(self, position: int) -> int:
        """Which entry the unit at a position is in."""
        entries = self._entries
        return next((at for at, entry in enumerate(entries) if entry.end > position), len(entries))

    def _insert(self, entry: _Entry) -> None:
        """Puts an entry before everything whose position is not fixed yet, in the middle of an input if need be."""
        at = self._at(self._fixed)
        if at < len(self._entries):
            split = self._entries[at]
            length = self._fixed - split.position
            if length > 0 and isinstance(split.input, bytes):
                first = replace(split, input=split.input[:length], settle=None)
                rest = replace(split, position=self._fixed, input=split.input[length:], is_rest=True)
                self._entries[at : at + 1] = [first, rest]
                at += 1
        self._entries.insert(at, entry)
        self._renumber(at, entry.position)
        self.rewind(self.sent)

    def _renumber(self, start: int, position: int) -> None:
        self._end = position
        for entry in self._entries[start:]:
            entry.position = self._end
            self._end = entry.end


class InputFlow:
    """Sends the outbox over one connection after the other, as far as each server lets it."""

    def __init__(self, outbox: Outbox, on_over: Callable[[HawserError], None]) -> None:
        self._outbox = outbox
        self._on_over = on_over
        self._send: Callable[[str | bytes], None] | None = None
        #: Where the server goes on, and the positions that were sent from there on.
        self._next = 0
        self._sent: deque[int] = deque()
        #: Refusals still to come for what was sent after a refused act: they say nothing new.
        self._echoes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_crowded = False

    @property
    def is_open(self) -> bool:
        return self._send is not None

    def open(self, next: int, written: int, window: int, send: Callable[[str | bytes], None]) -> None:
        self._outbox.open(next, written, window)
        self._send = send
        self._next = next
        self.pump()

    def close(self) -> None:
        self._send = None
        self._outbox.close()
        self._sent.clear()
        self._echoes = 0
        self._stop_timer()

    def pump(self) -> None:
        """Sends what waits and may be sent."""
        send = self._send
        if send is None or self._is_crowded or self._echoes > 0:
            return
        while taken := self._outbox.take():
            position, piece = taken
            self._sent.append(position)
            if isinstance(piece, bytes):
                send(encode_input(position, piece))
            else:
                send(json.dumps({**piece, "position": position}))
        if self._timer is None and self._next < self._outbox.sent:
            self._again(_UNANSWERED_S)

    def receipt(self, next: int, written: int) -> None:
        self._outbox.receipt(written)
        self._next = max(self._next, next)
        while self._sent and self._sent[0] < self._next:
            self._sent.popleft()
        # An answer is progress; only a silence, or a server without room, is a reason to send again.
        if not self._is_crowded:
            self._stop_timer()
        self.pump()

    def refused(self, error: HawserError, position: int) -> None:
        if self._echoes > 0:
            self._echoes -= 1
            self.pump()
        elif error.code == "session_closed":
            self._on_over(error)
        elif error.code in ("invalid_argument", "limit_exceeded", "node_unavailable"):
            # It had no room for all of it, or found a hole after what it had no room for.
            self._stop_timer()
            self._is_crowded = True
            self._again(_CROWDED_S)
        else:
            self._echoes = sum(1 for sent in self._sent if sent > position)
            self._sent.clear()
            self._outbox.refuse(position, error)
            self.pump()

    def _again(self, delay: float) -> None:
        def again() -> None:
            self._stop_timer()
            self._sent.clear()
            self._outbox.rewind(self._next)
            self.pump()

        self._timer = asyncio.get_running_loop().call_later(delay, again)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._is_crowded = False


def _is_urgent(input: bytes | Act) -> bool:
    return not isinstance(input, bytes) and input.get("urgent") is True


def _settle_all(entries: list[_Entry], error: Exception) -> None:
    for entry in entries:
        if entry.settle is not None:
            entry.settle(error)
