/** Sends input that exceeds the window, in parts, each when there is room for it. */

import { SessionError } from "../errors.ts";
import type { Action, Receipt, StreamPosition } from "../input/action.ts";
import { INPUT_WINDOW_BYTES, unitsOf } from "../input/input-queue.ts";
import type { Session } from "./session.ts";

type OfferOptions = {
	readonly origin: StreamPosition;
	/** The fence of the lease it is sent under. */
	readonly fence?: number | undefined;
	/** Whether to wait until the session has all of it, or until the kernel has. */
	readonly until: "accepted" | "written";
	/** Ends the wait. */
	readonly signal?: AbortSignal | undefined;
};

/**
 * Sends an action until all of it is accepted, or written. Resolves earlier only when the signal aborts; the receipt
 * says how far it came. Rejects when the program takes no more input.
 */
export async function sendInParts(session: Session, action: Action, options: OfferOptions): Promise<Receipt> {
	const { origin, until, signal } = options;
	const target = action.kind === "write" ? session.inParts({ bytes: action.bytes, origin }) : session;
	const end = origin.position + unitsOf(action);
	const isDone = (receipt: Receipt) => (until === "accepted" ? receipt.next : receipt.written) >= end;
	let first: Receipt | undefined;
	for (let next = origin.position; ; ) {
		const sent = await sendPart(target, action, options, next);
		first ??= sent;
		// Only a response to the action itself has the offset at which it ran.
		const from = first.from === undefined ? {} : { from: first.from };
		if (isDone(sent)) return { ...sent, ...from };
		// A new subscription begins with the current receipt, so no room goes unnoticed.
		let last = sent;
		for await (const receipt of session.receipts(origin.stream, signal)) {
			last = receipt;
			if (isDone(receipt) || (receipt.next < end && receipt.room > 0)) break;
		}
		if (isDone(last) || signal?.aborted) return { ...last, ...from };
		if (last.next >= end || last.room === 0) throw new SessionError("session_closed", tookNoMore(last));
		next = last.next;
	}
}

function tookNoMore({ written }: Receipt): string {
	return `the program took the input up to position ${written} and no more`;
}

/** Sends the input from `next` on as far as it is accepted, at most one window at a time. */
async function sendPart(
	session: Session,
	action: Action,
	{ origin, fence }: OfferOptions,
	next: number,
): Promise<Receipt> {
	const lease = fence === undefined ? {} : { fence };
	const { stream } = origin;
	if (action.kind !== "write") return session.act(action, { origin, ...lease });
	for (let position = next; ; ) {
		const from = position - origin.position;
		const bytes = action.bytes.subarray(from, from + INPUT_WINDOW_BYTES);
		const receipt = await session.act({ kind: "write", bytes }, { origin: { stream, position }, ...lease });
		const isAll = receipt.next >= origin.position + action.bytes.byteLength;
		if (isAll || receipt.room === 0 || receipt.next === position) return receipt;
		position = receipt.next;
	}
}
