"""What a session's terminal shows, put together from what has changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from ._messages import Screen

#: How long one request waits for a change, in seconds: half of what a server allows.
_WAIT_S = 30.0

#: Asks for a screen, or for what has changed since the one with this revision.
Read = Callable[[int | None, float], Awaitable[Screen]]


async def screen_changes(read: Read) -> AsyncIterator[Screen]:
    """As it is now, and again whenever it looks otherwise, until the session has ended; each with all rows."""
    shown: Screen | None = None
    while shown is None or shown["state"] not in ("closed", "lost"):
        screen = await read(None if shown is None else shown["revision"], _WAIT_S)
        whole = screen.copy()
        whole["lines"] = _lines(screen, [] if shown is None else shown["lines"])
        is_seen = shown is None or _looks(whole) != _looks(shown)
        shown = whole
        if is_seen:
            yield whole


def _lines(screen: Screen, before: list[str]) -> list[str]:
    if "lines" in screen:
        return screen["lines"]
    rows = screen["rows"]
    lines = (before + [""] * rows)[:rows]
    for change in screen.get("changes", []):
        lines[change["row"]] = change["text"]
    while lines and lines[-1] == "":
        lines.pop()
    return lines


def _looks(screen: Screen) -> object:
    place = (screen["cols"], screen["rows"], screen["alternate"], screen["cursor"])
    return (*place, screen["title"], screen["lines"])
