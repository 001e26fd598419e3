/** What is held until somebody approves it, over HTTP: see it, and decide. */

import type { Approvals } from "../../core/approvals.ts";
import { witnessOf } from "../front.ts";
import { approval, approvalList, approvalParams, decideApproval } from "./approval-messages.ts";
import type { NativeApp } from "./options.ts";
import { principalOf } from "./request.ts";

/** Whether the caller may see or decide one, `Approvals` says: it depends on the session. */
export function addApprovals(app: NativeApp, approvals: Approvals): void {
	app.get(
		"/v1/approvals",
		{
			config: { policy: "read", operation: "listApprovals", summary: "List what waits to be approved" },
			schema: { response: { 200: approvalList } },
		},
		async (request) => ({ approvals: [...approvals.list(principalOf(request))] }),
	);

	app.get(
		"/v1/approvals/:id",
		{
			config: { policy: "read", operation: "getApproval", summary: "Look at something that is held, or was decided" },
			schema: { params: approvalParams, response: { 200: approval } },
		},
		async (request) => approvals.get(principalOf(request), request.params.id),
	);

	app.post(
		"/v1/approvals/:id",
		{
			config: { policy: "read", operation: "decideApproval", summary: "Grant or deny something that is held" },
			schema: { params: approvalParams, body: decideApproval, response: { 200: approval } },
		},
		async (request) => {
			const { id } = request.params;
			const decided = await approvals.decide(principalOf(request), id, request.body);
			const { id: session, workspace } = decided.session;
			const { decision } = request.body;
			witnessOf(request).record({ action: "approval-decided", approval: id, decision }, { workspace, session });
			return decided;
		},
	);
}
