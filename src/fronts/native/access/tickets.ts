/** Tickets: what a browser shows instead of a header when it opens a WebSocket. */

import type { Access } from "../../../core/access.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Sessions } from "../../../core/sessions.ts";
import { checkRight, may, witnessOf } from "../../front.ts";
import type { NativeApp } from "../options.ts";
import { principalOf } from "../request.ts";
import { createdTicket, createTicket } from "./messages.ts";

export function addTickets(app: NativeApp, access: Access, sessions: Sessions): void {
	app.post(
		"/v1/tickets",
		{
			config: { policy: "read", operation: "createTicket", summary: "Make a ticket for a WebSocket" },
			schema: { body: createTicket, response: { 201: createdTicket } },
		},
		async (request, reply) => {
			const principal = principalOf(request);
			const { session: id, right = "read" } = request.body;
			const workspace = sessions.get(id)?.spec.workspace;
			if (workspace === undefined || !may(request, "read", { workspace, session: id })) {
				throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id)}`);
			}
			checkRight(request, right, { workspace, session: id });
			const ticket = access.createTicket(principal, { session: id, right, origin: request.headers.origin });
			witnessOf(request).record({ action: "ticket", right }, { workspace, session: id });
			return reply.code(201).header("cache-control", "no-store").send(ticket);
		},
	);
}
