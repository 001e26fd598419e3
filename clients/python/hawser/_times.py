"""Timeouts and retry delays, in seconds of the monotonic clock."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Times:
    connect: float = 10.0
    """From the start of a connection to the server's welcome."""
    answer: float = 30.0
    """For the response to a request that does not wait for a program."""
    ping: float = 10.0
    """Silence before a ping…"""
    dead: float = 25.0
    """…and before the connection counts as dead."""
    first_retry: float = 0.25
    """Delay before the first retry, doubled with each…"""
    last_retry: float = 10.0
    """…up to this one."""


class Backoff:
    """Retry delays with jitter, so that the clients of a restarted server don't reconnect all at once."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._failures = 0

    def next(self) -> float:
        longest = min(self._times.last_retry, self._times.first_retry * 2.0**self._failures)
        self._failures = min(self._failures + 1, 30)
        return longest * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        self._failures = 0


def milliseconds(seconds: float | None) -> int | None:
    """The server's unit."""
    return None if seconds is None else round(seconds * 1000)
