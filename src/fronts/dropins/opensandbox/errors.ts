/**
 * Responses in execd's format: an empty body for success, otherwise a status, a code and a message. Clients use the
 * first two.
 */

import type { FastifyInstance, FastifyReply } from "fastify";
import { SessionError } from "../../../core/errors.ts";
import { isOfHttp } from "../../../http/errors.ts";
import type { ServerContext } from "../../../http/front.ts";
import type { Code } from "../../../words/error-code.ts";

/** A success without data. The SDK fails to parse an empty chunked body as JSON. */
export function sendNothing(reply: FastifyReply): FastifyReply {
	return reply.code(200).header("content-length", 0).send();
}

type ExecdCode =
	| "INVALID_REQUEST_BODY"
	| "MISSING_QUERY"
	| "RUNTIME_ERROR"
	| "CONTEXT_NOT_FOUND"
	| "FILE_NOT_FOUND"
	| "INVALID_FILE"
	| "INVALID_FILE_METADATA"
	| "INVALID_FILE_CONTENT"
	| "UNKNOWN"
	| "NOT_SUPPORTED"
	| "ALREADY_CONNECTED"
	| "VIEWER_REQUIRES_RUNNING_SESSION";

/** An error with execd's status and code. */
export class ExecdError extends Error {
	readonly status: number;
	readonly code: ExecdCode;

	constructor(status: number, code: ExecdCode, message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = "ExecdError";
		this.status = status;
		this.code = code;
	}
}

/** For features of the original that this server does not have. */
export function notServed(what: string): ExecdError {
	return new ExecdError(501, "NOT_SUPPORTED", `${what} is not supported; see docs/compat/opensandbox.md`);
}

/** Exhaustive: a new code is a compile error until it has a row. */
const translated: Readonly<Record<Code, readonly [status: number, code: ExecdCode]>> = {
	invalid_argument: [400, "INVALID_REQUEST_BODY"],
	unauthenticated: [401, "RUNTIME_ERROR"],
	token_ended: [401, "RUNTIME_ERROR"],
	permission_denied: [403, "RUNTIME_ERROR"],
	not_found: [404, "RUNTIME_ERROR"],
	session_not_found: [404, "CONTEXT_NOT_FOUND"],
	conflict: [409, "RUNTIME_ERROR"],
	session_exists: [409, "RUNTIME_ERROR"],
	session_closed: [409, "RUNTIME_ERROR"],
	not_writable: [409, "ALREADY_CONNECTED"],
	not_waiting: [409, "RUNTIME_ERROR"],
	stale: [409, "RUNTIME_ERROR"],
	blocked: [409, "RUNTIME_ERROR"],
	invalid_choice: [422, "RUNTIME_ERROR"],
	not_approved: [403, "RUNTIME_ERROR"],
	limit_exceeded: [429, "RUNTIME_ERROR"],
	spawn_failed: [500, "RUNTIME_ERROR"],
	unsupported: [501, "NOT_SUPPORTED"],
	node_unavailable: [503, "RUNTIME_ERROR"],
	internal: [500, "RUNTIME_ERROR"],
};

/** The only response with a format of its own. */
export const unauthorized = { error: "Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN" } as const;

/** Converts everything thrown in the routes of `app` to a response. */
export function answerErrors(app: FastifyInstance, hosting: ServerContext): void {
	app.setErrorHandler(async (thrown: unknown, request, reply) => {
		const error = toExecdError(thrown);
		if (error.status === 401) return reply.code(401).send(unauthorized);
		const { cause } = error;
		if (cause instanceof SessionError && cause.isForLog)
			hosting.report(cause.cause ?? thrown, `${request.method} ${request.routeOptions.url}`);
		return reply.code(error.status).send({ code: error.code, message: error.message });
	});
}

/** Converts anything thrown to an error for the caller. */
function toExecdError(thrown: unknown): ExecdError {
	if (thrown instanceof ExecdError) return thrown;
	// Errors of HTTP itself, such as a body that is too large.
	const { statusCode, code: fastifyCode, message } = thrown as { statusCode?: number; code?: string; message?: string };
	if (isOfHttp(fastifyCode) && statusCode !== undefined && statusCode < 500)
		return new ExecdError(statusCode, "INVALID_REQUEST_BODY", message ?? "bad request");
	const error = SessionError.from(thrown);
	const [status, code] = translated[error.code];
	return new ExecdError(status, code, error.message, { cause: error });
}
