/** Lets upgrades pass through the same hooks and routes as any other request, and ends those that are refused. */

import { type IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import { endSoon, offerUpgrade } from "../fronts/upgrade.ts";
import type { Turns } from "./turns.ts";

/** How long an upgrade may take, and a refused one linger: Node itself watches over neither. */
const UPGRADE_MS = 5_000;

/** Whether a request wants to become a WebSocket: the only protocol that we change to. */
export function asksForWebSocket(headers: IncomingHttpHeaders): boolean {
	return headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * A request that Node takes for an upgrade only if it asks for a WebSocket. By itself Node takes everything with an
 * `Upgrade` header for one as soon as anybody listens for them, and stops reading its body: but Java's HttpClient and
 * `curl --http2` name `h2c` with ordinary requests, for servers that may like to change.
 */
export class Request extends IncomingMessage {
	/** Declared only: the constructor of `IncomingMessage` sets it before a field of ours could be there. */
	declare private isAskedFor: boolean;

	set upgrade(isAskedFor: boolean) {
		this.isAskedFor = isAskedFor;
	}

	/** Node asks once the headers are there. `CONNECT` has its own rules, by which it refuses it. */
	get upgrade(): boolean {
		return this.isAskedFor && (this.method === "CONNECT" || asksForWebSocket(this.headers));
	}
}

export function routeUpgrades(app: FastifyInstance, turns: Turns, closing: AbortSignal): void {
	const pending = new Map<Duplex, NodeJS.Timeout>();
	const settle = (socket: Duplex) => {
		clearTimeout(pending.get(socket));
		pending.delete(socket);
	};
	const destroy = (socket: Duplex) => void socket.destroy();

	app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
		// Node takes its own listener away before it calls us, and an error that nobody hears would end the server.
		const onError = () => destroy(socket);
		socket.on("error", onError);
		const taken = () => {
			settle(socket);
			socket.removeListener("error", onError);
		};
		offerUpgrade(request, { socket, head, taken });
		const response = new ServerResponse(request);
		turns.take(socket, response, () => {
			pending.set(
				socket,
				setTimeout(() => destroy(socket), UPGRADE_MS),
			);
			socket.once("close", () => settle(socket));
			response.assignSocket(request.socket);
			app.routing(request, response);
		});
	});
	// A refused upgrade is a connection that nobody listens to and no time limit ends.
	app.addHook("onResponse", async ({ raw }) => {
		if (pending.has(raw.socket)) endSoon(raw.socket);
	});
	closing.addEventListener("abort", () => [...pending.keys()].forEach(destroy), { once: true });
}
