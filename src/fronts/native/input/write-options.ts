/** The headers of a write: a position for exactly-once delivery, and the fence of a lease. */

import type { FastifyRequest } from "fastify";
import { fenceHeader, idempotencyKeyHeader } from "../../../api/messages.ts";
import { SessionError } from "../../../core/errors.ts";
import type { StreamPosition } from "../../../core/input/action.ts";
import type { Session } from "../../../core/session/session.ts";
import { principalOf } from "../find-session.ts";

export type WriteOptions = { readonly origin?: StreamPosition; readonly fence?: number };

export async function writeOptions(session: Session, request: FastifyRequest): Promise<WriteOptions> {
	const origin = parseIdempotencyKey(request.headers[idempotencyKeyHeader]);
	const fence = await readFence(session, request);
	return { ...(origin ? { origin } : {}), ...(fence === undefined ? {} : { fence }) };
}

/**
 * While a lease is exclusive, only its holder may send a fence. Otherwise any caller may send the fence it knows, so
 * that its write is refused once the lease has changed.
 */
async function readFence(session: Session, request: FastifyRequest): Promise<number | undefined> {
	const header = request.headers[fenceHeader];
	if (header === undefined) return undefined;
	if (!/^\d{1,15}$/.test(String(header))) {
		throw new SessionError("invalid_argument", `${fenceHeader}: must be the fence of a lease`);
	}
	const { lease } = await session.info();
	if (!lease.exclusive || lease.holder === principalOf(request).name) return Number(header);
	throw new SessionError("not_writable", `${lease.holder ?? "no client"} has control of the session, not this token`, {
		hint: "take control first (…/lease)",
	});
}

/** Parses `stream:position`. The stream's name may contain colons. */
function parseIdempotencyKey(header: string | string[] | undefined): StreamPosition | undefined {
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
