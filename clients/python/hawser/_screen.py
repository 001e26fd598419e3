"""Follows a session's screen, and applies its changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from ._messages import ScreenMessage

#: Long-poll time of one request, in seconds; half of the server's maximum.
_WAIT_S = 30.0

#: Reads a screen, or its changes since a revision.
Read = Callable[[int | None, float], Awaitable[ScreenMessage]]


async def screen_changes(read: Read) -> AsyncIterator[ScreenMessage]:
    """Yields the full screen now, and after every change until the session ends."""
    shown: ScreenMessage | None = None
    while shown is None or shown["state"] not in ("closed", "lost"):
        screen = await read(None if shown is None else shown["revision"], _WAIT_S)
        whole = screen.copy()
        whole["lines"] = _lines(screen, [] if shown is None else shown["lines"])
        is_seen = shown is None or _looks(whole) != _looks(shown)
        shown = whole
        if is_seen:
            yield whole


def _lines(screen: ScreenMessage, before: list[str]) -> list[str]:
    if "lines" in screen:
        return screen["lines"]
    rows = screen["rows"]
    lines = (before + [""] * rows)[:rows]
    for change in screen.get("changes", []):
        lines[change["row"]] = change["text"]
    while lines and lines[-1] == "":
        lines.pop()
    return lines


def _looks(screen: ScreenMessage) -> object:
    place = (screen["cols"], screen["rows"], screen["alternate"], screen["cursor"])
    return (*place, screen["title"], screen["lines"])
