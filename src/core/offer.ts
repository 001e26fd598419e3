/** Giving a session more than it takes at once: in parts, each when there is room for it. */

import type { Act, Origin, Receipt } from "./act.ts";
import { SessionError } from "./errors.ts";
import { INPUT_WINDOW_BYTES, unitsOf } from "./input.ts";
import type { Session } from "./session.ts";

type OfferOptions = {
	readonly origin: Origin;
	/** The lease under which it is done. */
	readonly fence?: number | undefined;
	/** What to wait for: that the session has all of it, or that the kernel does. */
	readonly until: "accepted" | "written";
	/** Ends the waiting. */
	readonly signal?: AbortSignal | undefined;
};

/**
 * Offers an act until all of it is accepted, or written. Resolves before that only when the signal
 * aborts, and the receipt says how far it came; rejects when the program takes no more.
 */
export async function offer(session: Session, act: Act, options: OfferOptions): Promise<Receipt> {
	const { origin, until, signal } = options;
	const end = origin.position + unitsOf(act);
	const isDone = (receipt: Receipt) => (until === "accepted" ? receipt.next : receipt.written) >= end;
	for (let next = origin.position; ; ) {
		const given = await give(session, act, options, next);
		if (isDone(given)) return given;
		// Followed anew each time, so that it begins with what is true now and no room goes unnoticed.
		let last = given;
		for await (const receipt of session.receipts(origin.stream, signal)) {
			last = receipt;
			if (isDone(receipt) || (receipt.next < end && receipt.room > 0)) break;
		}
		if (isDone(last) || signal?.aborted) return last;
		if (last.next >= end || last.room === 0) throw new SessionError("session_closed", tookNoMore(last));
		next = last.next;
	}
}

function tookNoMore({ written }: Receipt): string {
	return `the program took the input up to position ${written} and no more`;
}

/** Gives what stands from `next` on, as far as it is taken; no more at a time than a session ever takes. */
async function give(session: Session, act: Act, { origin, fence }: OfferOptions, next: number): Promise<Receipt> {
	const lease = fence === undefined ? {} : { fence };
	const { stream } = origin;
	if (act.kind !== "write") return session.act(act, { origin, ...lease });
	for (let position = next; ; ) {
		const from = position - origin.position;
		const bytes = act.bytes.subarray(from, from + INPUT_WINDOW_BYTES);
		const receipt = await session.act({ kind: "write", bytes }, { origin: { stream, position }, ...lease });
		const isAll = receipt.next >= origin.position + act.bytes.byteLength;
		if (isAll || receipt.room === 0 || receipt.next === position) return receipt;
		position = receipt.next;
	}
}
