"""Pseudo-random bytes through a raw `cat` and back, with occasional resizes, until a line arrives on stdin.

Reads the target as JSON, checks every byte and every size that comes back, and prints the counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import sys
from typing import Any

import hawser

READY = len(b"READY")
#: How much is on its way at most: enough that every cut is in the middle of something, in both directions.
AHEAD_BYTES = 64 * 1024
#: How long the reader stands still at most, once in a while.
DAWDLE_S = 0.01
BLOCK_BYTES = 32


def stream_at(position: int, length: int) -> bytes:
    """The bytes of the stream at a position, so that any part can be made without the rest."""
    first, last = position // BLOCK_BYTES, (position + length) // BLOCK_BYTES
    blocks = b"".join(hashlib.sha256(number.to_bytes(8)).digest() for number in range(first, last + 1))
    skip = position - first * BLOCK_BYTES
    return blocks[skip : skip + length]


def size_of(number: int) -> tuple[int, int]:
    """A size that tells its number."""
    return 1 + number % 60_000, 1 + number // 60_000


class Echo:
    def __init__(self, session: hawser.Session, seed: int) -> None:
        self.connections = self.sent = self.received = self.resizes = 0
        self._resized = 0
        self._random = random.Random(seed)
        self._is_stopping = False
        self._progress = asyncio.Event()
        self._connected = asyncio.Event()
        self._attachment = session.attach(on_connection=self._on_connection)

    async def run(self, stopped: asyncio.Future[Any]) -> None:
        async with self._attachment, asyncio.TaskGroup() as group:
            group.create_task(self._write())
            group.create_task(self._read())
            await stopped
            self._is_stopping = True
            self._progress.set()

    def _on_connection(self, event: hawser.ConnectionEvent) -> None:
        if isinstance(event, hawser.Connected):
            self.connections += 1
            self._connected.set()

    async def _write(self) -> None:
        async with asyncio.TaskGroup() as writes:
            while not self._is_stopping:
                while self.sent - self.received < AHEAD_BYTES and not self._is_stopping:
                    data = stream_at(self.sent, self._random.randint(1, 4096))
                    self.sent += len(data)
                    writes.create_task(self._attachment.write(data))
                    # One in any case: a short torture has less than a hundred writes.
                    if self.resizes == 0 or self._random.randrange(16) == 0:
                        writes.create_task(self._attachment.resize(*size_of(self.resizes)))
                        self.resizes += 1
                self._progress.clear()
                await self._progress.wait()

    async def _read(self) -> None:
        while not self._is_stopping or self.received < self.sent or self._resized < self.resizes:
            # So that connections also break, and repeat themselves, while something has arrived and was not read.
            if self._random.randrange(8) == 0:
                await self._dawdle()
            match await anext(self._attachment):
                case hawser.Gap() as gap:
                    raise AssertionError(f"bytes are gone: {gap}")
                case hawser.Resized(_, cols, rows):
                    assert (cols, rows) == size_of(self._resized), f"size {cols}x{rows} at number {self._resized}"
                    self._resized += 1
                case hawser.Output() as output:
                    self._check(output)
        # Wakes a stopped waiter.
        self._progress.set()

    def _check(self, output: hawser.Output) -> None:
        data = output.data[max(0, READY - output.offset) :]
        assert output.end == READY + self.received + len(data), f"output at {output.offset} after {self.received} bytes"
        assert data == stream_at(self.received, len(data)), f"output differs after byte {self.received}"
        self.received += len(data)
        assert self.received <= self.sent, f"{self.received} bytes came back of {self.sent} sent"
        self._progress.set()

    async def _dawdle(self) -> None:
        """Reads on with the next connection, or after a while."""
        self._connected.clear()
        try:
            async with asyncio.timeout(DAWDLE_S):
                await self._connected.wait()
        except TimeoutError:
            pass


async def main(url: str, token: str, id: str, seed: int, times: dict[str, float]) -> None:
    async with hawser.connect(url, token, times=hawser.Times(**times)) as client:
        echo = Echo(client.at(id), seed)
        await echo.run(asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline))
        counts = ("connections", "sent", "received", "resizes")
        print(json.dumps({name: getattr(echo, name) for name in counts}))


asyncio.run(main(**json.loads(sys.argv[1])))
