"""The input of one attachment, kept until the program has it, across connections.

Every byte and every action has one position in the stream. The first send fixes a position; it means the same byte on
every connection. So resending from where the server wants to continue neither repeats nor drops anything.
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
"""An action other than writing, as its message without a position. Each takes one unit of the stream."""
Settle = Callable[[Exception | None], None]
"""Called once with the outcome of an input."""

#: Input that may wait before a writer has to: eight of the server's windows, and as many inputs as take a megabyte
#: even if each is one byte. One input may exceed it, because its caller has it in memory anyway.
OUTBOX_BYTES = 1024 * 1024
OUTBOX_INPUTS = 4096
#: Bytes per frame. Small, so that progress is visible and a lost connection costs little.
_PIECE_BYTES = 32 * 1024
#: Seconds before resending what the server had no space for, and what it has not acknowledged.
_CROWDED_S = 0.05
_UNANSWERED_S = 5.0


@dataclass(slots=True)
class _Entry:
    position: int
    input: bytes | Act
    #: None for the first part of a split input; `is_rest` marks the second.
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
        #: Everything from `_written` on, in order and without gaps.
        self._entries: list[_Entry] = []
        self._end = 0
        self._written = 0
        #: End of what was ever sent.
        self._fixed = 0
        #: Position to send next, and the entry that contains it.
        self.sent = 0
        self._index = 0
        #: End of the server's window; None without a connection.
        self._limit: int | None = None
        self._window = 0

    @property
    def is_full(self) -> bool:
        """Whether further writers should wait."""
        return self._end - self._written >= OUTBOX_BYTES or len(self._entries) >= OUTBOX_INPUTS

    def add(self, input: bytes | Act, settle: Settle) -> None:
        """Appends an input. Calls `settle` when the program has all of it."""
        if input == b"":
            settle(None)
        elif _is_urgent(input):
            self._insert(_Entry(self._fixed, input, settle))
        else:
            entry = _Entry(self._end, input, settle)
            self._entries.append(entry)
            self._end = entry.end

    def cancel(self, settle: Settle) -> None:
        """Removes an input if none of it was sent."""
        for at, entry in enumerate(self._entries):
            if entry.settle is settle and entry.position >= self._fixed and not entry.is_rest:
                del self._entries[at]
                self._renumber(at, entry.position)
                return

    def open(self, next: int, written: int, window: int) -> None:
        """Starts a connection: everything that the server has not accepted will be sent again."""
        if not self._written <= next <= self._fixed:
            raise HawserError(
                "internal",
                f"protocol error: input position {next} "
                f"is not between {self._written} and {self._fixed}",
            )
        self._window = window
        self.receipt(written)
        self.rewind(next)

    def close(self) -> None:
        """Stops sending until the next connection."""
        self._limit = None

    def receipt(self, written: int) -> None:
        """Records how far the program has taken the input."""
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
        """Continues from the position that the server requests."""
        self.sent = max(self._written, min(position, self._fixed))
        self._index = self._at(self.sent)

    def take(self) -> tuple[int, bytes | Act] | None:
        """The next position and what to send there; None if there is nothing."""
        if self._limit is None or self._index == len(self._entries):
            return None
        entry = self._entries[self._index]
        position = self.sent
        room = self._limit - position
        # An urgent signal is meant for a program that does not read, so the window does not apply. It takes no
        # memory.
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
        """The server refused the entry at this position and everything after it. Positions start again here."""
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
        """Fails all remaining input."""
        entries, self._entries = self._entries, []
        self._index = 0
        self._end = self._fixed
        _settle_all(entries, error)

    def _at(self, position: int) -> int:
        """Index of the entry that contains a position."""
        entries = self._entries
        return next((at for at, entry in enumerate(entries) if entry.end > position), len(entries))

    def _insert(self, entry: _Entry) -> None:
        """Inserts an entry before everything whose position is not fixed, splitting an input if necessary."""
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
    """Sends the outbox over successive connections, within each server's limits."""

    def __init__(self, outbox: Outbox, on_over: Callable[[HawserError], None]) -> None:
        self._outbox = outbox
        self._on_over = on_over
        self._send: Callable[[str | bytes], None] | None = None
        #: The next position the server expects, and the positions sent from there on.
        self._next = 0
        self._sent: deque[int] = deque()
        #: Refusals still expected for input sent after a refused action. They carry no news.
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
        """Sends pending input, as far as the window allows."""
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
        # A receipt is progress. Resend only after silence, or if the server had no space.
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
            # The server had no space for all of it, or found a gap after what it dropped.
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
