"""What a server refused, or why it could not be reached."""

from __future__ import annotations

import json


class HawserError(Exception):
    """Every failure that is not a mistake in the calling program.

    `code` is one of docs/errors.md, such as ``session_not_found``; an unknown one is to be taken as
    ``internal``. `hint` says what to do about it, where the message does not. `status` is that of the
    HTTP answer, and None when there was none.
    """

    def __init__(self, code: str, message: str, *, hint: str | None = None, status: int | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"

    @property
    def is_temporary(self) -> bool:
        """Whether it may be over soon: no server, one on its way out, or something before it that has none."""
        return self.code == "node_unavailable" or (self.status or 0) >= 500 or self.status in (408, 429)


def error_of(status: int, body: bytes) -> HawserError:
    """Reads the error out of an answer; something that is not our server may have sent anything."""
    try:
        error = json.loads(body)["error"]
        hint = error.get("hint")
        return HawserError(str(error["code"]), str(error["message"]), hint=hint, status=status)
    except (ValueError, LookupError, TypeError, AttributeError):
        return HawserError("internal", f"the server answered with status {status}", status=status)


def session_over() -> HawserError:
    return HawserError("session_closed", "the program has ended")


def to_hawser_error(error: Exception) -> HawserError:
    """What is none was not foreseen: the server's fault, or ours."""
    if isinstance(error, HawserError):
        return error
    wrapped = HawserError("internal", f"{type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
