"""How long things may take, and how soon they are tried again: in seconds, by a clock that nobody sets."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Times:
    connect: float = 10.0
    """From the first step of a connection to the server's welcome."""
    answer: float = 30.0
    """For the answer to a request that does not wait for a program by its nature."""
    ping: float = 10.0
    """How long nothing may arrive before we ask whether the server is there…"""
    dead: float = 25.0
    """…and before it is not."""
    first_retry: float = 0.25
    """The pause before the first new attempt, doubled with each…"""
    last_retry: float = 10.0
    """…up to this one."""


class Backoff:
    """The pauses between attempts, with a jitter so that clients of a restarted server don't all come at once."""

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
    """As the server counts."""
    return None if seconds is None else round(seconds * 1000)
