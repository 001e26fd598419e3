/** CORS: lets pages of the allowed origins call the API and read its answers. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { idempotencyKeyHeader, outputHeaders } from "../api/messages.ts";
import { isNamedOrigin } from "./origin.ts";

/** How long a browser caches a preflight answer. Chromium caps it at two hours. */
const MAX_AGE_S = 7_200;

/** Methods and headers that pages may use beyond the simple ones. Cookies are not allowed across origins. */
const allowed = {
	"access-control-allow-methods": "GET, POST, PATCH, PUT, DELETE",
	"access-control-allow-headers": `authorization, content-type, ${idempotencyKeyHeader}, last-event-id`,
	"access-control-max-age": String(MAX_AGE_S),
} as const;

/** Headers of an answer that scripts may read. */
const exposed = [...Object.values(outputHeaders), "location", "retry-after"].join(", ");

/** Sets the CORS headers. Returns true for an allowed preflight request, which needs no other answer. */
export function answerOrigin(request: FastifyRequest, reply: FastifyReply, origins: readonly string[]): boolean {
	if (origins.length === 0) return false;
	// Set for other origins too: a cache must not serve them an answer made for an allowed one.
	reply.header("vary", "origin");
	const { origin } = request.headers;
	if (origin === undefined || !isNamedOrigin(origin, origins)) return false;
	reply.header("access-control-allow-origin", origin);
	const isPreflight = request.method === "OPTIONS" && request.headers["access-control-request-method"] !== undefined;
	if (isPreflight) reply.headers(allowed);
	else reply.header("access-control-expose-headers", exposed);
	return isPreflight;
}
