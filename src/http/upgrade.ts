/** Turns a request into a WebSocket, once its front has accepted it. */

import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import { invariant } from "../core/errors.ts";

/** The connection of an upgrade, stored while the request passes hooks and routes. */
type UpgradeOffer = {
	readonly socket: Duplex;
	/** Bytes that arrived after the request's head. */
	readonly head: Buffer;
	/** Called when the front takes over the connection. */
	readonly taken: () => void;
};

const offers = new WeakMap<IncomingMessage, UpgradeOffer>();

/** Used by the server: marks a request as upgradable. */
export function offerUpgrade(request: IncomingMessage, offer: UpgradeOffer): void {
	offers.set(request, offer);
}

/** Gives the connection to a front that does not use our WebSocket, such as a proxy. */
export function takeUpgrade({ raw }: FastifyRequest): Pick<UpgradeOffer, "socket" | "head"> | undefined {
	const offer = offers.get(raw);
	offers.delete(raw);
	offer?.taken();
	return offer;
}

/** Whether a request may be upgraded, to any protocol. */
export function isUpgradable({ raw }: FastifyRequest): boolean {
	return offers.has(raw);
}

/** Closes a connection once pending writes are flushed. */
export function endSoon(connection: Duplex): void {
	if (connection instanceof Socket) connection.destroySoon();
	else connection.end(() => connection.destroy());
}

/** The part of a handshake that violates RFC 6455 §4.2.1; undefined if it can be completed. */
export type HandshakeFault = "connection" | "upgrade" | "version" | "key";

export function handshakeFault({ headers, raw }: FastifyRequest): HandshakeFault | undefined {
	if (!/(^|,)\s*upgrade\s*(,|$)/i.test(headers.connection ?? "")) return "connection";
	if (headers.upgrade?.toLowerCase() !== "websocket" || !offers.has(raw)) return "upgrade";
	if (headers["sec-websocket-version"] !== "13") return "version";
	if (!/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")) return "key";
	return undefined;
}

type AcceptorOptions = {
	/** Bytes per message; 0 for no limit. */
	readonly maxPayload: number;
	/** Text messages per second that are read from a client. Omitted: no limit. */
	readonly textsPerSecond?: number;
	/**
	 * Whether the event loop runs between two messages of a client, even if they arrived in one chunk. For sockets whose
	 * clients are not limited otherwise.
	 */
	readonly oneAtATime?: boolean;
	/** Chosen if the client offers it. All others are ignored. */
	readonly subprotocol?: string;
};

/** Completes the handshake of a valid request at once. Undefined if the client has disconnected. */
export type Accept = (request: FastifyRequest, reply: FastifyReply) => WebSocket | undefined;

/**
 * Limits the memory that one message can use by fragmentation.
 * @limit fragments of one WebSocket message | the connection is closed
 */
const MAX_FRAGMENTS = 1024;

export function createAcceptor(acceptor: AcceptorOptions): Accept {
	const { maxPayload, subprotocol, textsPerSecond, oneAtATime = false } = acceptor;
	const options: ServerOptions & { maxFragments: number } = {
		noServer: true,
		clientTracking: false,
		perMessageDeflate: false,
		maxPayload,
		maxFragments: MAX_FRAGMENTS,
		autoPong: false,
		allowSynchronousEvents: !oneAtATime,
		// The default of `ws` repeats the first subprotocol offered, which may be a ticket.
		handleProtocols: (offered) => (subprotocol !== undefined && offered.has(subprotocol) ? subprotocol : false),
	};
	const server = new WebSocketServer(options);
	return ({ raw }, reply) => {
		const offer = offers.get(raw);
		invariant(offer, "a request that is no upgrade can't become a WebSocket");
		offers.delete(raw);
		reply.hijack();
		let accepted: WebSocket | undefined;
		// Calls back synchronously or never: `ws` destroys a broken connection, and invalid handshakes do not get here.
		server.handleUpgrade(raw, offer.socket, offer.head, (socket) => {
			accepted = socket;
		});
		// An error of the connection needs no handling: `close` follows.
		accepted?.on("error", () => {});
		if (accepted) {
			answerPings(accepted);
			if (textsPerSecond !== undefined) {
				const count = pacer(accepted, textsPerSecond);
				accepted.on("message", (_data, isBinary) => void (isBinary || count()));
			}
			offer.taken();
		}
		return accepted;
	};
}

/**
 * More than any client needs to see that we are alive.
 * @limit pings on one WebSocket in a second; one pong is in flight | the rest waits; the latest is answered
 */
const PINGS_PER_SECOND = 100;
const SECOND_MS = 1_000;

/** Pauses a socket that has sent `perSecond` messages within a second, until that second is over. */
function pacer(socket: WebSocket, perSecond: number): () => void {
	let count = 0;
	let since = performance.now();
	let timer: NodeJS.Timeout | undefined;
	socket.once("close", () => clearTimeout(timer));
	return () => {
		const now = performance.now();
		if (now - since > SECOND_MS) [count, since] = [0, now];
		if (++count < perSecond || timer) return;
		const release = pauseUntilReleased(socket);
		timer = setTimeout(
			() => {
				timer = undefined;
				release();
			},
			SECOND_MS - (now - since),
		);
	};
}

const holders = new WeakMap<WebSocket, number>();

/** Pauses a socket until every caller has released it. */
export function pauseUntilReleased(socket: WebSocket): () => void {
	const change = (by: 1 | -1) => {
		const count = (holders.get(socket) ?? 0) + by;
		holders.set(socket, count);
		return count;
	};
	if (change(1) === 1) socket.pause();
	let isHeld = true;
	return () => {
		if (isHeld && change(-1) === 0) socket.resume();
		isHeld = false;
	};
}

/**
 * Answers pings. A pong answers all earlier pings (RFC 6455 §5.5.3), so a client that does not read gets one pong in
 * flight and one pending.
 */
function answerPings(socket: WebSocket): void {
	let isSending = false;
	let latest: Buffer | undefined;
	const answer = (data: Buffer) => {
		isSending = true;
		socket.pong(data, false, () => {
			isSending = false;
			const next = latest;
			latest = undefined;
			if (next && socket.readyState === socket.OPEN) answer(next);
		});
	};
	const count = pacer(socket, PINGS_PER_SECOND);
	socket.on("ping", (data: Buffer) => {
		count();
		// A copy: `data` is a view of a larger read buffer.
		if (isSending) latest = Buffer.from(data);
		else if (socket.readyState === socket.OPEN) answer(data);
	});
}
