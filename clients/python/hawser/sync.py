"""The client without asyncio: calls block, and iterators are plain.

The asyncio client runs on a loop in its own thread, so connections stay alive while the program does something else.
Its objects may be used from any thread, except from `on_connection`: that is called on the loop, which must not wait
for itself.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import Concatenate, Generic, ParamSpec, TypeVar

from . import client as aio
from ._attachment import Attachment as AsyncAttachment
from ._events import Event
from ._session import Session as AsyncSession
from ._times import Times

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
P = ParamSpec("P")


class _Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hawser", daemon=True)
        self._thread.start()

    def wait(self, work: Awaitable[R]) -> R:
        """Waits for the result. An interrupt such as Ctrl-C cancels the work."""

        async def run() -> R:
            return await work

        future = asyncio.run_coroutine_threadsafe(run(), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        if self._thread.is_alive():
            self.wait(self._wind_up())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _wind_up(self) -> None:
        """Cancels what other threads still wait for, interrupted work, and unfinished iterators."""
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            if not task.cancelling():
                task.cancel()
        if rest:
            await asyncio.wait(rest)
        await self._loop.shutdown_asyncgens()


class _Blocking(Generic[A]):
    """An object of the asyncio client, and the loop it runs on."""

    def __init__(self, loop: _Loop, inner: A) -> None:
        self._loop = loop
        self._inner = inner


def _blocking(
    method: Callable[Concatenate[A, P], Awaitable[R]]
) -> Callable[Concatenate[_Blocking[A], P], R]:
    """Wraps a method of the asyncio client as one that blocks."""

    @wraps(method)
    def call(self: _Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.wait(method(self._inner, *args, **kwargs))

    return call


def _iterating(
    method: Callable[Concatenate[A, P], AsyncIterator[R]]
) -> Callable[Concatenate[_Blocking[A], P], Iterator[R]]:
    """Wraps an asynchronous iterator as a plain one."""

    @wraps(method)
    def call(self: _Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        items = method(self._inner, *args, **kwargs)
        while (item := self._loop.wait(anext(items, None))) is not None:
            yield item

    return call


def _making(
    method: Callable[Concatenate[A, P], Awaitable[B]], kind: Callable[[_Loop, B], R]
) -> Callable[Concatenate[_Blocking[A], P], R]:
    """Wraps a method as one that blocks and returns a blocking object."""

    @wraps(method)
    def call(self: _Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return kind(self._loop, self._loop.wait(method(self._inner, *args, **kwargs)))

    return call


def _deferred(method: Callable[P, R]) -> Callable[P, Awaitable[R]]:
    """Wraps a method that must be called on the loop, although it does not wait."""

    @wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return method(*args, **kwargs)

    return call


class Attachment(_Blocking[AsyncAttachment]):
    """An iterator over a session's events, and methods to write to it; see `hawser.Attachment`."""

    write = _blocking(AsyncAttachment.write)
    resize = _blocking(AsyncAttachment.resize)
    signal = _blocking(AsyncAttachment.signal)
    eof = _blocking(AsyncAttachment.eof)
    take = _blocking(AsyncAttachment.take)
    release = _blocking(AsyncAttachment.release)
    detach = _blocking(AsyncAttachment.detach)
    chunks = _iterating(AsyncAttachment.chunks)

    @property
    def offset(self) -> int | None:
        return self._inner.offset

    def __iter__(self) -> Attachment:
        return self

    def __next__(self) -> Event:
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def next(self, timeout: float | None = None) -> Event | None:
        """The next event; None at the end. Raises TimeoutError if none comes within this many seconds."""

        async def ask() -> Event | None:
            async with asyncio.timeout(timeout):
                return await anext(self._inner, None)

        return self._loop.wait(ask())

    def __enter__(self) -> Attachment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()


class Session(_Blocking[AsyncSession]):
    """One session on a server; see `hawser.Session`."""

    attach = _making(_deferred(AsyncSession.attach), Attachment)
    wait = _blocking(AsyncSession.wait)
    info = _blocking(AsyncSession.info)
    output = _blocking(AsyncSession.output)
    follow = _iterating(AsyncSession.follow)
    logs = _blocking(AsyncSession.logs)
    text = _blocking(AsyncSession.text)
    search = _iterating(AsyncSession.search)
    screen = _blocking(AsyncSession.screen)
    screen_text = _blocking(AsyncSession.screen_text)
    screen_picture = _blocking(AsyncSession.screen_picture)
    screen_changes = _iterating(AsyncSession.screen_changes)
    scrollback = _blocking(AsyncSession.scrollback)
    recording = _blocking(AsyncSession.recording)
    inspect = _blocking(AsyncSession.inspect)
    answer = _blocking(AsyncSession.answer)
    prompt = _blocking(AsyncSession.prompt)
    prompts = _blocking(AsyncSession.prompts)
    cancel_prompt = _blocking(AsyncSession.cancel_prompt)
    commands = _blocking(AsyncSession.commands)
    attached = _blocking(AsyncSession.attached)
    exec = _blocking(AsyncSession.exec)
    send = _blocking(AsyncSession.send)
    write = _blocking(AsyncSession.write)
    keys = _blocking(AsyncSession.keys)
    secret = _blocking(AsyncSession.secret)
    request_secret = _blocking(AsyncSession.request_secret)
    resize = _blocking(AsyncSession.resize)
    signal = _blocking(AsyncSession.signal)
    eof = _blocking(AsyncSession.eof)
    take_lease = _blocking(AsyncSession.take_lease)
    release_lease = _blocking(AsyncSession.release_lease)
    rename = _blocking(AsyncSession.rename)
    detach_all = _blocking(AsyncSession.detach_all)
    kill = _blocking(AsyncSession.kill)
    remove = _blocking(AsyncSession.remove)

    @property
    def id(self) -> str:
        return self._inner.id


class Client(_Blocking[aio.Client]):
    """A server's client; see `hawser.Client`. Use it with ``with``, or call `close`."""

    info = _blocking(aio.Client.info)
    create = _making(aio.Client.create, Session)
    list = _blocking(aio.Client.list)
    get = _making(aio.Client.get, Session)
    at = _making(_deferred(aio.Client.at), Session)
    run = _blocking(aio.Client.run)
    events = _iterating(aio.Client.events)
    create_token = _blocking(aio.Client.create_token)
    list_tokens = _blocking(aio.Client.list_tokens)
    revoke_token = _blocking(aio.Client.revoke_token)
    list_approvals = _blocking(aio.Client.list_approvals)
    get_approval = _blocking(aio.Client.get_approval)
    decide_approval = _blocking(aio.Client.decide_approval)
    secret_requests = _blocking(aio.Client.secret_requests)
    give_secret = _blocking(aio.Client.give_secret)
    refuse_secret = _blocking(aio.Client.refuse_secret)
    create_ticket = _blocking(aio.Client.create_ticket)
    create_sign_in_link = _blocking(aio.Client.create_sign_in_link)

    def close(self) -> None:
        """Detaches everything, and ends the thread; programs keep running."""
        self._loop.wait(self._inner.close())
        self._loop.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@wraps(aio.connect)
def connect(
    url: str, token: str | None = None, *, tls: ssl.SSLContext | None = None, times: Times = Times()
) -> Client:
    inner = aio.connect(url, token, tls=tls, times=times)
    return Client(_Loop(), inner)


@wraps(aio.locate)
def locate(
    url: str | None = None,
    token: str | None = None,
    *,
    state_dir: str | os.PathLike[str] | None = None,
    times: Times = Times(),
) -> Client:
    inner = aio.locate(url, token, state_dir=state_dir, times=times)
    return Client(_Loop(), inner)
