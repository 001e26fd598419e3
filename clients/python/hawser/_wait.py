"""Waits for a session to end, go quiet, or write a text."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ._attachment import Attachment
from ._echo import echo_length
from ._events import Connected, Disconnected, Exited, Lost, Output
from ._messages import ExitMessage

#: Newest output searched for a match, in bytes.
_TEXT_BYTES = 64 * 1024
#: Colors, cursor movement and titles, including incomplete ones.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*(?:[@-~]|$)|\][^\x07\x1b]*(?:\x07|\x1b\\|\x1b?$)|[ -/]*(?:[0-~]|$))")


@dataclass(frozen=True)
class WaitResult:
    """The condition that was met first. `offset` is where to continue reading; for a match, the first byte after it.
    """

    kind: Literal["exit", "idle", "match", "timeout", "lost"]
    offset: int
    exit: ExitMessage | None = None
    match: re.Match[str] | None = None
    message: str | None = None


async def wait_for(
    attachment: Attachment,
    pattern: re.Pattern[str] | None,
    idle: float | None,
    timeout: float | None,
    typed: Sequence[str] = (),
) -> WaitResult:
    """Waits for the exit if there is no pattern and no idle time."""
    loop = asyncio.get_running_loop()
    until = float("inf") if timeout is None else loop.time() + timeout
    search = None if pattern is None else Search(pattern)
    exit_: ExitMessage | None = None
    quiet_at = float("inf")
    is_first = True
    async with attachment:
        while True:
            due = min(until, quiet_at)
            try:
                async with asyncio.timeout_at(None if due == float("inf") else due):
                    event = await anext(attachment, None)
            except TimeoutError:
                return WaitResult("idle" if quiet_at < until else "timeout", attachment.offset or 0)
            match event:
                case Connected(session):
                    # Nothing echoes on pipes.
                    if is_first and search is not None and session["mode"] == "pty":
                        search.pass_over(typed)
                    is_first = False
                    exit_ = exit_ or session["exit"]
                    if session["state"] == "lost" and search is None:
                        offsets = session["offsets"]
                        end = offsets["end"] if offsets else attachment.offset or 0
                        return WaitResult("lost", end, message="the session was lost")
                case Output(_, offset, data) if search is not None:
                    if (found := search.add(offset, data)) is not None:
                        return WaitResult("match", found[1], match=found[0])
                case Exited(_, exit_):
                    pass
                case Lost(offset, message):
                    return WaitResult("lost", offset, message=message)
            # Output may have been missed, so the quiet time starts again.
            if isinstance(event, Disconnected):
                quiet_at = float("inf")
            elif isinstance(event, (Connected, Output)) and idle is not None:
                quiet_at = loop.time() + idle
            is_wanted = search is None and idle is None
            # For other conditions, the program's last output may come after its exit.
            if event is None or (exit_ is not None and is_wanted):
                return WaitResult("exit", attachment.offset or 0, exit=exit_)


class Search:
    """Searches the newest output as text, without escape sequences."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._bytes = b""
        self._typed: Sequence[str] = ()

    def pass_over(self, typed: Sequence[str]) -> None:
        """The echo of these lines does not match, at the beginning of the output."""
        self._typed = typed

    def add(self, offset: int, data: bytes) -> tuple[re.Match[str], int] | None:
        """The match, and the offset of the first byte after it."""
        kept = self._bytes[max(0, len(self._bytes) + len(data) - _TEXT_BYTES) :]
        self._bytes = kept + data
        # Invalid UTF-8 decodes reversibly; an incomplete character at the end is left for later.
        text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(self._bytes)
        plain, cuts = _without_escapes(text)
        if self._typed:
            length = echo_length(plain, self._typed)
            if length == len(plain):
                return None
            self._typed = ()
            self._bytes = self._bytes[_byte_at(text, cuts, length) :]
            return self.add(offset + len(data), b"")
        match = self._pattern.search(plain)
        if match is None:
            return None
        return match, offset - len(kept) + _byte_at(text, cuts, match.end())


def _byte_at(text: str, cuts: list[tuple[int, int]], plain: int) -> int:
    """The number of bytes of the text up to a position of its plain text."""
    end = plain + sum(length for position, length in cuts if position < plain)
    return len(text[:end].encode("utf-8", "surrogateescape"))


def _without_escapes(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The plain text, and where in it how many characters were removed."""
    parts: list[str] = []
    cuts: list[tuple[int, int]] = []
    length = at = 0
    for escape in _ESCAPE.finditer(text):
        parts.append(text[at : escape.start()])
        length += escape.start() - at
        at = escape.end()
        cuts.append((length, escape.end() - escape.start()))
    return "".join(parts) + text[at:], cuts
