/** What is said over HTTP, before there is a socket or where there is none. */

import type { FastifyInstance, FastifyReply } from "fastify";
import { SessionError } from "../../core/errors.ts";
import { httpStatus, isOfHttp } from "../errors.ts";
import type { Hosting } from "../front.ts";

/** As the original says it: JSON, and plain text by its type. */
export function refuse(reply: FastifyReply, status: number, error: string): FastifyReply {
	return reply
		.code(status)
		.type("text/plain; charset=utf-8")
		.send(`${JSON.stringify({ error })}\n`);
}

export function answerErrors(app: FastifyInstance, hosting: Hosting): void {
	app.setErrorHandler(async (thrown: unknown, request, reply) => {
		const { statusCode, code } = thrown as { readonly statusCode?: number; readonly code?: string };
		if (statusCode !== undefined && isOfHttp(code)) return refuse(reply, statusCode, "this is a WebSocket");
		const error = SessionError.from(thrown);
		if (error.code === "internal")
			hosting.report(error.cause ?? thrown, `${request.method} ${request.routeOptions.url}`);
		return refuse(reply, httpStatus[error.code], error.message);
	});
}
