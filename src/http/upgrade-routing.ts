/** Passes upgrades through the same hooks and routes as other requests, and closes refused ones. */

import { type IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { Pipelining } from "./pipelining.ts";
import { endSoon, offerUpgrade } from "./upgrade.ts";

/** Time limit of an upgrade, and of closing a refused one. Node has no limit for either. */
const UPGRADE_MS = 5_000;

/** Whether a request asks for a WebSocket, the only upgrade we support. */
function asksForWebSocket(headers: IncomingHttpHeaders): boolean {
	return headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * A request that Node treats as an upgrade only if it asks for a WebSocket. By default Node treats every request with
 * an `Upgrade` header as one once there is an `upgrade` listener, and stops reading its body. Java's HttpClient and
 * `curl --http2` send `h2c` with ordinary requests.
 */
export class Request extends IncomingMessage {
	/** Only declared: the constructor of `IncomingMessage` sets it before a field initializer of ours could run. */
	declare private isRequested: boolean;

	set upgrade(isRequested: boolean) {
		this.isRequested = isRequested;
	}

	/** Node reads this once the headers are parsed. `CONNECT` is refused by its own rules. */
	get upgrade(): boolean {
		return this.isRequested && (this.method === "CONNECT" || asksForWebSocket(this.headers));
	}
}

export function routeUpgrades(app: FastifyInstance, turns: Pipelining, closing: AbortSignal): void {
	const pending = new Map<Duplex, NodeJS.Timeout>();
	const settle = (socket: Duplex) => {
		clearTimeout(pending.get(socket));
		pending.delete(socket);
	};
	const destroy = (socket: Duplex) => void socket.destroy();

	app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
		// Node removes its own error listener before this event, and an unhandled error would end the process.
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
	// No time limit of Node applies to the connection of a refused upgrade.
	app.addHook("onResponse", async ({ raw }) => {
		if (pending.has(raw.socket)) endSoon(raw.socket);
	});
	closing.addEventListener("abort", () => [...pending.keys()].forEach(destroy), { once: true });
}
