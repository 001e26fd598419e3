/** Makes upgrades pass through the same hooks and routes as any other request, and ends those that are refused. */

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import websocket, { type WebsocketPluginOptions } from "@fastify/websocket";
import type { FastifyInstance } from "fastify";
import { socketLimits, subprotocol } from "../../protocol/socket.ts";
import type { Hosting } from "../front.ts";

/** A message of more fragments than this is an attack on our memory. */
const MAX_FRAGMENTS = 1024;
/** How long an upgrade may take, and a refused one linger: Node itself watches over neither. */
const UPGRADE_MS = 5_000;

/** Adds the plugin, unless somebody did; a route that takes upgrades must be added in a later scope. */
export function addUpgrades(app: FastifyInstance, hosting: Hosting): void {
	if (app.hasDecorator("websocketServer")) return;
	const options: NonNullable<WebsocketPluginOptions["options"]> & { maxFragments: number } = {
		perMessageDeflate: false,
		maxPayload: socketLimits.binaryBytes,
		maxFragments: MAX_FRAGMENTS,
		// `ws` would repeat the first that is offered, which may be a ticket.
		handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
	};
	const pending = new Map<Duplex, NodeJS.Timeout>();
	const settle = (socket: Duplex) => {
		clearTimeout(pending.get(socket));
		pending.delete(socket);
	};
	app.server.on("upgrade", (_request: IncomingMessage, socket: Duplex) => {
		pending.set(
			socket,
			setTimeout(() => socket.destroy(), UPGRADE_MS),
		);
		socket.once("close", () => settle(socket));
	});
	// A broken connection is the client's business, and every connection hears of the closing itself.
	app.register(websocket, { options, errorHandler: () => {}, preClose: (done) => done() });
	void app.after(() =>
		app.websocketServer.on("connection", (_socket, request: IncomingMessage) => settle(request.socket)),
	);
	app.addHook("onResponse", async ({ raw }) => {
		if (pending.has(raw.socket)) raw.socket.destroy();
	});
	hosting.closing.addEventListener(
		"abort",
		() => {
			for (const socket of pending.keys()) socket.destroy();
		},
		{ once: true },
	);
}
