/** Errors as the native API says them: one HTTP status per code, and nothing of our own bugs. */

import type { FastifyError, FastifyInstance, FastifyRequest } from "fastify";
import { type Code, SessionError } from "../core/errors.ts";
import type { ErrorMessage } from "../protocol/messages.ts";
import type { Hosting } from "./front.ts";

/** Total by type: a new code does not compile until it has a row. */
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
	not_approved: 403,
	limit_exceeded: 429,
	spawn_failed: 422,
	unsupported: 501,
	node_unavailable: 503,
	internal: 500,
};

/** Makes everything thrown in the routes of `app`, and every unknown path, an answer in the one shape. */
export function answerErrors(app: FastifyInstance, hosting: Hosting): void {
	app.setErrorHandler(async (thrown: unknown, request, reply) => {
		const { status, error } = described(thrown, request);
		if (error.code === "internal")
			hosting.report(error.cause ?? thrown, `${request.method} ${request.routeOptions.url}`);
		if (error.code === "unauthenticated") reply.header("www-authenticate", "Bearer");
		return reply.code(status).send(errorMessage(error));
	});
}

export function errorMessage(error: SessionError): ErrorMessage {
	const { code, message, hint } = error;
	return { error: { code, message, ...(hint === undefined ? {} : { hint }) } };
}

/** What HTTP itself refuses has no code of its own; it keeps its status and gets the nearest code. */
const httpCodes: Readonly<Record<number, Code>> = {
	400: "invalid_argument",
	413: "limit_exceeded",
	415: "invalid_argument",
};

function described(thrown: unknown, { routeOptions }: FastifyRequest): { status: number; error: SessionError } {
	if (thrown instanceof SessionError) return { status: httpStatus[thrown.code], error: thrown };
	// Fastify attaches what a validator returned as the error's cause of being.
	const { statusCode, code: fastifyCode, message, validation } = thrown as Partial<FastifyError>;
	if (validation instanceof SessionError) return { status: httpStatus[validation.code], error: validation };
	const code = httpCodes[statusCode ?? 0];
	if (statusCode !== undefined && code !== undefined && isOfHttp(fastifyCode)) {
		if (statusCode === 415) {
			const hint = `send it as ${routeOptions.config.takes ?? "application/json"}`;
			return { status: 415, error: new SessionError(code, "a body of this content type is not understood", { hint }) };
		}
		return { status: statusCode, error: new SessionError(code, lowerFirst(message ?? "bad request")) };
	}
	const error = SessionError.from(thrown);
	return { status: httpStatus[error.code], error };
}

/** Whether HTTP itself refuses something, or a client left in the middle of its body, which is nobody's fault of ours. */
export function isOfHttp(code: string | undefined): boolean {
	return code === "ECONNRESET" || code?.startsWith("FST_") === true;
}

function lowerFirst(text: string): string {
	return text.charAt(0).toLowerCase() + text.slice(1);
}
