/** Bytes written per time interval, for the chart below a player. */

import type { ActivityMessage } from "../../../api/types.ts";
import { Budget } from "../../../core/async/budget.ts";
import { withDeadline } from "../../../core/async/deadline.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Session } from "../../../core/session/session.ts";
import { itemsBefore } from "../../../services/recording/record.ts";
import type { NativeOptions } from "../options.ts";
import type { Serve } from "../serve.ts";

/**
 * Concurrent reads of a whole log.
 * @limit requests for activity at a time | `limit_exceeded`
 */
const READERS = {
	what: "logs gone through at a time",
	operator: 1,
	others: 2,
	each: 1,
	fair: 1,
	accounts: 2,
	hint: "ask for one after the other",
};
/**
 * Time limit in milliseconds. Journals of the default size take a fraction of it.
 * @limit one request for activity | the answer says how far it got
 */
const READ_MS = 5_000;
const BUCKETS = 100;

export function addActivity(serve: Serve, { clock }: Pick<NativeOptions, "clock">): void {
	const readers = new Budget(READERS);
	serve("readActivity", async (call) => {
		const { session, caller, query, signal } = call;
		const { from = session.spec.createdAt, buckets = BUCKETS } = query;
		const to = query.to ?? Math.max(from + 1, session.state.endedAt ?? clock.now());
		if (from >= to) throw new SessionError("invalid_argument", "from: must be before to");
		call.startReading();
		const giveBack = readers.enter(caller);
		try {
			const isOpen = query.to === undefined;
			return await withDeadline(READ_MS, [signal], (either) =>
				measured(session, { from, to, isOpen, buckets, signal: either }),
			);
		} finally {
			giveBack();
		}
	});
}

type Span = {
	/** Milliseconds since the epoch. */
	readonly from: number;
	readonly to: number;
	/** Output after `to` counts in the last interval: children may write after the program's end. */
	readonly isOpen: boolean;
	readonly buckets: number;
	readonly signal: AbortSignal;
};

async function measured(session: Session, { from, to, isOpen, buckets, signal }: Span): Promise<ActivityMessage> {
	const { seq: end } = await session.end();
	const bytes = new Array<number>(buckets).fill(0);
	let reached = from;
	for await (const item of itemsBefore(end, session, signal)) {
		if (item.kind === "gap") continue;
		if (item.time > to && !isOpen) break;
		reached = Math.max(reached, item.time);
		if (item.kind !== "output" || item.time < from) continue;
		const index = Math.min(buckets - 1, Math.floor(((item.time - from) / (to - from)) * buckets));
		bytes[index] = (bytes[index] ?? 0) + item.bytes.byteLength;
	}
	return { from, to, bytes, until: signal.aborted ? reached : null };
}
