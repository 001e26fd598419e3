"""Errors of the server and of the connection."""

from __future__ import annotations

import json


class HawserError(Exception):
    """Every failure except mistakes in the calling program.

    `code` is one of docs/errors.md, such as ``session_not_found``; treat an unknown one as ``internal``. `hint` says
    how to fix it, if the message does not. `status` is that of the HTTP response, None without one. `retry_after`, in
    seconds, is set if a rate limit refused the request: it had no effect, and may succeed after that time.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"

    @property
    def is_temporary(self) -> bool:
        """Whether a retry may help: no server, one that is shutting down, or a proxy without one."""
        return self.code == "node_unavailable" or (self.status or 0) >= 500 or self.status in (408, 429)


def error_of(status: int, body: bytes) -> HawserError:
    """The error in a response. A response that is not from a Hawser server may contain anything."""
    try:
        error = json.loads(body)["error"]
        hint = error.get("hint")
        wait = error.get("retryAfterMs")
        retry_after = wait / 1000 if isinstance(wait, (int, float)) else None
        code, message = str(error["code"]), str(error["message"])
        return HawserError(code, message, hint=hint, status=status, retry_after=retry_after)
    except (ValueError, LookupError, TypeError, AttributeError):
        hint = "check the address: this answer is not from a Hawser server"
        return HawserError("internal", f"the server answered with status {status}", hint=hint, status=status)


def session_over() -> HawserError:
    return HawserError("session_closed", "the program has ended")


def to_hawser_error(error: Exception) -> HawserError:
    """Wraps an unexpected error, a bug of the server or of this client."""
    if isinstance(error, HawserError):
        return error
    wrapped = HawserError("internal", f"{type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
