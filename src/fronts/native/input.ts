/** Input over HTTP: bytes go in whole and in order, and a repeated request is recognised by its key. */

import { randomUUID } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Origin, Receipt } from "../../core/act.ts";
import { SessionError } from "../../core/errors.ts";
import { INPUT_WINDOW_BYTES } from "../../core/input.ts";
import { offer } from "../../core/offer.ts";
import type { Session } from "../../core/session.ts";
import type { InputReceipt } from "../../protocol/acts.ts";
import { fenceHeader, idempotencyKeyHeader } from "../../protocol/messages.ts";
import type { Hosting } from "../front.ts";
import { patienceOf } from "../patience.ts";
import { interrupted } from "../typing.ts";
import { inputQuery, inputReceipt } from "./act-messages.ts";
import type { Traffic } from "./metrics.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { findSession, principalOf } from "./request.ts";
import { idParams } from "./session-messages.ts";

export function addInput(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting, traffic: Traffic): void {
	app.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (_request, body, done) =>
		done(null, body),
	);

	app.post(
		"/v1/sessions/:id/input",
		{
			config: {
				policy: "operate",
				headers: [idempotencyKeyHeader, fenceHeader],
				operation: "writeInput",
				summary: "Type or write bytes",
				takes: "application/octet-stream",
			},
			schema: { params: idParams, querystring: inputQuery, response: { 200: inputReceipt } },
		},
		async (request, reply): Promise<InputReceipt> => {
			const session = findSession(sessions, request);
			const bytes = bytesOf(request.body);
			const origin = parseKey(request.headers[idempotencyKeyHeader]);
			const fence = await fenceOf(session, request);
			const patience = patienceOf(reply, hosting);
			try {
				const { wait, ifWaiting } = request.query;
				const delivery = { bytes, origin, fence, isWaiting: wait === "written", ifWaiting };
				const receipt = await deliver(session, delivery, patience.signal);
				traffic.bytesIn += bytes.byteLength;
				return receipt;
			} finally {
				patience.end();
			}
		},
	);
}

export type Delivery = {
	readonly bytes: Uint8Array;
	readonly origin: Origin | undefined;
	/** Of the lease under which it is written. */
	readonly fence?: number | undefined;
	readonly isWaiting: boolean;
	/** The place of the output up to which the program asked what this is the answer to; anything else is not answered. */
	readonly ifWaiting?: number | undefined;
};

/** Offers the bytes until all are accepted or, when asked to, written. */
export async function deliver(session: Session, delivery: Delivery, signal: AbortSignal): Promise<InputReceipt> {
	const { bytes, origin, fence, isWaiting, ifWaiting } = delivery;
	if (ifWaiting !== undefined) return answer(session, delivery, ifWaiting, signal);
	if (origin) return toMessage(await whole(session, delivery, origin, signal));
	let first: InputReceipt = { next: 0, written: 0 };
	if (!isWaiting) {
		// Most input is short and fits at once: no need for a stream.
		const part = { kind: "write", bytes: bytes.subarray(0, INPUT_WINDOW_BYTES) } as const;
		first = await session.act(part, fence === undefined ? {} : { fence });
		if (first.next >= bytes.byteLength) return toMessage(first);
	}
	const stream = randomUUID();
	try {
		const rest = { ...delivery, bytes: bytes.subarray(first.next) };
		const { next, written } = await whole(session, rest, { stream, position: 0 }, signal);
		// It was in line behind the first part.
		return { next: first.next + next, written: written > 0 ? first.next + written : first.written };
	} finally {
		// Nobody else knows its name. Should this fail, it is forgotten with time.
		session.forgetStream(stream).catch(() => {});
	}
}

/** Whole or not at all, if the program still asks what this is for. */
async function answer(session: Session, delivery: Delivery, at: number, signal: AbortSignal): Promise<InputReceipt> {
	const { bytes, fence, isWaiting } = delivery;
	if (bytes.byteLength > INPUT_WINDOW_BYTES) {
		throw new SessionError("invalid_argument", `an answer has ${INPUT_WINDOW_BYTES} bytes at most`);
	}
	const origin = delivery.origin ?? { stream: randomUUID(), position: 0 };
	try {
		const options = { origin, ...(fence === undefined ? {} : { fence }) };
		const receipt = await session.actIfWaiting({ kind: "write", bytes }, at, options);
		// A repeat by now, which is only waited for.
		return toMessage(isWaiting ? await whole(session, delivery, origin, signal) : receipt);
	} finally {
		if (!delivery.origin) session.forgetStream(origin.stream).catch(() => {});
	}
}

export function toMessage({ next, written }: InputReceipt): InputReceipt {
	return { next, written };
}

async function whole(session: Session, delivery: Delivery, origin: Origin, signal: AbortSignal): Promise<Receipt> {
	const { bytes, fence, isWaiting } = delivery;
	const until = isWaiting ? "written" : "accepted";
	const receipt = await offer(session, { kind: "write", bytes }, { origin, fence, until, signal });
	const end = origin.position + bytes.byteLength;
	if ((isWaiting ? receipt.written : receipt.next) < end)
		throw interrupted(receipt.next - origin.position, bytes.byteLength);
	return receipt;
}

export function bytesOf(body: unknown): Uint8Array {
	if (body instanceof Uint8Array) return body;
	// No content type and no body is a request to write nothing.
	if (body === undefined || body === null) return new Uint8Array();
	throw new SessionError("invalid_argument", "the body must be sent as application/octet-stream");
}

/**
 * The lease under which something is to be written. While control is exclusive it is its holder's alone; while it is not,
 * anybody may show the fence that they know, so as to be refused once control has changed hands.
 */
export async function fenceOf(session: Session, request: FastifyRequest): Promise<number | undefined> {
	const header = request.headers[fenceHeader];
	if (header === undefined) return undefined;
	if (!/^\d{1,15}$/.test(String(header))) {
		throw new SessionError("invalid_argument", `${fenceHeader}: must be the fence of a lease`);
	}
	const { lease } = await session.info();
	if (!lease.exclusive || lease.holder === principalOf(request).name) return Number(header);
	throw new SessionError("not_writable", `${lease.holder ?? "nobody"} has control of the session, not this token`, {
		hint: "take control first, at …/lease",
	});
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
