/** Held actions, as tests look at them. */

import type { ApprovalMessage, Client } from "../../../src/client/index.ts";
import { eventually } from "../../support/reading.ts";

/** The error of an action that was not approved. */
export const refused = { code: "not_approved" } as const;

/** The pending approval of a session, or of a start. */
export async function pendingApproval(client: Client, session?: string): Promise<ApprovalMessage> {
	return eventually("an action to approve", async () => {
		return (await client.approvals.list()).find(({ session: { id } }) => session === undefined || id === session);
	});
}
