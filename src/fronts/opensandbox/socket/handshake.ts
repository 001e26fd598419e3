/** From a request to a WebSocket, for all that this front has: what is refused on the way, and what the query says. */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Hosting } from "../../front.ts";
import type { Accept, HandshakeFault } from "../../upgrade.ts";
import type { Times } from "../times.ts";
import { Wire } from "./wire.ts";

/** The original has no limit; a paste of this size is none. */
export const MAX_MESSAGE_BYTES: number = 64 * 1024 * 1024;

/** Keys that somebody holds down, and much more; what is pasted is one text, and large input has frames of bytes. */
export const TEXTS_PER_SECOND = 1_000;

export type SocketRequest = FastifyRequest<{
	Params: { id: string };
	Querystring: Record<string, string | string[]>;
}>;

export type SocketScope = { readonly hosting: Hosting; readonly times: Times; readonly accept: Accept };

/** Completes the handshake; undefined when the client has gone meanwhile. */
export function openWire(
	request: SocketRequest,
	reply: FastifyReply,
	{ accept, hosting, times }: SocketScope,
): Wire | undefined {
	const socket = accept(request, reply);
	return socket && new Wire(socket, request, { times, closing: hosting.closing });
}

/** In the words of the original, to the letter of its headers. */
export function refuseHandshake(reply: FastifyReply, fault: HandshakeFault): FastifyReply {
	reply.type("text/plain; charset=utf-8").header("sec-websocket-version", "13");
	if (fault === "upgrade") return reply.code(426).header("upgrade", "websocket").send("Upgrade Required\n");
	return reply.code(400).send("Bad Request\n");
}

/** Whether the client wants a WebSocket at all, however badly it says so. */
export function isUpgradeRequest({ headers }: SocketRequest): boolean {
	return /\bupgrade\b/i.test(headers.connection ?? "") && /websocket/i.test(headers.upgrade ?? "");
}

/** The first of its name, as the original takes it. */
export function queryOf({ query }: SocketRequest, name: string): string | undefined {
	const value = query[name];
	return Array.isArray(value) ? value[0] : value;
}

/** The whole number at the beginning of the text; zero for none, and for one beyond 64 bits. */
export function sinceOf(text: string = ""): number {
	const since = Number(/^\s*[+-]?\d+/.exec(text)?.[0] ?? 0);
	return since < 2 ** 63 ? Math.max(0, since) : 0;
}
