/** Tickets: what a browser shows instead of a header when it opens a WebSocket. */

import type { FastifyRequest } from "fastify";
import { SessionError } from "../../../core/errors.ts";
import type { Sessions } from "../../../core/sessions.ts";
import { ticketPrefix } from "../../../protocol/socket.ts";
import type { Access } from "../../front.ts";
import { checkRight, type NativeApp } from "../parts.ts";
import { createdTicket, createTicket } from "./messages.ts";
import { callerOf } from "./tokens.ts";

/** The ticket offered among the subprotocols of an upgrade. It must never be the one that is answered. */
export function ticketOf(request: Pick<FastifyRequest, "headers">): string | undefined {
	const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
	return offered.find((name) => name.startsWith(ticketPrefix))?.slice(ticketPrefix.length);
}

export function addTickets(app: NativeApp, access: Access, sessions: Sessions): void {
	app.post(
		"/v1/tickets",
		{
			config: { policy: "read", summary: "Make a ticket for a WebSocket" },
			schema: { body: createTicket, response: { 201: createdTicket } },
		},
		async (request, reply) => {
			const caller = callerOf(request);
			const { session: id, right = "read" } = request.body;
			const workspace = sessions.get(id)?.spec.workspace;
			if (workspace === undefined || !caller.may("read", { workspace, session: id })) {
				throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id)}`);
			}
			checkRight(caller.may(right, { workspace, session: id }), right, `session "${id}"`);
			const ticket = access.createTicket(caller, { session: id, right, origin: request.headers.origin });
			return reply.code(201).header("cache-control", "no-store").send(ticket);
		},
	);
}
