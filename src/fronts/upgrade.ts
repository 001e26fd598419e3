/** Makes a WebSocket of a request, once its front has decided that it may become one. */

import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import { invariant } from "../core/errors.ts";

/** What the server keeps of an upgrade while the request passes the hooks and routes like any other. */
type UpgradeOffer = {
	readonly socket: Duplex;
	/** What came after the request's head. */
	readonly head: Buffer;
	/** Called when the connection is the WebSocket's. */
	readonly taken: () => void;
};

const offers = new WeakMap<IncomingMessage, UpgradeOffer>();

/** For the server: this request may be upgraded. */
export function offerUpgrade(request: IncomingMessage, offer: UpgradeOffer): void {
	offers.set(request, offer);
}

/** For a front that makes something else of an upgrade than a WebSocket of ours: the connection is its own from now on. */
export function takeUpgrade({ raw }: FastifyRequest): Pick<UpgradeOffer, "socket" | "head"> | undefined {
	const offer = offers.get(raw);
	offers.delete(raw);
	offer?.taken();
	return offer;
}

/** Whether a request may be upgraded, to whatever it asks for. */
export function isUpgradable({ raw }: FastifyRequest): boolean {
	return offers.has(raw);
}

/** Ends a connection as soon as what was said on it is sent. */
export function endSoon(connection: Duplex): void {
	if (connection instanceof Socket) connection.destroySoon();
	else connection.end(() => connection.destroy());
}

/** What of a handshake is not as it must be (RFC 6455 §4.2.1); undefined when it can be completed. */
export type HandshakeFault = "connection" | "upgrade" | "version" | "key";

export function handshakeFault({ headers, raw }: FastifyRequest): HandshakeFault | undefined {
	if (!/(^|,)\s*upgrade\s*(,|$)/i.test(headers.connection ?? "")) return "connection";
	if (headers.upgrade?.toLowerCase() !== "websocket" || !offers.has(raw)) return "upgrade";
	if (headers["sec-websocket-version"] !== "13") return "version";
	if (!/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")) return "key";
	return undefined;
}

type AcceptorOptions = {
	/** Of one message; zero for no limit. */
	readonly maxPayload: number;
	/** How many texts a client may say in a second: the rest waits on its way to us. Any number, if left out. */
	readonly textsPerSecond?: number;
	/**
	 * Whether others have their turn after each message of a client, however many came in one piece: where nothing else
	 * says how many it may send, it must not take all of our time.
	 */
	readonly oneAtATime?: boolean;
	/** Named in the answer when it is offered; all others are passed over. */
	readonly subprotocol?: string;
};

/** Completes the handshake of a request without a fault, at once; undefined when the client has gone meanwhile. */
export type Accept = (request: FastifyRequest, reply: FastifyReply) => WebSocket | undefined;

/** A message of more fragments than this is an attack on our memory. */
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
		// `ws` would repeat the first that is offered, which may be a ticket.
		handleProtocols: (offered) => (subprotocol !== undefined && offered.has(subprotocol) ? subprotocol : false),
	};
	const server = new WebSocketServer(options);
	return ({ raw }, reply) => {
		const offer = offers.get(raw);
		invariant(offer, "a request that is no upgrade can't become a WebSocket");
		offers.delete(raw);
		reply.hijack();
		let accepted: WebSocket | undefined;
		// Calls back in this turn, or never: a broken connection is destroyed, and a handshake with a fault does not come here.
		server.handleUpgrade(raw, offer.socket, offer.head, (socket) => {
			accepted = socket;
		});
		// A broken connection is the client's business; `close` follows and says all there is to say.
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

/** More than anybody needs to know that we are here. */
const PINGS_PER_SECOND = 100;
const SECOND_MS = 1_000;

/** Reads nothing more from who has said so much within a second, until that is over: it must not take all of our time. */
function pacer(socket: WebSocket, perSecond: number): () => void {
	let count = 0;
	let since = performance.now();
	let timer: NodeJS.Timeout | undefined;
	socket.once("close", () => clearTimeout(timer));
	return () => {
		const now = performance.now();
		if (now - since > SECOND_MS) [count, since] = [0, now];
		if (++count < perSecond || timer) return;
		const release = holdBack(socket);
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

/** Reads nothing from a socket until all who hold it back have released it. */
export function holdBack(socket: WebSocket): () => void {
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

/** A pong answers all pings before it (RFC 6455 §5.5.3): who does not read has one on its way, and one that waits. */
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
		// A copy: what comes is a piece of all that was read at one time.
		if (isSending) latest = Buffer.from(data);
		else if (socket.readyState === socket.OPEN) answer(data);
	});
}
