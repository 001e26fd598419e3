"""One WebSocket connection, from start to end, including silent failures.

`websockets` handles the protocol without I/O, so sending never waits: the windows of `hawser.v1` already bound what
is in flight. It follows no redirects, which would send the token elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

try:
    from websockets import client as websockets_client
    from websockets.exceptions import InvalidState, InvalidStatus
    from websockets.frames import Frame, Opcode
    from websockets.http11 import Response
    from websockets.typing import Subprotocol
    from websockets.uri import parse_uri
except ModuleNotFoundError as missing:
    install = "pip install 'websockets>=10.4' (Debian: apt install python3-websockets)"
    raise ModuleNotFoundError(f"hawser needs the package websockets: {install}", name=missing.name) from None

from ._errors import HawserError, error_of
from ._http import Address, certificate_error
from ._protocol import NO_CODE, SUBPROTOCOL, OutputFrame, ReceiptFrame, decode_frame
from ._times import Times

#: Version 10 of `websockets`, which Debian 12 has, uses the old name.
_ClientProtocol: Any = getattr(websockets_client, "ClientProtocol", None) or websockets_client.ClientConnection
#: Replaces the library's own logger, which logs the token at debug level.
_SILENT = logging.Logger("hawser.websockets", logging.CRITICAL)
#: Far above the largest message of a server. Bounds the memory that another peer could use.
_MAX_BYTES = 8 * 1024 * 1024
#: Time allowed for the closing handshake, in seconds.
_CLOSE_S = 2.0

Received = OutputFrame | ReceiptFrame | dict[str, Any]


@dataclass(frozen=True)
class Ending:
    """How a connection ended."""

    #: The close code; 1006 if there was none.
    code: int
    reason: str
    #: Whether the server sent `welcome`.
    was_welcome: bool = False
    #: The server's refusal, or the invalid message, if one ended the connection.
    error: Exception | None = None


class Connection(asyncio.Protocol):
    """`receive` is called in the order of arrival. An error it raises ends the connection as a fault."""

    def __init__(
        self, address: Address, path: str, hello: dict[str, Any], times: Times, receive: Callable[[Received], None]
    ) -> None:
        self._address = address
        self._hello = hello
        self._times = times
        self._receive = receive
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[Ending] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        #: Frames of the message that is arriving.
        self._message: list[bytes] = []
        self._is_text = False
        self._is_open = False
        self._was_welcome = False
        self._heard_at = 0.0
        self._is_asked = False
        scheme = "wss" if address.is_secure else "ws"
        uri = parse_uri(f"{scheme}://{urlsplit(address.url).netloc}{address.under(path)}")
        offered = [Subprotocol(SUBPROTOCOL)]
        self._protocol = _ClientProtocol(uri, subprotocols=offered, max_size=_MAX_BYTES, logger=_SILENT)

    async def run(self) -> Ending:
        """Connects, and returns at the end. Canceling it drops the connection, unless it was closed with a handshake.
        """
        self._timer = self._loop.call_later(self._times.connect, self.cut, "no answer")
        dialling = self._loop.create_task(self._dial())
        try:
            steps: set[asyncio.Future[Any]] = {dialling, self._ended}
            await asyncio.wait(steps, return_when=asyncio.FIRST_COMPLETED)
            if dialling.done() and (error := dialling.exception()) is not None:
                self._over(NO_CODE, str(error), certificate_error(error, self._address))
            return await self._ended
        finally:
            dialling.cancel()
            self.cut("canceled")

    def send(self, message: str | bytes) -> None:
        """A message that can't be sent any more is sent again on the next connection."""
        if self._transport is None or self._ended.done():
            return
        # The server's close frame may have arrived with the message that is answered here.
        with suppress(InvalidState):
            if isinstance(message, str):
                self._protocol.send_text(message.encode())
            else:
                self._protocol.send_binary(message)
        self._write()

    def close(self, code: int) -> None:
        """Closes with a handshake, if the connection is open."""
        if self._transport is None or not self._is_open:
            self.cut("closed before it was open")
        elif not self._ended.done():
            self._protocol.send_close(code)
            self._write()
            self._over(code, "")
            # The server may never read the close frame, or never answer.
            self._timer = self._loop.call_later(_CLOSE_S, self._transport.abort)

    async def gone(self) -> None:
        """Returns when a closed connection is gone."""
        if self._transport is not None:
            await asyncio.shield(self._gone)

    def cut(self, reason: str) -> None:
        """Ends the connection without waiting for the server."""
        if not self._ended.done():
            self._fail(None, reason)

    async def _dial(self) -> None:
        if self._address.socket is not None:
            await self._loop.create_unix_connection(lambda: self, self._address.socket)
            return
        parts = urlsplit(self._address.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        await self._loop.create_connection(lambda: self, parts.hostname or "", port, ssl=self._address.tls_context)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._ended.done():
            self._transport.abort()
            return
        request = self._protocol.connect()
        for name, value in self._address.authorization.items():
            request.headers[name] = value
        self._protocol.send_request(request)
        self._write()

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        self._is_asked = False
        try:
            self._protocol.receive_data(data)
            for event in self._protocol.events_received():
                if isinstance(event, Response):
                    self._answered()
                elif isinstance(event, Frame) and not self._ended.done():
                    self._frame(event)
            if self._protocol.parser_exc is not None:
                raise HawserError("internal", f"protocol error: {self._protocol.parser_exc}")
        except Exception as error:
            # Before the connection is open, the peer may be a proxy, whose trouble may pass.
            self._fail(error if self._is_open else None, str(error))
            return
        self._write()
        closed = self._protocol.close_rcvd
        if closed is not None and self._transport is not None:
            self._over(closed.code, closed.reason)
            self._transport.close()

    def eof_received(self) -> None:
        self._over(NO_CODE, "the connection was lost")

    def connection_lost(self, error: Exception | None) -> None:
        self._over(NO_CODE, str(error or "the connection was lost"))
        if not self._gone.done():
            self._gone.set_result(None)

    def _answered(self) -> None:
        """The server has answered the handshake."""
        refusal = self._protocol.handshake_exc
        if refusal is None:
            self._is_open = True
            self.send(json.dumps(self._hello))
        elif isinstance(refusal, InvalidStatus):
            error = error_of(refusal.response.status_code, refusal.response.body or b"")
            self._fail(error, str(error))
        else:
            self._fail(None, str(refusal))

    def _frame(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            return
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
        self._message.append(frame.data)
        if not frame.fin:
            return
        data, self._message = b"".join(self._message), []
        if not self._is_text:
            self._receive(decode_frame(data))
            return
        message = json.loads(data)
        if not isinstance(message, dict):
            raise HawserError("internal", f"invalid message: {data[:80]!r}")
        # An error may come instead of a welcome, with the reason for the close that follows.
        if message.get("type") == "welcome" and not self._was_welcome:
            self._was_welcome = True
            self._watch()
        self._receive(message)

    def _watch(self) -> None:
        """Pings after a silence, and gives up after a longer one."""
        self._stop_timer()
        times = self._times
        silent = self._loop.time() - self._heard_at
        due = self._loop.time() + max(0.001, (times.dead if self._is_asked else times.ping) - silent)

        def look() -> None:
            now = self._loop.time()
            # If this machine was suspended, the answer may already be waiting behind this timer.
            was_asleep = now - due > (times.dead - times.ping) / 2
            if was_asleep:
                self._heard_at = now - times.ping
            elif self._is_asked and now - self._heard_at >= times.dead:
                self.cut(f"no message for {times.dead:g} s")
                return
            if now - self._heard_at >= times.ping and not self._is_asked:
                self._is_asked = True
                self.send('{"type": "ping"}')
            self._watch()

        self._timer = self._loop.call_at(due, look)

    def _write(self) -> None:
        for data in self._protocol.data_to_send():
            if data and self._transport is not None and not self._transport.is_closing():
                self._transport.write(data)

    def _over(self, code: int, reason: str, error: Exception | None = None) -> None:
        self._stop_timer()
        if not self._ended.done():
            self._ended.set_result(Ending(code, reason, self._was_welcome, error))

    def _fail(self, error: Exception | None, reason: str) -> None:
        self._over(NO_CODE, reason, error)
        if self._transport is not None:
            self._transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
