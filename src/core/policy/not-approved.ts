/** For callers that skip an action without approval and continue. */

import { SessionError } from "../errors.ts";

export function isNotApproved(error: unknown): boolean {
	return error instanceof SessionError && error.code === "not_approved";
}

export function unlessNotApproved(error: unknown): undefined {
	if (!isNotApproved(error)) throw error;
}
