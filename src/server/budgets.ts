/** What all callers together may have at a time, over all ports of a server. */

import { Backlog } from "../fronts/backlog.ts";
import { ByteBudget } from "../fronts/byte-budget.ts";
import type { Hosting } from "../fronts/front.ts";
import { LoopShare } from "../fronts/loop-share.ts";
import { Readers } from "../fronts/readers.ts";

const MiB = 1024 * 1024;
const DEFAULT_MAX_ATTACHMENTS = 100;
/** Of output in answers that are not sent yet: several of the largest for each caller. */
const ANSWERS = { totalBytes: 128 * MiB, eachBytes: 32 * MiB };

/** Of bodies that are read or wait for their answer: a few of the largest, which start programs, for each caller. */
const BODIES = { totalBytes: 64 * MiB, eachBytes: 32 * MiB };

/** Of bodies whose act waits to be approved, which may take long: one of the largest for each caller. */
const HELD_BODIES = { totalBytes: 64 * MiB, eachBytes: 16 * MiB };

export type Budgets = Pick<Hosting, "readers" | "answers" | "backlog" | "share"> & {
	readonly bodies: ByteBudget;
	readonly heldBodies: ByteBudget;
};

export function createBudgets(maxAttachments: number = DEFAULT_MAX_ATTACHMENTS): Budgets {
	return {
		readers: new Readers(maxAttachments),
		answers: new ByteBudget(ANSWERS),
		bodies: new ByteBudget(BODIES),
		heldBodies: new ByteBudget(HELD_BODIES),
		backlog: new Backlog(),
		share: new LoopShare(),
	};
}
