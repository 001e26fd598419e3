/** Lets upgrades pass through the same hooks and routes as any other request, and ends those that are refused. */

import { type IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import { endSoon, offerUpgrade } from "../fronts/upgrade.ts";
import type { Turns } from "./turns.ts";

/** How long an upgrade may take, and a refused one linger: Node itself watches over neither. */
const UPGRADE_MS = 5_000;

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
