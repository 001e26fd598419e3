/** Tickets replace the token on WebSockets, because browsers can't set headers there. */

import { SessionError } from "../../../core/errors.ts";
import { type Access, grantorOf } from "../../../core/policy/access.ts";
import type { Sessions } from "../../../core/session/session-registry.ts";
import { checkRight, hasRight } from "../../../http/caller.ts";
import type { Serve } from "../serve.ts";

export function addTickets(serve: Serve, access: Access, sessions: Sessions): void {
	serve("createTicket", async ({ request, reply, body: { session: id, right = "read" }, caller, witness }) => {
		const by = grantorOf(caller);
		const workspace = sessions.get(id)?.spec.workspace;
		if (workspace === undefined || !hasRight(request, "read", { workspace, session: id })) {
			throw new SessionError("session_not_found", `there is no session ${JSON.stringify(id)}`);
		}
		checkRight(request, right, { workspace, session: id });
		const ticket = access.createTicket(by, { session: id, right, origin: request.headers.origin });
		witness.record({ action: "ticket", ticket: ticket.id, right }, { workspace, session: id });
		reply.header("cache-control", "no-store");
		return ticket;
	});
}
