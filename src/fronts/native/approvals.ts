/** Held actions over HTTP: list, describe, decide. */

import type { IncomingMessage } from "node:http";
import { SessionError } from "../../core/errors.ts";
import type { Approvals } from "../../core/policy/approvals.ts";
import { hopsIn } from "../../http/via.ts";
import type { NativeOptions } from "./options.ts";
import type { Serve } from "./serve.ts";

/** `Approvals` decides what the caller may see and decide, which depends on the session. */
export function addApprovals(
	serve: Serve,
	approvals: Approvals,
	options: Pick<NativeOptions, "sessions" | "sessionsOfPeer">,
): void {
	serve("listApprovals", async ({ caller }) => ({ approvals: approvals.list(caller) }));
	serve("getApproval", async ({ caller, params: { id } }) => approvals.get(caller, id));
	serve("decideApproval", async ({ request, caller, params: { id }, body, witness }) => {
		const { decision } = body;
		if (decision === "grant") checkOutside(request.raw, options);
		const decided = await approvals.decide(caller, id, body);
		const { id: session, workspace } = decided.session;
		witness.record({ action: "approval-decided", approval: id, decision }, { workspace, session });
		return decided;
	});
}

/**
 * Programs in a session run as the operator's account and can read its token. An approval from inside a session could
 * come from the agent that asked for it.
 */
function checkOutside(
	{ socket, headers }: IncomingMessage,
	{ sessions, sessionsOfPeer }: Pick<NativeOptions, "sessions" | "sessionsOfPeer">,
): void {
	if (hopsIn([headers.via].flat().join()) > 0) throw insideSession("through the server's own proxy");
	if (!sessionsOfPeer) return;
	const around = sessionsOfPeer(socket);
	if (!around) throw insideSession("from a process that has ended since");
	const session = around.find((id) => sessions.get(id));
	if (session !== undefined) throw insideSession(`from a program in session ${session}`);
}

function insideSession(where: string): SessionError {
	return new SessionError("permission_denied", `nothing can be approved by a request that comes ${where}`, {
		hint: "approve it at a terminal, or in a browser, that was not started in a session; deny it anywhere",
	});
}
