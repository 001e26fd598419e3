"""The output side of an attachment: events that arrived, events that were read, and acknowledgments to the server.

A connection starts at the requested byte, which may be before what has already arrived, and repeats everything from
there. Output is trimmed by its offset; an event without bytes is recognized by its index among those at the same
offset. The server's window bounds what has arrived and was not read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from ._errors import HawserError
from ._events import Closed, Connected, Disconnected, Event, Exited, Gap, LeaseChanged, Lost, Output, Refused, Resized
from ._protocol import OutputFrame

#: Acknowledge after this many bytes, an eighth of the server's window; and less than that after this time.
_ACK_BYTES = 32 * 1024
_ACK_S = 0.1

Since = int | Literal["end"]

#: For these events only the newest counts, so that a reader that stops costs no memory.
_NEWEST_ONLY: tuple[tuple[type, ...], ...] = ((Connected, Disconnected), (LeaseChanged,), (Refused,))


class Reader:
    def __init__(self, since: Since) -> None:
        #: First byte not read yet; "end" until its offset is known.
        self.since: Since = since
        #: The last event has arrived, so no further connection is needed.
        self.is_complete = False
        self._asked: Since = since
        #: The next byte; events without bytes that arrived there, and how many of them will be repeated.
        self._position = since if since != "end" else None
        self._events_here = 0
        self._repeated = 0
        self._is_opened = False
        #: Everything before this offset was read: the reader asked for more.
        self._consumed = 0
        #: On this connection: end of the output that arrived, and last acknowledged offset.
        self._arrived = 0
        self._acknowledged = 0
        self._acknowledge: Callable[[int], None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._queue: deque[Event] = deque()
        self._is_over = False
        self._error: Exception | None = None
        self._changed = asyncio.Event()
        self._is_awaited = asyncio.Event()

    def ask(self) -> Since:
        """The offset to request on the next connection."""
        self._asked = self.since
        return self._asked

    def open(self, start: int, is_over: bool, acknowledge: Callable[[int], None]) -> None:
        """The requested connection starts at `start`, or after a gap that ends there.

        `is_over` means that the session has ended and may have lost output that was already read, with its keeper or
        machine.
        """
        is_first, self._is_opened = not self._is_opened, True
        # The first connection may start before a requested offset beyond the end; later ones may not.
        if self._position is None or (is_first and start < self._position):
            self._position = start
        elif self._asked != "end" and start < self._asked and not is_over:
            raise HawserError("internal", f"the output ends at byte {start}, but was read up to {self._asked}")
        self._repeated = self._events_here
        if self.since == "end" or (is_first and start < self.since):
            self.since = start
        # The server takes `since` as an acknowledgment, and accepts none beyond what it has sent.
        self._arrived = self._acknowledged = start
        self._acknowledge = acknowledge

    def close(self) -> None:
        """The connection ended."""
        self._stop_timer()
        self._acknowledge = None

    def output(self, frame: OutputFrame) -> None:
        end = frame.offset + len(frame.data)
        self._arrived = max(self._arrived, end)
        position = self._reach(frame.offset)
        if end > position:
            self._move_to(end)
            self.push(Output(frame.stream, position, frame.data[position - frame.offset :]))
        else:
            # The connection may repeat output that was already read.
            self._report()

    def message(self, message: dict[str, Any]) -> None:
        """Takes a message that belongs to the log. Raises if it does not continue the previous one."""
        match message:
            case {"type": "gap", "from": start, "to": end, "reason": reason}:
                self._arrived = max(self._arrived, end)
                position = self._reach(start)
                if end > position:
                    self._move_to(end)
                    self.push(Gap(position, end, reason))
            case {"type": "resized", "offset": offset, "cols": cols, "rows": rows}:
                if self._is_new(offset):
                    self.push(Resized(offset, cols, rows))
            case {"type": "exited", "offset": offset, "exit": exit_}:
                if self._is_new(offset):
                    self.push(Exited(offset, exit_))
            # These arrive once, because no later connection requests them. They may come before lost output that was
            # already read.
            case {"type": "closed", "offset": offset}:
                self.is_complete = True
                self.push(Closed(offset))
            case {"type": "lost", "offset": offset, "message": words}:
                self.is_complete = True
                self.push(Lost(offset, words))

    def push(self, event: Event) -> None:
        if self._is_over:
            return
        for kinds in _NEWEST_ONLY:
            if isinstance(event, kinds):
                self._queue = deque(other for other in self._queue if not isinstance(other, kinds))
        self._queue.append(event)
        self._changed.set()

    async def next(self) -> Event | None:
        """The next event; None at the end. Calling it acknowledges the previous event."""
        self._deal()
        self._report()
        while not self._queue and not self._is_over:
            self._is_awaited.set()
            self._changed.clear()
            try:
                await self._changed.wait()
            finally:
                self._is_awaited.clear()
        if self._queue:
            event = self._queue.popleft()
            if isinstance(event, (Output, Gap)):
                self.since = event.end
            return event
        # An error is raised once; later reads report the end.
        error, self._error = self._error, None
        if error is not None:
            raise error
        return None

    async def demand(self) -> None:
        """Returns when the reader has read everything and waits for more."""
        await self._is_awaited.wait()

    def end(self, error: Exception | None = None) -> None:
        """No events follow; an error may."""
        if not self._is_over:
            self._is_over, self._error = True, error
            self._changed.set()

    def drop(self) -> None:
        """The reader is gone."""
        self._queue.clear()
        self.end()

    def finish(self) -> None:
        """The reader will not call again; acknowledges everything it read."""
        self._deal()
        self._flush()

    def _deal(self) -> None:
        if self.since != "end":
            self._consumed = self.since

    def _report(self) -> None:
        """Acknowledges what was read: soon, or at once if it is much."""
        due = min(self._consumed, self._arrived) - self._acknowledged
        if self._acknowledge is None or due <= 0:
            return
        if due >= _ACK_BYTES:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_ACK_S, self._flush)

    def _flush(self) -> None:
        self._stop_timer()
        offset = min(self._consumed, self._arrived)
        if self._acknowledge is not None and offset > self._acknowledged:
            self._acknowledged = offset
            self._acknowledge(offset)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _is_new(self, offset: int) -> bool:
        """Whether an event without bytes is new."""
        if offset < self._reach(offset):
            return False
        if self._repeated > 0:
            self._repeated -= 1
            return False
        self._events_here += 1
        return True

    def _reach(self, offset: int) -> int:
        position = offset if self._position is None else self._position
        if offset > position:
            raise HawserError("internal", f"protocol error: output continues at byte {offset}, expected {position}")
        return position

    def _move_to(self, position: int) -> None:
        self._position = position
        self._events_here = self._repeated = 0
