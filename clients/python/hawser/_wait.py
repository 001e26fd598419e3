"""Waits for something to be true of a session: that it ended, that it went quiet, or that it said something."""

from __future__ import annotations

import asyncio
import codecs
import re
from dataclasses import dataclass
from typing import Literal

from ._attachment import Attachment
from ._events import Connected, Disconnected, Exited, Lost, Output
from ._messages import Exit

#: How much of the newest output a match is looked for in.
_TEXT_BYTES = 64 * 1024
#: Colours, cursor movements and titles, also when their end has not come yet.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*(?:[@-~]|$)|\][^\x07\x1b]*(?:\x07|\x1b\\|\x1b?$)|[ -/]*(?:[0-~]|$))")


@dataclass(frozen=True)
class WaitResult:
    """What came first. `offset` is where to go on reading: for a match, the first byte after it."""

    kind: Literal["exit", "idle", "match", "timeout", "lost"]
    offset: int
    exit: Exit | None = None
    match: re.Match[str] | None = None
    message: str | None = None


async def wait_for(
    attachment: Attachment, pattern: re.Pattern[str] | None, idle: float | None, timeout: float | None
) -> WaitResult:
    """Without a pattern and a time of silence it is the exit that is waited for."""
    loop = asyncio.get_running_loop()
    until = float("inf") if timeout is None else loop.time() + timeout
    search = None if pattern is None else Search(pattern)
    exit_: Exit | None = None
    quiet_at = float("inf")
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
                    exit_ = exit_ or session["exit"]
                    if session["state"] == "lost" and search is None:
                        return WaitResult("lost", session["offsets"]["end"], message="the session was lost")
                case Output(_, offset, data) if search is not None:
                    if (found := search.add(offset, data)) is not None:
                        return WaitResult("match", found[1], match=found[0])
                case Exited(_, exit_):
                    pass
                case Lost(offset, message):
                    return WaitResult("lost", offset, message=message)
            # While nobody can tell whether it is quiet, it is not.
            if isinstance(event, Disconnected):
                quiet_at = float("inf")
            elif isinstance(event, (Connected, Output)) and idle is not None:
                quiet_at = loop.time() + idle
            is_wanted = search is None and idle is None
            # When something else is waited for, the program's last words may still come after its end.
            if event is None or (exit_ is not None and is_wanted):
                return WaitResult("exit", attachment.offset or 0, exit=exit_)


class Search:
    """Looks for an expression in the newest output as text, without escape sequences."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._bytes = b""

    def add(self, offset: int, data: bytes) -> tuple[re.Match[str], int] | None:
        """The match, and the offset of the first byte after it."""
        kept = self._bytes[max(0, len(self._bytes) + len(data) - _TEXT_BYTES) :]
        self._bytes = kept + data
        # What is no UTF-8 becomes characters that can be turned back; the beginning of one is left for later.
        text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(self._bytes)
        plain, cuts = _without_escapes(text)
        match = self._pattern.search(plain)
        if match is None:
            return None
        end = match.end() + sum(length for position, length in cuts if position < match.end())
        return match, offset - len(kept) + len(text[:end].encode("utf-8", "surrogateescape"))


def _without_escapes(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The plain text, and where in it how many characters were left out."""
    parts: list[str] = []
    cuts: list[tuple[int, int]] = []
    length = at = 0
    for escape in _ESCAPE.finditer(text):
        parts.append(text[at : escape.start()])
        length += escape.start() - at
        at = escape.end()
        cuts.append((length, escape.end() - escape.start()))
    return "".join(parts) + text[at:], cuts
