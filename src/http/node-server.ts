/** Node's HTTP or HTTPS server: its timeouts, and its answer to bytes that are not a request. */

import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ErrorMessage } from "../api/types.ts";
import type { Rate } from "../core/async/rate-limit.ts";
import { SessionError } from "../core/errors.ts";
import { errorMessage } from "./errors.ts";
import type { Pipelining } from "./pipelining.ts";
import { limitHandshakes } from "./tls-handshakes.ts";
import { Request } from "./upgrade-routing.ts";

export type HttpServerOptions = {
	/** A certificate and its key, as PEM. */
	readonly tls?: { readonly cert: string; readonly key: string } | undefined;
	/** Limit of the request line and headers. Default: 16 KiB, as in Node. */
	readonly maxHeadBytes?: number;
	/**
	 * Whether a body may take any time as long as data arrives. The default timeout is for bodies that are read as a
	 * whole.
	 */
	readonly hasLongBodies?: boolean;
	/** For tests that don't want to wait for the default. */
	readonly sendTimeoutMs?: number;
	/** Rate of TLS handshakes. */
	readonly handshakeRate?: Rate;
};

/**
 * Time for a client to send its request.
 * @limit a request's headers | 408
 */
const HEADERS_TIMEOUT_MS = 10_000;
/** @limit a whole request | 408 */
const REQUEST_TIMEOUT_MS = 30_000;
/**
 * Time for a client to read a part of its answer.
 * @limit an answer of which nothing is read | the connection is closed
 */
const SEND_TIMEOUT_MS = 30_000;
/** Time that an idle connection stays open. */
const KEEP_ALIVE_MS = 72_000;
/** How often Node checks these timeouts. With Node's default, 10 s could become 40. */
const CHECK_MS = 2_000;

export function createHttpServer(options: HttpServerOptions, turns: Pipelining, handle: RequestListener): Server {
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
	// Called after no bytes moved in either direction, which is fine only while an answer is being prepared.
	server.setTimeout(sendTimeoutMs, (socket: Socket) => {
		if (!turns.isUnderWay(socket) || turns.isReceiving(socket) || socket.writableLength > 0) socket.destroy();
	});
	return server;
}

function createSecureServer(options: TlsOptions, handle: RequestListener, rate: Rate | undefined): Server {
	const server = createTlsServer({ ...options, handshakeTimeout: HEADERS_TIMEOUT_MS, pauseOnConnect: true }, handle);
	limitHandshakes(server, rate);
	return server;
}

/** Answers bytes that are not an HTTP request. */
export function refuseRaw(error: NodeJS.ErrnoException, socket: Duplex): void {
	if (error.code === "ECONNRESET" || !socket.writable) {
		socket.destroy();
		return;
	}
	const status = rawStatus[error.code ?? ""] ?? "400 Bad Request";
	const body = JSON.stringify(invalid(`not a valid HTTP request (${error.code})`));
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
