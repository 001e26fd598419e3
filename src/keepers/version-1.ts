/** What keepers of link version 1 lack, made of what they have. */

import type { Receipt } from "../core/act.ts";
import { INPUT_WINDOW_BYTES } from "../core/input.ts";
import type { Question } from "../core/session.ts";
import type { KeeperQuestion } from "../link/messages.ts";

type Call = (question: KeeperQuestion) => Promise<unknown>;
type ReceiptV1 = Omit<Receipt, "room"> & { readonly room?: number };

/** They know nothing of room; it is what the stream's window leaves, whatever other streams do. */
function withRoom(receipt: ReceiptV1): Receipt {
	const { next, written, room = Math.max(0, INPUT_WINDOW_BYTES - (next - written)) } = receipt;
	return { next, written, room };
}

/** There a receipt is asked for with what is known of it, and answered when `written` has passed that, or nothing will be written any more. */
function receiptAfter(stream: string, after: number): KeeperQuestion {
	return { do: "receipt", stream, after } as KeeperQuestion;
}

/** Asks a session in such a keeper. */
export async function askVersion1(call: Call, question: Question): Promise<unknown> {
	switch (question.do) {
		case "receipt":
			return withRoom((await call(receiptAfter(question.stream, -1))) as ReceiptV1);
		case "act":
			return withRoom((await call(question)) as ReceiptV1);
		case "forgetStream":
			// It forgets by itself, the one unused for longest.
			return null;
		default:
			return call(question);
	}
}

/** A stream's receipts, each asked for when the one before is known. */
export async function* receiptsByAsking(
	call: Call,
	stream: string,
	signal: AbortSignal | undefined,
): AsyncGenerator<Receipt, void, void> {
	for (let after = -1; !signal?.aborted; ) {
		const receipt = withRoom((await call(receiptAfter(stream, after))) as ReceiptV1);
		// Answered without progress: it is over, or we are.
		if (after >= 0 && receipt.written <= after) return;
		yield receipt;
		after = receipt.written;
	}
}
