"""The lease as one attachment sees it: what it requested, and what the server reported."""

from __future__ import annotations

import asyncio
from typing import Any

from ._errors import HawserError
from ._messages import LeaseMessage

Demand = dict[str, Any]


class Control:
    def __init__(self, is_wanted: bool) -> None:
        #: Requested again on every connection, but never with force, because another client may have taken control in
        #: between.
        self._wish: Demand | None = {"type": "take", "exclusive": True, "force": False} if is_wanted else None
        self._waiting: list[tuple[Demand, asyncio.Future[LeaseMessage]]] = []
        self._lease: LeaseMessage | None = None

    @property
    def obstacle(self) -> HawserError | None:
        """Why a write would fail now; None if it would not."""
        lease = self._lease
        if lease is None or not lease["exclusive"] or lease.get("mine") or self._wish:
            return None
        return HawserError(
            "not_writable",
            f"{lease['holder'] or 'another client'} has exclusive control of the session",
            hint="take it with attachment.take(force=True)",
        )

    def demand(self, demand: Demand) -> asyncio.Future[LeaseMessage]:
        """Records a request. The next lease message answers it."""
        answer: asyncio.Future[LeaseMessage] = asyncio.get_running_loop().create_future()
        is_take = demand["type"] == "take"
        self._wish = {**demand, "force": False} if is_take else None
        lease = self._lease
        # The server does not answer the release of a lease that this client does not hold.
        if not is_take and lease is not None and not lease.get("mine") and not self._waiting:
            answer.set_result(lease)
        else:
            self._waiting.append((demand, answer))
        return answer

    def open(self, lease: LeaseMessage) -> list[Demand]:
        """The requests for a new connection, which never starts with control."""
        self._lease = lease
        if self._waiting:
            return [demand for demand, _ in self._waiting]
        return [self._wish] if self._wish else []

    def granted(self, lease: LeaseMessage) -> None:
        # Another client took control. Requesting it again on the next connection would start a fight.
        if self._lease is not None and self._lease.get("mine") and not lease.get("mine"):
            self._wish = None
        self._lease = lease
        if self._waiting and lease.get("mine", False) == (self._waiting[0][0]["type"] == "take"):
            _, answer = self._waiting.pop(0)
            if not answer.done():
                answer.set_result(lease)

    def refused(self, error: HawserError) -> bool:
        """Returns whether the refusal answered a request."""
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
