/** What is held for somebody to approve, as tests look at it. */

import type { ApprovalMessage, Client } from "../../src/client/index.ts";
import { eventually } from "../helpers/reading.ts";

/** How an act ends that was not approved. */
export const refused = { code: "not_approved" } as const;

/** The one that waits on a session, or for one that is to be started. */
export async function heldOn(client: Client, session?: string): Promise<ApprovalMessage> {
	return eventually("something to approve", async () => {
		return (await client.approvals.list()).find(({ session: { id } }) => session === undefined || id === session);
	});
}
