"""HTTP requests to a server that may move or be away: each on a connection and in a thread of its own."""

from __future__ import annotations

import asyncio
import http.client
import json as json_
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from ._errors import HawserError, error_of
from ._times import Times

T = TypeVar("T")
Query = Mapping[str, str | int | Sequence[str] | None]
Method = Literal["GET", "POST", "PATCH", "DELETE"]

#: The feed says something every 15 s; after this many seconds without a word its connection is gone.
_FEED_SILENCE_S = 40.0


@dataclass(frozen=True)
class Address:
    """Where a server is, how to get there, and what to show it."""

    url: str
    token: str | None = field(default=None, repr=False)
    #: The path of a Unix socket to take instead of the url's host and port, without TLS.
    socket: str | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise HawserError(
                "invalid_argument", f"expected an address such as http://127.0.0.1:7707, not {self.url!r}"
            )

    @property
    def is_secure(self) -> bool:
        return self.socket is None and self.url.startswith("https:")

    @cached_property
    def tls_context(self) -> ssl.SSLContext | None:
        return (self.tls or ssl.create_default_context()) if self.is_secure else None

    @property
    def authorization(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    def under(self, path: str) -> str:
        """The target of a request: the server may live below a prefix."""
        return urlsplit(self.url).path.rstrip("/") + path


@dataclass(frozen=True)
class Answer:
    headers: Message
    body: bytes

    def json(self) -> Any:
        return json_.loads(self.body)


def session_path(session_id: str, rest: str = "") -> str:
    return f"/v1/sessions/{quote(session_id, safe='')}{rest}"


class Transport:
    """`find` is asked for the address, and again once the server can't be reached under the old one."""

    def __init__(self, find: Callable[[], Address], times: Times) -> None:
        self.times = times
        self._find = find
        self._address: Address | None = find()

    def address(self) -> Address:
        if self._address is None:
            self._address = self._find()
        return self._address

    def lost(self) -> None:
        """The server could not be reached where it was, or went away: it is looked for again."""
        self._address = None

    async def request(
        self,
        method: Method,
        path: str,
        *,
        query: Query = {},
        json: object = None,
        data: bytes | None = None,
        headers: Mapping[str, str] = {},
        patience: float | None = 0.0,
    ) -> Answer:
        """The answer, if it is a success; raises HawserError otherwise.

        `patience` is how long, in seconds, the server may take longer than for a simple answer; None is
        for ever. A request that is cancelled has its connection cut; it may have been carried out or not.
        """
        exchange = self._exchange(method, path, query, json, data, headers)
        limit = None if patience is None else self.times.answer + patience
        try:
            async with asyncio.timeout(limit):
                return await in_thread(exchange.answer, exchange.cut)
        except TimeoutError as error:
            raise self._unreachable(exchange.address, error, f"no answer within {limit:g} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(exchange.address, error) from error

    async def events(
        self, path: str, *, query: Query, headers: Mapping[str, str] = {}
    ) -> AsyncIterator[tuple[str, str, str]]:
        """Server-sent events as their id, name and data, until the connection ends."""
        headers = {"Accept": "text/event-stream", **headers}
        exchange = self._exchange("GET", path, query, None, None, headers)
        try:
            await in_thread(exchange.open, exchange.cut)
            while event := await in_thread(exchange.event, exchange.cut):
                yield event
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(exchange.address, error) from error
        finally:
            exchange.cut()
            exchange.close()

    def _exchange(
        self,
        method: Method,
        path: str,
        query: Query,
        json: object,
        data: bytes | None,
        headers: Mapping[str, str],
    ) -> _Exchange:
        address = self.address()
        all_headers = {"Host": urlsplit(address.url).netloc, **address.authorization, **headers}
        if json is not None:
            data = json_.dumps(json).encode()
            all_headers["Content-Type"] = "application/json"
        elif data is not None:
            all_headers["Content-Type"] = "application/octet-stream"
        words = urlencode({name: value for name, value in query.items() if value is not None}, doseq=True)
        target = address.under(path) + (f"?{words}" if words else "")
        return _Exchange(address, method, target, data, all_headers, self.times.connect)

    def _unreachable(self, address: Address, error: Exception, why: str = "") -> HawserError:
        self.lost()
        words = f"no server can be reached at {address.url}: {why or error}"
        return certificate_error(error, address) or HawserError("node_unavailable", words)


def certificate_error(error: BaseException, address: Address) -> HawserError | None:
    """What to say if that is what it is: no outage, because trying again would not help."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return None
    return HawserError(
        "permission_denied",
        f"the certificate of {address.url} can't be verified: {error.verify_message}",
        hint="give a context that knows it: tls=ssl.create_default_context(cafile=…)",
    )


class _Exchange:
    """One request and its answer; everything but `cut` blocks, and runs in a thread."""

    def __init__(
        self, address: Address, method: str, target: str, data: bytes | None, headers: dict[str, str], connect_s: float
    ) -> None:
        self.address = address
        self._request = (method, target, data, headers)
        self._connection = _Connection(address, connect_s)
        self._response: http.client.HTTPResponse | None = None

    def answer(self) -> Answer:
        try:
            self._connection.request(*self._request)
            response = self._connection.getresponse()
            body = response.read()
        finally:
            self._connection.close()
        if not 200 <= response.status < 300:
            raise error_of(response.status, body)
        return Answer(response.headers, body)

    def open(self) -> None:
        """Begins an answer that is read piece by piece."""
        self._connection.request(*self._request)
        response = self._connection.getresponse()
        if response.status != 200:
            raise error_of(response.status, response.read())
        if self._connection.link is not None:
            self._connection.link.settimeout(_FEED_SILENCE_S)
        self._response = response

    def event(self) -> tuple[str, str, str] | None:
        """The next event with data; None at the end."""
        fields: dict[str, str] = {}
        assert self._response is not None
        while line := self._response.readline():
            text = line.decode().rstrip("\r\n")
            if text == "" and "data" in fields:
                return fields.get("id", ""), fields.get("event", "message"), fields["data"]
            name, _, value = text.partition(":")
            if name != "":
                fields[name] = value.removeprefix(" ")
        return None

    def cut(self) -> None:
        """Wakes whoever waits in the other thread; safe from any."""
        self._connection.is_cut = True
        link = self._connection.link
        if link is not None:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)


    def close(self) -> None:
        if self._response is not None:
            self._response.close()
        self._connection.close()


class _Connection(http.client.HTTPConnection):
    """To a host with or without TLS, or to a Unix socket."""

    def __init__(self, address: Address, connect_s: float) -> None:
        parts = urlsplit(address.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        super().__init__(parts.hostname or "", port)
        self._address = address
        self._connect_s = connect_s
        #: Kept here, because HTTPConnection lets go of its own before the answer is read.
        self.link: socket.socket | None = None
        self.is_cut = False

    def connect(self) -> None:
        link = self._dial()
        # It was meant for the connection alone; what may take how long is the caller's to say.
        link.settimeout(None)
        self.sock = self.link = link
        if self.is_cut:
            raise ConnectionAbortedError("nobody waits for the answer any more")

    def _dial(self) -> socket.socket:
        if self._address.socket is not None:
            link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            link.settimeout(self._connect_s)
            try:
                link.connect(self._address.socket)
            except OSError:
                link.close()
                raise
            return link
        link = socket.create_connection((self.host, self.port), self._connect_s)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = self._address.tls_context
        return link if context is None else context.wrap_socket(link, server_hostname=self.host)


async def in_thread(work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """Does blocking work in a thread of its own: a pool's threads would all be busy with waiting."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            tell(done.set_exception, error)
        else:
            tell(done.set_result, result)

    def tell(settle: Callable[[Any], None], value: object) -> None:
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if done.done() else settle(value))

    threading.Thread(target=run, name="hawser-http", daemon=True).start()
    try:
        return await done
    except asyncio.CancelledError:
        interrupt()
        raise
