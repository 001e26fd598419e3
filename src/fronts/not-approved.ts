/** What nobody approved: it is left out, and whatever its caller does next goes on. */

import { SessionError } from "../core/errors.ts";

export function isNotApproved(error: unknown): boolean {
	return error instanceof SessionError && error.code === "not_approved";
}

export function unlessNotApproved(error: unknown): undefined {
	if (!isNotApproved(error)) throw error;
}
