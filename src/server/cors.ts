/** What browsers are told of pages from elsewhere: those of the allowed origins may use us, and nobody else hears anything. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { isNamedOrigin } from "../access/origin.ts";
import { idempotencyKeyHeader, outputHeaders } from "../protocol/messages.ts";

/** How long a browser need not ask again: Chromium does not keep it for longer than two hours. */
const MAX_AGE_S = 7_200;

/** What requests of the API carry beyond what pages may send anyway. A cookie is not among it: it is for pages of ours. */
const allowed = {
	"access-control-allow-methods": "GET, POST, PATCH, PUT, DELETE",
	"access-control-allow-headers": `authorization, content-type, ${idempotencyKeyHeader}, last-event-id`,
	"access-control-max-age": String(MAX_AGE_S),
} as const;

/** What a script may read of our answers. */
const exposed = [...Object.values(outputHeaders), "location", "retry-after"].join(", ");

/** Marks the answer for a page that may read it; true if that is all the answer there is, because its browser only asks whether. */
export function answerOrigin(request: FastifyRequest, reply: FastifyReply, origins: readonly string[]): boolean {
	if (origins.length === 0) return false;
	// Also for those who are not allowed: a cache must not give them what it has for others.
	reply.header("vary", "origin");
	const { origin } = request.headers;
	if (origin === undefined || !isNamedOrigin(origin, origins)) return false;
	reply.header("access-control-allow-origin", origin);
	const isPreflight = request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined;
	if (isPreflight) reply.headers(allowed);
	else reply.header("access-control-expose-headers", exposed);
	return isPreflight;
}
