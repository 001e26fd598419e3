/** Node's server of HTTP: how long it waits for whom, and what it says to those who send no request. */

import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { SessionError } from "../core/errors.ts";
import type { Rate } from "../core/rate.ts";
import { errorMessage } from "../fronts/errors.ts";
import type { ErrorMessage } from "../protocol/messages.ts";
import { beginInTurn } from "./handshakes.ts";
import type { Turns } from "./turns.ts";
import { Request } from "./upgrades.ts";

export type HttpServerOptions = {
	/** A certificate and its key, as PEM. */
	readonly tls?: { readonly cert: string; readonly key: string } | undefined;
	/** Of a request's line and headers; Node's 16 KiB, if left out. */
	readonly maxHeadBytes?: number;
	/** Whether a body may take as long as it likes while it comes at all: the usual time is for bodies that are read as a whole. */
	readonly hasLongBodies?: boolean;
	/** Instead of the usual one, for tests that do not want to wait. */
	readonly sendTimeoutMs?: number;
	/** How often TLS is begun; the usual, if left out. */
	readonly handshakeRate?: Rate;
};

/** A client that does not send its request in this time is not one. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** How long a client may take nothing of an answer that is there for it. */
const SEND_TIMEOUT_MS = 30_000;
/** How long a connection is kept on which nothing is asked. */
const KEEP_ALIVE_MS = 72_000;
/** How often Node looks for such clients; by its default the 10 s would be up to 40. */
const CHECK_MS = 2_000;

export function createHttpServer(options: HttpServerOptions, turns: Turns, handle: RequestListener): Server {
	const { tls, sendTimeoutMs = SEND_TIMEOUT_MS, maxHeadBytes, hasLongBodies = false, handshakeRate } = options;
	const common = {
		IncomingMessage: Request,
		...(maxHeadBytes === undefined ? {} : { maxHeaderSize: maxHeadBytes }),
		headersTimeout: HEADERS_TIMEOUT_MS,
		requestTimeout: hasLongBodies ? 0 : REQUEST_TIMEOUT_MS,
		keepAliveTimeout: KEEP_ALIVE_MS,
		connectionsCheckingInterval: CHECK_MS,
	};
	const inTurn: RequestListener = (request, response) =>
		turns.take(request.socket, response, () => handle(request, response));
	const server = tls ? createSecureServer({ ...common, ...tls }, inTurn, handshakeRate) : createServer(common, inTurn);
	// Nothing has gone either way for so long: that is right only while there is nothing to say yet.
	server.setTimeout(sendTimeoutMs, (socket: Socket) => {
		if (!turns.isUnderWay(socket) || turns.isReceiving(socket) || socket.writableLength > 0) socket.destroy();
	});
	return server;
}

function createSecureServer(options: TlsOptions, handle: RequestListener, rate: Rate | undefined): Server {
	const server = createTlsServer({ ...options, handshakeTimeout: HEADERS_TIMEOUT_MS, pauseOnConnect: true }, handle);
	beginInTurn(server, rate);
	return server;
}

/** What is not even a request. */
export function refuseRaw(error: NodeJS.ErrnoException, socket: Duplex): void {
	if (error.code === "ECONNRESET" || !socket.writable) {
		socket.destroy();
		return;
	}
	const status = rawStatus[error.code ?? ""] ?? "400 Bad Request";
	const body = JSON.stringify(invalid(`this is no HTTP request that can be answered (${error.code})`));
	const head = ["content-type: application/json; charset=utf-8", `content-length: ${body.length}`, "connection: close"];
	socket.end(`HTTP/1.1 ${status}\r\n${head.join("\r\n")}\r\n\r\n${body}`);
}

const rawStatus: Readonly<Record<string, string>> = {
	ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
	HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

export function invalid(message: string): ErrorMessage {
	return errorMessage(new SessionError("invalid_argument", message));
}
