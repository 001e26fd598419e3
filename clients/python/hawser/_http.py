"""HTTP requests to a server that may move or be unreachable. Each has its own connection and thread."""

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
from ._operations import OPERATIONS, OperationName
from ._times import Times

T = TypeVar("T")
Query = Mapping[str, str | int | Sequence[str] | None]

#: The feed sends a heartbeat every 15 s; a connection silent for this many seconds is dead.
_FEED_SILENCE_S = 40.0


@dataclass(frozen=True)
class Address:
    """A server's address, how to connect, and the credentials."""

    url: str
    token: str | None = field(default=None, repr=False)
    #: A Unix socket to use instead of the URL's host and port, without TLS.
    socket: str | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise HawserError(
                "invalid_argument", f"invalid URL {self.url!r}; expected something like http://127.0.0.1:7707"
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
        """The target of a request, below the server's path prefix."""
        return urlsplit(self.url).path.rstrip("/") + path


@dataclass(frozen=True)
class Answer:
    headers: Message
    body: bytes

    def json(self) -> Any:
        return json_.loads(self.body)


def path_of(operation: OperationName, params: Mapping[str, str]) -> str:
    _, path = OPERATIONS[operation]
    return path.format(**{name: quote(value, safe="") for name, value in params.items()})


class Transport:
    """`find` returns the address. It is called again when the server can't be reached at the old one."""

    def __init__(self, find: Callable[[], Address], times: Times) -> None:
        self.times = times
        self._find = find
        self._address: Address | None = find()

    def address(self) -> Address:
        if self._address is None:
            self._address = self._find()
        return self._address

    def lost(self) -> None:
        """The server is unreachable at its address, so locate it again."""
        self._address = None

    async def request(
        self,
        operation: OperationName,
        *,
        params: Mapping[str, str] = {},
        query: Query = {},
        json: object = None,
        data: bytes | None = None,
        headers: Mapping[str, str] = {},
        extra_time: float | None = 0.0,
    ) -> Answer:
        """Calls an operation and returns the response. Raises HawserError unless it succeeds.

        `extra_time` is how much longer, in seconds, the server may take than for a simple response; None is no limit.
        Canceling closes the connection; the server may or may not have executed the request.
        """
        exchange = self._exchange(operation, params, query, json, data, headers)
        limit = None if extra_time is None else self.times.answer + extra_time
        try:
            async with asyncio.timeout(limit):
                return await in_thread(exchange.answer, exchange.cut)
        except TimeoutError as error:
            raise self._unreachable(exchange.address, error, f"no response within {limit:g} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(exchange.address, error) from error

    async def events(
        self, operation: OperationName, *, query: Query, headers: Mapping[str, str] = {}
    ) -> AsyncIterator[tuple[str, str, str]]:
        """Server-sent events as ID, name and data, until the connection ends."""
        headers = {"Accept": "text/event-stream", **headers}
        exchange = self._exchange(operation, {}, query, None, None, headers)
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
        operation: OperationName,
        params: Mapping[str, str],
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
        method, _ = OPERATIONS[operation]
        target = address.under(path_of(operation, params)) + (f"?{words}" if words else "")
        return _Exchange(address, method, target, data, all_headers, self.times.connect)

    def _unreachable(self, address: Address, error: Exception, why: str = "") -> HawserError:
        self.lost()
        words = f"can't reach a server at {address.url}: {why or error}"
        return certificate_error(error, address) or HawserError("node_unavailable", words)


def certificate_error(error: BaseException, address: Address) -> HawserError | None:
    """A certificate error, which retrying would not fix; None for other errors."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return None
    return HawserError(
        "permission_denied",
        f"can't verify the certificate of {address.url}: {error.verify_message}",
        hint="pass a context that trusts it: tls=ssl.create_default_context(cafile=…)",
    )


class _Exchange:
    """One request and its response. Everything but `cut` blocks, and runs in a thread."""

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
        """Starts a streaming response."""
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
        """Interrupts the other thread. Safe to call from any thread."""
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
    """A connection to a host with or without TLS, or to a Unix socket."""

    def __init__(self, address: Address, connect_s: float) -> None:
        parts = urlsplit(address.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        super().__init__(parts.hostname or "", port)
        self._address = address
        self._connect_s = connect_s
        #: Kept here, because HTTPConnection drops its own before the response is read.
        self.link: socket.socket | None = None
        self.is_cut = False

    def connect(self) -> None:
        link = self._dial()
        # The timeout was for connecting only; the caller limits the rest.
        link.settimeout(None)
        self.sock = self.link = link
        if self.is_cut:
            raise ConnectionAbortedError("the request was canceled")

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
    """Runs blocking work in its own thread: a pool's threads would all be busy with waiting."""
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
        # Nothing waits for the result if the loop is closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if done.done() else settle(value))

    threading.Thread(target=run, name="hawser-http", daemon=True).start()
    try:
        return await done
    except asyncio.CancelledError:
        interrupt()
        raise
