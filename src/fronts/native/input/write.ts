/** Writes the input of one request: completely, in order, and once even if the request is repeated. */

import { randomUUID } from "node:crypto";
import type { InputReceipt } from "../../../api/types.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Receipt, StreamPosition } from "../../../core/input/action.ts";
import { INPUT_WINDOW_BYTES } from "../../../core/input/input-queue.ts";
import { sendInParts } from "../../../core/session/send-input.ts";
import type { Session } from "../../../core/session/session.ts";
import { partlyAcceptedError } from "../../../services/input/typing.ts";
import type { WriteOptions } from "./write-options.ts";

type WriteRequest = WriteOptions & {
	readonly bytes: Uint8Array;
	/** Wait until the bytes are written, not only accepted. */
	readonly untilWritten?: boolean;
	/** Output offset of the question being answered. If the program asks another one by now, nothing is written. */
	readonly ifWaiting?: number | undefined;
};

export async function writeInput(session: Session, write: WriteRequest, signal: AbortSignal): Promise<InputReceipt> {
	const { bytes, origin, fence, untilWritten = false, ifWaiting } = write;
	if (ifWaiting !== undefined) return writeAnswer(session, write, ifWaiting, signal);
	if (origin) return toReceipt(await writeAll(session, write, origin, signal));
	let first: Pick<Receipt, "next" | "written" | "from"> = { next: 0, written: 0 };
	if (!untilWritten && bytes.byteLength <= INPUT_WINDOW_BYTES) {
		// Most input is short and fits at once, so it needs no stream.
		first = await session.act({ kind: "write", bytes }, fence === undefined ? {} : { fence });
		if (first.next >= bytes.byteLength) return toReceipt(first);
	}
	const stream = randomUUID();
	try {
		const rest = { ...write, bytes: bytes.subarray(first.next) };
		const last = await writeAll(session, rest, { stream, position: 0 }, signal);
		return {
			...toReceipt(first.next > 0 ? first : last),
			next: first.next + last.next,
			// The rest was queued behind the first part.
			written: last.written > 0 ? first.next + last.written : first.written,
		};
	} finally {
		// No other request knows the stream. If this fails, the stream expires.
		session.forgetStream(stream).catch(() => {});
	}
}

/** Writes all bytes or none, if the program still waits at this offset. */
async function writeAnswer(
	session: Session,
	write: WriteRequest,
	at: number,
	signal: AbortSignal,
): Promise<InputReceipt> {
	const { bytes, fence, untilWritten = false } = write;
	if (bytes.byteLength > INPUT_WINDOW_BYTES) {
		throw new SessionError("invalid_argument", `answer too long (limit ${INPUT_WINDOW_BYTES} bytes)`);
	}
	const origin = write.origin ?? { stream: randomUUID(), position: 0 };
	try {
		const options = { origin, ...(fence === undefined ? {} : { fence }) };
		const receipt = await session.actIfWaiting({ kind: "write", bytes }, at, options);
		// Repeats the write, which now only waits.
		return toReceipt(untilWritten ? await writeAll(session, write, origin, signal) : receipt);
	} finally {
		if (!write.origin) session.forgetStream(origin.stream).catch(() => {});
	}
}

async function writeAll(
	session: Session,
	write: WriteRequest,
	origin: StreamPosition,
	signal: AbortSignal,
): Promise<Receipt> {
	const { bytes, fence, untilWritten = false } = write;
	const until = untilWritten ? "written" : "accepted";
	const receipt = await sendInParts(session, { kind: "write", bytes }, { origin, fence, until, signal });
	const end = origin.position + bytes.byteLength;
	if ((untilWritten ? receipt.written : receipt.next) < end) {
		throw partlyAcceptedError(receipt.next - origin.position, bytes.byteLength);
	}
	return receipt;
}

export function toReceipt({ next, written, from }: Pick<Receipt, "next" | "written" | "from">): InputReceipt {
	return { next, written, ...(from === undefined ? {} : { from }) };
}
