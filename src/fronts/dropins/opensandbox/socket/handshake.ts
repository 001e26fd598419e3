/** From a request to a WebSocket: refusals and query parameters. */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { ServerContext } from "../../../../http/front.ts";
import type { Accept, HandshakeFault } from "../../../../http/upgrade.ts";
import type { OpenSandboxLimits } from "../limits.ts";
import { Wire } from "../wire.ts";

/**
 * Large enough for any paste. The original has no limit.
 * @limit one WebSocket message | closed with 1009
 */
export const MAX_MESSAGE_BYTES: number = 64 * 1024 * 1024;

/**
 * Well above a held-down key. A paste is one text, and large input comes in binary frames.
 * @limit texts on one WebSocket in a second | the rest waits
 */
export const TEXTS_PER_SECOND = 1_000;

export type SocketRequest = FastifyRequest<{
	Params: { id: string };
	Querystring: Record<string, string | string[]>;
}>;

export type SocketScope = {
	readonly hosting: ServerContext;
	readonly times: OpenSandboxLimits;
	readonly accept: Accept;
};

/** Completes the handshake; undefined if the client has left. */
export function openWire(
	request: SocketRequest,
	reply: FastifyReply,
	{ accept, hosting, times }: SocketScope,
): Wire | undefined {
	const socket = accept(request, reply);
	return socket && new Wire(socket, request, { times, closing: hosting.closing });
}

/** Refuses with the original's texts and headers. */
export function refuseHandshake(reply: FastifyReply, fault: HandshakeFault): FastifyReply {
	reply.type("text/plain; charset=utf-8").header("sec-websocket-version", "13");
	if (fault === "upgrade") return reply.code(426).header("upgrade", "websocket").send("Upgrade Required\n");
	return reply.code(400).send("Bad Request\n");
}

/** Whether the client wants a WebSocket, even if the request is invalid. */
export function isUpgradeRequest({ headers }: SocketRequest): boolean {
	return /\bupgrade\b/i.test(headers.connection ?? "") && /websocket/i.test(headers.upgrade ?? "");
}

/** The first value of the parameter, as in the original. */
export function queryOf({ query }: SocketRequest, name: string): string | undefined {
	const value = query[name];
	return Array.isArray(value) ? value[0] : value;
}

/** The leading integer of the text; zero if there is none or it exceeds 64 bits. */
export function sinceOf(text: string = ""): number {
	const since = Number(/^\s*[+-]?\d+/.exec(text)?.[0] ?? 0);
	return since < 2 ** 63 ? Math.max(0, since) : 0;
}
