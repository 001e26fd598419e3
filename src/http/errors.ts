/** Errors in the shape of the native API: one HTTP status per code, no details of internal errors. */

import type { FastifyError, FastifyInstance, FastifyRequest } from "fastify";
import type { ErrorMessage } from "../api/types.ts";
import { SessionError } from "../core/errors.ts";
import type { Code } from "../words/error-code.ts";
import type { ServerContext } from "./front.ts";

/** Exhaustive: a new code is a compile error until it has a status here. */
export const httpStatus: Readonly<Record<Code, number>> = {
	invalid_argument: 400,
	unauthenticated: 401,
	token_ended: 401,
	permission_denied: 403,
	not_found: 404,
	session_not_found: 404,
	conflict: 409,
	session_exists: 409,
	session_closed: 409,
	not_writable: 409,
	not_waiting: 409,
	stale: 409,
	blocked: 409,
	invalid_choice: 422,
	not_approved: 403,
	limit_exceeded: 429,
	spawn_failed: 422,
	unsupported: 501,
	node_unavailable: 503,
	internal: 500,
};

/** Answers everything thrown in the routes of `app`, and every unknown path, with an error message. */
export function answerErrors(app: FastifyInstance, hosting: ServerContext): void {
	app.setErrorHandler(async (thrown: unknown, request, reply) => {
		const { status, error } = described(thrown, request);
		if (error.isForLog) hosting.report(error.cause ?? thrown, `${request.method} ${request.routeOptions.url}`);
		if (error.code === "unauthenticated") reply.header("www-authenticate", "Bearer");
		if (error.retryAfterMs !== undefined) reply.header("retry-after", String(Math.ceil(error.retryAfterMs / 1000)));
		return reply.code(status).send(errorMessage(error));
	});
}

export function errorMessage(error: SessionError): ErrorMessage {
	const { code, message, hint, retryAfterMs, extra } = error;
	const retry = retryAfterMs === undefined ? {} : { retryAfterMs, isTemporary: true as const };
	return { error: { code, message, ...(hint === undefined ? {} : { hint }), ...retry, ...extra } };
}

/** Codes for errors of HTTP itself. The answer keeps the HTTP status. */
const httpCodes: Readonly<Record<number, Code>> = {
	400: "invalid_argument",
	413: "limit_exceeded",
	415: "invalid_argument",
};

function described(thrown: unknown, { routeOptions }: FastifyRequest): { status: number; error: SessionError } {
	if (thrown instanceof SessionError) return { status: httpStatus[thrown.code], error: thrown };
	const { statusCode, code: fastifyCode, message, validation } = thrown as Partial<FastifyError>;
	if (validation instanceof SessionError) return { status: httpStatus[validation.code], error: validation };
	const code = httpCodes[statusCode ?? 0];
	if (statusCode !== undefined && code !== undefined && isOfHttp(fastifyCode)) {
		if (statusCode === 415) {
			const hint = `send it as ${routeOptions.config.takes ?? "application/json"}`;
			return { status: 415, error: new SessionError(code, "the content type of the body is not supported", { hint }) };
		}
		return { status: statusCode, error: new SessionError(code, lowerFirst(message ?? "bad request")) };
	}
	const error = SessionError.from(thrown);
	return { status: httpStatus[error.code], error };
}

/** Whether an error is a refusal by HTTP itself, or a client that disconnected while it sent its body. */
export function isOfHttp(code: string | undefined): boolean {
	return code === "ECONNRESET" || code?.startsWith("FST_") === true;
}

function lowerFirst(text: string): string {
	return text.charAt(0).toLowerCase() + text.slice(1);
}
