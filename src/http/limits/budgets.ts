/** Limits shared by all ports of a server. */

import { Budget } from "../../core/async/budget.ts";
import type { ServerContext } from "../front.ts";
import { Backlog } from "./backlog.ts";
import { FairScheduler } from "./fair-share.ts";
import { ReaderLimit } from "./readers.ts";

const MiB = 1024 * 1024;
const DEFAULT_MAX_ATTACHMENTS = 100;
/**
 * Output in answers that are not sent yet. Each caller may have several of the largest answers.
 * @limit output in answers that are not sent yet | a shorter answer, or `limit_exceeded`
 */
const ANSWERS = {
	what: "bytes of output in answers that are not sent yet",
	operator: 32 * MiB,
	others: 128 * MiB,
	each: 32 * MiB,
	fair: 8 * MiB,
	accounts: 8,
	hint: "read the pending answers first, or request less with limit",
};

/**
 * Bodies being read or waiting for their answer. Each caller may have a few of the largest, which start programs.
 * @limit bodies of requests, until they are answered or held | `limit_exceeded` before anything is read
 */
const BODIES = {
	what: "bytes of bodies of pending requests",
	operator: 32 * MiB,
	others: 64 * MiB,
	each: 32 * MiB,
	fair: 4 * MiB,
	accounts: 8,
	hint: "send fewer requests at a time, and try again",
};

/**
 * Bodies of requests that wait for approval, which may take long. Each caller may have one of the largest.
 * @limit bodies of held actions | `limit_exceeded`, and the action is not held
 */
const HELD_BODIES = {
	what: "bytes of bodies of requests that wait for approval",
	operator: 16 * MiB,
	others: 64 * MiB,
	each: 16 * MiB,
	fair: 4 * MiB,
	accounts: 8,
	hint: "wait until some of them are approved or denied",
};

export type SharedLimits = Pick<ServerContext, "readers" | "answers" | "backlog" | "share"> & {
	readonly bodies: Budget;
	readonly heldBodies: Budget;
};

export function createBudgets(maxAttachments: number = DEFAULT_MAX_ATTACHMENTS): SharedLimits {
	return {
		readers: new ReaderLimit(maxAttachments),
		answers: new Budget(ANSWERS),
		bodies: new Budget(BODIES),
		heldBodies: new Budget(HELD_BODIES),
		backlog: new Backlog(),
		share: new FairScheduler(),
	};
}
