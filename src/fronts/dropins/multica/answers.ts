/** HTTP answers for requests without a socket. */

import type { FastifyInstance, FastifyReply } from "fastify";
import { SessionError } from "../../../core/errors.ts";
import { httpStatus, isOfHttp } from "../../../http/errors.ts";
import type { ServerContext } from "../../../http/front.ts";

/** JSON with the content type of plain text, as in the original. */
export function refuse(reply: FastifyReply, status: number, error: string): FastifyReply {
	return reply
		.code(status)
		.type("text/plain; charset=utf-8")
		.send(`${JSON.stringify({ error })}\n`);
}

export function answerErrors(app: FastifyInstance, hosting: ServerContext): void {
	app.setErrorHandler(async (thrown: unknown, request, reply) => {
		const { statusCode, code } = thrown as { readonly statusCode?: number; readonly code?: string };
		if (statusCode !== undefined && isOfHttp(code)) return refuse(reply, statusCode, "this is a WebSocket");
		const error = SessionError.from(thrown);
		if (error.isForLog) hosting.report(error.cause ?? thrown, `${request.method} ${request.routeOptions.url}`);
		return refuse(reply, httpStatus[error.code], error.message);
	});
}
