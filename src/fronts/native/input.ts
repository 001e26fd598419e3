/** Input over HTTP: bytes go in whole and in order, and a repeated request is recognised by its key. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { SessionError } from "../../core/errors.ts";
import type { Origin, Receipt, Session } from "../../core/session.ts";
import { inputKeyHeader } from "../../protocol/messages.ts";
import type { Hosting } from "../front.ts";
import { idParams, inputQuery, inputReceipt } from "./messages.ts";
import type { Traffic } from "./metrics.ts";
import { findSession, type NativeApp, type NativeOptions, patienceOf } from "./request.ts";

/** How often to ask again when other streams fill the queue, which our own receipts say nothing about. */
const CROWDED_MS = 50;

export function addInput(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting, traffic: Traffic): void {
	app.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (_request, body, done) =>
		done(null, body),
	);

	app.post(
		"/v1/sessions/:id/input",
		{
			config: { policy: "operate", summary: "Type or write bytes", takes: "application/octet-stream" },
			schema: { params: idParams, querystring: inputQuery, response: { 200: inputReceipt } },
		},
		async (request, reply): Promise<Receipt> => {
			const session = findSession(sessions, request);
			const bytes = bytesOf(request.body);
			const origin = parseKey(request.headers[inputKeyHeader]);
			const patience = patienceOf(reply, hosting);
			try {
				const isWaiting = request.query.wait === "written";
				const receipt = await deliver(session, { bytes, origin, isWaiting }, patience.signal);
				traffic.bytesIn += bytes.byteLength;
				return receipt;
			} finally {
				patience.end();
			}
		},
	);
}

export type Delivery = { readonly bytes: Uint8Array; readonly origin: Origin | undefined; readonly isWaiting: boolean };

/** Offers the bytes until all are accepted or, when asked to, written. */
export async function deliver(session: Session, delivery: Delivery, signal: AbortSignal): Promise<Receipt> {
	const { bytes, isWaiting } = delivery;
	if (!delivery.origin && !isWaiting) {
		// Most input is short and fits at once: no need for the session to remember a stream for it.
		const receipt = await session.act({ kind: "write", bytes });
		if (receipt.next >= bytes.byteLength) return receipt;
		const rest = bytes.subarray(receipt.next);
		const origin = { stream: randomUUID(), position: 0 };
		const last = await deliver(session, { bytes: rest, origin, isWaiting }, signal);
		return { next: last.next + receipt.next, written: last.written + receipt.next };
	}
	const origin = delivery.origin ?? { stream: randomUUID(), position: 0 };
	const end = origin.position + bytes.byteLength;
	for (;;) {
		const receipt = await session.act({ kind: "write", bytes }, { origin });
		if (receipt.next >= end) return isWaiting ? written(session, origin.stream, end, signal) : receipt;
		await room(session, origin.stream, receipt, signal);
		if (signal.aborted) throw interrupted(receipt.next - origin.position, bytes.byteLength);
	}
}

/** Resolves when it makes sense to offer more. */
async function room(session: Session, stream: string, { next, written }: Receipt, signal: AbortSignal): Promise<void> {
	if (next > written) await session.receipt(stream, written, signal);
	else await sleep(CROWDED_MS, undefined, { signal }).catch(() => undefined);
}

async function written(session: Session, stream: string, end: number, signal: AbortSignal): Promise<Receipt> {
	const receipt = await session.receipt(stream, end - 1, signal);
	if (receipt.written >= end) return receipt;
	if (signal.aborted) throw interrupted(receipt.next, end);
	throw new SessionError("session_closed", `the program ended; it took the input up to position ${receipt.written}`);
}

function interrupted(accepted: number, total: number): SessionError {
	return new SessionError(
		"node_unavailable",
		`the server is shutting down; ${accepted} of ${total} bytes were accepted`,
		{
			hint: "with an Idempotency-Key the same request can be sent again",
		},
	);
}

function bytesOf(body: unknown): Uint8Array {
	if (body instanceof Uint8Array) return body;
	// No content type and no body is a request to write nothing.
	if (body === undefined || body === null) return new Uint8Array();
	throw new SessionError("invalid_argument", "the body must be sent as application/octet-stream");
}

/** `stream:position`; the stream's name may itself contain colons. */
export function parseKey(header: string | string[] | undefined): Origin | undefined {
	if (header === undefined) return undefined;
	const [, stream, digits] = /^([\x21-\x7e]{1,128}):(\d{1,16})$/.exec(String(header)) ?? [];
	const position = Number(digits);
	if (stream === undefined || !Number.isSafeInteger(position)) {
		throw new SessionError("invalid_argument", "idempotency-key: must be stream:position", {
			hint: "the stream is any name of up to 128 visible ASCII characters, the position counts its bytes from 0",
		});
	}
	return { stream, position };
}
