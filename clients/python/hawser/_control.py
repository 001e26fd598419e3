"""Who may write, as far as one attachment is concerned: what it demanded, and what it was told."""

from __future__ import annotations

import asyncio
from typing import Any

from ._errors import HawserError
from ._messages import Lease

Demand = dict[str, Any]


class Control:
    def __init__(self, is_wanted: bool) -> None:
        #: Demanded again on every connection, but never by force: somebody else may have got it in between.
        self._wish: Demand | None = {"type": "take", "exclusive": True, "force": False} if is_wanted else None
        self._waiting: list[tuple[Demand, asyncio.Future[Lease]]] = []
        self._lease: Lease | None = None

    @property
    def obstacle(self) -> HawserError | None:
        """Why a write can't succeed now; None when it can."""
        lease = self._lease
        if lease is None or not lease["exclusive"] or lease.get("mine") or self._wish:
            return None
        return HawserError(
            "not_writable",
            f"{lease['holder'] or 'somebody else'} has control of the session",
            hint="take control first: attachment.take(force=True)",
        )

    def demand(self, demand: Demand) -> asyncio.Future[Lease]:
        """Notes a demand; the answer is the lease after it."""
        answer: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()
        is_take = demand["type"] == "take"
        self._wish = {**demand, "force": False} if is_take else None
        lease = self._lease
        # A server has nothing to say to one who gives back what it does not have.
        if not is_take and lease is not None and not lease.get("mine") and not self._waiting:
            answer.set_result(lease)
        else:
            self._waiting.append((demand, answer))
        return answer

    def open(self, lease: Lease) -> list[Demand]:
        """What to say at the beginning of a connection, which never has control."""
        self._lease = lease
        if self._waiting:
            return [demand for demand, _ in self._waiting]
        return [self._wish] if self._wish else []

    def granted(self, lease: Lease) -> None:
        # Somebody took it from us: to demand it again on the next connection would be a fight.
        if self._lease is not None and self._lease.get("mine") and not lease.get("mine"):
            self._wish = None
        self._lease = lease
        if self._waiting and lease.get("mine", False) == (self._waiting[0][0]["type"] == "take"):
            _, answer = self._waiting.pop(0)
            if not answer.done():
                answer.set_result(lease)

    def refused(self, error: HawserError) -> bool:
        """True if the refusal was the answer to a demand."""
        self._wish = None
        if not self._waiting:
            return False
        _, answer = self._waiting.pop(0)
        if not answer.done():
            answer.set_exception(error)
        return True

    def fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, []
        for _, answer in waiting:
            if not answer.done():
                answer.set_exception(error)
